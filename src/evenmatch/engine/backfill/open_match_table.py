"""The open matches of a queue as columns, so that one pass finds those a ticket might join.

A ticket that enters is compared with all open matches at once, and an open match with all who wait.
What comes out is never later than the truth, so nobody is overlooked. `backfill.candidates` looks
closely at the few who are left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evenmatch.criteria.columns.least_cost import SLACK
from evenmatch.criteria.scales import Floats
from evenmatch.engine.backfill.candidates import (
    Opening,
    SearchResult,
    find_newcomers,
    may_join_at,
    most_at_once,
)
from evenmatch.engine.matching.pool import Pool
from evenmatch.engine.matching.waiting_columns import TicketColumns
from evenmatch.model.match import Priority
from evenmatch.model.ticket import Ticket

Rows = NDArray[np.intp]

BLANK = (math.inf, math.inf, 0.0, 0.0, 0.0, 0.0)
"""A row without a match: when it looks, since when that is owed, free seats, quality floor, cost of
its criteria, and since when seats are free."""

NUMBERS_MOST = 100_000
"""Pairs of tickets that one pass compares, so that a create of many takes little memory."""
LATER = 0.25
"""Seconds after which those look that had no turn."""
FEW = 16
"""Rows that there is room for at first; the room doubles when it is full."""


class OpenMatchTable:
    """Open matches as rows: their players, and when each one looks at all waiting tickets.

    Args:
        pool: The queue's pool.
    """

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.pairs = pool.pairs
        self._costs = pool.least_cost
        # The rows of the matches, in the order in which they were opened.
        self._rows: dict[str, int] = {}
        self._priorities: dict[str, Priority] = {}
        self._unused: list[int] = []
        self._turn_at = -math.inf
        # Of a match whose look goes on: whom it has seen, and when waiting may allow one of them.
        self._passed: dict[str, tuple[dict[str, Ticket], float]] = {}
        self._by_priority: dict[Priority, tuple[list[str], Rows]] = {}
        self.is_due: NDArray[np.bool_] = np.empty(0, dtype=np.bool_)
        self._numbers: Floats = np.empty((len(BLANK), 0))
        self._seated: Floats = np.empty((self.pairs.columns, 0, pool.queue.format.k))
        self._extents: Floats = np.empty((self._costs.columns, 0))
        self._make_room(FEW)

    def __contains__(self, match_id: str) -> bool:
        return match_id in self._rows

    @property
    def ids(self) -> list[str]:
        """Return the open matches, those first that were opened first."""
        return list(self._rows)

    def of(self, priority: Priority) -> tuple[list[str], Rows]:
        """Return the matches of a priority in order, and their rows."""
        known = self._by_priority.get(priority)
        if known is None:
            ids = [name for name in self._rows if self._priorities[name] == priority]
            rows = np.array([self._rows[name] for name in ids], dtype=np.intp)
            known = self._by_priority[priority] = ids, rows
        return known

    def put(self, match_id: str, opening: Opening | None, priority: Priority) -> None:
        """Take a match in, behind all others, or anew in its place; None: nobody may join it."""
        row = self._rows.get(match_id)
        if row is None:
            if not self._unused:
                self._make_room(2 * len(self.look_at))
            row = self._rows[match_id] = self._unused.pop()
        self._priorities[match_id] = priority
        self._by_priority.clear()
        self._passed.pop(match_id, None)
        self._numbers[:, row] = BLANK
        self.is_due[row] = False
        if opening is None:
            return
        seated = [ticket for team in opening.teams for ticket in team]
        self.free[row] = max(opening.free)
        self.floor[row] = opening.quality_floor
        self.cost[row] = opening.criteria_cost
        self.since[row] = opening.roster.since
        self._seated[:, row] = np.array(self.pairs.nobody)[:, None]
        self._seated[:, row, : len(seated)] = np.array([self.pairs.row(t) for t in seated]).T
        extents = np.array([self._costs.row(ticket) for ticket in seated]).T
        self._extents[:, row] = self._costs.joined(extents)

    def drop(self, match_id: str) -> None:
        """Forget a match."""
        row = self._rows.pop(match_id, None)
        if row is None:
            return
        del self._priorities[match_id]
        self._passed.pop(match_id, None)
        self._by_priority.clear()
        self._numbers[:, row] = BLANK
        self.is_due[row] = False
        self._unused.append(row)

    # Who might join

    def ready_at(self, tickets: Sequence[Ticket], rows: Rows) -> Floats:
        """Return the instant from which each ticket might join each match; inf if it never may.

        Returns:
            Shape (tickets, rows): never later than `candidates.may_join_at`, but inf where a match
            would be worth less than it may be, whoever else joined.

        Complexity:
            O(tickets * rows * k).
        """
        others = np.array([self.pairs.row(ticket) for ticket in tickets]).T
        seated = self._seated[:, None, rows]
        at: Floats = np.empty((len(tickets), len(rows)))
        some = max(1, NUMBERS_MOST // max(1, seated[0].size))
        for first in range(0, len(tickets), some):
            part = slice(first, first + some)
            pairs = self.pairs.ready_at(seated, others[:, part, None, None])
            pairs.max(axis=2, out=at[part])
        sizes = np.array([ticket.size for ticket in tickets])
        at[sizes[:, None] > self.free[rows]] = math.inf
        at[self._worth(tickets, rows)[1] < self.floor[rows]] = math.inf
        return at

    def net_least(self, tickets: Sequence[Ticket], rows: Rows, now: float) -> Floats:
        """Return what one newcomer costs a match at the least; see `candidates.Join.net`.

        Returns:
            Shape (tickets, rows): of those who join, the least is a bound.
        """
        added = self._worth(tickets, rows)[0] - self.cost[rows]
        # Who adds something adds least per head where all seats are taken.
        heads = np.where(added > 0.0, self.pool.queue.format.k, 1.0)
        waits = np.array([now - ticket.enqueued_at for ticket in tickets])
        longest = waits.max() + now - self.since[rows]
        bound: Floats = added / heads - self.pool.queue.price * longest
        return bound - SLACK * (1.0 + np.abs(bound))

    def look(self, match_id: str, opening: Opening, now: float) -> tuple[list[Ticket], float]:
        """Return the tickets that may join a match now, by age, and when the next one may.

        Of those who are ready it is the `most_at_once` oldest. If there are more, the next look
        takes those behind them, so that nobody is overlooked for good.

        Complexity:
            O(n k) in columns for at most `LOOK_AT_MOST` tickets, and `candidates.may_join_at` for
            those who might be ready now, and for one or a few of the others.
        """
        waiting = self.pool.columns.oldest(self.pool.tickets)
        tickets = waiting.tickets
        passed, again_at = self._passed.pop(match_id, ({}, math.inf))
        if not tickets:
            return [], math.inf
        at = self._ready_to_join(self._rows[match_id], opening, waiting)
        most = most_at_once(opening)
        ready: list[Ticket] = []
        next_at = again_at
        for place in np.flatnonzero(at <= now).tolist():
            ticket = tickets[place]
            if passed.get(ticket.id) is ticket:
                continue
            true = self.exactly(opening, ticket, at[place])
            if true > now:
                next_at = min(next_at, true)
            elif len(ready) < most:
                ready.append(ticket)
            else:
                passed.update({each.id: each for each in ready})
                self._passed[match_id] = passed, again_at
                return ready, now
        early = np.where(at > now, at, math.inf)
        for place in np.argsort(early, kind="stable").tolist():
            if early[place] >= next_at:
                break
            next_at = min(next_at, self.exactly(opening, tickets[place], early[place]))
        return ready, next_at

    def hope(self, match_id: str, at: float) -> None:
        """Note, of a look that goes on, when waiting may allow one of those it has seen."""
        if (passed := self._passed.get(match_id)) is not None:
            self._passed[match_id] = passed[0], min(passed[1], at)

    def _worth(self, tickets: Sequence[Ticket], rows: Rows) -> tuple[Floats, Floats]:
        """Return the least cost and the largest quality of each match with each ticket."""
        others = np.array([self._costs.row(ticket) for ticket in tickets]).T
        return self._costs.of(self._extents[:, None, rows], others[:, :, None])

    def exactly(self, opening: Opening, ticket: Ticket, early: float) -> float:
        """Return `candidates.may_join_at`, by a shorter way where columns tell all of it."""
        return may_join_at(self.pool, opening, ticket, early if self.pairs.is_exact else None)

    def search(
        self, opening: Opening, tickets: list[Ticket], ready: Floats, now: float
    ) -> SearchResult:
        """Return which of some tickets may join a match; those that never may are left out.

        Args:
            opening: The match's free seats.
            tickets: By age.
            ready: What `ready_at` says of them.
            now: The present instant.
        """
        might = [(t, at) for t, at in zip(tickets, ready.tolist(), strict=True) if at < math.inf]
        told = [at for _, at in might] if self.pairs.is_exact else None
        return find_newcomers(self.pool, opening, [ticket for ticket, _ in might], now, told)

    def _ready_to_join(self, row: int, opening: Opening, waiting: TicketColumns) -> Floats:
        at: Floats = self.pairs.ready_at(waiting.pairs[:, :, None], self._seated[:, row, None])
        at = at.max(axis=1)
        at[waiting.sizes > max(opening.free)] = math.inf
        quality = self._costs.of(self._extents[:, row, None], waiting.extents)[1]
        at[quality < opening.quality_floor] = math.inf
        pool = self.pool
        if pool.held_until or pool.delayed_until:
            kept = [
                max(pool.held_until.get(t.id, 0.0), pool.delayed_until.get(t.id, 0.0))
                for t in waiting.tickets
            ]
            np.maximum(at, kept, out=at)
        return at

    # When each looks

    def look_soon(self, match_id: str, at: float) -> None:
        """Let a match look at all waiting tickets at an instant, unless it does so before."""
        row = self._rows[match_id]
        self.look_at[row] = min(self.look_at[row], at)

    def look_at_of(self, match_id: str) -> float:
        """Return the instant at which a match looks at all waiting tickets."""
        return float(self.look_at[self._rows[match_id]])

    def end_look(self, match_id: str) -> None:
        """Note that a match has had its turn."""
        row = self._rows[match_id]
        self.is_due[row], self.owed_since[row] = False, math.inf

    def skip(self, match_id: str, now: float) -> None:
        """Let a match look, or go on, at the next turn, owed from now on or longer already."""
        row = self._rows[match_id]
        self.is_due[row] = False
        self.owed_since[row] = min(self.owed_since[row], now)
        self.look_soon(match_id, self._next_turn(now))

    def owe(self, rows: Rows, now: float) -> None:
        """Let matches look as soon as they may."""
        self.is_due[rows] = True
        self.owed_since[rows] = np.minimum(self.owed_since[rows], now)

    def defer(self, priority: Priority, most: int, now: float) -> None:
        """Let all of a priority but the most overdue ones wait for the next turn."""
        _, rows = self.of(priority)
        rows = rows[self.is_due[rows]]
        rest = rows[np.argsort(self.owed_since[rows], kind="stable")][most:]
        if len(rest):
            self.is_due[rest] = False
            self.look_at[rest] = np.minimum(self.look_at[rest], self._next_turn(now))

    def put_off(self, later: float, *, but: Priority | None = None) -> None:
        """Postpone the looks of matches that were due and had no turn, except one priority's."""
        is_late = self.is_due.copy()
        if but is not None:
            is_late[self.of(but)[1]] = False
        rows = np.flatnonzero(is_late)
        self.look_at[rows] = np.minimum(self.look_at[rows], later)
        self.is_due[rows] = False

    def _next_turn(self, now: float) -> float:
        """Return when those look that had no turn: all at the same instant."""
        if self._turn_at <= now:
            self._turn_at = now + LATER
        return self._turn_at

    def next_look(self) -> float:
        """Return the instant of the next look."""
        return float(self.look_at.min())

    def take_due(self, now: float, most: int) -> bool:
        """Return the matches whose look is due, the most overdue first.

        Args:
            now: The present instant.
            most: How many may look now; the others have to wait for the next turn.

        Returns:
            Whether there are any.
        """
        rows = np.array(list(self._rows.values()), dtype=np.intp)
        rows = rows[self.look_at[rows] <= now]
        if not len(rows):
            return False
        self.owed_since[rows] = np.minimum(self.owed_since[rows], self.look_at[rows])
        rows = rows[np.argsort(self.owed_since[rows], kind="stable")]
        chosen, rest = rows[:most], rows[most:]
        self.look_at[chosen] = math.inf
        self.is_due[chosen] = True
        if len(rest):
            self.look_at[rest] = self._next_turn(now)
        return True

    def _make_room(self, rows: int) -> None:
        """Grow all columns to a number of rows."""
        known = self._numbers.shape[1]
        more = rows - known
        blank = np.broadcast_to(np.array(BLANK)[:, None], (len(BLANK), more))
        self._numbers = np.concatenate([self._numbers, blank], axis=1)
        self.look_at, self.owed_since, self.free, self.floor, self.cost, self.since = self._numbers
        self.is_due = np.append(self.is_due, np.zeros(more, dtype=np.bool_))
        nobody = np.array(self.pairs.nobody)[:, None, None]
        room = np.broadcast_to(nobody, (self.pairs.columns, more, self._seated.shape[2]))
        self._seated = np.concatenate([self._seated, room], axis=1)
        empty = np.zeros((self._costs.columns, more))
        self._extents = np.concatenate([self._extents, empty], axis=1)
        self._unused += range(rows - 1, known - 1, -1)
