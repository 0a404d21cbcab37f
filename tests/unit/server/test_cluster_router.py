"""Which shards of a game answer which operation."""

import pytest

from evenmatch.server.cluster.router import (
    ANY_SHARD,
    BY_ID,
    CONFIG,
    CREATE,
    JOINED,
    METRICS,
    STREAM,
    is_gamelift,
)
from evenmatch.server.http.operation import WEBSOCKET, Operation
from evenmatch.server.http.table import OPERATIONS


def ways(method: str, path: str) -> list[str]:
    """Return how the router finds who answers: one way, and no more."""
    parts = path.removeprefix("/v1/dashboard/matches").split("/")
    if path.startswith("/v1/dashboard/matches/"):
        parts = ["", "v1", "matches", *parts[1:]]
    is_about_one = parts[1:2] == ["v1"] and len(parts) > 3
    tried = {
        "by id": is_about_one and parts[2] in BY_ID,
        "by queue": is_about_one and parts[2] == "queues",
        "joined": (method, path) in JOINED,
        "joined with the node's own": (method, path) == METRICS,
        "new ticket": (method, path) == CREATE,
        "socket": (method, path) == (WEBSOCKET, STREAM),
        "configuration": path == CONFIG and method in ("GET", "PUT"),
        "the default group": is_gamelift(method, path),
        "any shard": (method, path) in ANY_SHARD,
    }
    return [way for way, is_it in tried.items() if is_it]


@pytest.mark.parametrize("each", OPERATIONS, ids=lambda each: f"{each.method} {each.path}")
def test_router_says_which_shards_answer_an_operation(each: Operation) -> None:
    found = ways(each.method, each.path)
    assert len(found) == 1, (
        f"{each.method} {each.path} has {found or 'no way'} to its shard: put it into one table of "
        "server/cluster/router, JOINED or ANY_SHARD say"
    )


def test_tables_of_the_router_name_operations() -> None:
    known = {(each.method, each.path) for each in OPERATIONS}
    assert known >= ANY_SHARD | JOINED.keys() | {CREATE, METRICS}


def test_route_that_nobody_has_placed_is_found() -> None:
    assert ways("GET", "/v1/parties") == []
    assert ways("GET", "/v1/queues/{queue}/parties") == ["by queue"]
    assert ways("GET", "/v1/dashboard/matches/{match}") == ["by id"]


def test_all_ways_to_call_gamelift_are_told_apart_from_the_page() -> None:
    assert is_gamelift("POST", "/")
    assert is_gamelift("POST", "/service/GameLift/operation/StartMatchmaking")
    assert is_gamelift("GET", "/v1/gamelift/events")
    assert not is_gamelift("GET", "/")
