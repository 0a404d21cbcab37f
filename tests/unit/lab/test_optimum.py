import math
from functools import cache

import msgspec
import numpy as np
import pytest

from evenmatch import simulate
from evenmatch.criteria.kinds.rematch import redraw_rule
from evenmatch.criteria.objective import Objective
from evenmatch.errors import NotSupported
from evenmatch.lab.optimum.optimum import Optimum, optimum, optimum_figures
from evenmatch.model.queue import (
    Criterion,
    Expansion,
    Format,
    Queue,
    ReadyCheck,
    Rule,
    Sample,
    Scale,
)
from evenmatch.model.scenario import Answers, Scenario
from evenmatch.model.ticket import NewTicket, Player, Ticket
from evenmatch.policies.registry import parse_policy
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.simulation.history import History
from evenmatch.simulation.metrics import summarize
from evenmatch.simulation.simulator import Simulator
from tests.extent import only

SCHLUP = Queue(
    criteria=(Criterion(kind="spread", attribute="c0"),), wait_max=5.0, on_deadline="bots"
)


def arrivals_of(times, values, **more) -> list[Arrival]:
    """Return solo arrivals with attribute c0; `more` gives further attributes, or leaves_at."""
    leaves = more.pop("leaves_at", [None] * len(times))
    found = []
    for i, (at, value) in enumerate(zip(times, values, strict=True)):
        attributes = {"c0": float(value)} | {name: given[i] for name, given in more.items()}
        player = Player(id=f"p{i}", attributes=attributes)
        found.append(Arrival(float(at), NewTicket(players=(player,), id=str(i)), leaves[i]))
    return found


def drawn(seed: int, count: int, rate: float) -> list[Arrival]:
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.exponential(1, count)) / rate
    return arrivals_of(times, rng.random(count))


@pytest.mark.parametrize(
    ("rate", "expected"), only([(1.0, 0.5846), (3.0, 0.3049), (10.0, 0.1620)], 1)
)
def test_optimum_per_match_equals_the_reference(rate: float, expected: float) -> None:
    costs = np.array([optimum([SCHLUP], drawn(seed, 1000, rate)).cost / 500 for seed in range(20)])
    error = costs.std(ddof=1) / math.sqrt(len(costs))
    assert abs(costs.mean() - expected) < 4 * error + 0.0005


def brute_force(queue: Queue, arrivals: list[Arrival], alone: list[float]) -> float:
    """Return the least cost over all pairings, by the engine's own rules and objective."""
    objective = Objective(queue)
    tickets = [
        Ticket(str(i), i, a.at, a.ticket.players, (), a.ticket.attributes)
        for i, a in enumerate(arrivals)
    ]

    def until(i: int) -> float:
        deadline = math.inf if queue.wait_max is None else arrivals[i].at + queue.wait_max
        leaves = arrivals[i].leaves_at
        return deadline if leaves is None else min(deadline, leaves - 1e-9)

    def pair(i: int, j: int) -> float:
        seating = objective.seat((tickets[i], tickets[j]))
        assert seating is not None
        at = max(seating.ready_at, tickets[j].enqueued_at)
        if at > min(until(i), until(j)):
            return math.inf
        return objective.cost(seating, 0, at)

    count = len(arrivals)

    @cache
    def rest(taken: int) -> float:
        if taken == (1 << count) - 1:
            return 0.0
        i = next(k for k in range(count) if not taken >> k & 1)
        taken |= 1 << i
        others = [j for j in range(i + 1, count) if not taken >> j & 1]
        return min([alone[i] + rest(taken), *(pair(i, j) + rest(taken | 1 << j) for j in others)])

    return rest(0)


STEPS = Expansion(steps=((1, 0.3), (3, 0.7)))
RULES = [
    (Rule(kind="spread", attribute="c0", limit=0.2),),
    (Rule(kind="spread", attribute="c0", limit=0.1, expand=Expansion(rate=0.1, max=0.6)),),
    (
        Rule(
            kind="mean_gap", attribute="c0", limit=0.1, expand=Expansion(steps=((1, 0.3), (3, 0.7)))
        ),
    ),
    (Rule(kind="spread", attribute="c0", limit=0.5, unit="relative"),),
    (Rule(kind="same", attribute="mode"), Rule(kind="imbalance", attribute="c0", limit=0.5)),
    (Rule("spread", "c0", 0.1, expand=Expansion(rate=0.1, max=0.6), accept="either"),),
    (Rule("spread", "c0", 0.2, "percentile", sample=Sample(quantiles=(0.0, 0.2, 0.3, 1.0))),),
]


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("seed", range(8))
def test_optimum_with_rules_equals_brute_force(rules: tuple[Rule, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 11))
    times, modes = np.sort(rng.random(count) * 6), rng.choice(["a", "b"], count).tolist()
    leaves = [float(t + rng.random() * 4) if rng.random() < 0.3 else None for t in times]
    arrivals = arrivals_of(times, rng.random(count), mode=modes, leaves_at=leaves)
    criteria = (
        Criterion(kind="spread", attribute="c0", scale=Scale(kind="log", knee=0.1, max=0.8)),
        Criterion(kind="imbalance", attribute="c0", measure="sum", step=0.1, weight=0.7),
    )
    queue = Queue(criteria=criteria, rules=rules, wait_max=5.0, on_deadline="expire")
    alone = [
        0.2 * min(5.0, math.inf if leaf is None else leaf - t)
        for t, leaf in zip(times, leaves, strict=True)
    ]
    found = optimum([queue], arrivals)
    assert found.is_optimal
    assert found.cost == pytest.approx(brute_force(queue, arrivals, alone), abs=1e-9)


SPECS = ["greedy", "periodic:rounds_of=2", "window:attribute=c0,limit=0.3"]


def run_of(queue: Queue, arrivals: list[Arrival], spec: str) -> History:
    history = History(queue.name)
    played = Queue(
        **{name: getattr(queue, name) for name in queue.__struct_fields__} | {"policy": spec}
    )
    Simulator((played,), lambda each: parse_policy(each.policy), history).run(arrivals)
    return history


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("on_deadline", ["bots", "expire", "keep"])
def test_no_policy_beats_the_optimum(spec: str, on_deadline: str) -> None:
    queue = Queue(criteria=SCHLUP.criteria, wait_max=5.0, on_deadline=on_deadline)
    for seed, rate in enumerate([0.3, 1.0, 5.0]):
        arrivals = drawn(seed, 100, rate)
        history = run_of(queue, arrivals, spec)
        summary = summarize(history, [queue])
        cost = summary["cost"] + summary["cost_waiting"]
        figures = optimum_figures([queue], arrivals, cost, end=history.end)
        assert cost >= figures["optimum_cost"] - 1e-9
        assert figures["optimum_cost"] >= figures["optimum_cost_immediate"] - 1e-9
        assert figures["ratio"] == pytest.approx(cost / figures["optimum_cost"])


@pytest.mark.parametrize("on_deadline", ["bots", "expire", "keep"])
@pytest.mark.parametrize("answers", [Answers(decline=1.0), Answers(decline=0.3, silent=0.3)])
@pytest.mark.parametrize("form", [Format(), Format((2, 2))])
def test_no_run_whose_players_decline_beats_the_optimum(
    on_deadline: str, answers: Answers, form: Format
) -> None:
    queue = Queue(
        format=form,
        criteria=SCHLUP.criteria,
        wait_max=60.0,
        on_deadline=on_deadline,
        accept=ReadyCheck(seconds=5.0),
        policy="greedy",
    )
    run = simulate(Scenario((queue,), answers=answers), arrivals=drawn(1, 40, 1.0), optimum=True)
    if form == Format():
        assert run.summary["ratio"] >= 1.0 - 1e-9
    else:
        assert run.summary["gap"] is None or run.summary["gap"] >= -1e-9


def test_who_was_cancelled_costs_no_more_alone_than_the_wait_until_then() -> None:
    queue = Queue(criteria=SCHLUP.criteria, wait_max=5.0, on_deadline="expire", wait_price=1.0)
    arrivals = arrivals_of([0, 1], [0.0, 1.0])
    assert optimum([queue], arrivals, end=9.0).cost == 3.0  # they play, after a wait of 1
    assert optimum([queue], arrivals, end=9.0, cancelled_at={0: 0.5, 1: 1.25}).cost == 0.75


def test_a_player_is_never_matched_with_himself() -> None:
    player = Player(id="p", attributes={"c0": 0.5})
    arrivals = [Arrival(at, NewTicket(players=(player,))) for at in (0.0, 1.0)]
    found = optimum([SCHLUP], arrivals)
    assert found.pairs == ()
    assert found.cost == pytest.approx(8.0)


def test_sides_must_differ() -> None:
    queue = Queue(format=Format(sides=("A", "B")), wait_price=1.0)
    arrivals = arrivals_of([0, 1, 2], [0, 0, 0], side=["A", "A", "B"])
    found = optimum([queue], arrivals, end=10.0)
    assert found.pairs == ((1, 2, 2.0),) or found.pairs == ((0, 2, 2.0),)
    assert found.cost == pytest.approx(11.0)


def test_sides_that_are_wishes_need_not_differ() -> None:
    form = Format(sides=("A", "B"), side_choice="prefer")
    arrivals = arrivals_of([0, 1, 2], [0, 0, 0], side=["A", "A", "B"])
    found = optimum([Queue(format=form, wait_price=1.0)], arrivals, end=10.0)
    assert found.pairs == ((0, 1, 1.0),)
    assert found.cost == pytest.approx(9.0)


def test_without_deadline_a_lone_ticket_waits_to_the_end() -> None:
    queue = Queue(criteria=(Criterion(kind="spread", attribute="c0", weight=30.0),), wait_price=1.0)
    found = optimum([queue], arrivals_of([0, 1, 4], [0.0, 0.0, 1.0]))
    assert found.pairs == ((0, 1, 1.0),)
    assert found.cost == pytest.approx(1.0)
    assert optimum([queue], arrivals_of([0, 1, 4], [0.0, 0.0, 1.0]), end=9.0).cost == 6.0


def test_several_queues_are_solved_jointly() -> None:
    queues = [Queue(name=name, wait_price=1.0) for name in ("one", "two")]
    arrivals = [
        Arrival(float(at), NewTicket(players=(Player(id=str(at)),), queues=names))
        for at, names in enumerate([("one",), ("one", "two"), ("two",), ("one",)])
    ]
    found = optimum(queues, arrivals, end=10.0)
    assert found.cost == pytest.approx(4.0)
    assert found.pairs == ((1, 2, 2.0), (0, 3, 3.0))


def test_early_stops_are_reported_as_bounds() -> None:
    arrivals = drawn(1, 3000, 10.0)
    best = optimum([SCHLUP], arrivals)
    early = optimum([SCHLUP], arrivals, rounds_max=1)
    assert isinstance(early, Optimum)
    assert not early.is_optimal
    assert early.bound <= best.cost <= early.cost


def test_many_duels_are_bounded_from_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    arrivals = drawn(1, 3000, 10.0)
    best = optimum([SCHLUP], arrivals)
    monkeypatch.setattr("evenmatch.lab.optimum.optimum.EXACT_MAX", 2999)
    monkeypatch.setattr("evenmatch.lab.optimum.optimum.GAP_MAX", 0.5)
    figures = optimum_figures([SCHLUP], arrivals, 1000.0)
    assert best.cost / 1.5 < figures["bound_cost"] < best.cost
    assert figures["gap"] == pytest.approx(1000.0 / figures["bound_cost"] - 1)


def counted_brute_force(arrivals: list[Arrival], first: int) -> float:
    """Return the least cost of what is counted, with bots at the deadline."""

    @cache
    def rest(taken: int) -> float:
        if taken == (1 << len(arrivals)) - 1:
            return 0.0
        i = next(k for k in range(len(arrivals)) if not taken >> k & 1)
        taken |= 1 << i
        costs = [(4.0 if i >= first else 0.0) + rest(taken)]
        for j in range(i + 1, len(arrivals)):
            wait = arrivals[j].at - arrivals[i].at
            if taken >> j & 1 or wait > 5.0:
                continue
            values = [arrivals[n].ticket.players[0].attributes["c0"] for n in (i, j)]
            cost = 2.0 * abs(values[0] - values[1]) + wait / 5.0
            costs.append((cost if j >= first else 0.0) + rest(taken | 1 << j))
        return min(costs)

    return rest(0)


@pytest.mark.parametrize("seed", range(8))
def test_after_a_warmup_the_optimum_is_the_least_counted_cost(seed: int) -> None:
    arrivals = drawn(seed, 10, [0.3, 2.0][seed % 2])
    found = optimum([SCHLUP], arrivals, first_counted=4)
    assert found.cost == pytest.approx(counted_brute_force(arrivals, 4), abs=1e-9)


def test_larger_formats_and_parties_are_refused() -> None:
    with pytest.raises(NotSupported, match="queue main has 2 against 2"):
        optimum([Queue(format=Format(players=(2, 2)))], [])
    party = NewTicket(players=(Player(id="a"), Player(id="b")))
    with pytest.raises(NotSupported, match="arrival 0 is a party"):
        optimum([SCHLUP], [Arrival(0.0, party)])


@pytest.mark.parametrize(
    "queue",
    [
        Queue(criteria=(Criterion(kind="rematch", attribute="recent"),)),
        Queue(rules=(redraw_rule(2, every=5.0),)),
        Queue(rules=(Rule("pair_limit", "meetings", 2.0),)),
    ],
    ids=["criterion", "rule", "limit"],
)
def test_rematches_which_follow_from_earlier_matches_are_refused(queue: Queue) -> None:
    with pytest.raises(NotSupported, match=r"queue main has (rematch|pair_limit); leave it out"):
        optimum([queue], [])


@pytest.mark.parametrize("kind", ["latency", "same"])
def test_criteria_that_compare_no_numbers_are_refused(kind: str) -> None:
    criterion = Criterion(kind=kind, attribute="x")  # type: ignore[arg-type]
    with pytest.raises(NotSupported, match=f"queue main has {kind}; leave it out"):
        optimum([Queue(criteria=(criterion,))], [])


@pytest.mark.parametrize("wait_price", [0.0, 0.2])
def test_rules_that_compare_no_numbers_are_kept_as_by_the_engine(wait_price: float) -> None:
    lifted = Expansion(steps=((2.0, 1.0),))
    queue = msgspec.structs.replace(
        SCHLUP,
        on_deadline="expire",
        wait_price=wait_price,
        rules=(
            Rule("latency", "latency", 90.0, expand=Expansion(rate=10.0, max=120.0)),
            Rule("avoid", "avoid", expand=lifted),
            Rule("same", "mode", expand=lifted),
            Rule("household_limit", "home", 1.0, expand=Expansion(steps=((3.0, 2.0),))),
        ),
    )
    for seed in range(6):
        rng = np.random.default_rng(seed)
        times = np.cumsum(rng.exponential(1, 9))
        arrivals = arrivals_of(
            times,
            rng.random(9),
            latency=[{"eu": float(ms)} for ms in rng.choice((20, 50, 80), 9)],
            avoid=[(f"p{other}",) for other in rng.integers(0, 9, 9)],
            mode=rng.choice(("a", "b"), 9).tolist(),
            home=rng.choice(("x", "y", "z"), 9).tolist(),
        )
        alone = [wait_price * 5.0] * 9
        found = optimum([queue], arrivals)
        assert found.cost == pytest.approx(brute_force(queue, arrivals, alone), abs=1e-6)


def test_no_arrivals_cost_nothing() -> None:
    assert optimum([SCHLUP], []).cost == 0.0


@pytest.mark.parametrize("price", [3e-6, 1e-9, 0.0])
def test_pairs_far_dearer_than_being_alone_are_no_pairs(price: float) -> None:
    raw = Criterion("spread", "rating", weight=2.0, scale=Scale("none"))
    queue = Queue(criteria=(raw,), wait_max=10.0, wait_price=price)
    rng = np.random.default_rng(4)
    arrivals = [
        Arrival(
            float(at),
            NewTicket((Player(str(i), attributes={"rating": float(rng.normal(1500, 300))}),)),
        )
        for i, at in enumerate(np.cumsum(rng.exponential(1.0, 40)))
    ]

    best = optimum((queue,), arrivals)

    # Everybody may expire after ten seconds.
    assert best.is_optimal
    assert best.cost <= 40 * 10.0 * price * (1 + 1e-9)
