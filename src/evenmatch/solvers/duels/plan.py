"""A batch of single players for duels: pairs as a plan, and a proof of their quality."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evenmatch.errors import ConfigError
from evenmatch.solvers.duels.pool import duel_costs, duels_of
from evenmatch.solvers.duels.rounds import pair_duels
from evenmatch.solvers.teams.batch import (
    APART,
    KIND,
    MODERATE,
    NOT_ENEMIES,
    OPEN,
    PAIR_GAP,
    WEIGHT,
    Batch,
    Floats,
    Ints,
    Plan,
    venues_of,
)

if TYPE_CHECKING:
    from evenmatch.solvers.teams.evaluation_input import Scene


@dataclass(frozen=True)
class DuelPlan:
    """Matches of two players each, and what is proved about them.

    Args:
        plan: The matches, in the order of their first players.
        bound: No plan with at least as many matches has a higher sum of qualities and of the
            worth of seated players, divided by the number of matches of this plan. Without worth,
            this bounds the mean quality.
        is_optimal: Whether it is proved, up to rounding, that no plan has more matches, and none
            with as many has a higher sum.
    """

    plan: Plan
    bound: float
    is_optimal: bool


def plan_duels(batch: Batch) -> DuelPlan:
    """Pair the players of a batch: as many as possible, then at the highest quality.

    Args:
        batch: Two teams of one player; every party is one player. `worth` is added to the quality
            for each seated player, so the longest waiting play if one must be left over.

    Raises:
        ConfigError: The batch has other teams, or parties.

    Complexity:
        That of `pair_duels`; facts that are not gaps of numbers are looked up only for the pairs
        that pass the gaps and rules along one row of values. Often these are most of all pairs, and
        the time is about n ** 2.5 then: 2 s for 1,000 players, and 12 s for 2,000.

    >>> from evenmatch.solvers.teams.batch import empty_batch, empty_facts
    >>> facts = empty_facts(4)._replace(values=np.array([[0.0, 0.5, 0.6, 1.0]]))
    >>> batch = empty_batch(np.array([1, 1]), np.arange(5), facts)
    >>> batch = batch._replace(terms=np.array([[0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0]]))
    >>> plan_duels(batch).plan.seating.tolist()
    [[0, 1], [2, 3]]
    """
    if batch.seats.tolist() != [1, 1]:
        raise ConfigError(f"a duel has teams of 1 + 1 players, got {batch.seats.tolist()}")
    if np.any(np.diff(batch.first) != 1):
        raise ConfigError("a duel takes parties of one player; a larger one does not fit a team")
    duels, other = duels_of(batch), FactCosts(batch)
    extra = None if other.is_nothing else other.costs
    duel_round = pair_duels(duels, extra, extra_top=other.top)
    pairs = duel_round.pairs
    one, two = np.ascontiguousarray(pairs.T)
    quality = 1.0 - duel_costs(*duels[:4], one, two) - other.costs(one, two)
    seated = other.by_side(pairs).astype(np.int32)
    plan = Plan(seated, quality, np.ones(len(pairs), np.bool_), duel_round.pairs_seen)
    most = len(pairs) + math.fsum(batch.worth.tolist()) - duel_round.bound
    return DuelPlan(plan, most / len(pairs) if len(pairs) else 0.0, duel_round.is_optimal)


def compares_only_numbers(batch: Batch) -> bool:
    """Return whether gaps of numbers decide alone, so that few pairs have to be compared."""
    return FactCosts(batch).is_nothing


# The cost of a pair of single players beside gaps of numbers, for many pairs at once.
#
# In numpy, apart from the kernels of `solvers.duels.pool`, since it is needed for few pairs: those
# near each other.

Flags = NDArray[np.bool_]
PAIRS_MAX = 200_000
"""Pairs that are compared region by region at a time."""


class FactCosts:
    """Costs and hard rules of pairs of players in different teams, by the facts of a batch.

    Args:
        batch: Two teams of one player each.
    """

    def __init__(self, batch: Batch) -> None:
        self._facts, self._hosts = batch.facts, batch.hosts
        self._roles, self._sides = _role_costs(batch), batch.sides
        facts = batch.facts
        by_words = np.isfinite(facts.words_weight)
        by_tongues = np.isfinite(facts.tongues_weight)
        weights = facts.ping_weights
        # The one pair of a match is both the pair of enemies and all pairs.
        self._ping_weight, self._region_weight = float(weights[0] + weights[2]), float(weights[3])
        self._limits_ping = bool(np.isfinite(facts.ping_max[0]).any())
        self.top = self._ping_weight + self._region_weight + facts.met_weight
        self.top += float(facts.words_weight[by_words].sum())
        self.top += float(facts.tongues_weight[by_tongues].sum()) + float(batch.hosts.max())
        allowed = self._roles[np.isfinite(self._roles)]
        self.top += 2.0 * float(allowed.max(initial=0.0))
        self._met, self._freshness = _keyed(facts.met, batch.players)
        self._avoid, self._avoid_flags = _keyed(facts.avoid.astype(np.float64), batch.players)
        self.is_nothing = (
            self.top == 0.0
            and not (facts.avoid.size or self._limits_ping)
            and bool(by_words.all() and by_tongues.all())
            and bool(np.isfinite(self._roles).all())
        )
        self._scene: Scene | None = None
        others = batch.terms[batch.terms[:, KIND] > PAIR_GAP]
        minds = facts.words_mind.any() or facts.tongues_mind.any()
        minds = minds or np.isfinite(facts.region_max).any()
        if len(others) or batch.sides.size or minds or (batch.rules[:, 0] > PAIR_GAP).any():
            from evenmatch.solvers.teams.evaluation_input import scene_of

            self._batch, self._scene, self.is_nothing = batch, scene_of(batch), False
            self._duels = duels_of(batch)._replace(
                rules=batch.rules[:0], tolerances=batch.tolerances[:0]
            )
            self.top += float(others[:, WEIGHT].sum())

    def costs(self, one: Ints, two: Ints) -> Floats:
        """Return the cost of each pair; infinity if a hard rule forbids it."""
        facts = self._facts
        if self._scene is not None:
            return self._judged(self._scene, one, two)
        total: Floats = self._roles[one] + self._roles[two]
        legal = self._may_meet(one, two)
        if self._ping_weight > 0.0 or self._limits_ping:
            ping = self._pings(one, two)
            total = total + self._ping_weight * self._ping_costs(ping)
            legal &= ping <= np.minimum(facts.ping_max[0, one], facts.ping_max[0, two])
        if self._region_weight > 0.0:
            total = total + self._region_weight * self._region_costs(one, two)
        if self._met.size and facts.met_weight > 0.0:
            total = total + facts.met_weight * self._met_costs(one, two)
        for codes, weight in zip(facts.words, facts.words_weight, strict=True):
            differ = codes[one] != codes[two]
            if np.isinf(weight):
                legal &= ~differ
            else:
                total = total + weight * differ
        for sets, weight in zip(facts.tongues, facts.tongues_weight, strict=True):
            differ = (sets[one] & sets[two]) == 0
            if np.isinf(weight):
                legal &= ~differ
            else:
                total = total + weight * differ
        if self._hosts.any():
            total = total + self._hosts[self._host_counts(one, two)]
        return np.where(legal, total, np.inf)

    def by_side(self, pairs: Ints) -> Ints:
        """Return pairs with the players on the sides that they insist on."""
        sides = self._sides
        if not sides.size:
            return pairs
        one, two = sides[pairs].T
        return np.where(((one == 1) | (two == 0))[:, None], pairs[:, ::-1], pairs)

    def _judged(self, scene: Scene, one: Ints, two: Ints) -> Floats:
        """Return the costs of pairs beside gaps of numbers, from the judge of all matches."""
        from evenmatch.solvers.teams.judge import judge

        pairs = np.stack((one, two), axis=1)
        seated = np.ascontiguousarray(self.by_side(pairs), dtype=np.int32)
        quality, legal = judge(scene, self._batch, seated)
        numeric = duel_costs(*self._duels[:4], one, two)
        return np.where(legal, np.maximum(1.0 - quality - numeric, 0.0), np.inf)

    def _may_meet(self, one: Ints, two: Ints) -> Flags:
        """Return which pairs no player has asked to keep apart."""
        legal: Flags = np.ones(len(one), dtype=np.bool_)
        at, found = _look_up(self._avoid, one, two, len(self._roles))
        flags = self._avoid_flags[at, 0].astype(np.int64) if self._avoid.size else 0
        legal &= ~(found & ((flags & (APART | NOT_ENEMIES)) != 0))
        return legal

    def _pings(self, one: Ints, two: Ints) -> Floats:
        facts = self._facts
        if facts.ping.size:
            return facts.ping[one, two].astype(np.float64)
        found: Floats = np.full(len(one), np.inf)
        for start in range(0, len(one), PAIRS_MAX):
            part = slice(start, start + PAIRS_MAX)
            both = facts.latency[one[part]].astype(np.float64) + facts.latency[two[part]]
            found[part] = both.min(axis=1, initial=np.inf)
        return found

    def _ping_costs(self, ping: Floats) -> Floats:
        best, worst = self._facts.ping_scale
        inside = np.clip(ping, best, worst)
        cost: Floats = np.clip(np.log(inside / best) / np.log(worst / best), 0.0, 1.0)
        return np.where(ping >= worst, 1.0, cost)

    def _region_costs(self, one: Ints, two: Ints) -> Floats:
        """Return the mean cost of both players to the region that is best for both."""
        latency, furthest = self._facts.latency, venues_of(self._facts)[0][3]
        best: Floats = np.ones(len(one))
        for region in range(latency.shape[1]):
            a = latency[one, region].astype(np.float64)
            b = latency[two, region].astype(np.float64)
            mean = (self._ping_costs(a) + self._ping_costs(b)) / 2.0
            is_open = np.isfinite(a) & np.isfinite(b) & (np.maximum(a, b) <= furthest)
            best = np.where(is_open, np.minimum(best, mean), best)
        return best

    def _met_costs(self, one: Ints, two: Ints) -> Floats:
        at, found = _look_up(self._met, one, two, len(self._roles))
        fresh, were_mates = self._freshness[at].T
        return np.where(found, fresh * np.where(were_mates != 0.0, 0.5, 1.0), 0.0)

    def _host_counts(self, one: Ints, two: Ints) -> Ints:
        """Return how many players of each pair reach the other."""
        facts = self._facts
        if facts.connect.size:
            there, back = facts.connect[one, two] != 0, facts.connect[two, one] != 0
            return there.astype(np.int64) + back
        if not facts.network.size:
            return np.full(len(one), 2, dtype=np.int64)
        a, b = facts.network[one], facts.network[two]
        meets = (a == OPEN) | (b == OPEN) | ((a == MODERATE) & (b == MODERATE))
        return 2 * meets.astype(np.int64)


def _role_costs(batch: Batch) -> Floats:
    """Return the cost of each player in the best role that a team of one has; inf = none."""
    if not batch.role_seats.size:
        return np.zeros(batch.players)
    seats = batch.role_seats > 0
    least: Floats = batch.role_cost[:, seats].astype(np.float64).min(axis=1, initial=np.inf)
    return least


def _keyed(rows: Floats, players: int) -> tuple[Ints, Floats]:
    """Return sorted keys of pairs, and the other columns; avoided pairs may occur twice."""
    ends = np.sort(rows[:, :2].astype(np.int64), axis=1)
    keys = ends[:, 0] * players + ends[:, 1]
    order = np.argsort(keys, kind="stable")
    return keys[order], rows[order, 2:]


def _look_up(keys: Ints, one: Ints, two: Ints, players: int) -> tuple[Ints, Flags]:
    """Return the index of each pair among sorted keys, and whether it is there."""
    wanted = np.minimum(one, two) * players + np.maximum(one, two)
    at = np.searchsorted(keys, wanted)
    at = np.minimum(at, max(0, len(keys) - 1))
    found: Flags = keys[at] == wanted if keys.size else np.zeros(len(one), dtype=np.bool_)
    return at, found
