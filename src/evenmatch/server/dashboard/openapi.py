"""What the OpenAPI page says of the dashboard's routes."""

from __future__ import annotations

from evenmatch.server.dashboard.shown import MatchShown
from evenmatch.server.http.openapi.parts import Json, body, in_path, in_query, operation, ref

_ANY: Json = {"content": {"*/*": {"schema": {}}}}


def dashboard_paths() -> Json:
    """Return the paths."""
    queue = in_query("queue", {"type": "string"}, "Which queue; the first one if it is left out.")
    return {
        "/v1/dashboard/events": {
            "get": operation(
                "followDashboard",
                "The last hour, then a snapshot a second: `queues`, `hour`, `matches`, `tick`",
                {"200": body({"type": "string"}, "text/event-stream")},
                parameters=[queue],
            )
        },
        "/v1/dashboard/matches/{match}": {
            "parameters": [in_path("match")],
            "get": operation(
                "getMatchStory",
                "Who waited how long for a match, and what each criterion cost",
                {"200": body(ref(MatchShown))},
            ),
        },
        "/dashboard/{file}": {
            "parameters": [in_path("file")],
            "get": operation("getPageFile", "A file of the dashboard", {"200": _ANY, "304": {}}),
        },
    }


def page_path() -> Json:
    """Return the operation that gives the dashboard itself."""
    page = body({"type": "string"}, "text/html")
    return {"get": operation("getPage", "The dashboard", {"200": page, "304": {}})}
