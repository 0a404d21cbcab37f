"""A node answers for the shards whose leases it holds, and hands all other requests on.

Every node takes every request. While nobody owns a shard, or its owner is not known yet, clients
wait a moment, and then get a 503 with the time after which to come again.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence

from evenmatch.config.files import BYTES_MAX as CONFIG_BYTES_MAX
from evenmatch.engine.records import FORMAT
from evenmatch.errors import ConfigError, JournalUnavailable, MatchmakingError
from evenmatch.journals.base import Journal
from evenmatch.server.auth.authenticate import LOOK_EVERY, SIGNED_BYTES_MAX
from evenmatch.server.cluster.direct_routing import DirectRouter, FrameResponder, LocalRoute
from evenmatch.server.cluster.forwarding import FORWARDED, OWNER, NodeUnreached
from evenmatch.server.cluster.frames import FrameLink, FrameServer
from evenmatch.server.cluster.greetings import ESTRANGED, Greetings, digest_of
from evenmatch.server.cluster.handover import Handover
from evenmatch.server.cluster.identity import NodeIdentity, PeerNote, Purpose
from evenmatch.server.cluster.members import HELLO_EVERY
from evenmatch.server.cluster.node_metrics import ClusterFigures, NodeMetrics
from evenmatch.server.cluster.peer_calls import (
    FINISH_PATH,
    GREETED,
    NODE_PATHS,
    OTHER_CLUSTER,
    STATUS_PATH,
    NodeStatus,
)
from evenmatch.server.cluster.peers import Peers
from evenmatch.server.cluster.plans import GamePlan
from evenmatch.server.cluster.router import GameRouter
from evenmatch.server.cluster.seat import Role, Seat
from evenmatch.server.cluster.socket_relay import relay
from evenmatch.server.cluster.tenants import Tenants
from evenmatch.server.cluster.upgrade import finish_upgrade
from evenmatch.server.gamelift.routes import BYTES_MAX as GAMELIFT_BYTES_MAX
from evenmatch.server.http.match_inputs import REPORT_BYTES_MAX
from evenmatch.server.http.responses import (
    Asgi,
    Disconnected,
    Message,
    Receive,
    Scope,
    Send,
    encode,
    give_up_on,
    header,
    headers_of,
    internal_problem,
    problem_of,
    read_body,
    replay_body,
    send_body,
)
from evenmatch.server.http.routing import NOTHING_HERE
from evenmatch.server.http.sockets import denying
from evenmatch.server.runtime.games import Games
from evenmatch.server.runtime.logs import log
from evenmatch.server.views.metrics import NODE
from evenmatch.wire.tickets import Problem

JOURNAL_AWAY = "no node answers, because the journal cannot be used: try again in a second"
LEASE_LOST = (
    "this node was away for longer than its lease, so another one may answer by now: try again in "
    "a second"
)
HEALTH_PATH, READY_PATH = "/healthz", "/readyz"
ROUTE_BYTES_MAX = max(REPORT_BYTES_MAX, CONFIG_BYTES_MAX, GAMELIFT_BYTES_MAX, SIGNED_BYTES_MAX)
"""Bytes of a body that some route takes whatever the limit of a game's tickets is.

The route that answers has a limit of its own: this one only keeps memory."""
HOLD_SECONDS = 0.8
"""For how long a request waits while a shard goes from one node to another."""
TRIES = 2
"""Nodes that a request is handed on to: the second one if the first names it."""
DRAINED_LOOKS = 2
"""Greetings for which a node with nothing left to do goes on, so that the others hear of it."""


class Node:
    """One node of a cluster.

    Args:
        identity: Its name, address and secret.
        games: What the cluster runs, at least one.
        tenants: Tells which game a request is about.
    """

    def __init__(self, identity: NodeIdentity, games: Sequence[GamePlan], tenants: Tenants) -> None:
        self._identity = identity
        self._tenants = tenants
        self._seats: dict[str, Seat] = {}
        self._most: dict[str, int] = {}
        self._routers: dict[str, GameRouter] = {}
        self._journals: list[Journal] = []
        for game in games:
            seats = [Seat(each, self._reluctance, self._look) for each in game.shards]
            self._seats |= {seat.about: seat for seat in seats}
            most = game.settings.limits.body_bytes_max
            self._most |= {seat.about: max(most, ROUTE_BYTES_MAX) for seat in seats}
            self._journals += [each.journal for each in game.shards]
            metrics = NodeMetrics(identity.name, self._figures)
            self._routers[game.tenant] = GameRouter(
                seats, game.parts, self.serve, most, metrics, tenants.queues_of
            )
        origins = (origin for game in games for origin in game.settings.origins)
        self.origins = tuple(dict.fromkeys(origins))
        self._games = list(games)
        self._lease_seconds = games[0].shards[0].claim.seconds
        self._greetings = Greetings(identity, self._seats, digest_of(games), self._lease_seconds)
        self._members = self._greetings.members
        self._handover = Handover(identity, self._seats, self._greetings)
        self._peers = Peers(identity, lambda: self._owners)
        self._servers: dict[FrameServer, None] = {}
        limits = [game.settings.limits.body_bytes_max for game in games]
        self._front = DirectRouter(self, max(REPORT_BYTES_MAX, *limits))
        self._frame_owner = FrameResponder(self._seats.get, self._answer_frame)
        self._ended = asyncio.Event()
        self._is_leaving = self._is_told_to_drain = False
        self._tasks: list[asyncio.Task[None]] = []

    # The life of a node

    async def start(self) -> None:
        """Start asking for the leases."""
        await self._greetings.address.check()
        for seat in self._seats.values():
            task = asyncio.create_task(seat.live())
            # Whatever ends it ends the process, too: whoever watches that starts it again.
            task.add_done_callback(self._seat_ended)
            self._tasks.append(task)
        greeting = asyncio.create_task(self._greet())
        greeting.add_done_callback(self._greeting_ended)
        self._tasks.append(greeting)

    def _greeting_ended(self, task: asyncio.Task[None]) -> None:
        """End the process if nobody would be greeted any more, and so no shard given away."""
        if _has_failed(task, "greetings of other nodes"):
            self._ended.set()

    def _seat_ended(self, task: asyncio.Task[None]) -> None:
        if _has_failed(task, "life of a shard"):
            self._ended.set()

    async def watch(self) -> None:
        """Look at the files of keys from time to time, for ever."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            self._look()

    def _look(self) -> None:
        """Read changed files of keys, for all shards."""
        for seat in self._seats.values():
            if (games := seat.games or seat.standby) is not None:
                games.gate.look()

    async def leave(self) -> None:
        """Hand each shard over to another live node, and hand requests for it on from then on.

        Without another node this one answers until it stops.
        """
        self._is_leaving = True
        # Where all have drained, nobody is to take tickets for them again.
        if not self._is_drained:
            await self._handover.leave()

    async def stop(self) -> None:
        """Stop, and give what leases are left to whoever comes first."""
        await self._greetings.stop()
        ending = self._tasks
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        await asyncio.gather(*(seat.stop() for seat in self._seats.values()))
        await self._peers.stop()
        for each in self._servers:
            each.end()
        for journal in dict.fromkeys(self._journals):
            await journal.close()

    # Who has what

    @property
    def _held(self) -> int:
        return sum(seat.is_held for seat in self._seats.values())

    def _figures(self) -> ClusterFigures:
        seats = self._seats.values()
        return ClusterFigures(
            1 + len(self._members.alive),
            self._greetings.unlike,
            sum(seat.taken for seat in seats),
            sum(seat.unfollowed for seat in seats),
        )

    def _reluctance(self) -> float:
        if self._is_leaving or self._greetings.obstacle(self._held):
            return math.inf
        return self._members.reluctance(self._held, total=len(self._seats))

    async def _greet(self) -> None:
        """Tell other nodes of this one, and give a shard to one that has less, for ever."""
        drained_looks = 0
        while not self._is_leaving:
            await self._greetings.greet(self._held)
            self._peers.tidy()
            greetings = self._greetings
            if successor := greetings.address.taken_by or greetings.outnumbered_by:
                await self._handover.give_all(successor)
            else:
                await self._handover.level(self._held)
            drained_looks = drained_looks + 1 if self._is_drained else 0
            # The others are to hear of it first: they would take the shards over, and go on.
            if drained_looks > (DRAINED_LOOKS if self._members.alive else 0):
                log.warning("node_drained", consequence="it stops")
                self._ended.set()
                return
            await asyncio.sleep(HELLO_EVERY)

    @property
    def _is_draining(self) -> bool:
        """Return whether no shard takes new tickets, or none of a node that was told to drain."""
        seats = list(self._seats.values())
        # A node that drains only because a game asked for it goes on handing on to others.
        held = [seat for seat in seats if self._is_told_to_drain and seat.present is not None]
        return all(seat.is_draining for seat in held or seats)

    @property
    def _is_drained(self) -> bool:
        """Return whether all shards of all games have drained, here or at other nodes."""
        return all(seat.is_drained for seat in self._seats.values())

    # What a server asks of what it serves

    @property
    def present(self) -> list[Games]:
        """Return the games for whose shards this node answers now."""
        return [games for seat in self._seats.values() if (games := seat.present) is not None]

    @property
    def direct_gate(self) -> LocalRoute | DirectRouter:
        """Return who lets the next request in past ASGI."""
        seat = next(iter(self._seats.values()))
        if len(self._seats) == 1 and (games := seat.present) is not None:
            return LocalRoute(self._front, seat, games)
        return self._front

    def frames(self, said: bytes) -> FrameServer | None:
        """Return what takes another node's frames; None if it is none of ours.

        Args:
            said: How it begins.
        """
        if self._identity.note_of(said.strip(), purpose="frames") is None:
            return None
        server = FrameServer(self._frame_owner.answer)
        self._servers = {each: None for each in self._servers if not each.is_lost}
        self._servers[server] = None
        return server

    # The ways past ASGI

    def seat_of_create(self, scope: Scope, body: bytes) -> Seat | None:
        """Return the shard of a create, None if it belongs to several."""
        return self._routers[self._tenants.of(scope)].seat_of_create(body)

    def seat_of_id(self, scope: Scope) -> Seat | None:
        """Return the shard of a request that names a ticket or match; None if it names none."""
        return self._routers[self._tenants.of(scope)].seat_of_id(scope["path"])

    def link_to(self, seat: Seat) -> FrameLink | None:
        """Return a connection for frames to the owner of a shard, None while there is none."""
        place = self._identity.place_of(seat.holder)
        return None if place is None else self._peers.link(place)

    async def route(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a client's request, wherever its shard is."""
        await self._routers[self._tenants.of(scope)](scope, receive, send)

    def answered(self, scope: Scope, status: int, began: float) -> None:
        """Count an answer that the node gives itself to a client, in the place of a shard."""
        self._routers[self._tenants.of(scope)].metrics.answered(status, began)

    async def _answer_frame(self, scope: Scope, receive: Receive, send: Send, about: str) -> None:
        await self._answer_node(scope, receive, send, PeerNote(scope["client"][0], about))

    @property
    def app(self) -> Asgi:
        """Return what answers requests."""
        return self

    def check_given_up(self) -> None:
        """Raise an unexpected error; a node that has lost its lease only stands by."""
        for task in self._tasks:
            if task.done() and not task.cancelled():
                task.result()

    @property
    def _running(self) -> list[Games]:
        # Each is looked at once: another thread asks too, and what was there may be gone next.
        return [games for seat in self._seats.values() if (games := seat.games) is not None]

    @property
    def late(self) -> float:
        """Return for how many seconds the event loop has not run; any thread may ask."""
        return max((games.late for games in self._running), default=0.0)

    async def over(self) -> None:
        """Return when the games have drained, or the node has failed."""
        await self._ended.wait()

    def close(self) -> None:
        """End streams and long polls, also those that other nodes answer."""
        for games in self._running:
            games.close()
        self._peers.close()

    async def reload(self) -> None:
        """Read the files of configuration and of keys anew."""
        self._look()
        self._greetings.forgive()
        for seat in self._seats.values():
            seat.trust()
        for games in self._running:
            await games.reload()
        self._games = [await asyncio.to_thread(each.read_anew) for each in self._games]
        self._greetings.configured = digest_of(self._games)

    def drain(self) -> None:
        """Take no new tickets, and end when no ticket waits any more."""
        self._is_told_to_drain = True
        for games in self._running:
            games.drain()

    def turned_away(self, reason: str) -> None:
        """Count somebody whom the process had no place for."""
        for games in self._running:
            games.turned_away(reason)

    # Requests

    @property
    def status(self) -> NodeStatus:
        """Return what the node knows of its cluster."""
        shards = tuple(seat.status for seat in self._seats.values())
        roles = [each.role for each in shards]
        role: Role = "recovering" if "recovering" in roles else "standing_by"
        return NodeStatus(
            self._identity.name,
            "answering" if "answering" in roles else role,
            shards[0].owner,
            shards[0].address,
            self._lease_seconds,
            shards,
            self._identity.owner,
            tuple(each.owner for each in self._members.alive),
            self._is_leaving,
            FORMAT,
            tuple(drain for seat in self._seats.values() if (drain := seat.drain) is not None),
            self._greetings.configured,
            self._greetings.obstacle(self._held) or self._greetings.outages,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or have it answered."""
        if scope["type"] not in ("http", "websocket"):
            return
        is_begun, began = False, NodeMetrics.stopwatch()

        async def noted(message: Message) -> None:
            nonlocal is_begun
            is_begun = True
            await send(message)

        try:
            try:
                await self._answer(scope, receive, noted)
            except MatchmakingError as error:
                if is_begun:
                    raise
                await refuse(scope, send, error)
        except Disconnected:
            if not is_begun:
                await give_up_on(send)
        except Exception as error:
            if scope["type"] == "websocket" and isinstance(error, OSError):
                # The client has left before it was taken in; uvicorn knows what that is.
                raise
            self._unexpected(error)
            # Else the client has its answer already, or will see a cut stream.
            if not is_begun:
                told = denying(send) if scope["type"] == "websocket" else send
                await send_body(told, 500, internal_problem())
                self.answered(scope, 500, began)

    def _unexpected(self, error: Exception) -> None:
        """Count and log an error that is a fault of ours."""
        running = (each for games in self._running for each in games.services)
        if (services := next(running, None)) is not None:
            services.metrics.unexpected(error, NODE)
        else:
            log.error("unexpected_error", route=NODE, error=repr(error), exc_info=error)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        signed, path = header(scope, FORWARDED), scope["path"]
        is_for_nodes = path in NODE_PATHS
        purpose: Purpose = "nodes" if is_for_nodes else "request"
        note = None if signed is None else self._identity.note_of(signed, purpose=purpose)
        if signed is not None and note is None:
            # Nodes that do not know each other would hand it on for ever.
            self._greetings.tell_of_stranger(signed, str((scope.get("client") or ("",))[0]))
            if is_for_nodes and scope["type"] == "http":
                # One that has nothing keeps nobody from taking part.
                code = OTHER_CLUSTER if self._held else "unavailable"
                where = GREETED if self._members.alive else ""
                await send_body(send, 503, encode(Problem(code, ESTRANGED, where)))
                return
            raise JournalUnavailable(f"{ESTRANGED}: a node that differs handed this on")
        if is_for_nodes and (scope["type"] != "http" or note is None):
            # Never handed on: the owner would take it for this node's own question.
            told = denying(send) if scope["type"] == "websocket" else send
            await send_body(told, 404, encode(Problem("not_found", NOTHING_HERE)))
        elif is_for_nodes:
            await self._hear(scope, note)
            await send_body(send, 200, encode(self.status))
        elif note is not None:
            await self._answer_node(scope, receive, send, note)
        elif path == HEALTH_PATH:
            await send_body(send, 200, encode({"status": "ok"}))
        elif path == READY_PATH and (reason := self._unready) is not None:
            await send_body(send, 503, encode({"status": "not ready", "reason": reason}))
        elif path == READY_PATH and len(self._seats) > 1 and self._is_draining:
            await send_body(send, 503, encode({"status": "draining"}))
        elif path == READY_PATH and len(self._seats) > 1:
            await send_body(send, 200, encode({"status": "ready"}))
        else:
            await self.route(scope, receive, send)

    async def _hear(self, scope: Scope, note: PeerNote | None) -> None:
        """Take note of what another node tells of itself, or gives to this one."""
        path = scope["path"]
        if note is not None and path == FINISH_PATH:
            if scope["method"] != "POST":
                raise ConfigError(f"{FINISH_PATH} takes POST only, got {scope['method'][:16]}")
            others = [each.owner for each in self._members.alive]
            await finish_upgrade(self._identity, self._seats, others, note.about)
            return
        if note is None or not note.about:
            return
        if path == STATUS_PATH:
            self._members.hear(note.about, int(note.client) if note.client.isdigit() else 0)
        elif self._is_leaving:
            raise JournalUnavailable("this node is about to stop, and takes no shard")
        else:
            await self._handover.receive(path, note, self._held)

    async def _answer_node(
        self, scope: Scope, receive: Receive, send: Send, note: PeerNote
    ) -> None:
        """Answer what another node hands on, or name the owner."""
        scope["client"], began = (note.client, 0), NodeMetrics.stopwatch()
        seat = self._seats.get(note.about)
        if seat is None:
            raise JournalUnavailable(
                f"this node knows no shard {note.about[:64]!r}: give all nodes the same CONFIG"
            )
        if (games := await self._present(seat, _soon())) is not None:
            await games.gate(scope, receive, send)
            return
        if scope["type"] == "http" and self._identity.place_of(seat.holder):
            error = JournalUnavailable("this node does not answer now; another one does")
            status, problem = problem_of(error)
            named = (OWNER, seat.holder.encode("latin-1"))
            await send_body(send, status, encode(problem), [*headers_of(error), named])
            return
        self._routers[seat.tenant].metrics.answered(503, began)
        otherwise = "this node does not answer now; another one will in a second"
        raise JournalUnavailable(_reason(seat, otherwise))

    async def serve(self, seat: Seat, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a client's request for a shard, here or at its owner.

        Raises:
            JournalUnavailable: Nobody is known to answer, or whoever did is gone.
        """
        # Until when it waits, all in all, from the first time that it is not answered.
        until = _soon()
        if (games := await self._present(seat, until)) is not None:
            await games.gate(scope, receive, send)
            return
        if scope["type"] == "websocket":
            client = (scope.get("client") or ("", 0))[0]
            signed = self._identity.sign(client, seat.about).decode("latin-1")
            await relay(scope, receive, send, self._place_of(seat), signed)
            return
        if self._identity.place_of(seat.holder) is not None:
            # It has not waited yet.
            until = math.inf
        body, tries = await read_body(scope, receive, self._most[seat.about]), TRIES
        while True:
            # The shard may have come here while the body was read, or another node was asked.
            if (games := await self._present(seat, min(until, _soon()))) is not None:
                await games.gate(scope, replay_body(body, receive), send)
                return
            if not tries:
                raise JournalUnavailable("the shard goes from node to node: try again in a second")
            holder, peer = seat.holder, self._peers.peer(self._place_of(seat))
            try:
                other = await peer.answer(scope, receive, send, body, seat.about)
            except NodeUnreached as error:
                until = min(until, _soon())
                # It may have given the shard away just before it ended.
                if not await seat.moved(holder, until):
                    raise JournalUnavailable(_reason(seat, str(error))) from error
            else:
                if not other:
                    return
                tries, until = tries - 1, min(until, _soon())
                if self._identity.place_of(other) is None:
                    await seat.settled(until)
                seat.note(other)

    async def _present(self, seat: Seat, until: float) -> Games | None:
        """Return the game if this node answers, after a moment where nobody is known to do so."""
        if seat.present is None and self._identity.place_of(seat.holder) is None:
            await seat.settled(until)
        return seat.present

    def _place_of(self, seat: Seat) -> tuple[str, int]:
        """Return where the node is that answers for a shard.

        Raises:
            JournalUnavailable: None is known, or it is this one, which cannot answer now.
        """
        place = self._identity.place_of(seat.holder)
        if place is None:
            otherwise = "no node answers now; one takes over within seconds: try again"
            raise JournalUnavailable(_reason(seat, otherwise))
        return place

    @property
    def _owners(self) -> dict[str, tuple[str, int] | None]:
        """Return where the owner of each shard is, None if it is no other node."""
        return {about: self._identity.place_of(seat.holder) for about, seat in self._seats.items()}

    @property
    def _unready(self) -> str | None:
        """Return why requests for some shard cannot be answered through this node, or None."""
        if obstacle := self._greetings.obstacle(self._held):
            return obstacle
        for seat in self._seats.values():
            games = seat.present
            is_known = self._identity.place_of(seat.holder) is not None
            if games is None and (not is_known or seat.is_abandoned):
                return _reason(seat, f"no node answers for shard {seat.claim.shard}")
            if games is not None and any(each.runtime.unready for each in games.services):
                return f"shard {seat.claim.shard} is not ready; its node's log says why"
        return None


def _soon() -> float:
    """Return until when a request waits that cannot be answered now, by the loop's clock."""
    return asyncio.get_running_loop().time() + HOLD_SECONDS


def _reason(seat: Seat, otherwise: str) -> str:
    """Return why nobody answers for a shard, as far as this node knows."""
    if seat.is_cut_off:
        return JOURNAL_AWAY
    return LEASE_LOST if seat.was_away else otherwise


def _has_failed(task: asyncio.Task[None], what: str) -> bool:
    """Return whether a task that should never end was ended by an error, and say by which."""
    if task.cancelled() or (error := task.exception()) is None:
        return False
    log.error("node_ends", of=what, consequence="it stops and must be started anew", exc_info=error)
    return True


async def refuse(scope: Scope, send: Send, error: MatchmakingError) -> None:
    """Answer a client with an error."""
    status, problem = problem_of(error)
    told = denying(send) if scope["type"] == "websocket" else send
    await send_body(told, status, encode(problem), headers_of(error))
