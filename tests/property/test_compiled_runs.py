"""A compiled run makes the engine's matches, ticket by ticket."""

import math
from itertools import pairwise

import msgspec
import numpy as np
import pytest

from evenmatch.config.files import parse_scenario
from evenmatch.lab.simulate import simulate
from evenmatch.model.queue import Criterion, Format, Queue, Scale
from evenmatch.model.scenario import Scenario
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.policies.registry import parse_policy
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.simulation.compiled.compilable import why_not
from evenmatch.simulation.compiled.run import CompiledResult, Floats, play
from tests.extent import extent, more

pytestmark = more

DUEL_SPECS = ["price", "price:c=0.7,grow=0.5", "price:theta=0.2", "price:rate=3"]
DUEL_SPECS += ["delay_greedy", "delay_greedy:factor=0.3", "delay_greedy:factor=0"]
LINE_SPECS = ["gap_value", "gap_value:rate=3"]
GROUP_SPECS = [
    "group_price",
    "group_price:theta=1",
    "group_price:grow=0.5",
    "greedy",
    "periodic:rounds_of=3,sort=c0",
    "periodic:adaptive=true,sort=c0",
    "difference_wait:factor=3",
    "difference_wait:factor=1,origin=pair,power=2",
]
BY_SCENARIO = ["greedy", "periodic:adaptive=true", "multi_queue", "difference_wait"]
SEEDS = extent(8, 60)
CELL_SPECS = ["multi_queue", "multi_queue:brackets=3"]
"""They take criteria with linear scales only."""
SCALES = (
    Scale(),
    Scale(min=0.25, max=0.5),
    Scale("capped", max=0.5),
    Scale("log", knee=0.1, max=0.7),
    Scale("none"),
)


def drawn_queue(rng: np.random.Generator, players: int, spec: str) -> Queue:
    """Return a queue with 0 to 3 criteria, some deadline and any fate after it."""
    criteria = tuple(
        Criterion(
            "spread",
            f"c{d}",
            weight=None if rng.random() < 0.5 else float(rng.integers(0, 4)),
            scale=SCALES[rng.integers(2 if spec in CELL_SPECS else len(SCALES))],
        )
        for d in range(rng.integers(1, 4))
    )
    if spec in LINE_SPECS:
        criteria = (msgspec.structs.replace(criteria[0], weight=criteria[0].weight or None),)
    wait_max = float(rng.choice([0.5, 2.0, 5.0])) if rng.random() < 0.7 else None
    return Queue(
        "main",
        Format((1,) * players),
        criteria,
        wait_max=wait_max,
        wait_price=_price(rng, spec),
        on_deadline=rng.choice(["expire", "bots", "keep"]) if wait_max else "expire",
        policy=spec,
    )


def _price(rng: np.random.Generator, spec: str) -> float | None:
    # Where nothing is weighed, waiting may cost nothing.
    prices = [0.1, 1.0, 0.0] if "theta" in spec or spec.startswith("difference") else [0.1, 1.0]
    return None if rng.random() < 0.5 else float(rng.choice(prices))


def drawn_arrivals(rng: np.random.Generator, criteria: int) -> tuple[Floats, Floats]:
    """Return instants and values; both often lie on coarse grids, so that ties are common."""
    count = int(rng.integers(0, 120))
    times = np.cumsum(rng.exponential(1.0 / rng.choice([0.5, 3.0, 20.0]), count))
    values = rng.random((criteria, count))
    if rng.random() < 0.5:
        times, values = np.round(times * 4.0) / 4.0, np.round(values * 8.0) / 8.0
    if rng.random() < 0.3 and count:
        times[count // 2 :] += 100.0
    return times, values


def of_engine(queue: Queue, times: Floats, values: Floats) -> list[tuple[object, ...]]:
    arrivals = [
        Arrival(
            float(at),
            NewTicket(
                (
                    Player(
                        str(i),
                        attributes={
                            c.attribute: float(v) for c, v in zip(queue.criteria, row, strict=True)
                        },
                    ),
                ),
                id=str(i),
            ),
        )
        for i, (at, row) in enumerate(zip(times, values.T, strict=True))
    ]
    run = simulate(Scenario((queue,)), arrivals=arrivals)
    offset = math.floor(times[0]) if len(times) else 0.0
    return [
        (m["at"] - offset + offset, sorted(map(int, m["tickets"])), m["bots"], m["cost"])
        for m in run.matches
    ]


def of_outcome(outcome: CompiledResult) -> list[tuple[object, ...]]:
    return [
        (float(at), sorted(int(t) for t in row if t >= 0), int(bots), float(cost))
        for at, row, bots, cost in zip(
            outcome.at, outcome.tickets, outcome.bots, outcome.costs, strict=True
        )
    ]


@pytest.mark.parametrize(
    ("spec", "players"),
    [(spec, 2) for spec in DUEL_SPECS + LINE_SPECS]
    + [(spec, k) for spec in GROUP_SPECS + CELL_SPECS for k in (2, 3, 5)],
)
def test_compiled_run_makes_the_engines_matches(spec: str, players: int) -> None:
    compared = 0
    for seed in range(SEEDS):
        rng = np.random.default_rng([seed, players])
        queue = drawn_queue(rng, players, spec)
        times, values = drawn_arrivals(rng, len(queue.criteria))
        # The engine's clock starts at the floor of the first arrival: let both start there.
        if len(times):
            times -= math.floor(times[0])
        policy = parse_policy(spec)
        assert why_not(queue, policy) == ""

        expected = of_engine(queue, times, values)
        found = of_outcome(play(queue, policy, times, values))

        assert [row[:3] for row in found] == [row[:3] for row in expected], f"seed {seed}"
        assert [row[3] for row in found] == pytest.approx([row[3] for row in expected], rel=1e-9)
        assert all(one[0] <= two[0] for one, two in pairwise(found))
        compared += len(found)
    assert compared > 8 * SEEDS


def by_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the engine play what comes, drawn or recorded."""
    for name in ("why_engine", "why_engine_of_recording"):
        monkeypatch.setattr(f"evenmatch.lab.simulate.{name}", lambda *_: "as a test")


@pytest.mark.parametrize("spec", [*DUEL_SPECS[:2], *BY_SCENARIO])
@pytest.mark.parametrize("on_deadline", ["expire", "bots", "keep"])
def test_scenario_gives_the_same_history_with_and_without_the_engine(
    spec: str, on_deadline: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = parse_scenario(f"""
        warmup = 10.0
        [[queue]]
        wait_max = 0.25
        on_deadline = "{on_deadline}"
        policy = "{spec}"
        criteria = [{{kind = "spread", attribute = "skill"}}]
        [arrivals]
        process = "poisson"
        rate = 4.0
        count = 300
        [attributes]
        skill = {{distribution = "normal", mean = 0.5, deviation = 0.3}}
    """)
    compiled = simulate(world, by="skill_decile")
    by_the_engine(monkeypatch)
    engine = simulate(world, by="skill_decile")

    assert compiled.tickets == engine.tickets
    assert [{**m, "cost": 0, "quality": 0} for m in compiled.matches] == [
        {**m, "cost": 0, "quality": 0} for m in engine.matches
    ]
    assert compiled.summary.keys() == engine.summary.keys()
    for key in ("cost", "cost_waiting", "matches", "unfinished", "expired", "bots"):
        assert compiled.summary[key] == pytest.approx(engine.summary[key], rel=1e-9)
    assert compiled.summary["by"] == engine.summary["by"]


@pytest.mark.parametrize("on_deadline", ["expire", "bots"])
def test_run_without_a_full_match_has_the_same_summary_with_and_without_the_engine(
    on_deadline: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = parse_scenario(f"""
        [[queue]]
        wait_max = 1.0
        on_deadline = "{on_deadline}"
        policy = "greedy"
        criteria = [{{kind = "spread", attribute = "skill"}}]
        [arrivals]
        process = "regular"
        interval = 2.0
        count = 3
        [attributes]
        skill = {{distribution = "uniform"}}
    """)
    monkeypatch.setattr("evenmatch.lab.simulate.why_engine", lambda *_: "")
    compiled = simulate(world)
    by_the_engine(monkeypatch)
    assert compiled.summary == simulate(world).summary
