"""The first requests of a server find everything loaded: none of them waits for an import."""

from pathlib import Path
from typing import Any

import pytest

from tests.extent import only
from tests.integration.serving import CONFIG, Server, ticket
from tests.shared import ROOT

HERO = (ROOT / "scenarios" / "hero_5v5.toml").read_text(encoding="utf-8")
ROLES = ("tank", "damage", "damage", "support", "support")
PATHS = (
    "/healthz", "/readyz", "/metrics", "/", "/docs", "/openapi.json", "/v1/queues",
    "/v1/queues/{queue}/stats", "/v1/queues/{queue}/waiting", "/v1/queues/{queue}/matches",
    "/v1/tickets/s0-1", "/v1/tickets/s0-1/explain", "/v1/tickets?player=p0", "/v1/config",
    "/v1/audit", "/v1/players/p0/rating", "/v1/tickets/s0-999",
)  # fmt: skip


def loaded(server: Server) -> list[str]:
    """Return what has been imported so far, in order."""
    lines = server.log.read_text(encoding="utf-8").splitlines()
    return [line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")]


def hero(number: int) -> dict[str, Any]:
    player = {"id": f"p{number}", "rating": {"mean": 1500.0}, "roles": [ROLES[number % 5]]}
    return {
        "queues": ["hero"],
        "players": [player],
        "attributes": {"latency": {"eu-west": 20}},
    }


@pytest.mark.parametrize("name", only(["duel", "hero"], 1))
def test_first_requests_import_nothing(name: str, tmp_path: Path) -> None:
    is_hero = name == "hero"
    server = Server(tmp_path, HERO if is_hero else CONFIG, env={"PYTHONPROFILEIMPORTTIME": "1"})
    try:
        before = loaded(server)
        assert len(before) > 100
        for number in range(20):
            body = hero(number) if is_hero else ticket(f"p{number}", rating=1500.0 + 60 * number)
            assert server.call("POST", "/v1/tickets", body).status == 201
        for path in PATHS:
            status = server.call("GET", path.format(queue=name)).status
            assert status in (200, 404, 410), path
        seen = server.call("GET", "/v1/tickets/s0-1?wait=20&state=waiting").body["state"]
        assert seen in ("matched", "proposed")
        assert server.call("DELETE", "/v1/tickets/s0-20").status in (200, 409)
        assert loaded(server)[len(before) :] == []
    finally:
        server.kill()
