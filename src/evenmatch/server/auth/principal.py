"""The principal of a request: a service with a key, a player with a token, or this machine."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from evenmatch.errors import Refusal
from evenmatch.model.ticket import Rating, Value
from evenmatch.server.http.responses import Scope

Kind = Literal["service", "player", "local", "nobody"]

SERVICE_RIGHTS = ("tickets", "matches", "operate", "read")
"""What a key may be given: to handle anybody's tickets, to see and lead matches, to operate the
server, to read its figures."""
OWN = "own"
"""The right of a player: to handle tickets of their own."""
ANYONE = "anyone"
"""The right that needs no credential."""


class PartyMember(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A party-mate whom a token vouches for."""

    id: str
    rating: Rating | None = None
    household: str | None = None


class TokenFacts(msgspec.Struct, frozen=True):
    """The facts about a player in their token, signed by the game.

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
    party: tuple[PartyMember, ...] = ()
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
        token_facts: What a player's token says about them.
    """

    kind: Kind
    name: str
    rights: frozenset[str]
    tenant: str = ""
    key: str = ""
    queues: frozenset[str] = frozenset()
    until: float = math.inf
    token_facts: TokenFacts = TokenFacts()

    @property
    def is_player(self) -> bool:
        """Return whether they may only handle what is their own."""
        return self.kind == "player"

    @property
    def is_operator(self) -> bool:
        """Return whether they operate the server, and handle no tickets for players."""
        return "operate" in self.rights and "tickets" not in self.rights


LOCAL = Principal("local", "local", frozenset((ANYONE, *SERVICE_RIGHTS)))
"""Whoever reaches a server without keys: it listens on this machine only."""
NOBODY = Principal("nobody", "nobody", frozenset((ANYONE,)))
"""A caller without a credential, where keys are configured."""


def principal_of(scope: Scope) -> Principal:
    """Return the principal of a request."""
    caller: Principal = scope.get("principal", LOCAL)
    return caller


# Why a caller is turned away.


class Unauthenticated(Refusal):
    """The request needs a service key or a player token that this server accepts.

    Args:
        message: What the caller is told; it never says which games there are.
        reason: What the audit log is told, one word.
    """

    code = "unauthenticated"
    tenant: str | None = None
    """The game whose login has signed what is not valid; None: nobody knows which was meant."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class Forbidden(Refusal):
    """The caller is known but does not have the right to do this."""

    code = "forbidden"


class TooManyRequests(Refusal):
    """The caller sends too many requests; wait `seconds` before the next one."""

    code = "too_many_requests"
    tenant: str | None = None
    """The game of the caller; None: nobody knows which."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


def unknown_credential(reason: str) -> Unauthenticated:
    """Return the one refusal for everything that is not a valid key or token."""
    return Unauthenticated("the key or token is not valid here; get a new one", reason)


def bad_claim(claim: str, words: str, reason: str) -> Unauthenticated:
    """Return the refusal of a token for one of its claims.

    It names the claim and never what would be right there, so that it helps whoever makes tokens,
    and nobody who guesses.
    """
    return Unauthenticated(f"the token's {claim} {words}; get a new one", reason)


def no_bearer() -> Unauthenticated:
    """Return the refusal of a header `Authorization` of another form."""
    return Unauthenticated(
        "the header must read Authorization: Bearer KEY, with a key or a token", "malformed"
    )


def no_credential() -> Unauthenticated:
    """Return the refusal of a request that carries neither a key nor a token."""
    return Unauthenticated(
        "this needs a key or a token: send the header Authorization: Bearer KEY", "none"
    )
