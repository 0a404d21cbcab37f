"""A pool: the tickets that wait in one queue, and the matcher at work on them."""

from __future__ import annotations

import math

import msgspec

from evenmatch.cost.objective import Objective
from evenmatch.errors import PolicyError
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Memory, Policy, rules_of


class Pool:
    """One queue at work.

    Args:
        queue: As configured; the policy's own rules are added.
        chosen: The policy.
        seed: Root of the policy's chance.
        memory: What the matcher knew, after a restart.
    """

    def __init__(
        self, queue: Queue, chosen: Policy, *, seed: int, memory: Memory | None = None
    ) -> None:
        self.name = queue.name
        rules = queue.rules + rules_of(chosen, queue)
        self.queue = msgspec.structs.replace(queue, rules=rules)
        self.objective = Objective(self.queue)
        # The matcher gets the queue as configured: it adds its own rules itself.
        self.matcher = chosen.matcher(queue, seed=seed, memory=memory)
        self.tickets: dict[str, Ticket] = {}
        self._newest = 0
        self.wake_at = math.inf
        self.fault: PolicyError | None = None

    def enter(self, ticket: Ticket, now: float) -> None:
        """Take a ticket in, in the place that its age gives it."""
        self.tickets[ticket.id] = ticket
        if ticket.sequence > self._newest:
            self._newest = ticket.sequence
        else:
            by_age = sorted(self.tickets.values(), key=lambda t: t.age_key)
            self.tickets = {t.id: t for t in by_age}
        self.matcher.enter(ticket, now)

    def leave(self, ticket_id: str, now: float) -> None:
        """Forget a ticket that ended or was matched elsewhere."""
        del self.tickets[ticket_id]
        self.matcher.leave(ticket_id, now)

    def oldest_partner(self, ticket: Ticket, now: float) -> tuple[float, int]:
        """Return the age of the longest waiting ticket that may play with this one now."""
        ready_at = self.objective.rules.pair_ready_at
        for other in self.tickets.values():
            if other.id != ticket.id and ready_at(other, ticket) <= now:
                return other.age_key
        return (math.inf, 0)
