"""The table of rights covers every route, and the OpenAPI document tells the same."""

from pathlib import Path

from starlette.routing import Route, WebSocketRoute

from evenmatch.server.auth.authorize import WEBSOCKET, Guard
from evenmatch.server.auth.principal import ANYONE, OWN, SERVICE_RIGHTS
from evenmatch.server.auth.rights import LINES, UNLISTED, line_of
from evenmatch.server.http.app import App
from evenmatch.server.http.openapi.document import openapi_document
from tests.callers import Site, with_site


def test_every_route_has_its_line_and_its_guard(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        app = App(site.parts, site.accounts)
        routes = app._starlette.routes
        assert len(routes) > 20
        for route in routes:
            assert isinstance(route, Route | WebSocketRoute)
            assert isinstance(route.app, Guard), route.path
            methods = (route.methods or set()) if isinstance(route, Route) else {WEBSOCKET}
            for method in methods - {"HEAD"}:
                assert (method, route.path) in LINES, f"{method} {route.path} has no line"

    with_site(tmp_path, scene)


def test_lines_name_rights_that_there_are() -> None:
    known = {*SERVICE_RIGHTS, OWN, ANYONE}
    assert all(line.rights and line.rights <= known for line in LINES.values())
    changing = {key for key, line in LINES.items() if line.rights == {"operate"}}
    assert all(LINES[key].is_audited for key in changing if key[0] != "GET")


def test_route_that_nobody_listed_is_for_operators() -> None:
    assert line_of("POST", "/v1/surprise") == UNLISTED
    assert UNLISTED.rights == {"operate"}
    assert line_of("HEAD", "/healthz") == line_of("GET", "/healthz")


def test_document_says_who_may_use_each_operation() -> None:
    document = openapi_document()
    assert set(document["components"]["securitySchemes"]) == {"serviceKey", "playerToken"}
    for path, item in document["paths"].items():
        for method in ("get", "post", "put", "patch", "delete"):
            if method not in item:
                continue
            operation, line = item[method], line_of(method.upper(), path)
            assert (method.upper(), path) in LINES
            names = {name for scheme in operation["security"] for name in scheme}
            assert ("playerToken" in names) == (OWN in line.rights)
            assert ({} in operation["security"]) == (ANYONE in line.rights)
            assert {"401", "403", "429"} <= set(operation["responses"])
