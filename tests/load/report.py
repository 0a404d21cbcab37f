"""The figures of a run, and how they are shown."""

from __future__ import annotations

import os
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from rich.console import Console
from rich.table import Table

from tests.bench.processes import cpu_seconds
from tests.bench.report import percentile

if TYPE_CHECKING:
    from tests.load.crowd import Crowd
from tests.load.nodes import JournalLimit

GROWTH_FROM = 10
"""The minute whose memory is compared with the last one's: by then nearly every player of the crowd
has a stored rating, and whatever is kept for a few minutes is all there."""
VIOLATIONS = "evenmatch_invariant_violations{"
EXPECTED = frozenset({200, 201, 403, 404, 409, 410})
"""409 and 410 tell who came too late or cools down, 403 whose seat another one has, 404 and 410
what is forgotten early here."""


class Sample(msgspec.Struct):
    """The server at one moment; bytes and seconds."""

    at: float
    resident: int
    anonymous: int
    cpu: float
    tickets: int
    waiting_requests: int
    load: float


class Figures(msgspec.Struct):
    """All that a run has shown."""

    rate: float
    minutes: float
    keep: str
    seconds: float = 0.0
    samples: list[Sample] = []
    requests: list[dict[str, Any]] = []
    latencies: list[dict[str, Any]] = []
    refused: dict[str, str] = {}
    metrics: dict[str, float] = {}
    violations_max: float = 0.0
    metrics_read: int = 0
    tickets: dict[str, int] = {}
    wrong: dict[str, int] = {}
    problems: dict[str, int] = {}
    pauses: list[dict[str, float]] = []
    by_minute: list[dict[str, float]] = []
    growth: float | None = None
    held_back: int = 0
    sockets_lost: int = 0
    exit_code: int = 0
    log_errors: list[str] = []
    journal: str = "sqlite"
    journal_limit: list[JournalLimit] = []
    node_cpu: dict[str, float] = {}

    def sample(self, pid: int, at: float, crowd: Crowd) -> None:
        """Note the server's memory."""
        status = Path(f"/proc/{pid}/status").read_text()
        sizes = {
            line.partition(":")[0]: int(line.split()[1]) * 1024
            for line in status.splitlines()
            if line.startswith(("VmRSS", "RssAnon"))
        }
        self.samples.append(
            Sample(
                at,
                sizes["VmRSS"],
                sizes["RssAnon"],
                cpu_seconds(pid),
                len(crowd.ledger.states),
                len(crowd.pool.waiting),
                os.getloadavg()[0],
            )
        )

    def heard_metrics(self, status: int, body: bytes) -> None:
        """Note the invariants of a look at the metrics."""
        if status == 200:
            self.read_metrics(body.decode())

    def read_metrics(self, text: str) -> None:
        """Keep the figures without buckets; the worst of the invariants is never forgotten."""
        self.metrics_read += 1
        self.metrics = {
            name: float(value)
            for name, _, value in (line.rpartition(" ") for line in text.splitlines())
            if name and not name.startswith("#") and "_bucket" not in name and "python_" not in name
        }
        violated = [value for name, value in self.metrics.items() if name.startswith(VIOLATIONS)]
        self.violations_max = max(self.violations_max, *violated)

    def read_watch(self, path: Path) -> None:
        """Take over what the watch in the server has seen."""
        if path.exists():
            self.pauses = msgspec.json.decode(path.read_bytes())

    def conclude(self, crowd: Crowd) -> None:
        """Add up what clients saw."""
        pool, ledger = crowd.pool, crowd.ledger
        self.requests = [
            {"route": route, "status": status, "count": count}
            for (route, status), count in sorted(pool.statuses.items())
        ]
        self.refused = {f"{r} {s}": b.decode() for (r, s), b in pool.refused.items()}
        self.latencies = [
            {"route": route, **{f"p{p}": percentile(each, p / 100) for p in (50, 90, 99, 100)}}
            for route, each in sorted(pool.seconds.items())
        ]
        for state in ledger.states.values():
            self.tickets[state] = self.tickets.get(state, 0) + 1
        self.tickets["created"] = len(ledger.states)
        self.tickets["in matches"] = len(ledger.match_of)
        self.tickets["matches"] = len(ledger.matches)
        self.tickets["fills of running matches"] = crowd.fills
        self.tickets["lost"] = len(ledger.live())
        self.wrong = dict(ledger.wrong)
        self.problems, self.held_back = crowd.problems, crowd.held_back
        self.sockets_lost = crowd.sockets_lost
        self._by_minute()

    def _by_minute(self) -> None:
        before: Sample | None = None
        for minute in range(int(self.minutes)):
            within = [each for each in self.samples if minute * 60 <= each.at < minute * 60 + 60]
            if not within:
                continue
            first = before or within[0]
            last = within[-1]
            seconds = max(1e-9, last.at - first.at)
            self.by_minute.append(
                {
                    "minute": minute + 1,
                    "resident": statistics.median(each.resident for each in within),
                    "anonymous": statistics.median(each.anonymous for each in within),
                    "cpu": (last.cpu - first.cpu) / seconds,
                    "rate": (last.tickets - first.tickets) / seconds,
                    "load": last.load,
                }
            )
            before = last
        if len(self.by_minute) > GROWTH_FROM:
            start = self.by_minute[GROWTH_FROM - 1]["resident"]
            self.growth = self.by_minute[-1]["resident"] / start - 1.0

    @property
    def failed(self) -> list[dict[str, Any]]:
        """Return the answers that there may not be."""
        return [each for each in self.requests if each["status"] not in EXPECTED]

    @property
    def is_well(self) -> bool:
        """Return whether nothing failed, nothing was lost and no invariant was broken."""
        return not (
            self.failed
            or self.wrong
            or self.tickets["lost"]
            or self.violations_max
            or self.log_errors
            or self.exit_code
        )


def show(console: Console, figures: Figures) -> None:
    """Print the tables."""
    routes = Table(title="Requests, seconds", title_justify="left")
    routes.add_column("route", no_wrap=True)
    for name in ("statuses", "p50", "p90", "p99", "max"):
        routes.add_column(name)
    for each in figures.latencies:
        counts = ", ".join(
            f"{one['status']}: {one['count']:,}"
            for one in figures.requests
            if one["route"] == each["route"]
        )
        times = (f"{each[key]:.3f}" for key in ("p50", "p90", "p99", "p100"))
        routes.add_row(each["route"], counts, *times)
    console.print(routes)
    console.print(_minutes(figures))
    pairs = {**figures.tickets, **figures.wrong}
    console.print("Tickets: " + ", ".join(f"{name} {count:,}" for name, count in pairs.items()))
    console.print(f"Refused first: {figures.refused}", markup=False)
    console.print(_journal(figures))
    growth = "none: too short" if figures.growth is None else f"{100 * figures.growth:+.2f} %"
    console.print(
        f"Memory, minute {GROWTH_FROM} to the last: {growth} (kept: {figures.keep}); worst "
        f"invariant counter {figures.violations_max:g} in {figures.metrics_read} looks; "
        f"{figures.held_back:,} newcomers stayed away from a busy server; problems of streams "
        f"{figures.problems}; sockets lost {figures.sockets_lost}; exit {figures.exit_code}"
    )
    for line in figures.log_errors:
        console.print(line, markup=False)
    console.print("All is well." if figures.is_well else "Something is wrong.")


def _journal(figures: Figures) -> str:
    """Return what a ticket cost the nodes, and what the journal alone takes."""
    created = max(1, figures.tickets["created"])
    nodes = ", ".join(
        f"{name} {1e3 * seconds / created:.2f} ms" for name, seconds in figures.node_cpu.items()
    )
    whole = 1e3 * sum(figures.node_cpu.values()) / created
    alone = "; ".join(
        f"{each.records:,.0f} records/s in appends of {each.size} "
        f"(p50 {1e3 * each.p50:.1f}, p99 {1e3 * each.p99:.1f} ms)"
        for each in figures.journal_limit
    )
    return (
        f"Processor time a ticket: {whole:.2f} ms ({nodes}). Journal {figures.journal}, alone and "
        f"from one writer: {alone}"
    )


def _minutes(figures: Figures) -> Table:
    table = Table(title="The server by minute", title_justify="left")
    for name in ("minute", "tickets/s", "MB", "MB anon", "cores", "load", "pause mean",
                 "p99", "max", "own p99", "own max"):  # fmt: skip
        table.add_column(name, justify="right")
    for at, each in enumerate(figures.by_minute):
        pause = figures.pauses[at] if at < len(figures.pauses) else {}
        keys = ("late_mean", "late_p99", "late_max", "busy_p99", "busy_max")
        table.add_row(
            f"{each['minute']:.0f}",
            f"{each['rate']:.0f}",
            f"{each['resident'] / 1e6:.1f}",
            f"{each['anonymous'] / 1e6:.1f}",
            f"{each['cpu']:.2f}",
            f"{each['load']:.1f}",
            *(f"{1e3 * pause[key]:.1f} ms" if key in pause else "" for key in keys),
        )
    return table
