"""Outcomes of matches and the ratings that come of them."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from evenmatch.engine.engine import Engine
from evenmatch.errors import NotInMatch, UnknownPlayer
from evenmatch.model.inputs import Outcome
from evenmatch.server.auth.ownership import check_queue, principal_of
from evenmatch.server.http.responses import Scope, encode, read_body
from evenmatch.server.http.routes import check_parameters
from evenmatch.server.http.unknown_queues import unknown_queue
from evenmatch.server.runtime.services import Parts
from evenmatch.wire.matches import ReportOutcome, match_state
from evenmatch.wire.tickets import PlayerRating, decode

OUTCOME_BYTES_MAX = 262_144
OUTCOME = 'an outcome such as {"ranks": [1, 2]}'


class OutcomeRoutes:
    """Handlers of outcomes and ratings."""

    def __init__(self, parts: Parts) -> None:
        self._runtime = parts.runtime

    async def report(self, request: Request) -> Response:
        """Take what the game's service or a player says of a match."""
        match_id = request.path_params["match"]
        body = await read_body(request.scope, request.receive, OUTCOME_BYTES_MAX)
        told = decode(body, ReportOutcome, OUTCOME)
        own = player_of(request.scope)
        if own is not None and told.player not in (None, own):
            raise NotInMatch(
                f"a player reports for himself; leave player out, or give {own!r}", where="/player"
            )
        given = Outcome(
            self._runtime.now(),
            match_id,
            told.ranks,
            told.points,
            told.handicap,
            told.teams,
            told.quitters,
            # Whether a match is wide is not for those to say who gain by it.
            told.wide if own is None and told.player is None else None,
            told.player if own is None else own,
        )
        await self._runtime.ask(given)
        kept = await self._runtime.look(lambda engine: engine.match(match_id))
        return _json(match_state(kept.match, kept.assignment, kept.outcome))

    async def get_rating(self, request: Request) -> Response:
        """Return what is stored of a player, as uncertain as it is now."""
        check_parameters(request, ("queue",))
        player, now = request.path_params["player"], self._runtime.now()
        name = request.query_params.get("queue")
        own = player_of(request.scope)
        if own is not None and own != player:
            raise UnknownPlayer(f"nothing is known about player {player[:64]!r}")

        def query(engine: Engine) -> PlayerRating:
            queues = engine.tables.queues
            queue = queues.get(name) if name is not None else next(iter(queues.values()))
            if queue is None:
                raise unknown_queue(name or "", queues, "/queue")
            check_queue(principal_of(request.scope), (queue.name,))
            ladder = queue.rated_in
            rating = engine.ladders.rating_of(ladder, player, now)
            if rating is None:
                raise UnknownPlayer(
                    f"nothing is known about player {player[:64]!r} in ladder {ladder}: ratings "
                    f"come from matches in queues with a rating system"
                )
            return PlayerRating(player, ladder, rating.mean, rating.deviation, rating.volatility)

        return _json(await self._runtime.look(query))


def player_of(scope: Scope) -> str | None:
    """Return the player whose token came with a request; None for a service or the machine."""
    principal = principal_of(scope)
    return principal.name if principal.is_player else None


def _json(value: object) -> Response:
    return Response(encode(value), media_type="application/json")
