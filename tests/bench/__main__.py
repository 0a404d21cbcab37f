"""The runner: `python -m tests.bench [NAME ...] [--quick] [--json OUT] [--data DIR]`.

Benches that have options of their own take them behind their name, and then measure that alone:
`python -m tests.bench team_queue --policy greedy --minutes 1`.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from rich.console import Console

from tests.bench import (
    baseline,
    batch,
    batches,
    calls,
    cluster,
    compiled,
    engine,
    explain,
    fills,
    followers,
    forecast,
    gamelift,
    greedy,
    idle,
    jobs,
    journal,
    journals,
    large_teams,
    lives,
    losses,
    memory,
    open_checks,
    orders,
    peers,
    pools,
    proofs,
    ratings,
    ready_check,
    rule_sets,
    rules,
    server,
    streams,
    team_quality,
    team_queue,
    team_simulate,
    world_queue,
)
from tests.bench.report import (
    Result,
    Row,
    Setting,
    as_json,
    load_average,
    show,
    show_machine,
    this_machine,
)

BENCHES: dict[str, Callable[[Setting], Iterable[Row]]] = {
    "calls": calls.run,
    "engine": engine.run,
    "explain": explain.run,
    "fills": fills.run,
    "rules": rules.run,
    "rule_sets": rule_sets.run,
    "greedy": greedy.run,
    "baseline": baseline.run,
    "world_queue": world_queue.run,
    "cluster": cluster.run,
    "compiled": compiled.run,
    "orders": orders.run,
    "peers": peers.run,
    "streams": streams.run,
    "batch": batch.run,
    "batches": batches.run,
    "large_teams": large_teams.run,
    "pools": pools.run,
    "proofs": proofs.run,
    "ratings": ratings.run,
    "ready_check": ready_check.run,
    "lives": lives.run,
    "memory": memory.run,
    "open_checks": open_checks.run,
    "journal": journal.run,
    "journals": journals.run,
    "jobs": jobs.run,
    "server": server.run,
    "followers": followers.run,
    "forecast": forecast.run,
    "gamelift": gamelift.run,
    "idle": idle.run,
    "team_queue": team_queue.run,
    "team_simulate": team_simulate.run,
}
COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "baseline": baseline.main,
    "calls": calls.main,
    "cluster": cluster.main,
    "losses": losses.main,
    "team_queue": team_queue.main,
    "team_quality": team_quality.main,
}
"""Benches with options of their own; one that is not among `BENCHES` takes minutes or hours."""
GENERAL = ("--quick", "--json", "--data")
WIDTH = 150
"""Columns of the tables where standard output is no terminal."""


def main(argv: Sequence[str]) -> int:
    if is_command(argv):
        return COMMANDS[argv[0]](argv[1:])
    parser = _parser()
    chosen = parser.parse_args(argv)
    for name in chosen.names:
        if name not in BENCHES:
            parser.error(f"no bench is called {name!r}; there is {', '.join(BENCHES)}")
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH)
    errors = Console(stderr=True)
    with tempfile.TemporaryDirectory(prefix="evenmatch-bench-", dir=chosen.data) as directory:
        machine = this_machine(Path(directory))
        show_machine(console, machine, quick=chosen.quick)
        results: list[Result] = []
        failures: dict[str, str] = {}
        for name in chosen.names or BENCHES:
            data = Path(directory, name)
            data.mkdir(exist_ok=True)
            try:
                with errors.status(f"measuring {name}"):
                    result = _measure(name, Setting(chosen.quick, data))
            except Exception as error:  # noqa: BLE001
                failures[name] = f"{type(error).__name__}: {error}"
                errors.print(f"{name} failed: {failures[name]}", markup=False)
                continue
            results.append(result)
            show(console, result)
    if chosen.json is not None:
        chosen.json.write_bytes(as_json(machine, results, failures, quick=chosen.quick))
    return int(bool(failures))


def is_command(argv: Sequence[str]) -> bool:
    """Return whether one bench is given options of its own.

    >>> is_command(["team_queue", "--minutes", "1"]), is_command(["team_queue", "--quick"])
    (True, False)
    """
    own = [each for each in argv if each.startswith("-") and each.split("=")[0] not in GENERAL]
    return bool(argv) and argv[0] in COMMANDS and (bool(own) or argv[0] not in BENCHES)


def _measure(name: str, setting: Setting) -> Result:
    load, began = load_average(), time.perf_counter()
    rows = tuple(BENCHES[name](setting))
    gc.collect()
    return Result(name, rows, time.perf_counter() - began, load, load_average())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHES)}")
    parser.add_argument("--quick", action="store_true", help="rough figures in half a minute")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures to a file")
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="where journals go, instead of the usual /tmp"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
