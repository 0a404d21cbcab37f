"""A server with a team queue under load: 5v5 with roles, parties, a ping rule and a ready-check.

    python -m tests.bench team_queue --policy rolling --pool 1000 --rate 100 --minutes 5
    python -m tests.bench team_queue --policy greedy --unmatchable 2000 --no-numba --minutes 1
    python -m tests.bench team_queue --pool 300 --rate 300 --against ../before

A real server runs the queue of `scenarios/hero_5v5.toml`. Its pool is filled with `--pool` tickets
of the scenario's world and, if asked for, `--unmatchable` ones that can't be matched with one
another; then `--rate` tickets a second arrive, follow their tickets and answer the ready-check, in
a process of their own (`team_crowd`). How many wait from then on is up to the policy:
`--target-wait` or `--wait-price` set how long it lets people wait, and the table says how many it
were.

Another connection asks `GET /healthz` 20 times a second, whatever happens. What was due while an
answer was awaited counts from when it was due (`stalls`). The server's loop is watched from inside
as well: how late it woke, and how much of that its own thread computed at the most; the rest is
waiting for the interpreter, or a machine with other work to do. The clients measure their own
lateness too.

`--against PATH` lets another checkout do the same by turns and prints both with their ratios;
`--no-numba` hides numba from the server. Without options a table of several loads is measured.
"""

from __future__ import annotations

import argparse
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from tests.bench.processes import ROOT
from tests.bench.report import Row, Setting, load_average, number
from tests.bench.server import started
from tests.bench.stalls import Ping, Pinger, stalls
from tests.bench.team_crowd import DRAIN_SECONDS, FILL_SECONDS, Job
from tests.bench.team_players import Change, server_toml
from tests.load.server import PAUSES_NAME, WATCH_NAME

LISTEN_SECONDS = READY_SECONDS = 420.0
"""How long a server may compile before it listens, and before it makes matches."""
WITHOUT = "import sys; sys.modules['numba'] = None; "
START = "import sys; from tests.load.server import run; sys.exit(run())"
TARGET = "target_wait"


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What a server has to do.

    Args:
        policy: A SPEC; empty leaves what the queue would take by itself.
        pool: Tickets that wait at the beginning.
        rate: Tickets per second.
        minutes: How long is measured.
        settle: Seconds for which parties come before that.
        unmatchable: Tickets beside the pool that can't be matched with one another.
        kind: Of these, `tanks` or `far`.
        target_wait: Seconds; 0 leaves it to the queue.
        wait_price: Cost per player-second; 0 leaves it to the queue.
        is_local: Without the rule on the ping to a region.
        decline: Share of the ready-checks that a party declines.
        silent: Share that a party never answers.
        beating: Share of the tickets that send heartbeats instead of following a stream.
        seed: Of all chance.
    """

    policy: str = "rolling"
    pool: int = 1_000
    rate: float = 100.0
    minutes: float = 5.0
    settle: float = 20.0
    unmatchable: int = 0
    kind: str = "tanks"
    target_wait: float = 0.0
    wait_price: float = 0.0
    is_local: bool = False
    decline: float = 0.02
    silent: float = 0.01
    beating: float = 0.0
    seed: int = 1


class Side(msgspec.Struct, frozen=True):
    """Whose server: the folder of its sources, and whether it finds numba."""

    name: str
    source: Path
    has_numba: bool = True


class Outcome(msgspec.Struct):
    """What came of it; `reason` says why it could not be measured to the end."""

    side: str
    figures: dict[str, Any] = {}
    reason: str = ""


def change_of(load: Load) -> Change:
    """Return how the scenario's queue is changed for a load."""
    keys = []
    if load.target_wait:
        keys.append(f"target_wait = {load.target_wait}")
    if load.wait_price:
        keys.append(f"wait_price = {load.wait_price}")
    if load.unmatchable:
        keys.append("wait_max = 3600.0")
    if load.beating:
        keys.append("silent_after = 20.0")
    return Change(load.policy, tuple(keys), load.is_local)


def measure_or_older(side: Side, load: Load, folder: Path, tell: Any = None) -> Outcome:
    """Let a server bear a load; one that knows no `target_wait` gets the queue without it."""
    outcome = measure(side, load, folder, change_of(load), tell)
    if TARGET not in outcome.reason:
        return outcome
    older = msgspec.structs.replace(load, target_wait=0.0)
    change = msgspec.structs.replace(change_of(older), has_target=False)
    outcome = measure(side, load, folder.with_name(f"{folder.name}-older"), change, tell)
    outcome.figures["without"] = {TARGET: "is not known, so the usual price of waiting holds"}
    return outcome


def measure(side: Side, load: Load, folder: Path, change: Change, tell: Any = None) -> Outcome:
    """Let a server of one side bear a load."""
    folder.mkdir(parents=True, exist_ok=True)
    outcome = Outcome(side.name)
    config, pauses = folder / "hero.toml", folder / "pauses.json"
    config.write_text(server_toml(change), encoding="utf-8")
    begins = ("" if side.has_numba else WITHOUT) + START
    command = [sys.executable, "-c", begins, "serve", str(config), "--port", "0"]
    command += ["--data", str(folder / "data")]
    environment = {
        **os.environ,
        "PYTHONPATH": str(side.source),
        WATCH_NAME: str(folder / "watch.json"),
        PAUSES_NAME: str(pauses),
    }
    windows: dict[str, float] = {}
    pings: list[Ping] = []
    began = time.monotonic()
    try:
        with started(command, folder, seconds=LISTEN_SECONDS, environment=environment) as server:
            outcome.figures["listens"] = time.monotonic() - began
            outcome.figures["ready"] = _until_ready(server.port, began)
            job = Job(
                server.port,
                server.pid,
                load.rate,
                60.0 * load.minutes,
                load.settle,
                load.pool,
                load.unmatchable,
                load.kind,
                load.decline,
                load.silent,
                load.beating,
                load.seed,
            )
            with Pinger(server.port) as pinger:
                try:
                    outcome.figures |= _crowd(job, windows, tell)
                finally:
                    windows.setdefault("over", time.monotonic())
                    pings = pinger.pings
                    outcome.figures["ping_lost"] = pinger.lost
    except (RuntimeError, OSError) as error:
        outcome.reason = str(error)
    outcome.figures |= _stalls(windows, pings, pauses)
    return outcome


def _until_ready(port: int, began: float) -> float:
    """Return the seconds from the start until the server says that it makes matches.

    Raises:
        RuntimeError: It did not within `READY_SECONDS`.
    """
    said: object = ""
    while time.monotonic() < began + READY_SECONDS:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5.0).close()
            return time.monotonic() - began
        except urllib.error.HTTPError as error:
            said = error.read()[:300]
        except OSError as error:
            said = error
        time.sleep(0.05)
    raise RuntimeError(f"not ready after {READY_SECONDS:g} s: {said!r}")


def _crowd(job: Job, windows: dict[str, float], tell: Any) -> dict[str, Any]:
    """Let the players play, note when what began, and return their figures.

    Raises:
        RuntimeError: They failed, or did not end in time.
    """
    whole = job.settle + job.seconds + DRAIN_SECONDS
    until = time.monotonic() + FILL_SECONDS + whole + 60.0
    command = [sys.executable, "-m", "tests.bench.team_crowd"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    try:
        assert process.stdin is not None
        process.stdin.write(msgspec.json.encode(job))
        process.stdin.close()
        threading.Thread(target=_read_lines, args=(process, lines), daemon=True).start()
        while time.monotonic() < until:
            try:
                line = lines.get(timeout=0.5)
            except queue.Empty:
                if tell is not None:
                    tell(windows, whole)
                continue
            if not line:
                assert process.stderr is not None
                raise RuntimeError(_last(process.stderr.read()))
            said = msgspec.json.decode(line)
            windows[said["event"]] = said["at"]
            if "figures" in said:
                return dict(said["figures"])
        raise RuntimeError(f"players did not end within {FILL_SECONDS + whole + 60.0:g} s")
    finally:
        process.kill()
        process.wait()


def _read_lines(process: subprocess.Popen[bytes], lines: queue.SimpleQueue[bytes]) -> None:
    """Hand on what a process says; an empty line at its end."""
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put(b"")


def _last(said: bytes) -> str:
    lines = said.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "players ended without a word"


def _stalls(windows: dict[str, float], pings: list[Ping], pauses: Path) -> dict[str, Any]:
    """Return the longest waits while the pool was filled, and while it was measured."""
    figures: dict[str, Any] = {}
    long: list[list[tuple[float, float, float]]] = []
    if pauses.exists():
        long = msgspec.json.decode(pauses.read_bytes(), type=list[list[tuple[float, float, float]]])
    flat = [each for one in long for each in one]
    for name, first, last in (("fill", "open", "begin"), ("", "begin", "end")):
        if first not in windows:
            continue
        begin, end = windows[first], windows.get(last, windows["over"])
        prefix = f"{name}_" if name else ""
        chosen = [each for each in flat if begin <= each[0] and each[0] - each[1] < end]
        # A server that was killed since it did not end has not written its pauses.
        if long:
            figures[f"{prefix}late"] = max((late for _, late, _ in chosen), default=0.0)
            figures[f"{prefix}busy"] = max((busy for _, _, busy in chosen), default=0.0)
            figures[f"{prefix}over_25ms"] = sum(late > 0.025 for _, late, _ in chosen)
        try:
            found = stalls(pings, begin, end)
        except RuntimeError:
            continue
        figures[f"{prefix}stall"] = found.longest
        figures[f"{prefix}ping_p50"], figures[f"{prefix}ping_p99"] = found.p50, found.p99
        figures[f"{prefix}pings"] = found.count
        figures[f"{prefix}own_late"] = found.own
        figures[f"{prefix}own_p99"] = found.own_p99
    return figures


# What is shown

SHOWN: tuple[tuple[str, str, str, float, str], ...] = (
    ("from start to listening", "listens", "s", 1.0, ""),
    ("from start to ready", "ready", "s", 1.0, ""),
    ("longest stall while the pool was filled", "fill_stall", "ms", 1e3, ""),
    ("longest stall, by pings", "stall", "ms", 1e3, "<= 25"),
    ("pings, p99", "ping_p99", "ms", 1e3, ""),
    ("pings, p50", "ping_p50", "ms", 1e3, ""),
    ("longest pause of the loop, from inside", "late", "ms", 1e3, "<= 25"),
    ("of which its thread computed at the most", "busy", "ms", 1e3, ""),
    ("pauses of the loop beyond 25 ms", "over_25ms", "", 1.0, "0"),
    ("client of the pings late, p99", "own_p99", "ms", 1e3, ""),
    ("client of the pings late, longest", "own_late", "ms", 1e3, ""),
    ("create, p50", "create_p50", "ms", 1e3, ""),
    ("create, p99", "create_p99", "ms", 1e3, "<= 50"),
    ("create, longest", "create_max", "ms", 1e3, ""),
    ("accept, p99", "answer_p99", "ms", 1e3, ""),
    ("players late, p99", "lag_p99", "ms", 1e3, ""),
    ("players late, longest", "lag_max", "ms", 1e3, ""),
    ("tickets accepted", "created_rate", "1/s", 1.0, ""),
    ("newcomers who stayed away", "held_back", "", 1.0, "0"),
    ("matches", "match_rate", "1/s", 1.0, ""),
    ("mean quality", "quality", "", 1.0, ""),
    ("mean wait until the match", "wait", "s", 1.0, ""),
    ("wrongly cancelled", "wrong", "", 1.0, "0"),
    ("waiting, least", "waiting_min", "", 1.0, ""),
    ("waiting, mean", "waiting_mean", "", 1.0, ""),
    ("waiting, most", "waiting_max", "", 1.0, ""),
    ("resident memory, most", "resident", "MB", 2.0**-20, ""),
)
"""Label, key, unit, factor, aim."""


def show(console: Console, outcomes: Sequence[Outcome], load: Load) -> None:
    """Print the figures of each side in a column, and the ratio of the first to the second."""
    both = len(outcomes) == 2
    table = Table(title=describe(load), title_justify="left")
    table.add_column("measure")
    for each in outcomes:
        table.add_column(each.side, justify="right")
    if both:
        table.add_column("ratio", justify="right")
    table.add_column("unit")
    table.add_column("aim")
    for label, key, unit, factor, aim in SHOWN:
        values = [each.figures.get(key) for each in outcomes]
        if all(value is None for value in values):
            continue
        cells = ["-" if value is None else number(factor * value) for value in values]
        if both:
            cells.append(_ratio(values))
        table.add_row(label, *cells, unit, aim)
    console.print(table)
    for each in outcomes:
        if each.reason:
            console.print(f"{each.side} could not go on: {each.reason}", markup=False)
        for key in ("without", "statuses", "ended", "wrongly", "refused", "problems"):
            if each.figures.get(key):
                console.print(f"{each.side}, {key}: {each.figures[key]}", markup=False)
        if lost := each.figures.get("ping_lost"):
            console.print(f"{each.side}: the pings lost their connection {lost} times")


def _ratio(values: Sequence[float | None]) -> str:
    one, other = values
    return number(one / other) if one is not None and other else "-"


def describe(load: Load) -> str:
    """Return a load in words."""
    words = [
        load.policy or "the queue's own policy",
        f"{load.pool:,} waiting at first",
        f"{load.rate:g} tickets/s",
        f"{load.minutes:g} min",
    ]
    if load.unmatchable:
        words.append(f"{load.unmatchable:,} who can't match ({load.kind})")
    if load.is_local:
        words.append("no region rule")
    return ", ".join(words)


LOADS: tuple[tuple[Load, bool], ...] = (
    (Load(target_wait=10.0), True),
    (Load(pool=300, rate=300.0, minutes=2.0, target_wait=1.0), True),
    (Load(pool=300, unmatchable=10_000, minutes=2.0, target_wait=10.0), True),
    (Load(policy="greedy", pool=0, unmatchable=2_000, minutes=2.0), True),
    (Load(policy="greedy", pool=0, unmatchable=2_000, minutes=2.0), False),
)
"""The loads of the table, and whether the server has numba."""
QUICK: tuple[tuple[Load, bool], ...] = (
    (Load(pool=100, rate=20.0, minutes=0.25, settle=5.0), True),
    (Load(policy="greedy", pool=0, unmatchable=100, rate=20.0, minutes=0.25, settle=5.0), True),
)
ROWS = ("stall", "late", "create_p99", "created_rate", "wrong", "waiting_mean", "resident")


def run(setting: Setting) -> Iterator[Row]:
    """Measure all loads of the table."""
    for place, (load, has_numba) in enumerate(QUICK if setting.quick else LOADS):
        side = Side("this", ROOT / "src", has_numba)
        outcome = measure(side, load, setting.data / f"load-{place}", change_of(load))
        name = describe(load) + ("" if has_numba else ", without numba")
        for label, key, unit, factor, aim in SHOWN:
            if key in ROWS and (value := outcome.figures.get(key)) is not None:
                yield Row(f"{name}: {label}", (factor * value,), unit, aim, outcome.reason)
        if outcome.reason:
            yield Row(f"{name}: not measured to the end", (1.0,), "", "0", outcome.reason)


def main(argv: Sequence[str]) -> int:
    """Measure one load, here and perhaps in another checkout."""
    options = _options(argv)
    fields = msgspec.structs.fields(Load)
    load = Load(**{each.name: getattr(options, each.name) for each in fields})
    sides = [Side("this", ROOT / "src", not options.no_numba)]
    if options.against is not None:
        source = options.against.resolve() / "src"
        if not (source / "evenmatch").is_dir():
            print(
                f"team_queue: {options.against} is no checkout: no src/evenmatch", file=sys.stderr
            )
            return 2
        sides.append(Side(options.against.name, source, not options.no_numba))
    found: list[list[Outcome]] = [[] for _ in sides]
    errors = Console(stderr=True)
    if options.data is not None:
        options.data.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="evenmatch-team-", dir=options.data) as name:
        for turn in range(options.rounds):
            for side, outcomes in zip(sides, found, strict=True):
                folder = Path(name, f"{side.name}-{turn}")
                before = load_average()
                with _progress(errors, f"{side.name}, round {turn + 1}") as tell:
                    outcomes.append(measure_or_older(side, load, folder, tell.tell))
                outcomes[-1].figures["load_average"] = (before, load_average())
    shown = [middle(outcomes) for outcomes in found]
    show(Console() if sys.stdout.isatty() else Console(width=120), shown, load)
    if options.json is not None:
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1))
    return int(bool(shown[0].reason))


def middle(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the outcome with the median stall; one that did not go to its end if there is any."""
    for each in outcomes:
        if each.reason:
            return each
    ordered = sorted(outcomes, key=lambda each: each.figures.get("stall", 0.0))
    return ordered[len(ordered) // 2]


class _progress:  # noqa: N801
    """A bar of the time that a measurement takes."""

    def __init__(self, console: Console, name: str) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(), console=console
        )
        self._name = name
        self._task = self._bar.add_task(f"{name}: starts", total=None)

    def __enter__(self) -> _progress:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def tell(self, windows: dict[str, float], whole: float) -> None:
        """Show how far it is."""
        if "filled" not in windows:
            self._bar.update(self._task, description=f"{self._name}: fills the pool")
            return
        words = "measures" if "begin" in windows else "settles"
        done = time.monotonic() - windows["filled"]
        self._bar.update(
            self._task, description=f"{self._name}: {words}", total=whole, completed=done
        )


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench team_queue",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add, usual = parser.add_argument, Load()
    add("--policy", default=usual.policy, help="a SPEC; '' leaves it to the queue")
    add("--pool", type=int, default=usual.pool, help="tickets that wait at the beginning")
    add("--rate", type=float, default=usual.rate, help="tickets per second")
    add("--minutes", type=float, default=usual.minutes, help="how long is measured")
    add("--settle", type=float, default=usual.settle, help="seconds of arrivals before that")
    add("--unmatchable", type=int, default=0, help="tickets that can't match one another")
    add("--kind", choices=("tanks", "far"), default=usual.kind, help="of these")
    add("--target-wait", type=float, default=0.0, help="seconds, the queue's key")
    add("--wait-price", type=float, default=0.0, help="cost per player-second, the queue's key")
    add("--no-region-rule", dest="is_local", action="store_true", help="drop the rule on the ping")
    add("--decline", type=float, default=usual.decline, help="share of ready-checks")
    add("--silent", type=float, default=usual.silent, help="share of ready-checks")
    add("--heartbeats", dest="beating", type=float, default=0.0, help="share of the tickets")
    add("--seed", type=int, default=usual.seed, help="of all chance")
    add("--no-numba", action="store_true", help="hide numba from the server")
    add("--against", type=Path, metavar="PATH", help="another checkout, by turns")
    add("--rounds", type=int, default=1, help="how often each does it; the median stall is shown")
    add("--json", type=Path, metavar="OUT", help="write all figures into a file")
    add("--data", type=Path, metavar="DIR", help="where journals go, instead of the usual /tmp")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
