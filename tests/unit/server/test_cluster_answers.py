"""Answers that nodes collect before they give them back: whole, or not at all."""

import asyncio
import json
from typing import Any, cast

import pytest

from evenmatch.errors import JournalUnavailable
from evenmatch.server.cluster import direct_routing
from evenmatch.server.cluster.ask_shards import ask_each_shard, whole_answer
from evenmatch.server.cluster.direct_routing import answer_by_asgi
from evenmatch.server.cluster.seat import Seat
from evenmatch.server.http.responses import Asgi, InvalidRequest, Receive, Scope, Send, send_body

SCOPE: Scope = {"type": "http", "headers": [], "query_string": b""}


def telling(*parts: bytes, is_whole: bool) -> Asgi:
    """Return an app that says this, and then ends as it does when the owner dies."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        head = [(b"content-length", b"%d" % len(b"".join(parts))), (b"x-theirs", b"1")]
        await send({"type": "http.response.start", "status": 201, "headers": head})
        for part in parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        if is_whole:
            await send({"type": "http.response.body"})

    return app


async def silent(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer nothing."""


async def refusing(scope: Scope, receive: Receive, send: Send) -> None:
    raise InvalidRequest("no")


async def failing(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 201, "headers": []})
    raise ZeroDivisionError


async def echoing(scope: Scope, receive: Receive, send: Send) -> None:
    await send_body(send, 200, (await receive())["body"])


def replies(app: Asgi) -> list[tuple[int, Any]]:
    found: list[tuple[int, Any]] = []
    asyncio.run(
        answer_by_asgi(app, SCOPE, b'"b"', lambda s, body, h: found.append((s, json.loads(body))))
    )
    return found


def test_answer_in_parts_is_put_together() -> None:
    answer = asyncio.run(whole_answer(telling(b"a", b"b", is_whole=True), SCOPE, b""))
    assert answer == (201, ((b"x-theirs", b"1"),), b"ab")


@pytest.mark.parametrize("app", [telling(b"a", is_whole=False), telling(is_whole=False), silent])
def test_answer_that_is_cut_off_is_none(app: Asgi) -> None:
    with pytest.raises(JournalUnavailable, match="whether this was done is not known"):
        asyncio.run(whole_answer(app, SCOPE, b""))
    ((status, problem),) = replies(app)
    assert (status, problem["error"]) == (503, "unavailable")


def test_shard_whose_answer_is_cut_off_is_unavailable() -> None:
    apps = {"one": echoing, "two": telling(b"[1", is_whole=False)}

    async def serve(seat: Seat, scope: Scope, receive: Receive, send: Send) -> None:
        await apps[cast(str, seat)](scope, receive, send)

    seats = cast(list[Seat], list(apps))
    told = asyncio.run(ask_each_shard(serve, seats, SCOPE, b"[]"))
    assert [answer.status for _, answer in told] == [200, 503]


def test_create_is_answered_with_what_comes_or_what_is_wrong() -> None:
    assert replies(echoing) == [(200, "b")]
    ((status, problem),) = replies(refusing)
    assert (status, problem["error"]) == (400, "invalid_request")


def test_create_that_fails_in_a_way_nobody_foresaw_is_answered_and_logged_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    logged: list[str] = []

    class Log:
        def error(self, event: str, **about: object) -> None:
            logged.append(event)

    monkeypatch.setattr(direct_routing, "log", Log())
    ((status, problem),) = replies(failing)
    assert (status, problem["error"]) == (503, "unavailable")
    assert logged == ["forwarding_failed"]
