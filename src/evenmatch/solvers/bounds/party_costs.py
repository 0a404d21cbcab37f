"""Costs of pairs of parties in a match of given team sizes, as tables for an exact search.

A match's cost has two parts. Sums over pairs of players, or over players, become sums over pairs of
parties and over parties: the tables here. The rest (teams' sums, party structure, hosts, the joint
region) is known only for a whole match, see `whole_match_costs`; the tables include a lower bound
on it. So the tables alone never overstate a cost. With the rest they are exact, with two
exceptions: roles and sets that all players must share are bounded pair by pair and seat by seat,
and rules, terms and sides that compare no numbers are ignored.

All numbers are in double precision: with rounded costs the bound would not be valid.
"""

from __future__ import annotations

import math
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenmatch.errors import NotSupported
from evenmatch.solvers.matching.pairs import CAPPED, RAW, STEP_SLACK
from evenmatch.solvers.teams.batch import (
    APART,
    COLUMN,
    KIND,
    KNEE,
    MODERATE,
    NOT_ENEMIES,
    NOT_MATES,
    OPEN,
    PAIR_GAP,
    SHAPE,
    STEP,
    TOP,
    WEIGHT,
    Batch,
    Facts,
    Flags,
    Floats,
    Ints,
    venue_costs,
    venues_of,
)

FORMATS_MOST = 64
"""Most divisions of free seats over the teams for which tables are made."""


class PartyCosts(NamedTuple):
    """Costs of parties in a match whose teams have given sizes.

    Args:
        teams: Shape (teams,): players of each team.
        mates: Shape (parties, parties): cost of all pairs between two parties of one team.
        enemies: Shape (parties, parties): the same in different teams.
        own: Shape (parties,): cost of the pairs within a party and of its players; infinite if it
            does not fit.
        fixed: Lower bound on all costs that the tables leave out.
        exact: Whether tables and rest together are the cost; otherwise they are a lower bound.
    """

    teams: Ints
    mates: Floats
    enemies: Floats
    own: Floats
    fixed: float
    exact: bool


def team_sizes(batch: Batch) -> list[tuple[int, ...]]:
    """Return the sizes that the teams of a match may have, the largest first.

    Raises:
        NotSupported: There are too many.
    """
    ranges = [
        range(int(most), int(low) - 1, -1)
        for low, most in zip(batch.seats_min, batch.seats, strict=True)
    ]
    if math.prod(map(len, ranges)) > FORMATS_MOST:
        raise NotSupported(
            f"free seats can be divided in {math.prod(map(len, ranges))} ways over the teams, and a"
            f" bound looks at {FORMATS_MOST} at most; leave it out, or narrow the teams' sizes"
        )
    return [sizes for sizes in product(*ranges) if sum(sizes) > 1]


def party_costs(batch: Batch, teams: tuple[int, ...]) -> PartyCosts:
    """Return the tables of one division of seats.

    Complexity:
        O(n^2 * (gaps + words + regions)), n the number of players.
    """
    facts, players = batch.facts, sum(teams)
    mates, enemies = _player_pairs(facts, teams)
    starts = batch.first[:-1]
    by_player = _player_costs(batch, players)
    # Each pair within a party is counted from both of its ends.
    within = np.add.reduceat(np.add.reduceat(mates, starts, axis=0), starts, axis=1)
    own = np.diagonal(within) / 2.0 + np.add.reduceat(by_player, starts)
    own = np.where(np.diff(batch.first) > max(teams), np.inf, own)
    between = np.add.reduceat(np.add.reduceat(enemies, starts, axis=0), starts, axis=1)
    room = int((batch.seats - batch.seats_min).sum())
    fixed = float(batch.hosts.min())
    if room:
        fixed += batch.fullness * (batch.k - players) / room
    shared = bool(np.isinf(facts.tongues_weight).any())
    kinds = np.concatenate((batch.rules[:, 0], batch.terms[:, KIND]))
    others = bool((kinds > PAIR_GAP).any() or batch.sides.size)
    return PartyCosts(
        teams=np.array(teams, dtype=np.int64),
        mates=np.ascontiguousarray(within),
        enemies=np.ascontiguousarray(between),
        own=own,
        fixed=fixed,
        exact=not (batch.role_seats.size or shared or others),
    )


def _player_costs(batch: Batch, players: int) -> Floats:
    """Return a lower bound on the cost of each player in any match: own region, best role."""
    costs = np.zeros(batch.players)
    if batch.facts.ping_weights[3] > 0.0:
        nearest = region_costs(batch).min(axis=1, initial=np.inf)
        costs += batch.facts.ping_weights[3] * np.minimum(nearest, 1.0) / players
    if batch.role_seats.size:
        costs += batch.role_cost.astype(np.float64).min(axis=1)
    return costs


def region_costs(batch: Batch) -> Floats:
    """Return the cost of each region to each player; infinity if none plays there; (n, regions)."""
    return venue_costs(batch.facts.latency.astype(np.float64), *venues_of(batch.facts)[0][1:])


def _player_pairs(facts: Facts, teams: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Return the cost of each pair of players as mates and as enemies; infinite = forbidden."""
    n, total = len(facts.latency), sum(teams)
    pairs = total * (total - 1) // 2
    within = sum(size * (size - 1) // 2 for size in teams)
    across = pairs - within
    both = np.zeros((n, n))
    for term in facts.gaps:
        column = facts.values[int(term[COLUMN])]
        both += term[WEIGHT] * shaped_gaps(term, np.abs(column[:, None] - column)) / pairs
    for codes, weight in zip(facts.words, facts.words_weight, strict=True):
        differ = codes[:, None] != codes
        both += np.where(differ, weight if math.isinf(weight) else weight / pairs, 0.0)
    for sets, weight in zip(facts.tongues, facts.tongues_weight, strict=True):
        apart = (sets[:, None] & sets) == 0
        both += np.where(apart, weight if math.isinf(weight) else weight / pairs, 0.0)
    mates, enemies = both, both.copy()
    _add_pings(facts, mates, enemies, (within, across, pairs))
    for one, two, fresh, were_mates in facts.met:
        i, j, cost = int(one), int(two), facts.met_weight * fresh / pairs
        for table, same in ((mates, bool(were_mates)), (enemies, not were_mates)):
            table[[i, j], [j, i]] += cost if same else cost / 2.0
    for one, two, flags in facts.avoid.tolist():
        if flags & (APART | NOT_MATES):
            mates[[one, two], [two, one]] = np.inf
        if flags & (APART | NOT_ENEMIES):
            enemies[[one, two], [two, one]] = np.inf
    np.fill_diagonal(mates, 0.0)
    np.fill_diagonal(enemies, 0.0)
    return mates, enemies


def _add_pings(facts: Facts, mates: Floats, enemies: Floats, counts: tuple[int, int, int]) -> None:
    """Add the costs of latencies, and forbid the pairs that are too far apart for one of them."""
    within, across, pairs = counts
    of_enemies, of_mates, of_all = (float(w) for w in facts.ping_weights[:3])
    has_limits = np.isfinite(facts.ping_max).any()
    if not (of_enemies or of_mates or of_all or has_limits):
        return
    pings = _pings(facts)
    costs = _ping_costs(facts, pings)
    mates += costs * (of_all / pairs + of_mates / max(within, 1))
    enemies += costs * (of_all / pairs + of_enemies / max(across, 1))
    for table, own in ((enemies, facts.ping_max[0]), (mates, facts.ping_max[1])):
        table[pings > np.minimum(own[:, None], own)] = np.inf


def _pings(facts: Facts) -> Floats:
    if facts.ping.size:
        # A matrix may be asymmetric in its last digits; the bound uses the smaller value.
        return np.minimum(facts.ping, facts.ping.T).astype(np.float64)
    n = len(facts.latency)
    pings = np.full((n, n), np.inf)
    for column in facts.latency.T.astype(np.float64):
        np.minimum(pings, column[:, None] + column, out=pings)
    return pings


def _ping_costs(facts: Facts, pings: Floats) -> Floats:
    best, worst = facts.ping_scale
    inside = np.clip(pings, best, worst)
    return np.clip(np.log(inside / best) / math.log(worst / best), 0.0, 1.0)


def shaped_gaps(term: Floats, gaps: Floats) -> Floats:
    """Return the costs of gaps before the weight of their term, like `matching.pairs.shape_gap`."""
    if term[STEP] > 0.0:
        gaps = np.floor(gaps / term[STEP] + STEP_SLACK) * term[STEP]
    if term[SHAPE] == RAW:
        return gaps
    gaps = np.minimum(gaps, term[TOP])
    if term[SHAPE] == CAPPED:
        return gaps / term[TOP]
    return np.log1p(gaps / term[KNEE]) / math.log1p(term[TOP] / term[KNEE])


def links(facts: Facts) -> Flags:
    """Return whether each player reaches each other; shape (n, n)."""
    n = len(facts.latency)
    if facts.connect.size:
        return np.ascontiguousarray(facts.connect, dtype=np.uint8)
    if not facts.network.size:
        return np.ones((n, n), dtype=np.uint8)
    opened = facts.network == OPEN
    moderate = facts.network == MODERATE
    reach: NDArray[np.bool_] = opened[:, None] | opened | (moderate[:, None] & moderate)
    return np.ascontiguousarray(reach.astype(np.uint8))
