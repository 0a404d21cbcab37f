"""The OpenAPI page, made from the types of `wire`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

import evenmatch
from evenmatch.model.explanation import Explanation, LongestWaiting
from evenmatch.server.allocation.routes import allocation_paths
from evenmatch.server.api_page.routes import api_page_paths
from evenmatch.server.auth import rights as described
from evenmatch.server.dashboard.routes import dashboard_paths, page_path
from evenmatch.server.dashboard.shown import MatchShown
from evenmatch.server.http.openapi.fields import with_examples, with_fields
from evenmatch.server.http.openapi.operators import operator_paths
from evenmatch.server.http.openapi.parts import (
    TAGS,
    Json,
    body,
    in_path,
    in_query,
    operation,
    ref,
    with_tags,
)
from evenmatch.server.http.outcomes import backfill_paths
from evenmatch.server.http.routes import player_paths
from evenmatch.wire import backfill as wire_backfill
from evenmatch.wire import live as wire_live
from evenmatch.wire import matches as wire_matches
from evenmatch.wire import operate as wire_operate
from evenmatch.wire import tickets as wire

_TYPES = (
    wire.CreateTicket,
    wire.TicketCreated,
    wire.ItemCreated,
    wire.ItemProblem,
    wire.TicketState,
    wire.TicketListed,
    wire.TicketCancelled,
    wire_matches.AnswerCheck,
    wire_matches.MatchState,
    wire_matches.ReportOutcome,
    wire_backfill.OpenForBackfill,
    wire_backfill.BackfillState,
    wire_backfill.AllocationState,
    wire.PlayerRating,
    wire_matches.FeedPage,
    wire.QueueState,
    wire_operate.QueueReport,
    MatchShown,
    Explanation,
    LongestWaiting,
    wire.Problem,
    wire_live.UpdateTicket,
    wire_live.FollowTickets,
    wire_live.StreamEvent,
    wire_live.StreamProblem,
    wire_operate.ConfigState,
    wire_operate.ConfigChanged,
    wire_operate.QueuePaused,
    wire_operate.DrainState,
    wire_operate.SetPolicy,
    wire_operate.SetShadow,
    wire_operate.QueueShadow,
    wire_operate.QueuePolicy,
    *described.TYPES,
)


@lru_cache(maxsize=1)
def openapi_document() -> Json:
    """Return the OpenAPI 3.1 description of all routes of this version."""
    _, components = msgspec.json.schema_components(
        _TYPES, ref_template="#/components/schemas/{name}"
    )
    paths = {
        **_ticket_paths(),
        **_match_paths(),
        **backfill_paths(),
        **allocation_paths(),
        **_queue_paths(),
        **dashboard_paths(),
        **operator_paths(),
        **_figure_paths(),
        **api_page_paths(),
        **described.account_paths(),
    }
    problem = {"description": "", **body(ref(wire.Problem))}
    paths = with_problems(described.with_security(paths, problem), problem)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "evenmatch",
            "version": evenmatch.__version__,
            "description": "Tickets in, matches out. Times are engine time in seconds.",
            "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
        },
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": with_examples(with_tags(paths)),
        "components": {
            "schemas": with_fields(components, _TYPES),
            "securitySchemes": described.SCHEMES,
        },
    }


_SECONDS = {"type": "number", "minimum": 0}
_TICKET = [in_path("ticket")]
_MATCH = [in_path("match")]
_QUEUE = [in_path("queue")]
_STREAM = body({"type": "string"}, "text/event-stream")


def _create_path() -> Json:
    one = ref(wire.CreateTicket)
    many = {"type": "array", "items": one, "minItems": 1, "maxItems": wire.BATCH_MAX}
    items = {"type": "array", "items": {"anyOf": [ref(wire.ItemCreated), ref(wire.ItemProblem)]}}
    created = body(ref(wire.TicketCreated))
    existing_or_items = body({"anyOf": [ref(wire.TicketCreated), items]})
    key = {
        "name": "Idempotency-Key",
        "in": "header",
        "schema": {"type": "string"},
        "description": "Of your choice: the same key and body again get the same answer, and "
        "nothing is created twice.",
    }
    return {
        "post": operation(
            "createTickets",
            "Wait for a match, with one ticket or many",
            {"201": created, "200": existing_or_items},
            parameters=[key],
            requestBody={"required": True, **body({"anyOf": [one, many]})},
        )
    }


def _ticket_paths() -> Json:
    wait = in_query("wait", _SECONDS, "Answer at the next change of state, or after this long.")
    known = in_query("state", {"type": "string"}, "Answer at once if the state is another.")
    match = in_query(
        "match",
        {"type": "string"},
        "Answer at once if the match is another; empty means that none is known.",
    )
    ticket = body(ref(wire.TicketState))
    return {
        "/v1/tickets": {**player_paths(), **_create_path()},
        "/v1/tickets/{ticket}": {
            "parameters": _TICKET,
            "get": operation(
                "getTicket", "How a ticket does", {"200": ticket}, parameters=[wait, known, match]
            ),
            "delete": operation(
                "cancelTicket", "Wait no longer", {"200": body(ref(wire.TicketCancelled))}
            ),
            "patch": operation(
                "updateTicket",
                "New facts of a waiting ticket",
                {"200": ticket},
                requestBody={"required": True, **body(ref(wire_live.UpdateTicket))},
            ),
        },
        "/v1/tickets/{ticket}/heartbeat": {
            "parameters": _TICKET,
            "post": operation("heartbeat", "A sign of life, where asked for", {"200": ticket}),
        },
        "/v1/stream": {
            "get": operation(
                "streamTickets",
                "Many tickets over one WebSocket: see the schemas FollowTickets, StreamEvent and "
                "StreamProblem for its messages",
                {"101": {}, "426": body(ref(wire.Problem))},
            )
        },
        "/v1/tickets/{ticket}/events": {
            "parameters": _TICKET,
            "get": operation(
                "followTicket",
                "Each change of state, as server-sent events; 204 when there is no more to hear",
                {"200": _STREAM, "204": {}},
            ),
        },
        "/v1/tickets/{ticket}/explain": {
            "parameters": _TICKET,
            "get": operation(
                "explainTicket",
                "Why a ticket still waits, or how it ended",
                {"200": body(ref(Explanation))},
            ),
        },
    }


def _match_paths() -> Json:
    match = body(ref(wire_matches.MatchState))
    place = {"type": "object", "additionalProperties": {"type": "string"}}
    return {
        "/v1/matches/{match}": {
            "parameters": _MATCH,
            "get": operation("getMatch", "A match", {"200": match}),
        },
        "/v1/matches/{match}/assignment": {
            "parameters": _MATCH,
            "put": operation(
                "assignMatch",
                "Say where a match is played",
                {"200": match},
                requestBody={"required": True, **body(place)},
            ),
        },
        "/v1/matches/{match}/outcome": {
            "parameters": _MATCH,
            "post": operation(
                "reportOutcome",
                "Say how a match ended, as the game's service or as one of its players",
                {"200": match},
                requestBody={"required": True, **body(ref(wire_matches.ReportOutcome))},
            ),
        },
        "/v1/players/{player}/rating": {
            "parameters": [in_path("player")],
            "get": operation(
                "getRating",
                "What is known of a player's skill",
                {"200": body(ref(wire.PlayerRating))},
                parameters=[
                    in_query(
                        "queue",
                        {"type": "string"},
                        "The rating that counts in this queue; left out: the first queue.",
                    )
                ],
            ),
        },
        "/v1/matches/{match}/finish": {
            "parameters": _MATCH,
            "post": operation("finishMatch", "End a live match", {"200": match}),
        },
        "/v1/matches/{match}/accept": {
            "parameters": _MATCH,
            "post": operation(
                "acceptMatch",
                "Confirm a match that was proposed",
                {"200": body(ref(wire.TicketState))},
                requestBody={"required": True, **body(ref(wire_matches.AnswerCheck))},
            ),
        },
        "/v1/matches/{match}/decline": {
            "parameters": _MATCH,
            "post": operation(
                "declineMatch",
                "Turn a proposed match down",
                {"200": body(ref(wire.TicketState))},
                requestBody={"required": True, **body(ref(wire_matches.AnswerCheck))},
            ),
        },
    }


def _queue_paths() -> Json:
    queues = body({"type": "array", "items": ref(wire.QueueState)})
    after = in_query(
        "after",
        {"type": "integer", "minimum": 0},
        "`next` of the page before, or of an answer 410; left out: the oldest match kept.",
    )
    wait = in_query("wait", _SECONDS, "Wait this long for a match if there is none.")
    lines = {"type": "integer", "minimum": 1, "maximum": 1_000}
    most = in_query("most", lines, "At most this many tickets; 20 if it is left out.")
    page = {"content": {**body(ref(wire_matches.FeedPage))["content"], **_STREAM["content"]}}
    return {
        "/v1/queues": {"get": operation("getQueues", "All queues", {"200": queues})},
        "/v1/queues/{queue}/stats": {
            "parameters": _QUEUE,
            "get": operation(
                "getQueueStats", "How a queue does", {"200": body(ref(wire_operate.QueueReport))}
            ),
        },
        "/v1/queues/{queue}/waiting": {
            "parameters": _QUEUE,
            "get": operation(
                "getLongestWaiting",
                "The longest waiting tickets, each with a sentence about why it waits",
                {"200": body(ref(LongestWaiting))},
                parameters=[most],
            ),
        },
        "/v1/queues/{queue}/matches": {
            "parameters": _QUEUE,
            "get": operation(
                "getQueueMatches",
                "Every match at least once, for the game's backend",
                {"200": page},
                parameters=[after, wait],
            ),
        },
    }


def _figure_paths() -> Json:
    text, any_json = body({"type": "string"}, "text/plain"), body({"type": "object"})
    return {
        "/openapi.json": {"get": operation("getDocument", "This document", {"200": any_json})},
        "/": {
            **page_path(),
            "post": operation("gameLift", "Comes with a later version: the GameLift protocol", {}),
        },
        "/metrics": {"get": operation("getMetrics", "Prometheus metrics", {"200": text})},
        "/healthz": {"get": operation("getHealth", "Does the process live?", {"200": any_json})},
        "/readyz": {
            "get": operation(
                "getReadiness", "Does it take tickets?", {"200": any_json, "503": any_json}
            )
        },
    }


# With which errors each operation answers: one line each, and nothing that is not written down.
#
# Whoever calls may be told 401, 403 and 429 by the gate, everywhere; `auth.described` says so. A
# line names what else there is. A status that is in no line is a bug: `tests/fuzz` looks for it.
# So is a 500 in any case, which is why none is promised.

_Json = dict[str, Any]

TABLE = """
POST   /v1/tickets                       400 404 409 413 503
GET    /v1/tickets                       400 503
GET    /v1/tickets/{ticket}              400 404 410 503
PATCH  /v1/tickets/{ticket}              400 404 409 410 413 503
DELETE /v1/tickets/{ticket}              404 409 410 503
GET    /v1/tickets/{ticket}/events       400 404 410 503
GET    /v1/tickets/{ticket}/explain      400 404 410 503
POST   /v1/tickets/{ticket}/heartbeat    404 410 503
GET    /v1/stream                        400 426

GET    /v1/queues                        503
GET    /v1/queues/{queue}/stats          404 503
GET    /v1/queues/{queue}/waiting        400 404 503
GET    /v1/queues/{queue}/matches        400 404 410 503
POST   /v1/queues/{queue}/pause          404 409 503
POST   /v1/queues/{queue}/resume         404 409 503
PUT    /v1/queues/{queue}/policy         400 404 409 413 501 503
PUT    /v1/queues/{queue}/shadow         400 404 409 413 501 503

GET    /v1/matches/{match}               404 410 503
POST   /v1/matches/{match}/accept        400 404 409 410 413 503
POST   /v1/matches/{match}/decline       400 404 409 410 413 503
PUT    /v1/matches/{match}/assignment    400 404 409 410 413 503
GET    /v1/matches/{match}/open          404 409 410 503
POST   /v1/matches/{match}/open          400 404 409 410 413 503
POST   /v1/matches/{match}/close         404 409 410 503
POST   /v1/matches/{match}/finish        404 409 410 503
POST   /v1/matches/{match}/outcome       400 404 409 410 413 503

GET    /v1/players/{player}/rating       400 404 503
GET    /v1/allocations                   400
POST   /v1/allocations/{match}/retry     404 409 410 503
POST   /v1/guests                        501
GET    /v1/config                        400 503
PUT    /v1/config                        400 409 413 501 503
GET    /v1/audit                         400
GET    /v1/drain                         400
POST   /v1/drain                         400
DELETE /v1/drain                         400
GET    /v1/dashboard/events              400 404 503
GET    /v1/dashboard/matches/{match}     404 410 503

POST   /                                 501
GET    /
GET    /dashboard/{file}                 404
GET    /openapi.json
GET    /docs
GET    /docs/{file}                      404
GET    /metrics
GET    /healthz
GET    /readyz
"""

TEXTS = {
    "400": "The request says something that it may not; `where` points to it",
    "404": "It does not exist, or it belongs to somebody else",
    "409": "It does not fit what has happened already; `error` says what",
    "410": "There was such a thing, and it is over or kept no longer",
    "413": "The body is too large",
    "426": "This is a WebSocket",
    "501": "This version or this server has no such thing",
    "503": "No inputs are taken at the moment; Retry-After says when to come again",
}


def _read(table: str) -> dict[tuple[str, str], tuple[str, ...]]:
    rows = [row.split() for row in table.splitlines() if row]
    return {(method, path): tuple(statuses) for method, path, *statuses in rows}


LINES = _read(TABLE)


def with_problems(paths: _Json, problem: _Json) -> _Json:
    """Return operations with the errors that they answer with.

    Args:
        paths: The operations by path and method.
        problem: The answer that tells of an error.
    """
    return {
        path: {key: _told(each, problem, (key.upper(), path)) for key, each in item.items()}
        for path, item in paths.items()
    }


def _told(operation: Any, problem: _Json, key: tuple[str, str]) -> Any:
    if key not in LINES:
        return operation
    told = {status: {**problem, "description": TEXTS[status]} for status in LINES[key]}
    responses = {**told, **operation["responses"]}
    return {**operation, "responses": dict(sorted(responses.items()))}
