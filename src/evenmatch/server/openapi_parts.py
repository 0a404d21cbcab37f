"""The small parts of which the OpenAPI page is put together."""

from __future__ import annotations

from typing import Any

from evenmatch import wire

Json = dict[str, Any]


def ref(shape: type) -> Json:
    """Return a reference to the schema of a type."""
    return {"$ref": f"#/components/schemas/{shape.__name__}"}


def body(schema: Json, media: str = "application/json") -> Json:
    """Return the content of a request or an answer."""
    return {"content": {media: {"schema": schema}}}


def operation(name: str, summary: str, answers: Json, **more: object) -> Json:
    """Return an operation; every one may answer with a problem."""
    responses = {status: {"description": "", **content} for status, content in answers.items()}
    problem = {"description": "An error", **body(ref(wire.Problem))}
    return {
        "operationId": name,
        "summary": summary,
        "responses": {**responses, "default": problem},
        **more,
    }


def in_path(name: str) -> Json:
    """Return a parameter in the path."""
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def in_query(name: str, schema: Json, text: str) -> Json:
    """Return a parameter in the query."""
    return {"name": name, "in": "query", "schema": schema, "description": text}
