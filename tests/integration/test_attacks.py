"""What a hostile client may send: everything is refused or survived, and the next caller is served.

Each test ends with `still_serves`: the server takes a ticket, answers at once, and has met no
error that nobody foresaw.
"""

import json
import re
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.integration.serving import Server, running, ticket
from tests.waiting import GIVE_UP, wait_until

DEPTH = 100_000
DEEP = [b"[" * DEPTH, b"[" * DEPTH + b"]" * DEPTH, b'{"a":' * DEPTH + b"1" + b"}" * DEPTH]
BODIES = [
    ("POST", "/v1/tickets"),
    ("PATCH", "/v1/tickets/s0-1"),
    ("PUT", "/v1/matches/s0-m1/assignment"),
    ("POST", "/v1/matches/s0-m1/accept"),
    ("POST", "/v1/matches/s0-m1/decline"),
    ("POST", "/v1/matches/s0-m1/outcome"),
    ("POST", "/v1/matches/s0-m1/open"),
    ("PUT", "/v1/queues/duel/policy"),
    ("PUT", "/v1/queues/duel/shadow"),
    ("PUT", "/v1/config"),
]
ODD_BODIES = [
    b'{"players": NaN}',
    b'{"players": [1e400]}',
    b'{"ranks": [1e400, -1e400], "ticket": 1e400, "policy": Infinity}',
    b'{"a": 1, "a": 2}',
    b"\xff\xfe\x00\x00",
    b'"\xed\xa0\x80"',
    b'{"ticket": "\\ud800"}',
    b"\x00" * 1_000,
    b"1" * 20_000,
    b"-",
]
TRAVERSALS = [
    "/dashboard/../../../../etc/passwd",
    "/dashboard/..%2f..%2f..%2fetc%2fpasswd",
    "/dashboard/%2e%2e/%2e%2e/keys.json",
    "/dashboard/....//keys.json",
    "/dashboard/..\\..\\keys.json",
    "/dashboard/keys.json%00.js",
    "//etc/passwd",
    "/v1/tickets/../../healthz",
]
POST = b"POST /v1/tickets HTTP/1.1\r\nhost: localhost\r\n"
HEADS = [
    b"GET / HTTP/1.1\r\nhost: localhost\r\n" + b"x: y\r\n" * 200_000,
    b"GET / HTTP/1.1\r\nhost: localhost\r\nx: " + b"y" * 500_000 + b"\r\n\r\n",
    b"GET /" + b"a" * 500_000 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n",
    b"POST /v1/tickets HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
    POST + b"content-length: 1\r\ncontent-length: 2\r\n\r\n",
    POST + b"content-length: 9\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /v1/tickets HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    b"GET /v1/\xff\xfe HTTP/1.1\r\nhost: localhost\r\n\r\n",
    b"GET /v1/queues?\xff=%ff%fe HTTP/1.1\r\nhost: \xff\r\nauthorization: \xff\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(512),
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    bytes(100_000),
]
HANDSHAKE = (
    b"GET /v1/stream HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
FRAMES = {
    "not masked": b"\x81\x02{}",
    "a reserved kind": b"\x83\x80\x00\x00\x00\x00",
    "reserved bits": b"\xf1\x80\x00\x00\x00\x00",
    "a long ping": b"\x89\xfe\x01\x00" + bytes(4 + 256),
    "a ping in pieces": b"\x09\x80\x00\x00\x00\x00",
    "nothing to go on": b"\x80\x80\x00\x00\x00\x00",
    "eight exabytes": b"\x81\xff" + struct.pack(">Q", 2**63 - 1) + bytes(4),
    "a negative size": b"\x81\xff" + struct.pack(">Q", 2**64 - 1) + bytes(4),
    "text that is no text": b"\x81\x82\x00\x00\x00\x00\xff\xfe",
    "a strange close": b"\x88\x82\x00\x00\x00\x00\x03\xee",
    "noise": bytes(range(256)) * 40,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVENMATCH_REQUEST_SECONDS", "1")
        with running(tmp_path_factory.mktemp("attacks"), durable=False) as started:
            yield started


def still_serves(server: Server, name: str) -> None:
    reply = server.call("POST", "/v1/tickets", ticket(name), timeout=GIVE_UP)
    assert reply.status in {200, 201}
    metrics = server.call("GET", "/metrics").body
    unexpected = re.findall(r"evenmatch_unexpected_errors_total\{.*\} (?!0\.0$).*", metrics, re.M)
    assert not unexpected, metrics
    assert 'status="500"' not in metrics


def said(server: Server, data: bytes, seconds: float = 5.0) -> bytes:
    """Send bytes over a connection of their own, and return what comes back until it ends."""
    found = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=seconds) as connection:
        try:
            connection.sendall(data)
            while part := connection.recv(65_536):
                found += part
                if b"\r\n\r\n" in found and b"content-length" in found:
                    break
        except (TimeoutError, ConnectionError):
            pass
    return found


@pytest.mark.parametrize(("method", "path"), BODIES)
def test_deep_and_odd_bodies_are_refused(server: Server, method: str, path: str) -> None:
    for body in (*DEEP, *ODD_BODIES):
        headers = {"content-type": "application/json"}
        try:
            reply = server.call(method, path, raw=body, headers=headers)
        except OSError:
            # Whoever sends on after a 413 may meet a closed connection before he reads it.
            assert len(body) > 16_384
            continue
        assert reply.status in {400, 404, 413}, (body[:40], reply)
        assert reply.body["error"]
        assert reply.body["message"]
    still_serves(server, f"deep {path}")


def test_last_of_two_equal_keys_counts_and_nothing_else(server: Server) -> None:
    body = b'{"players":[{"id":"twice.a","rating":{"mean":1}}],"players":[{"id":7}]}'
    reply = server.call("POST", "/v1/tickets", raw=body)
    assert (reply.status, reply.body["where"]) == (400, "/players/0/id")
    still_serves(server, "twice")


@pytest.mark.parametrize("path", TRAVERSALS)
def test_no_path_leads_out_of_the_page(server: Server, path: str) -> None:
    answer = said(server, f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
    assert b"root:" not in answer
    assert b"sha256" not in answer
    status = int(answer.split(b" ", 2)[1])
    assert status == 404, answer[:200]


@pytest.mark.parametrize("head", HEADS, ids=range(len(HEADS)))
def test_strange_heads_are_refused_or_cut(server: Server, head: bytes) -> None:
    answer = said(server, head)
    assert not answer or answer.split(b" ", 2)[1][:1] == b"4", answer[:200]
    still_serves(server, f"head {len(head)}")


def test_body_that_never_ends_is_cut(server: Server) -> None:
    head = b"POST /v1/tickets HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=GIVE_UP) as connection:
        connection.sendall(head)

        def is_cut() -> bool:
            try:
                connection.sendall(b"1\r\n \r\n")
            except OSError:
                return True
            return False

        wait_until(is_cut, "the end of a body that never ends")
    still_serves(server, "endless")


def test_body_that_never_ends_is_too_large(server: Server) -> None:
    head = b"POST /v1/tickets HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
    answer = said(server, head + b"10000\r\n%b\r\n" % (b" " * 65_536) * 5)
    assert answer.startswith(b"HTTP/1.1 413 ")
    still_serves(server, "large")


@pytest.mark.parametrize(
    "trailers", [b"x: y\r\n" * 200_000, b"x: " + b"y" * 1_000_000 + b"\r\n"], ids=["many", "long"]
)
def test_headers_behind_a_body_have_a_limit(server: Server, trailers: bytes) -> None:
    head = b"POST /v1/tickets HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
    body = b"2\r\n{}\r\n0\r\n"
    few = said(server, head + body + b"x: y\r\n" * 10 + b"\r\n")
    assert few.startswith(b"HTTP/1.1 400 "), "read as if they were not there"
    assert b"65,536 bytes" in said(server, head + body + trailers + b"\r\n"), "cut"
    still_serves(server, f"trailers {len(trailers)}")


def test_many_slow_clients_keep_nobody_out(server: Server) -> None:
    slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(200)]
    try:
        for each in slow:
            each.sendall(b"POST /v1/tickets HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99\r\n")
        still_serves(server, "slow")
        slow[0].settimeout(10.0)
        left = b""
        with suppress(ConnectionError):
            while part := slow[0].recv(1_000):
                left += part
        assert left.startswith(b"HTTP/1.1 408 ")
    finally:
        for each in slow:
            each.close()


def heard(server: Server, frames: bytes, seconds: float = 5.0) -> bytes:
    """Open a stream, send bytes over it, and return what comes back until it ends."""
    found = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=seconds) as connection:
        connection.sendall(HANDSHAKE)
        head = connection.recv(65_536)
        assert head.startswith(b"HTTP/1.1 101 ")
        try:
            connection.sendall(frames)
            while part := connection.recv(65_536):
                found += part
        except (TimeoutError, ConnectionError):
            pass
    return found


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_garbage_frames_end_a_stream(server: Server, frame: bytes) -> None:
    end = heard(server, frame)
    assert end[:1] == b"\x88", end[:80]
    still_serves(server, f"frame {len(frame)}")


def test_flood_of_messages_is_answered_or_cut(server: Server) -> None:
    text = b'{"follow": ["nobody"]}'
    message = b"\x81" + bytes([0x80 | len(text)]) + bytes(4) + text
    heard(server, message * 20_000, seconds=1.0)
    still_serves(server, "flood")


def test_pings_whose_answers_nobody_reads_are_not_answered(server: Server) -> None:
    pings = (b"\x89\xfd" + bytes(4 + 125)) * 1_000
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
        connection.settimeout(10.0)
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(HANDSHAKE)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 101 ")
        for _ in range(200):
            connection.sendall(pings)
        connection.settimeout(1.0)
        answered = 0
        with suppress(TimeoutError):
            while part := connection.recv(1_000_000):
                answered += len(part)
    assert 127 <= answered < 100 * len(pings), "what the sockets hold, and not half of it"
    still_serves(server, "deaf")


def test_flood_of_pings_is_survived(server: Server) -> None:
    heard(server, (b"\x89\xfd" + bytes(4 + 125)) * 20_000, seconds=1.0)
    still_serves(server, "pings")


@pytest.mark.parametrize("polls", [1, 2, 3])
def test_polls_of_a_connection_that_is_gone_end(server: Server, polls: int) -> None:
    made = server.call("POST", "/v1/tickets", ticket(f"poller{polls}")).body["id"]
    before = server.log.read_text().count("Traceback")
    poll = f"GET /v1/tickets/{made}?wait=30 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(poll * polls)
        wait_until(lambda: followers(server) == 1)
    wait_until(lambda: followers(server) == 0)
    assert server.log.read_text().count("Traceback") == before


def followers(server: Server) -> int:
    """Return how many clients follow something now."""
    lines = server.call("GET", "/metrics").body.splitlines()
    (found,) = [line for line in lines if line.startswith("evenmatch_followers ")]
    return int(float(found.split()[1]))


def test_what_is_no_http_is_a_line_of_the_log_and_no_flood(server: Server) -> None:
    text = "Invalid HTTP request received."
    before = server.log.read_text().count(text)
    for _ in range(20):
        assert b'"error":"invalid_request"' in said(server, b"this is no HTTP\r\n\r\n")
    lines = server.log.read_text().splitlines()

    assert before <= sum(text in line for line in lines) <= before + 1
    assert all(isinstance(json.loads(line), dict) for line in lines)
    still_serves(server, "no http")


def test_socket_at_another_path_is_refused_and_no_error_of_the_server(server: Server) -> None:
    before = server.log.read_text().count('"level": "error"')
    answer = said(server, HANDSHAKE.replace(b"/v1/stream", b"/v1/tickets"))
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"only /v1/stream" in answer
    still_serves(server, "another path")
    assert server.log.read_text().count('"level": "error"') == before


@pytest.mark.skipif(sys.platform == "win32", reason="no modes of files")
def test_nobody_else_reads_what_a_server_writes(tmp_path: Path) -> None:
    with running(tmp_path) as started:
        started.create("ada")
        data = tmp_path / "data"
        for path in (data, *data.iterdir()):
            assert path.stat().st_mode & 0o077 == 0, path
