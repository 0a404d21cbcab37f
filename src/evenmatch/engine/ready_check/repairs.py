"""Repairs failed ready-checks: when to look for players for the free seats, and in which order.

Replacements are sought at once for the free seats only, as they are when a running match asks for
players, then again whenever somebody enters the queue, and at the very instant at which waiting
alone allows one, until `ReadyCheck.repair` seconds are over. They may cost `ReadyCheck.loss_max` of
the quality that was proposed first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from evenmatch.engine.admission.admission import fits
from evenmatch.engine.matching.deadlines import Deadlines
from evenmatch.engine.matching.decision_check import describe
from evenmatch.engine.matching.pool import Pool
from evenmatch.engine.matching.scheduler import Scheduler
from evenmatch.engine.matching.waiting_columns import TicketColumns
from evenmatch.engine.ready_check.replacements import (
    GO_ON,
    LOOK_AGAIN,
    SeatedTickets,
    StayingTickets,
    Vacancy,
    find_replacements,
    helps_at,
    without_them,
)
from evenmatch.engine.state.rows import Proposal
from evenmatch.model.events import Dissolved, Repaired
from evenmatch.model.ticket import Ticket

EXACTLY = 16
"""Looks of one repair at the very instants that may help; later ones keep `LOOK_AGAIN` apart."""
LOOKS_MOST = 2
"""Looks at all who wait that may come at one instant, beside those that end a repair."""
LOOK_GAP = 0.04
"""Seconds from one such look to the next in the long run, so that repairs never fill the time."""

OFFERS_MOST = 4
"""Repairs that are offered a newcomer at once, in turn; the others look at all who wait soon."""
OFFERED_MOST = 32
"""The same for all newcomers of one input together."""


class Repairs:
    """The proposals of a scheduler that have free seats.

    Args:
        scheduler: Pools, tables and timers.
        conclude: Makes a match of a proposal if everyone in it has accepted.
    """

    def __init__(self, scheduler: Scheduler, conclude: Callable[[str], None]) -> None:
        self._scheduler = scheduler
        self._conclude = conclude
        # The proposals that have free seats, and how often each has looked at all who wait.
        self._open: dict[str, int] = {}
        # The pool whose rules and criteria are known to find all they compare in those who stay.
        self._judged_by: dict[str, Pool] = {}
        # Who was seen by the looks before, where the next one goes on with the others.
        self._seen: dict[str, frozenset[str]] = {}
        # When the next look at all who wait is due, had they all kept `LOOK_GAP` apart.
        self._turn_at = -math.inf
        # Those who stay in each, as columns.
        self._stayers: dict[str, tuple[tuple[Ticket, ...], StayingTickets]] = {}
        # Who left last, so that those like them are looked at first.
        self._left: dict[str, tuple[Ticket, ...]] = {}
        # How many offers were made: whose turn comes next follows from it.
        self._offers = 0
        # When each of them looked last.
        self._looked_at: dict[str, float] = {}
        # When each of them looks again, because somebody may fit by then.
        self._look_at: dict[str, float] = {}
        self._looks = Deadlines(lambda entry: self._look_at.get(entry[3]) == entry[0])
        scheduler.add_timer(self._looks)
        scheduler.offer = self._offer

    def begin(self, proposal: Proposal, pool: Pool, left: tuple[Ticket, ...]) -> None:
        """Search for replacements of tickets that have just left."""
        self._scheduler.watch_proposal(proposal)
        self._judged_by[proposal.match.id] = pool
        self._open.setdefault(proposal.match.id, 0)
        self._seen.pop(proposal.match.id, None)
        self._left[proposal.match.id] = left
        if self._may_look():
            self._seek_among_all(proposal, pool)
        else:
            self._look_soon(proposal, self._turn_at)

    def resume(self, proposal: Proposal) -> None:
        """Restore a repair of a journal."""
        self._open[proposal.match.id] = 0
        self._look_soon(proposal, self._scheduler.now)

    def configured(self) -> None:
        """End the repairs for which a new configuration has no place."""
        for match_id in list(self._open):
            proposal = self._scheduler.tables.proposals[match_id]
            if (pool := self.where(proposal)) is None:
                self.dissolve(proposal, proposal.tickets, "queue_changed")
            else:
                self._judged_by[match_id] = pool
                self._look_soon(proposal, self._scheduler.now)

    def fire(self, now: float) -> None:
        """Let the repairs that are due look at all waiting tickets."""
        due = self._looks.take_due(now)
        # Who looked longest ago comes first: else those that go on would leave the others no turn.
        due.sort(key=lambda entry: self._looked_at.get(entry[3], -math.inf))
        for entry in due:
            # An answer at this instant may have ended the repair, or begun it anew.
            if self._look_at.get(entry[3]) == entry[0]:
                proposal = self._scheduler.tables.proposals[entry[3]]
                if self._may_look():
                    self._look(proposal)
                else:
                    del self._look_at[entry[3]]
                    self._look_soon(proposal, self._turn_at)

    def where(self, proposal: Proposal, stay: Iterable[str] | None = None) -> Pool | None:
        """Return the pool in which replacements are searched for; None if there is none.

        A queue that was changed meanwhile judges matches by other rules. So does one of another
        policy, which may compare what those who stay do not have: then nobody may join them.

        Args:
            proposal: The proposal.
            stay: Those of its tickets that stay; all if left out.
        """
        tables, name = self._scheduler.tables, proposal.match.queue
        accept, pool = proposal.queue.accept, self._scheduler.pools.get(name)
        if proposal.match.extends is not None:
            return None
        if accept is None or not accept.repair or pool is None or pool.fault is not None:
            return None
        if name in tables.paused or not tables.queues[name].judges_like(proposal.queue):
            return None
        if self._judged_by.get(proposal.match.id) is not pool:
            stayers = proposal.tickets if stay is None else stay
            tickets = [tables.waiting[ticket_id].ticket for ticket_id in stayers]
            if not all(fits(ticket, pool.objective) for ticket in tickets):
                return None
        return pool

    def give_up(self, proposal: Proposal) -> None:
        """End a repair: start the smaller match where that is legal, else dissolve the proposal."""
        pool = self.where(proposal)
        if pool is not None:
            self._seek_among_all(proposal, pool)
            if proposal.match.id not in self._open:
                return
            found = self._alone(proposal, pool)
            if found is not None:
                self._repair(proposal, pool, found)
                return
        self.dissolve(proposal, list(proposal.tickets), "no_replacement")

    def dissolve(self, proposal: Proposal, stay: Iterable[str], reason: str) -> None:
        """End a proposal that failed; the tickets that stayed in it wait again."""
        scheduler, match_id = self._scheduler, proposal.match.id
        innocents = tuple(stay)
        self._forget(match_id)
        scheduler.emit(Dissolved(match_id, reason, innocents))
        scheduler.come_back(innocents)

    def _forget(self, match_id: str) -> None:
        """Forget a repair that is over."""
        self._open.pop(match_id, None)
        self._seen.pop(match_id, None)
        self._left.pop(match_id, None)
        self._stayers.pop(match_id, None)
        self._look_at.pop(match_id, None)
        self._looked_at.pop(match_id, None)
        self._judged_by.pop(match_id, None)

    def _offer(self, name: str, fresh: list[str]) -> None:
        """Offer the free seats of a queue's proposals to tickets that were just let in."""
        tables, now = self._scheduler.tables, self._scheduler.now
        mine = [each for each in self._open if tables.proposals[each].match.queue == name]
        first = self._offers % len(mine) if mine else 0
        most = min(OFFERS_MOST * len(fresh), OFFERED_MOST)
        among: TicketColumns | None = None
        seats = None
        for place, match_id in enumerate([*mine[first:], *mine[:first]]):
            proposal = tables.proposals[match_id]
            pool = self.where(proposal)
            if pool is None:
                continue
            rested = self._looked_at.get(match_id, -math.inf) + GO_ON
            soonest = max(rested, self._turn_at, now)
            if place >= most:
                self._look_soon(proposal, soonest)
                continue
            self._offers += 1
            is_last_seat = _free(proposal) == 1
            # Where others have to join too, the look that comes as soon anyway sees the newcomers.
            if not is_last_seat and now < soonest >= self._look_at.get(match_id, math.inf):
                continue
            # Those of the proposal before, but for whom it has taken.
            if among is None or seats is not pool.columns.seats or not _all_wait(among, pool):
                seats = pool.columns.seats
                among = pool.columns.of([pool.tickets[key] for key in fresh if key in pool.tickets])
            if is_last_seat:
                self._seek(proposal, pool, among)
            elif (at := self._helps_at(proposal, pool, among)) > now:
                self._look_soon(proposal, at)
            # It may take somebody who waits already to fill the other seats.
            elif rested <= now and self._may_look():
                self._seek_among_all(proposal, pool)
            elif match_id in self._open:
                self._look_soon(proposal, max(rested, self._turn_at))

    def _seek_among_all(self, proposal: Proposal, pool: Pool) -> None:
        """Look for replacements among all who wait, going on where the last look stopped."""
        match_id = proposal.match.id
        self._looked_at[match_id] = self._scheduler.now
        seen = self._seen.pop(match_id, frozenset())
        seen = self._seek(proposal, pool, pool.columns.oldest(pool.tickets), seen)
        if match_id not in self._open:
            self._looked_at.pop(match_id, None)
        elif seen:
            self._seen[match_id] = seen

    def _seek(
        self,
        proposal: Proposal,
        pool: Pool,
        among: TicketColumns,
        seen: frozenset[str] = frozenset(),
    ) -> frozenset[str]:
        """Look for replacements among waiting tickets; return whom the next look leaves out."""
        tables, now = self._scheduler.tables, self._scheduler.now
        group = tables.players.get(proposal.queue.group, {})
        # Who has left may have queued again.
        barred = {group[player] for player in proposal.left if player in group}
        try:
            vacancy = self._vacancy(proposal, pool)
            sought = find_replacements(pool, vacancy, among, now, barred, seen)
        except Exception as error:  # noqa: BLE001 - see _give_up_on
            self._give_up_on(proposal, pool, error)
            return frozenset()
        again_at = sought.again_at
        if sought.match is not None:
            failed_until = tables.dissolved_until(sought.match[0])
            if failed_until <= now:
                self._repair(proposal, pool, sought.match)
                return frozenset()
            again_at = min(failed_until, now + LOOK_AGAIN)
        self._look_soon(proposal, again_at)
        return sought.seen

    def _helps_at(self, proposal: Proposal, pool: Pool, among: TicketColumns) -> float:
        """Return the instant from which one of some newcomers may take one of the free seats."""
        try:
            vacancy = self._vacancy(proposal, pool)
            return helps_at(pool, vacancy, among, self._scheduler.now)
        except Exception as error:  # noqa: BLE001 - see _give_up_on
            self._give_up_on(proposal, pool, error)
            return math.inf

    def _alone(self, proposal: Proposal, pool: Pool) -> SeatedTickets | None:
        """Return the match that those who stay make alone, if they make one."""
        try:
            return without_them(pool, self._vacancy(proposal, pool), self._scheduler.now)
        except Exception as error:  # noqa: BLE001 - see _give_up_on
            pool.fail(f"the repair of match {proposal.match.id}", error)
            return None

    def _give_up_on(self, proposal: Proposal, pool: Pool, error: Exception) -> None:
        """End a repair in which something failed that nobody foresaw.

        Looks change nothing, so the tables are whole. The same error would come at each look, and
        after a restart too; it stops this queue, as a fault of its policy would, and no other.
        """
        pool.fail(f"the repair of match {proposal.match.id}", error)
        self.dissolve(proposal, proposal.tickets, "no_replacement")

    def _may_look(self) -> bool:
        """Return whether one more repair may look at all who wait now, and count it."""
        now = self._scheduler.now
        if self._turn_at > now:
            return False
        self._turn_at = max(self._turn_at, now - (LOOKS_MOST - 1) * LOOK_GAP) + LOOK_GAP
        return True

    def _look(self, proposal: Proposal) -> None:
        """Look at all who wait, because somebody may fit by now who did not before."""
        match_id = proposal.match.id
        del self._look_at[match_id]
        pool = self.where(proposal)
        if pool is None:
            return
        self._seek_among_all(proposal, pool)
        soonest = self._scheduler.now + LOOK_AGAIN
        if match_id not in self._open or match_id in self._seen:
            return
        self._open[match_id] += 1
        if self._open[match_id] > EXACTLY and self._look_at.get(match_id, soonest) < soonest:
            del self._look_at[match_id]
            self._look_soon(proposal, soonest)

    def _look_soon(self, proposal: Proposal, at: float) -> None:
        """Look at all who wait at an instant, unless that is done before."""
        match = proposal.match
        if at < self._look_at.get(match.id, math.inf):
            self._look_at[match.id] = at
            self._looks.add((at, proposal.made, 0, match.id, match.queue))

    def _vacancy(self, proposal: Proposal, pool: Pool) -> Vacancy:
        waiting, seats = self._scheduler.tables.waiting, proposal.open
        assert seats is not None
        seated = tuple([waiting[ticket_id].ticket for ticket_id in proposal.tickets])
        stayers = None
        if seated:
            known = self._stayers.get(proposal.match.id)
            # Tickets compare by identity first, so this is quick where nobody has changed.
            if known is not None and known[0] == seated and known[1].hold_for(pool):
                stayers = known[1]
            else:
                stayers = StayingTickets(pool, seated)
                self._stayers[proposal.match.id] = seated, stayers
        return Vacancy(
            seated,
            stayers,
            self._left.get(proposal.match.id, ()),
            _free(proposal),
            proposal.match.bots,
            None if proposal.quality is None else seats.quality_floor,
            proposal.quality,
        )

    def _repair(self, proposal: Proposal, pool: Pool, replacement: SeatedTickets) -> None:
        """Fill the free seats; whoever joins is asked, and leaves the pools they waited in."""
        scheduler, (tickets, seating) = self._scheduler, replacement
        accept, old = proposal.queue.accept, proposal.match
        assert accept is not None
        match = describe(old.id, pool, tickets, seating, old.bots, scheduler.now)
        joined = tuple([t.id for t in tickets if t.id not in proposal.tickets])
        until = {
            ticket.id: accept.answer_by(ticket.enqueued_at, scheduler.now)
            for ticket in tickets
            if ticket.id in joined
        }
        leaves = [(ticket_id, scheduler.tables.waiting[ticket_id].queues) for ticket_id in joined]
        scheduler.emit(Repaired(match, joined, until))
        self._forget(old.id)
        for ticket_id, queues in leaves:
            scheduler.leave(ticket_id, queues)
        scheduler.watch_proposal(scheduler.tables.proposals[old.id])
        self._conclude(old.id)


def _all_wait(among: TicketColumns, pool: Pool) -> bool:
    """Return whether all of some tickets still wait."""
    return all(ticket.id in pool.tickets for ticket in among.tickets)


def _free(proposal: Proposal) -> int:
    assert proposal.open is not None
    return sum(proposal.open.free)
