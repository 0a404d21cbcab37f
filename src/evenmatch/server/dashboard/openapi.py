"""What the OpenAPI page says of the dashboard's routes."""

from __future__ import annotations

from evenmatch.server.dashboard.shown import MatchShown
from evenmatch.server.openapi_parts import Json, body, in_path, in_query, operation, ref


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
    }
