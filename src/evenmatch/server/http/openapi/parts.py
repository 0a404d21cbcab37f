"""The small parts of which the OpenAPI page is put together."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def ref(shape: type) -> Json:
    """Return a reference to the schema of a type."""
    return {"$ref": f"#/components/schemas/{shape.__name__}"}


def body(schema: Json, media: str = "application/json") -> Json:
    """Return the content of a request or an answer."""
    return {"content": {media: {"schema": schema}}}


def operation(name: str, summary: str, answers: Json, **more: object) -> Json:
    """Return an operation with its answers; those that tell of errors come from a table."""
    responses = {status: {"description": "", **content} for status, content in answers.items()}
    return {"operationId": name, "summary": summary, "responses": responses, **more}


PLACES = {
    "ticket": "The ticket's id.",
    "match": "The match's id.",
    "queue": "The queue's name.",
    "player": "The player's id.",
    "file": "The file's name.",
}
"""What the parameters of paths mean."""


def in_path(name: str) -> Json:
    """Return a parameter in the path."""
    schema = {"type": "string"}
    text = PLACES[name]
    return {"name": name, "in": "path", "required": True, "schema": schema, "description": text}


def in_query(name: str, schema: Json, text: str) -> Json:
    """Return a parameter in the query."""
    return {"name": name, "in": "query", "schema": schema, "description": text}


# In which group of the API page each operation stands.

TAGS = {
    "Tickets": "Players queue up, alone or as a party, and hear what becomes of it.",
    "Ready-checks": "Players accept or decline a match that was proposed to them.",
    "Matches": "The game's backend hears of every match, says where it is played and how it ended.",
    "Running matches": "Backfill: a running match asks for players.",
    "Players": "Ratings, and guests of games without a login.",
    "Queues": "How queues do, and who waits longest.",
    "Operations": "Configuration, pauses, policies, drain, servers for matches, the audit log.",
    "Dashboard": "What the dashboard is made from.",
    "Server": "Health, metrics and this document.",
}
TAGGED_PLACES = (
    ("/v1/matches/{match}/accept", "Ready-checks"),
    ("/v1/matches/{match}/decline", "Ready-checks"),
    ("/v1/matches/{match}/open", "Running matches"),
    ("/v1/matches/{match}/close", "Running matches"),
    ("/v1/queues/{queue}/matches", "Matches"),
    ("/v1/queues/{queue}/pause", "Operations"),
    ("/v1/queues/{queue}/resume", "Operations"),
    ("/v1/queues/{queue}/policy", "Operations"),
    ("/v1/queues/{queue}/shadow", "Operations"),
    ("/v1/tickets", "Tickets"),
    ("/v1/stream", "Tickets"),
    ("/v1/matches", "Matches"),
    ("/v1/players", "Players"),
    ("/v1/guests", "Players"),
    ("/v1/queues", "Queues"),
    ("/v1/dashboard", "Dashboard"),
    ("/v1/", "Operations"),
    ("/dashboard", "Dashboard"),
    ("/", "Server"),
)
"""The first that a path begins with counts."""


def tag_of(path: str) -> str:
    """Return the group of a path's operations."""
    return next(tag for start, tag in TAGGED_PLACES if path.startswith(start))


def with_tags(paths: Json) -> Json:
    """Return operations with their groups."""
    return {
        path: {
            key: each if key == "parameters" else {"tags": [tag_of(path)], **each}
            for key, each in item.items()
        }
        for path, item in paths.items()
    }
