"""Beyond the paper: sides whose players change their minds, and a rule that relaxes in time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec
import numpy as np

from evenmatch.config.files import parse_scenario
from evenmatch.lab.report.plots import Plot, PlotLine
from evenmatch.lab.simulate import simulate
from evenmatch.lab.study.study import mean_and_width
from papers.shared.estimates import Estimate
from papers.shared.findings import Effort, Findings, Part, Row
from papers.shared.words import table_of_rows
from papers.xu.rows import tell

NAME = "xu-drifting-sides.toml"
POLICIES = {
    "all wishes kept": "adaptive_sides:reserve=-1",
    "no wish kept but by chance": "greedy",
    "kept while it can be": "adaptive_sides",
}
"""The treatment of wishes, and the policy."""
BINS = 40
CUT = 20.0
"""Seconds at which the plot ends; if all wishes are kept, waits are in the thousands."""
TEXT = """\
# Two sides, and players whose taste changes: balanced, then far too many for side A, and back.
#
# Insisting on sides is stable while the flexible outnumber |A - B|: until about 12,000 s and again
# from about 28,000 s on. Compare never giving way, always giving way, and doing so when it must:
#
#   evenmatch compare scenarios/papers/xu-drifting-sides.toml --runs 5 --by side \\
#     --policy adaptive_sides:reserve=-1 --policy greedy --policy adaptive_sides
#
# After Xu, Yu, Wu, "Rule Designs for Optimal Online Game Matchmaking", section VI, which leaves
# preferences that change over time to the future.

seed = 1

[[queue]]
name = "map"
teams = 2
players = 1
sides = ["A", "B"]
side_choice = "prefer"        # a wish: a policy may give it up, and the summary counts it
on_deadline = "keep"
policy = "adaptive_sides"

[arrivals]
rate = 1.0                    # players per second
duration = 40000.0            # seconds

[[arrivals.classes]]
share = 0.3
drift = [[8000.0, 0.3], [14000.0, 0.6], [26000.0, 0.6], [32000.0, 0.3]]
attributes = {side = "A"}

[[arrivals.classes]]
share = 0.3
drift = [[8000.0, 0.3], [14000.0, 0.2], [26000.0, 0.2], [32000.0, 0.3]]
attributes = {side = "B"}

[[arrivals.classes]]
share = 0.4
drift = [[8000.0, 0.4], [14000.0, 0.2], [26000.0, 0.2], [32000.0, 0.4]]
attributes = {side = ""}
"""


class Task(msgspec.Struct, frozen=True):
    """A run of the scenario under a policy.

    Args:
        policy: SPEC.
        seed: Of all randomness.
        duration: Seconds, of those in the scenario.
    """

    policy: str
    seed: int
    duration: float


class DriftFigures(msgspec.Struct, frozen=True):
    """The results of a run.

    Args:
        figures: Figures by the words of their rows.
        waits: Mean wait of those who arrived in each of `BINS` parts of the run.
        ends: The ends of the parts, seconds.
    """

    figures: dict[str, float]
    waits: list[float]
    ends: list[float]


def texts(seed: int) -> dict[str, str]:
    """Return the scenario by its name; rows take seeds of their own."""
    del seed
    return {NAME: TEXT}


def drift(effort: Effort) -> Part:
    """Return the part of drifting sides."""
    runs, duration = (1, 16_000.0) if effort.quick else (8, 40_000.0)
    tasks = [
        Task(policy, effort.seed + number, duration)
        for policy in POLICIES.values()
        for number in range(runs)
    ]
    return Part(("xu.drift",), run_drifting, tasks, partial(_finish, effort, tasks))


def run_drifting(task: Task) -> DriftFigures:
    """Simulate the scenario under a policy."""
    scenario = parse_scenario(TEXT)
    assert scenario.arrivals is not None
    arrivals = msgspec.structs.replace(scenario.arrivals, duration=task.duration)
    own = msgspec.structs.replace(scenario, arrivals=arrivals)
    run = simulate(own, policy=task.policy, seed=task.seed)
    begun = np.asarray(run.history.enqueued_at)
    waits = np.asarray(run.history.ended_at) - begun
    ends = run.history.enqueued_at[-1] * np.arange(1, BINS + 1) / BINS
    part = np.minimum(np.searchsorted(ends, begun), BINS - 1)
    counts = np.maximum(np.bincount(part, minlength=BINS), 1)
    summary = run.summary
    return DriftFigures(
        {
            "mean wait": summary["wait"]["mean"],
            "wait that 95 % do not exceed": summary["wait"]["p95"],
            "longest wait": summary["wait"]["max"],
            "percent of the players on another side than they asked for":
                100.0 * summary["off_side"] / summary["players"],
        },
        (np.bincount(part, waits, BINS) / counts).tolist(),
        ends.tolist(),
    )  # fmt: skip


def _finish(effort: Effort, tasks: Sequence[Task], results: Sequence[DriftFigures]) -> Findings:
    runs = len(tasks) // len(POLICIES)
    rows: list[Row] = []
    lines = []
    for at, (words, policy) in enumerate(POLICIES.items()):
        own = results[at * runs : (at + 1) * runs]
        for what in own[0].figures:
            mean, width = mean_and_width([each.figures[what] for each in own])
            found = Estimate(mean or 0.0, width or 0.0)
            rows.append(tell("drift", what, policy=policy, scenario=NAME, found=found))
        waits = np.mean([each.waits for each in own], axis=0)
        lines.append(PlotLine(words, tuple(own[0].ends), tuple(np.minimum(waits, CUT).tolist())))
    text = (
        "One player per second; side A grows from .3 to .6 of the players and back, more than "
        "others can bear from about 12,000 to 28,000 s. The rule closes a side in time and opens "
        f"it again. The first {tasks[0].duration:,.0f} s; {runs} {'run' if runs == 1 else 'runs'} "
        f"each, from seed {effort.seed}."
    )
    plot = Plot(
        "drift", "Sides whose players change their mind", f"{text} Cut at {CUT:g} s.",
        "arrival, s", "mean wait, s", tuple(lines),
    )  # fmt: skip
    table = table_of_rows("Open question: preferences that change over time", text, rows)
    return Findings(tuple(rows), (table,), (plot,), texts(effort.seed))
