"""Hands requests on to another node, as frames over one kept connection, many in a write.

    node:   EVENMATCH/2 NAME CLIENT OWNER TIME DIGEST
    owner:  OK
    node:   RequestFrame, RequestFrame, ...
    owner:  AnswerFrame, AnswerFrame, ...  as commits allow

A frame is its length in four bytes and a value in MessagePack. The connection begins at the HTTP
port, so nodes need no other. If a connection ends, nobody knows whether the unanswered requests on
it were executed, and their clients are told so.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import msgspec

from evenmatch.server.http.responses import Scope
from evenmatch.server.runtime.logs import log

MAGIC, WELCOME = b"EVENMATCH/2 ", b"OK\r\n"
"""How a node begins, and what it is told; one that knows other frames answers otherwise."""
FRAME_BYTES_MAX = 16_000_000
PENDING_MAX = 8_192
"""Requests that wait for one owner; the next one takes the longer way, over HTTP."""
ANSWER_SECONDS = 10.0
"""After which a request counts as lost: longer than a commit and a hand-over take."""
SWEEP_EVERY = 1.0
CONNECT_SECONDS = 1.0
UNHEARD_SECONDS = 10
"""After which a connection ends whose other side confirms nothing."""


def end_when_unheard(transport: asyncio.BaseTransport) -> None:
    """Let a connection end whose other side confirms nothing, and send small packets at once.

    A node whose machine went away must not look like one that is slow, or has nothing to tell.
    """
    own, tcp = transport.get_extra_info("socket"), socket.IPPROTO_TCP
    # Not every system has them all, and what stands in for a connection has no socket.
    with suppress(OSError, AttributeError):
        own.setsockopt(tcp, socket.TCP_NODELAY, 1)
        own.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        own.setsockopt(tcp, socket.TCP_KEEPIDLE, UNHEARD_SECONDS // 2)
        own.setsockopt(tcp, socket.TCP_KEEPINTVL, 1)
        own.setsockopt(tcp, socket.TCP_KEEPCNT, UNHEARD_SECONDS // 2)
        own.setsockopt(tcp, socket.TCP_USER_TIMEOUT, UNHEARD_SECONDS * 1_000)


class RequestFrame(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A request of a client, whole.

    Args:
        number: Unique on its connection; the answer repeats it.
        about: The shard.
        client: Address of the client.
        method: Of HTTP.
        path: Without a query, and without escapes.
        headers: Those of the client's request.
        body: That of the client's request.
    """

    number: int
    about: str
    client: str
    method: str
    path: str
    headers: list[tuple[bytes, bytes]]
    body: bytes


class AnswerFrame(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The answer to a `RequestFrame`; without headers, they are the usual ones."""

    number: int
    status: int
    body: bytes
    headers: list[tuple[bytes, bytes]] | None = None


AnswerCallback = Callable[[AnswerFrame | None], None]
"""Takes the answer; None if nobody knows whether the request was done."""
RequestHandler = Callable[[RequestFrame, "FrameServer"], None]
_encode = msgspec.msgpack.Encoder().encode
_request_decoder = msgspec.msgpack.Decoder(RequestFrame)
_answer_decoder = msgspec.msgpack.Decoder(AnswerFrame)


class _Frames(asyncio.Protocol):
    """One end of a connection: reads frames, and writes once in each turn of the event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: Any = None
        self._buffer = bytearray()
        self._out: list[bytes] = []
        self._is_full = False
        self.is_lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        end_when_unheard(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.is_lost = True

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False

    def close(self) -> None:
        """End the connection."""
        self.is_lost = True
        if self._transport is not None:
            self._transport.abort()

    def end(self) -> None:
        """End the connection once what was sent has gone out."""
        self._flush()
        self.is_lost = True
        if self._transport is not None:
            self._transport.close()

    def _send(self, value: RequestFrame | AnswerFrame) -> None:
        if not self._out:
            self._loop.call_soon(self._flush)
        body = _encode(value)
        self._out.append(len(body).to_bytes(4, "big"))
        self._out.append(body)

    def _flush(self) -> None:
        out, self._out = self._out, []
        if out and not self.is_lost:
            self._transport.write(b"".join(out))

    def _cut(self, data: bytes) -> Iterator[bytes]:
        """Yield the frames that are whole."""
        buffer = self._buffer
        buffer += data
        at = 0
        while len(buffer) - at >= 4:
            size = int.from_bytes(buffer[at : at + 4], "big")
            if size > FRAME_BYTES_MAX:
                self.close()
                return
            if len(buffer) - at - 4 < size:
                break
            yield bytes(buffer[at + 4 : at + 4 + size])
            at += 4 + size
        del buffer[:at]


class FrameServer(_Frames):
    """The owner's end of a connection.

    Args:
        answer: Takes each request, and sends its answer with `reply`.
    """

    def __init__(self, answer: RequestHandler) -> None:
        super().__init__()
        self._answer = answer

    def data_received(self, data: bytes) -> None:
        """Handle the requests that have arrived."""
        for frame in self._cut(data):
            try:
                request = _request_decoder.decode(frame)
            except msgspec.MsgspecError:
                self.close()
                return
            self._answer(request, self)

    def reply(self, answer: AnswerFrame) -> None:
        """Send an answer."""
        if not self.is_lost:
            self._send(answer)


class FrameLink(_Frames):
    """The end of the node that hands requests on."""

    def __init__(self) -> None:
        super().__init__()
        self._number = 0
        self._waiting: dict[int, tuple[float, AnswerCallback]] = {}
        self._is_welcome = False
        self.opened: asyncio.Future[bool] = self._loop.create_future()
        self._sweep = self._loop.call_later(SWEEP_EVERY, self._sweep_old)

    @classmethod
    async def open(cls, place: tuple[str, int], signed: bytes) -> FrameLink | None:
        """Return a connection to an owner; None if it takes no frames or cannot be reached."""
        link = cls()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                transport, _ = await link._loop.create_connection(lambda: link, *place)
                transport.write(MAGIC + signed + b"\r\n\r\n")
                if await link.opened:
                    return link
        except (OSError, TimeoutError):
            pass
        except asyncio.CancelledError:
            link.close()
            raise
        link.close()
        return None

    @property
    def is_free(self) -> bool:
        """Return whether it can take another request."""
        return not self.is_lost and not self._is_full and len(self._waiting) < PENDING_MAX

    def send_request(self, about: str, scope: Scope, body: bytes, done: AnswerCallback) -> None:
        """Send a request about a shard; `done` is called once."""
        self._number += 1
        number, client = self._number, (scope.get("client") or ("", 0))[0]
        self._waiting[number] = self._loop.time(), done
        method, path, headers = scope["method"], scope["path"], scope["headers"]
        self._send(RequestFrame(number, about, client, method, path, headers, body))

    def data_received(self, data: bytes) -> None:
        """Handle the welcome, then the answers that have arrived."""
        if not self._is_welcome:
            self._buffer += data
            if len(self._buffer) < len(WELCOME):
                return
            self._is_welcome = self._buffer.startswith(WELCOME)
            data = bytes(self._buffer[len(WELCOME) :])
            self._buffer.clear()
            if not self.opened.done():
                self.opened.set_result(self._is_welcome)
            if not self._is_welcome:
                self.close()
                return
        for frame in self._cut(data):
            try:
                answer = _answer_decoder.decode(frame)
            except msgspec.MsgspecError:
                self.close()
                return
            waited = self._waiting.pop(answer.number, None)
            if waited is not None:
                _tell(waited[1], answer)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell all waiting callers that the outcome is unknown."""
        super().connection_lost(exc)
        self._sweep.cancel()
        if not self.opened.done():
            self.opened.set_result(False)
        self._fail(list(self._waiting))

    def _sweep_old(self) -> None:
        if self.is_lost:
            return
        self._sweep = self._loop.call_later(SWEEP_EVERY, self._sweep_old)
        since = self._loop.time() - ANSWER_SECONDS
        self._fail([number for number, (at, _) in self._waiting.items() if at < since])

    def _fail(self, numbers: list[int]) -> None:
        for number in numbers:
            _, done = self._waiting.pop(number)
            _tell(done, None)


def _tell(done: AnswerCallback, answer: AnswerFrame | None) -> None:
    """Tell one caller; whatever goes wrong there, the others on the connection are told too."""
    try:
        done(answer)
    except Exception as error:  # noqa: BLE001
        log.error("unexpected_error", route="frames", error=repr(error), exc_info=error)
