"""`simulate --sweep` and `compare --sweep`: a scenario at several values of one key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from evenmatch.cli.output import console, print_json, write_text
from evenmatch.cli.progress import progress
from evenmatch.cli.runs import (
    RunOptions,
    check_files,
    check_policy_of,
    check_request,
    mean_summary,
    say_alike,
    say_drawn,
    say_uncounted,
    tasks_of,
    with_recording,
)
from evenmatch.config.files import load_document, load_scenario, naming, scenario_of
from evenmatch.errors import ConfigError
from evenmatch.lab.report.figures import GAPS, figure, figure_text, figures_of, with_width
from evenmatch.lab.simulate import with_policy
from evenmatch.lab.study.study import RunTask, execute_all, map_all
from evenmatch.lab.study.sweep import (
    FACTORS,
    TICKETS_MAX,
    FirstArrivals,
    ParameterSweep,
    SweepPoint,
    at_factor,
    document_at,
    parse_sweep,
    play_short,
    spark,
    target_in,
    with_parameter,
)
from evenmatch.model.scenario import Scenario
from evenmatch.policies.hooks import TARGET, target_of
from evenmatch.simulation.metrics import Summary

COLUMNS = ("wait.mean", "wait.p95", "quality.mean", "quality.p10")
"""What a terminal shows of each value, before the gaps."""
NO_TARGET = (
    "no queue has a policy that keeps a mean wait; choose rolling without a wait_price, or name "
    "values: target_wait=5..60"
)
TARGETS_PLAYED = 12
"""How many times the mean wait wanted players come to see what waiting longer would buy: in less
time, those still wait who would have waited long."""
NOT_KEPT = 1.15
"""A mean wait so many times as long as the one wanted is out of reach."""
LONGER = "What longer waits would buy: mean wait wanted, s"
SMALL = 300
"""Tickets of a run that is so short that it is played at other targets unasked."""
LOST = ("expired", "cancelled", "unfinished")


def show_sweep(
    request: RunOptions, text: str, policies: Sequence[str | None], *, json: bool
) -> None:
    """Make the runs of `--sweep` and show what came of them.

    Raises:
        MatchmakingError: The request cannot be met.
    """
    sweep = parse_sweep(text)
    if request.matches is not None or request.tickets is not None:
        raise ConfigError(
            "--matches and --tickets hold the runs of one value only: leave out --sweep"
        )
    points = swept(request, sweep, policies)
    assert request.scenario is not None
    say_drawn(request, with_recording(request, load_scenario(request.scenario)))
    if request.report is not None:
        from evenmatch.lab.report.sweep_report import render_sweep

        write_text(request.report, render_sweep(str(request.scenario), sweep, points))
    if json:
        lines = [_line(point, named=len(policies) > 1) for point in points]
        print_json({"sweep": sweep.key, "runs": lines})
    else:
        print_sweep(f"{request.scenario}, {sweep.key}", points)


def _line(point: SweepPoint, *, named: bool) -> dict[str, object]:
    policy = {"policy": point.policy} if named else {}
    return {**policy, "value": point.value, **point.summary}


def swept(
    request: RunOptions, sweep: ParameterSweep, policies: Sequence[str | None]
) -> list[SweepPoint]:
    """Return what comes of each value under each policy, several runs at a time."""
    path = check_request(request)
    assert path is not None  # a sweep takes no --rules
    tasks: list[RunTask] = []
    whose: list[tuple[str, float]] = []
    # As in the file: what is swept may be a parameter of these policies.
    used = ", ".join(dict.fromkeys(queue.policy for queue in load_scenario(path).queues))
    for policy in policies:
        for value, plain, own in _variants(path, sweep, policy):
            scenario = with_recording(request, plain)
            check_files(request, scenario)
            check_policy_of(path, scenario, own)
            tasks += tasks_of(request, scenario, [own])
            whose.append((policy or used, value))
    with progress(f"simulating {len(sweep.values)} values of {sweep.key}", len(tasks)) as on_done:
        results = execute_all(tasks, on_done)
    say_uncounted(results)
    runs = request.runs or 1
    groups = [results[start : start + runs] for start in range(0, len(results), runs)]
    say_alike(groups)
    return [
        SweepPoint(policy, value, mean_summary(request, group))
        for (policy, value), group in zip(whose, groups, strict=True)
    ]


def _variants(
    path: Path, sweep: ParameterSweep, policy: str | None
) -> Iterator[tuple[float, Scenario, str | None]]:
    """Yield each value with the scenario and the policy at it."""
    if sweep.is_relative:
        scenario = load_scenario(path)
        with naming(path):
            target = target_in(scenario, policy)
            if target is None:
                raise ConfigError(f"--sweep {sweep.key}: {NO_TARGET}")
            for factor in sweep.values:
                yield factor * target, at_factor(scenario, factor, policy), None
        return
    document = load_document(path)
    for value in sweep.values:
        yield value, *_at(path, document, sweep, value, policy)


def _at(
    path: Path, document: dict[str, object], sweep: ParameterSweep, value: float, policy: str | None
) -> tuple[Scenario, str | None]:
    """Return the scenario and the policy at a value."""
    with naming(path):
        if sweep.parameter is not None and policy is not None:
            own = with_parameter(policy, sweep.parameter, value)
            return scenario_of(document, path.parent), own
        return scenario_of(document_at(document, sweep, value), path.parent), policy


def print_sweep(title: str, points: Sequence[SweepPoint]) -> None:
    """Print a table for each policy: a column for each value, at the end the curve."""
    from rich.table import Table
    from rich.text import Text

    out = console()
    out.print(title, soft_wrap=True)
    rows = [row for row in figures_of([point.summary for point in points]) if _is_shown(row[0])]
    policies = dict.fromkeys(point.policy for point in points)
    for policy in policies:
        own = [point for point in points if point.policy == policy]
        table = Table(box=None, pad_edge=False)
        table.add_column(Text(policy if len(policies) > 1 else "", "bold"), overflow="fold")
        for point in own:
            table.add_column(f"{point.value:g}", justify="right", overflow="fold")
        table.add_column("", overflow="fold")
        for key, words, unit, _ in rows:
            cells = [with_width(point.summary, key, unit) for point in own]
            curve = spark([figure(point.summary, key) for point in own])
            table.add_row(Text(words, "dim"), *cells, Text(curve, "cyan"))
        lost = [_lost(point) for point in own]
        table.add_row(Text("tickets without a match", "dim"), *map(figure_text, lost), spark(lost))
        out.print(table)


def _is_shown(key: str) -> bool:
    return key in COLUMNS or (key.startswith(f"{GAPS}.") and key.endswith(".mean"))


def _lost(point: SweepPoint) -> float:
    return sum(figure(point.summary, key) or 0.0 for key in LOST)


def say_longer(request: RunOptions, policy: str | None, summary: Summary) -> None:
    """Say below the figures of a run what waiting longer would have bought, or how to ask.

    Args:
        request: What was simulated.
        policy: The SPEC in place of the queues' own.
        summary: What came of it.
    """
    assert request.scenario is not None
    target = target_in(load_scenario(request.scenario), policy)
    if target is None or not summary["tickets"]:
        return
    _say_if_missed(load_scenario(request.scenario), policy, summary)
    if request.runs is not None or summary["tickets"] > SMALL:
        print(
            f"\nWhat would longer waits buy? --sweep {TARGET} plays half the target, the "
            f"target and twice the target ({target:g} s)."
        )
        return
    others = ParameterSweep(
        TARGET, tuple(factor for factor in FACTORS if factor != 1.0), is_relative=True
    )
    plain = RunOptions(
        request.scenario,
        request.arrivals,
        request.seed,
        columns=request.columns,
        skip_bad=request.skip_bad,
    )
    found = [msgspec.structs.replace(each, policy="") for each in swept(plain, others, [policy])]
    points = sorted([*found, SweepPoint("", target, summary)], key=lambda point: point.value)
    print()
    print_sweep(LONGER, points)


def say_longer_of(scenario: Scenario, tickets: int) -> None:
    """Say what waiting longer would buy in a checked file, by its first arrivals.

    Args:
        scenario: With queues that keep a mean wait; others say nothing.
        tickets: How many arrivals are played at least.
    """
    target = target_in(scenario)
    if target is None:
        return
    if scenario.arrivals is None:
        print(
            "\nTo see what waiting longer would buy, add [arrivals] to the file, or play a record: "
            f"evenmatch simulate FILE --arrivals RECORD.csv --sweep {TARGET}"
        )
        return
    seconds = TARGETS_PLAYED * target
    tasks = [FirstArrivals(at_factor(scenario, factor), tickets, seconds) for factor in FACTORS]
    with progress("playing at half, one and two times the target", 3) as on_done:
        summaries = map_all(play_short, tasks, on_done)
    if not summaries[0]["tickets"]:
        print(
            f"\nThe first {TICKETS_MAX:,} arrivals all come within warmup = {scenario.warmup:g} s; "
            f"to see what waiting longer would buy: evenmatch simulate FILE --sweep {TARGET}"
        )
        return
    points = [SweepPoint("", f * target, each) for f, each in zip(FACTORS, summaries, strict=True)]
    print()
    warm = f" after {scenario.warmup:g} s of warm-up" if scenario.warmup else ""
    print_sweep(f"{LONGER}, by the first {summaries[0]['tickets']:,} arrivals{warm}", points)
    _say_if_missed(scenario, None, summaries[FACTORS.index(1.0)])


def _say_if_missed(scenario: Scenario, policy: str | None, summary: Summary) -> None:
    """Say that a target is out of reach, where the players of a run wait longer or find nobody.

    The mean wait is that of all queues, so it is held against the longest of their targets.
    """
    queues, resolve = with_policy(scenario.queues, policy)
    targets = [target_of(queue, resolve(queue)) for queue in queues]
    known = [target for target in targets if target is not None]
    if len(known) < len(targets):
        return
    mean = figure(summary, "wait.mean")
    if mean is None:
        found = "nobody is matched"
    elif mean > NOT_KEPT * max(known):
        found = f"these players wait {mean:.1f} s"
    else:
        return
    if lost := figure(summary, "expired"):
        found += f", and {lost:,.0f} of {figure(summary, 'tickets'):,.0f} tickets expire"
    print(
        f"\nwarning: a mean wait of {max(known):g} s is out of reach with these arrivals: {found}; "
        "more players, wider rules or a longer target would help"
    )
