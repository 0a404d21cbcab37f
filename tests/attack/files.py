"""The journal's files are taken away from under a running server."""

from __future__ import annotations

import time
from pathlib import Path

from tests.attack.report import Row
from tests.integration.serving import Server

CREATES = 40
HEAL_SECONDS = 20.0


def files(folder: Path, seconds: float) -> list[Row]:
    """Move the data away, create tickets, put it back, and see what a restart still knows."""
    del seconds
    server = Server(folder)
    data, away = folder / "data", folder / "away"
    try:
        before = [server.create(f"before-{n}", rating=3_000.0 * n).status for n in range(5)]
        data.rename(away)
        replies = [server.create(f"after-{n}", rating=-3_000.0 * n) for n in range(CREATES)]
        acknowledged = [each.body["id"] for each in replies if each.status == 201]
        ready = server.call("GET", "/readyz")
        away.rename(data)
        end = time.monotonic() + HEAL_SECONDS
        while server.call("GET", "/readyz").status != 200 and time.monotonic() < end:
            time.sleep(0.1)
        healed = server.create("healed", rating=9e5).status
    finally:
        server.kill()
    again = Server(folder)
    try:
        lost = [t for t in acknowledged if again.call("GET", f"/v1/tickets/{t}").status != 200]
        known = again.call("GET", "/v1/tickets/s0-1").status
    finally:
        again.kill()
    reason = str(ready.body.get("reason", ""))
    return [
        Row("files", "acknowledged, then lost", len(lost), "0", not lost),
        Row("files", "acknowledged while away", len(acknowledged), "0", not acknowledged),
        Row("files", "readyz", ready.status, "503, with the reason",
            ready.status == 503 and "not the file any more" in reason),
        Row("files", "create after they were put back", healed, "201", healed == 201),
        Row("files", "what came before", (before, known), "201 and there",
            set(before) == {201} and known == 200),
    ]  # fmt: skip
