"""A matcher at work on a script, driven as the engine drives it, and watched at every step.

At one instant inputs come first, each followed by `decide` with `fired=False`; then, if a wake-up
or a deadline has come, `decide` with `fired=True`. A job is solved at once, and its plan handed in
at that very instant where a promise does not say otherwise. Promises that tamper with a run do it
in `between`, which is called whenever nothing is left to happen for a while.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from types import TracebackType
from typing import NoReturn

import msgspec

from evenmatch.criteria.objective import Objective
from evenmatch.engine.matching.jobs import JobSlot, Plan, RunningJob
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, Grouping, JobResult, Policy
from evenmatch.policies.hooks import has_jobs, rules_of
from evenmatch.testing.scripts import Script, Step, draw_script

WAKES_MAX = 50_000
"""Wake-ups of one run; a policy that needs more goes round in circles."""

LEGAL = "every match is legal, as full as its format asks, of waiting tickets, each used once"
LEFT = "a ticket may leave at any time, and is never matched after that"
AHEAD = "wake_at lies ahead"
JOBS = "a job is asked for only when fired, one at a time and one at an instant"

NO_PLAN = JobResult(0)


class DecidedMatch(msgspec.Struct, frozen=True):
    """A match that a policy made: ticket ids by age."""

    at: float
    tickets: tuple[str, ...]
    bots: int

    def __str__(self) -> str:
        bots = f" with {self.bots} bots" if self.bots else ""
        return f"{'+'.join(self.tickets)}{bots} at {self.at} s"


class Case:
    """A policy on one queue with one script, and what it does there when nobody tampers."""

    def __init__(self, policy: Policy, name: str, queue: Queue, seed: int) -> None:
        self.policy = policy
        self.name = name
        self.queue = queue
        self.seed = seed
        rules = queue.rules + rules_of(policy, queue)
        self.objective = Objective(msgspec.structs.replace(queue, rules=rules))
        self.script: Script = draw_script(queue, rules, seed)
        self.made: list[DecidedMatch] = []

    def broken(self, promise: str, detail: str) -> NoReturn:
        """Raise the broken promise."""
        raise AssertionError(
            f"{promise}: policy {self.name} on queue {self.queue.name}, seed {self.seed}: {detail}"
        )

    def expect_same(
        self,
        promise: str,
        found: Sequence[DecidedMatch],
        what: str,
        than: Sequence[DecidedMatch] | None = None,
    ) -> None:
        """Expect the matches that the policy makes when nobody tampers, or these others."""
        made = self.made if than is None else than
        for number in range(max(len(made), len(found))):
            before = made[number] if number < len(made) else "no match"
            after = found[number] if number < len(found) else "no match"
            if before != after:
                self.broken(promise, f"{what} turned {before} into {after}")


class PromiseGuard:
    """Turns whatever a policy raises into a broken promise: the engine would stop its queue."""

    def __init__(self, case: Case, promise: str, call: str) -> None:
        self._case, self._promise, self._call = case, promise, call

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception):
            detail = f"{self._call} raised {type(error).__name__}: {error}"
            try:
                self._case.broken(self._promise, detail)
            except AssertionError as broken:
                raise broken from error


class Play:
    """One run.

    Args:
        case: What is played; `script` may be another one than its own.
        script: Who enters and leaves when.
    """

    promise = LEGAL

    def __init__(self, case: Case, script: Script | None = None) -> None:
        self.case = case
        self.queue = case.queue
        self.script = script or case.script
        self.rng = random.Random(case.seed)
        self.matcher = case.policy.matcher(case.queue, seed=case.seed)
        self.waiting: dict[str, Ticket] = {}
        self.left: dict[str, Ticket] = {}
        self.made: list[DecidedMatch] = []
        self.said: list[tuple[float, bool, float]] = []
        self.wake_at = math.inf
        self.now = self.fired_at = -math.inf
        self.forget_job()

    def forget_job(self) -> None:
        """Let no job run."""
        self.slot = JobSlot(has_jobs(self.case.policy))
        self.plan = NO_PLAN
        self.plan_at = math.inf

    def run(self) -> list[DecidedMatch]:
        """Play the script to its end; return all matches in order."""
        number = wakes = 0
        steps = self.script.steps
        while True:
            step = steps[number] if number < len(steps) else None
            given_at = self.script.until if step is None else step.at
            next_at = min(given_at, self._due(), self.plan_at)
            if next_at > self.now > -math.inf:
                self.between(next_at)
            due = self._due()
            if self.plan_at < given_at and self.plan_at <= due:
                self.now = self.plan_at
                self.settle(self.now)
            elif due < given_at:
                wakes += 1
                self.fire(due)
            elif step is None:
                return self.made
            else:
                number += 1
                self.now = step.at
                self._input(step)
            if wakes > WAKES_MAX:
                self.case.broken(AHEAD, f"it wakes more than {WAKES_MAX} times by {self.now} s")

    def between(self, until: float) -> None:
        """Tamper with the run while nothing happens from `now` until just before `until`."""

    def solve_until(self, now: float) -> float:
        """Return when the plan of a job that is asked for now is handed in."""
        return now

    def decided(self, now: float, fired: bool, decision: Decision) -> None:
        """Look at a decision that was just carried out."""

    def ask(self, now: float, fired: bool) -> Decision:
        """Call `decide`, check what it says, and wait for its `wake_at` from now on."""
        call = f"decide({now}, fired={fired})"
        with PromiseGuard(self.case, self.promise, call):
            decision = self.matcher.decide(now, fired)
        return self._believe(decision, call, now, fired)

    def _believe(self, decision: Decision, call: str, now: float, fired: bool) -> Decision:
        wake_at = decision.wake_at
        if not (wake_at > now or (wake_at == now and not fired)):
            self.case.broken(AHEAD, f"{call} returned wake_at {wake_at}")
        job = decision.job
        if job is not None and (objection := self.slot.objection(job, now, fired)):
            self.case.broken(JOBS, f"{call}: {objection}")
        used: set[str] = set()
        for grouping in decision.matches:
            self._check(grouping, now, fired, used)
        self.wake_at = wake_at
        return decision

    def decide(self, now: float, fired: bool) -> None:
        """Ask for a decision and carry it out."""
        decision = self.ask(now, fired)
        self._carry_out(decision, now, fired)
        if decision.job is not None:
            running = self.slot.begin(RunningJob(1, self.queue.name, decision.job), now)
            self.plan = self.solve(running)
            self.plan_at = self.solve_until(now)
        self.decided(now, fired, decision)

    def settle(self, now: float) -> None:
        """Hand in what is left of a plan, and carry out what the matcher makes of it."""
        running, plan = self.slot.running, self.plan
        assert running is not None
        self.slot.running, self.plan, self.plan_at = None, NO_PLAN, math.inf
        left = self._left_of(plan.matches, now)
        if now == self.slot.asked_at and left != plan.matches:
            gone = next(ids for ids in plan.matches if ids not in left)
            self.case.broken(LEGAL, f"the plan at {now} s has {'+'.join(gone)}, which may not play")
        call = f"settle(JobResult({running.job.number}, {left}), {now})"
        with PromiseGuard(self.case, self.promise, call):
            result = JobResult(running.job.number, left, plan.data)
            decision = self.matcher.settle(result, now)
        self._carry_out(self._believe(decision, call, now, False), now, False)

    def solve(self, running: RunningJob) -> JobResult:
        """Return the plan of a job."""
        with PromiseGuard(self.case, self.promise, "its job"):
            return running.solve()

    def _left_of(self, plan: Plan, now: float) -> Plan:
        """Return the matches of a plan that can be played now, as the engine does."""
        left: list[tuple[str, ...]] = []
        used: set[str] = set()
        for ids in plan:
            known = [self.waiting[i] for i in ids if i in self.waiting and i not in used]
            if not ids or len(known) < len(ids) or len(set(ids)) < len(ids):
                continue
            seating = self.case.objective.seat(sorted(known, key=_age), 0, now)
            if seating is not None and seating.ready_at <= now:
                left.append(ids)
                used.update(ids)
        return tuple(left)

    def _carry_out(self, decision: Decision, now: float, fired: bool) -> None:
        for grouping in decision.matches:
            tickets = sorted((self.waiting.pop(i) for i in grouping.tickets), key=_age)
            self.made.append(DecidedMatch(now, tuple(t.id for t in tickets), grouping.bots))
        self.said.append((now, fired, decision.wake_at))

    def leave(self, ticket_id: str, now: float) -> None:
        """Take a waiting ticket out."""
        self.left[ticket_id] = self.waiting.pop(ticket_id)
        with PromiseGuard(self.case, LEFT, f"leave({ticket_id!r}, {now})"):
            self.matcher.leave(ticket_id, now)

    def enter(self, ticket: Ticket, now: float) -> None:
        """Let a ticket wait."""
        self.left.pop(ticket.id, None)
        self.waiting[ticket.id] = ticket
        with PromiseGuard(self.case, self.promise, f"enter({ticket.id}, {now})"):
            self.matcher.enter(ticket, now)

    def _input(self, step: Step) -> None:
        for ticket in step.enters:
            self.enter(ticket, self.now)
        if step.leaves is not None and self.waiting:
            by_age = sorted(self.waiting.values(), key=_age)
            self.leave(by_age[int(step.leaves * len(by_age))].id, self.now)
        if step.returns and self.left:
            ticket = next(reversed(self.left.values()))
            if self._deadline(ticket) > self.now:
                self.enter(ticket, self.now)
        self.decide(self.now, fired=False)

    def fire(self, now: float) -> None:
        """Let everything happen that is due, and apply `on_deadline` to what is left."""
        self.now = self.fired_at = now
        self.decide(now, fired=True)
        if self.plan_at == now:
            # As in the engine, a plan that is there at once comes before the deadlines of now.
            self.settle(now)
            if self.wake_at <= now or self._overdue(now):
                self.decide(now, fired=True)
        overdue = self._overdue(now)
        if overdue and self.queue.on_deadline != "keep":
            for ticket_id in overdue:
                self.leave(ticket_id, now)
            self.decide(now, fired=True)

    def _overdue(self, now: float) -> list[str]:
        return [t.id for t in self.waiting.values() if self._deadline(t) <= now]

    def _deadline(self, ticket: Ticket) -> float:
        wait_max = self.queue.wait_max
        return math.inf if wait_max is None else ticket.enqueued_at + wait_max

    def _due(self) -> float:
        """Return the next wake-up or deadline."""
        deadlines = map(self._deadline, self.waiting.values())
        return min([self.wake_at, *(at for at in deadlines if at > self.fired_at)])

    def _check(self, grouping: Grouping, now: float, fired: bool, used: set[str]) -> None:
        """Check one match; `used` are the tickets of this decision's earlier ones."""
        ids, broken = grouping.tickets, self.case.broken
        what = f"the match {'+'.join(ids)} at {now} s"
        for ticket_id in ids:
            if ticket_id in used:
                broken(LEGAL, f"{what} uses {ticket_id} twice")
            if ticket_id in self.left:
                broken(LEFT, f"{what} has {ticket_id}, which has left")
            if ticket_id not in self.waiting:
                broken(LEGAL, f"{what} has {ticket_id}, which does not wait")
            used.add(ticket_id)
        tickets = sorted((self.waiting[ticket_id] for ticket_id in ids), key=_age)
        if grouping.bots:
            is_due = any(self._deadline(ticket) <= now for ticket in tickets)
            if not (fired and is_due and self.queue.on_deadline == "bots" and grouping.bots > 0):
                broken(LEGAL, f"{what} has {grouping.bots} bots, though no deadline has come")
        seating = self.case.objective.seat(tickets, grouping.bots, now) if tickets else None
        if seating is None:
            form = self.queue.format
            asked = "exactly" if not form.is_variable else "to their minimum, or overfills them"
            asked += " with the roles that players accept" if form.roles else ""
            broken(LEGAL, f"{what} does not fill the teams {asked}")
        if seating.ready_at > now:
            broken(LEGAL, f"{what} is allowed by the rules only from {seating.ready_at} s on")


def _age(ticket: Ticket) -> tuple[float, int]:
    return ticket.age_key
