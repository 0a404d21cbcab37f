"""The engine's speed on duels, beside its matcher alone, a naive matcher, and SimPy."""

from __future__ import annotations

import gc
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.registry import parse_policy
from evenmatch.server.runtime.process_setup import COLLECT_AFTER
from tests.bench.drives import EngineDrive, MatcherDrive, Pair, SimpyDrive
from tests.bench.report import Row, Setting
from tests.bench.rescan import RescanMatcher
from tests.bench.workload import LARGE, SMALL, Arrival, Load, accepted, arrivals, duel


class Size(msgspec.Struct, frozen=True):
    """How much is measured: rounds, and tickets of each side in a round; 0 leaves a side out."""

    warmup: int
    rounds: int
    tickets: int
    rescanned: int
    simulated: int


FULL = {SMALL.name: Size(6_000, 7, 10_000, 150, 2_000), LARGE.name: Size(30_000, 7, 10_000, 0, 400)}
QUICK = {SMALL.name: Size(2_000, 3, 2_000, 40, 500), LARGE.name: Size(10_000, 3, 2_000, 0, 100)}


class Seconds(msgspec.Struct):
    """What each side took per ticket, a value for each round."""

    engine: list[float] = msgspec.field(default_factory=list)
    encoded: list[float] = msgspec.field(default_factory=list)
    matcher: list[float] = msgspec.field(default_factory=list)
    rescan: list[float] = msgspec.field(default_factory=list)
    simpy: list[float] = msgspec.field(default_factory=list)
    sizes: list[float] = msgspec.field(default_factory=list)
    pools: list[float] = msgspec.field(default_factory=list)


def run(setting: Setting) -> Iterator[Row]:
    for load in (SMALL, LARGE):
        size = (QUICK if setting.quick else FULL)[load.name]
        yield from _rows(load, size, measure(load, size))


def measure(load: Load, size: Size) -> Seconds:
    """Let all sides play the same arrivals in turns, and check that they make the same matches."""
    queue = duel(load.limit, load.rate)
    given = list(islice(arrivals(load, seed=7), size.warmup + size.rounds * size.tickets))
    tickets = [accepted(number, arrival) for number, arrival in enumerate(given, 1)]
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()  # the collector shall see what the sides make, not what they are given
    gc.set_threshold(*COLLECT_AFTER)  # for all sides, as `evenmatch serve` sets it
    try:
        return _Match(queue, given, tickets).play(size)
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


class _Match:
    """All sides at the same point of the same arrivals."""

    def __init__(self, queue: Queue, given: Sequence[Arrival], tickets: Sequence[Ticket]) -> None:
        self._queue = queue
        self._given = given
        self._tickets = tickets
        self._engine = EngineDrive(queue)
        self._encoding = EngineDrive(queue)
        self._matcher = MatcherDrive(parse_policy(queue.policy).matcher(queue, seed=0))

    def play(self, size: Size) -> Seconds:
        warmup = size.warmup
        self._engine.feed(self._given[:warmup])
        self._encoding.feed(self._given[:warmup])
        self._matcher.feed(self._tickets[:warmup])
        seconds = Seconds()
        for start in range(warmup, warmup + size.rounds * size.tickets, size.tickets):
            self._round(start, size, seconds)
        same = self._engine.pairs() == self._encoding.pairs() == self._matcher.pairs
        assert same, "the engine and its matcher alone made different matches"
        return seconds

    def _round(self, start: int, size: Size, seconds: Seconds) -> None:
        given = self._given[start : start + size.tickets]
        tickets = self._tickets[start : start + size.tickets]
        waiting, now = self._engine.tickets, self._given[start - 1][0]
        made, waited_for = len(self._matcher.pairs), self._engine.waited_for
        seconds.matcher.append(_timed(self._matcher.feed, tickets))
        seconds.engine.append(_timed(self._engine.feed, given))
        bytes_of: list[int] = []
        encoding = self._encoding
        seconds.encoded.append(
            _timed(lambda part: bytes_of.append(encoding.feed_and_encode(part)), given)
        )
        seconds.sizes.append(bytes_of[0] / len(given))
        seconds.pools.append((self._engine.waited_for - waited_for) / len(given))
        if size.rescanned:
            rescan = MatcherDrive(RescanMatcher(self._queue), waiting, now)
            seconds.rescan.append(_timed(rescan.feed, tickets[: size.rescanned]))
            self._check_same(rescan.pairs, made, start + size.rescanned)
        if size.simulated:
            simulated = SimpyDrive(self._queue, waiting, now)
            seconds.simpy.append(_timed(simulated.feed, tickets[: size.simulated]))
            self._check_same(simulated.pairs, made, start + size.simulated)

    def _check_same(self, found: list[Pair], made: int, end: int) -> None:
        """Assert that another side made what the matcher made up to the arrival before `end`."""
        until = bisect_right(self._matcher.instants, self._given[end - 1][0])
        assert found == self._matcher.pairs[made:until], "not the same matches"


def _timed(feed: Callable[[Any], object], part: Sequence[object]) -> float:
    """Return the seconds per item: of CPU time, since one thread works and waits for nothing.

    On an idle machine that is the time on the clock; on a busy one it is what stays comparable.
    """
    gc.collect()
    began = time.thread_time()
    feed(part)
    return (time.thread_time() - began) / len(part)


def _rows(load: Load, size: Size, seconds: Seconds) -> Iterator[Row]:
    where = f"{load.name}: "
    yield Row(where + "mean pool", tuple(seconds.pools), "tickets")
    yield Row(
        where + "engine",
        tuple(1 / each for each in seconds.engine),
        "tickets/s",
        ">= 30,000 (hoped 60,000)",
        f"decisions and records, CPU time; {size.tickets:,} a round",
    )
    yield Row(
        where + "engine, records encoded to bytes",
        tuple(1 / each for each in seconds.encoded),
        "tickets/s",
    )
    yield Row(where + "records", tuple(seconds.sizes), "B/ticket")
    yield Row(where + "matcher alone", _micro(seconds.matcher), "µs/ticket")
    above = [one - other for one, other in zip(seconds.engine, seconds.matcher, strict=True)]
    yield Row(where + "engine above its matcher", _micro(above), "µs/ticket", "<= 15")
    if seconds.rescan:
        yield Row(where + "rescan of all pairs", _micro(seconds.rescan), "µs/ticket")
        yield Row(
            where + "matcher against rescan",
            _ratios(seconds.rescan, seconds.matcher),
            "x",
            ">= 10",
            "same matches, same driving loop",
        )
    if seconds.simpy:
        yield Row(
            where + "SimPy, a process for each ticket",
            tuple(1 / each for each in seconds.simpy),
            "tickets/s",
        )
        ratios = _ratios(seconds.simpy, seconds.engine)
        yield Row(where + "engine against SimPy", ratios, "x", "", "same matches")


def _micro(seconds: Sequence[float]) -> tuple[float, ...]:
    return tuple(each * 1e6 for each in seconds)


def _ratios(slow: Sequence[float], fast: Sequence[float]) -> tuple[float, ...]:
    return tuple(one / other for one, other in zip(slow, fast, strict=True))
