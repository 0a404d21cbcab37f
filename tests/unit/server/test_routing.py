"""The table of routes finds what Starlette's own router finds, and refuses the rest."""

import pytest
from starlette.routing import Match, Route

from evenmatch.server.http.operation import WEBSOCKET
from evenmatch.server.http.responses import Receive, Scope, Send
from evenmatch.server.http.routing import GuardedRoute, RouteTable, asgi_of
from evenmatch.server.http.table import OPERATIONS

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
SEGMENTS = ("", "v1", "tickets", "s0-7", "{}", "events", "open", "docs", "index.html", "ä b")
PATTERNS = [(row.method, row.path) for row in OPERATIONS if row.method != WEBSOCKET]


async def nothing(scope: Scope, receive: Receive, send: Send) -> None:
    """Stand for what answers."""


TABLE = RouteTable(GuardedRoute(method, path, nothing) for method, path in PATTERNS)
ROUTES = [Route(path, nothing, methods=[method]) for method, path in PATTERNS]


def paths() -> list[str]:
    """Return paths of all patterns, and those that differ from them by one segment."""
    found: dict[str, None] = {"": None, "/": None, "//": None, "v1/tickets": None}
    for _, pattern in PATTERNS:
        parts = ["s0-7" if part.startswith("{") else part for part in pattern.split("/")]
        found["/".join(parts)] = found["/".join(parts) + "/"] = None
        for at in range(1, len(parts)):
            for other in SEGMENTS:
                found["/".join([*parts[:at], other, *parts[at + 1 :]])] = None
    return list(found)


@pytest.mark.parametrize("method", METHODS)
def test_finds_what_a_router_finds_that_tries_all_patterns(method: str) -> None:
    for path in paths():
        scope = {"type": "http", "method": method, "path": path, "root_path": ""}
        matches = ((route, *route.matches(scope)) for route in ROUTES)
        full = next(((one, more) for one, how, more in matches if how is Match.FULL), None)
        found = TABLE.find(method, path)
        expected = None if full is None else (full[0].path, full[1]["path_params"])
        assert (None if found is None else (found[0].path, found[1])) == expected, path


def test_methods_of_a_path_are_those_of_all_its_routes() -> None:
    assert TABLE.methods("/v1/tickets/s0-7") == ["DELETE", "GET", "HEAD", "PATCH"]
    assert TABLE.methods("/v1/matches/s0-m1/accept") == ["POST"]
    assert TABLE.methods("/v1/nothing") == []


@pytest.mark.parametrize("raw", [b"/v1/tickets/a%2Fb%20c", b"/v1/tickets/a%2fb%20c"])
def test_slash_of_an_id_is_told_from_those_between_segments(raw: bytes) -> None:
    found = TABLE.find("GET", "/v1/tickets/a/b c", raw)
    assert found is not None
    assert found[1] == {"ticket": "a/b c"}
    assert TABLE.find("GET", "/v1/tickets/a/b c", raw.replace(b"%2", b"%252")) is None
    assert "PATCH" in TABLE.methods("/v1/tickets/a/b c", raw)
    assert TABLE.find("GET", "/v1/tickets", b"/v1%2Ftickets") is None


def test_paths_that_only_begin_like_one_are_found_nowhere() -> None:
    for path in (
        "/v1/queues\n",
        "/v1/tickets/s0-7/events/" + 60_000 * "/",
        "/v1/tickets" + "/" * 9,
    ):
        assert TABLE.find("GET", path) is None
        assert TABLE.methods(path) == []


def test_function_that_would_hold_up_the_loop_is_refused() -> None:
    def endpoint(request: object) -> None:
        """Answer at once."""

    with pytest.raises(TypeError, match="must be a coroutine function"):
        asgi_of(endpoint)


def test_first_of_two_routes_that_fit_answers() -> None:
    first, second = (GuardedRoute("GET", path, nothing) for path in ("/a/{one}", "/a/{two}"))
    assert RouteTable([first, second]).find("GET", "/a/b") == (first, {"one": "b"})
