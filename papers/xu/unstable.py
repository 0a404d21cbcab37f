"""Figure 7 and the converse of Fact 3: sides whose queues grow for ever."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np

from evenmatch.config.files import parse_scenario
from evenmatch.lab.simulate import simulate
from evenmatch.lab.study.study import mean_and_width
from evenmatch.simulation.history import History
from evenmatch.theory.sides import sides
from papers.shared.estimates import Estimate
from papers.shared.findings import Effort, Findings, Part
from papers.shared.words import table_of_rows
from papers.xu.rows import agreement, is_near, said, tell
from papers.xu.worlds import sides_toml

GROWING = {"7-uneven": (0.6, 0.4, 0.0), "lean": (0.55, 0.35, 0.1)}
"""Players per second for the sides, and too few choice-free ones, by the names of their files."""
EVEN = (0.5, 0.5, 0.0)
"""Sides of equal rates without choice-free players: null recurrent."""
NAME_OF_EVEN = "xu-sides-7-even.toml"
LENGTH = 8_000


class Task(msgspec.Struct, frozen=True):
    """A run of players with sides.

    Args:
        text: TOML.
        count: Tickets to take.
        seed: All chance comes from it.
    """

    text: str
    count: int
    seed: int


class UnmatchedTickets(msgspec.Struct, frozen=True):
    """The tickets that still wait.

    Args:
        quarter: Their number after a quarter of the arrivals.
        all: Their number after all arrivals.
        per_second: Their number at the end, divided by the length of the run.
    """

    quarter: int
    all: int
    per_second: float


def unstable(effort: Effort) -> Part:
    """Return the part of queues that grow."""
    runs, count = (20, 2_000) if effort.quick else (200, LENGTH)
    tasks = [
        Task(text, count, effort.seed + number)
        for text in texts(effort.seed).values()
        for number in range(runs)
    ]
    ids = ("xu.figure7", "xu.growth")
    return Part(ids, count_left, tasks, partial(_finish, effort, runs, count))


def texts(seed: int) -> dict[str, str]:
    """Return the scenarios by their names."""
    run = {"policy": "first_come:order=oldest", "count": LENGTH, "seed": seed}
    named = {NAME_OF_EVEN: EVEN} | {f"xu-sides-{key}.toml": each for key, each in GROWING.items()}
    return {name: sides_toml(*rates, **run) for name, rates in named.items()}  # type: ignore[arg-type]


def count_left(task: Task) -> UnmatchedTickets:
    """Simulate, and count the waiting tickets."""
    scenario = parse_scenario(task.text)
    assert scenario.arrivals is not None
    arrivals = msgspec.structs.replace(scenario.arrivals, count=task.count)
    own = msgspec.structs.replace(scenario, arrivals=arrivals)
    history = simulate(own, seed=task.seed).history
    at_end = _waiting(history, task.count)
    return UnmatchedTickets(_waiting(history, task.count // 4), at_end, at_end / history.end)


def _waiting(history: History, arrived: int) -> int:
    """Return how many wait just after a number of arrivals."""
    now = history.enqueued_at[arrived - 1]
    is_matched = np.asarray(history.match_of[:arrived]) >= 0
    ended = np.asarray(history.ended_at[:arrived])
    return int(arrived - (is_matched & (ended <= now)).sum())


def mean_distance(steps: int) -> float:
    """Return the mean distance of a simple random walk from its start.

    Args:
        steps: An even number.

    >>> mean_distance(4)
    1.5
    """
    half = steps // 2
    log_middle = math.lgamma(steps + 1) - 2 * math.lgamma(half + 1) - steps * math.log(2.0)
    return steps * math.exp(log_middle)


def _estimate(values: Sequence[float]) -> Estimate:
    mean, width = mean_and_width(values)
    return Estimate(mean or 0.0, width or 0.0)


def _finish(effort: Effort, runs: int, count: int, results: Sequence[UnmatchedTickets]) -> Findings:
    even = results[:runs]
    a, b, flexible = EVEN
    setting: dict[str, Any] = {"a": a, "b": b, "flexible": flexible, "scenario": NAME_OF_EVEN}
    kind = sides(a=a, b=b, flexible=flexible).kind
    quarter, end = (
        _estimate([float(each.quarter) for each in even]),
        _estimate([float(each.all) for each in even]),
    )
    rows = [
        tell("figure7", f"{kind}: mean waiting after {count // 4:,} arrivals", **setting,
             exact=mean_distance(count // 4), found=quarter,
             verdict=said(is_near(quarter, mean_distance(count // 4)))),
        tell("figure7", f"{kind}: mean waiting after {count:,}, twice as many", **setting,
             exact=mean_distance(count), found=end,
             verdict=said(is_near(end, mean_distance(count)))),
    ]  # fmt: skip
    for at, (key, rates) in enumerate(GROWING.items(), start=1):
        own = results[at * runs : (at + 1) * runs]
        known: dict[str, Any] = dict(zip(("a", "b", "flexible"), rates, strict=True))
        theory = sides(**known)
        growth = _estimate([each.per_second for each in own])
        rows.append(
            tell("figure7" if not rates[2] else "growth",
                 f"{theory.kind}: growth of the waiting per second", **known,
                 scenario=f"xu-sides-{key}.toml", exact=theory.growth,
                 found=growth, verdict=said(is_near(growth, theory.growth)))
        )  # fmt: skip
    text = (
        "Everybody insists on a side, or too many do. Of even sides ever more wait, by the root of "
        f"the arrivals; of uneven ones by their difference. {agreement(rows, effort)}"
    )
    table = table_of_rows("Figure 7: sides without enough choice-free players", text, rows)
    return Findings(tuple(rows), (table,), scenarios=texts(effort.seed))
