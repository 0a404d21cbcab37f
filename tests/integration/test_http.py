"""The HTTP interface of a real server: what it takes, what it refuses, and how."""

import asyncio
import contextlib
import http.client
import json
import re
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

from evenmatch.client.client import AsyncClient, Client, ServerRefused
from evenmatch.errors import ConfigError
from evenmatch.model.ticket import Player, Rating
from evenmatch.server.http.sockets import FOLLOWED_MAX
from evenmatch.wire.tickets import CreateTicket
from tests.integration.serving import Server, running, ticket
from tests.waiting import GIVE_UP, wait_until


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("http")) as started:
        yield started


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """Return a prefix that no other test uses."""
    return f"{request.node.name}."


RATED = '{"id": "bad", "rating": {"mean": %s}}'
BAD_BODIES: list[tuple[str, bytes, int, str]] = [
    ("no JSON", b"hello", 400, ""),
    ("nothing", b"", 400, ""),
    ("cut off", b'{"players": [', 400, ""),
    ("not UTF-8", b'{"players":[{"id":"\xff\xfe"}]}', 400, ""),
    ("a number", b"7", 400, ""),
    ("null", b"null", 400, ""),
    ("NaN", b'{"players":[' + (RATED % "NaN").encode() + b"]}", 400, ""),
    ("Infinity", b'{"players":[' + (RATED % "Infinity").encode() + b"]}", 400, ""),
    ("overflow", b'{"players":[' + (RATED % "1e999").encode() + b"]}", 400,
     "/players/0/rating/mean"),
    ("too large", b'{"players":[' + (RATED % "1e16").encode() + b"]}", 400,
     "/players/0/rating/mean"),
    ("negative deviation", b'{"players":[{"id":"x","rating":{"mean":1,"deviation":-1}}]}', 400,
     "/players/0/rating/deviation"),
    ("wrong type", b'{"players":[{"id":7}]}', 400, "/players/0/id"),
    ("unknown field", b'{"players":[],"colour":"red"}', 400, "/colour"),
    ("own id", b'{"players":[{"id":"x"}],"id":"s0-1"}', 400, "/id"),
    ("no players", b'{"queues":["duel"]}', 400, ""),
    ("empty party", b'{"players":[]}', 400, "/players"),
    ("party too large", json.dumps(ticket("x", "y")).encode(), 400, "/players"),
    ("player twice", json.dumps(ticket("x", "x", queue="squad")).encode(), 400, "/players"),
    ("empty id", json.dumps(ticket("")).encode(), 400, "/players/0/id"),
    ("long id", json.dumps(ticket("x" * 129)).encode(), 400, "/players/0/id"),
    ("missing attribute", b'{"queues":["duel"],"players":[{"id":"x"}]}', 400, "/players"),
    ("extra attribute", b'{"players":[{"id":"x","rating":{"mean":1},"attributes":{"hat":1}}]}', 400,
     "/players/0/attributes/hat"),
    ("extra attribute of the party",
     b'{"players":[{"id":"x","rating":{"mean":1}}],"attributes":{"hat":1}}', 400,
     "/attributes/hat"),
    ("unknown queue", json.dumps(ticket("x", queue="poker")).encode(), 404, "/queues"),
    ("queue twice", b'{"queues":["duel","duel"],"players":[{"id":"x"}]}', 400, "/queues"),
    ("empty array", b"[]", 400, ""),
    ("1001 tickets", json.dumps([ticket("x")] * 1001).encode(), 400, ""),
    ("blank id", json.dumps(ticket(" ")).encode(), 400, "/players/0/id"),
    ("control character", json.dumps(ticket("a\x07")).encode(), 400, "/players/0/id"),
    ("roles without roles", b'{"players":[{"id":"x","rating":{"mean":1},"roles":["tank"]}]}', 400,
     "/players/0/roles"),
    ("side without sides",
     b'{"players":[{"id":"x","rating":{"mean":1},"attributes":{"side":"red"}}]}', 400,
     "/players/0/attributes/side"),
    ("deep JSON", b"[" * 50_000, 400, ""),
    ("deep attribute", b'{"players":[{"id":"x"}],"attributes":{"a":' + b"[" * 50_000 + b"]" * 50_000
     + b"}}", 400, "/attributes"),
    ("body too large", b" " * 200_001, 413, ""),
]  # fmt: skip


@pytest.mark.parametrize(("body", "status", "where"), [c[1:] for c in BAD_BODIES],
                         ids=[c[0] for c in BAD_BODIES])  # fmt: skip
def test_bad_body_is_refused_with_a_pointer(
    server: Server, body: bytes, status: int, where: str
) -> None:
    reply = server.call("POST", "/v1/tickets", raw=body)
    assert (reply.status, reply.body["where"]) == (status, where), reply.body
    assert reply.body["error"]
    assert reply.body["message"]
    assert "Traceback" not in reply.body["message"]


def test_extra_attribute_names_what_is_allowed(server: Server) -> None:
    body = {"queues": ["squad"], "players": [{"id": "x", "attributes": {"hat": 1}}]}
    message = server.call("POST", "/v1/tickets", body).body["message"]
    assert "'hat'" in message
    assert message.endswith("allowed: mode")


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1/tickets/s0-999999", 404, "unknown_ticket"),
        ("GET", "/v1/tickets/" + "x" * 20_000, 404, "unknown_ticket"),
        ("GET", "/v1/tickets/s0-%F0%9F%92%A9", 404, "unknown_ticket"),
        ("GET", "/v1/tickets/s0-999999?wait=5", 404, "unknown_ticket"),
        ("GET", "/v1/tickets/s0-999999/events", 404, "unknown_ticket"),
        ("GET", "/v1/tickets/s0-999999/explain", 404, "unknown_ticket"),
        ("GET", "/v1/queues/poker/waiting", 404, "unknown_queue"),
        ("DELETE", "/v1/tickets/nobody", 404, "unknown_ticket"),
        ("GET", "/v1/tickets/s0-1?wait=soon", 400, "invalid_request"),
        ("GET", "/v1/tickets/s0-1?wait=nan", 400, "invalid_request"),
        ("GET", "/v1/tickets/s0-1?wiat=5", 400, "invalid_request"),
        ("GET", "/v1/queues/", 404, "not_found"),
        ("GET", "/v1/matches/s0-m999999", 404, "unknown_match"),
        ("POST", "/v1/matches/s0-m999999/finish", 404, "unknown_match"),
        ("GET", "/v1/queues/poker/stats", 404, "unknown_queue"),
        ("GET", "/v1/queues/poker/matches", 404, "unknown_queue"),
        ("GET", "/v1/queues/duel/matches?after=-1", 400, "invalid_request"),
        ("GET", "/v1/queues/duel/matches?after=999999999", 400, "invalid_request"),
        ("GET", "/v1/nothing", 404, "not_found"),
        ("PUT", "/v1/tickets", 405, "method_not_allowed"),
        ("GET", "/v1/tickets", 400, "invalid_request"),
        ("POST", "/v1/queues", 405, "method_not_allowed"),
        ("PATCH", "/v1/tickets/s0-1", 400, "invalid_request"),
        ("POST", "/v1/tickets/s0-999999/heartbeat", 404, "unknown_ticket"),
        ("POST", "/v1/matches/s0-m1/accept", 400, "invalid_request"),
        ("POST", "/v1/matches/s0-m1/outcome", 400, "invalid_request"),
        ("PUT", "/v1/config", 400, "config_error"),
    ],
)  # fmt: skip
def test_bad_request_gets_its_status(
    server: Server, method: str, path: str, status: int, code: str
) -> None:
    reply = server.call(method, path)
    assert (reply.status, reply.body["error"]) == (status, code)


def test_two_who_fit_are_matched(server: Server, name: str) -> None:
    first = server.create(name + "a")
    assert first.status == 201
    assert first.body["state"] == "waiting"
    assert first.body["queues"] == ["duel"]
    second = server.create(name + "b")
    assert second.body["state"] == "matched"
    got = server.call("GET", f"/v1/tickets/{first.body['id']}").body
    assert set(got) == {"id", "state", "wait", "reason", "match", "assignment", "estimate"}
    match = server.call("GET", f"/v1/matches/{got['match']}").body
    assert match["tickets"] == [first.body["id"], second.body["id"]]
    assert match["teams"] == [[first.body["id"]], [second.body["id"]]]
    assert match["players"] == [[name + "a"], [name + "b"]]
    assert set(match) == {
        "match", "queue", "at", "tickets", "teams", "bots", "cost", "quality", "players",
        "assignment",
    }  # fmt: skip


def test_assignment_reaches_the_ticket(server: Server, name: str) -> None:
    first = server.create(name + "a").body["id"]
    server.create(name + "b")
    match = server.call("GET", f"/v1/tickets/{first}").body["match"]
    place = {"connection": "10.0.0.1:7777"}
    assert server.call("PUT", f"/v1/matches/{match}/assignment", place).body["assignment"] == place
    got = server.call("GET", f"/v1/tickets/{first}").body
    assert (got["state"], got["assignment"]) == ("assigned", place)
    assert server.call("POST", f"/v1/matches/{match}/finish").status == 200
    for bad, where in (({}, ""), ({"connection": 1}, "/connection"), ([], "")):
        reply = server.call("PUT", f"/v1/matches/{match}/assignment", bad)
        assert (reply.status, reply.body["error"]) == (400, "invalid_request")
        assert reply.body["where"] == where


def test_same_players_get_their_live_ticket_again(server: Server, name: str) -> None:
    first = server.create(name, rating=9_000.0)
    again = server.create(name, rating=9_000.0)
    assert again.status == 200
    assert again.body == first.body
    server.call("DELETE", f"/v1/tickets/{first.body['id']}")


def test_player_of_another_ticket_is_refused(server: Server, name: str) -> None:
    first = server.call("POST", "/v1/tickets", ticket(name + "a", name + "b", queue="squad"))
    other = server.call("POST", "/v1/tickets", ticket(name + "b", name + "c", queue="squad"))
    assert (other.status, other.body["error"]) == (409, "already_waiting")
    assert other.body["ticket"] == first.body["id"]
    server.call("DELETE", f"/v1/tickets/{first.body['id']}")


def test_array_is_answered_item_by_item(server: Server, name: str) -> None:
    good, twin = ticket(name + "a", rating=20_000.0), ticket(name + "a", rating=20_000.0)
    hat = {**ticket(name + "b"), "attributes": {"hat": "red"}}
    reply = server.call("POST", "/v1/tickets", [good, hat, ticket(name + "c", queue="poker"), twin])
    assert reply.status == 200
    assert [item["status"] for item in reply.body] == [201, 400, 404, 200]
    assert reply.body[3]["id"] == reply.body[0]["id"]
    assert [reply.body[1]["where"], reply.body[2]["where"]] == ["/1/attributes/hat", "/2/queues"]
    server.call("DELETE", f"/v1/tickets/{reply.body[0]['id']}")


def test_idempotency_key_repeats_the_answer(server: Server, name: str) -> None:
    key = {"Idempotency-Key": name}
    first = server.create(name, rating=30_000.0, headers=key)
    server.call("DELETE", f"/v1/tickets/{first.body['id']}")
    again = server.create(name, rating=30_000.0, headers=key)
    assert (again.status, again.body) == (201, first.body)
    other = server.create(name, rating=30_001.0, headers=key)
    assert (other.status, other.body["error"]) == (409, "key_reused")
    long = server.create(name, headers={"Idempotency-Key": "k" * 201})
    assert (long.status, long.body["error"]) == (400, "invalid_request")


def test_malformed_item_is_refused_alone_and_repeatably(server: Server, name: str) -> None:
    good, bad = ticket(name + "a", rating=40_000.0), {"players": [{"id": 1}]}
    key = {"Idempotency-Key": name}
    body = [bad, good, 7, ticket(name + "b\n", rating=50_000.0)]
    first = server.call("POST", "/v1/tickets", body, headers=key)
    assert first.status == 200
    assert [item["status"] for item in first.body] == [400, 201, 400, 400]
    wheres = [item.get("where") for item in first.body]
    assert wheres == ["/0/players/0/id", None, "/2", "/3/players/0/id"]
    assert server.call("POST", "/v1/tickets", body, headers=key).body == first.body
    server.call("DELETE", f"/v1/tickets/{first.body[1]['id']}")


def test_empty_key_is_refused(server: Server, name: str) -> None:
    reply = server.create(name, headers={"Idempotency-Key": ""})
    assert (reply.status, reply.body["error"]) == (400, "invalid_request")


def test_wrong_method_is_told_the_right_ones(server: Server) -> None:
    reply = server.call("PUT", "/v1/tickets/s0-1")
    assert reply.status == 405
    assert "allowed: DELETE, GET, HEAD, PATCH" in reply.body["message"]
    assert reply.headers["allow"] == "DELETE, GET, HEAD, PATCH"


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost:1", 200), ("127.0.0.1", 200), ("[::1]:80", 200), ("evil.example", 403),
     ("10.0.0.1:8080", 403), ("localhost.evil.example", 403), ("[", 403), ("", 403)],
)  # fmt: skip
def test_server_answers_to_its_own_names_only(server: Server, host: str, status: int) -> None:
    reply = server.call("GET", "/v1/queues", headers={"Host": host})
    assert reply.status == status
    assert status == 200 or reply.body["error"] == "origin_not_allowed"


def test_cancel_ends_a_ticket_once_and_for_all(server: Server, name: str) -> None:
    first = server.create(name + "a", rating=40_000.0).body["id"]
    for _ in range(2):
        reply = server.call("DELETE", f"/v1/tickets/{first}")
        assert (reply.status, reply.body) == (200, {"state": "cancelled"})
    assert server.create(name + "b", rating=40_000.0).body["state"] == "waiting"
    last = server.create(name + "c", rating=40_000.0)
    late = server.call("DELETE", f"/v1/tickets/{last.body['id']}")
    assert (late.status, late.body["error"]) == (409, "too_late")
    assert late.body["match"]


def test_cancel_and_match_never_both_win(server: Server, name: str) -> None:
    async def race(number: int) -> None:
        async with AsyncClient(server.url) as client:
            waiting = await client.create(rated(f"{name}{number}.a", 50_000.0))
            cancel = asyncio.create_task(client.cancel(waiting.id))
            other = await client.create(rated(f"{name}{number}.b", 50_000.0))
            outcome = (await asyncio.gather(cancel, return_exceptions=True))[0]
            if isinstance(outcome, ServerRefused):
                assert (outcome.code, other.state) == ("too_late", "matched")
            else:
                assert outcome == "cancelled"
                assert (await client.get(waiting.id)).match is None
                assert await client.cancel(other.id) == "cancelled"

    async def races() -> None:
        for number in range(30):
            await race(number)

    asyncio.run(races())


def test_long_poll_answers_at_the_next_change(server: Server, name: str) -> None:
    first = server.create(name + "a", rating=60_000.0).body["id"]
    timer = threading.Timer(0.3, server.create, (name + "b", 60_000.0))
    timer.start()
    # At the end of its time, a poll would be answered when nobody reads it any more.
    got = server.call("GET", f"/v1/tickets/{first}?wait=60", timeout=50.0).body
    assert got["state"] == "matched"
    timer.join()


def test_long_poll_answers_in_the_end(server: Server, name: str) -> None:
    first = server.create(name, rating=70_000.0).body["id"]
    assert server.call("GET", f"/v1/tickets/{first}?wait=0.2").body["state"] == "waiting"
    path = f"/v1/tickets/{first}?wait=60"
    assert server.call("GET", f"{path}&state=proposed", timeout=50.0).body["state"] == "waiting"
    server.call("DELETE", f"/v1/tickets/{first}")
    assert server.call("GET", path, timeout=50.0).body["state"] == "cancelled"


def test_stream_tells_each_state_and_resumes(server: Server, name: str) -> None:
    first = server.create(name + "a", rating=80_000.0).body["id"]
    with stream(server, f"/v1/tickets/{first}/events") as events:
        waiting = next(events)
        assert (waiting["event"], waiting["data"]["state"]) == ("waiting", "waiting")
        server.create(name + "b", rating=80_000.0)
        matched = next(events)
        assert matched["event"] == "matched"
        assert int(matched["id"]) > int(waiting["id"])
    match = matched["data"]["match"]
    with stream(server, f"/v1/tickets/{first}/events", matched["id"]) as events:
        server.call("PUT", f"/v1/matches/{match}/assignment", {"connection": "here"})
        assert next(events)["event"] == "assigned"
    with stream(server, f"/v1/tickets/{first}/events", waiting["id"]) as events:
        assert next(events)["data"]["assignment"] == {"connection": "here"}


def test_stream_ends_with_the_ticket(server: Server, name: str) -> None:
    first = server.create(name, rating=90_000.0).body["id"]
    with stream(server, f"/v1/tickets/{first}/events") as events:
        next(events)
        server.call("DELETE", f"/v1/tickets/{first}")
        final = next(events)
        assert final["event"] == "cancelled"
        assert list(events) == []
    headers = {"Last-Event-ID": final["id"]}
    assert server.call("GET", f"/v1/tickets/{first}/events", headers=headers).status == 204


def test_feed_shows_every_match_once_in_order(server: Server, name: str) -> None:
    path = "/v1/queues/duel/matches"
    after = last_record(server)
    server.call("POST", "/v1/tickets", [ticket(f"{name}{n}", rating=1e6) for n in range(10)])
    server.call("POST", "/v1/tickets", [ticket(f"{name}{n}", rating=2e6) for n in range(10, 14)])
    page = server.call("GET", f"{path}?after={after}").body
    assert len(page["matches"]) == 7
    sequences = [match["seq"] for match in page["matches"]]
    assert sequences == sorted(sequences)
    assert len(set(sequences)) == 2
    assert page["next"] == sequences[-1]
    rest = server.call("GET", f"{path}?after={sequences[0]}").body
    assert [match["match"] for match in rest["matches"]] == [
        match["match"] for match in page["matches"][5:]
    ]
    assert server.call("GET", f"{path}?after={page['next']}").body == {
        "matches": [],
        "next": page["next"],
    }


def test_feed_waits_for_a_match(server: Server, name: str) -> None:
    after = last_record(server)
    timer = threading.Timer(
        0.3, server.call, ("POST", "/v1/tickets", [ticket(name + "a"), ticket(name + "b")])
    )
    timer.start()
    page = server.call("GET", f"/v1/queues/duel/matches?after={after}&wait=15").body
    assert [match["players"] for match in page["matches"]] == [[[name + "a"], [name + "b"]]]
    timer.join()
    empty = server.call("GET", f"/v1/queues/duel/matches?after={page['next']}&wait=0.1").body
    assert empty["matches"] == []


def test_feed_streams_and_resumes(server: Server, name: str) -> None:
    after = last_record(server)
    path = f"/v1/queues/duel/matches?after={after}"
    with stream(server, path) as events:
        server.call("POST", "/v1/tickets", [ticket(name + "a"), ticket(name + "b")])
        first = next(events)
        assert first["data"]["matches"][0]["players"] == [[name + "a"], [name + "b"]]
    server.call("POST", "/v1/tickets", [ticket(name + "c"), ticket(name + "d")])
    with stream(server, path, first["id"]) as events:
        assert next(events)["data"]["matches"][0]["players"] == [[name + "c"], [name + "d"]]


def test_too_many_followers_are_told_to_wait(server: Server, name: str) -> None:
    first = server.create(name, rating=3e6).body["id"]
    connections = []
    try:
        for _ in range(50):
            connections.append(open_stream(server, f"/v1/tickets/{first}/events"))
        reply = server.call("GET", f"/v1/tickets/{first}/events")
        assert (reply.status, reply.body["error"]) == (429, "overloaded")
        assert reply.headers["retry-after"]
    finally:
        for connection, _ in connections:
            connection.close()
    server.call("DELETE", f"/v1/tickets/{first}")
    wait_until(lambda: "evenmatch_followers 0.0" in server.call("GET", "/metrics").body)


def test_operators_see_that_all_is_well(server: Server, name: str) -> None:
    for player in ("a", "b"):
        server.create(name + player)
    assert server.call("GET", "/healthz").body == {"status": "ok"}
    assert server.call("GET", "/readyz").body == {"status": "ready"}
    text = server.call("GET", "/metrics").body
    broken = [line for line in text.splitlines() if "invariant_violations{" in line]
    assert len(broken) == 3
    assert all(line.endswith(" 0.0") for line in broken)
    assert not re.findall(r"evenmatch_unexpected_errors_total\{.*\} (?!0\.0$).*", text, re.M)
    queues = server.call("GET", "/v1/queues").body
    assert [queue["name"] for queue in queues] == ["duel", "squad"]
    stats = server.call("GET", "/v1/queues/duel/stats").body
    assert stats["matched"] == 2 * stats["matches"] > 0


def test_page_for_people_loads_nothing_from_elsewhere(server: Server) -> None:
    reply = server.call("GET", "/")
    assert reply.status == 200
    assert "default-src 'none'" in reply.headers["content-security-policy"]
    assert "unsafe" not in reply.headers["content-security-policy"]
    loaded = re.findall(r'(?:src|href)="([^"#]+)"', reply.body)
    assert len(loaded) > 5
    for path in loaded:
        assert path.startswith("/")
        assert not path.startswith("//")
        assert server.call("GET", path).status == 200


def test_openapi_lists_the_routes_that_there_are(server: Server) -> None:
    document = server.call("GET", "/openapi.json").body
    assert document["openapi"].startswith("3.1")
    assert "post" in document["paths"]["/v1/tickets"]
    names = set(document["components"]["schemas"])
    assert {"CreateTicket", "TicketState", "FeedPage", "Problem"} <= names


def test_foreign_web_page_may_change_nothing(server: Server, name: str) -> None:
    reply = server.create(name, headers={"Origin": "https://evil.example"})
    assert (reply.status, reply.body["error"]) == (403, "origin_not_allowed")


def test_client_speaks_the_whole_interface(server: Server, name: str) -> None:
    with Client(server.url) as client:
        assert client.healthz()
        ada = client.create(rated(name + "ada", 4e6))
        after = client.page("duel").next
        items = client.create_many([rated(name + "bob", 4e6), rated(name + "cy", 9e9)])
        assert [item.status for item in items] == [201, 201]
        assert client.get(ada.id).state == "matched"
        assert client.cancel(items[1].id) == "cancelled"  # type: ignore[union-attr]
        assert [event.state for event in client.events(items[1].id)] == ["cancelled"]  # type: ignore[union-attr]
        assert next(client.matches("duel", after)).tickets[0] == ada.id
        with pytest.raises(ServerRefused, match="unknown_ticket") as caught:
            client.get("nobody")
        assert caught.value.status == 404
    with pytest.raises(ConfigError, match="http://host:port"):
        AsyncClient("ftp://x")


def test_restart_keeps_everything_and_adds_nothing(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        first = server.create("ada", headers={"Idempotency-Key": "k"}).body
        records = last_record(server)
        assert server.stop() == 0
    assert snapshots(tmp_path) == [records], "a graceful stop takes a snapshot"
    for _ in range(2):
        with running(tmp_path) as server:
            assert last_record(server) == records
            assert server.create("ada", headers={"Idempotency-Key": "k"}).body == first
            assert server.create("ada").body == first
            assert server.stop() == 0
    assert "Traceback" not in (tmp_path / "server.log").read_text()


def test_stop_ends_streams_and_long_polls_at_once(tmp_path: Path) -> None:
    with running(tmp_path, durable=False) as server:
        ada = server.create("ada").body["id"]
        connection, _ = open_stream(server, f"/v1/tickets/{ada}/events")
        polling = threading.Thread(target=server.call, args=("GET", f"/v1/tickets/{ada}?wait=60"))
        polling.start()
        wait_until(lambda: "\nevenmatch_followers 2.0\n" in server.call("GET", "/metrics").body)
        server.stop()
        polling.join(GIVE_UP)
        assert not polling.is_alive()
        connection.close()


def snapshots(directory: Path) -> list[int]:
    with contextlib.closing(sqlite3.connect(directory / "data" / "journal.db")) as journal:
        return [seq for (seq,) in journal.execute("SELECT seq FROM snapshots ORDER BY seq")]


def rated(player: str, rating: float) -> CreateTicket:
    return CreateTicket((Player(player, Rating(rating)),), ("duel",))


def last_record(server: Server) -> int:
    return int(server.call("GET", "/v1/queues/squad/matches?after=0").body["next"])


def open_stream(
    server: Server, path: str, last: str | None = None
) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=GIVE_UP)
    headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})}
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    assert response.status == 200
    return connection, response


class stream:  # noqa: N801
    """The events of a stream as dicts."""

    def __init__(self, server: Server, path: str, last: str | None = None) -> None:
        self._connection, self._response = open_stream(server, path, last)

    def __enter__(self) -> Iterator[dict[str, Any]]:
        return self._events()

    def __exit__(self, *error: object) -> None:
        self._response.close()
        self._connection.close()

    def _events(self) -> Iterator[dict[str, Any]]:
        event: dict[str, Any] = {}
        while line := self._response.readline():
            field, _, value = line.decode().rstrip("\n").partition(": ")
            if field in ("event", "id"):
                event[field] = value
            elif field == "data":
                event["data"] = json.loads(value)
            elif not field and "data" in event:
                yield event
                event = {}


def test_one_message_follows_as_many_tickets_as_a_connection_may(server: Server) -> None:
    # As long as those of GameLift's calls may be.
    ids = [f"aws:{at}-".ljust(132, "x") for at in range(FOLLOWED_MAX)]
    with connect(f"ws://127.0.0.1:{server.port}/v1/stream", proxy=None) as socket:
        socket.send(json.dumps({"follow": ids, "after": 2**53}))
        told = [json.loads(socket.recv(GIVE_UP))["ticket"] for _ in ids]
    assert told == ids
