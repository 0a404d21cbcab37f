"""`window`: two players meet as soon as their gap is within the limit of both."""

import math
import random

import pytest

from evenmatch.criteria.rules import Rules
from evenmatch.errors import ConfigError
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Expansion, Format, Queue, Rule, Sample
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import NOTHING, Decision, Matcher
from evenmatch.policies.hooks import rules_of
from evenmatch.policies.window import Window
from evenmatch.testing import queue, rule, ticket
from tests.extent import extent

STEPS = ((60.0, 250.0), (120.0, 350.0), (180.0, 450.0), (240.0, 550.0))


def enter(at_work: Matcher, *tickets: Ticket) -> Decision:
    """Let tickets enter one after the other; return the decision after the last one."""
    decision = NOTHING
    for each in tickets:
        at_work.enter(each, each.enqueued_at)
        decision = at_work.decide(each.enqueued_at)
    return decision


def groups(decision: Decision) -> list[tuple[str, ...]]:
    return [grouping.tickets for grouping in decision.matches]


def test_limit_that_widens_in_steps_must_reach_the_gap_on_both_sides() -> None:
    at_work = Window(limit=150, steps=STEPS, limit_max=500).matcher(queue(), seed=1)
    first = enter(at_work, ticket("a", 2300, sequence=1), ticket("b", 2000, sequence=2))
    second = enter(at_work, ticket("c", 2050, at=60, sequence=3))
    third = enter(at_work, ticket("d", 1900, at=60, sequence=4))

    assert first == Decision(wake_at=120.0)
    assert groups(second) == [("b", "c")]
    # 400 points need the step at 180 s of the ticket that came at 60 s.
    assert third == Decision(wake_at=240.0)
    assert groups(at_work.decide(240.0, fired=True)) == [("a", "d")]


def test_relative_limit_is_of_ones_own_rating_and_inclusive() -> None:
    steps = tuple((10.0 * n, (5 + 5 * n) / 100) for n in range(1, 60))
    at_work = Window(limit=0.05, steps=steps, unit="relative").matcher(queue(), seed=1)

    decision = enter(at_work, ticket("a", 800, sequence=1), ticket("b", 2000, at=300, sequence=2))

    assert decision == Decision(wake_at=410.0)
    assert at_work.decide(409.999) == Decision(wake_at=410.0)
    assert groups(at_work.decide(410.0, fired=True)) == [("a", "b")]


def test_gap_within_the_first_limit_matches_on_arrival() -> None:
    at_work = Window(limit=100).matcher(queue(), seed=1)

    decision = enter(at_work, ticket("a", 1000, sequence=1), ticket("b", 1100, sequence=2))

    assert groups(decision) == [("a", "b")]


def test_instant_equal_to_now_waits_until_it_is_fired() -> None:
    at_work = Window(limit=100, rate=1.0).matcher(queue(), seed=1)
    enter(at_work, ticket("a", 1000, sequence=1), ticket("b", 1150, sequence=2))

    assert at_work.decide(50.0) == Decision(wake_at=50.0)
    assert groups(at_work.decide(50.0, fired=True)) == [("a", "b")]
    assert at_work.decide(50.0, fired=True) == NOTHING


def test_arrival_at_the_instant_may_take_the_partner_first() -> None:
    at_work = Window(limit=100, rate=1.0).matcher(queue(), seed=1)
    enter(at_work, ticket("a", 1000, sequence=1), ticket("b", 1150, sequence=2))

    decision = enter(at_work, ticket("c", 1140, at=50, sequence=3))

    assert groups(decision) == [("b", "c")]


def test_limit_beyond_the_cap_is_never_reached() -> None:
    at_work = Window(limit=100, rate=1.0, limit_max=120).matcher(queue(), seed=1)

    assert enter(at_work, ticket("a", 1000, sequence=1), ticket("b", 1121, sequence=2)) == NOTHING


@pytest.mark.parametrize(("pick", "partner"), [("oldest", "b"), ("nearest", "c")])
def test_longest_waiting_picks_among_those_of_one_instant(pick: str, partner: str) -> None:
    at_work = Window(limit=100, pick=pick).matcher(queue(), seed=1)
    at_work.enter(ticket("a", 1000, at=1, sequence=1), 1.0)
    at_work.decide(1.0)
    at_work.enter(ticket("b", 1090, at=2, sequence=2), 2.0)
    at_work.enter(ticket("c", 1010, at=2, sequence=3), 2.0)

    assert groups(at_work.decide(2.0)) == [("a", partner)]


def test_who_waits_longest_chooses_first() -> None:
    at_work = Window(limit=100).matcher(queue(), seed=1)
    enter(at_work, ticket("a", 1000, at=1, sequence=1), ticket("b", 1150, at=2, sequence=2))

    decision = enter(at_work, ticket("c", 1080, at=3, sequence=3))

    # c is within reach of both; a waits longer.
    assert groups(decision) == [("a", "c")]


def test_ties_of_age_go_by_acceptance() -> None:
    at_work = Window(limit=0).matcher(queue(), seed=1)
    for number, name in enumerate("abcde", 1):
        at_work.enter(ticket(name, 1500, at=3, sequence=number), 3.0)

    assert groups(at_work.decide(3.0)) == [("a", "b"), ("c", "d")]


def test_ticket_that_leaves_gives_the_next_neighbour_its_turn() -> None:
    at_work = Window(limit=0, rate=1.0).matcher(queue(), seed=1)
    enter(
        at_work,
        ticket("a", 1000, sequence=1),
        ticket("b", 1300, sequence=2),
        ticket("c", 1100, sequence=3),
    )

    at_work.leave("a", 5.0)
    at_work.leave("nobody", 5.0)

    assert at_work.decide(5.0) == Decision(wake_at=200.0)


def test_return_with_an_older_age_shortens_the_waits_of_younger_ones() -> None:
    at_work = Window(limit=0, rate=1.0).matcher(queue(), seed=1)
    enter(at_work, ticket("b", 1500, at=1, sequence=2), ticket("c", 1000, at=2, sequence=3))

    at_work.enter(ticket("a", 1040, sequence=1), 3.0)

    assert at_work.decide(3.0) == Decision(wake_at=42.0)
    assert groups(at_work.decide(42.0, fired=True)) == [("a", "c")]


def test_limit_of_the_queues_own_rule_is_used() -> None:
    in_queue = queue(rules=(rule("skill", 10, rate=1.0), rule("skill", 500)))
    at_work = Window(attribute="skill").matcher(in_queue, seed=1)

    decision = enter(at_work, ticket("a", sequence=1, skill=0), ticket("b", sequence=2, skill=40))

    assert decision == Decision(wake_at=30.0)


def test_further_rules_of_the_queue_hold_too() -> None:
    in_queue = queue(rules=(rule("ping", 0, rate=1.0),))
    at_work = Window(limit=100).matcher(in_queue, seed=1)

    decision = enter(
        at_work,
        ticket("far", 1000, sequence=1, ping=90),
        ticket("near", 1060, sequence=2, ping=20),
        ticket("asks", 1000, sequence=3, ping=10),
        ticket("beyond", 5000, sequence=4, ping=10),
    )

    assert decision == Decision(wake_at=10.0)
    assert groups(at_work.decide(10.0, fired=True)) == [("near", "asks")]


def test_two_of_one_side_never_meet() -> None:
    at_work = Window(limit=100).matcher(queue(sides=("white", "black")), seed=1)

    decision = enter(
        at_work,
        ticket("a", 1000, sequence=1, side="white"),
        ticket("b", 1000, sequence=2, side="white"),
        ticket("c", 1000, sequence=3, side="black"),
    )

    assert groups(decision) == [("a", "c")]


def test_relative_gap_to_a_rating_of_zero_never_closes() -> None:
    at_work = Window(limit=0.05, rate=0.01, unit="relative").matcher(queue(), seed=1)

    assert enter(at_work, ticket("a", 0, sequence=1), ticket("b", 100, sequence=2)) == NOTHING


def test_open_matches_are_left_to_the_engine() -> None:
    at_work = Window(limit=100).matcher(queue(), seed=1)

    at_work.enter(OpenMatch("m1", "main", 1, 0.0, (("x",), ()), (0, 1)), 0.0)

    assert at_work.decide(0.0) == NOTHING


def test_parameters_stand_for_one_spread_rule() -> None:
    chosen = Window(limit=150, rate=2.0, limit_max=500)

    assert rules_of(chosen, queue()) == (
        Rule("spread", "rating", 150, "difference", Expansion(rate=2.0, max=500)),
    )
    assert rules_of(Window(limit=150), queue()) == (Rule("spread", "rating", 150),)
    assert rules_of(Window(), queue(rules=(rule(limit=3),))) == ()


def test_without_any_limit_the_threads_own_numbers_hold() -> None:
    widening = Expansion(rate=2.0, max=500.0)

    assert rules_of(Window(), queue()) == (Rule("spread", "rating", 150.0, expand=widening),)


@pytest.mark.parametrize(
    ("chosen", "in_queue", "sentence"),
    [
        (
            Window(limit=1),
            queue(rules=(rule(limit=2),)),
            (
                "queue main has a spread rule on rating and policy window a limit; "
                "give only one of the two"
            ),
        ),
        (
            Window(rate=1.0),
            queue(rules=(rule(limit=2),)),
            "window: rate, steps and limit_max need limit, e.g. limit=150",
        ),
        (
            Window(limit=1),
            queue("squads", 2, 2),
            (
                "policy window pairs two players: queue squads needs teams = 2 and "
                "players = 1; use greedy for larger formats"
            ),
        ),
        (
            Window(limit=1, pick="best"),
            queue(),
            'window: pick must be one of oldest, nearest (did you mean oldest?), got "best"',
        ),
        (
            Window(limit=1, unit="percent"),
            queue(),
            (
                "window: unit must be one of difference, relative, percentile "
                '(did you mean percentile?), got "percent"'
            ),
        ),
        (Window(limit=1, last=5), queue(), "window: last goes only with unit=percentile"),
        (
            Window(limit=0.1, unit="percentile", last=0),
            queue(),
            "window: last must be between 1 and 10,000, got 0",
        ),
        (
            Window(limit=10, unit="percentile"),
            queue(),
            (
                "window: limit must be between 0 and 1 if unit is percentile, such as 0.05 for "
                "5 %, got 10"
            ),
        ),
        (
            Window(limit=1, rate=1.0, steps=((1.0, 2.0),)),
            queue(),
            "window: give rate or steps, not both",
        ),
        (
            Window(limit=1, every=0.0),
            queue(),
            "window: every must be between 0.05 and 1e9 s, got 0.0",
        ),
        (Window(limit=-1), queue(), "window: limit must be between 0 and 1e15, got -1"),
        (
            Window(limit=1, rate=math.nan),
            queue(),
            "window: rate must be 0 or between 1e-9 and 1e15 per second, got nan",
        ),
        (
            Window(limit=10, limit_max=5),
            queue(),
            "window: limit_max must be >= limit 10, got 5",
        ),
        (
            Window(limit=10, steps=((60.0, 20.0), (50.0, 30.0))),
            queue(),
            "window: steps must grow in wait and limit, got 50-30 after 60-20",
        ),
        (
            Window(limit=10, steps=((60.0, 5.0),)),
            queue(),
            "window: steps must grow in wait and limit, got 60-5 after 0-10",
        ),
        (
            Window(limit=10, steps=((math.inf, 20.0),)),
            queue(),
            (
                "window: steps must have waits between 1e-6 and 1e9 s and limits between 0 and "
                "1e15, got inf-20"
            ),
        ),
        (
            Window(limit=1, steps=((1e304, 5.0),)),
            queue(),
            (
                "window: steps must have waits between 1e-6 and 1e9 s and limits between 0 and "
                "1e15, got 1e+304-5"
            ),
        ),
        (
            Window(limit=1, accept="one"),
            queue(),
            'window: accept must be one of both, either, got "one"',
        ),
        (
            Window(limit=1, attribute=""),
            queue(),
            'window: attribute must be a name of 1 to 100 characters, got ""',
        ),
        (
            Window(attribute="region"),
            queue(rules=(Rule("same", "region"),)),
            (
                "policy window needs a spread rule on region, and queue main has only same; "
                "give limit, or another attribute"
            ),
        ),
    ],
)
def test_parameters_that_cannot_work_are_refused(
    chosen: Window, in_queue: Queue, sentence: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        chosen.matcher(in_queue, seed=1)

    assert str(caught.value) == sentence


def test_where_either_may_accept_the_longer_wait_counts() -> None:
    at_work = Window(limit=100, rate=1.0, accept="either").matcher(queue(), seed=1)

    decision = enter(at_work, ticket("a", 1000, sequence=1), ticket("b", 1150, at=20, sequence=2))

    assert decision == Decision(wake_at=50.0)
    assert groups(at_work.decide(50.0, fired=True)) == [("a", "b")]


def test_newcomer_may_be_taken_by_the_limit_of_one_who_waits() -> None:
    at_work = Window(limit=100, rate=1.0, accept="either").matcher(queue(), seed=1)

    decision = enter(at_work, ticket("a", 1000, sequence=1), ticket("b", 1150, at=51, sequence=2))

    assert groups(decision) == [("a", "b")]


def test_limit_that_reaches_a_newcomer_as_it_arrives_is_due_after_the_arrivals() -> None:
    at_work = Window(limit=100, rate=1.0, accept="either").matcher(queue(), seed=1)
    enter(at_work, ticket("a", 1000, sequence=1))

    assert enter(at_work, ticket("b", 1150, at=50, sequence=2)) == Decision(wake_at=50.0)
    assert groups(at_work.decide(50.0, fired=True)) == [("a", "b")]


def test_newcomer_that_is_free_with_another_meets_that_one_before_the_limits_that_fall_due() -> (
    None
):
    at_work = Window(limit=100, rate=1.0, accept="either").matcher(queue(), seed=1)
    enter(at_work, ticket("a", 1000, sequence=1), ticket("c", 1240, sequence=2))

    assert groups(enter(at_work, ticket("b", 1150, at=50, sequence=3))) == [("c", "b")]


def test_with_a_clock_pairs_are_made_in_rounds_only() -> None:
    at_work = Window(limit=100, every=10.0).matcher(queue(), seed=1)
    # Rounds are at 13, 23, ... since the first ticket comes at 3.
    enter(at_work, ticket("a", 1000, at=3, sequence=1))

    assert enter(at_work, ticket("b", 1050, at=4, sequence=2)) == Decision(wake_at=13.0)
    assert enter(at_work, ticket("c", 1010, at=13, sequence=3)) == Decision(wake_at=13.0)
    assert at_work.decide(12.0, fired=True) == Decision(wake_at=13.0)
    assert groups(at_work.decide(13.0, fired=True)) == [("a", "b")]
    assert at_work.memory() == {"anchor": 3.0, "round_at": 23.0}
    assert at_work.decide(13.0, fired=True) == Decision(wake_at=23.0)
    assert enter(at_work, ticket("d", 1010, at=13, sequence=4)) == Decision(wake_at=23.0)
    assert groups(at_work.decide(23.0, fired=True)) == [("c", "d")]
    # Nobody is woken while nobody waits, and the beat goes on.
    assert at_work.decide(24.0) == NOTHING
    assert enter(at_work, ticket("e", 1010, at=40, sequence=5)) == Decision(wake_at=43.0)


def test_in_a_round_the_nearest_is_picked_by_the_longest_waiting_first() -> None:
    at_work = Window(limit=100, every=10.0, pick="nearest").matcher(queue(), seed=1)
    arrivals = [("a", 1000), ("b", 1050), ("c", 1040), ("d", 1060)]
    for number, (name, rating) in enumerate(arrivals, 1):
        enter(at_work, ticket(name, rating, at=number, sequence=number))

    assert groups(at_work.decide(11.0, fired=True)) == [("a", "c"), ("b", "d")]


def test_clock_goes_on_after_a_restart() -> None:
    before = Window(limit=100, every=10.0).matcher(queue(), seed=1)
    enter(before, ticket("a", 1000, at=3, sequence=1), ticket("b", 1050, at=3, sequence=2))
    before.decide(13.0, fired=True)

    after = Window(limit=100, every=10.0).matcher(queue(), seed=1, memory=before.memory())

    enter(after, ticket("c", 1000, at=14, sequence=3))
    assert enter(after, ticket("d", 1000, at=15, sequence=4)) == Decision(wake_at=23.0)


@pytest.mark.parametrize(
    ("chosen", "sentence"),
    [
        (Window(unit="relative"), "window: unit needs limit, e.g. limit=0.1,unit=relative"),
        (
            Window(accept="either"),
            (
                'window: accept needs limit; or write accept = "either" into the queue\'s rule '
                "on rating"
            ),
        ),
    ],
)
def test_words_that_a_rule_of_the_queue_contradicts_are_refused(
    chosen: Window, sentence: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        chosen.matcher(queue(rules=(rule(limit=2),)), seed=1)

    assert str(caught.value) == sentence


def test_the_threads_own_numbers_may_be_accepted_by_either() -> None:
    (own,) = rules_of(Window(accept="either"), queue())

    assert own.accept == "either"


def test_limit_may_count_the_players_in_between() -> None:
    table = Sample(quantiles=(0.0, 1000.0, 1100.0, 1200.0, 3000.0))
    in_queue = queue(rules=(rule(limit=0.25, unit="percentile", sample=table),))
    at_work = Window().matcher(in_queue, seed=1)

    # 1100 is in the middle; a quarter of the players is between it and 1000, but not 900.
    decision = enter(
        at_work,
        ticket("a", 900, sequence=1),
        ticket("b", 1100, sequence=2),
        ticket("c", 1000, sequence=3),
    )

    assert groups(decision) == [("a", "c")]


def test_percentile_limit_of_the_policy_is_among_the_last_tickets() -> None:
    own = rules_of(Window(limit=0.1, unit="percentile", last=50), queue())

    assert own == (Rule("spread", "rating", 0.1, "percentile", sample=Sample(last=50)),)


def test_limit_stands_beside_a_rule_of_another_kind_on_the_same_attribute() -> None:
    in_queue = queue(rules=(Rule("same", "skill"),))
    at_work = Window(attribute="skill", limit=100).matcher(in_queue, seed=1)

    decision = enter(
        at_work,
        ticket("a", sequence=1, skill=0),
        ticket("b", sequence=2, skill=40),
        ticket("c", sequence=3, skill=0),
    )

    assert groups(decision) == [("a", "c")]


class Naive:
    """The same promise by looking at all pairs each time."""

    def __init__(self, in_queue: Queue, nearest: bool) -> None:
        self.rules = Rules(in_queue)
        self.nearest = nearest
        self.pool: dict[str, Ticket] = {}

    def decide(self, now: float, fired: bool) -> Decision:
        matches = []
        for chooser in sorted(self.pool.values(), key=lambda t: t.age_key):
            if chooser.id not in self.pool:
                continue
            free = [t for t in self.pool.values() if self.is_due(chooser, t, now, fired)]
            if free:
                chosen = min(free, key=lambda t: self.preference(chooser, t))
                matches.append((chooser.id, chosen.id))
                del self.pool[chooser.id], self.pool[chosen.id]
        instants = [
            self.rules.pair_ready_at(a, b)
            for a in self.pool.values()
            for b in self.pool.values()
            if a.age_key < b.age_key
        ]
        self.matches = matches
        return Decision(wake_at=min(instants, default=math.inf))

    def is_due(self, one: Ticket, two: Ticket, now: float, fired: bool) -> bool:
        if one.id == two.id:
            return False
        at = self.rules.pair_ready_at(one, two)
        # At an arrival a pair is free unless a limit reaches it in that very instant.
        newest = max(one.enqueued_at, two.enqueued_at)
        free = newest == now and self.rules.duel_widens_at(one, two) < now
        return at < now or (at == now and (fired or free))

    def preference(self, chooser: Ticket, other: Ticket) -> tuple[float, tuple[float, int]]:
        gap = abs(rating_of(chooser) - rating_of(other))
        return (gap if self.nearest else 0.0, other.age_key)


def rating_of(each: Ticket) -> float:
    rating = each.players[0].rating
    assert rating is not None
    return rating.mean


PING = rule("ping", 5, rate=0.5)
EITHER = rule("ping", 5, rate=0.5, accept="either")
SCHEDULES = [
    Window(limit=5, rate=1.0),
    Window(limit=5, rate=1.0, limit_max=30, pick="nearest"),
    Window(limit=5, steps=((10.0, 15.0), (20.0, 40.0))),
    Window(limit=0.05, rate=0.02, unit="relative"),
    Window(limit=5, rate=1.0, accept="either"),
    Window(limit=5, steps=((10.0, 15.0), (20.0, 40.0)), accept="either", pick="nearest"),
    Window(limit=0.05, rate=0.02, unit="relative", accept="either"),
]
NAMES = ["rate", "nearest", "steps", "relative", "either", "either-steps", "either-relative"]


@pytest.mark.parametrize("chosen", SCHEDULES, ids=NAMES)
@pytest.mark.parametrize(
    "in_queue",
    [
        queue(),
        queue(rules=(PING,)),
        queue(rules=(EITHER,)),
        queue(rules=(PING, rule("wins", 20, rate=2.0), Rule("same", "mode"))),
        Queue(format=Format((1, 1), ("white", "black"))),
    ],
    ids=["alone", "two-rules", "either", "four-rules", "sides"],
)
def test_timers_find_exactly_what_looking_at_all_pairs_finds(
    chosen: Window, in_queue: Queue
) -> None:
    rng = random.Random(7)
    at_work = chosen.matcher(in_queue, seed=1)
    full = Queue(format=in_queue.format, rules=in_queue.rules + chosen.rules(in_queue))
    naive = Naive(full, chosen.pick == "nearest")
    now, wake_at, made = 0.0, math.inf, 0

    for number in range(1, extent(120, 250)):
        until = now + rng.choice((0.0, 0.5, 2.0, 6.0))
        while wake_at < until:
            now = wake_at
            decision, expected = at_work.decide(now, fired=True), naive.decide(now, True)
            assert groups(decision) == naive.matches
            assert decision.wake_at == expected.wake_at > now
            wake_at, made = decision.wake_at, made + len(decision.matches)
        now = until
        if naive.pool and rng.random() < 0.2:
            gone = rng.choice(list(naive.pool))
            back = naive.pool.pop(gone)
            at_work.leave(gone, now)
            if rng.random() < 0.5:
                naive.pool[gone] = back
                at_work.enter(back, now)
        else:
            side = rng.choice(({"side": "white"}, {"side": "black"}, {}))
            newcomer = ticket(
                f"t{number}",
                float(rng.randrange(1, 100)),
                at=now,
                sequence=number,
                ping=float(rng.randrange(40)),
                wins=float(rng.randrange(100)),
                mode=rng.choice(("one", "two")),
                **side,
            )
            naive.pool[newcomer.id] = newcomer
            at_work.enter(newcomer, now)
        decision, expected = at_work.decide(now), naive.decide(now, False)
        assert groups(decision) == naive.matches
        assert decision.wake_at == expected.wake_at
        wake_at, made = decision.wake_at, made + len(decision.matches)
    assert made > 20


@pytest.mark.parametrize("values", [60, 2_000], ids=["many-equal", "few-equal"])
@pytest.mark.parametrize("fired", [True, False])
@pytest.mark.parametrize(
    "chosen",
    [
        Window(limit=5, rate=0.5, limit_max=200, every=40.0, pick="nearest"),
        Window(limit=2, steps=((10.0, 60.0), (40.0, 900.0)), every=40.0, pick="nearest"),
        Window(limit=300, every=40.0, pick="nearest"),
    ],
    ids=["rate", "steps", "wide"],
)
def test_a_crowd_pairs_in_rounds_as_looking_at_all_pairs_does(
    chosen: Window, fired: bool, values: int
) -> None:
    rng = random.Random(values)
    at_work = chosen.matcher(queue(), seed=1)
    naive = Naive(Queue(rules=chosen.rules(queue())), True)
    number, made = 0, 0

    for beat in range(1, 5):
        for at in sorted(rng.randrange(40) for _ in range(80)):
            number += 1
            born = 40.0 * (beat - 1) + at if number > 1 else 0.0
            newcomer = ticket(f"t{number}", rng.randrange(values), at=born, sequence=number)
            naive.pool[newcomer.id] = newcomer
            at_work.enter(newcomer, born)
        now = 40.0 * beat + (0.0 if fired else 0.5)
        decision = at_work.decide(now, fired=fired)
        naive.decide(now, fired)
        assert groups(decision) == naive.matches
        made += len(decision.matches)
    assert made > 80
