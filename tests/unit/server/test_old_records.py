"""A server that keeps few days: old records go, and a restart finds all that counts."""

import asyncio
import sqlite3
from pathlib import Path

from evenmatch.config.server import ServerSettings
from evenmatch.engine.state.snapshot import state_hash
from evenmatch.journals.backup import back_up
from evenmatch.journals.sqlite import SqliteJournal
from evenmatch.model.inputs import Enqueue
from evenmatch.model.queue import Queue
from evenmatch.server.runtime.clock import Clocks
from evenmatch.server.runtime.recovery import ShardPlan, recover
from evenmatch.server.runtime.runtime import Runtime
from evenmatch.testing import new_ticket

DAY = 86_400.0
PLAN = ShardPlan((Queue("duel"),), settings=ServerSettings(keep_days=2.0))


class Wall:
    now = 1e9

    def __call__(self) -> float:
        return self.now


async def play(data: Path, wall: Wall, names: list[str]) -> str:
    """Serve some players, a snapshot every ten records; return the digest of the end."""
    journal = SqliteJournal.open(data, wall=wall)
    runtime = Runtime(PLAN, journal, clocks=Clocks(wall=wall), snapshot_every=10)
    await runtime.start()
    for name in names:
        await runtime.ask(Enqueue(runtime.now(), (new_ticket(name),)))
    await runtime.stop()
    digest = state_hash(runtime.engine)
    await journal.close()
    return digest


async def again(data: Path, wall: Wall) -> str:
    """Return the digest of what a restart rebuilds."""
    journal = SqliteJournal.open(data, wall=wall)
    recovered = await recover(journal, PLAN, wall=wall)
    await journal.close()
    return state_hash(recovered.engine)


def first_kept(data: Path) -> int:
    connection = sqlite3.connect(data / "journal.db")
    (first,) = connection.execute("SELECT min(seq) FROM records").fetchone()
    connection.close()
    return int(first)


def test_restart_and_backup_find_all_that_counts_after_old_records_are_gone(tmp_path: Path) -> None:
    async def main() -> None:
        data, wall = tmp_path / "data", Wall()
        firsts = []
        for day in range(5):
            wall.now = 1e9 + day * DAY
            digest = await play(data, wall, [f"p{day}-{n}" for n in range(25)])
            firsts.append(first_kept(data))
            assert await again(data, wall) == digest
        assert firsts[:2] == [1, 1]
        assert firsts == sorted(firsts)
        assert firsts[-1] > 50
        back_up(data, tmp_path / "copy", lambda *_: None)
        assert await again(tmp_path / "copy", wall) == digest

    asyncio.run(main())
