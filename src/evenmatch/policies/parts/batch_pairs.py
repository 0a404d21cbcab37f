"""What a `Batch` knows of pairs of players: latencies, meetings, words, and who reaches whom."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from evenmatch.cost.hosts import COSTS, WORDS, reaches
from evenmatch.cost.relation import pairs_within
from evenmatch.cost.rematch import freshness, met
from evenmatch.cost.rematch import known_of as remembered
from evenmatch.cost.words import elements
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.ticket import Ticket, attribute_of
from evenmatch.policies.parts.batch_places import Places, stacked
from evenmatch.solvers.batch.batch import (
    ALL,
    ENEMIES,
    HOSTS_LACK,
    MATES,
    PING_GAP,
    REGION_GAP,
    Facts,
    Flags,
    Floats,
    Ints,
)
from evenmatch.solvers.pairs import CAPPED

ROWS_FIRST = 64
PAIRS = ("enemies", "teammates", "all", "region")
"""Columns of `Facts.ping_weights`."""
CODES = {"enemies": ENEMIES, "teammates": MATES, "all": ALL}
BITS = 64
CODES_PER_ROW = 4

Given = Criterion | Rule


class PairFacts:
    """The criteria of a queue that look at pairs of players, and what its rules look at.

    Args:
        queue: The queue.
        shares: Weight of each criterion as a part of all weights.
    """

    def __init__(self, queue: Queue, shares: Sequence[float]) -> None:
        each = list(zip(queue.criteria, shares, strict=True))
        fixed = [(r, math.inf) for r in queue.rules if r.expand is None and r.limit < 1.0]
        widening = [(r, 0.0) for r in queue.rules if r.expand is not None]
        given: list[tuple[Given, float]] = [*each, *fixed, *widening]
        self._form = queue.format
        # Where a rule finds what it compares, by its number.
        self.columns: dict[int, int] = {}
        self._words = [(c, w) for c, w in given if c.kind == "same"]
        self._tongues = [(c, w) for c, w in given if c.kind == "overlap"]
        for number, rule in enumerate(queue.rules):
            for found in (self._words, self._tongues):
                at = [place for place, (c, _) in enumerate(found) if c is rule]
                self.columns.update(dict.fromkeys([number] if at else (), at[0] if at else 0))
        self._met = [(c, w) for c, w in each if c.kind == "rematch"]
        self.parity = sum(w for c, w in each if c.kind == "party_parity")
        self.terms: Floats = np.zeros((0, 7))
        self._plan_hosts(queue, each)
        self._plan_places(queue, each)
        self._size = ROWS_FIRST
        self._codes: dict[Any, int] = {}
        self._elements: dict[str, int] = {}
        self._word = np.zeros((len(self._words), ROWS_FIRST), dtype=np.int64)
        self._tongue = np.zeros((len(self._tongues), ROWS_FIRST), dtype=np.uint64)
        self._network = np.zeros((len(self._connects), ROWS_FIRST), dtype=np.int64)

    def grow(self, size: int) -> None:
        """Make room for so many rows."""
        more = size - self._size
        for places in self._places:
            places.grow(size)
        self._word = np.hstack([self._word, np.zeros((len(self._words), more), np.int64)])
        self._tongue = np.hstack([self._tongue, np.zeros((len(self._tongues), more), np.uint64)])
        self._network = np.hstack([self._network, np.zeros((len(self._connects), more), np.int64)])
        self._size = size

    def write(self, ticket: Ticket, rows: Sequence[int]) -> None:
        """Write what is known of a party into its rows."""
        for row, player in zip(rows, ticket.players, strict=True):
            for at, (given, _) in enumerate(self._words):
                value = attribute_of(ticket, player, given.attribute)
                key = (at, tuple(value.items()) if isinstance(value, dict) else value)
                self._word[at, row] = self._codes.setdefault(key, len(self._codes))
            for at, (given, _) in enumerate(self._tongues):
                value = attribute_of(ticket, player, given.attribute)
                self._tongue[at, row] = self._bits(elements(value))
            for at, name in enumerate(self._connects):
                word = attribute_of(ticket, player, name)
                known = isinstance(word, str) and word in WORDS
                self._network[at, row] = WORDS.index(str(word)) if known else len(WORDS)
            for places in self._places:
                places.write(ticket, player, row)

    @property
    def is_worn(self) -> bool:
        """Return whether so many values were seen that those of players long gone prevail."""
        most = CODES_PER_ROW * self._size
        return max(len(self._codes), len(self._elements), *map(len, self._places), 0) > most

    def clear(self) -> None:
        """Forget all values; every row must be written anew."""
        self._codes.clear()
        self._elements.clear()
        for places in self._places:
            places.clear()

    def facts(self, facts: Facts, rows: Ints, tickets: Sequence[Ticket]) -> Facts:
        """Return the facts of the players of some rows."""
        if self._words:
            facts = facts._replace(
                words=np.ascontiguousarray(self._word[:, rows]),
                words_weight=np.array([weight for _, weight in self._words]),
            )
        if self._tongues:
            facts = facts._replace(
                tongues=np.ascontiguousarray(self._tongue[:, rows]),
                tongues_weight=np.array([weight for _, weight in self._tongues]),
            )
        if self._met:
            total = sum(weight for _, weight in self._met)
            found = [_meetings(c, tickets, w / total if total else 0.0) for c, w in self._met]
            facts = facts._replace(met=np.vstack(found), met_weight=total)
        return self._with_network(self._with_pings(facts, rows, tickets), rows, tickets)

    def _plan_hosts(self, queue: Queue, each: Sequence[tuple[Criterion, float]]) -> None:
        """Give each attribute that says who reaches whom a table; the first is the quick one."""
        self._connects = _attributes(queue, "host_options")
        weights = dict.fromkeys(self._connects, 0.0)
        for criterion, weight in each:
            if criterion.kind == "host_options":
                weights[criterion.attribute] += weight
        first = weights[self._connects[0]] if self._connects else 0.0
        self.hosts: Floats = first * np.array(COSTS)
        for column, name in enumerate(self._connects[1:], 1):
            self._add_term(HOSTS_LACK, weights[name], column)
        for number, rule in enumerate(queue.rules):
            if rule.kind == "host_options":
                self.columns[number] = self._connects.index(rule.attribute)

    def _plan_places(self, queue: Queue, each: Sequence[tuple[Criterion, float]]) -> None:
        """Say how latencies count: the first scale the quick way, all others as terms."""
        names = _attributes(queue, "latency")
        self._places = [Places(name) for name in names]
        pings = [(c, w) for c, w in each if c.kind == "latency"]
        quick = pings[0][0] if pings else None
        regional = [c for c, _ in pings if c.pairs == "region"]
        scale = (regional[0].best, regional[0].worst) if regional else (0.0, 0.0)
        self._ping_scale = None if quick is None else np.array([quick.best, quick.worst])
        self._ping_weights = np.zeros(len(PAIRS))
        self._venues: list[tuple[float, ...]] = []
        for criterion, weight in sorted(pings, key=lambda own: _way(own[0]) != _way(pings[0][0])):
            pairs, at = pairs_within(criterion, self._form), names.index(criterion.attribute)
            venue = self._venue(at, criterion.best, criterion.worst) if pairs == "region" else 0
            if quick is not None and _way(criterion) == _way(quick):
                self._ping_weights[PAIRS.index(pairs)] += weight
            elif pairs == "region":
                self._add_term(REGION_GAP, weight, venue, criterion)
            else:
                self._add_term(PING_GAP, weight, 3 * at + CODES[pairs], criterion)
        for number, rule in enumerate(queue.rules):
            if rule.kind == "latency":
                at, pairs = names.index(rule.attribute), pairs_within(rule, self._form)
                is_joint = pairs == "region"
                self.columns[number] = (
                    self._venue(at, *scale) if is_joint else 3 * at + CODES[pairs]
                )

    def _venue(self, *wanted: float) -> int:
        """Return the number of a way to choose a region."""
        if wanted not in self._venues:
            self._venues.append(wanted)
        return self._venues.index(wanted)

    def _add_term(
        self, kind: float, weight: float, column: int, scale: Criterion | None = None
    ) -> None:
        best, worst = (1.0, 1.0) if scale is None else (scale.best, scale.worst)
        row = np.array([[kind, weight, float(column), CAPPED, worst, best, 0.0]])
        self.terms = np.vstack([self.terms, row])

    def _with_pings(self, facts: Facts, rows: Ints, tickets: Sequence[Ticket]) -> Facts:
        if not self._places:
            return facts
        tables = [places.table(rows) for places in self._places]
        measured = [places.measured(tickets) for places in self._places]
        facts = facts._replace(
            latency=tables[0],
            more_latency=stacked(tables[1:], len(rows)),
            ping_weights=self._ping_weights,
            venues=np.array(self._venues, dtype=np.float64).reshape(len(self._venues), 3),
        )
        if self._ping_scale is not None:
            facts = facts._replace(ping_scale=self._ping_scale)
        if measured[0] is not None:
            facts = facts._replace(ping=measured[0])
        if any(table is not None for table in measured[1:]):
            more = [places.pings(tickets) for places in self._places[1:]]
            facts = facts._replace(more_ping=np.stack(more))
        return facts

    def _with_network(self, facts: Facts, rows: Ints, tickets: Sequence[Ticket]) -> Facts:
        if not self._connects:
            return facts
        network = self._network[:, rows]
        if len(rows) and int(network[0].max()) < len(WORDS):
            facts = facts._replace(network=np.ascontiguousarray(network[0]))
        else:
            facts = facts._replace(connect=_connections(self._connects[0], tickets))
        more = [_connections(name, tickets) for name in self._connects[1:]]
        return facts._replace(more_connect=np.stack(more)) if more else facts

    def _bits(self, words: Any) -> np.uint64:
        """Return a set as bits; beyond 64 elements some share one, and rules look again."""
        total = 0
        for word in words:
            code = self._elements.setdefault(word, len(self._elements))
            total |= 1 << (code % BITS)
        return np.uint64(total)


def _attributes(queue: Queue, kind: str) -> list[str]:
    """Return the attributes that criteria, then rules of a kind compare."""
    names = [criterion.attribute for criterion in queue.criteria if criterion.kind == kind]
    names += [rule.attribute for rule in queue.rules if rule.kind == kind]
    return list(dict.fromkeys(names))


def _way(criterion: Criterion) -> tuple[str, float, float]:
    return criterion.attribute, criterion.best, criterion.worst


def _connections(name: str, tickets: Sequence[Ticket]) -> Flags:
    """Return whether each player reaches each other; shape (n, n)."""
    people = [(t, p) for t in tickets for p in t.players]
    known = [attribute_of(t, p, name) for t, p in people]
    table: Flags = np.zeros((len(people), len(people)), dtype=np.uint8)
    for row, one in enumerate(known):
        for column, (_, other) in enumerate(people):
            if row != column and one is not None and known[column] is not None:
                table[row, column] = reaches(one, known[column], other.id)  # type: ignore[arg-type]
    return table


def _meetings(criterion: Criterion, tickets: Sequence[Ticket], share: float) -> Floats:
    """Return rows of `Facts.met`: O(memories of the players)."""
    people = [(t, p, remembered(t, p, criterion.attribute)) for t in tickets for p in t.players]
    place = {player.id: at for at, (_, player, _) in enumerate(people)}
    pairs = {
        (min(at, place[name]), max(at, place[name]))
        for at, (_, _, known) in enumerate(people)
        for name in known or ()
        if name in place and place[name] != at
    }
    found = []
    for one, two in sorted(pairs):
        (ticket, first, own), (other, second, others) = people[one], people[two]
        if ticket is not other:
            ago = met(first, second, own, others)
            fresh = freshness(ago, criterion.matches)
            if fresh > 0.0:
                found.append((float(one), float(two), share * fresh, float(ago < 0.0)))
    return np.array(found, dtype=np.float64).reshape(len(found), 4)
