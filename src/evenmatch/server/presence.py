"""Who is still there: tickets of clients that fall silent are taken back.

Where a queue sets `silent_after`, a waiting ticket needs a heartbeat, or an open stream or long
poll that follows it, at least that often. When the last sign of life was is kept in memory only and
is no input; what is journalled is the cancel that follows from it. So after a restart, and after a
rebuild, everybody has the whole time once more.

A herd that falls silent at once is cancelled in slices, so that the others are served meanwhile.
"""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from functools import partial
from time import perf_counter

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.engine.shard import Answer
from evenmatch.errors import JournalUnavailable, Overloaded
from evenmatch.model.events import (
    Accepted,
    Cancelled,
    Configured,
    Expired,
    LeftQueue,
    Matched,
    Voided,
)
from evenmatch.model.inputs import Cancel
from evenmatch.server.followers import TicketFeed
from evenmatch.server.logs import log
from evenmatch.server.runtime import Runtime

SLICE_SECONDS = 0.005
"""How long tickets are cancelled before the loop serves others."""
PAUSE_SECONDS = 0.005
"""What a slice leaves to others before the next one."""
SLEEP_MOST = 60.0
"""Longest time between two looks, seconds."""
SILENT = "silent"


class Presence:
    """The last sign of life of each ticket that must give some.

    Args:
        tickets: Knows who follows which ticket now.
    """

    def __init__(self, tickets: TicketFeed) -> None:
        self._tickets = tickets
        # Whoever closes his stream has the whole time from then on.
        tickets.left = self.seen
        self._runtime: Runtime | None = None
        self._engine: Engine | None = None
        # By allowed silence: tickets in the order of their last sign of life.
        self._seen: dict[float, OrderedDict[str, float]] = {}
        self._allowed: dict[str, float] = {}
        self._limits: dict[str, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf
        self.cancelled = 0

    def __len__(self) -> int:
        """Return how many tickets must give signs of life."""
        return len(self._allowed)

    def begin(self, runtime: Runtime) -> None:
        """Cancel through this runtime; before that, signs of life are only noted."""
        self._runtime = runtime

    def close(self) -> None:
        """Cancel nobody any more."""
        self._disarm()
        self._runtime = None

    # Records

    def reset(self, engine: Engine) -> None:
        """Begin anew: everybody who waits has the whole time once more."""
        self._engine = engine
        self._limits = _limits_of(engine)
        self._seen.clear()
        self._allowed.clear()
        for ticket_id in engine.tables.waiting:
            self._expect(ticket_id)
        self._arm()

    def hear(self, record: Record) -> None:
        """Expect signs of life from new tickets, and none from those that ended."""
        for event in record.events:
            if isinstance(event, Accepted):
                self._expect(event.ticket)
            elif isinstance(event, Matched):
                for ticket_id in event.match.tickets:
                    self._dismiss(ticket_id)
            elif isinstance(event, Voided):
                for ticket in event.tickets:
                    self._expect(ticket.id)
            elif isinstance(event, Cancelled | Expired):
                self._dismiss(event.ticket)
            elif isinstance(event, LeftQueue):
                self._dismiss(event.ticket)
                self._expect(event.ticket)
            elif isinstance(event, Configured):
                self._reconfigure()
        self._arm()

    def seen(self, ticket_id: str) -> None:
        """Note a sign of life."""
        allowed = self._allowed.get(ticket_id)
        if allowed is not None:
            line = self._seen[allowed]
            line[ticket_id] = self._now()
            line.move_to_end(ticket_id)

    def _reconfigure(self) -> None:
        """Begin anew where other silences are allowed; a paused queue changes nothing here."""
        assert self._engine is not None
        if self._limits != _limits_of(self._engine):
            self.reset(self._engine)

    def _expect(self, ticket_id: str) -> None:
        assert self._engine is not None
        row = self._engine.tables.waiting.get(ticket_id)
        # Memory may be ahead of what is durable: a ticket that has ended since is not expected.
        queues = () if row is None else row.queues
        asked = [self._limits[name] for name in queues if name in self._limits]
        if asked:
            allowed = min(asked)
            self._allowed[ticket_id] = allowed
            self._seen.setdefault(allowed, OrderedDict())[ticket_id] = self._now()

    def _dismiss(self, ticket_id: str) -> None:
        allowed = self._allowed.pop(ticket_id, None)
        if allowed is not None:
            self._seen[allowed].pop(ticket_id, None)

    # Time

    def _now(self) -> float:
        if self._runtime is not None:
            return self._runtime.now()
        assert self._engine is not None
        return self._engine.tables.now

    def _due_at(self) -> float:
        """Return when the next ticket has been silent for too long; inf if none is watched."""
        return min(
            (next(iter(line.values())) + allowed for allowed, line in self._seen.items() if line),
            default=math.inf,
        )

    def _arm(self) -> None:
        if self._runtime is None:
            return
        at = self._due_at()
        if at == math.inf or (self._timer is not None and self._timer_at <= at):
            return
        self._disarm()
        delay = min(self._runtime.clock.delay(at), SLEEP_MOST)
        self._timer_at = at
        self._timer = asyncio.get_running_loop().call_later(delay, self._look)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        """Cancel who has been silent for too long, as many as a slice of time allows."""
        self._timer = None
        runtime = self._runtime
        # Where the shard has failed, everybody is expected anew when it is back.
        if runtime is None or runtime.failure is not None:
            return
        now, until, cancelled = runtime.now(), perf_counter() + SLICE_SECONDS, 0
        while perf_counter() < until and (ticket_id := self._take_due(now)) is not None:
            if self._is_excused(ticket_id):
                self._expect(ticket_id)
            else:
                cancelled += 1
                runtime.handle(
                    Cancel(runtime.now(), ticket_id, SILENT), partial(self._answered, ticket_id)
                )
        self.cancelled += cancelled
        if cancelled:
            log.info("silent_tickets_cancelled", count=cancelled)
        if self._due_at() <= now:
            self._timer_at = now
            self._timer = asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._look)
        else:
            self._arm()

    def _take_due(self, now: float) -> str | None:
        """Take out the next ticket that has been silent for too long, None if there is none."""
        for allowed, line in self._seen.items():
            if line and next(iter(line.values())) + allowed <= now:
                ticket_id, _ = line.popitem(last=False)
                del self._allowed[ticket_id]
                return ticket_id
        return None

    def _is_excused(self, ticket_id: str) -> bool:
        """Return whether a silent ticket may go on: somebody listens, or its answer is awaited."""
        assert self._engine is not None
        row = self._engine.tables.waiting.get(ticket_id)
        return self._tickets.is_followed(ticket_id) or (row is not None and row.match is not None)

    def _answered(self, ticket_id: str, answer: Answer) -> None:
        """Try again later where the server could not take the cancel."""
        if isinstance(answer.error, Overloaded | JournalUnavailable):
            self._expect(ticket_id)
            self._arm()


def _limits_of(engine: Engine) -> dict[str, float]:
    """Return the silence that queues allow, by name; those that allow any are left out."""
    queues = engine.tables.queues.values()
    return {each.name: each.silent_after for each in queues if each.silent_after is not None}
