"""Waiting parties, in one line for each kind, by age: the state of service orders.

A kind is a size and the side that the party insists on. A slot stands for one party; the caller
writes its instant and sequence first, then passes its kind. In a compiled run, slots are indices of
arrivals; a matcher reuses them.
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
    """The waiting parties.

    Args:
        ages: Shape (slots,): instant since which a party waits, seconds.
        links: Shape (LINKS, slots): neighbours by age in the line of its kind; its kind and
            sequence; and the pack that it is bound in, with that pack's next member, see `packs`.
        ends: Shape (ENDS, kinds): oldest and youngest of each line, and its length.
    """

    ages: Floats
    links: Ints
    ends: Ints


def make_lines(slots: int, kinds: int) -> Lines:
    """Return empty lines with room for `slots` parties of `kinds` kinds."""
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
    """Return whether a party has waited longer than another, ties by sequence."""
    ages, links = lines.ages, lines.links
    if ages[slot] != ages[other]:
        return bool(ages[slot] < ages[other])
    return bool(links[SEQUENCE, slot] < links[SEQUENCE, other])


@kernel("void(Lines, int64, int64)", allocates=False)
def add_party(lines: Lines, slot: int, kind: int) -> None:
    """Put a party into the line of its kind, at its age.

    Complexity:
        O(1) for a new party; O(line) for one that returns.
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
    """Remove a party from its line, in O(1)."""
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
