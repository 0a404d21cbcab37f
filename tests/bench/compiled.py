"""Arrivals per second of compiled runs, beside the engine, SimPy and Ciw on the greedy case."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import ciw
import msgspec
import numpy as np
import simpy
from numpy.typing import NDArray

from evenmatch import simulate
from evenmatch.model.queue import Criterion, Format, Queue
from evenmatch.model.scenario import Scenario
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.policies.registry import parse_policy
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.simulation.compiled.run import play
from evenmatch.simulation.history import History
from evenmatch.simulation.simulator import Simulator
from tests.bench.report import Row, Setting

Floats = NDArray[np.float64]

RATE = 10.0
SEED = 1
DUELS = {
    "greedy": ">= 5,000,000",
    "periodic:rounds_of=5": "",
    "multi_queue:brackets=6": ">= 1,000,000",
    "difference_wait:factor=5": "",
    "price": ">= 1,000,000",
    "delay_greedy": "",
    "gap_value": "",
}
GROUPS = ("greedy", "multi_queue:brackets=2", "group_price")
"""Policies at k = 10, D = 3, 30 tickets a second."""
FIRST_CALL = """
import time
started = time.perf_counter()
import numpy as np
from evenmatch.model.queue import Criterion, Queue
from evenmatch.policies.registry import parse_policy
from evenmatch.simulation.compiled.run import play
queue = Queue(criteria=(Criterion("spread", "c0"),), wait_max=5.0, on_deadline="bots")
play(queue, parse_policy("price"), np.arange(100) / 10.0, np.zeros((1, 100)))
print(time.perf_counter() - started)
"""


def run(setting: Setting) -> Iterator[Row]:
    rounds, count = (3, 100_000) if setting.quick else (7, 1_000_000)
    unit = "arrivals/s"
    queue = _queue(2, 1)
    times, values = _arrivals(count, RATE, 1)
    for spec, aim in DUELS.items():
        policy = parse_policy(spec)
        speeds = _speeds(rounds, count, lambda p=policy: play(queue, p, times, values))
        yield Row(f"{spec}, compiled", speeds, unit, aim)
    few = count // 50
    for name, other in (("SimPy", _simpy), ("Ciw", _ciw)):
        speeds = _speeds(rounds, few, lambda f=other: f(times[:few]))
        yield Row(f"greedy, {name}", speeds, unit)
    for spec in ("greedy", "price"):
        speeds = _speeds(rounds, few, lambda s=spec: _engine(s, times[:few], values[:, :few]))
        yield Row(f"{spec}, engine", speeds, unit, note="the same matches, ticket by ticket")
    recording = _recording(times[:few], values[:, :few])
    for spec in ("greedy", "price"):
        world = Scenario((msgspec.structs.replace(_queue(2, 1), policy=spec),))
        speeds = _speeds(rounds, few, lambda w=world: simulate(w, arrivals=recording))
        yield Row(f"{spec}, `simulate` of a recording", speeds, unit, ">= 60,000", "from objects")
    for spec in ("imbalance_threshold:delta=0.1", "imbalance_threshold"):
        speeds = _speeds(rounds, few, lambda s=spec: _engine(s, times[:few], values[:, :few]))
        yield Row(f"{spec}, engine", speeds, unit, note="it has no compiled steps")
    queue = _queue(10, 3)
    times, values = _arrivals(count // 10, 30.0, 3)
    for spec in GROUPS:
        policy = parse_policy(spec)
        speeds = _speeds(rounds, count // 10, lambda p=policy: play(queue, p, times, values))
        yield Row(f"{spec}, k = 10, D = 3, compiled", speeds, unit)
    seconds = tuple(_first_call() for _ in range(3))
    yield Row("first call in a new process, warm cache", seconds, "s", "<= 3")


def _recording(times: Floats, values: Floats) -> list[Arrival]:
    """Return single players as a recording has them."""
    return [
        Arrival(at, NewTicket((Player(f"p{number}", None, {"c0": value}),), id=str(number)))
        for number, (at, value) in enumerate(zip(times.tolist(), values[0].tolist(), strict=True))
    ]


def _queue(k: int, criteria: int) -> Queue:
    compared = tuple(Criterion("spread", f"c{number}") for number in range(criteria))
    return Queue("main", Format((1,) * k), compared, wait_max=5.0, on_deadline="bots")


def _arrivals(count: int, rate: float, criteria: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(SEED)
    return np.cumsum(rng.exponential(1.0 / rate, count)), rng.random((criteria, count))


def _speeds(rounds: int, count: int, job: Callable[[], object]) -> tuple[float, ...]:
    job()
    speeds = []
    for _ in range(rounds):
        started = time.perf_counter()
        job()
        speeds.append(count / (time.perf_counter() - started))
    return tuple(speeds)


def _engine(spec: str, times: Floats, values: Floats) -> None:
    queue = _queue(2, 1)
    arrivals = [
        Arrival(at, NewTicket((Player(str(row), attributes={"c0": value}),), id=str(row)))
        for row, (at, value) in enumerate(zip(times.tolist(), values[0].tolist(), strict=True))
    ]
    Simulator((queue,), lambda _: parse_policy(spec), History("main")).run(arrivals)


def _simpy(times: Floats) -> None:
    """Let two processes meet as soon as there are two."""
    env = simpy.Environment()
    waiting: list[simpy.Event] = []

    def ticket() -> Iterator[simpy.Event]:
        if waiting:
            waiting.pop().succeed()
            return
        mine = env.event()
        waiting.append(mine)
        yield mine

    def arrive() -> Iterator[simpy.Event]:
        for at in times.tolist():
            yield env.timeout(at - env.now)
            env.process(ticket())

    env.process(arrive())
    env.run()


class _PairNode(ciw.Node):  # type: ignore[misc]
    """Infinitely many servers; the service of two customers ends as soon as there are two."""

    def begin_service_if_possible_accept(self, individual: ciw.Individual) -> None:
        super().begin_service_if_possible_accept(individual)
        present = self.all_individuals
        if len(present) == 2:
            for each in present:
                each.service_end_date = self.now


def _ciw(times: Floats) -> None:
    gaps = [float(times[0]), *np.diff(times).tolist(), math.inf]
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Sequential(gaps)],
        service_distributions=[ciw.dists.Deterministic(1e12)],
        number_of_servers=[math.inf],
    )
    simulation = ciw.Simulation(network, node_class=_PairNode)
    simulation.simulate_until_max_customers(len(times) // 2 * 2, method="Finish")


def _first_call() -> float:
    """Return the seconds from the first import to the end of the first run, kernels cached."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_CALL], capture_output=True, text=True, check=True
    )
    return float(done.stdout)
