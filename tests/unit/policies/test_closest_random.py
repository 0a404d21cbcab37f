"""`closest_random`: rounds, the longest waiting first, the nearest most likely."""

import math
import random
from collections import Counter

import pytest

from evenmatch.errors import ConfigError
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Queue, Rule
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import NOTHING, Decision
from evenmatch.policies.closest_random import ClosestRandom, ClosestRandomMatcher, drawn_place
from evenmatch.policies.hooks import rules_of
from evenmatch.testing import queue, rule, ticket


def met(chosen: ClosestRandom, in_queue: Queue, *tickets: Ticket, seed: int = 1) -> list[set[str]]:
    """Let tickets enter, and return who meets in the first round."""
    at_work = chosen.matcher(in_queue, seed=seed)
    for each in tickets:
        at_work.enter(each, each.enqueued_at)
    wake_at = at_work.decide(tickets[-1].enqueued_at).wake_at
    return [set(group.tickets) for group in at_work.decide(wake_at, fired=True).matches]


def test_nobody_meets_before_the_round() -> None:
    at_work = ClosestRandom().matcher(queue(), seed=1)
    at_work.enter(ticket("a", 1500, at=7, sequence=1), 7.0)
    assert at_work.decide(7.0) == Decision(wake_at=127.0)
    at_work.enter(ticket("b", 1500, at=30, sequence=2), 30.0)
    assert at_work.decide(30.0) == Decision(wake_at=127.0)

    decision = at_work.decide(127.0, fired=True)

    assert [group.tickets for group in decision.matches] == [("a", "b")]
    assert decision.wake_at == math.inf


def test_who_finds_nobody_waits_for_the_next_round() -> None:
    at_work = ClosestRandom(every=10, limit=100).matcher(queue(), seed=1)
    at_work.enter(ticket("a", 1500, sequence=1), 0.0)
    at_work.enter(ticket("b", 1601, sequence=2), 0.0)

    assert at_work.decide(10.0, fired=True) == Decision(wake_at=20.0)
    at_work.leave("a", 12.0)
    at_work.leave("nobody", 12.0)
    assert at_work.decide(12.0) == Decision(wake_at=20.0)
    at_work.leave("b", 13.0)
    assert at_work.decide(13.0) == NOTHING


def test_longest_waiting_draws_first() -> None:
    # Only the middle one is within reach of both others.
    tickets = (
        ticket("old", 1000, at=1, sequence=1),
        ticket("middle", 1100, at=2, sequence=2),
        ticket("young", 1200, at=3, sequence=3),
    )
    for seed in range(20):
        assert met(ClosestRandom(limit=100), queue(), *tickets, seed=seed) == [{"old", "middle"}]


@pytest.mark.parametrize("in_queue", [queue(), queue(rules=(rule(limit=900, rate=1),))])
def test_nearest_of_three_is_drawn_three_times_as_often_as_the_farthest(in_queue: Queue) -> None:
    tickets = [ticket("chooser", 1000, sequence=1)]
    tickets += [ticket(f"{gap}", 1000 + gap, at=1, sequence=2 + gap) for gap in (10, 20, 30)]
    runs = 3000
    drawn = Counter[str]()
    for seed in range(runs):
        (first, *_) = met(ClosestRandom(limit=100), in_queue, *tickets, seed=seed)
        drawn.update(first - {"chooser"})

    for name, share in (("10", 3 / 6), ("20", 2 / 6), ("30", 1 / 6)):
        # Four standard errors of a share of 3,000 draws.
        assert drawn[name] / runs == pytest.approx(share, abs=4 * math.sqrt(0.25 / runs))


@pytest.mark.parametrize("count", [1, 2, 3, 7, 330, 100_000])
def test_place_is_the_first_whose_cumulative_probability_exceeds_the_draw(count: int) -> None:
    rng = random.Random(5)
    total = count * (count + 1)
    for _ in range(300):
        uniform = rng.random()
        place = drawn_place(count, uniform)
        below = (place - 1) * (2 * count + 2 - place) / total
        upto = place * (2 * count + 1 - place) / total
        assert below <= uniform < upto or uniform == pytest.approx(upto, rel=1e-12)
    assert drawn_place(count, 0.0) == 1
    assert drawn_place(count, math.nextafter(1.0, 0.0)) == count


def test_candidates_leave_the_farther_ones_out() -> None:
    tickets = [ticket("chooser", 1000, sequence=1)]
    tickets += [ticket(f"{gap}", 1000 + gap, at=1, sequence=2 + gap) for gap in (10, 20, 30, 40)]
    for in_queue in (queue(), queue(rules=(rule("ping", 5),))):
        given = [_with_ping(each) for each in tickets]
        firsts = {
            min(met(ClosestRandom(candidates=2), in_queue, *given, seed=seed)[0] - {"chooser"})
            for seed in range(40)
        }
        assert firsts == {"10", "20"}


def _with_ping(each: Ticket) -> Ticket:
    rating = each.players[0].rating
    assert rating is not None
    return ticket(each.id, rating.mean, at=each.enqueued_at, sequence=each.sequence, ping=1)


def test_rule_that_forbids_nothing_changes_no_draw() -> None:
    rng = random.Random(11)
    for seed in range(30):
        pool = [
            ticket(f"t{n}", 1000 + 25 * rng.randrange(24), at=n, sequence=n, ping=1)
            for n in range(1, 40)
        ]
        plain = met(ClosestRandom(limit=150), queue(), *pool, seed=seed)
        widening = queue(rules=(rule(limit=2000, rate=1),))
        other = queue(rules=(rule("ping", 5),))
        assert plain == met(ClosestRandom(limit=150), widening, *pool, seed=seed)
        assert plain == met(ClosestRandom(limit=150), other, *pool, seed=seed)
        assert len(plain) >= 15


def test_place_in_a_slice_is_the_place_in_the_order_of_differences() -> None:
    rng = random.Random(2)
    for _ in range(200):
        at_work = ClosestRandom(limit=200).matcher(queue(), seed=1)
        assert isinstance(at_work, ClosestRandomMatcher)
        for number in range(1, 30):
            at_work.enter(ticket(f"t{number}", 10.0 * rng.randrange(60), sequence=number), 0.0)
        rating = 10.0 * rng.randrange(60)
        low, high = at_work._within(rating)
        outward = list(at_work._outward(rating, low, high))
        assert sorted(outward) == list(range(low, high))
        gaps = [abs(at_work._keys[at][0] - rating) for at in outward]
        assert gaps == sorted(gaps)
        found = [at_work._nearest(rating, n + 1, low, high) for n in range(high - low)]
        assert found == outward
        inside = [key for key in at_work._keys if abs(key[0] - rating) <= 200]
        assert at_work._keys[low:high] == inside


def test_limit_is_compared_with_the_difference_itself() -> None:
    # 0.1 + 0.2 lies within the bound 0.1 + 0.2, but the difference rounds to more than 0.2.
    above = 0.1 + 0.2
    assert above - 0.1 > 0.2
    assert met(ClosestRandom(limit=0.2), queue(), ticket("a", 0.1), _second("b", above)) == []
    assert met(ClosestRandom(limit=0.2), queue(), ticket("a", 0.0), _second("b", 0.2)) != []


def _second(name: str, rating: float) -> Ticket:
    return ticket(name, rating, sequence=2)


@pytest.mark.parametrize(("gap", "at"), [(30, 20.0), (31, 40.0)])
def test_limit_of_the_queue_that_widens_is_asked_at_the_round(gap: float, at: float) -> None:
    in_queue = queue(rules=(rule(limit=10, rate=1),))
    at_work = ClosestRandom(every=20).matcher(in_queue, seed=1)
    at_work.enter(ticket("a", 1000, sequence=1), 0.0)
    at_work.enter(ticket("b", 1000 + gap, sequence=2), 0.0)

    made = [now for now in (20.0, 40.0) if at_work.decide(now, fired=True).matches]

    assert made == [at]


def test_two_of_one_side_never_meet() -> None:
    sided = queue(sides=("white", "black"))
    tickets = [ticket(name, 1000, sequence=n, side="white") for n, name in enumerate("ab", 1)]
    assert met(ClosestRandom(), sided, *tickets) == []
    black = ticket("c", 1000, sequence=3, side="black")
    assert met(ClosestRandom(), sided, *tickets, black) == [{"a", "c"}]


def test_restart_changes_neither_the_beat_nor_the_draw() -> None:
    tickets = [ticket(f"t{n}", 1000 + 7 * n % 50, at=n, sequence=n) for n in range(1, 12)]
    before = ClosestRandom(every=30).matcher(queue(), seed=4)
    for each in tickets:
        before.enter(each, each.enqueued_at)
    after = ClosestRandom(every=30).matcher(queue(), seed=4, memory=before.memory())
    for each in tickets:
        after.enter(each, 15.0)

    assert before.decide(31.0, fired=True) == after.decide(31.0, fired=True)


def test_open_matches_are_left_to_the_engine() -> None:
    at_work = ClosestRandom().matcher(queue(), seed=1)
    at_work.enter(OpenMatch("m1", "main", 1, 0.0, (("x",), ()), (0, 1)), 0.0)
    assert at_work.decide(0.0) == NOTHING


def test_limit_stands_for_a_rule() -> None:
    assert rules_of(ClosestRandom(limit=300), queue()) == (Rule("spread", "rating", 300),)


@pytest.mark.parametrize(
    ("chosen", "in_queue", "sentence"),
    [
        (
            ClosestRandom(every=0),
            queue(),
            "closest_random: every must be between 0.05 and 1e9 s, got 0",
        ),
        (
            ClosestRandom(limit=-1),
            queue(),
            "closest_random: limit must be between 0 and 1e15, got -1",
        ),
        (
            ClosestRandom(candidates=0),
            queue(),
            "closest_random: candidates must be between 1 and 1,000,000, got 0",
        ),
        (
            ClosestRandom(),
            queue("squads", 2, 2),
            (
                "policy closest_random pairs two players: queue squads needs teams = 2 and "
                "players = 1; use greedy for larger formats"
            ),
        ),
    ],
)
def test_parameters_that_cannot_work_are_refused(
    chosen: ClosestRandom, in_queue: Queue, sentence: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        chosen.matcher(in_queue, seed=1)
    assert str(caught.value) == sentence
