"""The scheduler runs the pools: it lets tickets in and out, and turns decisions into matches.

The engine hands inputs to those who understand them (`acceptance`, `backfill`, `outcomes`); all of
them share one scheduler. Whatever happens is an event, which `emit` folds into the tables at once.
After any change to a pool, its queue decides before the input is done.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sized
from itertools import compress
from typing import Protocol

from evenmatch.criteria.objective import Objective, Seating
from evenmatch.engine.admission.admission import fits
from evenmatch.engine.matching.deadlines import Deadlines, Entry, TimerSource
from evenmatch.engine.matching.decision_check import check_grouping, describe
from evenmatch.engine.matching.jobs import RunningJob
from evenmatch.engine.matching.pool import Pool
from evenmatch.engine.records import FORMAT
from evenmatch.engine.state.reducers import REDUCERS
from evenmatch.engine.state.rows import KeptMatch, Proposal
from evenmatch.engine.state.state import Tables
from evenmatch.errors import PolicyError
from evenmatch.model.events import (
    Assigned,
    Event,
    Expired,
    Finished,
    JobAsked,
    LeftQueue,
    Matched,
    Proposed,
    Skipped,
)
from evenmatch.model.inputs import Advance, Input, Skip
from evenmatch.model.match import Match
from evenmatch.model.queue import Queue, ReadyCheck
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, Matcher, Memory, Policy

Resolve = Callable[[Queue], Policy]
"""From a queue to its policy; `policies.registry.parse_policy` behind a lambda, usually."""

Watch = Callable[[Queue, Matcher], Matcher]
"""Puts something around a matcher that decides nothing, such as a stopwatch."""

SeatedGroup = tuple[list[Ticket], Seating, int]
"""Tickets by age, their division, and the number of bots."""


class OpenMatches(Protocol):
    """Running matches with free seats, which compete with new matches for who waits.

    A queue without any is never asked about.
    """

    @property
    def pending(self) -> Collection[str]:
        """Return the queues that have open matches."""
        ...

    def open(self, match_id: str, queue: str) -> None:
        """Let a match take part, unless newcomers are asked already."""

    def close(self, match_id: str, queue: str) -> None:
        """Let a match take part no longer."""

    def over(self, match_id: str) -> None:
        """Forget a match that is about to be over."""

    def entered(self, ticket_id: str, queue: str) -> None:
        """Note a ticket that waits in a queue from now on."""

    def before(self, pool: Pool) -> None:
        """Fill what comes before new matches."""

    def rival(self, pool: Pool, tickets: list[Ticket], seating: Seating) -> bool:
        """Return whether a running match has better use for some tickets than a new match."""

    def after(self, pool: Pool, *, fired: bool) -> None:
        """Fill what comes after new matches."""


class Scheduler:
    """Pools, the instants at which something is due, and the input that is being worked on.

    Args:
        resolve: Makes a queue's policy.
        shard: Prefix of the ids that are given.
        watch: Put around each matcher.
    """

    def __init__(self, resolve: Resolve, shard: str, watch: Watch | None = None) -> None:
        self._watch = watch
        self.shard = shard
        self.tables = Tables()
        self.pools: dict[str, Pool] = {}
        self.objectives: dict[str, Objective] = {}
        self.now = 0.0
        self.format = FORMAT
        self.events: list[Event] = []
        self.dirty: dict[str, None] = {}
        self.requested_jobs: dict[str, RunningJob] = {}
        self.deadlines = Deadlines(self.waits)
        self.match_ends = Deadlines(self._is_live)
        self.answers = Deadlines(self._is_proposed)
        self.releases = Deadlines(self._is_held)
        self.commits = Deadlines(self._is_delayed)
        self._timers: list[TimerSource] = [self.deadlines]
        self._pending: list[Sized] = [self.deadlines.pending]
        # What is waited for beside deadlines of tickets: all of it is empty where queues have no
        # ready-checks, running matches, repairs and the like.
        self.rare: list[Sized] = []
        for timer in (self.match_ends, self.answers, self.releases, self.commits):
            self.add_timer(timer)
        self.resolve = resolve
        # Running matches that compete for tickets, and who is told of each match that is made.
        self.fills: OpenMatches
        # Divisions that the present input has evaluated for open matches, by queue.
        self.evaluated: dict[str, int] = {}
        # Who offers free seats of proposals to the tickets that have just been let into a queue.
        self.offer: Callable[[str, list[str]], None] = _nothing
        self._fresh: dict[str, list[str]] = {}
        self.on_made: Callable[[str], None] = _nobody
        # Who lets the newcomers of a running match wait again that were asked to join it.
        self.withdraw_fill: Callable[[str], None] = _nobody
        self._places: dict[str, int] = {}
        # No pool is woken before: the rounds until then were missed, and one stands for all.
        self._skips_to = -math.inf
        self._input: Input = Advance(0.0)

    def begin(self, input_: Input) -> None:
        """Begin with an input; its events start empty."""
        self._input, self.now, self.events = input_, input_.now, []
        if self._fresh:
            self._fresh.clear()
        if self.evaluated:
            self.evaluated.clear()

    def emit(self, event: Event) -> None:
        """Note and fold what has happened."""
        tables = self.tables
        if type(event) is Finished:
            self.fills.over(event.match)
        tables.check_event(event)
        self.events.append(event)
        REDUCERS[type(event)](tables, self._input, event)

    def add_timer(self, timer: TimerSource) -> None:
        """Let the engine wake up at the instants of a timer, too."""
        self._timers.append(timer)
        self._pending.append(timer.pending)
        self.rare.append(timer.pending)

    def next_due(self) -> float:
        """Return the instant of the next timer or wake-up; inf if nothing is due ever."""
        at = math.inf
        for pool in self.pools.values():
            if pool.wake_at < at:
                at = pool.wake_at
        if at < self._skips_to:
            at = self._skips_to
        for timer in compress(self._timers, self._pending):
            if (due := timer.next()) < at:
                at = due
        # After a restart some deadlines lie in the past: they are due now.
        return at if at > self.now else self.now

    def woken(self, now: float) -> list[str]:
        """Return the pools that are woken at an instant, if nothing happens before."""
        if now < self._skips_to:
            return []
        return [name for name, pool in self.pools.items() if pool.wake_at <= now]

    def skip(self, skip: Skip) -> None:
        """Wake no pool before an instant; deadlines until then let theirs decide."""
        self._skips_to = skip.until
        self.emit(Skipped())

    # Pools

    def make_pool(self, queue: Queue, seed: int, memory: Memory | None) -> Pool:
        """Return a pool for the queue with a matcher of its policy."""
        pool = Pool(queue, self.resolve(queue), seed=seed, memory=memory)
        if self._watch is not None:
            pool.matcher = self._watch(queue, pool.matcher)
        return pool

    def open_pools(self, pools: dict[str, Pool], same: Collection[str] = ()) -> None:
        """Put pools in the place of all others, and let the waiting tickets enter in order.

        The tickets of the pools in `same` are in there already.
        """
        self.pools = pools
        self._places = {name: place for place, name in enumerate(pools)}
        self.objectives = {name: pool.objective for name, pool in pools.items()}
        for timer in (self.deadlines, self.releases, self.commits):
            timer.clear()
        for name in same:
            for ticket_id, until in pools[name].held_until.items():
                self.releases.add((until, 0, 0, ticket_id, name))
            for ticket_id, until in pools[name].delayed_until.items():
                self.commits.add((until, 0, 0, ticket_id, name))
        waiting = [row for row in self.tables.waiting.values() if row.match is None]
        for row in sorted(waiting, key=lambda row: row.ticket.age_key):
            self._let_in(row.ticket, row.queues, same)

    def enter(self, ticket: Ticket, queues: Collection[str]) -> None:
        """Let a ticket into its pools, where running matches may have it too."""
        self._let_in(ticket, queues)
        self._tell_fills(ticket, queues)

    def change(self, ticket: Ticket, queues: Collection[str]) -> None:
        """Let pools have the newer facts of a ticket in them; its place and its timers stay."""
        for name in queues:
            pool = self.pools[name]
            pool.change(ticket, self.now)
            if ticket.id not in pool.delayed_until:
                self._takes_part(pool, ticket)
        self._tell_fills(ticket, queues)

    def _tell_fills(self, ticket: Ticket, queues: Collection[str]) -> None:
        """Tell the running matches of some queues whom they may have from now on."""
        if self.fills.pending:
            for name in queues:
                if name in self.fills.pending:
                    self.fills.entered(ticket.id, name)

    def _let_in(self, ticket: Ticket, queues: Iterable[str], same: Collection[str] = ()) -> None:
        """Let a ticket into its pools, but for those in `same`, which have it."""
        for name in queues:
            pool = self.pools[name]
            if name not in same:
                pool.enter(ticket, self.now)
                if pool.delayed_until and (until := pool.delayed_until.get(ticket.id)) is not None:
                    self.commits.add((until, ticket.sequence, 0, ticket.id, name))
                else:
                    self._takes_part(pool, ticket)
            if (wait_max := pool.queue.wait_max) is not None:
                deadline = ticket.enqueued_at + wait_max
                place = self._places[name]
                self.deadlines.add((deadline, ticket.sequence, place, ticket.id, name))

    def _takes_part(self, pool: Pool, ticket: Ticket) -> None:
        """Note that the matcher of a pool has just got a ticket."""
        # Only proposals that there are already may have free seats for newcomers.
        if self.tables.proposals:
            self._fresh.setdefault(pool.name, []).append(ticket.id)
        if pool.held_until:
            self._release(pool)

    def leave(self, ticket_id: str, queues: Iterable[str]) -> None:
        """Take a ticket out of its pools, which decide anew."""
        for name in queues:
            self.pools[name].leave(ticket_id, self.now)
            self.dirty[name] = None

    def come_back(self, ticket_ids: Iterable[str]) -> None:
        """Let tickets whose proposal or match came to nothing wait again, in their old place."""
        rows = [self.tables.waiting[ticket_id] for ticket_id in ticket_ids]
        for row in sorted(rows, key=lambda row: row.ticket.age_key):
            queues = [name for name in row.queues if self._takes(name, row.ticket)]
            for name in row.queues:
                if name not in queues:
                    self.drop(row.ticket.id, name, "queue_changed")
            self.enter(row.ticket, queues)
            self.dirty.update(dict.fromkeys(queues))

    def _takes(self, name: str, ticket: Ticket) -> bool:
        """Return whether a queue takes a ticket as it is now: it may have been changed.

        In another group its players may wait in other tickets, and play against themselves.
        """
        pool = self.pools.get(name)
        if pool is None or not fits(ticket, pool.objective):
            return False
        noted = self.tables.players.get(pool.queue.group, {})
        return noted.get(ticket.players[0].id) == ticket.id

    def drop(self, ticket_id: str, name: str, reason: str) -> None:
        """Take a ticket out of one queue; it expires when it was the last."""
        if len(self.tables.waiting[ticket_id].queues) > 1:
            self.emit(LeftQueue(ticket_id, name))
        else:
            self.emit(Expired(ticket_id, reason))

    # Decisions

    def decide(self, names: Collection[str], *, fired: bool) -> None:
        """Let queues decide in this order, then those that lost tickets to them, until all have."""
        while names:
            for name in names:
                pool = self.pools[name]
                if self.dirty:
                    self.dirty.pop(name, None)
                if name in self.tables.paused:
                    pool.wake_at = math.inf
                    continue
                if pool.held_until and pool.keeps_in_vain:
                    self._release(pool)
                if self._fresh:
                    fresh = self._fresh.pop(name, None)
                    if fresh is not None and self.tables.proposals:
                        self.offer(name, fresh)
                if name in self.fills.pending:
                    self.fills.before(pool)
                decision = pool.decide(self.now, fired)
                if decision.matches or decision.job is not None:
                    self.carry_out(pool, decision, fired=fired)
                if name in self.fills.pending:
                    self.fills.after(pool, fired=fired)
            if not self.dirty:
                return
            names = [name for name in self.pools if name in self.dirty]
        self.dirty.clear()

    def carry_out(self, pool: Pool, decision: Decision, *, fired: bool) -> None:
        """Make the matches of a decision, and begin its job."""
        failed: list[list[Ticket]] = []
        for grouping in decision.matches:
            try:
                tickets, seating = check_grouping(pool, grouping, self.now, fired)
            except PolicyError as fault:
                pool.stop(fault)
                pool.wake_at = math.inf
                return
            except Exception as error:  # noqa: BLE001 - one queue's error is no other's
                pool.fail("the check of a match", error)
                return
            tables = self.tables
            if tables.dissolved and tables.dissolved_until(tickets) > self.now:
                failed.append(tickets)
            elif pool.name not in self.fills.pending or not self.fills.rival(
                pool, tickets, seating
            ):
                self.make_match(pool, (tickets, seating, grouping.bots), decided=True)
        # Once all others have been matched, it is known who is left to play with.
        for tickets in failed:
            self._keep_apart(pool, tickets)
        if pool.held_until and pool.keeps_in_vain:
            self.dirty[pool.name] = None
        if decision.job is not None:
            number = self.tables.counters.jobs + 1
            self.requested_jobs[pool.name] = pool.begin(decision.job, number, self.now)
            self.emit(JobAsked(pool.name, number))

    def make_match(self, pool: Pool, group: SeatedGroup, *, decided: bool) -> None:
        """Make a match, or propose it where the queue has a ready-check.

        Args:
            pool: The queue's pool.
            group: The tickets and their division.
            decided: Whether the matcher decided it, which knows then that they have left.
        """
        tickets, seating, bots = group
        match = describe(self.next_match_id(), pool, tickets, seating, bots, self.now)
        waiting = self.tables.waiting
        # Noted before the match is made: then its tickets have no rows any more.
        rows = list(map(waiting.__getitem__, match.tickets))
        if pool.queue.accept is None:
            self.settle(match)
        else:
            self.propose(pool.queue.accept, match)
        for row in rows:
            ticket_id = row.ticket.id
            for name in row.queues:
                if decided and name == pool.name:
                    del pool.tickets[ticket_id]
                else:
                    self.pools[name].leave(ticket_id, self.now)
                    self.dirty[name] = None

    def next_match_id(self) -> str:
        """Return the id of the next match or proposal."""
        return f"{self.shard}-m{self.tables.numbered + 1}"

    def propose(self, accept: ReadyCheck, match: Match) -> None:
        """Ask the players of a match whether they accept it."""
        waiting, now = self.tables.waiting, self.now
        until = {
            ticket_id: accept.answer_by(waiting[ticket_id].ticket.enqueued_at, now)
            for ticket_id in match.tickets
        }
        self.emit(Proposed(match, until))
        self.watch_proposal(self.tables.proposals[match.id])

    def settle(self, match: Match) -> None:
        """Make a match final."""
        self.emit(Matched(match))
        row = self.tables.matches[match.id]
        whole = row if match.extends is None else self.tables.matches[match.extends]
        if whole.assignment is not None:
            self.emit(Assigned(match.id, whole.assignment))
        if row.live:
            self.watch_match(row)
        if whole.match.id in self.tables.rosters:
            self.on_made(whole.match.id)

    def watch_match(self, kept_match: KeptMatch) -> None:
        """Note when a live match ends by itself."""
        if kept_match.live:
            self.match_ends.add(
                (
                    kept_match.ends_at,
                    kept_match.made,
                    0,
                    kept_match.match.id,
                    kept_match.match.queue,
                )
            )

    def watch_proposal(self, proposal: Proposal) -> None:
        """Note when the answers of a proposal are due, and the end of its repair."""
        match = proposal.match
        instants = set(proposal.until.values())
        if proposal.open is not None and proposal.open.expires_at is not None:
            instants.add(proposal.open.expires_at)
        for at in sorted(instants):
            self.answers.add((at, proposal.made, 0, match.id, match.queue))

    def _keep_apart(self, pool: Pool, tickets: list[Ticket]) -> None:
        """Keep one of a set that has just failed aside, and let the others wait on.

        The set may not be proposed again at once, and only the policy knows another one. So it
        decides without that ticket until somebody else enters, another of the set leaves, or long
        enough.
        """
        until = self.tables.dissolved_until(tickets)
        kept = pool.keep_apart(tickets, until, self.now)
        self.releases.add((until, kept.sequence, 0, kept.id, pool.name))
        self.dirty[pool.name] = None

    def release_due(self) -> None:
        """Let tickets take part that were kept aside, or held back as newcomers, long enough."""
        for *_, name in self.releases.take_due(self.now):
            self._release(self.pools[name])
            self.dirty[name] = None
        for *_, ticket_id, name in self.commits.take_due(self.now):
            # A ticket that was let out and in again since has two entries here.
            if ticket_id in self.pools[name].delayed_until:
                self.pools[name].let_in(ticket_id, self.now)
                self._fresh.setdefault(name, []).append(ticket_id)
                self.dirty[name] = None

    def _release(self, pool: Pool) -> None:
        """Let all tickets take part that were kept aside; free seats are offered to them too."""
        if pool.held_until:
            self._fresh.setdefault(pool.name, []).extend(pool.held_until)
            pool.release(self.now)

    def waits(self, entry: Entry) -> bool:
        """Return whether a deadline still counts: its ticket waits in the queue.

        Another ticket may wait there under the same id, which callers may use again.
        """
        pool = self.pools.get(entry[4])
        ticket = None if pool is None else pool.tickets.get(entry[3])
        return ticket is not None and ticket.sequence == entry[1]

    def _is_held(self, entry: Entry) -> bool:
        pool = self.pools.get(entry[4])
        return pool is not None and pool.held_until.get(entry[3]) == entry[0]

    def _is_delayed(self, entry: Entry) -> bool:
        pool = self.pools.get(entry[4])
        return pool is not None and pool.delayed_until.get(entry[3]) == entry[0]

    def _is_live(self, entry: Entry) -> bool:
        row = self.tables.matches.get(entry[3])
        return row is not None and row.live

    def _is_proposed(self, entry: Entry) -> bool:
        proposal = self.tables.proposals.get(entry[3])
        return proposal is not None and proposal.is_due_at(entry[0])


def _nothing(name: str, fresh: list[str]) -> None:
    """Offer nothing to newcomers."""


def _nobody(match_id: str) -> None:
    """Tell nobody of a match."""
