"""One WebSocket of a client whose tickets are in several shards.

Each shard is followed over a socket of its own, here or at its owner, when the client first asks
for one of its tickets. When one of them ends, the client's does, and it comes again.

Each shard counts records by itself, so the highest sequence that a client has seen says nothing
about another shard: the present state of each ticket comes first, whatever `after` says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from evenmatch.errors import MatchmakingError
from evenmatch.model.shards import FIRST, shard_of
from evenmatch.server.cluster.ask_shards import Serve
from evenmatch.server.cluster.seat import Seat
from evenmatch.server.http.responses import (
    Message,
    Receive,
    Scope,
    Send,
    encode,
    problem_of,
    send_body,
)
from evenmatch.server.http.sockets import CUT, denying
from evenmatch.wire.live import FollowTickets
from evenmatch.wire.tickets import BAD

WAITING_MAX = 64
"""Messages of a client that wait for one shard."""


class ManySockets:
    """The sockets of one client to several shards.

    Args:
        by_shard: All shards, by name; the one called `FIRST` judges who may come in, and what is
            wrong with a message.
        serve: Serves a socket for one.
    """

    def __init__(self, by_shard: Mapping[str, Seat], serve: Serve) -> None:
        self._first = by_shard[FIRST]
        self._by_shard = by_shard
        self._serve = serve
        self._inboxes: dict[Seat, asyncio.Queue[Message]] = {}
        # In the order in which they began: a set of objects has another in each process.
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._sending = asyncio.Lock()
        self._ended = asyncio.Event()
        self._is_taken_in = False
        self._is_over = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the client until it leaves or a shard is lost."""
        if (await receive())["type"] != "websocket.connect":
            return
        self._begin(self._first, scope, send)
        reading = asyncio.create_task(self._read(scope, receive, send))
        ended = asyncio.create_task(self._ended.wait())
        try:
            await asyncio.wait((reading, ended), return_when=asyncio.FIRST_COMPLETED)
        finally:
            ending = (reading, ended, *self._tasks)
            for task in ending:
                task.cancel()
            await asyncio.gather(*ending, return_exceptions=True)

    def _begin(self, seat: Seat, scope: Scope, send: Send) -> asyncio.Queue[Message]:
        inbox: asyncio.Queue[Message] = asyncio.Queue(WAITING_MAX)
        inbox.put_nowait({"type": "websocket.connect"})
        self._inboxes[seat] = inbox
        one = {**scope, "headers": list(scope["headers"])}
        one["subprotocols"] = list(scope.get("subprotocols") or ())
        task = asyncio.create_task(self._follow(seat, one, inbox, send))
        self._tasks[task] = None
        return inbox

    async def _follow(
        self, seat: Seat, scope: Scope, inbox: asyncio.Queue[Message], send: Send
    ) -> None:
        """Serve the tickets of one shard; its end is that of the client's socket."""

        async def told(message: Message) -> None:
            await self._tell(seat, message, send)

        try:
            await self._serve(seat, scope, inbox.get, told)
        except MatchmakingError as error:
            status, problem = problem_of(error)
            await send_body(denying(told), status, encode(problem))
        finally:
            self._ended.set()

    async def _tell(self, seat: Seat, message: Message, send: Send) -> None:
        """Tell the client what one shard says."""
        kind = message["type"]
        async with self._sending:
            if self._is_over:
                return
            if kind == "websocket.accept":
                if self._is_taken_in:
                    return
                self._is_taken_in = True
            elif kind.startswith("websocket.http.") and self._is_taken_in:
                # A shard that refuses later than the first one: the client is to come again.
                self._is_over = True
                message = {"type": "websocket.close", "code": CUT}
            elif kind == "websocket.close":
                self._is_over = True
            await send(message)

    async def _read(self, scope: Scope, receive: Receive, send: Send) -> None:
        while (message := await receive())["type"] == "websocket.receive":
            for seat, one in self._parted(message).items():
                inbox = self._inboxes.get(seat) or self._begin(seat, scope, send)
                await inbox.put(one)

    def _parted(self, message: Message) -> dict[Seat, Message]:
        """Return what a message says to each shard."""
        try:
            command = msgspec.json.decode(message.get("text") or "", type=FollowTickets)
        except BAD:
            return {self._first: message}
        if command.after < 0 or not (command.follow or command.unfollow):
            return {self._first: message}
        parts: dict[Seat, dict[str, list[str]]] = {}
        for word, ids in (("follow", command.follow), ("unfollow", command.unfollow)):
            for each in ids:
                seat = self._by_shard.get(shard_of(each), self._first)
                parts.setdefault(seat, {}).setdefault(word, []).append(each)
        return {seat: _message(one) for seat, one in parts.items()}


def _message(command: Mapping[str, Any]) -> Message:
    return {"type": "websocket.receive", "text": encode(command).decode()}
