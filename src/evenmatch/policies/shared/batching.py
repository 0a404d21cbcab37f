"""From the waiting tickets of a queue to a `Batch`: what the solvers of team matches work on.

`WaitingPlayers` gives each player a row. Entering and leaving only take and give back rows; what is
known of the new ones is written into columns when a batch is asked for, so nobody waits for it at
the door. Rules become flags and limits as they stand at that instant; they are as strict as the
rules or stricter in a rounding. Whoever takes a match from a plan still asks `Objective.rules`
before it is played: places beyond 256, and sets in which more than 64 elements count
(`batch_sets`), are known roughly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

import numpy as np

from evenmatch.criteria.objective import weights_of
from evenmatch.criteria.rules import side_of
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.shared.batch_pairs import PairFacts
from evenmatch.policies.shared.batch_people import people_of
from evenmatch.policies.shared.batch_roles import RoleFacts
from evenmatch.policies.shared.batch_rules import RuleFacts
from evenmatch.policies.shared.batch_terms import Terms
from evenmatch.solvers.teams.batch import Batch, Floats, Ints, Singles, empty_batch, empty_facts

ROWS_FIRST = 64


class WaitingPlayers:
    """The waiting players of one queue, row by row.

    Args:
        queue: With all its rules, those of the policy included.
    """

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.tickets: dict[int, Ticket] = {}
        self.number: dict[str, int] = {}
        total = sum(weights_of(queue))
        shares = [weight / total if total else 0.0 for weight in weights_of(queue)]
        self._terms = Terms(queue, shares)
        self._pairs = PairFacts(queue, shares)
        self._rules = RuleFacts(queue, self._pairs.columns)
        self._sides = queue.format.insisted
        self._roles = RoleFacts(queue, shares)
        each = zip(queue.criteria, shares, strict=True)
        self._fullness = sum(share for c, share in each if c.kind == "fullness")
        self._rows: dict[int, list[int]] = {}
        self._free: list[int] = list(range(ROWS_FIRST - 1, -1, -1))
        self._unwritten: dict[int, None] = {}
        self._players = 0

    def __len__(self) -> int:
        return len(self.tickets)

    @property
    def players(self) -> int:
        """Return how many players wait."""
        return self._players

    def enter(self, ticket: Ticket) -> None:
        """Take rows for a ticket's players: O(players)."""
        size = len(ticket.players)
        while len(self._free) < size:
            self._grow()
        self._rows[ticket.sequence] = [self._free.pop() for _ in range(size)]
        self.tickets[ticket.sequence] = ticket
        self.number[ticket.id] = ticket.sequence
        self._unwritten[ticket.sequence] = None
        self._players += size

    def leave(self, ticket_id: str) -> int | None:
        """Give a ticket's rows back; return its sequence, None if it is not here."""
        sequence = self.number.pop(ticket_id, None)
        if sequence is not None:
            self._free.extend(self._rows.pop(sequence))
            self._unwritten.pop(sequence, None)
            self._players -= len(self.tickets.pop(sequence).players)
        return sequence

    def by_age(self) -> list[Ticket]:
        """Return the waiting tickets, longest waiting first."""
        return sorted(self.tickets.values(), key=lambda ticket: ticket.age_key)

    def batch(self, tickets: Sequence[Ticket], now: float) -> Batch:
        """Return these waiting tickets as a batch, party by party in the order given.

        Complexity:
            That of `later`, then O(players^2) where pings or hosts are known by pairs.
        """
        return self.later(tickets, now)()

    def later(
        self, tickets: Sequence[Ticket], now: float, worths: Sequence[float] | None = None
    ) -> Callable[[], Batch]:
        """Return what makes the batch of these waiting tickets, in any thread.

        Now columns are copied; what looks at pairs of players, or asks ticket by ticket, waits
        until the batch is made. That reads tickets, the queue and those copies, none of which ever
        changes, so whoever comes or leaves meanwhile makes no difference.

        Args:
            tickets: Party by party.
            now: Rules count as they stand now.
            worths: What a match gains by seating a player of each party; None = nothing.

        Complexity:
            O(players) now, and what those cost who were not written yet.
        """
        tickets = tuple(tickets)
        gains = None if worths is None else tuple(worths)
        self._write(tickets)
        rows: Ints = np.array(
            [row for t in tickets for row in self._rows[t.sequence]], dtype=np.int64
        )
        values, said = self._terms.values(rows), self._pairs.of(rows)
        limited, costs = self._rules.values(rows), self._roles.costs(rows)
        named = self._rules.named(rows)
        made: list[Batch] = []

        def make() -> Batch:
            # Several searches of one batch make it once.
            if not made:
                people = people_of(tickets)
                batch = self._bare(tickets, np.vstack([values, limited]), costs)
                batch = batch._replace(facts=self._pairs.facts(batch.facts, said, people))
                batch = batch if gains is None else with_worth(batch, gains)
                count = len(values)
                made.append(self._rules.ruled(batch, people, now, first=count, named=named))
            return made[0]

        return make

    def _bare(self, tickets: Sequence[Ticket], values: Floats, costs: Singles) -> Batch:
        """Return a batch with nothing of pairs and rules yet; this reads nothing that changes."""
        form = self.queue.format
        first: Ints = np.concatenate(([0], np.cumsum([t.size for t in tickets]))).astype(np.int64)
        facts = self._terms.gaps(empty_facts(values.shape[1]))._replace(values=values)
        return empty_batch(np.array(form.players, dtype=np.int64), first, facts)._replace(
            terms=np.vstack([self._terms.terms, self._pairs.terms]),
            parity=self._pairs.parity,
            hosts=self._pairs.hosts,
            seats_min=np.array(form.least, dtype=np.int64),
            fullness=self._fullness,
            role_seats=self._roles.seats,
            role_cost=costs,
            rank_share=self._roles.rank_share,
            sides=self._sides_of(tickets),
        )

    def _sides_of(self, tickets: Sequence[Ticket]) -> Ints:
        """Return `Batch.sides`: the team on which each player insists."""
        if not self._sides:
            return np.zeros(0, dtype=np.int64)
        named = [side_of(ticket) for ticket in tickets]
        own = [self._sides.index(name) if name in self._sides else -1 for name in named]
        return np.repeat(np.array(own, dtype=np.int64), [t.size for t in tickets])

    def _grow(self) -> None:
        size = self._terms.size
        self._free[:0] = range(2 * size - 1, size - 1, -1)
        self._terms.grow(2 * size)
        self._pairs.grow(2 * size)
        self._rules.grow(2 * size)
        self._roles.grow(2 * size)

    def write_some(self, most: int) -> None:
        """Write what is known of a few tickets, the first that came, into their rows."""
        for sequence in list(islice(self._unwritten, most)):
            self._write_one(sequence)

    def _write(self, tickets: Sequence[Ticket]) -> None:
        """Write what is known of some tickets into their rows, unless it is there."""
        for ticket in tickets:
            if ticket.sequence in self._unwritten:
                self._write_one(ticket.sequence)

    def _write_one(self, sequence: int) -> None:
        del self._unwritten[sequence]
        ticket, rows = self.tickets[sequence], self._rows[sequence]
        self._terms.write(ticket, rows)
        self._pairs.write(ticket, rows)
        self._rules.write(ticket, rows)
        self._roles.write(ticket, rows)


def with_worth(batch: Batch, worths: Iterable[float]) -> Batch:
    """Return the batch with what a match gains by seating each party's players."""
    per_party: Floats = np.fromiter(worths, dtype=np.float64)
    return batch._replace(worth=np.repeat(per_party, np.diff(batch.first)))
