"""Routes of a client that stays: signs of life, and new facts of its ticket."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from evenmatch.engine.engine import Engine
from evenmatch.model.inputs import Update
from evenmatch.server.auth.accounts import Accounts
from evenmatch.server.auth.creating import remember, renewable
from evenmatch.server.auth.ownership import principal_of
from evenmatch.server.http.responses import json, read_body
from evenmatch.server.runtime.services import Parts
from evenmatch.server.views.followers import ticket_state
from evenmatch.wire.live import UpdateTicket, update_of
from evenmatch.wire.tickets import Problem, TicketState, decode

UPDATE = 'an object such as {"attributes": {}, "players": [{"id": "p1", "rating": {"mean": 1500}}]}'


class LiveRoutes:
    """Handlers that answer with the ticket as it is now."""

    def __init__(self, parts: Parts, accounts: Accounts) -> None:
        self._parts = parts
        self._runtime = parts.runtime
        self._accounts = accounts

    async def heartbeat(self, request: Request) -> Response:
        """Note that a ticket's client is still there."""
        ticket_id = request.path_params["ticket"]
        self._parts.presence.seen(ticket_id)
        return await self._present(ticket_id)

    async def update(self, request: Request) -> Response:
        """Let a waiting ticket have new facts, without losing its place."""
        limit = self._runtime.plan.settings.limits.body_bytes_max
        body = await read_body(request.scope, request.receive, limit)
        given, ticket_id = decode(body, UpdateTicket, UPDATE), request.path_params["ticket"]
        row = self._runtime.engine.tables.waiting.get(ticket_id)
        ticket = None if row is None else row.ticket
        principal = principal_of(request.scope)
        new = update_of(renewable(principal, given, self._accounts))
        await self._runtime.ask(
            Update(self._runtime.now(), ticket_id, new.attributes, new.players, strict=True)
        )
        remember(principal, given, ticket, self._accounts)
        return await self._present(ticket_id)

    async def stream_by_http(self, request: Request) -> Response:
        """Say that the stream is a WebSocket."""
        del request
        problem = Problem("upgrade_required", "the stream is a WebSocket: connect with ws://")
        response = json(problem, 426)
        response.headers["upgrade"] = "websocket"
        return response

    async def _present(self, ticket_id: str) -> Response:
        waits, now = self._parts.waits, self._runtime.now()

        def query(engine: Engine) -> TicketState:
            view = engine.view(ticket_id)
            return ticket_state(view, now, waits.estimate(engine, ticket_id, now))

        return json(await self._runtime.look(query))
