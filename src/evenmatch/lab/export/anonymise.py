"""A trace without the people: what could name somebody becomes a hash under a key thrown away.

- Ids of players and tickets, and all texts in attributes, become hashes. Equal texts stay equal,
  so that rules such as `same`, `avoid` and `household_limit` still mean the same.
- The key is random and is never stored, so nobody can try ids until one fits.
- Attributes that no queue compares are dropped: they may be anything.
- What stays is what matchmaking needs: instants, sizes, queues, sides, roles, names of regions,
  latencies, and ratings and other numbers, rounded (`rounding.py`). A rare one may still point to a
  person.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable
from hashlib import blake2b

import msgspec

from evenmatch.model.match import Match
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.ticket import NewTicket, Player, Value

KEY_BYTES = 32
HASH_BYTES = 10
"""80 bits: among a million ids two are equal with a chance of 1 in 10^12."""
PLAIN = ("side",)
"""Texts that the configuration defines."""
KEPT_KEYS = ("latency",)
"""Kinds whose maps have regions for keys."""


class Disguise:
    """Hashes under one key; a new one each time.

    Args:
        queues: Whose rules and criteria say which attributes stay.
        people: Ids of players: a latency may be to another player, and its key is then an id.
    """

    def __init__(self, queues: Iterable[Queue], people: Collection[str]) -> None:
        self._key = secrets.token_bytes(KEY_BYTES)
        self._people = people
        given: list[Criterion | Rule] = []
        self._kept = set(PLAIN)
        for queue in queues:
            given += [*queue.criteria, *queue.rules]
            if queue.handicap is not None:
                self._kept.add(queue.handicap.attribute)
        self._kept |= {each.attribute for each in given if each.attribute}
        self._regions = {each.attribute for each in given if each.kind in KEPT_KEYS}

    def hide(self, text: str) -> str:
        """Return the hash that stands for a text."""
        return blake2b(text.encode(), key=self._key, digest_size=HASH_BYTES).hexdigest()

    def ticket(self, ticket: NewTicket) -> NewTicket:
        """Return a ticket without names; its own id is the caller's to hide."""
        players = tuple(
            [
                Player(self.hide(p.id), p.rating, self._facts(p.attributes), p.roles)
                for p in ticket.players
            ]
        )
        return NewTicket(players, ticket.queues, self._facts(ticket.attributes))

    def match(self, match: Match) -> Match:
        """Return a match without names."""

        def hidden(ids: Iterable[str]) -> tuple[str, ...]:
            return tuple([self.hide(each) for each in ids])

        return msgspec.structs.replace(
            match,
            id=self.hide(match.id),
            tickets=hidden(match.tickets),
            teams=tuple([hidden(team) for team in match.teams]),
            players=tuple([hidden(team) for team in match.players]),
            extends=None if match.extends is None else self.hide(match.extends),
            hosts=None if match.hosts is None else hidden(match.hosts),
            off_side=None if match.off_side is None else hidden(match.off_side),
        )

    def _facts(self, attributes: dict[str, Value]) -> dict[str, Value]:
        return {
            name: value if name in PLAIN else self._value(name, value)
            for name, value in attributes.items()
            if name in self._kept
        }

    def _value(self, name: str, value: Value) -> Value:
        if isinstance(value, str):
            return self.hide(value)
        if isinstance(value, tuple):
            return tuple(sorted(self.hide(each) for each in value))
        if isinstance(value, dict):
            is_region = name in self._regions
            return {
                key if is_region and key not in self._people else self.hide(key): number
                for key, number in value.items()
            }
        return value
