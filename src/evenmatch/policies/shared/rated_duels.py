"""What the policies for rated duels share: which tickets they admit, and what they must know."""

from __future__ import annotations

from collections.abc import Callable

from evenmatch.criteria.base import NumberGap
from evenmatch.criteria.expansion import inverse
from evenmatch.criteria.kinds.numeric import difference_rule
from evenmatch.criteria.registry import NUMERIC, number_gap_of
from evenmatch.criteria.values import number
from evenmatch.errors import ConfigError
from evenmatch.model.fields import LARGEST
from evenmatch.model.queue import Queue, Rule
from evenmatch.model.ticket import Ticket

RATING = "rating"

RatingKey = tuple[float, float, int]
"""A ticket's place in the order of ratings: rating, `enqueued_at`, sequence."""


def check_duel(name: str, queue: Queue) -> None:
    """Refuse a queue whose matches are not one player against one.

    Raises:
        ConfigError: Says what the queue needs.
    """
    if not queue.format.is_duel:
        raise ConfigError(
            f"policy {name} pairs two players: queue {queue.name} needs teams = 2 and "
            f"players = 1; use greedy for larger formats"
        )


def rating_key(ticket: Ticket) -> RatingKey:
    """Return a ticket's place in the order of ratings; of equal ones, the oldest is first."""
    return (number(ticket, RATING), ticket.enqueued_at, ticket.sequence)


def rating_rule(limit: float) -> Rule:
    """Return the rule that two ratings are at most `limit` points apart."""
    return difference_rule(RATING, limit)


def any_rating(queue: Queue) -> tuple[Rule, ...]:
    """Return a rule that allows every gap, where nothing else makes sure that ratings are known.

    The engine admits only tickets that have the numbers which rules and criteria compare.
    """
    compared = [each.attribute for each in queue.criteria if each.kind in NUMERIC]
    compared += [each.attribute for each in queue.rules if each.kind in NUMERIC]
    return () if RATING in compared else (rating_rule(LARGEST),)


def rating_limits(queue: Queue) -> list[Callable[[float], float]]:
    """Return for each rule that limits a difference of ratings the wait that a gap needs.

    Rules that one side may accept for both are left out: there the longer wait counts.
    """
    return [
        inverse(rule.limit, rule.expand)
        for rule in queue.rules
        if number_gap_of(rule) is NumberGap.WIDEST
        and (rule.attribute, rule.unit) == (RATING, "difference")
        and rule.accept == "both"
    ]
