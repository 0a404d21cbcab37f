"""`weighted`: opponents drawn by likeness, waiting and novelty."""

import math
from collections import Counter

import numpy as np
import pytest

from evenmatch import simulate
from evenmatch.errors import ConfigError
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Queue, Rule
from evenmatch.model.scenario import Scenario
from evenmatch.model.ticket import Player, Rating, Ticket
from evenmatch.policies.base import NOTHING, Decision, Matcher
from evenmatch.policies.hooks import rules_of
from evenmatch.policies.weighted import Weighted, draw_index
from evenmatch.testing import queue, rule, ticket


def enter(at_work: Matcher, *tickets: Ticket) -> Decision:
    """Let tickets enter one after the other; return the decision after the last one."""
    decision = NOTHING
    for each in tickets:
        at_work.enter(each, each.enqueued_at)
        decision = at_work.decide(each.enqueued_at)
    return decision


def groups(decision: Decision) -> list[tuple[str, ...]]:
    return [grouping.tickets for grouping in decision.matches]


def again(player: str, rating: float, at: float, sequence: int) -> Ticket:
    """Return a ticket of a player who may have played before."""
    return Ticket(
        f"{player}#{sequence}", sequence, at, (Player(player, Rating(rating)),), ("main",)
    )


def shares(chosen: Weighted, runs: int, *others: Ticket) -> dict[str, float]:
    """Return how often the first of all tickets draws each of the others, in a round."""
    found = Counter[str]()
    for seed in range(runs):
        at_work = chosen.matcher(queue(), seed=seed)
        for each in others:
            at_work.enter(each, 10.0)
        first = at_work.decide(at_work.decide(10.0).wake_at, fired=True).matches[0]
        found[first.tickets[1]] += 1
    return {name: count / runs for name, count in found.items()}


def test_newcomer_plays_at_once_even_somebody_a_thousand_points_away() -> None:
    decision = enter(
        Weighted().matcher(queue(), seed=1),
        ticket("0", 0, sequence=1),
        ticket("1000", 1000, at=3, sequence=2),
    )
    assert groups(decision) == [("0", "1000")]


def test_no_weight_is_too_small_for_a_draw_without_a_floor() -> None:
    # exp(-(1e6 / 1)^2 / 2) is 0 as a float.
    decision = enter(
        Weighted(sigma=1).matcher(queue(), seed=1),
        ticket("a", 0, sequence=1),
        ticket("b", 1e6, sequence=2),
    )
    assert groups(decision) == [("a", "b")]


def test_floor_keeps_the_unlike_apart() -> None:
    at_work = Weighted(floor=0.01).matcher(queue(), seed=1)
    assert (
        enter(at_work, ticket("0", 0, sequence=1), ticket("1000", 1000, at=3, sequence=2))
        == NOTHING
    )


def test_round_keeps_everybody_waiting_until_it_comes() -> None:
    at_work = Weighted(every=30).matcher(queue(), seed=1)
    decision = enter(at_work, ticket("0", 0, sequence=1), ticket("1000", 1000, at=3, sequence=2))
    assert decision == Decision(wake_at=30.0)
    assert groups(at_work.decide(30.0, fired=True)) == [("0", "1000")]
    assert at_work.decide(30.0, fired=True) == NOTHING


def test_instant_at_which_a_wait_lifts_the_weight_to_the_floor_is_exact() -> None:
    # At one sigma the weight is exp(-1/2) (1 + s / 4): 1 for s = 4 (exp(1/2) - 1) = 2.594885...
    chosen = Weighted(sigma=100, wait=0.25, floor=1.0)
    at_work = chosen.matcher(queue(), seed=1)
    decision = enter(at_work, ticket("a", 1000, sequence=1), ticket("b", 1100, at=1, sequence=2))

    exact = 4 * (math.exp(0.5) - 1)
    assert exact <= decision.wake_at < exact + 2**-19
    assert decision.wake_at * 2**20 == math.floor(decision.wake_at * 2**20)
    assert at_work.decide(decision.wake_at - 2**-20, fired=True).matches == ()
    assert groups(at_work.decide(decision.wake_at, fired=True)) == [("a", "b")]


def test_wait_counts_for_an_hour_and_no_more() -> None:
    # Up to an hour the factor for the wait grows to 1 + 3600 wait; the weight of 3 sigma is 1/90.
    for wait, meets in ((90 / 3600, True), (88 / 3600, False)):
        chosen = Weighted(sigma=100, wait=wait, floor=1.0)
        at_work = chosen.matcher(queue(), seed=1)
        decision = enter(
            at_work, ticket("a", 1000, sequence=1), ticket("b", 1300, at=1, sequence=2)
        )
        assert (decision.wake_at < math.inf) == meets


def test_draw_follows_the_weights_of_likeness_and_waiting() -> None:
    runs = 3000
    chosen = Weighted(sigma=100, wait=0.1, every=10)
    found = shares(
        chosen,
        runs,
        ticket("chooser", 1000, at=0, sequence=1),
        ticket("like", 1000, at=10, sequence=2),
        ticket("older", 1100, at=0, sequence=3),
    )
    # The first entry is at 10 s, the round at 20 s: waits of 10 and 20 s.
    like, older = 1 + 1.0, math.exp(-0.5) * (1 + 2.0)
    # Four standard errors of a share of 3,000 draws.
    tolerance = 4 * math.sqrt(0.25 / runs)
    assert found["like"] == pytest.approx(like / (like + older), abs=tolerance)


def test_waits_beyond_an_hour_weigh_the_same_in_a_draw() -> None:
    runs = 2000
    found = shares(
        Weighted(wait=1.0, every=10),
        runs,
        ticket("chooser", 1000, at=-20_000, sequence=1),
        ticket("hours", 1000, at=-14_400, sequence=2),
        ticket("hour", 1000, at=-3_600, sequence=3),
    )
    # Four standard errors of a share of 2,000 draws.
    assert found["hours"] == pytest.approx(0.5, abs=4 * math.sqrt(0.25 / runs))


def test_draw_without_whom_a_rule_forbids_is_as_if_he_were_not_there() -> None:
    runs = 2000
    found = Counter[str]()
    for seed in range(runs):
        at_work = Weighted(every=5, wait=0).matcher(queue(rules=(rule("ping", 10),)), seed=seed)
        for number, (name, ping) in enumerate(
            (("chooser", 0), ("forbidden", 90), ("one", 0), ("two", 0)), 1
        ):
            at_work.enter(ticket(name, 1000, sequence=number, ping=ping), 0.0)
        found[at_work.decide(5.0, fired=True).matches[0].tickets[1]] += 1
    # Four standard errors of a share of 2,000 draws.
    assert found["one"] / runs == pytest.approx(0.5, abs=4 * math.sqrt(0.25 / runs))
    assert found["two"] == runs - found["one"]


def test_return_and_restart_leave_the_order_of_a_draw_as_it_was() -> None:
    sided = queue(sides=("white", "black"))
    whites = [ticket(name, 1000, at=1, sequence=n, side="white") for n, name in enumerate("ab", 1)]
    newcomer = ticket("c", 1000, at=9, sequence=3, side="black")
    for seed in range(20):
        before = Weighted().matcher(sided, seed=seed)
        enter(before, *whites)
        before.leave("a", 2.0)
        before.enter(whites[0], 3.0)
        after = Weighted().matcher(sided, seed=seed, memory=before.memory())
        for each in whites:
            after.enter(each, 5.0)
        assert enter(before, newcomer) == enter(after, newcomer)


def test_recent_opponent_is_drawn_less_often() -> None:
    runs = 2000
    found = Counter[str]()
    for seed in range(runs):
        at_work = Weighted(recency=3, wait=0, every=10).matcher(queue(), seed=seed)
        at_work.enter(again("me", 1000, 0, 1), 0.0)
        at_work.enter(again("friend", 1000, 0, 2), 0.0)
        assert len(at_work.decide(10.0, fired=True).matches) == 1
        for number, player in enumerate(("me", "friend", "new"), 3):
            at_work.enter(again(player, 1000, 11, number), 11.0)
        (group,) = at_work.decide(20.0, fired=True).matches
        found[group.tickets[1]] += 1
    # 1/4 against 1; four standard errors.
    assert found["new#5"] / runs == pytest.approx(0.8, abs=4 * math.sqrt(0.16 / runs))


def test_recent_opponent_has_to_wait_longer_for_the_floor() -> None:
    # The weight is (1 + s) / 2 for a friend just met, so 1 after a second.
    at_work = Weighted(recency=1, wait=1.0, floor=1.0).matcher(queue(), seed=1)
    assert groups(enter(at_work, again("a", 1000, 0, 1), again("b", 1000, 0, 2))) == [
        ("a#1", "b#2")
    ]
    decision = enter(at_work, again("a", 1000, 5, 3), again("b", 1000, 5, 4))
    assert decision == Decision(wake_at=6.0)


def test_whom_a_rule_forbids_is_never_drawn() -> None:
    in_queue = queue(rules=(rule("ping", 10),))
    for seed in range(40):
        at_work = Weighted(every=5).matcher(in_queue, seed=seed)
        for number, ping in enumerate((0, 90, 45, 92), 1):
            at_work.enter(ticket(f"{ping}", 1000, sequence=number, ping=ping), 0.0)
        decision = at_work.decide(5.0, fired=True)
        assert groups(decision) == [("90", "92")]
        assert decision.wake_at == 10.0


def test_rule_that_widens_lets_the_newcomer_draw_at_its_instant() -> None:
    in_queue = queue(rules=(rule(limit=10, rate=1),))
    at_work = Weighted().matcher(in_queue, seed=1)
    decision = enter(at_work, ticket("a", 1000, sequence=1), ticket("b", 1030, at=2, sequence=2))
    assert decision == Decision(wake_at=22.0)
    assert groups(at_work.decide(22.0, fired=True)) == [("a", "b")]


def test_floor_holds_in_rounds_too() -> None:
    at_work = Weighted(floor=0.9, wait=0, every=5).matcher(queue(), seed=1)
    enter(at_work, ticket("a", 1000, sequence=1), ticket("b", 1100, sequence=2))
    assert at_work.decide(5.0, fired=True) == Decision(wake_at=10.0)
    at_work.leave("a", 6.0)
    at_work.leave("nobody", 6.0)
    assert at_work.decide(6.0) == Decision(wake_at=10.0)
    at_work.leave("b", 6.0)
    assert at_work.decide(6.0) == NOTHING


def test_simulation_lets_weights_grow_to_the_floor_in_later_rounds() -> None:
    # At 2 sigma the weight is 0.135 (1 + s / 100): 1 for s = 639 s, and the 64th round of 10 s.
    given = queue(policy="weighted:sigma=100,wait=0.01,floor=1,every=10")
    arrivals = [ticket(name, 1000 + 200 * n, sequence=n + 1) for n, name in enumerate("ab")]
    run = simulate(Scenario((given,)), arrivals=arrivals)
    assert [match["at"] for match in run.matches] == [640.0]


def test_draw_of_equal_weights_is_even_and_never_beyond_the_end() -> None:
    logs = np.array([-math.inf, 0.0, 0.0, -math.inf])
    assert [draw_index(logs, uniform) for uniform in (0.0, 0.49, 0.5, 0.99)] == [1, 1, 2, 2]
    assert draw_index(np.array([0.0, -math.inf]), 1.0) == 0


@pytest.mark.parametrize("every", [None, 20.0])
def test_restart_changes_neither_opponents_nor_draws(every: float | None) -> None:
    chosen = Weighted(every=every, floor=0.5, sigma=40)
    before = chosen.matcher(queue(), seed=4)
    pool = [ticket(f"t{n}", 1000 + 37 * n % 400, at=n, sequence=n) for n in range(1, 30)]
    gone = {name for each in pool for group in groups(enter(before, each)) for name in group}
    after = chosen.matcher(queue(), seed=4, memory=before.memory())
    for each in pool:
        if each.id not in gone:
            after.enter(each, 29.0)

    newcomer = ticket("new", 1100, at=30, sequence=30)
    assert enter(before, newcomer) == enter(after, newcomer)
    assert before.decide(61.0, fired=True) == after.decide(61.0, fired=True)
    assert before.memory() == after.memory()


def test_ratings_must_be_known_but_no_gap_is_forbidden() -> None:
    assert rules_of(Weighted(), queue()) == (Rule("spread", "rating", 1e15),)
    assert rules_of(Weighted(), queue(rules=(rule(limit=3),))) == ()


@pytest.mark.parametrize("every", [None, 5.0])
def test_open_matches_are_left_to_the_engine(every: float | None) -> None:
    at_work = Weighted(every=every).matcher(queue(), seed=1)
    at_work.enter(OpenMatch("m1", "main", 1, 0.0, (("x",), ()), (0, 1)), 0.0)
    assert at_work.decide(0.0) == NOTHING


@pytest.mark.parametrize(
    ("chosen", "in_queue", "sentence"),
    [
        (Weighted(sigma=0), queue(), "weighted: sigma must be between 1e-9 and 1e15, got 0"),
        (Weighted(wait=-1), queue(), "weighted: wait must be between 0 and 1e6 per second, got -1"),
        (Weighted(floor=-1), queue(), "weighted: floor must be between 0 and 1e9, got -1"),
        (Weighted(recency=101), queue(), "weighted: recency must be between 0 and 100, got 101"),
        (Weighted(every=0), queue(), "weighted: every must be between 0.05 and 1e9 s, got 0"),
        (
            Weighted(),
            queue("squads", 2, 2),
            (
                "policy weighted pairs two players: queue squads needs teams = 2 and "
                "players = 1; use greedy for larger formats"
            ),
        ),
    ],
)
def test_parameters_that_cannot_work_are_refused(
    chosen: Weighted, in_queue: Queue, sentence: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        chosen.matcher(in_queue, seed=1)
    assert str(caught.value) == sentence
