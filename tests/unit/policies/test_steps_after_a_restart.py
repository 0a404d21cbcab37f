"""Those who wait when a server comes back look around at each other a few at a time."""

from collections import Counter

import numpy as np
import pytest

from evenmatch.model.queue import Criterion, Format, Queue, Rule, Scale
from evenmatch.model.ticket import Player, Rating, Ticket
from evenmatch.policies.registry import parse_policy
from evenmatch.policies.shared.step_matcher import PAIRS_A_TURN, StepMatcher
from evenmatch.solvers.steps.price import LOOK

NEAR = Criterion("spread", "rating", scale=Scale("linear", 0.0, 1e6))
APART = Rule("spread", "rating", 1.0)
NOW = 500.0


def matcher_of(policy: str, seats: int) -> StepMatcher:
    form = Format((1,) * seats)
    queue = Queue("main", form, (NEAR,), (APART,), wait_price=0.1, policy=policy)
    made = parse_policy(policy).matcher(queue, seed=1)
    assert isinstance(made, StepMatcher)
    return made


def come(matcher: StepMatcher, count: int, *, born: float, first: int = 1) -> None:
    """Let tickets enter whose ratings are apart."""
    for number in range(first, first + count):
        player = Player(f"p{number}", Rating(10.0 * number))
        ticket = Ticket(f"t{number}", number, born, (player,), ("main",))
        matcher.enter(ticket, NOW)


@pytest.mark.parametrize(("policy", "seats"), [("price", 2), ("group_price", 3)])
def test_no_instant_compares_more_pairs_than_it_should(policy: str, seats: int) -> None:
    matcher = matcher_of(policy, seats)
    count = 1_500
    come(matcher, count, born=1.0)
    looked, at, turns = 0, NOW, Counter[float]()
    while looked < count:
        due = matcher._waiting[1][LOOK, :count] <= at if turns else np.full(count, True)
        decision = matcher.decide(at, fired=True)
        assert decision.matches == ()
        left = int((matcher._waiting[1][LOOK, :count] < np.inf).sum())
        turns[at] = count - left - looked
        assert turns[at] * count <= PAIRS_A_TURN + count
        looked = count - left
        assert due.any()
        at = decision.wake_at
    assert len(turns) == -(-count * count // PAIRS_A_TURN)
    assert at == np.inf


def test_newcomers_and_a_few_who_return_look_at_once() -> None:
    matcher = matcher_of("price", 2)
    come(matcher, 100, born=1.0)
    matcher.decide(NOW, fired=True)
    come(matcher, 400, born=NOW, first=101)
    matcher.decide(NOW, fired=True)
    assert (matcher._waiting[1][LOOK, :500] == np.inf).all()
