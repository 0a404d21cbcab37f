"""Journals that older versions wrote, and what is to be read from them for ever.

Each is the data directory of a real server that was killed at work: `NAME.tar.gz`, beside
`NAME.json.gz`, what its tickets and matches had come to.
"""

from __future__ import annotations

import asyncio
import gzip
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from evenmatch.engine.engine import Engine
from evenmatch.engine.state.state import find_match, find_ticket
from evenmatch.errors import Forgotten, NotMade, ProposalOver
from evenmatch.journals.sqlite import SqliteJournal
from evenmatch.server.runtime.recovery import ShardPlan, recover

HERE = Path(__file__).parent
NAMES = tuple(sorted(path.name.removesuffix(".tar.gz") for path in HERE.glob("*.tar.gz")))


def unpack(name: str, folder: Path) -> Path:
    """Return a data directory made of the stored one."""
    with tarfile.open(HERE / f"{name}.tar.gz") as stored:
        stored.extractall(folder, filter="data")
    return folder / "data"


def pack(name: str, data: Path) -> None:
    """Keep a data directory, and what is read from it today."""
    with tarfile.open(HERE / f"{name}.tar.gz", "w:gz") as stored:
        stored.add(data, "data", filter=_of_nobody)
    text = msgspec.json.encode(read(data))
    (HERE / f"{name}.json.gz").write_bytes(gzip.compress(text, mtime=0))


def forget_snapshots(data: Path) -> None:
    """Delete the snapshots of a data directory, so that every record has to be read."""
    with closing(sqlite3.connect(data / "journal.db")) as journal, journal:
        journal.execute("DELETE FROM snapshots")


def expected(name: str) -> dict[str, Any]:
    """Return what was read from a stored journal by the version that wrote it."""
    return dict(msgspec.json.decode(gzip.decompress((HERE / f"{name}.json.gz").read_bytes())))


def read(data: Path) -> dict[str, Any]:
    """Recover a data directory as a server does, and return all of its tickets and matches."""
    engine = asyncio.run(_recover(data))
    tables, shard = engine.tables, engine.shard
    tickets, matches = {}, {}
    for number in range(1, tables.counters.accepted + 1):
        name = f"{shard}-{number}"
        try:
            tickets[name] = msgspec.to_builtins(find_ticket(tables, shard, name))
        except Forgotten:
            tickets[name] = "forgotten"
    for number in range(1, tables.numbered + 1):
        name = f"{shard}-m{number}"
        try:
            matches[name] = msgspec.to_builtins(find_match(tables, shard, name))
        except (Forgotten, NotMade, ProposalOver) as error:
            matches[name] = type(error).__name__
    queues = {each: sorted(pool.tickets) for each, pool in engine.pools.items()}
    found = {"now": engine.now, "queues": queues, "tickets": tickets, "matches": matches}
    return dict(msgspec.json.decode(msgspec.json.encode(found)))


def _of_nobody(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


async def _recover(data: Path) -> Engine:
    journal = SqliteJournal.open(data)
    try:
        recovered = await recover(journal, ShardPlan((), may_be_open=True))
    finally:
        await journal.close()
    return recovered.engine
