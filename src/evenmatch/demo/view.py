"""The demo in the terminal: a live table while it runs, a summary at its end."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from evenmatch.demo.ledger import DemoFigures, FigureSpread, RegionFigures, TicketLedger, spread

REFRESH = 0.25


class TerminalView:
    """Shows a run as it goes; outside a terminal it shows nothing.

    Args:
        console: Where to.
        seconds: Length of the run.
        title: What is shown.
    """

    def __init__(self, console: Console, seconds: float, title: str) -> None:
        self._progress = Progress(
            TextColumn(title),
            BarColumn(),
            TimeRemainingColumn(),
            console=console,
        )
        self._task = self._progress.add_task("", total=seconds)
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._is_shown = console.is_terminal
        self._began = time.monotonic()
        self._shown_at = 0.0

    def __enter__(self) -> TerminalView:
        """Begin to show."""
        if self._is_shown:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Show no more."""
        if self._is_shown:
            self._live.stop()

    def tell(self, ledger: TicketLedger) -> None:
        """Show what the client knows now, a few times a second at most."""
        now = time.monotonic()
        if not self._is_shown or now - self._shown_at < REFRESH:
            return
        self._shown_at = now
        ledger.measure()
        table = _table(ledger.matched, ledger.waiting, spread(ledger.waits), spread(ledger.gaps))
        regions = ledger.regions()
        if regions:
            table.add_row("quality", _mean(spread(ledger.qualities)))
        table.add_row("dashboard", ledger.url)
        self._progress.update(self._task, completed=now - self._began)
        shown = [_by_region(regions)] if regions else []
        self._live.update(Group(self._progress, table, *shown), refresh=True)


def print_address(console: Console, url: str) -> None:
    """Print where the dashboard is; nothing is opened."""
    console.print(f"\nDashboard:  [bold link={url}/]{url}/[/]\n", highlight=False)


def print_goodbye(console: Console, url: str) -> None:
    """Print that the demo goes on, and how it ends."""
    console.print(
        f"\nThe players come again and again, so that you can look around: "
        f"[bold link={url}/]{url}/[/]\nCtrl-C ends the demo.",
        highlight=False,
    )


def print_summary(console: Console, figures: DemoFigures) -> None:
    """Print what a run came to."""
    table = _table(figures.matched, figures.waiting, figures.wait, figures.rating_gap)
    if isinstance(figures.simulated, FigureSpread) and figures.simulated.mean is not None:
        simulated = f"the same players wait {figures.simulated.mean:,.1f} s on average"
        table.add_row("simulated", simulated)
    elif isinstance(figures.quality, FigureSpread):
        # A thousand players of five against five take about ten seconds of a processor.
        table.add_row(
            "simulated", "not run for teams, which would take too long here; see evenmatch simulate"
        )
    if isinstance(figures.quality, FigureSpread):
        table.add_row("quality", _mean(figures.quality))
    checks = figures.checks
    table.add_row(
        "ready-checks",
        f"{checks.proposed:,} matches proposed; {checks.failed:,} lost a player, of which "
        f"{checks.repaired:,} were repaired and played",
    )
    table.add_row(
        "who left",
        f"{checks.declined:,} tickets declined, {checks.silent:,} did not answer, "
        f"{checks.late:,} answered too late",
    )
    table.add_row("lost", str(figures.lost))
    table.add_row("matched twice", str(figures.duplicated))
    console.print(table)
    if isinstance(figures.regions, dict):
        console.print(_by_region(figures.regions))
    console.print(_who_came(figures), highlight=False)
    if isinstance(figures.note, str):
        console.print(f"Note: {figures.note}.", highlight=False)


def _who_came(figures: DemoFigures) -> str:
    """Return a sentence on the tickets that were taken and those that were not."""
    others = []
    if figures.merged:
        others.append(f"{figures.merged:,} came while their player was still waiting")
    if figures.checks.cooling:
        others.append(
            f"{figures.checks.cooling:,} were refused because their player had failed several "
            f"ready-checks"
        )
    more = f"; {' and '.join(others)}" if others else ""
    return f"{figures.tickets:,} tickets were taken{more}."


def _table(matched: int, waiting: int, wait: FigureSpread, gap: FigureSpread) -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2))
    table.add_row("matched", f"{matched:,} tickets")
    table.add_row("waiting", f"{waiting:,} tickets")
    table.add_row("wait", _words(wait, " s"))
    table.add_row("rating gap", _words(gap, " points"))
    return table


def _by_region(regions: dict[str, RegionFigures]) -> Table:
    table = Table(box=None, padding=(0, 2))
    table.add_column("players of")
    for words in ("matched", "wait, s", "95 % below", "quality"):
        table.add_column(words, justify="right")
    for region, figures in regions.items():
        cells = (figures.wait.mean, figures.wait.p95, figures.quality.mean)
        wait, most, quality = (0.0 if value is None else value for value in cells)
        table.add_row(
            region, f"{figures.players:,}", f"{wait:,.1f}", f"{most:,.1f}", f"{quality:.3f}"
        )
    return table


def _words(values: FigureSpread, unit: str) -> str:
    if values.mean is None or values.p50 is None or values.p95 is None:
        return "none yet"
    mean, p50, p95 = (f"{value:,.1f}{unit}" for value in (values.mean, values.p50, values.p95))
    return f"{mean} on average; half at most {p50}, 95 of 100 at most {p95}"


def _mean(values: FigureSpread) -> str:
    return "none yet" if values.mean is None else f"{values.mean:.3f} of 1 on average"
