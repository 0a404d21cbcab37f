"""What a match of a batch is worth, in plain Python: the definition that kernels are tested by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from evenmatch.solvers.batch.batch import (
    APART,
    COLUMN,
    FREE_SEATS,
    KIND,
    KNEE,
    MEAN_GAP,
    MODERATE,
    NOT_ENEMIES,
    NOT_MATES,
    OPEN,
    PAIR_GAP,
    REGION_GAP,
    SHAPE,
    SPREAD,
    STEP,
    TOP,
    WEIGHT,
    Batch,
    Facts,
    Floats,
)
from evenmatch.solvers.pairs import CAPPED, RAW, STEP_SLACK

Teams = Sequence[Sequence[int]]
"""Player numbers by team."""


def cost_of(batch: Batch, teams: Teams) -> float:
    """Return the weighted cost of one match; its quality is 1 - this.

    Complexity:
        O(k^2 + k * regions), and all role assignments of each team.
    """
    total = pair_costs(batch, teams) + math.fsum(_term_cost(batch, t, teams) for t in batch.terms)
    total += batch.parity * parity_gap(batch, teams)
    total += float(batch.hosts[min(2, len(hosts_of(batch, teams)))])
    total += batch.fullness * free_share(batch, teams)
    if batch.role_seats.size:
        players = sum(map(len, teams))
        total += math.fsum(_role_cost(batch, team) for team in teams) * batch.k / players
    return total


def is_legal(batch: Batch, teams: Teams) -> bool:
    """Return whether a match has legal sizes and roles and breaks no hard rule."""
    sizes = [len(team) for team in teams]
    if any(
        n < low or n > high
        for n, low, high in zip(sizes, batch.seats_min, batch.seats, strict=True)
    ):
        return False
    if batch.role_seats.size and any(math.isinf(_role_cost(batch, team)) for team in teams):
        return False
    return _pairs_are_legal(batch.facts, teams) and all(
        _rule_holds(batch, rule, reach, teams)
        for rule, reach in zip(batch.rules, batch.reach, strict=True)
    )


def free_share(batch: Batch, teams: Teams) -> float:
    """Return free seats over those that may stay free; 0 where none may."""
    room = int((batch.seats - batch.seats_min).sum())
    return (batch.k - sum(map(len, teams))) / room if room else 0.0


def pair_costs(batch: Batch, teams: Teams) -> float:
    """Return all that is averaged over pairs of a match, or over its players to one region."""
    facts = batch.facts
    everyone = [p for team in teams for p in team]
    place = {p: t for t, team in enumerate(teams) for p in team}
    pairs = list(combinations(everyone, 2))
    enemies = [(i, j) for i, j in pairs if place[i] != place[j]]
    mates = [(i, j) for i, j in pairs if place[i] == place[j]]
    total = 0.0
    for term in facts.gaps:
        values = facts.values[int(term[COLUMN])]
        costs = [shaped_gap(term, abs(values[i] - values[j])) for i, j in pairs]
        total += term[WEIGHT] * _mean(costs)
    for weight, chosen in zip(facts.ping_weights, (enemies, mates, pairs), strict=False):
        if weight:
            total += weight * _mean([ping_cost(facts, ping_of(facts, i, j)) for i, j in chosen])
    if facts.ping_weights[3]:
        total += facts.ping_weights[3] * _joint_region_cost(facts, everyone)
    total += facts.met_weight * _mean([_met_cost(facts, i, j, place) for i, j in pairs])
    for codes, weight in zip(facts.words, facts.words_weight, strict=True):
        if math.isfinite(weight):
            total += weight * _mean([float(codes[i] != codes[j]) for i, j in pairs])
    for sets, weight in zip(facts.tongues, facts.tongues_weight, strict=True):
        if math.isfinite(weight):
            total += weight * _mean([float(not sets[i] & sets[j]) for i, j in pairs])
    return float(total)


def ping_of(facts: Facts, i: int, j: int) -> float:
    """Return the milliseconds between two players; inf if nothing joins them."""
    if facts.ping.size:
        return float(facts.ping[i, j])
    both = facts.latency[i].astype(np.float64) + facts.latency[j]
    return float(both.min(initial=math.inf))


def ping_cost(facts: Facts, ping: float) -> float:
    """Return the cost of a ping in [0, 1]."""
    best, worst = facts.ping_scale
    if ping >= worst:
        return 1.0
    return min(1.0, max(0.0, math.log(max(ping, best) / best) / math.log(worst / best)))


def joint_region(facts: Facts, everyone: Sequence[int]) -> int | None:
    """Return the column of the region where a match is played, None if all know none."""
    is_weighed = bool(facts.ping_weights[3])
    found = []
    for region, column in enumerate(facts.latency[list(everyone)].T.astype(np.float64).tolist()):
        if max(column) < math.inf:
            costs = [ping_cost(facts, ms) if is_weighed else ms for ms in column]
            found.append((math.fsum(costs), math.fsum(column), max(column), region))
    return min(found)[3] if found else None


def _joint_region_cost(facts: Facts, everyone: Sequence[int]) -> float:
    region = joint_region(facts, everyone)
    if region is None:
        return 1.0
    return _mean([ping_cost(facts, float(facts.latency[p, region])) for p in everyone])


def _region_gap(facts: Facts, everyone: Sequence[int]) -> float:
    region = joint_region(facts, everyone)
    return math.inf if region is None else float(facts.latency[list(everyone), region].max())


def _met_cost(facts: Facts, i: int, j: int, place: dict[int, int]) -> float:
    for one, two, fresh, were_mates in facts.met:
        if {int(one), int(two)} == {i, j}:
            same = bool(were_mates) == (place[i] == place[j])
            return float(fresh) * (1.0 if same else 0.5)
    return 0.0


def shaped_gap(term: Floats, gap: float) -> float:
    """Return what a gap costs before the weight of its term."""
    if term[STEP] > 0.0:
        gap = math.floor(gap / term[STEP] + STEP_SLACK) * term[STEP]
    if term[SHAPE] == RAW:
        return gap
    gap = min(gap, term[TOP])
    if term[SHAPE] == CAPPED:
        return float(gap / term[TOP])
    return math.log1p(gap / term[KNEE]) / math.log1p(term[TOP] / term[KNEE])


def raw_gap(kind: float, values: Floats, teams: Teams) -> float:
    """Return the gap of one kind in a match, without a scale; empty teams do not count."""
    own = [[float(values[p]) for p in team] for team in teams if team]
    everyone = [v for team in own for v in team]
    if kind == SPREAD:
        return max(everyone) - min(everyone)
    if kind == PAIR_GAP:
        return _mean([abs(a - b) for a, b in combinations(everyone, 2)])
    sums = [math.fsum(team) / (len(team) if kind == MEAN_GAP else 1) for team in own]
    return max(sums) - min(sums)


def _term_cost(batch: Batch, term: Floats, teams: Teams) -> float:
    gap = raw_gap(term[KIND], batch.facts.values[int(term[COLUMN])], teams)
    return float(term[WEIGHT]) * shaped_gap(term, gap)


def parity_gap(batch: Batch, teams: Teams) -> float:
    """Return .6 x + .4 x^2 for the two teams whose parties differ most; empty ones do not count."""
    party = np.searchsorted(batch.first, np.arange(batch.players), side="right") - 1
    shapes = []
    n = max(map(len, teams))
    for team in [own for own in teams if own]:
        sizes = sorted(np.unique(party[list(team)], return_counts=True)[1].tolist(), reverse=True)
        shapes.append(sizes + [0] * (n - len(sizes)))
    worst = max(
        (sum(abs(p - q) for p, q in zip(a, b, strict=True)) for a, b in combinations(shapes, 2)),
        default=0,
    )
    x = worst / 2 / max(n - 1, 1)
    return 0.6 * x + 0.4 * x * x


def hosts_of(batch: Batch, teams: Teams) -> list[int]:
    """Return the players who reach everyone in the match."""
    everyone = [p for team in teams for p in team]
    return [i for i in everyone if all(reaches(batch.facts, i, j) for j in everyone if j != i)]


def reaches(facts: Facts, i: int, j: int) -> bool:
    """Return whether a player can connect to another."""
    if facts.connect.size:
        return bool(facts.connect[i, j])
    if not facts.network.size:
        return True
    pair = (int(facts.network[i]), int(facts.network[j]))
    return OPEN in pair or pair == (MODERATE, MODERATE)


def _role_cost(batch: Batch, team: Sequence[int]) -> float:
    """Return the least cost of an assignment of a team to its roles; inf if there is none."""
    best = {tuple([0] * batch.role_seats.size): 0.0}
    for player in team:
        after: dict[tuple[int, ...], float] = {}
        for used, cost in best.items():
            for role, own in enumerate(batch.role_cost[player]):
                if used[role] < batch.role_seats[role] and math.isfinite(own):
                    state = (*used[:role], used[role] + 1, *used[role + 1 :])
                    after[state] = min(after.get(state, math.inf), cost + float(own))
        best = after
    return min(best.values(), default=math.inf)


def _pairs_are_legal(facts: Facts, teams: Teams) -> bool:
    everyone = [p for team in teams for p in team]
    place = {p: t for t, team in enumerate(teams) for p in team}
    for codes, weight in zip(facts.words, facts.words_weight, strict=True):
        if math.isinf(weight) and len({int(codes[p]) for p in everyone}) > 1:
            return False
    for sets, weight in zip(facts.tongues, facts.tongues_weight, strict=True):
        if math.isinf(weight) and not np.bitwise_and.reduce(sets[everyone]):
            return False
    for one, two, flags in facts.avoid.tolist():
        if one in place and two in place:
            relation = NOT_MATES if place[one] == place[two] else NOT_ENEMIES
            if flags & (APART | relation):
                return False
    weighed = [weight > 0.0 for weight in facts.ping_weights]
    return _pings_are_legal(facts, everyone, place, weighed)


def _pings_are_legal(
    facts: Facts, everyone: Sequence[int], place: dict[int, int], weighed: Sequence[bool]
) -> bool:
    """Return whether all pairs that the criterion compares are near enough for both."""
    for i, j in combinations(everyone, 2):
        compared = weighed[2] or weighed[1 if place[i] == place[j] else 0]
        limit = min(facts.ping_max[i], facts.ping_max[j])
        if compared and math.isfinite(limit) and ping_of(facts, i, j) > limit:
            return False
    return True


def _rule_holds(batch: Batch, rule: Floats, reach: Floats, teams: Teams) -> bool:
    kind, column, accept = rule
    if kind == FREE_SEATS:
        gap = free_share(batch, teams)
    elif kind == REGION_GAP:
        gap = _region_gap(batch.facts, [p for team in teams for p in team])
    else:
        gap = raw_gap(kind, batch.facts.values[int(column)], teams)
    limits = [float(reach[p]) for team in teams for p in team]
    return gap <= (max(limits) if accept else min(limits))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0
