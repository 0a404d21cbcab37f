"""Waiting for what is to happen, however busy the machine is.

Nothing here is a deadline of the code under test: `GIVE_UP` is when a test that would hang fails.
"""

import asyncio
import time
from collections.abc import Callable

GIVE_UP = 240.0


def wait_until(is_so: Callable[[], object], what: str = "what is waited for") -> None:
    """Ask again and again; return once it is so."""
    end = time.monotonic() + GIVE_UP
    while not is_so():
        assert time.monotonic() < end, f"{what} never came"
        time.sleep(0.02)


async def until(is_so: Callable[[], object], what: str = "what is waited for") -> None:
    """Let the loop go on until it is so."""
    end = time.monotonic() + GIVE_UP
    while not is_so():
        assert time.monotonic() < end, f"{what} never came"
        await asyncio.sleep(0.002)


async def turns(count: int = 20) -> None:
    """Let everything happen that is ready to happen, and what follows from it at once."""
    for _ in range(count):
        await asyncio.sleep(0)
