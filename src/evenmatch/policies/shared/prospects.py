"""What kind of match a ticket can hope for: some find close partners all the time, others never.

Each search says of everybody what a match with the nearer part of all others would lack in what
is known by pairs, such as ratings and pings: a ticket's **prospect** is the mean over its first
searches. How much of it matches really lack, and what parties of each size lack beside it, is
learnt from the tentative matches of all searches, whether they start or not: those that start are
a biased sample. Both together say what a ticket may **hope** for: how much better than usual its
match can be expected to be.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from evenmatch.model.ticket import Ticket
from evenmatch.solvers.teams.batch import Batch, Flags, Floats, Ints, Singles

NEARER = 0.35
"""The part of the others at which a prospect looks: fewer are a matter of who waits by chance."""
OTHERS_MAX = 128
"""With how many others a player is compared at the most; 64 say as much as a thousand."""
LOOKS = 8
"""Searches after which a prospect stands."""
FRESHNESS = 0.01
"""Weight of the newest search in what is learnt."""
SLOPE_FIRST, SEARCHES_FIRST = 0.5, 20.0
"""The part of a prospect that matches lack, before anything is learnt, and what it weighs in
searches."""
TICKETS_FIRST, TICKETS_MAX = 10.0, 400.0
"""What parties of a size lack is learnt from so many tickets, beside so many that lack nothing."""
VARIANCE_MIN = 1e-9


class TicketProspects(msgspec.Struct):
    """What is known of a waiting ticket.

    Args:
        size: Its players.
        total: The sum of its prospects, as shares of quality.
        looks: How many those are.
    """

    size: int
    total: float = 0.0
    looks: int = 0

    @property
    def prospect(self) -> float:
        """Return the mean; there must have been a search."""
        return self.total / self.looks


def prospects_of(batch: Batch) -> Floats:
    """Return what a match of each party with the nearer part of the others would lack by pairs.

    Complexity:
        O(players^2) for the table, O(players * `OTHERS_MAX`) to look at it.
    """
    from evenmatch.solvers.teams.pairs import E_APART, tabulate

    count = batch.players
    if not count:
        return np.zeros(0)
    step = -(-count // OTHERS_MAX)
    costs: Singles = tabulate(batch.facts, batch.seats).costs[:, ::step]
    both: Floats = costs.sum(axis=2, dtype=np.float64)
    party: Ints = np.searchsorted(batch.first, np.arange(count), side="right") - 1
    own: Flags = party[:, None] == party[None, ::step]
    apart = (np.ascontiguousarray(costs[:, :, 0]).view(np.int32) & E_APART) != 0
    both[apart] = both[~apart].max(initial=0.0)
    both[own] = np.inf
    nearer = min(max(1, int(NEARER * both.shape[1])), both.shape[1] - 1)
    nearest = np.partition(both, nearer, axis=1)[:, :nearer]
    is_other = np.isfinite(nearest)
    mean = np.where(is_other, nearest, 0.0).sum(axis=1) / np.maximum(is_other.sum(axis=1), 1)
    pairs = batch.k * (batch.k - 1) / 2.0
    lacks: Floats = np.add.reduceat(mean, batch.first[:-1]) / np.diff(batch.first)
    # A pair is seen as enemies and as mates; it counts as one of the two.
    return lacks * (pairs / 2.0)


class Prospects:
    """What the waiting tickets of one queue may hope for.

    Args:
        memory: What `memory()` said before a restart.
    """

    def __init__(self, memory: Mapping[str, Any]) -> None:
        self._known = {
            sequence: TicketProspects(*each) for sequence, *each in memory.get("known", ())
        }
        self._searches: int = memory.get("searches", 0)
        # Of players in tentative matches: their mean prospect and quality, the variance of
        # prospects, and the covariance of both.
        self._means: list[float] = list(memory.get("means", (0.0, 0.0, 0.0, 0.0)))
        # By size of a party: what its matches have beside that, and from how many tickets.
        self._sizes: dict[int, tuple[float, float]] = {
            size: (mean, count) for size, mean, count in memory.get("sizes", ())
        }
        # Which part of a prospect matches lack.
        self.slope = self._learnt_slope()

    def restored(self, tickets: Mapping[int, Ticket]) -> None:
        """Know those who wait after a restart, and nobody else: a memory may know others."""
        unknown = {each: TicketProspects(ticket.size) for each, ticket in tickets.items()}
        self._known = {
            each: self._known.get(each, prospects) for each, prospects in unknown.items()
        }

    def entered(self, ticket: Ticket) -> None:
        """Take a ticket in."""
        self._known[ticket.sequence] = TicketProspects(ticket.size)

    def left(self, sequence: int) -> None:
        """Forget a ticket."""
        self._known.pop(sequence, None)

    def note(self, prospects: Sequence[tuple[int, float]]) -> None:
        """Take the prospects of tickets that a search took part in, by sequence."""
        for sequence, prospect in prospects:
            known = self._known.get(sequence)
            if known is not None and known.looks < LOOKS:
                known.total += prospect
                known.looks += 1

    def learn(self, matches: Sequence[tuple[Sequence[int], float]]) -> None:
        """Learn from the tentative matches of a search, each as sequences and a quality."""
        seated = [
            (known.prospect, quality, known.size)
            for sequences, quality in matches
            for sequence in sequences
            if (known := self._known.get(sequence)) is not None and known.looks
        ]
        if not seated:
            return
        self._searches += 1
        weight = max(FRESHNESS, 1.0 / self._searches)
        prospects, qualities, sizes = np.array(seated, dtype=np.float64).T
        means = self._means
        means[0] += weight * (float(np.average(prospects, weights=sizes)) - means[0])
        means[1] += weight * (float(np.average(qualities, weights=sizes)) - means[1])
        off, above = prospects - means[0], qualities - means[1]
        means[2] += weight * (float(np.average(off * off, weights=sizes)) - means[2])
        means[3] += weight * (float(np.average(off * above, weights=sizes)) - means[3])
        self.slope = self._learnt_slope()
        beside = above + self.slope * off
        for size in np.unique(sizes):
            mine = beside[sizes == size]
            mean, count = self._sizes.get(int(size), (0.0, 0.0))
            count = min(count + len(mine), TICKETS_MAX)
            share = len(mine) / (count + TICKETS_FIRST)
            self._sizes[int(size)] = mean + share * (float(mine.mean()) - mean), count

    def hope(self, sequence: int) -> float:
        """Return how much better than usual a ticket's match can be expected to be, in quality."""
        prospects = self._known[sequence]
        beside, _ = self._sizes.get(prospects.size, (0.0, 0.0))
        if not prospects.looks:
            return beside
        return beside - self.slope * (prospects.prospect - self._means[0])

    def hope_of(self, sequences: Sequence[int]) -> float:
        """Return the mean hope of the players of a match."""
        sizes = [self._known[each].size for each in sequences]
        hopes = [self.hope(each) * size for each, size in zip(sequences, sizes, strict=True)]
        return math.fsum(hopes) / sum(sizes)

    def memory(self) -> dict[str, Any]:
        """Return what is known of each ticket, and what was learnt."""
        return {
            "known": [[each, k.size, k.total, k.looks] for each, k in self._known.items()],
            "searches": self._searches,
            "means": list(self._means),
            "sizes": [[size, mean, count] for size, (mean, count) in self._sizes.items()],
        }

    def _learnt_slope(self) -> float:
        _, _, variance, common = self._means
        learnt = min(max(-common / variance, 0.0), 1.0) if variance > VARIANCE_MIN else 0.0
        share = self._searches / (self._searches + SEARCHES_FIRST)
        return share * learnt + (1.0 - share) * SLOPE_FIRST
