"""Rows, the machine they were measured on, and how they are shown."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table


class Setting(msgspec.Struct, frozen=True):
    """How to measure.

    Args:
        quick: Fewer and shorter repetitions; the figures are rough.
        data: A directory on the disk to be measured, for journals; it is emptied by the caller.
    """

    quick: bool
    data: Path


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """One figure: a value for each repetition."""

    name: str
    values: tuple[float, ...]
    unit: str
    aim: str = ""
    note: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.values)


class Machine(msgspec.Struct, frozen=True):
    """Where the figures come from; `load` is the load average of the last minute."""

    cpu: str
    cores: int
    memory_gb: float
    system: str
    python: str
    disk: str
    load: float


class Result(msgspec.Struct, frozen=True):
    """The rows of one bench, and how busy the machine was at its start and end."""

    bench: str
    rows: tuple[Row, ...]
    seconds: float
    load_before: float
    load_after: float


def load_average() -> float:
    return round(os.getloadavg()[0], 2)


def this_machine(data: Path) -> Machine:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(
        cpu=_cpu_model(),
        cores=os.cpu_count() or 1,
        memory_gb=round(pages / 2**30, 1),
        system=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        disk=_file_system(data),
        load=load_average(),
    )


def show_machine(console: Console, machine: Machine, *, quick: bool) -> None:
    console.print(
        f"{machine.cpu}, {machine.cores} cores, {machine.memory_gb:g} GB, {machine.system}, "
        f"Python {machine.python}, data on {machine.disk}, load average {machine.load:g}",
        highlight=False,
    )
    if quick:
        console.print("--quick: few and short repetitions, so the figures are rough.")


def show(console: Console, result: Result) -> None:
    title = (
        f"{result.bench}: {result.seconds:.0f} s, load average {result.load_before:g} before, "
        f"{result.load_after:g} after"
    )
    table = Table(title=title, title_justify="left")
    table.add_column("measure", overflow="fold")
    table.add_column("median", justify="right", no_wrap=True)
    table.add_column("min..max", justify="right", no_wrap=True)
    table.add_column("n", justify="right")
    table.add_column("unit", no_wrap=True)
    table.add_column("aim", no_wrap=True)
    table.add_column("note", overflow="fold")
    for row in result.rows:
        spread = f"{number(min(row.values))}..{number(max(row.values))}"
        table.add_row(
            row.name,
            number(row.median),
            spread if len(row.values) > 1 else "",
            str(len(row.values)),
            row.unit,
            row.aim,
            row.note,
        )
    console.print(table)


def as_json(
    machine: Machine, results: Sequence[Result], failures: Mapping[str, str], *, quick: bool
) -> bytes:
    """Return everything as JSON: each row with its values and their median."""
    benches = [
        {
            **msgspec.to_builtins(result),
            "rows": [{**msgspec.to_builtins(row), "median": row.median} for row in result.rows],
        }
        for result in results
    ]
    found = {
        "machine": msgspec.to_builtins(machine),
        "quick": quick,
        "benches": benches,
        "failures": dict(failures),
    }
    return msgspec.json.format(msgspec.json.encode(found), indent=2)


def number(value: float) -> str:
    """Return a value with three to four digits that mean something.

    >>> number(31234.5), number(14.06), number(0.01234)
    ('31,234', '14.1', '0.0123')
    """
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share of them lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown CPU"


def _file_system(path: Path) -> str:
    """Return the kind of file system that holds a path; a figure of tmpfs says nothing of disks."""
    best, kind = "", "an unknown file system"
    try:
        mounts = Path("/proc/mounts").read_text().splitlines()
    except OSError:
        return kind
    for mount in mounts:
        _, point, name, *_ = mount.split()
        if len(point) > len(best) and path.resolve().is_relative_to(point):
            best, kind = point, name
    return kind
