"""The instant from which sets of tickets may be in one match, as far as columns determine it.

`Rules.ready_at` is exact for a match. Here every ticket is a **row** of numbers such that the row
of a set is the element-wise largest of its tickets' rows: values and their negatives, words as
codes, milliseconds to each region. So one pass covers a set with one more ticket, or ten thousand
tickets each with the same set. Other rules are left out: the result is never too late.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from evenmatch.criteria.base import Form
from evenmatch.criteria.columns.pairs import (
    PERCENTILE_SLACK,
    UNKNOWN,
    code_of,
    is_told,
    says_nothing,
)
from evenmatch.criteria.expansion import inverse_table
from evenmatch.criteria.kinds.latency import known_latencies
from evenmatch.criteria.rules import RuleLimit, Rules
from evenmatch.criteria.scales import Floats
from evenmatch.criteria.values import elements
from evenmatch.model.ticket import Ticket, attribute_of

PLACES_MAX = 64
"""Most places of a rule that have a column of their own."""
SHARED = 32
"""Columns that all other places share: each holds the least of its places."""

Row = list[Floats]
"""A ticket's numbers, or the largest ones of a set: of extents, then of each rule on places."""


class SetTable:
    """`Rules.ready_at` of many sets, as far as columns of numbers determine it.

    Args:
        rules: Those of one queue.
    """

    def __init__(self, rules: Rules) -> None:
        self._extents: list[_Extent] = []
        self.places: list[CommonPlaces] = []
        self.is_whole = True
        """Whether columns cover all rules that any two tickets may break."""
        for limit in rules.widening_limits:
            if _is_placed(limit):
                self.places.append(CommonPlaces(limit, rules))
            elif is_told(limit, rules):
                self._extents.append(_Extent(limit, rules))
            elif not says_nothing(limit, rules):
                self.is_whole = False

    @property
    def fills(self) -> list[float]:
        """Return the value, by block, of a column of which a ticket knows nothing."""
        return [-math.inf, *[each.unknown for each in self.places]]

    def row(self, ticket: Ticket) -> Row:
        """Return a ticket's numbers by block; later rows may be longer."""
        own = [ticket.enqueued_at, -ticket.enqueued_at]
        for each in self._extents:
            own += each.pair(ticket)
        return [np.array(own), *[each.row(ticket) for each in self.places]]

    def ready_at(self, joined: Sequence[Floats], place: int | None = None) -> Floats:
        """Return the instant from which sets may play; never later than `Rules.ready_at`.

        Args:
            joined: Rows of sets, or parts of sets; the first axis is that of a row's numbers.
            place: The only allowed column of the first rule on places; None: any.

        Complexity:
            O(columns) passes over as many numbers as there are sets.
        """
        extents = joined[0]
        younger, older = extents[0], -extents[1]
        at: Floats = younger
        for number, each in enumerate(self._extents):
            waits = each.waits(extents[2 + 2 * number], extents[3 + 2 * number])
            at = np.maximum(at, _since(each.counts_from, waits, younger, older))
        for number, rule in enumerate(self.places):
            block = joined[1 + number]
            if place is not None and number == 0:
                gaps = block[place]
            else:
                # There is no place at all before somebody comes who knows one.
                gaps = block.min(axis=0, initial=rule.unknown)
            at = np.maximum(at, _since(rule.counts_from, rule.waits(gaps), younger, older))
        return at

    def not_before(
        self, anchor: Floats, others: Floats, sizes: NDArray[np.int64], needed: int
    ) -> float:
        """Return an instant before which no match of one ticket and others is legal.

        Each rule on numbers is asked alone: the narrowest stretch of numbers that has the ticket
        and enough players in it says how long they wait at the least.

        Args:
            anchor: The ticket's numbers of the first block.
            others: Those of the others, shape (numbers, tickets).
            sizes: Players of each of the others.
            needed: How many players of the others the match has, 1 or more.

        Complexity:
            O(rules n log n) for n others.
        """
        at = float(anchor[0])
        for number, each in enumerate(self._extents):
            if each.counts_from == "younger" and not each.is_word:
                rows = slice(2 + 2 * number, 4 + 2 * number)
                high, low = _narrowest(anchor[rows], others[rows], sizes, needed)
                at = max(at, float(anchor[0] + each.waits(high, low)[0]))
        return at


class CommonPlaces:
    """A rule that all players share a place: a region, or a word that all have.

    Args:
        limit: The rule.
        rules: Of the queue.
    """

    def __init__(self, limit: RuleLimit, rules: Rules) -> None:
        self._limit = limit
        self._is_word = limit.comparison.form is Form.SETS
        self.unknown = 1.0 if self._is_word else math.inf
        self.counts_from = _counts_from(limit, rules)
        self._when = inverse_table(limit.rule.limit, limit.rule.expand)
        self._columns: dict[str, int] = {}

    def row(self, ticket: Ticket) -> Floats:
        """Return, for each place, the gap of the ticket's player who is worst off there."""
        places = self._words(ticket) if self._is_word else self._pings(ticket)
        columns = [(self._column(place), value) for place, value in sorted(places.items())]
        row: Floats = np.full(self.width, self.unknown)
        for column, value in columns:
            row[column] = min(row[column], value)
        return row

    @property
    def width(self) -> int:
        """Return the number of columns."""
        known = len(self._columns)
        return known if known < PLACES_MAX else PLACES_MAX + SHARED

    def waits(self, gaps: Floats) -> Floats:
        """Return the waits that gaps need; any shape."""
        flat = np.asarray(gaps)
        return self._when(flat.ravel()).reshape(flat.shape)

    def _column(self, place: str) -> int:
        column = self._columns.get(place)
        if column is None and len(self._columns) < PLACES_MAX:
            column = self._columns[place] = len(self._columns)
        if column is None:
            # Places may be any words, so the memory for them is limited.
            column = PLACES_MAX + blake2b(place.encode(), digest_size=1).digest()[0] % SHARED
        return column

    def _pings(self, ticket: Ticket) -> dict[str, float]:
        name = self._limit.rule.attribute
        first, *others = [known_latencies(ticket, player, name) for player in ticket.players]
        common = set(first).intersection(*others)
        return {place: max([first[place], *[each[place] for each in others]]) for place in common}

    def _words(self, ticket: Ticket) -> dict[str, float]:
        name = self._limit.rule.attribute
        sets = [set(elements(attribute_of(ticket, p, name))) for p in ticket.players]
        return dict.fromkeys(sets[0].intersection(*sets[1:]), 0.0)


class _Extent:
    """A rule on the least and the largest number of a set, or on whether words are equal."""

    def __init__(self, limit: RuleLimit, rules: Rules) -> None:
        rule = limit.rule
        self._limit = limit
        self.is_word = limit.comparison.form is Form.WORD
        self._slack = PERCENTILE_SLACK if rule.unit == "percentile" else 0.0
        self._when: Callable[[Floats], Floats] = inverse_table(rule.limit, rule.expand)
        self._apart = limit.when(1.0)
        self.counts_from = _counts_from(limit, rules)

    def pair(self, ticket: Ticket) -> tuple[float, float]:
        """Return the largest value of a ticket and minus the least, or a word's code as both."""
        if not self.is_word:
            values = self._limit.values(ticket)
            return max(values), -min(values)
        name = self._limit.rule.attribute
        values = [code_of(attribute_of(ticket, player, name)) for player in ticket.players]
        if UNKNOWN in values:
            return -math.inf, -math.inf
        return max(values), -min(values)

    def waits(self, high: Floats, low: Floats) -> Floats:
        """Return the wait that each set's gap needs."""
        gaps = np.asarray(high + low)
        if self.is_word:
            return np.where(gaps > 0.0, self._apart, 0.0)
        gaps = np.maximum(gaps - self._slack, 0.0) if self._slack else gaps
        return self._when(gaps.ravel()).reshape(gaps.shape)


def _narrowest(
    anchor: Floats, others: Floats, sizes: NDArray[np.int64], needed: int
) -> tuple[Floats, Floats]:
    """Return the ends of the narrowest stretch that has a ticket and enough players in it.

    Of each other ticket the number nearest to the ticket's own counts, so that the stretch is not
    wider than any match. The second end has the opposite sign; both are infinite if there is none.
    """
    high, low = float(anchor[0]), -float(anchor[1])
    points = np.where(others[0] < low, others[0], np.where(-others[1] > high, -others[1], low))
    order = np.argsort(points, kind="stable")
    points = points[order]
    players = np.concatenate([[0], np.cumsum(sizes[order])])
    first = np.arange(np.searchsorted(points, low) + 1)
    ends = np.searchsorted(players, players[first] + needed)
    first = first[ends < len(players)]
    if not len(first):
        return np.array([math.inf]), np.array([math.inf])
    highs = np.maximum(points[ends[: len(first)] - 1], high)
    lows = np.minimum(points[first], low)
    best = int(np.argmin(highs - lows))
    return highs[best : best + 1], -lows[best : best + 1]


def _since(counts_from: str, waits: Floats, younger: Floats, older: Floats) -> Floats:
    if counts_from == "younger":
        return younger + waits
    if counts_from == "older":
        return older + waits
    # Another player of the match may accept it, unless no wait ever suffices.
    return np.where(waits == math.inf, math.inf, -math.inf)


def _counts_from(limit: RuleLimit, rules: Rules) -> str:
    if limit.rule.accept == "both":
        return "younger"
    return "older" if rules.queue.format.is_duel else "nobody"


def _is_placed(limit: RuleLimit) -> bool:
    compared = limit.comparison
    return compared.form is Form.SETS or (
        compared.form is Form.PLACES and compared.pairs == "region"
    )
