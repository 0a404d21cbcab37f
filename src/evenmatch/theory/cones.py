"""The conditions under which parties of given sizes can always be put into whole teams.

A team of k is a partition of k into party sizes. Rates of parties that teams can use up are sums
of partitions with weights >= 0: a cone. Its facets are the conditions of stability, found by the
double description method over the integers, so they are exact.

Source:
    K. Fukuda and A. Prodon, Double description method revisited (1996).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import gcd

Vector = tuple[int, ...]


def partitions(k: int, sizes: Sequence[int]) -> list[Vector]:
    """Return how many parties of each size make a team of k, in all ways.

    Args:
        k: Players of a team.
        sizes: Party sizes that come.

    >>> partitions(4, (1, 2, 4))
    [(0, 0, 1), (0, 2, 0), (2, 1, 0), (4, 0, 0)]
    """
    if not sizes:
        return [()] if k == 0 else []
    first, rest = sizes[0], sizes[1:]
    found = [
        (count, *others)
        for count in range(k // first + 1)
        for others in partitions(k - count * first, rest)
    ]
    return sorted(found)


@lru_cache(maxsize=256)
def facets(k: int, sizes: tuple[int, ...]) -> tuple[Vector, ...]:
    """Return the conditions on the rates of the sizes that come: each sum must be positive.

    Args:
        k: Players of a team, from 1 to 12.
        sizes: Party sizes that come.

    Returns:
        Integer coefficients by size, in lowest terms, such that the rates are inside the cone if
        and only if each weighted sum is > 0. Those that only say that a size comes are left out.
        A cone without inside has a condition and its opposite.

    Complexity:
        The double description of one ray per partition: k = 10 takes some 0.2 s.

    >>> facets(3, (1, 2, 3))
    ((1, -1, 0),)
    """
    rays, lines = dual(partitions(k, sizes), len(sizes))
    both = [*rays, *lines, *(tuple(-x for x in line) for line in lines)]
    return tuple(sorted(each for each in both if min(each) < 0 or sum(map(bool, each)) > 1))


def dual(generators: Sequence[Vector], width: int) -> tuple[list[Vector], list[Vector]]:
    """Return the vectors whose products with all generators are >= 0, as rays and lines.

    Args:
        generators: Vectors of integers.
        width: Their length.

    Returns:
        The extreme rays of the dual cone, and a base of the lines in it.
    """
    lines = [tuple(int(i == j) for j in range(width)) for i in range(width)]
    rays: list[Vector] = []
    used: list[Vector] = []
    for generator in generators:
        pivot = next((line for line in lines if _product(line, generator)), None)
        if pivot is not None:
            rays, lines = _cut_lines(rays, lines, pivot, generator)
        else:
            rays = _cut_rays(rays, used, generator)
        used.append(generator)
    return rays, lines


def _cut_lines(
    rays: list[Vector], lines: list[Vector], pivot: Vector, generator: Vector
) -> tuple[list[Vector], list[Vector]]:
    """Turn one line into a ray, and shift all others into the plane of the generator."""
    if _product(pivot, generator) < 0:
        pivot = tuple(-x for x in pivot)
    step = _product(pivot, generator)

    def shifted(vector: Vector) -> Vector:
        value = _product(vector, generator)
        return _lowest([step * x - value * y for x, y in zip(vector, pivot, strict=True)])

    base = [line for line in lines if line not in (pivot, tuple(-x for x in pivot))]
    return [*map(shifted, rays), pivot], [shifted(line) for line in base]


def _cut_rays(rays: list[Vector], used: list[Vector], generator: Vector) -> list[Vector]:
    """Keep the rays on the right side, and add where edges cross the plane of the generator."""
    values = {ray: _product(ray, generator) for ray in rays}
    wrong = [ray for ray in rays if values[ray] < 0]
    if not wrong:
        return rays
    tight = {ray: _tight(ray, used) for ray in rays}
    found = [ray for ray in rays if values[ray] >= 0]
    for good in (ray for ray in rays if values[ray] > 0):
        for bad in wrong:
            shared = tight[good] & tight[bad]
            # An edge joins two rays if no third one lies on all the planes that both lie on.
            if any(shared & ~tight[ray] == 0 for ray in rays if ray not in (good, bad)):
                continue
            pairs = zip(bad, good, strict=True)
            found.append(_lowest([values[good] * x - values[bad] * y for x, y in pairs]))
    return found


def _tight(ray: Vector, used: list[Vector]) -> int:
    """Return as bits which generators the ray is at right angles to."""
    return sum(1 << i for i, each in enumerate(used) if _product(ray, each) == 0)


def _product(one: Vector, other: Vector) -> int:
    return sum(x * y for x, y in zip(one, other, strict=True))


def _lowest(vector: list[int]) -> Vector:
    divisor = gcd(*vector)
    return tuple(x // divisor for x in vector)
