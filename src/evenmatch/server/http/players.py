"""`GET /v1/tickets?player=`: what became of somebody, for those who help players."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from evenmatch.engine.engine import Engine
from evenmatch.errors import Forgotten
from evenmatch.server.auth.ownership import principal_of
from evenmatch.server.auth.principal import Principal
from evenmatch.server.auth.refusals import Forbidden
from evenmatch.server.http.openapi.parts import Json, body, in_query, operation, ref
from evenmatch.server.http.responses import InvalidRequest, json
from evenmatch.server.http.routes import check_parameters
from evenmatch.server.runtime.services import Parts
from evenmatch.server.views.by_player import TICKETS_MOST
from evenmatch.server.views.followers import ticket_state
from evenmatch.wire.tickets import TicketListed


class PlayerRoutes:
    """Handlers of what is asked by player."""

    def __init__(self, parts: Parts) -> None:
        self._runtime = parts.runtime
        self._players = parts.players

    async def get_tickets(self, request: Request) -> Response:
        """Return a player's tickets, newest first: those that wait, and those that ended lately."""
        check_parameters(request, ("player",))
        caller = principal_of(request.scope)
        player = _asked_for(caller, request.query_params.get("player"))

        def query(engine: Engine) -> list[TicketListed]:
            return self._listed(engine, player, caller.queues)

        return json(await self._runtime.look(query))

    def _listed(self, engine: Engine, player: str, own: frozenset[str]) -> list[TicketListed]:
        now, found = self._runtime.now(), []
        for ticket in self._players.of(player):
            try:
                view = engine.tables.view(ticket, now)
            except Forgotten:
                continue
            if own and own.isdisjoint(view.queues):
                continue
            state = ticket_state(view, now)
            found.append(
                TicketListed(
                    **msgspec.structs.asdict(state),
                    queues=view.queues,
                    enqueued_at=view.enqueued_at,
                )
            )
        return found


def _asked_for(caller: Principal, player: str | None) -> str:
    """Return whose tickets a caller asks for.

    Raises:
        InvalidRequest: Nobody is named.
        Forbidden: A player asks for somebody else's.
    """
    if caller.is_player:
        if player not in (None, caller.name):
            raise Forbidden("a player sees their own tickets only", where="/player")
        return caller.name
    if not player:
        raise InvalidRequest("say whose tickets: ?player=ID", where="/player")
    return player


def player_paths() -> Json:
    """Return the description of these routes."""
    whose = in_query(
        "player",
        {"type": "string"},
        "The player's id; with the token of a player it may be left out, and means that player.",
    )
    listed = {"type": "array", "items": ref(TicketListed), "maxItems": TICKETS_MOST}
    return {
        "get": operation(
            "getTickets",
            "A player's tickets, newest first: those that wait, and those that ended lately",
            {"200": body(listed)},
            parameters=[whose],
        )
    }
