"""Whoever enters is compared with those near enough, not with all who cannot be its match."""

import math
import random

import pytest

from evenmatch.model.queue import Criterion, Expansion, Format, Queue, Rule, Scale
from evenmatch.model.ticket import Player, Rating, Ticket
from evenmatch.policies.registry import parse_policy
from evenmatch.policies.shared.step_matcher import StepMatcher
from evenmatch.solvers.steps.skip_list import COMPARED, REACH
from evenmatch.solvers.steps.waiting import NONE, PARTNER

SPAN = 2.0**23
"""A power of two, so that equal gaps cost the same to the last digit."""
APART = Rule("spread", "rating", 1e-7)
POLICIES = {
    "price": 2,
    "lookahead": 2,
    "delay_greedy": 2,
    "gap_value": 2,
    "group_price": 3,
    "difference_wait:factor=1e9,power=0.5": 2,
}
PER_TICKET = 500
"""Comparisons that a ticket costs at the most here; a walk through the pool costs thousands."""


def criterion(attribute: str = "rating", span: float = SPAN) -> Criterion:
    return Criterion("spread", attribute, scale=Scale("linear", 0.0, span))


def matcher_of(queue: Queue) -> StepMatcher:
    made = parse_policy(queue.policy).matcher(queue, seed=1)
    assert isinstance(made, StepMatcher)
    return made


def ticket_of(number: int, rating: float, at: float, map_: str = "a") -> Ticket:
    player = Player(f"p{number}", Rating(rating), {"map": map_})
    return Ticket(f"t{number}", number, at, (player,), ("main",))


def unmatchable(policy: str) -> Queue:
    rules = () if policy.startswith("difference_wait") else (APART,)
    form = Format((1,) * POLICIES[policy])
    return Queue("main", form, (criterion(),), rules, policy=policy, wait_price=0.1)


def comparisons(policy: str, waiting: int, entering: int) -> tuple[float, float]:
    """Return how many comparisons a ticket costs that comes into a pool at once, and after it."""
    matcher = matcher_of(unmatchable(policy))
    counts = []
    for first, count in ((1, waiting), (waiting + 1, entering)):
        now, before = float(first), matcher._waiting[3][COMPARED]
        for number in range(first, first + count):
            matcher.enter(ticket_of(number, number * 7_654_321 % SPAN, now), now)
        assert matcher.decide(now, fired=True).matches == ()
        counts.append(float(matcher._waiting[3][COMPARED] - before) / count)
    return counts[0], counts[1]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_larger_pool_hardly_costs_a_ticket_more(policy: str) -> None:
    small, large = comparisons(policy, 1_000, 100), comparisons(policy, 8_000, 100)
    for few, many in zip(small, large, strict=True):
        assert few > 0.0
        assert many <= 3.0 * few + 8.0
        assert many <= PER_TICKET


def rules_of(number: int) -> tuple[Rule, ...]:
    """Return rules of which one keeps players apart for ever, or by a limit that widens."""
    widening = Expansion(rate=2.0, max=40.0)
    return (
        (Rule("spread", "rating", 15.0),),
        (Rule("spread", "rating", 2.0, expand=widening),),
        (Rule("same", "map"),),
        (Rule("same", "map"), Rule("spread", "rating", 30.0)),
    )[number % 4]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("policy", ["price", "delay_greedy", "group_price"])
def test_whom_it_passes_over_could_not_be_chosen(policy: str, seed: int) -> None:
    rng = random.Random(seed)
    wait_max = rng.choice([None, 30.0])
    form = Format((1,) * POLICIES[policy])
    queue = Queue(
        "main",
        form,
        (criterion(span=1_000.0),),
        rules_of(seed),
        policy=policy,
        wait_price=0.02,
        wait_max=wait_max,
        on_deadline="keep" if wait_max else "bots",
    )
    near, everybody = matcher_of(queue), matcher_of(queue)
    assert near._waiting[3][REACH] < math.inf
    everybody._waiting[3][REACH] = math.inf
    now, wake, matches = 0.0, math.inf, 0
    waiting: list[str] = []
    for number in range(1, 401):
        arrives = now + rng.randrange(1, 2**20) / 2**20
        while wake < arrives:
            now = wake
            decisions = [matcher.decide(now, fired=True) for matcher in (near, everybody)]
            assert decisions[0] == decisions[1]
            matches, wake = matches + len(decisions[0].matches), decisions[0].wake_at
            gone = {each for match in decisions[0].matches for each in match.tickets}
            waiting = [each for each in waiting if each not in gone]
        now = arrives
        rating = rng.choice([rng.uniform(0.0, 1_000.0), 10.0 * rng.randrange(100)])
        ticket = ticket_of(number, rating, now, rng.choice("ab"))
        leaver = waiting.pop(rng.randrange(len(waiting))) if number % 20 == 0 and waiting else ""
        for matcher in (near, everybody):
            matcher.leave(leaver, now)
            matcher.enter(ticket, now)
        waiting.append(ticket.id)
        decisions = [matcher.decide(now) for matcher in (near, everybody)]
        assert decisions[0] == decisions[1]
        matches, wake = matches + len(decisions[0].matches), decisions[0].wake_at
        gone = {each for match in decisions[0].matches for each in match.tickets}
        waiting = [each for each in waiting if each not in gone]
    assert matches > 20
    assert near._waiting[3][COMPARED] < everybody._waiting[3][COMPARED]


class Mates:
    """Tentative pairs as `difference_wait` says them, by comparing all with all."""

    def __init__(self) -> None:
        self.ratings: dict[int, float] = {}
        self.mates: dict[int, int] = {}

    def distance(self, one: int, two: int) -> float:
        return abs(self.ratings[one] - self.ratings[two])

    def look(self, seeker: int | None) -> None:
        """Let a player take the nearest who is free or nearer to it than to the present mate."""
        while seeker is not None:
            willing = [
                (self.distance(seeker, other), other)
                for other in self.ratings
                if other != seeker
                and (
                    other not in self.mates
                    or self.distance(seeker, other) < self.distance(other, self.mates[other])
                )
            ]
            if not willing:
                return
            mate = min(willing)[1]
            dropped = self.mates.pop(mate, None)
            if dropped is not None:
                del self.mates[dropped]
            self.mates[seeker], self.mates[mate] = mate, seeker
            seeker = dropped


@pytest.mark.parametrize("seed", range(6))
def test_tentative_mates_are_those_of_comparing_all(seed: int) -> None:
    rng = random.Random(seed)
    queue = unmatchable("difference_wait:factor=1e9,power=0.5")
    matcher, naive = matcher_of(queue), Mates()
    dropped = 0
    for number in range(1, 301):
        now = float(number)
        if number % 7 == 0:
            leaver = rng.choice(sorted(naive.ratings))
            matcher.leave(f"t{leaver}", now)
            del naive.ratings[leaver]
            mate = naive.mates.pop(leaver, None)
            if mate is not None:
                del naive.mates[mate]
                dropped += 1
            naive.look(mate)
        # Some are equally far away; nobody is alike, who would play at once.
        taken = set(naive.ratings.values())
        rating = rng.choice([64.0 * n for n in range(900) if 64.0 * n not in taken])
        matcher.enter(ticket_of(number, rating, now), now)
        naive.ratings[number] = rating
        naive.look(number)
        assert matcher.decide(now).matches == ()
        links = matcher._waiting[2]
        found = {}
        for slot, ticket in matcher._tickets.items():
            partner = int(links[PARTNER, slot])
            if partner != NONE:
                found[ticket.sequence] = matcher._tickets[partner].sequence
        assert found == naive.mates
    assert dropped > 10
