"""Small builders for tests that read as sentences: `ticket("a", 1500, at=3)` in `duel(limit=100)`.

Whatever a test does not say has a harmless default; what it says stands in the test.
"""

from __future__ import annotations

from typing import Literal

from evenmatch.criteria.kinds.numeric import difference_rule
from evenmatch.model.queue import (
    Criterion,
    Expansion,
    Format,
    OnDeadline,
    Queue,
    Rule,
    Sample,
    Unit,
)
from evenmatch.model.ticket import NewTicket, Player, Rating, Ticket, Value


def player(player_id: str, rating: float | None = None, **attributes: Value) -> Player:
    """Return a player with a rating, if one is given, and named facts.

    >>> player("ada", 1500, region="eu").rating.mean
    1500.0
    """
    known = None if rating is None else Rating(float(rating))
    return Player(player_id, known, {name: _value(value) for name, value in attributes.items()})


def new_ticket(
    name: str,
    *ratings: float | Player,
    queues: tuple[str, ...] = (),
    **attributes: Value,
) -> NewTicket:
    """Return a request to play, with a player for each rating, or one player without a rating.

    The players of ticket `a` are `a1`, `a2`; a single player has the ticket's name.

    >>> [each.id for each in new_ticket("a", 1500, 1600).players]
    ['a1', 'a2']
    """
    return NewTicket(_party(name, ratings), queues, _values(attributes))


def ticket(
    ticket_id: str,
    *ratings: float | Player,
    at: float = 0.0,
    sequence: int = 1,
    queues: tuple[str, ...] = ("main",),
    **attributes: Value,
) -> Ticket:
    """Return a ticket as a matcher gets it, enqueued at the engine time `at` in seconds.

    >>> ticket("a", 1500, at=3, sequence=7).age_key
    (3.0, 7)
    """
    players = _party(ticket_id, ratings)
    return Ticket(ticket_id, sequence, float(at), players, queues, _values(attributes))


def rule(
    attribute: str = "rating",
    limit: float = 0.0,
    *,
    rate: float = 0.0,
    steps: tuple[tuple[float, float], ...] = (),
    limit_max: float | None = None,
    unit: Unit = "difference",
    accept: Literal["both", "either"] = "both",
    sample: Sample | None = None,
) -> Rule:
    """Return a `spread` rule that widens with the wait by a rate or in steps.

    >>> rule(limit=100, rate=2.0).expand.rate
    2.0
    """
    grows = bool(rate or steps)
    exact = tuple((float(wait), float(widened)) for wait, widened in steps)
    top = None if limit_max is None else float(limit_max)
    expand = Expansion(rate=float(rate), steps=exact, max=top) if grows else None
    return difference_rule(attribute, float(limit), unit, expand, accept=accept, sample=sample)


def queue(
    name: str = "main",
    *players: int,
    policy: str = "greedy",
    rules: tuple[Rule, ...] = (),
    criteria: tuple[Criterion, ...] = (),
    sides: tuple[str, ...] = (),
    party_sizes: tuple[int, ...] = (),
    wait_max: float | None = None,
    on_deadline: OnDeadline = "expire",
    exclusive_match: bool = False,
) -> Queue:
    """Return a queue with these seats per team, by default `1, 1`.

    >>> queue("squads", 2, 2).format.k
    4
    """
    return Queue(
        name,
        Format(players or (1, 1), sides, party_sizes),
        criteria,
        rules,
        None if wait_max is None else float(wait_max),
        on_deadline=on_deadline,
        policy=policy,
        exclusive_match=exclusive_match,
    )


def _party(name: str, ratings: tuple[float | Player, ...]) -> tuple[Player, ...]:
    if len(ratings) <= 1:
        only = ratings[0] if ratings else None
        return (only if isinstance(only, Player) else player(name, only),)
    return tuple(
        each if isinstance(each, Player) else player(f"{name}{number}", each)
        for number, each in enumerate(ratings, start=1)
    )


def _values(attributes: dict[str, Value]) -> dict[str, Value]:
    return {name: _value(value) for name, value in attributes.items()}


def _value(value: Value) -> Value:
    """Return a whole number as the float that it stands for."""
    return float(value) if isinstance(value, int) else value
