"""Players, the parties they form, and the tickets that parties wait with."""

from __future__ import annotations

import unicodedata

import msgspec

from evenmatch.errors import InvalidTicket

Value = float | str | tuple[str, ...] | dict[str, float]
"""An attribute: a number, a word, a set of words (sorted), or a map such as region -> ms."""

LATENCY = "latency"
"""The attribute that says how far places are, in milliseconds; any ticket may carry it."""


class Player(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """A person who wants to play.

    Args:
        id: The game's own id of the player.
        rating: The player's skill, if it is known.
        attributes: Attributes by name: a number, a text, a set of texts, or a map such as region ->
            milliseconds.
        roles: Roles that the player accepts, the preferred one first; empty means any.
    """

    id: str
    rating: Rating | None = None
    attributes: dict[str, Value] = {}
    roles: tuple[str, ...] = ()


class NewTicket(
    msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True
):
    """A party's request to play, before the engine has accepted it.

    Args:
        players: The party: 1 or more people who stay together.
        queues: Names of the queues to wait in; empty means the first queue.
        attributes: Facts of the party; they count for each of its players.
        id: The caller's own id (simulations); None lets the engine number the ticket.
    """

    players: tuple[Player, ...]
    queues: tuple[str, ...] = ()
    attributes: dict[str, Value] = {}
    id: str | None = None


class Ticket(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A party's accepted request to play; it never changes.

    Args:
        id: Unique in the shard.
        sequence: Counts the accepted tickets from 1; it breaks ties between equal `enqueued_at`.
        enqueued_at: Engine time at which it first entered, in seconds.
        players: The party.
        queues: Where it waits.
        attributes: Facts of the party.
        percentiles: Each player's percentile among recent values, in queues that compare
            percentiles; see `criteria.percentile`.
    """

    id: str
    sequence: int
    enqueued_at: float
    players: tuple[Player, ...]
    queues: tuple[str, ...]
    attributes: dict[str, Value] = {}
    percentiles: dict[str, tuple[float, ...]] = {}

    @property
    def size(self) -> int:
        """Return the number of players."""
        return len(self.players)

    @property
    def age_key(self) -> tuple[float, int]:
        """Return the order of waiting: longest first, then by acceptance."""
        return (self.enqueued_at, self.sequence)


def check_player_id(name: str, where: str) -> None:
    """Refuse ids that are blank or hold control characters; joined emoji are fine.

    Raises:
        InvalidTicket: The id cannot be read.
    """
    if name.isprintable() and not name.isspace():
        return
    if name.isspace():
        raise InvalidTicket("a player's id may not be blank", where=where)
    for character in name:
        if unicodedata.category(character) in ("Cc", "Zl", "Zp"):
            raise InvalidTicket(
                f"a player's id may not hold control characters, got {character!r}", where=where
            )


def attribute_of(ticket: Ticket | NewTicket, player: Player, name: str) -> Value | None:
    """Return a fact of the player, else of the party, else of the rating; None if unknown.

    A map of the player adds to one of the party.

    The names `rating` and `rating_deviation` mean the player's rating unless an attribute of
    that name is given.
    """
    # Most tickets have no attributes at all: this runs several times for each of them.
    value = player.attributes.get(name) if player.attributes else None
    if ticket.attributes:
        shared = ticket.attributes.get(name)
        if value is None:
            value = shared
        elif type(value) is dict and type(shared) is dict:
            return shared | value
    if value is None and (rating := player.rating) is not None:
        if name == "rating":
            return rating.mean
        if name == "rating_deviation":
            return rating.deviation
    return value


# What is known of a player's skill.

POINTS_MAX = 1e9
"""Largest mean or deviation that is rated, so that squares and sums stay far from overflow."""
VOLATILITY_MIN, VOLATILITY_MAX = 1e-12, 10.0


class Rating(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A player's skill as a rating system sees it.

    Args:
        mean: The estimated strength, in points of the rating system.
        deviation: The standard deviation of the estimate, in the same points, >= 0. The default is
            that of Glicko's newcomers; in other points, as those of `weng_lin`, always give it.
        volatility: Glicko-2's volatility; other systems have none.
    """

    mean: float
    deviation: float = 350.0
    volatility: float | None = None

    @property
    def is_ratable(self) -> bool:
        """Return whether a rating system can go on from here."""
        return (
            abs(self.mean) <= POINTS_MAX
            and 0.0 <= self.deviation <= POINTS_MAX
            and (self.volatility is None or 0.0 < self.volatility <= VOLATILITY_MAX)
        )
