"""How much a test tries: a little in `make test`, all of it in `make test-full`.

Whatever is made smaller keeps its point: the little that stays fails for the fault that the test
is there for. A module that asks `extent` is marked `more`, so that `make test-full` runs it again;
cases that `thinned` leaves to the long tier are marked `long`.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import Any, TypeVar

import pytest

Number = TypeVar("Number", int, float)
Case = TypeVar("Case")

IS_LONG = os.environ.get("EVENMATCH_LONG") == "1"
more = pytest.mark.more


def extent(short: Number, long: Number) -> Number:
    """Return how much of something to try in this run."""
    return long if IS_LONG else short


def kills(short: int, long: int) -> int:
    """Return how many kills to try: as many as `EVENMATCH_KILLS` says, else as `extent` does."""
    return int(os.environ.get("EVENMATCH_KILLS") or extent(short, long))


def thinned(cases: Iterable[Any], every: int, *, first: int = 0) -> list[Any]:
    """Return all cases; all but each `every`-th one, from `first` on, are left to the long tier.

    With cases from nested loops choose a number that has no divisor in common with the length of
    an inner one, so that every value of every loop is met.
    """
    return kept(cases, lambda at: (at - first) % every == 0)


def in_turn(cases: Iterable[Case], days: int) -> list[Case]:
    """Return the cases of today: each has its turn in so many days; `make test-full` has all."""
    cases = list(cases)
    return cases if IS_LONG else cases[date.today().toordinal() % days :: days]


def only(cases: Iterable[Any], *places: int) -> list[Any]:
    """Return all cases; those at these places stay in `make test`."""
    cases = list(cases)
    assert all(-len(cases) <= place < len(cases) for place in places)
    stay = {place % len(cases) for place in places}
    return kept(cases, stay.__contains__)


def kept(cases: Iterable[Any], is_short: Callable[[int], bool]) -> list[Any]:
    return [each if is_short(at) else _long(each) for at, each in enumerate(cases)]


def _long(case: Any) -> Any:
    if hasattr(case, "marks"):
        return pytest.param(*case.values, id=case.id, marks=[*case.marks, pytest.mark.long])
    values: Sequence[Any] = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.long)
