"""`virtual_rating`: who waits sinks until he reaches somebody, and the result is rated fairly."""

import math

import pytest

from evenmatch import rate
from evenmatch.errors import ConfigError
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Queue, Rule
from evenmatch.model.ticket import Ticket
from evenmatch.policies import virtual_rating
from evenmatch.policies.base import NOTHING, Decision, Matcher
from evenmatch.policies.hooks import rules_of
from evenmatch.policies.virtual_rating import VirtualRating
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


def test_top_player_meets_the_best_below_when_his_virtual_rating_gets_there() -> None:
    at_work = VirtualRating(rate=2, limit=150).matcher(queue(), seed=1)
    decision = enter(
        at_work,
        ticket("2655", 2655, sequence=1),
        ticket("2044", 2044, at=10, sequence=2),
        ticket("1200", 1200, at=20, sequence=3),
    )

    # 611 - 150 points at 2 a second.
    assert decision == Decision(wake_at=230.5)
    assert groups(at_work.decide(230.5, fired=True)) == [("2655", "2044")]


def test_players_within_the_limit_meet_at_once() -> None:
    at_work = VirtualRating(limit=150).matcher(queue(), seed=1)
    decision = enter(at_work, ticket("a", 1000, sequence=1), ticket("b", 1150, at=1, sequence=2))
    assert groups(decision) == [("a", "b")]


def test_only_the_wait_of_the_upper_one_counts() -> None:
    at_work = VirtualRating(rate=2, limit=150).matcher(queue(), seed=1)
    decision = enter(
        at_work, ticket("low", 1000, sequence=1), ticket("high", 1250, at=500, sequence=2)
    )
    assert decision == Decision(wake_at=550.0)


def test_newcomer_below_is_met_at_once_by_who_has_sunk_to_him() -> None:
    at_work = VirtualRating(rate=2, limit=150).matcher(queue(), seed=1)
    enter(at_work, ticket("high", 2000, sequence=1))
    decision = enter(at_work, ticket("low", 1700, at=75, sequence=2))
    assert groups(decision) == [("high", "low")]


def test_who_has_sunk_below_a_rating_still_accepts_it() -> None:
    # After 400 s the virtual rating is 1200; 1900 is 700 above it, but was accepted long before.
    at_work = VirtualRating(rate=2, limit=150).matcher(queue(), seed=1)
    enter(at_work, ticket("high", 2000, sequence=1))
    decision = enter(at_work, ticket("middle", 1800, at=400, sequence=2))
    assert groups(decision) == [("high", "middle")]


def test_instant_is_rounded_up_to_the_time_grid() -> None:
    at_work = VirtualRating(rate=3, limit=100).matcher(queue(), seed=1)
    decision = enter(at_work, ticket("a", 1200, sequence=1), ticket("b", 1000, sequence=2))
    assert decision.wake_at == math.ceil(100 / 3 * 2**20) / 2**20
    assert groups(at_work.decide(decision.wake_at, fired=True)) == [("a", "b")]


def test_player_who_leaves_lets_the_next_one_below_be_found() -> None:
    at_work = VirtualRating(rate=1, limit=0).matcher(queue(), seed=1)
    enter(
        at_work,
        ticket("high", 1100, sequence=1),
        ticket("low", 1000, at=1, sequence=2),
        ticket("middle", 1050, at=2, sequence=3),
    )
    at_work.leave("middle", 5.0)
    at_work.leave("nobody", 5.0)
    assert at_work.decide(5.0) == Decision(wake_at=100.0)


def test_long_waiting_player_behind_a_newcomer_who_leaves_is_found() -> None:
    at_work = VirtualRating(rate=1, limit=0).matcher(queue(), seed=1)
    enter(
        at_work,
        ticket("highest", 1200, sequence=1),
        ticket("high", 1100, at=90, sequence=2),
        ticket("low", 1000, at=95, sequence=3),
    )
    # highest reaches high at 100 s; without high he reaches low at 200 s.
    at_work.leave("high", 96.0)
    assert at_work.decide(96.0) == Decision(wake_at=200.0)


def test_toward_the_median_both_ends_come_closer() -> None:
    at_work = VirtualRating(rate=1, limit=100, toward="median").matcher(queue(), seed=1)
    decision = enter(
        at_work,
        ticket("m1", 1500, sequence=1),
        ticket("m2", 1500, sequence=2),
        ticket("low", 900, at=10, sequence=3),
        ticket("m3", 1500, at=20, sequence=4),
    )
    # m1 and m2 have met; the median of 1500, 1500, 900 is 1500, and low goes up to it.
    assert decision == Decision(wake_at=510.0)
    assert groups(at_work.decide(510.0, fired=True)) == [("low", "m3")]


@pytest.mark.parametrize(("low", "wake_at"), [(1400, 610.0), (1399, math.inf), (900, math.inf)])
def test_beyond_the_median_and_the_limit_nobody_is_accepted(low: float, wake_at: float) -> None:
    at_work = VirtualRating(rate=1, limit=100, toward="median").matcher(queue(), seed=1)
    decision = enter(
        at_work,
        ticket("m1", 1500, sequence=1),
        ticket("m2", 1500, sequence=2),
        ticket("high", 2100, at=10, sequence=3),
        ticket("low", low, at=20, sequence=4),
    )
    # m1 and m2 have met; the median of 1500, 1500 and 2100 is as far as high goes.
    assert decision == Decision(wake_at=wake_at)


def test_median_of_later_entries_moves_nobody_who_waits() -> None:
    at_work = VirtualRating(rate=1, limit=100, toward="median").matcher(queue(), seed=1)
    enter(at_work, ticket("m", 1500, sequence=1))
    # The median at its entry is 1250, so it goes no further than there.
    enter(at_work, ticket("low", 1000, at=1, sequence=2))
    for number in range(3, 12):
        at_work.enter(ticket(f"t{number}", 9000, at=2, sequence=number), 2.0)
        at_work.leave(f"t{number}", 2.0)
    decision = enter(at_work, ticket("middle", 1400, at=3, sequence=20))
    assert groups(decision) == [("m", "middle")]
    decision = enter(at_work, ticket("half", 1200, at=4, sequence=21))
    assert decision == Decision(wake_at=101.0)


def test_median_remembers_only_so_many_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual_rating, "RECENT_MAX", 3)
    at_work = VirtualRating(toward="median").matcher(queue(), seed=1)
    for number, rating in enumerate((5000, 1000, 3000, 3001, 1000), 1):
        at_work.enter(ticket(f"t{number}", rating, sequence=number), 0.0)
        at_work.leave(f"t{number}", 0.0)
    assert at_work.memory() == {"recent": [3000.0, 3001.0, 1000.0], "seen": 5, "aims": []}


def test_restart_keeps_where_everybody_goes() -> None:
    chosen = VirtualRating(rate=1, limit=100, toward="median")
    ratings = enumerate((1500, 900, 50), 1)
    pool = [ticket(f"t{n}", rating, at=n, sequence=n) for n, rating in ratings]
    before = chosen.matcher(queue(), seed=1)
    promised = enter(before, *pool)
    after = chosen.matcher(queue(), seed=1, memory=before.memory())
    for each in pool:
        after.enter(each, 20.0)

    assert after.decide(20.0) == promised
    assert promised.wake_at < math.inf
    assert after.memory() == before.memory()


def test_rule_of_the_queue_holds_too() -> None:
    in_queue = queue(rules=(rule("ping", 10, rate=1),))
    at_work = VirtualRating(rate=1, limit=100).matcher(in_queue, seed=1)
    decision = enter(
        at_work,
        ticket("a", 1000, sequence=1, ping=0),
        ticket("b", 1000, at=1, sequence=2, ping=40),
    )
    assert decision == Decision(wake_at=31.0)
    assert groups(at_work.decide(31.0, fired=True)) == [("a", "b")]


def test_two_of_one_side_never_meet() -> None:
    sided = queue(sides=("white", "black"))
    at_work = VirtualRating(rate=1, limit=100).matcher(sided, seed=1)
    decision = enter(
        at_work,
        ticket("a", 1200, sequence=1, side="white"),
        ticket("b", 1100, sequence=2, side="white"),
        ticket("c", 1000, sequence=3, side="black"),
    )
    assert groups(decision) == [("b", "c")]


@pytest.mark.parametrize("system", ["elo", "glicko", "glicko2"])
def test_wide_match_costs_the_favourite_only_as_much_as_an_even_one(system: str) -> None:
    top, low = 2655.0, 2044.0
    wide = VirtualRating().is_wide(top, low)
    assert wide

    def after(winner: str, wide: bool, low_rating: float = low) -> tuple[float, float]:
        ratings = {
            "top": {"mean": top, "deviation": 50.0},
            "low": {"mean": low_rating, "deviation": 50.0},
        }
        ranks = [1, 2] if winner == "top" else [2, 1]
        match = {"teams": [["top"], ["low"]], "ranks": ranks, "wide": wide}
        found = rate(system, ratings, [match])
        gained_top, gained_low = found["top"]["mean"], found["low"]["mean"]
        assert gained_top is not None
        assert gained_low is not None
        return gained_top - top, gained_low - low_rating

    # The favourite wins: the ordinary update, next to nothing.
    assert after("top", wide) == after("top", False)
    assert abs(after("top", wide)[0]) < 1.0
    # The favourite loses: as much as against an equal, and the other gains as much.
    even = after("low", False, low_rating=top)[0]
    assert after("low", wide)[0] == pytest.approx(even, rel=1e-9)
    assert after("low", wide)[1] == pytest.approx(-even, rel=1e-6)
    assert after("low", False)[0] < 1.5 * even


def test_match_within_the_limit_is_not_wide() -> None:
    chosen = VirtualRating(limit=150)
    assert not chosen.is_wide(1500, 1650)
    assert chosen.is_wide(1500, 1651)
    assert chosen.is_wide(1651, 1500)


def test_ratings_must_be_known_but_no_gap_is_forbidden() -> None:
    assert rules_of(VirtualRating(), queue()) == (Rule("spread", "rating", 1e15),)
    assert rules_of(VirtualRating(), queue(rules=(rule(limit=3),))) == ()


def test_open_matches_are_left_to_the_engine() -> None:
    at_work = VirtualRating().matcher(queue(), seed=1)
    at_work.enter(OpenMatch("m1", "main", 1, 0.0, (("x",), ()), (0, 1)), 0.0)
    assert at_work.decide(0.0) == NOTHING


@pytest.mark.parametrize(
    ("chosen", "in_queue", "sentence"),
    [
        (
            VirtualRating(rate=0),
            queue(),
            "virtual_rating: rate must be between 1e-9 and 1e15 per second, got 0",
        ),
        (
            VirtualRating(limit=math.nan),
            queue(),
            "virtual_rating: limit must be between 0 and 1e15, got nan",
        ),
        (
            VirtualRating(toward="mean"),
            queue(),
            'virtual_rating: toward must be one of down, median (did you mean median?), got "mean"',
        ),
        (
            VirtualRating(),
            queue("squads", 2, 2),
            (
                "policy virtual_rating pairs two players: queue squads needs teams = 2 and "
                "players = 1; use greedy for larger formats"
            ),
        ),
    ],
)
def test_parameters_that_cannot_work_are_refused(
    chosen: VirtualRating, in_queue: Queue, sentence: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        chosen.matcher(in_queue, seed=1)
    assert str(caught.value) == sentence
