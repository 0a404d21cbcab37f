"""Folds of durable records: statistics, the feed's index, followers."""

import asyncio

import pytest

from evenmatch.engine.engine import Engine
from evenmatch.engine.lifecycle import TicketLifecycle
from evenmatch.engine.records import Record
from evenmatch.errors import Forgotten, Overloaded, UnknownQueue
from evenmatch.model.inputs import Cancel, Configure, Enqueue
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.policies.registry import parse_policy
from evenmatch.server.http.responses import InvalidRequest
from evenmatch.server.views.feed import MatchFeed
from evenmatch.server.views.followers import INBOX_MAX, Event, Followers, TicketFeed
from evenmatch.server.views.statistics import Rate, Statistics, wait_stats
from evenmatch.wire.tickets import WaitStats


class World:
    """An engine whose records are durable at once, and those who hear of them."""

    def __init__(self) -> None:
        self.engine = Engine(lambda queue: parse_policy(queue.policy))
        self.feed = MatchFeed()
        self.followers = Followers(most=2)
        self.tickets = TicketFeed(self.followers)
        self.statistics = Statistics()
        self.listeners = (self.feed, self.tickets, TicketLifecycle([self.statistics]))
        for listener in self.listeners:
            listener.reset(self.engine)
        self.step(Configure(0.0, (Queue(name="duel", policy="greedy"),)))

    def step(self, given: Configure | Enqueue | Cancel) -> Record:
        record = self.engine.step(given)
        for listener in self.listeners:
            listener.hear(record)
        return record

    def enqueue(self, now: float, *players: str) -> int:
        tickets = tuple(NewTicket((Player(player),)) for player in players)
        return self.step(Enqueue(now, tickets)).sequence


def test_statistics_follow_the_records() -> None:
    world = World()
    world.enqueue(1.0, "a")
    world.enqueue(4.0, "b", "c")
    stats = world.statistics.of("duel", 5.0, ())
    assert (stats.waiting, stats.arrivals, stats.matched, stats.matches) == (1, 3, 2, 1)
    assert (stats.arrivals_per_minute, stats.matches_per_minute) == (3.0, 1.0)
    assert stats.wait == WaitStats(0.0, 3.0, 3.0)
    assert world.statistics.of("duel", 65.0, ()).arrivals_per_minute == 0.0
    world.step(Cancel(70.0, "s0-3"))
    assert world.statistics.waiting("duel") == 0


def test_rate_counts_a_whole_minute_at_any_instant() -> None:
    rate = Rate()
    for event in range(5 * 60):
        rate.add(event / 5)
    assert rate.per_minute(60.0) == 300.0
    assert rate.per_minute(60.5) == 297.5
    assert rate.per_minute(120.0) == 0.0


def test_statistics_survive_a_rebuild_in_the_same_process() -> None:
    world = World()
    world.enqueue(1.0, "a", "b", "c")
    before = world.statistics.of("duel", 5.0, ())
    world.listeners[-1].reset(world.engine)
    assert world.statistics.of("duel", 5.0, ()) == before
    assert (before.waiting, before.arrivals, before.matches) == (1, 3, 1)


def test_totals_are_the_counters_of_the_engine() -> None:
    world = World()
    world.enqueue(1.0, "a", "b", "c", "d", "e")
    world.step(Cancel(2.0, "s0-5"))
    statistics, tables = world.statistics, world.engine.tables
    assert statistics.totals == tables.counters
    assert (statistics.sequence, statistics.players) == (tables.sequence, 0)


def test_percentiles_are_nearest_ranks() -> None:
    assert wait_stats([float(n) for n in range(1, 101)]) == WaitStats(50.0, 90.0, 99.0)
    assert wait_stats([]) == WaitStats(None, None, None)


def test_page_never_splits_a_record() -> None:
    world = World()
    first = world.enqueue(1.0, "a", "b", "c", "d", "e", "f")
    second = world.enqueue(2.0, "g", "h")
    page = world.feed.page(world.engine, "duel", 0, most=1)
    assert [match.seq for match in page.matches] == [first] * 3
    assert page.next == first
    rest = world.feed.page(world.engine, "duel", page.next, most=1)
    assert [match.seq for match in rest.matches] == [second]
    assert world.feed.page(world.engine, "duel", rest.next).matches == ()


def test_feed_is_the_same_after_a_restart() -> None:
    world = World()
    world.enqueue(1.0, "a", "b")
    world.enqueue(2.0, "c", "d")
    other = MatchFeed()
    other.reset(world.engine)
    assert other.page(world.engine, "duel", 0) == world.feed.page(world.engine, "duel", 0)


def test_feed_refuses_what_it_cannot_know() -> None:
    world = World()
    with pytest.raises(UnknownQueue, match="allowed: duel"):
        world.feed.page(world.engine, "poker", 0)
    with pytest.raises(InvalidRequest, match="in the future"):
        world.feed.page(world.engine, "duel", 99)
    world.engine.tables.forgotten["duel"] = 1
    with pytest.raises(Forgotten, match="after=1"):
        world.feed.page(world.engine, "duel", 0)


def test_event_is_encoded_once_for_all_who_follow() -> None:
    async def scene() -> None:
        world = World()
        world.enqueue(1.0, "a")
        view = world.engine.view("s0-1")
        two = [world.followers.admit(), world.followers.admit()]
        for follower in two:
            world.tickets.join(view, follower)
        world.enqueue(3.0, "b")
        events = [await follower.next(1.0) for follower in two]
        assert events[0] is events[1]
        assert events[0] is not None
        assert (events[0].name, events[0].sequence) == ("matched", 3)
        assert b'"wait":2.0' in events[0].body
        with pytest.raises(Overloaded):
            world.followers.admit()

    asyncio.run(scene())


def test_slow_client_is_cut() -> None:
    async def scene() -> None:
        follower = Followers(most=1).admit()
        for number in range(INBOX_MAX + 1):
            follower.offer(Event(number, "matched", b"{}"))
        assert follower.is_cut
        assert await follower.next(1.0) is None

    asyncio.run(scene())
