"""Runs first in a server that a test spoils from inside; `tests.integration.kill_points` asks so.

`EVENMATCH_KILL_POINT=POINT:N` ends the process, as `kill -9` does, at the Nth time it gets to
POINT. `EVENMATCH_MUTANT=acknowledge_first` makes a server that answers before it writes.
"""

import os
import sqlite3
import time
from typing import Any

POINT, _, _countdown = os.environ.get("EVENMATCH_KILL_POINT", "outside:0").partition(":")
LAST_WORDS = 0.15
"""Seconds before a kill that comes before COMMIT: time for a wrong answer to reach the client."""
COMMIT_SECONDS = 0.002
"""Seconds added to each commit, so that a kill from outside often falls into one."""


class Killer:
    def __init__(self, countdown: int) -> None:
        self.countdown = countdown

    def reach(self, point: str, *, seconds: float = 0.0) -> None:
        """Count an arrival at a point; at the last one, wait and end the process."""
        if point != POINT:
            return
        self.countdown -= 1
        if self.countdown <= 0:
            time.sleep(seconds)
            os.kill(os.getpid(), 9)


KILLER = Killer(int(_countdown))


class Connection(sqlite3.Connection):
    """A connection that notices what the transaction under way is for."""

    purpose = ""
    appends = 0

    def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:
        if sql == "BEGIN IMMEDIATE":
            self.purpose = ""
            # The first appends are those of a start, before which nobody was answered.
            if self.appends:
                KILLER.reach("before_begin", seconds=LAST_WORDS)
        elif sql == "COMMIT" and self.purpose == "append":
            return self._commit_append(sql)
        found = super().execute(sql, *given)
        if "INTO snapshots" in sql:
            KILLER.reach("snapshot")
        return found

    def executemany(self, sql: str, *given: Any) -> sqlite3.Cursor:
        found = super().executemany(sql, *given)
        if "INTO records" in sql:
            self.purpose = "append"
        return found

    def _commit_append(self, sql: str) -> sqlite3.Cursor:
        time.sleep(COMMIT_SECONDS)
        KILLER.reach("before_commit", seconds=LAST_WORDS)
        found = super().execute(sql)
        self.appends += 1
        KILLER.reach("after_commit")
        return found


_connect = sqlite3.connect


def connect(*args: Any, **options: Any) -> sqlite3.Connection:
    return _connect(*args, factory=Connection, **options)


sqlite3.connect = connect  # type: ignore[assignment]

if os.environ.get("EVENMATCH_MUTANT") == "acknowledge_first":
    from evenmatch.server.runtime.runtime import Runtime

    _commit = Runtime._commit

    async def commit(self: Runtime, records: list[Any]) -> None:
        self._execute(self.shard.acknowledge(records[-1].sequence))
        await _commit(self, records)

    Runtime._commit = commit  # type: ignore[method-assign]
