"""What `simulate` and `compare` share: from options to runs, and from runs to files.

Even a single run is a task of `lab.study.study`, which calls `lab.simulate`. Matches and tickets
are written to files only; the terminal shows the figures of the run.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from evenmatch.cli.output import check_distinct_paths, check_writable, write_lines, write_text
from evenmatch.cli.progress import progress
from evenmatch.cli.recording_warnings import drawn_instead, is_drawn, uncounted
from evenmatch.cli.warnings import never_even
from evenmatch.config.files import load_scenario, naming
from evenmatch.errors import ConfigError, NotSupported
from evenmatch.lab.report.figures import figure
from evenmatch.lab.simulate import Run, bad_rows, with_policy
from evenmatch.lab.study.study import (
    SHARES,
    RepeatedRuns,
    RunTask,
    TaskResult,
    averages,
    execute_all,
)
from evenmatch.model.scenario import Arrivals, Scenario
from evenmatch.simulation.history import History
from evenmatch.simulation.metrics import Summary
from evenmatch.simulation.simulator import Simulator
from evenmatch.solvers.kernel import uncompiled

RUNS_MAX = 100_000
PAGES = (".html", ".htm")
"""How the names of reports end."""
OF_RATINGS = {"mean": "rating", "deviation": "rating_deviation"}
"""Columns that `--columns` takes by the names that a rating's fields have over HTTP."""


class RunOptions(msgspec.Struct, frozen=True):
    """The options that both commands take; see the help of `simulate`."""

    scenario: Path | None
    arrivals: Path | None = None
    seed: int | None = None
    runs: int | None = None
    by: tuple[str, ...] = ()
    optimum: bool = False
    matches: Path | None = None
    tickets: Path | None = None
    report: Path | None = None
    columns: str | None = None
    skip_bad: bool = False
    rules: Path | None = None
    command: str = "simulate"

    @property
    def title(self) -> str:
        """What is simulated."""
        return " by ".join([str(each) for each in (self.scenario, self.rules) if each is not None])


def scenario_asked(request: RunOptions, path: Path | None) -> tuple[Scenario, tuple[str, ...]]:
    """Return what is to be simulated, and sentences about what was chosen for a rule set."""
    base = None if path is None else load_scenario(path)
    if request.rules is None:
        assert base is not None
        return base, ()
    # Loaded here, since most runs take no rules of another matchmaker.
    from evenmatch.lab.rule_set_scenario import scenario_of_rules

    return scenario_of_rules(request.rules, base)


def work(request: RunOptions, policies: Sequence[str | None]) -> list[list[TaskResult]]:
    """Make all runs of a request, several at a time.

    Args:
        request: What to simulate, and how often.
        policies: A SPEC each, or None for the scenario's own.

    Returns:
        The runs of each policy.

    Raises:
        MatchmakingError: The request cannot be met.
    """
    path = check_request(request)
    scenario = with_recording(request, scenario_asked(request, path)[0])
    check_files(request, scenario)
    for policy in policies:
        check_policy_of(Path(request.title), scenario, policy)
    say_skipped(request, scenario, policies)
    say_drawn(request, scenario)
    tasks = tasks_of(request, scenario, policies)
    with progress("simulating", len(tasks)) as on_done:
        results = execute_all(tasks, on_done)
    say_uncounted(results)
    if request.arrivals is None:
        _warn(scenario, policies)
    count = len(results) // len(policies)
    groups = [results[start : start + count] for start in range(0, len(results), count)]
    say_alike(groups)
    return groups


def check_request(request: RunOptions) -> Path | None:
    """Refuse options that cannot be met, and return the scenario's file, if there is one.

    Raises:
        MatchmakingError: The request cannot be met.
    """
    if request.optimum and find_spec("numba") is None:
        raise NotSupported("--optimum needs more packages: pip install 'evenmatch[solve]'")
    if request.scenario is None and request.rules is None:
        raise ConfigError(
            f"name a scenario: evenmatch {request.command} SCENARIO.toml (see --help)"
        )
    if request.runs is not None and not 1 <= request.runs <= RUNS_MAX:
        raise ConfigError(f"--runs must be from 1 to {RUNS_MAX:,}, got {request.runs}")
    check_writable(_outputs(request))
    if request.report is not None:
        _check_page(request.report)
        from evenmatch.lab.report.report import check_installed

        check_installed()
    return request.scenario


def _check_page(path: Path) -> None:
    """Refuse a report that would overwrite a file of another kind; a device or pipe takes any."""
    is_device = path.exists() and not path.is_file()
    if path.suffix.lower() not in PAGES and not is_device:
        raise ConfigError(f"--report: {path} must end in .html or .htm, since a report is a page")


def with_recording(request: RunOptions, scenario: Scenario) -> Scenario:
    """Return the scenario with what the options say of its recording.

    Raises:
        ConfigError: There is no recording, or `--columns` cannot be read.
    """
    arrivals = scenario.arrivals or Arrivals(process="file")
    if request.arrivals is None and (arrivals.process != "file" or arrivals.file is None):
        for name, given in (("--columns", request.columns), ("--skip-bad", request.skip_bad)):
            if given:
                raise ConfigError(f"{name} goes only with a recording: give --arrivals FILE too")
        return scenario
    if request.columns is None and not request.skip_bad:
        return scenario
    columns = {**arrivals.columns, **_columns(request.columns)}
    skips = arrivals.skip_bad or request.skip_bad
    arrivals = msgspec.structs.replace(arrivals, columns=columns, skip_bad=skips)
    return msgspec.structs.replace(scenario, arrivals=arrivals)


def _columns(text: str | None) -> dict[str, str]:
    """Return our names to theirs, from `at=joined,rating=mmr`."""
    columns: dict[str, str] = {}
    for part in (text or "").split(",") if text else ():
        ours, equals, theirs = (each.strip() for each in part.partition("="))
        if not (ours and equals and theirs):
            raise ConfigError(
                f"--columns must be ours=theirs,ours=theirs such as at=joined,rating=mmr, "
                f'got "{part}"'
            )
        name = OF_RATINGS.get(ours, ours)
        if name in columns:
            raise ConfigError(f"--columns names {ours} twice: {columns[name]} and {theirs}")
        columns[name] = theirs
    return columns


def say_skipped(request: RunOptions, scenario: Scenario, policies: Sequence[str | None]) -> None:
    """Name on standard error the rows of a recording that are left out.

    Raises:
        ArrivalsError: The file cannot be read, or no row of it is good.
    """
    if scenario.arrivals is None or not scenario.arrivals.skip_bad:
        return
    warnings = [bad_rows(scenario, request.arrivals, policy) for policy in policies]
    for bad in dict.fromkeys(warnings):
        if bad is not None:
            print(f"warning: {bad.warning()}", file=sys.stderr)


def check_files(request: RunOptions, scenario: Scenario) -> None:
    """Refuse to write over what is read.

    Raises:
        ConfigError: Two names mean one file.
    """
    check_distinct_paths(_outputs(request), _inputs(request, scenario))


def check_policy_of(path: Path, scenario: Scenario, policy: str | None) -> None:
    """Refuse a policy that cannot work on a scenario's queues, before the long work.

    Raises:
        ConfigError: The sentence names the scenario's file.
    """
    queues, resolve = with_policy(scenario.queues, policy)
    with naming(path), uncompiled():
        Simulator(queues, resolve, History(queues[0].name), until=scenario.until)


def _outputs(request: RunOptions) -> dict[str, Path | None]:
    return {
        "--matches": request.matches,
        "--tickets": request.tickets,
        "--report": request.report,
    }


def _warn(scenario: Scenario, policies: Sequence[str | None]) -> None:
    """Say on standard error where a policy can start no match, whatever comes."""
    warnings: list[str] = []
    for policy in policies:
        queues, resolve = with_policy(scenario.queues, policy)
        warnings += never_even(scenario, [(queue, resolve(queue)) for queue in queues])
    for warning in dict.fromkeys(warnings):
        print(f"warning: {warning}", file=sys.stderr)


def say_drawn(request: RunOptions, scenario: Scenario) -> None:
    """Say on standard error which attributes are drawn though a recording may hold them.

    Raises:
        ArrivalsError: The file cannot be read.
    """
    for warning in drawn_instead(scenario, request.arrivals, request.by):
        print(f"warning: {warning}", file=sys.stderr)


def say_uncounted(results: Sequence[TaskResult]) -> None:
    """Say on standard error that runs counted nobody because they ended within the warm-up."""
    ended = [each for each in results if each.task.scenario.warmup and not each.summary["tickets"]]
    if ended:
        print(f"warning: {uncounted(ended[0].task.scenario)}", file=sys.stderr)


def say_alike(groups: Sequence[Sequence[TaskResult]]) -> None:
    """Say on standard error where several runs had the same players, so that ± tells less."""
    count, task = len(groups[0]), groups[0][0].task
    if count == 1:
        return
    if runs_that_differ(groups) == 1:
        words = "nothing that is drawn changes them, so they say no more than one run"
        print(f"warning: all {count} runs are the same: {words}", file=sys.stderr)
    elif not is_drawn(task.scenario, task.arrivals):
        words = "± covers only what else is drawn, such as by a policy"
        print(f"warning: all {count} runs have the same arrivals: {words}", file=sys.stderr)


def runs_that_differ(groups: Sequence[Sequence[TaskResult]]) -> int:
    """Return how many runs of each policy say something of their own: 1 if all are the same."""
    are_same = all(each.summary == group[0].summary for group in groups for each in group)
    return 1 if are_same else len(groups[0])


def samples_of(groups: Sequence[Sequence[TaskResult]], key: str) -> list[list[float | None]]:
    """Return a figure of each policy as often as it was taken: of each run, or of shares of one."""
    found = []
    differ = runs_that_differ(groups) > 1
    for group in groups:
        several = [result.summary for result in group] if differ else group[0].shares
        found.append([figure(summary, key) for summary in several])
    return found


def mean_summary(request: RunOptions, results: Sequence[TaskResult]) -> Summary:
    """Return a policy's figures: those of its run, or means with `ci95` over `--runs`."""
    if request.runs is None:
        return results[0].summary
    return averages([result.summary for result in results])


def save(request: RunOptions, groups: Sequence[Sequence[TaskResult]]) -> None:
    """Write the files that a request asks for.

    With several policies a line also has `policy`, with several runs `run`, counted from 0.

    Raises:
        ConfigError: A file cannot be written.
        NotSupported: The report needs packages that are not installed.
    """
    if request.matches is not None:
        write_lines(request.matches, _lines(groups, "matches"))
    if request.tickets is not None:
        write_lines(request.tickets, _lines(groups, "tickets"))
    if request.report is not None:
        from evenmatch.lab.report.report import render

        pairs = [(mean_summary(request, group), _run_of(group[0])) for group in groups]
        names = [group[0].task.policy or "" for group in groups]
        repeated = RepeatedRuns(partial(samples_of, groups), runs_that_differ(groups))
        write_text(request.report, render(request.title, names, pairs, repeated))


def _inputs(request: RunOptions, scenario: Scenario) -> Iterator[tuple[str, Path]]:
    """Yield what the run reads: what it is called, and where it is."""
    if request.scenario is not None:
        yield "the scenario", request.scenario
    if request.rules is not None:
        yield "--rules", request.rules
    if request.arrivals is not None:
        yield "--arrivals", request.arrivals
    for name in _files(msgspec.to_builtins(scenario)):
        yield "a file of the scenario", Path(name)


def _files(node: object) -> Iterator[str]:
    """Yield every `file` inside a scenario."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "file" and isinstance(value, str):
                yield value
            else:
                yield from _files(value)
    elif isinstance(node, list | tuple):
        for value in node:
            yield from _files(value)


def tasks_of(
    request: RunOptions, scenario: Scenario, policies: Sequence[str | None]
) -> list[RunTask]:
    """Return the runs of a scenario under policies, all runs of one after the other."""
    children: Sequence[int | None] = [None] if request.runs is None else range(request.runs)
    wants_lines = request.matches is not None or request.tickets is not None
    return [
        RunTask(
            scenario=scenario,
            seed=request.seed,
            child=child,
            arrivals=None if request.arrivals is None else str(request.arrivals),
            policy=policy,
            by=request.by,
            optimum=request.optimum,
            keeps_run=wants_lines or (request.report is not None and not child),
            # Several runs say by themselves how much chance does, unless they are all the same.
            shares=SHARES if len(policies) > 1 and not child else 0,
        )
        for policy in policies
        for child in children
    ]


def _lines(groups: Sequence[Sequence[TaskResult]], name: str) -> Iterator[dict[str, Any]]:
    for group in groups:
        for result in group:
            extra: dict[str, Any] = {}
            if len(groups) > 1:
                extra["policy"] = result.task.policy
            if result.task.child is not None:
                extra["run"] = result.task.child
            history = _run_of(result).history
            rows = history.match_rows() if name == "matches" else history.ticket_rows()
            for row in rows:
                yield {**row, **extra}


def _run_of(result: TaskResult) -> Run:
    assert result.run is not None, "a task with files to write keeps its run"
    return result.run
