"""What goes over HTTP about outcomes and ratings."""

from __future__ import annotations

from typing import Literal

import msgspec

from evenmatch.model.outcome import MatchOutcome


class OutcomeState(msgspec.Struct, frozen=True, gc=False):
    """What is known of a match's outcome.

    Args:
        state: `reported` by players who are not yet agreed, `counted`, or `disputed`.
        ranks: Place of each team from 1 in the order of `players`; null until it counts.
        reports: The ranks that each player has reported; empty once it counts.
    """

    state: Literal["reported", "counted", "disputed"]
    ranks: tuple[int, ...] | None
    reports: dict[str, tuple[int, ...]] = {}


class ReportOutcome(
    msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True
):
    """How a match ended.

    Args:
        ranks: Place of each team, lower is better, equal is a draw; either these or `points`.
        points: What each team scored, higher is better.
        handicap: Points given to each team before the start; left out: those of the match.
        teams: Player ids by team, in the order of `ranks`; left out: the teams of the match.
        quitters: Players who left before the end: they lose to every other team.
        wide: Whether the match was made far beyond the usual gap; left out: what its policy says.
        player: The player who reports; left out by the game's own service.
    """

    ranks: tuple[float, ...] | None = None
    points: tuple[float, ...] | None = None
    handicap: tuple[float, ...] | None = None
    teams: tuple[tuple[str, ...], ...] = ()
    quitters: tuple[str, ...] = ()
    wide: bool | None = None
    player: str | None = None


class PlayerRating(msgspec.Struct, frozen=True, gc=False):
    """What is stored of a player in a ladder; the deviation is as wide as it is now."""

    player: str
    ladder: str
    mean: float
    deviation: float
    volatility: float | None


def outcome_state(told: MatchOutcome) -> OutcomeState:
    """Return an outcome as it goes over HTTP."""
    reports = {player: result.ranks for player, result in told.reports.items()}
    return OutcomeState(told.state, None if told.result is None else told.result.ranks, reports)
