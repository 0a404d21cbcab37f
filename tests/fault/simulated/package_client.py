"""The package's own client on the virtual network: its connections are handed in, all else is it.

    AsyncClient -> Exchange, events -> VirtualConnection --network--> Node

Whoever opens a connection gets to any of the nodes, as behind a balancer. A connection is lost when
its node refuses it or ends; what is lost on a link that is cut, nobody tells either end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial

import msgspec

from evenmatch.client.async_client import AsyncClient
from evenmatch.client.exchange import Exchange, ServerRefused, ServerUnreachable
from evenmatch.errors import MatchmakingError
from evenmatch.model.ticket import Player, Rating
from evenmatch.wire.http1 import Headers, HttpResponse
from evenmatch.wire.tickets import CreateTicket, TicketState
from tests.fault.simulated.clients import AGAIN, OVER, TRIES, Caller
from tests.fault.simulated.history import Seen
from tests.fault.simulated.network import CLIENTS, Network
from tests.fault.simulated.node import Node, Request

TIMEOUT = 8.0
"""Seconds until the client gives an answer up."""


class VirtualConnection:
    """A connection to one node, as `evenmatch.wire.http1` has them over sockets."""

    def __init__(self, network: Network, node: Node, loop: asyncio.AbstractEventLoop) -> None:
        self.is_free = True
        self.is_used = False
        self._network = network
        self._node = node
        self._loop = loop
        self._pipe = network.pipe(node.name, CLIENTS)
        self._number = 0
        # What came of the present request, in order: the answer's parts, then None at its end.
        self._parts: asyncio.Queue[bytes | OSError | None] = asyncio.Queue()
        self._head: asyncio.Future[tuple[int, Headers]] = loop.create_future()

    def send(self, method: str, target: str, headers: Mapping[str, str], body: bytes = b"") -> None:
        """Send a request; the one before it has been answered."""
        network, node = self._network, self._node
        self.is_free, self._head = False, self._loop.create_future()
        self._number = number = Caller.next_number(network.world)
        last = headers.get("Last-Event-ID")
        token = headers.get("Authorization", "").removeprefix("Bearer ")
        key = headers.get("Idempotency-Key", "")
        request = Request(number, method, target, body, key, last and int(last), token)
        is_stream = target.endswith("/events")

        def reply(status: int, told: dict[str, str], body: bytes) -> None:
            text = f"{number} {status} ".encode() + (b"" if is_stream else body)
            self._pipe(text, partial(self._end, number, status, told, body, is_stream))

        def part(frame: bytes) -> None:
            self._pipe(frame, partial(self._take, number, frame))

        ways = (request, reply, part) if is_stream else (request, reply)
        network.carry(CLIENTS, node.name, request.text(), lambda: node.take(*ways))

    async def head(self) -> tuple[int, Headers]:
        """Return status and headers of the answer."""
        return await self._head

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the parts of the body as they come."""
        while (part := await self._parts.get()) is not None:
            if isinstance(part, OSError):
                raise part
            yield part
        self._finish()

    async def body(self, most: float = float("inf")) -> bytes:
        """Return the whole body."""
        return b"".join([part async for part in self.chunks()])

    async def response(self, most: float = float("inf")) -> HttpResponse:
        """Return the whole answer."""
        status, headers = await self.head()
        return HttpResponse(status, headers, await self.body())

    def close(self) -> None:
        """Leave; the node hears of it, unless the link is cut."""
        self.is_free = False
        text = f"{self._number} left".encode()
        leave = partial(self._node.leave, self._number)
        self._network.send(CLIENTS, self._node.name, text, leave)

    async def closed(self, seconds: float = 1.0) -> None:
        """Leave."""
        self.close()

    def _finish(self) -> None:
        self.is_free = self.is_used = True

    def _take(self, number: int, part: bytes) -> None:
        if number == self._number:
            self._begin(200, {})
            self._parts.put_nowait(part)

    def _begin(self, status: int, headers: dict[str, str]) -> None:
        if not self._head.done():
            self._head.set_result((status, {k.encode(): v.encode() for k, v in headers.items()}))

    def _end(
        self, number: int, status: int, headers: dict[str, str], body: bytes, is_stream: bool
    ) -> None:
        if number != self._number:
            return
        if not status:
            if not self._head.done():
                self._head.set_exception(ConnectionRefusedError("nobody listens there"))
            self._parts.put_nowait(ConnectionResetError("the answer is not whole"))
            return
        is_told = self._head.done()
        self._begin(status, headers)
        if not (is_stream and is_told):
            self._parts.put_nowait(body)
        self._parts.put_nowait(None)


class VirtualExchange(Exchange):
    """Opens connections on the virtual network; all else is the package's.

    Args:
        connect: Opens one.
        chance: Draws the pauses.
    """

    def __init__(
        self, connect: Callable[[], VirtualConnection], chance: Callable[[], float]
    ) -> None:
        super().__init__("http://nodes:8080", timeout=TIMEOUT, chance=chance)
        self._open = connect

    async def connect(self) -> VirtualConnection:  # type: ignore[override]
        """Return a new connection."""
        return self._open()


class PackagePlayer(Caller):
    """A player whose game uses the package: it creates, follows, accepts, and may cancel.

    Args:
        player: Their name.
        queue: Where.
        known: Tickets that onlookers may ask for.
    """

    player: str
    known: list[str]
    following: dict[str, None]

    async def play(self) -> None:
        """Queue, and follow the ticket to its end."""
        client = AsyncClient("http://nodes:8080", chance=self.chance.random)
        client._exchange = VirtualExchange(self._connect, self.chance.random)
        client._exchange.token = self.token or None
        ticket = await self._create(client)
        if ticket is None:
            return
        self.known.append(ticket)
        tasks = [self.loop.begin(self._follow(client, ticket))]
        if self.chance.random() < 0.15:
            await asyncio.sleep(self.chance.uniform(0.0, 8.0))
            tasks.append(self.loop.begin(self._cancel(client, ticket)))
        await asyncio.gather(*tasks)

    def _connect(self) -> VirtualConnection:
        return VirtualConnection(self.network, self.chance.choice(self.nodes), self.loop)

    async def _create(self, client: AsyncClient) -> str | None:
        rating = Rating(60.0 * round(self.chance.gauss(1500.0, 120.0) / 60.0), 80.0)
        ticket = CreateTicket((Player(self.player, rating),), (self.queue,))
        key = f"k-{self.player}"
        for _ in range(TRIES):
            sent = self.world.now
            try:
                made = await client.create(ticket, key=key)
            except (ServerRefused, ServerUnreachable) as error:
                if isinstance(error, ServerRefused) and not error.is_passing:
                    self.problems.append(f"I16: the package's client was refused: {error}")
                    return None
                await asyncio.sleep(self.chance.uniform(*AGAIN))
                continue
            given = ([self.player], self.queue)
            self._note("create", sent, key, given, {"id": made.id}, 201)
            return made.id
        return None

    async def _follow(self, client: AsyncClient, ticket: str) -> None:
        """Follow by the package's stream, which comes back by itself, and accept what is asked."""
        told: list[tuple[float, TicketState]] = []
        self.following[ticket] = None
        sent, answered = self.world.now, ""
        try:
            async for state in client.events(ticket):
                told.append((self.world.now, state))
                if state.state == "proposed" and state.match and state.match != answered:
                    answered = state.match
                    self.loop.begin(self._accept(client, ticket, answered))
                if state.state in OVER or state.state == "assigned":
                    break
        except MatchmakingError as error:
            self.problems.append(f"I16: the package's stream of {ticket} ended with {error!r}")
        del self.following[ticket]
        body = [(at, each.state, each.match, each.reason) for at, each in told]
        self._note("followed", sent, ticket, None, body, 200)

    async def _accept(self, client: AsyncClient, ticket: str, match: str) -> None:
        sent = self.world.now
        try:
            await client.accept(match, ticket)
        except (ServerRefused, ServerUnreachable):
            return
        self._note("accept", sent, match, ticket, None, 200)

    async def _cancel(self, client: AsyncClient, ticket: str) -> None:
        sent = self.world.now
        try:
            state = await client.cancel(ticket)
        except ServerUnreachable:
            return
        except ServerRefused as error:
            body = {"error": error.code, "match": error.match}
            self._note("cancel", sent, ticket, None, body, error.status)
        else:
            self._note("cancel", sent, ticket, None, {"state": state}, 200)

    def _note(
        self, kind: str, sent: float, about: str, given: object, body: object, status: int
    ) -> None:
        headers = {"retry-after": "1"} if status in (429, 503) else {}
        seen = Seen(kind, sent, self.world.now, "any", status, about, given, body, headers)
        seen = msgspec.structs.replace(seen, tenant=self.tenant)
        self.seen.append(seen)
