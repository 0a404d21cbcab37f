"""What kind of match a ticket can hope for: some players find close partners everywhere, some never.

A search tells of everybody what a match with the nearer part of all others would lack in what is
known by pairs: ratings, pings. That is a ticket's **prospect**; the mean over its first searches
counts. How much of it matches really lack, and what parties of each size lack beyond it, is learnt
from the tentative matches of all searches, whether they start or not. Both together tell what a
ticket can **hope** for, more or less than the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evenmatch.model.ticket import Ticket
from evenmatch.solvers.batch.batch import Batch, Floats
from evenmatch.solvers.batch.pairs import E_APART, tabulate

NEARER = 0.35
"""The part of the others that a prospect looks at."""
LOOKS = 8
"""Searches after which a prospect stands."""
FRESHNESS = 0.01
"""Weight of the newest search in what is learnt."""
SLOPE_FIRST, SEARCHES_FIRST = 0.5, 20.0
"""What matches lack of what their prospects say, before anything is learnt, and what that weighs in
searches."""
TICKETS_FIRST = 10.0


def prospects_of(batch: Batch) -> Floats:
    """Return what matches of each party would lack by pairs, with the nearer part of all others.

    Complexity:
        O(players^2).
    """
    count = batch.players
    costs = tabulate(batch.facts, batch.seats).costs
    both = costs[:, :, 0] + costs[:, :, 1]
    apart = (costs.view(np.int32)[:, :, 0] & E_APART) != 0
    party = np.searchsorted(batch.first, np.arange(count), side="right") - 1
    both[apart] = both[~apart].max(initial=0.0)
    both[party[:, None] == party[None, :]] = np.inf
    each = np.zeros(count)
    nearer = max(1, int(NEARER * (count - 1)))
    nearest = np.partition(both, min(nearer, count - 1), axis=1)[:, :nearer]
    known = np.isfinite(nearest)
    sums = np.where(known, nearest, 0.0).sum(axis=1, dtype=np.float64)
    each = sums / np.maximum(known.sum(axis=1), 1)
    pairs = batch.k * (batch.k - 1) / 2
    means: Floats = np.add.reduceat(each, batch.first[:-1]) / np.diff(batch.first)
    return means * (pairs / 2.0)


class Prospects:
    """What the waiting tickets of one queue can hope for.

    Args:
        memory: What `memory()` said before a restart.
    """

    def __init__(self, memory: Mapping[str, Any]) -> None:
        # By sequence: prospects summed up over searches, and how many those were.
        self._seen: dict[int, tuple[float, int]] = {
            sequence: (total, count) for sequence, total, count in memory.get("seen", ())
        }
        self._searches: int = memory.get("searches", 0)
        # Means over players in tentative matches: prospect, quality, and their moments.
        self._means: list[float] = list(memory.get("means", (0.0, 0.0, 0.0, 0.0)))
        # By size of the party: what qualities have beyond that, and over how many tickets.
        self._sizes: dict[int, tuple[float, float]] = {
            size: (mean, count) for size, mean, count in memory.get("sizes", ())
        }

    def restored(self, tickets: Mapping[int, Ticket]) -> None:
        """Forget whom a memory knows and who did not come back after a restart."""
        self._seen = {each: known for each, known in self._seen.items() if each in tickets}

    def left(self, sequence: int) -> None:
        """Forget a ticket."""
        self._seen.pop(sequence, None)

    def note(self, sequences: Sequence[int], prospects: Sequence[float]) -> None:
        """Take what a search says of tickets."""
        for sequence, prospect in zip(sequences, prospects, strict=True):
            total, count = self._seen.get(sequence, (0.0, 0))
            if count < LOOKS:
                self._seen[sequence] = total + prospect, count + 1

    def learn(self, matches: Sequence[tuple[Sequence[Ticket], float]]) -> None:
        """Learn from the matches of a search, each with its quality."""
        found = [
            (self._seen[t.sequence][0] / self._seen[t.sequence][1], quality, t.size)
            for tickets, quality in matches
            for t in tickets
            if t.sequence in self._seen
        ]
        if not found:
            return
        self._searches += 1
        weight = max(FRESHNESS, 1.0 / self._searches)
        players = sum(size for _, _, size in found)
        prospect = math.fsum(p * size for p, _, size in found) / players
        quality = math.fsum(q * size for _, q, size in found) / players
        means = self._means
        off, above = prospect - means[0], quality - means[1]
        means[0] += weight * off
        means[1] += weight * above
        spread = math.fsum((p - means[0]) ** 2 * size for p, _, size in found) / players
        common = math.fsum((p - means[0]) * (q - means[1]) * s for p, q, s in found) / players
        means[2] += weight * (spread - means[2])
        means[3] += weight * (common - means[3])
        slope = self.slope
        for p, q, size in found:
            mean, count = self._sizes.get(size, (0.0, 0.0))
            beyond = q - means[1] + slope * (p - means[0])
            count = min(count + 1.0, 1.0 / FRESHNESS * 4)
            self._sizes[size] = mean + (beyond - mean) / (count + TICKETS_FIRST), count

    @property
    def slope(self) -> float:
        """Return what matches lack for each part of what prospects say."""
        _, _, spread, common = self._means
        learnt = min(max(-common / spread, 0.0), 1.0) if spread > 1e-9 else 0.0
        share = self._searches / (self._searches + SEARCHES_FIRST)
        return share * learnt + (1.0 - share) * SLOPE_FIRST

    def hope(self, ticket: Ticket) -> float:
        """Return how much better than usual a ticket's match can be expected to be."""
        size = self._sizes.get(ticket.size, (0.0, 0.0))[0]
        known = self._seen.get(ticket.sequence)
        if known is None:
            return size
        return size - self.slope * (known[0] / known[1] - self._means[0])

    def memory(self) -> dict[str, Any]:
        """Return what is known of each ticket, and what was learnt."""
        return {
            "seen": [[sequence, total, count] for sequence, (total, count) in self._seen.items()],
            "searches": self._searches,
            "means": list(self._means),
            "sizes": [[size, mean, count] for size, (mean, count) in self._sizes.items()],
        }
