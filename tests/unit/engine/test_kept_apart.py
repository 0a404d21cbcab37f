"""A set of players that failed is kept apart for a while, at no cost to anybody beside it."""

from __future__ import annotations

import pytest

from evenmatch.engine.engine import Engine
from evenmatch.model.events import Matched
from evenmatch.model.inputs import Advance, Configure, Enqueue, Input, Void
from evenmatch.model.queue import Queue
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import new_ticket, rule

DUEL = Queue(policy="greedy", rules=(rule(limit=50.0),), allocation="fleet")
A, B = "s0-1", "s0-2"


class Hall:
    """An engine, and the matches that it makes."""

    def __init__(self) -> None:
        self.engine = Engine(lambda each: parse_policy(each.policy))
        self.matches: list[tuple[float, tuple[str, ...]]] = []
        self.hand_in(Configure(0.0, (DUEL,)))

    def hand_in(self, given: Input) -> None:
        """Step the engine, with everything that is due until then."""
        while self.engine.next_wakeup < given.now:
            self._step(Advance(self.engine.next_wakeup))
        self._step(given)

    def enter(self, now: float, **ratings: int) -> None:
        """Let players of these names enter."""
        tickets = [new_ticket(name, rating) for name, rating in ratings.items()]
        self.hand_in(Enqueue(now, tuple(tickets)))

    def _step(self, given: Input) -> None:
        for event in self.engine.step(given).events:
            if type(event) is Matched:
                self.matches.append((event.match.at, event.match.tickets))


@pytest.fixture
def hall() -> Hall:
    """Return a hall in which a and b have been matched."""
    hall = Hall()
    hall.enter(1.0, a=1500, b=1540)
    assert hall.matches == [(1.0, (A, B))]
    return hall


def void(hall: Hall) -> None:
    """Call the match of a and b off, so that they are kept apart for ten seconds."""
    hall.matches.clear()
    hall.hand_in(Void(5.0, "s0-m1", "no server"))


def test_the_same_two_are_kept_apart(hall: Hall) -> None:
    void(hall)
    assert hall.matches == []
    hall.enter(20.0, e=3000)
    assert hall.matches == [(15.0, (A, B))]


def test_who_may_play_somebody_else_does_so_at_once(hall: Hall) -> None:
    hall.enter(3.0, d=1580)
    void(hall)
    assert hall.matches == [(5.0, (B, "s0-3"))]


def test_both_play_others_at_once(hall: Hall) -> None:
    hall.enter(3.0, c=1460, d=1580)
    void(hall)
    assert hall.matches == [(5.0, (A, "s0-3")), (5.0, (B, "s0-4"))]


def test_who_is_matched_in_the_same_decision_is_nobody_to_play_with(hall: Hall) -> None:
    void(hall)
    hall.enter(6.0, c=1460, e=1440, d=1580)
    assert hall.matches == [(6.0, ("s0-3", "s0-4")), (6.0, (B, "s0-5"))]
