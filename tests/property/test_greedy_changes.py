"""`greedy` beside comparing all: players come, leave, change and come in fired instants."""

import math
import random
from itertools import combinations

import pytest
from msgspec.structs import replace

from evenmatch.criteria.objective import Objective
from evenmatch.model.queue import Expansion, Format, Queue, Rule
from evenmatch.model.ticket import Player, Rating, Ticket
from evenmatch.policies.greedy import EVALUATIONS_MIN, Greedy

GROWING = Rule("spread", "rating", 5.0, expand=Expansion(rate=2.0, max=60.0))
QUEUE = Queue("main", Format((1, 1)), (), (GROWING,), policy="greedy")


class History:
    """A matcher of duels, and all who wait in it."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.matcher = Greedy(evaluations_max=EVALUATIONS_MIN).matcher(QUEUE, seed=1)
        self.rules = Objective(QUEUE).rules
        self.waiting: dict[str, Ticket] = {}
        self.now, self.wake_at, self.made = 0.0, math.inf, 0

    def legal_at(self, one: Ticket, two: Ticket) -> float:
        return self.rules.ready_at([(each,) for each in sorted((one, two), key=_age)])

    def decide(self, at: float, *, fired: bool) -> None:
        self.now = at
        decision = self.matcher.decide(at, fired)
        self.wake_at = decision.wake_at
        for match in decision.matches:
            one, two = [self.waiting.pop(each) for each in match.tickets]
            assert self.legal_at(one, two) <= at
            self.made += 1

    def new(self, sequence: int, at: float) -> Ticket:
        rating = Rating(float(self.rng.randrange(600)))
        return Ticket(f"t{sequence}", sequence, at, (Player(f"p{sequence}", rating),), ("main",))

    def enter(self, ticket: Ticket) -> None:
        self.waiting[ticket.id] = ticket
        self.matcher.enter(ticket, self.now)

    def disturb(self) -> None:
        """Let somebody leave, or come back with another rating; nobody decides in between."""
        name = self.rng.choice(list(self.waiting))
        self.matcher.leave(name, self.now)
        before = self.waiting.pop(name)
        if self.rng.random() < 0.5:
            changed = self.new(before.sequence, before.enqueued_at)
            self.enter(replace(changed, id=name))

    def advance(self, until: float) -> None:
        while self.wake_at < until:
            self.decide(self.wake_at, fired=True)


def _age(ticket: Ticket) -> tuple[float, int]:
    return ticket.age_key


@pytest.mark.parametrize("seed", range(8))
def test_no_match_is_early_and_none_is_missed(seed: int) -> None:
    history, pause = History(seed), (0.005, 0.05, 0.3)[seed % 3]
    for sequence in range(1, 161):
        arrives = history.now + history.rng.randrange(2**20) / 2**20 * pause
        history.advance(arrives)
        if history.rng.random() < 0.2 and history.now < history.wake_at < math.inf:
            # Whoever comes now comes at an instant that has been fired.
            history.decide(history.wake_at, fired=True)
        history.now = max(history.now, arrives)
        if history.waiting and history.rng.random() < 0.2:
            history.disturb()
        history.enter(history.new(sequence, history.now))
        history.decide(history.now, fired=False)
    history.advance(history.now + 60.0)
    assert history.made > 20
    ends = history.now + 50.0
    for one, two in combinations(history.waiting.values(), 2):
        assert history.legal_at(one, two) > ends
