"""`evenmatch serve` with a watch on its event loop, and with shorter memory if that is asked for.

A server keeps ended tickets for ten minutes and matches for a day or 100,000 of them: while these
tables fill, memory grows because it must. To see within half an hour whether it grows for any other
reason, the bounds are made so small here that all tables are full after a few minutes; nothing
else differs from the command.

The watch asks to be woken every 10 ms. Being late says how long the loop was not free; the most of
that which the loop's own thread can have computed, by its CPU clock, says whether the server was to
blame or a machine that had others to serve. Benches that look at a part of the run ask for each
pause with its instant as well. A watch takes 1.5 % of a processor, so it is only there if a file is
named for it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
import tracemalloc
from pathlib import Path

import msgspec

from evenmatch.cli.main import main
from evenmatch.engine.state import reducers as forgetting
from evenmatch.engine.state import rows
from evenmatch.engine.state import state as tables
from evenmatch.server.runtime import serve as server_process

EVERY = 0.01
WRITE_EVERY = 10.0
TRACE_EVERY = 45.0
WATCH_NAME = "EVENMATCH_LOAD_WATCH"
KEEP_NAME = "EVENMATCH_LOAD_KEEP"
TRACE_NAME = "EVENMATCH_LOAD_TRACE"
PAUSES_NAME = "EVENMATCH_LOAD_PAUSES"
PAUSE_LEAST = 0.003
"""Shorter ones are not noted one by one, s."""
PAUSES_MOST = 200_000


class Pauses(msgspec.Struct):
    """What the watch has seen so far; seconds. Each list has the late wake-ups of a minute."""

    wakes: int = 0
    late_total: float = 0.0
    late_max: float = 0.0
    busy_max: float = 0.0
    late: list[float] = []
    busy: list[float] = []
    by_minute: list[dict[str, float]] = []

    def note(self, late: float, busy: float) -> None:
        self.wakes += 1
        self.late_total += late
        self.late_max = max(self.late_max, late)
        self.busy_max = max(self.busy_max, busy)
        self.late.append(late)
        self.busy.append(busy)

    def end_minute(self) -> None:
        for values in (self.late, self.busy):
            values.sort()
        self.by_minute.append(
            {
                "wakes": len(self.late),
                "late_mean": sum(self.late) / max(1, len(self.late)),
                "late_p99": _at(self.late, 0.99),
                "late_max": _at(self.late, 1.0),
                "busy_p99": _at(self.busy, 0.99),
                "busy_p999": _at(self.busy, 0.999),
                "busy_max": _at(self.busy, 1.0),
            }
        )
        self.late.clear()
        self.busy.clear()


class Watch:
    """Measures how late the loop wakes, and writes it into a file.

    `long` has each wake-up that was late by `PAUSE_LEAST` or more: when it was on the clock that
    all processes share, how late, and how much of that the loop's thread computed at the most.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, path: Path, trace: Path | None) -> None:
        self.long: list[tuple[float, float, float]] = []
        self._loop = loop
        self._path = path
        self._trace = trace
        self._pauses = Pauses()
        self._before: tracemalloc.Snapshot | None = None

    def begin(self) -> None:
        now = self._loop.time()
        self._due, self._cpu = now + EVERY, time.thread_time()
        self._write_at, self._minute_at = now + WRITE_EVERY, now + 60.0
        self._trace_at = now + TRACE_EVERY
        self._loop.call_later(EVERY, self._wake)

    def _wake(self) -> None:
        now, cpu = self._loop.time(), time.thread_time()
        late = max(0.0, now - self._due)
        busy = min(late, cpu - self._cpu)
        self._pauses.note(late, busy)
        if late >= PAUSE_LEAST and len(self.long) < PAUSES_MOST:
            self.long.append((time.monotonic(), late, busy))
        if now >= self._minute_at:
            self._minute_at += 60.0
            self._pauses.end_minute()
        if now >= self._write_at:
            self._write_at = now + WRITE_EVERY
            self._path.write_bytes(msgspec.json.encode(self._pauses.by_minute))
        if self._trace is not None and now >= self._trace_at:
            self._trace_at = now + TRACE_EVERY
            self._compare()
        self._due, self._cpu = self._loop.time() + EVERY, time.thread_time()
        self._loop.call_later(EVERY, self._wake)

    def _compare(self) -> None:
        assert self._trace is not None
        present = tracemalloc.take_snapshot()
        if self._before is not None:
            with self._trace.open("a") as file:
                file.write(f"after {time.monotonic():.0f} s\n")
                for each in present.compare_to(self._before, "lineno")[:25]:
                    file.write(f"  {each}\n")
        self._before = present


def _at(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def forget_sooner(seconds: float, most: int) -> None:
    """Keep ended tickets for so many seconds, and so many matches."""
    for module in (rows, tables, forgetting):
        module.KEEP_ENDED = seconds  # type: ignore[attr-defined]
    forgetting.KEEP_MATCHES_MOST = most
    forgetting.KEEP_PENALTIES = seconds
    forgetting.FORGET_EVERY = 2.0


def run() -> int:
    """Serve, watched if a file is named for that."""
    path, trace = os.environ.get(WATCH_NAME), os.environ.get(TRACE_NAME)
    if keep := os.environ.get(KEEP_NAME):
        seconds, _, most = keep.partition(",")
        forget_sooner(float(seconds), int(most))
    if path is None:
        return main(sys.argv[1:])
    if trace is not None:
        tracemalloc.start(1)
    inner = server_process._loop_factory()
    watches: list[Watch] = []

    def watched() -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop() if inner is None else inner()
        watch = Watch(loop, Path(path), None if trace is None else Path(trace))
        watches.append(watch)
        loop.call_soon(watch.begin)
        return loop

    server_process._loop_factory = lambda: watched
    try:
        return main(sys.argv[1:])
    finally:
        if out := os.environ.get(PAUSES_NAME):
            Path(out).write_bytes(msgspec.json.encode([each.long for each in watches]))


if __name__ == "__main__":
    sys.exit(run())
