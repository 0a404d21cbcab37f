"""Who may use which route: one line each, and nothing that is not written down.

A line names the method, the pattern of the path, and the rights of which one is enough. `own` means
a player, who then sees only their ticket (`{ticket}` in the pattern) or a match that they are in
(`{match}`); everything else looks to them as if it were not there. Other routes for players see to
that themselves. `anyone` needs no credential. A line that ends in `audited` goes into the audit
log; where it ends in `queried`, a key for some queues names one of them as `?queue=`, or none: then
the route shows it one of its own.
"""

from __future__ import annotations

import msgspec

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
