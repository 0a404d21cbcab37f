"""Who may use which route: one line each, and nothing that is not written down.

A line names the method, the pattern of the path, and the rights of which one is enough. `own` means
a player, who then sees only their ticket (`{ticket}` in the pattern) or a match that they are in
(`{match}`); everything else looks to them as if it were not there. Other routes for players see to
that themselves. `anyone` needs no credential. A line that ends in `audited` goes into the audit
log; where it ends in `queried`, a key for some queues names one of them as `?queue=`, or none: then
the route shows it one of its own.
"""

from __future__ import annotations

from typing import Any

import msgspec

from evenmatch.server.auth.accounts import GuestToken
from evenmatch.server.auth.audit import PAGE_MAX, AuditPage
from evenmatch.server.auth.principal import ANYONE, OWN

TABLE = """
POST   /v1/tickets                       tickets own
GET    /v1/tickets                       tickets own read operate
GET    /v1/tickets/{ticket}              tickets own
PATCH  /v1/tickets/{ticket}              tickets own
DELETE /v1/tickets/{ticket}              tickets own operate    audited
GET    /v1/tickets/{ticket}/events       tickets own
GET    /v1/tickets/{ticket}/explain      tickets own read operate
POST   /v1/tickets/{ticket}/heartbeat    tickets own
GET    /v1/stream                        tickets own
WS     /v1/stream                        tickets own

GET    /v1/queues                        tickets own matches read operate
GET    /v1/queues/{queue}/stats          read operate
GET    /v1/queues/{queue}/waiting        read operate
GET    /v1/queues/{queue}/matches        matches
POST   /v1/queues/{queue}/pause          operate    audited
POST   /v1/queues/{queue}/resume         operate    audited
PUT    /v1/queues/{queue}/policy         operate    audited
PUT    /v1/queues/{queue}/shadow         operate    audited

GET    /v1/matches/{match}               tickets matches own read operate
POST   /v1/matches/{match}/accept        tickets own
POST   /v1/matches/{match}/decline       tickets own
PUT    /v1/matches/{match}/assignment    matches own
POST   /v1/matches/{match}/open          matches
GET    /v1/matches/{match}/open          matches
POST   /v1/matches/{match}/close         matches
POST   /v1/matches/{match}/finish        matches
POST   /v1/matches/{match}/outcome       matches own

GET    /v1/players/{player}/rating       tickets matches own read operate
POST   /v1/guests                        anyone
GET    /v1/config                        operate
PUT    /v1/config                        operate    audited
GET    /v1/allocations                   operate
POST   /v1/allocations/{match}/retry     operate    audited
GET    /v1/audit                         operate
GET    /v1/drain                         operate
POST   /v1/drain                         operate    audited
DELETE /v1/drain                         operate    audited
GET    /v1/dashboard/events              read operate    queried
GET    /v1/dashboard/matches/{match}     read operate
GET    /dashboard/{file}                 anyone
POST   /                                 tickets

GET    /openapi.json                     anyone
GET    /docs                             anyone
GET    /docs/{file}                      anyone
GET    /metrics                          read operate
GET    /healthz                          anyone
GET    /readyz                           anyone
GET    /                                 anyone
"""

AUDITED, QUERIED = "audited", "queried"


class RouteRights(msgspec.Struct, frozen=True):
    """Who may use a route.

    Args:
        rights: One of them is enough.
        is_audited: Its use goes into the audit log.
        is_queried: It is about the queue that `?queue=` names.
    """

    rights: frozenset[str]
    is_audited: bool = False
    is_queried: bool = False


def _read(table: str) -> dict[tuple[str, str], RouteRights]:
    lines: dict[tuple[str, str], RouteRights] = {}
    for row in filter(None, table.splitlines()):
        method, pattern, *words = row.split()
        rights = frozenset(words) - {AUDITED, QUERIED}
        lines[method, pattern] = RouteRights(rights, AUDITED in words, QUERIED in words)
    return lines


LINES = _read(TABLE)
UNLISTED = RouteRights(frozenset({"operate"}), is_audited=True)
"""What holds for a route that nobody wrote down; a test finds it."""


def line_of(method: str, pattern: str) -> RouteRights:
    """Return who may use a route; `WS` is the method of a WebSocket."""
    return LINES.get(("GET" if method == "HEAD" else method, pattern), UNLISTED)


# How the OpenAPI document tells of keys and tokens: from the table of rights, and nothing else.

_Json = dict[str, Any]

SCHEMES: _Json = {
    "serviceKey": {
        "type": "http",
        "scheme": "bearer",
        "description": "A key of the game's own servers, made by `evenmatch keys add`.",
    },
    "playerToken": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "A player's token, signed by the game's login or given to a guest; they see "
        "their own tickets and matches only.",
    },
}
METHODS = ("get", "post", "put", "patch", "delete")
TYPES = (GuestToken, AuditPage)


def account_paths() -> _Json:
    """Return the operations of guests and of the audit log."""
    guest = {"content": {"application/json": {"schema": _ref(GuestToken)}}}
    page = {"content": {"application/json": {"schema": _ref(AuditPage)}}}
    whole = {"type": "integer", "minimum": 0}
    return {
        "/v1/guests": {
            "post": {
                "operationId": "makeGuest",
                "summary": "Give a device a player's token, where the server takes guests",
                "responses": {"201": {"description": "", **guest}},
            }
        },
        "/v1/audit": {
            "get": {
                "operationId": "getAudit",
                "summary": "Who did what when",
                "parameters": [
                    {"name": "after", "in": "query", "schema": whole,
                     "description": "`next` of the page before; left out: the last entries."},
                    {"name": "most", "in": "query",
                     "schema": {"type": "integer", "minimum": 1, "maximum": PAGE_MAX},
                     "description": "Entries of a page."},
                ],
                "responses": {"200": {"description": "", **page}},
            }
        },
    }  # fmt: skip


def with_security(paths: _Json, problem: _Json) -> _Json:
    """Return operations with who may use them, and with the answers to those who may not.

    Args:
        paths: The operations by path and method.
        problem: The answer that tells of an error.
    """
    return {
        path: {
            key: _secured(each, path, key, problem) if key in METHODS else each
            for key, each in item.items()
        }
        for path, item in paths.items()
    }


def _secured(operation: _Json, path: str, method: str, problem: _Json) -> _Json:
    rights = line_of(method.upper(), path).rights
    needed = sorted(rights - {OWN, ANYONE})
    schemes: list[_Json] = []
    if needed:
        schemes.append({"serviceKey": []})
    if OWN in rights:
        schemes.append({"playerToken": []})
    if ANYONE in rights:
        schemes = [{}]
    refused = {status: {**problem, "description": text} for status, text in (
        ("401", "No key or token that is valid here"),
        ("403", f"Not allowed; a key needs the right {' or '.join(needed)}" if needed
         else "Not allowed"),
        ("429", "Too many requests; Retry-After says when to come again"),
    )}  # fmt: skip
    responses = {**refused, **operation["responses"]}
    more = {"security": schemes, "x-rights": sorted(rights)}
    return {**operation, **more, "responses": dict(sorted(responses.items()))}


def _ref(shape: type[msgspec.Struct]) -> _Json:
    return {"$ref": f"#/components/schemas/{shape.__name__}"}
