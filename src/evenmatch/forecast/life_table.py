"""A life table by cell, updated online: how many tickets were matched at which age.

The age of a ticket is the time that it has waited. Ages are divided into bins, and each bin of a
cell counts two things: the matches of tickets of that age, and the seconds that tickets spent at
that age, whether they were matched then or not. The quotient is the rate at which a ticket of that
age is matched. A waiting ticket adds its seconds as they pass, and one that leaves has added its
own until then. So every ticket counts, and long waits raise the estimate while they last, not only
afterwards (the estimator of Kaplan and Meier, in bins).

Older observations count less: half after `half_life` seconds, except for the last matches.

Source:
    Kaplan and Meier, Nonparametric estimation from incomplete observations (1958), section 5;
    with the seconds at risk in place of the number at risk, it also holds in bins and for tickets
    that are first seen in the middle of their wait (after a restart).
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

STEPS = 4
"""Bins from an age to its double."""
OCTAVES = 16
EDGES: tuple[float, ...] = (
    0.0,
    *(2.0 ** (step / STEPS) for step in range(STEPS * OCTAVES + 1)),
)
"""Lower edges of bins, seconds: 0, 1, then four per doubling up to 18 hours; the last is open."""
BINS = len(EDGES)
CROSSINGS_MOST = 10_000
"""Most tickets that move to their next bin in one call; the others do so later, without loss."""
RESCALE_AFTER = 40.0
"""Half-lives after which all weights are divided, so that they stay finite."""
KEPT_MATCHES = 50.0
"""A queue never forgets more than its matches before the last ones of this number: otherwise a
single ticket that waits through the night would be all that it knows in the morning."""

Floats = NDArray[np.float64]


class Waiter:
    """A ticket in one queue, as a life table follows it.

    Args:
        row: Its cell.
        since: When it began to wait, engine time.
        place: The bin it is in.
        begun: When it entered this bin, or was first seen in it, engine time.
    """

    __slots__ = ("begun", "is_waiting", "place", "row", "since")

    def __init__(self, row: int, since: float, place: int, begun: float) -> None:
        self.row = row
        self.since = since
        self.place = place
        self.begun = begun
        self.is_waiting = True


class _Row:
    """One cell: by bin, the matches, the seconds of tickets that left it, and those now inside."""

    __slots__ = ("arrived", "at_once", "begun", "inside", "matched", "seconds", "waiting")

    def __init__(self) -> None:
        blank = bytes(8 * BINS)
        self.matched = array("d", blank)
        self.seconds = array("d", blank)
        self.inside = array("d", blank)
        self.begun = array("d", blank)
        self.arrived = self.at_once = 0.0
        self.waiting = 0


class Counts:
    """The counts of a life table at an instant, one row for each cell; present weights are 1.

    Args:
        matched: Matches by cell and bin.
        seconds: Seconds waited by cell and bin.
        arrived: Tickets that arrived, by cell.
        at_once: Those of them that were matched at the instant of their arrival.
    """

    def __init__(self, matched: Floats, seconds: Floats, arrived: Floats, at_once: Floats) -> None:
        self.matched = matched
        self.seconds = seconds
        self.arrived = arrived
        self.at_once = at_once


class LifeTable:
    """The rows of one queue, and the tickets that wait in it.

    Instants passed to it never decrease.

    Args:
        half_life: Seconds after which an observation counts half.

    Complexity:
        O(1) for each bin that a ticket passes through, at most `BINS` in all.
    """

    def __init__(self, half_life: float) -> None:
        self._half_life = half_life
        self._rows: list[_Row] = []
        self._lines: list[deque[Waiter]] = [deque() for _ in range(BINS)]
        self._origin: float | None = None
        self._weight = 1.0
        self._matched = 0.0

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self._rows)

    def add_row(self) -> int:
        """Add a cell and return its index."""
        self._rows.append(_Row())
        return len(self._rows) - 1

    def waiting(self, row: int) -> int:
        """Return how many tickets of a cell wait."""
        return self._rows[row].waiting

    def enter(self, row: int, since: float, now: float) -> Waiter:
        """Start following a ticket; one that came earlier counts from its present age on."""
        place = place_of(now - since)
        waiter = Waiter(row, since, place, now)
        counts = self._rows[row]
        counts.waiting += 1
        counts.inside[place] += 1.0
        counts.begun[place] += now
        if since == now:
            counts.arrived += self._weight
        self._lines[place].append(waiter)
        return waiter

    def leave(self, waiter: Waiter, now: float, *, is_matched: bool) -> None:
        """Stop following a ticket, because it was matched or for another reason."""
        while waiter.place + 1 < BINS and waiter.since + EDGES[waiter.place + 1] <= now:
            self._cross(waiter)
        counts, place = self._rows[waiter.row], waiter.place
        waiter.is_waiting = False
        counts.waiting -= 1
        counts.seconds[place] += self._weight * (now - waiter.begun)
        self._take_out(counts, waiter)
        if not is_matched:
            return
        if now == waiter.since:
            counts.at_once += self._weight
        else:
            counts.matched[place] += self._weight
            self._matched += self._weight

    def learn(self, row: int, wait: float, *, is_matched: bool) -> None:
        """Count a wait that is over and was not followed while it lasted."""
        counts, weight = self._rows[row], self._weight
        counts.arrived += weight
        if wait == 0.0:
            counts.at_once += weight * is_matched
            return
        place = place_of(wait)
        for earlier in range(place):
            counts.seconds[earlier] += weight * (EDGES[earlier + 1] - EDGES[earlier])
        counts.seconds[place] += weight * (wait - EDGES[place])
        counts.matched[place] += weight * is_matched
        self._matched += weight * is_matched

    def move_on(self, now: float) -> None:
        """Move tickets to the bins of their present ages, and let old counts fade."""
        self._fade(now)
        left = CROSSINGS_MOST
        for place in range(BINS - 1):
            line, edge = self._lines[place], EDGES[place + 1]
            while line and line[0].since + edge <= now:
                waiter = line.popleft()
                if waiter.is_waiting and waiter.place == place:
                    self._cross(waiter)
                    self._lines[place + 1].append(waiter)
                left -= 1
                if left == 0:
                    return
        last = self._lines[-1]
        if last and not last[0].is_waiting:
            self._lines[-1] = deque(each for each in last if each.is_waiting)

    def counts(self, now: float) -> Counts:
        """Return the counts, including the seconds of waiting tickets until now."""
        rows, weight = self._rows, self._weight
        inside = _matrix([row.inside for row in rows])
        begun = _matrix([row.begun for row in rows])
        seconds = _matrix([row.seconds for row in rows]) / weight
        seconds += np.maximum(inside * now - begun, 0.0)
        return Counts(
            _matrix([row.matched for row in rows]) / weight,
            seconds,
            np.array([row.arrived for row in rows]) / weight,
            np.array([row.at_once for row in rows]) / weight,
        )

    def _cross(self, waiter: Waiter) -> None:
        """Move a ticket to its next bin, as of the instant at which its age reached it."""
        counts, place = self._rows[waiter.row], waiter.place
        at = waiter.since + EDGES[place + 1]
        counts.seconds[place] += self._weight * (at - waiter.begun)
        self._take_out(counts, waiter)
        waiter.place, waiter.begun = place + 1, at
        counts.inside[place + 1] += 1.0
        counts.begun[place + 1] += at

    def _take_out(self, counts: _Row, waiter: Waiter) -> None:
        place = waiter.place
        counts.inside[place] -= 1.0
        # Sums of instants lose digits; when no ticket is inside, they restart at 0.
        counts.begun[place] = counts.begun[place] - waiter.begun if counts.inside[place] else 0.0

    def _fade(self, now: float) -> None:
        if self._origin is None:
            self._origin = now
        age = (now - self._origin) / self._half_life
        if self._matched < KEPT_MATCHES * 2.0 ** min(age, 1_000.0):
            # No time passes if more would be forgotten than must be kept.
            age = math.log2(max(self._weight, self._matched / KEPT_MATCHES))
            self._origin = now - age * self._half_life
        if age > RESCALE_AFTER:
            self._rescale(2.0**age)
            self._origin, age = now, 0.0
        self._weight = 2.0**age

    def _rescale(self, divisor: float) -> None:
        """Make the present weight 1."""
        self._matched /= divisor
        for row in self._rows:
            for place in range(BINS):
                row.matched[place] /= divisor
                row.seconds[place] /= divisor
            row.arrived /= divisor
            row.at_once /= divisor

    def _check(self) -> None:
        """Assert that the tickets inside are those that wait."""
        for number, row in enumerate(self._rows):
            inside = [0] * BINS
            for line in self._lines:
                for waiter in line:
                    if waiter.is_waiting and waiter.row == number:
                        inside[waiter.place] += 1
            assert inside == list(row.inside), f"row {number}: a ticket was lost"
            assert sum(inside) == row.waiting, f"row {number}: waiting differs"


def place_of(age: float) -> int:
    """Return the bin of an age in seconds.

    >>> place_of(0.5), place_of(1.0), place_of(2.0), place_of(1e9) == BINS - 1
    (0, 1, 5, True)
    """
    return max(bisect_right(EDGES, age) - 1, 0)


def _matrix(rows: Sequence[array[float]]) -> Floats:
    return np.frombuffer(b"".join([row.tobytes() for row in rows])).reshape(-1, BINS)


# From counts to rates of matching: cells with little data borrow from larger ones.
#
# A cell is a party size, a region and a decile of skill. Its rates are those of its size and
# region, times the ratio of its own matches to those that these rates predict, and then corrected
# age by age. The ratio counts as much as in the larger cell once the cell has `ENOUGH` matches, and
# an age once it has `ENOUGH_AT_AGE` of them in a bin: with fewer, the larger cell dominates, with
# more the cell itself.

ENOUGH = 20.0
"""Matches with which a cell counts as much as the larger one that it is a part of."""
ENOUGH_AT_AGE = 5.0
"""Matches in one bin of ages with which a cell counts as much there."""
WIDTHS = np.diff(np.array(EDGES))


class Rates:
    """Rates at which tickets are matched, by cell and age.

    Args:
        hazard: Matches per second, by cell and bin.
        at_once: Share of tickets matched at the instant of their arrival, by cell.
        matches: Number of matches observed in the cell itself, weighted by age.
    """

    def __init__(self, hazard: Floats, at_once: Floats, matches: Floats) -> None:
        self.hazard = hazard
        self.at_once = at_once
        self.matches = matches
        spent = np.cumsum(hazard[:, :-1] * WIDTHS, axis=1)
        self.spent = np.hstack([np.zeros((len(hazard), 1)), spent])


def rates_of(counts: Counts, cells: Sequence[tuple[Hashable, ...]]) -> Rates:
    """Return the rates of all cells, the whole queue's last.

    Args:
        counts: One row for each cell.
        cells: Each cell as a path from coarse to fine, all equally long.

    Complexity:
        O(cells * bins).
    """
    matched, seconds = counts.matched, counts.seconds
    arrived, at_once = counts.arrived, counts.at_once
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
    """Return the rates of a whole queue; a bin without data takes those of the bin before."""
    rate = (matched.sum() + 1.0) / (seconds.sum() + 1.0)
    found = np.empty(BINS)
    for place in range(BINS):
        # The rate of the bin before counts as one match, so it matters less with more matches. Many
        # matches at the very beginning of a bin add next to no seconds to it.
        weight = 1.0 / (1.0 + matched[place])
        rate = (matched[place] + weight) / (seconds[place] + weight / rate)
        found[place] = rate
    return found


def _shrunk(matched: Floats, seconds: Floats, above: Floats) -> Floats:
    """Return the rates of cells, between their own data and the rates of the larger ones."""
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
