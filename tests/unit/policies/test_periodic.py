"""`periodic`: collect, sort along one criterion, cut."""

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.criteria.objective import Objective
from evenmatch.errors import ConfigError
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Criterion, Queue, Scale
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import NOTHING, Decision, Matcher
from evenmatch.policies.periodic import ROUNDS_OF_MAX, Periodic
from evenmatch.solvers.steps.periodic import best_rounds
from evenmatch.testing import queue, rule, ticket
from evenmatch.theory.schlup import periodic_cost, schlup

RATING = Criterion("spread", "rating", scale=Scale(max=4000.0))
PING = Criterion("spread", "ping", scale=Scale(max=100.0))


def enter(at_work: Matcher, *tickets: Ticket) -> Decision:
    """Let tickets enter one after the other; return the decision after the last one."""
    decision = NOTHING
    for each in tickets:
        at_work.enter(each, each.enqueued_at)
        decision = at_work.decide(each.enqueued_at)
    return decision


def arrivals(*ratings: float) -> list[Ticket]:
    """Return solo tickets t1, t2, ... that arrive at 1 s, 2 s, ..."""
    return [ticket(f"t{i}", rating, at=i, sequence=i) for i, rating in enumerate(ratings, 1)]


def groups(decision: Decision) -> list[tuple[str, ...]]:
    return [grouping.tickets for grouping in decision.matches]


def test_arrival_that_fills_the_pool_flushes_it_sorted_by_the_criterion() -> None:
    at_work = Periodic(rounds_of=2).matcher(queue(criteria=(RATING,)), seed=1)

    before = enter(at_work, *arrivals(1900, 1000, 1100))
    decision = enter(at_work, ticket("t4", 1800, at=4, sequence=4))

    assert before == NOTHING
    assert groups(decision) == [("t2", "t3"), ("t1", "t4")]


def test_equal_values_are_cut_in_order_of_arrival() -> None:
    at_work = Periodic(rounds_of=2).matcher(queue(criteria=(RATING,)), seed=1)

    assert groups(enter(at_work, *arrivals(5, 5, 5, 5))) == [("t1", "t2"), ("t3", "t4")]


def test_without_criteria_neighbours_in_time_play() -> None:
    at_work = Periodic(rounds_of=2).matcher(queue(), seed=1)

    assert groups(enter(at_work, *arrivals(9, 1, 8, 2))) == [("t1", "t2"), ("t3", "t4")]


def test_one_round_of_one_match_is_greedy() -> None:
    at_work = Periodic(rounds_of=1).matcher(queue(criteria=(RATING,)), seed=1)

    assert groups(enter(at_work, *arrivals(1900, 1000))) == [("t1", "t2")]


def test_deadline_of_the_longest_waiting_flushes_whole_matches() -> None:
    at_work = Periodic(rounds_of=4).matcher(queue(criteria=(RATING,), wait_max=10), seed=1)
    decision = enter(at_work, *arrivals(1900, 1000, 1100))

    assert decision == Decision(wake_at=11.0)
    assert at_work.decide(11.0) == Decision(wake_at=11.0)
    fired = at_work.decide(11.0, fired=True)

    # The first two of three in order of arrival play; the third keeps its deadline.
    assert groups(fired) == [("t1", "t2")]
    assert fired.wake_at == 13.0
    assert at_work.decide(11.0, fired=True) == Decision(wake_at=13.0)


def test_too_few_for_a_match_wait_past_the_flush() -> None:
    at_work = Periodic(rounds_of=4).matcher(
        queue("main", 2, 2, party_sizes=(1,), wait_max=10), seed=1
    )
    enter(at_work, *arrivals(1, 2))

    assert at_work.decide(11.0, fired=True) == Decision(wake_at=12.0)
    assert at_work.decide(12.0, fired=True) == NOTHING


def test_deadline_that_has_passed_flushes_without_firing() -> None:
    at_work = Periodic(rounds_of=4).matcher(queue(wait_max=10), seed=1)
    enter(at_work, *arrivals(1, 2))

    assert groups(at_work.decide(11.5)) == [("t1", "t2")]


def test_without_deadline_there_is_nothing_to_wake_for() -> None:
    at_work = Periodic(rounds_of=4).matcher(queue(), seed=1)

    assert enter(at_work, *arrivals(1, 2, 3)) == NOTHING


def test_match_that_a_rule_forbids_waits_for_the_next_flush() -> None:
    in_queue = queue(criteria=(RATING,), rules=(rule(limit=100),))
    at_work = Periodic(rounds_of=2).matcher(in_queue, seed=1)

    decision = enter(at_work, *arrivals(1000, 1050, 3000, 2000))

    assert groups(decision) == [("t1", "t2")]
    assert at_work.decide(4.0) == NOTHING
    # The next flush comes when an arrival fills the pool again.
    later = [ticket("t5", 2050, at=5, sequence=5), ticket("t6", 3050, at=6, sequence=6)]
    assert groups(enter(at_work, *later)) == [("t4", "t5"), ("t3", "t6")]


def test_full_pool_of_forbidden_matches_is_flushed_once_an_arrival() -> None:
    in_queue = queue(criteria=(RATING,), rules=(rule(limit=0),))
    at_work = Periodic(rounds_of=1).matcher(in_queue, seed=1)
    enter(at_work, *arrivals(1, 2, 3))

    at_work.leave("t1", 4.0)

    assert at_work.decide(4.0) == NOTHING


def test_named_attribute_is_sorted_by() -> None:
    at_work = Periodic(rounds_of=2, sort="ping").matcher(queue(criteria=(RATING, PING)), seed=1)
    pings = (10, 90, 20, 80)

    decision = enter(
        at_work, *(ticket(f"t{i}", 1, at=i, sequence=i, ping=p) for i, p in enumerate(pings, 1))
    )

    assert groups(decision) == [("t1", "t3"), ("t2", "t4")]


def test_ticket_that_left_is_not_matched() -> None:
    at_work = Periodic(rounds_of=1).matcher(queue(), seed=1)
    enter(at_work, *arrivals(1))
    at_work.leave("t1", 1.5)
    at_work.leave("nobody", 1.5)

    assert groups(enter(at_work, ticket("t2", at=2, sequence=2))) == []


def test_return_with_an_older_age_takes_its_old_place_and_deadline() -> None:
    at_work = Periodic(rounds_of=4).matcher(queue(wait_max=10), seed=1)
    enter(at_work, ticket("b", at=5, sequence=2))

    at_work.enter(ticket("a", at=1, sequence=1), 6.0)
    assert at_work.decide(6.0) == Decision(wake_at=11.0)

    at_work.enter(ticket("c", at=7, sequence=3), 7.0)
    assert groups(at_work.decide(11.0, fired=True)) == [("a", "b")]


def test_restored_matcher_remembers_its_last_flush() -> None:
    in_queue = queue(criteria=(RATING,), rules=(rule(limit=0),), wait_max=10)
    before = Periodic(rounds_of=1).matcher(in_queue, seed=1)
    waiting = arrivals(1, 2)
    enter(before, *waiting)
    before.decide(11.0, fired=True)

    after = Periodic(rounds_of=1).matcher(in_queue, seed=1, memory=before.memory())
    for each in waiting:
        after.enter(each, 11.5)

    assert before.memory() == {"flushed_at": 11.0, "stayed": ["t1", "t2"]}
    assert after.decide(11.5) == before.decide(11.5) == Decision(wake_at=12.0)


def test_open_matches_are_left_to_the_engine() -> None:
    at_work = Periodic(rounds_of=1).matcher(queue(), seed=1)

    at_work.enter(OpenMatch("m1", "main", 1, 0.0, (("x",), ()), (0, 1)), 0.0)

    assert at_work.decide(0.0).wake_at == math.inf


@pytest.mark.parametrize(
    ("chosen", "in_queue", "sentence"),
    [
        (
            Periodic(rounds_of=0),
            queue(),
            "periodic: rounds_of must be between 1 and 10,000, got 0",
        ),
        (
            Periodic(rounds_of=10_001),
            queue(),
            "periodic: rounds_of must be between 1 and 10,000, got 10001",
        ),
        (
            Periodic(),
            queue("squads", 2, 2),
            "policy periodic matches single players only: give queue squads party_sizes = [1]",
        ),
        (
            Periodic(sort="ping"),
            queue(criteria=(RATING,)),
            "periodic: sort must be the attribute of a criterion of queue main (rating), got ping",
        ),
        (
            Periodic(sort="ping"),
            queue(),
            (
                "periodic: sort must be the attribute of a criterion of queue main (it has none), "
                "got ping"
            ),
        ),
        (
            Periodic(),
            queue(criteria=(RATING, PING)),
            (
                "periodic sorts by one criterion and queue main has 2: "
                "choose one, e.g. periodic:sort=rating"
            ),
        ),
    ],
)
def test_queue_that_it_cannot_work_on_is_refused(
    chosen: Periodic, in_queue: Queue, sentence: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        chosen.matcher(in_queue, seed=1)

    assert str(caught.value) == sentence


def test_values_beyond_the_scale_count_as_its_end() -> None:
    at_work = Periodic(rounds_of=2).matcher(queue(criteria=(RATING,)), seed=1)

    # Both outliers stand at 4000, and so they keep the order of arrival.
    assert groups(enter(at_work, *arrivals(9000, 1, 5000, 2))) == [("t2", "t4"), ("t1", "t3")]


@pytest.mark.parametrize(("rate", "rounds"), [(0.1, 1), (1.0, 1), (10.0, 5)])
def test_adaptive_rounds_follow_the_rate(rate: float, rounds: int) -> None:
    in_queue = queue(criteria=(RATING,), wait_max=5.0)
    at_work = Periodic(adaptive=True).matcher(in_queue, seed=1)
    sizes = []
    for i in range(1, 201):
        at_work.enter(ticket(f"t{i}", i, at=i / rate, sequence=i), i / rate)
        sizes += [len(at_work.decide(i / rate).matches)]

    assert [size for size in sizes if size][-1] == rounds
    best = schlup(k=2, rate=rate, wait_max=5.0)["rounds_of"]
    assert best is not None
    assert abs(rounds - best) <= 1


@given(
    rate=st.floats(0.01, 1e4), k=st.integers(2, 12), wait_max=st.floats(0.1, 1e3), data=st.data()
)
def test_best_rounds_are_those_of_theory(
    rate: float, k: int, wait_max: float, data: st.DataObject
) -> None:
    found = best_rounds(rate, float(k), float(k), 1.0 / wait_max)
    other = data.draw(st.integers(1, ROUNDS_OF_MAX))

    def cost(x: float) -> float:
        return periodic_cost(x * k, k=k, rate=rate, wait_max=wait_max)

    assert cost(found) <= cost(other) * (1 + 1e-12)


def test_adaptive_matcher_restored_half_way_knows_the_rate() -> None:
    in_queue = queue(criteria=(RATING,), wait_max=5.0)
    before = Periodic(adaptive=True).matcher(in_queue, seed=1)
    enter(before, *arrivals(1, 2, 3))

    after = Periodic(adaptive=True).matcher(in_queue, seed=1, memory=before.memory())
    for each in arrivals(1, 2, 3):
        after.enter(each, 3.0)

    assert before.memory()["arrivals"] == [1.0, 2.0, 3.0]
    assert after.memory() == before.memory()


def test_criterion_that_compares_no_numbers_is_none_to_sort_by() -> None:
    rematch = Criterion("rematch", "recent")
    at_work = Periodic(rounds_of=2).matcher(queue(criteria=(rematch, RATING)), seed=1)

    enter(at_work, *arrivals(1900, 1000, 1100))
    decision = enter(at_work, ticket("t4", 1800, at=4, sequence=4))

    assert groups(decision) == [("t2", "t3"), ("t1", "t4")]


def test_flush_judges_only_groups_that_the_rules_may_allow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judged: list[int] = []
    seat = Objective.seat

    def counted(self: Objective, tickets: Sequence[Ticket], *args: Any, **more: Any) -> Any:
        judged.append(len(tickets))
        return seat(self, tickets, *args, **more)

    monkeypatch.setattr(Objective, "seat", counted)
    apart = rule(limit=1.0)
    at_work = Periodic(rounds_of=1).matcher(queue(criteria=(RATING,), rules=(apart,)), seed=1)
    for number in range(1, 201):
        enter(at_work, ticket(f"t{number}", 10.0 * number, at=1.0, sequence=number))
        assert at_work.decide(1.0).matches == ()
    assert judged == []
    enter(at_work, ticket("near", 1010.5, at=2.0, sequence=201))
    (found,) = enter(at_work, ticket("odd", 9000.0, at=2.0, sequence=202)).matches
    assert found.tickets == ("t101", "near")
    assert judged == [2]
