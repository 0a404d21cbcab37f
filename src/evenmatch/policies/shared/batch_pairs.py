"""What a `Batch` knows of pairs of players: latencies, meetings, words, and who reaches whom."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evenmatch.criteria.kinds.host_options import COSTS, WORDS
from evenmatch.criteria.kinds.latency import RegionLimits
from evenmatch.criteria.kinds.rematch import known_of as remembered
from evenmatch.criteria.kinds.words import elements
from evenmatch.criteria.relation import pairs_within
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.ticket import Ticket, attribute_of
from evenmatch.policies.shared.batch_people import (
    ROWS_FIRST,
    SET,
    UNKNOWN,
    BatchPlayers,
    Objects,
    codes_of,
    connections,
    freshness_of,
    meetings,
    objects,
)
from evenmatch.policies.shared.batch_places import (
    BatchLatencies,
    are_measured,
    cells_of,
    pings_of,
    stacked,
    table_of,
)
from evenmatch.policies.shared.batch_sets import bits_of
from evenmatch.solvers.matching.pairs import CAPPED
from evenmatch.solvers.teams.batch import (
    ALL,
    ENEMIES,
    HOSTS_LACK,
    MATES,
    PING_GAP,
    REGION_GAP,
    Facts,
    Floats,
    Ints,
)

PAIRS = ("enemies", "teammates", "all", "region")
"""Columns of `Facts.ping_weights`."""
CODES = {"enemies": ENEMIES, "teammates": MATES, "all": ALL}

Given = Criterion | Rule


class Sayings(NamedTuple):
    """What some players say, copied: of the objects in it none ever changes.

    Args:
        words: By attribute, values that should be equal.
        sets: By attribute, sets of elements.
        memories: By attribute, whom they met.
        network: By attribute, codes of their networks, see `batch_people.connections`.
        reached: By attribute, whom those reach who name them.
        latencies: By attribute, a map from places to milliseconds.
    """

    words: list[Objects]
    sets: list[Objects]
    memories: list[Objects]
    network: Ints
    reached: list[Objects]
    latencies: list[Objects]


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
        self._word = [objects(ROWS_FIRST) for _ in self._words]
        self._tongue = [objects(ROWS_FIRST) for _ in self._tongues]
        self._memory = [objects(ROWS_FIRST) for _ in self._met]
        self._reached = [objects(ROWS_FIRST) for _ in self._connects]
        self._network: Ints = np.zeros((len(self._connects), ROWS_FIRST), dtype=np.int64)

    def grow(self, size: int) -> None:
        """Make room for so many rows."""
        for places in self._places:
            places.grow(size)
        self._word = [objects(size, each) for each in self._word]
        self._tongue = [objects(size, each) for each in self._tongue]
        self._memory = [objects(size, each) for each in self._memory]
        self._reached = [objects(size, each) for each in self._reached]
        more = np.zeros((len(self._connects), size - self._network.shape[1]), dtype=np.int64)
        self._network = np.hstack([self._network, more])

    def write(self, ticket: Ticket, rows: Sequence[int]) -> None:
        """Write what is known of a party into its rows."""
        for row, player in zip(rows, ticket.players, strict=True):
            for column, (given, _) in zip(self._word, self._words, strict=True):
                value = attribute_of(ticket, player, given.attribute)
                column[row] = tuple(value.items()) if isinstance(value, dict) else value
            for column, (given, _) in zip(self._tongue, self._tongues, strict=True):
                column[row] = elements(attribute_of(ticket, player, given.attribute))
            for column, (given, _) in zip(self._memory, self._met, strict=True):
                column[row] = remembered(ticket, player, given.attribute)
            for at, name in enumerate(self._connects):
                word = attribute_of(ticket, player, name)
                is_word = isinstance(word, str) and word in WORDS
                code = SET if word is not None else UNKNOWN
                self._network[at, row] = WORDS.index(str(word)) if is_word else code
                self._reached[at][row] = () if is_word else elements(word)
            for places in self._places:
                places.write(ticket, player, row)

    def of(self, rows: Ints) -> Sayings:
        """Return what the players of some rows say: O(rows)."""
        return Sayings(
            [each[rows] for each in self._word],
            [each[rows] for each in self._tongue],
            [each[rows] for each in self._memory],
            self._network[:, rows],
            [each[rows] for each in self._reached],
            [places.of(rows) for places in self._places],
        )

    def facts(self, facts: Facts, said: Sayings, people: BatchPlayers) -> Facts:
        """Return the facts of some players; this reads nothing that changes, in any thread."""
        if self._words:
            facts = facts._replace(
                words=np.stack([codes_of(each) for each in said.words]),
                words_weight=np.array([weight for _, weight in self._words]),
            )
        if self._tongues:
            facts = facts._replace(
                tongues=np.stack([bits_of(each) for each in said.sets]),
                tongues_weight=np.array([weight for _, weight in self._tongues]),
            )
        if self._met:
            total = sum(weight for _, weight in self._met)
            found = [
                _met_rows(criterion.matches, weight / total if total else 0.0, each, people)
                for each, (criterion, weight) in zip(said.memories, self._met, strict=True)
            ]
            facts = facts._replace(met=np.vstack(found), met_weight=total)
        return self._with_network(self._with_pings(facts, said, people), said, people)

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
        self._places = [BatchLatencies(name) for name in names]
        pings = [(c, w) for c, w in each if c.kind == "latency"]
        quick = pings[0][0] if pings else None
        regional = [c for c, _ in pings if c.pairs == "region"]
        scale = (regional[0].best, regional[0].worst) if regional else (0.0, 0.0)
        self._ping_scale = None if quick is None else np.array([quick.best, quick.worst])
        self._ping_weights = np.zeros(len(PAIRS))
        self._venues: list[tuple[float, float, float, float]] = []
        furthest = [RegionLimits(queue, name).furthest for name in names]
        for criterion, weight in sorted(pings, key=lambda own: _way(own[0]) != _way(pings[0][0])):
            pairs, at = pairs_within(criterion, self._form), names.index(criterion.attribute)
            venue = 0
            if pairs == "region":
                venue = self._venue(at, criterion.best, criterion.worst, furthest[at])
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
                    self._venue(at, *scale, furthest[at]) if is_joint else 3 * at + CODES[pairs]
                )

    def _venue(self, *wanted: *tuple[float, float, float, float]) -> int:
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

    def _with_pings(self, facts: Facts, said: Sayings, people: BatchPlayers) -> Facts:
        if not self._places:
            return facts
        players = len(people.ids)
        cells = [cells_of(each) for each in said.latencies]
        tables = [table_of(each, players) for each in cells]
        measured = [are_measured(each, people) for each in cells]
        facts = facts._replace(
            latency=tables[0],
            more_latency=stacked(tables[1:], players),
            ping_weights=self._ping_weights,
            venues=np.array(self._venues, dtype=np.float64).reshape(len(self._venues), 4),
        )
        if self._ping_scale is not None:
            facts = facts._replace(ping_scale=self._ping_scale)
        if measured[0]:
            facts = facts._replace(ping=pings_of(cells[0], people))
        if any(measured[1:]):
            facts = facts._replace(
                more_ping=np.stack([pings_of(each, people) for each in cells[1:]])
            )
        return facts

    def _with_network(self, facts: Facts, said: Sayings, people: BatchPlayers) -> Facts:
        if not self._connects:
            return facts
        tables = [
            connections(network, reached, people)
            for network, reached in zip(said.network[1:], said.reached[1:], strict=True)
        ]
        first = said.network[0]
        if len(first) and int(first.max()) < SET:
            facts = facts._replace(network=np.ascontiguousarray(first))
        else:
            facts = facts._replace(connect=connections(first, said.reached[0], people))
        return facts._replace(more_connect=np.stack(tables)) if tables else facts


def _attributes(queue: Queue, kind: str) -> list[str]:
    """Return the attributes that criteria, then rules of a kind compare."""
    names = [criterion.attribute for criterion in queue.criteria if criterion.kind == kind]
    names += [rule.attribute for rule in queue.rules if rule.kind == kind]
    return list(dict.fromkeys(names))


def _met_rows(matches: int, share: float, known: Objects, people: BatchPlayers) -> Floats:
    """Return rows of `Facts.met`: O(memories of the players)."""
    one, two, ago = meetings(known, people)
    fresh = freshness_of(ago, matches)
    rows = np.stack((one, two, share * fresh, ago < 0.0), axis=1).astype(np.float64)
    return np.ascontiguousarray(rows[fresh > 0.0])


def _way(criterion: Criterion) -> tuple[str, float, float]:
    return criterion.attribute, criterion.best, criterion.worst
