"""The OpenAPI document, made from the rows of the HTTP interface and the types of their bodies."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

import evenmatch
from evenmatch.server.auth.principal import ANYONE, OWN
from evenmatch.server.http.openapi.fields import with_examples, with_fields
from evenmatch.server.http.operation import WEBSOCKET, Json, Operation, body_of, in_path
from evenmatch.wire.tickets import Problem

TAGS = {
    "Tickets": "Players queue up, alone or as a party, and follow their tickets.",
    "Ready-checks": "Players accept or decline a proposed match.",
    "Matches": "The game's backend reads every match, says where it is played and how it ended.",
    "Running matches": "Backfill: the game's backend asks for players for a running match.",
    "GameLift": "Amazon GameLift's matchmaking calls, for its own clients.",
    "Players": "Ratings, and player tokens for games without a login.",
    "Queues": "The state and figures of queues, and their longest waiting tickets.",
    "Operations": "Configuration, pauses, policies, draining, allocations and the audit log.",
    "Dashboard": "The data that the dashboard shows.",
    "Server": "Health, metrics and this document.",
}
SCHEMES: Json = {
    "serviceKey": {
        "type": "http",
        "scheme": "bearer",
        "description": "A service key for the game's own servers, made by `evenmatch keys add`.",
    },
    "playerToken": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "A player's token, signed by the game's login or given to a guest; with it, "
        "players see only their own tickets and matches.",
    },
}
TEXTS = {
    "400": "The request is wrong; `where` points to the part that is",
    "404": "It does not exist, or it belongs to somebody else",
    "408": "The body did not arrive in time",
    "409": "It contradicts what has already happened; `error` says how",
    "410": "It has ended, or is no longer kept",
    "413": "The body is too large",
    "426": "This needs a WebSocket",
    "501": "This server does not have the feature, or it is switched off",
    "503": "The server takes no requests at the moment; Retry-After says when to try again",
}
"""What the statuses of errors mean."""


def document_of(operations: Sequence[Operation], more: Sequence[type]) -> Json:
    """Return the OpenAPI 3.1 description of operations.

    Args:
        operations: All of them.
        more: Types that bodies hold, but are not themselves a body.
    """
    types = dict.fromkeys([*more, *(each for row in operations for each in row.types()), Problem])
    _, components = msgspec.json.schema_components(
        types, ref_template="#/components/schemas/{name}"
    )
    paths: dict[str, Json] = {}
    for row in operations:
        if row.method == WEBSOCKET:
            continue
        named = [part[1:-1] for part in row.path.split("/") if part.startswith("{")]
        at = {"parameters": [in_path(name) for name in named]} if named else {}
        paths.setdefault(row.path, at)[row.method.lower()] = _described(row)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "evenmatch",
            "version": evenmatch.__version__,
            "description": "Create tickets, read matches. Times are engine time in seconds.",
            "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
        },
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": with_examples(paths),
        "components": {
            "schemas": with_fields(components, tuple(types)),
            "securitySchemes": SCHEMES,
        },
    }


def _described(row: Operation) -> Json:
    """Return one operation as the document writes it."""
    described: Json = {"tags": [row.tag], "operationId": row.name, "summary": row.summary}
    if row.parameters:
        described["parameters"] = list(row.parameters)
    if row.request is not None:
        described["requestBody"] = {"required": True, **body_of(row.request)}
    needed = sorted(row.access.rights - {OWN, ANYONE})
    schemes: list[Json] = [{"serviceKey": []}] if needed else []
    if OWN in row.access.rights:
        schemes.append({"playerToken": []})
    described["security"] = [{}] if ANYONE in row.access.rights else schemes
    described["x-rights"] = sorted(row.access.rights)
    whose = f"; a key needs the right {' or '.join(needed)}" if needed else ""
    refused = {
        "401": "There is no valid key or token",
        "403": f"Not allowed{whose}",
        "429": "Too many requests; Retry-After says when to try again",
        **{status: TEXTS[status] for status in row.errors.split()},
    }
    problem = body_of(Problem)
    answers = {status: {"description": text, **problem} for status, text in refused.items()}
    answers |= {
        status: {"description": "", **body_of(each)} for status, each in row.answers.items()
    }
    described["responses"] = dict(sorted(answers.items()))
    return described
