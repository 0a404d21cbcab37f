"""The recursion over independent sets that solves first come, first matched on a graph.

Players of classes 0..n-1 arrive in Poisson streams; an edge says that two classes may play, a loop
that a class may play among itself. A newcomer plays the longest waiting of those whom they may
meet. Then no two classes that wait together may meet each other, and a class with a loop never has
two players waiting: the waiting classes form an independent set, loops ignored. Let pi(I) be the
weight of all states in which exactly the classes of I wait, E(I) the classes that some class of I
may meet, and I' the members of I without a loop. Then
    pi(I) [rate(E(I)) - rate(I')] = sum over i in I of rate(i) pi(I - i),           pi(empty) = 1

and the waiting players of class j, L_j(I) = rate(j) W_j(I) in weight, follow

    W_j(I) [rate(E(I)) - rate(I')] = sum over i in I of rate(i) W_j(I - i)
                                     + [j in I] pi(I - j) + [j in I'] pi(I).

Then E[T_j] = sum W_j / sum pi. Written with W_j instead of L_j, this also holds for classes of rate
0: they get the wait that a single such player would have.

The second moment is not in the sources. A player's partner does not depend on later arrivals of
their own class if these may not play them. So, given the player's wait T, the number of their class
whom they leave behind is a Poisson count of arrivals in T, and its factorial moments give the
moments of T (the distributional form of Little's law). Differentiating the recursion twice in the
rate of j gives E[T_j^2] = sum V_j / sum pi with

    V_j(I) [rate(E(I)) - rate(I')] = sum over i in I of rate(i) V_j(I - i) + 2 W_j(I).

A player whose class has a loop waits like one of a class of rate 0 with the same opponents and no
loop; the recursion is the same.

Source:
    P. Moyal, A. Busic and J. Mairesse, A product form for the general stochastic matching model
    (the law of the states, and that it exists if and only if all brackets are positive); C. Comte,
    Stochastic non-bipartite matching models and order-independent loss queues (sums over
    independent sets). Loops as in Begeot, Marcovici, Moyal and Rahme.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from evenmatch.errors import ConfigError

SETS_MAX = 2_000_000
"""Most independent sets of one component, some seconds' work."""

Masks = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Component:
    """A connected part of the graph.

    Attributes:
        rates: Players per second of each class.
        neighbours: For each class the bits of those whom it may meet; its own bit is a loop.
    """

    rates: tuple[Fraction, ...]
    neighbours: tuple[int, ...]

    @property
    def loops(self) -> int:
        """Return the bits of the classes that may play among themselves."""
        return sum(1 << i for i, met in enumerate(self.neighbours) if met >> i & 1)


@dataclass(frozen=True)
class Waits:
    """The solution of one component.

    Attributes:
        means: Mean wait of each class.
        squares: Mean square of the wait of each class.
        p_no_wait: Probability that a newcomer of each class finds an opponent at once.
        total: The sum of pi, so that 1 / total is the probability that nobody waits.
    """

    means: Sequence[Fraction | float]
    squares: Sequence[Fraction | float]
    p_no_wait: Sequence[Fraction | float]
    total: Fraction | float


@dataclass(frozen=True)
class _SetsOfSize:
    """Independent sets of one size, and their weights: pi (m,), W and V (m, classes)."""

    masks: Masks
    pi: Floats
    waits: Floats
    squares: Floats


def levels(component: Component) -> Iterator[Masks]:
    """Yield the independent sets as bits, by size from 0 on, each level in ascending order.

    Raises:
        ConfigError: There are more than `SETS_MAX`.

    Complexity:
        O(sets x classes).
    """
    met = [bits & ~(1 << i) for i, bits in enumerate(component.neighbours)]
    level: Masks = np.zeros(1, dtype=np.int64)
    count = 0
    while level.size:
        count += level.size
        if count > SETS_MAX:
            raise ConfigError(
                f"the graph has more than {SETS_MAX:,} sets of classes that cannot meet each "
                "other, which is too many for exact waits; merge classes, or simulate it"
            )
        yield level
        # Each set once: members are added in ascending order.
        parts = [
            level[(level >> i == 0) & (level & bits == 0)] | (1 << i) for i, bits in enumerate(met)
        ]
        level = np.sort(np.concatenate(parts))


def solve(component: Component) -> Waits:
    """Return the waits in floats, from the recursion by levels.

    Args:
        component: A stable one in which every class may meet some class of positive rate.

    Complexity:
        O(sets x classes^2) time, O(largest level x classes) memory.
    """
    n = len(component.rates)
    rates = np.array([float(rate) for rate in component.rates])
    total, found = 0.0, np.zeros(n)
    sums, squares = np.zeros(n), np.zeros(n)
    level = _SetsOfSize(np.zeros(1, np.int64), np.ones(1), np.zeros((1, n)), np.zeros((1, n)))
    for masks in levels(component):
        level = _grown(component, level, masks, rates) if masks[0] else level
        total += float(level.pi.sum())
        sums += level.waits.sum(axis=0)
        squares += level.squares.sum(axis=0)
        for j, bits in enumerate(component.neighbours):
            found[j] += float(level.pi[masks & bits != 0].sum())
    return Waits(
        (sums / total).tolist(), (squares / total).tolist(), (found / total).tolist(), total
    )


def _grown(component: Component, before: _SetsOfSize, masks: Masks, rates: Floats) -> _SetsOfSize:
    """Return the weights of the sets of one size from those of the next smaller size."""
    inside = (masks[:, None] >> np.arange(len(rates))) & 1 == 1
    pi = np.zeros(masks.size)
    waits, squares = np.zeros(inside.shape), np.zeros(inside.shape)
    for i, rate in enumerate(rates):
        rows = np.flatnonzero(inside[:, i])
        rest = np.searchsorted(before.masks, masks[rows] ^ (1 << i))
        pi[rows] += rate * before.pi[rest]
        waits[rows] += rate * before.waits[rest]
        waits[rows, i] += before.pi[rest]
        squares[rows] += rate * before.squares[rest]
    bracket = _brackets(component, inside)
    pi /= bracket
    loops = np.array([bits >> i & 1 == 1 for i, bits in enumerate(component.neighbours)])
    waits += np.where(inside & ~loops, pi[:, None], 0.0)
    waits /= bracket[:, None]
    return _SetsOfSize(masks, pi, waits, (squares + 2.0 * waits) / bracket[:, None])


def _brackets(component: Component, inside: NDArray[np.bool_]) -> Floats:
    """Return rate(E(I)) - rate(I') of sets with given members.

    Next to the boundary of stability it is a difference of nearly equal numbers. So a rate is the
    sum of two floats, and what each addition rounds off is kept (Knuth's two-sum).
    """
    n = len(component.rates)
    adjacent = np.array([[bits >> j & 1 for j in range(n)] for bits in component.neighbours])
    met = inside.astype(np.int64) @ adjacent > 0
    kept = inside & ~adjacent.diagonal().astype(bool)
    signs = met.astype(np.float64) - kept
    total, rest = np.zeros(len(inside)), np.zeros(len(inside))
    for sign, rate in zip(signs.T, component.rates, strict=True):
        term = sign * float(rate)
        after = total + term
        added = after - total
        rest += (total - (after - added)) + (term - added)
        rest += sign * float(rate - Fraction(float(rate)))
        total = after
    bracket: Floats = total + rest
    return bracket


def solve_exactly(component: Component) -> Waits:
    """Return the waits as fractions, set by set; otherwise like `solve`."""
    n = len(component.rates)
    zero = Fraction(0)
    total, sums, squares, found = zero, [zero] * n, [zero] * n, [zero] * n
    level = {0: (Fraction(1), [zero] * n, [zero] * n)}
    for masks in levels(component):
        before = level
        if masks[0]:
            level = {mask: _exactly(component, mask, before) for mask in masks.tolist()}
        for mask, (pi, waits, of_squares) in level.items():
            total += pi
            for j, bits in enumerate(component.neighbours):
                sums[j] += waits[j]
                squares[j] += of_squares[j]
                found[j] += pi if mask & bits else zero
    return Waits(
        [each / total for each in sums],
        [each / total for each in squares],
        [each / total for each in found],
        total,
    )


def weights_of_sets(component: Component) -> dict[int, float]:
    """Return pi of every independent set, for graphs small enough to treat sets one by one."""
    pi: dict[int, float] = {}
    for masks in levels(component):
        for mask in masks.tolist():
            rest = [(float(component.rates[i]), mask ^ 1 << i) for i in members_of(mask)]
            weight = math.fsum(rate * pi[each] for rate, each in rest)
            pi[mask] = weight / float(margin(component, mask)) if mask else 1.0
    return pi


Weights = tuple[Fraction, list[Fraction], list[Fraction]]
"""pi, W and V of one set."""


def _exactly(component: Component, mask: int, before: dict[int, Weights]) -> Weights:
    """Return the weights of one set from those of the next smaller size."""
    zero, bracket, members = Fraction(0), margin(component, mask), members_of(mask)
    rest = [(component.rates[i], before[mask ^ 1 << i]) for i in members]
    classes = range(len(component.rates))
    pi = sum((rate * each[0] for rate, each in rest), zero) / bracket
    waits = [sum((rate * each[1][j] for rate, each in rest), zero) for j in classes]
    for j in members:
        waits[j] += before[mask ^ 1 << j][0] + (zero if component.loops >> j & 1 else pi)
    waits = [each / bracket for each in waits]
    squares = [sum((rate * each[2][j] for rate, each in rest), zero) for j in classes]
    return pi, waits, [(x + 2 * w) / bracket for x, w in zip(squares, waits, strict=True)]


def margin(component: Component, mask: int) -> Fraction:
    """Return the bracket of a set: the rate of those who may meet it, less its own."""
    met = 0
    for i in members_of(mask):
        met |= component.neighbours[i]
    return rate_of(component, met) - rate_of(component, mask & ~component.loops)


def rate_of(component: Component, mask: int) -> Fraction:
    """Return the players per second of the classes of a set."""
    return sum((component.rates[i] for i in members_of(mask)), Fraction(0))


def members_of(mask: int) -> list[int]:
    """Return the indices of the bits that are set."""
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def split(rates: Sequence[Fraction], neighbours: Sequence[int]) -> list[list[int]]:
    """Return the classes of each component of a graph, in ascending order."""
    left = set(range(len(rates)))
    parts = []
    while left:
        part, open_ = set(), {min(left)}
        while open_:
            part |= open_
            open_ = {j for i in open_ for j in members_of(neighbours[i])} - part
        parts.append(sorted(part))
        left -= part
    return parts
