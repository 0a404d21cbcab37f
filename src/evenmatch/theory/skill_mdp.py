"""The optimal way to match players of a few skills, and the cost of simpler policies.

Each period one player arrives; their skill is one of `types`. A match takes any 2n waiting players
and costs alpha * 2n times the least difference of its teams' sums of skill; players left over wait
for a period, which costs 1 each. The least cost per period of all stationary policies comes from a
Markov decision process on the numbers of waiting players of each type: relative value iteration,
with exact policy evaluations in between and at the end, so that the costs are those of policies and
not of an unfinished iteration.

Source:
    Puterman, Markov Decision Processes (1994), sections 8.5 and 8.6. The model is that of Q. Wu,
    Dynamic Matching With Teams, for more skills than two.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import bmat, csr_matrix, identity
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import spsolve

from evenmatch.errors import ConfigError
from evenmatch.theory.skill_pools import Floats, Ints, LongRun, Pools, run_long

TOLERANCE = 1e-11
"""Distance of the bounds on the least cost at which iteration stops, relative to 1 + cost."""
NOISE = 1e-14
"""Rounding error of values, relative to the largest."""
TIE = 1e-10
"""Of moves whose values differ by less, the most even is made; a match goes before waiting."""
SWEEPS = 20
"""Iterations between two evaluations of the policy."""
ROUNDS_MAX = 2_000
EVALUATED_MAX = 1_500
"""Most pools for which policies are evaluated in between; beyond, sweeps alone are faster."""
HELD_BACK = 1e-9
"""Relative saving of the best policy by a wider cap that is worth a note."""
COST_MAX = 1e9
"""The largest cost of one match, in periods of waiting; above it, floats cannot resolve waits."""
PROB_MIN = 1e-9
"""Lowest probability of a type; with rarer ones, the long run is lost in rounding."""
RANGE_MIN, RANGE_MAX = 1e-100, 1e100
"""Bounds on the range of the types."""

Choice = tuple[tuple[int, ...], tuple[int, ...] | None]
"""How many of each type wait, and how many of each type play; None waits."""


@dataclass(frozen=True)
class SkillPolicies:
    """The least cost per period, and the exact costs of simpler policies.

    A period is an arrival, so these are also costs per player.

    Args:
        cost: Of the best policy.
        wait: Its part for waiting: the mean number of players left after the matches.
        imbalance: Its part for imbalance.
        greedy: Cost of matching the most even 2n whenever 2n wait.
        patient: Cost of matching only sets without imbalance; None if the cap forced it to match
            others.
        static_threshold: Cost of "match the most even 2n if their imbalance is at most delta", for
            the best delta of those for which the cap forces no match. Of equally even sets, that of
            the lowest types plays.
        static_threshold_delta: That delta.
        static_threshold_outer: The same if, of equally even sets, the one farthest from the mean
            skill plays, with its own best delta.
        pool_threshold: Cost of "match the most even 2n while at least K wait", for the best K.
        pool_threshold_players: That K.
        batch: Cost of "wait for K players, then match all, the most even 2n first", for the best K.
        batch_players: That K.
        pool_max: The largest pool that the best policy leaves to wait.
        states: Pools of at most cap players.
        policy: The best policy's action in each pool of 2n or more that it meets.
        note: The effect of the cap on the policies, or None.
    """

    cost: float
    wait: float
    imbalance: float
    greedy: float
    patient: float | None
    static_threshold: float
    static_threshold_delta: float
    static_threshold_outer: float
    pool_threshold: float
    pool_threshold_players: int
    batch: float
    batch_players: int
    pool_max: int
    states: int
    policy: tuple[Choice, ...]
    note: str | None

    def figures(self) -> dict[str, Any]:
        """Return the output of `evenmatch theory skill_mdp --json`; waiting is an empty match."""
        table = [{"pool": list(pool), "match": list(match or ())} for pool, match in self.policy]
        shown = {**vars(self), "policy": table}
        if self.note is None:
            del shown["note"]
        return shown


def skill_mdp(
    *,
    types: tuple[float, ...],
    probs: tuple[float, ...] | Literal["uniform"] = "uniform",
    n: int,
    alpha: float,
    cap: int,
) -> SkillPolicies:
    """Return the least cost of matching players of a few skills, and that of simpler policies.

    Args:
        types: Skills, in any unit; all different.
        probs: Probability of each type; they sum to 1.
        n: Players of a team.
        alpha: Cost per player of a difference of 1 between the teams' sums, >= 0.
        cap: Pool size at which a match must be made, at least 2n + 1: a lower cap forbids patience.

    Raises:
        ConfigError: A number is out of range, or there are too many pools.

    Complexity:
        O(moves) for each of some hundred sweeps, see `skill_pools.check_size`.

    >>> found = skill_mdp(types=(0.0, 0.5, 1.0), n=1, alpha=2, cap=7)
    >>> round(found.cost, 6), found.static_threshold_delta
    (1.25, 0.5)
    """
    shares = _checked(types, probs, n, alpha)
    if n < 1:
        raise ConfigError(f"n must be at least 1, got {n}")
    if cap < 2 * n + 1:
        raise ConfigError(
            f"cap must be at least 2n + 1 = {2 * n + 1}, got {cap}: with fewer no set of 2n could "
            "wait for a better one"
        )
    met = [place for place, share in enumerate(shares) if share > 0.0]
    pools = Pools([types[i] for i in met], [shares[i] for i in met], n, cap)
    price = 2.0 * n * alpha
    moves = best_moves(pools, price)
    best = run_long(pools, *pools.after(moves))
    costs = SimplePolicies(pools, price)
    patient = costs.threshold(pools.least_moves(), 0.0)
    static, delta = costs.static(pools.least_moves())
    outer, _ = costs.static(pools.least_moves(outermost=True))
    pool_cost, pool_players = min((costs.at_least(k), k) for k in range(2 * n, cap + 1))
    cost = best.wait + price * best.imbalance
    notes = [*costs.notes(), *_note_on_best(pools, price, best, moves)]
    batch_cost, batch_players = min((costs.batch(k), k) for k in range(2 * n, cap + 1))
    return SkillPolicies(
        cost=cost,
        wait=best.wait,
        imbalance=price * best.imbalance,
        greedy=costs.at_least(2 * n),
        patient=patient,
        static_threshold=static,
        static_threshold_delta=delta,
        static_threshold_outer=outer,
        pool_threshold=pool_cost,
        pool_threshold_players=pool_players,
        batch=batch_cost,
        batch_players=batch_players,
        pool_max=int(pools.sizes[: pools.kept][best.shares > 0.0].max()),
        states=len(pools.counts),
        policy=tuple(_table(pools, moves, met, len(types))),
        note="; ".join(notes) or None,
    )


def best_moves(pools: Pools, price: float) -> Ints:
    """Return the action of each pool under the best policy: a move, or -1 to wait.

    The policy costs at most `TOLERANCE` more than any other, except for moves closer than `TIE`.

    Args:
        pools: All pools.
        price: Cost of an imbalance of 1.

    Raises:
        ConfigError: The bounds do not close.
    """
    values: Floats = np.zeros(pools.kept)
    for _ in range(ROUNDS_MAX):
        for _ in range(SWEEPS):
            values, low, high = _swept(pools, price, values)
        if high - low <= TOLERANCE * (1.0 + high) + NOISE * float(np.abs(values).max()):
            return _moves(pools, price, values)
        if pools.kept <= EVALUATED_MAX:
            values = _evaluated(pools, price, _moves(pools, price, values), values)
    raise ConfigError("skill_mdp found no answer: alpha or probabilities are too far apart")


def _swept(pools: Pools, price: float, values: Floats) -> tuple[Floats, float, float]:
    """Return values after one iteration, and bounds on the least cost per period."""
    acted, _ = _acted(pools, price, values)
    new = pools.sizes[: pools.kept] + acted[pools.arrivals] @ pools.probs
    change = new - values
    # Half steps, since the size of the pool is periodic with a period of 2n.
    values = values + 0.5 * change
    return values - values[0], float(change.min()), float(change.max())


def _acted(pools: Pools, price: float, values: Floats) -> tuple[Floats, Floats]:
    """Return the value of each pool before it acts, and that of each move."""
    acted: Floats = np.full(len(pools.counts), np.inf)
    acted[: pools.kept] = values
    of_moves = price * pools.imbalances[pools.move_set]
    for size in range(2 * pools.n, pools.cap + 1):
        level = pools.level(size)
        first, end = int(pools.first[level.start]), int(pools.first[level.stop])
        of_moves[first:end] += acted[pools.move_left[first:end]]
        best = np.minimum.reduceat(of_moves[first:end], pools.first[level] - first)
        acted[level] = np.minimum(acted[level], best)
    return acted, of_moves


def _moves(pools: Pools, price: float, values: Floats) -> Ints:
    """Return the best move of each pool, given the values of the pools that are left."""
    acted, of_moves = _acted(pools, price, values)
    is_best = of_moves <= acted[pools.move_from] + TIE
    candidates = np.flatnonzero(is_best)
    order = np.lexsort((pools.imbalances[pools.move_set[candidates]], pools.move_from[candidates]))
    candidates = candidates[order]
    froms, places = np.unique(pools.move_from[candidates], return_index=True)
    moves: Ints = np.full(len(pools.counts), -1)
    moves[froms] = candidates[places]
    return moves


def _evaluated(pools: Pools, price: float, moves: Ints, values: Floats) -> Floats:
    """Return the relative values of a policy; the given ones if it has several closed classes."""
    left, imbalance = pools.after(moves)
    chain = pools.chain(left)
    count, labels = connected_components(chain, connection="strong")
    edges = chain.tocoo()
    leaving = labels[edges.row[labels[edges.row] != labels[edges.col]]]
    if count - len(np.unique(leaving)) > 1:
        return values
    costs = pools.sizes[: pools.kept] + price * (imbalance[pools.arrivals] @ pools.probs)
    # One more unknown, the cost per period, and one more equation: pool 0 has the value 0.
    one = csr_matrix(np.ones((pools.kept, 1)))
    zero = csr_matrix(([1.0], ([0], [0])), shape=(1, pools.kept))
    equations = bmat([[identity(pools.kept) - chain, one], [zero, None]], format="csc")
    solved: Floats = spsolve(equations, np.append(costs, 0.0))[:-1]
    return solved


def _note_on_best(pools: Pools, price: float, best: LongRun, moves: Ints) -> Iterator[str]:
    """Yield a note on how much the cap costs the best policy, if it may matter."""
    met = pools_met(pools, best)
    full = moves[met[pools.sizes[met] == pools.cap]]
    if not pools.imbalances[pools.move_set[full]].any():
        return
    try:
        wider = Pools(pools.types.tolist(), pools.probs.tolist(), pools.n, pools.cap + 1)
        moves = best_moves(wider, price)
    except ConfigError:
        yield "the best policy meets the cap; with a higher one it may cost less"
        return
    long_run = run_long(wider, *wider.after(moves))
    cost, before = (each.wait + price * each.imbalance for each in (long_run, best))
    if cost < before - HELD_BACK * (1.0 + before):
        yield f"with cap = {wider.cap} the best policy costs {cost:.6g}: give a higher cap"


def _table(pools: Pools, moves: Ints, met: Sequence[int], kinds: int) -> Iterator[Choice]:
    """Yield the policy's action in each pool reached from an empty one, smallest first."""
    pending, seen = {0}, {0}
    while pending:
        place = pending.pop()
        if moves[place] >= 0:
            following = {int(pools.move_left[moves[place]])}
        else:
            following = set(pools.arrivals[place].tolist())
        pending |= following - seen
        seen |= following
    for place in sorted(seen):
        if pools.sizes[place] >= 2 * pools.n:
            match = None
            if moves[place] >= 0:
                match = _of_all(pools.sets[pools.move_set[moves[place]]], met, kinds)
            yield _of_all(pools.counts[place], met, kinds), match


def _of_all(counts: Ints, met: Sequence[int], kinds: int) -> tuple[int, ...]:
    """Return counts with zeros for the types that never arrive."""
    whole = [0] * kinds
    for place, count in zip(met, counts.tolist(), strict=True):
        whole[place] = count
    return tuple(whole)


def _checked(
    types: Sequence[float],
    probs: Sequence[float] | Literal["uniform"],
    n: int,
    alpha: float,
) -> list[float]:
    """Return the probabilities; refuse numbers that mean nothing."""
    if not types or not all(map(math.isfinite, types)):
        raise ConfigError("types must be one or more finite numbers, such as 0,0.5,1")
    if len(set(types)) < len(types):
        raise ConfigError("types must all be different; add their probabilities instead")
    if not 0.0 <= alpha < math.inf:
        raise ConfigError(f"alpha must be >= 0 and finite, got {alpha:g}")
    apart = max(types) - min(types)
    if apart and not RANGE_MIN <= apart <= RANGE_MAX:
        raise ConfigError(
            f"types must be from {RANGE_MIN:g} to {RANGE_MAX:g} apart, got {apart:g}: choose "
            "another unit of skill"
        )
    if 2.0 * n * n * alpha * apart > COST_MAX:
        raise ConfigError(
            f"2 n^2 alpha times the range of types must be at most {COST_MAX:g}, the cost of a "
            f"match beside a period's waiting, got {2.0 * n * n * alpha * apart:g}"
        )
    if isinstance(probs, str):
        return [1.0 / len(types)] * len(types)
    if len(probs) != len(types):
        raise ConfigError(f"probs must be {len(types)} numbers, one per type, got {len(probs)}")
    if not all(0.0 <= each <= 1.0 for each in probs):
        raise ConfigError("probs must be probabilities from 0 to 1")
    if any(0.0 < each < PROB_MIN for each in probs):
        raise ConfigError(f"probs must be 0 or at least {PROB_MIN:g}: leave rarer types out")
    total = math.fsum(probs)
    if not math.isclose(total, 1.0, abs_tol=1e-9):
        raise ConfigError(f"probs must sum to 1, these sum to {total:.12g}, {total - 1.0:+.3g} off")
    return [each / total for each in probs]


# Simple policies for players of a few skills, and the exact long-run cost of each.

THRESHOLDS_MAX = 1_000


class SimplePolicies:
    """Exact costs of policies that use only the most even set or the size of the pool.

    Args:
        pools: All pools.
        price: Cost of an imbalance of 1.
    """

    def __init__(self, pools: Pools, price: float) -> None:
        self._pools = pools
        self._price = price
        self._least = pools.least_moves()
        self._all = pools.after(self._least)
        self._forced = -1.0

    def threshold(self, least: Ints, delta: float) -> float | None:
        """Return the cost of matching the most even set if its imbalance is at most delta.

        None if the cap would force matches, since the cost would no longer be that of the rule.
        """
        pools = self._pools
        gaps = np.where(least >= 0, pools.imbalances[pools.move_set[least]], np.inf)
        is_full = pools.sizes == pools.cap
        left, imbalance = pools.after(np.where((gaps <= delta) | is_full, least, -1))
        long_run = run_long(pools, left, imbalance)
        if (is_full & (gaps > delta))[pools_met(pools, long_run)].any():
            self._forced = max(self._forced, delta)
            return None
        return long_run.wait + self._price * long_run.imbalance

    def static(self, least: Ints) -> tuple[float, float]:
        """Return the cost of the best threshold, and that threshold."""
        pools = self._pools
        deltas = np.unique(pools.imbalances[pools.move_set[least[least >= 0]]])
        if len(deltas) > THRESHOLDS_MAX:
            deltas = np.append(deltas[: -1 : -(-len(deltas) // THRESHOLDS_MAX)], deltas[-1])
        found = ((self.threshold(least, delta), delta) for delta in deltas.tolist())
        # The largest threshold is never affected by the cap, as it matches whatever it can.
        return min((cost, delta) for cost, delta in found if cost is not None)

    def notes(self) -> Iterator[str]:
        """Yield a note on the thresholds that have no cost."""
        if self._forced >= 0.0:
            yield (
                f"the cap forces matches on patient or on thresholds up to {self._forced:.6g}, "
                "which have no cost here: give a higher cap to have them"
            )

    def at_least(self, players: int) -> float:
        """Return the cost of matching the most even set while at least `players` wait."""
        return self._cost(
            *self._pools.after(np.where(self._pools.sizes >= players, self._least, -1))
        )

    def batch(self, players: int) -> float:
        """Return the cost of matching all once `players` wait."""
        acts = self._pools.sizes >= players
        left, imbalance = self._all
        return self._cost(
            np.where(acts, left, np.arange(len(left))), np.where(acts, imbalance, 0.0)
        )

    def _cost(self, left: Ints, imbalance: Floats) -> float:
        long_run = run_long(self._pools, left, imbalance)
        return long_run.wait + self._price * long_run.imbalance


def pools_met(pools: Pools, long_run: LongRun) -> Ints:
    """Return the pools reached by an arrival from those left in the long run."""
    return np.unique(pools.arrivals[long_run.shares > 0.0])
