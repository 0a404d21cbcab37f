"""More connections than the process has file descriptors: what is acknowledged is written down."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from tests.attack.report import Row
from tests.attack.wire import HOST
from tests.integration.serving import Server, ticket
from tests.integration.test_stall import Caller

DESCRIPTORS = 200
CONNECTIONS = 400


def descriptors(folder: Path, seconds: float) -> list[Row]:
    """Open connections until there are no more, then cancel a ticket."""
    del seconds
    server = Server(folder, descriptors=DESCRIPTORS)
    try:
        with ExitStack() as stack:
            known = Caller(server, is_known=True)
            stack.callback(known.close)
            turned = 0
            for _ in range(CONNECTIONS):
                made = stack.enter_context(socket.create_connection((HOST, server.port), 10.0))
                made.settimeout(0.05)
                with suppress(TimeoutError):
                    turned += made.recv(4096).startswith(b"HTTP/1.1 503")
            known.send("POST", "/v1/tickets", ticket("ada"))
            created, made_ticket = known.answer()
            known.send("DELETE", f"/v1/tickets/{made_ticket['id']}")
            cancelled, _ = known.answer()
            known.send("GET", "/v1/audit")
            _, page = known.answer()
            targets = [entry["target"] for entry in page["entries"]]
        # The server hears of the closed connections one after the other.
        reply, until = server.call("GET", "/healthz"), time.monotonic() + 10.0
        while reply.status != 200 and time.monotonic() < until:
            time.sleep(0.1)
            reply = server.call("GET", "/healthz")
    finally:
        server.kill()
    is_told = f"/v1/tickets/{made_ticket['id']}" in targets
    return [
        Row("descriptors", "turned away with 503", turned, f"> {CONNECTIONS - DESCRIPTORS}",
            turned > CONNECTIONS - DESCRIPTORS),
        Row("descriptors", "create and cancel", (created, cancelled), "(201, 200)",
            (created, cancelled) == (201, 200)),
        Row("descriptors", "cancel in the audit log", is_told, "True", is_told),
        Row("descriptors", "health afterwards", reply.status, "200", reply.status == 200),
    ]  # fmt: skip
