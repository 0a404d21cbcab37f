"""A machine of a cluster: it serves the shards whose leases it holds, and hands on all else.

What nodes say to each other goes over connections of the virtual network, in the product's own
protocols: greetings, preparing and taking, requests that are handed on, WebSockets, and creates in
frames. Creates of clients come past ASGI, as the parser hands them in.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec
from uvicorn.server import ServerState

from evenmatch.errors import MatchmakingError
from evenmatch.model.shards import shards_of
from evenmatch.server.auth.accounts import Accounts
from evenmatch.server.cluster.front import Front
from evenmatch.server.cluster.identity import NodeIdentity
from evenmatch.server.cluster.node import GamePlan
from evenmatch.server.cluster.node import Node as ClusterServer
from evenmatch.server.cluster.plans import _shard_plan
from evenmatch.server.cluster.seat import SeatPlan
from evenmatch.server.cluster.tenants import Tenants
from evenmatch.server.http.create_tickets import CreateRequest
from evenmatch.server.http.responses import encode, headers_for, headers_of, problem_of
from evenmatch.server.runtime.lease_keeping import Claim
from evenmatch.server.runtime.serve import ListenOptions, _config
from evenmatch.server.runtime.services import Services
from tests.fault.simulated.loop import NodeLoop
from tests.fault.simulated.network import Network
from tests.fault.simulated.node import BORN, Node, Part, Reply, Request
from tests.fault.simulated.wires import Factory, dialled

KEY = b"the secret of all nodes"
CREATES = ("POST", "/v1/tickets")


class ClusterNode(Node):
    """A machine of a cluster; `others` has all of them, by name."""

    others: dict[str, ClusterNode]
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
        layout, seats = shards_of(plan.queues), []
        for part in layout:
            own = _shard_plan(plan, part, layout)
            own = msgspec.structs.replace(own, owner=identity.owner, waits=False)
            claim = Claim(part.name, identity.owner, plan.lease_seconds)
            start = partial(self._games, own, loop)
            seats.append(SeatPlan("", claim, self._journal(loop), start))
        game = GamePlan("", tuple(seats), layout, plan.settings)
        accounts = Accounts(plan.settings, None, wall=self.wall)
        served = ClusterServer(identity, [game], Tenants({"": accounts}, wall=self.wall))
        config = _config(served, ListenOptions(), lambda: served.direct_gate, served.frames)
        config.load()
        state = ServerState()
        self.listening = (
            loop,
            lambda: config.http_protocol_class(config=config, server_state=state, app_state={}),
        )
        return served

    def _ended(self, loop: NodeLoop) -> None:
        self.listening = None
        super()._ended(loop)

    @property
    def present(self) -> list[Services]:
        if self.served is None:
            return []
        return [services for games in self.served.present for services in games.services]

    def _begin(
        self, loop: NodeLoop, served: Any, request: Request, ways: tuple[Reply, Part | None]
    ) -> None:
        if (request.method, request.path) != CREATES:
            super()._begin(loop, served, request, ways)
            return
        scope, answer = request.scope(), partial(_answer, ways[0])
        try:
            creates = served.direct_gate.let_in(scope).creates(scope)
            creates.check(scope)
        except MatchmakingError as error:
            status, problem = problem_of(error)
            answer(status, encode(problem), headers_of(error))
            return
        came = CreateRequest(scope, request.body, answer, lambda: False, creates.stopwatch())
        creates.take(came)


def _answer(reply: Reply, status: int, body: bytes, headers: Any) -> None:
    told = headers_for(status) if headers is None else headers
    reply(status, {name.decode(): text.decode() for name, text in told}, body)


def _wall(network: Network) -> float:
    return BORN + network.world.now


@contextmanager
def fronts_by(clock: Any) -> Iterator[None]:
    """Let what takes creates of a cluster measure them by another clock than the machine's."""
    before = vars(Front)["stopwatch"]
    Front.stopwatch = staticmethod(clock)  # type: ignore[method-assign]
    try:
        yield
    finally:
        Front.stopwatch = before
