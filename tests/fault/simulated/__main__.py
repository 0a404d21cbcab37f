"""Run the server in virtual time, a seed after the other: python -m tests.fault.simulated."""

import argparse
import gc
import multiprocessing
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from tests.fault.simulated.planted import CONTROLS
from tests.fault.simulated.run import Outcome, Setting, run
from tests.fault.simulated.shrink import shrunk
from tests.fault.simulated.worlds import KINDS

KEPT = Path(__file__).resolve().parents[1] / "seeds.txt"
TOLD_MOST = 5
"""Violations of one seed that are written out."""
ENOUGH = 5
"""Failing seeds after which a search ends."""
INTERRUPTED = 130
SEEDS_OF_A_PROCESS = 50
"""Seeds after which a process makes way for a new one. What they leave, about 10 MB each, goes with
it, and nobody has to collect it, which took a sixth of the time."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the seeds; return 1 if an invariant is broken, 130 if Ctrl-C ends it, else 0."""
    asked = parser().parse_args(arguments)
    console = Console(stderr=True)
    setting = without(asked.without)
    setting = msgspec.structs.replace(setting, world=asked.world)
    seeds = chosen(asked.seed, asked.first, asked.seeds, asked.kept)
    began, spent = perf_counter(), sum(os.times()[:4])
    outcomes = all_of(seeds, setting, console, asked.processes)
    if not outcomes:
        return INTERRUPTED
    found = figures(outcomes, perf_counter() - began, sum(os.times()[:4]) - spent)
    Console().print(table(found))
    if asked.json is not None:
        asked.json.write_bytes(msgspec.json.encode({"first seed": asked.first, **found}))
    failed = [each for each in outcomes if each.violations]
    for each in failed:
        tell(each, asked, console)
    if failed and not asked.without and not asked.world and asked.seed is None:
        keep(failed, asked.kept)
    if asked.shrink and failed:
        shrink(failed[0].seed, setting, console)
    is_whole = len(outcomes) == len(seeds)
    return 1 if failed else 0 if is_whole else INTERRUPTED


def without(name: str | None) -> Setting:
    """Return a setting without a protection."""
    if not name:
        return Setting()
    return Setting(weakness=CONTROLS[name].weakness, mutant=CONTROLS[name].mutant)


def parser() -> argparse.ArgumentParser:
    """Return what reads the command line."""
    found = argparse.ArgumentParser(prog="python -m tests.fault.simulated", description=__doc__)
    found.add_argument("--seeds", type=int, default=200, help="how many seeds to run (200)")
    found.add_argument("--first", type=int, default=0, help="the first of them (0)")
    found.add_argument("--seed", type=int, help="run this seed alone")
    found.add_argument(
        "--processes", type=int, default=0, help="how many share the seeds; 0: this one alone (0)"
    )
    found.add_argument("--without", choices=sorted(CONTROLS), help="take this protection away")
    found.add_argument(
        "--world", choices=("clusters", *KINDS), default="", help="what each seed is set in"
    )
    found.add_argument("--shrink", action="store_true", help="look for fewer faults that fail")
    found.add_argument("--json", type=Path, help="write the figures to this file as well")
    found.add_argument("--kept", type=Path, default=KEPT, help="file of seeds that failed once")
    return found


def chosen(alone: int | None, first: int, count: int, kept: Path) -> list[int]:
    """Return the seeds to run: those that failed once come first."""
    if alone is not None:
        return [alone]
    return list(dict.fromkeys([*kept_seeds(kept), *range(first, first + count)]))


def kept_seeds(path: Path) -> list[int]:
    """Return the seeds of a file; whatever follows "#" is a remark."""
    lines = path.read_text().splitlines() if path.exists() else []
    told = [line.partition("#")[0].strip() for line in lines]
    return [int(each) for each in told if each]


def keep(failed: Iterable[Outcome], path: Path) -> None:
    """Write seeds that failed to the file of those that are run first."""
    known = set(kept_seeds(path))
    with path.open("a") as file:
        for each in failed:
            if each.seed not in known:
                file.write(f"{each.seed} # {each.violations[0].partition(': {')[0][:120]}\n")


def all_of(
    seeds: Sequence[int], setting: Setting, console: Console, processes: int = 0
) -> list[Outcome]:
    """Run seeds, with a bar that says how far it is; stop when enough have failed, or at Ctrl-C."""
    columns = (
        TextColumn("seeds"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[bad]} failed"),
        TimeRemainingColumn(),
    )
    outcomes: list[Outcome] = []
    # A thread that draws the bar would be there where processes are forked.
    bar = Progress(*columns, console=console, auto_refresh=False)
    with suppress(KeyboardInterrupt), played(seeds, setting, processes) as each, bar as progress:
        task = progress.add_task("seeds", total=len(seeds), bad=0)
        for outcome in each:
            outcomes.append(outcome)
            bad = sum(bool(each.violations) for each in outcomes)
            progress.update(task, advance=1, bad=bad, refresh=True)
            if bad >= ENOUGH:
                break
    return outcomes


@contextmanager
def played(seeds: Iterable[int], setting: Setting, processes: int) -> Iterator[Iterator[Outcome]]:
    """Give the outcomes of seeds, in their order, as they are run."""
    play = partial(run, setting=setting)
    if not processes:
        yield map(play, seeds)
        return
    forks = multiprocessing.get_context("fork")
    with forks.Pool(processes, _begin_process, maxtasksperchild=SEEDS_OF_A_PROCESS) as pool:
        yield pool.imap(play, seeds)


def _begin_process() -> None:
    """Leave what seeds leave, see `SEEDS_OF_A_PROCESS`, and Ctrl-C to whoever hands them out."""
    gc.set_threshold(0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def table(told: dict[str, Any]) -> Table:
    """Return what the runs came to."""
    found = Table(title="the server in virtual time", show_header=False)
    found.add_column()
    found.add_column(justify="right")
    for name, value in told.items():
        if name != "faults by kind":
            found.add_row(name, f"{value:,.2f}" if isinstance(value, float) else f"{value:,}")
    found.add_section()
    for kind, count in sorted(told["faults by kind"].items()):
        found.add_row(kind, f"{count:,}")
    return found


def figures(outcomes: Sequence[Outcome], seconds: float, spent: float) -> dict[str, Any]:
    """Return what the runs came to, by name."""
    faults: Counter[str] = Counter()
    for each in outcomes:
        faults.update(each.faults)
    return {
        "seeds": len(outcomes),
        "violations": sum(len(each.violations) for each in outcomes),
        "faults": faults.total(),
        "fewest faults of a seed": min(sum(each.faults.values()) for each in outcomes),
        "answers": sum(each.requests for each in outcomes),
        "records": sum(each.records for each in outcomes),
        "matches": sum(each.matches for each in outcomes),
        "seconds": seconds,
        "seconds a seed": seconds / len(outcomes),
        "processor seconds a seed": spent / len(outcomes),
        "faults by kind": dict(faults),
    }


def tell(outcome: Outcome, asked: argparse.Namespace, console: Console) -> None:
    """Say what is wrong with a seed, and how to see it again."""
    for sentence in outcome.violations[:TOLD_MOST]:
        console.print(
            f"seed {outcome.seed}: {sentence}", markup=False, highlight=False, soft_wrap=True
        )
    option = f" --without {asked.without!r}" if asked.without else ""
    option += f" --world {asked.world}" if asked.world else ""
    command = f"python -m tests.fault.simulated --seed {outcome.seed}{option} --shrink"
    console.print(
        f"again, and with fewer faults: {command}", markup=False, highlight=False, soft_wrap=True
    )


def shrink(seed: int, setting: Setting, console: Console) -> None:
    """Look for a smaller run that fails, and write it out."""
    small, outcome = shrunk(seed, setting, lambda line: console.print(line))
    for fault in small.faults or ():
        console.print(f"{fault.at:9.3f} s  {fault.kind} ({fault.amount:.3f}) node {fault.node}")
    lost = f"lost={small.lost}, repeated={small.repeated}, slow={small.slow}"
    console.print(f"{small.parties} parties, messages {lost}", highlight=False)
    for sentence in outcome.violations[:TOLD_MOST]:
        console.print(sentence, markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
