"""A server on a socket, and clients that send it bytes as they are."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from evenmatch.config.files import load_scenario
from evenmatch.config.server import ServerLimits, ServerSettings
from evenmatch.server.http.timeouts import http_protocol, websocket_protocol
from evenmatch.server.runtime.games import Games, game
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.snapshots import SNAPSHOT_EVERY

DUELS = """
[[queue]]
name = "duel"
teams = 2
players = 1
policy = "greedy"
"""
GIVE_UP = 20.0


class Wire:
    """One connection to a server that speaks HTTP."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def answer(self) -> tuple[int, dict[str, str], Any]:
        async with asyncio.timeout(GIVE_UP):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            status = int(head[0].split(" ")[1])
            headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
            body = await self.reader.readexactly(int(headers.get("content-length", 0)))
        return status, headers, json.loads(body) if body else None

    async def is_closed(self) -> bool:
        async with asyncio.timeout(GIVE_UP):
            return await self.reader.read(1) == b""


def played(
    tmp_path: Path,
    scene: Callable[[Any, Games], Awaitable[None]],
    text: str = DUELS,
    given: ServerSettings | None = None,
    **limits: Any,
) -> None:
    """Run a scene against a server; the scene gets what opens connections."""
    config = tmp_path / "served.toml"
    config.write_text(text)
    settings = given or ServerSettings(limits=ServerLimits(**limits))
    plan = ShardPlan(load_scenario(config).queues, settings=settings)

    async def run() -> None:
        games = Games([game(plan)], snapshot_every=SNAPSHOT_EVERY)
        await games.start()
        sockets = websocket_protocol()
        uv = uvicorn.Config(
            games.gate, lifespan="off", log_config=None, server_header=False, ws=sockets
        )
        uv.load()
        protocol: Any = http_protocol(lambda: games.gate)
        state = ServerState()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: protocol(uv, state, {}), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]

        @asynccontextmanager
        async def wire() -> Any:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                yield Wire(reader, writer)
            finally:
                writer.close()

        wire.connections = state.connections  # type: ignore[attr-defined]
        try:
            await scene(wire, games)
        finally:
            server.close()
            await games.stop()

    asyncio.run(run())
