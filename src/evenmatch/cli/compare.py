"""`evenmatch compare`: several policies on the same arrivals, beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from evenmatch.cli.options import WholeOrNone
from evenmatch.cli.output import console, print_groups, print_json
from evenmatch.cli.progress import progress
from evenmatch.cli.runs import (
    RunOptions,
    mean_summary,
    runs_that_differ,
    samples_of,
    save,
    work,
)
from evenmatch.cli.sweep import show_sweep
from evenmatch.errors import ConfigError, NotSupported
from evenmatch.lab.optimum.floor import floor_of
from evenmatch.lab.report.figures import figure, figures_of, group_tables, with_width
from evenmatch.lab.study.study import TaskResult, best_of, footnote
from evenmatch.simulation.metrics import Summary


def compare(
    scenario: Path | None = None,
    /,
    *,
    policy: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),
    arrivals: Path | None = None,
    seed: WholeOrNone = None,
    runs: WholeOrNone = None,
    by: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    matches: Path | None = None,
    tickets: Path | None = None,
    report: Path | None = None,
    optimum: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    sweep: str | None = None,
    columns: str | None = None,
    skip_bad: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    rules: Annotated[Path | None, Parameter(show=False)] = None,
) -> None:
    """Simulate a scenario under several policies, all on the same arrivals.

    For one queue of duels with one uniform criterion and a constant rate, the output also shows the
    floor: a proved lower bound on the cost of any policy that does not know the future.

    For example:

        evenmatch compare scenarios/duel.toml --policy greedy --policy window --report duel.html

    Args:
        scenario: A TOML file.
        rules: Reserved for a later version; it is not in the help.
        policy: The SPEC of a policy; repeat --policy for each one, at least once.
        arrivals: A CSV or Parquet file of recorded arrivals, used instead of the scenario's own.
        seed: Seed of all random draws; the same seed gives the same output, byte for byte.
        runs: Simulate each policy N times with different seeds, and print means and ci95.
        by: Split waits and quality by an attribute, by size, queue (where matched) or queues (where
            waiting), or by NAME_decile; may be repeated.
        json: Print one JSON object and nothing else.
        matches: Write the matches to this file, one JSON object per line, each with its policy.
        tickets: Write the tickets to this file, one JSON object per line, each with its policy.
        report: Write a report with figures and plots to this .html file, one page that needs no
            network.
        optimum: Also show the best result possible in hindsight, or a bound on it.
        sweep: Simulate with several values of a queue's key or a policy's parameter, KEY=A..B:N,
            such as wait_price=0.0001..0.01:6 or policy:theta=0.1..1, and show what longer waits
            buy. target_wait alone tries half, one and two times the target.
        columns: What the recording's columns are called, as OURS=THEIRS,OURS=THEIRS, such as
            at=joined,player=account,rating=mmr; mean and deviation are those of the rating.
        skip_bad: Skip and list the rows of the recording that cannot be read, instead of refusing
            the whole file.
    """
    if rules is not None:
        raise NotSupported("--rules comes with a later version; write a scenario in TOML instead")
    if not policy:
        raise ConfigError("name the policies: --policy greedy --policy window (see --help)")
    if len(set(policy)) < len(policy):
        twice = next(spec for at, spec in enumerate(policy) if spec in policy[:at])
        raise ConfigError(
            f"--policy {twice} is given twice, and both would give the same figures; name each "
            "policy once, or give them different parameters"
        )
    at = (scenario, arrivals, seed, runs, by, optimum, matches, tickets, report)
    request = RunOptions(*at, columns, skip_bad, command="compare")
    if sweep is not None:
        show_sweep(request, sweep, list(policy), json=json)
    else:
        _compare(request, policy, json=json)


def _compare(request: RunOptions, policy: tuple[str, ...], *, json: bool) -> None:
    """Make the runs, and show and save what came of them."""
    results = work(request, list(policy))
    save(request, results)
    summaries = [mean_summary(request, group) for group in results]
    with progress("computing the floor", 1):
        floor = None if request.arrivals is not None else floor_of(results[0][0].task.scenario)
    if json:
        runs_by_policy = zip(policy, summaries, strict=True)
        lines = [{"policy": spec, **summary} for spec, summary in runs_by_policy]
        print_json({"runs": lines, "floor": floor})
    else:
        _print_table(policy, summaries, results, request)
        if floor is not None:
            console().print(
                f"\nno policy without foreknowledge costs less than "
                f"{floor['cost_per_match']:.4g} per match in the long run",
                soft_wrap=True,
            )


def _print_table(
    policies: Sequence[str],
    summaries: Sequence[Summary],
    results: Sequence[Sequence[TaskResult]],
    request: RunOptions,
) -> None:
    from rich.table import Table
    from rich.text import Text

    out = console()
    out.print(str(request.scenario), soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    table.add_column("", overflow="fold")
    for spec in policies:
        table.add_column(spec, justify="right", overflow="fold")
    for key, words, unit, direction in figures_of(summaries):
        texts = [with_width(summary, key, unit) for summary in summaries]
        values = [figure(summary, key) for summary in summaries]
        best = best_of(values, samples_of(results, key), direction)
        cells = [
            Text(f"{text} *", "bold green") if at in best else Text(f"{text}  ")
            for at, text in enumerate(texts)
        ]
        table.add_row(Text(words, "dim"), *cells)
    out.print(table)
    if len(policies) > 1:
        out.print(Text(footnote(runs_that_differ(results)), "dim"), soft_wrap=True)
    print_groups(out, group_tables(policies, summaries))
