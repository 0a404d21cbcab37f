"""Parties that wait, in one line for each kind, by age: the state of service orders.

A kind is a size, and the side that is insisted on. A slot stands for one party; whoever hands it
in writes its instant and sequence first, and says its kind. In a compiled run slots are numbers of
arrivals; a matcher uses them again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenmatch.solvers.kernel import kernel, record

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

OLDER, YOUNGER, KIND, SEQUENCE, PACK, MATE = range(6)
LINKS = 6
OLDEST, YOUNGEST, COUNT = range(3)
ENDS = 3
NONE = -1


@record("float64[::1], int64[:,::1], int64[:,::1]")
class Lines(NamedTuple):
    """Who waits.

    Args:
        ages: Shape (slots,): instant since which a party waits, seconds.
        links: Shape (LINKS, slots): neighbours by age in the line of its kind, its kind and
            sequence; and the pack it is bound in with the next member of that, see `packs`.
        ends: Shape (ENDS, kinds): oldest and youngest of each line, and how many wait in it.
    """

    ages: Floats
    links: Ints
    ends: Ints


def make_lines(slots: int, kinds: int) -> Lines:
    """Return empty lines with room for so many parties of so many kinds."""
    ends: Ints = np.full((ENDS, kinds), NONE, dtype=np.int64)
    ends[COUNT] = 0
    return Lines(np.zeros(slots), np.full((LINKS, slots), NONE, dtype=np.int64), ends)


def widen(lines: Lines, slots: int) -> Lines:
    """Return the same lines with room for more parties."""
    ages, links, ends = lines
    wider = make_lines(slots, ends.shape[1])
    wider.ages[: len(ages)] = ages
    wider.links[:, : links.shape[1]] = links
    return wider._replace(ends=ends)


@kernel("boolean(Lines, int64, int64)", inline=True, allocates=False)
def is_older(lines: Lines, slot: int, other: int) -> bool:
    """Return whether a party waits longer than another, ties by sequence."""
    ages, links = lines.ages, lines.links
    if ages[slot] != ages[other]:
        return bool(ages[slot] < ages[other])
    return bool(links[SEQUENCE, slot] < links[SEQUENCE, other])


@kernel("void(Lines, int64, int64)", allocates=False)
def add_party(lines: Lines, slot: int, kind: int) -> None:
    """Let a party wait at its age in the line of its kind.

    Complexity:
        O(1) for a newcomer; O(line) for one who comes back.
    """
    links, ends = lines.links, lines.ends
    older = ends[YOUNGEST, kind]
    while older != NONE and is_older(lines, slot, older):
        older = links[OLDER, older]
    younger = ends[OLDEST, kind] if older == NONE else links[YOUNGER, older]
    links[KIND, slot], links[OLDER, slot], links[YOUNGER, slot] = kind, older, younger
    if older == NONE:
        ends[OLDEST, kind] = slot
    else:
        links[YOUNGER, older] = slot
    if younger == NONE:
        ends[YOUNGEST, kind] = slot
    else:
        links[OLDER, younger] = slot
    ends[COUNT, kind] += 1


@kernel("void(Lines, int64)", allocates=False)
def take(lines: Lines, slot: int) -> None:
    """Take a party out of its line, in O(1)."""
    links, ends = lines.links, lines.ends
    kind, older, younger = links[KIND, slot], links[OLDER, slot], links[YOUNGER, slot]
    if older == NONE:
        ends[OLDEST, kind] = younger
    else:
        links[YOUNGER, older] = younger
    if younger == NONE:
        ends[YOUNGEST, kind] = older
    else:
        links[OLDER, younger] = older
    ends[COUNT, kind] -= 1
