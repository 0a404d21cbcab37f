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
        roster_version: The match's roster version, as far as the backend knows it; 0 until the
            match is filled for the first time.
        left: Players who have left the match; they never come back to it.
        free: How many seats to fill, by team; by default all that are free.
        priority: Whether its seats are filled before new matches are made, along with them or after
            them.
        lease: Seconds after which the match closes, unless the backend sends this request again.
        quality_floor: The lowest quality that the match may have with the newcomers.
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
        wanted: How many of the free seats are to be filled now, by team.
        fills: The matches that brought newcomers, in order.
        expires_in: Seconds until it closes unless the backend sends a heartbeat; null while it is
            closed.
        proposed: The fill whose newcomers are now asked to accept; left out if there is none.
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
    """A match for which a server is being found.

    Args:
        match: The match.
        queue: Its queue.
        hook: The hook that finds the server.
        state: `waiting` for its turn; `asked`; `told` if the hook will send the server later;
            `paused` before the next attempt; `dead` if all attempts failed, until an operator
            retries; or `void`, after which its tickets wait again.
        attempts: How often the hook has been asked.
        reason: Why the last attempt failed.
    """

    match: str
    queue: str
    hook: str
    state: str
    attempts: int
    reason: str | None
