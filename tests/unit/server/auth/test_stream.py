"""The stream of many tickets: who may open it, and what of it a player hears."""

import asyncio
import json
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evenmatch.server.auth.keys import read_keys, write_keys
from evenmatch.server.http.sockets import CUT, NOT_VALID
from tests.callers import Site, add_key, duel, token, with_site


class Socket:
    """One WebSocket, without a wire."""

    def __init__(self, site: Site, *protocols: str, headers: Mapping[str, str] = {}) -> None:
        self.sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._given: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._given.put_nowait({"type": "websocket.connect"})
        pairs = {"host": "game.example", **headers}.items()
        self.scope: dict[str, Any] = {
            "type": "websocket", "path": "/v1/stream", "raw_path": b"/v1/stream", "root_path": "",
            "query_string": b"", "headers": [(k.encode(), v.encode()) for k, v in pairs],
            "subprotocols": list(protocols), "client": ("192.0.2.1", 1),
        }  # fmt: skip
        self.task = asyncio.create_task(site.gate(self.scope, self._given.get, self._send))

    async def _send(self, message: Any) -> None:
        self.sent.put_nowait(dict(message))

    async def next(self) -> dict[str, Any]:
        return await self.sent.get()

    def say(self, **command: Any) -> None:
        self._given.put_nowait({"type": "websocket.receive", "text": json.dumps(command)})

    async def leave(self) -> None:
        self._given.put_nowait({"type": "websocket.disconnect", "code": 1000})
        await self.task


def test_player_hears_of_his_own_ticket_only(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        ann, bob = token("ann"), token("bob")
        own = (await site.call("POST", "/v1/tickets", duel("ann"), key=ann)).body["id"]
        await site.call("DELETE", f"/v1/tickets/{own}", key=ann)
        other = (await site.call("POST", "/v1/tickets", duel("bob"), key=bob)).body["id"]
        socket = Socket(site, "evenmatch", f"bearer.{ann}")
        accepted = await socket.next()
        assert accepted == {"type": "websocket.accept", "subprotocol": "evenmatch"}
        assert socket.scope["subprotocols"] == ["evenmatch"], "the token is for the gate alone"
        socket.say(follow=[own, other, "s0-77"])
        heard = [json.loads((await socket.next())["text"]) for _ in range(3)]
        by_name = {(each["event"], each.get("ticket", "")) if each["event"] == "problem"
                   else (each["event"], each["ticket"]["id"]): each for each in heard}  # fmt: skip
        assert set(by_name) == {("cancelled", own), ("problem", other), ("problem", "s0-77")}
        foreign, unknown = by_name["problem", other], by_name["problem", "s0-77"]
        assert foreign["problem"]["error"] == unknown["problem"]["error"] == "unknown_ticket"
        await socket.leave()

    with_site(tmp_path, scene)


def test_stranger_is_answered_as_over_http(tmp_path: Path) -> None:
    reader = add_key(tmp_path, "board", "read")

    async def scene(site: Site) -> None:
        cases: list[tuple[list[str], dict[str, str], int]] = [
            ([], {}, 401),
            (["evenmatch", "bearer.forged"], {}, 401),
            ([], {"authorization": f"Bearer {reader}"}, 403),
        ]
        for protocols, headers, status in cases:
            socket = Socket(site, *protocols, headers=headers)
            answer = await socket.next()
            assert (answer["type"], answer["status"]) == ("websocket.http.response.start", status)
            await socket.task

    with_site(tmp_path, scene)


async def get(site: Site, path: str, key: str, method: str = "GET") -> tuple[int, bool]:
    """Return the status of a request whose client stays, and whether the server ended it."""
    path, _, query = path.partition("?")
    sent: list[Any] = []

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(),
        "query_string": query.encode(), "root_path": "", "client": ("192.0.2.1", 1),
        "headers": [(b"host", b"game.example"), (b"authorization", f"Bearer {key}".encode())],
    }  # fmt: skip
    await site.gate(scope, receive, send)
    return sent[0]["status"], not sent[-1].get("more_body", False)


def test_nobody_stays_longer_than_his_token_counts(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        expires = int(time.time()) + 600
        ann = token("ann", exp=expires)
        own = (await site.call("POST", "/v1/tickets", duel("ann"), key=ann)).body["id"]
        leeway = site.settings.tokens.leeway
        site.parts.runtime.wall = lambda: expires + leeway - 0.3
        socket = Socket(site, "evenmatch", f"bearer.{ann}")
        assert (await socket.next())["type"] == "websocket.accept"
        socket.say(follow=[own])
        assert json.loads((await socket.next())["text"])["event"] == "waiting"
        assert await socket.next() == {"type": "websocket.close", "code": NOT_VALID}
        await socket.task
        assert await get(site, f"/v1/tickets/{own}/events", ann) == (200, True)
        assert await get(site, f"/v1/tickets/{own}/events", ann, "HEAD") == (200, True)
        assert await get(site, f"/v1/tickets/{own}?wait=30", ann) == (401, True)
        assert len(site.parts.followers) == 0

    with_site(tmp_path, scene)


def test_revoked_key_is_told_not_to_come_back_and_the_others_are_asked_to(tmp_path: Path) -> None:
    keys = [add_key(tmp_path, "one"), add_key(tmp_path, "two"), token("ann")]

    async def scene(site: Site) -> None:
        sockets = [Socket(site, f"bearer.{key}") for key in keys]
        for socket in sockets:
            assert (await socket.next())["type"] == "websocket.accept"
        path = tmp_path / "keys.json"
        one, two = read_keys(path)
        write_keys(path, (msgspec.structs.replace(one, revoked=time.time()), two))
        site.gate.look()
        told = [await socket.next() for socket in sockets]
        assert [each["code"] for each in told] == [NOT_VALID, CUT, CUT]
        for socket in sockets:
            await socket.leave()

    with_site(tmp_path, scene)


def test_player_stays_in_so_many_places(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        places, ann, bob = site.accounts.places, token("ann"), token("bob")
        made = await site.call("POST", "/v1/tickets", duel("ann"), key=ann)
        sockets = [Socket(site, f"bearer.{ann}") for _ in range(places.most)]
        for socket in sockets:
            assert (await socket.next())["type"] == "websocket.accept"
        one_more = Socket(site, f"bearer.{ann}")
        assert (await one_more.next())["status"] == 429
        path = f"/v1/tickets/{made.body['id']}"
        polled = await site.call("GET", path + "?wait=1", key=ann)
        assert (polled.status, polled.body["error"]) == (429, "too_many_requests")
        assert polled.headers["retry-after"] == "1"
        streamed = await site.call("GET", path + "/events", key=ann)
        assert (streamed.status, streamed.body["error"]) == (429, "too_many_requests")
        looked = await site.call("GET", path, key=ann)
        assert looked.status == 200, "a look takes no place"
        told = site.parts.metrics.text().decode()
        assert 'evenmatch_refused_callers_total{reason="too_many_requests"} 3.0' in told
        refused = re.findall(r'_count\{[^}]*status="429"\} (\S+)', told)
        assert set(map(float, refused)) == {0.0}, "a busy player is no busy server"
        assert (await site.call("DELETE", path, key=ann)).status == 200, "what ends is not counted"
        other = Socket(site, f"bearer.{bob}")
        assert (await other.next())["type"] == "websocket.accept"
        for socket in (*sockets, other):
            await socket.leave()
        assert len(places) == len(site.parts.followers) == 0
        assert (await site.call("GET", path, key=ann)).status == 200

    with_site(tmp_path, scene)


def test_each_message_is_a_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = add_key(tmp_path)
    waits = [0.0, 0.01, 0.01, 0.0, 0.0]

    async def scene(site: Site) -> None:
        taken: list[float] = []

        def take(caller: str, now: float) -> float:
            taken.append(waits[len(taken)] if len(taken) < len(waits) else 0.0)
            return taken[-1]

        monkeypatch.setattr(site.accounts.service_buckets, "take", take)
        socket = Socket(site, headers={"authorization": f"Bearer {service}"})
        assert (await socket.next())["type"] == "websocket.accept"
        assert len(taken) == 1
        socket.say(follow=["s0-77"])
        await socket.next()
        assert taken == waits[:4], "it is read when the bucket holds a request again"
        socket.say(follow=[f"s0-{number}" for number in range(1, 302)])
        for _ in range(301):
            await socket.next()
        assert len(taken) == 4 + 1 + 3, "many tickets are several requests"
        await socket.leave()

    with_site(tmp_path, scene)


def test_key_for_some_queues_sees_their_dashboard(tmp_path: Path) -> None:
    reader = add_key(tmp_path, "board", "read", queues=("duel",), expires=time.time() + 600.0)

    async def scene(site: Site) -> None:
        path = "/v1/dashboard/events"
        for query in ("?queue=ranked", "?queue=duel&queue=ranked", "?queue="):
            reply = await site.call("GET", path + query, key=reader)
            assert (reply.status, reply.body["error"]) == (403, "forbidden"), query
        now = time.time()
        site.parts.runtime.wall = lambda: now + 599.9
        # Without a name it is the first of its own, so a page need not be refused to learn it.
        for query in ("?queue=duel", ""):
            assert await get(site, path + query, reader) == (200, True)

    with_site(tmp_path, scene)
