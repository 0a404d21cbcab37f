"""From values and errors to HTTP, in one place: status codes, bodies, limits."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from itertools import islice
from typing import Any
from urllib.parse import parse_qs

import msgspec
from starlette.responses import Response

from evenmatch.errors import (
    ConfigError,
    Forgotten,
    JournalError,
    MatchmakingError,
    NotSupported,
    Overloaded,
    Refusal,
    StaleRoster,
    StaleVersion,
    UnknownQueue,
)
from evenmatch.wire.tickets import InvalidRequest as InvalidRequest
from evenmatch.wire.tickets import Problem

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

STATUS = {
    "invalid_ticket": 400,
    "invalid_request": 400,
    "unknown_queue": 404,
    "unknown_ticket": 404,
    "unknown_match": 404,
    "unknown_player": 404,
    "invalid_outcome": 400,
    "outcome_differs": 409,
    "outcome_disputed": 409,
    "not_in_match": 403,
    "not_host": 403,
    "forgotten": 410,
    "already_waiting": 409,
    "key_reused": 409,
    "too_late": 409,
    "cooldown": 409,
    "stale_version": 409,
    "not_made": 409,
    "no_backfill": 409,
    "stale_roster": 409,
    "proposal_over": 410,
    "body_too_large": 413,
    "overloaded": 429,
    "paused": 429,
    "draining": 503,
    "unauthenticated": 401,
    "forbidden": 403,
    "origin_not_allowed": 403,
    "too_many_requests": 429,
}
"""HTTP status by code of a refusal; 400 for codes that are not listed."""

JSON: Headers = [(b"content-type", b"application/json")]
RETRY_AFTER = (b"retry-after", b"1")
AUTHENTICATE = (b"www-authenticate", b'Bearer realm="evenmatch"')
BODY_SECONDS = 30.0
"""How long a client may take to send a body."""
LATE = 408
"""The status of a request whose body did not arrive."""

ASSIGNMENT_ENTRIES_MAX = 32
ASSIGNMENT_BYTES_MAX = 16_384

encode = msgspec.json.Encoder().encode


def json(value: object, status: int = 200) -> Response:
    """Return a value as a JSON response."""
    return Response(encode(value), status, media_type="application/json")


class FeedForgotten(Forgotten):
    """Matches that a feed was asked for are no longer kept; it goes on at `next`."""

    def __init__(self, following: int) -> None:
        super().__init__(
            f"matches up to {following} are no longer kept; go on with after={following}, "
            f"or leave after out to begin with the oldest that is kept",
            where="/after",
        )
        self.next = following


class BodyTooLarge(Refusal):
    """The request's body is larger than the server accepts."""

    code = "body_too_large"


class Disconnected(Exception):
    """The client went away before its request was complete, or took too long."""


def problem_of(error: MatchmakingError) -> tuple[int, Problem]:
    """Return the status and the body that tell a client of an error."""
    if isinstance(error, Refusal):
        status = STATUS.get(error.code, 400)
        following = error.next if isinstance(error, FeedForgotten) else None
        roster = error.roster_version if isinstance(error, StaleRoster) else None
        version = error.version if isinstance(error, StaleVersion) else None
        known = (error.where, error.ticket, error.match, following, roster, version, wait_of(error))
        return status, Problem(error.code, error.message, *known)
    if isinstance(error, JournalError):
        return 503, Problem("unavailable", str(error))
    if isinstance(error, NotSupported):
        return 501, Problem("not_supported", str(error))
    if isinstance(error, ConfigError):
        return 400, Problem("config_error", str(error))
    return 500, Problem("internal", "the server has failed; the operator's log says why")


def answer_of(error: MatchmakingError) -> tuple[int, bytes, Headers]:
    """Return status, body and headers that tell a client of an error."""
    status, problem = problem_of(error)
    return status, encode(problem), headers_for(status, getattr(error, "seconds", None))


def internal_problem() -> bytes:
    """Return the body of an unexpected error; what happened is for the log alone."""
    return encode(Problem("internal", "the server has failed; its log says why"))


def wait_of(error: MatchmakingError) -> float | None:
    """Return the whole seconds after which the same may be asked again, where they are known."""
    seconds = getattr(error, "seconds", None)
    return None if seconds is None else float(_whole(seconds))


def headers_for(status: int, seconds: float | None = None) -> Headers:
    """Return the headers of a JSON answer with this status.

    Args:
        status: Of HTTP.
        seconds: After which the same may be asked again, where that is known.
    """
    if seconds is not None:
        return [*JSON, (b"retry-after", str(_whole(seconds)).encode())]
    if status == 401:
        return [*JSON, AUTHENTICATE]
    return [*JSON, RETRY_AFTER] if status in (429, 503) else JSON


def _whole(seconds: float) -> int:
    return max(1, math.ceil(seconds))


def headers_of(error: MatchmakingError) -> Headers:
    """Return the headers of the JSON answer that tells a client of an error."""
    status, _ = problem_of(error)
    return headers_for(status, getattr(error, "seconds", None))


async def send_body(send: Send, status: int, body: bytes, headers: Headers | None = None) -> None:
    """Send a whole response; JSON unless `headers` say otherwise."""
    given = headers_for(status) if headers is None else headers
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*given, length]})
    await send({"type": "http.response.body", "body": body})


def late_problem() -> bytes:
    """Return the body that tells of a request that did not arrive in time."""
    return encode(
        Problem("request_timeout", "the body did not arrive in time; send the request again")
    )


def unreadable_problem(reason: str) -> bytes:
    """Return the body that tells of bytes that are no request of HTTP, or none that is taken."""
    return encode(Problem("invalid_request", f"this request cannot be read: {reason}"))


async def give_up_on(send: Send) -> None:
    """Answer a request whose body did not arrive; a client that has left does not hear it."""
    await send_body(send, LATE, late_problem())


async def read_body(scope: Scope, receive: Receive, limit: int, advice: str = "") -> bytes:
    """Return a request's body.

    Args:
        scope: Of the request.
        receive: Gives its parts.
        limit: Bytes that it may have.
        advice: What to do about one that is too large.

    Raises:
        BodyTooLarge: It is longer than the limit.
        Disconnected: The client went away, or took too long.
    """
    check_length(scope, limit, advice)
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        body: bytes = message.get("body", b"")
        if len(body) > limit:
            raise too_large(limit, advice)
        return body
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await _read_on(message, receive, limit, advice)
    except TimeoutError:
        raise Disconnected from None


def check_length(scope: Scope, limit: int, advice: str = "") -> None:
    """Refuse a body that says itself that it is too large.

    Raises:
        BodyTooLarge: It is longer than the limit.
    """
    declared = header(scope, b"content-length")
    if declared is not None and declared.isdigit() and int(declared) > limit:
        raise too_large(limit, advice)


async def _read_on(message: Message, receive: Receive, limit: int, advice: str) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        if message["type"] != "http.request":
            raise Disconnected
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise too_large(limit, advice)
        parts.append(part)
        if not message.get("more_body"):
            return b"".join(parts)
        message = await receive()


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Return what gives a body that was read already, and then goes on."""
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receiving() -> Message:
        return parts.pop() if parts else await receive()

    return receiving


def header(scope: Scope, name: bytes) -> bytes | None:
    """Return a request header by its name in lower case, None if it is absent."""
    for key, value in scope["headers"]:
        if key == name:
            found: bytes = value
            return found
    return None


def too_large(limit: int, advice: str) -> BodyTooLarge:
    """Return the refusal of a body with too many bytes."""
    more = f"; {advice}" if advice else ""
    return BodyTooLarge(f"the body of this request may have at most {limit:,} bytes{more}")


def too_many_followers(most: int) -> Overloaded:
    """Return the refusal of one follower too many."""
    return Overloaded(f"{most} connections already follow tickets or matches; try again later")


# What is said to whoever names a queue that there is not.

LISTED_MAX = 20
"""Queues that are listed in the sentence."""


def unknown_queue(name: str, known: Iterable[str], where: str = "") -> UnknownQueue:
    """Return the refusal of a queue's name.

    Args:
        name: What was given.
        known: The queues that there are.
        where: Where it was given.

    >>> str(unknown_queue("mian", ["main", "other"]))
    "no queue is called 'mian'; allowed: main, other"
    """
    listed = ", ".join(islice(known, LISTED_MAX))
    return UnknownQueue(f"no queue is called {name[:64]!r}; allowed: {listed}", where=where)


def query_of(scope: Scope) -> dict[str, list[str]]:
    """Return the parameters of a request as the routes read them."""
    if not (query := scope.get("query_string", b"")):
        return {}
    return parse_qs(query.decode("latin-1"), keep_blank_values=True, errors="replace")
