"""What a player costs `greedy` with one widening rule, and its longest call on a hero's queue.

The calls are measured at 500, 2,000 and 10,000 waiting. The last rows are those of a crowd that
enters at one instant, until all are dealt with or `CALLS` calls have gone on with it.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator
from itertools import islice

from msgspec.structs import replace

from evenmatch.model.queue import Expansion, Format, Queue, Rule
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Matcher
from evenmatch.policies.registry import parse_policy
from tests.bench.drives import MatcherDrive
from tests.bench.report import Row, Setting
from tests.bench.workload import SMALL, accepted, arrivals
from tests.heroes import QUEUE, heroes

AIM = "<= 10"
CHANGES = 50
"""Tickets that enter, leave, or leave and come back, once the pool is full."""
POOLS = (500, 2_000, 10_000)
CALLS = 100
PLAYERS, QUICK = 1_000, 200
"""Players that are measured, after as many who fill the pool."""


def all_tanks(ticket: Ticket) -> Ticket:
    players = [replace(player, roles=("tank",)) for player in ticket.players[:1]]
    return replace(ticket, players=tuple(players))


def each_elsewhere(ticket: Ticket) -> Ticket:
    pings = {"latency": {f"place{ticket.sequence}": 20.0}}
    return replace(ticket, players=tuple(replace(p, attributes=pings) for p in ticket.players))


def few_tanks(ticket: Ticket) -> Ticket:
    wish = ("tank",) if ticket.sequence % 400 == 0 else ("damage", "support")
    players = [replace(player, roles=wish) for player in ticket.players[:1]]
    return replace(ticket, players=tuple(players))


WORLDS: dict[str, Callable[[Ticket], Ticket]] = {
    "all tanks": all_tanks,
    "each at another place": each_elsewhere,
    "hardly a tank": few_tanks,
}


def run(setting: Setting) -> Iterator[Row]:
    for players, limit in ((1, 5.0), (2, 5.0), (5, 5.0), (5, 50.0)):
        values = (_a_player(players, limit, QUICK if setting.quick else PLAYERS),)
        name = f"{players} against {players}, accepts {limit:g} points, widens: a player"
        yield Row(name, values, "us")
    for waiting in POOLS[:2] if setting.quick else POOLS:
        for name, change in WORLDS.items():
            tickets = [change(ticket) for ticket in heroes(waiting + CHANGES, pause=0.05)]
            longest = _longest(tickets, waiting)
            for call, values in longest.items():
                yield Row(f"{name}, {waiting:,} waiting: {call}", values, "ms", AIM)

    for waiting in POOLS[:2] if setting.quick else POOLS:
        for name, change in {"anybody": _as_they_are, **WORLDS}.items():
            values = (_burst([change(ticket) for ticket in heroes(waiting)]),)
            yield Row(f"{name}, {waiting:,} at one instant: any call", values, "ms", "<= 15")


def _as_they_are(ticket: Ticket) -> Ticket:
    return ticket


def _burst(tickets: list[Ticket]) -> float:
    """Return the longest call with tickets that enter at one instant, in milliseconds."""
    drive = _Timed(parse_policy("greedy").matcher(QUEUE, seed=1))
    gc.collect()
    for ticket in tickets:
        drive.waiting[ticket.id] = None
        drive.timed("enter", drive.matcher.enter, replace(ticket, enqueued_at=0.0), 0.0)
    drive.decide(0.0)
    for _ in range(CALLS):
        if drive.wake_at == math.inf:
            break
        drive.decide(drive.wake_at, fired=True)
    return 1e3 * max(drive.longest.values())


def _a_player(players: int, limit: float, count: int) -> float:
    """Return the microseconds that a player takes where 20 come a second."""
    widening = Expansion(rate=limit / 10.0, max=10.0 * limit)
    rule = Rule("spread", "rating", limit, expand=widening)
    queue = Queue("main", Format((players, players)), (), (rule,))
    given = islice(arrivals(SMALL, seed=7), 2 * count)
    tickets = [accepted(number, arrival) for number, arrival in enumerate(given, 1)]
    drive = MatcherDrive(parse_policy("greedy").matcher(queue, seed=1))
    drive.feed(tickets[:count])
    began = time.thread_time()
    drive.feed(tickets[count:])
    return 1e6 * (time.thread_time() - began) / count


def _longest(tickets: list[Ticket], waiting: int) -> dict[str, tuple[float, ...]]:
    """Return the longest `enter`, `leave`, `decide`, and change of the oldest, in milliseconds."""
    drive = _Timed(parse_policy("greedy").matcher(QUEUE, seed=1))
    drive.feed(tickets[:waiting])
    gc.collect()
    drive.longest.clear()
    drive.feed(tickets[waiting:])
    now = tickets[-1].enqueued_at
    oldest = [each for each in tickets if each.id in drive.waiting][: 2 * CHANGES]
    for ticket in oldest[:CHANGES]:
        drive.timed("leave", drive.matcher.leave, ticket.id, now)
        drive.decide(now)
    for ticket in oldest[CHANGES:]:
        began = time.thread_time()
        drive.matcher.leave(ticket.id, now)
        drive.matcher.enter(ticket, now)
        drive.note("PATCH of the oldest", began)
        drive.decide(now)
    return {call: (1e3 * seconds,) for call, seconds in sorted(drive.longest.items())}


class _Timed:
    """A matcher whose longest calls are kept."""

    def __init__(self, matcher: Matcher) -> None:
        self.matcher = matcher
        self.longest: dict[str, float] = {}
        self.waiting: dict[str, None] = {}
        self.wake_at = math.inf

    def feed(self, tickets: list[Ticket]) -> None:
        for ticket in tickets:
            while self.wake_at < ticket.enqueued_at:
                self.decide(self.wake_at, fired=True)
            self.waiting[ticket.id] = None
            self.timed("enter", self.matcher.enter, ticket, ticket.enqueued_at)
            self.decide(ticket.enqueued_at)

    def decide(self, now: float, *, fired: bool = False) -> None:
        began = time.thread_time()
        decision = self.matcher.decide(now, fired)
        self.note("decide", began)
        self.wake_at = decision.wake_at
        for match in decision.matches:
            for name in match.tickets:
                del self.waiting[name]

    def timed(self, name: str, call: Callable[..., None], *given: object) -> None:
        began = time.thread_time()
        call(*given)
        self.note(name, began)

    def note(self, name: str, began: float) -> None:
        self.longest[name] = max(self.longest.get(name, 0.0), time.thread_time() - began)
