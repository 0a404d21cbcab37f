"""Outcomes: which of them count, and when they change ratings.

    (played) --> counted              the game's service says so
       `------> reported --> counted  every player has said the same; or, 10 minutes after the first
                    |                 report, players of two teams have, and nobody something else;
                    |                 who has left the match is neither awaited nor asked
                    `------> disputed otherwise; it changes no rating

What has counted stays. Until then the service's word overrides that of players, even after a
dispute. An outcome that counts is rated at once, or waits for the end of its rating period.

The rating function comes from outside: the engine knows what is rated and when, not how.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace

from evenmatch.criteria.expansion import round_up
from evenmatch.engine.matching.deadlines import Deadlines, Entry
from evenmatch.engine.matching.scheduler import Scheduler
from evenmatch.engine.outcomes.rating_ladders import Rate
from evenmatch.engine.state.rows import KeptMatch, Period, StoredRating
from evenmatch.engine.state.state import Tables
from evenmatch.engine.state.stored_ratings import aged_rating, period_of
from evenmatch.errors import (
    InvalidOutcome,
    NotInMatch,
    OutcomeDiffers,
    OutcomeDisputed,
    Overloaded,
    TooLate,
)
from evenmatch.model.events import (
    Counted,
    Disputed,
    Finished,
    PeriodBegan,
    PeriodEnded,
    Rated,
    Reported,
)
from evenmatch.model.inputs import Outcome
from evenmatch.model.match import Match, MatchOutcome, Result, places_of
from evenmatch.model.queue import Queue

REPORTS_LAST = 600.0
"""Seconds from the first report of a player until the reports are judged."""
OUTCOMES_MOST = 100_000
"""Outcomes of one rating period; with so many it ends early."""
SLICE_SEATS = 2_000
"""Seats of the matches that are rated at a time: a few milliseconds."""
SLICE_EVERY = 0.0625
"""Seconds between two slices."""


class OutcomeReports:
    """Judges reports of outcomes, and has ratings computed.

    Args:
        scheduler: Where the engine works.
        rate: Computes ratings; None where no queue has them.
    """

    def __init__(self, scheduler: Scheduler, rate: Rate | None) -> None:
        self._scheduler = scheduler
        self._emit = scheduler.emit
        self._rate = rate
        self._judged = Deadlines(self._is_reported)
        scheduler.add_timer(self._judged)

    def next(self) -> float:
        """Return the next instant at which ratings are due; inf if there is none."""
        tables, at = self._scheduler.tables, math.inf
        for period in tables.closing.values():
            at = min(at, period.ends_at)
        for ladder, period in tables.periods.items():
            if ladder not in tables.closing:
                at = min(at, _due_at(period))
        return at

    def watch(self, kept_match: KeptMatch) -> None:
        """Schedule the judgement of the reports on a match; recovery calls it too."""
        if _is_reported(kept_match):
            assert kept_match.outcome is not None
            match = kept_match.match
            self._judged.add((kept_match.outcome.until, kept_match.made, 0, match.id, match.queue))

    def advance(self) -> None:
        """Judge reports, end periods and rate slices that are due."""
        now = self._scheduler.now
        for entry in self._judged.take_due(now):
            self._judge(self._scheduler.tables.matches[entry[3]])
        tables = self._scheduler.tables
        for ladder in [name for name, period in tables.periods.items() if _due_at(period) <= now]:
            if ladder not in tables.closing:
                self._emit(PeriodEnded(ladder))
        for ladder in [name for name, period in tables.closing.items() if period.ends_at <= now]:
            self._rate_slice(ladder, tables.closing[ladder])

    def hear(self, outcome: Outcome, kept_match: KeptMatch) -> None:
        """Take a report of the service or of a player.

        Raises:
            InvalidOutcome: It does not fit the match.
            NotInMatch: A player reports who was not in the match, or has left it.
            OutcomeDiffers: Something else was said before, and stays.
            TooLate: The match was called off.
            OutcomeDisputed: A player reports after the players could not agree in time.
            Overloaded: More outcomes wait to be rated than can be kept.
        """
        if kept_match.void is not None:
            raise TooLate(
                f"match {kept_match.match.id} was called off: its tickets wait again, and no "
                f"outcome of it counts",
                match=kept_match.match.id,
            )
        lineup = lineup_of(self._scheduler.tables, kept_match)
        result = result_of(outcome, lineup.match, lineup.left)
        told = kept_match.outcome
        if told is not None and told.state == "counted":
            if told.result != result:
                raise OutcomeDiffers(
                    f"match {kept_match.match.id} already has another outcome, which stands",
                    match=kept_match.match.id,
                )
            return
        if outcome.player is None:
            self._check_room(kept_match)
            self._count(kept_match, result)
        else:
            self._report(outcome.player, kept_match, lineup, result)

    def reconsider(self, kept_match: KeptMatch) -> None:
        """Count an outcome on which all remaining players agree, after others left the match."""
        if _is_reported(kept_match):
            self._count_agreed(kept_match)

    def _report(self, player: str, kept_match: KeptMatch, lineup: Lineup, result: Result) -> None:
        match, outcome = kept_match.match, kept_match.outcome or MatchOutcome("reported")
        if all(player not in team for team in lineup.match.players):
            raise NotInMatch(
                f"player {player[:64]!r} is not in match {match.id}",
                where="/player",
                match=match.id,
            )
        before = outcome.reports.get(player)
        if before is not None and lineup.retold(before) != result:
            raise OutcomeDiffers(
                f"player {player[:64]!r} has already reported another outcome of match {match.id}, "
                f"which stands",
                match=match.id,
            )
        if before is not None:
            return
        if player in lineup.left:
            raise NotInMatch(
                f"player {player[:64]!r} has left match {match.id}: only those who stayed can "
                f"report how it ended",
                where="/player",
                match=match.id,
            )
        if outcome.state == "disputed":
            raise OutcomeDisputed(
                f"the players of match {match.id} did not agree in time; only the game's backend "
                f"can report the outcome now",
                match=match.id,
            )
        self._check_room(kept_match)
        until = outcome.until if outcome.reports else round_up(self._scheduler.now + REPORTS_LAST)
        self._emit(Reported(match.id, player, result, until))
        kept_match = self._scheduler.tables.matches[match.id]
        if not outcome.reports:
            self.watch(kept_match)
        self._count_agreed(kept_match)

    def _count_agreed(self, kept_match: KeptMatch) -> None:
        """Count the outcome of a match if all who have not left it have said the same."""
        assert kept_match.outcome is not None
        lineup = lineup_of(self._scheduler.tables, kept_match)
        heard = lineup.heard(kept_match.outcome.reports)
        result = _agreed(heard)
        if result is not None and len(heard) == sum(map(len, lineup.staying)):
            self._count(kept_match, result)

    def _judge(self, kept_match: KeptMatch) -> None:
        """Count what the players who reported agree on, or call the match disputed."""
        assert kept_match.outcome is not None
        lineup = lineup_of(self._scheduler.tables, kept_match)
        heard, teams = lineup.heard(kept_match.outcome.reports), lineup.staying
        sides = sum(any(player in heard for player in team) for team in teams)
        result = _agreed(heard)
        if result is not None and sides >= min(2, sum(map(bool, teams))):
            self._count(kept_match, result)
        else:
            self._emit(Disputed(kept_match.match.id))
            self._finish(kept_match)

    def _count(self, kept_match: KeptMatch, result: Result) -> None:
        queue = self._rating_queue(kept_match)
        is_rated = not kept_match.match.bots and all(result.teams)
        if queue is None or not is_rated:
            self._emit(Counted(kept_match.match.id, result))
        elif queue.rating_period is None:
            self._emit(Counted(kept_match.match.id, result))
            self._rate_now(queue, result)
        else:
            self._collect(queue, Counted(kept_match.match.id, result, queue.rated_in))
        self._finish(kept_match)

    def _finish(self, kept_match: KeptMatch) -> None:
        if kept_match.live:
            self._emit(Finished(kept_match.match.id, "outcome"))

    def _rate_now(self, queue: Queue, result: Result) -> None:
        assert self._rate is not None
        assert queue.rating is not None
        rows = self._scheduler.tables.ratings.get(queue.rated_in, {})
        players = [player for team in result.teams for player in team]
        ratings = {
            player: aged_rating(rows.get(player), self._scheduler.now, None) for player in players
        }
        self._emit(
            Rated(queue.rated_in, self._rate(queue.rating, ratings, (result,)), self._scheduler.now)
        )

    def _collect(self, queue: Queue, event: Counted) -> None:
        """Let an outcome wait for the end of the rating period."""
        ladder, tables, now = queue.rated_in, self._scheduler.tables, self._scheduler.now
        if ladder not in tables.periods:
            seconds = queue.rating_period or 0.0
            number = period_of(now, seconds)
            bounds = (number * seconds, max(round_up((number + 1) * seconds), now))
            self._emit(PeriodBegan(ladder, queue.rating or "", seconds, *bounds))
        self._emit(event)

    def _rate_slice(self, ladder: str, period: Period) -> None:
        """Rate the next players of a period, against the ratings at its start."""
        assert self._rate is not None
        rows = self._scheduler.tables.ratings.get(ladder, {})
        players, results = _next_slice(period)

        def at_start(player: str) -> StoredRating | None:
            return period.before[player] if player in period.before else rows.get(player)

        seated = {player: None for result in results for team in result.teams for player in team}
        known = {
            player: aged_rating(at_start(player), period.starts_at, period.seconds)
            for player in seated
        }
        after = self._rate(period.system, known, results)
        ratings = {player: after[player] for player in players}
        self._emit(Rated(ladder, ratings, period.starts_at, self._scheduler.now + SLICE_EVERY))

    def _check_room(self, kept_match: KeptMatch) -> None:
        queue, tables = self._rating_queue(kept_match), self._scheduler.tables
        period = None if queue is None else tables.periods.get(queue.rated_in)
        if period is not None and _is_full(period):
            raise Overloaded("too many outcomes wait to be rated; try again later")

    def _rating_queue(self, kept_match: KeptMatch) -> Queue | None:
        """Return the queue that rates a match; None if it is not there any more, or rates none."""
        queue = self._scheduler.tables.queues.get(kept_match.match.queue)
        return None if queue is None or queue.rating is None or self._rate is None else queue

    def _is_reported(self, entry: Entry) -> bool:
        kept_match = self._scheduler.tables.matches.get(entry[3])
        return kept_match is not None and _is_reported(kept_match)


def _is_reported(kept_match: KeptMatch) -> bool:
    """Return whether reports on a match wait to be judged; on a void one they never are."""
    outcome = kept_match.outcome
    return outcome is not None and outcome.state == "reported" and kept_match.void is None


def _is_full(period: Period) -> bool:
    return len(period.results) >= OUTCOMES_MOST


def _due_at(period: Period) -> float:
    """Return when a period ends: a full one as soon as the one before is rated."""
    return -math.inf if _is_full(period) else period.ends_at


def _agreed(reports: Mapping[str, Result]) -> Result | None:
    """Return what all reports say; None if they differ, or if there is none."""
    first = next(iter(reports.values()), None)
    return first if all(report == first for report in reports.values()) else None


def _next_slice(period: Period) -> tuple[list[str], list[Result]]:
    """Return the next players to be rated, and all their matches."""
    results: dict[str, Result] = {}
    players: list[str] = []
    seats = 0
    for player in islice(period.played, len(period.before), None):
        for match_id in period.played[player]:
            if match_id not in results:
                results[match_id] = period.results[match_id]
                seats += sum(map(len, results[match_id].teams))
        players.append(player)
        if seats >= SLICE_SEATS:
            break
    return players, list(results.values())


# Lineups: who has played in a match from first to last, and who of them has left it.
#
# A player who left has played as well: they are rated with their team, as a quitter. How the match
# ended is for those to say who did not leave.


class Lineup(NamedTuple):
    """The players of a match.

    Args:
        match: The match with all who have played in it, team by team: those who joined it come
            after those with whom it began.
        left: Those of them who have left it.
    """

    match: Match
    left: tuple[str, ...] = ()

    @property
    def staying(self) -> tuple[tuple[str, ...], ...]:
        """Return those who have not left, by team."""
        teams = self.match.players
        return tuple([tuple([p for p in team if p not in self.left]) for team in teams])

    def heard(self, reports: Mapping[str, Result]) -> dict[str, Result]:
        """Return what those who have not left say, as if each had said it now."""
        return {
            player: self.retold(reports[player])
            for team in self.staying
            for player in team
            if player in reports
        }

    def retold(self, report: Result) -> Result:
        """Return what a player has said, with those who have joined since and left since."""
        quitters = tuple(sorted({*report.quitters, *self.left}))
        return replace(report, teams=self.match.players, quitters=quitters)


def lineup_of(tables: Tables, kept_match: KeptMatch) -> Lineup:
    """Return who has played in a match, whether it is live or over."""
    outcome, match = kept_match.outcome, kept_match.match
    known = tables.rosters.get(match.id, kept_match)
    if outcome is not None and outcome.result is not None:
        teams = outcome.result.teams
    else:
        joined = [tables.matches[fill].match.players for fill in known.fills]
        teams = tuple([sum(team, ()) for team in zip(match.players, *joined, strict=True)])
    return Lineup(replace(match, players=teams), known.left)


# From what somebody says of a match to its result in one form, so that equal ones are equal.

NUMBER_MAX = 1e15
"""Largest rank or points; totals with a handicap stay exact enough."""


def result_of(outcome: Outcome, match: Match, left: Collection[str] = ()) -> Result:
    """Return the result that a report means.

    Teams may come in any order, ranks may be any numbers: 10 and 20 are places 1 and 2. Points
    become places after the handicap that the match gave, or the one given with them. Who has left
    has quit, unless the game's service names them among those who played.

    Args:
        outcome: What is said.
        match: The match, with all who have played in it.
        left: Those of them who have left it.

    Raises:
        InvalidOutcome: It names other players than the match, has not one number a team, or a
            number that is not finite.
    """
    if match.extends is not None:
        raise InvalidOutcome(
            f"match {match.id} filled free seats of match {match.extends}; report the outcome of "
            f"that one",
            match=match.extends,
        )
    order = _order(outcome, match, left)
    places = places_of(_numbers(outcome, match, order))
    seated = {player for team in match.players for player in team}
    for player in outcome.quitters:
        if player not in seated:
            raise InvalidOutcome(
                f"quitter {player[:64]!r} is not in match {match.id}", where="/quitters"
            )
    wide = match.wide if outcome.wide is None else outcome.wide
    ranks = [0] * len(order)
    for place, team in zip(places, order, strict=True):
        ranks[team] = place
    # Whether who left did no wrong is for the service to say: players agree on the places alone.
    named = [] if outcome.player is not None else [p for team in outcome.teams for p in team]
    quitters = {*outcome.quitters, *[player for player in left if player not in named]}
    return Result(match.players, tuple(ranks), tuple(sorted(quitters)), wide)


def _order(outcome: Outcome, match: Match, left: Collection[str]) -> list[int]:
    """Return the number in the match of each team as it is given."""
    if not outcome.teams:
        return list(range(len(match.players)))
    free = list(range(len(match.players)))
    order = {}
    # A team of which nobody is named may be any whose players have all left: it comes last.
    for number in sorted(range(len(outcome.teams)), key=lambda at: not outcome.teams[at]):
        team = outcome.teams[number]
        found = next((at for at in free if _is_team(team, match.players[at], left)), None)
        if found is None:
            break
        free.remove(found)
        order[number] = found
    if free or len(order) < len(outcome.teams):
        absent = ", but for those who have left" if left else ""
        raise InvalidOutcome(
            f"teams must hold the players of match {match.id}, each in their own team{absent}; "
            f"leave teams out to give ranks in the order of the match",
            where="/teams",
        )
    return [order[number] for number in range(len(outcome.teams))]


def _is_team(given: tuple[str, ...], team: tuple[str, ...], left: Collection[str]) -> bool:
    """Return whether players are a team; who has left it may be missing."""
    named = set(given)
    must = {player for player in team if player not in left}
    return must <= named <= set(team) and len(named) == len(given)


def _numbers(outcome: Outcome, match: Match, order: list[int]) -> list[float]:
    """Return one number for each team as given, of which the smallest won."""
    if (outcome.ranks is None) == (outcome.points is None):
        raise InvalidOutcome("give either ranks or points, one number for each team")
    if outcome.points is None:
        numbers = _checked("ranks", outcome.ranks or (), len(order))
        if outcome.handicap is not None:
            raise InvalidOutcome(
                "a handicap counts only with points, not with ranks", where="/handicap"
            )
        return numbers
    scored = _checked("points", outcome.points, len(order))
    if outcome.handicap is not None:
        gifts = _checked("handicap", outcome.handicap, len(order))
    else:
        stated = match.handicap or (0.0,) * len(order)
        gifts = [stated[team] for team in order]
    return [-(points + gift) for points, gift in zip(scored, gifts, strict=True)]


def _checked(key: str, numbers: tuple[float, ...], count: int) -> list[float]:
    if len(numbers) != count:
        raise InvalidOutcome(
            f"{key} needs one number for each team: {count} teams, got {len(numbers)}",
            where=f"/{key}",
        )
    for number in numbers:
        if not math.isfinite(number) or abs(number) > NUMBER_MAX:
            raise InvalidOutcome(
                f"{key} must be finite numbers of at most {NUMBER_MAX:g}, got {number}",
                where=f"/{key}",
            )
    return list(numbers)
