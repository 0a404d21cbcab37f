"""Sets of words as bits, for a `Batch`: players share a bit if they share an element."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from evenmatch.policies.shared.batch_people import Objects

BITS = 64
"""Elements that a batch tells apart."""


def bits_of(sets: Objects) -> NDArray[np.uint64]:
    """Return sets of elements as bits, such that what players have in common is a bit in common.

    An element that nobody else has joins nobody. Where the others are more than `BITS`, those
    whose holders all hold another one say nothing beside it. Only where more than `BITS` are left
    do the rarest of them share bits, and two who have nothing in common may seem to.

    Complexity:
        O(entries); beyond 64 elements O(elements * players).

    >>> both = np.empty(3, dtype=np.object_)
    >>> both[:] = [("de", "en"), ("en",), ("de",)]
    >>> bits_of(both).tolist()
    [3, 2, 1]
    """
    holders: dict[str, list[int]] = {}
    for row, own in enumerate(sets):
        for element in dict.fromkeys(own):
            holders.setdefault(element, []).append(row)
    shared = [rows for rows in holders.values() if len(rows) > 1]
    found: NDArray[np.uint64] = np.zeros(len(sets), dtype=np.uint64)
    for number, rows in enumerate(shared if len(shared) <= BITS else _telling(shared)):
        found[rows] |= np.uint64(1 << (number % BITS))
    return found


def _telling(each: Iterable[list[int]]) -> list[list[int]]:
    """Return the sets of rows that lie in none of the `BITS` largest, the largest first."""
    kept: list[list[int]] = []
    largest: list[int] = []
    for rows in sorted(each, key=len, reverse=True):
        bits = sum(1 << row for row in rows)
        if any(bits & other == bits for other in largest):
            continue
        kept.append(rows)
        if len(largest) < BITS:
            largest.append(bits)
    return kept
