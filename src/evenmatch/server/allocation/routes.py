"""Allocations over HTTP, for operators."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from evenmatch.server.http.responses import InvalidRequest, json
from evenmatch.server.http.ticket_routes import check_parameters
from evenmatch.server.runtime.services import Services

STATES = ("waiting", "asked", "told", "paused", "dead", "void")
LISTED_MOST = 1_000


class AllocationRoutes:
    """Handlers of failed and pending allocations."""

    def __init__(self, services: Services) -> None:
        self._allocations = services.allocations

    async def get(self, request: Request) -> Response:
        """Return the matches without a server, and those whose allocation failed."""
        check_parameters(request, ("state",))
        wanted = request.query_params.get("state")
        if wanted is not None and wanted not in STATES:
            raise InvalidRequest(
                f"state must be one of {', '.join(STATES)}, got {wanted[:64]!r}", where="/state"
            )
        return json(self._allocations.states(wanted)[:LISTED_MOST])

    async def retry(self, request: Request) -> Response:
        """Ask again for a server."""
        match_id = request.path_params["match"]
        self._allocations.retry(match_id)
        return json([each for each in self._allocations.states() if each.match == match_id])
