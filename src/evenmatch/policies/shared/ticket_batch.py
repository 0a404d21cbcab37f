"""From the waiting tickets of a queue to a `Batch`: what the solvers of team matches work on.

`BatchRoster` gives each player a row. Entering and leaving only take and give back rows; what is
known of the new ones is written into columns when a batch is asked for, so nobody waits for it at
the door. Rules become flags and limits as they stand at that instant; they are as strict as the
rules or stricter in a rounding. Whoever takes a match from a plan still asks `Objective.rules`
before it is played: places beyond 256, and sets in which more than 64 elements count
(`batch_pairs.bits_of`), are known roughly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

import numpy as np

from evenmatch.criteria.base import Form, NumberGap
from evenmatch.criteria.objective import weights_of
from evenmatch.criteria.registry import NUMERIC, form_of, number_gap_of, numeric_kind
from evenmatch.criteria.roles import ranks_of
from evenmatch.criteria.rules import side_of
from evenmatch.criteria.values import scaled_numbers
from evenmatch.model.queue import Criterion, Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.shared.batch_pairs import PairFacts, gap_code
from evenmatch.policies.shared.batch_people import people_of
from evenmatch.policies.shared.batch_rules import RuleFacts
from evenmatch.solvers.matching.pairs import CAPPED, LOG, RAW
from evenmatch.solvers.teams.batch import (
    Batch,
    Facts,
    Floats,
    Ints,
    Singles,
    empty_batch,
    empty_facts,
)

ROWS_FIRST = 64


class BatchRoster:
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
        self._terms = NumericTerms(queue, shares)
        self._pairs = PairFacts(queue, shares)
        self._rules = RuleFacts(queue, self._pairs.columns)
        self._sides = queue.format.strict_sides
        self._roles = RoleFacts(queue, shares)
        each = zip(queue.criteria, shares, strict=True)
        self._fullness = sum(share for c, share in each if form_of(c) is Form.SEATS)
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
            seats_min=np.array(form.least_players, dtype=np.int64),
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


# What each player costs in each role: the criterion `role_rank`, and which roles they take.

TRACE = 1e-9
"""A weight that changes no quality but lets a rule count ranks that no criterion weighs."""


class RoleFacts:
    """The roles of a queue, and its criterion that looks at them.

    A rank costs its share of the criterion's mean over a full match; where no criterion weighs
    roles all that a player accepts cost nothing.

    Args:
        queue: The queue.
        shares: Weight of each criterion as a part of all weights.
    """

    def __init__(self, queue: Queue, shares: Sequence[float]) -> None:
        form = queue.format
        self._roles = form.roles
        self.seats: Ints = np.array([count for _, count in form.roles], dtype=np.int64)
        each = zip(queue.criteria, shares, strict=True)
        share = sum(weight for criterion, weight in each if form_of(criterion) is Form.ROLES)
        if not share and any(form_of(rule) is Form.ROLES for rule in queue.rules):
            share = TRACE
        self.rank_share = share
        self._per_rank = share / (form.k * max(1, len(form.roles) - 1))
        self._costs: Singles = np.zeros((ROWS_FIRST, len(form.roles)), dtype=np.float32)

    def grow(self, size: int) -> None:
        """Make room for so many rows."""
        more = np.zeros((size - len(self._costs), len(self._roles)), dtype=np.float32)
        self._costs = np.vstack([self._costs, more])

    def write(self, ticket: Ticket, rows: Sequence[int]) -> None:
        """Write what a party's players make of the roles into its rows."""
        for row, player in zip(rows, ticket.players, strict=True):
            ranks = ranks_of(player, self._roles)
            # Without a weight, a role that is not accepted would cost inf * 0, which is no number.
            self._costs[row] = [r if r == np.inf else r * self._per_rank for r in ranks]

    def costs(self, rows: Ints) -> Singles:
        """Return `Batch.role_cost` of the players of some rows."""
        return np.ascontiguousarray(self._costs[rows])


# Numbers that criteria compare inside a match, as columns and terms of a `Batch`.

SHAPES = {"linear": CAPPED, "percentile": CAPPED, "capped": CAPPED, "log": LOG, "none": RAW}


class NumericTerms:
    """The criteria of a queue that compare numbers.

    Args:
        queue: The queue.
        shares: Weight of each criterion as a part of all weights.
    """

    def __init__(self, queue: Queue, shares: Sequence[float]) -> None:
        self._queue = queue.name
        self._criteria = [c for c in queue.criteria if c.kind in NUMERIC]
        weights = [w for c, w in zip(queue.criteria, shares, strict=True) if c.kind in NUMERIC]
        rows = [
            (c, _term(c, weight, column))
            for column, (c, weight) in enumerate(zip(self._criteria, weights, strict=True))
        ]
        self.terms = _table([row for c, row in rows if not _is_paired(c)])
        self._gaps = _table([row for c, row in rows if _is_paired(c)])
        self._columns: Floats = np.zeros((len(self._criteria), ROWS_FIRST))

    @property
    def size(self) -> int:
        """Return how many rows there are."""
        return int(self._columns.shape[1])

    def grow(self, size: int) -> None:
        """Make room for so many rows."""
        more = np.zeros((len(self._criteria), size - self.size))
        self._columns = np.hstack([self._columns, more])

    def write(self, ticket: Ticket, rows: Sequence[int]) -> None:
        """Write a party's values into its rows."""
        for column, criterion in enumerate(self._criteria):
            self._columns[column, rows] = scaled_numbers(criterion, self._queue, ticket)

    def values(self, rows: Ints) -> Floats:
        """Return the columns of some rows."""
        return self._columns[:, rows]

    def gaps(self, facts: Facts) -> Facts:
        """Return the facts with the gaps that are averaged over pairs."""
        return facts._replace(gaps=self._gaps)


def _is_paired(criterion: Criterion) -> bool:
    """Return whether a criterion is a mean over pairs of what each pair costs."""
    return number_gap_of(criterion) is NumberGap.PAIRS


def _table(rows: Sequence[Sequence[float]]) -> Floats:
    return np.array(rows, dtype=np.float64).reshape(len(rows), 7)


def _term(criterion: Criterion, weight: float, column: int) -> tuple[float, ...]:
    kind = gap_code(criterion)
    scale = criterion.scale
    shape = SHAPES[scale.kind]
    top = scale.max if scale.kind in ("capped", "log") else 1.0
    step = numeric_kind(criterion).step_of(criterion)
    return kind, weight, float(column), shape, top, scale.knee, step
