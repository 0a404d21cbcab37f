"""Parties per second of compiled service orders, and of a whole simulation with its figures."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from evenmatch.config.files import parse_scenario
from evenmatch.lab.simulate import simulate
from evenmatch.model.queue import Format, Queue
from evenmatch.model.scenario import Scenario
from evenmatch.policies.registry import parse_policy
from evenmatch.simulation.compiled.parties import serve
from tests.bench.report import Row, Setting

SEED = 1
RATES = {3: (0.5, 0.15, 0.0667), 5: (0.4, 0.1, 0.05, 0.025, 0.03)}
SPECS = [
    "first_come:order=oldest",
    "first_come:order=lifo",
    "first_come:order=packing",
    "first_come:order=largest",
    "first_come:order=smallest",
    "first_come:order=head_of_line",
    "first_come:order=max_weight",
    "first_come:order=reserve,theta=5",
    "first_come:shape=mirrored",
]
AIM = ">= 25,000"
"""1.5 million parties in 60 s."""


def run(setting: Setting) -> Iterator[Row]:
    rounds, count = (3, 100_000) if setting.quick else (5, 1_500_000)
    for k, rates in RATES.items():
        queue = Queue(format=Format((k, k)))
        rng = np.random.default_rng(SEED)
        times = np.cumsum(rng.exponential(1.0 / sum(rates), count))
        sizes = 1 + rng.choice(k, count, p=np.array(rates) / sum(rates))
        for spec in SPECS:
            policy = parse_policy(spec)
            serve(queue, policy, times[:100], sizes[:100])
            speeds = []
            for _ in range(rounds):
                started = time.process_time()
                serve(queue, policy, times, sizes)
                speeds.append(count / (time.process_time() - started))
            yield Row(f"{spec}, {k}v{k}, compiled", tuple(speeds), "parties/s", AIM)
        yield _whole(k, rates, count)


def _whole(k: int, rates: tuple[float, ...], count: int) -> Row:
    """Measure `evenmatch simulate --by size` from the scenario to the summary."""
    world = _scenario(k, rates, count)
    simulate(_scenario(k, rates, 20_000), by="size")
    started = time.process_time()
    simulate(world, by="size")
    speed = count / (time.process_time() - started)
    return Row(f"simulate --by size, {k}v{k}", (speed,), "parties/s", AIM, "with all figures")


def _scenario(k: int, rates: tuple[float, ...], count: int) -> Scenario:
    classes = [
        f"[[arrivals.classes]]\nrate = {rate}\nsize = {size}\n"
        for size, rate in enumerate(rates, 1)
    ]
    return parse_scenario(
        f"[[queue]]\nteams = 2\nplayers = {k}\npolicy = 'first_come'\n"
        f"[arrivals]\nprocess = 'poisson'\ncount = {count}\n" + "".join(classes)
    )
