"""The power fails while a journal writes: what was forced to the disk stays, the rest may not.

After an append has been acknowledged, its bytes are on the disk; a copy taken then is what the disk
holds for certain. Another copy, taken at a random moment of the next append, shows what was on its
way. A loss of power leaves any of the sectors of 512 bytes in which the two differ, each old or
new, and the log cut anywhere behind what was certain.

Where the witness tells of the batch, the batch was forced to the disk before, and only the witness
may be torn. Where SQLite has begun its log anew between the copies, the new one may only be there
when the database was forced to the disk before: such a pair says nothing and is left out.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import shutil
import time
from pathlib import Path
from typing import NamedTuple

from evenmatch.engine.records import FORMAT, Record
from evenmatch.errors import JournalError
from evenmatch.journals.base import Segment
from evenmatch.journals.sqlite import SqliteJournal
from evenmatch.model.events import Configured
from evenmatch.model.inputs import Configure
from evenmatch.model.queue import Queue
from tests.attack.report import Row

SHARD = "s0"
SECTOR = 512
LOG_HEADER = 32
"""Bytes that tell one log of SQLite's from the next."""
WITNESS = "journal.db-ends"
FILES = (WITNESS, "journal.db", "journal.db-wal")
"""The witness first: what is read after it was forced to the disk before it was written."""
BATCH_MOST = 8
OF_A_FOLDER = 200
"""Losses of one journal before another is begun."""

Files = dict[str, bytes]


class Loss(NamedTuple):
    """What a loss of power left: records that are there, and those that had to be."""

    found: int | None
    acknowledged: int
    under_way: int

    @property
    def is_good(self) -> bool:
        """Return whether all that was acknowledged is there, and of a batch all or nothing."""
        return self.found in (self.acknowledged, self.acknowledged + self.under_way)


def power(folder: Path, seconds: float) -> list[Row]:
    """Let the power fail for so many seconds."""
    rng, end, losses = random.Random(int(seconds)), time.monotonic() + seconds, list[Loss]()
    number = 0
    while time.monotonic() < end:
        number += 1
        losses += asyncio.run(_one_journal(folder / str(number), rng, end))
    bad = [each for each in losses if not each.is_good]
    kept = sum(each.found == each.acknowledged + each.under_way for each in losses)
    refused = sum(each.found is None for each in losses)
    acknowledged = sum(each.acknowledged for each in losses)
    return [
        Row("power", "losses of power", len(losses), "> 0", bool(losses)),
        Row("power", "acknowledged records looked for", acknowledged, "(told)", True),
        Row("power", "lost, doubled or half a batch", len(bad), "0", not bad),
        Row("power", "journals that were refused", refused, "0", not refused),
        Row("power", "batches under way that were kept", kept, "(told)", True),
    ]


async def _one_journal(folder: Path, rng: random.Random, end: float) -> list[Loss]:
    """Append and fail; the journal itself goes on, only copies of it are damaged."""
    folder.mkdir(parents=True)
    journal = SqliteJournal.open(folder)
    epoch = await journal.lease(SHARD, "me", 1e8)
    await journal.begin(SHARD, Segment(1, FORMAT, "0", {}, 0.0))
    losses: list[Loss] = []
    last = await journal.append(SHARD, "me", epoch, 1, [_record(1)])
    while len(losses) < OF_A_FOLDER and time.monotonic() < end:
        certain = _read(folder)
        count = rng.randint(1, BATCH_MOST)
        batch = [_record(last + n, rng.randint(1, 40)) for n in range(1, count + 1)]
        append = asyncio.create_task(journal.append(SHARD, "me", epoch, last + 1, batch))
        await asyncio.sleep(rng.choice((0.0, 0.0002, 0.0005, 0.001, 0.002)))
        # Every so often the batch is done: then all of it is certain but not yet acknowledged.
        under_way = _read(folder)
        acknowledged, last = last, await append
        if _log_of(certain) == _log_of(under_way):
            left = folder.with_name(f"{folder.name}-left")
            is_forced = certain.get(WITNESS) != under_way.get(WITNESS)
            if is_forced:
                certain = {**under_way, WITNESS: certain.get(WITNESS, b"")}
                acknowledged, count = last, 0
            found = await _found(left, _mixed(certain, under_way, rng))
            losses.append(Loss(found, acknowledged, count))
    await journal.close()
    return losses


def _record(sequence: int, queues: int = 1) -> Record:
    """Return a record that tells of its number, small or large."""
    named = tuple(Queue(f"q{n}", policy="greedy") for n in range(queues))
    return Record(sequence, Configure(float(sequence), named), (Configured(),))


def _read(folder: Path) -> Files:
    found: Files = {}
    for name in FILES:
        with contextlib.suppress(FileNotFoundError):
            found[name] = (folder / name).read_bytes()
    return found


def _log_of(files: Files) -> bytes:
    return files.get("journal.db-wal", b"")[:LOG_HEADER]


def _mixed(certain: Files, under_way: Files, rng: random.Random) -> Files:
    """Return what a loss of power may leave of the files."""
    return {name: _torn(certain.get(name, b""), under_way[name], rng) for name in under_way}


def _torn(old: bytes, new: bytes, rng: random.Random) -> bytes:
    share = rng.choice((0.0, 0.1, 0.5, 0.9, 1.0))
    length = max(len(old), rng.randint(len(old), max(len(old), len(new))))
    if rng.random() < 0.5:
        length = max(len(old), len(new))
    torn = bytearray(old.ljust(length, b"\0"))
    for at in range(0, length, SECTOR):
        part = new[at : at + SECTOR]
        if part != old[at : at + SECTOR] and rng.random() < share:
            torn[at : at + len(part)] = part
    return bytes(torn[:length])


async def _found(folder: Path, files: Files) -> int | None:
    """Return how many records a new start finds in files; None if it refuses them."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    try:
        journal = SqliteJournal.open(folder)
        try:
            numbers = [entry.record.sequence async for entry in journal.read(SHARD, 1)]
        finally:
            await journal.close()
    except JournalError:
        return None
    return len(numbers) if numbers == list(range(1, len(numbers) + 1)) else None
