"""One machine that may run the server: its clocks, its process, and what is done to both.

    down --start--> waits for the lease --> serves --stop or given up--> down
      ^                      |                 |
      `------- kill ---------+-----------------'

The process is the product's own: `Games` with its gate, application, runtime, shard, recovery and
snapshots. Only the sockets are missing: requests come past ASGI where they would, else by it.
Whoever watches over the machine starts the process again some seconds after it ended.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import msgspec

from evenmatch.errors import MatchmakingError
from evenmatch.server.cluster.forwarding import FORWARDED
from evenmatch.server.http.responses import answer_of, headers_for
from evenmatch.server.http.whole_requests import WholeRequest
from evenmatch.server.runtime.clock import Clocks
from evenmatch.server.runtime.games import Game as ServedGame
from evenmatch.server.runtime.games import Games
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.runtime import Runtime
from evenmatch.server.runtime.services import Services
from tests.fault.simulated.loop import NodeLoop, World
from tests.fault.simulated.network import CLIENTS, Network
from tests.fault.simulated.store import Store, StoreJournal
from tests.fault.simulated.worlds import Game

BORN = 1_700_000_000.0
"""Unix time when the world began."""
RATE_OFF = 0.005
"""By how much the clocks of two machines run at different speeds at the most."""
RESTART = (0.5, 4.0)
"""Seconds until a process that ended is started again."""
HEADERS = ((b"host", b"localhost"), (b"content-type", b"application/json"))

SOCKETS = "/v1/stream"

Reply = Callable[[int, dict[str, str], bytes], None]
Part = Callable[[bytes], None]
Said = Callable[[Mapping[str, Any]], None]
"""Takes what the server says to the client of a WebSocket."""


class Request(msgspec.Struct, frozen=True):
    """What a client asks.

    Args:
        number: Tells it apart from others.
        method: Of HTTP.
        path: With its query.
        body: As sent.
        key: Idempotency key, if it has one.
        after: For a stream of events, the last one that is known.
        token: What says who asks; "" where nobody needs to.
        signed: What says that somebody with the key of the cluster asks, if anybody does.
    """

    number: int
    method: str
    path: str
    body: bytes = b""
    key: str = ""
    after: int | None = None
    token: str = ""
    signed: str = ""

    def text(self) -> bytes:
        """Return the request as it is in the trace."""
        return (
            f"{self.number} {self.method} {self.path} {self.key} {self.after} ".encode() + self.body
        )

    def scope(self) -> dict[str, Any]:
        """Return the scope of ASGI; that of a WebSocket where it asks for one."""
        path, _, query = self.path.partition("?")
        headers = [*HEADERS, (b"content-length", str(len(self.body)).encode())]
        if self.key:
            headers.append((b"idempotency-key", self.key.encode()))
        if self.after is not None:
            headers.append((b"last-event-id", str(self.after).encode()))
        if self.path == SOCKETS:
            headers = [*HEADERS[:1]]
        if self.token:
            headers.append((b"authorization", f"Bearer {self.token}".encode()))
        if self.signed:
            headers.append((FORWARDED, self.signed.encode()))
        return {
            "type": "websocket" if self.path == SOCKETS else "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": self.method,
            "scheme": "ws" if self.path == SOCKETS else "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": headers,
            "client": ("127.0.0.1", 40_000),
            "server": ("127.0.0.1", 8_080),
            "subprotocols": [],
            "state": {},
        }


class Hosted(NamedTuple):
    """A game as machines run it.

    Args:
        game: Its queues, and who may come in.
        plan: What processes run.
        store: Where its journals are.
    """

    game: Game
    plan: ShardPlan
    store: Store


class Node:
    """A machine.

    Args:
        name: Of the machine, and of what owns the shard.
        network: Connects it.
        hosted: The games; without a cluster, one.
        snapshot_every: Records between two snapshots.
    """

    def __init__(
        self, name: str, network: Network, hosted: Sequence[Hosted], *, snapshot_every: int
    ) -> None:
        self.name = name
        self.network = network
        self.world: World = network.world
        self.wall_off = 0.0
        self.served: Any = None
        """What its process serves, once it does."""
        self.is_serving = False
        self.starts = 0
        self.errors: list[str] = []
        self._hosted = hosted
        self._plan = msgspec.structs.replace(hosted[0].plan, owner=name)
        self._every = snapshot_every
        self._chance = self.world.chance(f"machine {name}")
        self._rate = 1.0 + self._chance.uniform(-RATE_OFF, RATE_OFF) / 2
        self._loop: NodeLoop | None = None
        self._pauses = 0
        self._resumed_at = 0.0
        self._stop: asyncio.Event | None = None
        self._open: dict[int, asyncio.Event] = {}
        self._sockets: dict[int, asyncio.Queue[Any]] = {}
        self._is_wanted = True
        # How many requests the process serves now; one that arrived twice is two.
        self.open_requests = 0

    def wall(self) -> float:
        """Return Unix time as this machine has it."""
        return BORN + self.world.now + self.wall_off

    @property
    def lease_seconds(self) -> float:
        """Return the length of a lease."""
        return self._plan.lease_seconds

    # The process

    def start(self) -> None:
        """Start a process, unless one runs."""
        if self._loop is not None or not self._is_wanted:
            return
        self.starts += 1
        process = f"{self.name}.{self.starts}"
        offset = self._chance.uniform(10.0, 1e6)
        loop = NodeLoop(self.world, process, rate=self._rate, offset=offset)
        self._loop, self._stop = loop, asyncio.Event()
        if self._pauses:
            loop.pause()
        self.network.note("start", process)
        loop.begin(self._run(loop, self._stop))

    def _journal(self, store: Store, loop: NodeLoop) -> StoreJournal:
        return StoreJournal(store, self.network, self.name, loop, self.wall)

    def _games(self, plan: ShardPlan, hosted: Hosted, loop: NodeLoop) -> Games:
        """Return the games of a plan, not yet started."""
        accounts = hosted.game.accounts(plan.settings, self.wall)
        return Games(
            [ServedGame(plan, accounts, hosted.game.tenant)],
            snapshot_every=self._every,
            clocks=Clocks(loop.time, self.wall, stopwatch=loop.time, lease=loop.time),
            open_with=lambda plan, name: self._journal(hosted.store, loop),
        )

    def _assembled(self, loop: NodeLoop) -> Any:
        """Return what the process serves, not yet started."""
        return self._games(self._plan, self._hosted[0], loop)

    async def _run(self, loop: NodeLoop, stop: asyncio.Event) -> None:
        """Do what `evenmatch serve` does between its sockets and its end."""
        served = self._assembled(loop)
        try:
            await served.start()
            self.served, self.is_serving = served, True
            self.network.note("serves", self.name)
            ends = [asyncio.create_task(each) for each in (served.over(), stop.wait())]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            await served.leave()
            self.is_serving = False
            served.close()
            await served.stop()
        except MatchmakingError as error:
            self.network.note("gave up", self.name, str(error))
        except Exception as error:  # noqa: BLE001
            self.errors.append(f"the process of {self.name} ended with {error!r}")
        self._ended(loop)

    def _ended(self, loop: NodeLoop) -> None:
        self.errors += loop.errors
        loop.kill()
        self._loop, self.served, self.is_serving = None, None, False
        self._open.clear()
        self._sockets.clear()
        self.open_requests = 0
        self.world.after(self._chance.uniform(*RESTART), self.start)

    def kill(self) -> None:
        """End the process as kill -9 does."""
        if self._loop is not None:
            self.network.note("kill", self.name)
            self._ended(self._loop)

    def stop(self) -> None:
        """Ask the process to end, as SIGTERM does."""
        if self._loop is not None and self._stop is not None:
            self.network.note("stop", self.name)
            self._loop.call_soon(self._stop.set)

    def is_awake_since(self, at: float) -> bool:
        """Return whether it has not been paused since an instant."""
        return not self._pauses and self._resumed_at < at

    def pause(self) -> None:
        """Let the process do nothing."""
        self._pauses += 1
        if self._loop is not None:
            self._loop.pause()

    def resume(self) -> None:
        """Let the process go on, once for each `pause`."""
        self._pauses -= 1
        self._resumed_at = self.world.now
        if not self._pauses and self._loop is not None:
            self._loop.resume()

    @property
    def has_unwritten(self) -> bool:
        """Return whether it has decided what the store has not confirmed."""
        return any(each.engine.tables.sequence > each.durable for each in self.runtimes)

    @property
    def present(self) -> list[Services]:
        """Return what it serves that it answers for at this moment."""
        return [] if self.served is None or not self.is_serving else [*self.served.services]

    @property
    def present_games(self) -> list[tuple[str, Services]]:
        """Return the same, each with the name of its game."""
        return [("", services) for services in self.present]

    @property
    def runtimes(self) -> list[Runtime]:
        """Return the shards for which it may answer at this moment."""
        each = (services.runtime for services in self.present)
        return [runtime for runtime in each if runtime.refusal is None]

    @property
    def open_ends(self) -> int:
        """Return of how many requests the answer is under way, here or on to another machine."""
        return self.open_requests + (0 if self._loop is None else len(self._loop.wires))

    # Requests

    def take(self, request: Request, reply: Reply, part: Part | None = None) -> None:
        """Serve one request that has arrived; `reply` is called here, and carries it back.

        Where `part` is given, each part of the answer goes there as it comes, and `reply` is called
        at its end.
        """
        loop, served = self._loop, self.served
        if loop is None or served is None or not self.is_serving:
            if not self._pauses:
                reply(0, {}, b"refused")
            return
        loop.call_soon(self._begin, loop, served, request, (reply, part))

    def leave(self, number: int) -> None:
        """Tell the process that a client waits no longer."""
        if self._loop is not None and (gone := self._open.get(number)) is not None:
            self._loop.call_soon(gone.set)

    def _begin(
        self, loop: NodeLoop, served: Any, request: Request, ways: tuple[Reply, Part | None]
    ) -> None:
        """Let the process answer, past ASGI where it would."""
        scope, answer = request.scope(), partial(_answer, ways[0])
        way = None if "?" in request.path else served.direct_gate.way_of(scope)
        if way is None:
            loop.create_task(self._serve(served, request, *ways))
            return
        try:
            route = way.let_in(scope).direct(scope)
            route.check(scope)
        except MatchmakingError as error:
            answer(*answer_of(error))
            return
        came = WholeRequest(scope, request.body, answer, lambda: False, route.stopwatch())
        route.take(came)

    async def _serve(self, served: Any, request: Request, reply: Reply, part: Part | None) -> None:
        gone = self._open[request.number] = asyncio.Event()
        self.open_requests += 1
        status, headers, parts, is_read, is_whole = 0, {}, [], False, False

        async def receive() -> dict[str, Any]:
            nonlocal is_read
            if not is_read:
                is_read = True
                return {"type": "http.request", "body": request.body, "more_body": False}
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            nonlocal status, headers, is_whole
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = {key.decode(): text.decode() for key, text in message["headers"]}
            elif message["type"] == "http.response.body":
                parts.append(message.get("body", b""))
                is_whole = not message.get("more_body", False)
                if part is not None and parts[-1] and status == 200:
                    part(parts[-1])

        try:
            await served.app(request.scope(), receive, send)
        except Exception as error:  # noqa: BLE001
            self.errors.append(f"{request.method} {request.path} raised {error!r}")
        self._open.pop(request.number, None)
        self.open_requests -= 1
        # Half an answer ends with its connection.
        reply(*(status, headers, b"".join(parts)) if is_whole else (0, {}, b"cut off"))

    # WebSockets

    def take_socket(self, request: Request, said: Said) -> None:
        """Serve a WebSocket that has arrived; `said` is called for what the server says."""
        loop, served = self._loop, self.served
        if loop is not None and served is not None and self.is_serving:
            inbox: asyncio.Queue[Any] = asyncio.Queue()
            self._sockets[request.number] = inbox
            loop.call_soon(self._begin_socket, loop, served, request, (inbox, said))

    def hear(self, number: int, text: str | None) -> None:
        """Let a WebSocket hear what its client says; None: that it has left."""
        loop, inbox = self._loop, self._sockets.get(number)
        if loop is not None and inbox is not None:
            kind = "disconnect" if text is None else "receive"
            if text is None:
                del self._sockets[number]
            loop.call_soon(inbox.put_nowait, {"type": f"websocket.{kind}", "text": text})

    def _begin_socket(
        self, loop: NodeLoop, served: Any, request: Request, ends: tuple[asyncio.Queue[Any], Said]
    ) -> None:
        loop.create_task(self._serve_socket(served, request, ends))

    async def _serve_socket(
        self, served: Any, request: Request, ends: tuple[asyncio.Queue[Any], Said]
    ) -> None:
        inbox, said = ends
        self.open_requests += 1
        inbox.put_nowait({"type": "websocket.connect"})

        async def send(message: Any) -> None:
            if request.number not in self._sockets:
                raise OSError("the client has left")
            said(message)
            if message["type"] == "websocket.close":
                inbox.put_nowait({"type": "websocket.disconnect"})

        try:
            with suppress(OSError):
                await served.app(request.scope(), inbox.get, send)
        except Exception as error:  # noqa: BLE001
            self.errors.append(f"a WebSocket raised {error!r}")
        self._sockets.pop(request.number, None)
        self.open_requests -= 1
        said({"type": "websocket.close"})

    def carry_back(self, text: bytes, call: Callable[[], object]) -> None:
        """Send an answer to the clients."""
        self.network.carry(self.name, CLIENTS, text, call)


def _answer(reply: Reply, status: int, body: bytes, headers: Any) -> None:
    """Answer a request that came past ASGI."""
    told = headers_for(status) if headers is None else headers
    reply(status, {name.decode(): text.decode() for name, text in told}, body)
