"""`check_journal`: prove that a journal adapter keeps the promises of the port.

Each check is one promise, in one function, on a journal of its own. A broken promise raises
AssertionError, whose message starts with the promise; `journal_promises.py` holds them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import ParamSpec, TypeAlias, TypeVar

import msgspec

from evenmatch.errors import JournalError
from evenmatch.journals.base import Journal
from evenmatch.journals.memory import MemoryJournal
from evenmatch.testing.journal_promises import PROMISES, Bench, Damage

_P = ParamSpec("_P")
_T = TypeVar("_T")
Made: TypeAlias = _T | Awaitable[_T]
"""A value, or what gives it when it is awaited: hooks may be plain or async functions."""


async def check_journal(
    make: Callable[[], Made[Journal]],
    *,
    reopen: Callable[[Journal], Made[Journal]] | None = None,
    damage: Callable[[Journal, str, Damage, int], Made[None]] | None = None,
    wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Raise AssertionError with a sentence unless the adapter keeps every promise of the port.

    Args:
        make: Returns a new, empty journal; it is called once for each promise, and the journal
            is closed afterwards.
        reopen: Closes the journal, or kills it, and returns another one on the same storage.
            Without it, what survives a restart is not checked.
        damage: Harms stored bytes behind the journal's back; see `Damage`. Without it, the
            detection of damage is not checked.
        wait: Lets this many seconds pass for the leases; `asyncio.sleep` unless the journals
            run on a clock of yours. The longest wait is well below a second.

    Raises:
        AssertionError: A promise is broken; the message starts with the promise.

    Example:
        >>> import asyncio
        >>> from evenmatch.journals.memory import MemoryJournal
        >>> asyncio.run(check_journal(MemoryJournal))
    """
    for promise, check in PROMISES.items():
        journal = await _made(make())
        bench = Bench(promise, journal, reopen=_awaited(reopen), harm=_awaited(damage), wait=wait)
        try:
            await check(bench)
        except JournalError as error:
            raise AssertionError(f"{promise}: got {type(error).__name__}: {error}") from error
        finally:
            await bench.journal.close()


def damage_memory(journal: Journal, shard: str, how: Damage, seq: int) -> None:
    """Harm what a `MemoryJournal` stores: its `damage` for `check_journal`, and an example."""
    assert isinstance(journal, MemoryJournal)
    shelf = journal.shelves[shard]
    rows = shelf.snapshots if how == "snapshot" else shelf.rows
    at = next(index for index, row in enumerate(rows) if row.sequence == seq)
    body = rows[at].body
    if how == "cut":
        del rows[at:]
    elif how == "drop":
        del rows[at]
    elif how == "swap":
        a, b = rows[at], rows[at + 1]
        rows[at] = msgspec.structs.replace(b, sequence=a.sequence)
        rows[at + 1] = msgspec.structs.replace(a, sequence=b.sequence)
    else:
        harmed = body[: len(body) // 2] if how == "tear" else flip_bit(body, 4 * len(body))
        rows[at] = msgspec.structs.replace(rows[at], body=harmed)


def flip_bit(body: bytes, bit: int) -> bytes:
    """Return the bytes with one bit changed.

    >>> flip_bit(b"a", 1)
    b'c'
    """
    changed = bytearray(body)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def _awaited(hook: Callable[_P, Made[_T]] | None) -> Callable[_P, Awaitable[_T]] | None:
    """Return the hook as an async function."""
    if hook is None:
        return None

    async def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return await _made(hook(*args, **kwargs))

    return call


async def _made(value: Made[_T]) -> _T:
    return await value if isawaitable(value) else value
