"""Routes of single tickets, queues, matches and players; `create_tickets` has the hot one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from evenmatch.engine.engine import Engine
from evenmatch.engine.state.rows import TicketView
from evenmatch.errors import Forgotten, NotSupported, UnknownPlayer
from evenmatch.model.inputs import Cancel
from evenmatch.server.auth.ownership import check_queue
from evenmatch.server.auth.principal import Forbidden, Principal, principal_of
from evenmatch.server.http.match_states import state_of_match, state_of_open_match
from evenmatch.server.http.responses import InvalidRequest, json, unknown_queue
from evenmatch.server.http.sse import cut_when_left
from evenmatch.server.runtime.services import Services
from evenmatch.server.views.followers import (
    FINAL,
    TICKET_STATES,
    Event,
    Follower,
    ticket_state,
)
from evenmatch.server.views.metrics import CONTENT_TYPE
from evenmatch.wire.matches import match_state
from evenmatch.wire.operate import QueueReport
from evenmatch.wire.tickets import (
    PlayerRating,
    QueueState,
    TicketCancelled,
    TicketListed,
    TicketState,
)

RECORD_DIGITS = 18
WAIT_MAX = 60.0
"""Longest long poll, seconds."""
RECENT = 10
TICKET_PARAMETERS = ("wait", "state", "match")


def seconds_of(request: Request, name: str, most: float = WAIT_MAX) -> float:
    """Return a query parameter as seconds between 0 and `most`; 0 if it is absent."""
    text = request.query_params.get(name, "0")
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not value >= 0.0:
        raise InvalidRequest(
            f"{name} must be a number of seconds >= 0, got {text[:64]!r}", where=f"/{name}"
        )
    return min(value, most)


def check_parameters(request: Request, allowed: tuple[str, ...]) -> None:
    """Refuse query parameters that would be ignored."""
    for name in request.query_params:
        if name not in allowed:
            known = f"allowed: {', '.join(allowed)}" if allowed else "none is allowed here"
            raise InvalidRequest(
                f"there is no parameter {name[:64]!r}; {known}",
                where=f"/{name[:64]}",
            )


def check_state(request: Request) -> None:
    """Refuse a state that no ticket has: a poll that names it would be answered at once, always."""
    state = request.query_params.get("state", "")
    if state and state not in TICKET_STATES:
        raise InvalidRequest(
            f"state must be one of {', '.join(TICKET_STATES)}, got {state[:64]!r}", where="/state"
        )


def record_of(text: str, name: str = "after") -> int:
    """Return a record's number that a client gave."""
    if not (text.isascii() and text.isdigit() and len(text) <= RECORD_DIGITS):
        raise InvalidRequest(
            f"{name} must be a whole number from 0 to {10**RECORD_DIGITS - 1:,}, got {text[:64]!r}",
            where=f"/{name}",
        )
    return int(text)


class Routes:
    """Handlers that answer with one JSON body."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._runtime = services.runtime

    # Tickets

    async def get_ticket(self, request: Request) -> Response:
        """Return a ticket; with `wait`, at its next change of state."""
        ticket_id = request.path_params["ticket"]
        check_parameters(request, TICKET_PARAMETERS)
        check_state(request)
        wait = seconds_of(request, "wait")
        if wait == 0.0:
            return json(await self._runtime.look(ticket_query(self._services, ticket_id)))
        return await self._await_change(request, ticket_id, wait)

    async def _await_change(self, request: Request, ticket_id: str, wait: float) -> Response:
        """Answer at the next change; at once if there is none to come, or the caller missed it."""
        services, follower = self._services, self._services.followers.admit()
        known = request.query_params
        try:
            view = await join_ticket(services, ticket_id, follower)
            present = {"state": view.state, "match": view.match or ""}
            is_missed = any(known.get(name, now) != now for name, now in present.items())
            if view.state in FINAL or is_missed:
                return self._ticket(view)
            async with cut_when_left(request.receive, follower):
                event = await _next_state(follower, wait, view)
        finally:
            services.tickets.part(ticket_id, follower)
            services.followers.dismiss(follower)
        if event is not None:
            return Response(event.body, media_type="application/json")
        return json(await self._runtime.look(ticket_query(self._services, ticket_id)))

    async def cancel_ticket(self, request: Request) -> Response:
        """Take a waiting ticket back."""
        ticket_id = request.path_params["ticket"]
        caller, now = principal_of(request.scope), self._runtime.now()
        by = caller.name if caller.is_player else None
        reason = "operator" if caller.is_operator else "player"
        view: TicketView = await self._runtime.ask(Cancel(now, ticket_id, reason, by))
        return json(TicketCancelled(view.state))

    def _ticket(self, view: TicketView) -> Response:
        return json(ticket_state(view, self._runtime.now()))

    # Queues

    async def get_queues(self, request: Request) -> Response:
        """List the queues; to a key for some of them, these."""
        own, statistics = principal_of(request.scope).queues, self._services.statistics

        def query(engine: Engine) -> list[QueueState]:
            return [
                QueueState(
                    queue.name,
                    queue.format.players,
                    queue.wait_max,
                    queue.policy,
                    statistics.waiting(queue.name),
                    _fault_of(engine, queue.name),
                    queue.name in engine.tables.paused,
                )
                for queue in engine.tables.queues.values()
                if not own or queue.name in own
            ]

        return json(await self._runtime.look(query))

    async def get_stats(self, request: Request) -> Response:
        """Return how a queue does."""
        name, now = request.path_params["queue"], self._runtime.now()
        services = self._services

        def query(engine: Engine) -> QueueReport:
            services.matches.check_queue(engine, name)
            recent = services.matches.recent(engine, name, RECENT)
            stats = services.statistics.of(name, now, [match_state(match) for match in recent])
            estimate, cells = services.waits.of(engine, name, now)
            stats = msgspec.structs.replace(stats, estimate=estimate, cells=cells)
            return QueueReport(
                **msgspec.structs.asdict(stats),
                shadow=services.shadows.of(name),
                switchback=services.switchbacks.of(name, now),
            )

        return json(await self._runtime.look(query))

    # Matches

    async def get_match(self, request: Request) -> Response:
        """Return a match."""
        match_id = request.path_params["match"]
        return json(await self._runtime.look(lambda engine: state_of_match(engine, match_id)))

    async def get_open_match(self, request: Request) -> Response:
        """Return who plays in a running match, and whom it asks for."""
        match_id, now = request.path_params["match"], self._runtime.now()
        return json(
            await self._runtime.look(lambda engine: state_of_open_match(engine, match_id, now))
        )

    # Operators

    async def metrics(self, request: Request) -> Response:
        """Return the metrics."""
        del request
        return Response(self._services.metrics.text(), headers={"content-type": CONTENT_TYPE})

    async def healthz(self, request: Request) -> Response:
        """Say that the process lives."""
        del request
        return json({"status": "ok"})

    async def readyz(self, request: Request) -> Response:
        """Say whether inputs are taken and every queue makes matches; why not, not to anyone."""
        if (reason := self._runtime.unready) is not None:
            if principal_of(request.scope).kind == "nobody":
                return json({"status": "not ready"}, 503)
            return json({"status": "not ready", "reason": reason}, 503)
        if self._runtime.draining:
            reason = "the server is shutting down and takes no new tickets"
            return json({"status": "draining", "reason": reason}, 503)
        slow = self._runtime.timings.slow(self._runtime.engine)
        if not slow or principal_of(request.scope).kind == "nobody":
            return json({"status": "ready"})
        return json({"status": "ready", "detail": [str(each) for each in slow]})


def _fault_of(engine: Engine, queue: str) -> str | None:
    fault = engine.pools[queue].fault
    return None if fault is None else str(fault)


def later(feature: str) -> Callable[[Request], Any]:
    """Return the handler of a route that a later version brings."""

    async def handler(request: Request) -> Response:
        del request
        raise NotSupported(f"{feature} comes with a later version of evenmatch")

    return handler


async def _next_state(follower: Follower, wait: float, view: TicketView) -> Event | None:
    """Return the next change of state; leaving one of several queues, or new facts, is none.

    Another match in the same state is one: the ticket may lose a proposal and gain the next in one
    record, and its players must hear that they are asked anew.
    """
    clock = asyncio.get_running_loop().time
    until = clock() + wait
    while True:
        event = await follower.next(max(0.0, until - clock()))
        if event is None or (event.name, event.match) != (view.state, view.match):
            return event


def ticket_query(services: Services, ticket_id: str) -> Callable[[Engine], TicketState]:
    """Return a query for a ticket as it is now, with an estimate of its wait."""
    waits, now = services.waits, services.runtime.now()

    def query(engine: Engine) -> TicketState:
        view = engine.view(ticket_id)
        return ticket_state(view, now, waits.estimate(engine, ticket_id, now))

    return query


async def join_ticket(services: Services, ticket_id: str, follower: Follower) -> TicketView:
    """Let a follower hear of a ticket, and return the ticket's durable state until then."""

    def joined(view: TicketView) -> None:
        services.tickets.join(view, follower)

    view: TicketView = await services.runtime.look(
        lambda engine: engine.view(ticket_id), then=joined
    )
    return view


# `GET /v1/tickets?player=`: what became of somebody, for those who help players.


class PlayerRoutes:
    """Handlers of what is asked by player."""

    def __init__(self, services: Services) -> None:
        self._runtime = services.runtime
        self._players = services.players

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

    async def get_rating(self, request: Request) -> Response:
        """Return what is stored of a player, as uncertain as it is now."""
        check_parameters(request, ("queue",))
        player, now = request.path_params["player"], self._runtime.now()
        name = request.query_params.get("queue")
        caller = principal_of(request.scope)
        if caller.is_player and caller.name != player:
            raise UnknownPlayer(f"the server knows nothing about player {player[:64]!r}")

        def query(engine: Engine) -> PlayerRating:
            queues = engine.tables.queues
            own = [each for each in queues if not caller.queues or each in caller.queues]
            if name is not None:
                check_queue(caller, (name,))
            queue = queues.get(next(iter(own), "") if name is None else name)
            if queue is None:
                raise unknown_queue(name or "", own, "/queue")
            ladder = queue.rated_in
            rating = engine.ladders.rating_of(ladder, player, now)
            if rating is None:
                kept = [each for each in own if queues[each].rating is not None]
                others = [each for each in kept if queues[each].rated_in != ladder]
                elsewhere = f"; ?queue={others[0]} reads another ladder" if others else ""
                raise UnknownPlayer(
                    f"the server knows nothing about player {player[:64]!r} in ladder "
                    f"{ladder}: ratings "
                    f"come from matches in queues with a rating system{elsewhere}"
                )
            return PlayerRating(player, ladder, rating.mean, rating.deviation, rating.volatility)

        return json(await self._runtime.look(query))


def _asked_for(caller: Principal, player: str | None) -> str:
    """Return whose tickets a caller asks for.

    Raises:
        InvalidRequest: Nobody is named.
        Forbidden: A player asks for somebody else's.
    """
    if caller.is_player:
        if player not in (None, caller.name):
            raise Forbidden("players see only their own tickets", where="/player")
        return caller.name
    if not player:
        raise InvalidRequest("name the player whose tickets to list: ?player=ID", where="/player")
    return player


# Why tickets wait: the routes of explanations.

WAITING_MOST = 1_000
"""Lines of the longest waiting in one answer."""
WAITING_USUAL = 20


class ExplainRoutes:
    """Handlers that answer with one explanation, or with a line for each of many tickets."""

    def __init__(self, services: Services) -> None:
        self._explanations = services.explanations

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
