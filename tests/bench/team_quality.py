"""How good the matches of policies for teams are at equal mean waits, and whether waits are kept.

    python -m tests.bench team_quality --what rounds,greedy --rates 5,20,200 --jobs 2
    python -m tests.bench team_quality --what target,day,recovery --scenes hero_5v5
    python -m tests.bench team_quality --what hindsight --rates 200 --quick

- `rounds`, `greedy`, `threshold`: `rolling` (`--policy`) against it on the same streams. One of
  the two has a knob and is turned to the mean wait of the other: `rounds` by its period, and
  `rolling` by `target_wait` where the other has none (`equal_wait`). The table says means of the
  differences of each stream and halves of their 95 % intervals by Student's t.
- `target`: the mean wait that comes of `target_wait` 15, 30 and 60 s while as many come all the
  time, as a multiple of it. A target below what assembling a match takes can't be kept: nobody
  starts before the last of k players has come, so the mean wait is at least (k - 1) / 2 arrivals.
- `day`: the same over a day whose rate swings tenfold, shortened to `--day-hours`.
- `recovery`: after a lull, a rise to ten times as many (the players of the burst), the end of that
  burst, and a change of who comes, the time until those who come wait within 30 % of the target
  again; means over all streams, in bins of half a target.
- `hindsight`, `hindsight-greedy`: what a planner reaches that sees the next `--foresight` seconds,
  at the mean wait of `rolling` and of `greedy` (module `hindsight`).

Streams are 900 to 3,000 players long with `--quick` a third of that, and three instead of ten. Each
is a process of its own, `--jobs` at a time, ended after `--limit` seconds. `--source` takes the
sources of another checkout.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from papers.studies.streams import interval
from tests.bench.processes import ROOT
from tests.bench.team_streams import RATES, SCENES, WAITS

WHATS = ("rounds", "greedy", "threshold", "target", "day", "recovery", "hindsight",
         "hindsight-greedy")  # fmt: skip
AGAINST = ("rounds", "greedy", "threshold")
TARGETS = (15.0, 30.0, 60.0)
SEEDS, QUICK_SEEDS = 10, 3
FIRST_SEED = 301


class Task(msgspec.Struct, frozen=True):
    """One stream of one measurement; `task_of` does it."""

    what: str
    scene: str
    rate: float
    seed: int
    policy: str = "rolling"
    target: float = 0.0
    share: float = 1.0
    day_hours: float = 4.0
    foresight: float = 600.0


class Done(msgspec.Struct):
    """What came of a task: figures, or why there are none."""

    task: Task
    figures: dict[str, Any] = {}
    reason: str = ""
    seconds: float = 0.0


def tasks_of(options: argparse.Namespace) -> Iterator[Task]:
    """Yield all streams that are asked for."""
    count = options.streams or (QUICK_SEEDS if options.quick else SEEDS)
    seeds = range(FIRST_SEED, FIRST_SEED + count)
    usual = {
        "policy": options.policy,
        "share": 0.3 if options.quick else 1.0,
        "day_hours": options.day_hours,
        "foresight": options.foresight,
    }
    for what in options.what:
        for scene in options.scenes:
            rates = (options.peak,) if what == "day" else options.rates
            targets: Sequence[float] = (0.0,)
            if what in {"target", "day"}:
                targets = options.targets
            elif what == "recovery":
                targets = options.targets[1:2] or options.targets
            for rate in rates:
                for target in targets:
                    for seed in seeds:
                        yield Task(what, scene, rate, seed, target=target, **usual)


def run_all(
    tasks: Sequence[Task], options: argparse.Namespace, bar: Progress | None = None
) -> Iterator[Done]:
    """Do tasks in processes of their own, some at a time, and yield them as they end."""
    job = None if bar is None else bar.add_task("streams", total=len(tasks))
    waiting, under_way = list(reversed(tasks)), []
    environment = {**os.environ, "PYTHONPATH": str(options.source.resolve())}
    try:
        while waiting or under_way:
            while waiting and len(under_way) < options.jobs:
                under_way.append(_Process(waiting.pop(), environment))
            for each in list(under_way):
                done = each.poll(options.limit)
                if done is not None:
                    under_way.remove(each)
                    if bar is not None and job is not None:
                        bar.advance(job)
                    yield done
            time.sleep(0.05)
    finally:
        for each in under_way:
            each.end()


class _Process:
    """One task under way."""

    def __init__(self, task: Task, environment: dict[str, str]) -> None:
        self._task, self._began = task, time.monotonic()
        command = [sys.executable, "-m", "tests.bench.team_task"]
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(task))
        self._process.stdin.close()

    def poll(self, limit: float) -> Done | None:
        """Return what came of the task once it has ended, or has taken too long."""
        took = time.monotonic() - self._began
        if self._process.poll() is None:
            if took < limit:
                return None
            self.end()
            return Done(self._task, reason=f"did not end in {limit:g} s", seconds=took)
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        out, errors = self._process.stdout.read(), self._process.stderr.read()
        if self._process.returncode:
            lines = errors.decode(errors="replace").strip().splitlines()
            return Done(self._task, reason=lines[-1] if lines else "failed", seconds=took)
        return Done(self._task, msgspec.json.decode(out), seconds=took)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


# What is shown


def tables(done: Sequence[Done]) -> Iterator[Table]:
    """Yield a table for each kind of measurement."""
    whats = [what for what in WHATS if any(each.task.what == what for each in done)]
    for what in whats:
        mine = [each for each in done if each.task.what == what]
        if what in AGAINST:
            yield _against(what, mine)
        elif what == "recovery":
            yield _recovery(mine)
        else:
            yield _columns(what, mine)


def groups(done: Sequence[Done]) -> Iterator[tuple[tuple[str, float, float], list[Done]]]:
    """Yield what belongs to one scene, rate and target, in order."""
    keys = dict.fromkeys((each.task.scene, each.task.rate, each.task.target) for each in done)
    for key in sorted(keys, key=lambda key: (SCENES.index(key[0]), *key[1:])):
        yield (
            key,
            [e for e in done if (e.task.scene, e.task.rate, e.task.target) == key],
        )


def pm(values: Sequence[float], digits: int = 2) -> str:
    """Return a mean with half of its 95 % interval.

    >>> pm([1.0, 3.0])
    '2.00 ± 12.71'
    """
    mean, half = interval(values)
    return f"{mean:.{digits}f} ± {half:.{digits}f}"


def _against(what: str, done: Sequence[Done]) -> Table:
    table = Table(title=f"{done[0].task.policy} against {what}, at equal mean waits")
    names = ("scene", "players/min", "streams", "wait, s", "mean, points", "worst tenth, points",
             "p95 of waits, x", "unmatched, points", "beyond", "remarks")  # fmt: skip
    for name in names:
        table.add_column(name, justify="left" if name in {"scene", "remarks"} else "right")
    for (scene, rate, _), mine in groups(done):
        good = [each.figures for each in mine if not each.reason]
        cells = ["-"] * 6
        if good:
            cells = [
                pm([each["wait"] for each in good], 1),
                *(pm([each[name] for each in good]) for name in ("mean", "p10", "p95")),
                pm([100.0 * each["unmatched"] for each in good]),
                f"{max(each['beyond'] for each in good):.0%}",
            ]
        table.add_row(scene, f"{rate:g}", str(len(good)), *cells, remarks(mine))
    table.caption = (
        "aims: mean >= 0, worst tenth >= +2, p95 <= 1.2 x; beyond: wait outside all runs"
    )
    return table


def _columns(what: str, done: Sequence[Done]) -> Table:
    """Return a table with a column for each figure."""
    aims = {"target": "aim: within 15 %", "day": "aim: within 30 %"}
    table = Table(title=f"{done[0].task.policy}: {what}", caption=aims.get(what))
    names = list(dict.fromkeys(name for each in done for name in each.figures))
    for name in ("scene", "players/min", "target, s", "streams", *names, "remarks"):
        table.add_column(name, justify="left" if name in {"scene", "remarks"} else "right")
    for (scene, rate, target), mine in groups(done):
        good = [each.figures for each in mine if not each.reason]
        cells = [pm([each[name] for each in good]) if good else "-" for name in names]
        table.add_row(
            scene, f"{rate:g}", f"{target:g}" if target else "", str(len(good)), *cells,
            remarks(mine),
        )  # fmt: skip
    return table


def _recovery(done: Sequence[Done]) -> Table:
    from tests.bench.team_task import DISTURBANCES, back_within

    table = Table(
        title=f"{done[0].task.policy}: until waits are within 30 % of the target again",
        caption="aim: one target; waits are those of who comes in a bin of half a target",
    )
    for name in ("scene", "players/min", "target, s", "streams", *DISTURBANCES, "remarks"):
        table.add_column(name, justify="left" if name in {"scene", "remarks"} else "right")
    for (scene, rate, target), mine in groups(done):
        good = [each.figures for each in mine if not each.reason]
        cells = []
        for name in DISTURBANCES:
            bins = [each[name] for each in good if name in each]
            if not bins:
                cells.append("-")
                continue
            means = [_mean_of(values) for values in zip(*bins, strict=False)]
            after = back_within(means, target, target / 2.0)
            worst = max((each for each in means if each is not None), default=0.0)
            words = "not in the time watched" if after is None else f"{after:.0f} s"
            cells.append(f"{words}, worst {worst:.0f} s")
        table.add_row(
            scene, f"{rate:g}", f"{target:g}", str(len(good)), *cells, remarks(mine)
        )  # fmt: skip
    return table


def _mean_of(values: Sequence[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return statistics.fmean(known) if known else None


def remarks(done: Sequence[Done]) -> str:
    """Return why streams have no figures, each reason once."""
    reasons = dict.fromkeys(each.reason for each in done if each.reason)
    return "; ".join(reasons)


def main(argv: Sequence[str]) -> int:
    """Measure what is asked for; 1 if a stream has no figures."""
    options = _options(argv)
    tasks = list(tasks_of(options))
    errors = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        console=errors,
    )  # fmt: skip
    done: list[Done] = []
    with bar:
        for each in run_all(tasks, options, bar):
            done.append(each)
            if options.json is not None:
                options.json.write_bytes(msgspec.json.encode(done))
    console = Console() if sys.stdout.isatty() else Console(width=170)
    for table in tables(done):
        console.print(table)
    return int(any(each.reason for each in done))


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench team_quality",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--what", type=_names(WHATS), default=list(AGAINST[:2]), help=f"of {', '.join(WHATS)}")
    add("--scenes", type=_names(SCENES), default=list(SCENES), help=f"of {', '.join(SCENES)}")
    add("--rates", type=_numbers, default=list(RATES), help="players a minute")
    add("--targets", type=_numbers, default=list(TARGETS), help="seconds")
    add("--policy", default="rolling", help="a SPEC with a knob")
    add("--streams", type=int, default=0, help=f"of each; {SEEDS}, or {QUICK_SEEDS} if --quick")
    add("--jobs", type=int, default=2, help="processes at a time")
    add("--limit", type=float, default=1_800.0, help="seconds of one stream")
    add("--peak", type=float, default=300.0, help="players a minute at the best of a day")
    add("--day-hours", type=float, default=4.0, help="how long such a day lasts")
    add("--foresight", type=float, default=600.0, help="seconds that a planner sees")
    add("--source", type=Path, default=ROOT / "src", help="the sources of another checkout")
    add("--quick", action="store_true", help="few and short streams")
    add("--json", type=Path, metavar="OUT", help="write all figures into a file")
    return parser.parse_args(argv)


def _names(allowed: Sequence[str]) -> Any:
    def names(text: str) -> list[str]:
        found = text.split(",")
        for each in found:
            if each not in allowed:
                raise argparse.ArgumentTypeError(f"{each!r} is none of {', '.join(allowed)}")
        return found

    return names


def _numbers(text: str) -> list[float]:
    return [float(each) for each in text.split(",")]


def wait_of(rate: float) -> float:
    """Return the mean wait at which rolling meets policies with a knob, s."""
    return WAITS[min(WAITS, key=lambda each: abs(each - rate))]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
