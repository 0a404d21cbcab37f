"""The statuses that the OpenAPI document promises are those that can come."""

from pathlib import Path

import pytest

from evenmatch.server.http.table import OPERATIONS, openapi_document
from tests.callers import Site, add_key, duel, token, with_site

ERRORS = {(row.method, row.path): row.errors.split() for row in OPERATIONS}
OWNED = [key for key in ERRORS if "{ticket}" in key[1] or "{match}" in key[1]]


@pytest.mark.parametrize(("method", "path"), OWNED)
def test_what_belongs_to_somebody_may_be_gone_or_unknown_now(method: str, path: str) -> None:
    assert {"404", "410", "503"} <= {*ERRORS[method, path]}


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/v1/dashboard/matches/{match}"), ("POST", "/v1/allocations/{match}/retry")],
)
def test_key_of_one_queue_is_told_what_is_written_down(
    tmp_path: Path, method: str, path: str
) -> None:
    duels = add_key(tmp_path, "duels", queues=("duel",))

    async def scene(site: Site) -> None:
        for player in ("ann", "bob"):
            await site.call("POST", "/v1/tickets", duel(player), key=token(player))
        own, said = path.format(match="s0-m1"), []
        said.append((await site.call(method, path.format(match="s0-m9"), key=duels)).status)
        del site.parts.runtime.engine.tables.matches["s0-m1"]
        said.append((await site.call(method, own, key=duels)).status)
        site.parts.runtime.failure = "the journal is being read"
        said.append((await site.call(method, own, key=duels)).status)
        site.parts.runtime.failure = None
        assert said == [404, 410, 503]
        assert {str(status) for status in said} <= {*ERRORS[method, path]}

    with_site(tmp_path, scene)


def test_configuration_is_not_shown_while_the_engine_comes_back(tmp_path: Path) -> None:
    service = add_key(tmp_path)

    async def scene(site: Site) -> None:
        site.parts.runtime.failure = "the journal is being read"
        answer = await site.call("GET", "/v1/config", key=service)
        assert (answer.status, answer.body["error"]) == (503, "unavailable")
        assert str(answer.status) in ERRORS["GET", "/v1/config"]
        site.parts.runtime.failure = None

    with_site(tmp_path, scene)


def test_rules_of_an_explanation_may_be_conditions_of_a_rule_set() -> None:
    tolerance = openapi_document()["components"]["schemas"]["Tolerance"]
    assert "condition" in tolerance["properties"]["rule"]["enum"]
