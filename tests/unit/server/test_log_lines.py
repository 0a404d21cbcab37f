"""A log that cannot be written costs lines, and nothing else."""

import asyncio
import errno
import io
import json
from collections.abc import Sequence

import pytest

from evenmatch.engine.records import Record
from evenmatch.errors import JournalUnavailable
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.inputs import Enqueue
from evenmatch.model.queue import Queue
from evenmatch.server.runtime.logs import LineWriter, log
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.runtime import Runtime
from evenmatch.testing import new_ticket
from tests.waiting import until


class FullDisk(io.StringIO):
    """A file that takes nothing while its disk is full."""

    is_full = False
    room: int | None = None
    """Writes for which there is room, two a line; None: for all."""

    def write(self, text: str) -> int:
        if self.is_full or self.room == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        if self.room is not None:
            self.room -= 1
        return super().write(text)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> FullDisk:
    """Return the file that the log is written to."""
    made = FullDisk()
    monkeypatch.setattr(log, "_logger", LineWriter(made))
    return made


def test_lines_that_cannot_be_written_are_counted(disk: FullDisk) -> None:
    log.info("first")
    disk.is_full = True
    log.error("second")
    log.info("third")
    disk.is_full = False
    log.info("fourth")
    log.info("fifth")

    told = [json.loads(line) for line in disk.getvalue().splitlines()]
    events = [each["event"] for each in told]
    assert events == ["first", "fourth", "log_lines_lost", "fifth"]
    assert told[2]["lines_at_most"] == 2


def test_lines_are_counted_on_while_there_is_no_room_to_tell_how_many(disk: FullDisk) -> None:
    disk.is_full = True
    for _ in range(3):
        log.error("lost")
    disk.is_full = False
    disk.room = 2
    log.info("one line fits, and not the one after it")
    disk.room = None
    log.info("all is well")

    told = [json.loads(line) for line in disk.getvalue().splitlines()]
    assert [each["lines_at_most"] for each in told if "lines_at_most" in each] == [4]


def test_log_that_is_closed_stops_nobody(disk: FullDisk) -> None:
    disk.close()
    log.error("somebody closed it")


class Journal(MemoryJournal):
    """A journal on the same disk as the log."""

    disk: FullDisk

    async def append(
        self, shard: str, owner: str, epoch: int, first_seq: int, records: Sequence[Record]
    ) -> int:
        if self.disk.is_full:
            raise JournalUnavailable("the disk is full: free some space")
        return await super().append(shard, owner, epoch, first_seq, records)


def test_server_comes_back_after_journal_and_log_were_full(disk: FullDisk) -> None:
    async def main() -> None:
        journal = Journal()
        journal.disk = disk
        async with asyncio.timeout(20.0):
            runtime = Runtime(ShardPlan((Queue("duel"),)), journal)
            await runtime.start()
            disk.is_full = True
            with pytest.raises(JournalUnavailable):
                await runtime.ask(Enqueue(runtime.now(), (new_ticket("ada"),)))
            disk.is_full = False
            await until(lambda: runtime.unready is None)
            await runtime.ask(Enqueue(runtime.now(), (new_ticket("bob"),)))
            await runtime.stop()

    asyncio.run(main())
