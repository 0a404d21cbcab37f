"""How much of the core its unit tests reach, against what they reached before.

    python -m tests.gates.covering          measures and compares
    python -m tests.gates.covering --write  measures and writes the figures down

Measuring all tests would double their time. So those are taken that reach most in a few seconds,
without examples drawn by chance, and without what runs on a compiler; `make test-full` does it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("coverage.toml")
CORE = ("model", "criteria", "engine", "explain", "journals", "policies")
ON_SERVERS = ("postgres*", "nats*", "copying", "restoring")
"""Modules of `journals` that need a server: tests of conformance and integration run them."""
SLACK = 0.5
"""Points by which a figure may fall."""


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is measured, and what it was."""

    tests: tuple[str, ...]
    left_out: tuple[str, ...]
    percent: dict[str, float]


class Totals(msgspec.Struct, frozen=True):
    """Of one file, in the report of coverage.py."""

    num_statements: int
    covered_lines: int
    num_branches: int
    covered_branches: int


class File(msgspec.Struct, frozen=True):
    summary: Totals


class Report(msgspec.Struct, frozen=True):
    files: dict[str, File]


def asked() -> Asked:
    return msgspec.convert(tomllib.loads(TABLE.read_text()), Asked)


def measured(given: Asked) -> dict[str, float]:
    """Run the tests in a process of their own; return the percentage by package of the core."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder, "rc")
        source = ",".join(f"evenmatch.{package}" for package in CORE)
        apart = ",".join(f"*/evenmatch/journals/{module}.py" for module in ON_SERVERS)
        settings.write_text(f"[run]\nbranch = true\nsource = {source}\nomit = {apart}\n")
        environment = {
            **os.environ,
            "COVERAGE_FILE": str(Path(folder, "data")),
            "COVERAGE_RCFILE": str(settings),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "HYPOTHESIS_STORAGE_DIRECTORY": str(Path(folder, "examples")),
        }
        words = ["-q", "-p", "no:cacheprovider", "-p", "_hypothesis_pytestplugin"]
        words += ["-m", "not hypothesis and not long and not slow"]
        words += [f"--{'deselect' if '::' in each else 'ignore'}={each}" for each in given.left_out]
        _run(["run", "-m", "pytest", *words, *given.tests], environment)
        report = Path(folder, "report.json")
        _run(["json", "-q", "-o", str(report)], environment)
        return percentages(msgspec.json.decode(report.read_bytes(), type=Report), CORE)


def percentages(report: Report, packages: Sequence[str]) -> dict[str, float]:
    """Return the share of lines and branches that were reached, by package of the core."""
    reached: dict[str, int] = defaultdict(int)
    there: dict[str, int] = defaultdict(int)
    for path, file in report.files.items():
        parts = Path(path).parts
        package = parts[parts.index("evenmatch") + 1]
        each = file.summary
        reached[package] += each.covered_lines + each.covered_branches
        there[package] += each.num_statements + each.num_branches
    return {name: round(100.0 * reached[name] / there[name], 2) for name in packages}


def fallen(before: Mapping[str, float], now: Mapping[str, float]) -> list[str]:
    """Return a sentence for each package that the tests reach less of than before."""
    return [
        f"{name}: {now.get(name, 0.0):.2f} % of lines and branches are reached, "
        f"{percent:.2f} % were: test what is new, or write the figure down by "
        "python -m tests.gates.covering --write and say why"
        for name, percent in before.items()
        if now.get(name, 0.0) < percent - SLACK
    ]


def _run(words: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "coverage", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=environment,
    )
    if done.returncode:
        raise SystemExit(done.stdout[-3000:] + done.stderr[-3000:])


def main() -> int:
    """Print each figure; return 1 if one has fallen and is not written down."""
    given = asked()
    now = measured(given)
    for name, percent in now.items():
        print(f"{name:9} {percent:6.2f} %  (was {given.percent.get(name, 0.0):.2f} %)")
    if "--write" in sys.argv[1:]:
        kept = TABLE.read_text().partition("[percent]\n")[0]
        figures = "".join(f"{name} = {percent}\n" for name, percent in now.items())
        TABLE.write_text(f"{kept}[percent]\n{figures}")
        return 0
    problems = fallen(given.percent, now)
    for sentence in problems:
        print(sentence)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
