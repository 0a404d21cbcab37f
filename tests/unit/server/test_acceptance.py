"""Ready-checks over HTTP, on a journal in memory."""

import asyncio
from time import perf_counter

import msgspec
from msgspec.structs import replace

from evenmatch.engine.engine import Engine
from evenmatch.engine.lifecycle import TicketLifecycle
from evenmatch.engine.records import Record
from evenmatch.model.events import Dissolved, Proposed
from evenmatch.model.inputs import (
    Accept,
    Advance,
    Assign,
    Cancel,
    Configure,
    Decline,
    Enqueue,
    Input,
    Open,
    Prolong,
    Void,
)
from evenmatch.model.queue import Format, Queue
from evenmatch.model.queue import ReadyCheck as Check
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.policies.registry import parse_policy
from evenmatch.server.views.followers import Follower, Followers, TicketFeed
from evenmatch.server.views.statistics import Statistics
from tests.unit.server.test_app import call, exchange, play, started
from tests.waiting import GIVE_UP

TWOS = Format((2, 2))
CHECKED = Queue(name="duel", policy="greedy", accept=Check(seconds=15.0, repair=10.0))


def body(**fields: object) -> bytes:
    return msgspec.json.encode(fields)


def test_players_accept_a_match_over_http() -> None:
    async def scene() -> None:
        parts = await started(CHECKED)
        for name in "ab":
            await call(parts, "POST", "/v1/tickets", body(players=[{"id": name}]))
        status, ticket = await call(parts, "GET", "/v1/tickets/s0-1")
        assert (status, ticket["state"], ticket["match"]) == (200, "proposed", "s0-m1")
        assert 14.0 < ticket["answer_within"] <= 15.0
        assert ticket["accepted"] == []

        status, told = await call(
            parts, "POST", "/v1/matches/s0-m1/accept", body(ticket="s0-1", players=["a"])
        )
        assert (status, told["state"]) == (200, "proposed")
        assert (told["accepted"], "answer_within" in told) == (["a"], False)
        status, match = await call(parts, "GET", "/v1/matches/s0-m1")
        assert (match["state"], match["accepted"], match["left"]) == ("proposed", ["a"], [])
        assert (await call(parts, "PUT", "/v1/matches/s0-m1/assignment", body(at="x")))[0] == 409

        status, told = await call(parts, "POST", "/v1/matches/s0-m1/accept", body(ticket="s0-2"))
        assert (status, told["state"], told["match"]) == (200, "matched", "s0-m1")
        status, match = await call(parts, "GET", "/v1/matches/s0-m1")
        assert "state" not in match
        assert "accepted" not in told
        await parts.runtime.stop()

    play(scene)


def test_who_declines_is_replaced_and_innocents_wait_on() -> None:
    async def scene() -> None:
        parts = await started(CHECKED)
        for name in "ab":
            await call(parts, "POST", "/v1/tickets", body(players=[{"id": name}]))
        decline = ("POST", "/v1/matches/s0-m1/decline", body(ticket="s0-2"))
        status, told = await call(parts, *decline)
        assert (status, told["state"], told["reason"]) == (200, "cancelled", "declined")
        assert await call(parts, *decline) == (200, told)
        await call(parts, "POST", "/v1/tickets", body(players=[{"id": "c"}]))
        status, match = await call(parts, "GET", "/v1/matches/s0-m1")
        assert (match["tickets"], match["left"]) == (["s0-1", "s0-3"], ["b"])
        for ticket in ("s0-1", "s0-3"):
            status, told = await call(
                parts, "POST", "/v1/matches/s0-m1/accept", body(ticket=ticket)
            )
        assert told["state"] == "matched"
        status, problem = await call(
            parts, "POST", "/v1/matches/s0-m1/decline", body(ticket="s0-1")
        )
        assert (status, problem["error"]) == (409, "too_late")
        await parts.runtime.stop()

    play(scene)


def test_wrong_answers_are_refused_in_words() -> None:
    async def scene() -> None:
        parts = await started(CHECKED)
        for name in "abc":
            await call(parts, "POST", "/v1/tickets", body(players=[{"id": name}]))
        found = []
        for match, sent in (
            ("s0-m1", b"{}"),
            ("s0-m1", body(ticket="s0-3")),
            ("s0-m1", body(ticket="s0-1", players=["b"])),
            ("s0-m9", body(ticket="s0-1")),
            ("s0-m1", body(ticket="s0-1", now=True)),
        ):
            status, problem = await call(parts, "POST", f"/v1/matches/{match}/accept", sent)
            found.append((status, problem["error"]))
        assert found == [
            (400, "invalid_request"),
            (403, "not_in_match"),
            (403, "not_in_match"),
            (404, "unknown_match"),
            (400, "invalid_request"),
        ]
        await parts.runtime.stop()

    play(scene)


def test_player_on_cooldown_and_a_paused_queue_say_when_to_come_again() -> None:
    async def scene() -> None:
        check = replace(Check(seconds=15.0), cooldowns=(60.0,), repair=0.0, again=0.0)
        parts = await started(replace(CHECKED, accept=check))
        create = ("POST", "/v1/tickets")
        await call(parts, *create, body(players=[{"id": "a"}]))
        for number in (1, 2):
            await call(parts, *create, body(players=[{"id": "b"}]))
            said = body(ticket=f"s0-{number + 1}")
            await call(parts, "POST", f"/v1/matches/s0-m{number}/decline", said)

        status, headers, problem = await exchange(parts, *create, body(players=[{"id": "b"}]))
        assert (status, problem["error"], headers["retry-after"]) == (409, "cooldown", "60")
        assert 59.0 < problem["seconds"] <= 60.0
        many = msgspec.json.encode([{"players": [{"id": name}]} for name in "bc"])
        status, headers, (refused, taken) = await exchange(parts, *create, many)
        assert (status, refused["status"], taken["status"]) == (200, 409, 201)
        assert 59.0 < refused["seconds"] <= 60.0
        assert "seconds" not in taken
        assert "retry-after" not in headers

        await call(parts, "POST", "/v1/queues/duel/pause")
        status, headers, problem = await exchange(parts, *create, body(players=[{"id": "d"}]))
        assert (status, problem["error"], headers["retry-after"]) == (429, "paused", "5")
        assert problem["seconds"] == 5.0
        many = msgspec.json.encode([{"players": [{"id": name}]} for name in "de"])
        status, headers, items = await exchange(parts, *create, many)
        assert [(item["error"], item["seconds"]) for item in items] == [("paused", 5.0)] * 2
        await parts.runtime.stop()

    play(scene)


def test_long_poll_ends_when_one_proposal_follows_another_at_once() -> None:
    async def scene() -> None:
        parts = await started(CHECKED)
        for name in "ab":
            await call(parts, "POST", "/v1/tickets", body(players=[{"id": name}]))
        known = "wait=8&state=proposed"
        polled = asyncio.create_task(call(parts, "GET", "/v1/tickets/s0-1", query=known))
        while not parts.tickets.is_followed("s0-1"):
            await asyncio.sleep(0)
        following = replace(parts.runtime.engine.tables.proposals["s0-m1"].match, id="s0-m2")
        failed = Dissolved("s0-m1", "no_replacement", ("s0-1",))
        asked = Proposed(following, {"s0-1": 30.0})
        parts.tickets.hear(Record(9, Advance(12.0), (failed, asked)))
        status, told = await asyncio.wait_for(polled, GIVE_UP)
        assert (status, told["state"], told["match"]) == (200, "proposed", "s0-m2")
        await parts.runtime.stop()

    play(scene)


def test_poll_for_a_state_that_no_ticket_has_is_refused() -> None:
    async def scene() -> None:
        parts = await started(CHECKED)
        await call(parts, "POST", "/v1/tickets", body(players=[{"id": "a"}]))
        status, problem = await call(parts, "GET", "/v1/tickets/s0-1", query="wait=9&state=foo")
        assert (status, problem["where"]) == (400, "/state")
        assert "waiting, proposed" in problem["message"]
        await parts.runtime.stop()

    play(scene)


def test_ticket_that_players_have_stays_as_it_is() -> None:
    async def scene() -> None:
        parts = await started(CHECKED)
        player = {"id": "a", "rating": {"mean": 1500.0}}
        status, first = await call(parts, "POST", "/v1/tickets", body(players=[player]))
        assert status == 201
        player["rating"] = {"mean": 1900.0}
        status, again = await call(parts, "POST", "/v1/tickets", body(players=[player]))
        assert (status, again) == (200, first)
        waiting = parts.runtime.engine.tables.waiting["s0-1"].ticket
        assert waiting.players[0].rating.mean == 1500.0
        await parts.runtime.stop()

    play(scene)


def test_long_poll_tells_at_once_of_another_match_in_the_state_that_is_known() -> None:
    async def scene() -> None:
        parts = await started(CHECKED)
        for name in "ab":
            await call(parts, "POST", "/v1/tickets", body(players=[{"id": name}]))

        async def polled(known: str, wait: float) -> str:
            query = f"wait={wait}&{known}"
            _, told = await call(parts, "GET", "/v1/tickets/s0-1", query=query)
            return str(told["match"])

        for known in ("state=proposed&match=s0-m0", "match=", "state=waiting&match=s0-m1"):
            # Much less than the poll may last.
            async with asyncio.timeout(50.0):
                assert await polled(known, 60.0) == "s0-m1", known
        for known in ("state=proposed&match=s0-m1", "match=s0-m1", "state=proposed", ""):
            began = perf_counter()
            match = await polled(known, 0.3)
            took = perf_counter() - began
            assert (took > 0.25, match) == (True, "s0-m1"), known
        await parts.runtime.stop()

    play(scene)


class Listening:
    """An engine, and who hears of its records."""

    def __init__(self, queue: Queue) -> None:
        self.engine = Engine(lambda each: parse_policy(each.policy))
        self.statistics = Statistics()
        self.feed = TicketFeed(Followers(10))
        self.lifecycle = TicketLifecycle([self.statistics])
        self.lifecycle.reset(self.engine)
        self.feed.reset(self.engine)
        self.hand(Configure(0.0, (queue,)))

    def hand(self, given: Input) -> None:
        while self.engine.next_wakeup < given.now:
            self.hand(Advance(self.engine.next_wakeup))
        record = self.engine.step(given)
        if record.sequence:
            self.lifecycle.hear(record)
            self.feed.hear(record)
        pools = self.engine.pools
        assert self.statistics.waiting_by_queue() == {n: len(p.tickets) for n, p in pools.items()}
        assert self.statistics.totals == self.engine.tables.counters

    def enter(self, now: float, *names: str) -> None:
        self.hand(Enqueue(now, tuple(NewTicket((Player(name),)) for name in names)))


def test_statistics_follow_every_turn_of_a_ready_check() -> None:
    world = Listening(CHECKED)
    world.enter(1.0, "a", "b")
    world.hand(Decline(2.0, "s0-m1", "s0-2"))
    world.enter(3.0, "c")
    world.hand(Cancel(4.0, "s0-3"))
    world.hand(Advance(12.0))
    world.enter(20.0, "d")
    world.hand(Accept(21.0, "s0-m2", "s0-1"))
    world.hand(Accept(22.0, "s0-m2", "s0-4"))
    world.enter(30.0, "e", "f", "g")
    world.hand(Decline(31.0, "s0-m3", "s0-5"))
    world.hand(Accept(32.0, "s0-m3", "s0-6"))
    world.hand(Accept(33.0, "s0-m3", "s0-7"))
    totals = world.statistics.totals

    assert (totals.proposed, totals.checks_failed, totals.repaired, totals.dissolved) == (
        3,
        2,
        1,
        1,
    )
    again = Statistics()
    TicketLifecycle([again]).reset(world.engine)
    assert again.waiting_by_queue() == world.statistics.waiting_by_queue()


def test_followers_hear_what_a_look_would_show() -> None:
    world = Listening(replace(CHECKED, wait_max=100.0))
    world.enter(1.0, "a", "b")
    follower = Follower()
    for ticket in ("s0-1", "s0-2"):
        world.feed.join(world.engine.view(ticket), follower)
    for given in (
        Decline(2.0, "s0-m1", "s0-2"),
        Advance(12.0),
        Enqueue(13.0, (NewTicket((Player("c"),)),)),
        Accept(14.0, "s0-m2", "s0-3"),
        Accept(15.0, "s0-m2", "s0-1"),
    ):
        world.hand(given)
        assert world.feed._topics["s0-1"].view == world.engine.view("s0-1")
    assert not world.feed.is_followed("s0-2"), "it has ended, and its followers know"
    names = [event.name for event in follower._inbox]

    assert names == ["cancelled", "waiting", "proposed", "matched"]


def test_party_sees_who_has_accepted_and_is_urged_until_all_have() -> None:
    check = Check(seconds=15.0, repair=10.0, long_wait=60.0, long_seconds=40.0)
    world, follower = Listening(replace(CHECKED, accept=check, format=TWOS)), Follower()
    world.hand(Enqueue(0.0, (NewTicket((Player("a"), Player("b"))),)))
    world.feed.join(world.engine.view("s0-1"), follower)
    world.hand(Enqueue(70.0, (NewTicket((Player("c"), Player("d"))),)))
    told = []
    for given in (
        Accept(71.0, "s0-m1", "s0-1", ("b",)),
        Accept(72.0, "s0-m1", "s0-1"),
        Accept(73.0, "s0-m1", "s0-1"),
        Decline(74.0, "s0-m1", "s0-2"),
    ):
        world.hand(given)
        view = world.engine.view("s0-1")
        assert world.feed._topics["s0-1"].view == view
        told.append((view.state, view.accepted, view.answer_by, view.long_wait))
    assert told == [
        ("proposed", ("b",), 110.0, True),
        ("proposed", ("b", "a"), None, False),
        ("proposed", ("b", "a"), None, False),
        ("proposed", ("b", "a"), None, False),
    ]
    world.hand(Advance(world.engine.next_wakeup))
    assert (world.engine.view("s0-1").state, world.engine.view("s0-1").accepted) == ("waiting", ())
    assert world.feed._topics["s0-1"].view == world.engine.view("s0-1")
    events = list(follower._inbox or ())
    assert [event.name for event in events] == ["proposed", "proposed", "proposed", "waiting"]
    sequences = [event.sequence for event in events]
    assert sequences == sorted(set(sequences)), "a stream that comes back misses none of them"


def test_followers_hear_that_there_is_more_time_to_answer() -> None:
    world, follower = Listening(replace(CHECKED, format=TWOS)), Follower()
    for names in ("ab", "cd"):
        world.hand(Enqueue(1.0, (NewTicket(tuple([Player(name) for name in names])),)))
    for ticket in ("s0-1", "s0-2"):
        world.feed.join(world.engine.view(ticket), follower)
    for given, within in (
        (Accept(2.0, "s0-m1", "s0-2"), None),
        (Prolong(6.0, 20.0), 30.0),
        (Accept(8.0, "s0-m1", "s0-1", ("b",)), 28.0),
    ):
        world.hand(given)
        for ticket in ("s0-1", "s0-2"):
            assert world.feed._topics[ticket].view == world.engine.view(ticket)
        told = [msgspec.json.decode(event.body) for event in iter(follower.take, None)]
        mine = [each["answer_within"] for each in told if each["id"] == "s0-1"]
        assert mine == ([] if within is None else [within])
        assert all("answer_within" not in each for each in told if each["id"] == "s0-2")


def test_server_of_a_match_that_is_called_off_is_told_no_more() -> None:
    queue = Queue(name="duel", format=TWOS, backfill="manual", allocation="hook")
    world, follower = Listening(queue), Follower()
    world.enter(1.0, "a", "b", "c", "d")
    world.hand(Open(5.0, "s0-m1", 0, ("b",)))
    world.enter(6.0, "x")
    world.feed.join(world.engine.view("s0-5"), follower)
    world.hand(Assign(9.0, "s0-m2", {"server": "old"}))
    world.hand(Void(10.0, "s0-m1", "no server"))
    told = [msgspec.json.decode(event.body) for event in iter(follower.take, None)]

    assert [(each["state"], each.get("assignment")) for each in told] == [
        ("assigned", {"server": "old"}),
        ("waiting", None),
    ]
    assert world.feed._topics["s0-5"].view == world.engine.view("s0-5")


def test_acceptance_is_told_though_memory_is_far_ahead_of_the_journal() -> None:
    """A server whose clock runs fast may have forgotten a ticket when its record is durable."""
    world, follower = Listening(CHECKED), Follower()
    world.enter(1.0, "a", "b")
    world.feed.join(world.engine.view("s0-1"), follower)
    engine = world.engine
    late = [engine.step(Accept(2.0, "s0-m1", ticket)) for ticket in ("s0-1", "s0-2")]
    engine.step(Advance(1_000.0))
    engine.step(Enqueue(1_000.0, (NewTicket((Player("z"),)),)))
    assert not engine.tables.knows("s0-1")
    for record in late:
        world.feed.hear(record)
    assert [event.name for event in follower._inbox or ()] == ["proposed", "matched"]


def test_player_who_has_waited_for_long_is_called_louder() -> None:
    check = Check(seconds=15.0, long_wait=60.0, long_seconds=40.0)
    world, follower = Listening(replace(CHECKED, accept=check)), Follower()
    world.enter(0.0, "a")
    world.feed.join(world.engine.view("s0-1"), follower)
    world.enter(70.0, "b")
    told = follower.take()

    assert told is not None
    assert b'"state":"proposed"' in told.body
    assert b'"answer_within":40.0,"long_wait":true' in told.body
    assert world.engine.view("s0-1").long_wait
    assert not world.engine.view("s0-2").long_wait
    world.hand(Decline(71.0, "s0-m1", "s0-2"))
    world.hand(Advance(world.engine.next_wakeup))
    told = follower.take()
    assert told is not None
    assert b'"state":"waiting"' in told.body
    assert b"long_wait" not in told.body


def test_time_that_is_given_back_makes_no_wait_a_long_one() -> None:
    check = Check(seconds=15.0, long_wait=60.0, long_seconds=30.0)
    world, follower = Listening(replace(CHECKED, accept=check)), Follower()
    world.enter(1.0, "a")
    world.feed.join(world.engine.view("s0-1"), follower)
    world.enter(51.0, "b")
    world.hand(Prolong(52.0, 30.0))
    view = world.engine.view("s0-1")

    assert (view.answer_by, view.long_wait) == (96.0, False)
    assert world.feed._topics["s0-1"].view == view


def test_proposal_keeps_its_ready_check_when_the_queue_gets_another() -> None:
    check = Check(seconds=15.0, repair=10.0, long_wait=60.0, long_seconds=40.0)
    world, follower = Listening(replace(CHECKED, accept=check)), Follower()
    world.enter(0.0, "a")
    world.enter(0.0, "b")
    world.enter(1.0, "c")
    world.hand(Configure(2.0, (replace(CHECKED, accept=Check(seconds=15.0)),), version=2))
    world.feed.join(world.engine.view("s0-3"), follower)
    world.hand(Decline(3.0, "s0-m1", "s0-2"))
    view = world.engine.view("s0-3")
    assert view.state == "proposed"
    assert world.feed._topics["s0-3"].view == view
    assert world.feed._checks.keys() == world.engine.tables.proposals.keys()
