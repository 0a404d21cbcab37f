"""Whether parties can always be put into whole teams.

Parties of 1..k arrive for matches of k against k. If some sizes come too often for the others to
complete them, no order of service can place all, and their pool grows for ever. The rates that can
be placed are non-negative combinations of the partitions of k; `facets` gives their conditions.

The conditions are necessary, since parties are conserved. That they suffice, for rules that start a
match whenever one can start, was seen in simulations, even near the boundary of k = 5; it is not
proved.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import gcd
from typing import Any, Literal

import numpy as np
from scipy.optimize import linprog

from evenmatch.errors import ConfigError
from evenmatch.theory.rates import exact_rates, rate_text

K_MAX = 12
NAMES = (
    *("solos", "duos", "trios", "quads", "fives", "sixes"),
    *("sevens", "eights", "nines", "tens", "elevens", "twelves"),
)
NOTES = {
    "any": "",
    "mirrored": "the same party sizes on both sides leave these conditions as they are, and made "
    "waits 1.9 to 2.5 times as long where that was simulated",
    "unmixed": "each size fills teams alone, so sizes that do not divide k can never play",
}


@dataclass(frozen=True)
class TeamMargin:
    """One condition of stability.

    Attributes:
        coefficients: By party size from 1: the sum of coefficient times rate must be > 0.
        margin: That sum, per second.
        text: The same in words.
    """

    coefficients: Vector
    margin: Fraction
    text: str

    def figures(self) -> dict[str, Any]:
        """Return the figures by name."""
        return {
            "coefficients": list(self.coefficients),
            "margin": float(self.margin),
            "text": self.text,
        }


@dataclass(frozen=True)
class TeamStability:
    """Whether waits stay finite if parties of 1..k play k against k.

    Attributes:
        stable: Whether the rates are inside all conditions.
        kind: `transient` if a condition fails, `null recurrent` on a boundary, None if stable.
        growth: Least number of players per second that cannot be placed; 0 on a boundary, None if
            stable.
        starved: Parties per second that cannot be placed, by size; on a boundary 0 for the sizes
            that must not grow.
        margins: All conditions, worst first; none if any rates can be placed.
        mean_floor: Lower bound on the mean wait per player under any rule, seconds: `least_pool`
            over the player rate.
        note: The effect of the shape.
    """

    stable: bool
    kind: str | None
    growth: float | None
    starved: dict[str, float]
    margins: tuple[TeamMargin, ...]
    mean_floor: float
    note: str

    def figures(self) -> dict[str, Any]:
        """Return the figures by name."""
        return {**vars(self), "margins": [each.figures() for each in self.margins]}


def team_stability(
    *,
    k: int,
    rates: tuple[float | Fraction, ...],
    shape: Literal["any", "mirrored", "unmixed"] = "any",
) -> TeamStability:
    """Return whether parties of 1..k can always be put into matches of k against k.

    Args:
        k: Players of a team, from 1 to `K_MAX`.
        rates: Parties per second of size 1, 2, ..., at most k of them; >= 0.
        shape: `any` mixes sizes within a team; `mirrored` requires the same sizes on both sides;
            `unmixed` one size within a team.

    Raises:
        ConfigError: A number is out of range.

    Complexity:
        Some 0.1 s at k = 12; see `facets`.

    >>> team_stability(k=3, rates=(0.4, 0.45)).margins[0].text
    'duos exceed solos by 0.05/s'
    """
    if not 1 <= k <= K_MAX:
        raise ConfigError(f"k must be a whole number from 1 to {K_MAX}, got {k}")
    if shape not in NOTES:
        raise ConfigError(f"shape must be one of {', '.join(NOTES)}, got {str(shape)[:64]!r}")
    if not 1 <= len(rates) <= k:
        raise ConfigError(
            f"rates must be from 1 to k = {k} numbers, by party size, got {len(rates)}"
        )
    given = exact_rates({f"rate of {NAMES[i]}": rate for i, rate in enumerate(rates)})
    sizes = tuple(i + 1 for i, rate in enumerate(given) if rate)
    coming = [given[size - 1] for size in sizes]
    margins = sorted(_margins(k, sizes, coming, shape), key=lambda each: each.margin)
    worst = margins[0].margin if margins else Fraction(1)
    starved = {} if worst > 0 else _starved(k, sizes, coming, shape)
    if worst == 0:
        starved = {name: 0.0 for each in margins if not each.margin for name in _right(each)}
    players = sum(size * rate for size, rate in zip(sizes, coming, strict=True))
    return TeamStability(
        stable=worst > 0,
        kind=None if worst > 0 else "transient" if worst < 0 else "null recurrent",
        growth=None if worst > 0 else _players(starved),
        starved=starved,
        margins=tuple(margins),
        mean_floor=float(least_pool(2 * k, sizes) / players),
        note=NOTES[shape],
    )


def least_pool(seats: int, sizes: Iterable[int]) -> Fraction:
    """Return a lower bound on the mean number of waiting players under any rule of service.

    Matches take `seats` players each, so the pool and all arrivals agree modulo `seats`. With g
    the greatest common divisor of `seats` and the sizes that arrive, that remainder is a random
    walk on 0, g, 2g, ..., seats - g that is uniform in the long run. A pool is at least its
    remainder: (seats - g) / 2 on average.

    Args:
        seats: Players of a match.
        sizes: Sizes of the parties that arrive in Poisson streams.

    >>> least_pool(8, [1, 2]), least_pool(8, [2])
    (Fraction(7, 2), Fraction(3, 1))
    """
    return Fraction(seats - math.gcd(seats, *sizes), 2)


def _margins(k: int, sizes: tuple[int, ...], rates: list[Fraction], shape: str) -> list[TeamMargin]:
    if shape == "unmixed":
        return [
            TeamMargin(
                tuple(-int(i + 1 == size) for i in range(k)),
                -rate,
                f"{NAMES[size - 1]} cannot fill a team of {k} alone, and {rate_text(rate)}/s come",
            )
            for size, rate in zip(sizes, rates, strict=True)
            if k % size
        ]
    found, conditions = [], facets(k, sizes)
    for facet in conditions:
        value = sum((x * rate for x, rate in zip(facet, rates, strict=True)), Fraction(0))
        is_balance = tuple(-x for x in facet) in conditions
        if is_balance and value > 0:
            continue  # its opposite is kept
        whole = [0] * k
        for size, x in zip(sizes, facet, strict=True):
            whole[size - 1] = x
        sentence = _sentence(whole, value, k)
        if is_balance:
            sentence += ", and would have to be exactly as many for ever"
        found.append(TeamMargin(tuple(whole), value, sentence))
    return found


def _sentence(coefficients: Sequence[int], margin: Fraction, k: int) -> str:
    more = _sum_of([max(x, 0) for x in coefficients])
    less = _sum_of([max(-x, 0) for x in coefficients])
    if not more:
        return f"{less} cannot fill a team of {k}, and {rate_text(-margin)}/s come"
    if margin < 0:
        more, less = less, more
    if margin == 0:
        return f"{less} are not fewer than {more}"
    return f"{more} exceed {less} by {rate_text(abs(margin))}/s"


def _sum_of(coefficients: Sequence[int]) -> str:
    """Return a sum in words, the sizes that count once first.

    >>> _sum_of([2, 1, 3])
    'duos + twice the solos + 3 times the trios'
    """
    found = [(x, name) for name, x in zip(NAMES, coefficients, strict=False) if x]
    found.sort(key=lambda each: each[0] > 1)
    return " + ".join(_times(x, name) for x, name in found)


def _times(count: int, name: str) -> str:
    if count == 1:
        return name
    return f"twice the {name}" if count == 2 else f"{count} times the {name}"


def _right(margin: TeamMargin) -> list[str]:
    """Return the sizes on the side of a condition that must not grow."""
    return [name for name, x in zip(NAMES, margin.coefficients, strict=False) if x < 0]


def _players(starved: dict[str, float]) -> float:
    return round(sum((NAMES.index(name) + 1) * rate for name, rate in starved.items()), 12)


def _starved(k: int, sizes: tuple[int, ...], rates: list[Fraction], shape: str) -> dict[str, float]:
    """Return the parties per second left over when as many players as possible are placed."""
    if shape == "unmixed":
        teams = [
            tuple(k // size if i == j else 0 for j in range(len(sizes)))
            for i, size in enumerate(sizes)
            if k % size == 0
        ]
    else:
        teams = partitions(k, sizes)
    total = float(sum(rates))
    left = np.array([float(rate) / total for rate in rates])
    if teams:
        made = linprog(-np.ones(len(teams)), A_ub=np.array(teams).T, b_ub=left).x
        left = left - np.array(teams).T @ made
    return {
        NAMES[size - 1]: round(float(share) * total, 12)
        for size, share in zip(sizes, left, strict=True)
        if share > 1e-9
    }


# The conditions under which parties of given sizes can always be put into whole teams.
#
# A team of k is a partition of k into party sizes. The rates of parties that teams can use up are
# non-negative combinations of partitions: a cone. Its facets are the conditions of stability, found
# by the double description method over the integers, so they are exact.
#
# Source:
#     K. Fukuda and A. Prodon, Double description method revisited (1996).

Vector = tuple[int, ...]


def partitions(k: int, sizes: Sequence[int]) -> list[Vector]:
    """Return all ways to make a team of k, as counts of parties by size.

    Args:
        k: Players of a team.
        sizes: Party sizes that arrive.

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
    """Return the conditions on the rates of the arriving sizes: each sum must be positive.

    Args:
        k: Players of a team, from 1 to 12.
        sizes: Party sizes that arrive.

    Returns:
        Integer coefficients by size, in lowest terms, such that the rates are inside the cone if
        and only if each weighted sum is > 0. Conditions that only require a size to arrive are left
        out. A cone without interior has a condition and its opposite.

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
        The extreme rays of the dual cone, and a basis of its lines.
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
            # An edge joins two rays if no third ray is on all the planes that both are on.
            if any(shared & ~tight[ray] == 0 for ray in rays if ray not in (good, bad)):
                continue
            pairs = zip(bad, good, strict=True)
            found.append(_lowest([values[good] * x - values[bad] * y for x, y in pairs]))
    return found


def _tight(ray: Vector, used: list[Vector]) -> int:
    """Return, as bits, the generators that are orthogonal to the ray."""
    return sum(1 << i for i, each in enumerate(used) if _product(ray, each) == 0)


def _product(one: Vector, other: Vector) -> int:
    return sum(x * y for x, y in zip(one, other, strict=True))


def _lowest(vector: list[int]) -> Vector:
    divisor = gcd(*vector)
    return tuple(x // divisor for x in vector)
