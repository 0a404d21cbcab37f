"""What the tests of a queue imply in simpler terms: for any two tickets, for one, for teams.

All players within a distance of their average are within twice that distance of each other, whoever
else plays; two players without a common near location never meet. Such **implications** are never
stricter than the test from which they follow, so a ticket that fails one fails the test. Searches
sort candidates by them, solvers search among the tickets that they leave, and bounds rest on them.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from evenmatch.criteria.condition.facts import FactValues
from evenmatch.criteria.condition.verdicts import SLACK, Statement, Verdicts
from evenmatch.model.condition import (
    DistanceTest,
    FixedValue,
    FoldOf,
    Leaf,
    Measured,
    PlaceTest,
    SetTest,
    SpreadTest,
    TeamProperty,
    ValueTest,
)

CENTERS = ("avg", "median", "min", "max")
"""Functions whose result lies between the least and the greatest value of their argument."""
BOUNDING = {"<": "max", "<=": "max", ">": "min", ">=": "min"}
"""By operator, the function of a list that is bounded only if all of the list is."""
MS_MAX = 1e300
"""Stands for no limit on latencies, if they are reported at all."""


class Within(NamedTuple):
    """The numbers of all players differ by at most a limit."""

    fact: int
    most: float


class OneWord(NamedTuple):
    """All players have the same string."""

    fact: int


class Between(NamedTuple):
    """The numbers of players in some teams lie between two ends."""

    fact: int
    teams: frozenset[int]
    low: float
    high: float

    def suits(self, values: FactValues | None) -> bool:
        """Return whether a ticket may be in these teams; one without the attribute may not."""
        return values is not None and all(self.low <= each <= self.high for each in values)


class Word(NamedTuple):
    """The players in some teams have this string."""

    fact: int
    teams: frozenset[int]
    word: str

    def suits(self, values: FactValues | None) -> bool:
        """Return whether a ticket may be in these teams; one without the attribute may not."""
        return values is not None and all(each == self.word for each in values)


class Near(NamedTuple):
    """All tickets have a location within a limit of milliseconds."""

    number: int
    limit: float


class Shares(NamedTuple):
    """All collections have a string in common."""

    fact: int


class NobodyListed(NamedTuple):
    """No player of the match is on a list of another."""

    fact: int


class TeamGap(NamedTuple):
    """The averages, or the sums, of teams differ by at most a limit."""

    fact: int
    fold: Literal["avg", "sum"]
    most: float


Implication = Within | OneWord | Between | Word | Near | Shares | NobodyListed | TeamGap


class Implications:
    """The implications of the tests of a queue.

    Args:
        verdicts: The tests.
        team_count: Teams of a match.
    """

    def __init__(self, verdicts: Verdicts, team_count: int) -> None:
        self._verdicts = verdicts
        self._fact_of = verdicts.measures.fact_of
        self._team_count = team_count
        self._all = frozenset(range(team_count))

    def by_statement(self, statement: Statement) -> list[Implication]:
        """Return what holds whenever a statement does."""
        if statement.join == "and":
            return [each for part in statement.parts for each in self.by_statement(part)]
        if statement.join != "leaf":
            return []
        return self.by_leaf(self._verdicts.leaves[statement.number])

    def by_leaf(self, leaf: Leaf) -> list[Implication]:
        """Return what holds whenever a test does."""
        if isinstance(leaf, PlaceTest):
            limit = math.inf if leaf.ms_max is None else leaf.ms_max
            return [Near(self._verdicts.place_of(leaf), min(limit * (1 + SLACK), MS_MAX))]
        if isinstance(leaf, SpreadTest):
            return self._alike(leaf.of, leaf.party, leaf.most)
        if isinstance(leaf, ValueTest):
            if leaf.reference is not None:
                return [e for each in leaf.measured for e in self._by_value(leaf, each)]
            if leaf.operator != "=":
                return []
            own = [_of_all(each, self._team_count) for each in leaf.measured]
            return [t for e in own if e is not None for t in self._alike(e, leaf.party, 0.0)]
        if isinstance(leaf, DistanceTest) and leaf.most is not None:
            return [test for each in leaf.measured for test in self._by_distance(leaf, each)]
        if isinstance(leaf, SetTest):
            return self._by_set(leaf)
        return []

    def _by_value(self, leaf: ValueTest, measured: Measured) -> list[Implication]:
        """Return what a comparison with a fixed number implies for each player."""
        own = _inside(measured, BOUNDING.get(leaf.operator, ""))
        if own is None or not isinstance(leaf.reference, FixedValue):
            return []
        value = leaf.reference.value
        if own.kind == "string" and isinstance(value, str) and leaf.operator == "=":
            return [Word(self._fact_of(own, leaf.party), frozenset(own.teams), value)]
        if own.kind != "number":
            return []
        if not isinstance(value, float | int) or leaf.operator == "!=":
            return []
        slack = SLACK * max(1.0, abs(value))
        low = -math.inf if leaf.operator in ("<", "<=") else value - slack
        high = math.inf if leaf.operator in (">", ">=") else value + slack
        return [Between(self._fact_of(own, leaf.party), frozenset(own.teams), low, high)]

    def _by_distance(self, leaf: DistanceTest, measured: Measured) -> list[Implication]:
        reference, most = leaf.reference, leaf.most or 0.0
        found = self._by_teams(leaf, measured)
        is_end = isinstance(measured, FoldOf) and measured.name in ("min", "max")
        if is_end and isinstance(measured, FoldOf) and isinstance(reference, FoldOf):
            return found + self._of_ends(leaf, measured, reference)
        if isinstance(reference, FixedValue) and isinstance(reference.value, float | int):
            own = _inside(measured, "")
            if own is None or own.kind != "number":
                return found
            middle, slack = reference.value, SLACK * max(1.0, abs(reference.value), most)
            ends = middle - most - slack, middle + most + slack
            return [*found, Between(self._fact_of(own, leaf.party), frozenset(own.teams), *ends)]
        own = _of_all(measured, self._team_count, is_flat=False)
        if own is None or not isinstance(reference, FoldOf) or reference.name not in CENTERS:
            return found
        inner = _of_all(reference.of, self._team_count)
        if inner is None or self._fact_of(inner, leaf.party) != self._fact_of(own, leaf.party):
            return found
        times = 1.0 if reference.name in ("min", "max") else 2.0
        return found + self._alike(own, leaf.party, most * times)

    def _by_teams(self, leaf: DistanceTest, measured: Measured) -> list[Implication]:
        """Return by how much teams' averages or sums may differ if all are near one number."""
        own = _folded_teams(measured)
        if own is None or leaf.is_once:
            return []  # an average that counts parties once is not that of players
        fold, of = own
        most = leaf.most or 0.0
        if not of.is_grouped:
            # One team against the other.
            other = _folded_teams(leaf.reference)
            is_pair = other is not None and other[0] == fold and self._team_count == 2
            if not is_pair or other is None or other[1].attribute != of.attribute:
                return []
            if len(of.teams) != 1 or len(other[1].teams) != 1 or of.teams == other[1].teams:
                return []
            times = 1.0
        elif frozenset(of.teams) == self._all:
            times = 2.0
        else:
            return []
        within = most * times + SLACK * max(1.0, most) * 1e3
        return [TeamGap(self._fact_of(of, leaf.party), fold, within)]

    def _of_ends(self, leaf: DistanceTest, one: FoldOf, other: FoldOf) -> list[Implication]:
        """Return that the greatest and the least of all players are not too far apart."""
        first, second = [_of_all(each.of, self._team_count) for each in (one, other)]
        if first is None or first != second or {one.name, other.name} != {"min", "max"}:
            return []
        return self._alike(first, leaf.party, leaf.most)

    def _by_set(self, leaf: SetTest) -> list[Implication]:
        found: list[Implication] = []
        if leaf.counts == "shared" and (leaf.least or 0.0) >= 1.0:
            for each in leaf.measured:
                own = _sets_of_all(each, self._team_count)
                if own is not None:
                    found.append(Shares(self._fact_of(own, leaf.party)))
        if leaf.counts == "in_reference" and leaf.most is not None and leaf.most < 1.0:
            ids = leaf.reference
            while isinstance(ids, FoldOf) and ids.name == "flatten":
                ids = ids.of
            is_all = isinstance(ids, TeamProperty) and ids.what == "player_ids"
            if is_all and isinstance(ids, TeamProperty) and frozenset(ids.teams) == self._all:
                for each in leaf.measured:
                    own = _sets_of_all(each, self._team_count)
                    if own is not None and leaf.party != "intersection":
                        found.append(NobodyListed(self._fact_of(own, leaf.party)))
        return found

    def _alike(self, of: TeamProperty, party: str | None, most: float | None) -> list[Implication]:
        if of.is_optional:
            return []  # a player without the attribute may play with anybody
        fact = self._fact_of(of, party)
        if of.kind == "string":
            return [OneWord(fact)]
        if of.kind != "number" or most is None:
            return []
        return [Within(fact, most + SLACK * max(1.0, most) * 1e3)]


def likened(leaf: Leaf) -> list[TeamProperty]:
    """Return the numbers and words in which players of a match should be alike."""
    if isinstance(leaf, SpreadTest):
        found: list[TeamProperty | None] = [leaf.of]
    elif isinstance(leaf, ValueTest) and leaf.reference is None and leaf.operator == "=":
        found = [_inmost(each) for each in leaf.measured]
    elif isinstance(leaf, DistanceTest) and leaf.most is not None:
        found = [_inmost(each) for each in (*leaf.measured, leaf.reference)]
    else:
        return []
    wanted = ("number", "string")
    told = [e for e in found if e is not None and e.what == "attribute" and e.kind in wanted]
    return [each for each in told if not each.is_optional]


def _of_all(measured: Measured, team_count: int, *, is_flat: bool = True) -> TeamProperty | None:
    """Return the property of all players that an expression lists, in one list or by team."""
    own = measured.of if isinstance(measured, FoldOf) and measured.name == "flatten" else measured
    if not isinstance(own, TeamProperty) or own.what != "attribute":
        return None
    if len(own.teams) < team_count or own.kind == "string_list":
        return None
    if is_flat and own.is_grouped and own is measured:
        return None  # a list by team: each team by itself
    return own


def _sets_of_all(measured: Measured, team_count: int) -> TeamProperty | None:
    """Return the collections of all players that an expression lists, one per player."""
    own = measured.of if isinstance(measured, FoldOf) and measured.name == "flatten" else measured
    if not isinstance(own, TeamProperty) or own.what != "attribute" or own.kind != "string_list":
        return None
    if own.is_optional:
        return None
    if len(own.teams) < team_count or (own.is_grouped and own is measured):
        return None
    return own


def _inside(measured: Measured, fold: str) -> TeamProperty | None:
    """Return the attribute of which an expression measures each value or bounds all of them.

    Args:
        measured: The expression.
        fold: `min` or `max`, which bounds all values if it is bounded itself; or "".
    """
    own = measured
    while isinstance(own, FoldOf) and own.name in ("flatten", fold):
        own = own.of
    if not isinstance(own, TeamProperty) or own.what != "attribute" or own.is_optional:
        return None
    return own


def _folded_teams(measured: Measured) -> tuple[Literal["avg", "sum"], TeamProperty] | None:
    if not isinstance(measured, FoldOf) or measured.name not in ("avg", "sum"):
        return None
    own = measured.of
    if not isinstance(own, TeamProperty) or own.what != "attribute" or own.kind != "number":
        return None
    if own.is_optional:
        return None
    return ("avg" if measured.name == "avg" else "sum"), own


def _inmost(measured: Measured) -> TeamProperty | None:
    while isinstance(measured, FoldOf):
        if measured.name == "count":
            return None
        measured = measured.of
    return measured if isinstance(measured, TeamProperty) else None
