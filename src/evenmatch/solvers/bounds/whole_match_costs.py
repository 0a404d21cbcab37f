"""The cost of a match beyond the sum over its pairs: team sums, party structure, hosts, region."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from evenmatch.solvers.bounds.party_costs import links, region_costs
from evenmatch.solvers.kernel import kernel, record
from evenmatch.solvers.matching.pairs import shape_gap
from evenmatch.solvers.teams.batch import (
    COLUMN,
    KIND,
    MEAN_GAP,
    PAIR_GAP,
    SPREAD,
    SUM_GAP,
    WEIGHT,
    Batch,
    Flags,
    Floats,
    Ints,
)

PARITY, HOST, REGION, SEATS = 0, 1, 4, 5
"""Indices into `WholeMatchCosts.numbers`: weight of party structure, three costs of hosts, weight
of the joint region, seats of the largest team."""

NUMERIC = (SPREAD, SUM_GAP, MEAN_GAP, PAIR_GAP)
"""Kinds of rules and terms that the bound includes; it ignores violations and costs of others."""
RULE_SLACK = 1e-9
"""Relative excess over its limit that a gap may have: a bound may only be too lenient."""


@record(
    "float64[:,::1], float64[:,::1], float64[:,::1], float64[:,::1], uint8[:,::1], "
    "float64[:,::1], float64[::1]"
)
class WholeMatchCosts(NamedTuple):
    """The data for the costs of a match beyond its pairs, see `Batch`.

    Args:
        values: Shape (columns, n).
        terms: Shape (d, 7): those that compare numbers.
        rules: Shape (q, 3): those that compare numbers.
        tolerances: Shape (q, n).
        links: Shape (n, n): whether a player reaches another.
        regions: Shape (n, regions): cost of each region; (n, 0) if none is chosen jointly.
        numbers: Shape (6,), see above.
    """

    values: Floats
    terms: Floats
    rules: Floats
    tolerances: Floats
    links: Flags
    regions: Floats
    numbers: Floats


def whole_match_costs_of(batch: Batch) -> WholeMatchCosts:
    """Return the data of a batch that the kernels of this module need."""
    joint = float(batch.facts.ping_weights[3])
    regions = region_costs(batch) if joint else np.zeros((batch.players, 0))
    is_known = np.isin(batch.rules[:, 0], NUMERIC)
    are_numeric = np.isin(batch.terms[:, KIND], NUMERIC)
    numbers = [batch.parity, *batch.hosts.tolist(), joint, float(batch.seats.max())]
    return WholeMatchCosts(
        values=np.ascontiguousarray(batch.facts.values, dtype=np.float64),
        terms=np.ascontiguousarray(batch.terms[are_numeric], dtype=np.float64),
        rules=np.ascontiguousarray(batch.rules[is_known], dtype=np.float64),
        tolerances=np.ascontiguousarray(batch.tolerances[is_known], dtype=np.float64),
        links=links(batch.facts) if batch.hosts.any() else np.zeros((0, 0), dtype=np.uint8),
        regions=np.ascontiguousarray(regions),
        numbers=np.array(numbers),
    )


@kernel("float64(float64[::1], float64, int64[::1], int64[::1], int64)")
def raw_gap(values: Floats, kind: float, players: Ints, team: Ints, teams: int) -> float:
    """Return the unscaled gap of one kind in a match; empty teams do not count."""
    count = len(players)
    low, high = np.inf, -np.inf
    if kind == SPREAD:
        for p in players:
            low, high = min(low, values[p]), max(high, values[p])
        return high - low
    if kind == PAIR_GAP:
        total = 0.0
        for a in range(count):
            for b in range(a + 1, count):
                total += abs(values[players[a]] - values[players[b]])
        return total / (count * (count - 1) / 2.0)
    for t in range(teams):
        total, size = 0.0, 0
        for a in range(count):
            if team[a] == t:
                total += values[players[a]]
                size += 1
        if size:
            if kind == MEAN_GAP:
                total /= size
            low, high = min(low, total), max(high, total)
    return high - low


@kernel("float64(int64[::1], int64[::1], int64, int64)")
def _parity(sizes: Ints, label: Ints, teams: int, seats: int) -> float:
    """Return .6 x + .4 x^2 for the two teams whose parties, given by size and team, differ most."""
    counts = np.zeros((teams, seats + 1), dtype=np.int64)
    for a in range(len(sizes)):
        counts[label[a], sizes[a]] += 1
    worst = 0
    for one in range(teams):
        for two in range(one + 1, teams):
            # The distance of two sorted vectors is the area between their counts of parties
            # that have at least a given size.
            more, distance = 0, 0
            for size in range(seats, 0, -1):
                more += counts[one, size] - counts[two, size]
                distance += abs(more)
            worst = max(worst, distance)
    x = worst / 2.0 / max(seats - 1, 1)
    return 0.6 * x + 0.4 * x * x


@kernel("int64(uint8[:,::1], int64[::1])")
def _hosts(links: Flags, players: Ints) -> int:
    """Return how many players reach all others, at most two."""
    found = 0
    for i in players:
        alone = True
        for j in players:
            if i != j and not links[i, j]:
                alone = False
                break
        if alone:
            found += 1
            if found == 2:
                break
    return found


@kernel("float64(float64[:,::1], int64[::1])")
def _region_gap(regions: Floats, players: Ints) -> float:
    """Return the mean cost of the best joint region less the mean of each player's own best."""
    best, own = np.inf, 0.0
    for r in range(regions.shape[1]):
        total = 0.0
        for p in players:
            total += regions[p, r]
        best = min(best, total)
    for p in players:
        nearest = 1.0
        for r in range(regions.shape[1]):
            nearest = min(nearest, regions[p, r])
        own += nearest
    if best == np.inf:
        best = float(len(players))
    return (best - own) / len(players)


@kernel("float64(WholeMatchCosts, int64[::1], int64[::1], int64[::1], int64[::1], int64)")
def cost_beyond_pairs(
    whole: WholeMatchCosts, players: Ints, team: Ints, sizes: Ints, label: Ints, teams: int
) -> float:
    """Return the cost of a match beyond its tables; infinity if it breaks a rule.

    Args:
        whole: See `WholeMatchCosts`.
        players: Players of the match.
        team: Team of each player.
        sizes: Sizes of the parties of the match.
        label: Team of each party.
        teams: Number of teams.

    Complexity:
        O(terms * k + k^2).
    """
    values, terms, rules, tolerances, links, regions, numbers = whole
    for q in range(rules.shape[0]):
        gap = raw_gap(values[int(rules[q, 1])], rules[q, 0], players, team, teams)
        least, most = np.inf, -np.inf
        for p in players:
            least, most = min(least, tolerances[q, p]), max(most, tolerances[q, p])
        limit = most if rules[q, 2] != 0.0 else least
        # Sums of the same numbers in another order may differ in the last digits.
        if gap > limit + RULE_SLACK * (1.0 + abs(limit)):
            return np.inf
    cost = 0.0
    for d in range(terms.shape[0]):
        gap = raw_gap(values[int(terms[d, COLUMN])], terms[d, KIND], players, team, teams)
        shape, top, knee, step = terms[d, 3], terms[d, 4], terms[d, 5], terms[d, 6]
        cost += terms[d, WEIGHT] * shape_gap(shape, top, knee, step, gap)
    if numbers[PARITY] > 0.0:
        cost += numbers[PARITY] * _parity(sizes, label, teams, int(numbers[SEATS]))
    if links.shape[0]:
        cost += numbers[HOST + _hosts(links, players)]
        cost -= min(numbers[HOST], numbers[HOST + 1], numbers[HOST + 2])
    if numbers[REGION] > 0.0:
        cost += numbers[REGION] * _region_gap(regions, players)
    if math.isnan(cost):
        return np.inf
    return cost
