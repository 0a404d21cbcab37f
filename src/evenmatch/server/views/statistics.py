"""Statistics of queues: folds durable records into the figures that people look at."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence

import msgspec

from evenmatch.engine.engine import Engine
from evenmatch.engine.lifecycle import LifecycleView, MatchWithTickets
from evenmatch.engine.records import Record
from evenmatch.engine.state.rosters import remove_last
from evenmatch.engine.state.rows import LiveTicket
from evenmatch.engine.state.state import Counters
from evenmatch.model.events import (
    WITHDRAWN,
    Cancelled,
    Counted,
    Disputed,
    Dissolved,
    Event,
    Expired,
    JobAsked,
    JobSettled,
    Penalised,
    Rated,
    SeatsFreed,
    Voided,
)
from evenmatch.model.inputs import Configure
from evenmatch.model.match import Match
from evenmatch.model.queue import Queue
from evenmatch.wire.matches import MatchState
from evenmatch.wire.tickets import QueueStats, WaitStats

# How many events the last minute had, counted by the second.

RATE_SECONDS = 60.0
"""Rates are counted over this much engine time."""


class Rate:
    """The number of events in the last minute of engine time."""

    def __init__(self) -> None:
        self._seconds: deque[tuple[int, int]] = deque(maxlen=int(RATE_SECONDS))
        self._second = 0
        self._count = 0

    def add(self, now: float) -> None:
        """Count an event at an instant; instants never fall."""
        second = int(now)
        if second != self._second:
            self._seconds.append((self._second, self._count))
            self._second, self._count = second, 0
        self._count += 1

    def take_back(self, now: float) -> None:
        """Stop counting an event that was counted at an instant."""
        second = int(now)
        if second == self._second:
            self._count -= 1
            return
        for place, (counted, count) in enumerate(self._seconds):
            if counted == second:
                self._seconds[place] = (counted, count - 1)

    def per_minute(self, now: float) -> float:
        """Return the events of the last minute; its first second counts by the part inside."""
        since = now - RATE_SECONDS
        seconds = (*self._seconds, (self._second, self._count))
        return sum(count * min(max(second + 1 - since, 0.0), 1.0) for second, count in seconds)


WAITS_MOST = 1_000
"""Waits are those of this many players at the most, the last ones."""

SEVERAL = 3
"""Full matches whose players must wait for a queue without matches to stand still."""

Observe = Callable[[str, float], None]
"""Takes the queue and the wait of each matched player."""


class _Figures(msgspec.Struct):
    """The figures of one queue.

    `asked` players were asked for acceptance, of whom `unready` declined, withdrew or said nothing;
    `ended` proposals were played or `given_up`, after repair in either case. Since `still_since`
    more players wait than `SEVERAL` matches take, and no match was made or proposed.
    """

    k: int = 1
    players: int = 0
    still_since: float = 0.0
    asked: int = 0
    unready: int = 0
    ended: int = 0
    given_up: int = 0
    waiting: int = 0
    arrivals: int = 0
    matched: int = 0
    matches: int = 0
    arrival_rate: Rate = msgspec.field(default_factory=Rate)
    match_rate: Rate = msgspec.field(default_factory=Rate)
    waits: deque[float] = msgspec.field(default_factory=lambda: deque(maxlen=WAITS_MOST))


class Statistics(LifecycleView):
    """The figures of all queues, and the totals of the shard, as far as they are durable.

    Matches that are called off are taken out of a queue's figures. The totals go up only, as
    metrics must: they have the matches made, and those `voided`. `totals` and
    `sequence` are what the engine's counters were after the last durable record, `players` those
    of the waiting tickets.

    Args:
        observe: Told of each matched player's wait.
    """

    def __init__(self, observe: Observe | None = None) -> None:
        self._observe = observe
        self._queues: dict[str, _Figures] = {}
        self.totals = Counters()
        self.sequence = 0
        self.players = 0
        # Proposals that have lost a player.
        self._failed: set[str] = set()
        self._now = 0.0

    def began(self, engine: Engine, live: Collection[LiveTicket]) -> None:
        """Start over with the waiting tickets; earlier counts are kept."""
        tables = engine.tables
        self.totals = msgspec.structs.replace(tables.counters)
        self.sequence, self._now = tables.sequence, tables.now
        self._configure(tables.queues.values())
        for figures in self._queues.values():
            figures.waiting = figures.players = 0
        self.players = 0
        for row in live:
            self._enter(row)
        self._failed = {key for key, row in tables.proposals.items() if row.version}

    def of(self, queue: str, now: float, recent: Sequence[MatchState]) -> QueueStats:
        """Return the figures of a queue; `now` is engine time."""
        figures = self._figures(queue)
        return QueueStats(
            queue,
            now,
            figures.waiting,
            figures.arrival_rate.per_minute(now),
            figures.match_rate.per_minute(now),
            wait_stats(figures.waits),
            figures.arrivals,
            figures.matched,
            figures.matches,
            tuple(recent),
        )

    def waiting(self, queue: str) -> int:
        """Return how many tickets wait in a queue."""
        return self._figures(queue).waiting

    def checks(self) -> dict[str, tuple[int, int, int, int]]:
        """Return by queue the players asked and unready, and the proposals ended and given up."""
        return {
            name: (each.asked, each.unready, each.ended, each.given_up)
            for name, each in self._queues.items()
        }

    def still(self, queue: str, now: float) -> float:
        """Return for how long a queue has had players for several matches, and made none."""
        figures = self._figures(queue)
        is_many = figures.players >= SEVERAL * figures.k
        return max(0.0, now - figures.still_since) if is_many else 0.0

    def usual_wait(self, queue: str) -> float | None:
        """Return what half of the players matched last waited at most; None before the first."""
        return wait_stats(self._figures(queue).waits).p50

    def waiting_by_queue(self) -> dict[str, int]:
        """Return how many tickets wait, by queue."""
        return {name: figures.waiting for name, figures in self._queues.items()}

    def heard(self, record: Record) -> None:
        """Note how far the records have come."""
        self.sequence, self._now = record.sequence, record.input.now

    def configured(
        self, record: Record, configuration: Configure, live: Collection[LiveTicket]
    ) -> None:
        """Take queues as they are configured now."""
        del record, live
        self._configure(configuration.queues)

    def _configure(self, queues: Iterable[Queue]) -> None:
        """Take queues as they are configured now; none of them stands still for what was."""
        for queue in queues:
            figures = self._figures(queue.name)
            figures.k, figures.still_since = queue.format.k, self._now

    def entered(self, record: Record, row: LiveTicket) -> None:
        """Count a new ticket."""
        self.totals.accepted += 1
        self._enter(row)
        for name in row.queues:
            figures = self._figures(name)
            figures.arrivals += 1
            figures.arrival_rate.add(record.input.now)

    def left_queue(self, record: Record, row: LiveTicket, queue: str) -> None:
        """Stop counting a ticket in a queue."""
        del record
        self._shift((queue,), -1, row.ticket.size)

    def proposed(self, record: Record, match: Match) -> None:
        """Count a proposal; its queue is not stalled."""
        self.totals.proposed += 1
        self._figures(match.queue).still_since = record.input.now

    def asked(self, record: Record, row: LiveTicket, queue: str) -> None:
        """Count the players of a ticket that is asked to accept; it does not wait meanwhile."""
        del record
        self._figures(queue).asked += row.ticket.size
        self._shift(row.queues, -1, row.ticket.size)

    def dissolved(self, record: Record, event: Dissolved, queue: str) -> None:
        """Count a proposal that failed."""
        del record
        self.totals.dissolved += 1
        has_failed = event.reason != WITHDRAWN
        self.totals.checks_failed += has_failed and event.match not in self._failed
        self._failed.discard(event.match)
        if queue:
            figures = self._figures(queue)
            figures.ended += 1
            figures.given_up += has_failed

    def released(self, record: Record, row: LiveTicket) -> None:
        """Let a ticket wait again."""
        del record
        self._shift(row.queues, 1, row.ticket.size)

    def penalised(self, record: Record, event: Penalised, queue: str) -> None:
        """Count a player who failed a ready-check."""
        del record, event
        self._figures(queue).unready += 1

    def matched(self, record: Record, made: MatchWithTickets) -> None:
        """Count a match, and the waits of its players."""
        match, totals = made.match, self.totals
        figures = self._figures(match.queue)
        totals.repaired += match.id in self._failed
        self._failed.discard(match.id)
        totals.filled += match.extends is not None
        totals.matched += len(match.tickets)
        totals.matches += 1
        totals.bots += match.bots
        figures.ended += made.was_proposed
        figures.still_since = record.input.now
        figures.matches += 1
        figures.match_rate.add(match.at)
        for row in made.tickets:
            if row is not None:
                self._enter(row, -1)
        for wait, size in made.waits:
            figures.matched += size
            for _ in range(size):
                figures.waits.append(wait)
                if self._observe is not None:
                    self._observe(match.queue, wait)

    def voided(self, record: Record, event: Voided, made: list[MatchWithTickets]) -> None:
        """Take a voided match out of the figures of its queue."""
        del record
        self.totals.voided += 1 + len(event.fills)
        self.totals.returned += len(event.tickets)
        for each in made:
            figures = self._figures(each.match.queue)
            figures.matches -= 1
            figures.match_rate.take_back(each.match.at)
            for wait, size in each.waits:
                figures.matched -= size
                for _ in range(size):
                    remove_last(figures.waits, wait)

    def returned(self, record: Record, row: LiveTicket) -> None:
        """Let a ticket of a voided match wait again."""
        del record
        self._enter(row)

    def ended(self, record: Record, row: LiveTicket, event: Cancelled | Expired) -> None:
        """Count what became of a ticket."""
        del record
        if type(event) is Cancelled:
            self.totals.cancelled += 1
        else:
            self.totals.expired += 1
        self._enter(row, -1)

    def told(self, record: Record, event: Event) -> None:
        """Count the other events that go into the totals."""
        del record
        totals = self.totals
        if isinstance(event, SeatsFreed):
            totals.checks_failed += event.open.id not in self._failed
            self._failed.add(event.open.id)
        elif isinstance(event, JobAsked):
            totals.jobs = event.number
        elif isinstance(event, JobSettled):
            totals.dropped += event.dropped
        elif isinstance(event, Counted):
            totals.outcomes += 1
        elif isinstance(event, Disputed):
            totals.disputed += 1
        elif isinstance(event, Rated):
            totals.rated += len(event.ratings)

    def _enter(self, row: LiveTicket, by: int = 1) -> None:
        """Count a ticket that comes to be live, or that is live no longer (`by` is -1)."""
        size = row.ticket.size
        self.players += by * size
        if row.match is None:
            self._shift(row.queues, by, size)

    def _shift(self, queues: Iterable[str], by: int, size: int) -> None:
        """Count a ticket that comes to wait in queues (`by` is 1), or waits there no more (-1)."""
        for name in queues:
            figures = self._figures(name)
            if figures.players < SEVERAL * figures.k:
                figures.still_since = self._now
            figures.waiting += by
            figures.players += by * size

    def _figures(self, queue: str) -> _Figures:
        figures = self._queues.get(queue)
        if figures is None:
            figures = self._queues[queue] = _Figures()
        return figures


def wait_stats(waits: Sequence[float] | deque[float]) -> WaitStats:
    """Return percentiles of waits: the smallest value that p % of them do not exceed."""
    if not waits:
        return WaitStats(None, None, None)
    ordered = sorted(waits)
    return WaitStats(*(_percentile(ordered, p) for p in (50, 90, 99)))


def _percentile(ordered: list[float], percent: int) -> float:
    # The nearest rank: ceil(n p / 100), counted from 1.
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(rank, 1) - 1]
