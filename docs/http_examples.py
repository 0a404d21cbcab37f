"""Record the examples of the API page: `python docs/http_examples.py`.

A server without a socket is asked everything once; what was sent and what it answered goes into
`examples.json`. Instants and tokens differ each time, so this is run when the interface
changes, and a test says whether what is there still fits.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from evenmatch.config.server import Allocation, ServerLimits  # noqa: E402
from evenmatch.model.queue import (  # noqa: E402
    Criterion,
    Expansion,
    Format,
    Queue,
    ReadyCheck,
    Rule,
    Scale,
)
from evenmatch.server.gamelift import cbor  # noqa: E402
from evenmatch.server.http import responses  # noqa: E402
from evenmatch.server.http.openapi.fields import RecordedExchange  # noqa: E402
from tests.callers import Site, add_key, token, with_site  # noqa: E402

TARGET = ROOT / "src" / "evenmatch" / "server" / "http" / "openapi" / "examples.json"
CBOR = "application/cbor"
SHOWN_MOST = 400
"""Characters of a stream or of a text that are shown."""
PATIENCE = 0.05
DIGITS = 3
RATING = Criterion("spread", "rating", scale=Scale(max=3000.0))
WIDENING = Rule("spread", "rating", 100.0, expand=Expansion(rate=1.0, max=400.0))
QUEUES = (
    Queue(name="duel", policy="window", criteria=(RATING,), rules=(WIDENING,), wait_max=300.0,
          rating="glicko2", silent_after=30.0),
    Queue(name="ranked", policy="greedy", criteria=(RATING,), accept=ReadyCheck(seconds=15.0),
          group="ranked"),
    Queue(name="coop", format=Format(players=(4,)), policy="greedy", backfill="manual",
          group="coop"),
    Queue(name="hosted", policy="greedy", group="hosted", allocation="fleet"),
)  # fmt: skip
CONFIG = """\
[[queue]]
name = "duel"
teams = 2
players = 1
wait_max = 300
policy = "window:limit=150"
"""


class Recorder:
    """Asks a server, and keeps what was said."""

    def __init__(self, site: Site, key: str) -> None:
        self.site, self.key = site, key
        self.kept: list[RecordedExchange] = []
        self.is_cut_short = False

    async def __call__(
        self, operation: str, name: str, target: str, sent: Any = None, **more: Any
    ) -> Any:
        """Send one request, keep the exchange, and return the answer."""
        method, _, path = target.partition(" ")
        key = more.get("key", self.key)
        status, kind, body = await self._call(method, path, sent, key, more.get("headers", {}))
        if kind.startswith("application/cbor"):
            # As the standard's diagnostic notation has it, which is JSON here.
            answer = msgspec.json.encode(_rounded(cbor.decode(body))).decode()
        elif kind.startswith(("application/json", "application/x-amz-json")):
            answer = _rounded(msgspec.json.decode(body))
        else:
            text = body.decode()
            answer = text if len(text) <= SHOWN_MOST else text[:SHOWN_MOST] + "..."
        media = "application/toml" if isinstance(sent, str) else "application/json"
        media = more.get("headers", {}).get("content-type", media)
        sent = msgspec.json.encode(sent).decode() if media == CBOR else sent
        self.kept.append(
            RecordedExchange(
                operation,
                name,
                status,
                answer,
                sent,
                path.partition("?")[2],
                media,
            )
        )
        return answer

    async def _call(
        self, method: str, target: str, sent: Any, key: str | None, more: dict[str, str]
    ) -> tuple[int, str, bytes]:
        path, _, query = target.partition("?")
        start: dict[str, Any] = {}
        parts: list[bytes] = []
        data = b"" if sent is None else sent.encode() if type(sent) is str else _encoded(sent)
        data = cbor.encode(sent) if more.get("content-type") == CBOR else data
        asked, leave = False, asyncio.Event()

        async def receive() -> dict[str, Any]:
            nonlocal asked
            if not asked:
                asked = True
                return {"type": "http.request", "body": data, "more_body": self.is_cut_short}
            await leave.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
                return
            parts.append(message.get("body", b""))
            if message.get("more_body"):
                asyncio.get_running_loop().call_later(PATIENCE, leave.set)

        headers = {"host": "game.example", "content-type": "application/json"}
        if type(sent) is str:
            headers["content-type"] = "application/toml"
        if key:
            headers["authorization"] = f"Bearer {key}"
        headers |= more
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(),
            "query_string": query.encode(), "root_path": "", "client": ("192.0.2.1", 12345),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }  # fmt: skip
        await self.site.gate(scope, receive, send)
        kinds = [value.decode() for name, value in start["headers"] if name == b"content-type"]
        return start["status"], kinds[0] if kinds else "", b"".join(parts)


def player(name: str, mean: float, **more: Any) -> dict[str, Any]:
    """Return a player with a rating."""
    return {"id": name, "rating": {"mean": mean, "deviation": 80}, **more}


async def tickets(ask: Recorder) -> None:
    """Create, look at, change and cancel tickets."""
    far = {"queues": ["duel"], "players": [player("zoe", 2900)]}
    await ask("createTickets", "one ticket", "POST /v1/tickets", far)
    await ask("createTickets", "already waiting", "POST /v1/tickets", far)
    wrong = {"queues": ["duel"], "players": [{"id": "max", "rating": {"mean": "high"}}]}
    await ask("createTickets", "not a number", "POST /v1/tickets", wrong)
    nobody = {"queues": ["arena"], "players": [{"id": "max"}]}
    await ask("createTickets", "no such queue", "POST /v1/tickets", nobody)
    many = [
        {"queues": ["duel"], "players": [player("ada", 1500)]},
        {"queues": ["duel"], "players": [player("bob", 1540)]},
        nobody,
    ]
    await ask("createTickets", "several tickets", "POST /v1/tickets", many)
    await ask("getTicket", "waiting", "GET /v1/tickets/s0-1")
    await ask("getTicket", "matched", "GET /v1/tickets/s0-2")
    await ask("getTicket", "never known", "GET /v1/tickets/s0-99")
    await ask("getTickets", "a player's tickets", "GET /v1/tickets?player=ada")
    await ask("explainTicket", "nobody is near", "GET /v1/tickets/s0-1/explain")
    facts = {"attributes": {"latency": {"eu": 32, "us": 120}}}
    await ask("updateTicket", "new latencies", "PATCH /v1/tickets/s0-1", facts)
    await ask("heartbeat", "still there", "POST /v1/tickets/s0-1/heartbeat")
    await ask("followTicket", "waiting", "GET /v1/tickets/s0-1/events")
    await ask("streamTickets", "not a WebSocket", "GET /v1/stream")
    await ask("getLongestWaiting", "one ticket", "GET /v1/queues/duel/waiting?most=5")
    await ask("cancelTicket", "cancelled", "DELETE /v1/tickets/s0-1")
    await ask("cancelTicket", "matched already", "DELETE /v1/tickets/s0-2")


async def matches(ask: Recorder) -> None:
    """Say where a match is played and how it ended; read the feed."""
    place = {"connection": "203.0.113.7:7777"}
    await ask("assignMatch", "a server", "PUT /v1/matches/s0-m1/assignment", place)
    outcome = {"ranks": [1, 2]}
    await ask("reportOutcome", "the first team won", "POST /v1/matches/s0-m1/outcome", outcome)
    await ask("getMatch", "a match with its outcome", "GET /v1/matches/s0-m1")
    await ask("getMatchStory", "how it came about", "GET /v1/dashboard/matches/s0-m1")
    await ask("getQueueMatches", "one match", "GET /v1/queues/duel/matches?after=0")
    await ask("finishMatch", "over", "POST /v1/matches/s0-m1/finish")
    await ask("getRating", "after a win", "GET /v1/players/ada/rating?queue=duel")
    await ask("getQueueStats", "a queue", "GET /v1/queues/duel/stats")
    await ask("getQueues", "all queues", "GET /v1/queues")


async def checks(ask: Recorder) -> None:
    """Answer a ready-check; fill a running match."""
    for at, name in enumerate(("cleo", "dan")):
        new = {"queues": ["ranked"], "players": [player(name, 1600 + at)]}
        created = await ask("", "", "POST /v1/tickets", new)
    ticket = created["id"]
    proposed = (await ask("getTicket", "proposed", f"GET /v1/tickets/{ticket}"))["match"]
    answer = {"ticket": ticket}
    await ask("acceptMatch", "accepted", f"POST /v1/matches/{proposed}/accept", answer)
    first = {"ticket": ticket.replace(ticket[3:], str(int(ticket[3:]) - 1)), "players": ["cleo"]}
    await ask("declineMatch", "declined", f"POST /v1/matches/{proposed}/decline", first)
    await ask("getMatch", "asks for another player", f"GET /v1/matches/{proposed}")
    for name in ("eva", "finn", "gil", "hana"):
        new = {"queues": ["coop"], "players": [{"id": name}]}
        created = await ask("", "", "POST /v1/tickets", new)
    running = (await ask("", "", f"GET /v1/tickets/{created['id']}"))["match"]
    asked = {"roster_version": 0, "left": ["finn"], "lease": 30}
    await ask("openMatch", "one has left", f"POST /v1/matches/{running}/open", asked)
    await ask("getOpenMatch", "asks for one player", f"GET /v1/matches/{running}/open")
    await ask("closeMatch", "full enough", f"POST /v1/matches/{running}/close")


async def operations(ask: Recorder) -> None:
    """Operate the server."""
    for name in ("ida", "jan"):
        await ask("", "", "POST /v1/tickets", {"queues": ["hosted"], "players": [{"id": name}]})
    await asyncio.sleep(PATIENCE)
    listed = await ask("getAllocations", "a failed one", "GET /v1/allocations")
    match = listed[0]["match"]
    await ask("retryAllocation", "asked again", f"POST /v1/allocations/{match}/retry")
    await ask("pauseQueue", "paused", "POST /v1/queues/duel/pause")
    late = {"queues": ["duel"], "players": [{"id": "kim"}]}
    await ask("createTickets", "the queue is paused", "POST /v1/tickets", late)
    await ask("resumeQueue", "resumed", "POST /v1/queues/duel/resume")
    policy = {"policy": "periodic:rounds_of=20"}
    await ask("putQueuePolicy", "another policy", "PUT /v1/queues/duel/policy", policy)
    twice = {"policy": "window:limit=150"}
    await ask("putQueuePolicy", "two limits", "PUT /v1/queues/duel/policy", twice)
    shadow = {"policy": "greedy"}
    await ask("putQueueShadow", "a shadow", "PUT /v1/queues/duel/shadow", shadow)
    await ask("getConfig", "the configuration", "GET /v1/config")
    await ask("putConfig", "what it would do", "PUT /v1/config?dry_run=1", CONFIG)
    queue = {"name": "duel", "teams": 2, "players": 1, "wait_max": 300}
    await ask("putConfig", "as JSON", "PUT /v1/config?dry_run=1", {"queue": [queue]})
    await ask("followDashboard", "the first events", "GET /v1/dashboard/events?queue=duel")
    await ask("getAudit", "the last entries", "GET /v1/audit?most=3")
    await ask("getDrain", "no", "GET /v1/drain")
    await ask("beginDrain", "it is about to stop", "POST /v1/drain?limit=600")
    await ask("createTickets", "the server is about to stop", "POST /v1/tickets", late)
    await ask("endDrain", "it stays", "DELETE /v1/drain")
    await ask("getHealth", "it lives", "GET /healthz")
    await ask("getReadiness", "it is ready", "GET /readyz")
    await ask("getMetrics", "the first lines", "GET /metrics")
    aws = {"content-type": "application/x-amz-json-1.1"}
    for operation, name, sent in (
        ("DescribeMatchmaking", "tickets that are not known are left out", {"TicketIds": ["t1"]}),
        ("StopMatchmaking", "no such ticket", {"TicketId": "t1"}),
    ):
        call = {**aws, "x-amz-target": f"GameLift.{operation}"}
        await ask("gameLift", name, "POST /", sent, headers=call)
        path = f"POST /service/GameLift/operation/{operation}"
        call = {"content-type": CBOR, "smithy-protocol": "rpc-v2-cbor"}
        await ask("gameLiftCbor", name, path, sent, headers=call)
    await ask("followGameLift", "the beginning", "GET /v1/gamelift/events")
    guest = await ask("makeGuest", "a guest", "POST /v1/guests", key=None)
    shortened = {**guest, "token": "eyJhbGciOi..."}
    ask.kept[-1] = msgspec.structs.replace(ask.kept[-1], answer=shortened)


async def refusals(ask: Recorder) -> None:
    """Be turned away in every way that is left."""
    await ask("getConfig", "no key", "GET /v1/config", key=None)
    await ask("getConfig", "not for players", "GET /v1/config", key=token("ada"))
    huge = [{"queues": ["duel"], "players": [{"id": "x" * 3_000}]}]
    await ask("createTickets", "too large", "POST /v1/tickets", huge)
    ask.is_cut_short, responses.BODY_SECONDS = True, PATIENCE
    await ask("createTickets", "cut short", "POST /v1/tickets", {"queues": ["duel"]})
    ask.is_cut_short = False
    # As after a day; only the server's tables know how long ago a match was.
    del ask.site.parts.runtime.engine.tables.matches["s0-m1"]
    await ask("getMatch", "no longer kept", "GET /v1/matches/s0-m1")
    ask.site.parts.runtime.failure = "the journal is being read"
    await ask("getReadiness", "not ready", "GET /readyz")
    ask.site.parts.runtime.failure = None


def main() -> None:
    """Record everything and write the file."""
    kept: list[RecordedExchange] = []

    async def scene(site: Site) -> None:
        ask = Recorder(site, key)
        for part in (tickets, matches, checks, operations, refusals):
            await part(ask)
        kept.extend(each for each in ask.kept if each.operation)

    async def without_guests(site: Site) -> None:
        ask = Recorder(site, key)
        await ask("makeGuest", "no guests here", "POST /v1/guests", key=None)
        kept.extend(ask.kept)

    nowhere = Allocation("webhook", url="http://127.0.0.1:9/", failed="keep", retries=0)
    with tempfile.TemporaryDirectory() as folder:
        key = add_key(Path(folder))
        with_site(
            Path(folder), scene, queues=QUEUES, guests=True, allocation={"fleet": nowhere},
            limits=ServerLimits(body_bytes_max=2_000),
        )  # fmt: skip
        with_site(Path(folder), without_guests, queues=QUEUES)
    TARGET.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")


def _encoded(value: Any) -> bytes:
    return msgspec.json.encode(value)


def _rounded(value: Any) -> Any:
    """Return a value whose numbers are short enough to read."""
    if type(value) is float:
        return round(value, DIGITS)
    if type(value) is list:
        return [_rounded(each) for each in value]
    if type(value) is dict:
        return {key: _rounded(each) for key, each in value.items()}
    return value


if __name__ == "__main__":
    main()
