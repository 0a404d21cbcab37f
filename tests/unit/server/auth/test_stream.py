"""The stream of many tickets: who may open it, and what of it a player hears."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
