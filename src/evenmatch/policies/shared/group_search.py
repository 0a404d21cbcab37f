"""The search for a legal match around one ticket, which may be interrupted at any time.

A ticket's partners are asked about in three steps, each narrower and dearer: columns of numbers
say in one pass whom it may ever meet, sizes and roles say whether enough of these fill the seats,
and only then are members chosen, in their order, each choice narrowing whom else one may choose.
Where all have to meet at one place (a region), the search is made place by place: those who suit a
place suit each other there.

Searches are generators: they yield whenever the effort for this turn is used up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenmatch.criteria.columns.sets import Row, SetTable
from evenmatch.criteria.rules import Rules
from evenmatch.criteria.scales import Floats
from evenmatch.criteria.seat_completion import SeatCompletion, State
from evenmatch.model.ticket import Ticket
from evenmatch.policies.shared.waiting_table import CELLS_A_STEP

JUDGED_MAX = 1 << 30
"""Groups that may be judged where only the effort limits them."""
PAIR = 8
"""Evaluations of a question to all rules about two tickets."""
PAIRED_MAX = 16
"""Tickets of a group that are asked about two by two, before all of them are at once."""
PASS = 16
"""Evaluations of a pass over columns, however short."""

Judge = Callable[[Sequence[Ticket], float], float]
"""The instant from which a group, by age, is legal; the second argument is the present instant."""


@dataclass
class Effort:
    """What a search may spend, in this turn and in all.

    Args:
        evaluations_left: Evaluations left in this turn.
        total: Evaluations left to the search.
        groups_left: Groups that it may still judge.
        gave_up: Whether it has stopped before it had looked at everything.
        evaluations_spent: Evaluations spent.
        judgements: By the present instant and the tickets, from when a group is legal: the same one
            may be met again at another place.
    """

    evaluations_left: int
    total: int
    groups_left: int
    gave_up: bool = False
    evaluations_spent: int = 0
    judgements: dict[tuple[float, tuple[int, ...]], float] = field(default_factory=dict)

    def spend(self, count: int) -> None:
        """Note evaluations."""
        self.evaluations_left -= count
        self.total -= count
        self.evaluations_spent += count


class InstantLimit(NamedTuple):
    """Instants that are soon enough: those before one, and that one itself or not."""

    at: float
    is_included: bool = True

    def allows(self, at: float) -> bool:
        """Return whether an instant is soon enough."""
        return at < self.at or (self.is_included and at == self.at)

    def allowed(self, at: Floats) -> NDArray[np.bool_]:
        """Return which instants are soon enough."""
        return at <= self.at if self.is_included else at < self.at


class Group(NamedTuple):
    """Tickets by age, and the instant from which they make a legal match.

    Args:
        ready_at: The instant.
        tickets: Of the match.
        is_first: Whether it is known to be the first in order of all, too, once it is legal.
    """

    ready_at: float
    tickets: list[Ticket]
    is_first: bool = False


Search = Generator[None, None, Group | None]


@dataclass
class GroupCandidates:
    """Tickets among which members are chosen; the first is in every group.

    Args:
        tickets: The anchor, then the others as they are preferred.
        kinds: Theirs.
        rows: Theirs; each block has shape (numbers, tickets).
        place: The only place at which they may meet; None: any.
        limit: What is soon enough.
        judged: Groups that may be judged, besides what the effort has left.
        tried: Groups that were looked at already, by their members.
        fits: By two members, whether they may be in one group; only where columns do not tell.
    """

    tickets: list[Ticket]
    kinds: list[int]
    rows: Row
    place: int | None
    limit: InstantLimit
    judged: int = JUDGED_MAX
    tried: set[tuple[int, ...]] = field(default_factory=set)
    fits: dict[tuple[int, int], bool] = field(default_factory=dict)


@dataclass
class _Level:
    """Members chosen, what they make of the seats, and who may still join them."""

    chosen: list[int]
    state: State
    row: Row
    rest: list[int]
    last: int = -1
    at: int = 0


class GroupSearch:
    """Searches in one queue.

    Args:
        rules: Of the queue.
        joint: Their columns.
        judge: The last word on a group.
        judging: Evaluations of one judgement.
    """

    def __init__(self, rules: Rules, joint: SetTable, judge: Judge, judging: int) -> None:
        self.rules = rules
        self.joint = joint
        self._judge = judge
        self._judging = judging
        self._has_rules = bool(rules.widening_limits)

    def choose(
        self, scene: GroupCandidates, seats: SeatCompletion, effort: Effort, now: float
    ) -> Search:
        """Return the first group of a scene, in its order, that is legal soon enough."""
        levels: list[_Level] = []
        rest = list(range(1, len(scene.tickets)))
        row = [block[:, 0] for block in scene.rows]
        state = seats.start(scene.kinds[0])
        group = self._open(levels, _Level([0], state, row, rest), scene, seats, effort, now)
        while group is None and levels:
            if effort.evaluations_left <= 0:
                yield
            if effort.total <= 0 or effort.groups_left <= 0 or scene.judged <= 0:
                effort.gave_up = True
                return None
            level = levels[-1]
            if level.at > level.last:
                levels.pop()
                continue
            item = level.rest[level.at]
            level.at += 1
            next_level = self._after(level, item, scene, seats, effort)
            if next_level is not None:
                group = self._open(levels, next_level, scene, seats, effort, now)
        return group

    def _open(
        self,
        levels: list[_Level],
        level: _Level,
        scene: GroupCandidates,
        seats: SeatCompletion,
        effort: Effort,
        now: float,
    ) -> Group | None:
        """Try the first that complete a level; if they may not play, go through all of it."""
        before = seats.steps
        completed = seats.complete(level.state, [scene.kinds[item] for item in level.rest])
        effort.spend(1 + len(level.rest) // 16 + seats.steps - before)
        if completed is None:
            return None
        members = [*level.chosen, *[level.rest[place] for place in completed.chosen]]
        group = self._legal(members, scene, effort, now)
        if group is None and completed.chosen:
            level.last = completed.last
            levels.append(level)
        return group

    def _after(
        self,
        level: _Level,
        item: int,
        scene: GroupCandidates,
        seats: SeatCompletion,
        effort: Effort,
    ) -> _Level | None:
        """Return the level with one member more; None if it goes with nobody."""
        before = seats.steps
        state = seats.after(level.state, scene.kinds[item])
        effort.spend(1 + seats.steps - before)
        if not state or not all(
            self._fit(scene, other, item, effort) for other in level.chosen[1:]
        ):
            return None
        rest = level.rest[level.at :]
        if not self._has_rules:
            return _Level([*level.chosen, item], state, level.row, rest)
        row = [
            np.maximum(own, block[:, item])
            for own, block in zip(level.row, scene.rows, strict=True)
        ]
        if rest:
            joined = [
                np.maximum(own[:, None], block[:, rest])
                for own, block in zip(row, scene.rows, strict=True)
            ]
            effort.spend(PASS + sum(block.size for block in joined) // CELLS_A_STEP)
            is_soon = scene.limit.allowed(self.joint.ready_at(joined, scene.place))
            rest = [other for other, fits in zip(rest, is_soon.tolist(), strict=True) if fits]
        return _Level([*level.chosen, item], state, row, rest)

    def _legal(
        self, members: list[int], scene: GroupCandidates, effort: Effort, now: float
    ) -> Group | None:
        """Return a group that fills all seats if it is legal soon enough."""
        key = tuple(members)
        if key in scene.tried:
            return None
        scene.tried.add(key)
        if self._has_rules:
            joined = [block[:, members].max(axis=1) for block in scene.rows]
            effort.spend(PASS)
            if not scene.limit.allows(float(self.joint.ready_at(joined, scene.place))):
                return None
            if len(members) <= PAIRED_MAX and not all(
                self._fit(scene, one, two, effort)
                for at, one in enumerate(members)
                for two in members[at + 1 :]
            ):
                return None
        group = sorted([scene.tickets[member] for member in members], key=age)
        about = now, tuple([ticket.sequence for ticket in group])
        ready_at = effort.judgements.get(about)
        if ready_at is None:
            if effort.groups_left <= 0 or scene.judged <= 0:
                effort.gave_up = True
                return None
            scene.judged -= 1
            ready_at = effort.judgements[about] = self.judge(group, effort, now)
        is_legal = ready_at < math.inf and scene.limit.allows(ready_at)
        return Group(ready_at, group) if is_legal else None

    def judge(self, group: Sequence[Ticket], effort: Effort, now: float) -> float:
        """Return the instant from which a group, by age, is legal; inf if never."""
        effort.groups_left -= 1
        effort.spend(self._judging)
        return self._judge(group, now)

    def _fit(self, scene: GroupCandidates, one: int, two: int, effort: Effort) -> bool:
        """Return whether two may be in one group, as far as columns do not tell."""
        if self.joint.is_whole:
            return True
        key = (one, two) if one < two else (two, one)
        known = scene.fits.get(key)
        if known is None:
            effort.spend(PAIR)
            at = self.rules.pair_ready_at(scene.tickets[one], scene.tickets[two])
            known = scene.fits[key] = scene.limit.allows(at)
        return known


def age(ticket: Ticket) -> tuple[float, int]:
    """Return what tickets of a group are in order by."""
    return ticket.age_key
