"""The bound for groups, against brute force over all ways to match a few tickets."""

import math
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest

from evenmatch import simulate
from evenmatch.criteria.objective import Objective
from evenmatch.lab.optimum.optimum import optimum_figures
from evenmatch.model.queue import Criterion, Expansion, Format, Queue, Rule, Scale
from evenmatch.model.scenario import Scenario
from evenmatch.model.ticket import NewTicket, Player, Ticket
from evenmatch.policies.registry import parse_policy
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.simulation.history import History
from evenmatch.simulation.metrics import summarize
from evenmatch.simulation.simulator import Simulator
from tests.extent import extent, more, only

pytestmark = more

SLACK = 1e-9


def drawn(seed: int, count: int, rate: float, sizes: tuple[int, ...] = (1,)) -> list[Arrival]:
    """Return arrivals with attributes c0, c1 and mode; some leave."""
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.exponential(1, count)) / rate
    found = []
    for row, at in enumerate(times.tolist()):
        players = tuple(
            Player(id=f"p{row}.{seat}", attributes={"c0": rng.random(), "c1": rng.random()})
            for seat in range(int(rng.choice(sizes)))
        )
        leaves = at + rng.random() * 6 if rng.random() < 0.2 else None
        ticket = NewTicket(
            players=players, id=str(row), attributes={"mode": str(rng.choice(["a", "b"]))}
        )
        found.append(Arrival(at, ticket, leaves))
    return found


def least_cost(queue: Queue, arrivals: list[Arrival], counted: int = 0) -> float:
    """Return the least cost over all assignments, by the engine's own rules and objective."""
    objective = Objective(queue)
    tickets = [
        Ticket(str(i), i, a.at, a.ticket.players, (), a.ticket.attributes)
        for i, a in enumerate(arrivals)
    ]
    k, last = queue.format.k, arrivals[-1].at

    def until(i: int) -> float:
        patience = math.inf if queue.wait_max is None else queue.wait_max
        stays = arrivals[i].at + (math.inf if queue.on_deadline == "keep" else patience)
        leaves = arrivals[i].leaves_at
        return stays if leaves is None else min(stays, math.nextafter(leaves, 0.0))

    def cost_of(group: tuple[int, ...]) -> float:
        """Return what a match of these tickets and bots costs, or leaving one alone."""
        if group[-1] < counted:
            # Whatever becomes of them is not counted, and each may expire by itself.
            return 0.0 if len(group) == 1 else math.inf
        own = [tickets[i] for i in group]
        bots = k - sum(ticket.size for ticket in own)
        cost = math.inf
        stop = min(until(i) for i in group)
        is_due = queue.on_deadline == "bots" and stop == tickets[group[0]].enqueued_at + 5.0
        if len(group) == 1 and not (is_due and bots > 0):
            idle = (last if math.isinf(stop) else stop) - own[0].enqueued_at
            cost = queue.price * own[0].size * max(0.0, idle)
        if bots < 0 or (bots > 0 and not is_due):
            return cost
        seating = objective.seat(own, bots)
        if seating is not None:
            at = stop if bots else max(seating.ready_at, own[-1].enqueued_at)
            if seating.ready_at <= at <= stop:
                cost = min(cost, objective.cost(seating, bots, at))
        return cost

    count = len(arrivals)
    groups: dict[int, list[tuple[int, float]]] = {i: [] for i in range(count)}
    for length in range(1, k + 1):
        for group in combinations(range(count), length):
            if (cost := cost_of(group)) < math.inf:
                groups[group[0]].append((sum(1 << i for i in group), cost))

    @cache
    def rest(taken: int) -> float:
        if taken == (1 << count) - 1:
            return 0.0
        i = next(at for at in range(count) if not taken >> at & 1)
        return min(
            (cost + rest(taken | mask) for mask, cost in groups[i] if not taken & mask),
            default=math.inf,
        )

    return rest(0)


def bound_of(queue: Queue, arrivals: list[Arrival], counted: int = 0) -> float:
    figures = optimum_figures([queue], arrivals, 50.0, first_counted=counted)
    assert list(figures) == ["bound_cost", "gap", "best_known_cost"]
    bound = figures["bound_cost"]
    assert bound is not None
    if bound > 0.0:
        assert figures["gap"] == pytest.approx(50.0 / bound - 1.0)
    return bound


FREE_FOR_ALL = Format(players=(1, 1, 1))
SPREADS = (
    Criterion(kind="spread", attribute="c0"),
    Criterion(kind="spread", attribute="c1", scale=Scale(kind="log", knee=0.1, max=0.8)),
)
OTHERS = (
    Criterion(kind="mean_gap", attribute="c0", scale=Scale(kind="none"), weight=2.0),
    Criterion(kind="imbalance", attribute="c1", measure="sum", step=0.25, weight=2.0),
)
BENT = (
    Criterion(kind="mean_gap", attribute="c0", scale=Scale(kind="log", knee=0.2, max=0.6)),
    Criterion(kind="mean_gap", attribute="c1", scale=Scale(kind="capped", max=0.6)),
)
WIDENING = Expansion(rate=0.1, max=0.6)
RULES = (
    Rule(kind="spread", attribute="c0", limit=0.3, expand=WIDENING),
    Rule(kind="mean_gap", attribute="c1", limit=0.5),
    Rule(kind="same", attribute="mode"),
)


@pytest.mark.parametrize("on_deadline", ["bots", "expire", "keep"])
@pytest.mark.parametrize("criteria", [SPREADS[:1], SPREADS, OTHERS, BENT, ()])
def test_bound_of_free_for_all_is_below_brute_force_and_near(on_deadline, criteria) -> None:
    queue = Queue(format=FREE_FOR_ALL, criteria=criteria, wait_max=5.0, on_deadline=on_deadline)
    ratios = []
    for seed in range(extent(4, 12)):
        arrivals = drawn(seed, 6 + 3 * (seed % 2), [1.0, 4.0, 8.0][seed % 3])
        least, bound = least_cost(queue, arrivals), bound_of(queue, arrivals)
        assert bound <= least + SLACK
        ratios.append(bound / least if least > 0.0 else 1.0)
    # One ticket that is left over among nine costs much with bots, and prices cannot see that.
    assert np.mean(ratios) > (0.8 if on_deadline == "bots" else 0.9)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("on_deadline", ["bots", "expire"])
def test_bound_with_rules_is_below_brute_force(rule: Rule, on_deadline) -> None:
    queue = Queue(
        format=FREE_FOR_ALL,
        criteria=SPREADS,
        rules=(rule,),
        wait_max=5.0,
        on_deadline=on_deadline,
    )
    for seed in range(extent(3, 10)):
        arrivals = drawn(seed, 9, 2.0)
        assert bound_of(queue, arrivals) <= least_cost(queue, arrivals) + SLACK


@pytest.mark.parametrize("on_deadline", ["bots", "expire", "keep"])
def test_bound_of_teams_with_parties_is_below_brute_force(on_deadline) -> None:
    criteria = (*SPREADS[:1], Criterion(kind="imbalance", attribute="c1"))
    queue = Queue(
        format=Format(players=(2, 2)), criteria=criteria, wait_max=5.0, on_deadline=on_deadline
    )
    for seed in range(extent(3, 10)):
        arrivals = drawn(seed, 8, 2.0, sizes=(1, 1, 2))
        least, bound = least_cost(queue, arrivals), bound_of(queue, arrivals)
        assert 0.2 * least < bound <= least + SLACK


def test_waiting_alone_is_bounded_exactly() -> None:
    queue = Queue(format=Format(players=(2, 2)), wait_max=10.0)
    arrivals = [
        Arrival(at, NewTicket(players=tuple(Player(id=f"{at}{s}") for s in range(size))))
        for at, size in [(0.0, 1), (1.0, 2), (2.0, 1), (50.0, 2), (51.0, 2)]
    ]
    # The first three play at 2 s, after 2 s and two times 1 s; the others at 51 s.
    assert bound_of(queue, arrivals) == pytest.approx(0.1 * (2.0 + 2.0 + 2.0), rel=1e-3)


def test_party_counts_once_for_each_seat_in_how_long_a_group_may_wait() -> None:
    queue = Queue(format=Format(players=(1, 2)), wait_max=15.0, on_deadline="keep")
    arrivals = [
        Arrival(at, NewTicket(players=tuple(Player(f"{at}{s}{n}") for s in range(n))), leaves)
        for at, n, leaves in (
            (5.89, 1, None),
            (10.49, 2, None),
            (22.03, 2, 34.48),
            (22.03, 1, None),
        )
    ]
    # The first two play at 10.49 s, after 4.6 s of one player, and the others at once.
    assert least_cost(queue, arrivals) == pytest.approx(4.6 / 15.0)
    summary = simulate(Scenario((queue,)), arrivals=arrivals, optimum=True).summary
    assert summary["bound_cost"] <= 4.6 / 15.0 + SLACK


@pytest.mark.parametrize("on_deadline", ["bots", "expire"])
def test_bound_after_a_warmup_is_below_the_least_counted_cost(on_deadline) -> None:
    queue = Queue(format=FREE_FOR_ALL, criteria=SPREADS, wait_max=5.0, on_deadline=on_deadline)
    for seed in range(extent(3, 10)):
        arrivals = drawn(seed, 9, 2.0)
        least = least_cost(queue, arrivals, counted=4)
        assert bound_of(queue, arrivals, counted=4) <= least + SLACK


@pytest.mark.parametrize(
    ("players", "on_deadline"),
    only(
        product([(1, 1, 1), (2, 2), (1, 1, 1, 1, 1), (1, 4)], ["bots", "expire", "keep"]),
        *(0, 4, 8, 9),
    ),
)
def test_no_policy_goes_below_the_bound(players, on_deadline) -> None:
    criteria = (*SPREADS, *OTHERS)
    queue = Queue(
        format=Format(players=players), criteria=criteria, wait_max=5.0, on_deadline=on_deadline
    )
    for seed, rate in enumerate([0.5, 5.0]):
        sizes = (1, 2) if max(players) > 1 else (1,)
        arrivals = drawn(seed, 60, rate, sizes)
        history = History(queue.name)
        Simulator((queue,), lambda each: parse_policy(each.policy), history).run(arrivals)
        summary = summarize(history, [queue])
        cost = summary["cost"] + summary["cost_waiting"]
        figures = optimum_figures([queue], arrivals, cost, end=history.end)
        assert 0.0 < figures["bound_cost"] <= cost
        assert figures["gap"] >= 0.0


def test_several_queues_are_bounded_jointly() -> None:
    queues = [
        Queue(name="trio", format=FREE_FOR_ALL, wait_price=1.0),
        Queue(name="duel", wait_price=1.0),
    ]
    arrivals = [
        Arrival(float(at), NewTicket(players=(Player(id=str(at)),), queues=names))
        for at, names in enumerate([("trio",), ("trio", "duel"), ("trio",), ("duel",)])
    ]
    # Three play at 2 s and one waits from 3 s to the end; or a duel, and two who wait.
    figures = optimum_figures(queues, arrivals, 20.0, end=10.0)
    assert figures["bound_cost"] == pytest.approx(10.0, rel=1e-3)


@pytest.mark.parametrize("on_deadline", ["bots", "expire"])
def test_best_known_plan_lies_between_the_least_cost_and_the_run(on_deadline) -> None:
    queue = Queue(format=FREE_FOR_ALL, criteria=SPREADS[:1], wait_max=5.0, on_deadline=on_deadline)
    better = 0
    for seed in range(extent(4, 6)):
        arrivals = drawn(seed, 9, 4.0)
        summary = simulate(Scenario((queue,)), arrivals=arrivals, optimum=True).summary
        cost = summary["cost"] + summary["cost_waiting"]
        least = least_cost(queue, arrivals)
        assert summary["bound_cost"] - SLACK <= least <= summary["best_known_cost"] + SLACK
        assert summary["best_known_cost"] <= cost + SLACK
        better += summary["best_known_cost"] < cost - SLACK
    assert better >= extent(2, 3)


def test_best_known_plan_is_near_the_bound_for_many_tickets() -> None:
    queue = Queue(
        format=FREE_FOR_ALL, criteria=SPREADS[:1], wait_max=5.0, on_deadline="bots", policy="greedy"
    )
    rng = np.random.default_rng(1)
    times = np.cumsum(rng.exponential(1, 300)) / 10
    arrivals = [
        Arrival(at, NewTicket(players=(Player(id=str(i), attributes={"c0": rng.random()}),)))
        for i, at in enumerate(times.tolist())
    ]
    summary = simulate(Scenario((queue,)), arrivals=arrivals, optimum=True).summary
    assert summary["bound_cost"] < summary["best_known_cost"] < 1.15 * summary["bound_cost"]
    assert summary["best_known_cost"] < 0.5 * summary["cost"]
