"""Copies a journal that a server may be writing to, and checks that the copy is whole.

The copy is one moment of the journal: SQLite's own backup reads under one transaction, so a server
that writes on is neither held up nor copied by halves. The copy is judged before it gets its name:
every page, every checksum, and that nothing is missing. What it then is, byte by byte, stands in
`backup.json` beside it, so that a flipped bit is found years later.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from evenmatch.errors import ConfigError, JournalCorrupt
from evenmatch.journals.copying import copy_to_file, is_address
from evenmatch.journals.head import JournalHead, is_intact, missing_record_error, sealer
from evenmatch.journals.opening import (
    check_address,
    folder_beside,
    is_shared,
    open_store,
    without_password,
)
from evenmatch.journals.reading import first_of, journal_of, kept_entries, read_only, shards_of
from evenmatch.journals.sqlite import FILE_NAME, head_of, lost_head_error, put_head
from evenmatch.journals.sqlite_file import (
    forgive_text,
    make_directory,
    transaction,
    translate_errors,
)

MANIFEST = "backup.json"
PART = FILE_NAME + ".part"
BESIDE = ("config/*.json", "config-*/*.json")
"""The configurations that came over HTTP: those of the first shard, and those of each other."""
KEYS_NAME = "keys.json"
"""The file of keys of a data directory; no backup holds it, since it opens doors."""
PAGES = 1_024
"""Pages copied between two calls of `say`: 4 MiB."""
BYTES = 2**20
SAY_EVERY = 1_000
"""Records checked between two calls of `say`."""

Say = Callable[[str, int, int], None]
"""Told what goes on, how much of it is done, and how much there is."""


class BackupContents(msgspec.Struct, frozen=True):
    """What a backup holds.

    Args:
        file: Name of the file.
        bytes: Its size.
        sha256: Its digest.
        shards: The last record by shard.
        beside: Digests of the configurations that came over HTTP, by file.
        keyed: Set if the server had keys, which the backup has not.
    """

    file: str
    bytes: int
    sha256: str
    shards: dict[str, int]
    beside: dict[str, str] = {}
    # Left out where it is not set, as in the manifests of earlier versions.
    keyed: Literal[True] | msgspec.UnsetType = msgspec.UNSET


def back_up(data: Path | str, out: Path, say: Say) -> BackupContents:
    """Copy the journal of a data directory into a new directory.

    Args:
        data: The data directory, or the address of a journal; its server may run.
        out: Where the copy goes; it may not hold anything yet.
        say: Told of the progress.

    Raises:
        ConfigError: There is no journal, or something is at `out` already.
        JournalUnavailable: The copy cannot be written.
        JournalCorrupt: The journal is damaged; nothing is left at `out` then.
    """
    source, folder = _source_of(str(data))
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ConfigError(f"{out} is not empty: name a directory that does not exist yet")
    was_there = out.exists()
    make_directory(out)
    part = out / PART
    try:
        try:
            if folder is None:
                copy_to_file(str(data), part, partial(say, "copying"))
            else:
                _copy(Path(source), part, say)
            shards = _judge(part, say)
        except JournalCorrupt as error:
            # It is seen in the copy, which is not kept: what is damaged is the original.
            raise JournalCorrupt(str(error).replace(str(part), source)) from error
        # After the journal: each of them was written before the journal heard of it.
        keyed: Literal[True] | msgspec.UnsetType = msgspec.UNSET
        if folder is None:
            beside, has_keys = _fetch_beside(str(data), out, say)
        else:
            beside, has_keys = _copy_beside(folder, out, say), (folder / KEYS_NAME).exists()
        if has_keys:
            keyed = True
        size, digest = part.stat().st_size, _digest(part, say)
        copied = BackupContents(FILE_NAME, size, digest, shards, beside, keyed)
        part.rename(out / FILE_NAME)
        _write(out / MANIFEST, _written(copied))
    except BaseException:
        for left in (*out.glob(f"{PART}*"), *_beside(out), out / FILE_NAME, out / MANIFEST):
            left.unlink(missing_ok=True)
        for left in out.iterdir():
            left.rmdir()
        if not was_there:
            out.rmdir()
        raise
    return copied


def _source_of(place: str) -> tuple[str, Path | None]:
    """Return how a source is called, and the folder beside it; None if it is on a server."""
    folder = folder_of(place)
    if folder is None:
        return without_password(place), None
    path = Path(place.partition(":")[2] if is_address(place) else place)
    return str(journal_of(path)), folder


def folder_of(place: str) -> Path | None:
    """Return where keys and configurations of a journal are; None if they are on its server.

    A file that no server had in a data directory has them in a folder of its own.

    Raises:
        ConfigError: It is an address that means no journal.
    """
    if is_address(place):
        check_address(place)
        if is_shared(place):
            return None
        place = place.partition(":")[2]
    path = Path(place)
    if path.is_dir():
        return path
    beside = folder_beside(f"sqlite:{path}")
    return path.parent if path.name == FILE_NAME and not beside.is_dir() else beside


def had_keys(folder: Path) -> bool:
    """Return whether a folder is a backup of a server that had keys."""
    try:
        copied = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=BackupContents)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return False
    return copied.keyed is True


def check_backup(out: Path, say: Say) -> BackupContents:
    """Check that a backup is byte for byte what was written.

    Raises:
        ConfigError: There is no backup.
        JournalCorrupt: It has changed since.
    """
    manifest, path = out / MANIFEST, out / FILE_NAME
    try:
        body = manifest.read_bytes()
        copied = msgspec.json.decode(body, type=BackupContents)
        size = path.stat().st_size
    except FileNotFoundError as error:
        raise ConfigError(f"there is no backup at {out}: {error.filename} is missing") from None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise JournalCorrupt(f"{manifest} is damaged: restore another copy") from None
    if copied.file != FILE_NAME or body != _written(copied):
        raise JournalCorrupt(f"{manifest} is damaged: restore another copy")
    if size != copied.bytes or _digest(path, say) != copied.sha256:
        raise JournalCorrupt(
            f"{path} is not what was written, or a server has run on it since: restore another copy"
        )
    for name, digest in copied.beside.items():
        if not (out / name).is_file() or _digest(out / name, say) != digest:
            raise JournalCorrupt(f"{out / name} is not what was written: restore another copy")
    if _judge(path, say) != copied.shards:
        raise JournalCorrupt(f"{manifest} is damaged: restore another copy")
    return copied


def _copy(source: Path, part: Path, say: Say) -> None:
    with (
        read_only(source) as connection,
        translate_errors(part),
        closing(sqlite3.connect(part, isolation_level=None)) as target,
    ):
        # One transaction for all pages: without it, each commit of the server would begin the
        # copy anew, and under load it would never end.
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM heads").fetchone()
        connection.backup(
            target, pages=PAGES, progress=lambda _, left, all_: say("copying", all_ - left, all_)
        )
        # A copy needs no log of its own: it is one file, and nobody writes to it.
        target.execute("PRAGMA journal_mode = DELETE")
        forgive_text(target)
        with transaction(target):
            for shard, head in _heads(target).items():
                # Its owner goes on with the original.
                put_head(target, shard, msgspec.structs.replace(head, expires=0.0))
    with part.open("rb") as file:
        os.fsync(file.fileno())


def _beside(folder: Path) -> list[Path]:
    """Return the files of the configurations beside a journal."""
    return sorted(path for pattern in BESIDE for path in folder.glob(pattern))


def _copy_beside(data: Path, out: Path, say: Say) -> dict[str, str]:
    """Copy the configurations beside the journal; return their digests."""
    digests = {}
    for path in _beside(data):
        name = str(path.relative_to(data))
        make_directory((out / name).parent)
        _write(out / name, path.read_bytes())
        digests[name] = _digest(out / name, say)
    return digests


def _fetch_beside(address: str, out: Path, say: Say) -> tuple[dict[str, str], bool]:
    """Write the configurations beside a journal on a server; and say if it has keys.

    Raises:
        JournalError: The server does not answer, or one of them is damaged.
    """

    async def fetched() -> tuple[dict[str, bytes], bool]:
        store = open_store(address, is_read_only=True)
        try:
            found = {}
            for name in await store.names("config"):
                is_ours = any(fnmatchcase(name, pattern) for pattern in BESIDE)
                if is_ours and (document := await store.get(name)) is not None:
                    found[name] = document.body
            return found, await store.get(KEYS_NAME) is not None
        finally:
            await store.close()

    found, has_keys = asyncio.run(fetched())
    digests = {}
    for name, body in found.items():
        make_directory((out / name).parent)
        _write(out / name, body)
        digests[name] = _digest(out / name, say)
    return digests, has_keys


def _heads(connection: sqlite3.Connection) -> dict[str, JournalHead]:
    """Return the heads of all shards.

    Raises:
        JournalCorrupt: One is damaged, or missing where there are records.
    """
    names, shard = list(shards_of(connection)), ""
    # From name to name, not over all records.
    following = "SELECT min(shard) FROM records WHERE shard > ?"
    heads: dict[str, JournalHead] = {}
    while True:
        for name in names:
            head = head_of(connection, name)
            if head is None:
                raise lost_head_error(name)
            heads[name] = head
        shard = connection.execute(following, (shard,)).fetchone()[0]
        if shard is None:
            return heads
        names = [shard]


def _judge(path: Path, say: Say) -> dict[str, int]:
    """Return the last record by shard of a journal that is whole.

    Raises:
        JournalCorrupt: It is not; the sentence says where.
    """
    with read_only(path) as connection:
        found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if found != "ok":
            raise JournalCorrupt(f"{path} is damaged ({found}): restore another copy")
        shards = {shard: head.last_seq for shard, head in _heads(connection).items()}
        for shard, last in shards.items():
            _judge_shard(connection, shard, last, say)
    return shards


def _judge_shard(connection: sqlite3.Connection, shard: str, last: int, say: Say) -> None:
    """Check every record, snapshot and segment of a shard."""
    seal, readable = sealer(shard), -1
    for table in ("snapshots", "segments"):
        for seq, wall, crc, body in connection.execute(
            f"SELECT seq, wall, crc, body FROM {table} WHERE shard = ? ORDER BY seq DESC", (shard,)
        ):
            if not is_intact(seal, seq, wall, crc=crc, body=body):
                raise JournalCorrupt(
                    f"in {table} of shard {shard!r}, what begins at record {seq} fails its "
                    "checksum: restore another copy"
                )
            readable = seq if table == "snapshots" else readable
    first = first_of(connection, shard)
    if first is None:
        if last and readable < last:
            raise missing_record_error(shard, 1, last)
        return
    if first > max(readable, 0) + 1 and last:
        raise missing_record_error(shard, first - 1, last)
    seq = first - 1
    for entry in kept_entries(connection, shard, last):
        seq = entry.record.sequence
        if seq % SAY_EVERY == 0:
            say("checking", seq - first, last - first + 1)
    if seq != last:
        raise missing_record_error(shard, seq + 1, last)


def _digest(path: Path, say: Say) -> str:
    found, total, done = hashlib.sha256(), path.stat().st_size, 0
    with path.open("rb") as file:
        while block := file.read(BYTES):
            found.update(block)
            done += len(block)
            say("reading", done, total)
    return found.hexdigest()


def _written(copied: BackupContents) -> bytes:
    """Return the manifest as it is written: any other spelling is damage."""
    return msgspec.json.format(msgspec.json.encode(copied), indent=1) + b"\n"


def _write(path: Path, body: bytes) -> None:
    with path.open("wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())
