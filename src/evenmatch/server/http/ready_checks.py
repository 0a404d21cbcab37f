"""Ready-checks over HTTP: accept and decline, and a match that is only proposed."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from evenmatch.engine.engine import Engine
from evenmatch.model.inputs import Accept, Decline
from evenmatch.server.auth.ownership import check_answer, principal_of, speaks_for
from evenmatch.server.http.responses import json, read_body
from evenmatch.server.runtime.services import Parts
from evenmatch.server.views.followers import ticket_state
from evenmatch.wire.matches import AnswerCheck, MatchState, match_state, proposal_state
from evenmatch.wire.tickets import decode

BYTES_MAX = 65_536
EXAMPLE = 'an object such as {"ticket": "s0-1", "players": ["ada"]}'


class AcceptanceRoutes:
    """Handlers of answers to ready-checks."""

    def __init__(self, parts: Parts) -> None:
        self._runtime = parts.runtime

    async def accept(self, request: Request) -> Response:
        """Accept a match for a ticket, or for some of its players."""
        return await self._answer(request, Accept)

    async def decline(self, request: Request) -> Response:
        """Turn a match down for a ticket."""
        return await self._answer(request, Decline)

    async def _answer(self, request: Request, kind: type[Accept] | type[Decline]) -> Response:
        body = await read_body(request.scope, request.receive, BYTES_MAX)
        given = decode(body, AnswerCheck, EXAMPLE)
        match_id, runtime = request.path_params["match"], self._runtime
        caller = principal_of(request.scope)
        players = speaks_for(caller, runtime.engine, given.ticket, given.players)
        check_answer(caller, runtime.engine, match_id, given.ticket)
        await runtime.ask(kind(runtime.now(), match_id, given.ticket, players))
        view = await runtime.look(lambda engine: engine.view(given.ticket))
        return json(ticket_state(view, runtime.now()))


def state_of_match(engine: Engine, match_id: str) -> MatchState:
    """Return a match as it goes over HTTP, made or only proposed.

    Raises:
        UnknownMatch, Forgotten, ProposalOver: There is no such match, or no longer.
    """
    proposal = engine.tables.proposals.get(match_id)
    if proposal is not None:
        return proposal_state(proposal.match, proposal.accepted, proposal.left)
    kept = engine.match(match_id)
    return match_state(kept.match, kept.assignment, kept.outcome, kept.void)
