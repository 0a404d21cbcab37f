"""Hard rules: the earliest instant at which a set of tickets may play together.

A rule does not say whether a match is legal now; it says *from when* it is. Matchers turn that into
exact timers, the engine into its check of a finished match, and both get the same number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from evenmatch.criteria.base import Comparison, Form, Seats
from evenmatch.criteria.condition.ages import Conditions, first_after
from evenmatch.criteria.expansion import inverse
from evenmatch.criteria.registry import comparison_of, form_of
from evenmatch.criteria.scales import Floats
from evenmatch.criteria.team_packing import Orders
from evenmatch.criteria.values import number, numbers, places
from evenmatch.model.queue import Queue, Rule
from evenmatch.model.ticket import NewTicket, Ticket, attribute_of

PERCENTILE_DIGITS = 9
"""Decimals to which a difference of percentiles is rounded."""


class RuleLimit(msgspec.Struct, frozen=True):
    """A rule with the inverse of its limit: the wait that a gap needs."""

    rule: Rule
    when: Callable[[float], float]
    queue: str
    comparison: Comparison

    def value(self, ticket: Ticket) -> float:
        """Return the value of a solo ticket that the rule compares."""
        if self.rule.unit == "percentile":
            return self.values(ticket)[0]
        return number(ticket, self.rule.attribute)

    def values(self, ticket: Ticket) -> list[float]:
        """Return the value of each player that the rule compares."""
        rule = self.rule
        if rule.unit == "percentile":
            return places(ticket, self.queue, rule.attribute, rule.sample)
        return numbers(ticket, rule.attribute)


class Rules:
    """The rules of one queue, including those of its policy."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.sides = queue.format.strict_sides
        self._rules = [
            RuleLimit(rule, _when(rule), queue.name, comparison_of(rule, queue))
            for rule in queue.rules
            if rule.condition is None
        ]
        stated = [rule.condition for rule in queue.rules if rule.condition is not None]
        self.conditions = Conditions(stated) if stated else None
        """Rules that may cease to hold as a match ages; all others only widen."""
        self.depend_on_teams = self.conditions is not None or any(
            each.comparison.is_by_team for each in self._rules
        )
        self._is_duel = queue.format.is_duel
        # Between two players, every kind of gap is the plain difference.
        self._duel = [(c, c.rule.accept == "either", _is_plain(c.rule)) for c in self._rules]
        self.are_none = not (queue.rules or queue.format.sides or queue.format.roles)
        self._hopeless = [
            each
            for each in self._rules
            if type(each.comparison).hopeless is not Comparison.hopeless
        ]
        self.may_be_hopeless = bool(self._hopeless) or self.conditions is not None
        self.limits = tuple(each for each in self._rules if _is_numeric(each.rule))

    def hopeless(self, ticket: Ticket | NewTicket) -> str | None:
        """Return why this party is in no legal match, whoever joins it; None if it may be."""
        for each in self._hopeless:
            if wrong := each.comparison.hopeless(ticket, each.when):
                return wrong
        return None if self.conditions is None else self.conditions.problem(ticket)

    @property
    def widening_limits(self) -> tuple[RuleLimit, ...]:
        """Return the rules that only widen, each with its inverse."""
        return tuple(self._rules)

    def pair_ready_at(self, first: Ticket, second: Ticket) -> float:
        """Return the instant from which two tickets may be in one match; inf if never.

        For a duel this is exact; for larger formats it is a necessary condition.
        """
        if self._is_duel:
            if self.sides and _same_side(first, second):
                return math.inf
            return self.duel_ready_at(first, second)
        pair = (first, second)
        at = max(first.enqueued_at, second.enqueued_at)
        for compiled in self._rules:
            gap = compiled.comparison.pair_gap(first, second)
            ready_at = _gap_ready_at(compiled, gap, pair) if gap > 0.0 else at
            # With `either`, another player of the match may accept, but nobody accepts a gap that
            # no wait allows; shares of one's own value differ by player.
            if compiled.rule.accept == "both" or (
                ready_at == math.inf and compiled.rule.unit != "relative"
            ):
                at = max(at, ready_at)
        return at

    def ready_at(self, teams: Seats, since: float = -math.inf) -> float:
        """Return the instant from which this match is allowed; inf if never.

        A rule holds for a ticket from `enqueued_at + when(gap)` on; it allows the match when it
        holds for all tickets, or for one if its `accept` is `either`. Conditions may cease to hold.

        Args:
            teams: Tickets by team.
            since: Conditions that ceased before this instant are ignored, so that the match is
                allowed at `since` if and only if the answer is not later.
        """
        at = self.widened_at(teams)
        if self.conditions is not None and at < math.inf:
            intervals = self.conditions.intervals(teams)
            at = max(at, first_after(intervals, max(at, since)))
        return at

    def widened_at(self, teams: Seats) -> float:
        """Return `ready_at` by all rules that only widen, without conditions."""
        at = max([ticket.enqueued_at for team in teams for ticket in team])
        for compiled in self._rules:
            at = max(at, _ready_at(compiled, teams))
            if at == math.inf:
                break
        return at

    def objection(self, teams: Seats, now: float) -> str:
        """Return in words which rule a match breaks now: the one that holds it up longest."""
        if self.conditions is not None:
            broken = [each.name for each in self.conditions.objections(teams, now)]
            if broken:
                return f"condition {', '.join(broken[:10])} does not allow it at {now:.6g} s"
        at, rule = max(
            ((_ready_at(compiled, teams), compiled.rule) for compiled in self._rules),
            key=lambda found: found[0],
        )
        name = f"rule {rule.kind} of {rule.attribute}" if rule.attribute else f"rule {rule.kind}"
        if at == math.inf:
            return f"{name} never allows it"
        return f"{name} allows it only from {at:.6g} s on, not at {now:.6g} s"

    def ready_table(
        self, tickets: Sequence[Ticket], orders: Orders, layout: Sequence[int]
    ) -> Floats:
        """Return `ready_at` of many divisions of the same tickets.

        Args:
            tickets: In the order in which `orders` numbers their players.
            orders: Shape (divisions, k): players in the order of the teams.
            layout: Players per team.

        Returns:
            Shape (divisions,); never later than `ready_at`, and earlier only by rounding, or since
            conditions are left out: testing one costs as much per division as a whole match.
        """
        newest = max(ticket.enqueued_at for ticket in tickets)
        ready_at = np.full(len(orders), newest)
        for compiled in self._rules:
            if not compiled.comparison.is_by_team:
                np.maximum(ready_at, _ready_at(compiled, (tickets,)), out=ready_at)
                continue
            gaps = compiled.comparison.gap_table(tickets, orders, layout)
            for row, gap in enumerate(gaps.tolist()):
                at = _gap_ready_at(compiled, gap, tickets)
                if at > ready_at[row]:
                    ready_at[row] = at
        return ready_at

    def duel_ready_at(self, one: Ticket, two: Ticket) -> float:
        """Return `ready_at` of one solo ticket against another, by a shorter way."""
        at = both = max(one.enqueued_at, two.enqueued_at)
        for limit, is_either, is_plain in self._duel:
            if is_plain:
                attribute = limit.rule.attribute
                gap = number(one, attribute) - number(two, attribute)
                first = min(one.enqueued_at, two.enqueued_at) if is_either else both
                ready_at = first + limit.when(abs(gap))
            else:
                gap = limit.comparison.pair_gap(one, two)
                ready_at = _gap_ready_at(limit, gap, (one, two))
            if ready_at > at:
                at = ready_at
        return at

    def duel_widens_at(self, one: Ticket, two: Ticket) -> float:
        """Return the instant of the last widening that a duel waits for.

        It is -inf if all rules allow the pair without any wait, and never later than
        `duel_ready_at`. It distinguishes a pair that may play because the younger player has come
        from one that a limit reaches at that very instant: inputs precede what falls due.
        """
        at = -math.inf
        for compiled in self._rules:
            at = max(at, _widens_at(compiled, one, two))
        return at


def _when(rule: Rule) -> Callable[[float], float]:
    """Return the function from a gap to the wait that it needs under a rule."""
    when = inverse(rule.limit, rule.expand)
    if rule.unit != "percentile":
        return when
    # 0.9 - 0.85 is a little more than 0.05 in floats, and bounds are inclusive.
    return lambda gap: when(round(gap, PERCENTILE_DIGITS))


def _is_plain(rule: Rule) -> bool:
    """Return whether the plain difference of two players determines how long they must wait."""
    return _is_numeric(rule) and rule.unit == "difference"


def _is_numeric(rule: Rule) -> bool:
    """Return whether a rule compares numbers."""
    return form_of(rule) is Form.NUMBERS


def _same_side(first: Ticket, second: Ticket) -> bool:
    side = side_of(first)
    return side != "" and side == side_of(second)


def side_of(ticket: Ticket | NewTicket) -> str:
    """Return the side that a ticket insists on; "" if it is flexible.

    A player's side applies to the whole party; `Objective.missing` refuses two different ones.
    """
    for player in ticket.players:
        side = attribute_of(ticket, player, "side")
        if side and isinstance(side, str):
            return side
    return ""


def _ready_at(compiled: RuleLimit, teams: Seats) -> float:
    tickets = [ticket for team in teams for ticket in team]
    return _gap_ready_at(compiled, compiled.comparison.gap(teams), tickets)


def _gap_ready_at(compiled: RuleLimit, gap: float, tickets: Sequence[Ticket]) -> float:
    rule = compiled.rule
    if rule.unit != "relative":
        instants = [ticket.enqueued_at for ticket in tickets]
        first = max(instants) if rule.accept == "both" else min(instants)
        return first + compiled.when(gap)
    instants = [
        ticket.enqueued_at + compiled.when(relative(gap, numbers(ticket, rule.attribute)))
        for ticket in tickets
    ]
    return max(instants) if rule.accept == "both" else min(instants)


def _widens_at(compiled: RuleLimit, one: Ticket, two: Ticket) -> float:
    """Return the last instant at which a rule widens for two tickets that wait for it."""
    rule = compiled.rule
    if compiled.comparison.form is not Form.NUMBERS:
        first = second = 0.0
        gap = compiled.comparison.pair_gap(one, two)
    else:
        first, second = compiled.value(one), compiled.value(two)
        gap = abs(first - second)
    instants = []
    for ticket, own in ((one, first), (two, second)):
        wait = compiled.when(relative(gap, (own,)) if rule.unit == "relative" else gap)
        instants.append(ticket.enqueued_at + wait if wait > 0.0 else -math.inf)
    return max(instants) if rule.accept == "both" else min(instants)


def relative(gap: float, own: Sequence[float]) -> float:
    """Return a gap as a fraction of a party's own value (its mean)."""
    value = abs(math.fsum(own)) / len(own)
    if value == 0.0:
        return 0.0 if gap == 0.0 else math.inf
    return gap / value
