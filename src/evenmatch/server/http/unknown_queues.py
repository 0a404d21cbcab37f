"""What is said to whoever names a queue that there is not."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from evenmatch.errors import UnknownQueue

LISTED_MAX = 20
"""Queues that are listed in the sentence."""


def unknown_queue(name: str, known: Iterable[str], where: str = "") -> UnknownQueue:
    """Return the refusal of a queue's name.

    Args:
        name: What was given.
        known: The queues that there are.
        where: Where it was given.

    >>> str(unknown_queue("mian", ["main", "other"]))
    "no queue is called 'mian'; there is main, other"
    """
    listed = ", ".join(islice(known, LISTED_MAX))
    return UnknownQueue(f"no queue is called {name[:64]!r}; there is {listed}", where=where)
