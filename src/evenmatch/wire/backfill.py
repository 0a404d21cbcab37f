"""Running matches that ask for players, as they go over HTTP."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from evenmatch.model.match import Priority

LEASE_MIN, LEASE_MAX = 1.0, 3_600.0


class OpenForBackfill(
    msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True
):
    """A running match asks for players; the same request again is a heartbeat.

    Args:
        roster_version: The match's, as far as the backend knows; 0 until it is filled first.
        left: Players who have left it; they never come back to this match.
        free: Seats by team that are to be filled; left out: all that are free.
        priority: Whether its seats are filled before new matches, among them or after.
        lease: Seconds after which the match closes unless it is heard of.
        quality_floor: The least that the match may be worth with the newcomers.
    """

    roster_version: Annotated[int, Meta(ge=0, le=1_000_000)]
    left: Annotated[tuple[str, ...], Meta(max_length=1_000)] = ()
    free: Annotated[tuple[Annotated[int, Meta(ge=0, le=1_000)], ...], Meta(max_length=1_000)] = ()
    priority: Priority = "normal"
    lease: Annotated[float, Meta(ge=LEASE_MIN, le=LEASE_MAX)] = 30.0
    quality_floor: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.0


class BackfillState(msgspec.Struct, frozen=True, gc=False):
    """Who plays in a running match, and whom it asks for.

    Args:
        match: The match.
        open: Whether it asks for players now.
        roster_version: How often it has been filled.
        players: Who plays now, by team.
        left: Who has left it.
        free: Free seats by team.
        wanted: Those of them that are to be filled now.
        fills: The matches that brought newcomers, in order.
        expires_in: Seconds until it closes unless it is heard of; null while it is closed.
        proposed: The fill whose newcomers are asked now whether they accept; left out if there is
            none.
    """

    match: str
    open: bool
    roster_version: int
    players: tuple[tuple[str, ...], ...]
    left: tuple[str, ...]
    free: tuple[int, ...]
    wanted: tuple[int, ...]
    fills: tuple[str, ...]
    expires_in: float | None = None
    proposed: str | UnsetType = UNSET


class AllocationState(msgspec.Struct, frozen=True, gc=False):
    """A match on its way to a server.

    Args:
        match: The match.
        queue: Its queue.
        hook: The hook that is to find a server.
        state: `waiting` for its turn, `asked`, `told` (the hook will say it later), `paused` before
            the next try, `dead` (an operator may ask again), or `void` (its tickets wait again).
        attempts: How often the hook was asked.
        reason: Why the last try failed.
    """

    match: str
    queue: str
    hook: str
    state: str
    attempts: int
    reason: str | None
