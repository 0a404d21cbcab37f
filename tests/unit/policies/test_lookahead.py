"""`lookahead`: between the threshold rule and the optimum, and what it does when plans fail."""

import math
from typing import Any

import msgspec
import numpy as np
import pytest

from evenmatch import simulate
from evenmatch.criteria.registry import NUMERIC
from evenmatch.errors import ConfigError
from evenmatch.lab.optimum.optimum import optimum
from evenmatch.model.queue import Criterion, Format, Queue
from evenmatch.model.scenario import Scenario
from evenmatch.model.ticket import NewTicket, Player, Ticket, Value
from evenmatch.policies import lookahead
from evenmatch.policies.base import Decision, Grouping, Matcher, Memory
from evenmatch.policies.lookahead import Lookahead, LookaheadMatcher
from evenmatch.policies.price import Price
from evenmatch.policies.registry import parse_policy
from evenmatch.policies.shared.arrival_rate import ArrivalRate
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.simulation.history import CANCELLED, History
from evenmatch.simulation.simulator import Simulator
from evenmatch.testing import check_policy, rule, ticket
from evenmatch.testing.play import Case, Play
from evenmatch.testing.scripts import QUEUES
from tests.extent import extent, more, only

SKILL = Criterion("spread", "c0")
SCHLUP = Queue(criteria=(SKILL,), wait_max=5.0, on_deadline="bots")


def drawn(seed: int, count: int, rate: float, sides: tuple[str, ...] = ()) -> list[Arrival]:
    """Return Poisson arrivals with uniform values c0 and c1, and a side or none."""
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.exponential(1.0, count)) / rate
    values = rng.random((count, 2))
    found = []
    for number, (at, (c0, c1)) in enumerate(zip(times.tolist(), values.tolist(), strict=True)):
        facts: dict[str, Value] = {"c0": c0, "c1": c1}
        if sides and (side := ("", *sides)[rng.integers(len(sides) + 1)]):
            facts["side"] = side
        player = Player(str(number), None, facts)
        found.append(Arrival(at, NewTicket((player,), id=str(number))))
    return found


def cost_of(queue: Queue, arrivals: list[Arrival], spec: str) -> float:
    summary = simulate(Scenario(queues=(queue,)), arrivals=arrivals, policy=spec).summary
    return float(summary["cost"] + summary["cost_waiting"])


def at_work(queue: Queue = SCHLUP, horizon: float = 1.0, memory: Any = None) -> LookaheadMatcher:
    found = Lookahead(horizon=horizon).matcher(queue, seed=0, memory=memory)
    assert isinstance(found, LookaheadMatcher)
    return found


def told(queue: Queue = SCHLUP, horizon: float = 1.0) -> LookaheadMatcher:
    """Return a matcher that was told of somebody once, and knows of nobody now."""
    return at_work(queue, horizon, {"is_told": True})


class InformedLookahead:
    """`lookahead` as if somebody had been announced before the start."""

    def __init__(self, horizon: float) -> None:
        self.horizon = horizon

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        known = {"is_told": True} if memory is None else memory
        return Lookahead(horizon=self.horizon).matcher(queue, seed=seed, memory=known)


def skilled(name: str, c0: float, at: float, sequence: int) -> Ticket:
    return ticket(name, at=at, sequence=sequence, c0=c0)


def groups(decision: Decision) -> list[tuple[str, ...]]:
    return [grouping.tickets for grouping in decision.matches]


KINDS = {
    "one criterion": SCHLUP,
    "two criteria": Queue(
        criteria=(SKILL, Criterion("spread", "c1")), wait_max=5.0, on_deadline="bots"
    ),
    "without deadline": Queue(criteria=(SKILL,), wait_price=0.3),
    "expiring": Queue(criteria=(SKILL,), wait_max=2.0),
    "a fixed rule": Queue(
        criteria=(SKILL,), rules=(rule("c1", 0.2),), wait_max=5.0, on_deadline="bots"
    ),
    "a widening rule": Queue(
        criteria=(SKILL,), rules=(rule("c0", 0.05, rate=0.1),), wait_max=5.0, on_deadline="bots"
    ),
    "sides": Queue(
        format=Format(sides=("a", "b")), criteria=(SKILL,), wait_max=5.0, on_deadline="bots"
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("count", "rate"), [(220, 3.0), (400, 1.0)])
def test_infinite_horizon_is_the_optimum(kind: str, count: int, rate: float) -> None:
    # 400 tickets are beyond those whose pairs are all weighed.
    queue = KINDS[kind]
    arrivals = drawn(count, count, rate, queue.format.sides)
    best = optimum((queue,), arrivals)
    assert best.is_optimal
    assert cost_of(queue, arrivals, "lookahead:horizon=inf") == pytest.approx(best.cost, rel=1e-9)


def test_ratio_of_a_run_with_all_arrivals_known_is_one() -> None:
    # The last tickets of the run count fully, in the run and in its optimum.
    world = Scenario(queues=(SCHLUP,))
    run = simulate(world, arrivals=drawn(5, 101, 3.0), policy="lookahead:horizon=inf", optimum=True)
    assert run.summary["ratio"] == pytest.approx(1.0, rel=1e-12)


def test_longer_horizons_cost_less_and_none_beats_the_optimum() -> None:
    # Three sequences of 200: the steps between these horizons are 3 to 8 %.
    arrivals = [drawn(seed, 200, 3.0) for seed in range(3)]
    specs = [f"lookahead:horizon={ahead}" for ahead in ("0", "0.25", "1", "2", "4", "1000")]
    costs = [math.fsum(cost_of(SCHLUP, each, spec) for each in arrivals) for spec in specs]
    best = math.fsum(optimum((SCHLUP,), each).cost for each in arrivals)
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == pytest.approx(best, rel=1e-9)


def know_rate(monkeypatch: pytest.MonkeyPatch, rate: float) -> None:
    """Let the rate be known and values be uniform, as the reference has it."""
    monkeypatch.setattr(ArrivalRate, "rate", lambda self, now: rate)
    monkeypatch.setattr(lookahead, "break_even", lambda costs, gain: math.inf)


@more
@pytest.mark.parametrize("horizon", only([0.25, 2.0, 1000.0], 1))
def test_plans_keep_every_promise_of_a_policy(horizon: float) -> None:
    check_policy(InformedLookahead(horizon), seeds=range(extent(1, 6)))


@pytest.mark.parametrize("kind", KINDS)
def test_engine_finds_no_fault_where_tickets_leave_as_they_like(kind: str) -> None:
    queue, rng = KINDS[kind], np.random.default_rng(3)
    arrivals = [
        msgspec.structs.replace(each, leaves_at=each.at + float(rng.exponential(1.0)))
        for each in drawn(4, 150, 5.0, queue.format.sides)
    ]
    for horizon in (0.5, math.inf, 3.0)[: extent(2, 3)]:
        chosen, history = Lookahead(horizon=horizon), History("main")
        simulator = Simulator((queue,), lambda _, c=chosen: c, history, is_checked=True)  # type: ignore[misc]
        simulator.run(arrivals)
        assert len(history.matches) > 20
        assert history.states.count(CANCELLED) > 5


PRICED = [
    each
    for each in QUEUES
    if each.format.is_duel
    and all(one.kind in (*NUMERIC, "same") and one.unit != "percentile" for one in each.rules)
]


@pytest.mark.parametrize("queue", PRICED)
def test_without_announcements_it_is_price(queue: Queue) -> None:
    for seed in range(5):
        made = [
            Play(Case(policy, "lookahead", queue, seed)).run()
            for policy in (Price(), Lookahead(), Lookahead(horizon=0.5), Lookahead(horizon=9.0))
        ]
        assert made[0] == made[1] == made[2] == made[3]


@pytest.mark.parametrize("rate", [0.3, 3.0, 10.0])
def test_horizon_zero_makes_the_matches_of_price(rate: float) -> None:
    arrivals = drawn(8, 300, rate)
    runs = [
        simulate(Scenario(queues=(SCHLUP,)), arrivals=arrivals, policy=spec).matches
        for spec in ("price", "lookahead:horizon=0")
    ]
    assert runs[0] == runs[1]


def test_first_announcement_takes_over_those_who_wait() -> None:
    matcher = at_work(horizon=3.0)
    matcher.enter(skilled("a", 0.5, 0.0, 1), 0.0)
    assert matcher.decide(0.0).matches == ()
    matcher.announce(skilled("c", 0.5, 2.0, 0), 1.0)
    assert matcher.decide(1.0, fired=True) == Decision(wake_at=2.0)
    matcher.enter(skilled("c", 0.5, 2.0, 2), 2.0)
    assert groups(matcher.decide(2.0)) == [("a", "c")]


def test_ticket_waits_for_a_better_partner_who_is_announced() -> None:
    matcher = at_work(horizon=2.0)
    matcher.announce(skilled("c", 0.50, 1.5, 0), 0.0)
    matcher.decide(0.0, fired=True)
    matcher.enter(skilled("a", 0.50, 0.5, 1), 0.5)
    assert matcher.decide(0.5).matches == ()
    matcher.enter(skilled("b", 0.58, 1.0, 2), 1.0)

    decision = matcher.decide(1.0)

    assert decision == Decision(wake_at=1.5)
    matcher.enter(skilled("c", 0.50, 1.5, 3), 1.5)
    assert groups(matcher.decide(1.5)) == [("a", "c")]


def planned(queue: Queue = SCHLUP) -> LookaheadMatcher:
    """Return a matcher where `a` waits, planned with `c`, who is announced for 2 s."""
    matcher = at_work(queue, horizon=3.0)
    matcher.announce(skilled("c", 0.5, 2.0, 0), 0.0)
    matcher.enter(skilled("a", 0.5, 0.0, 1), 0.0)
    assert matcher.decide(0.0, fired=True) == Decision(wake_at=2.0)
    return matcher


def test_partner_of_one_who_fails_to_come_finds_another(monkeypatch: pytest.MonkeyPatch) -> None:
    know_rate(monkeypatch, 10.0)
    matcher = planned()
    matcher.enter(skilled("b", 0.9, 1.0, 2), 1.0)
    assert matcher.decide(1.0).matches == ()
    assert matcher.decide(2.0).matches == ()

    decision = matcher.decide(2.0, fired=True)

    assert groups(decision) == [("a", "b")]
    assert matcher.memory()["coming"] == []


def test_pair_of_whom_neither_comes_is_forgotten() -> None:
    matcher = at_work(horizon=3.0)
    for name in ("a", "b"):
        matcher.announce(skilled(name, 0.5, 2.0, 0), 0.0)
    assert matcher.decide(0.0, fired=True) == Decision(wake_at=2.0)
    assert matcher.decide(2.0, fired=True) == Decision()
    assert matcher.memory()["plan"] == []


def test_one_who_comes_sooner_or_other_than_announced_is_planned_anew() -> None:
    early = planned()
    early.enter(skilled("c", 0.5, 1.0, 2), 1.0)
    assert groups(early.decide(1.0)) == [("a", "c")]
    other = planned(msgspec.structs.replace(SCHLUP, rules=(rule("c0", 0.2),)))
    other.enter(skilled("c", 0.99, 2.0, 2), 2.0)
    assert other.decide(2.0).matches == ()


def test_partner_of_one_who_leaves_finds_another(monkeypatch: pytest.MonkeyPatch) -> None:
    know_rate(monkeypatch, 10.0)
    matcher = planned()
    matcher.enter(skilled("b", 0.9, 1.0, 2), 1.0)
    assert matcher.decide(1.0).matches == ()
    matcher.leave("a", 1.5)
    assert matcher.decide(1.5).matches == ()
    matcher.enter(skilled("c", 0.5, 2.0, 3), 2.0)
    assert groups(matcher.decide(2.0)) == [("b", "c")]


def test_later_announcement_of_a_ticket_replaces_the_first() -> None:
    matcher = planned()
    matcher.announce(skilled("d", 0.9, 2.5, 0), 0.5)
    matcher.announce(skilled("c", 0.5, 2.25, 0), 1.0)
    assert matcher.decide(1.0, fired=True).wake_at == 2.25
    assert [each["id"] for each in matcher.memory()["coming"]] == ["c", "d"]


def test_announcements_that_say_nothing_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    matcher = planned()
    before = matcher.memory()
    matcher.announce(skilled("d", 0.5, 0.5, 0), 1.0)
    matcher.announce(skilled("a", 0.5, 1.5, 0), 1.0)
    monkeypatch.setattr(lookahead, "ANNOUNCED_MAX", 1)
    matcher.announce(skilled("e", 0.5, 1.5, 0), 1.0)
    assert matcher.memory() == before


def test_player_is_not_planned_with_himself() -> None:
    matcher = at_work(horizon=3.0)
    again = msgspec.structs.replace(
        skilled("a2", 0.5, 2.0, 0), players=skilled("a", 0, 0, 0).players
    )
    matcher.announce(again, 0.0)
    matcher.enter(skilled("a", 0.5, 0.0, 1), 0.0)
    matcher.decide(0.0, fired=True)
    assert matcher.memory()["plan"] == []


def test_ticket_that_nobody_suits_plays_with_a_bot_at_its_deadline() -> None:
    matcher = told(horizon=1.0)
    matcher.enter(skilled("a", 0.5, 0.0, 1), 0.0)
    assert matcher.decide(0.0).matches == ()
    assert matcher.decide(5.0).matches == ()
    assert matcher.decide(5.0, fired=True).matches == (Grouping(("a",), bots=1),)


def test_deadline_takes_the_nearest_however_far(monkeypatch: pytest.MonkeyPatch) -> None:
    know_rate(monkeypatch, 10.0)
    matcher = told(horizon=0.01)
    for number, c0 in enumerate((0.0, 0.99, 0.6), 1):
        matcher.enter(skilled("abc"[number - 1], c0, number / 4, number), number / 4)
        assert matcher.decide(number / 4).matches == ()
    assert groups(matcher.decide(5.25, fired=True)) == [("a", "c")]


def test_lone_pair_plays_when_the_rule_lets_it() -> None:
    queue = Queue(criteria=(SKILL,), rules=(rule("c0", 0.0, rate=0.125),), wait_price=0.5)
    matcher = told(queue)
    matcher.enter(skilled("a", 0.25, 0.0, 1), 0.0)
    matcher.enter(skilled("b", 0.375, 0.0, 2), 0.0)
    decision = matcher.decide(0.0)
    while not decision.matches and decision.wake_at < 1.0:
        decision = matcher.decide(decision.wake_at, fired=True)
    assert decision == Decision(wake_at=1.0)
    assert groups(matcher.decide(1.0, fired=True)) == [("a", "b")]


def test_restored_matcher_keeps_the_plan() -> None:
    matcher = planned()
    memory = msgspec.json.decode(msgspec.json.encode(matcher.memory()))
    again = at_work(horizon=3.0, memory=memory)
    again.enter(skilled("a", 0.5, 0.0, 1), 1.0)
    assert again.decide(1.0, fired=True) == Decision(wake_at=2.0)
    assert again.memory() == matcher.memory()
    again.enter(skilled("c", 0.5, 2.0, 2), 2.0)
    assert groups(again.decide(2.0)) == [("a", "c")]


def test_restored_plan_forgets_a_ticket_that_is_gone() -> None:
    again = at_work(horizon=3.0, memory=planned().memory())
    assert again.decide(1.0, fired=True) == Decision(wake_at=2.0)
    assert again.memory()["plan"] == []


def test_without_criteria_any_two_play_at_once() -> None:
    matcher = told(Queue(), horizon=0.01)
    matcher.enter(ticket("a", at=0.0, sequence=1), 0.0)
    matcher.decide(0.0)
    matcher.enter(ticket("b", at=3.0, sequence=2), 3.0)
    assert groups(matcher.decide(3.0)) == [("a", "b")]


@pytest.mark.parametrize(
    ("queue", "sentence"),
    [
        (Queue(format=Format((2, 2))), "pairs two players: queue main needs teams = 2"),
        (Queue(wait_price=0.0), "waiting costs nothing: set wait_price above 0"),
    ],
)
def test_queue_that_it_cannot_serve_is_refused(queue: Queue, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        Lookahead().matcher(queue, seed=0)


@pytest.mark.parametrize("horizon", [-1.0, math.nan])
def test_horizon_below_zero_is_refused(horizon: float) -> None:
    with pytest.raises(ConfigError, match="horizon must be seconds >= 0"):
        at_work(horizon=horizon)


def test_horizon_may_be_infinite_in_a_spec() -> None:
    assert parse_policy("lookahead:horizon=inf") == Lookahead(horizon=math.inf)
    with pytest.raises(ConfigError, match="must be a finite number"):
        parse_policy("lookahead:horizon=nan")
