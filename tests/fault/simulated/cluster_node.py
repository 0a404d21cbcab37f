"""A machine of a cluster: it serves the shards whose leases it holds, and hands on all else.

What nodes say to each other goes over connections of the virtual network, in the product's own
protocols: greetings, preparing and taking, requests that are handed on, WebSockets, and creates in
frames. Creates of clients come past ASGI, as the parser hands them in.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec
from uvicorn.server import ServerState

from evenmatch.engine.records import FORMAT
from evenmatch.errors import JournalCorrupt, UnknownMatch
from evenmatch.journals.base import Entry, StoredSnapshot, format_of
from evenmatch.model.shards import shards_of
from evenmatch.server.cluster.direct_routing import DirectRouter
from evenmatch.server.cluster.identity import NodeIdentity, PeerNote
from evenmatch.server.cluster.node import Node as ClusterServer
from evenmatch.server.cluster.peer_calls import FINISH_PATH, NodeStatus
from evenmatch.server.cluster.plans import GamePlan, _shard_plan
from evenmatch.server.cluster.seat import SeatPlan
from evenmatch.server.cluster.tenants import Tenants
from evenmatch.server.http.responses import (
    Scope,
)
from evenmatch.server.runtime.lease_keeping import Claim
from evenmatch.server.runtime.serve import ListenOptions, _config
from evenmatch.server.runtime.services import Services
from tests.fault.simulated.loop import NodeLoop
from tests.fault.simulated.network import Network
from tests.fault.simulated.node import BORN, Hosted, Node
from tests.fault.simulated.store import Store, StoreJournal
from tests.fault.simulated.wires import Factory, dialled

KEY = b"the secret of all nodes"
OLDER = FORMAT - 1
"""The record format of the version before."""


class OlderServer(ClusterServer):
    """A server of the version before: it knows one record format less, and no end of an upgrade."""

    @property
    def status(self) -> NodeStatus:
        return msgspec.structs.replace(super().status, format=OLDER)

    async def _hear(self, scope: Scope, note: PeerNote | None) -> None:
        if scope["path"] == FINISH_PATH:
            raise UnknownMatch("there is nothing at this path")
        await super()._hear(scope, note)


class OlderJournal(StoreJournal):
    """A journal's driver of the version before: it refuses what is marked with a newer format."""

    async def lease(self, shard: str, owner: str, ttl: float) -> int:
        await self._check(shard)
        return await super().lease(shard, owner, ttl)

    async def read(self, shard: str, from_seq: int) -> AsyncIterator[Entry]:
        await self._check(shard)
        async for entry in super().read(shard, from_seq):
            yield entry

    async def latest_snapshot(self, shard: str) -> StoredSnapshot | None:
        await self._check(shard)
        return await super().latest_snapshot(shard)

    async def _check(self, shard: str) -> None:
        if (number := format_of(await self.segments(shard))) > OLDER:
            raise JournalCorrupt(f"the journal has format {number}, and this version reads {OLDER}")


class ClusterNode(Node):
    """A machine of a cluster; `others` has all of them, by name."""

    others: dict[str, ClusterNode]
    is_older = False
    older_since: float | None = None
    """Since when a process of the older version runs."""
    listening: tuple[NodeLoop, Factory] | None = None

    def _assembled(self, loop: NodeLoop) -> Any:
        network, plan = self.network, self._plan
        loop.dial = lambda factory, host: dialled(
            network, (self.name, loop), self.others[host], factory
        )
        # Notes between nodes count for a minute, so their clocks must be nearer than that; what
        # else a clock says may be off by an hour, as everywhere.
        wall = partial(_wall, network)
        identity = NodeIdentity(self.name, f"{self.name}:1", KEY, str(self.starts), wall)
        accounts = {
            each.game.tenant: each.game.accounts(plan.settings, self.wall) for each in self._hosted
        }
        games = [self._game(each, identity, loop) for each in self._hosted]
        kind = OlderServer if self.is_older else ClusterServer
        self.older_since = self.world.now if self.is_older else None
        served = kind(identity, games, Tenants(accounts, wall=self.wall))
        config = _config(served, ListenOptions(), lambda: served.direct_gate, served.frames)
        config.load()
        state = ServerState()
        self.listening = (
            loop,
            lambda: config.http_protocol_class(config=config, server_state=state, app_state={}),
        )
        return served

    def _game(self, hosted: Hosted, identity: NodeIdentity, loop: NodeLoop) -> GamePlan:
        """Return what this process runs of a game."""
        game, seats = hosted.game, []
        queues = game.queues if self.is_older else game.newer
        plan = msgspec.structs.replace(hosted.plan, queues=queues, keeps_format=True)
        layout = shards_of(queues)
        for part in layout:
            own = _shard_plan(plan, part, layout)
            own = msgspec.structs.replace(own, owner=identity.owner, waits=False)
            claim = Claim(part.name, identity.owner, plan.lease_seconds)
            start = partial(self._games, own, hosted, loop)
            seats.append(SeatPlan(game.tenant, claim, self._journal(hosted.store, loop), start))
        return GamePlan(game.tenant, tuple(seats), layout, plan.settings)

    def _journal(self, store: Store, loop: NodeLoop) -> StoreJournal:
        kind = OlderJournal if self.is_older else StoreJournal
        return kind(store, self.network, self.name, loop, self.wall)

    def upgrade(self) -> None:
        """Let the next process be of the newer version, and have it soon."""
        self.network.note("upgrade", self.name)
        self.is_older = False
        self.stop()

    @property
    def knows_a_cluster(self) -> bool:
        """Return whether it has learnt from the journal who owns a shard, and greets them."""
        seats = () if self.served is None else self.served._seats.values()
        return any(seat.holder for seat in seats)

    def stop(self) -> None:
        # Who is about to stop says so, and others count it no more.
        self.older_since = None
        super().stop()

    def _ended(self, loop: NodeLoop) -> None:
        self.listening = self.older_since = None
        super()._ended(loop)

    @property
    def present_games(self) -> list[tuple[str, Services]]:
        if self.served is None:
            return []
        seats = [seat for seat in self.served._seats.values() if seat.present is not None]
        return [(seat.tenant, services) for seat in seats for services in seat.present.services]

    @property
    def present(self) -> list[Services]:
        if self.served is None:
            return []
        return [services for games in self.served.present for services in games.services]


def _wall(network: Network) -> float:
    return BORN + network.world.now


@contextmanager
def fronts_by(clock: Any) -> Iterator[None]:
    """Let what takes creates of a cluster measure them by another clock than the machine's."""
    before = vars(DirectRouter)["stopwatch"]
    DirectRouter.stopwatch = staticmethod(clock)  # type: ignore[method-assign]
    try:
        yield
    finally:
        DirectRouter.stopwatch = before
