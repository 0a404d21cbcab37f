"""Latencies as columns: a place that many know is a column, all others are exceptions."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from evenmatch.criteria.base import Comparison
from evenmatch.criteria.kinds.latency import Latency, costs_of_ms, known_of
from evenmatch.criteria.scales import Floats
from evenmatch.explain.pair_columns import NamedPlayers
from evenmatch.model.queue import Criterion
from evenmatch.model.ticket import Ticket

PLACES_MAX = 32
"""Places with a column at the most."""
KNOWN_BY = 48
"""Tickets that know a place from which on it gets a column."""


class LatencyColumns(NamedPlayers):
    """Milliseconds to places, for each seat of a party; inf for a place that is not known.

    The columns of a place are those of the first player, the second, and so on; what only a few
    tickets know, measured pings above all, is left to the reference.
    """

    def __init__(self, compared: Comparison) -> None:
        super().__init__(compared)
        assert isinstance(compared, Latency)
        form = self.queue.format
        self._is_region = compared.pairs == "region"
        self._slots = 1 if form.solo_only or self._is_region else max(form.players)
        # Behind the places stands the size of the party.
        self.width = PLACES_MAX * self._slots + 1
        self._is_duel = form.is_duel
        self._surely_above = 0.0 if compared.pairs == "all" else float(max(form.players))
        self.is_pairwise = compared.pairs != "teammates"
        self.places: dict[str, int] = {}
        self._tickets: dict[str, Ticket] = {}
        self.grown: dict[str, None] = {}
        """Tickets whose columns have to be written anew, since a place has become one."""

    @property
    def key(self) -> tuple[str, str, str] | None:
        """Return the attribute and the pairs that count; a joint region hangs on what weighs it."""
        assert isinstance(self.compared, Latency)
        pairs = self.compared.pairs
        return None if self._is_region else ("latency", self.given.attribute, pairs)

    def words(self, ticket: Ticket) -> Collection[str]:
        """Return all places that a party knows."""
        name = self.given.attribute
        return {place: None for p in ticket.players for place in known_of(ticket, p, name)}

    def values(self, ticket: Ticket) -> Sequence[float]:
        """Return the milliseconds to the places with a column, and note all places."""
        super().values(ticket)
        self._tickets[ticket.id] = ticket
        for place in self.words(ticket):
            if place not in self.places and len(self.naming[place]) >= KNOWN_BY:
                self._grow(place)
        return self.row(ticket)

    def forget(self, ticket: Ticket) -> None:
        """Forget a ticket, and columns that nobody needs any more."""
        super().forget(ticket)
        del self._tickets[ticket.id]
        self.grown.pop(ticket.id, None)
        for place in self.words(ticket):
            if place in self.places and place not in self.naming:
                del self.places[place]

    def row(self, ticket: Ticket) -> Sequence[float]:
        """Return a ticket's columns as places are numbered now."""
        row = [math.inf] * self.width
        name = self.given.attribute
        known = [known_of(ticket, player, name) for player in ticket.players]
        for place, column in self.places.items():
            if self._is_region:
                row[column] = max([each.get(place, math.inf) for each in known])
                continue
            for slot in range(self._slots):
                # A seat that a small party leaves free never makes the largest ping.
                at = column * self._slots + slot
                row[at] = known[slot].get(place, math.inf) if slot < len(known) else -math.inf
        row[-1] = float(len(known))
        return row

    def named(self, ticket: Ticket) -> tuple[Collection[str], Collection[str]]:
        """Return players whom it has measured, and tickets that know a rare place of its own."""
        words, naming = super().named(ticket)
        theirs = dict.fromkeys(naming)
        for place in words:
            if place not in self.places:
                theirs.update(self.naming.get(place, {}))
        return words, theirs

    def gaps(self, own: Floats, table: Floats) -> Floats:
        """Return the largest ping of each pair, or the largest latency to the first region open."""
        columns = sorted(self.places.values())
        if not self.is_pairwise:
            return np.zeros(table.shape[1])
        if not self._is_region:
            pings = self._pings(own, table, columns)
            return np.where(table[-1] + own[-1] > self._surely_above, pings, 0.0)
        if not columns:
            return np.full(table.shape[1], math.inf)
        worst: Floats = np.maximum(table[columns], own[columns][:, None]).min(axis=0)
        return worst

    def _pings(self, own: Floats, table: Floats, columns: list[int]) -> Floats:
        """Return the largest ping of each pair of parties, over the best common places."""
        if not columns:
            return np.full(table.shape[1], math.inf)
        slots, count = self._slots, table.shape[1]
        longest = np.full(count, -math.inf)
        way = np.empty(count)
        for mine in range(min(slots, int(own[-1]))):
            for theirs in range(slots):
                shortest = np.full(count, math.inf)
                for column in columns:
                    ms = own[column * slots + mine]
                    if ms < math.inf:
                        np.add(table[column * slots + theirs], ms, out=way)
                        np.minimum(shortest, way, out=shortest)
                if slots > 1:
                    shortest[table[columns[0] * slots + theirs] == -math.inf] = -math.inf
                np.maximum(longest, shortest, out=longest)
        return longest

    def costs(self, own: Floats, table: Floats) -> Floats:
        """Return what the ping or the two latencies cost in a duel."""
        if not self._is_region or not self.places:
            return self.costs_of(self.gaps(own, table))
        costs = self._joint(own, table)
        return np.where(np.isfinite(costs), costs, 1.0)

    def costs_of(self, gaps: Floats) -> Floats:
        """Return what pings cost."""
        given = self.given
        assert isinstance(given, Criterion)
        return costs_of_ms(gaps, given.best, given.worst)

    def _joint(self, own: Floats, table: Floats) -> Floats:
        """Return the mean cost of each duel in the best region that ever opens; inf for none."""
        assert isinstance(self.compared, Latency)
        columns = sorted(self.places.values())
        mine, theirs = own[columns][:, None], table[columns]
        is_open = np.maximum(mine, theirs) <= self.compared.furthest
        costs = self.costs_of(mine) + self.costs_of(theirs)
        costs = np.where(is_open & np.isfinite(mine + theirs), costs, math.inf)
        best: Floats = costs.min(axis=0) / 2.0
        return best

    def _grow(self, place: str) -> None:
        """Give a place a column, if one is free."""
        taken = set(self.places.values())
        free = next((n for n in range(PLACES_MAX) if n not in taken), None)
        if free is not None:
            self.places[place] = free
            self.grown.update(self.naming[place])
