"""The reliability card: python -m tests.fault.card --run simulation,herd --out docs/reliability.md.

    commands --run--> tests/fault/card.json (what came of each, when, on what) --out--> the page

Each part of the page is a command that anybody can repeat. `--run` runs some of them and notes what
came of it; `--out` writes the page from the notes, and runs nothing. What was never run says so.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec

from tests.journal_servers import nats_program, postgres_folder

ROOT = Path(__file__).resolve().parents[2]
NOTES = Path(__file__).with_name("card.json")
PAGE = ROOT / "docs" / "reliability.md"


class Run(msgspec.Struct, frozen=True):
    """What came of a command.

    Args:
        command: That was run, from the root of the repository.
        day: When, UTC.
        seconds: It took.
        is_well: Whether all that must hold did, and all that must fail failed.
        figures: What it counted, by name.
        versions: Of what took part.
    """

    command: str
    day: str
    seconds: float
    is_well: bool
    figures: dict[str, Any]
    versions: dict[str, str]


class Part(msgspec.Struct, frozen=True):
    """A part of the card.

    Args:
        title: Of the part.
        promise: What must hold.
        command: How it is repeated; `{json}` is a file for figures, `{size}` how much is run.
        size: How much is run unless `--size` says otherwise.
        read: Makes figures of the file, the output and the exit code.
    """

    title: str
    promise: str
    command: str
    size: int
    read: Callable[[bytes, str, int], tuple[bool, dict[str, Any]]]


def _simulation(data: bytes, output: str, code: int) -> tuple[bool, dict[str, Any]]:
    figures = msgspec.json.decode(data)
    return code == 0 and not figures["violations"], figures


def _controls(data: bytes, output: str, code: int) -> tuple[bool, dict[str, Any]]:
    found = msgspec.json.decode(data)
    return code == 0, {f"without {name}": text for name, text in found.items()}


def _planted(data: bytes, output: str, code: int) -> tuple[bool, dict[str, Any]]:
    results = msgspec.json.decode(data)
    survived = [fault["invariant"] for fault, outcome in results if outcome["word"] != "found"]
    found = len(results) - len(survived)
    figures = {"planted": len(results), "found": found, "not found": survived or "none"}
    return found >= len(results) - 2, figures


def _herd(data: bytes, output: str, code: int) -> tuple[bool, dict[str, Any]]:
    return code == 0, msgspec.json.decode(data)


def _tests(data: bytes, output: str, code: int) -> tuple[bool, dict[str, Any]]:
    """Read pytest's last line; what was skipped was not run."""
    found = re.findall(r"(\d+) (passed|failed|skipped|error)", output)
    counts = {word: int(number) for number, word in found}
    skipped = re.findall(r"NOT TESTED: [^\n]*", output)
    failed = re.findall(r"^FAILED ([^\n]*)", output, re.MULTILINE)
    why: dict[str, Any] = {"failed tests": failed} if failed else {}
    why["not tested"] = sorted(set(skipped)) or "nothing"
    return code == 0 and bool(counts.get("passed")), counts | _kills(output) | why


def _kills(output: str) -> dict[str, Any]:
    """Return what tests that kill servers printed of it, by the test's name in words."""
    headings = re.split(r"^_+ (test_\w+)\S* _+$", output, flags=re.MULTILINE)
    told: dict[str, Any] = {}
    for name, text in zip(headings[1::2], headings[2::2], strict=True):
        if found := re.search(r"^KillCounts\((.*)\)$", text, re.MULTILINE):
            pairs = (each.split("=") for each in found[1].split(", "))
            title = name.removeprefix("test_").replace("_", " ")
            told[title] = {kind.replace("_", " "): int(count) for kind, count in pairs}
    return told


PYTEST = "python -m pytest -q -n 0 -rsP -m 'long or not long'"
"""With what passing tests print, since some print what they counted."""
PARTS: dict[str, Part] = {
    "simulation": Part(
        "The server in virtual time",
        "No invariant is broken, whatever faults the seeds bring.",
        "python -m tests.fault.simulated --seeds {size} --processes 1 --json {json}",
        200,
        _simulation,
    ),
    "controls": Part(
        "Controls of the simulation",
        "A server that lacks one of its protections must fail within 200 seeds.",
        "python -m tests.fault.controls --seeds {size} --json {json}",
        200,
        _controls,
    ),
    "mutants": Part(
        "Faults that break an invariant",
        "At least 60 faults are planted, at least two for each invariant; all but two at most are "
        "found.",
        "python -m tests.gates.planting --table mutants --seeds {size} --json {json}",
        500,
        _planted,
    ),
    "faults": Part(
        "Faults that break what one part promises",
        "Quick tests find each planted fault.",
        "python -m tests.gates.planting --table faults --seeds {size} --json {json}",
        1,
        _planted,
    ),
    "kills": Part(
        "kill -9 at each write",
        "Nothing acknowledged is lost, and nobody is matched twice; the test notices a server that "
        "answers before it writes.",
        f"EVENMATCH_KILLS={{size}} {PYTEST} tests/integration/test_kill.py",
        50,
        _tests,
    ),
    "disks": Part(
        "Disks that are full, fail and tear writes",
        "Nothing acknowledged is lost, and the server writes again once the disk works; the test "
        "notices a server that answers before it writes.",
        f"{PYTEST} tests/integration/test_disk_faults.py",
        1,
        _tests,
    ),
    "postgresql": Part(
        "PostgreSQL: kills, cut links, promotions",
        "Nothing acknowledged is lost or doubled, except with an asynchronous standby, or if a "
        "standby is promoted while the primary lives: the tests show both losses.",
        f"EVENMATCH_KILLS={{size}} {PYTEST} tests/integration/test_postgres_faults.py "
        "tests/integration/test_postgres_standbys.py",
        50,
        _tests,
    ),
    "nats": Part(
        "NATS: kills of the server, and of the leader of three",
        "Nothing acknowledged is lost or doubled.",
        f"EVENMATCH_KILLS={{size}} {PYTEST} tests/integration/test_nats_faults.py",
        50,
        _tests,
    ),
    "cluster": Part(
        "Three nodes: owners killed, asleep beyond their lease, handed over",
        "No ticket is lost or doubled, and an owner that was paused gives no outdated answers.",
        f"{PYTEST} tests/integration/test_cluster.py tests/integration/test_cluster_under_load.py",
        1,
        _tests,
    ),
    "herd": Part(
        "A herd in virtual time",
        "100,000 tickets arrive within 10 s, 30 % of the ready-checks fail, and a server is "
        "killed: no ticket is lost, and 30 s after the last arrival nobody is turned away any "
        "more.",
        "python -m tests.fault.herd --tickets {size} --json {json}",
        100_000,
        _herd,
    ),
}
INTRODUCTION = (
    "What evenmatch promises when machines, disks, networks and clocks fail, and how it is tested.",
    (
        "`python -m tests.fault.card --out docs/reliability.md` writes this page from "
        "`tests/fault/card.json`, where `--run NAME` stores the results of a part."
    ),
    "Each part says when and on what it was run; a part that was not run says so.",
    (
        "[Incidents and their tests](incidents.md) lists failures seen in public matchmakers, and "
        "the tests for them."
    ),
)
UNSEEN = (
    (
        "In every eighth seed of the simulation, three nodes share several shards; in the others, "
        "one server holds the only shard, and two others wait for it."
    ),
    (
        "The simulation checks all invariants except I12 and I18: it does not repeat the decisions "
        "of a policy, and nobody in it forges tokens."
    ),
    "Unit tests check those two.",
)
LABELS = {
    "busiest": "largest share of all retries within 0.1 s",
    "calm_after": "seconds from the last arrival until nobody was turned away any more",
    "fewest faults of a seed": "fewest faults in a seed",
    "seconds a seed": "seconds per seed",
    "twice": "matched twice",
}
"""What the page calls figures whose names in the notes say too little."""
INVARIANTS = {
    "I1": "a player is in at most one live ticket of a group, and in at most one live exclusive "
    "match",
    "I2": "every ticket is in exactly one state, and changes states only as the graph allows",
    "I3": "the numbers of tickets by state add up to the number of accepted tickets",
    "I4": "an acknowledged create, cancel or acceptance survives kill -9 and power loss",
    "I5": "parties are never split",
    "I6": "a match has the exact sizes and distinct players, and kept all rules when it was "
    "decided",
    "I7": "a ticket cancelled before its match is never matched; a cancel that comes later is told "
    "that it is too late",
    "I8": "an idempotency key with the same body always gets the same answer, and with another "
    "body is refused",
    "I9": "a ticket with a feasible match is matched, or expires in time with a reason",
    "I10": "among equals, nobody is passed over again and again",
    "I11": "a step of the wall clock changes neither the order nor a wait",
    "I12": "deciding a journal again gives the same matches",
    "I13": "all numbers are finite",
    "I14": "a failed ready-check costs innocent players nothing, and the same players are not "
    "asked together again at once",
    "I15": "writes are fenced by owner and epoch",
    "I16": "memory is bounded, and an overloaded server tells callers when to come back",
    "I17": "waiting longer never shrinks what a ticket accepts",
    "I18": "nobody changes anything without a token, or reads or cancels what is not theirs",
    "I19": "applying the journal rebuilds the state",
}


def versions() -> dict[str, str]:
    """Return the versions of what takes part here."""
    found = {"Python": platform.python_version(), "SQLite": sqlite3.sqlite_version}
    folder, nats = postgres_folder(), nats_program()
    for name, program in (
        ("PostgreSQL", folder and folder / "postgres"),
        ("NATS", nats),
    ):
        if program:
            told = subprocess.run([program, "--version"], capture_output=True, text=True)
            found[name] = re.sub(r"^\D*", "", told.stdout.strip()).split(" ")[0]
        else:
            found[name] = "not here"
    try:
        found["evenmatch"] = version("evenmatch")
    except PackageNotFoundError:
        found["evenmatch"] = "not installed"
    return found


def taken(name: str, size: int | None, file: Path) -> Run:
    """Return what came of the command of a part that was run before and wrote this file."""
    part, stat = PARTS[name], file.stat()
    is_well, figures = part.read(file.read_bytes(), "", 0)
    command = part.command.replace(" --json {json}", "").replace("{size}", str(size or part.size))
    if first := figures.get("first seed", 0):
        command += f" --first {first}"
    day = datetime.fromtimestamp(stat.st_mtime, UTC).date().isoformat()
    return Run(command, day, 0.0, is_well, figures, versions())


def carried_out(name: str, size: int | None) -> Run:
    """Run the command of a part and return what came of it."""
    part, began = PARTS[name], time.monotonic()
    with tempfile.TemporaryDirectory(prefix="evenmatch-card-") as folder:
        file = Path(folder) / "figures.json"
        command = part.command.replace("{size}", str(size or part.size))
        words = command.replace("{json}", str(file))
        python = shutil.which("python", path=str(Path(sys.executable).parent)) or sys.executable
        words = words.replace("python -m", f"{python} -m")
        environment = {**os.environ, "COLUMNS": "200"}
        done = subprocess.run(
            ["/bin/sh", "-c", words], cwd=ROOT, capture_output=True, text=True, env=environment
        )
        data = file.read_bytes() if file.exists() else b"null"
    try:
        is_well, figures = part.read(data, done.stdout, done.returncode)
    except (msgspec.MsgspecError, TypeError, KeyError):
        is_well, figures = False, {"it ended with": (done.stderr or done.stdout)[-500:]}
    if not is_well:
        print(done.stdout, done.stderr, sep="\n")
    shown = command.replace(" --json {json}", "")
    day = datetime.now(UTC).date().isoformat()
    return Run(shown, day, time.monotonic() - began, is_well, figures, versions())


def notes() -> dict[str, Run]:
    """Return what was run."""
    if not NOTES.exists():
        return {}
    return msgspec.json.decode(NOTES.read_bytes(), type=dict[str, Run])


def page(runs: dict[str, Run]) -> str:
    """Return the card."""
    lines = [
        "# Reliability card",
        "",
        *INTRODUCTION,
        "",
        "| part | promise | run on | kept |",
        "|---|---|---|---|",
    ]
    for name, part in PARTS.items():
        run = runs.get(name)
        day = "not run" if run is None else run.day
        kept = "" if run is None else "yes" if run.is_well else "**no**"
        lines.append(
            f"| [{part.title}](#{_anchor(part.title)}) | {part.promise} | {day} | {kept} |"
        )
    for name, part in PARTS.items():
        lines += ["", f"## {part.title}", "", *_part(runs.get(name), part)]
    lines += ["", "## The invariants", "", "| name | what holds |", "|---|---|"]
    lines += [f"| {name} | {text} |" for name, text in INVARIANTS.items()]
    lines += ["", *UNSEEN]
    return "\n".join(lines) + "\n"


def _part(run: Run | None, part: Part) -> list[str]:
    """Return what a part says below its heading."""
    if run is None:
        command = part.command.replace(" --json {json}", "").replace("{size}", str(part.size))
        return ["Not run.", "", "```text", command, "```"]
    told = ", ".join(f"{name} {text}" for name, text in run.versions.items())
    took = f"; it took {run.seconds:,.0f} s while other programs ran" if run.seconds else ""
    lines = [
        f"Run on {run.day} with {told}{took}.",
        "",
        "```text",
        run.command,
        "```",
        "",
        "| what | figure |",
        "|---|---|",
    ]
    for name, value in run.figures.items():
        if isinstance(value, dict):
            lines += [f"| {name}: {kind} | {_text(each)} |" for kind, each in sorted(value.items())]
        else:
            lines.append(f"| {LABELS.get(name, name.replace('_', ' '))} | {_text(value)} |")
    return lines


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "; ".join(map(str, value))
    if isinstance(value, float):
        return f"{value:,.3g}" if value < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")


def main(words: Sequence[str] | None = None) -> int:
    """Run parts, and write the card; return 1 if a part that was run is not well."""
    parser = argparse.ArgumentParser(prog="python -m tests.fault.card", description=main.__doc__)
    parser.add_argument("--run", default="", help=f"parts to run: {', '.join(PARTS)}, or all")
    parser.add_argument("--size", type=int, help="how much of them, where a part has a size")
    parser.add_argument(
        "--file",
        type=Path,
        help="run nothing: take what the command of the part has written here by its --json",
    )
    parser.add_argument("--out", type=Path, help="write the page to this file")
    given = parser.parse_args(words)
    names = list(PARTS) if given.run == "all" else [each for each in given.run.split(",") if each]
    if unknown := [name for name in names if name not in PARTS]:
        parser.error(f"there is no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    bad = 0
    for name in names:
        file = given.file
        run = carried_out(name, given.size) if file is None else taken(name, given.size, file)
        bad += not run.is_well
        print(f"{name}: {'well' if run.is_well else 'NOT WELL'} after {run.seconds:.0f} s")
        found = {**notes(), name: run}
        NOTES.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    if given.out is not None:
        given.out.write_text(page(notes()), encoding="utf-8")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
