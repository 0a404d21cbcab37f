"""`greedy` in turns: what one call leaves is done by a later one, whatever comes between."""

import math
import random
from itertools import pairwise

import pytest

from evenmatch.model.queue import Expansion, Format, Queue, Rule
from evenmatch.model.ticket import Player, Rating, Ticket
from evenmatch.policies.base import Matcher
from evenmatch.policies.greedy import EVALUATIONS_MIN, Greedy
from evenmatch.policies.shared.work_slices import PATIENCE, PAUSE

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


class Played:
    """A matcher of five against five that is asked whenever it wants to be."""

    def __init__(self) -> None:
        growing = Rule("spread", "rating", 10.0, expand=Expansion(rate=1.0))
        queue = Queue("main", Format((5, 5)), (), (growing,), policy="greedy")
        self.matcher = Greedy().matcher(queue, seed=1)
        self.wake_at = math.inf
        self.made: dict[str, float] = {}
        self.woken: list[float] = []

    def decide(self, at: float, *, fired: bool) -> None:
        decision = self.matcher.decide(at, fired)
        self.made.update({each: at for match in decision.matches for each in match.tickets})
        self.wake_at = decision.wake_at

    def advance(self, until: float) -> None:
        while self.wake_at < until:
            self.woken.append(self.wake_at)
            self.decide(self.wake_at, fired=True)

    def crowd(self, first: int, since: float, until: float) -> None:
        """Let a hundred a second come whose search is dear and in vain."""
        rng, most = random.Random(7), int((until - since) * 100)
        for number in range(most):
            at = since + number / 100
            self.advance(at)
            self.matcher.enter(ticket_of(first + number, rng.gauss(1500.0, 300.0), at), at)
            self.decide(at, fired=False)


def test_dear_newcomers_put_off_no_match_whose_instant_is_known() -> None:
    played = Played()
    for sequence in range(1, 11):
        played.matcher.enter(ticket_of(sequence, 1e6 + 2.0 * sequence, 0.0), 0.0)
    played.decide(0.0, fired=False)
    assert played.wake_at == 8.0

    played.crowd(11, 0.0, 7.5)
    played.advance(60.0)

    assert [played.made[f"t{sequence}"] for sequence in range(1, 11)] == [played.made["t1"]] * 10
    assert 8.0 <= played.made["t1"] < 8.1


def test_what_can_wait_has_a_turn_now_and_then_whatever_comes() -> None:
    played = Played()

    played.crowd(1, 0.0, 6.0)
    played.advance(6.0 + 2 * PATIENCE)

    gaps = [later - earlier for earlier, later in pairwise([*played.woken, played.woken[-1]])]
    assert max(gaps) <= PATIENCE + 2 * PAUSE
    assert played.woken[-1] > 6.0 + PATIENCE / 2


@pytest.mark.parametrize("decides_between", [False, True])
def test_player_who_comes_back_changed_is_not_played_with_as_before(decides_between: bool) -> None:
    matcher = Greedy().matcher(DUELS, seed=1)
    matcher.enter(ticket_of(1, 0.0, 0.0), 0.0)
    matcher.enter(ticket_of(2, LEGAL_AT + GROWING.limit, 0.0), 0.0)
    assert matcher.decide(0.0).wake_at == LEGAL_AT

    matcher.leave("t1", 1.0)
    if decides_between:
        matcher.decide(1.0)
    matcher.enter(ticket_of(1, -9.0, 0.0), 1.0)
    wake_at = matcher.decide(1.0).wake_at

    assert wake_at <= LEGAL_AT + 9.0
    while wake_at < LEGAL_AT + 9.0:
        decision = matcher.decide(wake_at, fired=True)
        assert decision.matches == ()
        assert decision.wake_at > wake_at
        wake_at = decision.wake_at
    assert len(matcher.decide(wake_at, fired=True).matches) == 1
