"""Who calls: a service with a key, a player with a token, or the machine itself."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from evenmatch.model.rating import Rating
from evenmatch.model.ticket import Value

Kind = Literal["service", "player", "local", "nobody"]

SERVICE_RIGHTS = ("tickets", "matches", "operate", "read")
"""What a key may be given: to handle anybody's tickets, to see and lead matches, to operate the
server, to read its figures."""
OWN = "own"
"""The right of a player: to handle tickets of his own."""
ANYONE = "anyone"
"""The right that needs no credential."""


class Member(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A party-mate whom a token vouches for."""

    id: str
    rating: Rating | None = None
    household: str | None = None


class Vouched(msgspec.Struct, frozen=True):
    """What a player's token says about him, signed by the game.

    Args:
        rating: His rating; None leaves it to the server.
        household: A key that accounts of one household share.
        party: Whom he may bring along.
        attributes: Facts that go before what his own client says; a map, such as latencies by
            region, adds to it.
        is_guest: This server made the token itself.
    """

    rating: Rating | None = None
    household: str | None = None
    party: tuple[Member, ...] = ()
    attributes: dict[str, Value] = {}
    is_guest: bool = False


class Principal(msgspec.Struct, frozen=True):
    """Who calls.

    Args:
        kind: What he is.
        name: The key's name, or the player's id.
        rights: What he may do.
        tenant: The game that he belongs to.
        key: The id of his key; "" without one.
        queues: The queues that his key is for; empty means all.
        until: Unix time from which his credential counts no more.
        vouched: What a player's token says about him.
    """

    kind: Kind
    name: str
    rights: frozenset[str]
    tenant: str = ""
    key: str = ""
    queues: frozenset[str] = frozenset()
    until: float = math.inf
    vouched: Vouched = Vouched()

    @property
    def is_player(self) -> bool:
        """Return whether he may handle nothing but his own."""
        return self.kind == "player"

    @property
    def is_operator(self) -> bool:
        """Return whether he operates the server, and handles no tickets for players."""
        return "operate" in self.rights and "tickets" not in self.rights


LOCAL = Principal("local", "local", frozenset((ANYONE, *SERVICE_RIGHTS)))
"""Whoever reaches a server without keys: it listens on this machine only."""
NOBODY = Principal("nobody", "nobody", frozenset((ANYONE,)))
"""A caller without a credential, where keys are configured."""
