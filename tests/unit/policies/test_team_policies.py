"""What `rounds`, `threshold` and `rolling` promise, each on small pools."""

import json
import math
import time
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from evenmatch import simulate
from evenmatch.errors import ConfigError
from evenmatch.model.queue import Criterion, Expansion, Format, Queue, Rule, Scale
from evenmatch.model.scenario import Arrivals, Normal, Scenario
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, Matcher
from evenmatch.policies.registry import parse_policy
from evenmatch.policies.rounds import RoundsMatcher
from evenmatch.policies.shared.search_matcher import STARTS_MAX, SearchingMatcher
from evenmatch.testing import ticket

LEVEL = Criterion("spread", "rating", weight=1.0, scale=Scale(min=0.0, max=1_000.0))
FAIR = Criterion("imbalance", "rating", weight=1.0, scale=Scale(min=0.0, max=1_000.0))
TEAMS = Queue("twos", Format((2, 2)), (LEVEL, FAIR), wait_price=0.005)


def crowd(count: int, rating: float = 500.0, *, at: float = 0.0, first: int = 1) -> list[Ticket]:
    return [
        ticket(f"t{number}", rating + number % 7, at=at, sequence=number)
        for number in range(first, first + count)
    ]


def play(matcher: Matcher, now: float, until: float, most: int = 1_000) -> list[tuple[float, int]]:
    """Let time pass; return when how many matches were made, jobs being solved at once."""
    made, decision = [], matcher.decide(now)
    for _ in range(2_000):
        if decision.matches:
            made.append((now, len(decision.matches)))
        if decision.job is not None:
            job = decision.job
            plan = job.combine([job.solve(part) for part in range(job.parts)])
            decision = matcher.settle(plan, now)
        elif decision.wake_at > until or len(made) >= most:
            return made
        else:
            now = max(now, decision.wake_at)
            decision = matcher.decide(now, fired=True)
    raise AssertionError(f"it goes round in circles at {now} s")


def solved(matcher: Matcher, now: float) -> Decision:
    """Let a round begin and settle at once."""
    job = matcher.decide(now, fired=True).job
    assert job is not None
    return matcher.settle(job.combine([job.solve(part) for part in range(job.parts)]), now)


def started(matcher: Matcher, now: float) -> int:
    """Let a round begin and settle at once; return how many matches it makes, turn by turn."""
    decision, made = solved(matcher, now), 0
    while decision.matches:
        made += len(decision.matches)
        now += 2.0**-20
        decision = matcher.decide(now, fired=True)
    return made


def matcher_of(spec: str, queue: Queue = TEAMS) -> Matcher:
    return parse_policy(spec).matcher(queue, seed=1)


def enter(matcher: Matcher, tickets: list[Ticket], now: float = 0.0) -> None:
    for each in tickets:
        matcher.enter(each, now)


def test_round_comes_at_the_moment_that_was_promised() -> None:
    matcher = matcher_of("rounds:every=120,effort=20")
    assert isinstance(matcher, RoundsMatcher)
    enter(matcher, crowd(8, at=5.0), 5.0)
    promised = matcher.promise("t3", 50.0)
    assert promised is not None
    assert promised.latest == promised.expected == 125.0
    assert matcher.decide(5.0).wake_at == 125.0
    assert started(matcher, 125.0) == 2
    assert matcher.promise("t3", 130.0) is None


def test_round_begins_when_enough_players_wait() -> None:
    matcher = matcher_of("rounds:players=8,wait_max=300,effort=20")
    assert isinstance(matcher, RoundsMatcher)
    enter(matcher, crowd(4), 0.0)
    assert matcher.decide(0.0).wake_at == 300.0
    for each in crowd(2, at=10.0, first=5):
        matcher.enter(each, 10.0)
    promised = matcher.promise("t1", 10.0)
    assert promised is not None
    assert promised.latest == 300.0
    assert 10.0 < promised.expected < 300.0
    enter(matcher, crowd(2, at=20.0, first=7), 20.0)
    assert matcher.decide(20.0).wake_at == 20.0
    assert started(matcher, 20.0) == 2


@pytest.mark.parametrize("spec", ["rounds:players=3,wait_max=60", "rounds:wait_max=60"])
def test_round_for_those_who_come_back_at_its_instant_begins_after_it(spec: str) -> None:
    # The engine gives players back whose ready-check together has just failed.
    form = Format((2, 2), players_min=(1, 1))
    matcher, tickets = matcher_of(spec, replace(TEAMS, format=form)), crowd(4)
    enter(matcher, tickets)
    assert len(solved(matcher, 60.0).matches) == 1
    enter(matcher, tickets[:3], 60.0)
    waits = matcher.decide(60.0)
    assert waits.wake_at == 60.0 + 2.0**-20
    decision = matcher.decide(waits.wake_at, fired=True)
    assert decision.job is not None


@pytest.mark.parametrize("seed", [1, 2])
def test_round_begins_before_anybody_waits_longer_than_it_allows(seed: int) -> None:
    form, level = Format((3, 3)), Criterion("mean_gap", "rating", scale=Scale(min=0.0, max=3000.0))
    drawn = Normal(mean=1500.0, deviation=300.0)
    world = Scenario(
        (Queue("q", form, (level,), policy="rounds:wait_max=300,effort=50"),),
        Arrivals("poisson", rate=5.0 / 60.0, count=480, attributes={"rating": drawn}),
        seed=seed,
    )
    waits = [each["wait"] for each in simulate(world).tickets if each["state"] == "matched"]
    assert len(waits) > 470
    assert max(waits) <= 300.001
    assert max(waits) > 299.0, "nobody is hurried"


def test_round_for_those_left_over_begins_once_there_are_enough() -> None:
    matcher = matcher_of("rounds:wait_max=60,effort=50")
    enter(matcher, crowd(5))
    assert len(solved(matcher, 60.0).matches) == 1
    assert matcher.decide(61.0).wake_at == math.inf, "one player alone has nobody to play with"
    enter(matcher, crowd(2, at=70.0, first=10), 70.0)
    assert matcher.decide(70.0).wake_at == math.inf
    enter(matcher, crowd(1, at=80.0, first=20), 80.0)
    assert matcher.decide(80.0).wake_at == 80.0
    assert len(solved(matcher, 80.0).matches) == 1


def test_round_that_rules_left_players_over_from_is_tried_again_but_not_at_once() -> None:
    near = Rule("spread", "rating", 50.0)
    matcher = matcher_of("rounds:wait_max=60,effort=50", replace(TEAMS, rules=(near,)))
    far = [ticket(f"far{at}", 100.0 * at, sequence=at + 1) for at in range(6)]
    enter(matcher, far)
    assert not solved(matcher, 60.0).matches
    enter(matcher, crowd(1, at=61.0, first=20), 61.0)
    assert matcher.decide(61.0).wake_at == 66.0


def test_who_sat_out_a_round_plays_the_next() -> None:
    matcher = matcher_of("rounds:every=60,effort=50,skips=1")
    far = ticket("far", 900.0, sequence=1)
    enter(matcher, [far, *crowd(4, first=2)])
    first = {name for group in solved(matcher, 60.0).matches for name in group.tickets}
    enter(matcher, crowd(4, at=70.0, first=10), 70.0)
    second = {name for group in solved(matcher, 120.0).matches for name in group.tickets}
    assert "far" in first | second


def test_who_comes_while_a_round_is_solved_has_not_sat_it_out() -> None:
    matcher = matcher_of("rounds:every=60,effort=50,skips=1")
    enter(matcher, crowd(5))
    job = matcher.decide(60.0, fired=True).job
    assert job is not None
    matcher.enter(ticket("late", 500.0, at=70.0, sequence=9), 70.0)
    assert matcher.decide(120.0, fired=True).job is None
    matcher.settle(job.combine([job.solve(part) for part in range(job.parts)]), 125.0)
    (sat_out,) = matcher.memory()["sat_out"]
    assert sat_out[0] != 9
    assert sat_out[1] == 1


@pytest.mark.parametrize("spec", ["rounds:every=60,effort=20", "rolling:effort=20"])
def test_no_decision_starts_more_than_a_few_matches(spec: str) -> None:
    matcher = matcher_of(spec)
    enter(matcher, crowd(200))
    # So late that every match has long been good enough.
    now, made = 10_000.0, [len(solved(matcher, 10_000.0).matches)]
    while made[-1] and len(made) < 100:
        now += 2.0**-20
        decision = matcher.decide(now, fired=True)
        made.append(len(decision.matches))
    assert max(made) == STARTS_MAX
    assert sum(made) == 50


@pytest.mark.parametrize("spec", ["rounds:every=60,effort=50", "rolling", "threshold:relax=0.01"])
def test_one_player_far_from_everybody_costs_no_match(spec: str) -> None:
    far = [ticket("far", 1_000.0, sequence=1)]
    made = []
    for pool in (crowd(8, 0.0, first=2), [*far, *crowd(8, 0.0, first=2)]):
        matcher = matcher_of(spec)
        enter(matcher, pool)
        made.append(sum(count for _, count in play(matcher, 0.0, 200.0)))
    assert made == [2, 2]


@pytest.mark.parametrize("spec", ["rolling:wait_max=40", "threshold:quality=1,relax=0,wait_max=40"])
def test_nobody_waits_longer_than_the_bound_if_a_match_can_be_had(spec: str) -> None:
    free = Queue("twos", TEAMS.format, TEAMS.criteria, wait_price=0.0)
    matcher = matcher_of(spec, free)
    # A quiet hour in which better matches were usual.
    enter(matcher, crowd(4))
    play(matcher, 0.0, 60.0)
    came = 100.0
    enter(matcher, [ticket("a", 0.0, at=came, sequence=11)], came)
    for number, rating in enumerate((999.0, 400.0, 700.0), 12):
        matcher.enter(ticket(f"n{number}", rating, at=came, sequence=number), came)
    ((at, count),) = play(matcher, came, 1_000.0)
    assert count == 1
    assert at <= 140.0


def test_threshold_starts_a_good_match_at_once_and_a_worse_one_when_it_has_relaxed() -> None:
    matcher = matcher_of("threshold:quality=0.9,relax=0.01")
    enter(matcher, [ticket(f"a{n}", 500.0, sequence=n) for n in range(1, 5)])
    assert play(matcher, 0.0, 5.0) == [(0.0, 1)]
    enter(matcher, [ticket(f"b{n}", 400.0 * (n // 7), at=8.0, sequence=n) for n in range(5, 9)])
    ((at, count),) = play(matcher, 8.0, 100.0)
    # Two pairs 400 apart, mixed evenly: quality 1 - .4 / 2 = .8, so 10 s at .01 a second.
    assert count == 1
    assert at == pytest.approx(18.0, abs=1e-3)


def test_best_players_wait_longer_for_equals() -> None:
    waits = []
    for by in ("", ",by=rating,patience=4"):
        matcher = matcher_of(f"threshold:quality=0.9,relax=0.01{by}")
        enter(matcher, crowd(3, 0.0))
        play(matcher, 0.0, 0.0)
        matcher.enter(ticket("top", 900.0, sequence=9), 0.0)
        ((at, _),) = play(matcher, 0.0, 1_000.0)
        waits.append(at)
    assert waits[1] > 1.2 * waits[0]


def test_rolling_starts_nothing_that_falls_apart() -> None:
    matcher = matcher_of("rolling")
    enter(matcher, [*crowd(2, 0.0), *crowd(2, 900.0, first=3)])
    job = matcher.decide(0.0, fired=True).job
    assert job is not None
    plan = job.combine([job.solve(part) for part in range(job.parts)])
    matcher.leave("t2", 0.0)
    assert matcher.settle(plan, 0.0).matches == ()
    assert play(matcher, 0.0, 1_000.0) == []


def test_perfect_match_starts_at_once_however_long_others_are_worth_waiting_for() -> None:
    matcher = matcher_of("rolling:target_wait=300")
    enter(matcher, [ticket(f"a{n}", 500.0, sequence=n) for n in range(1, 5)])
    assert play(matcher, 0.0, 0.0) == [(0.0, 1)]
    enter(matcher, [ticket(f"b{n}", 800.0, at=1.0, sequence=n) for n in range(5, 9)])
    assert play(matcher, 1.0, 1.0) == [(1.0, 1)]


@pytest.mark.parametrize(
    ("spec", "matches"),
    [("rolling", [[1, 4], [2, 3]]), ("rounds:every=60", [[1, 2], [3, 4]])],
)
def test_rolling_takes_one_excellent_match_for_two_that_are_a_little_better(
    spec: str, matches: list[list[int]]
) -> None:
    matcher = matcher_of(spec)
    pairs = enumerate((300.0, 495.0, 505.0, 700.0), 1)
    enter(matcher, [ticket(f"t{n}", rating, rating, sequence=n) for n, rating in pairs])
    job = matcher.decide(60.0, fired=True).job
    assert job is not None
    plan = job.combine([job.solve(part) for part in range(job.parts)])
    assert sorted(sorted(match) for match in plan.data["matches"]) == matches


def test_rolling_asks_for_nobody_to_be_searched_twice_without_news() -> None:
    matcher = matcher_of("rolling")
    enter(matcher, [*crowd(2, 0.0), *crowd(2, 900.0, first=3)])
    jobs = 0
    now, decision = 0.0, matcher.decide(0.0)
    while decision.wake_at < 10.0:
        now = max(now, decision.wake_at)
        decision = matcher.decide(now, fired=True)
        if decision.job is not None:
            jobs += 1
            job = decision.job
            plan = job.combine([job.solve(part) for part in range(job.parts)])
            decision = matcher.settle(plan, now)
    assert jobs <= 2


def test_ten_thousand_who_cannot_play_keep_nobody_from_playing() -> None:
    lobby = Queue("twos", TEAMS.format, TEAMS.criteria, (Rule("same", "mode"),))
    matcher = matcher_of("rolling:effort=20", lobby)
    alone = [ticket(f"a{n}", 500.0, mode=f"m{n}", sequence=n) for n in range(1, 2_001)]
    enter(matcher, alone)
    play(matcher, 0.0, 5.0)
    enter(
        matcher,
        [ticket(f"b{n}", 500.0, mode="open", at=5.0, sequence=n) for n in range(2_001, 2_041)],
        5.0,
    )
    made = play(matcher, 5.0, 20.0)
    assert sum(count for _, count in made) == 10


@pytest.mark.parametrize("spec", ["rounds", "rolling", "threshold"])
def test_enter_and_leave_cost_hardly_more_among_ten_thousand_than_among_a_hundred(
    spec: str,
) -> None:
    few, many = matcher_of(spec), matcher_of(spec)
    enter(few, crowd(100))
    enter(many, crowd(10_000))
    more = crowd(200, first=20_001)
    pairs = [(_seconds_of(few, more), _seconds_of(many, more)) for _ in range(7)]
    # The best of several in turn, so that other work on the machine weighs on both alike.
    alone, among = (min(each) for each in zip(*pairs, strict=True))
    assert among < 5.0 * alone


def _seconds_of(matcher: Matcher, more: list[Ticket]) -> float:
    """Return the processor time in which tickets enter and leave."""
    begin = time.thread_time()
    enter(matcher, more)
    for each in more:
        matcher.leave(each.id, 0.0)
    return time.thread_time() - begin


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("rounds:every=60,players=8", "give every, or players and wait_max, not both"),
        ("rounds:players=100", "players needs wait_max"),
        ("rounds:effort=0", "effort must be between"),
        ("threshold:quality=2", "quality must be between 0 and 1, got 2"),
        ("rolling:wait_max=0", "wait_max must be between"),
    ],
)
def test_parameters_that_cannot_work_are_refused(spec: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        matcher_of(spec)


def later(spec: str, before: Matcher, queue: Queue = TEAMS) -> Matcher:
    """Return a matcher made of the memory of another one, as a snapshot keeps it."""
    memory = json.loads(json.dumps(before.memory()))
    return parse_policy(spec).matcher(queue, seed=1, memory=memory)


@pytest.mark.parametrize("spec", ["rolling", "threshold:quality=0.99,relax=0.001"])
def test_memory_may_know_others_than_those_who_wait(spec: str) -> None:
    old = matcher_of(spec)
    gone = [ticket(f"g{n}", 90.0 * n, sequence=n) for n in range(1, 9)]
    enter(old, gone)
    play(old, 0.0, 2.0)
    again = later(spec, old)
    # Of those who waited some are gone, and two come back who were in no pool then.
    enter(again, [*gone[:3], ticket("x", 500.0, at=1.0, sequence=4)], 5.0)
    again.leave("g1", 5.0)
    more = [ticket(f"n{n}", 500.0, at=5.0, sequence=n) for n in range(20, 24)]
    enter(again, more, 5.0)
    assert sum(count for _, count in play(again, 5.0, 400.0)) >= 1


def test_pace_after_a_restart_is_that_of_those_who_wait() -> None:
    old = matcher_of("rolling:target_wait=15")
    enter(old, [ticket(f"g{n}", float(900 * (n % 2)), sequence=n) for n in range(1, 100, 2)])
    again = later("rolling:target_wait=15", old)
    play(again, 100.0, 101.0)
    assert again.memory()["rule"]["lag"] == -sum(
        players for _, players in again.memory()["rule"]["coming"]
    )


def test_everybody_is_searched_for_though_nobody_comes() -> None:
    apart = Queue("twos", TEAMS.format, TEAMS.criteria, (Rule("same", "mode"),))
    matcher = matcher_of("rolling:effort=20", apart)
    pool = [ticket(f"a{n}", 500.0, mode=f"m{n}", sequence=n) for n in range(1, 601)]
    for n in range(350, 354):
        pool[n] = ticket(f"a{n + 1}", 500.0, mode="open", sequence=n + 1)
    enter(matcher, pool)
    assert sum(count for _, count in play(matcher, 0.0, 300.0, most=1)) == 1


def refusing(matcher: Matcher, *together: str) -> list[tuple[str, ...]]:
    """Let rules refuse what searches allow: these tickets in one match; return what they refuse."""
    assert isinstance(matcher, SearchingMatcher)
    refused: list[tuple[str, ...]] = []
    legal_at = matcher._objective.legal_at

    def strict(tickets: Sequence[Ticket]) -> float:
        names = tuple(each.id for each in tickets)
        if set(together) <= set(names):
            refused.append(names)
            return math.inf
        return legal_at(tickets)

    matcher._objective.legal_at = strict  # type: ignore[method-assign]
    return refused


SEARCHERS = ["rolling:effort=50,target_wait=5", "threshold:effort=50,relax=0.01"]


@pytest.mark.parametrize("spec", SEARCHERS)
def test_match_that_only_searches_allow_is_not_found_for_ever(spec: str) -> None:
    matcher = matcher_of(spec)
    refused = refusing(matcher, "t1")
    enter(matcher, crowd(4))
    assert play(matcher, 0.0, 600.0) == []
    assert 1 <= len(refused) <= 4
    enter(matcher, crowd(1, at=600.0, first=5), 600.0)
    assert [count for _, count in play(matcher, 600.0, 1_200.0)] == [1]


@pytest.mark.parametrize("spec", SEARCHERS)
def test_who_was_passed_over_once_plays_in_the_next_match(spec: str) -> None:
    matcher = matcher_of(spec)
    refused = refusing(matcher, "t1", "t2")
    pool = [ticket(f"t{n}", 500.0 if n < 3 else 400.0 + 100.0 * n, sequence=n) for n in range(1, 6)]
    enter(matcher, pool)
    assert sum(count for _, count in play(matcher, 0.0, 600.0)) == 1
    assert refused
    enter(matcher, crowd(3, at=600.0, first=6), 600.0)
    assert sum(count for _, count in play(matcher, 600.0, 1_200.0)) == 1


@pytest.mark.parametrize("spec", SEARCHERS)
@pytest.mark.parametrize("apart", [("t1", "t2"), ("t5", "t6"), ("t2", "t5")])
def test_others_play_however_often_searches_find_two_who_may_not(
    spec: str, apart: tuple[str, str]
) -> None:
    matcher = matcher_of(spec)
    # Those who may not play together are the closest of all, so every search wants them.
    crowd_of_six = [
        ticket(f"t{n}", 500.0 if f"t{n}" in apart else (400.0, 600.0)[n % 2], sequence=n)
        for n in range(1, 7)
    ]
    refused = refusing(matcher, *apart)
    enter(matcher, crowd_of_six)
    assert sum(count for _, count in play(matcher, 0.0, 600.0)) == 1
    assert refused


@pytest.mark.parametrize("spec", SEARCHERS)
def test_refusals_outlive_a_restart(spec: str) -> None:
    matcher = matcher_of(spec)
    refusing(matcher, "t1")
    pool = crowd(4)
    enter(matcher, pool)
    play(matcher, 0.0, 600.0)
    again = later(spec, matcher)
    refused = refusing(again, "t1")
    enter(again, pool, 600.0)
    assert play(again, 600.0, 1_200.0) == []
    assert not refused


@pytest.mark.parametrize("spec", SEARCHERS)
def test_searches_end_with_the_growth_of_the_rules(spec: str) -> None:
    grows = (
        Rule("spread", "rating", 10.0, expand=Expansion(rate=1.0, max=100.0)),
        Rule("imbalance", "rating", 10.0, expand=Expansion(steps=((200.0, 50.0),))),
    )
    matcher = matcher_of(spec, Queue("twos", TEAMS.format, TEAMS.criteria, grows))
    enter(matcher, [ticket(f"t{n}", 400.0 * n, sequence=n) for n in range(1, 6)])
    assert play(matcher, 0.0, 200.0) == []
    assert matcher.decide(200.0).wake_at < 230.0
    assert play(matcher, 200.0, 230.0) == []
    assert matcher.decide(230.0).wake_at == math.inf


@pytest.mark.parametrize("spec", SEARCHERS)
def test_last_search_takes_the_widest_limit(spec: str) -> None:
    rule = Rule("spread", "rating", 10.0, expand=Expansion(rate=0.7, max=100.0))
    matcher = matcher_of(spec, Queue("twos", TEAMS.format, TEAMS.criteria, (rule,)))
    pool = [500.0, 600.0, 530.0, 570.0]
    enter(matcher, [ticket(f"t{n}", each, sequence=n) for n, each in enumerate(pool, 1)])
    assert [count for _, count in play(matcher, 0.0, 800.0)] == [1]


def test_nobody_rests_once_the_pool_is_small() -> None:
    apart = Queue("twos", TEAMS.format, TEAMS.criteria, (Rule("same", "mode"),))
    matcher = matcher_of("rolling:effort=20", apart)
    old = [ticket(f"old{n}", 500.0, mode="open", sequence=n) for n in range(1, 4)]
    crowd_apart = [ticket(f"a{n}", 500.0, mode=f"m{n}", sequence=n) for n in range(4, 604)]
    enter(matcher, [*old, *crowd_apart])
    play(matcher, 0.0, 30.0)
    for each in crowd_apart:
        matcher.leave(each.id, 30.0)
    matcher.enter(ticket("fourth", 500.0, at=31.0, mode="open", sequence=700), 31.0)
    assert sum(count for _, count in play(matcher, 31.0, 40.0)) == 1
