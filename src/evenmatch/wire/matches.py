"""Matches as they go over HTTP: what they are, how players answer them, how they ended."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from evenmatch.model.match import Match, MatchOutcome


class AnswerCheck(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A ticket's answer to a ready-check.

    Args:
        ticket: The ticket that answers.
        players: The players for whom it answers; all players of the ticket if it is left out or
            empty.
    """

    ticket: str
    players: tuple[str, ...] = ()


class OutcomeState(msgspec.Struct, frozen=True, gc=False):
    """The outcome of a match, as far as it is known.

    Args:
        state: `reported` while players have not all agreed, then `counted` or `disputed`.
        ranks: The place of each team, from 1, in the order of `players`; null until the outcome
            counts.
        reports: The ranks that each player has reported; empty once the outcome counts.
    """

    state: Literal["reported", "counted", "disputed"]
    ranks: tuple[int, ...] | None
    reports: dict[str, tuple[int, ...]] = {}


class ReportOutcome(
    msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True
):
    """How a match ended.

    Args:
        ranks: The place of each team; lower is better, equal places are a draw. Give either `ranks`
            or `points`.
        points: The points that each team scored; higher is better.
        handicap: Points given to each team before the start; by default those of the match.
        teams: Player ids by team, in the order of `ranks`; by default the teams of the match.
        quitters: Players who left before the end; they lose against every other team.
        wide: Whether the match was made far beyond the usual gap; by default its policy says.
        player: The player who reports; the game's backend leaves it out.
    """

    ranks: tuple[float, ...] | None = None
    points: tuple[float, ...] | None = None
    handicap: tuple[float, ...] | None = None
    teams: tuple[tuple[str, ...], ...] = ()
    quitters: tuple[str, ...] = ()
    wide: bool | None = None
    player: str | None = None


class MatchState(msgspec.Struct, frozen=True, gc=False):
    """Who plays whom.

    Args:
        match: Its id.
        queue: Its queue.
        at: When it was made, engine time in seconds.
        tickets: Ids of its tickets, the longest waiting first.
        teams: The same ids by team.
        bots: Seats filled by computer players.
        cost: What its criteria and waits cost together; lower is better.
        quality: How good it is, from 0 to 1; null if no criterion is scaled.
        players: Ids of its players by team.
        assignment: Where it is played, as the game's backend has set it; null before that.
        handicap: Points given to each team before the start, if any team gets some.
        roles: The role of each of `players`, in queues that have roles.
        region: The best region for all, in queues that compare latencies.
        latency_delta: By team and player, how many milliseconds the latency to `region` is above
            the player's lowest latency.
        hosts: Players who reach all others, best first, in queues that ask for hosts.
        off_side: Tickets that are on another side than they asked for, if there are any.
        state: `proposed` while it waits for acceptance; absent otherwise.
        accepted: Players who have accepted it.
        left: Players who declined, left or did not answer, and whose seats are being filled.
        outcome: How it ended, once somebody has reported it.
        extends: The match to which this one brings newcomers. Tickets, teams, players and roles are
            those of the newcomers; the quality is that of the whole match with them.
        void: Why it was called off; its tickets wait again.
    """

    match: str
    queue: str
    at: float
    tickets: tuple[str, ...]
    teams: tuple[tuple[str, ...], ...]
    bots: int
    cost: float
    quality: float | None
    players: tuple[tuple[str, ...], ...]
    assignment: dict[str, str] | None = None
    handicap: tuple[float, ...] | UnsetType = UNSET
    roles: tuple[tuple[str, ...], ...] | UnsetType = UNSET
    region: str | UnsetType = UNSET
    latency_delta: tuple[tuple[float, ...], ...] | UnsetType = UNSET
    hosts: tuple[str, ...] | UnsetType = UNSET
    off_side: tuple[str, ...] | UnsetType = UNSET
    state: str | UnsetType = UNSET
    accepted: tuple[str, ...] | UnsetType = UNSET
    left: tuple[str, ...] | UnsetType = UNSET
    outcome: OutcomeState | UnsetType = UNSET
    extends: str | UnsetType = UNSET
    void: str | UnsetType = UNSET


class FeedMatch(MatchState, frozen=True, gc=False):
    """A match in the feed.

    Args:
        seq: The number of the journal's record that made it or called it off.
    """

    seq: int = 0


class FeedPage(msgspec.Struct, frozen=True, gc=False):
    """Matches in order.

    Args:
        matches: The matches after the given number; a page has either all matches of a number or
            none.
        next: Send this as `after` to get the next page.
    """

    matches: tuple[FeedMatch, ...]
    next: int


def match_state(
    match: Match,
    assignment: dict[str, str] | None = None,
    outcome: MatchOutcome | None = None,
    void: str | None = None,
) -> MatchState:
    """Return a match as it goes over HTTP."""
    return MatchState(
        match.id,
        match.queue,
        match.at,
        match.tickets,
        match.teams,
        match.bots,
        match.cost,
        match.quality,
        match.players,
        assignment,
        match.handicap or UNSET,
        match.roles or UNSET,
        match.region or UNSET,
        match.latency_delta or UNSET,
        UNSET if match.hosts is None else match.hosts,
        match.off_side or UNSET,
        outcome=UNSET if outcome is None else outcome_state(outcome),
        extends=match.extends or UNSET,
        void=UNSET if void is None else void,
    )


def proposal_state(
    match: Match, accepted: dict[str, tuple[str, ...]], left: tuple[str, ...]
) -> MatchState:
    """Return a match that waits for acceptance as it goes over HTTP."""
    return msgspec.structs.replace(
        match_state(match),
        state="proposed",
        accepted=tuple([player for players in accepted.values() for player in players]),
        left=left,
    )


def outcome_state(outcome: MatchOutcome) -> OutcomeState:
    """Return an outcome as it goes over HTTP."""
    reports = {player: result.ranks for player, result in outcome.reports.items()}
    return OutcomeState(
        outcome.state, None if outcome.result is None else outcome.result.ranks, reports
    )


def feed_match(
    match: Match, assignment: dict[str, str] | None, seq: int, void: str | None = None
) -> FeedMatch:
    """Return a match as the feed shows it."""
    shown = match_state(match, assignment, void=void)
    return FeedMatch(**msgspec.structs.asdict(shown), seq=seq)
