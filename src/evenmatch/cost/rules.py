"""Hard rules: from which instant on a set of tickets may play together.

A rule never says yes or no for "now"; it says *from when*. Matchers turn that into exact timers,
the engine into its check of a finished match, and both get the same number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from evenmatch.cost.criteria import gap_of, gap_table
from evenmatch.cost.expansion import inverse
from evenmatch.cost.percentile import key_of, percentile
from evenmatch.cost.rematch import duel_gap, rule_gap
from evenmatch.cost.scale import Floats
from evenmatch.cost.teams import Orders
from evenmatch.model.queue import Queue, Rule, Sample
from evenmatch.model.ticket import NewTicket, Ticket, attribute_of

SUM_SLACK = 1e-12
"""How far two ways to add up the values of a match may differ, relative to their sum."""

PERCENTILE_DIGITS = 9
"""Decimals of a difference of percentiles."""

Seats = Sequence[Sequence[Ticket]]
"""A division: tickets by team."""


def numbers(ticket: Ticket, attribute: str) -> list[float]:
    """Return the attribute's value for each player of the ticket.

    Raises:
        TypeError: A value is missing or not a number; the engine admits no such ticket.
    """
    found = [attribute_of(ticket, player, attribute) for player in ticket.players]
    if not all(isinstance(value, float | int) for value in found):
        raise TypeError(f"ticket {ticket.id}: {attribute} must be a number, got {found}")
    return [float(value) for value in found]  # type: ignore[arg-type]


def number(ticket: Ticket, attribute: str) -> float:
    """Return the attribute's value for the one player of a solo ticket."""
    value = attribute_of(ticket, ticket.players[0], attribute)
    if type(value) is not float:
        return numbers(ticket, attribute)[0]
    return value


def places(ticket: Ticket, queue: str, attribute: str, sample: Sample) -> list[float]:
    """Return the percentile of each player of the ticket, in [0, 1].

    Raises:
        TypeError: The ticket was not placed among the last values; the engine does that.
    """
    if sample.quantiles:
        return [percentile(sample.quantiles, value) for value in numbers(ticket, attribute)]
    found = ticket.percentiles.get(key_of(queue, attribute))
    if found is None:
        raise TypeError(f"ticket {ticket.id}: {attribute} has no place among the last values")
    return list(found)


class Limit(msgspec.Struct, frozen=True):
    """A rule with its inverse at hand: the wait that a gap needs."""

    rule: Rule
    when: Callable[[float], float]
    queue: str

    def value(self, ticket: Ticket) -> float:
        """Return what the rule compares of a solo ticket."""
        if self.rule.unit == "percentile":
            return self.values(ticket)[0]
        return number(ticket, self.rule.attribute)

    def values(self, ticket: Ticket) -> list[float]:
        """Return what the rule compares of each player."""
        rule = self.rule
        if rule.unit == "percentile":
            return places(ticket, self.queue, rule.attribute, rule.sample)
        return numbers(ticket, rule.attribute)


class Rules:
    """The rules of one queue, those of its policy included."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.sides = queue.format.sides
        self._rules = [Limit(rule, _when(rule), queue.name) for rule in queue.rules]
        self.depend_on_teams = any(rule.kind == "imbalance" for rule in queue.rules)
        self._is_duel = queue.format.is_duel
        # Between two players every kind of gap is the plain difference.
        self._duel = [(c, c.rule.accept == "either", _is_plain(c.rule)) for c in self._rules]
        self.are_none = not queue.rules and not self.sides
        self.limits = tuple(each for each in self._rules if _is_numeric(each.rule))

    def pair_ready_at(self, first: Ticket, second: Ticket) -> float:
        """Return the instant from which two tickets may be in one match; inf if never.

        For a duel this is the whole truth; for larger formats it is a necessary condition.
        """
        if self._is_duel:
            if self.sides and _same_side(first, second):
                return math.inf
            return self.duel_ready_at(first, second)
        pair = [[first, second]]
        at = max(first.enqueued_at, second.enqueued_at)
        for compiled in self._rules:
            if compiled.rule.kind in ("spread", "same", "rematch"):
                ready_at = _ready_at(compiled, pair)
                # Where one accepts for all, that may be somebody else of the match, but nobody
                # accepts what no wait allows; shares of one's own value differ by player.
                if compiled.rule.accept == "both" or (
                    ready_at == math.inf and compiled.rule.unit != "relative"
                ):
                    at = max(at, ready_at)
        return at

    def ready_at(self, teams: Seats) -> float:
        """Return the instant from which this match is allowed; inf if never.

        A rule holds for a ticket from `enqueued_at + when(gap)` on; it allows the match when it
        holds for all tickets, or for one if its `accept` is `either`.
        """
        at = max([ticket.enqueued_at for team in teams for ticket in team])
        for compiled in self._rules:
            at = max(at, _ready_at(compiled, teams))
            if at == math.inf:
                break
        return at

    def objection(self, teams: Seats, now: float) -> str:
        """Return in words which rule a match breaks now: the one that it waits for longest."""
        at, rule = max(
            ((_ready_at(compiled, teams), compiled.rule) for compiled in self._rules),
            key=lambda found: found[0],
        )
        name = f"rule {rule.kind} of {rule.attribute}"
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
            Shape (divisions,); never later than `ready_at`, and earlier by rounding only.
        """
        newest = max(ticket.enqueued_at for ticket in tickets)
        ready_at = np.full(len(orders), newest)
        for compiled in self._rules:
            rule = compiled.rule
            if rule.kind != "imbalance":
                np.maximum(ready_at, _ready_at(compiled, (tickets,)), out=ready_at)
                continue
            own = [compiled.values(ticket) for ticket in tickets]
            values = np.array([value for party in own for value in party])
            gaps = gap_table("imbalance", values[orders], layout, rule.measure)
            # Sums of the table and of the reference may round differently: be lenient here, the
            # caller asks the reference about the rows that it likes.
            gaps -= SUM_SLACK * max(1.0, float(np.abs(values).sum()))
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
            elif limit.rule.kind == "rematch":
                gap = duel_gap(one, two, limit.rule.attribute, limit.rule.matches)
                first = min(one.enqueued_at, two.enqueued_at) if is_either else both
                ready_at = first + limit.when(gap)
            else:
                ready_at = _ready_at(limit, ((one,), (two,)))
            if ready_at > at:
                at = ready_at
        return at

    def duel_widens_at(self, one: Ticket, two: Ticket) -> float:
        """Return the instant of the last widening that a duel waits for.

        It is -inf where all rules allow the pair without any wait, and never later than
        `duel_ready_at`. So it tells a pair that may play because the younger has come from one
        that a limit reaches at that very instant: inputs come before what falls due.
        """
        at = -math.inf
        for compiled in self._rules:
            at = max(at, _widens_at(compiled, one, two))
        return at


def _when(rule: Rule) -> Callable[[float], float]:
    """Return the wait that a gap needs under a rule."""
    when = inverse(rule.limit, rule.expand)
    if rule.unit != "percentile":
        return when
    # 0.9 - 0.85 is a little more than 0.05, and the bounds shall be inclusive.
    return lambda gap: when(round(gap, PERCENTILE_DIGITS))


def _is_plain(rule: Rule) -> bool:
    """Return whether the plain difference of two says how long they must have waited."""
    return _is_numeric(rule) and rule.unit == "difference"


def _is_numeric(rule: Rule) -> bool:
    """Return whether a rule compares numbers."""
    return rule.kind not in ("same", "rematch")


def _same_side(first: Ticket, second: Ticket) -> bool:
    side = side_of(first)
    return side != "" and side == side_of(second)


def side_of(ticket: Ticket | NewTicket) -> str:
    """Return the side that a ticket insists on; "" if it is flexible.

    One player's side is that of the whole party; `Objective.missing` refuses two different ones.
    """
    for player in ticket.players:
        side = attribute_of(ticket, player, "side")
        if side and isinstance(side, str):
            return side
    return ""


def _ready_at(compiled: Limit, teams: Seats) -> float:
    rule = compiled.rule
    tickets = [ticket for team in teams for ticket in team]
    if rule.kind == "same":
        values = [attribute_of(t, p, rule.attribute) for t in tickets for p in t.players]
        same = all(value == values[0] for value in values)
        return -math.inf if same else math.inf
    if rule.kind == "rematch":
        return _gap_ready_at(compiled, rule_gap(tickets, rule.attribute, rule.matches), tickets)
    by_team = [[v for t in team for v in compiled.values(t)] for team in teams if team]
    return _gap_ready_at(compiled, gap_of(rule.kind, by_team, rule.measure), tickets)


def _gap_ready_at(compiled: Limit, gap: float, tickets: Sequence[Ticket]) -> float:
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


def _widens_at(compiled: Limit, one: Ticket, two: Ticket) -> float:
    """Return when the last widening comes that a rule makes two tickets wait for."""
    rule = compiled.rule
    if rule.kind == "same":
        return _ready_at(compiled, ((one,), (two,)))
    if rule.kind == "rematch":
        first = second = 0.0
        gap = duel_gap(one, two, rule.attribute, rule.matches)
    else:
        first, second = compiled.value(one), compiled.value(two)
        gap = abs(first - second)
    instants = []
    for ticket, own in ((one, first), (two, second)):
        wait = compiled.when(relative(gap, (own,)) if rule.unit == "relative" else gap)
        instants.append(ticket.enqueued_at + wait if wait > 0.0 else -math.inf)
    return max(instants) if rule.accept == "both" else min(instants)


def relative(gap: float, own: Sequence[float]) -> float:
    """Return a gap as a fraction of one's own value (a party's mean)."""
    value = abs(math.fsum(own)) / len(own)
    if value == 0.0:
        return 0.0 if gap == 0.0 else math.inf
    return gap / value
