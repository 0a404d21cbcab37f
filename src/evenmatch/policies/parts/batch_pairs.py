"""What a `Batch` knows of pairs of players: latencies, meetings, words, and who reaches whom."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from evenmatch.cost.hosts import COSTS, WORDS, reaches
from evenmatch.cost.latency import Known, known_of, ping_table
from evenmatch.cost.relation import pairs_within
from evenmatch.cost.rematch import freshness, met
from evenmatch.cost.rematch import known_of as remembered
from evenmatch.cost.words import elements
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.ticket import Ticket, attribute_of
from evenmatch.solvers.batch.batch import Facts, Floats, Ints

ROWS_FIRST = 64
PAIRS = ("enemies", "teammates", "all", "region")
"""Columns of `Facts.ping_weights`."""
BITS = 64
PLACES_MAX = 256
"""Places with a column of their own; a search does not know the others, the last look does."""
TRACE = 1e-9
"""A weight that changes no quality but lets a batch compare the pairs that a rule is about."""
CODES_PER_ROW = 4


class PairFacts:
    """The criteria of a queue that look at pairs of players.

    Args:
        queue: The queue.
        shares: Weight of each criterion as a part of all weights.
    """

    def __init__(self, queue: Queue, shares: Sequence[float]) -> None:
        each = list(zip(queue.criteria, shares, strict=True))
        hard = [(r, math.inf) for r in queue.rules if r.expand is None and r.limit < 1.0]
        given: list[tuple[Criterion | Rule, float]] = [*each, *hard]
        self._pings: list[tuple[Criterion | Rule, float]] = [
            (c, w) for c, w in each if c.kind == "latency"
        ]
        self._pings += [
            (r, TRACE) for r in queue.rules if r.kind == "latency" and r.pairs != "region"
        ]
        self._words = [(c.attribute, w) for c, w in given if c.kind == "same"]
        self._tongues = [(c.attribute, w) for c, w in given if c.kind == "overlap"]
        self._met = next(((c, w) for c, w in each if c.kind == "rematch"), None)
        hosts = next(((c, w) for c, w in each if c.kind == "host_options"), None)
        self._connect = None if hosts is None else hosts[0].attribute
        weight = 0.0 if hosts is None else hosts[1]
        self.hosts: Floats = weight * np.array(COSTS)
        self.parity = sum(w for c, w in each if c.kind == "party_parity")
        self._form = queue.format
        self._latency = _latency_attribute(queue)
        self._places: dict[str, int] = {}
        self._size = ROWS_FIRST
        self._ms = np.full((ROWS_FIRST, 0), np.inf)
        self._codes: dict[Any, int] = {}
        self._elements: dict[str, int] = {}
        self._word = np.zeros((len(self._words), ROWS_FIRST), dtype=np.int64)
        self._tongue = np.zeros((len(self._tongues), ROWS_FIRST), dtype=np.uint64)
        self._network = np.zeros(ROWS_FIRST, dtype=np.int64)

    def grow(self, size: int) -> None:
        """Make room for so many rows."""
        more = size - self._size
        self._ms = np.vstack([self._ms, np.full((more, self._ms.shape[1]), np.inf)])
        self._word = np.hstack([self._word, np.zeros((len(self._words), more), np.int64)])
        self._tongue = np.hstack([self._tongue, np.zeros((len(self._tongues), more), np.uint64)])
        self._network = np.concatenate([self._network, np.zeros(more, np.int64)])
        self._size = size

    def write(self, ticket: Ticket, rows: Sequence[int]) -> None:
        """Write what is known of a party into its rows."""
        for row, player in zip(rows, ticket.players, strict=True):
            for at, (name, _) in enumerate(self._words):
                value = attribute_of(ticket, player, name)
                key = (at, tuple(value.items()) if isinstance(value, dict) else value)
                self._word[at, row] = self._codes.setdefault(key, len(self._codes))
            for at, (name, _) in enumerate(self._tongues):
                value = attribute_of(ticket, player, name)
                self._tongue[at, row] = self._bits(elements(value))
            if self._connect is not None:
                word = attribute_of(ticket, player, self._connect)
                known = isinstance(word, str) and word in WORDS
                self._network[row] = WORDS.index(str(word)) if known else len(WORDS)
            if self._latency is not None:
                self._write_latency(row, player.id, known_of(ticket, player, self._latency))

    @property
    def is_worn(self) -> bool:
        """Return whether so many values were seen that those of players long gone prevail."""
        most = CODES_PER_ROW * self._size
        return max(len(self._codes), len(self._elements), len(self._places)) > most

    def clear(self) -> None:
        """Forget all values; every row must be written anew."""
        self._codes.clear()
        self._elements.clear()
        self._places.clear()
        self._ms = np.full((self._size, 0), np.inf)

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
        if self._met is not None:
            found = _meetings(self._met[0], tickets)
            facts = facts._replace(met=found, met_weight=self._met[1])
        return self._with_network(self._with_pings(facts, rows, tickets), rows, tickets)

    def _with_pings(self, facts: Facts, rows: Ints, tickets: Sequence[Ticket]) -> Facts:
        if self._latency is None:
            return facts
        facts = facts._replace(latency=self._known_places(rows))
        ids = {player.id for ticket in tickets for player in ticket.players}
        if not ids.isdisjoint(self._places):
            pings = ping_table(tickets, self._latency).astype(np.float32)
            facts = facts._replace(ping=pings)
        if self._pings:
            weights = np.zeros(len(PAIRS))
            for given, weight in self._pings:
                weights[PAIRS.index(pairs_within(given, self._form))] += weight
            facts = facts._replace(ping_weights=weights)
            if isinstance(scaled := self._pings[0][0], Criterion):
                facts = facts._replace(ping_scale=np.array([scaled.best, scaled.worst]))
        return facts

    def _known_places(self, rows: Ints) -> Floats:
        """Return the latencies of some rows to the places that any of them knows, by name."""
        by_name = sorted(place for place in self._places.items() if place[1] < self._ms.shape[1])
        own = self._ms[np.ix_(rows, np.array([at for _, at in by_name], dtype=np.int64))]
        return np.ascontiguousarray(own[:, np.isfinite(own).any(axis=0)])

    def _with_network(self, facts: Facts, rows: Ints, tickets: Sequence[Ticket]) -> Facts:
        if self._connect is None:
            return facts
        network = self._network[rows]
        if len(network) and int(network.max()) < len(WORDS):
            return facts._replace(network=network)
        people = [(t, p) for t in tickets for p in t.players]
        known = [attribute_of(t, p, self._connect) for t, p in people]
        table = np.zeros((len(people), len(people)), dtype=np.uint8)
        for row, one in enumerate(known):
            for column, (_, other) in enumerate(people):
                if row != column and one is not None and known[column] is not None:
                    table[row, column] = reaches(one, known[column], other.id)  # type: ignore[arg-type]
        return facts._replace(connect=table)

    def _write_latency(self, row: int, own: str, known: Known) -> None:
        """Write latencies to places: regions, or other players whose ping was measured."""
        self._ms[row] = np.inf
        for place in known:
            if place == own:
                continue
            if place not in self._places:
                self._places[place] = len(self._places)
                if len(self._places) > PLACES_MAX:
                    continue
                column = np.full((self._size, 1), np.inf)
                self._ms = np.hstack([self._ms, column])
            if self._places[place] < PLACES_MAX:
                self._ms[row, self._places[place]] = known[place]

    def _bits(self, words: Any) -> np.uint64:
        """Return a set as bits; beyond 64 elements some share one, and rules look again."""
        total = 0
        for word in words:
            code = self._elements.setdefault(word, len(self._elements))
            total |= 1 << (code % BITS)
        return np.uint64(total)


def _latency_attribute(queue: Queue) -> str | None:
    given: list[Criterion | Rule] = [*queue.criteria, *queue.rules]
    return next((c.attribute for c in given if c.kind == "latency"), None)


def _meetings(criterion: Criterion, tickets: Sequence[Ticket]) -> Floats:
    """Return the rows of `Facts.met`: O(memories of the players)."""
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
                found.append((float(one), float(two), fresh, float(ago < 0.0)))
    return np.array(found, dtype=np.float64).reshape(len(found), 4)
