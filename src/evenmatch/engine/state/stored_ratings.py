"""Stored ratings and outcomes: rows of the tables, and how events change them.

Nothing here computes a rating: events carry the new ones, so that a journal rebuilds the tables
without asking a rating system.

A rating holds from the period in which it was made. What grows with inactivity is worked out when
somebody looks, from the number of periods since, so that no period touches those who rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import islice
from typing import Any

from msgspec.structs import replace

from evenmatch.engine.state.rows import Ladder, Period, StoredRating
from evenmatch.engine.state.state import Tables
from evenmatch.model.events import (
    Accepted,
    Counted,
    Disputed,
    Event,
    PeriodBegan,
    PeriodEnded,
    Rated,
    Reported,
)
from evenmatch.model.inputs import Input
from evenmatch.model.match import AgedRating, Match, MatchOutcome
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket, Rating, attribute_of

Defaults = dict[str, float | str | tuple[str, ...]]
RATED_MOST = 500_000
"""Players of a ladder whose ratings are kept; beyond, the longest inactive are forgotten."""
SURPLUS = 1_000
"""Players forgotten at a time: one by one, finding the next would be slow."""


def period_of(instant: float, seconds: float) -> int:
    """Return the number of the period in which an instant lies; they start at multiples."""
    # Bounds are products, which division need not give back.
    return math.floor(instant / seconds + 1e-9)


def aged_rating(stored: StoredRating | None, now: float, seconds: float | None) -> AgedRating:
    """Return a rating with its age in periods; without periods nothing ages."""
    if stored is None:
        return AgedRating()
    if seconds is None:
        return AgedRating(stored.rating)
    periods = period_of(now, seconds) - period_of(stored.at, seconds)
    return AgedRating(stored.rating, max(periods, 0))


def with_ratings(new: NewTicket, ratings: dict[str, Rating]) -> NewTicket:
    """Return a ticket whose players have these ratings."""
    if not ratings:
        return new
    players = tuple(
        [
            replace(player, rating=ratings[player.id]) if player.id in ratings else player
            for player in new.players
        ]
    )
    return replace(new, players=players)


def accepted_ticket(new: NewTicket, event: Accepted) -> NewTicket:
    """Return a ticket with what the engine knew of it when it was accepted."""
    return with_defaults(with_ratings(new, event.ratings), event.defaults)


def with_defaults(new: NewTicket, defaults: Defaults) -> NewTicket:
    """Return a ticket whose party has what its players do not say."""
    return replace(new, attributes={**defaults, **new.attributes}) if defaults else new


def defaults_of(new: NewTicket, tables: Tables) -> Defaults:
    """Return what its queues take for attributes that some player of a ticket leaves out."""
    found: Defaults = {}
    for queue_name in new.queues or tuple(tables.queues)[:1]:
        queue = tables.queues.get(queue_name)
        for name, value in () if queue is None else queue.defaults:
            if name not in found and any(attribute_of(new, p, name) is None for p in new.players):
                found[name] = value
    return found


def seed_ratings(tables: Tables, match: Match, queue: Queue) -> None:
    """Store the ratings with which players came to a match, of those who have none stored.

    A game that keeps its own ratings so far thereby hands them over with its tickets. To be called
    while the match's tickets still wait.
    """
    ladder = tables.ratings.setdefault(queue.rated_in, {})
    for ticket_id in match.tickets:
        for player in tables.waiting[ticket_id].ticket.players:
            rating = player.rating
            if rating is not None and rating.is_ratable and player.id not in ladder:
                ladder[player.id] = StoredRating(rating, match.at)
    forget_surplus(ladder)


def forget_surplus(ladder: Ladder) -> None:
    """Forget those who have been inactive for longest, where there are too many."""
    if len(ladder) > RATED_MOST:
        for player in list(islice(ladder, SURPLUS)):
            del ladder[player]


def _reported(tables: Tables, input_: Input, event: Reported) -> None:
    del input_
    kept_match = tables.matches[event.match]
    reports = {} if kept_match.outcome is None else kept_match.outcome.reports
    results = {**reports, event.player: event.result}
    _note(tables, event.match, MatchOutcome("reported", None, results, event.until))


def _counted(tables: Tables, input_: Input, event: Counted) -> None:
    del input_
    _note(tables, event.match, MatchOutcome("counted", event.result))
    tables.counters.outcomes += 1
    if event.ladder is not None:
        period = tables.periods[event.ladder]
        period.results[event.match] = event.result
        for team in event.result.teams:
            for player in team:
                period.played[player] = (*period.played.get(player, ()), event.match)


def _disputed(tables: Tables, input_: Input, event: Disputed) -> None:
    del input_
    outcome = tables.matches[event.match].outcome
    assert outcome is not None
    _note(tables, event.match, replace(outcome, state="disputed"))
    tables.counters.disputed += 1


def _period_began(tables: Tables, input_: Input, event: PeriodBegan) -> None:
    del input_
    period = Period(event.system, event.seconds, event.starts_at, event.ends_at, {}, {}, {})
    tables.periods[event.ladder] = period


def _period_ended(tables: Tables, input_: Input, event: PeriodEnded) -> None:
    period = tables.closing[event.ladder] = tables.periods.pop(event.ladder)
    period.ends_at = input_.now


def _rated(tables: Tables, input_: Input, event: Rated) -> None:
    del input_
    ladder = tables.ratings.setdefault(event.ladder, {})
    period = None if event.next_at is None else tables.closing[event.ladder]
    for player, rating in event.ratings.items():
        before = ladder.pop(player, None)
        ladder[player] = StoredRating(rating, event.at)
        if period is not None:
            period.before[player] = before
    forget_surplus(ladder)
    tables.counters.rated += len(event.ratings)
    if period is not None and event.next_at is not None:
        period.ends_at = event.next_at
        if len(period.before) == len(period.played):
            del tables.closing[event.ladder]


def take_ratings(tables: Tables, event: Rated) -> None:
    """Put ratings in the place of those that were just made of the same results."""
    ladder = tables.ratings[event.ladder]
    for player, rating in event.ratings.items():
        if player in ladder:
            ladder[player] = replace(ladder[player], rating=rating)


def _note(tables: Tables, match_id: str, outcome: MatchOutcome) -> None:
    kept_match = tables.matches[match_id]
    tables.matches[match_id] = replace(kept_match, outcome=outcome)


OUTCOME_REDUCERS: dict[type[Event], Callable[[Tables, Input, Any], None]] = {
    Counted: _counted,
    Disputed: _disputed,
    PeriodBegan: _period_began,
    PeriodEnded: _period_ended,
    Rated: _rated,
    Reported: _reported,
}
