"""What repairing a failed ready-check saves, against sending everybody back to the queue.

Both ways meet the same arrivals and the same answers, so each seed gives one difference.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

import evenmatch
from evenmatch.config.files import load_scenario
from evenmatch.model.scenario import Scenario
from tests.bench.report import Row, Setting

SCENE = "scenarios/ready-check.toml"
POLICIES = ("greedy", "rolling")
STUDENT_9 = 2.262
"""97.5 % quantile of Student's t with 9 degrees of freedom."""


def run(setting: Setting) -> Iterator[Row]:
    """Measure the share of failed checks repaired, and the mean time to a played match."""
    world = load_scenario(SCENE)
    seeds = range(1, 3 if setting.quick else 11)
    for policy in POLICIES[: 1 if setting.quick else None]:
        shares, saved, waits = [], [], []
        for seed in seeds:
            repaired = evenmatch.simulate(world, policy=policy, seed=seed).summary
            again = evenmatch.simulate(_without_repair(world), policy=policy, seed=seed).summary
            shares.append(repaired["checks"]["repaired_share"])
            mean, before = repaired["wait"]["mean"], again["wait"]["mean"]
            saved.append(1.0 - mean / before)
            waits.append((mean, before, repaired["quality"]["mean"], again["quality"]["mean"]))
        mean, before, quality, quality_before = np.mean(waits, axis=0)
        note = f"{policy}, {len(seeds)} seeds"
        yield Row(f"{policy}: failed checks repaired", _interval(shares), "share", ">= .8", note)
        note = (
            f"{mean:.1f} s against {before:.1f}; quality {quality:.3f} against {quality_before:.3f}"
        )
        yield Row(f"{policy}: mean wait saved by repair", _interval(saved), "share", ">= .25", note)


def _interval(values: list[float]) -> tuple[float, float, float]:
    """Return the mean with its 95 % interval around it."""
    mean = float(np.mean(values))
    half = STUDENT_9 * float(np.std(values, ddof=1)) / len(values) ** 0.5
    return (mean - half, mean, mean + half)


def _without_repair(world: Scenario) -> Scenario:
    queues = [
        replace(each, accept=None if each.accept is None else replace(each.accept, repair=0.0))
        for each in world.queues
    ]
    return replace(world, queues=tuple(queues))
