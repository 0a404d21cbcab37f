"""The arrays on which pairs are matched say what the engine says of the same tickets."""

import math

import numpy as np
import pytest

from evenmatch import simulate
from evenmatch.config.files import parse_scenario
from evenmatch.engine.engine import Engine
from evenmatch.lab.optimum.fields import queue_field
from evenmatch.model.inputs import Configure, Enqueue
from evenmatch.model.queue import Criterion, Expansion, Queue, Rule, Sample, Scale
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.policies.base import policy
from evenmatch.simulation.arrivals.stream import Arrival

LAST = Sample(last=7)
TABLE = Sample(quantiles=(0.0, 0.1, 0.5, 0.9, 1.0))


@policy()
def nobody(pool: object, now: float) -> list[list[str]]:
    return []


def criterion(sample: Sample) -> tuple[Criterion, ...]:
    return (Criterion("spread", "c0", scale=Scale("percentile", sample=sample)),)


@pytest.mark.parametrize(
    "queue",
    [
        Queue(criteria=criterion(LAST)),
        Queue(criteria=criterion(TABLE)),
        Queue(rules=(Rule("spread", "c0", 0.2, "percentile", sample=LAST),)),
        Queue(
            criteria=criterion(LAST),
            rules=(
                Rule("spread", "c0", 0.1, "percentile", Expansion(rate=0.05), sample=LAST),
                Rule("spread", "c0", 0.3, expand=Expansion(rate=0.1, max=0.8), accept="either"),
            ),
        ),
    ],
    ids=["scale-last", "scale-table", "rule-last", "all"],
)
def test_cost_and_instant_of_every_pair_are_the_engines(queue: Queue) -> None:
    rng = np.random.default_rng(11)
    times, values = np.cumsum(rng.exponential(1.0, 30)), rng.random(30)
    engine = Engine(lambda _: nobody)
    engine.step(Configure(0.0, (queue,)))
    arrivals = []
    for at, value in zip(times.tolist(), values.tolist(), strict=True):
        given = NewTicket((Player(f"p{at}", attributes={"c0": value}),))
        arrivals.append(Arrival(at, given))
        engine.step(Enqueue(at, (given,)))
    tickets = [row.ticket for row in engine.tables.waiting.values()]
    objective = engine.pools["main"].objective

    one, two = np.triu_indices(30, 1)
    costs, instants = queue_field([queue], 0, arrivals, None).judge(one, two)

    for first, second, cost, instant in zip(one, two, costs, instants, strict=True):
        seating = objective.seat((tickets[first], tickets[second]))
        assert seating is not None
        if math.isinf(seating.ready_at):
            assert cost == math.inf
            continue
        assert instant == seating.ready_at
        assert cost == pytest.approx(objective.cost(seating, 0, seating.ready_at), abs=1e-9)


def test_run_with_percentiles_costs_no_less_than_its_optimum() -> None:
    world = parse_scenario(
        """
        [[queue]]
        wait_max = 20
        criteria = [{kind = "spread", attribute = "c0", scale = {kind = "percentile", last = 30}}]
        [[queue.rules]]
        kind = "spread"
        attribute = "c0"
        limit = 0.1
        unit = "percentile"
        last = 30
        accept = "either"
        expand = {rate = 0.05}
        [arrivals]
        process = "poisson"
        rate = 1.0
        count = 200
        [attributes.c0]
        distribution = "normal"
        mean = 1500
        deviation = 300
        """
    )
    for spec in ("window:attribute=c0", "greedy", "window:attribute=c0,pick=nearest,every=2"):
        summary = simulate(world, policy=spec, optimum=True).summary
        assert summary["optimum_cost"] > 0.0
        assert summary["ratio"] >= 1.0
