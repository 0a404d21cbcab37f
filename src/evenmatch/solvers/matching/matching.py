"""The cheapest way to pair points in time or leave them alone, with a proof.

Few pairs matter, but which ones is not known in advance. So a matching is first computed on each
point's nearest partners. Its duals say what each point is worth. Every pair that costs less than
its two ends are worth was overlooked: such pairs are added to the graph, and the matching is
mended. When no such pair is left, the duals prove the matching optimal among all pairs. If the
search stops earlier, they still give a lower bound.

Source:
    Cook and Rohe, Computing Minimum-Weight Perfect Matchings (1999): pricing of sparse graphs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.matching.blossom import grow
from evenmatch.solvers.matching.forest import AROUND, DUAL, MATE, NONE, WIDTH, Ints, forest_of
from evenmatch.solvers.matching.pairs import Floats, nearest, nesting, overlooked, pair_costs

NEAREST = 10
"""Partners of each point in the first graph."""
ROUNDS_MAX = 60
"""Most searches for overlooked pairs."""
PRECISION_BITS = 44
"""Costs are integers below 2 to this power, so that sums of duals along a tree fit 64 bits."""


@dataclass(frozen=True)
class Field:
    """Points that may be paired with each other; see `matching.pairs` for the arrays.

    Args:
        points: Shape (4 + terms + gates, n), by ascending time.
        terms: Shape (terms, 5).
        gates: Shape (gates,).
        price: Cost per second.
        ids: Numbers of the points, unique across all fields, shape (n,).
        refine: Maps (numbers, numbers, costs) to true costs, which are never lower; None if the
            arrays give the true costs.
    """

    points: Floats
    terms: Floats
    gates: Floats
    price: float
    ids: Ints
    refine: Callable[[Ints, Ints, Floats], Floats] | None = None


@dataclass(frozen=True)
class Pairing:
    """A matching and its proof.

    Args:
        mates: Partner of each point, -1 for none; shape (n,).
        bound: Lower bound on the cost of any pairing of the points.
        is_optimal: Whether the duals prove the matching the cheapest, up to rounding.
        rounds: Number of searches for overlooked pairs.
    """

    mates: Ints
    bound: float
    is_optimal: bool
    rounds: int


def pair_up(
    fields: Sequence[Field],
    alone: Floats,
    *,
    rounds_max: int = ROUNDS_MAX,
    gap_max: float = 0.0,
    most: int = NEAREST,
) -> Pairing:
    """Pair points, or leave them alone, at the least total cost.

    Args:
        fields: Points; a number may be in several fields, and a pair takes its cheapest cost.
        alone: Cost of leaving each number alone, finite, >= 0; shape (n,).
        rounds_max: Searches for overlooked pairs after which the answer comes with a bound only.
        gap_max: A cost within this fraction above the bound is accepted as the answer.
        most: Partners of each point in the first graph.

    Complexity:
        Nearly n log n for players in time and skill, since trees stay small: 10,000 points take
        0.2 s at 3 a second and 1.4 s at 100 a second; 100,000 take 3 s at 3 a second.
    """
    top = float(alone.max(initial=0.0))
    scale = 2.0 ** math.floor(PRECISION_BITS - 1 - math.log2(max(top, 1e-200)))
    whole: Ints = 2 * np.rint(alone * scale).astype(np.int64)
    graph = Graph(len(alone), whole, scale)
    graph.add(_first_pairs(fields, scale, most))
    graph.solve()
    for rounds in range(1, rounds_max + 1):
        found, lacks = _overlooked(fields, graph)
        is_optimal = found.shape[1] == 0
        least = graph.dual_cost() - int(lacks.sum()) / 2
        if is_optimal or rounds == rounds_max or graph.cost() <= (1.0 + gap_max) * least:
            break
        graph.add(found)
        graph.solve()
    rounding = (len(alone) + 1) / scale
    return Pairing(graph.mates, least / (2 * scale) - rounding, is_optimal, rounds)


class Graph:
    """The pairs considered so far, and the best matching on them. `edges` holds ends and gains."""

    def __init__(self, count: int, alone: Ints, scale: float) -> None:
        self.count, self.alone, self.scale = count, alone, scale
        self.edges: Ints = np.zeros((3, 0), dtype=np.int64)
        self.mates: Ints = np.full(count, NONE, dtype=np.int64)
        self.duals: Ints = np.zeros(count, dtype=np.int64)
        self.around: Ints = np.full(count, NONE, dtype=np.int64)
        self.widths: Ints = np.zeros(count, dtype=np.int64)

    def add(self, pairs: Ints) -> None:
        """Add pairs, given as two numbers and an integer cost, and mend the duals.

        Pairs that gain nothing over leaving both points alone are omitted.
        """
        self._absorb()
        ends = np.sort(pairs[:2], axis=0)
        gains = self.alone[ends[0]] + self.alone[ends[1]] - pairs[2]
        edges = np.vstack([ends, gains])[:, gains > 0]
        edges = np.hstack([self.edges, edges])
        # Of duplicates, the one with the highest gain is kept.
        order = np.lexsort((-edges[2], edges[1], edges[0]))
        edges = edges[:, order]
        is_new = np.ones(edges.shape[1], dtype=bool)
        is_new[1:] = (np.diff(edges[0]) != 0) | (np.diff(edges[1]) != 0)
        self.edges = np.ascontiguousarray(edges[:, is_new])

    def _absorb(self) -> None:
        """Divide the duals of blossoms among their vertices, which keeps all duals feasible."""
        nest = nesting(self.around, self.widths, self.count)
        self.duals = self.duals + nest[3, : self.count] // 2

    def solve(self) -> None:
        """Compute the best matching, starting from the last one's duals and partners."""
        starts, slots = _slots(self.count, self.edges)
        _mend(self.edges, self.duals, self.mates, starts, slots)
        forest = forest_of(self.duals, self.mates, self.edges, starts, slots)
        for is_fractional in (1, 0):
            grow(forest, self.count, is_fractional)
        state = forest.nodes
        self.mates = state[MATE, : self.count].copy()
        self.duals = state[DUAL, : self.count].copy()
        self.around, self.widths = state[AROUND].copy(), state[WIDTH].copy()

    def cost(self) -> int:
        """Return the integer cost of the matching."""
        matched = self.mates[self.edges[0]] == self.edges[1]
        return int(sum(self.alone.tolist()) - sum(self.edges[2, matched].tolist()))

    def dual_cost(self) -> int:
        """Return the integer lower bound that the duals prove for the graph's own pairs."""
        # A blossom of 2 m + 1 vertices counts m times its dual: half for each of its vertices,
        # less half a dual.
        nest = nesting(self.around, self.widths, self.count)
        held = nest[3, : self.count] // 2
        # Only blossoms that still stand have a depth.
        stands = nest[1, self.count :] >= 0
        once = self.widths[self.count :][stands] // 2
        total = sum(self.alone.tolist()) - sum(self.duals.tolist())
        return int(total - sum(held.tolist()) + sum(once.tolist()))


def _first_pairs(fields: Sequence[Field], scale: float, most: int) -> Ints:
    """Return the nearest partners of all points, as two numbers and an integer cost."""
    found = []
    for field in fields:
        partners = nearest(field.points, field.terms, field.gates, field.price, most)
        i, at = np.nonzero(partners >= 0)
        j = partners[i, at]
        one, two = np.minimum(i, j), np.maximum(i, j)
        costs = pair_costs(field.points, field.terms, field.gates, field.price, one, two)
        found.append(_integers(field, field.ids[one], field.ids[two], costs, scale))
    return np.hstack(found) if found else np.zeros((3, 0), dtype=np.int64)


def _overlooked(fields: Sequence[Field], graph: Graph) -> tuple[Ints, Ints]:
    """Return the overlooked pairs, and the largest shortfall of each number."""
    worths = graph.alone - graph.duals
    nest = nesting(graph.around, graph.widths, graph.count)
    lacks: Ints = np.zeros(graph.count, dtype=np.int64)
    found = []
    for field in fields:
        room = 4 * len(field.ids) + 1000
        while True:
            worst: Ints = np.zeros(graph.count, dtype=np.int64)
            out: Ints = np.zeros((4, room), dtype=np.int64)
            total = overlooked(
                field.points,
                field.terms,
                field.gates,
                field.price,
                field.ids,
                graph.scale,
                worths,
                nest,
                worst,
                out,
            )
            if total <= room or field.refine is None:
                break
            room = total
        out = out[:, : min(total, room)]
        if field.refine is not None:
            out, worst = _refined(field, out, graph)
        lacks = np.maximum(lacks, worst)
        found.append(out[:3])
    return np.hstack(found) if found else np.zeros((3, 0), dtype=np.int64), lacks


def _refined(field: Field, out: Ints, graph: Graph) -> tuple[Ints, Ints]:
    """Return the pairs still overlooked at their true cost, and the shortfalls."""
    costs = out[2] / (2.0 * graph.scale)
    assert field.refine is not None
    true = field.refine(out[0], out[1], costs)
    is_legal = true * graph.scale < USELESS
    even = np.where(is_legal, 2 * np.rint(np.where(is_legal, true, 0.0) * graph.scale), 0)
    even = even.astype(np.int64)
    lack = out[3] - (even - out[2])
    keep = is_legal & (lack > 0)
    worst: Ints = np.zeros(graph.count, dtype=np.int64)
    for ends in out[:2]:
        np.maximum.at(worst, ends[keep], lack[keep])
    return np.vstack([out[:2], even[None], lack[None]])[:, keep], worst


def _integers(field: Field, one: Ints, two: Ints, costs: Floats, scale: float) -> Ints:
    if field.refine is not None:
        costs = field.refine(one, two, costs)
    legal = costs * scale < USELESS
    even = 2 * np.rint(costs[legal] * scale).astype(np.int64)
    pairs: Ints = np.vstack([one[legal], two[legal], even])
    return pairs


def _slots(count: int, edges: Ints) -> tuple[Ints, Ints]:
    """Return, for each vertex, the edges at it: starts of shape (n + 1,) and edge numbers."""
    edge_count = edges.shape[1]
    ends = edges[:2].ravel()
    order = np.argsort(ends, kind="stable")
    starts: Ints = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(ends, minlength=count), out=starts[1:])
    slots: Ints = (order % max(1, edge_count)).astype(np.int64)
    return starts, slots


@kernel("void(int64[:,::1], int64[::1], int64[::1], int64[::1], int64[::1])")
def _mend(edges: Ints, duals: Ints, mates: Ints, starts: Ints, slots: Ints) -> None:
    """Make duals feasible and as low as one pass over the vertices allows; match tight edges.

    Partners whose edge is no longer tight are separated.
    """
    count, edge_count = duals.shape[0], edges.shape[1]
    for e in range(edge_count):
        x, y = edges[0, e], edges[1, e]
        lack = edges[2, e] - duals[x] - duals[y]
        if lack > 0:
            duals[y if mates[x] >= 0 and mates[y] < 0 else x] += lack
    kept = np.full(count, -1, dtype=np.int64)
    for e in range(edge_count):
        x, y = edges[0, e], edges[1, e]
        if mates[x] == y and edges[2, e] == duals[x] + duals[y]:
            kept[x], kept[y] = y, x
    mates[:] = kept
    for v in range(count):
        if mates[v] >= 0:
            continue
        need, partner = 0, -1
        for slot in range(starts[v], starts[v + 1]):
            e = slots[slot]
            other = edges[0, e] + edges[1, e] - v
            rest = edges[2, e] - duals[other]
            if rest > need or (rest == need and rest > 0 and mates[other] < 0):
                need, partner = rest, other
        duals[v] = need
        if partner >= 0 and mates[partner] < 0:
            mates[v], mates[partner] = partner, v


USELESS = 2.0 ** (PRECISION_BITS + 2)
"""A pair of this scaled cost or more costs more than leaving any two points alone."""
