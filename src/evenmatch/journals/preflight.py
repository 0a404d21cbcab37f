"""A look at a journal that changes none of its files, before SQLite may.

SQLite takes a write-ahead log with a damaged frame for a shorter one, and whoever opens and
closes the journal moves the rest into `journal.db` and deletes the log. With that goes what an
expert could still have saved. So after an unclean end the journal is judged first through a
second name for its file, a copy of its log, and a connection that may only read.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

ATTEMPTS = 3
"""Looks at a journal that another process writes to meanwhile."""


def look(path: Path, judge: Callable[[sqlite3.Connection], None]) -> None:
    """Judge a journal whose log was left behind; without a log nothing is at stake.

    Args:
        path: The journal.
        judge: Raises what is wrong with it.
    """
    for _ in range(ATTEMPTS):
        before = _state(path)
        if not before[1]:
            return
        try:
            _look_once(path, judge)
        except OSError:
            # No room or no right for a second name: opening it will say so, if it matters.
            return
        except Exception:
            # A look at files that changed meanwhile says nothing about the journal.
            if _state(path) == before:
                raise
        else:
            return


def _look_once(path: Path, judge: Callable[[sqlite3.Connection], None]) -> None:
    with TemporaryDirectory(dir=path.parent, prefix=f"{path.name}-look-") as folder:
        other = Path(folder).resolve() / path.name
        # Not a copy: it may be large, and closing a second descriptor of the file would release
        # the locks that SQLite holds on it in this process.
        os.link(path, other)
        shutil.copyfile(_log(path), _log(other))
        connection = sqlite3.connect(f"{other.as_uri()}?mode=ro", uri=True, isolation_level=None)
        try:
            judge(connection)
        finally:
            connection.close()


def _log(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _state(path: Path) -> tuple[tuple[int, int], tuple[int, int] | None]:
    """Return size and time of change of the journal, and of its log, None if it is empty."""
    states = []
    for each in (path, _log(path)):
        try:
            found = each.stat()
        except OSError:
            states.append((0, 0))
        else:
            states.append((found.st_size, found.st_mtime_ns))
    return states[0], states[1] if states[1][0] else None
