"""The forecast of waits, fed with durable records, and asked for one ticket or a whole queue."""

from __future__ import annotations

import math
from collections.abc import Collection
from itertools import islice

from evenmatch.engine.engine import Engine
from evenmatch.engine.lifecycle import LifecycleView, MatchWithTickets
from evenmatch.engine.records import Record
from evenmatch.engine.state.rows import EndedTicket, LiveTicket
from evenmatch.engine.state.state import Tables
from evenmatch.engine.state.transitions import MATCHED
from evenmatch.forecast.quantiles import Quantiles
from evenmatch.forecast.waits import WaitForecast
from evenmatch.model.events import Cancelled, Expired
from evenmatch.model.inputs import Configure
from evenmatch.wire.tickets import CellWait, Estimate

LEARNT_MOST = 10_000
"""Ended tickets, the last ones, from which a new process learns."""
CELLS_MOST = 100
"""Cells that are shown of a queue, those with most matches."""


class WaitEstimates(LifecycleView):
    """Learns from durable records how long tickets wait."""

    def __init__(self) -> None:
        self._forecast = WaitForecast()

    def began(self, engine: Engine, live: Collection[LiveTicket]) -> None:
        """Start over with the waiting tickets; what was learnt before is kept."""
        tables, forecast = engine.tables, self._forecast
        forecast.configure(tables.queues.values())
        forecast.forget_waiting(tables.now)
        if forecast.knows_nothing:
            self._learn(tables)
        for row in sorted(live, key=lambda row: row.ticket.age_key):
            ticket = row.ticket
            forecast.enter(ticket.id, ticket, row.queues, ticket.enqueued_at, tables.now)
        forecast.pause((), tables.now)
        forecast.pause(tables.paused, tables.now)

    def estimate(self, engine: Engine, ticket_id: str, now: float) -> Estimate | None:
        """Return how long a waiting ticket still waits; None if too little is known.

        Where all its queues match in rounds at moments known beforehand, it is the next of them.
        """
        row = engine.tables.waiting.get(ticket_id)
        if row is None or row.match is not None:
            return None
        open_queues = [name for name in row.queues if _makes_matches(engine, name)]
        rounds = {
            name: at for name in open_queues if (at := _round_at(engine, name, ticket_id, now))
        }
        others = [name for name in open_queues if name not in rounds]
        quantiles = self._forecast.estimate(ticket_id, now, others) if others else None
        if not rounds:
            return (
                None
                if quantiles is None
                else Estimate(quantiles.p50, quantiles.low, quantiles.high)
            )
        until = min(rounds.values()) - now
        if others and quantiles is None:
            return None
        return _bounded(quantiles, min(until, _ends_after(engine, row, now)))

    def of(
        self, engine: Engine, queue: str, now: float
    ) -> tuple[Estimate | None, tuple[CellWait, ...]]:
        """Return what a newcomer to a queue can expect, in total and by cell.

        Nothing of a queue that makes no matches now.
        """
        forecast = self._forecast.of(queue) if _makes_matches(engine, queue) else None
        whole = None if forecast is None else forecast.newcomer(now)
        if forecast is None or whole is None:
            return None, ()
        cells = tuple(
            CellWait(
                each.cell.size,
                each.cell.region or None,
                None if each.cell.decile < 0 else each.cell.decile + 1,
                each.waiting,
                each.matches,
                each.wait.p50,
                each.wait.low,
                each.wait.high,
            )
            for each in forecast.cells(now, CELLS_MOST)
        )
        return Estimate(whole.p50, whole.low, whole.high), cells

    def entered(self, record: Record, row: LiveTicket) -> None:
        """Start watching how long a ticket waits."""
        ticket = row.ticket
        self._forecast.enter(ticket.id, ticket, row.queues, ticket.enqueued_at, record.input.now)

    def returned(self, record: Record, row: LiveTicket) -> None:
        """Watch a ticket again whose match was voided."""
        self.entered(record, row)

    def updated(self, record: Record, row: LiveTicket) -> None:
        """Move a waiting ticket to the cell of its newer facts."""
        self._forecast.leave(row.ticket.id, record.input.now)
        self.entered(record, row)

    def left_queue(self, record: Record, row: LiveTicket, queue: str) -> None:
        """Stop watching a ticket in one queue."""
        self._forecast.leave_queue(row.ticket.id, queue, record.input.now)

    def matched(self, record: Record, made: MatchWithTickets) -> None:
        """Learn how long the tickets of a match waited."""
        for ticket_id in made.match.tickets:
            self._forecast.leave(ticket_id, record.input.now, made.match.queue)

    def ended(self, record: Record, row: LiveTicket, event: Cancelled | Expired) -> None:
        """Stop watching a ticket."""
        del event
        self._forecast.leave(row.ticket.id, record.input.now)

    def configured(
        self, record: Record, configuration: Configure, live: Collection[LiveTicket]
    ) -> None:
        """Take queues as they are configured now, and which of them are paused."""
        del record, live
        self._forecast.configure(configuration.queues)
        self._forecast.pause(configuration.pause, configuration.now)

    def _learn(self, tables: Tables) -> None:
        """Learn from the tickets that ended, of which little more than the wait is kept."""
        skipped = max(0, len(tables.ended) - LEARNT_MOST)
        for row in islice(tables.ended.values(), skipped, None):
            wait = row.ended_at - row.enqueued_at
            matched_in = _queue_of(tables, row)
            for name in row.queues:
                self._forecast.learn(name, wait, row.ended_at, is_matched=name == matched_in)


def _queue_of(tables: Tables, row: EndedTicket) -> str | None:
    """Return the queue in which an ended ticket was matched, None if it was not.

    Those who failed a ready-check ended in a match, too: in one that was proposed.
    """
    if row.state != MATCHED or row.match is None:
        return None
    kept_match = tables.matches.get(row.match)
    return row.queues[0] if kept_match is None else kept_match.match.queue


def _makes_matches(engine: Engine, queue: str) -> bool:
    pool = engine.pools.get(queue)
    return pool is not None and pool.fault is None and queue not in engine.tables.paused


def _round_at(engine: Engine, queue: str, ticket_id: str, now: float) -> float | None:
    """Return when the next round of a queue begins, if its policy knows that to the second."""
    found = engine.pools[queue].promise(ticket_id, now)
    latest, expected = getattr(found, "latest", None), getattr(found, "expected", None)
    if not isinstance(latest, float) or latest != expected or not math.isfinite(latest):
        return None
    return latest


def _ends_after(engine: Engine, row: LiveTicket, now: float) -> float:
    """Return the seconds until the last deadline of a ticket."""
    found = []
    for name in row.queues:
        ends_after = engine.tables.queues[name].ends_after
        found.append(max(row.ticket.enqueued_at + ends_after - now, 0.0))
    return max(found)


def _bounded(quantiles: Quantiles | None, most: float) -> Estimate:
    """Return an estimate that ends with a round; the round itself where nothing else is asked."""
    if quantiles is None:
        return Estimate(most, most, most)
    return Estimate(min(quantiles.p50, most), min(quantiles.low, most), min(quantiles.high, most))
