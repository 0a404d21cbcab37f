"""Outcomes of matches and the ratings that come of them."""

from __future__ import annotations

from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from evenmatch.engine.engine import Engine
from evenmatch.errors import NotInMatch, UnknownPlayer
from evenmatch.model.inputs import Close, Open, Outcome
from evenmatch.server.auth.ownership import check_queue
from evenmatch.server.auth.principal import principal_of
from evenmatch.server.http.responses import Scope, encode, json, read_body, unknown_queue
from evenmatch.server.http.ticket_routes import check_parameters
from evenmatch.server.runtime.services import Services
from evenmatch.wire.backfill import BackfillState, OpenForBackfill
from evenmatch.wire.matches import ReportOutcome, match_state
from evenmatch.wire.tickets import PlayerRating, decode

OUTCOME_BYTES_MAX = 262_144
OUTCOME = 'an outcome such as {"ranks": [1, 2]}'


class OutcomeRoutes:
    """Handlers of outcomes and ratings."""

    def __init__(self, services: Services) -> None:
        self._runtime = services.runtime

    async def report(self, request: Request) -> Response:
        """Take what the game's service or a player says of a match."""
        match_id = request.path_params["match"]
        body = await read_body(request.scope, request.receive, OUTCOME_BYTES_MAX)
        told = decode(body, ReportOutcome, OUTCOME)
        own = player_of(request.scope)
        if own is not None and told.player not in (None, own):
            raise NotInMatch(
                f"players can report only for themselves; leave player out, or give {own!r}",
                where="/player",
            )
        outcome = Outcome(
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
        await self._runtime.ask(outcome)
        kept = await self._runtime.look(lambda engine: engine.match(match_id))
        return _json(match_state(kept.match, kept.assignment, kept.outcome))

    async def get_rating(self, request: Request) -> Response:
        """Return what is stored of a player, as uncertain as it is now."""
        check_parameters(request, ("queue",))
        player, now = request.path_params["player"], self._runtime.now()
        name = request.query_params.get("queue")
        own = player_of(request.scope)
        if own is not None and own != player:
            raise UnknownPlayer(f"the server knows nothing about player {player[:64]!r}")

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
                    f"the server knows nothing about player {player[:64]!r} in ladder "
                    f"{ladder}: ratings "
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


# Backfill over HTTP: a running match asks for players, and stops asking.

OPEN_BYTES_MAX = 262_144
OPENING = 'an object such as {"roster_version": 0, "left": ["ada"], "lease": 30}'


class BackfillRoutes:
    """Handlers for the backends of running matches."""

    def __init__(self, services: Services) -> None:
        self._runtime = services.runtime

    async def open(self, request: Request) -> Response:
        """Ask for players, or go on asking."""
        raw = await read_body(request.scope, request.receive, OPEN_BYTES_MAX)
        body = decode(raw, OpenForBackfill, OPENING)
        match_id = request.path_params["match"]
        await self._runtime.ask(
            Open(
                self._runtime.now(),
                match_id,
                body.roster_version,
                body.left,
                body.free,
                body.priority,
                body.lease,
                body.quality_floor,
            )
        )
        return await self._state(match_id)

    async def get(self, request: Request) -> Response:
        """Return who plays in a running match, and whom it asks for."""
        return await self._state(request.path_params["match"])

    async def close(self, request: Request) -> Response:
        """Ask for nobody any more."""
        match_id = request.path_params["match"]
        await self._runtime.ask(Close(self._runtime.now(), match_id))
        return await self._state(match_id)

    async def _state(self, match_id: str) -> Response:
        now = self._runtime.now()
        return json(await self._runtime.look(lambda engine: state_of(engine, match_id, now)))


def state_of(engine: Engine, match_id: str, now: float) -> BackfillState:
    """Return a running match as its backend sees it.

    Raises:
        UnknownMatch, Forgotten, NotMade, ProposalOver: There is no such match.
        NoBackfill: Nobody can join it.
    """
    roster = engine.roster(match_id)
    opened = roster.open
    expires_at = None if opened is None else opened.expires_at
    return BackfillState(
        match_id,
        opened is not None,
        roster.version,
        roster.players,
        roster.left,
        roster.free,
        (0,) * len(roster.free) if opened is None else opened.free,
        roster.fills,
        None if expires_at is None else max(0.0, expires_at - now),
        roster.proposed or UNSET,
    )
