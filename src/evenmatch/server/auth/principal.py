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
"""The right of a player: to handle tickets of their own."""
ANYONE = "anyone"
"""The right that needs no credential."""


class Member(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A party-mate whom a token vouches for."""

    id: str
    rating: Rating | None = None
    household: str | None = None


class Vouched(msgspec.Struct, frozen=True):
    """What a player's token says about them, signed by the game.

    Args:
        rating: Their rating; None leaves it to the server.
        household: A key that accounts of one household share.
        party: The players they may bring along.
        attributes: Facts that go before what their own client says; a map, such as latencies by
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
        kind: What they are.
        name: The key's name, or the player's id.
        rights: What they may do.
        tenant: The game that they belong to.
        key: The id of their key; "" without one.
        queues: The queues that their key is for; empty means all.
        until: Unix time from which their credential is no longer valid.
        vouched: What a player's token says about them.
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
        """Return whether they may handle nothing but their own."""
        return self.kind == "player"

    @property
    def is_operator(self) -> bool:
        """Return whether they operate the server, and handle no tickets for players."""
        return "operate" in self.rights and "tickets" not in self.rights


LOCAL = Principal("local", "local", frozenset((ANYONE, *SERVICE_RIGHTS)))
"""Whoever reaches a server without keys: it listens on this machine only."""
NOBODY = Principal("nobody", "nobody", frozenset((ANYONE,)))
"""A caller without a credential, where keys are configured."""
