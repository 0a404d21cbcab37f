"""The compared values of each waiting ticket as columns: one ticket against all.

A **pair column** stands for a rule or a criterion of a queue: it computes the gap of a ticket to
every other in a few operations on arrays. If players name each other (players they met or avoid, or
whose ping they know), the columns cover all pairs without such names, and the few others are
**exceptions**, which the reference computes pair by pair. So the result always equals
`Comparison.pair_gap`; a property test compares the two.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Sequence

import numpy as np

from evenmatch.criteria.base import Comparison, NumberGap
from evenmatch.criteria.host_reach import COSTS, ENOUGH, WORDS
from evenmatch.criteria.kinds.latency import costs_of_ms, known_latencies
from evenmatch.criteria.kinds.numeric import Numeric
from evenmatch.criteria.scales import STEP_SLACK, Floats, scale_gaps
from evenmatch.criteria.values import elements, scaled_numbers
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.ticket import Player, Ticket, attribute_of

BITS_MAX = 52
"""Words that one column of sets can hold as bits: as many as no float mistakes for a NaN."""


class PairColumn:
    """The base, for a rule or criterion that constrains no two tickets of many.

    Args:
        comparison: The reference.
    """

    width = 0
    is_pairwise = False
    is_known = True
    """Whether columns and exceptions cover all; else each pair has to be compared by itself."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self.definition: Criterion | Rule = comparison.definition
        self.queue: Queue = comparison.queue

    @property
    def key(self) -> tuple[str, str, str] | None:
        """Return what identifies rules and criteria with the same gaps; None: nothing."""
        return None

    def values(self, ticket: Ticket) -> Sequence[float]:
        """Return a ticket's columns."""
        del ticket
        return ()

    def forget(self, ticket: Ticket) -> None:
        """Forget a ticket that is gone."""

    def gaps(self, own: Floats, table: Floats) -> Floats:
        """Return the gap of one ticket to all.

        Args:
            own: Shape (width,): its columns.
            table: Shape (width, tickets).

        Returns:
            Shape (tickets,).
        """
        del own
        return np.zeros(table.shape[1])

    def costs(self, own: Floats, table: Floats) -> Floats:
        """Return the cost of the criterion in a duel with each."""
        return self.costs_of(self.gaps(own, table))

    def costs_of(self, gaps: Floats) -> Floats:
        """Return the cost of gaps, for a criterion with a `key`."""
        return gaps

    def named(self, ticket: Ticket) -> tuple[Collection[str], Collection[str]]:
        """Return the exceptions to this ticket's columns.

        Returns:
            Ids of players that the ticket names, and ids of tickets that name one of its players.
        """
        del ticket
        return (), ()


class Numbers(PairColumn):
    """Differences of numbers: the least and the greatest value of a party, and its mean."""

    def __init__(self, comparison: Comparison) -> None:
        super().__init__(comparison)
        definition, form = self.definition, self.queue.format
        self.is_pairwise = form.is_duel or comparison.number_gap is NumberGap.WIDEST
        self._is_solo = form.solo_only
        self._is_relative = isinstance(definition, Rule) and definition.unit == "relative"
        self.width = (1 if self._is_solo else 2) + self._is_relative
        self._read = self._reader()

    def _reader(self) -> Callable[[Ticket], list[float]]:
        definition, compared = self.definition, self.comparison
        if isinstance(definition, Criterion):
            return lambda ticket: scaled_numbers(definition, self.queue.name, ticket)
        assert isinstance(compared, Numeric)
        return compared.values

    def values(self, ticket: Ticket) -> Sequence[float]:
        """Return the value, or the least and the greatest one, and the mean's size if it counts."""
        found = self._read(ticket)
        ends = found[:1] if self._is_solo else [min(found), max(found)]
        return [*ends, abs(math.fsum(found)) / len(found)] if self._is_relative else ends

    def gaps(self, own: Floats, table: Floats) -> Floats:
        """Return the spread of each pair."""
        gaps: Floats
        if self._is_solo:
            gaps = table[0] - own[0]
            return np.abs(gaps, out=gaps)
        gaps = np.maximum(table[1], own[1]) - np.minimum(table[0], own[0])
        return gaps

    def costs(self, own: Floats, table: Floats) -> Floats:
        """Return the scaled spread."""
        definition, gaps = self.definition, self.gaps(own, table)
        assert isinstance(definition, Criterion)
        assert isinstance(self.comparison, Numeric)
        if (step := self.comparison.step_of(definition)) > 0.0:
            gaps = np.floor(gaps / step + STEP_SLACK) * step
        return scale_gaps(definition.scale, gaps)


class Codes(PairColumn):
    """Values that must be equal: a number for each, none for a party whose players differ."""

    width = 1
    is_pairwise = True

    def __init__(self, comparison: Comparison) -> None:
        super().__init__(comparison)
        self._codes: dict[object, list[int]] = {}
        self._next = 0

    @property
    def key(self) -> tuple[str, str, str]:
        """Return the kind and the attribute."""
        return self.definition.kind, self.definition.attribute, ""

    def values(self, ticket: Ticket) -> Sequence[float]:
        """Return the number of the party's value."""
        key = self._key(ticket)
        if key is None:
            return (np.nan,)
        held = self._codes.get(key)
        if held is None:
            held = self._codes[key] = [self._next, 0]
            self._next += 1
        held[1] += 1
        return (float(held[0]),)

    def forget(self, ticket: Ticket) -> None:
        """Forget a value that no ticket has any more."""
        key = self._key(ticket)
        if key is not None:
            held = self._codes[key]
            held[1] -= 1
            if not held[1]:
                del self._codes[key]

    def gaps(self, own: Floats, table: Floats) -> Floats:
        """Return 0 for equal values and 1 for others."""
        gaps: Floats = (table[0] != own[0]).astype(np.float64)
        return gaps

    def _key(self, ticket: Ticket) -> object:
        name = self.definition.attribute
        keys = [_plain(attribute_of(ticket, player, name)) for player in ticket.players]
        return (keys[0],) if all(key == keys[0] for key in keys) else None


class Sets(PairColumn):
    """Sets of words that must share one: a bit for each word that a whole party has."""

    width = 1
    is_pairwise = True

    def __init__(self, comparison: Comparison) -> None:
        super().__init__(comparison)
        self._bits: dict[str, int] = {}

    @property
    def is_known(self) -> bool:  # type: ignore[override]
        """Return whether every word has a bit."""
        return len(self._bits) <= BITS_MAX

    def values(self, ticket: Ticket) -> Sequence[float]:
        """Return the bits of the words that all players of the party have."""
        name, bits = self.definition.attribute, 0
        first, *others = [set(elements(attribute_of(ticket, p, name))) for p in ticket.players]
        for word in sorted(first.intersection(*others)):
            place = self._bits.setdefault(word, len(self._bits))
            if place < BITS_MAX:
                bits |= 1 << place
        return (np.int64(bits).view(np.float64),)

    def gaps(self, own: Floats, table: Floats) -> Floats:
        """Return 0 for those with a word in common, and 1 for others."""
        mine, theirs = own.view(np.int64)[0], table[0].view(np.int64)
        gaps: Floats = ((theirs & mine) == 0).astype(np.float64)
        return gaps


class NamedPlayers(PairColumn):
    """The players that players name: those they met, and those they avoid."""

    is_pairwise = True

    def __init__(self, comparison: Comparison) -> None:
        super().__init__(comparison)
        # Ids of tickets by the word that they name.
        self.naming: dict[str, dict[str, None]] = {}

    def values(self, ticket: Ticket) -> Sequence[float]:
        """Record the names of a ticket."""
        for word in self.words(ticket):
            self.naming.setdefault(word, {})[ticket.id] = None
        return ()

    def forget(self, ticket: Ticket) -> None:
        """Forget the names of a ticket."""
        for word in self.words(ticket):
            tickets = self.naming.get(word)
            if tickets is not None:
                tickets.pop(ticket.id, None)
                if not tickets:
                    del self.naming[word]

    def words(self, ticket: Ticket) -> Collection[str]:
        """Return the words that a ticket names."""
        found = dict[str, None]()
        for player in ticket.players:
            found.update(dict.fromkeys(self.named_by(ticket, player)))
        return found

    def named_by(self, ticket: Ticket, player: Player) -> Collection[str]:
        """Return the words that a player names."""
        return self.comparison.names(ticket, player) or ()

    def named(self, ticket: Ticket) -> tuple[Collection[str], Collection[str]]:
        """Return the players whom a ticket names, and the tickets that name one of its own."""
        theirs: dict[str, None] = {}
        for player in ticket.players:
            theirs.update(self.naming.get(player.id, {}))
        return self.words(ticket), theirs


class NamedWords(NamedPlayers):
    """Words of players, some of which may name others."""

    def named_by(self, ticket: Ticket, player: Player) -> Collection[str]:
        """Return the elements of a set."""
        return elements(attribute_of(ticket, player, self.definition.attribute))


class SharedWordCount(NamedWords):
    """How many players share a word; two tickets without one share nothing."""

    width = 1

    def values(self, ticket: Ticket) -> Sequence[float]:
        """Return the most players of a party who share a word, if all pairs count."""
        super().values(ticket)
        if self.comparison.pairs != "all":
            return (0.0,)
        name = self.definition.attribute
        words = Counter(
            word for p in ticket.players for word in elements(attribute_of(ticket, p, name))
        )
        return (float(max(words.values(), default=0)),)

    def gaps(self, own: Floats, table: Floats) -> Floats:
        """Return the larger number of the two."""
        gaps: Floats = np.maximum(table[0], own[0])
        return gaps

    def named(self, ticket: Ticket) -> tuple[Collection[str], Collection[str]]:
        """Return the tickets that have a word in common with this one."""
        tickets: dict[str, None] = {}
        for word in self.words(ticket):
            tickets.update(self.naming[word])
        return (), tickets


class HostColumns(NamedWords):
    """Possible hosts of two: a number for each kind of connection; sets of ids are exceptions."""

    width = 1

    def __init__(self, comparison: Comparison) -> None:
        super().__init__(comparison)
        self.is_pairwise = self.queue.format.is_duel

    def values(self, ticket: Ticket) -> Sequence[float]:
        """Return 2 for `open`, 1 for `moderate`, 0 for `strict`, -1 for a set of ids."""
        super().values(ticket)
        value = attribute_of(ticket, ticket.players[0], self.definition.attribute)
        return (float(2 - WORDS.index(value)) if value in WORDS else -1.0,)

    def words(self, ticket: Ticket) -> Collection[str]:
        """Return the ids of a set; words for kinds of networks name nobody."""
        found = super().words(ticket)
        return [word for word in found if word not in WORDS]

    def gaps(self, own: Floats, table: Floats) -> Floats:
        """Return how many of the two cannot host; without names, both or none can."""
        theirs = table[0]
        are_joined = (theirs == 2.0) | (own[0] == 2.0) | ((theirs == 1.0) & (own[0] == 1.0))
        return np.where(are_joined, 0.0, float(ENOUGH))

    def costs_of(self, gaps: Floats) -> Floats:
        """Return the cost of the number of hosts."""
        return np.array(COSTS[::-1])[gaps.astype(np.intp)]


class Unknown(PairColumn):
    """A kind without columns: each pair is compared by itself, and only some of many pairs."""

    is_pairwise = True
    is_known = False


def _plain(value: object) -> object:
    """Return a value that can be a key; maps are equal in any order."""
    return tuple(sorted(value.items())) if isinstance(value, dict) else value


# Latencies as columns: a place that many know is a column, all others are exceptions.

PLACES_MAX = 32
"""Most places with a column."""
KNOWN_BY = 48
"""Tickets that must know a place before it gets a column."""


class LatencyColumns(NamedPlayers):
    """Milliseconds to places, for each seat of a party; inf for an unknown place.

    A place has a column for the first player, the second, and so on; places that only a few tickets
    know, above all measured pings, are left to the reference.
    """

    def __init__(self, comparison: Comparison) -> None:
        super().__init__(comparison)
        form = self.queue.format
        self._is_region = comparison.pairs == "region"
        self._slots = 1 if form.solo_only or self._is_region else max(form.players)
        # The size of the party stands after the places.
        self.width = PLACES_MAX * self._slots + 1
        self._surely_above = 0.0 if comparison.pairs == "all" else float(max(form.players))
        self.is_pairwise = comparison.pairs != "teammates"
        self.places: dict[str, int] = {}
        self._tickets: dict[str, Ticket] = {}
        self.grown: dict[str, None] = {}
        """Tickets whose columns must be rewritten, since a place has got columns."""

    @property
    def key(self) -> tuple[str, str, str] | None:
        """Return the attribute and the pairs; a joint region depends on its criterion."""
        own = (self.definition.kind, self.definition.attribute, self.comparison.pairs)
        return None if self._is_region else own

    def words(self, ticket: Ticket) -> Collection[str]:
        """Return all places that a party knows."""
        name = self.definition.attribute
        return {place: None for p in ticket.players for place in known_latencies(ticket, p, name)}

    def values(self, ticket: Ticket) -> Sequence[float]:
        """Return the milliseconds to the places with a column, and record all places."""
        super().values(ticket)
        self._tickets[ticket.id] = ticket
        for place in self.words(ticket):
            if place not in self.places and len(self.naming[place]) >= KNOWN_BY:
                self._grow(place)
        return self.row(ticket)

    def forget(self, ticket: Ticket) -> None:
        """Forget a ticket, and columns that no ticket needs any more."""
        super().forget(ticket)
        del self._tickets[ticket.id]
        self.grown.pop(ticket.id, None)
        for place in self.words(ticket):
            if place in self.places and place not in self.naming:
                del self.places[place]

    def row(self, ticket: Ticket) -> Sequence[float]:
        """Return a ticket's columns by the present numbering of places."""
        row = [math.inf] * self.width
        name = self.definition.attribute
        known = [known_latencies(ticket, player, name) for player in ticket.players]
        for place, column in self.places.items():
            if self._is_region:
                row[column] = max([each.get(place, math.inf) for each in known])
                continue
            for slot in range(self._slots):
                # A free seat of a small party never determines the largest ping.
                at = column * self._slots + slot
                row[at] = known[slot].get(place, math.inf) if slot < len(known) else -math.inf
        row[-1] = float(len(known))
        return row

    def named(self, ticket: Ticket) -> tuple[Collection[str], Collection[str]]:
        """Return the players it has measured, and tickets that know a rare place of its own."""
        words, naming = super().named(ticket)
        theirs = dict.fromkeys(naming)
        for place in words:
            if place not in self.places:
                theirs.update(self.naming.get(place, {}))
        return words, theirs

    def gaps(self, own: Floats, table: Floats) -> Floats:
        """Return the largest ping of each pair, or the largest latency to the first open region."""
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
        """Return the cost of the ping or of the two latencies in a duel."""
        if not self._is_region or not self.places:
            return self.costs_of(self.gaps(own, table))
        costs = self._joint(own, table)
        return np.where(np.isfinite(costs), costs, 1.0)

    def costs_of(self, gaps: Floats) -> Floats:
        """Return the cost of pings."""
        definition = self.definition
        assert isinstance(definition, Criterion)
        return costs_of_ms(gaps, definition.best, definition.worst)

    def _joint(self, own: Floats, table: Floats) -> Floats:
        """Return the mean cost of each duel in the best region ever allowed; inf for none."""
        columns = sorted(self.places.values())
        mine, theirs = own[columns][:, None], table[columns]
        is_open = np.maximum(mine, theirs) <= self.comparison.furthest
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
