"""In which group of the API page each operation stands."""

from __future__ import annotations

from evenmatch.server.http.openapi.parts import Json

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
PLACES = (
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
    return next(tag for start, tag in PLACES if path.startswith(start))


def with_tags(paths: Json) -> Json:
    """Return operations with their groups."""
    return {
        path: {
            key: each if key == "parameters" else {"tags": [tag_of(path)], **each}
            for key, each in item.items()
        }
        for path, item in paths.items()
    }
