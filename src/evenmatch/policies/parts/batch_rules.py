"""Hard rules as they stand at one instant: limits of gaps, and pairs that may not meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from evenmatch.cost.expansion import TICKS, limit_at
from evenmatch.cost.pair_limit import met_before
from evenmatch.cost.relation import pairs_within
from evenmatch.cost.rematch import freshness, known_of, met
from evenmatch.cost.rules import Limit, Rules
from evenmatch.cost.words import elements
from evenmatch.model.queue import NUMERIC, Queue
from evenmatch.model.ticket import Player, Ticket, attribute_of
from evenmatch.solvers.batch.batch import (
    APART,
    FREE_SEATS,
    MEAN_GAP,
    NOT_ENEMIES,
    NOT_MATES,
    PAIR_GAP,
    REGION_GAP,
    SPREAD,
    SUM_GAP,
    Floats,
    Ints,
)

ROWS_FIRST = 64
LISTED = ("avoid", "rematch", "pair_limit")
"""Kinds of rules for which players name others."""
FLAGS = {"all": APART, "enemies": NOT_ENEMIES, "teammates": NOT_MATES}

Seat = tuple[Ticket, Player]


class RuleFacts:
    """The rules of a queue, those of its policy included.

    Args:
        queue: With all its rules.
    """

    def __init__(self, queue: Queue) -> None:
        self._form = queue.format
        known = Rules(queue).known
        self._numeric = [each for each in known if each.rule.kind in NUMERIC]
        self._words = [
            each
            for each in known
            if each.rule.kind in ("same", "overlap") and each.rule.expand is not None
        ]
        self._seats = [each for each in known if each.rule.kind == "fullness"]
        self._lists = [each for each in known if each.rule.kind in LISTED]
        self._homes = [each for each in known if each.rule.kind == "household_limit"]
        pings = [each for each in known if each.rule.kind == "latency"]
        self._pings = [each for each in pings if each.rule.pairs != "region"]
        self._regions = [each for each in pings if each.rule.pairs == "region"]
        self._columns: Floats = np.zeros((len(self._numeric), ROWS_FIRST))

    def grow(self, size: int) -> None:
        """Make room for so many rows."""
        more = np.zeros((len(self._numeric), size - self._columns.shape[1]))
        self._columns = np.hstack([self._columns, more])

    def write(self, ticket: Ticket, rows: Sequence[int]) -> None:
        """Write the numbers that rules compare of a party into its rows."""
        for column, each in enumerate(self._numeric):
            self._columns[column, rows] = each.values(ticket)

    def values(self, rows: Ints) -> Floats:
        """Return the columns of some rows."""
        return self._columns[:, rows]

    def table(self, first: int) -> Floats:
        """Return `Batch.rules`; the first rule that compares numbers does so in column `first`."""
        found = [
            (_kind(each), float(column), float(each.rule.accept == "either"))
            for column, each in enumerate(self._numeric, first)
        ]
        found += [(FREE_SEATS, 0.0, float(each.rule.accept == "either")) for each in self._seats]
        found += [(REGION_GAP, 0.0, float(each.rule.accept == "either")) for each in self._regions]
        return np.array(found, dtype=np.float64).reshape(len(found), 3)

    def reach(self, tickets: Sequence[Ticket], now: float) -> Floats:
        """Return the largest gap of each rule that each player accepts now."""
        sizes = [len(ticket.players) for ticket in tickets]
        limits = [*self._numeric, *self._seats, *self._regions]
        found = np.zeros((len(limits), sum(sizes)))
        for row, each in enumerate(limits):
            own = [_accepted(each, ticket, now) for ticket in tickets]
            found[row] = np.repeat(own, sizes)
        return found

    def ping_max(self, tickets: Sequence[Ticket], now: float) -> Floats:
        """Return the largest ping that each player accepts now."""
        sizes = [len(ticket.players) for ticket in tickets]
        found = np.full(sum(sizes), np.inf)
        for each in self._pings:
            own = [_accepted(each, ticket, now) for ticket in tickets]
            found = np.minimum(found, np.repeat(own, sizes))
        return found

    def barred(self, tickets: Sequence[Ticket], now: float) -> Ints:
        """Return `Facts.avoid`: the pairs that some rule forbids now.

        Complexity:
            O(n^2) bits for words that a rule still compares, else O(what players list).
        """
        if not self._words and not self._lists and not self._homes:
            return np.zeros((0, 3), dtype=np.int64)
        people = [(t, p) for t in tickets for p in t.players]
        rows = [row for each in self._words for row in _apart(each, people, now)]
        place = {player.id: at for at, (_, player) in enumerate(people)}
        for each in self._lists:
            rows += self._listed(each, people, place, now)
        for each in self._homes:
            rows += self._at_home(each, people)
        return np.array(rows, dtype=np.int64).reshape(len(rows), 3)

    def _listed(
        self, each: Limit, people: Sequence[Seat], place: dict[str, int], now: float
    ) -> list[tuple[int, int, int]]:
        rule = each.rule
        found: dict[tuple[int, int], None] = {}
        for at, (ticket, player) in enumerate(people):
            value = attribute_of(ticket, player, rule.attribute)
            for name in elements(value):
                other = place.get(name)
                if other is None or people[other][0] is ticket:
                    continue
                gap = self._gap(each, people[at], people[other])
                if gap > 0.0 and not _accept(each, ticket, people[other][0], gap, now):
                    found[min(at, other), max(at, other)] = None
        relation = "all" if rule.kind == "rematch" else pairs_within(rule, self._form)
        return [(one, two, FLAGS[relation]) for one, two in found]

    def _gap(self, each: Limit, one: Seat, two: Seat) -> float:
        """Return the gap between two of whom one lists the other."""
        if each.rule.kind == "avoid":
            return 1.0
        if each.rule.kind == "rematch":
            return _fresh(each, one, two)
        name = each.rule.attribute
        return 1.0 + max(met_before(*one, two[1].id, name), met_before(*two, one[1].id, name))

    def _at_home(self, each: Limit, people: Sequence[Seat]) -> list[tuple[int, int, int]]:
        """Return the pairs of parties that share a household, of which a match takes one player."""
        found: dict[tuple[int, int], None] = {}
        homes: dict[str, list[int]] = {}
        for at, (ticket, player) in enumerate(people):
            for key in elements(attribute_of(ticket, player, each.rule.attribute)):
                same = homes.setdefault(key, [])
                others = [other for other in same if people[other][0] is not ticket]
                found.update(dict.fromkeys((other, at) for other in others))
                same.append(at)
        relation = pairs_within(each.rule, self._form)
        return [(one, two, FLAGS[relation]) for one, two in found]


def _kind(each: Limit) -> float:
    rule = each.rule
    if rule.kind == "imbalance":
        return SUM_GAP if rule.measure == "sum" else MEAN_GAP
    return SPREAD if rule.kind == "spread" else PAIR_GAP


def _accepted(each: Limit, ticket: Ticket, now: float) -> float:
    """Return the largest gap that a ticket accepts now, or one a rounding below it."""
    rule = each.rule
    wait = now - ticket.enqueued_at
    gap = limit_at(rule.limit, rule.expand, wait)
    if each.when(gap) > wait:
        # The wait that a gap needs is rounded up to the time grid.
        gap = limit_at(rule.limit, rule.expand, max(0.0, wait - 2.0 / TICKS))
    if each.when(gap) > wait:
        gap = rule.limit
    if rule.unit == "relative":
        own = each.values(ticket)
        gap *= abs(sum(own)) / len(own)
    return gap


def _accept(each: Limit, one: Ticket, two: Ticket, gap: float, now: float) -> bool:
    """Return whether both accept a gap now, or one of them where one may for both."""
    wait = each.when(gap)
    chosen = max if each.rule.accept == "both" else min
    return now >= chosen(one.enqueued_at, two.enqueued_at) + wait


def _fresh(each: Limit, one: Seat, two: Seat) -> float:
    """Return how fresh the last meeting of two players as opponents is."""
    name = each.rule.attribute
    ago = met(one[1], two[1], known_of(*one, name), known_of(*two, name))
    return freshness(ago, each.rule.matches) if ago > 0.0 else 0.0


def _apart(each: Limit, people: Sequence[Seat], now: float) -> Iterator[tuple[int, int, int]]:
    """Yield the pairs whose words differ, or have nothing in common, and who mind."""
    values = [attribute_of(t, p, each.rule.attribute) for t, p in people]
    sets = [frozenset(elements(value)) for value in values]
    is_same = each.rule.kind == "same"
    minding = [now < ticket.enqueued_at + each.when(1.0) for ticket, _ in people]
    needed = 1 if each.rule.accept == "both" else 2
    if not any(minding):
        return
    for one in range(len(people)):
        for two in range(one + 1, len(people)):
            is_apart = values[one] != values[two] if is_same else sets[one].isdisjoint(sets[two])
            if is_apart and minding[one] + minding[two] >= needed:
                yield one, two, APART
