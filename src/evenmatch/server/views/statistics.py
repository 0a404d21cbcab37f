"""How the queues do: a fold of durable records into the figures that people look at."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

import msgspec

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.engine.state.rosters import VoidableMatches, remove_last
from evenmatch.engine.state.state import Counters
from evenmatch.model.events import (
    Accepted,
    Cancelled,
    Configured,
    Counted,
    Disputed,
    Dissolved,
    Event,
    Expired,
    JobAsked,
    JobSettled,
    LeftQueue,
    Matched,
    Penalised,
    Proposed,
    Rated,
    Repaired,
    SeatsFreed,
    Voided,
)
from evenmatch.model.inputs import Configure, Enqueue
from evenmatch.model.match import Match
from evenmatch.model.queue import Queue
from evenmatch.wire.matches import MatchState
from evenmatch.wire.tickets import QueueStats, WaitStats

# How many events the last minute had, counted by the second.

RATE_SECONDS = 60.0
"""Rates are counted over this much engine time."""


class Rate:
    """How many events the last minute of engine time had."""

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
        """Count an event no more, which was counted at an instant."""
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


class _Known(msgspec.Struct, frozen=True, gc=False):
    """What is remembered of a waiting ticket."""

    queues: tuple[str, ...]
    enqueued_at: float
    size: int
    is_proposed: bool = False


class _Counted(msgspec.Struct, frozen=True, gc=False):
    """What a match added to the figures of its queue: its instant, and (wait, players) of tickets.

    A fill added its own.
    """

    queue: str
    at: float
    waits: tuple[tuple[float, int], ...]


class Statistics:
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
        self._waiting: dict[str, _Known] = {}
        self._recall: VoidableMatches[_Counted] = VoidableMatches()
        self._first_queue = ""
        self.totals = Counters()
        self.sequence = 0
        self.players = 0
        # Proposals that have lost a player, and the queue of each proposal.
        self._failed: set[str] = set()
        self._proposals: dict[str, str] = {}
        self._blamed_in = ""
        self._now = 0.0

    def reset(self, engine: Engine) -> None:
        """Begin anew with the tickets that wait; what was counted before stays counted."""
        self.totals = msgspec.structs.replace(engine.tables.counters)
        self.sequence = engine.tables.sequence
        self._now = engine.tables.now
        self._configure(engine.tables.queues.values())
        for figures in self._queues.values():
            figures.waiting = figures.players = 0
        self._first_queue = next(iter(engine.tables.queues), "")
        self._waiting.clear()
        self.players = 0
        for row in engine.tables.waiting.values():
            ticket = row.ticket
            self._enter(ticket.id, _Known(row.queues, ticket.enqueued_at, ticket.size))
            if row.match is not None:
                self._take_aside(ticket.id)
        proposals = engine.tables.proposals
        self._failed = {key for key, row in proposals.items() if row.version}
        self._proposals = {key: row.match.queue for key, row in proposals.items()}

    def hear(self, record: Record) -> None:
        """Fold a durable record."""
        self.sequence, self._now = record.sequence, record.input.now
        for event in record.events:
            self._fold(record, event)

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

    def _fold(self, record: Record, event: Event) -> None:
        now = record.input.now
        if isinstance(event, Accepted):
            assert isinstance(record.input, Enqueue)
            new = record.input.tickets[event.item]
            queues = new.queues or (self._first_queue,)
            self.totals.accepted += 1
            self._enter(event.ticket, _Known(queues, now, len(new.players)))
            for name in queues:
                figures = self._figures(name)
                figures.arrivals += 1
                figures.arrival_rate.add(now)
        elif isinstance(event, Matched):
            self._match(event.match)
            self.totals.filled += event.match.extends is not None
        elif isinstance(event, Cancelled):
            self.totals.cancelled += 1
            self._blamed_in = self._proposals.get(event.match or "", "")
            self._leave(event.ticket)
        elif isinstance(event, Penalised):
            # It follows the cancel of its ticket.
            if self._blamed_in:
                self._figures(self._blamed_in).unready += 1
        elif isinstance(event, Expired):
            self.totals.expired += 1
            self._leave(event.ticket)
        elif isinstance(event, LeftQueue):
            self._leave_queue(event.ticket, event.queue)
        elif isinstance(event, Proposed | SeatsFreed | Repaired | Dissolved):
            self._fold_check(event)
        elif isinstance(event, Voided):
            self._void(event)
        elif isinstance(event, JobAsked):
            self.totals.jobs = event.number
        elif isinstance(event, JobSettled):
            self.totals.dropped += event.dropped
        elif isinstance(event, Counted):
            self.totals.outcomes += 1
        elif isinstance(event, Disputed):
            self.totals.disputed += 1
        elif isinstance(event, Rated):
            self.totals.rated += len(event.ratings)
        elif isinstance(event, Configured):
            assert isinstance(record.input, Configure)
            self._configure(record.input.queues)
            self._first_queue = record.input.queues[0].name
        else:
            self._recall.settle(event)

    def _configure(self, queues: Iterable[Queue]) -> None:
        """Take queues as they are configured now; none of them stands still for what was."""
        configured = list(queues)
        self._recall.configure(configured)
        for queue in configured:
            figures = self._figures(queue.name)
            figures.k, figures.still_since = queue.format.k, self._now

    def _void(self, event: Voided) -> None:
        """Let the tickets of a match that was called off wait again."""
        self.totals.voided += 1 + len(event.fills)
        self.totals.returned += len(event.tickets)
        for counted in self._recall.take_back(event):
            figures = self._figures(counted.queue)
            figures.matches -= 1
            figures.match_rate.take_back(counted.at)
            for wait, size in counted.waits:
                figures.matched -= size
                for _ in range(size):
                    remove_last(figures.waits, wait)
        for ticket in event.tickets:
            self._enter(ticket.id, _Known(ticket.queues, ticket.enqueued_at, ticket.size))

    def _fold_check(self, event: Proposed | SeatsFreed | Repaired | Dissolved) -> None:
        """Fold what becomes of a ready-check."""
        totals = self.totals
        if isinstance(event, Proposed):
            totals.proposed += 1
            match = event.match
            self._proposals[match.id] = match.queue
            self._figures(match.queue).still_since = self._now
            for ticket_id in match.tickets:
                self._ask(ticket_id, match.queue)
        elif isinstance(event, SeatsFreed):
            totals.checks_failed += event.open.id not in self._failed
            self._failed.add(event.open.id)
        elif isinstance(event, Repaired):
            for ticket_id in event.joined:
                self._ask(ticket_id, event.match.queue)
        else:
            totals.dissolved += 1
            totals.checks_failed += event.match not in self._failed
            self._failed.discard(event.match)
            if queue := self._proposals.pop(event.match, ""):
                figures = self._figures(queue)
                figures.ended += 1
                figures.given_up += 1
            for ticket_id in event.tickets:
                self._bring_back(ticket_id)

    def _ask(self, ticket_id: str, queue: str) -> None:
        """Count the players of a ticket that is asked for acceptance, and take it aside."""
        known = self._waiting.get(ticket_id)
        if known is not None:
            self._figures(queue).asked += known.size
        self._take_aside(ticket_id)

    def _take_aside(self, ticket_id: str) -> None:
        """Note that a proposal has a ticket, which waits in no queue meanwhile."""
        known = self._waiting.get(ticket_id)
        if known is not None and not known.is_proposed:
            self._waiting[ticket_id] = msgspec.structs.replace(known, is_proposed=True)
            self._shift(known.queues, -1, known.size)

    def _bring_back(self, ticket_id: str) -> None:
        """Note that a ticket waits again."""
        known = self._waiting.get(ticket_id)
        if known is not None and known.is_proposed:
            self._waiting[ticket_id] = msgspec.structs.replace(known, is_proposed=False)
            self._shift(known.queues, 1, known.size)

    def _match(self, match: Match) -> None:
        figures, totals = self._figures(match.queue), self.totals
        totals.repaired += match.id in self._failed
        self._failed.discard(match.id)
        figures.ended += self._proposals.pop(match.id, None) is not None
        figures.still_since = self._now
        totals.matched += len(match.tickets)
        totals.matches += 1
        totals.bots += match.bots
        figures.matches += 1
        figures.match_rate.add(match.at)
        waits = []
        for ticket_id in match.tickets:
            known = self._leave(ticket_id)
            if known is None:
                continue
            wait = match.at - known.enqueued_at
            figures.matched += known.size
            waits.append((wait, known.size))
            for _ in range(known.size):
                figures.waits.append(wait)
                if self._observe is not None:
                    self._observe(match.queue, wait)
        self._recall.keep(match, _Counted(match.queue, match.at, tuple(waits)))

    def _enter(self, ticket_id: str, known: _Known) -> None:
        self._waiting[ticket_id] = known
        self.players += known.size
        self._shift(known.queues, 1, known.size)

    def _leave(self, ticket_id: str) -> _Known | None:
        known = self._waiting.pop(ticket_id, None)
        if known is not None:
            self.players -= known.size
            self._shift(() if known.is_proposed else known.queues, -1, known.size)
        return known

    def _leave_queue(self, ticket_id: str, queue: str) -> None:
        known = self._waiting.get(ticket_id)
        if known is not None and queue in known.queues:
            queues = tuple(name for name in known.queues if name != queue)
            self._waiting[ticket_id] = msgspec.structs.replace(known, queues=queues)
            self._shift((queue,), -1, known.size)

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
