"""The ages at which a match passes the conditions of a queue, and the instants that follow.

Between two ages at which some condition changes, nothing does: such an interval of ages is a
**piece**, and one test covers all of it. So the set of ages at which a match is legal is a finite,
exact list of half-open intervals. Two conditions joined by `and` give the intersection of their
sets, `or` the union, and `not` the complement among the ages at which the truth is defined.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from evenmatch.criteria.base import Seats
from evenmatch.criteria.condition.measures import MatchValues
from evenmatch.criteria.condition.verdicts import Statement, Truth, Verdicts, problem_of
from evenmatch.criteria.expansion import round_up
from evenmatch.errors import ConfigError
from evenmatch.model.condition import (
    AllOf,
    AttributeTest,
    Clock,
    Condition,
    Phases,
    SizeTest,
    Test,
    at_age,
    waits_of,
)
from evenmatch.model.ticket import NewTicket, Ticket, attribute_of
from evenmatch.model.ticket_names import origin_of


class Interval(NamedTuple):
    """The instants from `start` on, before `end`."""

    start: float
    end: float


Intervals = tuple[Interval, ...]
"""Disjoint, ascending; the last may end at infinity."""


class Conditions:
    """The conditions of one queue.

    Args:
        conditions: Conditions that all have the same clock.
        more_waits: Further ages at which something changes that is evaluated elsewhere.

    Raises:
        ConfigError: The conditions have different clocks.
    """

    def __init__(self, conditions: Sequence[Condition], more_waits: Iterable[float] = ()) -> None:
        clocks = dict.fromkeys(each.clock for each in conditions)
        if len(clocks) > 1:
            raise ConfigError(
                "conditions of one queue must go by one clock, newest, oldest or each, got several"
            )
        self.clock: Clock = next(iter(clocks), "newest")
        self.conditions = tuple(conditions)
        self.waits = tuple(
            sorted({wait for e in conditions for wait in waits_of(e.test)} | {0.0, *more_waits})
        )
        self.verdicts = Verdicts()
        self.statements = self._by_piece()
        """By piece, what each condition demands."""
        self.attributes = attribute_tests(conditions)

    def _by_piece(self) -> tuple[tuple[Statement, ...], ...]:
        """Return the compiled conditions of each piece; what does not change is compiled once."""
        changes = [frozenset(waits_of(each.test)) for each in self.conditions]
        found: list[tuple[Statement, ...]] = []
        for wait in self.waits:
            found.append(
                tuple(
                    self.verdicts.statement(at_age(each.test, wait))
                    if wait in changes[at]
                    else found[-1][at]
                    for at, each in enumerate(self.conditions)
                )
            )
        return tuple(found)

    def starts_of(self, begin: float) -> list[float]:
        """Return the instants at which pieces begin, for a match whose clock began at `begin`."""
        return [_start_of(begin, wait) for wait in self.waits]

    def piece_of(self, begin: float, now: float) -> int | None:
        """Return the piece in which a match is whose clock began at `begin`; None if in none.

        The instant of a change is rounded up to the time grid; in between, nothing is legal.
        """
        if len(self.waits) == 1:
            return 0
        piece = bisect_right(self.waits, now, key=lambda wait: _start_of(begin, wait)) - 1
        is_last = piece + 1 == len(self.waits)
        return piece if is_last or now < begin + self.waits[piece + 1] else None

    def begin_of(self, teams: Seats) -> float:
        """Return when the clock of a match began: when one of its tickets was enqueued."""
        born = [ticket.enqueued_at for team in teams for ticket in team]
        return min(born) if self.clock == "oldest" else max(born)

    def _begins_of(self, teams: Seats) -> list[float]:
        """Return the instants at which the clocks of a match began."""
        if self.clock != "each":
            return [self.begin_of(teams)]
        return sorted({ticket.enqueued_at for team in teams for ticket in team})

    def holds_in(self, piece: int, teams: Seats) -> bool:
        """Return whether a match passes all conditions in a piece of its age."""
        values, told = self.verdicts.values(teams), dict[int, Truth]()
        truth = self.verdicts.truth
        return all(truth(each, values, told) is True for each in self.statements[piece])

    def holds_at(self, now: float, teams: Seats) -> bool:
        """Return whether a match passes all conditions at an instant, by all its clocks."""
        pieces = {self.piece_of(begin, now) for begin in self._begins_of(teams)}
        values, told = self.verdicts.values(teams), dict[int, Truth]()
        truth = self.verdicts.truth
        return all(
            piece is not None
            and all(truth(each, values, told) is True for each in self.statements[piece])
            for piece in pieces
        )

    def intervals(self, teams: Seats) -> Intervals:
        """Return the instants at which a match is legal, from its last ticket's arrival on.

        Args:
            teams: Tickets by team, at least one.

        Complexity:
            O(leaves of all conditions), each evaluated once; joined anew for each piece.
        """
        newest = max([ticket.enqueued_at for team in teams for ticket in team])
        values, told = self.verdicts.values(teams), dict[int, Truth]()
        if self.clock == "each":
            begins = self._begins_of(teams)
            return common([self._since(each, newest, values, told) for each in begins])
        return self._since(self.begin_of(teams), newest, values, told)

    def _since(
        self, clock: float, newest: float, values: MatchValues, truths: dict[int, Truth]
    ) -> Intervals:
        """Return the instants at which a match is legal by a clock that began at an instant."""
        starts = self.starts_of(clock)
        ends = [*[clock + wait for wait in self.waits[1:]], math.inf]
        truth = self.verdicts.truth
        found: list[Interval] = []
        last = -1
        for piece, (start, end) in enumerate(zip(starts, ends, strict=True)):
            begin = max(start, newest)
            if begin >= end:
                continue
            if all(truth(each, values, truths) is True for each in self.statements[piece]):
                if found and last == piece - 1:
                    found[-1] = Interval(found[-1].start, end)
                else:
                    found.append(Interval(begin, end))
                last = piece
        return tuple(found)

    def problem(self, ticket: Ticket | NewTicket) -> str | None:
        """Return what a party lacks that every legal match requires, or None."""
        for leaf in self.attributes:
            for player in ticket.players:
                wrong = problem_of(leaf, attribute_of(ticket, player, leaf.attribute))
                if wrong:
                    whose = f" of player {player.id}" if len(ticket.players) > 1 else ""
                    return f"attribute {leaf.attribute}{whose} {wrong}{origin_of(leaf.attribute)}"
        return None

    def objections(self, teams: Seats, now: float) -> list[Condition]:
        """Return the conditions that a match does not pass at an instant."""
        values, told = self.verdicts.values(teams), dict[int, Truth]()
        broken: dict[Condition, None] = {}
        for begin in self._begins_of(teams):
            piece = max(bisect_right(self.starts_of(begin), now) - 1, 0)
            for each, statement in zip(self.conditions, self.statements[piece], strict=True):
                if self.verdicts.truth(statement, values, told) is not True:
                    broken[each] = None
        return [each for each in self.conditions if each in broken]

    def sizes_in(self, piece: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Return the fewest and the most players of each team in a piece, if a condition says so.

        Conditions on sizes that are joined to others are ignored.
        """
        for statement in self.statements[piece]:
            if statement.join == "leaf":
                leaf = self.verdicts.leaves[statement.number]
                if isinstance(leaf, SizeTest):
                    return leaf.least, leaf.most
        return None


def _start_of(begin: float, wait: float) -> float:
    """Return the instant at which an age is reached, on the time grid unless it is the first."""
    return begin if wait == 0.0 else round_up(begin + wait)


def attribute_tests(conditions: Iterable[Condition]) -> list[AttributeTest]:
    """Return the tests of attributes that every player must have at any age."""
    found: list[AttributeTest] = []
    stack: list[Test] = [each.test for each in conditions]
    for test in stack:
        if isinstance(test, AllOf):
            stack += test.parts
        elif isinstance(test, AttributeTest):
            found.append(test)
    return found


def common(sets: Sequence[Intervals]) -> Intervals:
    """Return the instants that are in all sets of intervals.

    >>> common([(Interval(0.0, 5.0), Interval(7.0, 9.0)), (Interval(4.0, 8.0),)])
    (Interval(start=4.0, end=5.0), Interval(start=7.0, end=8.0))
    """
    found, *others = sets
    for other in others:
        both = [
            Interval(max(one.start, two.start), min(one.end, two.end))
            for one in found
            for two in other
        ]
        found = tuple([each for each in both if each.start < each.end])
    return found


def first_after(intervals: Intervals, since: float) -> float:
    """Return the start of the first interval that ends after an instant; inf if there is none.

    It is at most `since` if a match is legal then.

    >>> first_after((Interval(2.0, 5.0), Interval(9.0, 12.0)), 5.0)
    9.0
    """
    return next((each.start for each in intervals if each.end > since), math.inf)


def by_age(tests: Mapping[float, Test]) -> Test:
    """Return a test that changes with age; a test that stays the same has no phase of its own.

    Args:
        tests: By the age in seconds from which they hold, ascending from 0.
    """
    waits: list[float] = []
    parts: list[Test] = []
    for wait, test in tests.items():
        if not parts or parts[-1] != test:
            waits.append(wait)
            parts.append(test)
    return parts[0] if len(parts) == 1 else Phases(tuple(waits), tuple(parts))
