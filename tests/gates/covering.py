"""How much of the core its unit tests reach, against what they reached before.

    python -m tests.gates.covering          measures and compares
    python -m tests.gates.covering --write  measures and writes the figures down

Measuring all tests would double their time. So those are taken that reach most in a few seconds,
without examples drawn by chance, and without what runs on a compiler. `make test` measures the
part of the core that all policies share, `make test-long` the whole core.
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
SHARED = ("model", "criteria", "engine", "explain", "journals")
CORE = (*SHARED, "policies")
ON_SERVERS = ("postgres*", "nats*", "copying", "restoring")
"""Modules of `journals` that need a server: tests of conformance and integration run them."""
SLACK = 0.5
"""Points by which a figure may fall."""


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is measured, and what it was."""

    tests: tuple[str, ...]
    tests_long: tuple[str, ...]
    left_out: tuple[str, ...]
    left_to_long: tuple[str, ...]
    percent: dict[str, float]
    percent_long: dict[str, float]


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


def measured(given: Asked, *, is_long: bool) -> dict[str, float]:
    """Run the tests in a process of their own; return the percentage by package of the core."""
    packages = CORE if is_long else SHARED
    tests = given.tests + given.tests_long if is_long else given.tests
    left_out = given.left_out if is_long else given.left_out + given.left_to_long
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder, "rc")
        source = ",".join(f"evenmatch.{package}" for package in packages)
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
        words += [f"--{'deselect' if '::' in each else 'ignore'}={each}" for each in left_out]
        _run(["run", "-m", "pytest", *words, *tests], environment)
        report = Path(folder, "report.json")
        _run(["json", "-q", "-o", str(report)], environment)
        return percentages(msgspec.json.decode(report.read_bytes(), type=Report), packages)


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
    kept = TABLE.read_text().partition("[percent]\n")[0].rstrip() + "\n"
    problems: list[str] = []
    for table, before in (("percent", given.percent), ("percent_long", given.percent_long)):
        now = measured(given, is_long=table == "percent_long")
        for name, percent in now.items():
            print(f"{table:12} {name:9} {percent:6.2f} %  (was {before.get(name, 0.0):.2f} %)")
        kept += f"\n[{table}]\n" + "".join(f"{name} = {each}\n" for name, each in now.items())
        problems += fallen(before, now)
    if "--write" in sys.argv[1:]:
        TABLE.write_text(kept)
        return 0
    for sentence in problems:
        print(sentence)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
