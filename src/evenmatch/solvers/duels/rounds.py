"""One round of duels over a whole pool: the most pairs, then the cheapest, with a proof.

If one row of numbers decides and costs are proportional to its gaps, sorted neighbours are paired.
That is proved to be the best whenever they accept each other (`pair_neighbours`): always if limits
are equal, nearly always in crowded pools. Otherwise a matching is computed on each player's
cheapest partners, and mended with every pair that its duals find overlooked, as
`solvers.matching` does for points in time. No player chooses first, so the head of a list takes no
partner whom others need.

The number of pairs comes first because of the prices: leaving a player over costs more than any
rearrangement of others that would seat them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenmatch.errors import ConfigError
from evenmatch.solvers.duels.pool import (
    ACCEPT,
    BETWEEN,
    Duels,
    Extra,
    cost_top,
    duel_costs,
    slope_on,
)
from evenmatch.solvers.duels.search import best_axis, nearest, overlooked
from evenmatch.solvers.matching.matching import PRECISION_BITS, Graph
from evenmatch.solvers.matching.pairs import nesting
from evenmatch.solvers.teams.batch import COLUMN, WEIGHT

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

NEAREST = 8
"""Partners of each player in the first graph, half of them on either side."""
SEARCHES_MAX = 60
"""Most searches for overlooked pairs."""
PLAYERS_MAX = 100_000


@dataclass(frozen=True)
class DuelRound:
    """The pairs of one round, and what is proved about them.

    Args:
        mates: Partner of each player, -1 for a player left over; shape (n,).
        cost: Cost of the pairs, plus the worth of players left over.
        bound: No round with at least as many pairs costs less.
        is_optimal: Whether it is proved, up to rounding, that no round has more pairs, and none
            with as many costs less.
        pairs_seen: Pairs whose cost was computed, a measure of effort.
    """

    mates: Ints
    cost: float
    bound: float
    is_optimal: bool
    pairs_seen: int

    @property
    def pairs(self) -> Ints:
        """Return the pairs, shape (m, 2), in the order of their first players."""
        first = np.flatnonzero(self.mates > np.arange(len(self.mates)))
        return np.column_stack([first, self.mates[first]])


def pair_duels(
    duels: Duels,
    extra: Extra | None = None,
    *,
    extra_top: float = 0.0,
    searches_max: int = SEARCHES_MAX,
) -> DuelRound:
    """Pair as many players as possible, at the least cost.

    Args:
        duels: The players.
        extra: Costs and rules that are not gaps of numbers.
        extra_top: Upper bound on the `extra` cost of a legal pair.
        searches_max: Searches for overlooked pairs before the answer comes with a bound only.

    Raises:
        ConfigError: There are more than 100,000 players.

    Complexity:
        Sorted neighbours: 1 ms for 1,000 players. The graph: nearly n log n for players spread
        over the axis.
    """
    if duels.players > PLAYERS_MAX:
        raise ConfigError(f"a round takes at most {PLAYERS_MAX:,} players, got {duels.players:,}")
    if duels.players < 2:
        over = math.fsum(duels.worth.tolist())
        return DuelRound(np.full(duels.players, -1, dtype=np.int64), over, over, True, 0)
    if extra is None and (duel_round := _by_neighbours(duels)) is not None:
        return duel_round
    return _by_graph(duels, extra, extra_top, searches_max)


def _by_neighbours(duels: Duels) -> DuelRound | None:
    """Return the round of sorted neighbours if it is certain to be the best, else None."""
    columns = {*duels.terms[duels.terms[:, WEIGHT] != 0.0, COLUMN], *duels.rules[:, BETWEEN]}
    if len(columns) != 1:
        return None
    column = int(columns.pop())
    order = np.argsort(duels.values[column], kind="stable")
    along = duels.values[column][order]
    both, either = _limits(duels, 0.0)[order], _limits(duels, 1.0)[order]
    gap_max = min(float(along[-1] - along[0]), float(both.max()), float(either.max()))
    slope = slope_on(duels, column, gap_max)
    if slope is None or (duels.rules[:, ACCEPT] != 0.0).sum() > 1:
        return None
    near = pair_neighbours(along, (both, either), slope, duels.worth[order])
    if near is None:
        return None
    mates: Ints = np.full(duels.players, -1, dtype=np.int64)
    seated = near >= 0
    mates[order[seated]] = order[near[seated]]
    gaps = along[near[seated]] - along[seated]
    cost = slope * math.fsum(gaps[gaps > 0.0].tolist())
    cost += math.fsum(duels.worth[mates < 0].tolist())
    return DuelRound(mates, cost, cost, True, duels.players)


def _limits(duels: Duels, accept: float) -> Floats:
    """Return the largest gap that each player accepts by rules of one kind; inf without rules."""
    chosen = duels.tolerances[duels.rules[:, ACCEPT] == accept]
    limits: Floats = chosen.min(axis=0, initial=np.inf)
    return limits


def _by_graph(duels: Duels, extra: Extra | None, extra_top: float, searches_max: int) -> DuelRound:
    """Return the round found by a matching on the pairs that matter."""
    axis, limits = best_axis(duels)
    along = duels.values[axis] if duels.values.size else np.zeros(duels.players)
    order = np.argsort(along, kind="stable")
    line = _Line(_ordered(duels, order), axis, np.ascontiguousarray(limits[order]), extra, order)
    # A path of exchanges that seats two more players changes at most all others' partners.
    over = (cost_top(duels) + extra_top) * (duels.players + 2) / 4.0 + 1e-9
    over += 2.0 * float(np.abs(duels.worth).max(initial=0.0))
    graph, is_optimal, lack = _solved(line, over, searches_max)
    left = int((graph.mates < 0).sum())
    rounding = (duels.players + 1) / graph.scale
    bound = (graph.dual_cost() - lack) / (2.0 * graph.scale) - over * left - rounding
    mates: Ints = np.full(duels.players, -1, dtype=np.int64)
    seated = graph.mates >= 0
    mates[order[seated]] = order[graph.mates[seated]]
    cost = line.cost_of(graph.mates)
    return DuelRound(mates, cost, min(bound, cost), is_optimal, line.seen)


def _solved(line: _Line, over: float, searches_max: int) -> tuple[Graph, bool, float]:
    """Return the graph, whether its matching is proved the best, and the gap of the proof."""
    count = line.duels.players
    alone = over + line.duels.worth
    scale = 2.0 ** math.floor(PRECISION_BITS - 1 - math.log2(float(alone.max(initial=1e-200))))
    graph = Graph(count, 2 * np.rint(alone * scale).astype(np.int64), scale)
    graph.add(line.first_pairs(scale))
    graph.solve()
    for search in range(1, searches_max + 1):
        found, lacks = line.overlooked(graph)
        is_optimal = found.shape[1] == 0
        if is_optimal or search == searches_max:
            break
        graph.add(found)
        graph.solve()
    return graph, is_optimal, float(lacks.sum()) / 2.0


class _Line:
    """Players in the order of the axis, and the pairs examined."""

    def __init__(
        self, duels: Duels, axis: int, limits: Floats, extra: Extra | None, order: Ints
    ) -> None:
        self.duels, self.seen = duels, 0
        self._axis, self._limits, self._extra, self._order = axis, limits, extra, order

    def cost_of(self, mates: Ints) -> float:
        """Return the cost of a matching plus the worth of players left over."""
        first = np.flatnonzero(mates > np.arange(len(mates)))
        over = self.duels.worth[mates < 0]
        return math.fsum(self._costs(first, mates[first]).tolist()) + math.fsum(over.tolist())

    def first_pairs(self, scale: float) -> Ints:
        """Return the cheapest partners of all players: two indices and an integer cost."""
        d = self.duels
        partners = nearest(*d[:4], self._axis, self._limits, NEAREST)
        i, at = np.nonzero(partners >= 0)
        j = partners[i, at]
        keys = np.unique(np.minimum(i, j) * d.players + np.maximum(i, j))
        one, two = keys // d.players, keys % d.players
        costs = self._costs(one, two)
        self.seen += len(costs)
        legal = np.isfinite(costs)
        even = 2 * np.rint(costs[legal] * scale).astype(np.int64)
        pairs: Ints = np.vstack([one[legal], two[legal], even])
        return pairs

    def overlooked(self, graph: Graph) -> tuple[Ints, Ints]:
        """Return pairs that cost less than their players are worth, and the largest shortfalls."""
        worths = graph.alone - graph.duals
        nest = nesting(graph.around, graph.widths, graph.count)
        room = 4 * graph.count + 1000
        while True:
            worst: Ints = np.zeros(graph.count, dtype=np.int64)
            out: Ints = np.zeros((4, room), dtype=np.int64)
            total = overlooked(
                *self.duels[:4], self._axis, self._limits, graph.scale, worths, nest, worst, out
            )
            if total <= room or self._extra is None:
                break
            room = total
        out = out[:, : min(total, room)]
        self.seen += total
        if self._extra is None:
            return out[:3], worst
        return self._refined(out, graph)

    def _refined(self, out: Ints, graph: Graph) -> tuple[Ints, Ints]:
        """Return the pairs still overlooked at their full cost, and the shortfalls."""
        costs = self._costs(out[0], out[1])
        legal = np.isfinite(costs)
        even = 2 * np.rint(np.where(legal, costs, 0.0) * graph.scale).astype(np.int64)
        lack = out[3] - (even - out[2])
        keep = legal & (lack > 0)
        worst: Ints = np.zeros(graph.count, dtype=np.int64)
        for ends in out[:2]:
            np.maximum.at(worst, ends[keep], lack[keep])
        return np.vstack([out[:2], even[None]])[:, keep], worst

    def _costs(self, one: Ints, two: Ints) -> Floats:
        costs = duel_costs(*self.duels[:4], one, two)
        if self._extra is not None:
            costs = costs + self._extra(self._order[one], self._order[two])
        return costs


def _ordered(duels: Duels, order: Ints) -> Duels:
    values = duels.values if duels.values.size else np.zeros((1, duels.players))
    return Duels(
        np.ascontiguousarray(values[:, order], dtype=np.float64),
        np.ascontiguousarray(duels.terms, dtype=np.float64),
        np.ascontiguousarray(duels.rules, dtype=np.float64),
        np.ascontiguousarray(duels.tolerances[:, order], dtype=np.float64),
        duels.worth[order],
    )


# Pairs on a line: sorted neighbours play each other, and the player left over is chosen exactly.
#
# Points are sorted, a pair costs in proportion to its gap, and each point has a limit to the gaps
# it accepts. The line is cut wherever no pair can reach across. A part of m points has at most
# m // 2 pairs, and one point is left over if m is odd.
#
# Whichever points are seated, pairing neighbours is cheapest: two pairs that cross, or lie one
# inside the other, cost no less than the same four points paired with their neighbours, since a
# cost in proportion to the gap grows with every gap that is added. So only the point left over has
# to be chosen; if the resulting neighbours accept each other, nothing is better.
#
# A point with an even number of points before it leaves pairs that are neighbours anyway. One with
# an odd number before it needs a pair that reaches across it; without one, it cannot be left over.
# If all limits are equal, this decides everything: neighbours in a part accept each other, and so
# do the two points around one that is reached across. If limits differ, the cheapest choice may
# break one; then this method has no answer.
#
# The same holds for every non-decreasing cost with c(a) + c(b) <= c(a + b), but not for
# logarithmic ones: for these, a wide pair around a close one may be cheaper.


def pair_neighbours(
    along: Floats, accepted: tuple[Floats, Floats], slope: float, worth: Floats
) -> Ints | None:
    """Pair points on a line, as many as possible, then at the least cost.

    Args:
        along: Shape (n,), ascending.
        accepted: Limits of gaps, each of shape (n,): those that both of a pair must accept, and
            those that one of the two must accept; inf = any.
        slope: Cost of a unit of gap, >= 0.
        worth: Shape (n,): cost of leaving a point over.

    Returns:
        The partner of each point, -1 for a point left over, shape (n,); None if sorted
        neighbours are not certain to be the best. That never happens if limits are equal.

    Complexity:
        O(n) in numpy: 0.2 ms for 1,000 points.
    """
    count = along.shape[0]
    mates: Ints = np.full(count, -1, dtype=np.int64)
    if count < 2:
        return mates
    starts = np.flatnonzero(np.append(True, ~_is_reached_across(along, accepted, 1)))
    sizes = np.diff(starts, append=count)
    over = _left_over(along, accepted, slope * along, worth, starts)
    seated = np.ones(count, dtype=bool)
    seated[over] = False
    assert over.size == int((sizes % 2).sum())
    players = np.flatnonzero(seated)
    mates[players[::2]], mates[players[1::2]] = players[1::2], players[::2]
    if not _accept(along, accepted, players[::2], players[1::2]).all():
        return None
    return mates


def _accept(along: Floats, accepted: tuple[Floats, Floats], one: Ints, two: Ints) -> Flags:
    """Return whether pairs accept their gaps, the lower point of each first."""
    both, either = accepted
    most = np.minimum(np.minimum(both[one], both[two]), np.maximum(either[one], either[two]))
    fits: Flags = along[two] - along[one] <= most
    return fits


def _is_reached_across(along: Floats, accepted: tuple[Floats, Floats], step: int) -> Flags:
    """Return whether a pair may reach from points up to k to points from k + step on.

    Shape (n - step,). True if the limits on both sides, each taken alone, allow it.
    """
    both, either = accepted
    most = np.minimum(both, float(either.max()))
    up = np.maximum.accumulate(along + most)[:-step] >= along[step:]
    down = np.minimum.accumulate((along - most)[::-1])[::-1][step:] <= along[:-step]
    # Sums lose digits that differences keep: a limit that is met exactly must hold here too.
    near = np.arange(along.shape[0] - step)
    across: Flags = (up & down) | _accept(along, accepted, near, near + step)
    return across


def _left_over(
    along: Floats,
    accepted: tuple[Floats, Floats],
    costs: Floats,
    worth: Floats,
    starts: Ints,
) -> Ints:
    """Return the point of each odd part that is left over.

    Args:
        along: The points.
        accepted: Their limits.
        costs: Shape (n,): the coordinates of the points, times the cost per unit of gap.
        worth: Cost of leaving a point over.
        starts: First point of each part.
    """
    count = along.shape[0]
    sizes = np.diff(starts, append=count)
    part = np.repeat(np.arange(starts.size), sizes)
    offset = np.arange(count) - starts[part]
    is_even = offset % 2 == 0
    gaps = np.append(np.where(offset[1:] > 0, np.diff(costs), 0.0), 0.0)
    even = np.concatenate([[0.0], np.cumsum(np.where(is_even, gaps, 0.0))])
    odd = np.concatenate([[0.0], np.cumsum(np.where(is_even, 0.0, gaps))])
    at = np.arange(count)
    # Pairs before the point left over span even gaps, those after it odd ones; a pair around an
    # odd point spans the even gap before it and the odd one after it.
    total = worth + even[at] - even[starts[part]] + odd[starts[part] + sizes[part]] - odd[at]
    reached = np.zeros(count, dtype=bool)
    if count > 2:
        reached[1:-1] = _is_reached_across(along, accepted, 2)
    total[~is_even & ~reached] = np.inf
    best = np.minimum.reduceat(total, starts)
    first = np.flatnonzero(total == best[part])
    # Of equals, the first: `unique` gives the first index of each part.
    _, where = np.unique(part[first], return_index=True)
    over: Ints = first[where][sizes % 2 == 1]
    return over
