"""The OpenAPI page, made from the types of `wire`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

import evenmatch
from evenmatch import wire
from evenmatch.wire_outcomes import PlayerRating, ReportOutcome

_Json = dict[str, Any]

_TYPES = (
    wire.CreateTicket,
    wire.TicketCreated,
    wire.ItemCreated,
    wire.ItemProblem,
    wire.TicketState,
    wire.TicketCancelled,
    wire.AnswerCheck,
    wire.MatchState,
    ReportOutcome,
    PlayerRating,
    wire.FeedPage,
    wire.QueueState,
    wire.QueueStats,
    wire.Problem,
)


@lru_cache(maxsize=1)
def openapi_document() -> _Json:
    """Return the OpenAPI 3.1 description of all routes of this version."""
    _, components = msgspec.json.schema_components(
        _TYPES, ref_template="#/components/schemas/{name}"
    )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "evenmatch",
            "version": evenmatch.__version__,
            "description": "Tickets in, matches out. Times are engine time in seconds.",
        },
        "paths": {**_ticket_paths(), **_match_paths(), **_queue_paths(), **_operator_paths()},
        "components": {"schemas": components},
    }


def _ref(shape: type) -> _Json:
    return {"$ref": f"#/components/schemas/{shape.__name__}"}


def _body(schema: _Json, media: str = "application/json") -> _Json:
    return {"content": {media: {"schema": schema}}}


def _operation(name: str, summary: str, answers: _Json, **more: object) -> _Json:
    """Return an operation; every one may answer with a problem."""
    responses = {status: {"description": "", **body} for status, body in answers.items()}
    problem = {"description": "An error", **_body(_ref(wire.Problem))}
    return {
        "operationId": name,
        "summary": summary,
        "responses": {**responses, "default": problem},
        **more,
    }


def _in_path(name: str) -> _Json:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _in_query(name: str, schema: _Json, text: str) -> _Json:
    return {"name": name, "in": "query", "schema": schema, "description": text}


_SECONDS = {"type": "number", "minimum": 0}
_TICKET = [_in_path("ticket")]
_MATCH = [_in_path("match")]
_QUEUE = [_in_path("queue")]
_STREAM = _body({"type": "string"}, "text/event-stream")


def _ticket_paths() -> _Json:
    one = _ref(wire.CreateTicket)
    many = {"type": "array", "items": one, "minItems": 1, "maxItems": wire.BATCH_MAX}
    items = {"type": "array", "items": {"anyOf": [_ref(wire.ItemCreated), _ref(wire.ItemProblem)]}}
    created = _body(_ref(wire.TicketCreated))
    existing_or_items = _body({"anyOf": [_ref(wire.TicketCreated), items]})
    key = {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}
    wait = _in_query("wait", _SECONDS, "Answer at the next change of state, or after this long.")
    known = _in_query("state", {"type": "string"}, "Answer at once if the state is another.")
    ticket = _body(_ref(wire.TicketState))
    return {
        "/v1/tickets": {
            "post": _operation(
                "createTickets",
                "Wait for a match, with one ticket or many",
                {"201": created, "200": existing_or_items},
                parameters=[key],
                requestBody={"required": True, **_body({"anyOf": [one, many]})},
            )
        },
        "/v1/tickets/{ticket}": {
            "parameters": _TICKET,
            "get": _operation(
                "getTicket", "How a ticket does", {"200": ticket}, parameters=[wait, known]
            ),
            "delete": _operation(
                "cancelTicket", "Wait no longer", {"200": _body(_ref(wire.TicketCancelled))}
            ),
        },
        "/v1/tickets/{ticket}/events": {
            "parameters": _TICKET,
            "get": _operation(
                "followTicket", "Each change of state, as server-sent events", {"200": _STREAM}
            ),
        },
    }


def _match_paths() -> _Json:
    match = _body(_ref(wire.MatchState))
    place = {"type": "object", "additionalProperties": {"type": "string"}}
    return {
        "/v1/matches/{match}": {
            "parameters": _MATCH,
            "get": _operation("getMatch", "A match", {"200": match}),
        },
        "/v1/matches/{match}/assignment": {
            "parameters": _MATCH,
            "put": _operation(
                "assignMatch",
                "Say where a match is played",
                {"200": match},
                requestBody={"required": True, **_body(place)},
            ),
        },
        "/v1/matches/{match}/outcome": {
            "parameters": _MATCH,
            "post": _operation(
                "reportOutcome",
                "Say how a match ended, as the game's service or as one of its players",
                {"200": match},
                requestBody={"required": True, **_body(_ref(ReportOutcome))},
            ),
        },
        "/v1/players/{player}/rating": {
            "parameters": [_in_path("player")],
            "get": _operation(
                "getRating",
                "What is known of a player's skill",
                {"200": _body(_ref(PlayerRating))},
                parameters=[
                    _in_query(
                        "queue",
                        {"type": "string"},
                        "The rating that counts in this queue; left out: the first queue.",
                    )
                ],
            ),
        },
        "/v1/matches/{match}/finish": {
            "parameters": _MATCH,
            "post": _operation("finishMatch", "End a live match", {"200": match}),
        },
        "/v1/matches/{match}/accept": {
            "parameters": _MATCH,
            "post": _operation(
                "acceptMatch",
                "Confirm a match that was proposed",
                {"200": _body(_ref(wire.TicketState))},
                requestBody={"required": True, **_body(_ref(wire.AnswerCheck))},
            ),
        },
        "/v1/matches/{match}/decline": {
            "parameters": _MATCH,
            "post": _operation(
                "declineMatch",
                "Turn a proposed match down",
                {"200": _body(_ref(wire.TicketState))},
                requestBody={"required": True, **_body(_ref(wire.AnswerCheck))},
            ),
        },
    }


def _queue_paths() -> _Json:
    queues = _body({"type": "array", "items": _ref(wire.QueueState)})
    after = _in_query(
        "after",
        {"type": "integer", "minimum": 0},
        "`next` of the page before, or of an answer 410; left out: the oldest match kept.",
    )
    wait = _in_query("wait", _SECONDS, "Wait this long for a match if there is none.")
    page = {"content": {**_body(_ref(wire.FeedPage))["content"], **_STREAM["content"]}}
    return {
        "/v1/queues": {"get": _operation("getQueues", "All queues", {"200": queues})},
        "/v1/queues/{queue}/stats": {
            "parameters": _QUEUE,
            "get": _operation(
                "getQueueStats", "How a queue does", {"200": _body(_ref(wire.QueueStats))}
            ),
        },
        "/v1/queues/{queue}/matches": {
            "parameters": _QUEUE,
            "get": _operation(
                "getQueueMatches",
                "Every match at least once, for the game's backend",
                {"200": page},
                parameters=[after, wait],
            ),
        },
    }


def _operator_paths() -> _Json:
    text, any_json = _body({"type": "string"}, "text/plain"), _body({"type": "object"})
    return {
        "/metrics": {"get": _operation("getMetrics", "Prometheus metrics", {"200": text})},
        "/healthz": {"get": _operation("getHealth", "Does the process live?", {"200": any_json})},
        "/readyz": {
            "get": _operation(
                "getReadiness", "Does it take tickets?", {"200": any_json, "503": any_json}
            )
        },
    }
