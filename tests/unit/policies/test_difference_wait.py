"""`difference_wait`: who is taken, when it becomes definitive, and groups of more than two."""

import math

import pytest

from evenmatch.errors import ConfigError
from evenmatch.model.queue import Criterion, Format, Queue, Scale
from evenmatch.policies.base import Decision, Matcher
from evenmatch.policies.difference_wait import DifferenceWait
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import queue, rule, ticket
from tests.unit.policies.test_multi_queue import cost, run

RATING = Criterion("spread", "rating", scale=Scale(max=128.0))
DUEL = queue(criteria=(RATING,))
THREE = Queue("three", Format((1, 1, 1)), (RATING,))


def enter(at_work: Matcher, *ratings: float, first: int = 1) -> Decision:
    """Let players enter at 1 s, 2 s, ...; return the last decision, all before being empty."""
    decision = Decision()
    for i, rating in enumerate(ratings, first):
        assert decision.matches == ()
        at_work.enter(ticket(f"t{i}", rating, at=i, sequence=i), i)
        decision = at_work.decide(i)
    return decision


def matched(decision: Decision) -> list[set[str]]:
    return [set(grouping.tickets) for grouping in decision.matches]


def test_match_waits_in_proportion_to_its_distance() -> None:
    at_work = DifferenceWait(factor=64.0).matcher(DUEL, seed=1)

    assert enter(at_work, 0, 64) == Decision(wake_at=33.0)
    assert at_work.decide(33.0) == Decision(wake_at=33.0)
    assert matched(at_work.decide(33.0, fired=True)) == [{"t1", "t2"}]


def test_wait_may_count_from_the_moment_of_pairing() -> None:
    at_work = DifferenceWait(factor=64.0, origin="pair").matcher(DUEL, seed=1)

    assert enter(at_work, 0, 64) == Decision(wake_at=34.0)


def test_power_lets_close_matches_wait_less() -> None:
    at_work = DifferenceWait(factor=64.0, power=2.0).matcher(DUEL, seed=1)

    assert enter(at_work, 0, 64) == Decision(wake_at=17.0)


def test_instants_are_rounded_up_to_the_grid() -> None:
    at_work = DifferenceWait(factor=10.0).matcher(DUEL, seed=1)

    exact = 1 + 10 * 100 / 3 / 128
    found = enter(at_work, 0, 100 / 3).wake_at

    assert exact <= found < exact + 2.0**-20
    assert found * 2.0**20 == math.floor(found * 2.0**20)


def test_deadline_of_the_older_ends_the_wait() -> None:
    in_queue = queue(criteria=(RATING,), wait_max=10.0)
    at_work = DifferenceWait(factor=64.0).matcher(in_queue, seed=1)

    assert enter(at_work, 0, 64) == Decision(wake_at=11.0)
    assert matched(at_work.decide(11.0, fired=True)) == [{"t1", "t2"}]


def test_closer_newcomer_takes_a_mate_and_the_dropped_looks_again() -> None:
    at_work = DifferenceWait(factor=128.0).matcher(DUEL, seed=1)
    # t3 takes t2 from t1; t4, as far from t1 as t2 was, finds t1 free.
    enter(at_work, 0, 64, 96)
    decision = enter(at_work, 60, first=4)

    # t4 took t2 at distance 4: it was due at 2 + 4 = 6 s. t3 is left to t1: 1 + 96 s.
    assert decision == Decision(wake_at=6.0)
    fired = at_work.decide(6.0, fired=True)
    assert matched(fired) == [{"t2", "t4"}]
    assert fired.wake_at == 97.0


def test_equally_close_newcomer_takes_nobody() -> None:
    at_work = DifferenceWait(factor=128.0).matcher(DUEL, seed=1)
    enter(at_work, 0, 32)

    # t3 is as close to t2 as t1 is, and so it stays alone.
    assert enter(at_work, 64, first=3) == Decision(wake_at=33.0)


def test_mate_of_one_who_leaves_looks_again() -> None:
    at_work = DifferenceWait(factor=128.0).matcher(DUEL, seed=1)
    enter(at_work, 0, 32, 64)

    at_work.leave("t1", 3.0)

    # t2 and t3 remain: 2 + 32 s.
    assert at_work.decide(3.0) == Decision(wake_at=34.0)


def test_distance_over_several_criteria_is_weighted() -> None:
    criteria = (
        Criterion("spread", "rating", weight=3.0, scale=Scale(max=128.0)),
        Criterion("spread", "ping", weight=1.0, scale=Scale(max=128.0)),
    )
    at_work = DifferenceWait(factor=64.0).matcher(queue(criteria=criteria), seed=1)
    at_work.enter(ticket("t1", 0, at=1, sequence=1, ping=0), 1.0)
    at_work.enter(ticket("t2", 64, at=2, sequence=2, ping=128), 2.0)

    # (3 * 0.5 + 1 * 1) / 4 = 0.625, times 64 s.
    assert at_work.decide(2.0) == Decision(wake_at=41.0)


def test_group_waits_for_its_spread() -> None:
    at_work = DifferenceWait(factor=64.0).matcher(THREE, seed=1)

    assert enter(at_work, 0, 64) == Decision()
    assert enter(at_work, 32, first=3) == Decision(wake_at=33.0)
    assert matched(at_work.decide(33.0, fired=True)) == [{"t1", "t2", "t3"}]


def test_group_that_loses_a_player_to_a_closer_one_is_dissolved() -> None:
    at_work = DifferenceWait(factor=64.0).matcher(THREE, seed=1)

    # t2, t3 and t4 are within 2 of 128: one second from t2's arrival. t1 is alone again.
    assert matched(enter(at_work, 0, 64, 66, 65)) == [{"t2", "t3", "t4"}]
    assert matched(enter(at_work, 1, 2, first=5)) == [{"t1", "t5", "t6"}]


def test_overdue_ticket_takes_players_out_of_a_group() -> None:
    in_queue = Queue("three", Format((1, 1, 1)), (RATING,), wait_max=10.0)
    at_work = DifferenceWait(factor=640.0).matcher(in_queue, seed=1)
    enter(at_work, 0, 60, 70, 80)

    fired = at_work.decide(11.0, fired=True)

    # t1 was alone; t2 and t3 add the least to it. t4 stays.
    assert matched(fired) == [{"t1", "t2", "t3"}]
    assert fired.wake_at == 14.0


def test_restored_matcher_dissolves_groups_of_which_somebody_is_missing() -> None:
    before = DifferenceWait(factor=64.0).matcher(THREE, seed=1)
    enter(before, 0, 64, 32)
    after = DifferenceWait(factor=64.0).matcher(THREE, seed=1, memory=before.memory())

    # t1 left between the snapshot and the restart.
    after.enter(ticket("t2", 64, at=2, sequence=2), 5.0)
    after.enter(ticket("t3", 32, at=3, sequence=3), 5.0)
    assert after.decide(5.0) == Decision()
    after.enter(ticket("t4", 48, at=6, sequence=4), 6.0)

    assert after.decide(6.0) == Decision(wake_at=18.0)


@pytest.mark.parametrize(
    "spec", ["periodic:rounds_of=1", "multi_queue:brackets=1", "difference_wait:factor=0"]
)
@pytest.mark.parametrize(("k", "rate"), [(2, 0.3), (2, 10.0), (3, 0.3), (3, 10.0)])
def test_smallest_parameters_are_greedy_match_for_match(spec: str, k: int, rate: float) -> None:
    for seed in range(5):
        greedy, found = run("greedy", k, 1, rate, seed), run(spec, k, 1, rate, seed)

        assert found.tickets.tolist() == greedy.tickets.tolist()
        assert found.at.tolist() == greedy.at.tolist()
        assert found.bots.tolist() == greedy.bots.tolist()


@pytest.mark.parametrize(
    ("k", "criteria", "rate", "most"), [(2, 1, 10.0, 0.245), (4, 1, 10.0, 1.2), (10, 3, 30.0, 7.0)]
)
def test_groups_cost_far_less_than_greedy_ones(
    k: int, criteria: int, rate: float, most: float
) -> None:
    # Greedy costs 0.69, 2.53 and 8.48; the standard errors are below 2 %.
    assert cost("difference_wait", k, criteria, rate, 5) < most


@pytest.mark.parametrize(
    ("spec", "in_queue", "sentence"),
    [
        ("difference_wait:factor=-1", DUEL, "factor must be between 0 and 1e9 s, got -1"),
        ("difference_wait:power=-1", DUEL, "power must be between 0 and 100, got -1"),
        ("difference_wait:origin=start", DUEL, "origin must be"),
        (
            "difference_wait",
            queue(criteria=(RATING,), rules=(rule(limit=10),)),
            "supports no rules or sides; queue main has rules",
        ),
        ("difference_wait", queue("squads", 2, 2), "is for teams of one player"),
    ],
)
def test_what_it_cannot_do_is_said(spec: str, in_queue: Queue, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        parse_policy(spec).matcher(in_queue, seed=1)
