"""What the OpenAPI page says of the dashboard's routes."""

from __future__ import annotations

from typing import Any

_Json = dict[str, Any]


def _problem(text: str) -> _Json:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": text, "content": {"application/json": {"schema": schema}}}


def dashboard_paths() -> _Json:
    """Return the paths."""
    shown = {"$ref": "#/components/schemas/MatchShown"}
    queue = {
        "name": "queue",
        "in": "query",
        "schema": {"type": "string"},
        "description": "Which queue; the first one if it is left out.",
    }
    match = {"name": "match", "in": "path", "required": True, "schema": {"type": "string"}}
    return {
        "/v1/dashboard/events": {
            "get": {
                "operationId": "followDashboard",
                "summary": "The figures of a queue: the last hour, then a snapshot a second",
                "parameters": [queue],
                "responses": {
                    "200": {
                        "description": "Server-sent events `queues`, `hour`, `matches`, `tick`",
                        "content": {"text/event-stream": {"schema": {"type": "string"}}},
                    },
                    "default": _problem("An error"),
                },
            }
        },
        "/v1/dashboard/matches/{match}": {
            "parameters": [match],
            "get": {
                "operationId": "getMatchStory",
                "summary": "Who waited how long for a match, and what each criterion cost",
                "responses": {
                    "200": {
                        "description": "",
                        "content": {"application/json": {"schema": shown}},
                    },
                    "default": _problem("An error"),
                },
            },
        },
    }
