"""What waiting tickets weigh, how long the collector stops the engine, how long recovery takes.

Each figure comes from a process of its own (`memory_child`), so that nothing is measured but the
engine, and nothing is left over from other benches.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from tests.bench.processes import ask
from tests.bench.report import Row, Setting

WAITING, CHANGES = 100_000, 20_000
QUICK_SHARE = 5
CHILD_SECONDS = 120.0


def run(setting: Setting) -> Iterator[Row]:
    share = QUICK_SHARE if setting.quick else 1
    repetitions = 1 if setting.quick else 3
    waiting, changes = WAITING // share, CHANGES // share
    rss = [_child("rss", waiting, changes) for _ in range(repetitions)]
    traced = _child("tracemalloc", waiting, 0)
    crowd = f"{waiting:,} waiting tickets"
    yield _row("memory of a waiting ticket, RSS", rss, "bytes", "B", "<= 2,048", crowd)
    yield _row("memory of a waiting ticket, tracemalloc", [traced], "bytes", "B", "<= 2,048", crowd)
    yield _row("longest collection while they enter", rss, "pause_enter", "ms", "<= 20", crowd)
    yield _row(
        "longest collection after that",
        rss,
        "pause_change",
        "ms",
        "<= 20",
        f"{changes:,} more enter, every second one cancels",
    )
    yield _row("collections of the oldest generation", rss, "full", "", "", "by themselves")
    yield _row("a full collection, forced", rss, "pause_full", "ms", "", "at the end")
    journal = str(setting.data / "recovery")
    stored = _child("store", waiting, 0, journal)
    found = [_child("recover", waiting, 0, journal) for _ in range(repetitions)]
    note = f"{crowd}, half in the snapshot, half as {stored['tail']:,.0f} records after it"
    yield _row("recovery until the first decision", found, "seconds", "s", "<= 5", note)
    yield _row("recovery, CPU time of all threads", found, "cpu", "s", "", "")


def _row(
    name: str, answers: list[dict[str, float]], key: str, unit: str, aim: str, note: str
) -> Row:
    return Row(name, tuple(answer[key] for answer in answers), unit, aim, note)


def _child(mode: str, waiting: int, changes: int, journal: str = "") -> dict[str, float]:
    arguments = [mode, str(waiting), str(changes), journal]
    return ask([sys.executable, "-m", "tests.bench.memory_child", *arguments], CHILD_SECONDS)
