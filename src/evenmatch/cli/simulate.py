"""`evenmatch simulate`: play a scenario in virtual time and print the results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from evenmatch.cli.options import WholeOrNone
from evenmatch.cli.output import console, print_groups, print_json
from evenmatch.cli.runs import RunOptions, mean_summary, save, scenario_asked, work
from evenmatch.cli.sweep import say_longer, show_sweep
from evenmatch.errors import NotSupported
from evenmatch.lab.report.figures import figures_of, group_tables, with_width
from evenmatch.simulation.metrics import Summary


def simulate(
    scenario: Path | None = None,
    /,
    *,
    arrivals: Path | None = None,
    policy: str | None = None,
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
    rules: Path | None = None,
) -> None:
    """Simulate a scenario in virtual time and print the results.

    For example:

        evenmatch simulate scenarios/duel.toml --policy periodic:rounds_of=2 --report duel.html

    Args:
        scenario: A TOML file.
        arrivals: A CSV or Parquet file of recorded arrivals, used instead of the scenario's own.
        policy: The SPEC of a policy for every queue: name or name:key=value,key=value.
        seed: Seed of all random draws; the same seed gives the same output, byte for byte.
        runs: Simulate N times with different seeds; print means and the half-widths of their 95 %
            intervals (ci95).
        by: Split waits and quality by an attribute, by size, queue (where matched) or queues (where
            waiting), or by NAME_decile; may be repeated.
        json: Print one JSON object and nothing else.
        matches: Write the matches to this file, one JSON object per line.
        tickets: Write the tickets to this file, one JSON object per line.
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
        rules: A FlexMatch rule set or a PlayFab queue, in JSON, whose rules the scenario's queue
            then follows. Without a scenario, one player arrives per second, with random values for
            the attributes that the rules compare.
    """
    if rules is not None and sweep is not None:
        raise NotSupported("--sweep does not go with --rules; name the rule set by rules_file")
    at = (scenario, arrivals, seed, runs, by, optimum, matches, tickets, report)
    request = RunOptions(*at, columns, skip_bad, rules)
    if sweep is not None:
        show_sweep(request, sweep, [policy], json=json)
        return
    results = work(request, [policy])
    save(request, results)
    (group,) = results
    summary = mean_summary(request, group)
    if json:
        print_json(summary)
    else:
        _print_table(summary, request)
        if rules is None:
            say_longer(request, policy, summary)


def _print_table(summary: Summary, request: RunOptions) -> None:
    from rich.table import Table

    out = console()
    out.print(_title(request), soft_wrap=True)
    for note in scenario_asked(request, request.scenario)[1]:
        out.print(f"  {note}", soft_wrap=True, highlight=False, markup=False)
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="dim", overflow="fold")
    table.add_column(justify="right", overflow="fold")
    for key, words, unit, _ in figures_of([summary]):
        table.add_row(words, with_width(summary, key, unit))
    out.print(table)
    print_groups(out, group_tables([""], [summary]))


def _title(request: RunOptions) -> str:
    """Return the scenario's name, and how many runs were made of it."""
    runs = request.runs
    return request.title + ("" if runs is None else f", {runs} run{'s'[: runs != 1]}")
