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

from evenmatch.server.auth.gate import Entrance, Gate
from evenmatch.server.auth.principal import LOCAL
from evenmatch.server.responses import Receive, Scope, Send
from tests.callers import Site, add_key, token

ROUNDS = 15
CALLS = 5_000


async def nothing(scope: Scope, receive: Receive, send: Send) -> None:
    del scope, receive, send


def scope_of(credential: str | None) -> dict[str, Any]:
    headers = [(b"host", b"game.example"), (b"user-agent", b"bench"), (b"accept", b"*/*"),
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
    gate = Gate([Entrance(accounts, nothing)])

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


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(measure(Path(name)))
