"""The server's log: lines of JSON on standard error.

Where a process has several games, or a node several shards, the lines of each name theirs: what a
game starts is started within `lines_about`, and what requests and signals reach in it is made there
and writes to `log_from_here`.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TextIO, cast

import structlog
from structlog.typing import FilteringBoundLogger

from evenmatch.engine.engine import Engine
from evenmatch.errors import PolicyError


class LineWriter:
    """Writes lines to a file; what cannot be written is lost, and counted.

    The log is often on the disk that is full, or goes to a program that has ended. A server that
    failed for that reason would fail just when it has something to tell.

    Args:
        file: Where lines go.
    """

    def __init__(self, file: TextIO) -> None:
        self._lines = structlog.PrintLogger(file)
        self._lock = threading.Lock()
        self._lost = 0

    def msg(self, line: str) -> None:
        """Write a line; after some that failed, say how many those were."""
        try:
            self._lines.msg(line)
        except (OSError, ValueError):  # full, without a reader, or closed
            with self._lock:
                self._lost += 1
            return
        with self._lock:
            lost, self._lost = self._lost, 0
        if lost:
            log.warning("log_lines_lost", lines_at_most=lost)
            with self._lock:
                # That line is lost too, and with it the number that it told.
                self._lost += lost if self._lost else 0

    debug = info = warning = error = critical = msg


log = cast(
    "FilteringBoundLogger",
    structlog.wrap_logger(
        LineWriter(sys.stderr),
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
    ),
)


def lines_about(**names: str) -> AbstractContextManager[None]:
    """Return a context within which lines, also those of tasks that are begun, have these names.

    Empty ones are left out.
    """
    kept = {key: name for key, name in names.items() if name}
    return cast("AbstractContextManager[None]", structlog.contextvars.bound_contextvars(**kept))


def log_from_here() -> FilteringBoundLogger:
    """Return the log with the names of this context, for what is made here and asked elsewhere.

    A request or a signal knows neither game nor shard.
    """
    return log.bind(**structlog.contextvars.get_contextvars())


class FaultLog:
    """Logs faults of policies, each one once."""

    def __init__(self) -> None:
        self._known: list[PolicyError] = []

    def forget(self) -> None:
        """Log every fault again: the matchers are new."""
        self._known = []

    def tell(self, engine: Engine) -> None:
        """Log the faults since the last call."""
        known, self._known = self._known, engine.faults
        for fault in self._known:
            if fault not in known:
                what = "its queue makes no match"
                log.error(
                    "policy_fault",
                    shard=engine.shard,
                    fault=str(fault),
                    consequence=what,
                    exc_info=fault.__cause__,
                )


# What libraries have to say, as lines of the same log.
#
# Anybody who reaches the server may make its libraries complain, of a request that is no HTTP or
# of a text that is none; the same complaint is told once a minute, with how often it came.

TELL_EVERY = 60.0
"""Seconds in which a complaint is told once."""
KINDS_MOST = 200
"""Kinds of complaints that are told apart; beyond, the oldest is forgotten."""


ADDRESS = re.compile(r"0x[0-9a-f]+")
"""What tells objects apart in the messages of libraries, not kinds of messages."""


class Relay(logging.Handler):
    """Writes what libraries log at `WARNING` or above.

    Args:
        clock: Seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(logging.WARNING)
        self._clock = clock
        # When each kind was told last, and how often it came since.
        self._told: dict[tuple[str, str, str], tuple[float, int]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Tell of a record, or count it."""
        error = record.exc_info[1] if record.exc_info else None
        kind = (record.name, ADDRESS.sub("", str(record.msg)), type(error).__name__)
        now = self._clock()
        at, missed = self._told.pop(kind, (-TELL_EVERY, 0))
        if now - at < TELL_EVERY:
            self._told[kind] = (at, missed + 1)
            return
        if len(self._told) >= KINDS_MOST:
            del self._told[next(iter(self._told))]
        self._told[kind] = (now, 0)
        tell = log.error if record.levelno >= logging.ERROR else log.warning
        tell(
            "library",
            logger=record.name,
            text=record.getMessage(),
            times=missed + 1,
            exc_info=error,
        )


def relay_libraries() -> None:
    """Send the log messages of libraries to the log, instead of plain text on standard error."""
    root = logging.getLogger()
    if not any(isinstance(each, Relay) for each in root.handlers):
        root.addHandler(Relay())
