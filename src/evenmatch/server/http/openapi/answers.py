"""With which errors each operation answers: one line each, and nothing that is not written down.

Whoever calls may be told 401, 403 and 429 by the gate, everywhere; `auth.described` says so. A line
names what else there is. A status that is in no line is a bug: `tests/fuzz` looks for it. So is a
500 in any case, which is why none is promised.
"""

from __future__ import annotations

from typing import Any

_Json = dict[str, Any]

TABLE = """
POST   /v1/tickets                       400 404 409 413 503
GET    /v1/tickets                       400 503
GET    /v1/tickets/{ticket}              400 404 410 503
PATCH  /v1/tickets/{ticket}              400 404 409 410 413 503
DELETE /v1/tickets/{ticket}              404 409 410 503
GET    /v1/tickets/{ticket}/events       400 404 410 503
GET    /v1/tickets/{ticket}/explain      400 404 410 503
POST   /v1/tickets/{ticket}/heartbeat    404 410 503
GET    /v1/stream                        400 426

GET    /v1/queues                        503
GET    /v1/queues/{queue}/stats          404 503
GET    /v1/queues/{queue}/waiting        400 404 503
GET    /v1/queues/{queue}/matches        400 404 410 503
POST   /v1/queues/{queue}/pause          404 409 503
POST   /v1/queues/{queue}/resume         404 409 503
PUT    /v1/queues/{queue}/policy         400 404 409 413 501 503
PUT    /v1/queues/{queue}/shadow         400 404 409 413 501 503

GET    /v1/matches/{match}               404 410 503
POST   /v1/matches/{match}/accept        400 404 409 410 413 503
POST   /v1/matches/{match}/decline       400 404 409 410 413 503
PUT    /v1/matches/{match}/assignment    400 404 409 410 413 503
GET    /v1/matches/{match}/open          404 409 410 503
POST   /v1/matches/{match}/open          400 404 409 410 413 503
POST   /v1/matches/{match}/close         404 409 410 503
POST   /v1/matches/{match}/finish        404 409 410 503
POST   /v1/matches/{match}/outcome       400 404 409 410 413 503

GET    /v1/players/{player}/rating       400 404 503
GET    /v1/allocations                   400
POST   /v1/allocations/{match}/retry     404 409 410 503
POST   /v1/guests                        501
GET    /v1/config                        400 503
PUT    /v1/config                        400 409 413 501 503
GET    /v1/audit                         400
GET    /v1/drain                         400
POST   /v1/drain                         400
DELETE /v1/drain                         400
GET    /v1/dashboard/events              400 404 503
GET    /v1/dashboard/matches/{match}     404 410 503

POST   /                                 501
GET    /
GET    /dashboard/{file}                 404
GET    /openapi.json
GET    /docs
GET    /docs/{file}                      404
GET    /metrics
GET    /healthz
GET    /readyz
"""

TEXTS = {
    "400": "The request says something that it may not; `where` points to it",
    "404": "It does not exist, or it belongs to somebody else",
    "409": "It does not fit what has happened already; `error` says what",
    "410": "There was such a thing, and it is over or kept no longer",
    "413": "The body is too large",
    "426": "This is a WebSocket",
    "501": "This version or this server has no such thing",
    "503": "No inputs are taken at the moment; Retry-After says when to come again",
}


def _read(table: str) -> dict[tuple[str, str], tuple[str, ...]]:
    rows = [row.split() for row in table.splitlines() if row]
    return {(method, path): tuple(statuses) for method, path, *statuses in rows}


LINES = _read(TABLE)


def with_problems(paths: _Json, problem: _Json) -> _Json:
    """Return operations with the errors that they answer with.

    Args:
        paths: The operations by path and method.
        problem: The answer that tells of an error.
    """
    return {
        path: {key: _told(each, problem, (key.upper(), path)) for key, each in item.items()}
        for path, item in paths.items()
    }


def _told(operation: Any, problem: _Json, key: tuple[str, str]) -> Any:
    if key not in LINES:
        return operation
    told = {status: {**problem, "description": TEXTS[status]} for status in LINES[key]}
    responses = {**told, **operation["responses"]}
    return {**operation, "responses": dict(sorted(responses.items()))}
