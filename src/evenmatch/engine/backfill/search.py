"""Fills running matches from a queue, in competition with new matches for the same tickets.

A search looks at tickets that have just entered, at those of a new match that is about to be made,
and, when time alone may have changed something, at all who wait. Who might join which match is told
for all of them in one pass (`backfill.open_match_table`), and only those who are left are looked at
closely. What one input may cost is bounded in divisions that are evaluated (`BUDGET`), never by the
clock: matches that it leaves out look at all who wait a little later, those first that have been
left out longest.

A look evaluates the `most_at_once` oldest of those who are ready. Where they are more and none of
the first may join, it goes on with the others at its next turn, until it has seen all of the
`LOOK_AT_MOST` oldest who wait.

- `high`: a running match is filled before the policy decides.
- `normal`: the policy decides, and each of its matches has to be worth more to its players than a
  seat in a running match is to those who could take it; cost that a newcomer adds, less what the
  waiting of tickets and seats has cost. Tickets that lose their match wait on.
- `low`: a running match gets who is left over: when the policy has nothing in mind, or has just
  decided at an instant of its own. Until then it owes whoever enters a look.

Where the queue has a ready-check, newcomers are asked before they join; until they have answered,
the match looks for nobody else.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np
from msgspec.structs import replace

from evenmatch.criteria.objective import Seating
from evenmatch.criteria.scales import Floats
from evenmatch.engine.backfill.candidates import (
    Join,
    Opening,
    SearchResult,
    opening_of,
    seat_newcomers,
)
from evenmatch.engine.backfill.open_match_table import OpenMatchTable
from evenmatch.engine.matching.decision_check import off_side
from evenmatch.engine.matching.pool import Pool
from evenmatch.engine.matching.scheduler import Scheduler
from evenmatch.engine.state.rows import Roster
from evenmatch.model.match import Match, Priority
from evenmatch.model.queue import ReadyCheck
from evenmatch.model.ticket import Ticket

ASKED_SINCE = 4
"""The first record format in which newcomers can be asked; readers of older ones fold it wrong."""
LOOKS_MOST = 8
"""Matches of one queue that look at all who wait at the same instant."""
BUDGET = 32
"""Divisions that one input may evaluate in a queue; the search that reaches it is finished."""
LOOK_AGAIN = 1.0
"""Seconds between two such looks for the same match.

Repairs look twice as often (`ready_check.replacements.LOOK_AGAIN`): they have `ReadyCheck.repair`
seconds and nobody in them plays yet, while a running match is played on with free seats.
"""


class BackfillSearch:
    """The open matches of a scheduler, and the search for newcomers."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._tables: dict[str, OpenMatchTable] = {}
        self.pending = self._tables
        # Each once, although whoever is given back by a new match enters again.
        self._arrived: dict[str, dict[str, None]] = {}
        # What a roster's free seats are worth, as long as it stays what it is.
        self._openings: dict[str, tuple[Roster, Opening | None]] = {}
        # The queues of open matches whose newcomers are asked now: their seats are kept for them.
        self._reserved: dict[str, str] = {}
        # Whether somebody is being let in: an error then leaves the tables half-way.
        self._is_joining = False
        scheduler.add_timer(self)

    # Who is open

    def open(self, match_id: str, queue: str) -> None:
        """Include a match from now on; it looks at all waiting tickets soon.

        Where newcomers are asked already, it has to wait for their answers.
        """
        roster = self._scheduler.tables.rosters.get(match_id)
        if roster is not None and roster.proposed:
            self._reserved[match_id] = queue
            return
        self._reserved.pop(match_id, None)
        pool = self._scheduler.pools[queue]
        table = self._tables.get(queue)
        if table is None or table.pool is not pool:
            known = table.ids if table is not None else []
            table = self._tables[queue] = OpenMatchTable(pool)
            for name in known:
                self._put(table, name)
        self._openings.pop(match_id, None)
        self._put(table, match_id)

    def close(self, match_id: str, queue: str) -> None:
        """Exclude a match from now on."""
        self._openings.pop(match_id, None)
        self._reserved.pop(match_id, None)
        table = self._tables.get(queue)
        if table is None:
            return
        table.drop(match_id)
        if not table.ids:
            del self._tables[queue]
            self._arrived.pop(queue, None)

    def over(self, match_id: str) -> None:
        """Forget a match that is over; newcomers who are being asked wait again."""
        self._scheduler.withdraw_fill(match_id)
        kept_match = self._scheduler.tables.matches.get(match_id)
        if kept_match is not None:
            self.close(match_id, kept_match.match.queue)

    def count(self, queue: str) -> int:
        """Return how many matches of a queue are open."""
        table = self._tables.get(queue)
        asking = list(self._reserved.values()).count(queue)
        return asking if table is None else len(table.ids) + asking

    def open_seats(self, queue: str) -> tuple[int, ...]:
        """Return the most players of one party that each open match of a queue takes."""
        table = self._tables.get(queue)
        known = [] if table is None else table.ids
        asking = [each for each, name in self._reserved.items() if name == queue]
        rosters = [self._scheduler.tables.rosters.get(each) for each in (*known, *asking)]
        return tuple([max(each.open.free) for each in rosters if each and each.open is not None])

    def open_matches(self) -> list[str]:
        """Return all open matches, by queue."""
        known = [match_id for table in self._tables.values() for match_id in table.ids]
        return [*known, *self._reserved]

    def next(self) -> float:
        """Return the next instant at which a match looks at all waiting tickets."""
        return min([table.next_look() for table in self._tables.values()], default=math.inf)

    def fire(self, now: float) -> None:
        """Let the matches that are due look at all waiting tickets."""
        for queue, table in self._tables.items():
            if table.take_due(now, LOOKS_MOST) and queue in self._scheduler.pools:
                self._scheduler.dirty[queue] = None

    def _put(self, table: OpenMatchTable, match_id: str) -> None:
        roster = self._scheduler.tables.rosters.get(match_id)
        if roster is None or roster.open is None:
            return
        opening = self._opening(table.pool, match_id, roster)
        table.put(match_id, opening, roster.open.priority_at(self._scheduler.now))
        table.look_soon(match_id, self._scheduler.now)

    def _opening(self, pool: Pool, match_id: str, roster: Roster) -> Opening | None:
        known = self._openings.get(match_id)
        if known is None or known[0] is not roster:
            known = self._openings[match_id] = (roster, opening_of(pool, roster))
        return known[1]

    # What the scheduler asks

    def entered(self, ticket_id: str, queue: str) -> None:
        """Note the tickets that have entered a queue."""
        if queue in self._tables:
            self._arrived.setdefault(queue, {})[ticket_id] = None

    def before(self, pool: Pool) -> None:
        """Fill the matches that take precedence over new ones."""
        if pool.name in self._tables:
            self._fill(pool, "high")

    def rival(self, pool: Pool, tickets: list[Ticket], seating: Seating) -> bool:
        """Fill a running match with the tickets of a new match where that is worth more.

        Args:
            pool: The queue's pool; its matcher has let go of the tickets.
            tickets: Those of the new match, by age.
            seating: Their division.

        Returns:
            Whether the tickets are taken care of; if so, the new match is not made.
        """
        if pool.name not in self._tables:
            return False
        now, price = self._scheduler.now, pool.queue.price
        players = sum([ticket.size for ticket in tickets])
        waits = sum([ticket.size * (now - ticket.enqueued_at) for ticket in tickets])
        worth = (seating.criteria_cost - price * waits) / players
        try:
            best = self._best_rival(pool, tickets, worth)
        except Exception as error:  # noqa: BLE001 - see _fill
            pool.fail("the search for newcomers", error)
            return False
        if best is None:
            return False
        match_id, join = best
        gone = {ticket.id for ticket in join.tickets}
        self._join(pool, match_id, join, decided=gone)
        for ticket in tickets:
            if ticket.id not in gone:
                pool.give(ticket, now)
                self.entered(ticket.id, pool.name)
        self._scheduler.dirty[pool.name] = None
        return True

    def after(self, pool: Pool, *, fired: bool) -> None:
        """Fill matches with tickets that the policy has left waiting."""
        if pool.name not in self._tables:
            return
        self._fill(pool, "normal")
        is_left_over = fired or pool.wake_at == math.inf
        if is_left_over and (table := self._tables.get(pool.name)) is not None:
            table.defer("low", LOOKS_MOST, self._scheduler.now)
            self._fill(pool, "low")
        if (table := self._tables.get(pool.name)) is None:
            return
        if not is_left_over:
            self._owe(pool, table)
        table.put_off(self._scheduler.now + LOOK_AGAIN, but=None if is_left_over else "low")
        arrived = self._arrived.get(pool.name, {})
        self._arrived[pool.name] = dict.fromkeys(each for each in arrived if pool.is_kept(each))

    # Filling

    def _best_rival(
        self, pool: Pool, tickets: list[Ticket], worth: float
    ) -> tuple[str, Join] | None:
        """Return who of a new match are worth more to a running one, and to which."""
        table, now, price = self._tables[pool.name], self._scheduler.now, pool.queue.price
        ids, rows = table.of("normal")
        if not ids:
            return None
        ready = table.ready_at(tickets, rows)
        bounds = np.where(ready <= now, table.net_least(tickets, rows, now), math.inf).min(axis=0)
        best: tuple[float, int, Join] | None = None
        # Those come first that might be worth most, so that the search may end early.
        for place in np.argsort(bounds, kind="stable").tolist():
            most = worth if best is None else best[0]
            if bounds[place] > most or bounds[place] == math.inf or self._is_spent(pool.name):
                break
            opening = self._still_open(pool, ids[place])
            if opening is None:
                continue
            search = table.search(opening, tickets, ready[:, place], now)
            self._spend(pool.name, search)
            for join in self._not_failed(pool, search):
                net = join.net(price)
                if net <= worth and (best is None or (net, place) < best[:2]):
                    best = net, place, join
        return None if best is None else (ids[best[1]], best[2])

    def _fill(self, pool: Pool, priority: Priority) -> None:
        """Fill the matches of one priority; an error in the search stops this queue alone."""
        try:
            self._fill_all(pool, priority)
        except Exception as error:
            if self._is_joining:
                raise
            pool.fail("the search for newcomers", error)

    def _fill_all(self, pool: Pool, priority: Priority) -> None:
        table = self._tables.get(pool.name)
        if pool.fault is not None or table is None:
            return
        ids, rows = table.of(priority)
        newcomers = self._newcomers(pool)
        is_due = table.is_due[rows]
        if not (newcomers and ids) and not is_due.any():
            return
        first_at, ready = np.full(len(ids), math.inf), np.empty((0, len(ids)))
        if newcomers:
            ready = table.ready_at(newcomers, rows)
            first_at = ready.min(axis=0)
        now = self._scheduler.now
        # Whoever was left out longest comes first, or the budget would always end before them.
        turns = np.argsort(np.where(is_due, table.owed_since[rows], math.inf), kind="stable")
        for turn in np.flatnonzero((is_due | (first_at <= now))[turns]).tolist():
            place = turns[turn]
            if is_due[place]:
                joined = self._look(table, ids[place])
            elif first_at[place] <= now:
                joined = self._let_in(table, ids[place], newcomers, ready[:, place])
                # The close look has said when the others are ready.
                first_at[place] = math.inf
            else:
                continue
            gone = [at for at, ticket in enumerate(newcomers) if ticket.id not in pool.tickets]
            if joined and gone:
                later = turns[turn + 1 :]
                ready[np.array(gone)[:, None], later] = math.inf
                first_at[later] = ready[:, later].min(axis=0)
        first_at[is_due] = math.inf
        for place in np.flatnonzero(first_at < table.look_at[rows]).tolist():
            self._hope(table, ids[place], newcomers, ready[:, place])

    def _newcomers(self, pool: Pool) -> list[Ticket]:
        arrived = self._arrived.get(pool.name, ())
        return [pool.tickets[i] for i in arrived if i in pool.tickets and not pool.is_kept(i)]

    def _owe(self, pool: Pool, table: OpenMatchTable) -> None:
        """Let matches that may not take newcomers yet look at all who wait as soon as they may."""
        _, rows = table.of("low")
        newcomers = self._newcomers(pool) if len(rows) else []
        if newcomers:
            may_join = (table.ready_at(newcomers, rows) < math.inf).any(axis=0)
            table.owe(rows[may_join], self._scheduler.now)

    def _still_open(self, pool: Pool, match_id: str) -> Opening | None:
        """Return the free seats of a match; None, and it is closed, if it is over meanwhile."""
        roster = self._scheduler.tables.rosters.get(match_id)
        if roster is not None and roster.open is not None:
            return self._opening(pool, match_id, roster)
        self.close(match_id, pool.name)
        return None

    def _in_turn(self, table: OpenMatchTable, match_id: str) -> Opening | None:
        """Return the free seats of a match; None if it is over, or has to wait for its turn."""
        opening = self._still_open(table.pool, match_id)
        if opening is not None and self._is_spent(table.pool.name):
            table.skip(match_id, self._scheduler.now)
            return None
        return opening

    def _look(self, table: OpenMatchTable, match_id: str) -> bool:
        """Let a match look at all who wait; return whether somebody joined it."""
        opening = self._in_turn(table, match_id)
        if opening is None:
            return False
        now = self._scheduler.now
        table.end_look(match_id)
        ready, next_at = table.look(match_id, opening, now)
        search = seat_newcomers(table.pool, opening, ready, now, math.inf)
        table.hope(match_id, search.again_at)
        search.again_at = min(search.again_at, next_at)
        return self._conclude(table, match_id, search, now + LOOK_AGAIN)

    def _let_in(
        self, table: OpenMatchTable, match_id: str, newcomers: list[Ticket], ready: Floats
    ) -> bool:
        """Let a match look at newcomers; return whether one of them joined it."""
        opening = self._in_turn(table, match_id)
        if opening is None:
            return False
        now = self._scheduler.now
        search = table.search(opening, newcomers, ready, now)
        return self._conclude(table, match_id, search, now)

    def _conclude(
        self, table: OpenMatchTable, match_id: str, search: SearchResult, soonest: float
    ) -> bool:
        self._spend(table.pool.name, search)
        if joins := self._not_failed(table.pool, search):
            self._join(table.pool, match_id, joins[-1])
            return True
        if search.joins:
            search.again_at = min(search.again_at, self._scheduler.now + LOOK_AGAIN)
        if search.again_at <= self._scheduler.now:
            table.skip(match_id, self._scheduler.now)
        elif search.again_at < math.inf:
            table.look_soon(match_id, max(search.again_at, soonest))
        return False

    def _not_failed(self, pool: Pool, search: SearchResult) -> list[Join]:
        """Return what a search came to without those who are not asked together again yet."""
        if self._ready_check(pool) is None:
            return search.joins
        tables, now = self._scheduler.tables, self._scheduler.now
        return [each for each in search.joins if tables.dissolved_until(each.tickets) <= now]

    def _ready_check(self, pool: Pool) -> ReadyCheck | None:
        """Return how newcomers are asked; None if they just join."""
        if self._scheduler.format < ASKED_SINCE:
            return None
        return pool.queue.asks_newcomers

    def _is_spent(self, queue: str) -> bool:
        return self._scheduler.evaluated.get(queue, 0) >= BUDGET

    def _spend(self, queue: str, search: SearchResult) -> None:
        evaluated = self._scheduler.evaluated
        evaluated[queue] = evaluated.get(queue, 0) + search.evaluations

    def _hope(
        self, table: OpenMatchTable, match_id: str, newcomers: list[Ticket], ready: Floats
    ) -> None:
        """Let a match look again when the first of some newcomers is ready."""
        opening = self._still_open(table.pool, match_id) if match_id in table else None
        if opening is None:
            return
        at = table.look_at_of(match_id)
        for ticket, early in zip(newcomers, ready.tolist(), strict=True):
            if early < at:
                at = min(at, table.exactly(opening, ticket, early))
        table.look_soon(match_id, at)

    def _join(
        self, pool: Pool, match_id: str, join: Join, *, decided: Collection[str] = ()
    ) -> None:
        """Let newcomers join a running match, and give them its place, or ask them first.

        Args:
            pool: The queue's pool.
            match_id: The running match.
            join: The newcomers.
            decided: Those of whom the matcher has let go already.
        """
        scheduler, self._is_joining = self._scheduler, True
        match = _described(scheduler, pool, scheduler.tables.matches[match_id].match, join)
        waiting = scheduler.tables.waiting
        leaves = [(ticket_id, waiting[ticket_id].queues) for ticket_id in match.tickets]
        for ticket_id, queues in leaves:
            for name in queues:
                if name == pool.name and ticket_id in decided:
                    del pool.tickets[ticket_id]
                else:
                    scheduler.pools[name].leave(ticket_id, scheduler.now)
                    scheduler.dirty[name] = None
        self.close(match_id, pool.name)
        if (accept := self._ready_check(pool)) is None:
            scheduler.settle(match)
        else:
            scheduler.propose(accept, match)
            self.open(match_id, pool.name)
        self._is_joining = False


def _described(scheduler: Scheduler, pool: Pool, base: Match, join: Join) -> Match:
    """Return the match that newcomers make: its teams are theirs, its quality is that of all."""
    waiting, form = scheduler.tables.waiting, pool.queue.format
    ids = tuple([ticket.id for ticket in join.tickets])
    teams = tuple([tuple([waiting[t.id].ticket for t in team]) for team in join.newcomers])
    waits = sum([t.size * (scheduler.now - t.enqueued_at) for team in teams for t in team])
    venues, delta = pool.objective.venues, None
    if base.region is not None:
        delta = venues.delta_at(teams, base.region)
    match = Match(
        scheduler.next_match_id(),
        pool.name,
        scheduler.now,
        ids,
        tuple([tuple([ticket.id for ticket in team]) for team in teams]),
        tuple([tuple([p.id for t in team for p in t.players]) for team in teams]),
        cost=join.seating.criteria_cost + pool.queue.price * waits,
        quality=join.seating.quality,
        extends=base.id,
        roles=join.seating.roles,
        region=base.region,
        latency_delta=delta,
    )
    if form.strict_sides == form.sides:
        return match
    return replace(match, off_side=off_side(form.sides, teams))
