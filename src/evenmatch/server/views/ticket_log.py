"""Logs one line for each event of a ticket's life, with the ticket's id.

    {"event":"ticket","ticket":"s0-7","state":"matched","match":"s0-m3","queue":"duel", ...}

The ids are in quotes, so `grep '"s0-7"'` finds one ticket and no other, and `grep '"ada"'` all of a
player's. Under a secret the ids of players are hashed. Lines hold no attributes. They are made on
the event loop, from durable records only, and written by a thread: who reads the log slowly holds
up nobody. Lines beyond the limits are counted, not kept.
"""

from __future__ import annotations

import atexit
import hmac
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import IO

import msgspec

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.engine.state.state import players_of
from evenmatch.model.events import (
    Accepted,
    Assigned,
    Cancelled,
    Confirmed,
    Dissolved,
    Event,
    Expired,
    LeftQueue,
    Matched,
    Proposed,
    Repaired,
    Updated,
    Voided,
)

PENDING_MAX = 50_000
"""Lines that wait to be written; more are left out."""
HASH_DIGITS = 20
"""Hexadecimal digits of a hashed id: 80 bits."""
PAUSE = 0.05
"""Seconds for which the thread lets lines gather."""


class LogLine(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What a line says; `at` is engine time, `record` the number in the journal."""

    event: str
    ticket: str
    state: str
    at: float
    record: int
    timestamp: str
    match: str | None = None
    queue: str | None = None
    reason: str | None = None
    players: tuple[str, ...] = ()


class LeftOut(msgspec.Struct, frozen=True, gc=False):
    """How many lines were left out because there were too many."""

    event: str
    count: int
    timestamp: str


def hashed(player: str, secret: bytes) -> str:
    """Return the pseudonym of a player in the log: always the same under one secret.

    >>> hashed("ada", b"a secret of this server")
    '77d88a8cc7826e932f80'
    """
    return hmac.digest(secret, player.encode(), "sha256").hex()[:HASH_DIGITS]


Facts = tuple[str, str, str | None, str | None, str | None]
"""Ticket, state, match, queue, reason."""


class TicketLog:
    """Writes what durable records did to tickets.

    Args:
        lines_max: Lines a second.
        file: Where to write.
        clock: Seconds, for the limit.
        secret: Under which ids of players are hashed; None writes them as they are.
    """

    def __init__(
        self,
        lines_max: int,
        *,
        file: IO[bytes] | None = None,
        clock: Callable[[], float] = time.monotonic,
        secret: bytes | None = None,
    ) -> None:
        self._lines_max = lines_max
        self._file = file
        self._clock = clock
        self._secret = secret
        self._second = 0
        self._count = 0
        self._left_out = 0
        self._pending: deque[bytes] = deque()
        self._encode = msgspec.json.Encoder().encode
        self._engine: Engine | None = None
        self._has_work = threading.Event()
        self._writing = threading.Lock()
        self._thread: threading.Thread | None = None

    def reset(self, engine: Engine) -> None:
        """Go on with this engine; nothing is logged twice."""
        self._engine = engine

    def hear(self, record: Record) -> None:
        """Format the lines of a durable record."""
        facts = [each for event in record.events for each in self._facts(event)]
        if not facts:
            return
        stamp = datetime.now(UTC).isoformat()
        self._begin_second(stamp)
        at, sequence = record.input.now, record.sequence
        for ticket, state, match, queue, reason in facts:
            if self._count >= self._lines_max or len(self._pending) >= PENDING_MAX:
                self._left_out += 1
                continue
            self._count += 1
            players = self._players(ticket)
            line = LogLine(
                "ticket", ticket, state, at, sequence, stamp, match, queue, reason, players
            )
            self._pending.append(self._encode(line))
        self._wake()

    def flush(self) -> None:
        """Write what is pending."""
        with self._writing:
            lines = [self._pending.popleft() for _ in range(len(self._pending))]
            if lines:
                file = self._file or sys.stderr.buffer
                try:
                    file.write(b"\n".join(lines) + b"\n")
                    file.flush()
                except (OSError, ValueError):
                    # Nobody reads the log any more; the server goes on.
                    self._left_out += len(lines)

    def _facts(self, event: Event) -> Iterator[Facts]:
        """Yield what an event says of tickets."""
        kind = type(event)
        if isinstance(event, Accepted):
            yield event.ticket, "created", None, None, None
        elif isinstance(event, Matched | Proposed):
            state = "matched" if kind is Matched else "proposed"
            for ticket in event.match.tickets:
                yield ticket, state, event.match.id, event.match.queue, None
        elif isinstance(event, Repaired):
            for ticket in event.match.tickets:
                state = "proposed" if ticket in event.joined else "repaired"
                yield ticket, state, event.match.id, event.match.queue, None
        elif isinstance(event, Confirmed):
            yield event.ticket, "accepted", event.match, None, None
        elif isinstance(event, Dissolved):
            for ticket in event.tickets:
                yield ticket, "waiting", event.match, None, event.reason
        elif isinstance(event, Voided):
            for each in event.tickets:
                yield each.id, "waiting", event.match, None, event.reason
        elif isinstance(event, Cancelled):
            yield event.ticket, "cancelled", event.match, None, event.reason
        elif isinstance(event, Expired):
            yield event.ticket, "expired", None, None, event.reason
        elif isinstance(event, LeftQueue):
            yield event.ticket, "left_queue", None, event.queue, None
        elif isinstance(event, Updated):
            yield event.ticket, "updated", None, None, None
        elif isinstance(event, Assigned):
            yield from self._assigned(event.match)

    def _assigned(self, match: str) -> Iterator[Facts]:
        kept_match = None if self._engine is None else self._engine.tables.matches.get(match)
        for ticket in () if kept_match is None else kept_match.match.tickets:
            yield ticket, "assigned", match, None, None

    def _players(self, ticket: str) -> tuple[str, ...]:
        """Return the players of a ticket as lines name them; none if it is kept no longer."""
        if self._engine is None or not self._engine.tables.knows(ticket):
            return ()
        players = players_of(self._engine.tables, ticket)
        if self._secret is None:
            return players
        return tuple([hashed(player, self._secret) for player in players])

    def _begin_second(self, stamp: str) -> None:
        second = int(self._clock())
        if second == self._second:
            return
        self._second, self._count = second, 0
        if self._left_out:
            self._pending.append(self._encode(LeftOut("ticket_lines", self._left_out, stamp)))
            self._left_out = 0

    def _wake(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._write, name="ticket-log", daemon=True)
            self._thread.start()
            atexit.register(self.flush)
        self._has_work.set()

    def _write(self) -> None:
        while True:
            self._has_work.wait()
            self._has_work.clear()
            time.sleep(PAUSE)
            self.flush()
