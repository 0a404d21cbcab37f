"""Policies that make a server's life hard."""

import time
from collections.abc import Iterable

import evenmatch
from evenmatch.model.ticket import Ticket

HEAVY_SECONDS = 0.1


@evenmatch.policy()
def heavy(pool: Iterable[Ticket], _now: float) -> list[list[Ticket]]:
    """Match nobody, and keep the event loop for a tenth of a second over it."""
    del pool
    time.sleep(HEAVY_SECONDS)
    return []
