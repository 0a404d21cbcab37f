"""Who may be in a match with a ticket, and who is most like it, for whole columns of tickets.

Some tests say something of any two tickets, whoever else plays and in whatever team: all players
within a distance of their average are within two of it of each other, and who shares no near
location never will. What is left out here is judged by the search; nobody is ever wrongly ruled
out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from evenmatch.criteria.columns.pairs import PairTable
from evenmatch.criteria.condition.ages import Conditions
from evenmatch.criteria.condition.implications import (
    Between,
    Implication,
    Implications,
    Near,
    OneWord,
    Within,
    likened,
)
from evenmatch.criteria.condition.verdicts import Statement
from evenmatch.criteria.rules import Rules
from evenmatch.criteria.scales import Floats
from evenmatch.model.condition import Leaf, PlaceTest
from evenmatch.model.ticket import Ticket
from evenmatch.policies.shared.condition_ways import Way

ROWS_FIRST = 64
PLACES_MAX = 64
"""Locations that have a column of their own; all others share one."""
OTHER_WORD = 1e6
"""How far apart two are who differ in a word that conditions compare."""
MIXED = -1
"""The word of a party whose players differ in it."""
Flags = NDArray[np.bool_]


Rows = NDArray[np.intp] | int | slice
Pairs = Callable[["ConditionColumns", Rows, Rows], Flags]
"""Of two sets of rows whose shapes go together, which two may be in one match."""


class ConditionColumns:
    """The waiting tickets as columns.

    Args:
        conditions: Those of the queue.
        ways: In which a match can meet them.
        team_count: Teams of a match.
        rules: All rules of the queue: what others than conditions say of pairs counts too. None:
            it does not.
    """

    def __init__(
        self,
        conditions: Conditions,
        ways: Sequence[Way],
        team_count: int,
        rules: Rules | None = None,
    ) -> None:
        self._own = PairTable(rules) if rules is not None and rules.widening_limits else None
        nobody = np.array(self._own.nobody if self._own else ())
        self._own_rows: Floats = np.tile(nobody[:, None], (1, ROWS_FIRST))
        self._facts = conditions.verdicts.facts
        leaves = conditions.verdicts.leaves
        self._tests = sorted({conditions.verdicts.place_of(e) for e in leaves if _is_place(e)})
        pairs = _PairTests(conditions, team_count)
        self._ways = ways
        self._pairs = [
            [each for one in way.statements if (each := pairs.of(one)) is not None] for way in ways
        ]
        self._places = [
            [p for each in way.statements for p in pairs.places_of(each)] for way in ways
        ]
        self._alike = pairs.near
        count = max(self._facts.count, 1)
        self._lows: Floats = np.zeros((count, ROWS_FIRST))
        self._highs: Floats = np.zeros((count, ROWS_FIRST))
        self._words: NDArray[np.int64] = np.zeros((count, ROWS_FIRST), dtype=np.int64)
        # By test of locations, by location, by ticket: milliseconds, inf if it tells none.
        self._ms: list[Floats] = [np.full((1, ROWS_FIRST), math.inf) for _ in self._tests]
        self._columns: dict[str, int] = {}
        self._ages: Floats = np.full((2, ROWS_FIRST), math.inf)
        self._sizes: NDArray[np.int64] = np.zeros(ROWS_FIRST, dtype=np.int64)
        self._tickets: list[Ticket | None] = [None] * ROWS_FIRST
        self._rows: dict[str, int] = {}
        self._free = list(range(ROWS_FIRST))[::-1]

    def enter(self, ticket: Ticket) -> None:
        """Write a ticket into a row."""
        if not self._free:
            self._grow()
        row = self._rows[ticket.id] = self._free.pop()
        self._tickets[row] = ticket
        self._ages[:, row] = ticket.enqueued_at, ticket.sequence
        self._sizes[row] = ticket.size
        if self._own is not None:
            self._own_rows[:, row] = self._own.row(ticket)
        for fact, told in enumerate(self._facts.of(ticket, is_exact=False)):
            if not told:
                continue
            if isinstance(told[0], str):
                same = len(set(told)) == 1
                self._words[fact, row] = abs(hash(told[0])) if same else MIXED
            elif not isinstance(told[0], tuple):
                self._lows[fact, row], self._highs[fact, row] = min(told), max(told)
        for place, number in enumerate(self._tests):
            self._write_places(place, number, ticket, row)

    def leave(self, ticket: Ticket) -> None:
        """Free the row of a ticket."""
        row = self._rows.pop(ticket.id)
        self._tickets[row] = None
        self._ages[:, row] = math.inf
        self._lows[:, row] = self._highs[:, row] = self._words[:, row] = 0
        for table in self._ms:
            table[:, row] = math.inf
        self._free.append(row)

    def chosen(self, anchor: Ticket, query: CandidateQuery) -> Circle:
        """Return who may be in a match with a ticket, the nearest first.

        Returns:
            The ticket, the one who waits longest, if longer, then the nearest; ties by age. Nobody
            but the ticket if too few share a location.
        """
        own = self._rows[anchor.id]
        flags = query.among & (self._ages[0] < math.inf)
        for each in self._pairs[query.way]:
            flags &= each(self, own, slice(None))
        flags &= self._may_meet(own, slice(None), query.at)
        rows = np.flatnonzero(flags)
        for number, limit in self._places[query.way]:
            rows = self._gathered(own, rows, self._near(number, limit), query)
        if len(rows):
            rows = self._ordered(own, rows, query.first, query.most)
        rows = np.concatenate(([own], rows)).astype(np.intp)
        tickets = [ticket for row in rows.tolist() if (ticket := self._tickets[row]) is not None]
        return Circle(tickets, self._mates(rows, query.way, query.at))

    def _gathered(
        self, own: int, rows: NDArray[np.intp], near: Flags, query: CandidateQuery
    ) -> NDArray[np.intp]:
        """Return rows from which a match at one location can be made, none if there is none.

        Args:
            own: The row of who has to be in the match.
            rows: Who may be.
            near: By location, by row, for whom it is near enough.
            query: In which way, and whether who plays elsewhere is left out.
        """
        places = near[near[:, own]]
        players = places[:, rows] @ self._sizes[rows]
        if not len(players) or players.max() + self._sizes[own] < self._ways[query.way].fewest:
            return rows[:0]
        return rows[places[int(players.argmax()), rows]] if query.at_one_place else rows

    def _ordered(
        self, own: int, rows: NDArray[np.intp], first: Flags | None, most: int
    ) -> NDArray[np.intp]:
        """Return rows by nearness, at most so many."""
        at, sequence = self._ages
        rows = rows[np.lexsort((sequence[rows], at[rows], self._nearness(own, rows)))]
        if first is not None:
            wanted = first[rows]
            few = rows[wanted][: most // 2]
            if len(few) * 4 <= len(rows):
                rows = np.concatenate((few, rows[~wanted]))
            return rows[:most]
        oldest = int(rows[np.lexsort((sequence[rows], at[rows]))[0]])
        if at[oldest] < at[own]:
            rows = np.concatenate(([oldest], rows[rows != oldest]))
        return rows[:most]

    def _mates(self, rows: NDArray[np.intp], way: int, at: float) -> list[int]:
        """Return of each of some tickets, as bits by place, with whom it may be in a match."""
        flags: Flags = np.ones((len(rows), len(rows)), dtype=bool)
        for each in self._pairs[way]:
            flags &= each(self, rows[:, None], rows[None, :])
        flags &= self._may_meet(rows[:, None], rows[None, :], at)
        packed = np.packbits(flags, axis=1, bitorder="little")
        return [int.from_bytes(row.tobytes(), "little") for row in packed]

    def _may_meet(self, some: Rows, others: Rows, at: float) -> Flags:
        """Return which two rules beside the conditions let be in one match by now."""
        if self._own is None:
            return np.array(True)
        rows, own = self._own_rows, np.asarray(some)
        first = rows[:, own] if own.ndim else rows[:, own][:, None]
        flags: Flags = self._own.ready_at(first, rows[:, others]) <= at
        return flags

    def count_mates(self, ticket: Ticket, way: int) -> int:
        """Return how many may be in a match of a way with a ticket, as far as pairs tell."""
        flags: Flags = self._ages[0] < math.inf
        for each in self._pairs[way]:
            flags = flags & each(self, self._rows[ticket.id], slice(None))
        return int(np.count_nonzero(flags)) - 1

    def fits(self, ticket: Ticket, way: int) -> bool:
        """Return whether a ticket may be in any match of a way at all, as far as is known."""
        own = np.array([self._rows[ticket.id]])
        return all(bool(each(self, own, own).all()) for each in self._pairs[way])

    def younger(self, ticket: Ticket) -> Flags:
        """Return by row who has waited shorter than a ticket."""
        at, sequence = self._ages
        later: Flags = at > ticket.enqueued_at
        later |= (at == ticket.enqueued_at) & (sequence > ticket.sequence)
        later &= at < math.inf
        return later

    def older(self, ticket: Ticket) -> Flags:
        """Return by row who has waited longer than a ticket."""
        at, sequence = self._ages
        earlier: Flags = at < ticket.enqueued_at
        earlier |= (at == ticket.enqueued_at) & (sequence < ticket.sequence)
        return earlier

    def flags(self, names: frozenset[str]) -> Flags:
        """Return by row whose ids are among some."""
        flags: Flags = np.zeros(self._ages.shape[1], dtype=bool)
        rows = self._rows
        flags[[rows[name] for name in names if name in rows]] = True
        return flags

    # What two have to do with each other

    def are_within(self, fact: int, most: float, some: Rows, others: Rows) -> Flags:
        """Return which numbers of two are at most so far apart."""
        low = np.minimum(self._lows[fact, some], self._lows[fact, others])
        high = np.maximum(self._highs[fact, some], self._highs[fact, others])
        flags: Flags = high - low <= most
        return flags

    def are_same(self, fact: int, some: Rows, others: Rows) -> Flags:
        """Return which words of two are the same."""
        words = self._words[fact]
        flags: Flags = (words[some] == words[others]) & (words[some] != MIXED)
        return flags

    def are_between(self, fact: int, ends: tuple[float, float], some: Rows, others: Rows) -> Flags:
        """Return which two both have numbers between two ends."""
        fit = (self._lows[fact] >= ends[0]) & (self._highs[fact] <= ends[1])
        flags: Flags = fit[some] & fit[others]
        return flags

    def are_near(self, number: int, limit: float, some: Rows, others: Rows) -> Flags:
        """Return which two have a location that suits both."""
        near = self._near(number, limit)
        flags: Flags = near[0][some] & near[0][others]
        for place in near[1:]:
            flags = flags | (place[some] & place[others])
        return flags

    def _near(self, number: int, limit: float) -> Flags:
        """Return by location, by row, for whom it is near enough."""
        near: Flags = self._ms[self._tests.index(number)] <= limit
        return near

    def _nearness(self, own: int, rows: NDArray[np.intp]) -> Floats:
        gaps: Floats = np.zeros(len(rows))
        for fact, scale in self._alike.items():
            middle = self._lows[fact, rows] + self._highs[fact, rows]
            gaps += np.abs(middle - self._lows[fact, own] - self._highs[fact, own]) / scale
            gaps += OTHER_WORD * (self._words[fact, rows] != self._words[fact, own])
        return gaps

    # Rows

    def _write_places(self, place: int, number: int, ticket: Ticket, row: int) -> None:
        told = self._facts.places(ticket, number, is_exact=False)
        for name, ms in told.items():
            column = self._columns.get(name)
            if column is None:
                column = min(len(self._columns), PLACES_MAX)
                self._columns[name] = column
                for each, old in enumerate(self._ms):
                    if column >= len(old):
                        new = np.full((1, old.shape[1]), math.inf)
                        self._ms[each] = np.vstack([old, new])
            table = self._ms[place]
            table[column, row] = min(table[column, row], float(ms))

    def _grow(self) -> None:
        size = self._ages.shape[1]
        self._lows, self._highs = np.tile(self._lows, 2), np.tile(self._highs, 2)
        self._words = np.tile(self._words, 2)
        self._ms = [np.hstack([each, np.full_like(each, math.inf)]) for each in self._ms]
        self._ages = np.hstack([self._ages, np.full_like(self._ages, math.inf)])
        self._sizes = np.tile(self._sizes, 2)
        self._own_rows = np.tile(self._own_rows, 2)
        self._tickets += [None] * size
        self._free = list(range(size, 2 * size))[::-1]


class CandidateQuery(NamedTuple):
    """Who is asked for around a ticket.

    Args:
        way: In which way a match is to meet the conditions.
        among: By row, who is asked about.
        first: By row, of whom one has to be in the match: they come first; None: nobody.
        most: How many tickets to return at most.
        at_one_place: Whether to return only who can play where most can.
        at: When; rules beside the conditions count as they stand then.
    """

    way: int
    among: Flags
    first: Flags | None
    most: int
    at_one_place: bool
    at: float


class Circle(NamedTuple):
    """A ticket and those who may be in a match with it.

    Args:
        tickets: The ticket first.
        mates: Of each, as bits by place, with whom it may be in one match.
    """

    tickets: list[Ticket]
    mates: list[int]


def _is_place(leaf: Leaf) -> TypeGuard[PlaceTest]:
    return isinstance(leaf, PlaceTest)


class _PairTests:
    """What the tests of a queue say of two tickets, whoever else plays."""

    def __init__(self, conditions: Conditions, team_count: int) -> None:
        verdicts = conditions.verdicts
        self.implied = Implications(verdicts, team_count)
        self._team_count = team_count
        self.near: dict[int, float] = {}
        """By fact in which players should be alike, on what scale."""
        for leaf in verdicts.leaves:
            for team_property in likened(leaf):
                fact = verdicts.measures.fact_of(team_property, getattr(leaf, "party", None))
                scale = getattr(leaf, "most", None) or 1.0
                self.near[fact] = min(self.near.get(fact, scale), scale)
        self._verdicts = verdicts

    def of(self, statement: Statement) -> Pairs | None:
        """Return which two may be in a match of which a statement holds; None: all."""
        if statement.join == "leaf":
            implied = self.implied.by_leaf(self._verdicts.leaves[statement.number])
            tests = [test for each in implied if (test := self._test(each)) is not None]
        elif statement.join in ("and", "or"):
            parts = [self.of(part) for part in statement.parts]
            tests = [each for each in parts if each is not None]
            if statement.join == "or":
                return _some(tests) if len(tests) == len(parts) else None
        else:
            return None
        return _each(tests) if tests else None

    def places_of(self, statement: Statement) -> list[tuple[int, float]]:
        """Return the tests of locations that hold if a statement does: number and limit."""
        found = self.implied.by_statement(statement)
        return [(each.number, each.limit) for each in found if isinstance(each, Near)]

    def _test(self, implication: Implication) -> Pairs | None:
        if isinstance(implication, Near):
            number, limit = implication
            return lambda columns, some, others: columns.are_near(number, limit, some, others)
        if isinstance(implication, Within):
            fact, most = implication
            return lambda columns, some, others: columns.are_within(fact, most, some, others)
        if isinstance(implication, OneWord):
            word = implication.fact
            return lambda columns, some, others: columns.are_same(word, some, others)
        if isinstance(implication, Between) and len(implication.teams) == self._team_count:
            ends, own = (implication.low, implication.high), implication.fact
            return lambda columns, some, others: columns.are_between(own, ends, some, others)
        return None


def _each(tests: list[Pairs]) -> Pairs:
    def pairs(columns: ConditionColumns, some: Rows, others: Rows) -> Flags:
        flags = tests[0](columns, some, others)
        for test in tests[1:]:
            flags = flags & test(columns, some, others)
        return flags

    return pairs


def _some(tests: list[Pairs]) -> Pairs:
    def pairs(columns: ConditionColumns, some: Rows, others: Rows) -> Flags:
        flags = tests[0](columns, some, others)
        for test in tests[1:]:
            flags = flags | test(columns, some, others)
        return flags

    return pairs
