"""Backfill over HTTP: open, close, and what newcomers and the feed are told."""

from msgspec.structs import replace

from evenmatch.model.inputs import Void
from evenmatch.model.queue import Queue, ReadyCheck
from evenmatch.server.runtime.services import Services
from tests.unit.server.test_app import call, pair, play, started
from tests.waiting import until

DUEL = Queue(name="duel", policy="greedy", backfill="manual")
OPEN, CLOSE = "/v1/matches/s0-m1/open", "/v1/matches/s0-m1/close"
LEFT = b'{"roster_version": 0, "left": ["b"]}'


async def running(queue: Queue = DUEL) -> Services:
    parts = await started(queue)
    await pair(parts, "duel", "a", "b")
    return parts


def test_a_running_match_asks_for_players_and_gets_them() -> None:
    async def scene() -> None:
        parts = await running()
        await call(parts, "PUT", "/v1/matches/s0-m1/assignment", b'{"connection":"x:1"}')
        status, opened = await call(parts, "POST", OPEN, LEFT)
        assert (status, opened["open"], opened["wanted"]) == (200, True, [0, 1])
        assert 29.0 < opened["expires_in"] <= 30.0
        assert (await call(parts, "GET", OPEN))[1]["open"]

        await pair(parts, "duel", "e")
        _, ticket = await call(parts, "GET", "/v1/tickets/s0-3")
        assert (ticket["state"], ticket["assignment"]) == ("assigned", {"connection": "x:1"})
        _, page = await call(parts, "GET", "/v1/queues/duel/matches")
        joined = page["matches"][-1]
        assert (joined["extends"], joined["tickets"]) == ("s0-m1", ["s0-3"])
        assert joined["assignment"] == {"connection": "x:1"}

        status, stale = await call(parts, "POST", OPEN, LEFT)
        assert (status, stale["error"], stale["roster_version"]) == (409, "stale_roster", 1)
        _, closed = await call(parts, "POST", CLOSE)
        assert (closed["open"], closed["fills"]) == (False, ["s0-m2"])

    play(scene)


def test_newcomers_of_a_queue_with_a_ready_check_accept_before_they_join() -> None:
    async def scene() -> None:
        parts = await started(replace(DUEL, accept=ReadyCheck()))
        await pair(parts, "duel", "a", "b")
        for ticket in ("s0-1", "s0-2"):
            body = f'{{"ticket": "{ticket}"}}'.encode()
            await call(parts, "POST", "/v1/matches/s0-m1/accept", body)
        _, opened = await call(parts, "POST", OPEN, LEFT)
        assert "proposed" not in opened

        await pair(parts, "duel", "e", "f")
        _, asked = await call(parts, "GET", OPEN)
        assert (asked["open"], asked["proposed"], asked["fills"]) == (True, "s0-m2", [])
        _, proposal = await call(parts, "GET", "/v1/matches/s0-m2")
        assert (proposal["state"], proposal["extends"]) == ("proposed", "s0-m1")
        _, ticket = await call(parts, "GET", "/v1/tickets/s0-3")
        assert (ticket["state"], ticket["match"]) == ("proposed", "s0-m2")
        assert 14.0 < ticket["answer_within"] <= 15.0
        _, why = await call(parts, "GET", "/v1/tickets/s0-3/explain")
        assert "s0-m2" in str(why)

        decline = b'{"ticket": "s0-3"}'
        assert (await call(parts, "POST", "/v1/matches/s0-m2/decline", decline))[0] == 200
        rosters = parts.runtime.engine.tables.rosters
        await until(lambda: rosters["s0-m1"].proposed == "s0-m3")
        accept = b'{"ticket": "s0-4"}'
        assert (await call(parts, "POST", "/v1/matches/s0-m3/accept", accept))[0] == 200
        _, filled = await call(parts, "GET", OPEN)
        assert (filled["fills"], filled["roster_version"]) == (["s0-m3"], 1)
        assert "proposed" not in filled
        status, late = await call(parts, "POST", "/v1/matches/s0-m3/decline", accept)
        assert (status, late["error"]) == (409, "too_late")

    play(scene)


def test_a_fill_is_neither_opened_nor_finished_nor_reported() -> None:
    async def scene() -> None:
        parts = await running()
        await call(parts, "POST", OPEN, LEFT)
        await pair(parts, "duel", "e")
        for what, body, expected in (
            ("open", LEFT, (409, "no_backfill")),
            ("finish", b"", (409, "no_backfill")),
            ("outcome", b'{"ranks": [1, 2]}', (400, "invalid_outcome")),
        ):
            status, problem = await call(parts, "POST", f"/v1/matches/s0-m2/{what}", body)
            assert (status, problem["error"]) == expected
            assert problem["match"] == "s0-m1"
        assert parts.runtime.engine.match("s0-m1").live
        assert (await call(parts, "POST", "/v1/matches/s0-m1/finish"))[0] == 200
        assert not parts.runtime.engine.match("s0-m2").live

    play(scene)


def test_what_cannot_be_opened_is_refused_with_a_sentence() -> None:
    async def scene() -> None:
        parts = await running(replace(DUEL, backfill=None))
        status, problem = await call(parts, "POST", OPEN, LEFT)
        assert (status, problem["error"]) == (409, "no_backfill")
        assert "set backfill to manual or automatic" in problem["message"]
        assert (await call(parts, "POST", "/v1/matches/s0-m9/open", LEFT))[0] == 404

        parts = await running()
        for body in (
            b"{}",
            b'{"roster_version": -1}',
            b'{"roster_version": 0, "lease": 1e9}',
            b'{"roster_version": 0, "priority": "urgent"}',
            b'{"roster_version": 0, "left": ["nobody"]}',
            b'{"roster_version": 0, "free": [9, 9]}',
            b'{"roster_version": 0, "wanted": [1]}',
        ):
            status, problem = await call(parts, "POST", OPEN, body)
            assert (status, problem["error"]) == (400, "invalid_request"), body

    play(scene)


def test_a_storm_is_told_to_wait() -> None:
    async def scene() -> None:
        parts = await running()
        for _ in range(10):
            assert (await call(parts, "POST", OPEN, LEFT))[0] == 200
            await call(parts, "POST", CLOSE)
        assert (await call(parts, "POST", OPEN, LEFT))[0] == 429

    play(scene)


def test_the_feed_tells_of_a_match_that_is_called_off() -> None:
    async def scene() -> None:
        parts = await running(replace(DUEL, backfill=None, allocation="fleet"))
        _, page = await call(parts, "GET", "/v1/queues/duel/matches")
        runtime = parts.runtime
        await runtime.ask(Void(runtime.now(), "s0-m1", "no server"))
        _, match = await call(parts, "GET", "/v1/matches/s0-m1")
        assert match["void"] == "no server"
        _, page = await call(parts, "GET", "/v1/queues/duel/matches", query=f"after={page['next']}")
        lines = [(line["match"], line.get("void")) for line in page["matches"]]
        assert lines == [("s0-m1", "no server")]
        _, anew = await call(parts, "GET", "/v1/queues/duel/matches")
        parts.matches.reset(runtime.engine)
        assert (await call(parts, "GET", "/v1/queues/duel/matches"))[1] == anew
        assert parts.statistics.totals == runtime.engine.tables.counters

    play(scene)
