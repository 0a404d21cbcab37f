"""Requests to webhooks and to Agones for a game server, and what their answers mean.

Both are asked once per try and answer with an assignment, with "later", or with a reason why there
is none. `Evenmatch-Match` and `Idempotency-Key` are the same in each try of a match, so that a hook
which has found a server already can answer with the same one again.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec

from evenmatch.config.server import Allocation
from evenmatch.engine.state.rows import Roster
from evenmatch.errors import ConfigError
from evenmatch.model.match import Match
from evenmatch.server.http.responses import ASSIGNMENT_BYTES_MAX, ASSIGNMENT_ENTRIES_MAX, encode
from evenmatch.server.runtime.secret_files import read_secret
from evenmatch.wire.http1 import Connection, HttpResponse
from evenmatch.wire.matches import match_state

SECRET_BYTES_MAX = 4_096
AGAIN = frozenset({408, 409, 425, 429})
"""Statuses below 500 after which it is worth trying again."""
KUBERNETES = "/apis/allocation.agones.dev/"


class AllocatedPlace(msgspec.Struct, frozen=True):
    """A hook's answer: where the match is played; None if somebody will say so later."""

    assignment: dict[str, str] | None


class NoServer(Exception):
    """There is no server, or not yet.

    Args:
        reason: Why.
        is_final: Whether trying again is useless.
    """

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_final = is_final


class _WebhookAnswer(msgspec.Struct, frozen=True):
    assignment: dict[str, str] | None


class _Port(msgspec.Struct, frozen=True):
    port: Annotated[int, msgspec.Meta(ge=1, le=65_535)]
    name: str = ""


class _AgonesServer(msgspec.Struct, frozen=True, rename="camel"):
    state: str = "Allocated"
    game_server_name: str = ""
    address: str = ""
    ports: tuple[_Port, ...] = ()


class _AgonesAllocation(msgspec.Struct, frozen=True):
    status: _AgonesServer


class Hook:
    """One allocation hook, ready to be asked.

    Args:
        name: The hook's.
        settings: Its settings.
        wall: Unix time, for signatures.

    Raises:
        ConfigError: The file of its secret cannot be read.
    """

    def __init__(
        self, name: str, settings: Allocation, *, wall: Callable[[], float] = time.time
    ) -> None:
        self.name = name
        self.settings = settings
        self._wall = wall
        self._tls = tls_of(settings.url)
        self._secret = secret_in(settings.secret_file, f"server.allocation.{name}")

    async def ask(self, match: Match, roster: Roster) -> AllocatedPlace:
        """Ask for a server.

        Raises:
            NoServer: There is none.
        """
        settings, kind = self.settings, self.settings.kind
        body = self._order(match) if kind == "agones" else _told(match, roster)
        try:
            reply = await post(
                settings.url, body, self._headers(match, body), settings.timeout, self._tls
            )
        except Unreachable as error:
            raise NoServer(str(error)) from None
        if reply.status >= 500 or reply.status in AGAIN:
            raise NoServer(f"the answer was {reply.status}")
        if not 200 <= reply.status < 300:
            raise NoServer(f"the answer was {reply.status}", is_final=True)
        return AllocatedPlace(self._server(reply) if kind == "agones" else _place(reply))

    def _headers(self, match: Match, body: bytes) -> dict[str, str]:
        headers = {"evenmatch-match": match.id, "idempotency-key": match.id}
        if self._secret and self.settings.kind == "agones":
            headers["authorization"] = f"Bearer {self._secret.decode('ascii', 'replace')}"
        elif self._secret:
            headers["evenmatch-signature"] = signature(self._secret, body, int(self._wall()))
        return headers

    def _order(self, match: Match) -> bytes:
        """Return the request for a game server, in the form that the URL asks for."""
        known = {"queue": match.queue, "region": match.region or ""}
        selectors = [
            {"matchLabels": {key: _filled(value, known) for key, value in each.items()}}
            for each in self.settings.selectors
        ]
        marks = {"annotations": {"evenmatch/match": match.id}, "labels": {}}
        if KUBERNETES not in self.settings.url:
            namespace = self.settings.namespace
            return encode(
                {"namespace": namespace, "gameServerSelectors": selectors, "metadata": marks}
            )
        return encode(
            {
                "apiVersion": "allocation.agones.dev/v1",
                "kind": "GameServerAllocation",
                "metadata": {"namespace": self.settings.namespace},
                "spec": {"selectors": selectors, "scheduling": "Packed", "metadata": marks},
            }
        )

    def _server(self, reply: HttpResponse) -> dict[str, str]:
        """Return the address of the game server that Agones gave."""
        try:
            if KUBERNETES in self.settings.url:
                server = msgspec.json.decode(reply.body, type=_AgonesAllocation).status
            else:
                server = msgspec.json.decode(reply.body, type=_AgonesServer)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise NoServer("the answer is not an allocation of a game server") from None
        if server.state != "Allocated":
            raise NoServer(f"the fleet answered {server.state[:40]}")
        if not server.address or not server.ports:
            raise NoServer("the game server has no address")
        connection = f"{server.address}:{server.ports[0].port}"
        return _checked({"connection": connection, "server": server.game_server_name})


def signature(secret: bytes, body: bytes, at: int) -> str:
    """Return the header that proves to a webhook that a body is ours and recent.

    >>> signature(b"key", b"{}", 7).split(",")[0]
    't=7'
    """
    signed = hmac.new(secret, b"%d." % at + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={signed}"


def _told(match: Match, roster: Roster) -> bytes:
    """Return what a webhook is told: the match, and its tickets with all that is known of them."""
    tickets: list[Any] = [
        {"id": t.id, "players": t.players, "attributes": t.attributes}
        for team in roster.teams
        for t in team
    ]
    return encode({"match": match_state(match), "tickets": tickets})


def _place(reply: HttpResponse) -> dict[str, str] | None:
    """Return the assignment in a webhook's answer; None if it brings none."""
    if b"".join(reply.body.split()) in (b"", b"{}"):
        return None
    try:
        answer = msgspec.json.decode(reply.body, type=_WebhookAnswer)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        # An object without the key is most likely a place that was written without it: who took
        # it for "later" would leave the players without a server, and tell nobody.
        raise NoServer(
            'the answer must be empty or like {"assignment": {"connection": "10.0.0.1:7777"}}'
        ) from None
    return None if answer.assignment is None else _checked(answer.assignment)


def _checked(assignment: dict[str, str]) -> dict[str, str]:
    is_small = len(encode(assignment)) <= ASSIGNMENT_BYTES_MAX
    if not 1 <= len(assignment) <= ASSIGNMENT_ENTRIES_MAX or not is_small:
        raise NoServer(f"an assignment has 1 to {ASSIGNMENT_ENTRIES_MAX} short entries")
    return assignment


def _filled(text: str, known: Mapping[str, str]) -> str:
    for name, value in known.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def secret_in(file: str | None, what: str) -> bytes:
    """Return the secret in a file, without the line's end; empty where none is named.

    Args:
        file: As the configuration names it.
        what: The table of the configuration, for the message.

    Raises:
        ConfigError: It cannot be read, or is empty or too long.
    """
    if file is None:
        return b""
    try:
        secret = read_secret(Path(file))
    except ConfigError as error:
        raise ConfigError(f"{what}.secret_file: {error}") from None
    if not 1 <= len(secret) <= SECRET_BYTES_MAX:
        raise ConfigError(
            f"{what}.secret_file: {file} must hold 1 to {SECRET_BYTES_MAX} bytes of secret"
        )
    return secret


# One HTTP request to somebody whom we need not trust: bounded in time and in bytes.
#
# Redirects are not followed, connections are not kept, and whatever comes back that is not HTTP,
# or too much of it, is an error like a server that is down.

ANSWER_BYTES_MAX = 65_536
PORTS = {"http": 80, "https": 443}


class Unreachable(Exception):
    """No usable answer came: the sentence says why, and names no secret."""


def tls_of(url: str) -> ssl.SSLContext | None:
    """Return the TLS context for a URL's requests, None for http.

    To make it reads the certificates of the machine, which takes tens of milliseconds: it is made
    once for each hook.
    """
    return ssl.create_default_context() if url.startswith("https:") else None


async def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    seconds: float,
    tls: ssl.SSLContext | None = None,
) -> HttpResponse:
    """Send a body and return the answer.

    Args:
        url: http or https.
        body: JSON.
        headers: Beside those that every request has.
        seconds: For all of it.
        tls: From `tls_of`.

    Raises:
        Unreachable: Nothing came in time, or nothing that can be used.
    """
    async with _sent(url, body, headers, seconds, tls) as connection:
        return await connection.response(ANSWER_BYTES_MAX)


async def tell(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    seconds: float,
    tls: ssl.SSLContext | None = None,
) -> int:
    """Send a body, as `post` does, and return the status of the answer, which says enough.

    Raises:
        Unreachable: None came in time.
    """
    async with _sent(url, body, headers, seconds, tls) as connection:
        status, _ = await connection.head()
        return status


@asynccontextmanager
async def _sent(
    url: str, body: bytes, headers: Mapping[str, str], seconds: float, tls: ssl.SSLContext | None
) -> AsyncIterator[Connection]:
    """Send a body, and give the connection by which the answer comes, while there is time."""
    connection: Connection | None = None
    try:
        parts = urlsplit(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        given = {
            "host": parts.netloc.rpartition("@")[2],
            "content-type": "application/json",
            "content-length": str(len(body)),
            "accept": "application/json",
            "connection": "close",
            **headers,
        }
        port = parts.port or PORTS[parts.scheme]
        async with asyncio.timeout(seconds):
            connection = await Connection.open(parts.hostname or "", port, tls)
            connection.send("POST", target, given, body)
            yield connection
    except TimeoutError:
        raise Unreachable(f"no answer within {seconds:g} s") from None
    except (OSError, ValueError) as error:
        # What is raised here may quote what the other side sent; its kind says enough.
        raise Unreachable(f"no usable answer ({type(error).__name__})") from None
    finally:
        # Not in the time of the request: an answer that was read counts, however slowly who gave it
        # hangs up, and to ask again could take a second server.
        if connection is not None:
            await connection.closed()
