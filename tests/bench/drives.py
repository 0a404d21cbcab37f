"""Three ways to play the same arrivals: the engine, a matcher alone, and SimPy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import count

import simpy

from evenmatch.criteria.expansion import inverse
from evenmatch.engine.engine import Engine
from evenmatch.engine.records import encode
from evenmatch.model.inputs import Advance, Configure, Enqueue
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision, Matcher
from evenmatch.policies.registry import parse_policy
from tests.bench.workload import Arrival

Pair = tuple[str, ...]
"""The ids of two tickets that play, the elder first."""


class EngineDrive:
    """An engine, driven the way the shard does it: timers that were due first, then the input."""

    def __init__(self, queue: Queue) -> None:
        self.engine = Engine(lambda queue: parse_policy(queue.policy))
        self.engine.step(Configure(0.0, (queue,)))
        self.waited_for = 0
        """Sum over the arrivals of the tickets that waited just before."""

    def feed(self, arrivals: Iterable[Arrival]) -> None:
        engine = self.engine
        waiting = engine.tables.waiting
        for now, new in arrivals:
            while (at := engine.next_wakeup) < now:
                engine.step(Advance(at))
            self.waited_for += len(waiting)
            engine.step(Enqueue(now, (new,)))

    def feed_and_encode(self, arrivals: Iterable[Arrival]) -> int:
        """Do the same and return the bytes of all records."""
        engine, size = self.engine, 0
        for now, new in arrivals:
            while (at := engine.next_wakeup) < now:
                record = engine.step(Advance(at))
                if record.sequence:
                    size += len(encode(record))
            size += len(encode(engine.step(Enqueue(now, (new,)))))
        return size

    @property
    def tickets(self) -> list[Ticket]:
        """Return those that wait, the oldest first."""
        return [row.ticket for row in self.engine.tables.waiting.values()]

    def pairs(self) -> list[Pair]:
        return [kept.match.tickets for kept in self.engine.tables.matches.values()]


class MatcherDrive:
    """A matcher without an engine: it is told who enters, and asked when it wants to be."""

    def __init__(self, matcher: Matcher, waiting: Sequence[Ticket] = (), now: float = 0.0) -> None:
        self.matcher = matcher
        self.pairs: list[Pair] = []
        self.instants: list[float] = []
        """When each pair was made."""
        for ticket in waiting:
            matcher.enter(ticket, now)
        self.wake_at = self._take(matcher.decide(now), now)

    def feed(self, tickets: Iterable[Ticket]) -> None:
        matcher, take, wake_at = self.matcher, self._take, self.wake_at
        for ticket in tickets:
            now = ticket.enqueued_at
            while wake_at < now:
                wake_at = take(matcher.decide(wake_at, True), wake_at)
            matcher.enter(ticket, now)
            wake_at = take(matcher.decide(now), now)
        self.wake_at = wake_at

    def _take(self, decision: Decision, now: float) -> float:
        for grouping in decision.matches:
            self.pairs.append(grouping.tickets)
            self.instants.append(now)
        return decision.wake_at


class _Waiting:
    """A ticket of the SimPy model."""

    __slots__ = ("born", "ended", "id", "place", "value")

    def __init__(self, env: simpy.Environment, ticket: Ticket, place: int) -> None:
        player = ticket.players[0]
        assert player.rating is not None
        self.id, self.born, self.value = ticket.id, ticket.enqueued_at, player.rating.mean
        self.place = place
        self.ended = env.event()


class SimpyDrive:
    """The same duels as a SimPy model: a process for each ticket.

    A process looks for the nearest older ticket and sleeps until the rule admits the pair; it
    looks again when that ticket is taken by somebody else, and ends when it is taken itself.
    """

    def __init__(self, queue: Queue, waiting: Sequence[Ticket], now: float) -> None:
        rule = queue.rules[0]
        self._when = inverse(rule.limit, rule.expand)
        self._env = simpy.Environment(now)
        self._pool: dict[str, _Waiting] = {}
        self._places = count()
        self.pairs: list[Pair] = []
        for ticket in waiting:
            self._enter(ticket)
        self._env.run(until=math.nextafter(now, math.inf))

    def feed(self, tickets: Sequence[Ticket]) -> None:
        self._env.process(self._arrive(tickets))
        self._env.run(until=math.nextafter(tickets[-1].enqueued_at, math.inf))

    def _arrive(self, tickets: Sequence[Ticket]) -> Iterator[simpy.Event]:
        for ticket in tickets:
            yield self._env.timeout(max(0.0, ticket.enqueued_at - self._env.now))
            self._enter(ticket)

    def _enter(self, ticket: Ticket) -> None:
        mine = _Waiting(self._env, ticket, next(self._places))
        self._pool[ticket.id] = mine
        self._env.process(self._wait(mine))

    def _wait(self, mine: _Waiting) -> Iterator[simpy.Event]:
        env = self._env
        while True:
            partner = self._nearest_older(mine)
            if partner is None:
                yield mine.ended
                return
            at = self._ready_at(partner, mine)
            if at > env.now:
                ends = mine.ended | partner.ended
                yield ends | env.timeout(at - env.now) if at < math.inf else ends
            if mine.ended.triggered:
                return
            if not partner.ended.triggered:
                self._match(self._oldest_ready(mine), mine)
                return

    def _nearest_older(self, mine: _Waiting) -> _Waiting | None:
        nearest, least, value = None, math.inf, mine.value
        for other in self._pool.values():
            if other is mine:
                break
            gap = abs(other.value - value)
            if gap < least:
                nearest, least = other, gap
        return nearest

    def _oldest_ready(self, mine: _Waiting) -> _Waiting:
        """Return the longest waiting of those that may play now; usually there is just one."""
        for other in self._pool.values():
            # The clock of SimPy adds delays, so it may be off by a rounding.
            if self._ready_at(other, mine) <= self._env.now + 1e-9:
                return other
        raise AssertionError("the partner is gone")

    def _ready_at(self, elder: _Waiting, younger: _Waiting) -> float:
        return younger.born + self._when(abs(elder.value - younger.value))

    def _match(self, elder: _Waiting, younger: _Waiting) -> None:
        self.pairs.append((elder.id, younger.id))
        for each in (elder, younger):
            del self._pool[each.id]
            each.ended.succeed()
