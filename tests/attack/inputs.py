"""Inputs that once brought a server down: a policy changed while it asks, and hostile CONFIGs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests.attack.report import Row
from tests.integration.serving import Server, ticket

CHECKED = """
[[queue]]
name = "asked"
teams = 2
players = 1
policy = "greedy"
accept = {seconds = 2.0, repair = 2.0, cooldowns = []}

[[queue]]
name = "other"
teams = 2
players = 1
policy = "greedy"
group = "other"
"""
PLAIN = {"content-type": "application/toml"}
QUIET_SECONDS = 3.0
LONG_FROM, LONG_QUIET, SHORT_QUIET = 8.0, 75.0, 7.0


def repair(folder: Path, seconds: float) -> list[Row]:
    """Propose players without a rating, let `window` decide from then on, and decline."""
    del seconds
    server = Server(folder, CHECKED)
    try:
        bare = [{"queues": ["asked"], "players": [{"id": name}]} for name in ("ann", "bob")]
        first, _ = (server.call("POST", "/v1/tickets", body).body["id"] for body in bare)
        match = server.call("GET", f"/v1/tickets/{first}").body["match"]
        policy = {"policy": "window:attribute=rating,limit=100"}
        changed = server.call("PUT", "/v1/queues/asked/policy", policy).status
        server.call("POST", "/v1/tickets", ticket("cleo", queue="asked"))
        declined = server.call("POST", f"/v1/matches/{match}/decline", {"ticket": first}).status
        time.sleep(QUIET_SECONDS)
        ready = server.call("GET", "/readyz").status
        other = server.call("POST", "/v1/tickets", ticket("dan", queue="other")).status
        failures = server.log.read_text().count("engine_failed")
    finally:
        server.kill()
    return [
        Row("repair", "policy changed, declined", (changed, declined), "(200, 200)",
            (changed, declined) == (200, 200)),
        Row("repair", "failures of the engine", failures, "0", failures == 0),
        Row("repair", "readyz, create elsewhere", (ready, other), "(200, 201)",
            (ready, other) == (200, 201)),
    ]  # fmt: skip


def config(folder: Path, seconds: float) -> list[Row]:
    """Hand in configurations that cost more than they are worth."""
    del seconds
    server = Server(folder, CHECKED)
    bodies = {
        "key of 16,000 parts": b"a." * 15_999 + b"a = 1",
        "integer of 5,000 digits": b"seed = " + b"9" * 5_000,
        "rounds of a microsecond": CHECKED.replace('"greedy"', '"window:every=1e-6"').encode(),
    }
    rows = []
    try:
        for name, body in bodies.items():
            began = time.perf_counter()
            reply = server.call("PUT", "/v1/config", raw=body, headers=PLAIN)
            took = time.perf_counter() - began
            rows.append(Row("config", name, (reply.status, f"{took:.2f} s"), "400 in 2 s",
                            reply.status == 400 and took < 2.0))  # fmt: skip
        used = _peak_mb(server)
    finally:
        server.kill()
    return [*rows, Row("config", "memory at most", f"{used:.0f} MB", "<= 400 MB", used <= 400.0)]


def restart(folder: Path, seconds: float) -> list[Row]:
    """Let somebody wait for a while in which nothing happens, kill the server, and look again."""
    server = Server(folder, CHECKED)
    # Up to a minute of silence counts in any case: only the long version tells a note from none.
    quiet = LONG_QUIET if seconds >= LONG_FROM else SHORT_QUIET
    try:
        made = server.call("POST", "/v1/tickets", ticket("ann", queue="other")).body["id"]
        time.sleep(quiet)
        before = server.call("GET", f"/v1/tickets/{made}").body["wait"]
    finally:
        server.kill()
    kept = (folder / "data" / "time.json").exists()
    again = Server(folder, CHECKED)
    try:
        after = again.call("GET", f"/v1/tickets/{made}").body["wait"]
        stopped = again.stop()
    finally:
        if again.process.poll() is None:
            again.kill()
    return [
        Row("restart", "wait before and after", f"{before:.1f} s, {after:.1f} s",
            "not shorter", after >= before),
        Row("restart", "time noted, end of the process", (kept, stopped), "(True, 0)",
            kept and stopped == 0),
    ]  # fmt: skip


def _peak_mb(server: Server) -> float:
    """Return the most memory that a server has had; 0 where the system does not tell."""
    try:
        text = Path(f"/proc/{server.process.pid}/status").read_text()
    except OSError:
        return 0.0
    found: dict[str, Any] = dict(line.split(":", 1) for line in text.splitlines())
    return float(found["VmHWM"].split()[0]) / 1_024
