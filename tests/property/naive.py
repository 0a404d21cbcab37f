"""The engine once more, as simply as it can be said: plain lists, everything looked at each time.

It shares no code with the package. A pair may play from `max(t_i, t_j) + when(gap)` on; whenever
several may, the longest waiting chooses first and takes the longest waiting or the nearest
(`window`); without a limit, the k longest waiting play (`greedy`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

TICK = Fraction(1, 2**20)


@dataclass(frozen=True)
class NaiveQueue:
    name: str
    players: int = 2
    limit: float | None = None
    rate: float = 0.0
    steps: tuple[tuple[float, float], ...] = ()
    limit_max: float = math.inf
    relative: bool = False
    nearest: bool = False
    wait_max: float = math.inf
    on_deadline: str = "expire"
    exclusive: bool = False
    match_max: float = 7200.0

    def when(self, gap: float) -> float:
        """Return the wait from which on a gap is accepted, in whole ticks."""
        if self.limit is None or gap <= self.limit:
            return 0.0
        if gap > self.limit_max:
            return math.inf
        if self.steps:
            return min((wait for wait, limit in self.steps if limit >= gap), default=math.inf)
        if self.rate == 0.0:
            return math.inf
        wait = (Fraction(gap) - Fraction(self.limit)) / Fraction(self.rate)
        return float(math.ceil(wait / TICK) * TICK)


@dataclass(frozen=True)
class Waiting:
    number: int
    player: str
    rating: float
    since: float
    queues: tuple[str, ...]


@dataclass(frozen=True)
class Played:
    at: float
    queue: str
    tickets: tuple[int, ...]
    bots: int


@dataclass
class Naive:
    """All queues; `now` is the last instant at which something happened."""

    queues: tuple[NaiveQueue, ...]
    now: float = 0.0
    waiting: list[Waiting] = field(default_factory=list)
    played: list[Played] = field(default_factory=list)
    cancelled: list[int] = field(default_factory=list)
    expired: list[int] = field(default_factory=list)
    busy: list[tuple[float, int, tuple[str, ...]]] = field(default_factory=list)
    met: list[tuple[int, str]] = field(default_factory=list)
    accepted: int = 0
    refused: int = 0

    def copy(self) -> Naive:
        return replace(
            self,
            **{name: list(value) for name, value in vars(self).items() if isinstance(value, list)},
        )

    def enqueue(self, now: float, items: list[tuple[str, float, tuple[str, ...]]]) -> None:
        self.until(now)
        entered = []
        for player, rating, queues in items:
            if any(ticket.player == player for ticket in self.waiting + entered):
                continue
            if any(player in players for _, _, players in self.busy):
                self.refused += 1
                continue
            self.accepted += 1
            entered.append(Waiting(self.accepted, player, rating, now, queues))
        is_plain = len({name for ticket in entered for name in ticket.queues}) == 1
        for turn in [entered] if is_plain else [[ticket] for ticket in entered]:
            self._let_in(turn)

    def _let_in(self, entered: list[Waiting]) -> None:
        self.waiting += entered
        names = [queue for queue in self.queues if any(queue.name in t.queues for t in entered)]
        if len(names) > 1:
            names.sort(key=lambda queue: self._oldest_partner(queue, entered))
        for queue in names:
            self._play(queue, fired=False)

    def cancel(self, now: float, number: int) -> None:
        self.until(now)
        if any(ticket.number == number for ticket in self.waiting):
            self.waiting = [ticket for ticket in self.waiting if ticket.number != number]
            self.cancelled.append(number)

    def finish(self, now: float, match: int) -> None:
        self.until(now)
        self.busy = [entry for entry in self.busy if entry[1] != match]

    def advance(self, now: float) -> None:
        self.until(now)
        self.fire(now)

    def until(self, now: float) -> None:
        """Let everything happen that is due before `now`."""
        while (at := self._next()) < now:
            self.fire(at)
        self.now = now

    def fire(self, now: float) -> None:
        """Let everything happen that is due by now, as late as it may be."""
        self.now = now
        for queue in self.queues:
            self._play(queue, fired=True)
        overdue = [
            (ticket.since + queue.wait_max, ticket.number, place, queue)
            for place, queue in enumerate(self.queues)
            for ticket in self._in(queue)
            if ticket.since + queue.wait_max <= now and (ticket.number, queue.name) not in self.met
        ]
        for _, number, _, queue in sorted(overdue, key=lambda entry: entry[:3]):
            self.met.append((number, queue.name))
            self._meet(queue, number)
        self.busy = [entry for entry in self.busy if entry[0] > now]

    def _next(self) -> float:
        at = [end for end, _, _ in self.busy]
        for queue in self.queues:
            at += [pair[2] for pair in self._groups(queue)]
            at += [
                ticket.since + queue.wait_max
                for ticket in self._in(queue)
                if (ticket.number, queue.name) not in self.met
            ]
        return min(at, default=math.inf)

    def _in(self, queue: NaiveQueue) -> list[Waiting]:
        there = [ticket for ticket in self.waiting if queue.name in ticket.queues]
        return sorted(there, key=lambda ticket: (ticket.since, ticket.number))

    def _ready_at(self, queue: NaiveQueue, one: Waiting, other: Waiting) -> float:
        gap = abs(one.rating - other.rating)
        return max(
            ticket.since + queue.when(gap / ticket.rating if queue.relative else gap)
            for ticket in (one, other)
        )

    def _groups(self, queue: NaiveQueue) -> list[tuple[int, tuple[Waiting, ...], float]]:
        """Return all that may ever play: (who chooses, the group, from when on), in order."""
        there = self._in(queue)
        if queue.players > 2:
            first = tuple(there[: queue.players])
            full = len(first) == queue.players
            return [(0, first, max(ticket.since for ticket in first))] if full else []
        pairs = []
        for place, one in enumerate(there):
            younger = there[place + 1 :]
            if queue.nearest:
                younger.sort(key=lambda other, one=one: abs(one.rating - other.rating))
            pairs += [(place, (one, other), self._ready_at(queue, one, other)) for other in younger]
        return pairs

    def _play(self, queue: NaiveQueue, *, fired: bool) -> None:
        found = True
        while found:
            found = False
            for _, group, at in self._groups(queue):
                newest = max(ticket.since for ticket in group)
                if at < self.now or (at == self.now and (fired or at == newest)):
                    self._match(queue, group, 0)
                    found = True
                    break

    def _match(self, queue: NaiveQueue, group: tuple[Waiting, ...], bots: int) -> None:
        numbers = tuple(sorted(ticket.number for ticket in group))
        self.played.append(Played(self.now, queue.name, numbers, bots))
        self.waiting = [ticket for ticket in self.waiting if ticket not in group]
        if queue.exclusive:
            players = tuple(ticket.player for ticket in group)
            self.busy.append((self.now + queue.match_max, len(self.played), players))

    def _meet(self, queue: NaiveQueue, number: int) -> None:
        ticket = next((t for t in self._in(queue) if t.number == number), None)
        if ticket is None or queue.on_deadline == "keep":
            return
        if queue.on_deadline == "bots":
            group = [ticket]
            for other in self._in(queue):
                fits = all(self._ready_at(queue, other, each) <= self.now for each in group)
                if other is not ticket and fits and len(group) < queue.players:
                    group.append(other)
            self._match(queue, tuple(group), queue.players - len(group))
            return
        self.waiting.remove(ticket)
        rest = tuple(name for name in ticket.queues if name != queue.name)
        if rest:
            self.waiting.append(replace(ticket, queues=rest))
        else:
            self.expired.append(number)

    def _oldest_partner(self, queue: NaiveQueue, entered: list[Waiting]) -> tuple[float, float]:
        """Return the age of the longest waiting who may play with a newcomer now."""
        ages = [
            (other.since, float(other.number))
            for ticket in entered
            if queue.name in ticket.queues
            for other in self._in(queue)
            if other is not ticket and self._ready_at(queue, other, ticket) <= self.now
        ]
        return min(ages, default=(math.inf, 0.0))
