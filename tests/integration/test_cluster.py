"""Nodes on one journal: whoever is asked, one answers; when it dies or sleeps, another does."""

import json
import os
import signal
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from evenmatch.cli.cluster import signed_by
from tests.integration.serving import CONFIG, Reply, Server
from tests.integration.test_serve_journal import address as address
from tests.waiting import GIVE_UP

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("postgres")]
LEASE = 1.5
MARGIN = 1.0
"""Seconds beyond the lease within which another node answers."""


class Cluster:
    """Nodes with one key, each with a directory of its own."""

    def __init__(self, directory: Path, address: str, config: str = CONFIG) -> None:
        self._directory = directory
        self._address = address
        self._config = config
        self.nodes: dict[str, Server] = {}
        directory.mkdir(parents=True, exist_ok=True)
        self.key = directory / "cluster.key"
        self.key.write_text("0123456789abcdef0123456789abcdef")

    def start(self, name: str, env: Mapping[str, str] = {}) -> Server:
        options = ["--journal", self._address, "--node", name, "--cluster-key", str(self.key)]
        options += ["--lease-seconds", str(LEASE)]
        self.nodes[name] = Server(self._directory / name, self._config, options=options, env=env)
        return self.nodes[name]

    def status(self, name: str) -> Any:
        return self.nodes[name].call("GET", "/v1/cluster", headers=signed_by(self.key)).body

    def owner(self) -> str:
        """Return the node that answers, once there is one and all know it."""
        until = time.monotonic() + GIVE_UP
        while time.monotonic() < until:
            told = [self.status(name) for name in self.nodes]
            answering = {each["node"] for each in told if each["role"] == "answering"}
            if len(answering) == 1 and {each["owner"] for each in told} == answering:
                return answering.pop()
            time.sleep(0.02)
        raise AssertionError(told)

    def others(self) -> list[Server]:
        owner = self.owner()
        return [node for name, node in self.nodes.items() if name != owner]


@contextmanager
def cluster(directory: Path, address: str, *names: str, config: str = CONFIG) -> Iterator[Cluster]:
    made = Cluster(directory, address, config)
    try:
        for name in names:
            made.start(name)
        if names and config is CONFIG:
            made.owner()
        yield made
    finally:
        for node in made.nodes.values():
            with suppress(ProcessLookupError):
                os.kill(node.process.pid, signal.SIGCONT)
            node.kill()


def answered(
    server: Server,
    method: str,
    path: str,
    body: Any = None,
    raw: bytes | None = None,
    headers: dict[str, str] | None = None,
) -> tuple[Reply, float]:
    """Repeat a request for as long as it may be retried; return the answer and how long it took."""
    began = time.monotonic()
    while time.monotonic() < began + GIVE_UP:
        reply = server.call(method, path, body, raw=raw, headers=headers or {})
        if reply.status != 503:
            return reply, time.monotonic() - began
        assert reply.headers["retry-after"] == "1"
        time.sleep(0.02)
    raise AssertionError(reply)


def ticket(player: str) -> Any:
    return {"queues": ["squad"], "players": [{"id": player, "attributes": {"mode": "x"}}]}


@pytest.fixture
def shared(address: str) -> str:
    if address.startswith("sqlite:"):
        pytest.skip("a file is of one machine")
    return address


def test_every_node_takes_every_request(tmp_path: Path, shared: str) -> None:
    with cluster(tmp_path, shared, "a", "b", "c") as nodes:
        every = list(nodes.nodes.values())
        made = [every[n % 3].call("POST", "/v1/tickets", ticket(f"p{n}")) for n in range(3)]
        assert [each.status for each in made] == [201] * 3
        ids = [each.body["id"] for each in made]
        assert len(set(ids)) == 3
        for node in every:
            for own in ids:
                assert node.call("GET", f"/v1/tickets/{own}").body["state"] == "waiting"
        # A repeat finds its answer wherever it is asked.
        key = {"idempotency-key": "k1"}
        first = every[0].call("POST", "/v1/tickets", ticket("q"), headers=key)
        again = every[1].call("POST", "/v1/tickets", ticket("q"), headers=key)
        assert (first.status, again.body["id"]) == (201, first.body["id"])
        # The fourth player completes a match, and everybody hears of it everywhere.
        matched = every[2].call("GET", f"/v1/tickets/{ids[0]}?wait=20").body
        assert matched["state"] == "matched"
        assert every[0].call("DELETE", f"/v1/tickets/{ids[0]}").status == 409
        assert every[1].call("GET", "/v1/nothing").status == 404
        assert nodes.others()[0].call("POST", "/v1/tickets", raw=b"{").status == 400


def test_stream_goes_through_a_node_that_does_not_answer(tmp_path: Path, shared: str) -> None:
    with cluster(tmp_path, shared, "a", "b") as nodes:
        (other,) = nodes.others()
        own = other.call("POST", "/v1/tickets", ticket("p0")).body["id"]
        with urllib.request.urlopen(
            f"{other.url}/v1/tickets/{own}/events", timeout=GIVE_UP
        ) as stream:
            assert b"waiting" in next(line for line in stream if line.startswith(b"data"))
            for player in ("p1", "p2", "p3"):
                other.call("POST", "/v1/tickets", ticket(player))
            assert b"matched" in next(line for line in stream if line.startswith(b"data"))


def test_killed_owner_is_replaced_and_nothing_is_lost(tmp_path: Path, shared: str) -> None:
    with cluster(tmp_path, shared, "a", "b", "c") as nodes:
        one, two = nodes.others()
        made = [one.call("POST", "/v1/tickets", ticket(f"p{n}")).body["id"] for n in range(3)]
        nodes.nodes.pop(nodes.owner()).kill()
        reply, seconds = answered(two, "GET", f"/v1/tickets/{made[0]}")
        assert reply.body["state"] == "waiting"
        assert seconds < LEASE + MARGIN
        assert answered(one, "POST", "/v1/tickets", ticket("p3"))[0].status == 201
        states = {answered(two, "GET", f"/v1/tickets/{own}")[0].body["state"] for own in made}
        assert states == {"matched"}


def test_stopped_owner_hands_over_at_once(tmp_path: Path, shared: str) -> None:
    with cluster(tmp_path, shared, "a", "b") as nodes:
        (other,) = nodes.others()
        own = other.call("POST", "/v1/tickets", ticket("p0")).body["id"]
        stopping = nodes.nodes.pop(nodes.owner())
        slowest, counts = [0.0], [0]
        ended = threading.Event()

        def ask() -> None:
            while not ended.is_set():
                reply, seconds = answered(other, "GET", f"/v1/tickets/{own}")
                assert reply.body["state"] == "waiting"
                slowest[0] = max(slowest[0], seconds)
                counts[0] += 1

        asking = threading.Thread(target=ask)
        asking.start()
        try:
            assert stopping.stop() == 0
            assert nodes.owner()
        finally:
            ended.set()
            asking.join()
        assert counts[0] > 0
        assert slowest[0] < LEASE


def test_paused_owner_answers_nothing_from_the_past(tmp_path: Path, shared: str) -> None:
    with cluster(tmp_path, shared, "a", "b") as nodes:
        (other,) = nodes.others()
        own = other.call("POST", "/v1/tickets", ticket("p0")).body["id"]
        paused = nodes.nodes[nodes.owner()]
        os.kill(paused.process.pid, signal.SIGSTOP)
        reply, _ = answered(other, "DELETE", f"/v1/tickets/{own}")
        assert reply.body["state"] == "cancelled"
        os.kill(paused.process.pid, signal.SIGCONT)
        # What it remembers is that the ticket waits; it says so to nobody.
        late, _ = answered(paused, "GET", f"/v1/tickets/{own}")
        assert late.body["state"] == "cancelled"
        create, _ = answered(paused, "POST", "/v1/tickets", ticket("p1"))
        assert create.status == 201
        seen = answered(other, "GET", f"/v1/tickets/{create.body['id']}")[0]
        assert seen.body["state"] == "waiting"
        assert nodes.owner()


def test_nodes_with_different_keys_hand_nothing_on(tmp_path: Path, shared: str) -> None:
    with cluster(tmp_path, shared, "a") as nodes:
        nodes.key.write_text("f" * 32)
        stranger = nodes.start("b")
        until = time.monotonic() + GIVE_UP
        while nodes.status("b")["owner"] != "a" and time.monotonic() < until:
            time.sleep(0.02)
        reply = stranger.call("GET", "/v1/queues")
        assert (reply.status, reply.body["error"]) == (503, "unavailable")
        assert "the same cluster key" in reply.body["message"]
        # It says so itself, and no load balancer sends anybody there.
        until = time.monotonic() + GIVE_UP
        while "reason" not in (ready := stranger.call("GET", "/readyz").body):
            assert time.monotonic() < until, ready
            time.sleep(0.02)
        assert "the same cluster key" in ready["reason"]
        events = [json.loads(line)["event"] for line in stranger.log.read_text().splitlines()]
        assert events.count("node_refused") == 1


def test_health_and_readiness_are_those_of_the_node(tmp_path: Path, shared: str) -> None:
    with cluster(tmp_path, shared, "a", "b") as nodes:
        for node in nodes.nodes.values():
            assert node.call("GET", "/healthz").body == {"status": "ok"}
            assert node.call("GET", "/readyz").status == 200
        (other,) = nodes.others()
        assert json.loads(json.dumps(nodes.status("a")))["lease_seconds"] == LEASE
        assert other.call("GET", "/metrics").status == 200


def test_configuration_that_was_changed_stays_in_force_after_a_takeover(
    tmp_path: Path, shared: str
) -> None:
    with cluster(tmp_path, shared, "a", "b") as nodes:
        (other,) = nodes.others()
        changed = CONFIG.replace("limit=100", "limit=123")
        assert other.call("PUT", "/v1/config", raw=changed.encode()).status == 200
        nodes.nodes.pop(nodes.owner()).kill()
        after, _ = answered(other, "GET", "/v1/queues")
        assert "limit=123" in json.dumps(after.body)


# WebSockets


def test_socket_goes_through_every_node_and_resumes_at_another_one(
    tmp_path: Path, shared: str
) -> None:
    """Two sockets follow one ticket, one at the owner and one that is handed on."""
    with cluster(tmp_path, shared, "a", "b", "c") as nodes:
        (one, two), owner = nodes.others(), nodes.owner()
        made = [one.call("POST", "/v1/tickets", ticket(f"p{n}")).body["id"] for n in range(3)]
        with connect(ws(one), open_timeout=GIVE_UP) as handed_on:
            handed_on.send(json.dumps({"follow": [*made, "s0-999"]}))
            told = [json.loads(handed_on.recv(GIVE_UP)) for _ in range(4)]
            assert [each["event"] for each in told] == ["problem"] + ["waiting"] * 3 or [
                each["event"] for each in told
            ] == ["waiting"] * 3 + ["problem"]
            seen = max(each.get("sequence", 0) for each in told)
            # The owner dies: its followers are told to come again, by another node if they like.
            nodes.nodes.pop(owner).kill()
            with pytest.raises(ConnectionClosed) as closed:
                handed_on.recv(GIVE_UP)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1013
        answered(two, "GET", f"/v1/tickets/{made[0]}")
        with connect(ws(two), open_timeout=GIVE_UP) as resumed:
            resumed.send(json.dumps({"follow": made, "after": seen}))
            answered(one, "POST", "/v1/tickets", ticket("p3"))
            told = [json.loads(resumed.recv(GIVE_UP)) for _ in range(3)]
            assert {each["event"] for each in told} == {"matched"}
            assert {each["ticket"]["id"] for each in told} == set(made)
            assert all(each["sequence"] > seen for each in told)


def test_refusal_of_a_socket_is_the_owners_own(tmp_path: Path, shared: str) -> None:
    with cluster(tmp_path, shared, "a", "b") as nodes:
        (other,) = nodes.others()
        with (
            pytest.raises(InvalidStatus) as refused,
            connect(ws(other).replace("/v1/stream", "/v1/nothing"), open_timeout=GIVE_UP),
        ):
            pass
        response = refused.value.response
        assert response.status_code == 404
        assert json.loads(response.body or b"")["error"] == "not_found"
        with (
            pytest.raises(InvalidStatus) as refused,
            connect(ws(other), origin=Origin("https://elsewhere.example"), open_timeout=GIVE_UP),
        ):
            pass
        assert refused.value.response.status_code == 403


def ws(server: Server) -> str:
    return server.url.replace("http", "ws") + "/v1/stream"
