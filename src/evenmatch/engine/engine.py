"""The engine: a deterministic state machine that turns inputs into events.

It has no clock, no I/O, no threads and no chance of its own: `now` comes with each input, and
equal inputs give equal events. `step` decides and folds; `apply` only folds, so that recovery never
asks a policy. Whoever drives it (the server's shard, the simulator) hands in `Advance(next_wakeup)`
before any later input, so that a late timer changes nothing.

At one instant, inputs come before deadlines: after an input, matchers decide with `fired=False`;
only `Advance` fires what is due. At a deadline the matcher decides first, then `on_deadline`
applies to what is left. What takes a matcher long is a job, which `take_jobs` hands out and
`Settle` brings back; an advance that asked for one ends there, once, and its deadlines stay due.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from evenmatch.engine.acceptance import Acceptance
from evenmatch.engine.admission import Door, Limits, check_request, judge, judge_update
from evenmatch.engine.backfill import Backfill
from evenmatch.engine.check import playable
from evenmatch.engine.configuration import carried_over, check_configuration, misfits
from evenmatch.engine.deadlines import Entry
from evenmatch.engine.fill import fill_at_deadline
from evenmatch.engine.floor import Floor, Resolve
from evenmatch.engine.jobs import RunningJob
from evenmatch.engine.ladders import Ladders, Rate
from evenmatch.engine.lookup import find_match, find_ticket
from evenmatch.engine.outcomes import Outcomes
from evenmatch.engine.pool import Pool, in_turn, order_of_queues
from evenmatch.engine.records import Record, changes_state
from evenmatch.engine.rosters import Roster
from evenmatch.engine.rows import KeptMatch, TicketView
from evenmatch.engine.tables import Tables
from evenmatch.errors import MatchmakingError, PolicyError, TooLate
from evenmatch.model.events import (
    Accepted,
    Cancelled,
    Configured,
    Finished,
    JobAsked,
    JobSettled,
)
from evenmatch.model.inputs import (
    Accept,
    Advance,
    Assign,
    Cancel,
    Close,
    Configure,
    Decline,
    Enqueue,
    Finish,
    Input,
    Open,
    Outcome,
    Settle,
    Update,
    Void,
)
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import JobResult, Memory

GONE = ("matched", "assigned")
"""States of a ticket for which a cancel comes too late."""


class Engine:
    """All the queues that may share a player, and the tickets in them.

    Args:
        resolve: Makes a queue's policy.
        shard: Prefix of the ids that the engine gives.
        limits: How much it takes.
        rate: Computes ratings; needed where queues have a rating system.
    """

    def __init__(
        self,
        resolve: Resolve,
        *,
        shard: str = "s0",
        limits: Limits | None = None,
        rate: Rate | None = None,
    ) -> None:
        self.shard = shard
        self.limits = limits or Limits()
        self._floor = Floor(resolve, shard)
        self._acceptance = Acceptance(self._floor)
        self._backfill = Backfill(self._floor)
        self.ladders = Ladders(self._floor, rate)
        self._outcomes = Outcomes(self._floor, rate)
        self._wakeup: float | None = None
        # The instant whose deadlines were left to the advance after this one.
        self._put_off_at = -math.inf
        self._steps: dict[type, Callable[..., None]] = {
            Accept: self._acceptance.accept,
            Advance: self._advance,
            Assign: self._assign,
            Cancel: self._cancel,
            Close: self._backfill.close,
            Configure: self._configure,
            Decline: self._acceptance.decline,
            Enqueue: self._enqueue,
            Finish: self._finish,
            Open: self._backfill.open,
            Outcome: self._outcome,
            Settle: self._settle,
            Update: self._update,
            Void: self._backfill.void,
        }

    @property
    def tables(self) -> Tables:
        """Return everything that is remembered."""
        return self._floor.tables

    @tables.setter
    def tables(self, tables: Tables) -> None:
        self._floor.tables = tables

    @property
    def pools(self) -> dict[str, Pool]:
        """Return the queues at work, by name."""
        return self._floor.pools

    @property
    def next_wakeup(self) -> float:
        """Return the instant of the next timer or deadline; inf if nothing is due ever."""
        if self._wakeup is None:
            floor = self._floor
            self._wakeup = min(floor.next_due(), max(self._outcomes.next(), floor.now))
        return self._wakeup

    @property
    def faults(self) -> list[PolicyError]:
        """Return what policies did wrong; their queues have stopped making matches."""
        return [pool.fault for pool in self.pools.values() if pool.fault is not None]

    def step(self, given: Input) -> Record:
        """Decide what comes of an input, and fold it.

        Returns:
            The record; its sequence is 0 if nothing changed, and then it is not journalled.

        Raises:
            Refusal: The input was refused and changed nothing.
            ConfigError: `Configure` with queues or policies that cannot work.
        """
        handler = self._steps[type(given)]
        floor = self._floor
        assert given.now >= floor.now, f"time runs backwards: {given.now} < {floor.now}"
        assert given.now <= self.next_wakeup, "hand in Advance(next_wakeup) first"
        self._wakeup = None
        floor.begin(given)
        handler(given)
        events = tuple(floor.events)
        if not changes_state(given, events):
            return Record(0, given, events)
        record = Record(floor.tables.sequence + 1, given, events)
        floor.tables.seal(record)
        assert floor.tables.counts_add_up(), "I3: a ticket was lost or counted twice"
        return record

    def announce(self, ticket: Ticket, queue: str, now: float) -> None:
        """Say that a ticket is to come at its `enqueued_at`; then hand in `Advance(next_wakeup)`.

        It is advice to the queue's matcher and no input: it changes nothing that is journalled.
        """
        assert self._floor.now <= now <= self.next_wakeup, "hand in Advance(next_wakeup) first"
        self._floor.now, self._wakeup = now, None
        self.pools[queue].announce(ticket, now)

    def apply(self, record: Record) -> None:
        """Fold a record of the journal; call `resume` after the last one."""
        self.tables.apply(record)

    def resume(self, now: float, memories: Mapping[str, Memory] | None = None) -> None:
        """Make matchers anew after recovery; hand in `Advance(next_wakeup)` next.

        Args:
            now: Where engine time goes on, seconds.
            memories: What the matchers knew at the last snapshot, by queue.
        """
        floor, tables, known, self._wakeup = self._floor, self.tables, memories or {}, None
        floor.now = tables.now = max(tables.now, now)
        pools = {}
        for name, queue in tables.queues.items():
            try:
                pools[name] = floor.make_pool(queue, tables.seed, known.get(name))
            except MatchmakingError as error:
                # The policy of the past need not exist any more: whoever starts a server with
                # another one configures it next.
                pools[name] = Pool.stopped(queue, str(error))
        floor.open_pools(pools)
        for kept in tables.matches.values():
            floor.watch_match(kept)
            self._outcomes.watch(kept)
        self._acceptance.resume()
        self._backfill.resume()
        for pool in self.pools.values():
            pool.wake_at = floor.now

    def memories(self) -> dict[str, Memory]:
        """Return what the matchers know that re-entering cannot restore, by queue."""
        return {name: pool.memory() for name, pool in self.pools.items()}

    def _configure(self, given: Configure) -> None:
        floor = self._floor
        check_configuration(given, floor.tables)
        self.ladders.check(given.queues)
        same, known = carried_over(given, floor.tables, floor.pools)
        pools = {
            queue.name: same.get(queue.name)
            or floor.make_pool(queue, given.seed, known.get(queue.name))
            for queue in given.queues
        }
        floor.emit(Configured())
        for ticket_id, name in misfits(floor.tables, pools):
            floor.drop(ticket_id, name, "queue_changed")
        floor.open_pools(pools, same)
        self._backfill.configured()
        floor.decide(pools, fired=False)

    def _enqueue(self, given: Enqueue) -> None:
        floor = self._floor
        check_request(given, floor.tables)
        entered: list[Ticket] = []
        known = self.ladders.known_of
        door = Door(self.shard, floor.tables, floor.objectives, self.limits, known)
        for item in range(len(given.tickets)):
            event = judge(given, item, door)
            floor.emit(event)
            if type(event) is Accepted:
                entered.append(floor.tables.waiting[event.ticket].ticket)
        for turn in in_turn(entered):
            for ticket in turn:
                floor.enter(ticket, ticket.queues)
            self._settle_down(order_of_queues(turn, floor.pools, given.now))

    def _update(self, given: Update) -> None:
        floor = self._floor
        row = floor.tables.waiting.get(given.ticket)
        if row is None or row.match is not None:
            view = self.view(given.ticket)
            raise TooLate(
                f"ticket {given.ticket} is {view.state}", ticket=view.id, match=view.match
            )
        door = Door(self.shard, floor.tables, floor.objectives, self.limits)
        floor.emit(judge_update(given, row.ticket, door))
        for name in row.queues:
            floor.pools[name].leave(given.ticket, given.now)
        floor.enter(floor.tables.waiting[given.ticket].ticket, row.queues)
        self._settle_down(row.queues)

    def _cancel(self, given: Cancel) -> None:
        floor = self._floor
        row = floor.tables.waiting.get(given.ticket)
        if row is None:
            view = self.view(given.ticket)
            if view.state in GONE:
                raise TooLate(
                    f"ticket {given.ticket} is {view.state}", ticket=view.id, match=view.match
                )
            return
        if row.match is not None:
            self._acceptance.withdraw(given.ticket, given.reason)
            floor.decide(list(floor.dirty), fired=False)
            return
        floor.emit(Cancelled(given.ticket, given.reason))
        for name in row.queues:
            floor.pools[name].leave(given.ticket, given.now)
        floor.decide(row.queues, fired=False)

    def _settle_down(self, names: Sequence[str]) -> None:
        """Let queues decide whom somebody has entered; free seats of proposals come first."""
        for name in names:
            self._acceptance.entered(name)
        self._floor.decide(names, fired=False)

    def _assign(self, given: Assign) -> None:
        self.match(given.match)
        self._backfill.assign(given)

    def _finish(self, given: Finish) -> None:
        kept = self._backfill.running(self.match(given.match))
        if kept.live:
            self._floor.emit(Finished(kept.match.id, "finish"))

    def _outcome(self, given: Outcome) -> None:
        self._outcomes.hear(given, self.match(given.match))

    def _advance(self, given: Advance) -> None:
        floor, now = self._floor, given.now
        floor.release_due()
        self._acceptance.fire(now)
        self._backfill.fire(now)
        overdue = floor.deadlines.take_due(now)
        names = {entry[4] for entry in overdue} | floor.dirty.keys()
        due = [name for name, pool in floor.pools.items() if pool.wake_at <= now or name in names]
        floor.decide(due, fired=True)
        if self._put_off_at < now and any(type(event) is JobAsked for event in floor.events):
            # Whoever drives the engine may have the plan at once: deadlines stay due until then.
            self._put_off_at = now
            floor.deadlines.put_back(overdue)
            return
        for entry in overdue:
            if floor.waits(entry):
                self._meet_deadline(entry, now)
        floor.decide(list(floor.dirty), fired=True)
        for entry in floor.match_ends.take_due(now):
            if floor.tables.matches[entry[3]].live:
                floor.emit(Finished(entry[3], "match_max"))
        self._outcomes.advance()

    def _settle(self, given: Settle) -> None:
        floor = self._floor
        pool = floor.pools.get(given.queue)
        running = None if pool is None else pool.slot.running
        if pool is None or running is None or running.number != given.number:
            return
        plan = playable(pool, given.matches, given.now)
        dropped = len(given.matches) - len(plan)
        floor.emit(JobSettled(given.queue, given.number, dropped))
        decision = pool.settle(JobResult(running.job.number, plan), given.now)
        floor.carry_out(pool, decision, fired=False)
        pool.seated.clear()
        floor.decide(list(floor.dirty), fired=False)

    def take_jobs(self) -> list[RunningJob]:
        """Return the jobs asked for since the last call, to be solved and handed in by `Settle`."""
        asked, self._floor.asked = self._floor.asked, {}
        pools = self.pools
        return [job for at, job in asked.items() if at in pools and pools[at].slot.running is job]

    def fail_job(self, running: RunningJob, error: BaseException) -> None:
        """Say that a job raised: its queue makes no more matches, as after any fault."""
        pool = self.pools.get(running.queue)
        if pool is not None and pool.slot.running is running:
            pool.fail_job(error)
            self._wakeup = None

    def view(self, ticket_id: str) -> TicketView:
        """Return a ticket as its owner sees it; see `lookup.find_ticket`."""
        return find_ticket(self.tables, self.shard, ticket_id)

    def match(self, match_id: str) -> KeptMatch:
        """Return a match; see `lookup.find_match`."""
        return find_match(self.tables, self.shard, match_id)

    def roster(self, match_id: str) -> Roster:
        """Return who plays in a running match that may be filled; see `Backfill.roster`."""
        return self._backfill.roster(match_id)

    def _meet_deadline(self, entry: Entry, now: float) -> None:
        """Apply a queue's `on_deadline` to a ticket that its policy left waiting."""
        floor = self._floor
        *_, ticket_id, name = entry
        pool = floor.pools[name]
        if pool.queue.on_deadline == "keep":
            return
        may_play = pool.fault is None and name not in floor.tables.paused
        if may_play:
            filled = fill_at_deadline(pool, pool.tickets[ticket_id], now)
            if filled is not None:
                floor.make_match(pool, filled, decided=False)
                return
        pool.leave(ticket_id, now)
        floor.dirty[name] = None
        floor.drop(ticket_id, name, "deadline")
