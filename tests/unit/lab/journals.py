"""Journals of a real engine on the disk, for those who read them back."""

import asyncio
import sqlite3
from collections.abc import Iterable
from pathlib import Path

import evenmatch
from evenmatch.engine.engine import Engine
from evenmatch.engine.records import FORMAT, Record, encode
from evenmatch.engine.shard import Push, Shard, Solve
from evenmatch.engine.state.snapshot import decode_snapshot, encode_snapshot, restore, take
from evenmatch.journals.base import Journal, Segment
from evenmatch.journals.head import sealer
from evenmatch.journals.sqlite import SqliteJournal
from evenmatch.model.inputs import Advance, Input, Settle
from evenmatch.policies.registry import parse_policy
from evenmatch.ratings.periods import rate_period

SHARD = "s0"


class Played:
    """A shard at work, as a server drives it: each job's plan comes `solve_time` later.

    Args:
        solve_time: Seconds until a plan arrives.
        shard: Its name; worlds of several shards may be written to one folder.
    """

    def __init__(self, solve_time: float = 0.125, *, shard: str = SHARD) -> None:
        self.shard = shard
        self.records: list[Record] = []
        self.starts = [1]
        self.snapshots: dict[int, bytes] = {}
        self._solve_time = solve_time
        self._plans: list[Settle] = []
        self._shard = Shard(new_engine(shard))

    @property
    def engine(self) -> Engine:
        return self._shard.engine

    def hand_in(self, *inputs: Input) -> "Played":
        """Hand inputs in, the plans that arrive before them first; all is durable at once."""
        for given in inputs:
            while self._plans and self._plans[0].now <= given.now:
                self._one(self._plans.pop(0))
            self._one(given)
        return self

    def wait(self, until: float) -> "Played":
        """Let time pass."""
        while self._plans and self._plans[0].now <= until:
            self._one(self._plans.pop(0))
        return self.hand_in(Advance(until))

    def stop(self) -> "Played":
        """Take the last snapshot, as a server that is stopped does."""
        self.snapshots[self.engine.tables.sequence] = encode_snapshot(take(self.engine))
        return self

    def start(self) -> "Played":
        """Recover from the newest snapshot and what came after it."""
        engine = new_engine(self.shard)
        memories = {}
        if self.snapshots:
            memories = dict(restore(engine, decode_snapshot(self.snapshots[max(self.snapshots)])))
        for record in self.records[engine.tables.sequence :]:
            engine.apply(record)
        engine.resume(engine.tables.now, memories)
        self.starts.append(len(self.records) + 1)
        self._plans.clear()
        self._shard = Shard(engine)
        return self

    def write(self, folder: Path, *, package: str = evenmatch.__version__) -> Path:
        """Write the journal and return its data directory."""

        async def fill() -> None:
            journal = SqliteJournal.open(folder, wall=lambda: 1e9)
            await self.store(journal, await journal.lease(self.shard, "me", 1e8), "me", package)
            await journal.close()

        asyncio.run(fill())
        return folder

    async def store(
        self, journal: Journal, epoch: int, owner: str, package: str = evenmatch.__version__
    ) -> None:
        """Append everything to a journal whose owner this is."""
        for first in self.starts:
            await journal.begin(self.shard, Segment(first, FORMAT, package, {}, 1e9))
        await journal.append(self.shard, owner, epoch, 1, self.records)
        for sequence, state in sorted(self.snapshots.items()):
            await journal.snapshot(self.shard, sequence, state)

    def _one(self, given: Input) -> None:
        for effect in self._shard.handle(given):
            self._hear(given, effect)
        taken = self._shard.take_records()
        self.records += taken
        for effect in self._shard.acknowledge(self.engine.tables.sequence):
            self._hear(given, effect)

    def _hear(self, given: Input, effect: object) -> None:
        if isinstance(effect, Solve):
            running, due = effect.running, given.now + self._solve_time
            plan = running.solve()
            self._plans.append(running.settle(plan, due))
            self._plans.sort(key=lambda each: each.now)
        else:
            assert isinstance(effect, Push) or effect.error is None or effect.to is None  # type: ignore[union-attr]


def new_engine(shard: str = SHARD) -> Engine:
    return Engine(lambda queue: parse_policy(queue.policy), shard=shard, rate=rate_period)


def rewrite(data: Path, records: Iterable[Record]) -> None:
    """Put other records in the place of those with their numbers, under right checksums."""
    seal = sealer(SHARD)
    connection = sqlite3.connect(data / "journal.db")
    with connection:
        for record in records:
            body = encode(record)
            crc = seal(record.sequence, 1e9, body)
            connection.execute(
                "UPDATE records SET crc = ?, body = ? WHERE seq = ?", (crc, body, record.sequence)
            )
    connection.close()


def delete_before(data: Path, sequence: int) -> None:
    """Delete the records before one, as keep_days does."""
    connection = sqlite3.connect(data / "journal.db")
    with connection:
        connection.execute("DELETE FROM records WHERE seq < ?", (sequence,))
    connection.close()
