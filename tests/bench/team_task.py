"""One stream of `team_quality`, a process of its own: a task as JSON in, figures as JSON out."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

import evenmatch
from evenmatch.errors import ConfigError
from evenmatch.simulation.history import History
from papers.studies.streams import StreamFigures
from tests.bench.equal_wait import AtWait, at_wait
from tests.bench.hindsight import plan_of
from tests.bench.team_quality import Task, wait_of
from tests.bench.team_streams import (
    Knob,
    Stream,
    at_its_own,
    changed,
    knob_of,
    scenario_of,
    thinned,
    window_of,
    with_knob,
)

DISTURBANCES = ("lull", "rise", "burst", "change")
"""A rise is the burst while it lasts; the others have ended, or are a change for good."""
SETTLE_TARGETS, WATCH_TARGETS = 20, 20
"""Targets that pass before the disturbance, and after it."""
LULL_TARGETS, BURST_TARGETS = 10, 2
LULL_SHARE, BURST_TIMES = 0.02, 10.0
WITHIN, STAYS = 0.3, 3
"""How near to the target, and for how many bins in a row."""
DAY_LEAST = 0.1


def against(task: Task) -> dict[str, Any]:
    """Compare at the mean wait of the policy that has no knob, or of rolling at a usual one."""
    stream = Stream(task.scene, task.rate, task.seed, task.share)
    mine = knob_of(task.policy)
    if task.what == "rounds":
        own = mine.run(stream, mine.begin(wait_of(task.rate)))
        other = knob_of(task.what)
        theirs = at_wait(
            lambda place: other.run(stream, place), own.wait, other.begin(own.wait), other.slope
        )
        return difference(_as_at(own), theirs, own.wait)
    fixed = at_its_own(task.what, stream)
    found = at_wait(
        lambda place: mine.run(stream, place), fixed.wait, mine.begin(fixed.wait), mine.slope
    )
    return difference(found, _as_at(fixed), fixed.wait)


def _as_at(figures: StreamFigures) -> AtWait:
    unmatched = figures.censored / figures.players
    return AtWait(figures.mean, figures.p10, figures.p95, unmatched, 0.0, ((0.0, figures.wait),))


def difference(mine: AtWait, other: AtWait, wait: float) -> dict[str, Any]:
    """Return how much better one is than the other at the same mean wait."""
    return {
        "wait": wait,
        "mean": mine.mean - other.mean,
        "p10": mine.p10 - other.p10,
        "p95": mine.p95 / other.p95,
        "unmatched": mine.unmatched - other.unmatched,
        "beyond": max(mine.beyond, other.beyond),
        "mean_of_other": other.mean,
        "p10_of_other": other.p10,
        "runs": mine.runs if len(mine.runs) > 1 else other.runs,
    }


# Targets


def target(task: Task) -> dict[str, Any]:
    """Return the mean wait while as many come all the time, as a multiple of the target."""
    stream = Stream(task.scene, task.rate, task.seed, task.share)
    found = targeted(task.policy).run(stream, task.target)
    players = sum(scenario_of(stream).queues[0].format.players)
    return {
        "wait / target": found.wait / task.target,
        "wait, s": found.wait,
        "p95, s": found.p95,
        "quality": found.mean,
        "least possible, s": least_wait(players, task.rate),
    }


def least_wait(players: int, rate: float) -> float:
    """Return the mean wait of first come, first served where all fit: nobody does with less.

    >>> least_wait(10, 20.0)
    13.5
    """
    return 60.0 / rate * (players - 1) / 2.0


def day(task: Task) -> dict[str, Any]:
    """Return the mean wait over a day that swings tenfold, as a multiple of the target."""
    stream = Stream(task.scene, task.rate, task.seed)
    hours = task.day_hours * task.share
    lasts = 3_600.0 * hours
    curve = ((0.0, 1.0), (lasts / 2.0, DAY_LEAST), (lasts, 1.0))
    history = _run(task, stream, thinned(stream, lasts, curve))
    first = window_of(task.rate).warmup
    waits = _waits(history, first, lasts - window_of(task.rate).cooldown)
    parts = [_waits(history, at * lasts / 8.0, (at + 1) * lasts / 8.0) for at in range(8)]
    means = [_mean(part) / task.target for part in parts[1:-1] if part]
    return {
        "wait / target": _mean(waits) / task.target,
        "least eighth": min(means),
        "highest eighth": max(means),
        "players": float(sum(size for _, _, size in waits)),
    }


def recovery(task: Task) -> dict[str, Any]:
    """Return the mean waits of who comes in bins of half a target after each disturbance.

    The players of a burst count in the bins of its rise, those who come after its end in the bins
    of the burst.
    """
    goal = task.target
    begin, watch = SETTLE_TARGETS * goal, WATCH_TARGETS * goal
    # Those who come at the end have no time to be matched.
    lasts = watch - 3.0 * goal
    usual = Stream(task.scene, task.rate, task.seed)
    busy = Stream(task.scene, BURST_TIMES * task.rate, task.seed)
    found: dict[str, Any] = {}

    ends = begin + LULL_TARGETS * goal
    lull = thinned(usual, ends + watch, steps(begin, ends, 1.0, LULL_SHARE))
    found["lull"] = _bins(_run(task, usual, lull), ends, lasts, goal)

    ends = begin + BURST_TARGETS * goal
    burst = thinned(busy, ends + watch, steps(begin, ends, 1.0 / BURST_TIMES, 1.0))
    history = _run(task, busy, burst)
    found["rise"] = _bins(history, begin, ends - begin, goal)
    found["burst"] = _bins(history, ends, lasts, goal)

    others = changed(usual, begin + watch, begin)
    found["change"] = _bins(_run(task, usual, others), begin, lasts, goal)
    return found


def _bins(history: History, begin: float, lasts: float, goal: float) -> list[float | None]:
    """Return the mean waits of who came in each half of a target from an instant on."""
    size = goal / 2.0
    bins = [
        _waits(history, begin + at * size, begin + (at + 1) * size)
        for at in range(round(lasts / size))
    ]
    return [_mean(each) if each else None for each in bins]


def steps(begin: float, end: float, usual: float, other: float) -> list[tuple[float, float]]:
    """Return a curve that takes another value between two instants."""
    least = 1e-6
    return [
        (0.0, usual),
        (begin, usual),
        (begin + least, other),
        (end, other),
        (end + least, usual),
    ]


def back_within(means: Sequence[float | None], goal: float, size: float) -> float | None:
    """Return the seconds until bins stay near the goal; None if they never do.

    >>> back_within([90.0, 50.0, 35.0, 33.0, 28.0, 31.0], 30.0, 15.0)
    30.0
    """
    near = [each is not None and abs(each / goal - 1.0) <= WITHIN for each in means]
    for at in range(len(near) - STAYS + 1):
        if all(near[at : at + STAYS]):
            return at * size
    return None


def _run(task: Task, stream: Stream, arrivals: list[Any]) -> History:
    """Run the policy with its target on these arrivals."""
    spec = with_knob(task.policy, targeted(task.policy).name, task.target)
    scenario = scenario_of(stream)
    return evenmatch.simulate(scenario, arrivals=arrivals, policy=spec, seed=task.seed).history


def targeted(policy: str) -> Knob:
    """Return the knob of a policy that takes a wait to aim at.

    Raises:
        ConfigError: It takes none.
    """
    knob = knob_of(policy)
    if knob.name != "target_wait":
        raise ConfigError(f"policy {policy} has no target_wait")
    return knob


def _waits(history: History, begin: float, end: float) -> list[tuple[float, float, int]]:
    """Return when each ticket came, how long it waited, and its players, of those in a time."""
    return [
        (came, ended - came, size)
        for came, ended, size in zip(
            history.enqueued_at, history.ended_at, history.sizes, strict=True
        )
        if begin <= came < end
    ]


def _mean(waits: Sequence[tuple[float, float, int]]) -> float:
    """Return the mean wait of the players."""
    return statistics.fmean(
        [wait for _, wait, _ in waits], weights=[float(size) for _, _, size in waits]
    )


def hindsight(task: Task) -> dict[str, Any]:
    """Return what a planner with foresight reaches above a policy, at the policy's mean wait."""
    stream = Stream(task.scene, task.rate, task.seed, task.share)
    name = task.what.partition("-")[2]
    if name:
        own = at_its_own(name, stream)
    else:
        knob = knob_of(task.policy)
        own = knob.run(stream, knob.begin(wait_of(task.rate)))
    planned = at_wait(lambda weight: plan_of(stream, weight, task.foresight), own.wait, 0.5, -0.5)
    return {
        "wait, s": own.wait,
        "mean of policy": own.mean,
        "mean of plan, more": planned.mean - own.mean,
        "worst tenth of policy": own.p10,
        "worst tenth of plan, more": planned.p10 - own.p10,
        "p95 of plan, x": planned.p95 / own.p95,
        "unmatched by plan": planned.unmatched,
        "beyond": planned.beyond,
    }


DO: dict[str, Callable[[Task], dict[str, Any]]] = {
    "rounds": against,
    "greedy": against,
    "threshold": against,
    "target": target,
    "day": day,
    "recovery": recovery,
    "hindsight": hindsight,
    "hindsight-greedy": hindsight,
}


def main() -> None:
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=Task)
    sys.stdout.buffer.write(msgspec.json.encode(DO[task.what](task)))


if __name__ == "__main__":
    main()
