"""The promise about work: no call evaluates more than the policy declares, whoever waits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, evaluations_allowed
from evenmatch.testing.crowds import draw_crowds
from evenmatch.testing.play import Case, Play
from evenmatch.testing.scripts import Script

BOUND = "a call makes no more evaluations than the policy declares"


def check_evaluations(case: Case) -> None:
    """Raise AssertionError if a call on a crowd of the queue makes more than is declared."""
    rules = case.objective.queue.rules
    for what, script in draw_crowds(case.queue, rules, case.seed):
        run = _Counted(case, script, what)
        if run.run() and not run.count():
            case.broken(BOUND, f"on {what} it made matches and counted no evaluations")


class _Counted(Play):
    """Each call of the matcher is held to the declared number.

    Args:
        case: What is played.
        script: A crowd.
        what: What the crowd is called.
    """

    promise = BOUND

    def __init__(self, case: Case, script: Script, what: str) -> None:
        super().__init__(case, script)
        self.what = what

    def count(self) -> int:
        """Return what the matcher has evaluated."""
        found = getattr(self.matcher, "evaluations", None)
        if not isinstance(found, int):
            self.case.broken(BOUND, f"its matcher counts no evaluations, got {found!r:.80}")
        return found

    def enter(self, ticket: Ticket, now: float) -> None:
        """Let a ticket wait."""
        with self._held(f"enter({ticket.id}, {now})", 1):
            super().enter(ticket, now)

    def leave(self, ticket_id: str, now: float) -> None:
        """Take a waiting ticket out."""
        with self._held(f"leave({ticket_id!r}, {now})", 0):
            super().leave(ticket_id, now)

    def ask(self, now: float, fired: bool) -> Decision:
        """Call `decide`."""
        with self._held(f"decide({now}, fired={fired})", 0):
            return super().ask(now, fired)

    def settle(self, now: float) -> None:
        """Hand in a plan."""
        with self._held(f"settle at {now}", 0):
            super().settle(now)

    @contextmanager
    def _held(self, call: str, entering: int) -> Iterator[None]:
        before, waiting = self.count(), len(self.waiting) + entering
        yield
        spent, most = self.count() - before, evaluations_allowed(self.case.policy, waiting)
        if most is not None and not 0 <= spent <= most:
            self.case.broken(
                BOUND,
                f"on {self.what}, {call} with {waiting} waiting made {spent:,} evaluations, "
                f"and {most:,} are declared",
            )
