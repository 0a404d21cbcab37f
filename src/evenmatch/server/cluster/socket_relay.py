"""Relays a WebSocket between a client and the node that answers it.

The client is taken in only when that node has taken it in, so a refusal reaches it as an answer of
HTTP. When the node is lost, the client is told to come again, as when a server stops: it resumes at
any node by the tickets and the sequence that it has.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, InvalidURI, WebSocketException
from websockets.http11 import USER_AGENT
from websockets.protocol import State
from websockets.typing import Subprotocol

from evenmatch.errors import JournalUnavailable
from evenmatch.server.cluster.frames import end_when_unheard
from evenmatch.server.http.responses import (
    Headers,
    InvalidRequest,
    Receive,
    Scope,
    Send,
    header,
    send_body,
)
from evenmatch.server.http.sockets import CUT, denying
from evenmatch.wire.http1 import authority_of

OPEN_SECONDS = 5.0
"""How long the node that answers may take to take a client in."""
MESSAGE_BYTES_MAX = 1_000_000
QUEUE_MAX = 16
"""Messages that wait for a client that does not read; beyond them the owner is not read either."""
ABNORMAL = frozenset({1005, 1006, 1015})
"""Codes that say that no code was sent; they may not be sent themselves."""
OWN = frozenset(
    {
        b"host", b"connection", b"upgrade", b"user-agent", b"sec-websocket-key",
        b"sec-websocket-version", b"sec-websocket-extensions", b"sec-websocket-protocol",
        b"evenmatch-forwarded",
    }
)  # fmt: skip
"""Headers that each connection writes itself."""
ANSWERED = frozenset({b"content-type", b"retry-after", b"www-authenticate", b"evenmatch-owner"})
"""Headers of a refusal that are the client's."""


async def relay(
    scope: Scope, receive: Receive, send: Send, place: tuple[str, int], signed: str
) -> None:
    """Relay a client's WebSocket to another node, until either side leaves.

    Args:
        scope: Of the client.
        receive: Gives what it says.
        send: Takes what it is told.
        place: Host and port of the node that answers.
        signed: What says that this node hands the client on.

    Raises:
        InvalidRequest: It names a host or a path that cannot stand in an address.
        JournalUnavailable: Nobody answers there.
    """
    if (await receive())["type"] != "websocket.connect":
        return
    try:
        owner = await _opened(scope, place, signed)
    except InvalidStatus as error:
        response = error.response
        headers: Headers = [
            (name.lower().encode("latin-1"), text.encode("latin-1"))
            for name, text in response.headers.raw_items()
            if name.lower().encode("latin-1") in ANSWERED
        ]
        await send_body(denying(send), response.status_code, bytes(response.body or b""), headers)
        return
    except (ValueError, InvalidURI):
        raise InvalidRequest(
            "the path or the Host header of this WebSocket cannot go on to the node that answers"
        ) from None
    except (OSError, TimeoutError, WebSocketException) as error:
        raise JournalUnavailable(
            "the node that answers cannot be reached; another one takes over within seconds: "
            "try again"
        ) from error
    try:
        await send({"type": "websocket.accept", "subprotocol": owner.subprotocol})
        up, down = (
            asyncio.create_task(_carry_up(receive, owner)),
            asyncio.create_task(_carry_down(owner, send)),
        )
        try:
            await asyncio.wait((up, down), return_when=asyncio.FIRST_COMPLETED)
        finally:
            up.cancel()
            down.cancel()
            await asyncio.gather(up, down, return_exceptions=True)
        if owner.state is not State.OPEN:
            code = owner.close_code
            told = CUT if code is None or code in ABNORMAL else code
            # The client may have left, or uvicorn has closed the connection by itself.
            with suppress(OSError, RuntimeError):
                await send({"type": "websocket.close", "code": told})
    finally:
        with suppress(OSError, WebSocketException):
            await owner.close()


async def _opened(scope: Scope, place: tuple[str, int], signed: str) -> ClientConnection:
    host, port = place
    told = (header(scope, b"host") or b"").decode("latin-1")
    name = told if _is_name(told) else authority_of(host, port)
    target = scope["raw_path"].decode("latin-1")
    if scope["query_string"]:
        target += "?" + scope["query_string"].decode("latin-1")
    headers = [
        (key.decode("latin-1"), text.decode("latin-1"))
        for key, text in scope["headers"]
        if key not in OWN
    ]
    agent = (header(scope, b"user-agent") or USER_AGENT.encode()).decode("latin-1")
    owner = await connect(
        f"ws://{name}{target}",
        host=host,
        port=port,
        additional_headers=[*headers, ("evenmatch-forwarded", signed)],
        user_agent_header=agent,
        subprotocols=[Subprotocol(each) for each in scope.get("subprotocols") or ()] or None,
        compression=None,
        proxy=None,
        open_timeout=OPEN_SECONDS,
        close_timeout=1.0,
        max_size=MESSAGE_BYTES_MAX,
        max_queue=QUEUE_MAX,
    )
    end_when_unheard(owner.transport)
    return owner


def _is_name(host: str) -> bool:
    """Return whether a Host header can stand in an address."""
    return bool(host) and all(each.isalnum() or each in "-._:[]" for each in host)


async def _carry_up(receive: Receive, owner: ClientConnection) -> None:
    """Tell the owner what the client says, until it leaves."""
    with suppress(ConnectionClosed):
        while (message := await receive())["type"] == "websocket.receive":
            text = message.get("text")
            await owner.send(message["bytes"] if text is None else text)


async def _carry_down(owner: ClientConnection, send: Send) -> None:
    """Tell the client what the owner says, until that ends."""
    with suppress(ConnectionClosed, OSError, RuntimeError):
        while True:
            said = await owner.recv()
            kind = "text" if isinstance(said, str) else "bytes"
            await send({"type": "websocket.send", kind: said})
