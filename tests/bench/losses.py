"""What each setting of a journal on servers loses when machines die: acknowledged records.

`python -m tests.bench losses [--kills N]` prints the table. A process that is killed leaves what
it wrote in the memory of its machine, so kills say nothing about power that fails: for that,
servers must force what they acknowledge to the disk, as they do here.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, Literal

import asyncpg
import msgspec
from rich.console import Console
from rich.table import Table

from evenmatch.engine.records import Record
from evenmatch.errors import JournalUnavailable
from evenmatch.journals.postgres import PostgresJournal
from evenmatch.model.inputs import Advance
from tests.journal_faults import KilledServer
from tests.journal_servers import (
    NatsCluster,
    NatsServer,
    PostgresServer,
    nats_program,
    postgres_folder,
)

Promotion = Literal["advanced", "lagging", "beside"]
"""Who takes over from a primary: the standby that has most, the one that lags behind, or the
latter while the primary goes on."""
APPENDS = 50
"""Records before the fault, and as many that the standby misses."""
REACHED_MAX = 30.0


class Loss(msgspec.Struct, frozen=True):
    """What a fault cost.

    Args:
        setting: Of the servers.
        fault: What happened.
        acknowledged: Records.
        lost: Of these, how many the journal no longer has.
        refused: Set if the server stopped acknowledging instead.
    """

    setting: str
    fault: str
    acknowledged: int
    lost: int
    refused: bool = False


class Standbys:
    """A PostgreSQL primary with two standbys, and a journal on it.

    Args:
        synchronous: `synchronous_standby_names` of the primary.
    """

    def __init__(self, synchronous: str) -> None:
        self.primary = PostgresServer()
        self.standbys: list[PostgresServer] = []
        self._synchronous = synchronous

    def __enter__(self) -> Standbys:
        try:
            self.primary.start()
            for name in ("s1", "s2"):
                standby = PostgresServer(standby_of=self.primary, name=name)
                self.standbys.append(standby)
                standby.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for server in (*self.standbys, self.primary):
            server.close()

    async def synchronise(self) -> None:
        """Wait for both standbys, then bring the setting into force."""
        async with connected(self.primary) as connection:
            count = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
            await _until(connection, count, 2)
            name = self._synchronous
            await connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'")
            await connection.execute("SELECT pg_reload_conf()")
            await _until(connection, "SHOW synchronous_standby_names", name)

    async def cut_off(self, standby: PostgresServer) -> None:
        """Let a standby receive nothing more."""
        async with connected(standby) as connection:
            await connection.execute("ALTER SYSTEM SET primary_conninfo = ''")
            await connection.execute("SELECT pg_reload_conf()")
            await _until(connection, "SELECT count(*) FROM pg_stat_wal_receiver", 0)


@contextlib.asynccontextmanager
async def connected(server: PostgresServer) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(server.url)
    try:
        yield connection
    finally:
        await connection.close()


async def _until(connection: Any, question: str, wanted: object) -> None:
    until = time.monotonic() + REACHED_MAX
    while await connection.fetchval(question) != wanted:
        assert time.monotonic() < until, f"{question}: never {wanted}"
        await asyncio.sleep(0.05)


def promoted(synchronous: str, promotion: Promotion) -> Loss:
    """Let a standby take over from its primary; return what the journal lost.

    Args:
        synchronous: `synchronous_standby_names` of the primary, "" for none.
        promotion: Which standby, and whether the primary lives.
    """
    with Standbys(synchronous) as servers:
        acknowledged, refused, end = asyncio.run(_promote(servers, promotion))
    setting = f"PostgreSQL, two standbys, {synchronous or 'asynchronous'}"
    lost = max(0, acknowledged - end)
    return Loss(setting, FAULTS[promotion], acknowledged, lost, refused)


async def _promote(servers: Standbys, promotion: Promotion) -> tuple[int, bool, int]:
    """Return the last acknowledged record, whether more were refused, and where the heir ends."""
    await servers.synchronise()
    (lagging, advanced), journal = (
        servers.standbys,
        PostgresJournal(servers.primary.url, timeout=2.0),
    )
    heir = advanced if promotion == "advanced" else lagging
    epoch = await journal.lease("main", "one", 600.0)
    end, _ = await _append(journal, epoch, 0)
    if promotion == "beside":
        async with connected(heir) as connection:
            await connection.execute("SELECT pg_promote()")
        end, refused = await _append(journal, epoch, end)
    else:
        await servers.cut_off(lagging)
        end, refused = await _append(journal, epoch, end)
        servers.primary.kill()
        async with connected(heir) as connection:
            await connection.execute("SELECT pg_promote()")
    await journal.close()
    after = PostgresJournal(heir.url)
    try:
        return end, refused, (await after.last("main"))[0]
    finally:
        await after.close()


async def _append(journal: PostgresJournal, epoch: int, end: int) -> tuple[int, bool]:
    """Append records one by one; return the last acknowledged one, and whether one was not."""
    for sequence in range(end + 1, end + 1 + APPENDS):
        try:
            record = Record(sequence, Advance(float(sequence)), ())
            end = await journal.append("main", "one", epoch, sequence, [record])
        except JournalUnavailable:
            return end, True
    return end, False


def killed(setting: str, kills: int) -> Loss:
    """Kill a server, or the leader of three, amid appends; count what was lost or doubled.

    Args:
        setting: One of `KILLED`.
        kills: How often.
    """
    server = KILLED[setting]()
    try:
        server.start()
        counts = asyncio.run(KilledServer(server, server.open_journal, seed=7).run(kills))
    finally:
        server.close()
    what = "leader" if isinstance(server, NatsCluster) else "server"
    assert counts.stale_refused == counts.kills == kills
    lost = counts.lost + counts.misplaced
    return Loss(setting, f"{what} killed {kills} times", counts.records, lost)


KILLED: dict[str, Callable[[], PostgresServer | NatsServer | NatsCluster]] = {}
if postgres_folder() is not None:
    KILLED["PostgreSQL, one server"] = PostgresServer
if nats_program() is not None:
    KILLED["NATS, one server, sync_interval: always"] = NatsServer
    KILLED["NATS, three servers, sync_interval: always"] = lambda: NatsCluster("evenmatch-log")
FAULTS: dict[Promotion, str] = {
    "advanced": "primary killed, the standby promoted that has most",
    "lagging": "primary killed, a standby promoted that was cut off before",
    "beside": "a standby promoted while the primary goes on",
}
ANY_1, ANY_2 = "ANY 1 (s1, s2)", "ANY 2 (s1, s2)"
PROMOTIONS: tuple[tuple[str, Promotion], ...] = (
    ("", "lagging"),
    ("", "beside"),
    (ANY_1, "advanced"),
    (ANY_1, "lagging"),
    (ANY_1, "beside"),
    (ANY_2, "lagging"),
    (ANY_2, "beside"),
)


def main(argv: Sequence[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench losses", description=__doc__)
    parser.add_argument("--kills", type=int, default=20, help="of each server, amid appends")
    kills = parser.parse_args(argv).kills
    table = Table("setting", "fault", "acknowledged records", "of these lost", "then")
    for loss in _losses(kills):
        then = "stops acknowledging" if loss.refused else "goes on"
        table.add_row(loss.setting, loss.fault, f"{loss.acknowledged:,}", str(loss.lost), then)
    Console(width=150).print(table)
    return 0


def _losses(kills: int) -> Iterator[Loss]:
    yield from (killed(setting, kills) for setting in KILLED)
    if postgres_folder() is not None:
        yield from (promoted(*each) for each in PROMOTIONS)
