"""The range of an expression over all matches that the team sizes allow.

Only values that depend on the number of players have bounds; values of attributes have none. That
is enough to find that `count(teams[red].players) = 9` never holds in a team of 8.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from evenmatch.rules.flexmatch.expressions import Call, Constant, Expression, Property


class Range(msgspec.Struct, frozen=True, gc=False):
    """Numbers from `least` to `most`, both included."""

    least: float
    most: float


EVERYTHING = Range(-math.inf, math.inf)
Bounds = Range | tuple[Range, ...] | None
"""Of a number, or of the numbers of a list; None if nothing is known about a list."""
Sizes = Mapping[str, Range]
"""How many players each team may have."""


def bounds_of(expression: Expression, sizes: Sizes) -> tuple[Range, ...]:
    """Return the bounds of the numbers of an expression: one range if it is a single number.

    Args:
        expression: One that gives numbers.
        sizes: The fewest and the most players of each team, over all ages.

    >>> count = Call("count", Property(teams=("red",), is_grouped=False, what="players"))
    >>> bounds_of(count, {"red": Range(4, 8)})
    (Range(least=4, most=8),)
    """
    bounds = _bounds(expression, sizes)
    if bounds is None:
        return (EVERYTHING,)
    return bounds if isinstance(bounds, tuple) else (bounds,)


def players_of(expression: Expression, sizes: Sizes) -> Range:
    """Return the number of players of the property within an expression."""
    while isinstance(expression, Call):
        expression = expression.argument
    if isinstance(expression, Constant):
        return EVERYTHING
    return _sum(tuple(sizes[team] for team in expression.teams))


def _bounds(expression: Expression, sizes: Sizes) -> Bounds:
    if isinstance(expression, Constant):
        value = expression.value
        return Range(value, value) if isinstance(value, float) else None
    if isinstance(expression, Property):
        return None
    inner = expression.argument
    if expression.function == "count":
        return _count(inner, sizes)
    if expression.function == "stddev":
        return Range(0, math.inf)
    bounds = _bounds(inner, sizes)
    if expression.function in ("flatten", "set_intersection") or bounds is None:
        return bounds
    if not isinstance(bounds, tuple):
        return EVERYTHING
    return _fold(expression.function, bounds)


def _count(of: Expression, sizes: Sizes) -> Bounds:
    """Return the bounds of the sizes of the innermost lists of an expression."""
    is_flat = isinstance(of, Call) and of.function == "flatten"
    wanted = of.argument if isinstance(of, Call) and is_flat else of
    if not isinstance(wanted, Property):
        return Range(0, math.inf)
    if wanted.what == "teams":
        return Range(len(wanted.teams), len(wanted.teams))
    if wanted.what in ("players", "player_ids"):
        each = tuple(sizes[team] for team in wanted.teams)
        return each if wanted.is_grouped and not is_flat else _sum(each)
    return Range(0, math.inf)


def _sum(ranges: tuple[Range, ...]) -> Range:
    return Range(sum(each.least for each in ranges), sum(each.most for each in ranges))


def _fold(function: str, ranges: tuple[Range, ...]) -> Range:
    least, most = [each.least for each in ranges], [each.most for each in ranges]
    if function == "min":
        return Range(min(least), min(most))
    if function == "max":
        return Range(max(least), max(most))
    if function == "sum":
        return _sum(ranges)
    if function == "avg":
        return Range(sum(least) / len(least), sum(most) / len(most))
    return Range(min(least), max(most))
