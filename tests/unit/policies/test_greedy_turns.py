"""`greedy` in turns: what one call leaves is done by a later one, whatever comes between."""

import math

import pytest

from evenmatch.model.queue import Expansion, Format, Queue, Rule
from evenmatch.model.rating import Rating
from evenmatch.model.ticket import Player, Ticket
from evenmatch.policies.base import Matcher
from evenmatch.policies.greedy import EVALUATIONS_MIN, Greedy

GROWING = Rule("spread", "rating", 1.0, expand=Expansion(rate=1.0, max=50.0))
DUELS = Queue("main", Format((1, 1)), (), (GROWING,), policy="greedy")
PAIRS = 200
LEGAL_AT = 10.0


def ticket_of(sequence: int, rating: float, at: float) -> Ticket:
    player = Player(f"p{sequence}", Rating(rating))
    return Ticket(f"t{sequence}", sequence, at, (player,), ("main",))


def matcher_with_pairs() -> Matcher:
    """Return a matcher in which many pairs may play from one instant on, not before."""
    matcher = Greedy(evaluations_max=EVALUATIONS_MIN).matcher(DUELS, seed=1)
    for pair in range(PAIRS):
        for side in (0, 1):
            rating = pair * 1e5 + side * (LEGAL_AT + GROWING.limit)
            matcher.enter(ticket_of(2 * pair + side + 1, rating, 0.0), 0.0)
    return matcher


@pytest.mark.parametrize("newcomers", [0, 3])
def test_who_comes_when_an_instant_has_been_fired_makes_nobody_wait_for_ever(
    newcomers: int,
) -> None:
    matcher = matcher_with_pairs()
    made: list[float] = []
    at, wake_at, come = 0.0, matcher.decide(0.0).wake_at, 0
    while wake_at < math.inf:
        at = wake_at
        decision = matcher.decide(at, fired=True)
        made += [at] * len(decision.matches)
        wake_at = decision.wake_at
        if at >= LEGAL_AT and come < newcomers:
            come += 1
            matcher.enter(ticket_of(2 * PAIRS + come, -1e9 * come, at), at)
            decision = matcher.decide(at)
            assert decision.matches == ()
            wake_at = decision.wake_at
    assert len(made) == PAIRS
    assert LEGAL_AT <= min(made) <= max(made) < LEGAL_AT + 1.0
