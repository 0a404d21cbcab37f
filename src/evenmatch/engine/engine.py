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
from collections.abc import Callable, Collection, Mapping

from evenmatch.cost.objective import Objective, Seating
from evenmatch.engine.admission import Door, Limits, check_request, judge
from evenmatch.engine.check import check_grouping, describe, playable
from evenmatch.engine.configuration import carried_over, check_configuration, misfits
from evenmatch.engine.deadlines import Deadlines, Entry
from evenmatch.engine.fill import fill_at_deadline
from evenmatch.engine.jobs import RunningJob
from evenmatch.engine.lookup import find_match, find_ticket
from evenmatch.engine.pool import Pool, in_turn, order_of_queues
from evenmatch.engine.records import Record, changes_state
from evenmatch.engine.tables import KeptMatch, Tables, TicketView
from evenmatch.errors import MatchmakingError, NotSupported, PolicyError, TooLate
from evenmatch.model.events import (
    Accepted,
    Assigned,
    Cancelled,
    Configured,
    Event,
    Expired,
    Finished,
    JobAsked,
    JobSettled,
    LeftQueue,
    Matched,
)
from evenmatch.model.inputs import (
    Advance,
    Assign,
    Cancel,
    Configure,
    Enqueue,
    Finish,
    Input,
    Settle,
)
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, JobResult, Memory, Policy

Resolve = Callable[[Queue], Policy]
"""From a queue to its policy; `policies.registry.parse_policy` behind a lambda, usually."""


class Engine:
    """All the queues that may share a player, and the tickets in them.

    Args:
        resolve: Makes a queue's policy.
        shard: Prefix of the ids that the engine gives.
        limits: How much it takes.
    """

    def __init__(
        self, resolve: Resolve, *, shard: str = "s0", limits: Limits | None = None
    ) -> None:
        self.shard = shard
        self.limits = limits or Limits()
        self.tables = Tables()
        self.pools: dict[str, Pool] = {}
        self._objectives: dict[str, Objective] = {}
        self._places: dict[str, int] = {}
        self._resolve = resolve
        self._events: list[Event] = []
        self._input: Input = Advance(0.0)
        self._dirty: dict[str, None] = {}
        self._wakeup: float | None = None
        self._now = 0.0
        self._asked: dict[str, RunningJob] = {}
        # The instant whose deadlines were left to the advance after this one.
        self._put_off_at = -math.inf
        self._deadlines = Deadlines(self._is_waiting)
        self._match_ends = Deadlines(self._is_live)
        self._steps: dict[type, Callable[..., None]] = {
            Configure: self._configure,
            Enqueue: self._enqueue,
            Cancel: self._cancel,
            Advance: self._advance,
            Assign: self._assign,
            Finish: self._finish,
            Settle: self._settle,
        }

    @property
    def next_wakeup(self) -> float:
        """Return the instant of the next timer or deadline; inf if nothing is due ever."""
        if self._wakeup is None:
            at = min(self._deadlines.next(), self._match_ends.next())
            for pool in self.pools.values():
                if pool.wake_at < at:
                    at = pool.wake_at
            # After a restart some deadlines lie in the past: they are due now.
            self._wakeup = max(at, self._now)
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
        handler = self._steps.get(type(given))
        if handler is None:
            raise NotSupported(f"{type(given).__name__.lower()} comes with a later version")
        assert given.now >= self._now, f"time runs backwards: {given.now} < {self._now}"
        assert given.now <= self.next_wakeup, "hand in Advance(next_wakeup) first"
        self._events, self._input, self._wakeup, self._now = [], given, None, given.now
        handler(given)
        events = tuple(self._events)
        if not changes_state(given, events):
            return Record(0, given, events)
        record = Record(self.tables.sequence + 1, given, events)
        self.tables.seal(record)
        assert self.tables.counts_add_up(), "I3: a ticket was lost or counted twice"
        return record

    def announce(self, ticket: Ticket, queue: str, now: float) -> None:
        """Say that a ticket is to come at its `enqueued_at`; then hand in `Advance(next_wakeup)`.

        It is advice to the queue's matcher and no input: it changes nothing that is journalled.
        """
        assert self._now <= now <= self.next_wakeup, "hand in Advance(next_wakeup) first"
        self._now, self._wakeup = now, None
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
        tables, known, self._wakeup = self.tables, memories or {}, None
        self._now = tables.now = max(tables.now, now)
        pools = {}
        for name, queue in tables.queues.items():
            try:
                pools[name] = self._make_pool(queue, tables.seed, known.get(name))
            except MatchmakingError as error:
                # The policy of the past need not exist any more: whoever starts a server with
                # another one configures it next.
                pools[name] = Pool.stopped(queue, str(error))
        self._open_pools(pools, now=self._now)
        for kept in tables.matches.values():
            self._watch_match(kept)
        for pool in self.pools.values():
            pool.wake_at = self._now

    def memories(self) -> dict[str, Memory]:
        """Return what the matchers know that re-entering cannot restore, by queue."""
        return {name: pool.memory() for name, pool in self.pools.items()}

    def _emit(self, event: Event) -> None:
        self._events.append(event)
        self.tables.fold(self._input, event)

    def _configure(self, given: Configure) -> None:
        check_configuration(given, self.tables)
        same, known = carried_over(given, self.tables, self.pools)
        pools = {
            queue.name: same.get(queue.name)
            or self._make_pool(queue, given.seed, known.get(queue.name))
            for queue in given.queues
        }
        self._emit(Configured())
        for ticket_id, name in misfits(self.tables, pools):
            self._expire(ticket_id, name, "queue_changed")
        self._open_pools(pools, same, now=given.now)
        self._decide(list(pools), given.now, fired=False)

    def _enqueue(self, given: Enqueue) -> None:
        check_request(given, self.tables)
        entered: list[Ticket] = []
        door = Door(self.shard, self.tables, self._objectives, self.limits)
        for item in range(len(given.tickets)):
            event = judge(given, item, door)
            self._emit(event)
            if type(event) is Accepted:
                entered.append(self.tables.waiting[event.ticket].ticket)
        for turn in in_turn(entered):
            for ticket in turn:
                self._enter(ticket, ticket.queues, given.now)
            self._decide(order_of_queues(turn, self.pools, given.now), given.now, fired=False)

    def _cancel(self, given: Cancel) -> None:
        row = self.tables.waiting.get(given.ticket)
        if row is None:
            view = self.view(given.ticket)
            if view.match is not None:
                raise TooLate(
                    f"ticket {given.ticket} is {view.state}", ticket=view.id, match=view.match
                )
            return
        self._emit(Cancelled(given.ticket, given.reason))
        for name in row.queues:
            self.pools[name].leave(given.ticket, given.now)
        self._decide(list(row.queues), given.now, fired=False)

    def _assign(self, given: Assign) -> None:
        self.match(given.match)
        self._emit(Assigned(given.match))

    def _finish(self, given: Finish) -> None:
        if self.match(given.match).live:
            self._emit(Finished(given.match, "finish"))

    def _advance(self, given: Advance) -> None:
        now = given.now
        overdue = self._deadlines.take_due(now)
        names = {entry[4] for entry in overdue}
        due = [name for name, pool in self.pools.items() if pool.wake_at <= now or name in names]
        self._decide(due, now, fired=True)
        if self._put_off_at < now and any(type(event) is JobAsked for event in self._events):
            # Whoever drives the engine may have the plan at once: deadlines stay due until then.
            self._put_off_at = now
            self._deadlines.put_back(overdue)
            return
        for entry in overdue:
            if self._is_waiting(entry):
                self._meet_deadline(entry, now)
        self._decide(list(self._dirty), now, fired=True)
        for entry in self._match_ends.take_due(now):
            self._emit(Finished(entry[3], "match_max"))

    def _settle(self, given: Settle) -> None:
        pool = self.pools.get(given.queue)
        running = None if pool is None else pool.slot.running
        if pool is None or running is None or running.number != given.number:
            return
        plan = playable(pool, given.matches, given.now)
        dropped = len(given.matches) - len(plan)
        self._emit(JobSettled(given.queue, given.number, dropped))
        decision = pool.settle(JobResult(running.job.number, plan), given.now)
        self._carry_out(pool, decision, given.now, fired=False)
        pool.seated.clear()
        self._decide(list(self._dirty), given.now, fired=False)

    def take_jobs(self) -> list[RunningJob]:
        """Return the jobs asked for since the last call, to be solved and handed in by `Settle`."""
        asked, self._asked = self._asked, {}
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

    def _make_pool(self, queue: Queue, seed: int, memory: Memory | None) -> Pool:
        return Pool(queue, self._resolve(queue), seed=seed, memory=memory)

    def _open_pools(
        self, pools: dict[str, Pool], same: Collection[str] = (), *, now: float
    ) -> None:
        """Put pools in the place of all others, and let the waiting tickets enter in order.

        The tickets of the pools in `same` are in there already.
        """
        self.pools = pools
        self._places = {name: place for place, name in enumerate(pools)}
        self._objectives = {name: pool.objective for name, pool in pools.items()}
        self._deadlines = Deadlines(self._is_waiting)
        for row in sorted(self.tables.waiting.values(), key=lambda row: row.ticket.age_key):
            self._enter(row.ticket, row.queues, now, same)

    def _enter(
        self, ticket: Ticket, queues: tuple[str, ...], now: float, same: Collection[str] = ()
    ) -> None:
        for name in queues:
            pool = self.pools[name]
            if name not in same:
                pool.enter(ticket, now)
            if pool.queue.wait_max is not None:
                deadline = ticket.enqueued_at + pool.queue.wait_max
                place = self._places[name]
                self._deadlines.add((deadline, ticket.sequence, place, ticket.id, name))

    def _decide(self, names: list[str], now: float, *, fired: bool) -> None:
        """Let queues decide in this order, then those that lost tickets to them, until all have."""
        while names:
            for name in names:
                pool = self.pools[name]
                self._dirty.pop(name, None)
                if name in self.tables.paused:
                    pool.wake_at = math.inf
                    continue
                decision = pool.decide(now, fired)
                self._carry_out(pool, decision, now, fired)
            if not self._dirty:
                return
            names = [name for name in self.pools if name in self._dirty]
        self._dirty.clear()

    def _carry_out(self, pool: Pool, decision: Decision, now: float, fired: bool) -> None:
        pool.wake_at = decision.wake_at
        for grouping in decision.matches:
            try:
                found = check_grouping(pool, grouping, now, fired)
            except PolicyError as fault:
                pool.stop(fault)
                pool.wake_at = math.inf
                return
            self._make_match(pool, (*found, grouping.bots), now, decided=True)
        if decision.job is not None:
            number = self.tables.counters.jobs + 1
            self._asked[pool.name] = pool.begin(decision.job, number, now)
            self._emit(JobAsked(pool.name, number))

    def _make_match(
        self, pool: Pool, found: tuple[list[Ticket], Seating, int], now: float, *, decided: bool
    ) -> None:
        tickets, seating, bots = found
        match_id = f"{self.shard}-m{self.tables.counters.matches + 1}"
        match = describe(match_id, pool, tickets, seating, bots, now)
        waiting = self.tables.waiting
        leaves = [(ticket_id, waiting[ticket_id].queues) for ticket_id in match.tickets]
        self._emit(Matched(match))
        for ticket_id, queues in leaves:
            for name in queues:
                if decided and name == pool.name:
                    del pool.tickets[ticket_id]
                else:
                    self.pools[name].leave(ticket_id, now)
                    self._dirty[name] = None
        self._watch_match(self.tables.matches[match_id])

    def _is_waiting(self, entry: Entry) -> bool:
        pool = self.pools.get(entry[4])
        return pool is not None and entry[3] in pool.tickets

    def _is_live(self, entry: Entry) -> bool:
        kept = self.tables.matches.get(entry[3])
        return kept is not None and kept.live

    def _watch_match(self, kept: KeptMatch) -> None:
        if kept.live:
            self._match_ends.add((kept.ends_at, kept.made, 0, kept.match.id, kept.match.queue))

    def _meet_deadline(self, entry: Entry, now: float) -> None:
        """Apply a queue's `on_deadline` to a ticket that its policy left waiting."""
        *_, ticket_id, name = entry
        pool = self.pools[name]
        if pool.queue.on_deadline == "keep":
            return
        may_play = pool.fault is None and name not in self.tables.paused
        if may_play:
            filled = fill_at_deadline(pool, pool.tickets[ticket_id], now)
            if filled is not None:
                self._make_match(pool, filled, now, decided=False)
                return
        pool.leave(ticket_id, now)
        self._dirty[name] = None
        self._expire(ticket_id, name, "deadline")

    def _expire(self, ticket_id: str, name: str, reason: str) -> None:
        """Take a ticket out of one queue; it expires when it was the last."""
        if len(self.tables.waiting[ticket_id].queues) > 1:
            self._emit(LeftQueue(ticket_id, name))
        else:
            self._emit(Expired(ticket_id, reason))
