"""What happens to journals on servers: connections are cut, and servers killed amid appends."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Self, TypeVar

import msgspec
import pytest

from evenmatch.engine.records import Record
from evenmatch.errors import JournalUnavailable, StaleOwner
from evenmatch.journals.base import Journal
from evenmatch.model.inputs import Advance
from tests.journal_servers import Killable

Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]
"""How a side is read from and written to."""


class Proxy:
    """Passes bytes on to a server; what else becomes of them, its kinds say.

    Args:
        port: Of the server, on this machine.
    """

    def __init__(self, port: int) -> None:
        self.port = 0
        self._target = port
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._ends: dict[asyncio.StreamWriter, None] = {}

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        # An end that still has something to say would wait for who does not listen any more.
        for end in self._ends:
            end.transport.abort()

    def ways(self, client: Ends, server: Ends) -> list[Coroutine[Any, Any, None]]:
        """Return what goes on between both sides; the connection ends with the first of them."""
        raise NotImplementedError

    def part(self, ends: Sequence[asyncio.StreamWriter]) -> None:
        """End a connection."""
        for end in ends:
            end.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._ends[writer] = None
        there, back = await asyncio.open_connection("127.0.0.1", self._target)
        self._ends[back] = None
        ways = [asyncio.create_task(each) for each in self.ways((reader, writer), (there, back))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            self.part((writer, back))


class CuttingProxy(Proxy):
    """Passes bytes on to a server, until it is told to cut the connection once.

    Once `cut_answers` is set, the next bytes of a client that `is_request` knows go to the server,
    and nothing comes back: when the server has answered, both ends are cut. With `cut_requests`,
    they are cut before the server hears of it.
    """

    def __init__(self, port: int, is_request: Callable[[bytes], bool]) -> None:
        super().__init__(port)
        self.cuts = 0
        self.cut_answers = False
        self.cut_requests = False
        self._is_request = is_request

    def ways(self, client: Ends, server: Ends) -> list[Coroutine[Any, Any, None]]:
        cut = asyncio.Event()
        return [self._forward(client[0], server[1], cut), self._answer(server[0], client[1], cut)]

    async def _forward(
        self, reader: asyncio.StreamReader, back: asyncio.StreamWriter, cut: asyncio.Event
    ) -> None:
        while block := await reader.read(2**16):
            if self.cut_requests and self._is_request(block):
                self.cut_requests = False
                self.cuts += 1
                return
            if self.cut_answers and self._is_request(block):
                self.cut_answers = False
                cut.set()
            back.write(block)
            await back.drain()

    async def _answer(
        self, there: asyncio.StreamReader, writer: asyncio.StreamWriter, cut: asyncio.Event
    ) -> None:
        while block := await there.read(2**16):
            if cut.is_set():
                self.cuts += 1
                return
            writer.write(block)
            await writer.drain()


TTL = 10.0
"""Length of the leases, on the clock that `KilledServer` moves on."""
ALL_EVERY = 20
"""Kills after which all records are compared, and not the newest alone."""
TRIES = 100
PAUSE = 0.1

_T = TypeVar("_T")


class KillCounts(msgspec.Struct):
    """What happened while a server was killed again and again.

    Args:
        kills: Of the server.
        acknowledged: Batches.
        records: Of these batches.
        lost: Of these records.
        misplaced: Records that were never sent with the number under which they are stored.
        unanswered: Batches of which nobody could say whether they were stored.
        stored_unanswered: Of these, those that were.
        stale_refused: Appends of an owner that had been replaced.
    """

    kills: int = 0
    acknowledged: int = 0
    records: int = 0
    lost: int = 0
    misplaced: int = 0
    unanswered: int = 0
    stored_unanswered: int = 0
    stale_refused: int = 0


class KilledServer:
    """Appends batches while the server is killed, and lets another owner take over each time.

    Every batch has a number of its own, which stands in each of its records. So it is seen
    whether an acknowledged batch is missing, and whether one is stored twice or elsewhere.

    Args:
        server: Runs.
        open_journal: Opens a journal on it that runs on this clock.
        seed: Of the lengths of batches, and of the instants of the kills.
    """

    def __init__(
        self, server: Killable, open_journal: Callable[[Callable[[], float]], Journal], seed: int
    ) -> None:
        self._server = server
        self._now = 0.0
        self._journals = [open_journal(lambda: self._now) for _ in range(2)]
        self._rng = random.Random(seed)
        # Sequence and number of each record that was sent, and the number by sequence of each
        # that was acknowledged.
        self._sent: set[tuple[int, int]] = set()
        self._acknowledged: dict[int, int] = {}
        self._number = 0
        self.counts = KillCounts()

    async def run(self, kills: int) -> KillCounts:
        """Kill the server so often, and check all that is stored after each time."""
        owner, end, known = 0, 0, 0
        epoch = await _patiently(lambda: self._journals[0].lease("main", "owner-0", TTL))
        for number in range(kills):
            killing = asyncio.create_task(self._kill_soon())
            await self._append_until(killing, owner, epoch, end)
            await killing
            await asyncio.to_thread(self._server.start)
            old, owner = (owner, epoch), 1 - owner
            epoch = await self._take_over(owner)
            # All of it now and then: to read it after each kill takes longer with each.
            first = 1 if number % ALL_EVERY == 0 else known + 1
            known, end = end, await _patiently(partial(self._check, self._journals[owner], first))
            with pytest.raises(StaleOwner):
                await _patiently(partial(self._append, *old, end))
            self.counts.stale_refused += 1
        await self._append(owner, epoch, end)
        await _patiently(partial(self._check, self._journals[owner], 1))
        for journal in self._journals:
            await journal.close()
        return self.counts

    async def _kill_soon(self) -> None:
        await asyncio.sleep(self._rng.uniform(0.05, 0.3))
        await asyncio.to_thread(self._server.kill)
        self.counts.kills += 1

    async def _append_until(
        self, killing: "asyncio.Task[None]", owner: int, epoch: int, end: int
    ) -> None:
        # Of several servers the others may go on.
        try:
            while not killing.done():
                end = await self._append(owner, epoch, end)
        except JournalUnavailable:
            self.counts.unanswered += 1

    async def _append(self, owner: int, epoch: int, end: int) -> int:
        self._number += 1
        number, last = self._number, end + self._rng.randint(1, 20)
        numbered = dict.fromkeys(range(end + 1, last + 1), number)
        records = [Record(sequence, Advance(float(number)), ()) for sequence in numbered]
        self._sent.update(numbered.items())
        journal = self._journals[owner]
        assert await journal.append("main", f"owner-{owner}", epoch, end + 1, records) == last
        self._acknowledged.update(numbered)
        self.counts.acknowledged += 1
        self.counts.records += len(numbered)
        return last

    async def _take_over(self, owner: int) -> int:
        """Let an owner watch the lease run out, and take it."""
        journal, name = self._journals[owner], f"owner-{owner}"
        with pytest.raises(StaleOwner):
            await _patiently(lambda: journal.lease("main", name, TTL))
        self._now += TTL
        return await _patiently(lambda: journal.lease("main", name, TTL))

    async def _check(self, journal: Journal, first: int) -> int:
        """Compare what is stored, from a record on, with what was sent and acknowledged.

        Returns:
            The sequence of the last record that is stored.
        """
        stored: dict[int, int] = {}
        async for entry in journal.read("main", first):
            assert isinstance(entry.record.input, Advance)
            stored[entry.record.sequence] = int(entry.record.input.now)
        before = {at: number for at, number in self._acknowledged.items() if at < first}
        acknowledged = self._acknowledged.items() - before.items()
        self.counts.lost += len(acknowledged - stored.items())
        self.counts.misplaced += len(stored.items() - self._sent)
        late = {stored[sequence] for sequence in stored.keys() - self._acknowledged.keys()}
        self.counts.stored_unanswered += len(late)
        # What was counted once is not counted again.
        self._acknowledged = before | stored
        return max(self._acknowledged, default=0)


async def _patiently(ask: Callable[[], Awaitable[_T]]) -> _T:
    """Ask again while the journal finds out that its connection is gone, and servers elect."""
    for _ in range(TRIES):
        try:
            return await ask()
        except JournalUnavailable:
            await asyncio.sleep(PAUSE)
    return await ask()
