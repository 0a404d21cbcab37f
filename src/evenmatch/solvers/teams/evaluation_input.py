"""The input of kernels that judge matches: a batch, its pairs, and the ways to divide a match."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evenmatch.solvers.kernel import kernel, record
from evenmatch.solvers.matching.pairs import LOG, RAW
from evenmatch.solvers.teams.batch import (
    COLUMN,
    KIND,
    KNEE,
    LISTED_GAP,
    MEAN_GAP,
    PAIR_GAP,
    PING_GAP,
    REGION_GAP,
    SHAPE,
    STEP,
    SUM_GAP,
    TONGUES_GAP,
    TOP,
    WEIGHT,
    WORDS_GAP,
    Batch,
    Floats,
    Ints,
    MatchFacts,
    Pairs,
    Places,
    Singles,
    others_of,
)
from evenmatch.solvers.teams.options import OPTIONS_MAX, count_of, no_options, options_of
from evenmatch.solvers.teams.pairs import (
    CELLS,
    Measures,
    curve_of,
    measures_of,
    shares_of,
    tabulate,
)
from evenmatch.solvers.teams.three_v_three import trio_parity

PLAYERS_IN_TABLE = 3000
"""For more players there is no table: costs of pairs are computed on demand."""
ROLE_OPTIONS_MAX = 15
"""Most divisions of a match with roles that an evaluation tries in full."""
LATE = (PING_GAP, WORDS_GAP, TONGUES_GAP, LISTED_GAP)
"""Kinds of rules that the plain evaluation checks after the rules of pairs."""

(
    PARITY,
    FULLNESS,
    POWER,
    ILLEGAL,
    IS_PLAIN,
    HAS_FLAGS,
    HAS_HOSTS,
    HAS_WORTH,
    HAS_ROOM,
    JOINT,
    HAS_REGION,
    HAS_LATE,
    RANK_SHARE,
    GAP_COLUMN,
    GAP_CELLS,
    GAP_SMOOTH,
) = range(16)
"""Indices into `Scene.numbers`."""


@record(
    "Measures, float64[::1], float32[:,:,::1], int32[:,:,::1], int64[::1], int32[::1], "
    "float64[:,::1], float32[:,::1], float64[::1], int64[::1], float32[:,::1], "
    "float64[:,::1], float64[:,::1], float64[::1], int64[::1], int64[::1], float64[::1], "
    "int64[::1], int64[::1], float32[::1], int64[:,::1], float32[::1], float32[::1], "
    "float32[:,::1], float32[::1], MatchFacts"
)
class Scene(NamedTuple):
    """A batch as kernels read it.

    Args:
        measures: The facts.
        shares: What a pair adds to means, see `shares_of`.
        costs: `Pairs.costs`, or shape (0, 0, 2): computed on demand.
        bits: The same memory as integers.
        first: `Batch.first`.
        party: Shape (n,): party of each player.
        terms: `Batch.terms`.
        curves: Shape (1 + d, CELLS + 2): the plain gap, then each term, without weights.
        hosts: `Batch.hosts`; likewise `role_seats`, `role_cost`, `rules`, `tolerances`, `worth`.
        team_start: Shape (teams + 1,): first place of each team.
        seats_min: `Batch.seats_min`.
        numbers: See `PARITY` and the names after it.
        radix: From `Options`, like the next five; empty if the division is part of the state.
        trio: `trio_parity` of two teams of three, else shape (0, 0).
        floor: Shape (n,): lower bound on what a player adds to the pairs of any match.
        match_facts: Facts that are looked up match by match.
    """

    measures: Measures
    shares: Floats
    costs: Singles
    bits: Places
    first: Ints
    party: Places
    terms: Floats
    curves: Singles
    hosts: Floats
    role_seats: Ints
    role_cost: Singles
    rules: Floats
    tolerances: Floats
    worth: Floats
    team_start: Ints
    seats_min: Ints
    numbers: Floats
    radix: Ints
    option_first: Ints
    option_parity: Singles
    option_teams: Ints
    together: Singles
    signs: Singles
    trio: Singles
    floor: Singles
    match_facts: MatchFacts

    @property
    def is_divided(self) -> bool:
        """Return whether each evaluation finds the best division of a match itself."""
        return len(self.option_first) > 1


def scene_of(batch: Batch, pairs: Pairs | None = None, *, power: float = 1.0) -> Scene:
    """Return a batch as kernels read it.

    Args:
        batch: The batch.
        pairs: Its table of pairs; None = made here, for up to `PLAYERS_IN_TABLE` players.
        power: Exponent of qualities before they are summed; 0 = minus the squared shortfall.
    """
    measures = measures_of(batch.facts)
    if pairs is None and batch.players <= PLAYERS_IN_TABLE:
        pairs = tabulate(batch.facts, batch.seats, measures)
    costs = np.zeros((0, 0, 2), dtype=np.float32) if pairs is None else pairs.costs
    sizes = np.diff(batch.first)
    seats = tuple(int(n) for n in batch.seats)
    largest = int(sizes.max(initial=1))
    is_fixed = bool((batch.seats == batch.seats_min).all())
    has_sides = batch.sides.size > 0  # Options treat teams of equal seats as interchangeable.
    # With roles, each option needs an assignment of its own, so fewer of them are tried in full.
    options_most = ROLE_OPTIONS_MAX if batch.role_seats.size else OPTIONS_MAX
    is_small = is_fixed and not has_sides and count_of(seats) <= options_most
    options = options_of(seats, max(largest, 1)) if is_small else no_options(batch.k)
    plain = _plain_gap(batch) if is_small else None
    curves = [curve_of(term) for term in batch.terms]
    numbers = np.zeros(16)
    numbers[PARITY], numbers[FULLNESS], numbers[POWER] = batch.parity, batch.fullness, power
    numbers[ILLEGAL] = 4.0 + batch.k * float(np.abs(batch.worth).max(initial=0.0))
    numbers[ILLEGAL] += _raw_most(batch)
    numbers[HAS_FLAGS] = _may_be_apart(batch)
    numbers[HAS_HOSTS] = batch.hosts.any()
    numbers[HAS_ROOM] = not is_fixed
    numbers[HAS_WORTH] = batch.worth.any()
    numbers[JOINT] = batch.facts.ping_weights[3]
    by_region = (batch.rules[:, 0] == REGION_GAP).any() or (
        batch.terms[:, KIND] == REGION_GAP
    ).any()
    numbers[HAS_REGION] = by_region or numbers[JOINT] != 0.0
    numbers[HAS_LATE] = plain is not None and len(batch.rules) > 0
    numbers[RANK_SHARE] = batch.rank_share
    gap_curve = np.zeros(CELLS + 2, dtype=np.float32)
    if plain is not None:
        numbers[IS_PLAIN] = 1.0
        numbers[GAP_COLUMN:], gap_curve = plain
    trio = np.zeros((0, 0), dtype=np.float32)
    if plain is not None and seats == (3, 3) and len(batch.facts.values):
        trio = trio_parity(largest, batch.parity)
    has_floors = is_fixed and pairs is not None
    return Scene(
        measures,
        shares_of(batch.facts, batch.seats),
        costs,
        costs.view(np.int32),
        np.ascontiguousarray(batch.first, dtype=np.int64),
        np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
        np.ascontiguousarray(batch.terms, dtype=np.float64),
        np.vstack([gap_curve, *curves]),
        np.ascontiguousarray(batch.hosts, dtype=np.float64),
        np.ascontiguousarray(batch.role_seats, dtype=np.int64),
        np.ascontiguousarray(batch.role_cost, dtype=np.float32),
        np.ascontiguousarray(batch.rules, dtype=np.float64),
        np.ascontiguousarray(batch.tolerances, dtype=np.float64),
        np.ascontiguousarray(batch.worth, dtype=np.float64),
        np.concatenate(([0], np.cumsum(batch.seats))).astype(np.int64),
        np.ascontiguousarray(batch.seats_min, dtype=np.int64),
        numbers,
        *options,
        trio,
        floors_of(costs, seats) if has_floors else np.zeros(batch.players, dtype=np.float32),
        others_of(batch),
    )


def _raw_most(batch: Batch) -> float:
    """Return an upper bound on the cost of gaps that no scale keeps below 1."""
    rows = np.vstack([batch.terms, batch.facts.gaps])
    rows = rows[(rows[:, SHAPE] == RAW) & (rows[:, KIND] <= PAIR_GAP)]
    tops = np.abs(batch.facts.values).max(axis=1, initial=0.0)
    return float(sum(2.0 * batch.k * row[WEIGHT] * tops[int(row[COLUMN])] for row in rows))


def _plain_gap(batch: Batch) -> tuple[tuple[float, ...], Singles] | None:
    """Return (column, cells per unit, whether to interpolate) of the gap of two teams' sums.

    The curve of its weighted cost comes with it; with a step, each cell is a step and the curve is
    exact. None if the batch has a term or rule that the plain evaluation does not support.
    """
    is_duel = len(batch.seats) == 2 and batch.seats[0] == batch.seats[1]
    facts = batch.facts
    early = not np.isin(batch.rules[:, 0], LATE).all() or _raw_most(batch) > 0.0
    others = batch.role_seats.size or early or facts.ping_weights[3]
    hard_tongues = np.isinf(facts.tongues_weight).any()
    if not is_duel or others or hard_tongues or len(batch.terms) > 1:
        return None
    if not len(batch.terms):
        return (0.0, 0.0, 0.0), np.zeros(CELLS + 2, dtype=np.float32)
    term = batch.terms[0]
    if term[KIND] not in (SUM_GAP, MEAN_GAP) or term[SHAPE] != LOG:
        return None
    unit = float(batch.seats[0]) if term[KIND] == MEAN_GAP else 1.0
    if term[STEP] > 0.0:
        if term[TOP] / term[STEP] > CELLS:
            return None
        gaps = np.minimum(np.arange(CELLS + 2) * term[STEP], term[TOP])
        costs = np.log1p(gaps / term[KNEE]) / math.log1p(term[TOP] / term[KNEE])
        curve = (term[WEIGHT] * costs).astype(np.float32)
        return (term[COLUMN], 1.0 / (unit * term[STEP]), 0.0), curve
    curve = (term[WEIGHT] * curve_of(term)).astype(np.float32)
    return (term[COLUMN], CELLS / (unit * term[TOP]), 1.0), curve


def _may_be_apart(batch: Batch) -> bool:
    """Return whether any pair of players may be forbidden to meet."""
    facts = batch.facts
    limits = np.isfinite(facts.ping_max).any() or np.isfinite(facts.region_max).any()
    limits = limits or facts.words_mind.any() or facts.tongues_mind.any()
    hard = np.isinf(facts.words_weight).any() or np.isinf(facts.tongues_weight).any()
    return bool(limits or hard or len(facts.avoid))


# A lower bound on what each player adds to the pairs of any match, so that searches stop early.

MOST = 16
"""In larger matches, only this many of a player's cheapest enemies and mates are counted."""


def floors_of(costs: Singles, seats: Sequence[int]) -> Singles:
    """Return half the cost of each player's cheapest possible enemies and mates; shape (n,).

    The pairs of a full match cost at least the sum over its players, however it is divided.

    Args:
        costs: `Pairs.costs`, shape (n, n, 2).
        seats: Seats by team.

    Complexity:
        O(n^2) reads of the table.
    """
    k = sum(seats)
    mates, enemies = min(min(seats) - 1, MOST), min(k - max(seats), MOST)
    floors = np.zeros(len(costs), dtype=np.float32)
    if len(costs) > max(mates, enemies):
        _floors(costs, enemies, mates, floors)
    return floors


@kernel("void(float32[:,:,::1], int64, int64, float32[::1])")
def _floors(costs: Singles, enemies: int, mates: int, floors: Singles) -> None:
    best = np.zeros((2, MOST), dtype=np.float32)
    for i in range(costs.shape[0]):
        best[:, :] = np.inf
        for j in range(costs.shape[0]):
            if j == i:
                continue
            for kind in range(2):
                last = (enemies if kind == 0 else mates) - 1
                cost = costs[i, j, kind]
                if last < 0 or cost >= best[kind, last]:
                    continue
                at = last
                while at > 0 and best[kind, at - 1] > cost:
                    best[kind, at] = best[kind, at - 1]
                    at -= 1
                best[kind, at] = cost
        total = np.float32(0.0)
        for at in range(enemies):
            total += best[0, at]
        for at in range(mates):
            total += best[1, at]
        # Lowered slightly, since sums are added in another order.
        floors[i] = np.float32(0.49999) * total
