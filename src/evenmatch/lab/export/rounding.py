"""Numbers of an anonymised trace: rounded, so that most are shared by many players.

An exact rating is as good as a name to whoever knows the game's ladder. So each number that the
queues compare is rounded to a hundredth of how far apart people are in it, which changes no limit
by much, and it is told how many are still alone with theirs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from evenmatch.model.rating import Rating
from evenmatch.model.ticket import NewTicket, Player, Value

LEVELS = 100
"""Steps between the lowest and the highest, a twentieth at either end left out."""
RATING, DEVIATION = "rating", "rating_deviation"


class Rounding:
    """The steps to which the numbers of some tickets are rounded.

    Args:
        tickets: All of them.
    """

    def __init__(self, tickets: Iterable[NewTicket]) -> None:
        values: dict[str, list[float]] = {}
        for ticket in tickets:
            for name, value in numbers_in(ticket):
                values.setdefault(name, []).append(value)
        self.steps = {name: step_of(found) for name, found in values.items()}

    def ticket(self, ticket: NewTicket) -> NewTicket:
        """Return a ticket with rounded numbers."""
        players = tuple(
            [
                Player(p.id, self._rating(p.rating), self._facts(p.attributes), p.roles)
                for p in ticket.players
            ]
        )
        return NewTicket(players, ticket.queues, self._facts(ticket.attributes))

    def _rating(self, rating: Rating | None) -> Rating | None:
        if rating is None:
            return None
        mean = rounded(rating.mean, self.steps[RATING])
        return Rating(mean, rounded(rating.deviation, self.steps[DEVIATION]))

    def _facts(self, attributes: Mapping[str, Value]) -> dict[str, Value]:
        return {
            name: rounded(value, self.steps[name]) if _is_number(value) else value  # type: ignore[arg-type]
            for name, value in attributes.items()
        }


def alone(tickets: Iterable[NewTicket]) -> tuple[int, int]:
    """Return how many players are the only one with their rating, and how many have one."""
    ratings: dict[str, float] = {}
    for ticket in tickets:
        ratings |= {p.id: p.rating.mean for p in ticket.players if p.rating is not None}
    shared = Counter(ratings.values())
    return sum(shared[mean] == 1 for mean in ratings.values()), len(ratings)


def numbers_in(ticket: NewTicket) -> Iterable[tuple[str, float]]:
    """Yield the numbers of a ticket with their names."""
    for player in ticket.players:
        if player.rating is not None:
            yield RATING, player.rating.mean
            yield DEVIATION, player.rating.deviation
        for name, value in player.attributes.items():
            if _is_number(value):
                yield name, value  # type: ignore[misc]
    for name, value in ticket.attributes.items():
        if _is_number(value):
            yield name, value  # type: ignore[misc]


def step_of(values: list[float]) -> float:
    """Return 1, 2 or 5 times a power of ten: about a hundredth of how far apart values are.

    >>> step_of([1000.0, 1500.0, 2000.0]), step_of([3.0, 3.0])
    (5.0, 0.0)
    """
    low, high = np.quantile(values, (0.05, 0.95)).tolist()
    wanted = (high - low) / LEVELS
    if not wanted > 0.0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(wanted))
    return power * max(factor for factor in (1, 2, 5) if factor * power <= wanted)


def rounded(value: float, step: float) -> float:
    """Return the nearest multiple of a step; the value itself where there is none.

    >>> rounded(1503.7, 5.0), rounded(0.123456, 0.02)
    (1505.0, 0.12)
    """
    if step == 0.0:
        return value
    digits = max(0, -math.floor(math.log10(step)))
    return round(round(value / step) * step, digits)


def _is_number(value: object) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool)
