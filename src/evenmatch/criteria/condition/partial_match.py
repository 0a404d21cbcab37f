"""What a match under construction can become: which tests more players cannot repair.

Two questions are asked of a test: can it still become true, and can it still become false, whoever
joins from among the candidates? Numbers are bounded: a list has its present values, plus a number
of values between the least and the greatest of any candidate. If nothing is known, both answers are
yes, so that nothing is decided too soon. More players can repair equal counts, averages, `not` and
fewest counts; they cannot repair a location that nobody shares or a value beyond a fixed limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from evenmatch.criteria.condition.facts import FactValues, Places, TicketFacts, Undefined
from evenmatch.criteria.condition.measures import is_by_team
from evenmatch.criteria.condition.value_bounds import (
    ANYTHING,
    EITHER,
    NEITHER,
    CountBounds,
    GrowingList,
    Outcome,
    PossibleTruth,
    Span,
    every,
    every_number,
    every_word,
    fixed,
    flattened,
    folded,
    may_agree,
    may_compare,
    slack_of,
    still_shared,
)
from evenmatch.criteria.condition.verdicts import SLACK, Statement, Verdicts
from evenmatch.model.condition import (
    ONCE,
    AttributeTest,
    DistanceTest,
    FixedValue,
    FoldOf,
    Leaf,
    Measured,
    PlaceTest,
    SetTest,
    SizeTest,
    SpreadTest,
    TeamProperty,
    ValueTest,
    depth_of,
    merge_of,
)
from evenmatch.model.ticket import Ticket

Reach = dict[str, tuple[float, float]]
"""By place, the least and the highest latency of players who share it."""


class PartialMatch:
    """A match under construction.

    Args:
        least: Fewest players of each team.
        most: Most players of each team.
        facts: Number of facts read of each ticket.
        maps: Number of maps of latencies read of each ticket.
    """

    __slots__ = (
        "all_values", "few", "known", "lacking", "least", "many", "most", "ranges", "reach",
        "rest", "sizes", "teams", "values",
    )  # fmt: skip

    def __init__(self, least: Sequence[int], most: Sequence[int], facts: int, maps: int) -> None:
        self.teams: list[list[Ticket]] = [[] for _ in least]
        self.values: list[list[list[Any]]] = [[[] for _ in least] for _ in range(facts)]
        """By fact and by team, the present values."""
        self.all_values: list[list[Any]] = [[] for _ in range(facts)]
        self.reach: list[list[Reach]] = [[] for _ in range(maps)]
        """By map, after each ticket that joined, the places that all share."""
        self.lacking = 0
        """Number of values that players lack."""
        self.known: dict[int, Outcome] = {}
        """Bounds computed already, by the number of their expression."""
        self.sizes = [0] * len(least)
        self.least, self.most = least, most
        self.rest = 0
        """Players of all candidates that are left."""
        self.ranges: Sequence[Span] = ()
        """By fact, the range of the values of the candidates that are left."""
        self.few: list[int] = []
        self.many: list[int] = []

    def join(
        self, team: int, ticket: Ticket, told: Sequence[FactValues | None], maps: Sequence[Places]
    ) -> None:
        """Add a ticket to a team.

        Args:
            team: The team.
            ticket: The ticket.
            told: Its facts.
            maps: Its latencies.
        """
        self.teams[team].append(ticket)
        self.sizes[team] += ticket.size
        for fact, values in enumerate(told):
            self.lacking += values is None
            self.values[fact][team] += values or ()
            self.all_values[fact] += values or ()
        for stack, own in zip(self.reach, maps, strict=True):
            stack.append(_shared(stack[-1] if stack else None, own))

    def leave(self, team: int, told: Sequence[FactValues | None]) -> None:
        """Remove the ticket that joined last, which was in this team."""
        self.sizes[team] -= self.teams[team].pop().size
        for fact, values in enumerate(told):
            self.lacking -= values is None
            if values:
                del self.values[fact][team][-len(values) :]
                del self.all_values[fact][-len(values) :]
        for stack in self.reach:
            stack.pop()

    def look_ahead(self, rest: int, ranges: Sequence[Span]) -> bool:
        """Set which candidates are left; return whether they can fill the teams to their least."""
        self.rest, self.ranges = rest, ranges
        self.known.clear()
        self.few = [max(0, x - n) for x, n in zip(self.least, self.sizes, strict=True)]
        if sum(self.few) > rest:
            return False
        self.many = [min(x - n, rest) for x, n in zip(self.most, self.sizes, strict=True)]
        return True

    def joining(self, teams: Sequence[int]) -> tuple[int, int]:
        """Return how many players will join some teams, at least and at most."""
        if len(teams) == 1:
            return self.few[teams[0]], self.many[teams[0]]
        few, many = sum([self.few[team] for team in teams]), sum([self.many[t] for t in teams])
        return few, min(many, self.rest)


def _shared(before: Reach | None, own: Places) -> Reach:
    """Return the places that all share when one more joins, with the least and highest latency."""
    if before is None:
        return {place: (float(ms), float(ms)) for place, ms in own.items() if ms < math.inf}
    return {
        place: (min(low, ms), max(high, ms))
        for place, (low, high) in before.items()
        if (ms := float(own.get(place, math.inf))) < math.inf
    }


Foresee = Callable[[PartialMatch], Outcome]
Judge = Callable[[PartialMatch], PossibleTruth]


class Outlook:
    """The tests of one queue, applied to matches under construction.

    Args:
        verdicts: The tests as they apply to whole matches.
    """

    def __init__(self, verdicts: Verdicts) -> None:
        self._facts = verdicts.facts
        self._verdicts = verdicts
        self._slots: dict[tuple[Measured, str], tuple[int, Foresee]] = {}
        self._judges: list[Judge] = [self._judge_of(leaf) for leaf in verdicts.leaves]

    @property
    def facts(self) -> TicketFacts:
        """The facts that are read of tickets."""
        return self._facts

    def may(self, statement: Statement, partial: PartialMatch) -> PossibleTruth:
        """Return whether a statement may still become true, and false; perhaps neither."""
        if statement.join == "leaf":
            try:
                return self._judges[statement.number](partial)
            except Undefined:
                return NEITHER
        parts = [self.may(part, partial) for part in statement.parts]
        if statement.join == "not":
            return PossibleTruth(parts[0].can_be_false, parts[0].can_be_true)
        if statement.join == "and":
            return PossibleTruth(
                all(p.can_be_true for p in parts), any(p.can_be_false for p in parts)
            )
        if statement.join == "or":
            return PossibleTruth(
                any(p.can_be_true for p in parts), all(p.can_be_false for p in parts)
            )
        # Of `xor`, one part is true and all others are false.
        others = [sum([not p.can_be_false for p in parts]) - (not p.can_be_false) for p in parts]
        can = [p.can_be_true and not count for p, count in zip(parts, others, strict=True)]
        return PossibleTruth(any(can), True)

    def can_pass(self, statements: Sequence[Statement], partial: PartialMatch) -> bool:
        """Return whether all statements may still become true."""
        return not partial.lacking and all(
            self.may(each, partial).can_be_true for each in statements
        )

    # Leaves

    def _judge_of(self, leaf: Leaf) -> Judge:
        if isinstance(leaf, AttributeTest | SizeTest):
            return lambda _: EITHER  # all who join have the attribute; `look_ahead` has the sizes
        if isinstance(leaf, ValueTest):
            return self._value_judge(leaf)
        if isinstance(leaf, DistanceTest):
            return self._distance_judge(leaf)
        if isinstance(leaf, SpreadTest):
            return self._spread_judge(leaf)
        if isinstance(leaf, SetTest):
            return self._set_judge(leaf)
        return self._place_judge(leaf)

    def _value_judge(self, leaf: ValueTest) -> Judge:
        measured = [self._foresee(each, merge_of(leaf)) for each in leaf.measured]
        if leaf.reference is None:
            depths = [depth_of(each) for each in leaf.measured]
            return lambda partial: may_agree(
                leaf.operator, depths, [each(partial) for each in measured]
            )
        if isinstance(leaf.reference, FixedValue) and isinstance(leaf.reference.value, str):
            word, is_equal = leaf.reference.value, leaf.operator == "="

            def of_words(partial: PartialMatch) -> PossibleTruth:
                may = [every_word(each(partial), word, is_equal=is_equal) for each in measured]
                return every(may)

            return of_words
        reference = self._foresee(leaf.reference, merge_of(leaf))

        def of_numbers(partial: PartialMatch) -> PossibleTruth:
            wanted = reference(partial)
            if not isinstance(wanted, Span):
                return EITHER
            return every(
                [
                    every_number(
                        each(partial), lambda span: may_compare(span, leaf.operator, wanted)
                    )
                    for each in measured
                ]
            )

        return of_numbers

    def _distance_judge(self, leaf: DistanceTest) -> Judge:
        measured = [self._foresee(each, merge_of(leaf)) for each in leaf.measured]
        reference = self._foresee(leaf.reference, merge_of(leaf))
        least = -math.inf if leaf.least is None else leaf.least
        most = math.inf if leaf.most is None else leaf.most

        def judge(partial: PartialMatch) -> PossibleTruth:
            wanted = reference(partial)
            if not isinstance(wanted, Span):
                return EITHER

            def within(span: Span) -> PossibleTruth:
                low = max(0.0, span.low - wanted.high, wanted.low - span.high)
                high = max(span.high - wanted.low, wanted.high - span.low)
                slack = slack_of(span, wanted)
                return PossibleTruth(
                    low <= most + slack and high >= least - slack,
                    high >= most - slack or low <= least + slack,
                )

            return every([every_number(each(partial), within) for each in measured])

        return judge

    def _spread_judge(self, leaf: SpreadTest) -> Judge:
        foresee = self._foresee(leaf.of, leaf.party)

        def judge(partial: PartialMatch) -> PossibleTruth:
            found = foresee(partial)
            if not isinstance(found, GrowingList) or not found.values:
                return EITHER
            if leaf.most is None:
                return PossibleTruth(len(set(found.values)) <= 1, True)
            low, high = min(found.values), max(found.values)
            return PossibleTruth(high - low <= leaf.most + slack_of(Span(low, high)), True)

        return judge

    def _place_judge(self, leaf: PlaceTest) -> Judge:
        number = self._verdicts.place_of(leaf)
        most = math.inf if leaf.ms_max is None else leaf.ms_max
        apart = leaf.distance_max if leaf.reference == "min" else None

        slack = SLACK * max(1.0, most if most < math.inf else 0.0)

        def judge(partial: PartialMatch) -> PossibleTruth:
            stack = partial.reach[number]
            if not stack:
                return EITHER
            # Players who join can only lower the least latency, and so widen distances from it.
            for low, high in stack[-1].values():
                if high <= most + slack and (apart is None or high - low <= apart + slack):
                    return EITHER
            return PossibleTruth(False, True)

        return judge

    def _set_judge(self, leaf: SetTest) -> Judge:
        parts = [(each, self._foresee(each, merge_of(leaf))) for each in leaf.measured]
        reference = None
        if leaf.reference is not None:
            reference = self._foresee(leaf.reference, merge_of(leaf))
        bounds = CountBounds(leaf)

        def judge(partial: PartialMatch) -> PossibleTruth:
            wanted = None if reference is None else reference(partial)
            return every([bounds.judge(each, see(partial), wanted) for each, see in parts])

        return judge

    # Expressions

    def _foresee(self, measured: Measured, party: str | None) -> Foresee:
        if isinstance(measured, FixedValue):
            known = fixed(measured)
            return lambda _: known
        key = measured, party or ""
        if key not in self._slots:
            made = self._made(measured, party)
            self._slots[key] = len(self._slots), made
        slot, foresee = self._slots[key]

        def once(partial: PartialMatch) -> Outcome:
            known = partial.known
            if slot not in known:
                known[slot] = foresee(partial)
            return known[slot]

        return once

    def _made(self, measured: TeamProperty | FoldOf, party: str | None) -> Foresee:
        if isinstance(measured, TeamProperty):
            return self._property(measured, party)
        if measured.name == "flatten" and is_by_team(measured.of):
            return self._property(msgspec.structs.replace(measured.of, is_grouped=False), party)
        inner = self._foresee(measured.of, party)
        if measured.name == "flatten":
            return (lambda p: flattened(inner(p))) if depth_of(measured.of) > 1 else inner
        if measured.name == "set_intersection":
            return lambda partial: still_shared(inner(partial))
        return lambda partial: folded(measured, inner(partial))

    def _property(self, wanted: TeamProperty, party: str | None) -> Foresee:
        if wanted.what == "teams":
            return lambda _: None
        fact, is_once = None, False
        is_told = wanted.what in ("attribute", "party_sizes")
        if is_told:
            fact = self._verdicts.measures.fact_of(wanted, party)
            # All players who join may be of one party.
            is_once = self._verdicts.measures.facts[fact].party.endswith(ONCE)
        is_number = is_told and wanted.kind == "number"

        def of_teams(partial: PartialMatch, teams: Sequence[int]) -> Outcome:
            if fact is None:
                values = [p.id for team in teams for t in partial.teams[team] for p in t.players]
            elif len(teams) == 1:
                values = partial.values[fact][teams[0]]
            elif len(teams) == len(partial.sizes):
                values = partial.all_values[fact]
            else:
                values = [value for team in teams for value in partial.values[fact][team]]
            span = partial.ranges[fact] if is_number and fact is not None else ANYTHING
            few, many = partial.joining(teams)
            # Players who join may lack an optional attribute.
            few = 0 if wanted.is_optional else min(few, 1) if is_once else few
            return GrowingList(values, few, many, span)

        def by_team(partial: PartialMatch) -> Outcome:
            return [of_teams(partial, (team,)) for team in wanted.teams]

        return by_team if wanted.is_grouped else lambda p: of_teams(p, wanted.teams)
