"""Players who come again and again: they create, answer, refresh, cancel, fall silent, play.

Everybody is one asyncio loop of callbacks; an action that is due later is a timer.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec

from tests.bench.http import EventStream
from tests.load.config import QUEUES
from tests.load.ledger import OVER, Ledger
from tests.load.wire import HOST, Pool, Socket, request, upgrade

SQUAD_SHARE = 0.55
SIZES = (1, 1, 1, 1, 1, 1, 1, 2, 2, 3)
BATCH_SHARE = 0.5
BATCH = 10
UNFOLLOWED_SHARE = 0.04
DECLINE, SILENT = 0.10, 0.05
PATCH_SHARE, CANCEL_SHARE, EXPLAIN_SHARE, POLL_SHARE, EVENTS_SHARE = 0.03, 0.03, 0.02, 0.02, 0.02
OPEN_SHARE = 0.1
LOOK_AFTER = 50.0
"""Seconds after which somebody looks after a ticket that no stream follows."""
BACKLOG_MOST = 300
"""Requests that wait for a connection; beyond, newcomers stay away."""
GUESTS = 50

encode = msgspec.json.encode
decode = msgspec.json.decode


class Line:
    """One WebSocket with the tickets that it follows; wishes are sent together."""

    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self._socket: Socket | None = None
        self.follow: list[str] = []
        self.unfollow: list[str] = []
        self._followed: set[str] = set()

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        crowd = self._crowd
        transport, socket = await loop.create_connection(
            lambda: Socket(self._heard, self._lost), HOST, crowd.pool.socket_port
        )
        transport.write(upgrade(crowd.key))
        self._socket = socket
        self.follow, self.unfollow = list(self._followed), []

    def flush(self) -> None:
        """Tell the server what is wished since the last time."""
        if self._socket is None or not (self.follow or self.unfollow):
            return
        follow, self.follow = self.follow[:500], self.follow[500:]
        self._followed.update(follow)
        self._followed.difference_update(self.unfollow)
        self._socket.send(encode({"follow": follow, "unfollow": self.unfollow}))
        self.unfollow = []

    def _heard(self, text: bytes) -> None:
        message = decode(text)
        if message["event"] == "problem":
            self._crowd.problem(message)
        else:
            self._crowd.heard(message["ticket"], self)

    def _lost(self) -> None:
        self._socket = None
        if not self._crowd.is_over:
            self._crowd.sockets_lost += 1
            self._crowd.spawn(self.open())


class Crowd:
    """All clients of the server.

    Args:
        pool: Its connections.
        key: The service's key.
        rate: Tickets per second.
        seed: Of all chance.
    """

    def __init__(self, pool: Pool, key: str, rate: float, seed: int) -> None:
        self.pool, self.key, self.rate = pool, key, rate
        self.ledger = Ledger()
        self.is_over = False
        self.sockets_lost = 0
        self.held_back = self.fills = 0
        self.problems: dict[str, int] = {}
        self._rng = random.Random(seed)
        size = 3_000 + int(90 * rate)
        self._free = [f"p{at:06d}" for at in range(size)]
        self._skill = {name: self._rng.gauss(1500.0, 250.0) for name in self._free}
        self._players: dict[str, tuple[str, ...]] = {}
        self._lines = [Line(self) for _ in range(max(2, int(rate / 15)))]
        self._line_of: dict[str, Line] = {}
        self._answered: dict[str, str] = {}
        self._feeds: list[asyncio.BaseTransport] = []
        self._tasks: set[asyncio.Task[Any]] = set()
        self._guests: list[tuple[str, str]] = []
        self._number = 0

    async def open(self) -> None:
        """Open the streams: tickets, feeds, dashboards."""
        for line in self._lines:
            await line.open()
        for queue in QUEUES:
            await self._stream(f"/v1/queues/{queue}/matches", self._fed)
            await self._stream(f"/v1/dashboard/events?queue={queue}", lambda data: None)
        for _ in range(GUESTS):
            self.pool.ask("POST /v1/guests", request("POST", "/v1/guests", ""), self._guest)
        self.spawn(self._flush())

    def close(self) -> None:
        """End all streams."""
        self.is_over = True
        for task in self._tasks:
            task.cancel()
        for feed in self._feeds:
            feed.close()  # type: ignore[attr-defined]

    def spawn(self, work: Any) -> None:
        """Do something beside all else."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def arrive(self, seconds: float) -> None:
        """Let tickets come at random instants for so long."""
        loop = asyncio.get_running_loop()
        at = began = loop.time()
        batch: list[dict[str, Any]] = []
        while at < began + seconds:
            at += self._rng.expovariate(self.rate)
            if (delay := at - loop.time()) > 0.0:
                await asyncio.sleep(delay)
            if len(self.pool.waiting) > BACKLOG_MOST or len(self._free) < 10:
                self.held_back += 1
                continue
            if self._guests and self._rng.random() < 0.02:
                self._create_as_guest()
            elif self._rng.random() < BATCH_SHARE:
                batch.append(self._party())
                if len(batch) == BATCH:
                    self._create_many(batch)
                    batch = []
            else:
                self._create_one(self._party())

    # Creates

    def _party(self) -> dict[str, Any]:
        is_squad = self._rng.random() < SQUAD_SHARE
        size = self._rng.choice(SIZES) if is_squad else 1
        names = []
        for _ in range(size):
            at = self._rng.randrange(len(self._free))
            self._free[at], self._free[-1] = self._free[-1], self._free[at]
            names.append(self._free.pop())
        players = [
            {"id": name, "rating": {"mean": self._skill[name], "deviation": 80.0}}
            if self._rng.random() < 0.5
            else {"id": name}
            for name in names
        ]
        return {"queues": ["squad" if is_squad else "duel"], "players": players}

    def _create_one(self, party: dict[str, Any]) -> None:
        names = tuple(each["id"] for each in party["players"])
        self._number += 1
        headers = {"content_type": "application/json"}
        if self._rng.random() < 0.2:
            headers["idempotency_key"] = f"load-{self._number}"
        data = request("POST", "/v1/tickets", self.key, encode(party), **headers)
        self.pool.ask("POST /v1/tickets", data, partial(self._one, names))
        if "idempotency_key" in headers and self._rng.random() < 0.5:
            self.pool.ask("POST /v1/tickets", data)

    def _one(self, names: tuple[str, ...], status: int, body: bytes) -> None:
        if status == 201:
            self._created(decode(body), names)
        else:
            self._free.extend(names)

    def _create_many(self, parties: list[dict[str, Any]]) -> None:
        many = [tuple(each["id"] for each in party["players"]) for party in parties]
        data = request(
            "POST", "/v1/tickets", self.key, encode(parties), content_type="application/json"
        )
        self.pool.ask("POST /v1/tickets (array)", data, partial(self._many, many))

    def _many(self, many: list[tuple[str, ...]], status: int, body: bytes) -> None:
        items = decode(body) if status == 200 else [{"status": status}] * len(many)
        for names, item in zip(many, items, strict=True):
            if item["status"] == 201:
                self._created(item, names)
            else:
                self._free.extend(names)

    def _guest(self, status: int, body: bytes) -> None:
        if status == 201:
            guest = decode(body)
            self._guests.append((guest["player"], guest["token"]))

    def _create_as_guest(self) -> None:
        name, token = self._guests.pop()
        data = request(
            "POST",
            "/v1/tickets",
            token,
            encode({"queues": ["duel"], "players": [{"id": name}]}),
            content_type="application/json",
        )
        self.pool.ask(
            "POST /v1/tickets (guest)", data, lambda s, b: self._guest_in((name, token), s, b)
        )

    def _guest_in(self, guest: tuple[str, str], status: int, body: bytes) -> None:
        self._later(60.0, lambda: self._guests.append(guest))
        if status == 201:
            self._created(decode(body), ())

    def _created(self, ticket: dict[str, Any], names: tuple[str, ...]) -> None:
        name, chance = ticket["id"], self._rng.random
        self.ledger.created(name)
        self._players[name] = names
        if chance() < UNFOLLOWED_SHARE:
            self._leave_alone(name)
            return
        line = self._rng.choice(self._lines)
        line.follow.append(name)
        self._line_of[name] = line
        path = f"/v1/tickets/{name}"
        if chance() < PATCH_SHARE and names:
            facts = {"players": [{"id": names[0], "rating": {"mean": 1500.0, "deviation": 60.0}}]}
            self._ask_later(1.0, "PATCH", path, encode(facts))
        if chance() < CANCEL_SHARE:
            self._later(2.0 * chance(), partial(self._cancel, name))
        if chance() < EXPLAIN_SHARE:
            self._ask_later(1.0, "GET", f"{path}/explain")
        if chance() < POLL_SHARE:
            self._ask_later(0.5, "GET", f"{path}?wait=3")
        if chance() < EVENTS_SHARE:
            self.spawn(self._follow_alone(name))

    def _leave_alone(self, name: str) -> None:
        """Follow a ticket by nothing but signs of life, or not even by those."""
        path = f"/v1/tickets/{name}"
        if self._rng.random() < 0.5:
            for after in (8.0, 16.0):
                self._ask_later(after, "POST", f"{path}/heartbeat")
        self._later(LOOK_AFTER, partial(self.look, name))

    def look(self, name: str) -> None:
        """Ask how a ticket does."""
        data = request("GET", f"/v1/tickets/{name}", self.key)
        self.pool.ask("GET /v1/tickets/{ticket}", data, partial(self._looked, name))

    def _looked(self, name: str, status: int, body: bytes) -> None:
        if status == 200:
            self.heard(decode(body), None)
        elif status:
            self.ledger.wrong[f"a ticket was not found: {status}"] += 1
        if self.ledger.states[name] not in OVER and not self.is_over:
            self._later(20.0, partial(self.look, name))

    def _cancel(self, name: str) -> None:
        def told(status: int, body: bytes) -> None:
            if status == 200:
                self.ledger.cancelled.add(name)

        data = request("DELETE", f"/v1/tickets/{name}", self.key)
        self.pool.ask("DELETE /v1/tickets/{ticket}", data, told)

    async def _follow_alone(self, name: str) -> None:
        """Follow a ticket by an event stream of its own for a while."""
        transport = await self._stream(f"/v1/tickets/{name}/events", lambda data: None, keep=False)
        await asyncio.sleep(5.0)
        transport.close()

    # What the server tells

    def heard(self, ticket: dict[str, Any], line: Line | None) -> None:
        """Do what a ticket's players do at a state of it."""
        name, state = ticket["id"], ticket["state"]
        if state == "proposed":
            self._answer(name, ticket["match"])
        if not self.ledger.heard(name, state) or state not in OVER:
            return
        self._free.extend(self._players.pop(name, ()))
        self._answered.pop(name, None)
        if (line := self._line_of.pop(name, None)) is not None:
            line.unfollow.append(name)

    def _answer(self, name: str, match: str) -> None:
        if self._answered.get(name) == match:
            return
        self._answered[name] = match
        luck = self._rng.random()
        if luck < SILENT:
            return
        action = "decline" if luck < SILENT + DECLINE else "accept"
        path = f"/v1/matches/{match}/{action}"
        self._ask_later(self._rng.uniform(0.1, 2.0), "POST", path, encode({"ticket": name}))

    def _fed(self, data: bytes) -> None:
        for match in decode(data)["matches"]:
            tickets = [ticket for team in match["teams"] for ticket in team]
            name = match["match"]
            if not self.ledger.matched(name, tickets):
                continue
            path = f"/v1/matches/{name}"
            self._ask_later(0.0, "PUT", f"{path}/assignment", b'{"connection":"10.0.0.1:7777"}')
            if match.get("extends") is not None:
                self.fills += 1
            else:
                self._play(path, match)

    def _play(self, path: str, match: dict[str, Any]) -> None:
        """Say how a match ended; some lose a player first, and ask for others."""
        ranks = self._rng.choice(([1, 2], [2, 1], [1, 1]))
        lasts = 2.0
        if match["queue"] == "squad" and self._rng.random() < OPEN_SHARE:
            lasts = 12.0
            body = {"roster_version": 0, "left": [match["players"][0][0]], "lease": 15.0}
            self._ask_later(1.0, "POST", f"{path}/open", encode(body))
            self._ask_later(lasts - 1.0, "POST", f"{path}/close")
        self._ask_later(lasts, "POST", f"{path}/outcome", encode({"ranks": ranks}))

    def problem(self, message: dict[str, Any]) -> None:
        """Count what a stream could not do."""
        code = message["problem"]["error"]
        self.problems[code] = self.problems.get(code, 0) + 1

    # Small parts

    def _ask_later(self, after: float, method: str, path: str, body: bytes = b"") -> None:
        data = request(method, path, self.key, body, content_type="application/json")
        self._later(after, partial(self.pool.ask, f"{method} {_pattern(path)}", data))

    def _later(self, after: float, work: Callable[[], object]) -> None:
        asyncio.get_running_loop().call_later(after, work)

    async def _stream(
        self, path: str, heard: Callable[[bytes], None], *, keep: bool = True
    ) -> asyncio.Transport:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_connection(
            lambda: EventStream(heard), HOST, self.pool.socket_port
        )
        transport.write(request("GET", path, self.key, accept="text/event-stream"))
        if keep:
            self._feeds.append(transport)
        return transport

    async def _flush(self) -> None:
        while True:
            await asyncio.sleep(0.05)
            for line in self._lines:
                line.flush()


def _pattern(path: str) -> str:
    """Return a path as the table of routes has it."""
    parts: Sequence[str] = path.partition("?")[0].split("/")
    names = {"tickets": "{ticket}", "matches": "{match}"}
    return "/".join(
        names.get(before, part) if at == 3 else part
        for at, (before, part) in enumerate(zip(("", *parts), parts, strict=False))
    )
