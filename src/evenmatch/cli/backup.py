"""`evenmatch backup`: copy the journal of a server that may be running, and check copies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evenmatch.cli.progress import progress
from evenmatch.errors import ConfigError
from evenmatch.journals.backup import BackupContents, Say, back_up, check_backup
from evenmatch.server.runtime.process_setup import keep_files_private

STEPS = 100


def backup(
    data: str | None = None,
    out: Path | None = None,
    /,
    *,
    check: Path | None = None,
) -> None:
    """Copy the journal of a data directory, or check a copy that was made before.

    The server may keep running: the copy shows its journal at one moment. Every page and checksum
    of the copy is read before it counts, and its digest is stored with it. Only you can read the
    copy, because journals name players.

    For example:

        evenmatch backup data backups/monday
        evenmatch backup postgresql://evenmatch@db/games backups/monday
        evenmatch backup --check backups/monday

    Args:
        data: The server's data directory, or the address of its journal.
        out: A directory that does not exist yet.
        check: A backup to compare with what was written, bit for bit.
    """
    if check is not None:
        if data is not None:
            raise ConfigError("--check takes the place of DATA and OUT: give only one of them")
        with _told("Checking") as say:
            copied = check_backup(check, say)
        print(f"{check} is what was written: {_contents(copied)}.")
        return
    if data is None or out is None:
        raise ConfigError(
            "name a data directory and where to copy it: evenmatch backup DATA OUT (see --help)"
        )
    keep_files_private()
    with _told("Backing up") as say:
        copied = back_up(data, out, say)
    print(f"{out} holds {_contents(copied)}; every checksum was read.")


def _contents(copied: BackupContents) -> str:
    shards = [f"{last:,} records of shard {shard}" for shard, last in copied.shards.items()]
    return f"{' and '.join(shards) or 'no records'} in {copied.bytes:,} bytes"


@contextmanager
def _told(what: str) -> Iterator[Say]:
    """Show a bar over the passes of the work: copying, checking and reading."""
    passes: dict[str, int] = {}
    with progress(what, 3 * STEPS) as step:

        def say(what: str, done: int, total: int) -> None:
            share = STEPS * done // max(1, total)
            for _ in range(passes.get(what, 0), share):
                step()
            passes[what] = max(share, passes.get(what, 0))

        yield say
