"""Section III's robustness to latency: arrivals reach the matchmaker late, and out of order.

If each arrival of a Poisson process is delayed at random, the delayed arrivals are again a Poisson
process of the same rate, and its instants say nothing about the delays (Kingman, Poisson Processes,
the displacement theorem). So the matchmaker sees exactly the law that it would see without latency,
under every order of service; players add their own delay to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from evenmatch.config.files import parse_scenario
from evenmatch.lab.report.plots import Plot, PlotLine
from evenmatch.lab.simulate import simulate
from evenmatch.policies.registry import parse_policy
from evenmatch.simulation.compiled.parties import serve
from evenmatch.theory.two_v_two import mean_of_players, variance
from papers.shared.estimates import Estimate
from papers.shared.findings import Effort, Findings, Part, Row
from papers.shared.words import table_of_rows
from papers.xu.rows import agreement, fractions, is_near, said, tell
from papers.xu.trial import BATCHES, Sums, estimate_mean, estimate_var, sums_of
from papers.xu.worlds import parties_toml

Ints = NDArray[np.int64]

RATES = (1.0, 10.0, 100.0)
"""Players per second, half of whom come in pairs."""
JITTERS = (0.0, 100.0, 500.0)
"""Largest delays of an arrival, in milliseconds."""
ALL_JITTERS = (0.0, 50.0, 100.0, 250.0, 500.0)
LENGTH = 200_000
ORDERS = {"fifo": "first_come:order=oldest", "lifo": "first_come:order=lifo"}


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A run whose arrivals are late.

    Args:
        rate: Players per second.
        jitter: Milliseconds at the most.
        order: Of service.
        text: TOML of the world.
        count: Tickets to take.
        seed: Of the delays.
    """

    rate: float
    jitter: float
    order: str
    text: str
    count: int
    seed: int


class Late(msgspec.Struct, frozen=True):
    """The results of such a run.

    Args:
        seen: Waits as the matchmaker sees them: sums by batch.
        felt: Waits since the players came.
        overtaken: Share of parties that reach the matchmaker after one that came later.
        moved: Share of parties that play in another match than without latency.
    """

    seen: Sums
    felt: Sums
    overtaken: float
    moved: float


def name_of(rate: float) -> str:
    """Return the file of a world."""
    return f"xu-2v2-latency-{rate:g}.toml"


def text_of(rate: float, seed: int) -> str:
    """Return the scenario: half of the players come alone."""
    return parties_toml(
        2,
        (rate / 2.0, rate / 4.0),
        policy=ORDERS["fifo"],
        count=LENGTH,
        seed=seed + RATES.index(rate),
    )


def texts(seed: int) -> dict[str, str]:
    """Return the scenarios by their names."""
    return {name_of(rate): text_of(rate, seed) for rate in RATES}


def latency(effort: Effort) -> Part:
    """Return the part of latency."""
    jitters = JITTERS if effort.quick else ALL_JITTERS
    tasks = [
        Task(
            rate=rate,
            jitter=jitter,
            order=order,
            text=text_of(rate, effort.seed),
            count=40_000 if effort.quick else LENGTH,
            seed=effort.seed,
        )
        for order in ORDERS
        for rate in RATES
        for jitter in jitters
        # Without latency and at low rates, the other order shows nothing new.
        if order == "fifo" or (rate == RATES[-1] and jitter == jitters[-1])
    ]
    return Part(("xu.latency",), run_late, tasks, partial(_finish, effort, tasks))


def run_late(task: Task) -> Late:
    """Simulate a world twice: as it is, and with its arrivals late."""
    scenario = parse_scenario(task.text)
    assert scenario.arrivals is not None
    arrivals = msgspec.structs.replace(scenario.arrivals, count=task.count)
    history = simulate(msgspec.structs.replace(scenario, arrivals=arrivals)).history
    came, sizes = np.asarray(history.enqueued_at), np.asarray(history.sizes)
    (queue,), policy = scenario.queues, parse_policy(ORDERS[task.order])
    plain = serve(queue, policy, came, sizes)
    rng = np.random.default_rng((task.seed, 5))
    seen_at = came + rng.uniform(0.0, task.jitter / 1000.0, len(came))
    order = np.argsort(seen_at, kind="stable")
    late = serve(queue, policy, seen_at[order], sizes[order])
    weights = sizes[order] * (late.match_of >= 0)
    ended = late.at[late.match_of]
    partners = [
        _partners(plain.match_of, np.arange(len(came))),
        _partners(late.match_of, order),
    ]
    moved = [partners[0].get(place) != partners[1].get(place) for place in range(len(came))]
    return Late(
        sums_of(weights, ended - seen_at[order]),
        sums_of(weights, ended - came[order]),
        float((np.maximum.accumulate(order) > order).mean()),
        float(np.mean(moved)),
    )


def _partners(match_of: Ints, places: Ints) -> dict[int, frozenset[int]]:
    """Return the partners of each party."""
    members: dict[int, list[int]] = {}
    for match, place in zip(match_of.tolist(), places.tolist(), strict=True):
        if match >= 0:
            members.setdefault(match, []).append(place)
    return {place: frozenset(all_of) for all_of in members.values() for place in all_of}


def _finish(effort: Effort, tasks: Sequence[Task], results: Sequence[Late]) -> Findings:
    rows = [row for task, found in zip(tasks, results, strict=True) for row in _rows(task, found)]
    text = (
        "Two against two; half of the players come alone. Each arrival reaches the matchmaker up "
        "to so many milliseconds late, so that some overtake others. Arrivals delayed by chance "
        "are Poisson again: the matchmaker sees the very law of no latency. "
        f"{agreement(rows, effort)} ({BATCHES - 2} batches a run.)"
    )
    table = table_of_rows("Latency: is the order of service robust?", text, rows)
    plot = _plot(tasks, results)
    return Findings(tuple(rows), (table,), (plot,), texts(effort.seed))


def exact_of(task: Task) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """Return mean and variance of the wait: as the matchmaker sees it, and as players feel it."""
    solo, party = fractions(task.rate / 2.0, task.rate / 4.0)
    (late,) = fractions(task.jitter / 1000.0)
    mean = mean_of_players(solo, party, "fifo")
    var = variance(solo, party, "lifo" if task.order == "lifo" else "fifo")
    return mean, var, mean + late / 2, var + late**2 / 12


def _rows(task: Task, found: Late) -> list[Row]:
    mean, var, felt, felt_var = exact_of(task)
    means, variances = estimate_mean(found.seen), estimate_var(found.seen)
    setting: dict[str, Any] = {
        "rate": task.rate, "jitter_ms": task.jitter, "order": task.order,
        "scenario": name_of(task.rate),
    }  # fmt: skip
    rows = [
        tell("latency", "mean wait, as seen", **setting, exact=mean,
             found=means, verdict=said(is_near(means, mean))),
        tell("latency", "variance of the wait, as seen", **setting, exact=var,
             found=variances, verdict=said(is_near(variances, var))),
    ]  # fmt: skip
    if not task.jitter:
        return rows
    return [
        *rows,
        tell("latency", "mean wait, as felt", **setting, exact=felt,
             found=estimate_mean(found.felt)),
        tell("latency", "variance of the wait, as felt", **setting, exact=felt_var,
             found=estimate_var(found.felt)),
        tell("latency", "share of parties that others overtake", **setting,
             found=Estimate(found.overtaken, 0.0)),
        tell("latency", "share of parties that play others than without", **setting,
             found=Estimate(found.moved, 0.0)),
    ]  # fmt: skip


def _plot(tasks: Sequence[Task], results: Sequence[Late]) -> Plot:
    lines = []
    for rate in RATES:
        own = [
            (task.jitter, estimate_var(found.seen), exact_of(task)[1])
            for task, found in zip(tasks, results, strict=True)
            if task.rate == rate and task.order == "fifo"
        ]
        xs = tuple(jitter for jitter, _, _ in own)
        lines += [
            PlotLine(f"{rate:g} players/s", xs,
                 tuple(found.value / float(exact) for _, found, exact in own),
                 tuple(found.half_width / float(exact) for _, found, exact in own)),
        ]  # fmt: skip
    text = (
        "Variance of the wait that the matchmaker sees over the exact one without latency, FIFO. "
        "It stays at 1 however many overtake."
    )
    return Plot("latency", "Variance of the wait with latency", text, "latest arrival, ms",
                "times that without latency", tuple(lines))  # fmt: skip
