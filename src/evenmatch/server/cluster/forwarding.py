"""Forwards requests to the node that holds the lease of their shard.

A request goes on as it came, with a signed note of who asks; connections to the owner are kept. One
that could not be delivered may go again. One that was delivered and not answered may have been done
or not: its client gets a 503, and learns what happened by repeating it, which is safe with an
idempotency key, and for everything that says the same twice.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection
from contextlib import suppress

from evenmatch.errors import JournalUnavailable
from evenmatch.server.cluster.frames import end_when_unheard
from evenmatch.server.cluster.identity import NodeIdentity
from evenmatch.server.http.responses import (
    Disconnected,
    Headers,
    InvalidRequest,
    Receive,
    Scope,
    Send,
)
from evenmatch.server.http.ticket_routes import WAIT_MAX
from evenmatch.wire.http1 import Connection, Request, authority_of, request_of

FORWARDED = b"evenmatch-forwarded"
OWNER = b"evenmatch-owner"
"""Says with a 503 who owns the shard instead: the request was not taken, and may go there."""
UNKNOWN = (
    "the node that answers has failed, and whether this was done is not known: repeat it in a "
    "second, with the same Idempotency-Key if it had one"
)
STOPPING = "this node is being stopped: ask again in a second, and another one answers"
CONNECTIONS_MAX = 256
"""Connections to the owner that are kept open while nobody uses them."""
CONNECT_SECONDS = 1.0
ANSWER_SECONDS = WAIT_MAX + 10.0
"""Beyond the longest poll: its owner answers it in the end, and may be slow."""
LAST_SECONDS = 1.0
"""How long a node that is being stopped waits for what others answer, where nothing is changed."""
REFUSAL_BYTES_MAX = 65_536
ENDED = "ended"
"""Stands for the shard where nobody waits for the answer any more; names of shards have a slash."""
EVENT_STREAM = b"text/event-stream"
HOP_BY_HOP = frozenset(
    {
        b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"te",
        b"trailer", b"transfer-encoding", b"upgrade", b"content-length", b"date", b"expect",
        FORWARDED,
    }
)  # fmt: skip
"""Headers that belong to one connection, or that each side writes itself."""
SAFE = frozenset({"GET", "HEAD"})


class NodeUnreached(JournalUnavailable):
    """Nobody listens where the owner of a shard was: nothing was delivered."""


class Peer:
    """The owner of a shard, reached over kept connections.

    Args:
        host: Where it listens.
        port: Of TCP.
        identity: Of this node, which signs.
    """

    def __init__(self, host: str, port: int, identity: NodeIdentity) -> None:
        self.address = (host, port)
        self._host = authority_of(host, port).encode()
        self._identity = identity
        self._free: deque[Connection] = deque()
        # Which shard is asked over each connection, until the answer begins and until it is whole.
        self._asked_for: dict[Connection, str] = {}
        self._busy: dict[Connection, str] = {}
        # How long requests wait that change nothing.
        self._limits: dict[asyncio.Timeout, None] = {}
        self._misplaced: dict[Connection, None] = {}
        self._answers = 0
        self._is_closed = False

    @property
    def is_idle(self) -> bool:
        """Return whether no request is under way."""
        return not self._answers

    async def answer(
        self, scope: Scope, receive: Receive, send: Send, body: bytes, about: str = ""
    ) -> str:
        """Forward one request, and send its answer back.

        Args:
            scope: Of the request.
            receive: Says when the client leaves.
            send: Takes the answer.
            body: Of the request.
            about: The shard that is asked.

        Returns:
            "", or who owns the shard instead, by the name of its lease: then nothing was done, and
            nothing was sent back.

        Raises:
            Disconnected: The client has left before the answer came.
            InvalidRequest: It is no request that can go on.
            NodeUnreached: Nobody listens there: it was not delivered.
            JournalUnavailable: Nobody answers there; whether it was done, nobody knows.
        """
        # Before a connection is taken: one that cannot go on is no fault of the owner.
        request = self._request(scope, body, about)
        leaving = asyncio.create_task(_until_gone(receive))
        self._answers += 1
        try:
            connection, status, headers = await self._asked(request, body, about, leaving)
            if status == 503 and (owner := headers.get(OWNER)):
                self._keep(connection, is_whole=await _is_read(connection))
                return owner.decode("latin-1")
            self._busy[connection] = about
            await self._pass_back(connection, status, headers, send, leaving)
        finally:
            self._answers -= 1
            leaving.cancel()
        return ""

    async def _pass_back(
        self,
        connection: Connection,
        status: int,
        headers: dict[bytes, bytes],
        send: Send,
        leaving: asyncio.Task[None],
    ) -> None:
        """Send an answer on as it comes; the client sees if it is cut off."""
        is_whole = is_over = False

        def cut(_: object) -> None:
            # Later another request may have it.
            if not is_over:
                connection.close()

        leaving.add_done_callback(cut)
        try:
            kept: Headers = [each for each in headers.items() if each[0] not in HOP_BY_HOP]
            if (length := headers.get(b"content-length")) is not None:
                kept.append((b"content-length", length))
            await send({"type": "http.response.start", "status": status, "headers": kept})
            async for part in connection.chunks():
                await send({"type": "http.response.body", "body": part, "more_body": True})
            is_whole = True
        except (OSError, ValueError):
            # A stream of events may end at any time. Of anything else the client must see that it
            # did not come whole.
            if not headers.get(b"content-type", b"").startswith(EVENT_STREAM):
                return
        finally:
            is_over = True
            del self._busy[connection]
            self._keep(connection, is_whole=is_whole)
        await send({"type": "http.response.body", "body": b""})

    def close(self) -> None:
        """Close the connections of streams and those that nobody uses, and keep none from then on.

        Whoever follows something over one comes again. Long polls have a second left.
        """
        self._is_closed = True
        while self._free:
            self._free.pop().close()
        for connection in list(self._busy):
            connection.close()
        for limit in self._limits:
            _end(limit, LAST_SECONDS)

    def end_all_but(self, owned: Collection[str]) -> None:
        """End the answers about other shards that were under way at the last call already.

        Args:
            owned: Shards of which this is the owner.
        """
        before = self._misplaced
        under_way, kept = (*self._busy.items(), *self._asked_for.items()), (*owned, ENDED)
        self._misplaced = {one: None for one, about in under_way if about not in kept}
        for connection in [each for each in self._misplaced if each in before]:
            connection.close()
            if connection in self._asked_for:
                self._asked_for[connection] = ENDED
            del self._misplaced[connection]

    def _keep(self, connection: Connection, *, is_whole: bool) -> None:
        """Keep a connection for the next request, if it can take one."""
        is_kept = is_whole and connection.is_free and not self._is_closed
        if is_kept and len(self._free) < CONNECTIONS_MAX:
            self._free.append(connection)
        else:
            connection.close()

    async def _asked(
        self, request: Request, body: bytes, about: str, leaving: asyncio.Task[None]
    ) -> tuple[Connection, int, dict[bytes, bytes]]:
        """Return a connection with the head of its answer.

        Raises:
            Disconnected: The client has left; a change is asked for all the same, as a server does
                that has it whole.
        """
        is_safe = request.method.decode() in SAFE
        limit = asyncio.timeout(LAST_SECONDS if is_safe and self._is_closed else ANSWER_SECONDS)
        if is_safe:
            leaving.add_done_callback(lambda _: _end(limit))
        try:
            async with limit:
                if is_safe:
                    self._limits[limit] = None
                while True:
                    connection = await self._connection()
                    is_again = is_safe and connection.is_used
                    # Another node may get the shard while this one is silent.
                    self._asked_for[connection] = about
                    try:
                        connection.pass_on(request, body)
                        return connection, *await connection.head()
                    except ConnectionError:
                        connection.close()
                        # The owner had closed one that nobody used: the next one will do. One that
                        # is silent is no such: it would be as silent over all the others.
                        if not is_again or self._asked_for[connection] == ENDED:
                            raise
                    except BaseException:
                        connection.close()
                        raise
                    finally:
                        del self._asked_for[connection]
        except (OSError, ValueError) as error:
            if is_safe and leaving.done():
                raise Disconnected from None
            is_stopping = is_safe and self._is_closed
            raise JournalUnavailable(STOPPING if is_stopping else UNKNOWN) from error
        finally:
            self._limits.pop(limit, None)

    async def _connection(self) -> Connection:
        while self._free:
            connection = self._free.pop()
            if connection.is_free:
                return connection
            connection.close()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                connection = await Connection.open(*self.address, None)
        except (OSError, TimeoutError) as error:
            raise NodeUnreached(
                "the node that answers cannot be reached; another one takes over within "
                "seconds: try again"
            ) from error
        end_when_unheard(connection.transport)
        return connection

    def _request(self, scope: Scope, body: bytes, about: str) -> Request:
        """Return a request as it goes on: its bytes as they came, line by line.

        Raises:
            InvalidRequest: It cannot go on.
        """
        target: bytes = scope["raw_path"]
        if scope["query_string"]:
            target += b"?" + scope["query_string"]
        headers: Headers = [each for each in scope["headers"] if each[0] not in HOP_BY_HOP]
        if not any(name == b"host" for name, _ in headers):
            # HTTP/1.0 does without, and what goes on is HTTP/1.1.
            headers.append((b"host", self._host))
        client = scope.get("client") or ("", 0)
        headers.append((b"content-length", b"%d" % len(body)))
        headers.append((FORWARDED, self._identity.sign(client[0], about)))
        try:
            return request_of(scope["method"], target, headers)
        except ValueError as error:
            raise InvalidRequest(str(error)) from None


async def _is_read(connection: Connection) -> bool:
    """Read an answer that nobody needs; return whether it came whole."""
    try:
        await connection.body(REFUSAL_BYTES_MAX)
    except (OSError, ValueError):
        return False
    return True


def _end(limit: asyncio.Timeout, seconds: float = 0.0) -> None:
    """Let a time that is still running end in so many seconds at the latest."""
    when, until = limit.when(), asyncio.get_running_loop().time() + seconds
    # One that is just ending cannot be changed any more.
    with suppress(RuntimeError):
        limit.reschedule(until if when is None else min(when, until))


async def _until_gone(receive: Receive) -> None:
    """Return when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
