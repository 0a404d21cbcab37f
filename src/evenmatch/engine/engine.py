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
from collections.abc import Callable, Mapping

from evenmatch.engine.admission.admission import (
    AdmissionContext,
    admission_context,
    check_request,
    judge,
    judge_update,
)
from evenmatch.engine.admission.shard_limits import ShardLimits
from evenmatch.engine.backfill.requests import BackfillRequests
from evenmatch.engine.configuration import carried_over, changed_since, check_configuration, misfits
from evenmatch.engine.matching.deadlines import Entry, fill_at_deadline
from evenmatch.engine.matching.decision_check import playable
from evenmatch.engine.matching.jobs import RunningJob
from evenmatch.engine.matching.meeting_counts import MeetingCounts
from evenmatch.engine.matching.pool import Pool, in_turn, order_of_queues
from evenmatch.engine.matching.scheduler import Resolve, Scheduler, Watch
from evenmatch.engine.outcomes.rating_ladders import Ladders, Rate
from evenmatch.engine.outcomes.reports import OutcomeReports
from evenmatch.engine.ready_check.acceptance import Proposals
from evenmatch.engine.records import ANSWERS, Record, changes_state
from evenmatch.engine.state.reducers import apply, seal
from evenmatch.engine.state.rows import KeptMatch, Roster, TicketView
from evenmatch.engine.state.state import Tables, find_match, find_ticket, too_late
from evenmatch.errors import MatchmakingError, NoBackfill, PolicyError
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
    Prolong,
    Register,
    Settle,
    Skip,
    Update,
    Void,
)
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import JobResult, Memory

GONE = ("matched", "assigned")
"""States of a ticket for which a cancel comes too late."""


class Engine:
    """A deterministic engine for queues that may share players.

    Args:
        resolve: Makes a queue's policy.
        shard: Prefix of the ids that the engine gives.
        limits: How much it takes.
        rate: Computes ratings; needed where queues have a rating system.
        watch: The program that drives the engine and has a clock wraps each matcher in it.
    """

    def __init__(
        self,
        resolve: Resolve,
        *,
        shard: str = "s0",
        limits: ShardLimits | None = None,
        rate: Rate | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.shard = shard
        self.limits = limits or ShardLimits()
        self._scheduler = Scheduler(resolve, shard, watch)
        self._acceptance = Proposals(self._scheduler)
        self._backfill = BackfillRequests(self._scheduler)
        self.ladders = Ladders(self._scheduler, rate)
        self._outcomes = OutcomeReports(self._scheduler, rate)
        self._wakeup: float | None = None
        self._admission: AdmissionContext | None = None
        # The instant whose deadlines were left to the advance after this one.
        self._put_off_at = -math.inf
        self._recounts = MeetingCounts(self._scheduler)
        self._changed: set[str] = set()  # queues, by records after the snapshot
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
            Open: self._open,
            Outcome: self._outcome,
            Prolong: self._acceptance.prolong,
            Register: self._backfill.register,
            Settle: self._settle,
            Skip: self._scheduler.skip,
            Update: self._update,
            Void: self._backfill.void,
        }

    @property
    def format(self) -> int:
        """Return the record format that its decisions are written in.

        Where that is not the newest, it decides nothing that readers of it would not understand.
        """
        return self._scheduler.format

    @format.setter
    def format(self, number: int) -> None:
        self._scheduler.format = number

    @property
    def now(self) -> float:
        """Return the instant of the last input; none may be earlier."""
        return self._scheduler.now

    @property
    def tables(self) -> Tables:
        """Return all of the engine's state."""
        return self._scheduler.tables

    @tables.setter
    def tables(self, tables: Tables) -> None:
        self._scheduler.tables = tables

    @property
    def pools(self) -> dict[str, Pool]:
        """Return the queues at work, by name."""
        return self._scheduler.pools

    @property
    def next_wakeup(self) -> float:
        """Return the instant of the next timer or deadline; inf if there is none."""
        if self._wakeup is None:
            scheduler = self._scheduler
            self._wakeup = scheduler.next_due()
            if scheduler.tables.periods or scheduler.tables.closing:
                self._wakeup = min(self._wakeup, max(self._outcomes.next(), scheduler.now))
        return self._wakeup

    @property
    def next_answer(self) -> float:
        """Return the instant at which the next answer to a proposal is due; inf without any."""
        return self._scheduler.answers.next()

    def answers_due(self, until: float) -> list[str]:
        """Return the tickets whose time to accept is up by an instant and that have not answered.

        Complexity:
            O(d log d) in answers that are due.
        """
        return self._acceptance.silent(until)

    def is_woken_at(self, at: float) -> bool:
        """Return whether a policy will be asked at an instant if no input comes before."""
        return bool(self._scheduler.woken(at))

    @property
    def faults(self) -> list[PolicyError]:
        """Return the faults of policies by queue; these queues make no matches any more."""
        return [pool.fault for pool in self.pools.values() if pool.fault is not None]

    def step(self, input_: Input, /) -> Record:
        """Decide an input, and fold its events.

        Returns:
            The record; its sequence is 0 if nothing changed, and then it is not journalled.

        Raises:
            Refusal: The input was refused and changed nothing.
            ConfigError: `Configure` with queues or policies that cannot work.
        """
        handler, scheduler, wakeup = self._steps[type(input_)], self._scheduler, self._wakeup
        assert input_.now >= scheduler.now, f"time runs backwards: {input_.now} < {scheduler.now}"
        wakeup = self.next_wakeup if wakeup is None else wakeup
        assert input_.now <= wakeup, "hand in Advance(next_wakeup) first"
        self._wakeup = None
        scheduler.begin(input_)
        handler(input_)
        events = tuple(scheduler.events)
        # Nearly all inputs end with a change; only after an answer it takes a look at all events.
        if not events or (type(events[-1]) in ANSWERS and not changes_state(input_, events)):
            return Record(0, input_, events)
        record = Record(scheduler.tables.sequence + 1, input_, events)
        seal(scheduler.tables, record)
        if scheduler.tables.played:
            self._recounts.hear(events)
        assert not scheduler.tables.miscounted, "I3: a ticket was lost or counted twice"
        return record

    def announce(self, ticket: Ticket, queue: str, now: float) -> None:
        """Announce a ticket for its `enqueued_at`; then hand in `Advance(next_wakeup)`.

        It is advice to the queue's matcher and no input: it changes nothing that is journalled.
        """
        assert self._scheduler.now <= now <= self.next_wakeup, "hand in Advance(next_wakeup) first"
        self._scheduler.now, self._wakeup = now, None
        self.pools[queue].announce(ticket, now)

    def apply(self, record: Record) -> None:
        """Fold a record of the journal; call `resume` after the last one."""
        before, seed = dict(self.tables.queues), self.tables.seed
        apply(self.tables, record)
        if type(record.input) is Configure:
            self._changed |= changed_since(before, seed, self.tables)

    def resume(self, now: float, memories: Mapping[str, Memory] | None = None) -> None:
        """Make matchers anew after recovery; hand in `Advance(next_wakeup)` next.

        Args:
            now: Where engine time goes on, seconds.
            memories: What the matchers knew at the last snapshot, by queue.
        """
        scheduler, tables, self._wakeup = self._scheduler, self.tables, None
        # A memory of a queue that was changed since knows another policy, or another target.
        valid_memories = {
            key: it for key, it in (memories or {}).items() if key not in self._changed
        }
        self._changed.clear()
        scheduler.now = tables.now = max(tables.now, now)
        pools = {}
        for name, queue in tables.queues.items():
            try:
                pools[name] = scheduler.make_pool(queue, tables.seed, valid_memories.get(name))
            except MatchmakingError as error:
                # The policy of the past need not exist any more: whoever starts a server with
                # another one configures it next.
                pools[name] = Pool.stopped(queue, str(error))
        scheduler.open_pools(pools)
        for row in tables.matches.values():
            scheduler.watch_match(row)
            self._outcomes.watch(row)
        self._acceptance.resume()
        self._backfill.resume()
        self._recounts.resume()
        for pool in self.pools.values():
            pool.wake_at = scheduler.now

    def memories(self) -> dict[str, Memory]:
        """Return the matchers' memories by queue: what tickets that re-enter do not restore."""
        return {name: pool.memory() for name, pool in self.pools.items()}

    def _configure(self, configuration: Configure) -> None:
        scheduler = self._scheduler
        check_configuration(configuration, scheduler.tables)
        self.ladders.check(configuration.queues)
        same, memories = carried_over(configuration, scheduler.tables, scheduler.pools)
        pools = {
            queue.name: same.get(queue.name)
            or scheduler.make_pool(queue, configuration.seed, memories.get(queue.name))
            for queue in configuration.queues
        }
        before = scheduler.tables.queues
        scheduler.emit(Configured())
        for ticket_id, name in misfits(scheduler.tables, pools):
            scheduler.drop(ticket_id, name, "queue_changed")
        scheduler.open_pools(pools, same)
        self._backfill.configured()
        self._acceptance.configured()
        self._recounts.configured(before)
        scheduler.decide(pools, fired=False)

    def _enqueue(self, enqueue: Enqueue) -> None:
        scheduler = self._scheduler
        if enqueue.key is not None or not scheduler.tables.queues:
            check_request(enqueue, scheduler.tables)
        entered: list[Ticket] = []
        context = self._context()
        for item in range(len(enqueue.tickets)):
            event = judge(enqueue, item, context)
            scheduler.emit(event)
            if type(event) is Accepted:
                entered.append(scheduler.tables.waiting[event.ticket].ticket)
        if len(entered) == 1 and len(entered[0].queues) == 1:
            scheduler.enter(entered[0], entered[0].queues)
            scheduler.decide(entered[0].queues, fired=False)
            return
        for turn in in_turn(entered):
            for ticket in turn:
                scheduler.enter(ticket, ticket.queues)
            scheduler.decide(order_of_queues(turn, scheduler.pools, enqueue.now), fired=False)

    def _context(self) -> AdmissionContext:
        """Return what it takes to judge newcomers; it is kept until something of it changes."""
        scheduler, context = self._scheduler, self._admission
        if (
            context is None
            or context.objectives is not scheduler.objectives
            or context.tables is not scheduler.tables
            or context.limits is not self.limits
        ):
            ratings_of = self.ladders.known_of if self.ladders.are_rated else None
            context = self._admission = admission_context(
                self.shard, scheduler.tables, scheduler.objectives, self.limits, ratings_of
            )
        return context

    def _update(self, update: Update) -> None:
        scheduler = self._scheduler
        row = scheduler.tables.waiting.get(update.ticket)
        if row is None or row.match is not None:
            raise too_late(self.view(update.ticket))
        scheduler.emit(judge_update(update, row.ticket, self._context()))
        scheduler.change(scheduler.tables.waiting[update.ticket].ticket, row.queues)
        scheduler.decide(row.queues, fired=False)

    def _cancel(self, cancel: Cancel) -> None:
        scheduler = self._scheduler
        row = scheduler.tables.waiting.get(cancel.ticket)
        if row is None:
            view = self.view(cancel.ticket)
            if view.state in GONE:
                raise too_late(view)
            return
        if row.match is not None:
            self._acceptance.withdraw(cancel.ticket, cancel.reason, cancel.by)
            scheduler.decide(list(scheduler.dirty), fired=False)
            return
        scheduler.emit(Cancelled(cancel.ticket, cancel.reason))
        for name in row.queues:
            scheduler.pools[name].leave(cancel.ticket, cancel.now)
        scheduler.decide(row.queues, fired=False)

    def _assign(self, assign: Assign) -> None:
        self.match(assign.match)
        self._backfill.assign(assign)

    def _finish(self, finish: Finish) -> None:
        row = self.match(finish.match)
        if row.match.extends is not None:
            raise NoBackfill(
                f"match {finish.match} brings newcomers to match {row.match.extends}: finish that "
                f"one, and it ends for all of them",
                match=row.match.extends,
            )
        if row.live:
            self._scheduler.emit(Finished(row.match.id, "finish"))
        self._decide_anew()

    def _open(self, request: Open) -> None:
        self._backfill.open(request)
        self._outcomes.reconsider(self.match(request.match))
        self._decide_anew()

    def _outcome(self, outcome: Outcome) -> None:
        self._outcomes.hear(outcome, self.match(outcome.match))
        self._decide_anew()

    def _decide_anew(self) -> None:
        """Let queues decide to which newcomers of a match came back that is over."""
        if self._scheduler.dirty:
            self._scheduler.decide(list(self._scheduler.dirty), fired=False)

    def _advance(self, advance: Advance) -> None:
        scheduler, now = self._scheduler, advance.now
        names: set[str] = set()
        if any(scheduler.rare):
            scheduler.release_due()
            names |= self._recounts.fire(now)
            self._acceptance.fire(now)
            self._backfill.fire(now)
        overdue = scheduler.deadlines.take_due(now)
        woken = scheduler.woken(now)
        if names or overdue or scheduler.dirty:
            names.update([entry[4] for entry in overdue], scheduler.dirty, woken)
            woken = [name for name in scheduler.pools if name in names]
        scheduler.decide(woken, fired=True)
        is_asked = scheduler.requested_jobs and any(
            type(event) is JobAsked for event in scheduler.events
        )
        if is_asked and self._put_off_at < now:
            # Whoever drives the engine may have the plan at once: deadlines stay due until then.
            self._put_off_at = now
            scheduler.deadlines.put_back(overdue)
            return
        for entry in overdue:
            if scheduler.waits(entry):
                self._meet_deadline(entry, now)
        if scheduler.dirty:
            scheduler.decide(list(scheduler.dirty), fired=True)
        if any(scheduler.rare) or scheduler.tables.periods or scheduler.tables.closing:
            for entry in scheduler.match_ends.take_due(now):
                if scheduler.tables.matches[entry[3]].live:
                    scheduler.emit(Finished(entry[3], "match_max"))
            self._outcomes.advance()
            if scheduler.dirty:
                scheduler.decide(list(scheduler.dirty), fired=True)

    def _settle(self, settle: Settle) -> None:
        scheduler = self._scheduler
        pool = scheduler.pools.get(settle.queue)
        running = None if pool is None else pool.slot.running
        if pool is None or running is None or running.number != settle.number:
            return
        plan = playable(pool, settle.matches, settle.now)
        dropped = len(settle.matches) - len(plan)
        scheduler.emit(JobSettled(settle.queue, settle.number, dropped))
        decision = pool.settle(JobResult(running.job.number, plan, settle.data), settle.now)
        scheduler.carry_out(pool, decision, fired=False)
        pool.planned_seatings.clear()
        scheduler.decide(list(scheduler.dirty), fired=False)

    def take_jobs(self) -> list[RunningJob]:
        """Return the jobs asked for since the last call, to be solved and handed in by `Settle`."""
        jobs = self._scheduler.requested_jobs
        if not jobs:
            return []
        self._scheduler.requested_jobs = {}
        pools = self.pools
        return [job for at, job in jobs.items() if at in pools and pools[at].slot.running is job]

    def fail_job(self, running: RunningJob, error: BaseException) -> None:
        """Report that a job raised: its queue makes no more matches, as after any fault."""
        pool = self.pools.get(running.queue)
        if pool is not None and pool.slot.running is running:
            pool.fail_job(error)
            self._wakeup = None

    def view(self, ticket_id: str) -> TicketView:
        """Return a ticket as its owner sees it; see `engine.state.state.find_ticket`."""
        return find_ticket(self.tables, self.shard, ticket_id)

    def match(self, match_id: str) -> KeptMatch:
        """Return a match; see `engine.state.state.find_match`."""
        return find_match(self.tables, self.shard, match_id)

    def roster(self, match_id: str) -> Roster:
        """Return who plays in a running match that may be filled; see `BackfillRequests.roster`."""
        return self._backfill.roster(match_id)

    def open_seats(self, queue: str) -> tuple[int, ...]:
        """Return the most players of one party for whom each running match of a queue asks."""
        return self._backfill.open_seats(queue)

    def _meet_deadline(self, entry: Entry, now: float) -> None:
        """Apply a queue's `on_deadline` to a ticket that its policy left waiting."""
        scheduler = self._scheduler
        *_, ticket_id, name = entry
        pool = scheduler.pools[name]
        if pool.queue.on_deadline == "keep":
            return
        if pool.fault is None and name not in scheduler.tables.paused:
            dissolved_until = scheduler.tables.dissolved_until
            filled = fill_at_deadline(
                pool, pool.tickets[ticket_id], now, lambda tickets: dissolved_until(tickets) > now
            )
            if filled is not None:
                scheduler.make_match(pool, filled, decided=False)
                return
        pool.leave(ticket_id, now)
        scheduler.dirty[name] = None
        scheduler.drop(ticket_id, name, "deadline")
