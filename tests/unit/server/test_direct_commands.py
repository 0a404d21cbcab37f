"""Commands that go past ASGI: the same answers as by the long way, after one commit."""

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evenmatch.config.server import ServerSettings, Tokens
from evenmatch.journals.memory import MemoryJournal
from evenmatch.server.http.commands import CommandRoute
from evenmatch.server.runtime.games import Games
from tests.callers import AUDIENCE, SECRET, add_key, token
from tests.unit.server.raw_http import GIVE_UP, played

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


def shape(answer: Any) -> str:
    """Return an answer without the ids, names and measured numbers that are its own."""
    text = re.sub(r"s0-m?\d+", "ID", json.dumps(answer))
    return re.sub(r"\d+\.\d+(e-?\d+)?", "N", re.sub(r"short|long", "NAME", text))


def test_a_match_lives_the_same_life_both_ways(tmp_path: Path) -> None:
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
        async with wire() as one:
            short, long = await life(one, "short"), await life(one, "long", *LONG)
        assert [status for status, _ in short] == [status for status, _ in long]
        assert [status for status, _ in short[:4]] == [200] * 4
        assert 409 in {status for status, _ in short}
        for (_, this), (_, other) in zip(short, long, strict=True):
            assert shape(this) == shape(other)

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
def test_one_commit_answers_a_command_with_what_it_made(
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
            assert (status, ticket["state"]) == (200, "proposed")
            second.set()
            assert (await two.answer())[2]["state"] == "matched"

    played(tmp_path, scene, CHECKED)


def test_bug_in_a_command_is_one_answer_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(wire: Any, games: Games) -> None:
        services = games.services[0]
        async with wire() as one:
            match, ids = await proposed(one, "p")
            body = f'{{"ticket":"{ids[0]}"}}'

            def broken(self: CommandRoute, request: Any, status: int) -> None:
                monkeypatch.undo()
                raise RuntimeError("a bug")

            monkeypatch.setattr(CommandRoute, "_count", broken)
            assert (await asked(one, "POST", f"/v1/matches/{match}/accept", body))[0] == 200
            assert services.runtime.failure is None
            assert (await asked(one, "POST", f"/v1/matches/{match}/accept", body))[0] == 200
            text = services.metrics.text().decode()
        route = 'route="POST /v1/matches/{match}/accept"'
        assert f"evenmatch_unexpected_errors_total{{{route}}} 1.0" in text

    played(tmp_path, scene, CHECKED)
