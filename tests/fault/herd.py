"""A herd in virtual time: python -m tests.fault.herd [--tickets 100000].

Everybody comes within ten seconds, to one server that does so many requests a second and no more;
it sends away whom it could not answer soon. In the middle it is killed, and half of those who wait
come back in that instant, again and again until it is there. Of the ready-checks, 30 % fail. The
engine, its records and its recovery are the product's, and so are the clients' pauses between two
tries.

What must be: nobody is lost or played twice, whoever is innocent keeps their place, retries do not
come together, and half a minute after the last one has come the server is as calm as before.
"""

from __future__ import annotations

import argparse
import heapq
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time

import msgspec

from evenmatch.client.exchange import Retry
from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.engine.shard import Answer, Effect, Push, Shard
from evenmatch.errors import MatchmakingError
from evenmatch.model.events import Cancelled, Expired, Matched, Proposed, Repaired
from evenmatch.model.inputs import Accept, Advance, Configure, Decline, Enqueue, Input
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket, Player, Rating
from evenmatch.server.runtime.recovery import resolve

TICKETS = 100_000
COME_WITHIN = 10.0
CALM_WITHIN = 30.0
PER_SECOND = 10_000.0
"""Requests that the server does in a second."""
PATIENCE = 0.25
"""Seconds of work ahead of somebody from which on the server sends them away."""
RETRY_AFTER = 1.0
DOWN = (5.0, 6.0)
"""When the server is killed, and when it is back."""
RECONNECT = 0.5
"""Share of those who wait who come back in the instant in which the server goes."""
FAILED = 0.3
ANSWER = (0.5, 4.0)
"""Seconds that players take to answer a ready-check."""
WINDOW = 0.1
QUEUE = msgspec.convert(
    {
        "name": "duel",
        "policy": "window",
        "wait_max": 60.0,
        "rules": [
            {"kind": "spread", "attribute": "rating", "limit": 100.0,
             "expand": {"rate": 20.0, "max": 600.0}},
        ],
        "accept": {"seconds": 10.0, "repair": 5.0, "again": 5.0},
    },
    Queue,
)  # fmt: skip


class HerdFigures(msgspec.Struct, frozen=True):
    """What came of a herd.

    Args:
        tickets: How many came.
        ended: Tickets by how they ended.
        lost: Tickets that were acknowledged, and of which nothing became.
        twice: Players who were in two matches, or two tickets.
        checks: Ready-checks.
        failed: Of them, those that somebody let fail.
        retries: Requests that were sent again.
        busiest: Largest share of all retries within a tenth of a second.
        calm_after: Seconds after the last arrival until nobody was sent away any more.
        seconds: Processor time of the run.
    """

    tickets: int
    ended: dict[str, int]
    lost: int
    twice: int
    checks: int
    failed: int
    retries: int
    busiest: float
    calm_after: float
    seconds: float


class Herd:
    """One run.

    Args:
        tickets: How many come.
        seed: Of all chance.
        jitter: Whether clients draw their pauses; a control takes that away.
    """

    def __init__(self, tickets: int, seed: int = 1, *, jitter: bool = True) -> None:
        self.tickets = tickets
        self.per_second = PER_SECOND * tickets / TICKETS
        self.now = 0.0
        self.records: list[Record] = []
        self.ended: dict[str, str] = {}
        self.acknowledged: dict[str, str] = {}
        self.retries: list[float] = []
        self.checks = self.failed = self.twice = 0
        self.last_busy = 0.0
        self._rng = random.Random(seed)
        self._chance: Callable[[], float] = self._rng.random if jitter else lambda: 1.0
        self._retry = Retry()
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._free_at = 0.0
        self._is_down = False
        self._asked: set[tuple[str, str]] = set()
        self._played: set[str] = set()
        self._shard = self._started()

    def run(self) -> HerdFigures:
        """Let everybody come, and wait until all have ended."""
        began = process_time()
        for number in range(self.tickets):
            self._at(self._rng.uniform(0.0, COME_WITHIN), self._arrival(number))
        self._at(DOWN[0], self._kill)
        self._at(DOWN[1], self._restart)
        while self._later:
            at, _, call = heapq.heappop(self._later)
            self._advance(at)
            self.now = at
            call()
        self._advance(self.now + 120.0)
        lost = [ticket for ticket in self.acknowledged.values() if ticket not in self.ended]
        buckets = Counter(int(at / WINDOW) for at in self.retries)
        return HerdFigures(
            self.tickets,
            dict(sorted(Counter(self.ended.values()).items())),
            len(lost) + self.tickets - len(self.acknowledged),
            self.twice,
            self.checks,
            self.failed,
            len(self.retries),
            max(buckets.values(), default=0) / max(1, len(self.retries)),
            max(0.0, self.last_busy - COME_WITHIN),
            process_time() - began,
        )

    # The server

    def _started(self) -> Shard:
        """Return a shard with all that the records say."""
        engine = Engine(resolve, shard="s0")
        for record in self.records:
            engine.apply(record)
        if self.records:
            engine.resume(max(self.now, engine.tables.now))
        shard = Shard(engine)
        if not self.records:
            self._shard = shard
            self._take(shard.handle(Configure(0.0, (QUEUE,), 1)))
        return shard

    def _kill(self) -> None:
        """End the server: half of those who follow their tickets come back at once."""
        self._is_down = True
        for ticket in list(self.acknowledged.values()):
            if ticket not in self.ended and self._rng.random() < RECONNECT:
                self._send(self._look(ticket))

    def _look(self, ticket: str) -> Callable[[], None]:
        """Return what asks how a ticket is: one that was acknowledged is known."""

        def told(answer: Answer) -> None:
            if answer.error is not None:
                raise answer.error

        return lambda: self._take(self._shard.read(lambda engine: engine.view(ticket), told))

    def _restart(self) -> None:
        self._is_down, self._free_at = False, self.now
        self._shard = self._started()

    def _advance(self, until: float) -> None:
        """Let the engine's timers fire that are due before an instant."""
        while not self._is_down and (at := self._shard.next_wakeup) <= until:
            self._take(self._shard.handle(Advance(at)))

    def _take(self, effects: Sequence[Effect]) -> None:
        """Do what the shard says, once its records are durable, which they are at once here."""
        shard, found = self._shard, list(effects)
        while shard.has_records:
            records = shard.take_records()
            self.records += records
            found += shard.acknowledge(records[-1].sequence)
        for effect in found:
            if isinstance(effect, Push):
                self._hear(effect.record)
            elif isinstance(effect, Answer) and effect.to is not None:
                effect.to(effect)

    def _ask(self, make: Callable[[float], Input], to: Callable[[Answer], None]) -> None:
        """Hand an input in, as soon as the server takes it."""
        self._send(lambda: self._take(self._shard.handle(make(self.now), to)))

    def _send(self, work: Callable[[], None]) -> None:
        """Send a request until the server has done it; it may say that it cannot now."""
        tried = 0

        def send() -> None:
            nonlocal tried
            tried += 1
            if tried > 1:
                self.retries.append(self.now)
            if self._is_down:
                again(0.0)
            elif self._free_at - self.now > PATIENCE:
                self.last_busy = self.now
                again(RETRY_AFTER)
            else:
                self._free_at = max(self._free_at, self.now) + 1.0 / self.per_second
                self._at(self._free_at, done)

        def again(asked: float) -> None:
            pause = self._retry.pause(tried, asked, self._chance)
            self._at(self.now + max(pause, 1e-6), send)

        def done() -> None:
            if self._is_down:
                again(0.0)
            else:
                work()

        send()

    # The players

    def _arrival(self, number: int) -> Callable[[], None]:
        name = f"p{number}"
        rating = Rating(self._rng.gauss(1500.0, 200.0), 80.0)
        ticket = NewTicket((Player(name, rating),), ("duel",))

        def told(answer: Answer) -> None:
            if answer.error is not None:
                raise answer.error
            (view,) = answer.value
            self.twice += self.acknowledged.setdefault(name, view.id) != view.id

        def come() -> None:
            self._ask(lambda now: Enqueue(now, (ticket,), f"k{number}", "body"), told)

        return come

    def _hear(self, record: Record) -> None:
        """Note what became of tickets, and let whoever is asked answer."""
        for event in record.events:
            if isinstance(event, Matched):
                for ticket in event.match.tickets:
                    self._end(ticket, "matched")
                players = [name for team in event.match.players for name in team]
                self.twice += len(self._played.intersection(players))
                self._played.update(players)
            elif isinstance(event, Cancelled):
                self._end(event.ticket, event.reason)
            elif isinstance(event, Expired):
                self._end(event.ticket, "expired")
            elif isinstance(event, Proposed | Repaired):
                self.checks += isinstance(event, Proposed)
                self._ask_players(event)

    def _end(self, ticket: str, how: str) -> None:
        self.twice += ticket in self.ended
        self.ended[ticket] = how

    def _ask_players(self, event: Proposed | Repaired) -> None:
        """Let a check fail in 30 of 100, by one of those who are asked."""
        match = event.match.id
        tickets = event.match.tickets if isinstance(event, Proposed) else event.joined
        fails = self._rng.random() < FAILED and isinstance(event, Proposed)
        self.failed += fails
        blamed = self._rng.choice(tickets) if fails else None
        for ticket in tickets:
            if (match, ticket) in self._asked:
                continue
            self._asked.add((match, ticket))
            kind = Decline if ticket == blamed else Accept
            if ticket == blamed and self._rng.random() < 0.5:
                continue  # silent
            self._at(self.now + self._rng.uniform(*ANSWER), self._answer(kind, match, ticket))

    def _answer(
        self, kind: type[Accept] | type[Decline], match: str, ticket: str
    ) -> Callable[[], None]:
        def told(answer: Answer) -> None:
            # Too late is an answer; all else would be ours.
            if answer.error is not None and not isinstance(answer.error, MatchmakingError):
                raise answer.error

        return lambda: self._ask(lambda now: kind(now, match, ticket), told)

    def _at(self, at: float, call: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._later, (at, self._count, call))


def main(words: Sequence[str] | None = None) -> int:
    """Run a herd and print what came of it; return 1 if it is not well."""
    parser = argparse.ArgumentParser(prog="python -m tests.fault.herd", description=main.__doc__)
    parser.add_argument("--tickets", type=int, default=TICKETS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--without-jitter", action="store_true", help="the control")
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    given = parser.parse_args(words)
    figures = Herd(given.tickets, given.seed, jitter=not given.without_jitter).run()
    for name, value in msgspec.to_builtins(figures).items():
        print(f"{name:>12}  {value:.4g}" if isinstance(value, float) else f"{name:>12}  {value}")
    if given.json is not None:
        given.json.write_bytes(msgspec.json.encode(figures))
    return int(bool(figures.lost or figures.twice) or figures.calm_after > CALM_WITHIN)


if __name__ == "__main__":
    sys.exit(main())
