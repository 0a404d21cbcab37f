"""The promises of a policy with jobs, beside those of all policies.

Everywhere else a plan is handed in at the instant at which its job was asked for; here it comes
late, from nowhere, or never.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import islice
from typing import TypeAlias

from evenmatch.engine.matching.jobs import Plan, RunningJob
from evenmatch.policies.base import JobResult
from evenmatch.testing.play import Case, Play, PromiseGuard
from evenmatch.testing.policy_promises import AFTER_THE_END, found_in, instants, restart
from evenmatch.testing.scripts import Script

DELAYS = (0.0, 2.0**-20, 0.5, 3.0, 20.0)
"""Seconds for which a job runs where plans come late."""
SLOW = 0.5
"""Seconds for which every job runs where plans come that nobody asked for."""
STRAY = 1_000_003
"""Added to the number of a job to get one that nobody knows."""

_Check: TypeAlias = Callable[[Case], None]
PURE = "solving a job again, later or in another order of its parts, gives the same plan"
LATE = "a plan may come late, when some of its tickets are gone"
OVER = "a job is over when its plan has come, whatever is left of it"
STRAYS = "a plan with an unknown number changes nothing"
AGAIN = "a restored matcher asks again for the job that was out"


def _solves_alike(case: Case) -> None:
    _SolvedAgain(case).run()


class _SolvedAgain(Play):
    """Each job is solved when it is asked for, and again when its plan is handed in later."""

    promise = PURE

    def solve_until(self, now: float) -> float:
        return now + self.rng.choice(DELAYS)

    def solve(self, running: RunningJob) -> JobResult:
        plan, job = super().solve(running), running.job
        with PromiseGuard(self.case, PURE, "its job"):
            backwards = [job.solve(part) for part in reversed(range(job.parts))]
            again = running.plan(backwards[::-1])
        if again != plan:
            self.case.broken(PURE, f"at {self.now} s its parts backwards gave another plan")
        return plan

    def settle(self, now: float) -> None:
        running = self.slot.running
        if running is not None and self.solve(running) != self.plan:
            self.case.broken(PURE, f"at {now} s it gave another plan than at {self.slot.asked_at}")
        super().settle(now)


def _comes_late(case: Case) -> None:
    play = _Late(case)
    play.run()
    _go_on(play)
    made = len(play.made)
    # What a matcher does not think of any more, a new one in its place may find.
    restart(play, OVER, play.now)
    play.fire(play.now)
    _go_on(play)
    if len(play.made) > made:
        case.broken(OVER, f"a new matcher made {play.made[made]}, but not the one before it")


def _go_on(play: Play) -> None:
    """Let time pass after the script."""
    play.script = Script((), play.now + AFTER_THE_END)
    play.run()


class _Late(Play):
    """Jobs take their time, and who is planned may leave meanwhile."""

    promise = LATE

    def solve_until(self, now: float) -> float:
        return now + self.rng.choice(DELAYS)

    def between(self, until: float) -> None:
        if self.plan_at == math.inf or self.rng.random() < 0.4:
            return
        now = self.rng.choice(instants(self.now, until))
        if found := found_in(self.ask(now, fired=False)):
            self.case.broken(LATE, f"while its job ran, an extra decide({now}) {found}")
        named = [i for ids in self.plan.matches for i in ids if i in self.waiting]
        # Of a plan in data only its matcher knows who is in it.
        planned = named or (list(self.waiting) if self.plan.data else [])
        if planned and self.rng.random() < 0.5:
            self.leave(self.rng.choice(planned), now)
            self.now = now
            self.decide(now, fired=False)


def _ignores_strays(case: Case) -> None:
    slow = _Slow(case).run()
    case.expect_same(STRAYS, _Strays(case).run(), "a plan that nobody asked for", than=slow)


class _Slow(Play):
    """Every job takes as long."""

    promise = STRAYS

    def solve_until(self, now: float) -> float:
        return now + SLOW


class _Strays(_Slow):
    """Now and then a plan comes that nobody asked for, with people who wait."""

    def between(self, until: float) -> None:
        now = self.rng.choice(instants(self.now, until))
        known = self.slot.running
        number = STRAY if known is None else known.job.number + STRAY
        k = self.queue.format.k
        ids = tuple(islice(self.waiting, k))
        with PromiseGuard(self.case, STRAYS, f"settle(JobResult({number}, ...), {now})"):
            groups = (ids,) if len(ids) == k else ()
            decision = self.matcher.settle(JobResult(number, groups, self.plan.data), now)
        if found := found_in(decision):
            self.case.broken(STRAYS, f"at {now} s it {found}")


def _asks_again(case: Case) -> None:
    play = _Interrupted(case)
    play.run()
    if play.is_stuck():
        _go_on(play)
    if play.is_stuck():
        ids = "+".join(next(ids for ids in play.lost if play.all_wait(ids)))
        case.broken(
            AGAIN, f"restored at {play.lost_at} s, it asked for no job, though {ids} still wait"
        )


class _Interrupted(Play):
    """The first job that has a plan never comes back, since a new matcher takes over meanwhile."""

    promise = AGAIN

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        self.lost: Plan = ()
        self.lost_at = math.inf

    def solve_until(self, now: float) -> float:
        return math.inf if self._groups() and not self.lost else now

    def between(self, until: float) -> None:
        if self.slot.running is not None and not self.lost:
            self.lost, self.lost_at = self._groups(), self.rng.choice(instants(self.now, until))
            restart(self, AGAIN, self.lost_at)
            self.now = self.lost_at
            # As after a recovery, when every queue is due.
            self.fire(self.now)

    def _groups(self) -> Plan:
        """Return whom the plan is about: for one in data, everybody."""
        if self.plan.data:
            return (tuple(self.waiting),)
        return self.plan.matches

    def all_wait(self, ids: tuple[str, ...]) -> bool:
        """Return whether all tickets of a lost match still wait."""
        return all(ticket_id in self.waiting for ticket_id in ids)

    def is_stuck(self) -> bool:
        """Return whether a lost match could be played and nobody thinks of it any more."""
        return self.slot.asked_at < self.lost_at and any(map(self.all_wait, self.lost))


JOB_PROMISES: dict[str, _Check] = {
    LATE: _comes_late,
    PURE: _solves_alike,
    STRAYS: _ignores_strays,
    AGAIN: _asks_again,
}
"""Sentence -> the function that tries to break it, in the order in which they are tried."""
