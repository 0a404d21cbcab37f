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
