"""A pool: the tickets that wait in one queue, and the matcher at work on them."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Collection, Iterable
from itertools import islice
from operator import attrgetter
from typing import Any

import msgspec

from evenmatch.criteria.columns.least_cost import LeastCost
from evenmatch.criteria.columns.pairs import PairTable
from evenmatch.criteria.divisions import Teams
from evenmatch.criteria.objective import Objective, Seating
from evenmatch.engine.admission.admission import fits, let_in_at
from evenmatch.engine.matching.jobs import JobSlot, RunningJob
from evenmatch.engine.matching.waiting_columns import WaitingColumns
from evenmatch.errors import PolicyError
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket, attribute_of
from evenmatch.policies.base import (
    NOTHING,
    Decision,
    FunctionPolicy,
    Grouping,
    Job,
    JobResult,
    Memory,
    Policy,
)
from evenmatch.policies.hooks import check_conditions, has_jobs, hook_value, listens, rules_of

ASKED_FIRST = 64
"""Waiting tickets that are asked one by one who may play with a newcomer, before columns are."""


class Pool:
    """The waiting tickets of one queue, and its matcher.

    Args:
        queue: As configured; the policy's own rules are added.
        policy: The policy.
        seed: Root of the policy's chance.
        memory: What the matcher knew, after a restart.
    """

    def __init__(
        self, queue: Queue, policy: Policy, *, seed: int, memory: Memory | None = None
    ) -> None:
        self.name = queue.name
        if not isinstance(policy, FunctionPolicy):
            check_conditions(policy, queue)
        rules = queue.rules + rules_of(policy, queue)
        self.queue = msgspec.structs.replace(queue, rules=rules)
        self.policy = policy
        self.objective = Objective(self.queue)
        # What the rules say of pairs, and the criteria at the least, for whole columns of tickets.
        self.pairs = PairTable(self.objective.rules)
        self.least_cost = LeastCost(self.objective)
        self.columns = WaitingColumns(self.objective, self.pairs, self.least_cost)
        # The matcher gets the queue as configured: it adds its own rules itself.
        self.matcher = policy.matcher(queue, seed=seed, memory=memory)
        self._hears_arrivals = listens(self.matcher, "announce")
        # Few policies have a word for wide duels; the others are not asked.
        self.says_wide = getattr(policy, "is_wide", None) is not None
        # Seconds ahead that the policy wants to be told of arrivals; 0 if it has no use for them.
        self.horizon = float(hook_value(policy, "horizon")) if self._hears_arrivals else 0.0
        self.slot = JobSlot(has_jobs(policy))
        self.tickets: dict[str, Ticket] = {}
        # Tickets that wait here but are kept from the matcher, and until when; and each one's set,
        # for whose sake it is.
        self.held_until: dict[str, float] = {}
        self._held_for: dict[str, frozenset[str]] = {}
        # Newcomers whom `commit_jitter` keeps from the matcher, and until when.
        self.delayed_until: dict[str, float] = {}
        self._seed = seed
        self._newest = 0
        # The matches of the plan that is being settled, by their tickets in order of age.
        self.planned_seatings: dict[tuple[str, ...], Seating] = {}
        self.wake_at = math.inf
        self.fault: PolicyError | None = None

    @classmethod
    def stopped(cls, queue: Queue, why: str) -> Pool:
        """Return a pool whose policy cannot be loaded: it keeps tickets and makes no matches."""
        pool = cls(queue, FunctionPolicy(_no_matches), seed=0)
        pool.fault = PolicyError(f"policy {queue.policy} of queue {queue.name}: {why}")
        return pool

    def enter(self, ticket: Ticket, now: float) -> None:
        """Add a ticket, in the place that its age gives it."""
        if ticket.sequence > self._newest:
            self._newest = ticket.sequence
            self.tickets[ticket.id] = ticket
        else:
            self._enter_among(ticket)
        if self.columns.are_kept:
            self.columns.add(ticket, self.tickets)
        if self.queue.commit_jitter:
            until = let_in_at(ticket, self.queue, self._seed)
            if until > now:
                self.delayed_until[ticket.id] = until
                return
        self.give(ticket, now)

    def _enter_among(self, ticket: Ticket) -> None:
        """Take a ticket in that is older than others who wait: O(n), with a small constant."""
        names, tickets = list(self.tickets), list(self.tickets.values())
        place = bisect_left(tickets, ticket.age_key, key=attrgetter("age_key"))
        names.insert(place, ticket.id)
        tickets.insert(place, ticket)
        self.tickets = dict(zip(names, tickets, strict=True))

    def change(self, ticket: Ticket, now: float) -> None:
        """Take the newer facts of a ticket that waits here, and keeps its place."""
        self.tickets[ticket.id] = ticket
        if self.columns.are_kept:
            self.columns.add(ticket, self.tickets)
        if self.delayed_until.get(ticket.id, now) <= now:
            self._take_back(ticket.id, now)
            self.give(ticket, now)

    def let_in(self, ticket_id: str, now: float) -> None:
        """Show the matcher a newcomer whose delay is over."""
        del self.delayed_until[ticket_id]
        self.give(self.tickets[ticket_id], now)

    def is_kept(self, ticket_id: str) -> bool:
        """Return whether a waiting ticket is kept from the matcher."""
        return ticket_id in self.held_until or ticket_id in self.delayed_until

    def give(self, ticket: Ticket, now: float) -> None:
        """Show the matcher a waiting ticket."""
        if self.fault is None:
            try:
                self.matcher.enter(ticket, now)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - see _fail
                self._fail("enter", error)

    def keep_apart(self, tickets: Collection[Ticket], until: float, now: float) -> Ticket:
        """Keep one of a set from the matcher, which has just decided it, and give the others back.

        It is the one who loses least by it: who may play with nobody else, or only later than the
        others; of equals the newcomer.

        Returns:
            Who is kept.
        """
        beside = frozenset([ticket.id for ticket in tickets])
        newest_first = sorted(tickets, key=attrgetter("age_key"), reverse=True)
        kept, latest = newest_first[0], -math.inf
        for ticket in newest_first:
            at = self._plays_others_at(ticket, beside, now)
            if at > latest:
                kept, latest = ticket, at
            if at == math.inf:
                break
        for ticket in tickets:
            if ticket is not kept:
                self.give(ticket, now)
        self.held_until[kept.id], self._held_for[kept.id] = until, beside
        return kept

    def _plays_others_at(self, ticket: Ticket, beside: Collection[str], now: float) -> float:
        """Return the instant from which a ticket may play with somebody beyond a set.

        Complexity:
            `ASKED_FIRST` questions to the rules.
        """
        ready_at, first = self.objective.rules.pair_ready_at, math.inf
        others = (each for each in self.tickets.values() if each.id not in beside)
        for other in islice(others, ASKED_FIRST):
            if not self.is_kept(other.id) and (at := ready_at(other, ticket)) < first:
                first = max(at, now)
                if first == now:
                    break
        return first

    @property
    def keeps_in_vain(self) -> bool:
        """Return whether a ticket is kept from the matcher for a set of which others have left."""
        return any(not beside <= self.tickets.keys() for beside in self._held_for.values())

    def release(self, now: float) -> None:
        """Show the matcher all tickets that were kept from it."""
        held, self.held_until = self.held_until, {}
        self._held_for.clear()
        for ticket_id in held:
            self.give(self.tickets[ticket_id], now)

    def leave(self, ticket_id: str, now: float) -> None:
        """Forget a ticket that ended or was matched elsewhere."""
        del self.tickets[ticket_id]
        self._take_back(ticket_id, now)

    def _take_back(self, ticket_id: str, now: float) -> None:
        """Let the matcher forget a ticket, unless it is kept from it anyway."""
        was_kept = self.is_kept(ticket_id)
        self.held_until.pop(ticket_id, None)
        self._held_for.pop(ticket_id, None)
        self.delayed_until.pop(ticket_id, None)
        if not was_kept and self.fault is None:
            try:
                self.matcher.leave(ticket_id, now)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - see _fail
                self._fail("leave", error)

    def announce(self, ticket: Ticket, now: float) -> None:
        """Announce a ticket to the matcher, and let it decide at once.

        A ticket that the queue would refuse is not announced.
        """
        if self._hears_arrivals and self.fault is None and fits(ticket, self.objective):
            try:
                hook_value(self.matcher, "announce")(ticket, now)
                self.wake_at = now
            except (Exception, SystemExit) as error:  # noqa: BLE001 - see _fail
                self._fail("announce", error)

    def confirmed(self, seconds: float, now: float) -> None:
        """Tell the matcher that a match was confirmed, so long after it was proposed."""
        if self.fault is None:
            try:
                hook_value(self.matcher, "confirmed")(seconds, now)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - see _fail
                self._fail("confirmed", error)

    def decide(self, now: float, fired: bool) -> Decision:
        """Return the matcher's decision, and note when it asks to be woken.

        Once the policy has failed, it decides nothing.
        """
        decision = NOTHING
        if self.fault is None:
            try:
                decision = check_decision(self, self.matcher.decide(now, fired), now, fired)
            except PolicyError as fault:
                self.stop(fault)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - see _fail
                self._fail("decide", error)
        self.wake_at = decision.wake_at
        return decision

    def begin(self, job: Job, number: int, now: float) -> RunningJob:
        """Note that a job was requested now, under this number."""
        return self.slot.begin(RunningJob(number, self.name, job), now)

    def settle(self, result: JobResult, now: float) -> Decision:
        """Return the matcher's decision on the playable rest of a plan; its job is over."""
        self.slot.running, decision = None, NOTHING
        try:
            decision = check_decision(self, self.matcher.settle(result, now), now, False)
        except PolicyError as fault:
            self.stop(fault)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - see _fail
            self._fail("settle", error)
        self.wake_at = decision.wake_at
        return decision

    def fail_job(self, error: BaseException) -> None:
        """Stop asking the policy, because its job failed."""
        self.wake_at = math.inf
        self._fail("its job", error)

    def stop(self, fault: PolicyError) -> None:
        """Stop asking the policy; a running job is forgotten."""
        self.fault, self.slot.running = fault, None

    def memory(self) -> Memory:
        """Return what the matcher knows beyond its tickets; nothing once the policy has failed."""
        if self.fault is None:
            try:
                return self.matcher.memory()
            except (Exception, SystemExit) as error:  # noqa: BLE001 - see _fail
                self._fail("memory", error)
        return {}

    def starts(self) -> dict[str, float]:
        """Return when the policy means to start matches, by the tickets in them.

        Nothing of one that failed, does not say, or fails in saying it: that is no reason to stop
        its matches.
        """
        if self.fault is not None:
            return {}
        try:
            return dict(hook_value(self.matcher, "starts")())
        except (Exception, SystemExit):  # noqa: BLE001 - a policy may be anybody's code
            return {}

    def promise(self, ticket_id: str, now: float) -> Any:
        """Return when the matcher says a ticket's next round begins; None if it does not say.

        As with `starts`, failing in it is no reason to stop its matches.
        """
        if self.fault is not None:
            return None
        try:
            return hook_value(self.matcher, "promise")(ticket_id, now)
        except (Exception, SystemExit):  # noqa: BLE001 - a policy may be anybody's code
            return None

    def is_wide(self, teams: Teams) -> bool:
        """Return whether the policy calls a duel wide; False once it has failed."""
        if not self.says_wide or self.fault is not None:
            return False
        if [len(team) for team in teams] != [1, 1]:
            return False
        ratings = [attribute_of(t, t.players[0], "rating") for (t,) in teams]
        if not all(isinstance(each, float | int) for each in ratings):
            return False
        try:
            return bool(hook_value(self.policy, "is_wide")(*ratings))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - see _fail
            self._fail("is_wide", error)
            return False

    def _fail(self, verb: str, error: BaseException) -> None:
        """Stop asking the policy.

        A policy may be anybody's code. Whatever it raises must not stop the engine half-way
        through an input, so it becomes the pool's fault: the queue makes no more matches, its
        tickets stay, and whoever drives the engine reports it.
        """
        self._stop_after(f"policy {self.queue.policy} of queue {self.name} failed in {verb}", error)

    def fail(self, doing: str, error: BaseException) -> None:
        """Stop the queue after an error of ours that concerns nobody beyond it.

        Like a policy's fault: the queue makes no more matches, all others go on.
        """
        self._stop_after(f"queue {self.name} failed in {doing}", error)
        self.wake_at = math.inf

    def _stop_after(self, what: str, error: BaseException) -> None:
        fault = PolicyError(f"{what}: {type(error).__name__}: {error}{_place_of(error)}")
        fault.__cause__ = error
        self.stop(fault)

    def oldest_partner(self, ticket: Ticket, now: float) -> tuple[float, int]:
        """Return the age of the longest waiting ticket that may play with this one now.

        Complexity:
            O(1) where one of the first `ASKED_FIRST` may; else O(n) in columns.
        """
        waiting = self.tickets
        found = self._partner_among(ticket, islice(waiting.values(), ASKED_FIRST), now)
        if found is None and len(waiting) > ASKED_FIRST:
            others = self.columns.ready_with(ticket, waiting, now)
            others.sort(key=attrgetter("age_key"))
            found = self._partner_among(ticket, others, now)
        return (math.inf, 0) if found is None else found.age_key

    def _partner_among(self, ticket: Ticket, others: Iterable[Ticket], now: float) -> Ticket | None:
        """Return the first of some tickets that may play with this one now."""
        ready_at = self.objective.rules.pair_ready_at
        for other in others:
            if (
                other.id != ticket.id
                and other.id not in self.delayed_until
                and ready_at(other, ticket) <= now
            ):
                return other
        return None


def in_turn(entered: list[Ticket]) -> list[list[Ticket]]:
    """Return the newcomers of one input as they are let in, the queues deciding after each turn.

    All come at once where they enter one and the same queue. Else each comes alone: were all in
    at once, the queue that decides first could give a later newcomer the opponent who, in another
    queue, an earlier one comes first for.
    """
    if len(entered) <= 1:
        return [entered] if entered else []
    if len({ticket.queues for ticket in entered}) > 1 or any(len(t.queues) > 1 for t in entered):
        return [[ticket] for ticket in entered]
    return [entered]


def order_of_queues(turn: list[Ticket], pools: dict[str, Pool], now: float) -> list[str]:
    """Return the queues to decide: first where a newcomer's partner has waited longest.

    Args:
        turn: The newcomers of one turn, by `in_turn`: of several queues only if alone.
        pools: All pools, in the order of configuration.
        now: The present instant.
    """
    newcomer = turn[0]
    if len(newcomer.queues) == 1:
        return list(newcomer.queues)
    oldest = {name: pools[name].oldest_partner(newcomer, now) for name in newcomer.queues}
    return sorted([name for name in pools if name in oldest], key=oldest.__getitem__)


def _place_of(error: BaseException) -> str:
    """Return the file and line that raised an error, in parentheses."""
    trace = error.__traceback__
    if trace is None:
        return ""
    while trace.tb_next is not None:
        trace = trace.tb_next
    name = trace.tb_frame.f_code.co_filename.replace("\\", "/").rpartition("/")[2]
    return f" ({name}, line {trace.tb_lineno})"


def _no_matches(*_: object) -> tuple[()]:
    return ()


def check_decision(pool: Pool, decision: Decision, now: float, fired: bool) -> Decision:
    """Return a decision after a look at all of it that does not belong to one match.

    Raises:
        PolicyError: It is no Decision, has a wake-up in the past, or a job that may not be
            asked for.
    """
    if type(decision) is not Decision or type(decision.matches) is not tuple:
        raise PolicyError(f"{_named(pool)}: a matcher returns a Decision with a tuple of matches")
    for grouping in decision.matches:
        if type(grouping) is not Grouping:
            raise PolicyError(f"{_named(pool)}: each match of a Decision must be a Grouping")
    wake_at = decision.wake_at
    if not (wake_at > now or (wake_at == now and not fired)):
        raise PolicyError(f"{_named(pool)}: wake_at must be later than {now}, got {wake_at}")
    job = decision.job
    if job is not None and (objection := pool.slot.objection(job, now, fired)):
        raise PolicyError(f"{_named(pool)}: {objection}")
    return decision


def _named(pool: Pool) -> str:
    return f"policy {pool.queue.policy} of queue {pool.name}"
