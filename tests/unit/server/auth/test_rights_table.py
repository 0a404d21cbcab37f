"""The table of rights covers every route, and the OpenAPI document tells the same."""

from pathlib import Path

from evenmatch.server.auth.authorize import Authorizer
from evenmatch.server.auth.principal import ANYONE, OWN, SERVICE_RIGHTS
from evenmatch.server.http.app import App
from evenmatch.server.http.table import OPERATIONS, openapi_document
from tests.callers import Site, with_site

ROWS = {(row.method, row.path): row.access for row in OPERATIONS}


def test_every_route_has_its_row_and_its_guard(tmp_path: Path) -> None:
    async def scene(site: Site) -> None:
        app = App(site.parts, site.accounts)
        answered = [route for route, _ in app._routes._routes.values()]
        routes = [*app._sockets.values(), *answered]
        assert {(route.method, route.path) for route in routes} == ROWS.keys()
        assert all(isinstance(route.app, Authorizer) for route in routes)

    with_site(tmp_path, scene)


def test_rows_name_rights_that_there_are() -> None:
    known = {*SERVICE_RIGHTS, OWN, ANYONE}
    assert len(ROWS) == len(OPERATIONS)
    assert all(row.rights and row.rights <= known for row in ROWS.values())
    changing = {key for key, row in ROWS.items() if row.rights == {"operate"}}
    assert all(ROWS[key].is_audited for key in changing if key[0] != "GET")


def test_document_says_who_may_use_each_operation() -> None:
    document = openapi_document()
    assert set(document["components"]["securitySchemes"]) == {"serviceKey", "playerToken"}
    for path, item in document["paths"].items():
        for method in ("get", "post", "put", "patch", "delete"):
            if method not in item:
                continue
            operation, row = item[method], ROWS[method.upper(), path]
            names = {name for scheme in operation["security"] for name in scheme}
            assert ("playerToken" in names) == (OWN in row.rights)
            assert ({} in operation["security"]) == (ANYONE in row.rights)
            assert {"401", "403", "429"} <= set(operation["responses"])
