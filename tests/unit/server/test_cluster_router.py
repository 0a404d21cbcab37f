"""Which shards of a game answer which operation."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evenmatch.config.server import ServerSettings
from evenmatch.model.queue import Queue
from evenmatch.server.auth.accounts import Accounts
from evenmatch.server.auth.keys import new_key, write_keys
from evenmatch.server.auth.principal import no_credential
from evenmatch.server.cluster.ask_shards import whole_answer
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
from evenmatch.server.cluster.seat import Seat
from evenmatch.server.cluster.tenants import Tenants
from evenmatch.server.http.operation import WEBSOCKET, Operation
from evenmatch.server.http.responses import (
    encode,
    problem_of,
    read_body,
    send_body,
    unknown_queue,
)
from evenmatch.server.http.table import OPERATIONS
from tests.callers import add_key
from tests.unit.server.test_cluster_nodes import game_of_two_shards


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


async def refusing(seat: Seat, scope: Any, receive: Any, send: Any) -> None:
    """Refuse a queue that a shard has not, as the shard does."""
    body = await read_body(scope, receive, 1_000)
    refused = unknown_queue("none", [seat.claim.shard])
    status, problem = problem_of(refused)
    if body.startswith(b"["):
        items = [{"status": status, "error": problem.error, "message": problem.message}]
        await send_body(send, 200, encode(items * len(msgspec.json.decode(body))))
    else:
        await send_body(send, status, encode(problem))


@pytest.mark.parametrize(
    ("method", "path", "body", "says_all"),
    [
        ("POST", "/v1/tickets", b'{"queues": ["none"]}', True),
        ("POST", "/v1/tickets", b'{"queues": ["b", "none"]}', True),
        ("POST", "/v1/tickets", b'[{"queues": ["none"]}]', True),
        ("POST", "/v1/tickets", b'[{"queues": ["b"]}, {"queues": ["none"]}]', True),
        ("GET", "/v1/queues/none/stats", b"", True),
        ("POST", "/v1/queues/none/pause", b"", True),
        # What a shard says of its own is left as it is.
        ("POST", "/v1/tickets", b'{"queues": ["a"]}', False),
        ("GET", "/v1/queues/b/stats", b"", False),
    ],
)
def test_refusal_of_an_unknown_queue_names_the_queues_of_all_shards(
    method: str, path: str, body: bytes, says_all: bool
) -> None:
    router = game_of_two_shards(refusing, Queue("a"), Queue("b", group="other"))
    scope = {
        "type": "http", "method": method, "path": path, "query_string": b"", "headers": [],
    }  # fmt: skip
    told = asyncio.run(whole_answer(router, scope, body)).value()
    last = told[-1] if isinstance(told, list) else told
    assert last["error"] == "unknown_queue"
    assert last["message"].endswith("; allowed: a, b") == says_all
    # A ticket goes in a frame only to a shard that has its queue.
    if path == "/v1/tickets" and not body.startswith(b"["):
        assert (router.seat_of_create(body) is None) == says_all


def asked_shard(
    folder: Path, credential: str, path: str = "/v1/players/ann/rating", query: bytes = b""
) -> str:
    """Return the shard that answers whoever asks a game with queue a in s0 and b in s0.other."""
    asked_for: list[str] = []

    async def serve(seat: Seat, scope: Any, receive: Any, send: Any) -> None:
        asked_for.append(seat.claim.shard)
        await send_body(send, 200, b"{}")

    tenants = Tenants({"": Accounts(ServerSettings(), folder)})
    queues = Queue("a"), Queue("b", group="other")
    router = game_of_two_shards(serve, *queues, own=tenants.queues_of)
    headers = [(b"authorization", credential.encode())]
    scope = {
        "type": "http", "method": "GET", "path": path, "query_string": query, "headers": headers,
    }  # fmt: skip
    asyncio.run(whole_answer(router, scope, b""))
    (shard,) = asked_for
    return shard


@pytest.mark.parametrize("path", ["/v1/dashboard/events", "/v1/players/ann/rating"])
@pytest.mark.parametrize(
    ("given", "query", "shard"),
    [
        ("for b", b"", "s0.other"),
        ("for b", b"queue=a", "s0"),
        ("for both", b"", "s0"),
        ("for all", b"", "s0"),
        ("of none", b"", "s0"),
    ],
)
def test_key_for_some_queues_is_shown_the_first_of_its_own(
    tmp_path: Path, path: str, given: str, query: bytes, shard: str
) -> None:
    keys = {
        "for b": add_key(tmp_path, "one", queues=("b",)),
        "for both": add_key(tmp_path, "two", queues=("b", "a")),
        "for all": add_key(tmp_path, "three"),
        "of none": "em_1_2",
    }
    assert asked_shard(tmp_path, f"Bearer {keys[given]}", path, query) == shard


async def turning_away(seat: Seat, scope: Any, receive: Any, send: Any) -> None:
    """Refuse a caller without a key, as each shard does."""
    status, problem = problem_of(no_credential())
    await send_body(send, status, encode(problem))


TWO_GROUPS = b'{"queues": ["a", "b"]}'
ARRAYS = [b"[%s]" % TWO_GROUPS, b'[%s, {"queues": ["b"]}]' % TWO_GROUPS]


def answer_to_create(serve: Any, body: bytes) -> Any:
    router = game_of_two_shards(serve, Queue("a"), Queue("b", group="other"))
    # The gate of a shard judges who asks, so it goes the longer way.
    assert router.seat_of_create(body) is None
    scope = {
        "type": "http", "method": "POST", "path": "/v1/tickets", "query_string": b"", "headers": [],
    }  # fmt: skip
    return asyncio.run(whole_answer(router, scope, body))


def test_signing_key_for_some_queues_is_shown_the_first_of_its_own(tmp_path: Path) -> None:
    key, _ = new_key("one", ("tickets",), queues=("b",), now=0.0, is_signing=True)
    write_keys(tmp_path / "keys.json", (key,))
    signed = (
        f"AWS4-HMAC-SHA256 Credential={key.id}/20261123/eu-west-1/gamelift/aws4_request, "
        f"SignedHeaders=host;x-amz-date, Signature={'0' * 64}"
    )
    # Whether a signature is genuine is for the shard.
    assert asked_shard(tmp_path, signed) == "s0.other"
    assert asked_shard(tmp_path, "AWS4-HMAC-SHA256 nothing more") == "s0"


def test_ticket_for_queues_of_two_shards_is_refused_with_their_names() -> None:
    words = "the queues of one ticket must be in one group: 'a' and 'b' are not"
    alone = answer_to_create(refusing, TWO_GROUPS)
    assert (alone.status, alone.value()["error"]) == (400, "invalid_ticket")
    assert alone.value()["message"] == words
    for body in ARRAYS:
        first, *others = answer_to_create(refusing, body).value()
        assert (first["status"], first["message"], first["where"]) == (400, words, "/0/queues")
        assert [each["error"] for each in others] == ["unknown_queue"] * len(others)


@pytest.mark.parametrize("body", [TWO_GROUPS, *ARRAYS])
def test_who_may_not_create_tickets_learns_of_no_queues(body: bytes) -> None:
    answer = answer_to_create(turning_away, body)
    assert (answer.status, answer.value()["error"]) == (401, "unauthenticated")
