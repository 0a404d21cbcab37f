"""The players of `team_queue`, a process of their own: a job as JSON on standard input.

Parties come at random instants, however slow the server is, follow their tickets over WebSockets or
send heartbeats, and answer the ready-check, unless they decline or say nothing. What they were told
is held against what they did: who would have played and is cancelled as silent or as having
declined is `wrong`.

Standard output has lines of JSON: instants on the clock of all processes (`filled`, `begin`,
`end`), and at last the figures. Everything is bounded in requests and in time, on 127.0.0.1 only.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import msgspec
import uvloop

from tests.bench.http import EventStream
from tests.bench.processes import resident_of
from tests.bench.report import percentile
from tests.bench.team_players import QUEUE, party_bodies, unmatchable_bodies
from tests.load.crowd import Line
from tests.load.wire import HOST, Pool, request

BULK = 250
FILL_SECONDS = 240.0
"""How long it may take to fill the pool."""
CREATING, ANSWERING, BEATING = 128, 64, 32
"""Connections for creates at the least, for answers to ready-checks, for heartbeats."""
BACKLOG_MOST = 3_000
"""Creates that wait for a connection; beyond, newcomers stay away."""
LINE_TICKETS = 600
"""Tickets of one WebSocket; a server allows 1,000."""
THINK = (0.3, 2.0)
"""Seconds until a party answers a ready-check."""
BEAT_EVERY = 4.0
LAG_EVERY = 0.01
DRAIN_SECONDS = 20.0
"""How long ready-checks that are under way may take to end after the last arrival."""
CREATE, ACCEPT, BEAT = "POST /v1/tickets", "POST accept", "POST heartbeat"
OVER = frozenset({"matched", "assigned", "cancelled", "expired"})
BLAMED = frozenset({"silent", "declined"})

encode = msgspec.json.encode
decode = msgspec.json.decode


class Job(msgspec.Struct, frozen=True):
    """What to do.

    Args:
        port: Where the server listens.
        pid: The server's process.
        rate: Tickets per second; 0 lets nobody come.
        seconds: For how long is measured.
        settle: For how long parties come before that.
        pool: Tickets that wait at the beginning.
        unmatchable: Tickets beside them that can't be matched with one another.
        kind: `tanks` or `far`, see `team_players.unmatchable_bodies`.
        decline: Share of the ready-checks that a party declines.
        silent: Share that a party never answers.
        beating: Share of the tickets that send heartbeats instead of following a stream.
        seed: Of all chance.
    """

    port: int
    pid: int
    rate: float
    seconds: float
    settle: float = 20.0
    pool: int = 0
    unmatchable: int = 0
    kind: str = "tanks"
    decline: float = 0.02
    silent: float = 0.01
    beating: float = 0.0
    seed: int = 1


class Party:
    """A ticket that lives: its size, and what it was asked and said."""

    __slots__ = ("answered", "asked", "beats", "due", "line", "mind", "sent", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.line: Line | None = None
        self.beats = False
        self.asked = ""
        self.mind = ""
        self.due = 0.0
        self.sent = 0.0
        self.answered = True


class Figures(msgspec.Struct):
    """What is counted between `begin` and `end`."""

    created: int = 0
    held_back: int = 0
    matches: int = 0
    qualities: list[float] = []
    waits: list[float] = []
    wrong: Counter[str] = msgspec.field(default_factory=Counter)
    ended: Counter[str] = msgspec.field(default_factory=Counter)
    waiting: list[int] = []
    lags: list[float] = []
    resident: list[int] = []


class Crowd:
    """All parties. It has what a `Line` asks of a crowd."""

    def __init__(self, job: Job) -> None:
        self.key, self.is_over, self.sockets_lost = "", False, 0
        # As many as come in a second: a server that is late should see how many wait.
        self.pool = Pool((job.port,), max(CREATING, int(job.rate)))
        self.figures = Figures()
        self._answers = Pool((job.port,), ANSWERING)
        self._beats = Pool((job.port,), BEATING)
        self._looks = Pool((job.port,), 2)
        self._job = job
        self._rng = random.Random(job.seed)
        self._parties: dict[str, Party] = {}
        self._lines: list[Line] = []
        self._tasks: set[asyncio.Task[Any]] = set()
        self._counts = False
        self._is_looking = False
        self.problems: Counter[str] = Counter()

    async def open(self) -> None:
        job = self._job
        for pool in (self.pool, self._answers, self._looks):
            await pool.open()
        if job.beating:
            await self._beats.open()
        expected = job.pool + job.unmatchable + 30.0 * job.rate
        for _ in range(max(2, int(expected / LINE_TICKETS) + 1)):
            line = Line(self)  # type: ignore[arg-type]
            await line.open()
            self._lines.append(line)
        loop = asyncio.get_running_loop()
        feed, _ = await loop.create_connection(lambda: EventStream(self._fed), HOST, job.port)
        path = f"/v1/queues/{QUEUE}/matches"
        feed.write(request("GET", path, "", accept="text/event-stream"))
        for work in (self._flush(), self._watch(), self._measure_lag()):
            self.spawn(work)

    def close(self) -> None:
        self.is_over = True
        for task in self._tasks:
            task.cancel()

    def spawn(self, work: Any) -> None:
        """Do something beside all else."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def begin(self) -> None:
        """Count from now on."""
        self._counts = True
        self.figures = Figures()
        for pool in (self.pool, self._answers, self._beats):
            pool.seconds.clear()
            pool.statuses.clear()
            pool.refused.clear()

    def end(self) -> None:
        """Count no more, but for what became of parties."""
        self._counts = False

    # Creates

    async def fill(self) -> None:
        """Put those into the pool who wait at the beginning, many in one request."""
        job = self._job
        stay = unmatchable_bodies(job.kind, job.unmatchable, job.seed + 1)
        # Others are matched with tanks, who therefore have to answer.
        await self._fill(stay, follow=job.kind == "tanks")
        await self._fill(party_bodies(max(job.rate, 1.0), job.pool, job.seed + 2), follow=True)

    async def _fill(self, parties: Iterator[tuple[bytes, int]], *, follow: bool) -> None:
        until = time.monotonic() + FILL_SECONDS
        while some := list(islice(parties, BULK)):
            answer: asyncio.Future[tuple[int, bytes]] = asyncio.get_running_loop().create_future()
            body = b"[%b]" % b",".join(body for body, _ in some)
            data = request("POST", "/v1/tickets", "", body, content_type="application/json")
            self.pool.ask(
                "POST /v1/tickets (array)", data, lambda s, b, a=answer: a.set_result((s, b))
            )
            left = until - time.monotonic()
            try:
                status, text = await asyncio.wait_for(answer, left)
            except TimeoutError:
                raise RuntimeError(
                    f"no answer to a create of {BULK} tickets within {FILL_SECONDS:g} s"
                ) from None
            if status != 200:
                raise RuntimeError(f"a create was refused: {status} {text[:300]!r}")
            for item, (_, size) in zip(decode(text), some, strict=True):
                if item["status"] != 201:
                    raise RuntimeError(f"a ticket was refused: {item}")
                if follow:
                    self._created(item["id"], size)

    async def arrive(self, seconds: float, parties: Iterator[tuple[bytes, int]]) -> None:
        """Let parties come at random instants for so long, however the server does."""
        loop, rate = asyncio.get_running_loop(), self._job.rate
        at = began = loop.time()
        if rate <= 0.0:
            await asyncio.sleep(seconds)
            return
        while at < began + seconds:
            at += self._rng.expovariate(rate)
            if (delay := at - loop.time()) > 0.0:
                await asyncio.sleep(delay)
            if len(self.pool.waiting) > BACKLOG_MOST:
                self.figures.held_back += 1
                await asyncio.sleep(0.0)
                continue
            body, size = next(parties)
            data = request("POST", "/v1/tickets", "", body, content_type="application/json")
            self.pool.ask(CREATE, data, partial(self._one, size))

    def _one(self, size: int, status: int, body: bytes) -> None:
        if status == 201:
            self.figures.created += self._counts
            self._created(decode(body)["id"], size)

    def _created(self, name: str, size: int) -> None:
        party = self._parties[name] = Party(size)
        if self._rng.random() < self._job.beating:
            party.beats = True
            self._later(self._rng.uniform(0.0, BEAT_EVERY), partial(self._beat, name))
            return
        party.line = self._rng.choice(self._lines)
        party.line.follow.append(name)

    def _beat(self, name: str) -> None:
        if name not in self._parties or self.is_over:
            return
        data = request("POST", f"/v1/tickets/{name}/heartbeat", "")
        self._beats.ask(BEAT, data, self._beaten)
        self._later(BEAT_EVERY, partial(self._beat, name))

    def _beaten(self, status: int, body: bytes) -> None:
        if status == 200:
            self.heard(decode(body), None)

    # What the server tells

    def heard(self, ticket: dict[str, Any], line: Line | None) -> None:
        """Do what a party does at a state of its ticket."""
        del line
        party = self._parties.get(ticket["id"])
        if party is None:
            return
        state = ticket["state"]
        if state == "proposed":
            self._asked(party, ticket)
        elif state in OVER:
            self._ended(party, ticket)

    def _asked(self, party: Party, ticket: dict[str, Any]) -> None:
        """Answer as the party has in mind, once for each time that it is asked."""
        name, match = ticket["id"], ticket["match"]
        is_new = party.asked != match
        if is_new:
            party.asked, party.mind, party.sent = match, self._mind(), 0.0
            party.due = time.monotonic() + ticket.get("answer_within", 0.0)
        elif not party.answered or "answer_within" not in ticket:
            return
        if party.mind == "silent":
            return
        party.answered = False
        self._later(self._rng.uniform(*THINK), partial(self._answer, name, match))

    def _mind(self) -> str:
        luck = self._rng.random()
        if luck < self._job.silent:
            return "silent"
        return "decline" if luck < self._job.silent + self._job.decline else "accept"

    def _answer(self, name: str, match: str) -> None:
        party = self._parties.get(name)
        if party is None or party.asked != match:
            return
        party.sent = party.sent or time.monotonic()
        data = request(
            "POST",
            f"/v1/matches/{match}/{party.mind}",
            "",
            encode({"ticket": name}),
            content_type="application/json",
        )
        self._answers.ask(f"POST {party.mind}", data, partial(self._answered, party))

    def _answered(self, party: Party, status: int, body: bytes) -> None:
        party.answered = True

    def _ended(self, party: Party, ticket: dict[str, Any]) -> None:
        name, state, reason = ticket["id"], ticket["state"], ticket.get("reason") or ""
        del self._parties[name]
        if party.line is not None:
            party.line.unfollow.append(name)
        if state in {"matched", "assigned"}:
            if self._counts:
                self.figures.waits += [ticket["wait"]] * party.size
            return
        self.figures.ended[f"{state} {reason}".strip()] += 1
        if reason in BLAMED and (why := wronged(party, reason)):
            self.figures.wrong[why] += 1

    def _fed(self, data: bytes) -> None:
        if not self._counts:
            return
        for match in decode(data)["matches"]:
            self.figures.matches += 1
            if match["quality"] is not None:
                self.figures.qualities.append(match["quality"])

    def problem(self, message: dict[str, Any]) -> None:
        """Count what a stream could not do."""
        self.problems[message["problem"]["error"]] += 1

    # Beside all else

    async def _flush(self) -> None:
        while True:
            await asyncio.sleep(0.05)
            for line in self._lines:
                line.flush()

    async def _watch(self) -> None:
        """Look once a second how many wait, and how much memory the server has."""
        while True:
            await asyncio.sleep(1.0)
            self.figures.resident.append(resident_of(self._job.pid))
            if not self._is_looking:
                self._is_looking = True
                self._looks.ask("GET /v1/queues", request("GET", "/v1/queues", ""), self._looked)

    def _looked(self, status: int, body: bytes) -> None:
        self._is_looking = False
        if status == 200:
            self.figures.waiting.append(decode(body)[0]["waiting"])

    async def _measure_lag(self) -> None:
        """Measure how late this process wakes: no answer can be read sooner."""
        while True:
            due = time.monotonic() + LAG_EVERY
            await asyncio.sleep(LAG_EVERY)
            self.figures.lags.append(max(0.0, time.monotonic() - due))

    def _later(self, after: float, work: Callable[[], object]) -> None:
        asyncio.get_running_loop().call_later(after, work)

    def summary(self) -> dict[str, Any]:
        """Return what is counted, and the answers by route and status."""
        figures, job = self.figures, self._job
        creates = self.pool.seconds.get(CREATE, [])
        pools = (self.pool, self._answers, self._beats)
        return {
            "created_rate": figures.created / job.seconds,
            "held_back": figures.held_back,
            "create_p50": _at(creates, 0.5),
            "create_p99": _at(creates, 0.99),
            "create_max": max(creates, default=None),
            "answer_p99": _at(self._answers.seconds.get(ACCEPT, []), 0.99),
            "match_rate": figures.matches / job.seconds,
            "quality": _mean(figures.qualities),
            "wait": _mean(figures.waits),
            "wrong": figures.wrong.total(),
            "wrongly": dict(figures.wrong),
            "ended": dict(figures.ended),
            "waiting_min": min(figures.waiting, default=None),
            "waiting_mean": _mean(figures.waiting),
            "waiting_max": max(figures.waiting, default=None),
            "lag_p99": _at(figures.lags, 0.99),
            "lag_max": max(figures.lags, default=None),
            "resident": max(figures.resident, default=None),
            "statuses": {
                f"{route} {status}": count
                for pool in pools
                for (route, status), count in sorted(pool.statuses.items())
            },
            "refused": {
                f"{route} {status}": text.decode(errors="replace")
                for pool in pools
                for (route, status), text in pool.refused.items()
            },
            "problems": dict(self.problems),
            "sockets_lost": self.sockets_lost,
        }


def wronged(party: Party, reason: str) -> str:
    """Return why a party is not to blame that is cancelled as silent or declining; "" if it is."""
    if party.mind == "decline" or (party.mind == "silent" and reason in BLAMED):
        return ""
    if not party.asked:
        return f"{reason}, never heard of a match"
    if party.sent and party.sent < party.due:
        return f"{reason}, had accepted in time"
    return f"{reason}, heard too late to accept"


def _at(values: list[float], share: float) -> float | None:
    return percentile(values, share) if values else None


def _mean(values: list[Any]) -> float | None:
    return sum(values) / len(values) if values else None


def _say(**what: Any) -> None:
    sys.stdout.buffer.write(encode(what) + b"\n")
    sys.stdout.buffer.flush()


async def _run(job: Job) -> None:
    count = int(1.2 * job.rate * (job.seconds + job.settle)) + 1_000
    parties = iter(list(party_bodies(max(job.rate, 1.0), count, job.seed)))
    crowd = Crowd(job)
    await crowd.open()
    _say(at=time.monotonic(), event="open")
    await crowd.fill()
    _say(at=time.monotonic(), event="filled")
    await crowd.arrive(job.settle, parties)
    crowd.begin()
    _say(at=time.monotonic(), event="begin")
    await crowd.arrive(job.seconds, parties)
    crowd.end()
    _say(at=time.monotonic(), event="end")
    await asyncio.sleep(DRAIN_SECONDS)
    crowd.close()
    _say(at=time.monotonic(), event="over", figures=crowd.summary())


def main() -> None:
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=Job)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run(job))


if __name__ == "__main__":
    main()
