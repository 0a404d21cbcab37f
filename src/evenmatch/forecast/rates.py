"""From counts to rates of matching: cells that saw little borrow from larger ones.

A cell is a party size, a region and a decile of skill. Its rates are those of its size and region,
times how much more or less often its own tickets were matched than these say, and then, age by
age, what was counted. How often counts as much as in the larger cell once the cell has `ENOUGH`
matches, at which age once it has `ENOUGH_AT_AGE` of them in a bin: below that the larger cell
decides, above it the cell itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from evenmatch.forecast.life_table import BINS, EDGES, Counts, Floats

ENOUGH = 20.0
"""Matches at which a cell counts as much as the larger one that it is a part of."""
ENOUGH_AT_AGE = 5.0
"""Matches in one bin of ages at which a cell counts as much there."""
KEPT_MATCHES = 200.0
"""A queue that hardly anybody enters forgets nothing beyond its last so many matches."""
WIDTHS = np.diff(np.array(EDGES))


class Rates:
    """How often tickets are matched, by cell and age.

    Args:
        hazard: Matches per second, by cell and bin.
        at_once: Share of tickets matched in the instant in which they come, by cell.
        matches: Matches that the cell itself saw, weighted by age.
    """

    def __init__(self, hazard: Floats, at_once: Floats, matches: Floats) -> None:
        self.hazard = hazard
        self.at_once = at_once
        self.matches = matches
        spent = np.cumsum(hazard[:, :-1] * WIDTHS, axis=1)
        self.spent = np.hstack([np.zeros((len(hazard), 1)), spent])


def rates_of(counts: Counts, cells: Sequence[tuple[Hashable, ...]], seen: int) -> Rates:
    """Return the rates of all cells, the whole queue's last.

    Args:
        counts: One row for each cell.
        cells: Each cell as a path from coarse to fine, all equally long.
        seen: Matches of the queue so far, all counted as one.

    Complexity:
        O(cells * bins).
    """
    total = float(counts.matched.sum())
    held = min(float(seen), KEPT_MATCHES)
    scale = held / total if 0.0 < total < held else 1.0
    matched, seconds = counts.matched * scale, counts.seconds * scale
    arrived, at_once = counts.arrived * scale, counts.at_once * scale
    parent = np.zeros(len(cells), dtype=np.int64)
    whole = _whole(matched.sum(axis=0), seconds.sum(axis=0))
    share = (at_once.sum() + 1.0) / (arrived.sum() + 2.0)
    hazard, shares = whole[None, :], np.array([share])
    for depth in range(1, len(cells[0]) + 1 if cells else 1):
        group, first = _groups([cell[:depth] for cell in cells])
        size = len(first)
        above = parent[first]
        hazard = _shrunk(
            _sum_by(matched, group, size), _sum_by(seconds, group, size), hazard[above]
        )
        came = np.bincount(group, arrived, size)
        shares = (np.bincount(group, at_once, size) + ENOUGH * shares[above]) / (came + ENOUGH)
        parent = group
    return Rates(
        np.vstack([hazard[parent], whole]),
        np.append(shares[parent], share),
        np.append(matched.sum(axis=1), matched.sum()),
    )


def _whole(matched: Floats, seconds: Floats) -> Floats:
    """Return the rates of a whole queue; where nobody was of an age, those of the age before."""
    rate = (matched.sum() + 1.0) / (seconds.sum() + 1.0)
    found = np.empty(BINS)
    for place in range(BINS):
        # The age before counts as a match where there is none, and fades as there are more: many
        # matches at the very beginning of a bin have next to no seconds in it.
        weight = 1.0 / (1.0 + matched[place])
        rate = (matched[place] + weight) / (seconds[place] + weight / rate)
        found[place] = rate
    return found


def _shrunk(matched: Floats, seconds: Floats, above: Floats) -> Floats:
    """Return the rates of cells between what they saw and the rates of the larger ones."""
    expected = (seconds * above).sum(axis=1)
    factor = (matched.sum(axis=1) + ENOUGH) / (expected + ENOUGH)
    drawn = above * factor[:, None]
    found: Floats = (matched + ENOUGH_AT_AGE) / (seconds + ENOUGH_AT_AGE / drawn)
    return found


def _groups(keys: Sequence[Hashable]) -> tuple[np.ndarray, np.ndarray]:
    """Return each key's number in order of appearance, and where each number appears first."""
    number: dict[Hashable, int] = {}
    group = np.array([number.setdefault(key, len(number)) for key in keys], dtype=np.int64)
    _, first = np.unique(group, return_index=True)
    return group, first


def _sum_by(values: Floats, group: np.ndarray, size: int) -> Floats:
    found = np.zeros((size, BINS))
    np.add.at(found, group, values)
    return found
