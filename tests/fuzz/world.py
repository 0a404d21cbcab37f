"""A server with queues of every kind, with tickets and matches in every state."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import msgspec
from msgspec.structs import replace

from evenmatch.model.queue import Criterion, Expansion, Queue, ReadyCheck, Rule, Scale
from evenmatch.model.queue import Format as Seats
from evenmatch.server.auth.principal import LOCAL
from evenmatch.server.http.app import App
from evenmatch.server.runtime.kernel_compilation import warm_up
from evenmatch.server.runtime.recovery import ShardPlan
from tests.callers import Site, add_key, token

RATING = Criterion("spread", "rating", scale=Scale(max=3000.0))
QUEUES = (
    Queue(
        name="duel",
        policy="window",
        criteria=(RATING,),
        rules=(Rule("spread", "rating", 100.0, expand=Expansion(rate=1.0)),),
        rating="glicko2",
        silent_after=3600.0,
    ),
    Queue(
        name="checked",
        policy="greedy",
        accept=ReadyCheck(seconds=3600.0),
        criteria=(RATING,),
        group="checked",
        rating="glicko2",
    ),
    Queue(
        name="filled",
        format=Seats(players=(2, 2)),
        policy="greedy",
        backfill="manual",
        group="filled",
    ),
    Queue(name="cast", format=Seats(players=(2, 2), roles=(("tank", 1), ("dps", 1)))),
    Queue(
        name="sided",
        format=Seats(players=(1, 1), sides=("A", "B")),
        policy="greedy",
        attributes=("mode",),
    ),
)
PATIENCE = 0.02
"""Seconds that a client waits for more once it could leave."""
SECONDS_MAX = 20.0


COMPILED = ("price", "rounds:every=1", "rolling")
"""Policies that requests choose, and whose kernels may never have been compiled here."""


class Reply(NamedTuple):
    """A whole answer; status 0 if there was none before the client left."""

    status: int
    headers: dict[str, list[str]]
    body: bytes


class World:
    """A server without a socket, and the ids of what is in it.

    Args:
        folder: For keys and secrets.
        keyed: Whether callers need a key.
    """

    def __init__(self, folder: Path, *, keyed: bool) -> None:
        self.folder, self.keyed = folder, keyed
        # Compiling takes longer than a request may.
        warm_up(ShardPlan(tuple([replace(QUEUES[0], policy=spec) for spec in COMPILED])))
        self.runner = asyncio.Runner()
        self.credentials = ["", "", "em_000000000000_none", "eyJhbGciOiJub25lIn0.e30."]
        if keyed:
            key = add_key(folder)
            self.credentials += [key] * 16
            self.credentials += [add_key(folder, "narrow", queues=("duel",))]
            self.credentials += [token("p1"), token("p1"), token("c1")]
        self.begin()

    def begin(self) -> None:
        """Start anew: what requests have changed is gone."""
        self.site = Site(self.folder, queues=QUEUES, guests=self.keyed)
        self.app = self.site.gate if self.keyed else _open(self.site)
        self.runner.run(self.site.parts.runtime.start())
        self.tickets: list[str] = []
        self.matches: list[str] = []
        self.runner.run(self._populate())

    def end(self) -> None:
        """Stop the server."""
        self.site.parts.allocations.close()
        self.runner.run(self.site.parts.runtime.stop())

    def close(self) -> None:
        """Stop everything."""
        self.end()
        self.runner.close()

    def call(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes = b""
    ) -> Reply:
        """Send a request, and leave a stream after its first part."""
        return self.runner.run(self._call(method, target, headers, body))

    async def _call(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes = b""
    ) -> Reply:
        path, _, query = target.partition("?")
        parts: list[bytes] = []
        start: dict[str, Any] = {}
        asked, leave = False, asyncio.Event()

        async def receive() -> dict[str, Any]:
            nonlocal asked
            if not asked:
                asked = True
                return {"type": "http.request", "body": body, "more_body": False}
            await leave.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            else:
                parts.append(message.get("body", b""))
                if message.get("more_body"):
                    asyncio.get_running_loop().call_later(PATIENCE, leave.set)

        raw = [(k.lower().encode("latin-1"), v.encode("latin-1")) for k, v in headers.items()]
        scope = {
            "type": "http", "method": method, "path": unquote(path), "raw_path": path.encode(),
            "query_string": query.encode("latin-1"), "root_path": "", "headers": raw,
            "client": ("127.0.0.1", 12345), "server": ("127.0.0.1", 80), "scheme": "http",
        }  # fmt: skip
        async with asyncio.timeout(SECONDS_MAX):
            await self.app(scope, receive, send)
        found: dict[str, list[str]] = {}
        for name, value in start.get("headers", ()):
            found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        return Reply(start.get("status", 0), found, b"".join(parts))

    async def _ask(self, method: str, path: str, body: Any = None) -> Any:
        key = self.credentials[4] if self.keyed else ""
        headers = {"authorization": f"Bearer {key}"} if key else {}
        data = b"" if body is None else msgspec.json.encode(body)
        reply = await self._call(method, path, headers, data)
        assert reply.status < 300, reply
        return msgspec.json.decode(reply.body)

    async def _enter(self, queue: str, *names: str, **facts: Any) -> str:
        players = [{"id": name} for name in names]
        new = {"queues": [queue], "players": players, "attributes": facts}
        ticket: str = (await self._ask("POST", "/v1/tickets", new))["id"]
        self.tickets.append(ticket)
        return ticket

    async def _match_of(self, ticket: str) -> str:
        match: str = (await self._ask("GET", f"/v1/tickets/{ticket}"))["match"]
        self.matches.append(match)
        return match

    async def _populate(self) -> None:
        """Bring tickets and matches into every state there is."""
        await self._enter("duel", "p9", rating=2900.0)
        await self._enter("sided", "p8", side="A", mode="ranked")
        gone = await self._enter("duel", "p7")
        await self._ask("DELETE", f"/v1/tickets/{gone}")
        for at in range(4):
            await self._enter("duel", f"p{2 * at}" if at else "p1", rating=1500.0)
            if at % 2:
                await self._match_of(self.tickets[-1])
        await self._ask("PUT", f"/v1/matches/{self.matches[0]}/assignment", {"address": "here"})
        await self._ask("POST", f"/v1/matches/{self.matches[1]}/outcome", {"ranks": [1, 2]})
        for one in ("c", "d"):
            await self._enter("checked", f"{one}1", rating=1500.0)
            await self._enter("checked", f"{one}2", rating=1500.0)
            proposed = await self._match_of(self.tickets[-1])
            accepted = {"ticket": self.tickets[-1]}
            if one == "d":
                await self._ask("POST", f"/v1/matches/{proposed}/accept", accepted)
        for at in range(4):
            await self._enter("filled", f"f{at}")
        running = await self._match_of(self.tickets[-1])
        await self._ask(
            "POST", f"/v1/matches/{running}/open", {"roster_version": 0, "left": ["f0"]}
        )


def _open(site: Site) -> Any:
    """Return the game as a server without keys has it."""
    app = App(site.parts)

    async def local(scope: Any, receive: Any, send: Any) -> None:
        scope["principal"] = LOCAL
        await app(scope, receive, send)

    return local
