"""Whatever becomes of a connection, the drivers' errors are ours, and the next call opens anew.

A proxy cuts and resets connections, goes silent, and puts bytes between those of the server, at
any byte of any call.
"""

import asyncio
import os
import random
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import pytest

from evenmatch.engine.records import Record
from evenmatch.errors import JournalError, JournalUnavailable
from evenmatch.journals.base import Journal, Segment
from evenmatch.journals.nats import NatsJournal
from evenmatch.journals.nats_store import NatsStore
from evenmatch.journals.postgres import PostgresJournal
from evenmatch.journals.postgres_store import PostgresStore
from evenmatch.journals.store import Note, Store
from evenmatch.model.inputs import Advance
from tests.extent import extent
from tests.journal_faults import Ends, Proxy

pytestmark = pytest.mark.xdist_group("postgres")

CALLS = extent(120, 1_500)
TIMEOUT = 0.5
CALM = 0.25
"""Share of connections that last longer."""
BYTES_MAX = 4_000
"""Bytes of a connection, one way, after which something has happened to the others."""
HARMS = ("cut", "reset", "silence", "bytes")


class HarmingProxy(Proxy):
    """Passes bytes on to a server, and harms connections after a random number of bytes."""

    def __init__(self, port: int, seed: int) -> None:
        super().__init__(port)
        self.harmed: dict[str, int] = dict.fromkeys(HARMS, 0)
        self.connections = 0
        self._rng = random.Random(seed)
        self._resets: dict[asyncio.StreamWriter, None] = {}

    def ways(self, client: Ends, server: Ends) -> list[Coroutine[Any, Any, None]]:
        self.connections += 1
        left = [float("inf"), float("inf")]
        most = BYTES_MAX if self._rng.random() > CALM else 4 * BYTES_MAX
        left[self._rng.randrange(2)] = self._rng.randrange(most)
        harm = HARMS[self.connections % len(HARMS)]
        if harm == "reset":
            self._resets |= dict.fromkeys((client[1], server[1]))
        return [
            self._pass(client[0], server[1], left[0], harm),
            self._pass(server[0], client[1], left[1], harm),
        ]

    def part(self, ends: Sequence[asyncio.StreamWriter]) -> None:
        for end in ends:
            if end in self._resets:
                end.transport.abort()
            end.close()

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, left: float, harm: str
    ) -> None:
        while block := await reader.read(2**14):
            if len(block) >= left:
                self.harmed[harm] += 1
                writer.write(block[: int(left)])
                if harm == "silence":
                    await asyncio.Event().wait()
                if harm == "bytes":
                    writer.write(self._rng.randbytes(64))
                with suppress(OSError):
                    await writer.drain()
                return
            left -= len(block)
            writer.write(block)
            await writer.drain()


class Kept(NamedTuple):
    """A journal and what is beside it, at a port."""

    journal: Journal
    store: Store

    async def close(self) -> None:
        await self.journal.close()
        await self.store.close()


@pytest.fixture(params=["postgres", "nats"])
def opened(request: pytest.FixtureRequest) -> tuple[int, Callable[..., Kept]]:
    """Give the port of a server, and what opens a journal there, or at another port."""
    name = f"harmed_{os.urandom(8).hex()}"
    server = request.getfixturevalue(f"{request.param}_server")

    def at(port: int, timeout: float = TIMEOUT) -> Kept:
        url = server.url_at(port)
        if request.param == "postgres":
            return Kept(
                PostgresJournal(url, schema=name, timeout=timeout),
                PostgresStore(url, schema=name, timeout=timeout),
            )
        return Kept(
            NatsJournal(url, name=name, timeout=timeout),
            NatsStore(url, name=name, timeout=timeout),
        )

    return server.port, at


class Harmed:
    """Calls a journal through a proxy, and knows by another way what is stored."""

    def __init__(self, there: Kept, truth: Kept, seed: int) -> None:
        self.there, self.truth = there, truth
        self.rng = random.Random(seed)
        self.end = self.epoch = self.batch = 0
        self.sent: dict[tuple[int, int], None] = {}
        self.acknowledged: dict[int, int] = {}
        self.refused = 0

    async def call(self) -> None:
        """Do something, and take nothing but our own errors."""
        journal, store = self.there
        calls: list[Callable[[], Awaitable[Any]]] = [
            self._lease,
            *[self._append] * 5,
            self._read,
            lambda: journal.last("main"),
            lambda: journal.begin("main", Segment(self.end + 1, 1, "1", {}, 1.0)),
            lambda: journal.segments("main"),
            lambda: journal.snapshot("main", 0, b"state" * 500),
            lambda: journal.latest_snapshot("main"),
            lambda: store.put("keys.json", self.rng.randbytes(900)),
            lambda: store.get("keys.json"),
            lambda: store.names(),
            lambda: store.add("audit", [Note(self.rng.randbytes(8).hex(), b"{}" * 100)]),
            lambda: store.notes(None, 5),
        ]
        try:
            if not self.epoch:
                await self._lease()
            await self.rng.choice(calls)()
        except JournalError:
            self.refused += 1

    async def _lease(self) -> None:
        self.epoch = await self.there.journal.lease("main", "one", 600.0)

    async def _read(self) -> None:
        async for _ in self.there.journal.read("main", 1):
            pass

    async def _append(self) -> None:
        self.batch += 1
        count = self.rng.randint(1, 30)
        numbers = range(self.end + 1, self.end + count + 1)
        records = [Record(number, Advance(float(self.batch)), ()) for number in numbers]
        self.sent.update(dict.fromkeys((number, self.batch) for number in numbers))
        try:
            last = await self.there.journal.append("main", "one", self.epoch, numbers[0], records)
        except JournalError:
            # Nobody could say; what is stored says it.
            self.end, _ = await self.truth.journal.last("main")
            raise
        assert last == numbers[-1]
        self.acknowledged.update(dict.fromkeys(numbers, self.batch))
        self.end = last

    async def check(self) -> None:
        stored = {}
        async for entry in self.truth.journal.read("main", 1):
            assert isinstance(entry.record.input, Advance)
            stored[entry.record.sequence] = int(entry.record.input.now)
        assert self.acknowledged.items() <= stored.items()
        assert stored.items() <= self.sent.keys()


@pytest.mark.slow
def test_whatever_happens_to_connections_is_unavailability_and_loses_nothing(
    opened: tuple[int, Callable[..., Kept]],
) -> None:
    port, at = opened

    async def main() -> None:
        async with HarmingProxy(port, seed=7) as proxy:
            harmed = Harmed(at(proxy.port), at(port, 5.0), seed=8)
            try:
                for _ in range(CALLS):
                    await harmed.call()
                assert sum(proxy.harmed.values()) >= CALLS / 20
                assert all(proxy.harmed.values())
                assert harmed.refused > 0
                assert harmed.acknowledged, "nothing came through"
                # A connection that was harmed is not used again.
                assert proxy.connections >= sum(proxy.harmed.values())
                await harmed.check()
            finally:
                await harmed.there.close()
                await harmed.truth.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    "error",
    [OSError("gone"), TimeoutError(), EOFError("cut short"), ConnectionResetError("reset")],
    ids=lambda error: type(error).__name__,
)
def test_errors_below_a_driver_are_ours(
    opened: tuple[int, Callable[..., Kept]],
    error: Exception,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    port, at = opened

    async def main() -> None:
        kept = at(port, 5.0)
        await kept.store.put("a", b"1")

        async def fails(*_: object, **__: object) -> None:
            raise error

        with monkeypatch.context() as patch:
            for name in ("asyncpg.Connection.fetchrow", "nats.aio.client.Client.request"):
                patch.setattr(name, fails)
            for asked in (kept.store.get("a"), kept.journal.last("main")):
                with pytest.raises(JournalUnavailable):
                    await asked
        found = await kept.store.get("a")
        assert found is not None
        assert found.body == b"1"
        await kept.close()

    asyncio.run(main())
