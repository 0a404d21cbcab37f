"""A node: it runs the games while it holds their lease, and hands requests on while another does.

    standing by --lease granted--> recovering --> answering --lease lost--> standing by

Every node takes every request. The owner answers; the others hand on. While nobody owns the shard,
or its owner is not known yet, clients get a 503 with the time after which to come again.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Callable

import msgspec

from evenmatch.config.server import ServerSettings
from evenmatch.errors import (
    JournalError,
    JournalUnavailable,
    MatchmakingError,
    StaleOwner,
)
from evenmatch.journals.base import Journal
from evenmatch.server.auth.authenticate import LOOK_EVERY, Authenticator
from evenmatch.server.cluster.forwarding import FORWARDED, Peer
from evenmatch.server.cluster.identity import NodeIdentity, address_of, name_of
from evenmatch.server.cluster.sockets import relay
from evenmatch.server.http.responses import (
    Asgi,
    Disconnected,
    Receive,
    Scope,
    Send,
    encode,
    header,
    headers_of,
    problem_of,
    send_body,
)
from evenmatch.server.http.sockets import denying
from evenmatch.server.runtime.games import Games
from evenmatch.server.runtime.lease_keeping import Claim
from evenmatch.server.runtime.logs import log

STATUS_PATH = "/v1/cluster"
HEALTH_PATH, READY_PATH = "/healthz", "/readyz"
ASK_EVERY = 0.2
"""Seconds between two questions for the lease."""
AGAIN_SECONDS = 1.0
"""Seconds before a node that could not recover tries again."""


class NodeStatus(msgspec.Struct, frozen=True):
    """What a node knows of its cluster.

    Args:
        node: Its name.
        role: `answering`, `recovering` or `standing_by`.
        owner: Name of the node that answers; "" if nobody is known to.
        address: HOST:PORT of that node.
        lease_seconds: Length of a lease.
    """

    node: str
    role: str
    owner: str
    address: str
    lease_seconds: float


class Node:
    """One node of a cluster.

    Args:
        identity: Its name, address and secret.
        claim: The lease that it asks for.
        journal: Its own way to the journal, for asking.
        start: Returns the games, not yet started, each time that the lease is granted.
        settings: Of the game.
    """

    def __init__(
        self,
        identity: NodeIdentity,
        claim: Claim,
        journal: Journal,
        start: Callable[[], Games],
        settings: ServerSettings,
    ) -> None:
        self._identity = identity
        self._claim = claim
        self._journal = journal
        self._start = start
        self._most = settings.limits.body_bytes_max
        self.origins = settings.origins
        self._games: Games | None = None
        self._is_recovering = False
        self._holder = ""
        self._peer: Peer | None = None
        self._ended = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    # The life of a node

    async def start(self) -> None:
        """Ask for the lease from now on."""
        self._task = asyncio.create_task(self._live())
        # Whatever ends it ends the process, too: whoever watches that starts it again.
        self._task.add_done_callback(lambda _: self._ended.set())

    async def watch(self) -> None:
        """Look at the files of keys from time to time, for ever."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            if self._games is not None:
                self._games.gate.look()

    async def stop(self) -> None:
        """Stop, and give the lease back: the next node begins at once."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._games is not None:
            games, self._games = self._games, None
            await games.stop()
        if self._peer is not None:
            self._peer.close()
        await self._journal.close()

    async def _live(self) -> None:
        while True:
            await self._granted()
            self._is_recovering = True
            games = self._start()
            try:
                await games.start()
            except MatchmakingError as error:
                # What keeps this node from it need not keep the others.
                log.error("node_not_recovered", error=str(error), consequence="it stands by")
                await asyncio.sleep(AGAIN_SECONDS)
                continue
            finally:
                self._is_recovering = False
            self._games, self._holder = games, self._identity.owner
            log.info("node_answers", node=self._identity.name)
            await games.over()
            if not games.is_given_up:
                return
            self._games = None
            log.warning("node_stands_by", node=self._identity.name)
            games.close()
            await games.stop()

    async def _granted(self) -> None:
        """Return when the lease is granted; learn meanwhile who has it."""
        claim = self._claim
        while True:
            try:
                await self._journal.lease(claim.shard, claim.owner, claim.seconds)
            except StaleOwner as error:
                self._holder = error.holder
            except JournalError as error:
                log.warning("lease_not_asked", error=str(error), consequence="asked again")
            else:
                return
            await asyncio.sleep(ASK_EVERY)

    # What a server asks of what it serves

    @property
    def present(self) -> Games | None:
        """Return the games if this node answers for them at this moment."""
        games = self._games
        return games if games is not None and games.may_answer else None

    @property
    def direct_gate(self) -> Authenticator | None:
        """Return who lets creates in past ASGI; None while this node hands on."""
        games = self.present
        return None if games is None else games.gate

    @property
    def app(self) -> Asgi:
        """Return what answers requests."""
        return self

    def check_given_up(self) -> None:
        """Raise what nobody foresaw; a node that lost its lease only stands by."""
        task = self._task
        if task is not None and task.done() and not task.cancelled():
            task.result()

    @property
    def late(self) -> float:
        """Return for how many seconds the loop has not come round; any thread may ask."""
        return 0.0 if self._games is None else self._games.late

    async def over(self) -> None:
        """Return when the games have drained, or the node has failed."""
        await self._ended.wait()

    def close(self) -> None:
        """End streams and long polls."""
        if self._games is not None:
            self._games.close()

    async def reload(self) -> None:
        """Read the files of configuration and of keys anew."""
        if self._games is not None:
            await self._games.reload()

    def drain(self) -> None:
        """Take no new tickets, and end when nobody waits any more."""
        if self._games is not None:
            self._games.drain()

    def turned_away(self, reason: str) -> None:
        """Count somebody whom the process had no place for."""
        if self._games is not None:
            self._games.turned_away(reason)

    # Requests

    @property
    def status(self) -> NodeStatus:
        """Return what the node knows of its cluster."""
        role = "recovering" if self._is_recovering else "standing_by"
        if self.present is not None:
            role = "answering"
        return NodeStatus(
            self._identity.name,
            role,
            name_of(self._holder),
            self._holder.rpartition("@")[2],
            self._claim.seconds,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or have it answered."""
        if scope["type"] not in ("http", "websocket"):
            return
        try:
            await self._answer(scope, receive, send)
        except Disconnected:
            return
        except MatchmakingError as error:
            status, problem = problem_of(error)
            told = denying(send) if scope["type"] == "websocket" else send
            await send_body(told, status, encode(problem), headers_of(error))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        signed = header(scope, FORWARDED)
        client = None if signed is None else self._identity.client_of(signed)
        if client is not None:
            scope["client"] = (client, 0)
        elif signed is not None:
            # Nodes that do not know each other would hand it on for ever.
            raise JournalUnavailable(
                "a node handed this on with another cluster key: give all nodes the same one"
            )
        games, path = self.present, scope.get("path")
        if path == STATUS_PATH and (client is not None or _is_near(scope)):
            await send_body(send, 200, encode(self.status))
        elif games is not None:
            await games.gate(scope, receive, send)
        elif path in (HEALTH_PATH, READY_PATH):
            await self._tell(send, is_health=path == HEALTH_PATH)
        elif client is not None:
            raise JournalUnavailable("this node does not answer now; another one will in a second")
        elif scope["type"] == "websocket":
            place = self._owner().address
            origin = (scope.get("client") or ("", 0))[0]
            signed = self._identity.sign(origin).decode("latin-1")
            await relay(scope, receive, send, place, signed)
        else:
            await self._owner().answer(scope, receive, send, self._most)

    def _owner(self) -> Peer:
        """Return the way to the node that answers.

        Raises:
            JournalUnavailable: None is known, or it is this one, which cannot answer now.
        """
        place = address_of(self._holder)
        if place is None or self._holder == self._identity.owner:
            raise JournalUnavailable("no node answers now; one takes over within seconds")
        if self._peer is None or self._peer.address != place:
            if self._peer is not None:
                self._peer.close()
            self._peer = Peer(*place, self._identity)
        return self._peer

    async def _tell(self, send: Send, *, is_health: bool) -> None:
        """Say that this node lives, or whether requests can be answered through it."""
        if is_health:
            await send_body(send, 200, encode({"status": "ok"}))
            return
        is_ready = address_of(self._holder) is not None and self._holder != self._identity.owner
        said = "ready" if is_ready else "not ready"
        await send_body(send, 200 if is_ready else 503, encode({"status": said}))


def _is_near(scope: Scope) -> bool:
    """Return whether a request comes from the node's own machine."""
    client = scope.get("client")
    try:
        return client is not None and ipaddress.ip_address(client[0]).is_loopback
    except ValueError:
        return False
