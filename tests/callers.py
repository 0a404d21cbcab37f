"""Callers of a server with keys, without a socket: services, players, and people who pretend."""

import asyncio
import json
import secrets
import time
import tomllib
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jwt
import msgspec

from evenmatch.config.files import server_of
from evenmatch.config.server import ServerLimits, ServerSettings, Tokens
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.queue import Queue
from evenmatch.server.auth.accounts import Accounts
from evenmatch.server.auth.authenticate import Authenticator, GameEntrance
from evenmatch.server.auth.keys import new_key, read_keys, write_keys
from evenmatch.server.http.app import App
from evenmatch.server.http.responses import Message
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.services import Services, assemble

SECRET = b"a secret of a test, 32 bytes long"
AUDIENCE = "a-game"
QUEUES = (
    Queue(name="duel", policy="greedy"),
    Queue(name="ranked", policy="greedy", attributes=("latency", "household", "mode")),
)


class Reply(NamedTuple):
    status: int
    body: Any
    headers: dict[str, str]


class Site:
    """One game behind a gate, on a journal in memory."""

    def __init__(
        self,
        folder: Path,
        *,
        queues: tuple[Queue, ...] = QUEUES,
        limits: ServerLimits | None = None,
        tenant: str = "",
        audience: str = AUDIENCE,
        config: str = "",
        **settings: Any,
    ) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        secret = folder / "players.secret"
        if not secret.exists():
            secret.write_bytes(SECRET)
        tokens = Tokens("HS256", (str(secret),), audience)
        self.settings = ServerSettings(
            **{"tokens": tokens, "limits": limits or ServerLimits(), **settings}
        )
        plan = ShardPlan(queues, settings=self.settings)
        if config:
            document = tomllib.loads(config)
            queues, _, seed = server_of(document)
            plan = ShardPlan(queues, seed, self.settings, document=document)
        self.parts: Services = assemble(plan, MemoryJournal())
        self.accounts = Accounts(self.settings, folder, tenant)
        drain = self.parts.drain
        self.entrance = GameEntrance(
            self.accounts, App(self.parts, self.accounts), self.parts.followers.cut_all,
            turned_away=self.parts.metrics.turned_away,
            is_draining=lambda: drain.is_on,
        )  # fmt: skip
        self.gate = Authenticator([self.entrance])

    async def call(self, method: str, path: str, body: Any = None, **more: Any) -> Reply:
        return await call(self.gate, method, path, body, **more)

    async def gamelift(self, operation: str, key: str, **body: Any) -> Reply:
        """Send one of GameLift's calls in JSON."""
        headers = {"x-amz-target": f"GameLift.{operation}"}
        reply = await self.call("POST", "/", body, key=key, headers=headers)
        return reply._replace(body=json.loads(reply.body))


def add_key(folder: Path, name: str = "backend", *rights: str, queues: tuple[str, ...] = (),
            expires: float | None = None) -> str:  # fmt: skip
    """Put a key into a folder's file, and return its text."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "keys.json"
    present = read_keys(path) if path.exists() else ()
    key, text = new_key(
        name, rights or ("tickets", "matches", "operate", "read"), queues=queues, now=time.time(),
        expires=expires,
    )  # fmt: skip
    write_keys(path, (*present, key))
    return text


def token(player: str, *, secret: bytes = SECRET, algorithm: str = "HS256", **claims: Any) -> str:
    """Return a player's token; `claims` go over the usual ones, None leaves one out."""
    now = int(time.time())
    usual = {"sub": player, "aud": AUDIENCE, "iat": now, "exp": now + 7_200}
    chosen = {name: value for name, value in {**usual, **claims}.items() if value is not None}
    return jwt.encode(chosen, secret, algorithm=algorithm)


async def call(
    app: Any,
    method: str,
    path: str,
    body: Any = None,
    *,
    key: str | None = None,
    headers: Mapping[str, str] = {},
    client: str = "192.0.2.1",
    raw: bytes | None = None,
    meanwhile: Callable[[], Awaitable[object]] | None = None,
) -> Reply:
    """Send one request, and return the whole answer; a stream is left after its first parts.

    What is to happen `meanwhile` happens between the request's headers and its body.
    """
    path, _, query = path.partition("?")
    given = {"host": "game.example", **headers}
    if key is not None:
        given["authorization"] = f"Bearer {key}"
    sent: list[Message] = []
    data = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
    said = iter([{"type": "http.request", "body": data, "more_body": False}])

    async def receive() -> Message:
        if meanwhile is not None:
            await meanwhile()
        if (message := next(said, None)) is None:
            # The client stays; a server that is told nothing of it watches for its leaving.
            await asyncio.Event().wait()
        assert message is not None
        return message

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(),
        "query_string": query.encode(), "root_path": "", "client": (client, 12345),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in given.items()],
    }  # fmt: skip
    await app(scope, receive, send)
    whole = b"".join(message.get("body", b"") for message in sent[1:])
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    is_json = found.get("content-type", "").startswith("application/json")
    return Reply(sent[0]["status"], msgspec.json.decode(whole) if is_json else whole, found)


def play(scene: Callable[[], Awaitable[None]]) -> None:
    """Run a scene to its end, or fail after 20 s."""

    async def bounded() -> None:
        async with asyncio.timeout(20.0):
            await scene()

    asyncio.run(bounded())


def with_site(folder: Path, scene: Callable[[Site], Awaitable[None]], **settings: Any) -> None:
    """Run a scene on a started site."""

    async def whole() -> None:
        site = Site(folder, **settings)
        await site.parts.runtime.start()
        await scene(site)
        await site.parts.runtime.stop()

    play(whole)


def duel(*players: str, **more: Any) -> dict[str, Any]:
    """Return the body of a create."""
    return {"queues": ["duel"], "players": [{"id": player} for player in players], **more}


def random_secret() -> bytes:
    return secrets.token_bytes(32)
