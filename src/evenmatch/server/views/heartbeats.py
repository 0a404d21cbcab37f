"""Heartbeats: cancels the tickets of clients that have fallen silent.

Where a queue sets `silent_after`, a waiting ticket needs a heartbeat, or an open stream or long
poll that follows it, at least that often. When the last sign of life was is kept in memory only and
is no input; what is journalled is the cancel that follows from it. So after a restart, and after a
rebuild, everybody has the whole time once more, and at least `RETURN_SECONDS` to come back.

Instants here are those of `Runtime.attended`: time in which the event loop read no socket is
nobody's silence, since signs of life that were sent meanwhile are read late.

A herd that falls silent at once is cancelled in slices, so that the others are served meanwhile.
"""

from __future__ import annotations

import asyncio
import heapq
import math
from collections.abc import Collection
from functools import partial

import msgspec

from evenmatch.engine.engine import Engine
from evenmatch.engine.lifecycle import LifecycleView, MatchWithTickets
from evenmatch.engine.records import Record
from evenmatch.engine.shard import Answer
from evenmatch.engine.state.rows import LiveTicket
from evenmatch.errors import JournalUnavailable, Overloaded
from evenmatch.model.events import Cancelled, Expired
from evenmatch.model.inputs import Cancel, Configure
from evenmatch.server.runtime.clock import RETURN_SECONDS
from evenmatch.server.runtime.logs import log
from evenmatch.server.runtime.runtime import Runtime
from evenmatch.server.views.followers import TicketFeed

SLICE_SECONDS = 0.005
"""How long tickets are cancelled before the loop serves others."""
PAUSE_SECONDS = 0.005
"""What a slice leaves to others before the next one."""
SLEEP_MOST = 60.0
"""Longest time between two looks, seconds."""
TELL_SECONDS = 1.0
"""A line in the log tells of all tickets that were cancelled in this time."""
STALE_MOST = 1_000
"""Entries of tickets that have ended, besides as many as there are tickets."""
SILENT = "silent"


class _SignOfLife(msgspec.Struct, gc=False):
    """The last sign of life of a ticket, and how long it may be silent."""

    seen: float
    allowed: float

    @property
    def due_at(self) -> float:
        """Return when it has been silent for too long."""
        return self.seen + self.allowed


class Presence(LifecycleView):
    """The last sign of life of each ticket that must give signs of life.

    Args:
        tickets: Knows who follows which ticket now.
    """

    def __init__(self, tickets: TicketFeed) -> None:
        self._tickets = tickets
        # Players who close their stream have the whole time from then on.
        tickets.left = self.seen
        self._runtime: Runtime | None = None
        self._engine: Engine | None = None
        self._watched: dict[str, _SignOfLife] = {}
        # A heap of instants, none later than when its ticket is due. A sign of life moves no entry:
        # one whose ticket is due later is put back when it is looked at.
        self._entries: list[tuple[float, str]] = []
        self._limits: dict[str, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf
        self.cancelled = 0
        self._untold = 0
        self._teller: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        """Return how many tickets must give signs of life."""
        return len(self._watched)

    def begin(self, runtime: Runtime) -> None:
        """Cancel through this runtime; before that, signs of life are only noted."""
        self._runtime = runtime

    def close(self) -> None:
        """Stop cancelling tickets."""
        self._disarm()
        self._tell()
        self._runtime = None

    # Records

    def began(self, engine: Engine, live: Collection[LiveTicket]) -> None:
        """Start over: all waiting tickets have the whole time again, and time to come back."""
        del live
        speed = 1.0 if self._runtime is None else self._runtime.clock.speed
        self._begin_anew(engine, RETURN_SECONDS * speed)

    def _begin_anew(self, engine: Engine, at_least: float) -> None:
        self._engine = engine
        self._limits = _limits_of(engine)
        self._watched.clear()
        self._entries.clear()
        for ticket_id in engine.tables.waiting if self._limits else ():
            self._expect(ticket_id, at_least)
        self._arm()

    def entered(self, record: Record, row: LiveTicket) -> None:
        """Expect signs of life from a new ticket, where its queues ask for them."""
        del record
        if self._limits:
            self._expect(row.ticket.id)
            self._arm()

    def returned(self, record: Record, row: LiveTicket) -> None:
        """Expect signs of life again."""
        self.entered(record, row)

    def matched(self, record: Record, made: MatchWithTickets) -> None:
        """Stop expecting signs of life from the tickets of a match."""
        del record
        if self._watched:
            for ticket_id in made.match.tickets:
                self._dismiss(ticket_id)

    def ended(self, record: Record, row: LiveTicket, event: Cancelled | Expired) -> None:
        """Stop expecting signs of life from a ticket."""
        del record, event
        self._dismiss(row.ticket.id)

    def left_queue(self, record: Record, row: LiveTicket, queue: str) -> None:
        """Allow the silence that the other queues allow."""
        del record, queue
        self._allow(row.ticket.id)
        self._arm()

    def configured(
        self, record: Record, configuration: Configure, live: Collection[LiveTicket]
    ) -> None:
        """Start over where other silences are allowed; a paused queue changes nothing here."""
        del record, configuration, live
        assert self._engine is not None
        if self._limits != _limits_of(self._engine):
            self._begin_anew(self._engine, 0.0)

    def seen(self, ticket_id: str) -> None:
        """Note a sign of life."""
        watched = self._watched.get(ticket_id)
        if watched is not None:
            watched.seen = self._now()

    def _expect(self, ticket_id: str, at_least: float = 0.0) -> None:
        """Give a ticket the whole time from now on; `at_least` is for its first sign of life."""
        allowed = self._allowed(ticket_id)
        if allowed is None:
            return
        watched = self._watched[ticket_id] = _SignOfLife(
            self._now() + max(0.0, at_least - allowed), allowed
        )
        heapq.heappush(self._entries, (watched.due_at, ticket_id))
        if len(self._entries) > 2 * len(self._watched) + STALE_MOST:
            self._entries = [(each.due_at, key) for key, each in self._watched.items()]
            heapq.heapify(self._entries)

    def _allow(self, ticket_id: str) -> None:
        """Allow a ticket what its remaining queues allow, counted from its last sign of life.

        That is never less than before, so that its entry is not too late.
        """
        watched, allowed = self._watched.get(ticket_id), self._allowed(ticket_id)
        if watched is not None and allowed is not None:
            watched.allowed = allowed
        else:
            self._dismiss(ticket_id)

    def _allowed(self, ticket_id: str) -> float | None:
        """Return the least silence that the queues of a ticket allow; None if all allow any."""
        assert self._engine is not None
        row = self._engine.tables.waiting.get(ticket_id)
        # Memory may be ahead of what is durable: a ticket that has ended since is not expected.
        queues = () if row is None else row.queues
        return min([self._limits[name] for name in queues if name in self._limits], default=None)

    def _dismiss(self, ticket_id: str) -> None:
        self._watched.pop(ticket_id, None)

    # Time

    def _now(self) -> float:
        if self._runtime is not None:
            return self._runtime.attended()
        assert self._engine is not None
        return self._engine.tables.now

    def _due_at(self) -> float:
        """Return when to look at the next ticket; inf if none is watched."""
        return self._entries[0][0] if self._entries else math.inf

    def _arm(self) -> None:
        if self._runtime is None:
            return
        at = self._due_at()
        if at == math.inf or (self._timer is not None and self._timer_at <= at):
            return
        self._disarm()
        delay = min(max(at - self._now(), 0.0) / self._runtime.clock.speed, SLEEP_MOST)
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
        stopwatch = runtime.clocks.stopwatch
        now, until, cancelled = self._now(), stopwatch() + SLICE_SECONDS, 0
        while stopwatch() < until and self._due_at() <= now:
            ticket_id = self._take(now)
            if ticket_id is None:
                continue
            if self._is_excused(ticket_id):
                self._expect(ticket_id)
            else:
                cancelled += 1
                runtime.handle(
                    Cancel(runtime.now(), ticket_id, SILENT), partial(self._answered, ticket_id)
                )
        self._count(cancelled)
        if self._due_at() <= now:
            self._timer_at = now
            self._timer = asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._look)
        else:
            self._arm()

    def _take(self, now: float) -> str | None:
        """Take the first entry out; return its ticket if that has been silent for too long."""
        _, ticket_id = heapq.heappop(self._entries)
        watched = self._watched.get(ticket_id)
        if watched is None:
            return None
        if watched.due_at > now:
            heapq.heappush(self._entries, (watched.due_at, ticket_id))
            return None
        del self._watched[ticket_id]
        return ticket_id

    def _count(self, cancelled: int) -> None:
        """Count cancelled tickets, and tell of them soon, together with those that follow."""
        self.cancelled += cancelled
        self._untold += cancelled
        if self._untold and self._teller is None:
            self._teller = asyncio.get_running_loop().call_later(TELL_SECONDS, self._tell)

    def _tell(self) -> None:
        if self._teller is not None:
            self._teller.cancel()
            self._teller = None
        if self._untold:
            log.info("silent_tickets_cancelled", count=self._untold)
            self._untold = 0

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
