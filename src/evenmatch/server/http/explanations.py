"""Why tickets wait: the routes of explanations."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from evenmatch.server.http.responses import InvalidRequest, json
from evenmatch.server.http.routes import check_parameters
from evenmatch.server.runtime.services import Parts

WAITING_MOST = 1_000
"""Lines of the longest waiting in one answer."""
WAITING_USUAL = 20


class ExplainRoutes:
    """Handlers that answer with one explanation, or with a line for each of many tickets."""

    def __init__(self, parts: Parts) -> None:
        self._explanations = parts.explanations

    async def explain_ticket(self, request: Request) -> Response:
        """Return why a ticket still waits, or how it ended."""
        check_parameters(request, ())
        return json(await self._explanations.of(request.path_params["ticket"]))

    async def get_waiting(self, request: Request) -> Response:
        """Return the longest waiting tickets of a queue, each with a sentence."""
        check_parameters(request, ("most",))
        most = most_of(request.query_params.get("most", str(WAITING_USUAL)))
        return json(await self._explanations.longest(request.path_params["queue"], most))


def most_of(text: str) -> int:
    """Return how many lines a client asks for."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= 6 else 0
    if not 1 <= number <= WAITING_MOST:
        raise InvalidRequest(
            f"most must be a whole number from 1 to {WAITING_MOST:,}, got {text[:64]!r}",
            where="/most",
        )
    return number
