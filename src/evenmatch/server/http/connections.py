"""Accept all waiting connections at each round of the event loop, up to a limit.

libuv takes one connection a round. A loop that is busy for 50 ms a round then takes twenty callers
a second, and all others wait in the kernel, where nobody sees them: neither how late the server is
nor how much is asked of it. So connections are taken here, as many as there are, and whatever they
ask for can be answered, if only by "later".

The process keeps some of its file descriptors for itself. Without that, callers who open
connections until there are no more keep it from writing its audit log, its snapshots and its
configuration.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import sys
from collections.abc import Callable, Sized
from contextlib import suppress

from evenmatch.server.runtime.logs import log

AT_ONCE = 256
"""Connections taken in one round; the others come in the next."""
RESERVED = 64
"""File descriptors that no connection may use."""
LEAST = 16
"""Connections that are taken however few descriptors there are."""
PAUSE = 0.1
"""Seconds without a look where the system gives no more descriptors."""
SAY_EVERY = 60.0
"""Seconds between two lines of the log about connections that were turned away."""
LIMIT = "the limit of open files allows: raise it (`ulimit -n`, LimitNOFILE= in systemd)"
FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 5\r\n"
    b"content-type: application/json\r\ncontent-length: %d\r\n\r\n%s"
)
SENTENCE = b'{"error":"overloaded","message":"too many connections are open; try again later"}'


def connections_most() -> int:
    """Return how many connections the process may have, by the descriptors that it may have."""
    if sys.platform == "win32":
        return 1_000_000
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1_000_000 if soft == resource.RLIM_INFINITY else max(LEAST, soft - RESERVED)


class Acceptor:
    """Takes the connections of one listening socket.

    Args:
        listening: It; closed by whoever made it.
        protocol: Makes the protocol of a connection.
        context: Returns what the next connection speaks TLS with; None without TLS.
        connections: Those that are open.
        most: So many may be.
        turned_away: Told of each connection beyond.
    """

    def __init__(
        self,
        listening: socket.socket,
        protocol: Callable[[], asyncio.Protocol],
        context: Callable[[], ssl.SSLContext | None],
        connections: Sized,
        *,
        most: int,
        turned_away: Callable[[], None],
    ) -> None:
        self._listening = listening
        self._protocol = protocol
        self._context = context
        self._connections = connections
        self._most = most
        self._turned_away = turned_away
        # Those that are not protocols yet: they may be shaking hands.
        self._coming: set[asyncio.Task[None]] = set()
        self._said_at = -SAY_EVERY
        self._loop = asyncio.get_running_loop()
        self._pause: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Take connections from now on."""
        self._listening.setblocking(False)
        self._loop.add_reader(self._listening.fileno(), self._take)

    def close(self) -> None:
        """Take no more; those that are open stay."""
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
        if self._listening.fileno() >= 0:
            self._loop.remove_reader(self._listening.fileno())

    async def wait_closed(self) -> None:
        """Wait until nobody shakes hands any more."""
        for task in self._coming:
            task.cancel()
        await asyncio.gather(*self._coming, return_exceptions=True)

    def _take(self) -> None:
        for _ in range(AT_ONCE):
            try:
                connection, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError):
                return
            except ConnectionAbortedError:
                continue
            except OSError as error:
                # The system has no more for anybody: a loop that tried again at once would spin.
                self._say("connections_refused", error=str(error))
                self.close()
                self._pause = self._loop.call_later(PAUSE, self.begin)
                return
            connection.setblocking(False)
            if len(self._connections) + len(self._coming) >= self._most:
                self._turn_away(connection)
                continue
            with suppress(OSError):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            task = self._loop.create_task(self._connect(connection))
            self._coming.add(task)
            task.add_done_callback(self._coming.discard)

    async def _connect(self, connection: socket.socket) -> None:
        try:
            context = self._context()
            await self._loop.connect_accepted_socket(self._protocol, connection, ssl=context)
        except (OSError, ssl.SSLError):
            # Whoever cannot shake hands, or has left, needs no answer.
            connection.close()
        except asyncio.CancelledError:
            connection.close()
            raise

    def _turn_away(self, connection: socket.socket) -> None:
        """Close a connection for which there is no place, with a word where that costs nothing."""
        self._turned_away()
        self._say("connections_refused", error=f"{self._most} are open, the most that {LIMIT}")
        with connection, suppress(OSError):
            if self._context() is None:
                connection.send(FULL % (len(SENTENCE), SENTENCE))
                connection.shutdown(socket.SHUT_WR)

    def _say(self, event: str, **more: object) -> None:
        now = self._loop.time()
        if now - self._said_at >= SAY_EVERY:
            self._said_at = now
            log.warning(event, **more)
