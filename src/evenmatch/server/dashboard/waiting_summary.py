"""A summary of who waits in one queue, by skill, region and age, updated ticket by ticket."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterator, Sequence

import msgspec

from evenmatch.criteria.registry import NUMERIC
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.region import latency_attribute, region_of
from evenmatch.model.ticket import Ticket, attribute_of

REGIONS_MOST = 32
"""Regions told apart; those that come when there are as many are `OTHERS`."""
REGIONS_SHOWN = 8
OTHERS = "others"
SKILLS_KEPT = 200
"""Skills of the last tickets, from which the columns are taken."""
SKILLS_LEAST = 20
COLUMNS_ABOUT = 6
TAIL = 0.02
"""Share of skills on each side that falls into the open columns at the ends."""
OVERDUE_AFTER = 60.0
"""Seconds of wait that count as long where a queue has no deadline; else half of `wait_max`."""
AGE_SLOTS = 100
WALK_SHARE = 0.25
"""New columns are not looked for before as many tickets came as this share of those who wait."""
SPAN_LEAST, SPAN_MOST = 1e-9, 1e15
"""Spans of skill for which there are columns; outside, everybody is in one."""


class ShownTicket(msgspec.Struct, frozen=True, gc=False):
    """A ticket that waits, and what is shown of it."""

    ticket: Ticket
    skill: float
    region: str


class Heat(msgspec.Struct, frozen=True, gc=False):
    """Waiting tickets by region (rows) and skill (columns, open at both ends).

    Args:
        attribute: What skill is.
        edges: Between the columns, ascending.
        regions: Names of the rows; "" where tickets name none.
        counts: By row and column.
        unknown: Tickets without a skill, by row.
    """

    attribute: str
    edges: tuple[float, ...]
    regions: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    unknown: tuple[int, ...]


class WaitingCounts:
    """The tickets that wait in a queue.

    Complexity:
        Entering and leaving cost O(log columns). New columns cost a walk over those who wait; they
        are looked at once for `SKILLS_KEPT` tickets, and more rarely where many wait, so that even
        skills that only grow cost each ticket no more than `1 / WALK_SHARE` steps of a walk.
    """

    def __init__(self, queue: Queue) -> None:
        self.attribute = skill_attribute(queue)
        self._latency = latency_attribute(queue)
        self.overdue_after = queue.wait_max / 2 if queue.wait_max else OVERDUE_AFTER
        self._grain = self.overdue_after / AGE_SLOTS
        self._present: dict[str, ShownTicket] = {}
        self._returned: dict[str, float] = {}
        self._newest = -math.inf
        self._edges: tuple[float, ...] = ()
        self._skills: deque[float] = deque(maxlen=SKILLS_KEPT)
        self._unseen = 0
        self._look_after = SKILLS_LEAST
        # By region: how many of unknown skill, then by column, and last of all together.
        self._rows: dict[str, list[int]] = {}
        self._ages: dict[int, int] = {}
        self._line = -(2**62)
        self._overdue = 0

    def __len__(self) -> int:
        """Return how many tickets wait."""
        return len(self._present)

    def enter(self, ticket: Ticket) -> None:
        """Take a ticket in."""
        if ticket.id in self._present:
            self.leave(ticket.id)
        present = ShownTicket(ticket, self._skill(ticket), self._region(ticket))
        self._present[ticket.id] = present
        if ticket.enqueued_at < self._newest:
            # It comes back with its age, so it does not stand where it belongs.
            self._returned[ticket.id] = ticket.enqueued_at
        self._newest = max(self._newest, ticket.enqueued_at)
        self._count(present, 1)
        if not math.isnan(present.skill):
            self._skills.append(present.skill)
            self._unseen += 1
            if self._unseen >= self._look_after:
                self._choose_columns()

    def leave(self, ticket_id: str) -> ShownTicket | None:
        """Let a ticket out; None if it was not there."""
        present = self._present.pop(ticket_id, None)
        if present is not None:
            self._returned.pop(ticket_id, None)
            self._count(present, -1)
        return present

    def tickets(self) -> Iterator[Ticket]:
        """Yield those who wait, by their entry."""
        return (present.ticket for present in self._present.values())

    def oldest(self) -> Ticket | None:
        """Return the ticket that has waited longest."""
        if not self._present:
            return None
        first = self._present[next(iter(self._present))].ticket
        if not self._returned:
            return first
        back = min(self._returned, key=self._returned.__getitem__)
        return min(first, self._present[back].ticket, key=lambda ticket: ticket.age_key)

    def overdue(self, now: float) -> int:
        """Return how many have waited longer than `overdue_after`, to a hundredth of it."""
        line = math.floor((now - self.overdue_after) / self._grain)
        if line > self._line:
            self._line = line
            for slot in [slot for slot in self._ages if slot < line]:
                self._overdue += self._ages.pop(slot)
        return self._overdue

    def heat(self) -> Heat:
        """Return who waits by region and skill; beyond `REGIONS_SHOWN`, regions share a row."""
        rows = self._rows
        names = sorted(rows)
        if len(rows) > REGIONS_SHOWN:
            largest = sorted(rows.keys() - {OTHERS}, key=lambda name: -rows[name][-1])
            names = [*sorted(largest[: REGIONS_SHOWN - 1]), OTHERS]
        shown = {name: [0] * (len(self._edges) + 3) for name in names}
        for region, counts in rows.items():
            into = shown.get(region) or shown[OTHERS]
            for column, count in enumerate(counts):
                into[column] += count
        return Heat(
            self.attribute,
            self._edges,
            tuple(names),
            tuple(tuple(counts[1:-1]) for counts in shown.values()),
            tuple(counts[0] for counts in shown.values()),
        )

    def _count(self, present: ShownTicket, by: int) -> None:
        self._count_place(present, by)
        slot = math.floor(present.ticket.enqueued_at / self._grain)
        if slot < self._line:
            self._overdue += by
        else:
            self._ages[slot] = self._ages.get(slot, 0) + by

    def _count_place(self, present: ShownTicket, by: int) -> None:
        region, skill = present.region, present.skill
        row = self._rows.get(region)
        if row is None:
            row = self._rows[region] = [0] * (len(self._edges) + 3)
        row[0 if math.isnan(skill) else bisect_right(self._edges, skill) + 1] += by
        row[-1] += by
        if not row[-1]:
            del self._rows[region]

    def _choose_columns(self) -> None:
        """Take new columns from the last skills; those that fit still are kept, for calm."""
        self._unseen = 0
        # Soon at first, when each ticket tells much about those to come.
        self._look_after = min(len(self._skills), SKILLS_KEPT)
        edges = edges_for(sorted(self._skills))
        if edges == self._edges or _fits(self._edges, self._skills):
            return
        self._edges = edges
        self._look_after = max(self._look_after, math.ceil(len(self._present) * WALK_SHARE))
        self._rows.clear()
        for present in self._present.values():
            self._count_place(present, 1)

    def _skill(self, ticket: Ticket) -> float:
        """Return the party's mean, NaN if nobody has the attribute."""
        if len(ticket.players) == 1:
            value = attribute_of(ticket, ticket.players[0], self.attribute)
            return value if isinstance(value, float | int) else math.nan
        values = [
            value
            for player in ticket.players
            if isinstance(value := attribute_of(ticket, player, self.attribute), float | int)
        ]
        return sum(values) / len(values) if values else math.nan

    def _region(self, ticket: Ticket) -> str:
        """Return a party's region; `OTHERS` for a new one where there are many already."""
        name = region_of(ticket, self._latency)
        full = len(self._rows) >= REGIONS_MOST and name not in self._rows
        return OTHERS if full else name


def skill_attribute(queue: Queue) -> str:
    """Return the number by which a queue's players are told apart: what it compares first."""
    compared: tuple[Criterion | Rule, ...] = (*queue.criteria, *queue.rules)
    for each in compared:
        if each.kind in NUMERIC and each.attribute:
            return each.attribute
    return "rating"


def edges_for(ordered: Sequence[float]) -> tuple[float, ...]:
    """Return round edges of columns for these skills; none where all are alike.

    >>> edges_for([float(skill) for skill in range(1000, 2001)])
    (1200.0, 1400.0, 1600.0, 1800.0)
    """
    low = ordered[math.floor(TAIL * (len(ordered) - 1))]
    high = ordered[math.ceil((1.0 - TAIL) * (len(ordered) - 1))]
    span = high - low
    if not SPAN_LEAST < span < SPAN_MOST:
        return ()
    width = _round_up(span / COLUMNS_ABOUT)
    first, last = math.floor(low / width) + 1, math.ceil(high / width)
    return tuple(round(step * width, 12) for step in range(first, last))


def _round_up(width: float) -> float:
    """Return the next number like 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(width))
    return next(times * power for times in (1, 2, 5, 10) if times * power >= width * (1 - 1e-9))


def _fits(edges: tuple[float, ...], skills: Sequence[float] | deque[float]) -> bool:
    """Return whether columns still tell most tickets apart."""
    if not edges:
        return False
    counts = Counter(bisect_right(edges, skill) for skill in skills)
    ends = counts[0] + counts[len(edges)]
    return len(counts) >= 3 and ends <= len(skills) * 0.5
