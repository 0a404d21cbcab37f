"""Inputs that go past ASGI: the same answers as by the long way, after one commit."""

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evenmatch.config.server import ServerSettings, Tokens
from evenmatch.journals.memory import MemoryJournal
from evenmatch.server.auth.accounts import Accounts
from evenmatch.server.auth.authenticate import Authenticator
from evenmatch.server.auth.authorize import Authorizer, guarded
from evenmatch.server.http.app import App
from evenmatch.server.http.direct_requests import DirectRequest
from evenmatch.server.http.input_routes import InputRoute
from evenmatch.server.http.match_inputs import AnswerReadyCheck
from evenmatch.server.http.operation import Server
from evenmatch.server.http.table import OPERATIONS
from evenmatch.server.runtime.games import Games
from tests.callers import AUDIENCE, SECRET, add_key, token
from tests.unit.server.raw_http import GIVE_UP, played
from tests.waiting import turns

CHECKED = """
[[queue]]
name = "duel"
teams = 2
players = 1
policy = "greedy"
rating = "elo"
backfill = "manual"
accept = {seconds = 60.0}
"""
LONG = ("origin: http://localhost",)
"""A page of this machine: its requests go the long way."""


def sent(method: str, path: str, body: str = "", *headers: str) -> bytes:
    content = body.encode()
    lines = [f"{method} {path} HTTP/1.1", "host: 127.0.0.1", *headers]
    return "\r\n".join([*lines, f"content-length: {len(content)}", "", ""]).encode() + content


async def asked(one: Any, *request: str) -> tuple[int, Any]:
    one.send(sent(*request))
    status, _, body = await one.answer()
    return status, body


async def proposed(one: Any, name: str) -> tuple[str, list[str]]:
    """Return a proposal and its tickets."""
    ids = []
    for who in ("a", "b"):
        ticket = f'{{"queues":["duel"],"players":[{{"id":"{name}-{who}"}}]}}'
        ids.append((await asked(one, "POST", "/v1/tickets", ticket))[1]["id"])
    _, seen = await asked(one, "GET", f"/v1/tickets/{ids[0]}")
    return seen["match"], ids


ONCE = {"accept 200": 4, "assignment 200": 1, "assignment 400": 1, "open 200": 1,
        "close 200": 1, "outcome 200": 1, "outcome 409": 1, "finish 200": 1}  # fmt: skip


def counts(services: Any) -> dict[str, int]:
    """Return how often each action on a match was answered how, by the metrics."""
    found = re.findall(
        r'evenmatch_request_seconds_count\{route="\w+ /v1/matches/\{match\}/(\w+)",status="(\d+)"'
        r"\} ([0-9.]+)",
        services.metrics.text().decode(),
    )
    return {f"{action} {status}": int(float(count)) for action, status, count in found}


def shape(answer: Any) -> str:
    """Return an answer without the ids, names and measured numbers that are its own."""
    text = re.sub(r"s0-m?\d+", "ID", json.dumps(answer))
    return re.sub(r"\d+\.\d+(e-?\d+)?", "N", re.sub(r"short|long", "NAME", text))


def test_what_hands_one_input_in_goes_past_asgi_unless_it_is_audited(tmp_path: Path) -> None:
    async def scene(wire: Any, games: Games) -> None:
        app: Any = App(games.services[0])
        routes = [each for each, _ in app._routes._routes.values()]
        direct = {f"{each.method} {each.path}" for each in routes if each.direct is not None}
        assert direct == {
            "PUT /v1/matches/{match}/assignment",
            *(
                f"POST /v1/matches/{{match}}/{end}"
                for end in ("outcome", "finish", "accept", "decline", "open", "close")
            ),
        }
        services = games.services[0]
        server = Server(services, Accounts(services.runtime.plan.settings))
        (row,) = (each for each in OPERATIONS if each.name == "finishMatch")
        assert guarded(row, server).direct is not None
        assert guarded(row._replace(is_audited=True), server).direct is None

    played(tmp_path, scene, CHECKED)


def test_a_match_lives_the_same_life_both_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[str] = []
    take, call = InputRoute.take, InputRoute.__call__

    def by_short(self: InputRoute, request: Any) -> None:
        taken.append("short")
        take(self, request)

    async def by_long(self: InputRoute, *given: Any) -> None:
        taken.append("long")
        await call(self, *given)

    monkeypatch.setattr(InputRoute, "take", by_short)
    monkeypatch.setattr(InputRoute, "__call__", by_long)

    async def life(one: Any, name: str, *way: str) -> list[tuple[int, Any]]:
        match, ids = await proposed(one, name)
        path = f"/v1/matches/{match}"
        place = '{"connection":"10.0.0.1:7777"}'
        opening = f'{{"roster_version":0,"left":["{name}-a"],"lease":30}}'
        return [
            await asked(one, *request, *way)
            for request in (
                ("POST", f"{path}/accept", f'{{"ticket":"{ids[0]}"}}'),
                ("POST", f"{path}/accept", f'{{"ticket":"{ids[0]}"}}'),
                ("POST", f"{path}/accept", f'{{"ticket":"{ids[1]}"}}'),
                ("PUT", f"{path}/assignment", place),
                ("PUT", f"{path}/assignment", "{}"),
                ("POST", f"{path}/open", opening),
                ("POST", f"{path}/close", ""),
                ("POST", f"{path}/outcome", '{"ranks":[1,2]}'),
                ("POST", f"{path}/outcome", '{"ranks":[2,1]}'),
                ("POST", f"{path}/finish", ""),
                ("POST", f"{path}/accept", f'{{"ticket":"{ids[0]}"}}'),
            )
        ]

    async def scene(wire: Any, games: Games) -> None:
        services = games.services[0]
        async with wire() as one:
            short = await life(one, "short")
            assert (taken, counts(services)) == (["short"] * 11, ONCE)
            long = await life(one, "long", *LONG)
            twice = {name: 2 * count for name, count in ONCE.items()}
            assert (taken[11:], counts(services)) == (["long"] * 11, twice)
        assert [status for status, _ in short] == [status for status, _ in long]
        assert [status for status, _ in short[:4]] == [200] * 4
        assert 409 in {status for status, _ in short}
        for (_, this), (_, other) in zip(short, long, strict=True):
            assert shape(this) == shape(other)

    played(tmp_path, scene, CHECKED)


@pytest.mark.parametrize("header", [*LONG, "evenmatch-forwarded: a node"])
def test_requests_of_pages_and_other_nodes_go_the_long_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, header: str
) -> None:
    def short(self: InputRoute, request: Any) -> None:
        raise AssertionError("it came past ASGI")

    monkeypatch.setattr(InputRoute, "take", short)

    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            assert (await asked(one, "POST", "/v1/matches/s0-m1/finish"))[0] == 500
            assert (await asked(one, "POST", "/v1/matches/s0-m1/finish", "", header))[0] == 404

    played(tmp_path, scene, CHECKED)


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/v1/matches/s0-m99/accept", '{"ticket":"s0-1"}', 404, "unknown_match"),
        ("/v1/matches/s0-m99/decline", '{"ticket":"nobody"}', 404, "unknown_match"),
        ("/v1/matches/s0-m99/finish", "", 404, "unknown_match"),
        ("/v1/matches/s0-m99/accept", "", 400, "invalid_request"),
        ("/v1/matches/s0-m99/outcome", '{"ranks":["x"]}', 400, "invalid_request"),
        ("/v1/matches/s0-m99/open", '{"roster_version":-1}', 400, "invalid_request"),
        ("/v1/matches/s0-m99/outcome", "x" * 300_000, 413, "body_too_large"),
        ("/v1/matches/s0-m99/nothing", "{}", 404, "not_found"),
    ],
)
def test_refusals_are_the_same_both_ways(
    tmp_path: Path, path: str, body: str, status: int, code: str
) -> None:
    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            ticket = '{"queues":["duel"],"players":[{"id":"alone"}]}'
            assert (await asked(one, "POST", "/v1/tickets", ticket))[0] == 201
            short = await asked(one, "POST", path, body)
            assert (short[0], short[1]["error"]) == (status, code)
            assert short == await asked(one, "POST", path, body, *LONG)
            # The connection goes on.
            assert (await asked(one, "GET", "/v1/tickets/s0-1"))[0] == 200

    played(tmp_path, scene, CHECKED)


def test_who_may_not_is_refused_the_same_both_ways(tmp_path: Path) -> None:
    (tmp_path / "players.secret").write_bytes(SECRET)
    tokens = Tokens("HS256", (str(tmp_path / "players.secret"),), AUDIENCE)
    reader = add_key(tmp_path, "reader", "read")
    backend = add_key(tmp_path, "backend", "matches")
    other_queue = add_key(tmp_path, "other", "tickets", "matches", queues=("else",))
    settings = ServerSettings(tokens=tokens, keys_file=str(tmp_path / "keys.json"))

    def by(credential: str) -> str:
        return f"authorization: Bearer {credential}"

    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            ids = []
            for name in ("a", "b"):
                ticket = f'{{"queues":["duel"],"players":[{{"id":"{name}"}}]}}'
                status, body = await asked(one, "POST", "/v1/tickets", ticket, by(token(name)))
                assert status == 201, body
                ids.append(body["id"])
            _, seen = await asked(one, "GET", f"/v1/tickets/{ids[0]}", "", by(token("a")))
            path, own = f"/v1/matches/{seen['match']}", f'{{"ticket":"{ids[0]}"}}'
            accept, place = f"{path}/accept", '{"connection":"10.0.0.1:7777"}'
            for expected, *request in (
                (401, "POST", accept, own),
                (401, "POST", accept, own, by("nonsense")),
                (403, "POST", accept, own, by(reader)),
                (404, "POST", accept, own, by(token("b"))),
                (404, "POST", accept, own, by(token("stranger"))),
                (404, "POST", accept, own, by(other_queue)),
                (404, "PUT", f"{path}/assignment", place, by(other_queue)),
                (404, "POST", f"{path}/outcome", '{"ranks":[1,2]}', by(token("stranger"))),
                (403, "POST", f"{path}/finish", "", by(token("a"))),
                (200, "POST", accept, own, by(token("a"))),
                (200, "POST", accept, f'{{"ticket":"{ids[1]}"}}', by(token("b"))),
                (403, "PUT", f"{path}/assignment", place, by(token("b"))),
                (200, "PUT", f"{path}/assignment", place, by(backend)),
            ):
                status, body = await asked(one, *request)
                assert status == expected, (request, body)
                if status != 200:
                    assert (status, body) == await asked(one, *request, *LONG)

    played(tmp_path, scene, CHECKED, given=settings)


def test_answers_keep_their_order_behind_one_another(tmp_path: Path) -> None:
    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            match, ids = await proposed(one, "p")
            path = f"/v1/matches/{match}"
            one.send(
                sent("POST", f"{path}/accept", f'{{"ticket":"{ids[0]}"}}')
                + sent("GET", f"/v1/tickets/{ids[0]}")
                + sent("POST", f"{path}/accept", f'{{"ticket":"{ids[1]}"}}')
                + sent("POST", f"{path}/outcome", '{"ranks":[1,2]}')
            )
            answers = [(await one.answer())[2] for _ in range(4)]
        assert [each.get("id") for each in answers[:3]] == [ids[0], ids[0], ids[1]]
        assert [each.get("state") for each in answers[:3]] == ["proposed", "proposed", "matched"]
        assert answers[3]["outcome"]["ranks"] == [1.0, 2.0]

    played(tmp_path, scene, CHECKED)


@pytest.mark.parametrize("way", [(), LONG], ids=["short", "long"])
def test_one_commit_answers_an_input_with_what_it_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: Sequence[str]
) -> None:
    """What others do while it is written is neither waited for nor told."""
    gate: list[asyncio.Event] = []
    append = MemoryJournal.append

    async def held(self: MemoryJournal, *given: Any) -> int:
        if gate:
            await gate.pop(0).wait()
        return await append(self, *given)

    monkeypatch.setattr(MemoryJournal, "append", held)

    async def scene(wire: Any, games: Games) -> None:
        engine = games.services[0].runtime.engine
        async with wire() as one, wire() as two:
            match, ids = await proposed(one, "p")
            path = f"/v1/matches/{match}/accept"
            first, second = asyncio.Event(), asyncio.Event()
            gate.extend((first, second))
            one.send(sent("POST", path, f'{{"ticket":"{ids[0]}"}}', *way))
            async with asyncio.timeout(GIVE_UP):
                while len(gate) == 2:
                    await asyncio.sleep(0)
            two.send(sent("POST", path, f'{{"ticket":"{ids[1]}"}}', *way))
            async with asyncio.timeout(GIVE_UP):
                while match not in engine.tables.matches:
                    await asyncio.sleep(0)
            first.set()
            status, _, ticket = await one.answer()
            second.set()
            assert (status, ticket["state"]) == (200, "proposed")
            assert (await two.answer())[2]["state"] == "matched"

    played(tmp_path, scene, CHECKED)


def with_players(tmp_path: Path) -> tuple[ServerSettings, str]:
    """Return settings by which players come with tokens, and the key of a backend."""
    (tmp_path / "players.secret").write_bytes(SECRET)
    tokens = Tokens("HS256", (str(tmp_path / "players.secret"),), AUDIENCE)
    key = add_key(tmp_path, "backend", "tickets")
    return ServerSettings(tokens=tokens, keys_file=str(tmp_path / "keys.json")), key


def held_back(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Let nothing become durable until the event is set."""
    gate = asyncio.Event()
    append = MemoryJournal.append

    async def held(self: MemoryJournal, *given: Any) -> int:
        await gate.wait()
        return await append(self, *given)

    monkeypatch.setattr(MemoryJournal, "append", held)
    return gate


@pytest.mark.parametrize("way", [(), LONG], ids=["short", "long"])
def test_refusal_that_rests_on_what_is_not_durable_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: Sequence[str]
) -> None:
    settings, key = with_players(tmp_path)

    async def scene(wire: Any, games: Games) -> None:
        gate = held_back(monkeypatch)
        engine = games.services[0].runtime.engine
        async with wire() as one, wire() as two:
            players = '{"id":"a"}', '{"id":"b"}'
            tickets = ",".join(f'{{"queues":["duel"],"players":[{each}]}}' for each in players)
            one.send(sent("POST", "/v1/tickets", f"[{tickets}]", f"authorization: Bearer {key}"))
            async with asyncio.timeout(GIVE_UP):
                while not engine.tables.matches:
                    await asyncio.sleep(0)
            (match,) = engine.tables.matches
            place, token_ = '{"connection":"10.0.0.1:7777"}', token("b")
            by = f"authorization: Bearer {token_}"
            two.send(sent("PUT", f"/v1/matches/{match}/assignment", place, by, *way))
            answer = asyncio.create_task(two.answer())
            await turns(50)
            was_told = answer.done()
            gate.set()
            status, _, problem = await answer
            assert not was_told
            assert (status, problem["error"]) == (403, "not_host")

    played(tmp_path, scene, given=settings)


@pytest.mark.parametrize("way", [(), LONG], ids=["short", "long"])
@pytest.mark.parametrize(
    "request_", [("PUT", "assignment", '{"connection":"a:1"}'), ("GET", "", ""),
                 ("POST", "outcome", '{"ranks":[1,2]}')], ids=["assign", "get", "report"]
)  # fmt: skip
def test_refusal_of_the_guard_waits_for_what_it_rests_on(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    way: Sequence[str],
    request_: tuple[str, str, str],
) -> None:
    settings, key = with_players(tmp_path)

    async def scene(wire: Any, games: Games) -> None:
        gate = held_back(monkeypatch)
        gate.set()
        engine = games.services[0].runtime.engine
        async with wire() as one, wire() as two:
            players = '{"id":"a"}', '{"id":"b"}'
            tickets = ",".join(f'{{"queues":["duel"],"players":[{each}]}}' for each in players)
            ours = f"authorization: Bearer {key}"
            one.send(sent("POST", "/v1/tickets", f"[{tickets}]", ours))
            assert (await one.answer())[0] == 200
            (match,) = engine.tables.proposals
            waiting = engine.tables.waiting.values()
            (own,) = [row.ticket.id for row in waiting if row.ticket.players[0].id == "a"]
            gate.clear()
            # With the one who declines the proposal ends, as soon as that is durable.
            body = f'{{"ticket":"{own}"}}'
            one.send(sent("POST", f"/v1/matches/{match}/decline", body, ours))
            async with asyncio.timeout(GIVE_UP):
                while match in engine.tables.proposals:
                    await asyncio.sleep(0)
            method, action, given = request_
            path = f"/v1/matches/{match}/{action}".rstrip("/")
            two.send(sent(method, path, given, f"authorization: Bearer {token('b')}", *way))
            answer = asyncio.create_task(two.answer())
            await turns(50)
            was_told = answer.done()
            gate.set()
            status, _, problem = await answer
            assert not was_told
            assert (status, problem["error"]) == (410, "proposal_over")

    unrepaired = CHECKED.replace("seconds = 60.0", "seconds = 60.0, repair = 0.0")
    played(tmp_path, scene, unrepaired, given=settings)


def test_input_with_its_look_is_one_answer_at_the_limit_of_what_waits(tmp_path: Path) -> None:
    async def scene(wire: Any, games: Games) -> None:
        shard = games.services[0].runtime.shard
        async with wire() as one:
            match, ids = await proposed(one, "p")
            shard.pending_max = 1
            body = f'{{"ticket":"{ids[0]}"}}'
            status, ticket = await asked(one, "POST", f"/v1/matches/{match}/accept", body)
            assert (status, ticket["accepted"]) == (200, ["p-a"])

    played(tmp_path, scene, CHECKED)


def test_client_that_reads_no_answers_costs_no_memory(tmp_path: Path) -> None:
    async def scene(wire: Any, games: Games) -> None:
        transports: list[Any] = []
        made = DirectRequest.__init__

        def noted(self: Any, connection: Any, *given: Any, **more: Any) -> None:
            transports.append(connection.transport)
            made(self, connection, *given, **more)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(DirectRequest, "__init__", noted)
            async with wire() as one:
                request = sent("POST", "/v1/matches/s0-m1/finish")
                one.reader._limit = 1
                for _ in range(40):
                    one.send(request * 1_000)
                    await turns(20)
                assert transports[0].get_write_buffer_size() < 500_000

    played(tmp_path, scene, CHECKED)


def test_signed_request_is_let_in_the_same_both_ways(tmp_path: Path) -> None:
    add_key(tmp_path, "backend", "matches")
    settings = ServerSettings(keys_file=str(tmp_path / "keys.json"))
    by = "authorization: AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/gamelift/aws4_request"

    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            path = "/v1/matches/s0-m1/finish"
            short = await asked(one, "POST", path, "", by)
            assert short == await asked(one, "POST", path, "", by, *LONG)
            assert "__type" in short[1]

    played(tmp_path, scene, given=settings)


@pytest.mark.parametrize("place", ["check_rights", "let_in"])
def test_bug_before_the_body_is_one_answer_and_no_malformed_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    def broken(*given: Any) -> None:
        monkeypatch.undo()
        raise RuntimeError("a bug")

    async def scene(wire: Any, games: Games) -> None:
        async with wire() as one:
            match, ids = await proposed(one, "p")
            request = "POST", f"/v1/matches/{match}/accept", f'{{"ticket":"{ids[0]}"}}'
            owner = Authorizer if place == "check_rights" else Authenticator
            monkeypatch.setattr(owner, place, broken)
            status, problem = await asked(one, *request)
            assert (status, problem["error"]) == (500, "internal")
            assert (await asked(one, *request))[0] == 200

    played(tmp_path, scene, CHECKED)


@pytest.mark.parametrize("place", ["input_of", "answer"])
@pytest.mark.parametrize("way", [(), LONG], ids=["short", "long"])
def test_bug_of_an_input_is_one_answer_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: Sequence[str], place: str
) -> None:
    async def scene(wire: Any, games: Games) -> None:
        services = games.services[0]
        async with wire() as one:
            match, ids = await proposed(one, "p")
            request = "POST", f"/v1/matches/{match}/accept", f'{{"ticket":"{ids[0]}"}}', *way

            def broken(*given: Any, **more: Any) -> None:
                monkeypatch.undo()
                raise RuntimeError("a bug")

            monkeypatch.setattr(AnswerReadyCheck, place, broken)
            assert (await asked(one, *request))[0] == 500
            # The shard goes on, and has the input where it got so far.
            assert services.runtime.failure is None
            has_it = bool(services.runtime.engine.tables.proposals[match].accepted)
            assert has_it == (place == "answer")
            assert (await asked(one, *request))[0] == 200
            text = services.metrics.text().decode()
        assert (
            'evenmatch_unexpected_errors_total{route="POST /v1/matches/{match}/accept"} 1.0' in text
        )
        assert counts(services) == {"accept 500": 1, "accept 200": 1}

    played(tmp_path, scene, CHECKED)
