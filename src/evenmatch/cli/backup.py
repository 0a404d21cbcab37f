"""`evenmatch backup`: copy the journal of a server that may be running, and check copies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from evenmatch.cli.progress import progress
from evenmatch.errors import ConfigError
from evenmatch.journals.backup import BackupContents, Say, back_up, check_backup, folder_of
from evenmatch.journals.copying import is_address
from evenmatch.journals.opening import check_address, is_shared, without_password
from evenmatch.server.runtime.process_setup import keep_files_private

STEPS = 100
CHECK_PASSES = 2
"""Reading and checking."""
COPY_PASSES = 3
"""Those, after copying."""
MOVE_PASSES = 5
"""Those, before writing and comparing."""


def backup(
    data: str | None = None,
    out: str | None = None,
    /,
    *,
    check: Path | None = None,
) -> None:
    """Copy a journal to a directory or to a database server, or check an earlier copy.

    The server may keep running: the copy is its journal at one moment. Before the command succeeds,
    it reads every page and checksum of the copy and stores a digest with it. Only you can read the
    copy, because journals name players. You can start a server on a copied directory with serve
    --data. An address must have no journal yet. Service keys are not copied: to bring them to an
    address, use evenmatch keys copy.

    For example:

        evenmatch backup data backups/monday
        evenmatch backup postgresql://evenmatch@db/games backups/monday
        evenmatch backup data postgresql://evenmatch@db/games
        evenmatch backup --check backups/monday

    Args:
        data: The server's data directory, or the address of its journal.
        out: A directory that does not exist yet, or an address (postgresql://..., nats://...) that
            has no journal yet.
        check: Check that this backup is still, bit for bit, what was written.
    """
    if check is not None:
        if data is not None:
            raise ConfigError("give either --check or DATA and OUT, not both")
        with _told("Checking", CHECK_PASSES) as say:
            copied = check_backup(check, say)
        print(f"{check} is what was written: {_contents(copied)}.")
        return
    if data is None or out is None:
        raise ConfigError(
            "name a data directory and where to copy it: evenmatch backup DATA OUT (see --help)"
        )
    keep_files_private()
    if is_address(out):
        _bring(data, out)
        return
    with _told("Backing up", COPY_PASSES) as say:
        copied = back_up(data, Path(out), say)
    print(f"{out} holds {_contents(copied)}; every checksum was read.")


def _bring(data: str, address: str) -> None:
    """Copy a journal to a server, by way of a copy in a file that is whole."""
    from evenmatch.journals.restoring import bring_to_server

    check_address(address)
    if not is_shared(address):
        raise ConfigError(
            "to copy a journal to a file, name a directory instead of a sqlite: address"
        )
    with TemporaryDirectory(prefix="evenmatch-") as folder, _told("Copying", MOVE_PASSES) as say:
        out = Path(folder) / "copy"
        copied = back_up(data, out, say)
        beside = {name: (out / name).read_bytes() for name in copied.beside}
        shards = bring_to_server(out / copied.file, address, beside, say)
    print(
        f"{without_password(address)} holds {_records(shards)}; every record was read there again."
    )
    if copied.keyed is True:
        keys_in = folder_of(data)
        how = (
            "make new ones with evenmatch keys add NAME --journal ADDRESS"
            if keys_in is None
            else f"evenmatch keys copy --data {keys_in} --journal ADDRESS"
        )
        print(
            f"The keys stayed behind; without --data the server needs some at the address, too: "
            f"{how}"
        )


def _contents(copied: BackupContents) -> str:
    return f"{_records(copied.shards)} in {copied.bytes:,} bytes"


def _records(shards: Mapping[str, int]) -> str:
    found = [
        f"{last:,} record{'' if last == 1 else 's'} of shard {shard}"
        for shard, last in shards.items()
    ]
    return " and ".join(found) or "no records"


@contextmanager
def _told(what: str, passes_in_all: int) -> Iterator[Say]:
    """Show a bar over the passes of the work."""
    passes: dict[str, int] = {}
    with progress(what, passes_in_all * STEPS) as step:

        def say(what: str, done: int, total: int) -> None:
            share = STEPS * done // max(1, total)
            for _ in range(passes.get(what, 0), share):
                step()
            passes[what] = max(share, passes.get(what, 0))

        yield say
