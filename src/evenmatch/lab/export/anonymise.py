"""A trace without identities: whatever could identify a person becomes a hash; its key is deleted.

- Ids of players and tickets, and all texts in attributes, become hashes. Equal texts stay equal,
  so that rules such as `same`, `avoid` and `household_limit` still mean the same.
- The key is random and is never stored, so nobody can try ids until one fits.
- Attributes that no queue compares are dropped: they may be anything.
- What stays is what matchmaking needs: instants, sizes, queues, sides, roles, names of regions,
  latencies, and ratings and other numbers, rounded (`Rounding`). A rare one may still point to a
  person.
"""

from __future__ import annotations

import math
import secrets
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from hashlib import blake2b

import msgspec
import numpy as np

from evenmatch.criteria.base import Form
from evenmatch.criteria.registry import form_of
from evenmatch.model.match import Match
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.ticket import NewTicket, Player, Rating, Value

KEY_BYTES = 32
HASH_BYTES = 10
"""80 bits: among a million ids two are equal with a chance of 1 in 10^12."""
PLAIN = ("side",)
"""Texts that the configuration defines."""


class Disguise:
    """Hashes with one key, which is new for each object.

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
        self._regions = {each.attribute for each in given if form_of(each) is Form.PLACES}

    def hide(self, text: str) -> str:
        """Return the hash of a text; its leading letter keeps it from being read as a number."""
        return "h" + blake2b(text.encode(), key=self._key, digest_size=HASH_BYTES).hexdigest()

    def ticket(self, ticket: NewTicket) -> NewTicket:
        """Return a ticket without names; the caller hides the ticket's own id."""
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


# Numbers of an anonymised trace: rounded, so that most are shared by many players.
#
# For anyone who knows the game's ladder, an exact rating is as good as a name. So each number that
# the queues compare is rounded to a hundredth of its range among the players, which hardly changes
# any limit, and the report says how many players are still unique in it.

LEVELS = 100
"""Steps between the lowest and the highest value, without a twentieth at either end."""
RATING, DEVIATION = "rating", "rating_deviation"


class Rounding:
    """The steps to which the numbers of some tickets are rounded.

    Args:
        tickets: All of them.
    """

    def __init__(self, tickets: Iterable[NewTicket]) -> None:
        values: dict[str, list[float]] = {}
        for ticket in tickets:
            for name, value in numbers_in(ticket):
                values.setdefault(name, []).append(value)
        self.steps = {name: step_of(found) for name, found in values.items()}

    def ticket(self, ticket: NewTicket) -> NewTicket:
        """Return a ticket with rounded numbers."""
        players = tuple(
            [
                Player(p.id, self._rating(p.rating), self._facts(p.attributes), p.roles)
                for p in ticket.players
            ]
        )
        return NewTicket(players, ticket.queues, self._facts(ticket.attributes))

    def _rating(self, rating: Rating | None) -> Rating | None:
        if rating is None:
            return None
        mean = rounded(rating.mean, self.steps[RATING])
        return Rating(mean, rounded(rating.deviation, self.steps[DEVIATION]))

    def _facts(self, attributes: Mapping[str, Value]) -> dict[str, Value]:
        return {
            name: rounded(value, self.steps[name]) if _is_number(value) else value  # type: ignore[arg-type]
            for name, value in attributes.items()
        }


def alone(tickets: Iterable[NewTicket]) -> tuple[int, int]:
    """Return how many players are the only one with their rating, and how many have a rating."""
    ratings: dict[str, float] = {}
    for ticket in tickets:
        ratings |= {p.id: p.rating.mean for p in ticket.players if p.rating is not None}
    shared = Counter(ratings.values())
    return sum(shared[mean] == 1 for mean in ratings.values()), len(ratings)


def numbers_in(ticket: NewTicket) -> Iterable[tuple[str, float]]:
    """Yield the numbers of a ticket with their names."""
    for player in ticket.players:
        if player.rating is not None:
            yield RATING, player.rating.mean
            yield DEVIATION, player.rating.deviation
        for name, value in player.attributes.items():
            if _is_number(value):
                yield name, value  # type: ignore[misc]
    for name, value in ticket.attributes.items():
        if _is_number(value):
            yield name, value  # type: ignore[misc]


def step_of(values: list[float]) -> float:
    """Return 1, 2 or 5 times a power of ten: about a hundredth of the range of values.

    >>> step_of([1000.0, 1500.0, 2000.0]), step_of([3.0, 3.0])
    (5.0, 0.0)
    """
    low, high = np.quantile(values, (0.05, 0.95)).tolist()
    wanted = (high - low) / LEVELS
    if not wanted > 0.0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(wanted))
    return power * max(factor for factor in (1, 2, 5) if factor * power <= wanted)


def rounded(value: float, step: float) -> float:
    """Return the nearest multiple of a step; the value itself if the step is 0.

    >>> rounded(1503.7, 5.0), rounded(0.123456, 0.02)
    (1505.0, 0.12)
    """
    if step == 0.0:
        return value
    digits = max(0, -math.floor(math.log10(step)))
    return round(round(value / step) * step, digits)


def _is_number(value: object) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool)
