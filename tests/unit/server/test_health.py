"""The thread that says whether the process lives while the event loop does something else."""

import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from evenmatch.errors import ConfigError
from evenmatch.server.runtime.health import (
    CONNECTIONS_MAX,
    HEAD_MAX,
    STUCK_SECONDS,
    answer_to,
    health_at,
)
from evenmatch.server.runtime.serve import listen


@pytest.mark.parametrize(("host", "wrong"), [("203.0.113.9", "--host"), ("127.0.0.1", "--port")])
def test_refused_address_is_told_with_the_option_that_names_it(host: str, wrong: str) -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port {port}: .*; choose another {wrong}$"):
            listen(host, port)


@contextmanager
def answering(late: float) -> Iterator[int]:
    with listen("127.0.0.1", 0) as listening, health_at(listening, lambda: late):
        yield listening.getsockname()[1]


def asked(port: int, sent: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(sent)
        return b"".join(iter(lambda: connection.recv(4_096), b""))


def test_busy_server_lives() -> None:
    # This thread answers nobody: it waits for the answer.
    with answering(2.5) as port, urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz") as got:
        assert (got.status, got.read()) == (200, b'{"status":"ok","late":2.5}')


def test_server_that_serves_nobody_any_more_does_not() -> None:
    with answering(STUCK_SECONDS) as port, pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz?probe=1")
    with refused.value:
        assert refused.value.code == 503
        assert b'"status":"stuck"' in refused.value.read()


def test_half_a_request_keeps_nobody_from_asking() -> None:
    with answering(0.0) as port:
        idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
        for each in idle:
            each.sendall(b"GET /hea")
        assert asked(port, b"GET /healthz HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 200 OK\r\n")
        for each in idle:
            each.close()


def test_endless_request_is_cut() -> None:
    # It may be cut before it has sent all.
    with answering(0.0) as port, suppress(ConnectionError):
        assert asked(port, b"x" * (4 * HEAD_MAX)) == b""


def test_connections_that_ask_nothing_take_no_more_descriptors_than_declared() -> None:
    with answering(0.0) as port:
        idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(CONNECTIONS_MAX + 8)]
        # One that is not closed at once would be given up after five seconds.
        for each in idle:
            each.settimeout(2.0)
        cut = 0
        for each in idle[CONNECTIONS_MAX:]:
            cut += each.recv(1) == b""
        for each in idle:
            each.close()
    assert cut == 8


def test_whoever_has_not_asked_does_not_hold_up_the_end() -> None:
    with answering(0.0) as port:
        idle = socket.create_connection(("127.0.0.1", port))
        idle.sendall(b"GET /hea")
        # Its connection is taken before this one's.
        asked(port, b"GET /healthz HTTP/1.1\r\n\r\n")
    left = [each for each in threading.enumerate() if each.name == "health"]
    idle.close()
    assert not left


def test_refusal_has_the_form_of_all_errors() -> None:
    body = answer_to(b"PUT /v1/config HTTP/1.1\r\n\r\n", 0.0).partition(b"\r\n\r\n")[2]
    assert json.loads(body) == {
        "error": "not_found",
        "message": "this port answers GET /healthz only",
    }


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET /healthz HTTP/1.1\r\n\r\n", b"200"),
        (b"HEAD /healthz HTTP/1.1\r\n\r\n", b"200"),
        (b"GET /v1/queues HTTP/1.1\r\n\r\n", b"404"),
        (b"POST /healthz HTTP/1.1\r\n\r\n", b"404"),
        (b"\r\n\r\n", b"404"),
        (b"\xff\x00 \xfe\r\n\r\n", b"404"),
    ],
)
def test_only_health_is_told(head: bytes, status: bytes) -> None:
    answer = answer_to(head, 0.0)
    top, _, body = answer.partition(b"\r\n\r\n")
    assert top.split()[1] == status
    assert (body == b"") == head.startswith(b"HEAD")


def test_thread_ends_with_the_server() -> None:
    with answering(0.0):
        assert [each for each in threading.enumerate() if each.name == "health"]
    assert not [each for each in threading.enumerate() if each.name == "health"]
