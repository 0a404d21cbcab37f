"""The operators' routes on the OpenAPI page."""

from __future__ import annotations

from evenmatch.server.http.openapi.parts import Json, body, in_path, in_query, operation, ref
from evenmatch.wire import operate as wire

_QUEUE = [in_path("queue")]


def operator_paths() -> Json:
    """Return the routes that change how the server works."""
    return {"/v1/config": _config(), **_queues(), "/v1/drain": _drain()}


def _config() -> Json:
    text = {"schema": {"type": "string"}}
    keys = {"schema": {"type": "object"}}
    dry_run = in_query(
        "dry_run", {"enum": ["0", "1", "true", "false"]}, "1: say what it would do, do nothing."
    )
    version = in_query(
        "if_version",
        {"type": "integer", "minimum": 0},
        "Refuse unless this version is in force.",
    )
    return {
        "get": operation(
            "getConfig", "The configuration in force", {"200": body(ref(wire.ConfigState))}
        ),
        "put": operation(
            "putConfig",
            "Bring a configuration into force, all of it or nothing",
            {"200": body(ref(wire.ConfigChanged))},
            parameters=[dry_run, version],
            requestBody={
                "required": True,
                "content": {"application/toml": text, "text/plain": text, "application/json": keys},
            },
        ),
    }


def _drain() -> Json:
    state = {"200": body(ref(wire.DrainState))}
    limit = in_query(
        "limit",
        {"type": "number", "minimum": 0},
        "Stop after so many seconds even if tickets still wait; left out: [server] drain_max.",
    )
    return {
        "get": operation("getDrain", "Is the server about to stop?", state),
        "post": operation(
            "beginDrain",
            "Take no new tickets, and stop when nobody is waiting any more",
            state,
            parameters=[limit],
        ),
        "delete": operation("endDrain", "Take tickets again", state),
    }


def _queues() -> Json:
    paused = body(ref(wire.QueuePaused))
    return {
        "/v1/queues/{queue}/pause": {
            "parameters": _QUEUE,
            "post": operation("pauseQueue", "Take no tickets, make no matches", {"200": paused}),
        },
        "/v1/queues/{queue}/resume": {
            "parameters": _QUEUE,
            "post": operation("resumeQueue", "Let a paused queue go on", {"200": paused}),
        },
        "/v1/queues/{queue}/policy": {
            "parameters": _QUEUE,
            "put": operation(
                "putQueuePolicy",
                "Let another policy decide; tickets wait on",
                {"200": body(ref(wire.QueuePolicy))},
                requestBody={"required": True, **body(ref(wire.SetPolicy))},
            ),
        },
        "/v1/queues/{queue}/shadow": {
            "parameters": _QUEUE,
            "put": operation(
                "putQueueShadow",
                "Count what another policy would do, beside the live one",
                {"200": body(ref(wire.QueueShadow))},
                requestBody={"required": True, **body(ref(wire.SetShadow))},
            ),
        },
    }
