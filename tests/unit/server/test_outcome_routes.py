"""Outcomes and ratings over HTTP: who may say what, and what each mistake is answered with."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.inputs import Enqueue
from evenmatch.model.queue import Criterion, Format, Queue
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.server.auth.principal import Principal
from evenmatch.server.http.app import App
from evenmatch.server.http.responses import Message
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.services import Services, assemble

DUEL = Queue(name="duel", rating="glicko2", exclusive_match=True)
CALM = Queue(name="calm", group="other")


def player(name: str) -> Principal:
    """Return a player who has shown his token."""
    return Principal("player", name, frozenset({"anyone", "own"}))


class Scene:
    """A server on a journal in memory."""

    def __init__(self, parts: Services) -> None:
        self.parts = parts

    async def call(
        self, method: str, path: str, body: Any = None, *, by: str | None = None, query: str = ""
    ) -> tuple[int, Any]:
        sent: list[Message] = []
        raw = b"" if body is None else body if type(body) is bytes else msgspec.json.encode(body)

        async def receive() -> Message:
            return {"type": "http.request", "body": raw, "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        scope: dict[str, Any] = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(),
            "query_string": query.encode(), "headers": [], "root_path": "",
        }  # fmt: skip
        if by is not None:
            scope["principal"] = player(by)
        await App(self.parts)(scope, receive, send)
        whole = b"".join(message.get("body", b"") for message in sent[1:])
        return sent[0]["status"], msgspec.json.decode(whole)

    async def pair(self, *players: Player, queue: str = "duel") -> str:
        """Let players meet, and return the match's id."""
        new = tuple(NewTicket((player,), (queue,)) for player in players)
        await self.parts.runtime.ask(Enqueue(self.parts.runtime.now(), new))
        return next(reversed(self.parts.runtime.engine.tables.matches))


def play(act: Callable[[Scene], Awaitable[None]], *queues: Queue) -> None:
    """Run a scene on a server with these queues."""

    async def bounded() -> None:
        async with asyncio.timeout(20.0):
            parts = assemble(ShardPlan(queues or (DUEL, CALM)), MemoryJournal())
            await parts.runtime.start()
            await act(Scene(parts))
            await parts.runtime.stop()

    asyncio.run(bounded())


def test_service_reports_and_ratings_can_be_read() -> None:
    async def act(scene: Scene) -> None:
        match = await scene.pair(Player("a"), Player("b"))
        path = f"/v1/matches/{match}/outcome"

        status, before = await scene.call("GET", f"/v1/matches/{match}")
        assert (status, "outcome" in before) == (200, False)
        status, told = await scene.call("POST", path, {"ranks": [1, 2]})
        assert status == 200
        assert told["outcome"] == {"state": "counted", "ranks": [1, 2], "reports": {}}
        assert await scene.call("POST", path, {"ranks": [3, 7]}) == (200, told)
        assert (await scene.call("GET", f"/v1/matches/{match}"))[1] == told
        status, problem = await scene.call("POST", path, {"ranks": [2, 1]})
        assert (status, problem["error"]) == (409, "outcome_differs")

        status, rating = await scene.call("GET", "/v1/players/a/rating")
        assert (status, rating["ladder"]) == (200, "default")
        assert rating["mean"] > 1600.0
        assert rating["deviation"] < 350.0
        text = scene.parts.metrics.text().decode()
        assert "evenmatch_outcomes_total 1.0" in text
        assert "evenmatch_ratings_total 2.0" in text

    play(act)


def test_players_report_with_their_own_token_only() -> None:
    async def act(scene: Scene) -> None:
        match = await scene.pair(Player("a"), Player("b"))
        path = f"/v1/matches/{match}/outcome"

        status, told = await scene.call("POST", path, {"ranks": [1, 2]}, by="a")
        assert status == 200
        assert told["outcome"] == {"state": "reported", "ranks": None, "reports": {"a": [1, 2]}}
        status, problem = await scene.call("POST", path, {"ranks": [1, 2], "player": "b"}, by="a")
        assert (status, problem["error"]) == (403, "not_in_match")
        status, told = await scene.call("POST", path, {"ranks": [1, 2], "player": "b"})
        assert told["outcome"]["state"] == "counted"

    play(act)


def test_teams_of_an_outcome_may_be_those_that_the_open_match_shows() -> None:
    async def act(scene: Scene) -> None:
        match = await scene.pair(*map(Player, "abcd"))
        path = f"/v1/matches/{match}"
        await scene.call("POST", f"{path}/open", {"roster_version": 0, "left": ["a"]})
        await scene.pair(Player("e"))
        _, shown = await scene.call("GET", f"{path}/open")
        assert shown["players"] == [["b", "e"], ["c", "d"]]
        await scene.call("POST", f"{path}/finish")

        status, problem = await scene.call("POST", f"{path}/outcome", {"ranks": [1, 2]}, by="a")
        assert (status, problem["error"]) == (403, "not_in_match")
        body = {"ranks": [1, 2], "teams": shown["players"]}
        status, told = await scene.call("POST", f"{path}/outcome", body)
        assert (status, told["outcome"]["state"]) == (200, "counted")
        for name, mean in (("a", 1484.0), ("b", 1516.0), ("e", 1516.0)):
            assert (await scene.call("GET", f"/v1/players/{name}/rating"))[1]["mean"] == mean

    play(act, Queue("duel", Format((2, 2)), rating="elo", backfill="manual"))


@pytest.mark.parametrize("is_finished", [False, True])
def test_who_joined_a_running_match_sees_and_reports_it_as_his_own(is_finished: bool) -> None:
    async def act(scene: Scene) -> None:
        match = await scene.pair(*map(Player, "abcd"))
        path = f"/v1/matches/{match}"
        await scene.call("POST", f"{path}/open", {"roster_version": 0, "left": ["a"]})
        await scene.pair(Player("e"))
        if is_finished:
            await scene.call("POST", f"{path}/finish")

        assert (await scene.call("GET", path, by="e"))[0] == 200
        assert (await scene.call("GET", path, by="z"))[0] == 404
        status, told = await scene.call("POST", f"{path}/outcome", {"ranks": [1, 2]}, by="e")
        assert (status, told["outcome"]["reports"]) == (200, {"e": [1, 2]})

    play(act, Queue("duel", Format((2, 2)), rating="elo", backfill="manual"))


def test_player_may_not_say_that_his_match_was_wide() -> None:
    async def act(scene: Scene) -> None:
        match = await scene.pair(Player("a"), Player("b"))
        for player in "ab":
            body = {"ranks": [1, 2], "wide": True}
            await scene.call("POST", f"/v1/matches/{match}/outcome", body, by=player)

        told = scene.parts.runtime.engine.tables.matches[match].outcome
        assert told is not None
        assert told.result is not None
        assert not told.result.wide

    play(act)


@pytest.mark.parametrize(
    ("body", "status", "error", "where"),
    [
        (b"", 400, "invalid_request", ""),
        (b"{", 400, "invalid_request", ""),
        ({"rank": [1, 2]}, 400, "invalid_request", "/rank"),
        ({"ranks": "12"}, 400, "invalid_request", "/ranks"),
        ({"ranks": [1, 2, 3]}, 400, "invalid_outcome", "/ranks"),
        ({}, 400, "invalid_outcome", ""),
        ({"points": [1e300, 0]}, 400, "invalid_outcome", "/points"),
        ({"ranks": [1, 2], "teams": [["a"], ["z"]]}, 400, "invalid_outcome", "/teams"),
        ({"ranks": [1, 2], "player": "z"}, 403, "not_in_match", "/player"),
        (b'{"ranks": [' + b"1," * 200_000 + b"1]}", 413, "body_too_large", ""),
    ],
)
def test_bad_reports_are_answered_and_change_nothing(
    body: Any, status: int, error: str, where: str
) -> None:
    async def act(scene: Scene) -> None:
        match = await scene.pair(Player("a"), Player("b"))

        found, problem = await scene.call("POST", f"/v1/matches/{match}/outcome", body)

        assert (found, problem["error"], problem["where"]) == (status, error, where)
        assert "outcome" not in (await scene.call("GET", f"/v1/matches/{match}"))[1]

    play(act)


def test_what_is_not_known_is_not_found() -> None:
    async def act(scene: Scene) -> None:
        assert (await scene.call("POST", "/v1/matches/s0-m9/outcome", {"ranks": [1, 2]}))[0] == 404
        for path, query, error in (
            ("/v1/players/z/rating", "", "unknown_player"),
            ("/v1/players/z/rating", "queue=calm", "unknown_player"),
            ("/v1/players/z/rating", "queue=nowhere", "unknown_queue"),
        ):
            status, problem = await scene.call("GET", path, query=query)
            assert (status, problem["error"]) == (404, error)
            elsewhere = "?queue=duel reads another ladder"
            assert (elsewhere in problem["message"]) == (query == "queue=calm")
        assert (await scene.call("GET", "/v1/players/z/rating", query="q=1"))[0] == 400

    play(act)


def test_player_reads_his_own_rating_only() -> None:
    async def act(scene: Scene) -> None:
        match = await scene.pair(Player("a"), Player("b"))
        await scene.call("POST", f"/v1/matches/{match}/outcome", {"ranks": [1, 2]})

        assert (await scene.call("GET", "/v1/players/a/rating", by="a"))[0] == 200
        assert (await scene.call("GET", "/v1/players/b/rating", by="a"))[0] == 404

    play(act)


def test_first_of_the_hosts_may_assign_the_match_with_his_own_token() -> None:
    hosted = Queue(name="duel", criteria=(Criterion("host_options", "host"),))

    async def act(scene: Scene) -> None:
        match = await scene.pair(
            *(Player(name, attributes={"host": connect}) for name, connect in HOSTS)
        )
        hosts = scene.parts.runtime.engine.tables.matches[match].match.hosts
        assert hosts
        path, body = f"/v1/matches/{match}/assignment", {"connection": "10.0.0.1:7777"}
        other = next(name for name, _ in HOSTS if name != hosts[0])

        status, problem = await scene.call("PUT", path, body, by=other)
        assert (status, problem["error"]) == (403, "not_host")
        status, told = await scene.call("PUT", path, body, by=hosts[0])
        assert (status, told["assignment"]) == (200, body)

    play(act, hosted)


def test_host_does_not_lead_players_away_from_the_servers_of_a_hook() -> None:
    criteria = (Criterion("host_options", "host"),)
    hosted = Queue(name="duel", criteria=criteria, allocation="fleet")

    async def act(scene: Scene) -> None:
        match = await scene.pair(*(Player(name, attributes={"host": "open"}) for name, _ in HOSTS))
        host = scene.parts.runtime.engine.tables.matches[match].match.hosts[0]
        path = f"/v1/matches/{match}/assignment"
        evil, good = {"connection": "192.0.2.66:1"}, {"connection": "10.0.0.1:7777"}

        for _ in range(2):
            status, problem = await scene.call("PUT", path, evil, by=host)
            assert (status, problem["error"]) == (403, "not_host")
            assert "allocation hook" in problem["message"]
            status, told = await scene.call("PUT", path, good)
            assert (status, told["assignment"]) == (200, good)

    play(act, hosted)


HOSTS = (("a", "open"), ("b", "open"))


def test_ratings_survive_a_restart() -> None:
    async def scene() -> None:
        journal = MemoryJournal()
        seen = []
        for _ in range(2):
            parts = assemble(ShardPlan((DUEL,)), journal)
            await parts.runtime.start()
            at_work = Scene(parts)
            if not seen:
                match = await at_work.pair(Player("a"), Player("b"))
                await at_work.call("POST", f"/v1/matches/{match}/outcome", {"ranks": [1, 2]})
            seen.append(await at_work.call("GET", "/v1/players/a/rating"))
            await parts.runtime.stop()
            journal = journal.reopen()
        assert seen[0] == seen[1]
        assert seen[0][0] == 200

    asyncio.run(scene())
