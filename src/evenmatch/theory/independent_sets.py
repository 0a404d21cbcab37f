"""The recursion over independent sets that solves first come, first matched on a graph.

Players of classes 0..n-1 come in Poisson streams; an edge says that two classes may play, a loop
that a class may play among itself. A newcomer plays against the one who has waited longest among
those whom he may meet. Then no two classes that wait together may meet each other, and a class
with a loop never has two waiting: the classes that wait form an independent set, own loops
ignored. With pi(I) the weight of all states in which exactly the classes of I wait, E(I) those
whom somebody of I may meet, and I' the members of I without a loop,

    pi(I) [rate(E(I)) - rate(I')] = sum over i in I of rate(i) pi(I - i),           pi(empty) = 1

and the players of class j who wait, L_j(I) = rate(j) W_j(I) in weight, follow

    W_j(I) [rate(E(I)) - rate(I')] = sum over i in I of rate(i) W_j(I - i)
                                     + [j in I] pi(I - j) + [j in I'] pi(I).

Then E[T_j] = sum W_j / sum pi. Written with W_j, not L_j, it holds for classes of rate 0 as well:
they get the wait that a single such player would have.

Source:
    P. Moyal, A. Busic and J. Mairesse, A product form for the general stochastic matching model
    (the law of the states, and that it exists if and only if all brackets are positive); C. Comte,
    Stochastic non-bipartite matching models and order-independent loss queues (sums over
    independent sets). Loops as in Begeot, Marcovici, Moyal and Rahme.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from evenmatch.errors import ConfigError

SETS_MAX = 2_000_000
"""Independent sets of one component that are still solved, some seconds' work."""

Masks = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Component:
    """A part of the graph that nothing joins to the rest.

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
        p_no_wait: Probability that a newcomer of each class finds an opponent at once.
    """

    means: Sequence[Fraction | float]
    p_no_wait: Sequence[Fraction | float]


def levels(component: Component) -> Iterator[Masks]:
    """Yield the independent sets as bits, by size from 0 on, each level in rising order.

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
        # Each set once: members are added in rising order.
        parts = [
            level[(level >> i == 0) & (level & bits == 0)] | (1 << i) for i, bits in enumerate(met)
        ]
        level = np.sort(np.concatenate(parts))


def solve(component: Component) -> Waits:
    """Return the waits in floats, from the recursion by levels.

    Args:
        component: A stable one in which every class may meet somebody of positive rate.

    Complexity:
        O(sets x classes^2) time, O(largest level x classes) memory.
    """
    n = len(component.rates)
    rates = np.array([float(rate) for rate in component.rates])
    pi, waits = np.ones(1), np.zeros((1, n))
    total, sums, found = 0.0, np.zeros(n), np.zeros(n)
    before: Masks = np.zeros(0, dtype=np.int64)
    for level in levels(component):
        inside = (level[:, None] >> np.arange(n)) & 1 == 1
        if level[0]:
            pi, waits = _next_level(component, (before, pi, waits), (level, inside), rates)
        total += float(pi.sum())
        sums += waits.sum(axis=0)
        for j, bits in enumerate(component.neighbours):
            found[j] += float(pi[level & bits != 0].sum())
        before = level
    return Waits((sums / total).tolist(), (found / total).tolist())


def _next_level(
    component: Component,
    before: tuple[Masks, Floats, Floats],
    level: tuple[Masks, NDArray[np.bool_]],
    rates: Floats,
) -> tuple[Floats, Floats]:
    """Return pi and W of the sets of one size from those that are one smaller."""
    smaller, pi_before, waits_before = before
    masks, inside = level
    pi, waits = np.zeros(masks.size), np.zeros(inside.shape)
    for i, rate in enumerate(rates):
        rows = np.flatnonzero(inside[:, i])
        rest = np.searchsorted(smaller, masks[rows] ^ (1 << i))
        pi[rows] += rate * pi_before[rest]
        waits[rows] += rate * waits_before[rest]
        waits[rows, i] += pi_before[rest]
    bracket = _brackets(component, inside, rates)
    pi /= bracket
    loops = np.array([bits >> i & 1 == 1 for i, bits in enumerate(component.neighbours)])
    waits += np.where(inside & ~loops, pi[:, None], 0.0)
    return pi, waits / bracket[:, None]


def _brackets(component: Component, inside: NDArray[np.bool_], rates: Floats) -> Floats:
    """Return rate(E(I)) - rate(I') of the sets whose members are given."""
    n = len(rates)
    adjacent = np.array([[bits >> j & 1 for j in range(n)] for bits in component.neighbours])
    met = inside.astype(np.int64) @ adjacent > 0
    kept = inside & ~adjacent.diagonal().astype(bool)
    bracket: Floats = met @ rates - kept @ rates
    return bracket


def solve_exactly(component: Component) -> Waits:
    """Return the waits as fractions, set by set; otherwise like `solve`."""
    n = len(component.rates)
    rates, loops = component.rates, component.loops
    zero = Fraction(0)
    pi: dict[int, Fraction] = {0: Fraction(1)}
    waits: dict[int, list[Fraction]] = {0: [zero] * n}
    total, sums, found = zero, [zero] * n, [zero] * n
    for level in levels(component):
        pi_before, waits_before = pi, waits
        if level[0]:
            pi, waits = {}, {}
        for mask in level.tolist():
            if mask:
                bracket = margin(component, mask)
                members = members_of(mask)
                rest = [(rates[i], mask ^ 1 << i) for i in members]
                weight = sum((rate * pi_before[each] for rate, each in rest), zero) / bracket
                row = [
                    sum((rate * waits_before[each][j] for rate, each in rest), zero)
                    for j in range(n)
                ]
                for j in members:
                    row[j] += pi_before[mask ^ 1 << j] + (0 if loops >> j & 1 else weight)
                pi[mask], waits[mask] = weight, [each / bracket for each in row]
            total += pi[mask]
            for j, bits in enumerate(component.neighbours):
                sums[j] += waits[mask][j]
                found[j] += pi[mask] if mask & bits else zero
    return Waits([each / total for each in sums], [each / total for each in found])


def margin(component: Component, mask: int) -> Fraction:
    """Return the bracket of a set: how many more come who may meet it than wait for them."""
    met = 0
    for i in members_of(mask):
        met |= component.neighbours[i]
    return rate_of(component, met) - rate_of(component, mask & ~component.loops)


def rate_of(component: Component, mask: int) -> Fraction:
    """Return the players per second of the classes of a set."""
    return sum((component.rates[i] for i in members_of(mask)), Fraction(0))


def members_of(mask: int) -> list[int]:
    """Return the numbers of the bits that are set."""
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def split(rates: Sequence[Fraction], neighbours: Sequence[int]) -> list[list[int]]:
    """Return the classes of each component of a graph, in rising order."""
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
