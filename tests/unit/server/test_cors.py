"""A browser asks before a page's request: what it is told."""

import asyncio
from typing import Any

import msgspec
import pytest

from evenmatch.server.http.cors import HEADERS, with_cors
from evenmatch.server.http.responses import Message, Receive, Scope, Send

PAGE = "https://game.example"


async def reached(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError("a browser's question goes no further")


def asked(**more: str) -> tuple[int, dict[str, str], bytes]:
    """Return the status, the headers and the body of the answer to a browser's question."""
    given = {"origin": PAGE, "access-control-request-method": "POST"}
    given |= {name.replace("_", "-"): value for name, value in more.items()}
    headers = [(name.encode(), value.encode()) for name, value in given.items()]
    scope: dict[str, Any] = {
        "type": "http", "method": "OPTIONS", "path": "/v1/tickets", "headers": headers,
    }  # fmt: skip
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(with_cors(reached, (PAGE,))(scope, receive, send))
    told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], told, sent[1]["body"]


def test_page_of_a_known_origin_may_go_on() -> None:
    status, headers, _ = asked()
    assert (status, headers["access-control-allow-origin"]) == (200, PAGE)


@pytest.mark.parametrize(
    ("asks", "words"),
    [
        (
            {"origin": "https://evil.example"},
            "the web page 'https://evil.example' may not call the server; see [server] origins",
        ),
        (
            {"access_control_request_method": "TRACE"},
            "a web page may not send 'TRACE', only GET, POST, PUT, PATCH, DELETE",
        ),
        (
            {"access_control_request_headers": "Content-Type, X-Odd"},
            "a web page may not send the header 'X-Odd', of those that need leave only "
            + ", ".join(HEADERS),
        ),
        (
            {"access_control_request_private_network": "true"},
            "a web page from elsewhere may not call a server of a private network",
        ),
    ],
)
def test_refusal_is_a_problem_as_all_others(asks: dict[str, str], words: str) -> None:
    status, headers, body = asked(**asks)
    problem = msgspec.json.decode(body)
    assert (status, problem["error"]) == (403, "origin_not_allowed")
    assert problem["message"] == words
    assert headers["content-type"] == "application/json"
    assert headers["content-length"] == str(len(body))
    is_known = "origin" not in asks
    assert (headers.get("access-control-allow-origin") == PAGE) == is_known
