"""What a `Batch` knows of pairs of players: latencies, meetings, words, and who reaches whom."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenmatch.criteria.base import Comparison, Form, NumberGap
from evenmatch.criteria.host_reach import COSTS, WORDS
from evenmatch.criteria.kinds.latency import RegionLimits, known_latencies
from evenmatch.criteria.registry import comparison_of, form_of, number_gap_of, pairs_within
from evenmatch.criteria.values import elements
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.ticket import Player, Ticket, attribute_of
from evenmatch.policies.shared.batch_people import (
    ROWS_FIRST,
    SET,
    UNKNOWN,
    BatchPlayers,
    Objects,
    codes_of,
    connections,
    named_by,
    objects,
)
from evenmatch.solvers.matching.pairs import CAPPED
from evenmatch.solvers.teams.batch import (
    ALL,
    ENEMIES,
    HOSTS_LACK,
    MATES,
    MEAN_GAP,
    PAIR_GAP,
    PING_GAP,
    REGION_GAP,
    SPREAD,
    SUM_GAP,
    Facts,
    Floats,
    Ints,
    Singles,
)

PAIRS = ("enemies", "teammates", "all", "region")
"""Columns of `Facts.ping_weights`."""
CODES = {"enemies": ENEMIES, "teammates": MATES, "all": ALL}
GAPS = {NumberGap.WIDEST: SPREAD, NumberGap.PAIRS: PAIR_GAP, NumberGap.TEAMS: MEAN_GAP}

Given = Criterion | Rule


class PlayerFacts(NamedTuple):
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
        self._words = [(c, w) for c, w in given if form_of(c) is Form.WORD]
        self._tongues = [(c, w) for c, w in given if form_of(c) is Form.SETS]
        for number, rule in enumerate(queue.rules):
            for found in (self._words, self._tongues):
                at = [place for place, (c, _) in enumerate(found) if c is rule]
                self.columns.update(dict.fromkeys([number] if at else (), at[0] if at else 0))
        self._met = [(comparison_of(c, queue), w) for c, w in each if form_of(c) is Form.NAMES]
        self.parity = sum(w for c, w in each if form_of(c) is Form.PARTIES)
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
            for column, (definition, _) in zip(self._word, self._words, strict=True):
                value = attribute_of(ticket, player, definition.attribute)
                column[row] = tuple(value.items()) if isinstance(value, dict) else value
            for column, (definition, _) in zip(self._tongue, self._tongues, strict=True):
                column[row] = elements(attribute_of(ticket, player, definition.attribute))
            for column, (compared, _) in zip(self._memory, self._met, strict=True):
                column[row] = compared.names(ticket, player)
            for at, name in enumerate(self._connects):
                word = attribute_of(ticket, player, name)
                is_word = isinstance(word, str) and word in WORDS
                code = SET if word is not None else UNKNOWN
                self._network[at, row] = WORDS.index(str(word)) if is_word else code
                self._reached[at][row] = () if is_word else elements(word)
            for places in self._places:
                places.write(ticket, player, row)

    def of(self, rows: Ints) -> PlayerFacts:
        """Return what the players of some rows say: O(rows)."""
        return PlayerFacts(
            [each[rows] for each in self._word],
            [each[rows] for each in self._tongue],
            [each[rows] for each in self._memory],
            self._network[:, rows],
            [each[rows] for each in self._reached],
            [places.of(rows) for places in self._places],
        )

    def facts(self, facts: Facts, said: PlayerFacts, people: BatchPlayers) -> Facts:
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
                _met_rows(compared, weight / total if total else 0.0, each, people)
                for each, (compared, weight) in zip(said.memories, self._met, strict=True)
            ]
            facts = facts._replace(met=np.vstack(found), met_weight=total)
        return self._with_network(self._with_pings(facts, said, people), said, people)

    def _plan_hosts(self, queue: Queue, each: Sequence[tuple[Criterion, float]]) -> None:
        """Give each attribute that says who reaches whom a table; the first is the quick one."""
        self._connects = _attributes(queue, Form.NETWORK)
        weights = dict.fromkeys(self._connects, 0.0)
        for criterion, weight in each:
            if form_of(criterion) is Form.NETWORK:
                weights[criterion.attribute] += weight
        first = weights[self._connects[0]] if self._connects else 0.0
        self.hosts: Floats = first * np.array(COSTS)
        for column, name in enumerate(self._connects[1:], 1):
            self._add_term(HOSTS_LACK, weights[name], column)
        for number, rule in enumerate(queue.rules):
            if form_of(rule) is Form.NETWORK:
                self.columns[number] = self._connects.index(rule.attribute)

    def _plan_places(self, queue: Queue, each: Sequence[tuple[Criterion, float]]) -> None:
        """Say how latencies count: the first scale the quick way, all others as terms."""
        names = _attributes(queue, Form.PLACES)
        self._places = [BatchLatencies(name) for name in names]
        pings = [(c, w) for c, w in each if form_of(c) is Form.PLACES]
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
            if form_of(rule) is Form.PLACES:
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

    def _with_pings(self, facts: Facts, said: PlayerFacts, people: BatchPlayers) -> Facts:
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

    def _with_network(self, facts: Facts, said: PlayerFacts, people: BatchPlayers) -> Facts:
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


def _attributes(queue: Queue, form: Form) -> list[str]:
    """Return the attributes that criteria, then rules of a form compare."""
    names = [each.attribute for each in queue.criteria if form_of(each) is form]
    names += [rule.attribute for rule in queue.rules if form_of(rule) is form]
    return list(dict.fromkeys(names))


def _met_rows(comparison: Comparison, share: float, known: Objects, people: BatchPlayers) -> Floats:
    """Return rows of `Facts.met`: O(memories of the players)."""
    pairs = named_by(known, people)
    fresh, were_mates = comparison.named_costs(pairs.said, pairs.known)
    rows = np.stack((pairs.one, pairs.two, share * fresh, were_mates), axis=1).astype(np.float64)
    return np.ascontiguousarray(rows[fresh > 0.0])


def gap_code(definition: Given) -> float:
    """Return how kernels call the gap of a criterion or a rule that compares numbers."""
    gap = number_gap_of(definition)
    assert gap is not None
    return SUM_GAP if gap is NumberGap.TEAMS and definition.measure == "sum" else GAPS[gap]


def _way(criterion: Criterion) -> tuple[str, float, float]:
    return criterion.attribute, criterion.best, criterion.worst


# Sets of words as bits, for a `Batch`: players share a bit if they share an element.

BITS = 64
"""Elements that a batch tells apart."""


def bits_of(sets: Objects) -> NDArray[np.uint64]:
    """Return sets of elements as bits, such that what players have in common is a bit in common.

    An element that nobody else has joins nobody. Where the others are more than `BITS`, those
    whose holders all hold another one say nothing beside it. Only where more than `BITS` are left
    do the rarest of them share bits, and two who have nothing in common may seem to.

    Complexity:
        O(entries); beyond 64 elements O(elements * players).

    >>> both = np.empty(3, dtype=np.object_)
    >>> both[:] = [("de", "en"), ("en",), ("de",)]
    >>> bits_of(both).tolist()
    [3, 2, 1]
    """
    holders: dict[str, list[int]] = {}
    for row, own in enumerate(sets):
        for element in dict.fromkeys(own):
            holders.setdefault(element, []).append(row)
    shared = [rows for rows in holders.values() if len(rows) > 1]
    found: NDArray[np.uint64] = np.zeros(len(sets), dtype=np.uint64)
    for number, rows in enumerate(shared if len(shared) <= BITS else _telling(shared)):
        found[rows] |= np.uint64(1 << (number % BITS))
    return found


def _telling(each: Iterable[list[int]]) -> list[list[int]]:
    """Return the sets of rows that lie in none of the `BITS` largest, the largest first."""
    kept: list[list[int]] = []
    largest: list[int] = []
    for rows in sorted(each, key=len, reverse=True):
        bits = sum(1 << row for row in rows)
        if any(bits & other == bits for other in largest):
            continue
        kept.append(rows)
        if len(largest) < BITS:
            largest.append(bits)
    return kept


# What a `Batch` knows of latencies: places and milliseconds, by the attribute that says them.

PLACES_MAX = 256
"""Places with a column of their own; a search does not know the others, the last look does."""
TILE = 32
"""Rows of pings that are made together, so that they stay in the processor's cache."""
COMMON = 0.1
"""Share of the players who know a place from which on it is looked at for all pairs."""


class Cells(NamedTuple):
    """Latencies of some players, one entry for each place that each of them knows.

    Args:
        names: The places, each once.
        rows: Whose latency it is.
        columns: To which place.
        ms: How many milliseconds.
    """

    names: list[str]
    rows: Ints
    columns: Ints
    ms: Floats


class BatchLatencies:
    """The latencies of the waiting players by one attribute, row by row.

    Args:
        attribute: Its name.
    """

    def __init__(self, attribute: str) -> None:
        self.attribute = attribute
        self._known = objects(ROWS_FIRST)

    def grow(self, size: int) -> None:
        """Make room for so many rows."""
        self._known = objects(size, self._known)

    def write(self, ticket: Ticket, player: Player, row: int) -> None:
        """Write a player's latencies to regions, and to other players who were measured."""
        known: Mapping[str, float] = known_latencies(ticket, player, self.attribute)
        if player.id in known:
            known = {place: ms for place, ms in known.items() if place != player.id}
        self._known[row] = known

    def of(self, rows: Ints) -> Objects:
        """Return the places and milliseconds that the players of some rows know, each as a map."""
        return self._known[rows]


def cells_of(known: Objects) -> Cells:
    """Return what `BatchLatencies.of` says as flat arrays: O(entries)."""
    codes: dict[str, int] = {}
    columns: dict[tuple[str, ...], Ints] = {}
    names = [tuple(each) for each in known]
    for own in names:
        # Most players know the same places in the same order.
        if own not in columns:
            found = [codes.setdefault(place, len(codes)) for place in own]
            columns[own] = np.array(found, dtype=np.int64)
    none: Ints = np.zeros(0, dtype=np.int64)
    rows = np.repeat(np.arange(len(names)), [len(own) for own in names])
    values = chain.from_iterable(each.values() for each in known)
    return Cells(
        list(codes),
        rows,
        np.concatenate([none, *[columns[own] for own in names]]),
        np.fromiter(values, dtype=np.float64, count=len(rows)),
    )


def table_of(cells: Cells, players: int) -> Floats:
    """Return the latencies to places in the order of their names, shape (players, places).

    Where they are more than `PLACES_MAX`, those that most players know are kept.
    """
    counts = np.bincount(cells.columns, minlength=len(cells.names)).tolist()
    by_use = sorted(range(len(cells.names)), key=lambda at: (-counts[at], cells.names[at]))
    kept = sorted(by_use[:PLACES_MAX], key=lambda at: cells.names[at])
    column: Ints = np.full(len(cells.names), -1, dtype=np.int64)
    column[kept] = np.arange(len(kept))
    at = column[cells.columns]
    found = np.full((players, len(kept)), np.inf)
    found[cells.rows[at >= 0], at[at >= 0]] = cells.ms[at >= 0]
    return found


def are_measured(cells: Cells, people: BatchPlayers) -> bool:
    """Return whether the ping of some of these players to another of them was measured."""
    return any(name in people.row for name in cells.names)


def pings_of(cells: Cells, people: BatchPlayers) -> Singles:
    """Return the ping of each pair of players, as `criteria.kinds.latency.ping_table` defines it.

    Complexity:
        O(players^2 * places that many know), and of each other place the pairs who know it.
    """
    players = len(people.ids)
    order = np.argsort(cells.columns, kind="stable")
    rows, ms = cells.rows[order], cells.ms[order]
    counts = np.bincount(cells.columns, minlength=len(cells.names))
    ends = np.cumsum(counts)
    is_common = counts > COMMON * players
    common = np.full((int(is_common.sum()), players), np.inf)
    for at, place in enumerate(np.flatnonzero(is_common)):
        span = slice(ends[place] - counts[place], ends[place])
        common[at, rows[span]] = ms[span]
    pings = _over_common(common)
    for place in np.flatnonzero((counts > 1) & ~is_common):
        span = slice(ends[place] - counts[place], ends[place])
        pairs = rows[span][:, None], rows[span]
        pings[pairs] = np.minimum(pings[pairs], ms[span][:, None] + ms[span])
    _put_measured(pings, cells, people)
    np.fill_diagonal(pings, 0.0)
    return pings


def _over_common(common: Floats) -> Singles:
    """Return the least sum of each pair's latencies to some places."""
    players = common.shape[1]
    pings: Singles = np.full((players, players), np.inf, dtype=np.float32)
    for top in range(0, players, TILE):
        best = np.full((min(TILE, players - top), players - top), np.inf)
        way = np.empty_like(best)
        for ms in common:
            np.add(ms[top : top + TILE, None], ms[None, top:], out=way)
            np.minimum(best, way, out=best)
        pings[top : top + TILE, top:] = best
        pings[top:, top : top + TILE] = best.T
    return pings


def _put_measured(pings: Singles, cells: Cells, people: BatchPlayers) -> None:
    """Put in what was measured between two: the larger number where both did."""
    target = np.array([people.row.get(name, -1) for name in cells.names], dtype=np.int64)
    to = target[cells.columns]
    one, two, ms = cells.rows[to >= 0], to[to >= 0], cells.ms[to >= 0]
    pings[one, two] = pings[two, one] = 0.0
    pings[one, two] = np.maximum(pings[one, two], ms)
    pings[two, one] = np.maximum(pings[two, one], ms)


def stacked(tables: Sequence[Floats], players: int) -> Floats:
    """Return latency tables of several attributes as one, unknown regions at the end."""
    widest = max((table.shape[1] for table in tables), default=0)
    found = np.full((len(tables), players, widest), np.inf)
    for at, table in enumerate(tables):
        found[at, :, : table.shape[1]] = table
    return found
