"""Bounds on the values of a match under construction: of numbers, and of collections.

A number lies between two bounds, a list grows by a bounded number of values, and the common strings
of collections can only become fewer. Comparisons of such values may come out true, false, or both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from evenmatch.criteria.condition.facts import Number
from evenmatch.criteria.condition.measures import QUICK
from evenmatch.criteria.condition.verdicts import SLACK
from evenmatch.model.condition import (
    FixedValue,
    FoldOf,
    Measured,
    SetTest,
    TeamProperty,
    depth_of,
)


class PossibleTruth(NamedTuple):
    """Whether a test may still become true, and whether it may still become false."""

    can_be_true: bool
    can_be_false: bool


EITHER = PossibleTruth(True, True)
NEITHER = PossibleTruth(False, False)


class Span(NamedTuple):
    """A number that is not known yet, but lies between two bounds."""

    low: float
    high: float


class GrowingList(NamedTuple):
    """The present values of a list, and bounds on those that will join.

    Args:
        values: The present values.
        few: Least number of values that will join.
        many: Largest number.
        range: The range of the new values, if they are numbers.
    """

    values: list[Any]
    few: int
    many: int
    range: Span


class AtMost(NamedTuple):
    """A collection that may lose strings, and gains none."""

    strings: frozenset[str]


Outcome = Span | GrowingList | AtMost | list["Outcome"] | None
"""None: nothing is known."""


ANYTHING = Span(-math.inf, math.inf)


# Numbers


def fixed(measured: FixedValue) -> Outcome:
    """Return the bounds of a fixed value: the value itself."""
    value = measured.value
    if isinstance(value, float | int):
        return Span(value, value)
    return GrowingList(list((value,) if isinstance(value, str) else value), 0, 0, ANYTHING)


def folded(fold: FoldOf, inner: Outcome) -> Outcome:
    """Return the bounds of a function of a bounded value."""
    if inner is None:
        return None
    if isinstance(inner, list):
        if inner and not isinstance(inner[0], Span):
            return [folded(fold, each) for each in inner]
        spans = [each for each in inner if isinstance(each, Span)]
        return _of_spans(fold.name, spans) if len(spans) == len(inner) else None
    if isinstance(inner, Span | AtMost):
        return None
    if fold.name == "count":
        if _is_of_collections(fold.of):
            return None
        return Span(len(inner.values) + inner.few, len(inner.values) + inner.many)
    return _of_growing(fold.name, inner)


def _is_of_collections(measured: Measured) -> bool:
    """Return whether an expression is about players' lists of strings."""
    while isinstance(measured, FoldOf):
        measured = measured.of
    return isinstance(measured, TeamProperty) and measured.kind == "string_list"


def _of_growing(name: str, inner: GrowingList) -> Span:
    values: list[Number] = inner.values
    few, many, (low, high) = inner.few, inner.many, inner.range
    if not many:
        number = float(QUICK[name](values))
        return Span(number, number)
    if name.startswith("stddev"):
        return Span(0.0, math.inf)
    if name == "sum":
        total = sum(values)
        least = total + (many * low if low < 0 else few * low if few else 0)
        most = total + (many * high if high > 0 else few * high if few else 0)
        return Span(float(least), float(most))
    if not values:
        return Span(low, high)
    if name == "min":
        return Span(min(low, *values), min(high, *values) if few else min(values))
    if name == "max":
        return Span(max(low, *values) if few else max(values), max(high, *values))
    if name == "median":
        return Span(min(low, *values), max(high, *values))
    return _mean(values, inner)


def _mean(values: list[Number], inner: GrowingList) -> Span:
    few, many, (low, high) = inner.few, inner.many, inner.range
    total, count = float(sum(values)), len(values)
    own = total / count
    if low == -math.inf or high == math.inf:
        return ANYTHING
    down = many if low < own else few
    up = many if high > own else few
    return Span((total + down * low) / (count + down), (total + up * high) / (count + up))


def _of_spans(name: str, spans: list[Span]) -> Span:
    if name == "count":
        return Span(len(spans), len(spans))
    if name.startswith("stddev"):
        is_known = all(each.low == each.high for each in spans)
        if not is_known:
            return Span(0.0, math.inf)
    lows, highs = [each.low for each in spans], [each.high for each in spans]
    if not all(map(math.isfinite, [*lows, *highs])) and name not in ("min", "max"):
        return ANYTHING
    function = QUICK[name]
    return Span(float(function(lows)), float(function(highs)))


def still_shared(inner: Outcome) -> Outcome:
    """Return the strings common to all present collections: new ones can only remove some."""
    if isinstance(inner, list):
        if not all(isinstance(each, GrowingList) for each in inner):
            return None
        parts = [still_shared(each) for each in inner]
        return parts if all(parts) else None
    if not isinstance(inner, GrowingList) or not inner.values:
        return None
    if not isinstance(inner.values[0], tuple):
        return None
    return AtMost(frozenset(inner.values[0]).intersection(*inner.values[1:]))


def flattened(inner: Outcome) -> Outcome:
    """Return the lists of a list as one."""
    if not isinstance(inner, list):
        return None
    lists = [each for each in inner if isinstance(each, GrowingList)]
    if len(lists) < len(inner):
        return inner if all(isinstance(each, Span) for each in inner) else None
    values = [value for each in lists for value in each.values]
    few, many = sum([each.few for each in lists]), sum([each.many for each in lists])
    span = Span(min([e.range.low for e in lists]), max([e.range.high for e in lists]))
    return GrowingList(values, few, many, span)


def slack_of(*spans: Span) -> float:
    """Return by how much rounding may have moved the ends of numbers."""
    sizes = [abs(x) for span in spans for x in span if math.isfinite(x)]
    return 2 * SLACK * max(1.0, *sizes) if sizes else SLACK


def may_compare(one: Span, operator: str, other: Span) -> PossibleTruth:
    """Return how two numbers may compare."""
    slack = slack_of(one, other)
    may_less, may_more = one.low < other.high + slack, one.high > other.low - slack
    if operator in ("=", "!="):
        may_equal = may_less and may_more
        may_differ = not one.low == one.high == other.low == other.high
        return (
            PossibleTruth(may_equal, may_differ)
            if operator == "="
            else PossibleTruth(may_differ, may_equal)
        )
    return (
        PossibleTruth(may_less, may_more)
        if operator[0] == "<"
        else PossibleTruth(may_more, may_less)
    )


def every_number(outcome: Outcome, judge: Callable[[Span], PossibleTruth]) -> PossibleTruth:
    """Return whether all numbers of an outcome may pass, and whether one may fail."""
    if outcome is None:
        return EITHER
    if isinstance(outcome, Span):
        return judge(outcome)
    if isinstance(outcome, list):
        return every([every_number(each, judge) for each in outcome])
    if isinstance(outcome, AtMost):
        return EITHER
    may = [judge(Span(value, value)) for value in dict.fromkeys(outcome.values)]
    if outcome.many:
        future = judge(outcome.range)
        may.append(future if outcome.few else PossibleTruth(True, future.can_be_false))
    return every(may)


def every(may: Sequence[PossibleTruth]) -> PossibleTruth:
    """Return whether all may be true, and whether one may be false."""
    return PossibleTruth(
        all(each.can_be_true for each in may), any(each.can_be_false for each in may)
    )


# Words and collections


def may_agree(operator: str, depths: Sequence[int], outcomes: Sequence[Outcome]) -> PossibleTruth:
    """Return the same for values that should be all equal, or all different."""
    singles = [each for each, depth in zip(outcomes, depths, strict=True) if depth == 0]
    lists = [each for each, depth in zip(outcomes, depths, strict=True) if depth > 0]
    can = all(_agree(operator, each) for each in lists)
    return PossibleTruth(can and (not singles or _agree(operator, singles)), True)


def _agree(operator: str, outcome: Outcome) -> bool:
    if isinstance(outcome, GrowingList):
        different = len(set(outcome.values))
        return different <= 1 if operator == "=" else different == len(outcome.values)
    if not isinstance(outcome, list) or not outcome or operator == "!=":
        return True
    if all(isinstance(each, GrowingList) for each in outcome):
        return all(_agree(operator, each) for each in outcome)
    spans = [each for each in outcome if isinstance(each, Span)]
    if len(spans) < len(outcome):
        return True
    return max([s.low for s in spans]) <= min([s.high for s in spans]) + slack_of(*spans)


def every_word(outcome: Outcome, word: str, *, is_equal: bool) -> PossibleTruth:
    """Return whether all words may equal a word, or may all differ from it."""
    if isinstance(outcome, list):
        return every([every_word(each, word, is_equal=is_equal) for each in outcome])
    if not isinstance(outcome, GrowingList):
        return EITHER
    wrong = any((value == word) != is_equal for value in outcome.values)
    return PossibleTruth(not wrong, wrong or outcome.many > 0)


class CountBounds:
    """The bounds of a test of collections, applied to bounded values."""

    def __init__(self, leaf: SetTest) -> None:
        self._leaf = leaf
        self._least = -math.inf if leaf.least is None else leaf.least
        self._most = math.inf if leaf.most is None else leaf.most

    def judge(self, measured: Measured, outcome: Outcome, wanted: Outcome) -> PossibleTruth:
        """Return whether all counts may be within the bounds."""
        if outcome is None:
            return EITHER
        if isinstance(outcome, list):
            if self._leaf.counts != "in_reference" and depth_of(measured) == 2:
                return EITHER  # each team is a collection, which grows with its players
            return every([self.judge(measured, each, wanted) for each in outcome])
        if isinstance(outcome, Span | AtMost):
            return EITHER
        collections = [each for each in outcome.values if isinstance(each, tuple)]
        if len(collections) < len(outcome.values):
            collections = []
        is_flat = bool(outcome.values) and not collections
        if self._leaf.counts == "shared":
            return self._in_common(outcome, collections, is_flat=is_flat)
        if self._leaf.counts == "holders":
            return self._holders(outcome, wanted)
        return self._overlap(outcome, collections, wanted, is_flat=is_flat)

    def _in_common(
        self, outcome: GrowingList, collections: list[tuple[object, ...]], *, is_flat: bool
    ) -> PossibleTruth:
        if is_flat:  # different strings: the more players, the more of them
            return PossibleTruth(len(set(outcome.values)) <= self._most, True)
        if not collections:
            return EITHER
        shared = set(collections[0]).intersection(*collections[1:])
        return PossibleTruth(len(shared) >= self._least, True)

    def _holders(self, outcome: GrowingList, wanted: Outcome) -> PossibleTruth:
        if not isinstance(wanted, GrowingList) or len(wanted.values) != 1:
            return EITHER
        word = wanted.values[0]
        held = sum(
            [word in each if isinstance(each, tuple) else word == each for each in outcome.values]
        )
        return PossibleTruth(held <= self._most and held + outcome.many >= self._least, True)

    def _overlap(
        self,
        outcome: GrowingList,
        collections: list[tuple[object, ...]],
        wanted: Outcome,
        *,
        is_flat: bool,
    ) -> PossibleTruth:
        if isinstance(wanted, AtMost):
            if is_flat:
                return EITHER
            few = any(len(wanted.strings.intersection(e)) < self._least for e in collections)
            return PossibleTruth(not few, True)
        names = _strings_in(wanted)
        if names is None:
            return EITHER
        words, is_growing = names
        groups = [outcome.values] if is_flat else collections
        counts = [len(words.intersection(each)) for each in groups]
        # With larger collections on either side, the overlap is never smaller.
        if any(count > self._most for count in counts):
            return PossibleTruth(False, True)
        is_final = not is_growing and not (is_flat and outcome.many)
        return PossibleTruth(not is_final or all(count >= self._least for count in counts), True)


def _strings_in(outcome: Outcome) -> tuple[set[object], bool] | None:
    """Return the strings of a reference, and whether more may join them; None if unknown."""
    if isinstance(outcome, list):
        parts = [_strings_in(each) for each in outcome]
        if any(each is None for each in parts):
            return None
        known = [each for each in parts if each is not None]
        return set[object]().union(*[each[0] for each in known]), any(e[1] for e in known)
    if not isinstance(outcome, GrowingList):
        return None
    strings: set[object] = set()
    for value in outcome.values:
        strings.update(value if isinstance(value, tuple) else (value,))
    return strings, outcome.many > 0
