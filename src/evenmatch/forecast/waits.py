"""How long tickets will wait: a forecast that is updated ticket by ticket.

    arrivals, matches, leaves --> life table by cell --> rates --> curves --> estimates
                                  (online)               (every few seconds)  (when asked)

Time is an argument of each call and never decreases. No code here reads a clock, uses random
numbers or grows without limit, so the same events give the same estimates.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import msgspec

from evenmatch.forecast.life_table import LifeTable, Rates, Waiter, rates_of
from evenmatch.forecast.quantiles import Curve, Quantiles, earliest_of, newcomer, remaining_wait
from evenmatch.model.queue import Queue
from evenmatch.model.region import latency_attribute, region_of
from evenmatch.model.ticket import NewTicket, Ticket, attribute_of

# The cell of a ticket: its size, its best region, and its decile of skill.

RATINGS_MOST = 1_000
"""Number of tickets, the last ones, whose ratings define the deciles."""
RATINGS_MIN = 100
"""With fewer ratings, no ticket has a decile."""
DECILES_EVERY = 100
"""Tickets after which the deciles are computed anew."""


class Cell(NamedTuple):
    """A group of tickets with similar waits.

    Args:
        size: Players.
        region: The best region, or "" if none is known.
        decile: 0 for the weakest tenth to 9 for the strongest; -1 if it is not known.
    """

    size: int
    region: str = ""
    decile: int = -1


class Deciles:
    """The bounds of the deciles of a queue's ratings, from the last tickets that arrived."""

    def __init__(self) -> None:
        self._recent: deque[float] = deque(maxlen=RATINGS_MOST)
        self._edges: list[float] = []
        self._new = 0

    def place(self, rating: float) -> int:
        """Return the decile of a rating, -1 while there are too few ratings."""
        if not self._edges:
            return -1
        return bisect_right(self._edges, rating)

    def note(self, rating: float) -> None:
        """Add a new ticket's rating."""
        self._recent.append(rating)
        self._new += 1
        count = len(self._recent)
        if count >= RATINGS_MIN and self._new >= DECILES_EVERY:
            self._new = 0
            ordered = sorted(self._recent)
            self._edges = [ordered[count * tenth // 10] for tenth in range(1, 10)]


def rating_of(ticket: Ticket | NewTicket) -> float | None:
    """Return the mean rating of a party's players; None if one of them has none."""
    total = 0.0
    for player in ticket.players:
        value = attribute_of(ticket, player, "rating")
        if not isinstance(value, float | int):
            return None
        total += value
    return total / len(ticket.players)


HALF_LIFE = 1_800.0
"""Seconds after which an observation counts half."""
MATCHES_MIN = 20
"""Matched tickets that a queue needs before it gives estimates."""
CELLS_MOST = 1_000
"""Most cells of a queue; further tickets count only in the cell of their party size."""
REFRESH_SECONDS = 5.0
"""Rates are computed anew at most once in this time, engine seconds."""
TICK_SECONDS = 1.0
"""Ages are updated at most once in this time, engine seconds."""

UNKNOWN = Cell(0)
"""The cell of tickets of which only the wait is known."""


class CellForecast(msgspec.Struct, frozen=True):
    """The forecast for newcomers of a cell.

    Args:
        cell: The cell.
        waiting: Its tickets that wait now.
        matches: Matched tickets that it is based on; older ones count less.
        wait: Quantiles of the wait, seconds.
    """

    cell: Cell
    waiting: int
    matches: float
    wait: Quantiles


class QueueForecast:
    """The forecast of one queue.

    Args:
        queue: As configured.
        half_life: Seconds after which an observation counts half.
    """

    def __init__(self, queue: Queue, half_life: float) -> None:
        self.queue = queue
        self._table = LifeTable(half_life)
        self._cells: dict[Cell, int] = {}
        self._deciles = Deciles()
        self._latency = latency_attribute(queue)
        self.seen = 0
        self._ticked = -math.inf
        self._rates: Rates | None = None
        self._rated_at = -math.inf
        self._curves: dict[int, Curve] = {}

    def configure(self, queue: Queue) -> None:
        """Continue under another configuration of the queue, keeping all observations."""
        self.queue = queue
        self._latency = latency_attribute(queue)

    def enter(self, ticket: Ticket | NewTicket, since: float, now: float) -> Waiter:
        """Start following a ticket that has waited since an instant."""
        self._tick(now)
        return self._table.enter(self._row(self._cell_of(ticket, is_new=since == now)), since, now)

    def go_on(self, waiter: Waiter, now: float) -> Waiter:
        """Follow a ticket again after a pause, which does not count as waiting."""
        self._tick(now)
        return self._table.enter(waiter.row, waiter.since, now)

    def leave(self, waiter: Waiter, now: float, *, is_matched: bool) -> None:
        """Stop following a ticket; one that is not followed during a pause stays so."""
        if not waiter.is_waiting:
            return
        self._tick(now)
        self._table.leave(waiter, now, is_matched=is_matched)
        # Tickets matched on arrival say nothing about the others.
        self.seen += is_matched and now > waiter.since

    def learn(self, wait: float, now: float, *, is_matched: bool) -> None:
        """Count a wait of the past, in order of its end."""
        self._tick(now)
        self._table.learn(self._row(UNKNOWN), wait, is_matched=is_matched)
        self.seen += is_matched and wait > 0.0

    def curve(self, row: int, now: float) -> Curve | None:
        """Return the curve of a cell; None as long as there are too few data."""
        rates = self._fresh(now)
        if rates is None:
            return None
        curve = self._curves.get(row)
        if curve is None:
            # A cell newer than the rates is treated like the whole queue, the last row.
            at = row if row < len(rates.hazard) - 1 else -1
            spent = rates.spent[at].tolist()
            curve = Curve(spent, float(rates.hazard[at, -1]), float(rates.at_once[at]))
            self._curves[row] = curve
        return curve

    def newcomer(self, now: float) -> Quantiles | None:
        """Return the wait to expect for a typical ticket of the queue."""
        curve = self.curve(len(self._cells), now)
        return None if curve is None else newcomer(curve, self._wait_max())

    def cells(self, now: float, most: int) -> list[CellForecast]:
        """Return the forecasts of the cells with the most matches."""
        rates = self._fresh(now)
        if rates is None:
            return []
        rows = len(rates.hazard) - 1
        known = [(cell, row) for cell, row in self._cells.items() if row < rows and cell.size]
        known.sort(key=lambda each: (-rates.matches[each[1]], each[0]))
        found = []
        for cell, row in known[:most]:
            curve = self.curve(row, now)
            assert curve is not None
            wait = newcomer(curve, self._wait_max())
            matches = float(rates.matches[row])
            found.append(CellForecast(cell, self._table.waiting(row), matches, wait))
        return found

    def ends_after(self, waited: float) -> float:
        """Return the seconds until the deadline of a ticket that has waited `waited` seconds."""
        return max(self.queue.ends_after - waited, 0.0)

    def _wait_max(self) -> float:
        return self.ends_after(0.0)

    def _cell_of(self, ticket: Ticket | NewTicket, *, is_new: bool) -> Cell:
        rating, decile = rating_of(ticket), -1
        if rating is not None:
            decile = self._deciles.place(rating)
            if is_new:
                self._deciles.note(rating)
        cell = Cell(len(ticket.players), region_of(ticket, self._latency), decile)
        if cell in self._cells or len(self._cells) < CELLS_MOST:
            return cell
        return Cell(cell.size) if Cell(cell.size) in self._cells else UNKNOWN

    def _row(self, cell: Cell) -> int:
        row = self._cells.get(cell)
        if row is None:
            row = self._cells[cell] = self._table.add_row()
        return row

    def _tick(self, now: float) -> None:
        if now - self._ticked >= TICK_SECONDS:
            self._ticked = now
            self._table.move_on(now)

    def _fresh(self, now: float) -> Rates | None:
        if self.seen < MATCHES_MIN:
            return None
        if self._rates is None or now - self._rated_at >= REFRESH_SECONDS:
            self._tick(now)
            self._rated_at = now
            counts = self._table.counts(now)
            self._rates = rates_of(counts, list(self._cells))
            self._curves = {}
        return self._rates


class WaitForecast:
    """The forecasts of all queues of a shard.

    Args:
        half_life: Seconds after which an observation counts half.
    """

    def __init__(self, half_life: float = HALF_LIFE) -> None:
        self._half_life = half_life
        self._queues: dict[str, QueueForecast] = {}
        self._waiters: dict[str, dict[str, Waiter]] = {}
        self._paused: frozenset[str] = frozenset()

    def configure(self, queues: Iterable[Queue]) -> None:
        """Set the queues; those that continue keep their observations."""
        known, self._queues = self._queues, {}
        for queue in queues:
            forecast = known.get(queue.name)
            if forecast is None:
                forecast = QueueForecast(queue, self._half_life)
            forecast.configure(queue)
            self._queues[queue.name] = forecast
        removed = known.keys() - self._queues.keys()
        # A later queue of the same name has a table of its own, without these rows.
        for waiters in self._waiters.values() if removed else ():
            for name in removed:
                waiters.pop(name, None)

    def pause(self, queues: Collection[str], now: float) -> None:
        """Pause learning in these queues, which make no matches now; resume it in all others."""
        changed = [name for name in self._queues if (name in queues) != (name in self._paused)]
        self._paused = frozenset(queues)
        for waiters in self._waiters.values() if changed else ():
            for name in changed:
                waiter = waiters.get(name)
                if waiter is None:
                    continue
                if name in queues:
                    self._queues[name].leave(waiter, now, is_matched=False)
                elif not waiter.is_waiting:
                    waiters[name] = self._queues[name].go_on(waiter, now)

    @property
    def knows_nothing(self) -> bool:
        """Return whether no wait has been observed."""
        return not any(forecast.seen for forecast in self._queues.values())

    def enter(
        self,
        ticket_id: str,
        ticket: Ticket | NewTicket,
        queues: Iterable[str],
        since: float,
        now: float,
    ) -> None:
        """Start following a ticket that has waited in these queues since an instant.

        In those that make no matches now, it is followed once they go on.
        """
        waiters = self._waiters[ticket_id] = {
            name: self._queues[name].enter(ticket, since, now)
            for name in queues
            if name in self._queues
        }
        for name in self._paused.intersection(waiters):
            self._queues[name].leave(waiters[name], now, is_matched=False)

    def leave(self, ticket_id: str, now: float, matched_in: str | None = None) -> None:
        """Stop following a ticket; `matched_in` is the queue that matched it, if any."""
        for name, waiter in self._waiters.pop(ticket_id, {}).items():
            self._queues[name].leave(waiter, now, is_matched=name == matched_in)

    def leave_queue(self, ticket_id: str, queue: str, now: float) -> None:
        """Stop following a ticket in one queue; it still waits in others."""
        waiter = self._waiters.get(ticket_id, {}).pop(queue, None)
        if waiter is not None:
            self._queues[queue].leave(waiter, now, is_matched=False)

    def forget_waiting(self, now: float) -> None:
        """Stop following all tickets, because the waiting ones will be reported anew."""
        for ticket_id in list(self._waiters):
            self.leave(ticket_id, now)

    def learn(self, queue: str, wait: float, now: float, *, is_matched: bool) -> None:
        """Count a wait of the past, in order of its end."""
        if queue in self._queues:
            self._queues[queue].learn(wait, now, is_matched=is_matched)

    def estimate(
        self, ticket_id: str, now: float, queues: Sequence[str] | None = None
    ) -> Quantiles | None:
        """Return how long a ticket still waits; None if it does not, or there are too few data.

        Args:
            ticket_id: The ticket.
            now: Engine time, seconds.
            queues: Those of its queues that make matches; None means all.

        Complexity:
            O(log bins), and once every few seconds O(cells * bins) for all tickets together.
        """
        waiters = self._waiters.get(ticket_id)
        if not waiters:
            return None
        curves, most, waited = [], 0.0, 0.0
        for name, waiter in waiters.items():
            forecast = self._queues[name]
            waited = max(now - waiter.since, 0.0)
            # It waits until its last deadline, in whichever queue that is.
            most = max(most, forecast.ends_after(waited))
            is_asked = queues is None or name in queues
            curve = forecast.curve(waiter.row, now) if is_asked else None
            if curve is not None:
                curves.append(curve)
        return remaining_wait(earliest_of(curves), waited, most) if curves else None

    def of(self, queue: str) -> QueueForecast | None:
        """Return a queue's forecast, None if there is no such queue."""
        return self._queues.get(queue)
