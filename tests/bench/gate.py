"""What the gate adds to a request whose caller it knows: `python -m tests.bench.gate`.

Measured in processor time of this thread, over a create whose answer comes from the application at
once, so that nothing but the gate differs.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from evenmatch.model.queue import Queue
from evenmatch.server.auth.authenticate import Authenticator, GameEntrance
from evenmatch.server.auth.principal import LOCAL
from evenmatch.server.http.app import App
from evenmatch.server.http.responses import Receive, Scope, Send
from tests.callers import Site, add_key, token

ROUNDS = 15
CALLS = 5_000
CREATES = 4_000


async def nothing(scope: Scope, receive: Receive, send: Send) -> None:
    del scope, receive, send


def scope_of(credential: str | None) -> dict[str, Any]:
    headers = [(b"host", b"localhost"), (b"user-agent", b"bench"), (b"accept", b"*/*"),
               (b"content-type", b"application/json"), (b"content-length", b"120")]  # fmt: skip
    if credential is not None:
        headers.append((b"authorization", f"Bearer {credential}".encode()))
    return {"type": "http", "method": "POST", "path": "/v1/tickets", "query_string": b"",
            "headers": headers, "client": ("192.0.2.1", 1)}  # fmt: skip


async def seconds(app: Any, scope: dict[str, Any]) -> float:
    """Return the processor time of one call, the median of several rounds."""
    found = []
    for _ in range(ROUNDS):
        began = time.thread_time()
        for _ in range(CALLS):
            await app(scope, None, None)
        found.append((time.thread_time() - began) / CALLS)
    return median(found)


async def measure(folder: Path) -> None:
    key = add_key(folder)
    site = Site(folder)
    accounts = site.accounts
    for buckets in (accounts.service_buckets, accounts.player_buckets):
        buckets._each, buckets._whole = 1e-12, 1.0
    gate = Authenticator([GameEntrance(accounts, nothing)])

    async def local(scope: Scope, receive: Receive, send: Send) -> None:
        scope["principal"] = LOCAL
        await nothing(scope, receive, send)

    bare = await seconds(local, scope_of(None))
    for name, credential in (("service key", key), ("player token", token("ann"))):
        taken = await seconds(gate, scope_of(credential)) - bare
        print(f"gate, {name} that is known: {taken * 1e6:.2f} us a request")
    verifier = accounts.verifiers["a-game"]
    encoded, now = token("ann").encode(), time.time()
    began = time.thread_time()
    for _ in range(1_000):
        verifier.principal(encoded, now)
    print(f"verifying a token (HS256): {(time.thread_time() - began) * 1e3:.1f} us")


async def creates(site: Site, app: Any, credentials: list[str | None]) -> float:
    """Return the processor time of a create, answer and commit to memory included."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    found = []
    for number, credential in enumerate(credentials):
        # A player's rating comes from his token, others send it.
        rating = b"" if credential and credential.count(".") else b',"rating":{"mean":1500.0}'
        body = b'{"queues":["duel"],"players":[{"id":"p%d"%b}]}' % (number, rating)

        async def receive(body: bytes = body) -> dict[str, Any]:
            return {"type": "http.request", "body": body}

        began = time.thread_time()
        await app({**scope_of(credential), "root_path": ""}, receive, send)
        found.append(time.thread_time() - began)
    assert {message["status"] for message in sent[::2]} == {201}
    return median(found)


async def measure_creates(folder: Path) -> None:
    """Compare whole creates: of the machine itself, of a service, of players."""
    key = add_key(folder)
    tokens = [token(f"p{number}", rating={"mean": 1500.0}) for number in range(CREATES)]
    columns: dict[str, list[str | None]] = {
        "local": [None] * CREATES, "service key": [key] * CREATES, "player token": [*tokens],
    }  # fmt: skip
    for name, credentials in columns.items():
        site = Site(folder, queues=(Queue(name="duel", policy="greedy", wait_max=None),))
        await site.parts.runtime.start()
        if name == "player token":
            for each in credentials:  # each is verified once, before its player creates
                scope = {**scope_of(each), "path": "/v1/queues", "method": "GET"}
                site.gate._admit(scope)
        app = App(site.parts, site.accounts) if name == "local" else site.gate
        seconds = await creates(site, app, credentials)
        print(f"a create, {name}: {seconds * 1e6:.1f} us")
        await site.parts.runtime.stop()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(measure(Path(name)))
        asyncio.run(measure_creates(Path(name)))
