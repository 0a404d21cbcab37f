"""The quiet routes: tickets one by one, queues, matches, and what operators ask for."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from evenmatch.engine.engine import Engine
from evenmatch.engine.state.rows import TicketView
from evenmatch.errors import NotHost, NotSupported
from evenmatch.model.inputs import Assign, Cancel, Finish
from evenmatch.server.auth.ownership import principal_of
from evenmatch.server.http.ready_checks import state_of_match
from evenmatch.server.http.responses import (
    ASSIGNMENT_BYTES_MAX,
    ASSIGNMENT_ENTRIES_MAX,
    InvalidRequest,
    json,
    read_body,
)
from evenmatch.server.http.sse import cut_when_left
from evenmatch.server.runtime.services import Parts
from evenmatch.server.views.followers import FINAL, Event, Follower, ticket_state
from evenmatch.server.views.metrics import CONTENT_TYPE
from evenmatch.wire.matches import match_state
from evenmatch.wire.operate import QueueReport
from evenmatch.wire.tickets import QueueState, TicketCancelled, TicketState, decode

WAIT_MAX = 60.0
"""Longest long poll, seconds."""
RECENT = 10
ASSIGNMENT = 'an object of texts such as {"connection": "10.0.0.1:7777"}'
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
            raise InvalidRequest(
                f"there is no parameter {name[:64]!r}; allowed: {', '.join(allowed)}",
                where=f"/{name[:64]}",
            )


def record_of(text: str, name: str = "after") -> int:
    """Return a record's number that a client gave."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise InvalidRequest(
            f"{name} must be a whole number >= 0, got {text[:64]!r}", where=f"/{name}"
        )
    return int(text)


class Routes:
    """Handlers that answer with one JSON body."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._runtime = parts.runtime

    # Tickets

    async def get_ticket(self, request: Request) -> Response:
        """Return a ticket; with `wait`, at its next change of state."""
        ticket_id = request.path_params["ticket"]
        check_parameters(request, TICKET_PARAMETERS)
        wait = seconds_of(request, "wait")
        if wait == 0.0:
            return await self._present(ticket_id)
        return await self._await_change(request, ticket_id, wait)

    async def _await_change(self, request: Request, ticket_id: str, wait: float) -> Response:
        """Answer at the next change; at once if there is none to come, or the caller missed it."""
        parts, follower = self._parts, self._parts.followers.admit()
        known = request.query_params
        try:
            view = await join_ticket(parts, ticket_id, follower)
            present = {"state": view.state, "match": view.match or ""}
            is_missed = any(known.get(name, now) != now for name, now in present.items())
            if view.state in FINAL or is_missed:
                return self._ticket(view)
            async with cut_when_left(request.receive, follower):
                event = await _next_state(follower, wait, view)
        finally:
            parts.tickets.part(ticket_id, follower)
            parts.followers.dismiss(follower)
        if event is not None:
            return Response(event.body, media_type="application/json")
        return await self._present(ticket_id)

    async def _present(self, ticket_id: str) -> Response:
        """Return a ticket as it is now, with an estimate of its wait."""
        waits, now = self._parts.waits, self._runtime.now()

        def query(engine: Engine) -> TicketState:
            view = engine.view(ticket_id)
            return ticket_state(view, now, waits.estimate(engine, ticket_id, now))

        return json(await self._runtime.look(query))

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
        own, statistics = principal_of(request.scope).queues, self._parts.statistics

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
        parts = self._parts

        def query(engine: Engine) -> QueueReport:
            parts.matches.check_queue(engine, name)
            recent = parts.matches.recent(engine, name, RECENT)
            stats = parts.statistics.of(name, now, [match_state(match) for match in recent])
            estimate, cells = parts.waits.of(name, now)
            stats = msgspec.structs.replace(stats, estimate=estimate, cells=cells)
            return QueueReport(
                **msgspec.structs.asdict(stats),
                shadow=parts.shadows.of(name),
                switchback=parts.switchbacks.of(name, now),
            )

        return json(await self._runtime.look(query))

    # Matches

    async def get_match(self, request: Request) -> Response:
        """Return a match."""
        return await self._match(request.path_params["match"])

    async def assign_match(self, request: Request) -> Response:
        """Say where a match is played."""
        body = await read_body(request.scope, request.receive, ASSIGNMENT_BYTES_MAX)
        assignment = decode(body, dict[str, str], ASSIGNMENT)
        if not 1 <= len(assignment) <= ASSIGNMENT_ENTRIES_MAX:
            raise InvalidRequest(
                f"an assignment has 1 to {ASSIGNMENT_ENTRIES_MAX} entries, got {len(assignment)}"
            )
        match_id = request.path_params["match"]
        principal = principal_of(request.scope)
        if principal.is_player:
            await self._runtime.look(lambda engine: _check_host(engine, match_id, principal.name))
        await self._runtime.ask(Assign(self._runtime.now(), match_id, assignment))
        return await self._match(match_id)

    async def finish_match(self, request: Request) -> Response:
        """End a live match, so that its players may queue again."""
        match_id = request.path_params["match"]
        await self._runtime.ask(Finish(self._runtime.now(), match_id))
        return await self._match(match_id)

    async def _match(self, match_id: str) -> Response:
        return json(await self._runtime.look(lambda engine: state_of_match(engine, match_id)))

    # Operators

    async def metrics(self, request: Request) -> Response:
        """Return the metrics."""
        del request
        return Response(self._parts.metrics.text(), headers={"content-type": CONTENT_TYPE})

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
            reason = "the server is about to stop and takes no new tickets"
            return json({"status": "draining", "reason": reason}, 503)
        slow = self._runtime.timings.slow(self._runtime.engine)
        if not slow or principal_of(request.scope).kind == "nobody":
            return json({"status": "ready"})
        return json({"status": "ready", "detail": [str(each) for each in slow]})


def _check_host(engine: Engine, match_id: str, player: str) -> None:
    """Refuse a player who may not say where a match is played.

    Raises:
        NotHost: He is not the first of its hosts, or a hook of the game finds its server.
    """
    match = engine.match(match_id).match
    if (match.hosts or ("",))[0] != player:
        raise NotHost(
            f"player {player!r} is not the first of the hosts of match {match_id}", match=match_id
        )
    queue = engine.tables.queues.get(match.queue)
    if queue is not None and queue.allocation is not None:
        raise NotHost(
            f"the servers of queue {queue.name} come from its allocation hook, not from players",
            match=match_id,
        )


def _fault_of(engine: Engine, queue: str) -> str | None:
    fault = engine.pools[queue].fault
    return None if fault is None else str(fault)


def later(feature: str) -> Callable[[Request], Any]:
    """Return the handler of a route that a later version brings."""

    async def handler(request: Request) -> Response:
        del request
        raise NotSupported(f"{feature} comes with a later version of evenmatch")

    return handler


async def _next_state(follower: Follower, wait: float, known: TicketView) -> Event | None:
    """Return the next change of state; leaving one of several queues, or new facts, is none.

    Another match in the same state is one: the ticket may lose a proposal and gain the next in one
    record, and its players must hear that they are asked anew.
    """
    until = perf_counter() + wait
    while True:
        event = await follower.next(max(0.0, until - perf_counter()))
        if event is None or (event.name, event.match) != (known.state, known.match):
            return event


async def join_ticket(parts: Parts, ticket_id: str, follower: Follower) -> TicketView:
    """Let a follower hear of a ticket, and return the ticket's durable state until then."""

    def joined(view: TicketView) -> None:
        parts.tickets.join(view, follower)

    view: TicketView = await parts.runtime.look(lambda engine: engine.view(ticket_id), then=joined)
    return view
