"""What conditions say in the terms of a `Batch`, for solvers that know columns and no conditions.

Every implication of a condition (`criteria.condition.implications`) that a batch can hold becomes a
rule of it, with what each player accepts at their age. A **sketch** is never stricter than the
conditions: every legal match is legal in it, so a bound over it holds, and a search in it loses
nothing. Whoever takes a match from it asks the conditions.

By the clock of the newest ticket all players must accept a gap, by that of the oldest one must: who
is older accepts what any younger age allows, so the one whose age counts decides.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from evenmatch.criteria.condition.ages import Conditions
from evenmatch.criteria.condition.facts import TicketFacts
from evenmatch.criteria.condition.implications import (
    Between,
    Implication,
    Implications,
    Near,
    NobodyListed,
    OneWord,
    Shares,
    TeamGap,
    Within,
    Word,
)
from evenmatch.criteria.condition.partial_match import Outlook
from evenmatch.model.condition import Condition
from evenmatch.model.queue import Format
from evenmatch.model.ticket import Ticket
from evenmatch.policies.shared.batch_pairs import bits_of
from evenmatch.policies.shared.condition_ways import ways_of
from evenmatch.solvers.teams.batch import (
    APART,
    MEAN_GAP,
    REGION_GAP,
    SPREAD,
    SUM_GAP,
    TONGUES_GAP,
    WORDS_GAP,
    Batch,
    Facts,
    Floats,
    Ints,
    venues_of,
)

Key = tuple[str, int]
Limited = Within | TeamGap | Near | OneWord | Shares
NEVER = -1.0
"""What somebody accepts who is in no match now: no gap is as small."""


class Row(NamedTuple):
    """A rule of a batch.

    Args:
        kind: As in `Batch.rules`.
        column: What it compares.
        accept: 0 = all must accept the gap, 1 = one must.
        tolerances: Shape (players,): the largest gap that each accepts.
    """

    kind: float
    column: int
    accept: int
    tolerances: Floats


class ConditionSketch:
    """The conditions of one queue, as rules of batches.

    Args:
        conditions: Those of the queue.
        form: Its teams.
    """

    def __init__(self, conditions: Sequence[Condition], form: Format) -> None:
        self._conditions = Conditions(conditions)
        self._form = form
        implied = Implications(self._conditions.verdicts, len(form.players))
        self._told: list[list[Implication]] = [
            [each for one in statements for each in implied.by_statement(one)]
            for statements in self._conditions.statements
        ]
        ways = ways_of(self._conditions, form, Outlook(self._conditions.verdicts))
        self._least = [[way.least for way in piece] for piece in ways]
        self._most = [[way.most for way in piece] for piece in ways]
        limited: dict[Key, Limited] = {}
        for piece in self._told:
            for each in piece:
                if isinstance(each, Within | TeamGap | Near | OneWord | Shares):
                    limited.setdefault(_key(each), each)
        self._limited = limited
        self._limits = {key: self._by_piece(key) for key in limited}
        self._accept = int(self._conditions.clock == "oldest")

    @property
    def facts(self) -> TicketFacts:
        """What is read of tickets."""
        return self._conditions.verdicts.facts

    @property
    def is_quick(self) -> bool:
        """Return whether all that a sketch adds is quickly evaluated: no locations are."""
        return not any(isinstance(each, Near) for each in self._limited.values())

    def sketched(self, batch: Batch, tickets: Sequence[Ticket], now: float) -> Batch:
        """Return a batch with what conditions demand now, in its own terms.

        Args:
            batch: The tickets as a batch, with all that criteria and other rules compare.
            tickets: Party by party, as the batch has them.
            now: The instant.

        Complexity:
            O(rules * tickets), and what players list.
        """
        pieces = [self._piece(ticket, now) for ticket in tickets]
        builder = _SketchBuilder(batch, self.facts, tickets)
        for key, each in self._limited.items():
            limits = self._limits[key]
            builder.limit(each, [limits[piece] for piece in pieces], self._accept)
        last = max(pieces, default=0)
        builder.seat(self._allowed(tickets, pieces if not self._accept else [last] * len(pieces)))
        lists = [{e.fact for e in p if isinstance(e, NobodyListed)} for p in self._told[: last + 1]]
        for fact in sorted(set.intersection(*lists) if lists else ()):
            builder.keep_apart(fact)
        return self._sized(builder.batch(), last)

    def _piece(self, ticket: Ticket, now: float) -> int:
        """Return the piece of a ticket's own age."""
        return max(0, bisect_right(self._conditions.starts_of(ticket.enqueued_at), now) - 1)

    def _by_piece(self, key: Key) -> list[float]:
        """Return of each piece the largest gap that it or a younger age allows."""
        own = []
        for piece in self._told:
            found = [_limit(e) for e in piece if not isinstance(e, NO_LIMIT) and _key(e) == key]
            own.append(min(found, default=math.inf))
        return list(accumulate(own, max))

    def _allowed(self, tickets: Sequence[Ticket], pieces: Sequence[int]) -> list[set[int]]:
        """Return in which teams each ticket may be at its age, or could at a younger one."""
        teams = set(range(len(self._form.players)))
        own = [[e for e in piece if isinstance(e, Between | Word)] for piece in self._told]
        if not any(own):
            return [teams] * len(tickets)
        found = []
        for ticket, last in zip(tickets, pieces, strict=True):
            told = self.facts.of(ticket, is_exact=False)
            allowed = set[int]()
            for piece in own[: last + 1]:
                barred = [set(e.teams) for e in piece if not e.suits(told[e.fact])]
                allowed |= teams.difference(*barred)
            found.append(allowed)
        return found

    def _sized(self, batch: Batch, last: int) -> Batch:
        """Return a batch with the sizes of teams that some age up to the last one allows."""
        least = [each for piece in self._least[: last + 1] for each in piece]
        most = [each for piece in self._most[: last + 1] for each in piece]
        if not least or batch.fullness > 0.0:
            return batch
        return batch._replace(
            seats_min=np.array(least, dtype=np.int64).min(axis=0),
            # A team that nobody may join keeps a seat, which a batch needs and no match fills.
            seats=np.maximum(np.array(most, dtype=np.int64).max(axis=0), 1),
        )


NO_LIMIT = (Between, Word, NobodyListed)


def _key(told: Limited) -> Key:
    name = type(told).__name__ + (told.fold if isinstance(told, TeamGap) else "")
    return name, told.number if isinstance(told, Near) else told.fact


def _limit(implication: Implication) -> float:
    if isinstance(implication, Within | TeamGap):
        return implication.most
    return implication.limit if isinstance(implication, Near) else 0.0


class _SketchBuilder:
    """A batch to which rules are added."""

    def __init__(self, batch: Batch, facts: TicketFacts, tickets: Sequence[Ticket]) -> None:
        self._batch = batch
        self._facts = facts
        self._tickets = tickets
        self._sizes = [ticket.size for ticket in tickets]
        self._rows: list[Row] = []
        self._values: list[Floats] = []
        self._of: Facts = batch.facts
        self._sides: Ints = batch.sides

    def limit(self, told: Limited, limits: Sequence[float], accept: int) -> None:
        """Add a rule; what it compares is told by all, or it is left out."""
        tolerances = np.repeat(np.array(limits, dtype=np.float64), self._sizes)
        if not np.isfinite(tolerances).any():
            return
        if isinstance(told, Within | TeamGap):
            kinds = {"avg": MEAN_GAP, "sum": SUM_GAP}
            kind = SPREAD if isinstance(told, Within) else kinds[told.fold]
            values = np.array([float(each) for each in self._told(told.fact)])
            self._rows.append(Row(kind, self._column(values), accept, tolerances))
        elif isinstance(told, Near):
            self._limit_latency(told, tolerances, accept)
        elif isinstance(told, OneWord):
            codes: dict[object, int] = {}
            words = [codes.setdefault(each, len(codes)) for each in self._told(told.fact)]
            column = self._add_words(np.array(words, dtype=np.int64), tolerances, accept)
            self._rows.append(Row(WORDS_GAP, column, accept, tolerances))
        else:
            sets = np.empty(len(tolerances), dtype=np.object_)
            sets[:] = [*self._told(told.fact)]
            column = self._add_sets(bits_of(sets), tolerances, accept)
            self._rows.append(Row(TONGUES_GAP, column, accept, tolerances))

    def seat(self, allowed: Sequence[set[int]]) -> None:
        """Note in which teams tickets may be: nowhere, in one, or in several."""
        count = len(self._batch.seats)
        if all(len(each) == count for each in allowed):
            return
        sides = self._sides if self._sides.size else np.full(sum(self._sizes), -1, dtype=np.int64)
        sides, tolerances, row = sides.copy(), np.full(sum(self._sizes), np.inf), 0
        for size, teams in zip(self._sizes, allowed, strict=True):
            own = slice(row, row + size)
            row += size
            side = int(sides[own][0])
            if not teams or (side >= 0 and side not in teams):
                tolerances[own] = NEVER
            elif len(teams) == 1:
                sides[own] = next(iter(teams))
        self._sides = sides
        if np.isfinite(tolerances).any():
            self._rows.append(Row(SPREAD, self._column(np.zeros(len(tolerances))), 0, tolerances))

    def keep_apart(self, fact: int) -> None:
        """Keep everybody apart from those whom they list."""
        rows: dict[str, int] = {}
        ticket_of: list[int] = []
        for number, ticket in enumerate(self._tickets):
            for player in ticket.players:
                rows[player.id] = len(ticket_of)
                ticket_of.append(number)
        found: dict[tuple[int, int, int], None] = {}
        for one, names in enumerate(self._told(fact)):
            for name in names:
                two = rows.get(name)
                if two is not None and ticket_of[one] != ticket_of[two]:
                    found[min(one, two), max(one, two), APART] = None
        if found:
            more = np.array([*found], dtype=np.int64)
            self._of = self._of._replace(avoid=np.concatenate((self._of.avoid, more)))

    def batch(self) -> Batch:
        """Return the batch with all that was added."""
        batch, rows = self._batch, self._rows
        sides = self._sides
        if not (sides >= 0).any():
            sides = sides[:0]  # nobody insists on a team, so that equal teams are alike
        facts = self._of
        if self._values:
            facts = facts._replace(values=np.vstack([facts.values, *self._values]))
        if not rows:
            return batch._replace(facts=facts, sides=sides)
        table = np.array([[row.kind, row.column, row.accept] for row in rows])
        return batch._replace(
            facts=facts,
            sides=sides,
            rules=np.vstack([batch.rules, table]),
            tolerances=np.vstack([batch.tolerances, *[row.tolerances for row in rows]]),
        )

    def _told(self, fact: int) -> list[Any]:
        """Return a fact of each player; tickets that lack one are let in nowhere."""
        found: list[Any] = []
        for ticket in self._tickets:
            told = self._facts.of(ticket, is_exact=False)[fact]
            assert told is not None, "a ticket was let in that lacks an attribute"
            found += told
        return found

    def _column(self, values: Floats) -> int:
        self._values.append(values)
        return len(self._of.values) + len(self._values) - 1

    def _limit_latency(self, told: Near, tolerances: Floats, accept: int) -> None:
        names: dict[str, int] = {}
        told_by = [self._facts.places(t, told.number, is_exact=False) for t in self._tickets]
        for each in told_by:
            for name in each:
                names.setdefault(name, len(names))
        table = np.full((len(tolerances), len(names)), np.inf)
        row = 0
        for size, each in zip(self._sizes, told_by, strict=True):
            for name, ms in each.items():
                table[row : row + size, names[name]] = float(ms)
            row += size
        facts = self._of
        venues = venues_of(facts)
        if facts.latency.shape[1] == 0 and not len(facts.more_latency):
            # Pairs without a location that suits both are known by the first attribute alone.
            at, facts = 0, facts._replace(latency=table)
            if not accept:
                facts = facts._replace(region_max=np.minimum(facts.region_max, tolerances))
        else:
            at = 1 + len(facts.more_latency)
            facts = facts._replace(more_latency=_stacked(facts.more_latency, table))
        venues.append((float(at), 0.0, 0.0, float(tolerances.max())))
        self._of = facts._replace(venues=np.array(venues, dtype=np.float64))
        self._rows.append(Row(REGION_GAP, len(venues) - 1, accept, tolerances))

    def _add_words(self, codes: Ints, tolerances: Floats, accept: int) -> int:
        facts = self._of
        minds = _minds(facts.words_mind, len(facts.words), tolerances, accept)
        self._of = facts._replace(
            words=np.vstack([facts.words, codes]),
            words_weight=np.append(facts.words_weight, 0.0),
            words_mind=minds,
        )
        return len(facts.words)

    def _add_sets(self, bits: np.ndarray[tuple[int, ...], np.dtype[np.uint64]], tolerances: Floats,
                  accept: int) -> int:  # fmt: skip
        facts = self._of
        minds = _minds(facts.tongues_mind, len(facts.tongues), tolerances, accept)
        self._of = facts._replace(
            tongues=np.vstack([facts.tongues, bits]),
            tongues_weight=np.append(facts.tongues_weight, 0.0),
            tongues_mind=minds,
        )
        return len(facts.tongues)


def _minds(
    before: np.ndarray[tuple[int, ...], np.dtype[np.uint8]],
    rows: int,
    tolerances: Floats,
    accept: int,
) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """Return who minds what, with another row."""
    if before.shape != (rows, len(tolerances)):
        before = np.zeros((rows, len(tolerances)), dtype=np.uint8)
    own = (tolerances < 1.0) & (accept == 0)
    return np.vstack([before, own.astype(np.uint8)])


def _stacked(tables: Floats, table: Floats) -> Floats:
    """Return latency tables with another one, unknown locations at the end."""
    widest = max(tables.shape[2], table.shape[1])
    found = np.full((len(tables) + 1, len(table), widest), np.inf)
    found[:-1, :, : tables.shape[2]] = tables
    found[-1, :, : table.shape[1]] = table
    return found


def sketching(
    sketch: ConditionSketch, make: Callable[[], Batch], tickets: Sequence[Ticket], now: float
) -> Callable[[], Batch]:
    """Return what makes a batch with the sketch of conditions, once, in any thread."""
    made: list[Batch] = []

    def sketched() -> Batch:
        if not made:
            made.append(sketch.sketched(make(), tickets, now))
        return made[0]

    return sketched
