"""What there is to know of one operation of the HTTP interface, in one row.

The application, the guard of each route, the OpenAPI document and its page are made from rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from evenmatch.server.auth.accounts import Accounts
    from evenmatch.server.runtime.services import Services

Json = dict[str, Any]
Content = type | Json | None
"""What a body holds: a type of `wire`, a schema by its media type, or nothing."""
WEBSOCKET = "WS"
"""The method of a WebSocket."""
PLACES = {
    "ticket": "The ticket's id.",
    "match": "The match's id.",
    "queue": "The queue's name.",
    "player": "The player's id.",
    "file": "The file's name.",
    "operation": "The name of an operation of Amazon GameLift.",
}
"""What the parameters of paths mean."""


class Server(NamedTuple):
    """What an operation is answered with."""

    services: Services
    accounts: Accounts


class RouteRights(NamedTuple):
    """Who may use an operation.

    Args:
        rights: One of them is enough. `own` means a player, who then sees only their ticket
            (`{ticket}` in the path) or a match that they are in (`{match}`); everything else looks
            to them as if it were not there. Other operations for players see to that themselves.
            `anyone` needs no credential.
        is_audited: Its use goes into the audit log.
        is_queried: It is about the queue that `?queue=` names; a key for some queues names one of
            them, or none: then it is shown one of its own.
    """

    rights: frozenset[str]
    is_audited: bool = False
    is_queried: bool = False


class Operation(NamedTuple):
    """One operation.

    Args:
        method: Of HTTP, or `WEBSOCKET`.
        path: With its parameters in braces.
        name: Its name in the OpenAPI document; empty: the document does not list it.
        summary: One sentence, in the OpenAPI document.
        tag: The group in which it stands there.
        endpoint: Gives what answers it: a coroutine function of a request, or an ASGI application.
        rights: Those of which one is enough, see `RouteRights`.
        answers: What it answers with where nothing is wrong, by status.
        errors: The other statuses that it may answer with. Whoever calls may be told 401, 403 and
            429 by the gate, everywhere. A status that is in no row is a bug: `tests/fuzz` looks
            for it. So is a 500 in any case, which is why none is promised.
        parameters: Those of the query and of headers.
        request: The body that it takes.
        is_audited: See `RouteRights`.
        is_queried: See `RouteRights`.
    """

    method: str
    path: str
    name: str
    summary: str
    tag: str
    endpoint: Callable[[Server], Any]
    rights: str
    answers: Mapping[str, Content]
    errors: str = ""
    parameters: tuple[Json, ...] = ()
    request: Content = None
    is_audited: bool = False
    is_queried: bool = False

    @property
    def access(self) -> RouteRights:
        """Who may use it."""
        return RouteRights(frozenset(self.rights.split()), self.is_audited, self.is_queried)

    def types(self) -> list[type]:
        """Return the types of its bodies."""
        return [each for each in (self.request, *self.answers.values()) if isinstance(each, type)]


def ref(shape: type) -> Json:
    """Return a reference to the schema of a type."""
    return {"$ref": f"#/components/schemas/{shape.__name__}"}


def content(schema: Json, *media: str) -> Json:
    """Return the schema of a body, which is JSON unless other media are named."""
    return {"content": {each: {"schema": schema} for each in media or ("application/json",)}}


def array_of(shape: type, **bounds: int) -> Json:
    """Return the schema of a body that is an array."""
    return content({"type": "array", "items": ref(shape), **bounds})


def body_of(holds: Content) -> Json:
    """Return a body as the OpenAPI document writes it."""
    return content(ref(holds)) if isinstance(holds, type) else holds or {}


def in_path(name: str) -> Json:
    """Return a parameter of a path."""
    schema = {"type": "string"}
    text = PLACES[name]
    return {"name": name, "in": "path", "required": True, "schema": schema, "description": text}


def in_query(name: str, schema: Json, text: str) -> Json:
    """Return a parameter of the query."""
    return {"name": name, "in": "query", "schema": schema, "description": text}
