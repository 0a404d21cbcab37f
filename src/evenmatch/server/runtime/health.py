"""Answers whether the process is alive, from a thread and a port of its own.

The event loop answers `/healthz` too, between other work. A policy that computes for seconds in
Python keeps the loop from it, and whoever watches the process would end a server that is only busy.
Here another thread answers: it shares the interpreter with the loop, so it has a turn whenever
Python code runs, and it knows when the loop came round last. Only a loop that has not come round
for `STUCK_SECONDS` counts as dead, since then nobody is served.

Whether the server can take tickets now is for `/readyz` at the server's own port: a server that is
too busy to say so is not ready.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from evenmatch.server.http.responses import encode

STUCK_SECONDS = 30.0
"""For so long a loop may not come round and still count as busy."""
READ_SECONDS = 5.0
"""A request has so long to arrive."""
HEAD_MAX = 8_192
"""Bytes of a request."""
CONNECTIONS_MAX = 64
"""Connections that are open at once; the descriptors of the process are for players."""
CLOSE_SECONDS = 2.0
"""For so long the end of the thread is awaited."""

Late = Callable[[], float]
"""Says for how many seconds the loop has not come round; called in the thread."""


class Health:
    """Answers `GET /healthz` from a thread.

    Args:
        listening: A socket that listens.
        late: See `Late`.
    """

    def __init__(self, listening: socket.socket, late: Late) -> None:
        self._listening = listening
        self._late = late
        self._loop = asyncio.new_event_loop()
        self._over = asyncio.Event()
        self._open = 0
        self._thread = threading.Thread(target=self._run, name="health", daemon=True)

    def begin(self) -> None:
        """Start answering."""
        self._thread.start()

    def end(self) -> None:
        """Stop answering."""
        with suppress(RuntimeError):  # its loop has ended by itself
            self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._answer, sock=self._listening, limit=HEAD_MAX)
        try:
            await self._over.wait()
        finally:
            # Who has not asked yet is not waited for: the runner cancels what is left.
            server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._open >= CONNECTIONS_MAX:
            writer.close()
            return
        self._open += 1
        try:
            async with asyncio.timeout(READ_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(answer_to(head, self._late()))
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            self._open -= 1
            writer.close()


def answer_to(head: bytes, late: float) -> bytes:
    """Return the whole answer to a request.

    Args:
        head: Its first line and its headers.
        late: For how long the loop has not come round, seconds.
    """
    method, _, rest = head.partition(b"\r\n")[0].partition(b" ")
    path = rest.partition(b" ")[0].partition(b"?")[0]
    if path != b"/healthz" or method not in (b"GET", b"HEAD"):
        status = "404 Not Found"
        body = encode({"error": "not_found", "message": "this port answers GET /healthz only"})
    elif late >= STUCK_SECONDS:
        status = "503 Service Unavailable"
        body = encode({"status": "stuck", "reason": f"nobody was served for {late:.0f} s"})
    else:
        status = "200 OK"
        body = encode({"status": "ok", "late": round(late, 3)})
    length = len(body)
    text = (
        f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n"
        f"cache-control: no-store\r\nconnection: close\r\n\r\n"
    )
    return text.encode() + (b"" if method == b"HEAD" else body)


@contextmanager
def health_at(listening: socket.socket | None, late: Late) -> Iterator[None]:
    """Answer at a socket meanwhile, if there is one."""
    if listening is None:
        yield
        return
    health = Health(listening, late)
    health.begin()
    try:
        yield
    finally:
        health.end()
