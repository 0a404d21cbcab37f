"""Policies that make a server's life hard."""

import time
from collections.abc import Iterable

import evenmatch
from evenmatch.model.ticket import Ticket

HEAVY_SECONDS = 0.1
BUSY_SECONDS = 0.3
STUCK_SECONDS = 3.0


@evenmatch.policy()
def heavy(pool: Iterable[Ticket], _now: float) -> list[list[Ticket]]:
    """Match nobody, and keep the event loop for a tenth of a second over it."""
    del pool
    time.sleep(HEAVY_SECONDS)
    return []


@evenmatch.policy(every=0.5)
def busy(_pool: Iterable[Ticket], _now: float) -> list[list[Ticket]]:
    """Match nobody, and compute in Python for a third of a second over it."""
    compute(BUSY_SECONDS)
    return list[list[Ticket]]()


@evenmatch.policy(every=1.0)
def slower(_pool: Iterable[Ticket], _now: float) -> list[list[Ticket]]:
    """Match nobody, and compute in Python for three seconds over it."""
    compute(STUCK_SECONDS)
    return list[list[Ticket]]()


def compute(seconds: float) -> None:
    """Keep the interpreter."""
    until, number = time.perf_counter() + seconds, 0
    while time.perf_counter() < until:
        number = (number * 31 + 7) % 1_000_003
