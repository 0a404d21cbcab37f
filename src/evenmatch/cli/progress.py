"""A progress bar on standard error for work that takes longer than two seconds."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

DELAY = 2.0


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a bar after two seconds if standard error is a terminal.

    Args:
        what: A word or two.
        total: Number of steps; with one step there is no bar, only the time that passed.

    Yields:
        What to call after each step.
    """
    with _shown(what, total) as bar:
        yield (lambda: None) if bar is None else lambda: bar.advance(bar.task_ids[0])


@contextmanager
def saying(what: str) -> Iterator[Callable[[str], None]]:
    """Show after two seconds what goes on, and the time that passed.

    Args:
        what: A word or two.

    Yields:
        What to call with the latest news.
    """
    with _shown(what, 1) as bar:

        def say(news: str) -> None:
            if bar is not None:
                bar.update(bar.task_ids[0], description=f"{what}: {news}")

        yield say


@contextmanager
def _shown(what: str, total: int) -> Iterator[Progress | None]:
    """Show a bar on a terminal, after two seconds."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = [SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()]
    if total > 1:
        columns[2:2] = [BarColumn(), TextColumn("{task.completed:.0f} of {task.total:.0f}")]
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.add_task(what, total=total)
    timer = threading.Timer(DELAY, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield bar
    finally:
        timer.cancel()
        bar.stop()
