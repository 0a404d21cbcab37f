"""Running matches with free seats in the queue: they compete with new matches for who waits.

A search looks at tickets that have just entered, at those of a new match that is about to be made,
and, when time alone may have changed something, at all who wait: for one match of a queue at a
time, so that nobody's entering costs (open matches) x (waiting tickets).

- `high`: a running match is filled before the policy decides.
- `normal`: the policy decides, and each of its matches has to be worth more to its players than a
  seat in a running match is to those who could take it; cost that a newcomer adds, less what the
  waiting of tickets and seats has cost. Tickets that lose their match wait on.
- `low`: a running match gets who is left over: when the policy has nothing in mind, or has just
  decided at an instant of its own.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from msgspec.structs import replace

from evenmatch.cost.objective import Seating
from evenmatch.engine.check import off_side
from evenmatch.engine.deadlines import Deadlines, Entry
from evenmatch.engine.house import House
from evenmatch.engine.newcomers import Join, Opening, Search, find_newcomers, opening_of
from evenmatch.engine.pool import Pool
from evenmatch.engine.rosters import Roster
from evenmatch.model.events import Assigned, Matched
from evenmatch.model.match import Match, Priority
from evenmatch.model.ticket import Ticket

LOOK_EVERY = 0.25
"""Seconds between two looks of one queue at all who wait in it."""
LOOK_AGAIN = 1.0
"""Seconds between two such looks for the same match."""


class Fills:
    """The open matches of a house, and the search for newcomers."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._open: dict[str, dict[str, None]] = {}
        # When to look at all who wait on behalf of a match, and for which it is time now.
        self._look_at: dict[str, float] = {}
        self._looks = Deadlines(self._is_next)
        self._due: set[str] = set()
        self._arrived: dict[str, list[str]] = {}
        # What a roster's free seats are worth, as long as it stays what it is.
        self._openings: dict[str, tuple[Roster, Opening | None]] = {}
        house.timers.append(self._looks)

    # Who is open

    def open(self, match_id: str, queue: str) -> None:
        """Let a match take part from now on; all who wait are looked at soon."""
        self._open.setdefault(queue, {})[match_id] = None
        self._openings.pop(match_id, None)
        self._look_soon(match_id, queue, self._house.now)

    def close(self, match_id: str, queue: str) -> None:
        """Let a match take part no longer."""
        mine = self._open.get(queue, {})
        mine.pop(match_id, None)
        self._look_at.pop(match_id, None)
        self._openings.pop(match_id, None)
        self._due.discard(match_id)
        if not mine and queue in self._open:
            del self._open[queue]
            self._arrived.pop(queue, None)

    def count(self, queue: str) -> int:
        """Return how many matches of a queue are open."""
        rosters = self._house.tables.rosters
        return sum([match_id in rosters for match_id in self._open.get(queue, ())])

    def fire(self, now: float) -> None:
        """Let one match of each queue, whose time it is, look at all who wait."""
        had: set[str] = set()
        for entry in self._looks.take_due(now):
            match_id, queue = entry[3], entry[4]
            if queue in had:
                self._look_soon(match_id, queue, now + LOOK_EVERY)
                continue
            had.add(queue)
            del self._look_at[match_id]
            if queue in self._house.pools:
                self._due.add(match_id)
                self._house.dirty[queue] = None

    # What the house asks

    def entered(self, ticket_id: str, queue: str) -> None:
        """Note who has entered a queue."""
        if queue in self._open:
            self._arrived.setdefault(queue, []).append(ticket_id)

    def before(self, pool: Pool) -> None:
        """Fill the matches that come before new ones."""
        if pool.name in self._open:
            self._fill(pool, "high")

    def rival(self, pool: Pool, tickets: list[Ticket], seating: Seating) -> bool:
        """Fill a running match with tickets of a new match where that is worth more.

        Args:
            pool: The queue's pool; its matcher has let go of the tickets.
            tickets: Those of the new match, by age.
            seating: Their division.

        Returns:
            Whether the tickets are taken care of; if so, the new match is not made.
        """
        if pool.name not in self._open:
            return False
        now, price = self._house.now, pool.queue.price
        players = sum([ticket.size for ticket in tickets])
        waits = sum([ticket.size * (now - ticket.enqueued_at) for ticket in tickets])
        worth = (seating.criteria_cost - price * waits) / players
        best: tuple[float, str, Join] | None = None
        for match_id, roster in self._of(pool.name, "normal"):
            for join in self._search(pool, match_id, roster, tickets).joins:
                net = join.net(price)
                if net <= worth and (best is None or net < best[0]):
                    best = net, match_id, join
        if best is None:
            return False
        _, match_id, join = best
        gone = {ticket.id for ticket in join.tickets}
        self._join(pool, match_id, join, decided=gone)
        for ticket in tickets:
            if ticket.id not in gone:
                pool.give(ticket, now)
                self.entered(ticket.id, pool.name)
        self._house.dirty[pool.name] = None
        return True

    def after(self, pool: Pool, *, fired: bool) -> None:
        """Fill matches with those whom the policy has left waiting."""
        if pool.name not in self._open:
            return
        self._fill(pool, "normal")
        if fired or pool.wake_at == math.inf:
            self._fill(pool, "low")
        for match_id in list(self._open.get(pool.name, ())):
            if match_id in self._due:
                self._due.discard(match_id)
                self._look_soon(match_id, pool.name, self._house.now + LOOK_AGAIN)
        self._arrived.pop(pool.name, None)

    # Filling

    def _of(self, queue: str, priority: Priority) -> Iterable[tuple[str, Roster]]:
        """Yield the open matches of a priority, those first that were opened first."""
        rosters = self._house.tables.rosters
        for match_id in list(self._open.get(queue, ())):
            roster = rosters.get(match_id)
            if roster is None or roster.open is None:
                self.close(match_id, queue)
            elif roster.open.priority == priority:
                yield match_id, roster

    def _fill(self, pool: Pool, priority: Priority) -> None:
        if pool.fault is not None:
            return
        arrived = self._arrived.get(pool.name, ())
        for match_id, roster in self._of(pool.name, priority):
            is_due = match_id in self._due
            if is_due:
                self._due.discard(match_id)
                search = self._search(pool, match_id, roster, pool.tickets.values())
                again_at = max(search.again_at, self._house.now + LOOK_AGAIN)
            else:
                newcomers = [pool.tickets[i] for i in arrived if i in pool.tickets]
                if not newcomers:
                    continue
                search = self._search(pool, match_id, roster, newcomers)
                again_at = search.again_at
            if search.joins:
                self._join(pool, match_id, search.joins[-1])
            elif again_at < math.inf:
                self._look_soon(match_id, pool.name, again_at)

    def _search(
        self, pool: Pool, match_id: str, roster: Roster, candidates: Iterable[Ticket]
    ) -> Search:
        known = self._openings.get(match_id)
        if known is None or known[0] is not roster:
            known = self._openings[match_id] = (roster, opening_of(pool, roster))
        opening = known[1]
        if opening is None:
            return Search([])
        return find_newcomers(pool, opening, candidates, self._house.now)

    def _join(
        self, pool: Pool, match_id: str, join: Join, *, decided: Collection[str] = ()
    ) -> None:
        """Let newcomers join a running match, and give them its place.

        Args:
            pool: The queue's pool.
            match_id: The running match.
            join: The newcomers.
            decided: Those of whom the matcher has let go already.
        """
        house = self._house
        base = house.tables.matches[match_id]
        match = _described(house, pool, base.match, join)
        waiting = house.tables.waiting
        leaves = [(ticket_id, waiting[ticket_id].queues) for ticket_id in match.tickets]
        house.emit(Matched(match))
        if base.assignment is not None:
            house.emit(Assigned(match.id, base.assignment))
        house.watch_match(house.tables.matches[match.id])
        for ticket_id, queues in leaves:
            for name in queues:
                if name == pool.name and ticket_id in decided:
                    del pool.tickets[ticket_id]
                else:
                    house.pools[name].leave(ticket_id, house.now)
                    house.dirty[name] = None
        self.close(match_id, pool.name)
        house.on_made(match_id)

    # Looks

    def _look_soon(self, match_id: str, queue: str, at: float) -> None:
        known = self._look_at.get(match_id)
        if known is None or at < known:
            self._look_at[match_id] = at
            made = self._house.tables.matches[match_id].made
            self._looks.add((at, made, 0, match_id, queue))

    def _is_next(self, entry: Entry) -> bool:
        return self._look_at.get(entry[3]) == entry[0]


def _described(house: House, pool: Pool, base: Match, join: Join) -> Match:
    """Return the match that newcomers make: its teams are theirs, its quality is that of all."""
    waiting, form = house.tables.waiting, pool.queue.format
    ids = tuple([ticket.id for ticket in join.tickets])
    teams = tuple([tuple([waiting[t.id].ticket for t in team]) for team in join.newcomers])
    waits = sum([t.size * (house.now - t.enqueued_at) for team in teams for t in team])
    venues, delta = pool.objective.venues, None
    if base.region is not None:
        delta = venues.delta_at(teams, base.region)
    match = Match(
        house.next_match_id(),
        pool.name,
        house.now,
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
    if form.insisted == form.sides:
        return match
    return replace(match, off_side=off_side(form.sides, teams))
