"""The file of the SQLite journal: opens it, makes tables, runs threads, maps errors."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from io import FileIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar
from zlib import crc32

import msgspec

from evenmatch.engine.records import FORMAT
from evenmatch.errors import JournalCorrupt, JournalError, JournalUnavailable

APPLICATION_ID = 0x65766D6A
"""`evmj` in ASCII; tells our file from any other SQLite database."""

_SCHEMA = """
CREATE TABLE heads (
  shard TEXT PRIMARY KEY, owner TEXT NOT NULL, epoch INTEGER NOT NULL, expires REAL NOT NULL,
  last_seq INTEGER NOT NULL, last_wall REAL NOT NULL, crc INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE records (
  shard TEXT NOT NULL, seq INTEGER NOT NULL, wall REAL NOT NULL, crc INTEGER NOT NULL,
  body BLOB NOT NULL, PRIMARY KEY (shard, seq)
) WITHOUT ROWID;
CREATE TABLE segments (
  shard TEXT NOT NULL, seq INTEGER NOT NULL, wall REAL NOT NULL, crc INTEGER NOT NULL,
  body BLOB NOT NULL, PRIMARY KEY (shard, seq)
) WITHOUT ROWID;
CREATE TABLE snapshots (
  shard TEXT NOT NULL, seq INTEGER NOT NULL, wall REAL NOT NULL, crc INTEGER NOT NULL,
  body BLOB NOT NULL, PRIMARY KEY (shard, seq)
)
"""

_ADVICE: dict[int, tuple[type[JournalError], str]] = {
    sqlite3.SQLITE_BUSY: (
        JournalUnavailable,
        "is locked by another process: stop that process, or try again when it is done",
    ),
    sqlite3.SQLITE_FULL: (
        JournalUnavailable,
        "cannot grow, because the disk is full or bytes_max is reached: free some space",
    ),
    sqlite3.SQLITE_READONLY: (
        JournalUnavailable,
        "cannot be written: allow this user to write the file and its directory",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        JournalUnavailable,
        "cannot be opened: check that its directory exists and that this user may write there",
    ),
    sqlite3.SQLITE_IOERR: (
        JournalUnavailable,
        "cannot be read or written: see if the disk is full, or has errors in the system's log",
    ),
    sqlite3.SQLITE_NOTADB: (
        JournalCorrupt,
        "is not a journal: move the file away, or name another directory",
    ),
    sqlite3.SQLITE_CORRUPT: (
        JournalCorrupt,
        "is damaged: copy the whole directory for inspection, then restore an older copy",
    ),
    sqlite3.SQLITE_CONSTRAINT: (
        JournalCorrupt,
        "holds records beyond its own end: keep the file for inspection and restore a copy",
    ),
}
_OTHER = (JournalUnavailable, "cannot be used")

_T = TypeVar("_T")


class ConnectionThread:
    """A connection and the only thread that ever touches it."""

    def __init__(self, name: str, path: Path, connect: Callable[[], sqlite3.Connection]) -> None:
        self._path = path
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)
        try:
            self._connection = self._pool.submit(self._guarded, connect).result()
        except BaseException:
            self._pool.shutdown()
            raise

    async def run(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Do the work in this lane's thread, after all that was handed in before."""
        loop = asyncio.get_running_loop()
        job = partial(self._guarded, partial(work, self._connection))
        try:
            future = loop.run_in_executor(self._pool, job)
        except RuntimeError:
            raise JournalUnavailable(f"{self._path} was closed: open it again") from None
        return await future

    def close(self) -> None:
        """Close the connection once the work handed in is done; a second call does nothing."""
        with suppress(RuntimeError):
            self._pool.submit(self._connection.close)
        self._pool.shutdown()

    def _guarded(self, work: Callable[[], _T]) -> _T:
        with translate_errors(self._path):
            return work()


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into ours, with advice."""
    try:
        yield
    except sqlite3.Error as error:
        # The low byte is the primary code; the rest says more than the advice needs.
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        kind, advice = _ADVICE.get(code, _OTHER)
        raise kind(f"{path} {advice} ({error})") from error
    except UnicodeDecodeError as error:
        # A message of SQLite's that quotes a damaged name: Python cannot even say which.
        kind, advice = _ADVICE[sqlite3.SQLITE_CORRUPT]
        raise kind(f"{path} {advice} (a name in it is not text)") from error


def make_directory(directory: Path) -> None:
    """Make the directory and its parents if they are missing."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise JournalUnavailable(
            f"the directory {directory} cannot be created: {error.strerror}; name another one"
        ) from error


def ends_path(path: Path) -> Path:
    """Return the path of the witness; `rm journal.db*` takes it along."""
    return path.with_name(path.name + "-ends")


def examine(path: Path) -> None:
    """Refuse a journal that cannot be used, before opening it could change its files.

    Raises:
        JournalUnavailable: It is locked or cannot be read.
        JournalCorrupt: It is no journal, is damaged, or ends before what was acknowledged.
    """
    ends = load_ends(ends_path(path))

    def judge(connection: sqlite3.Connection) -> None:
        forgive_text(connection)
        _check_ends(path, ends, {} if _is_empty(connection, path) else _stored_ends(connection))

    if not path.exists():
        _check_ends(path, ends, {})
    with translate_errors(path):
        look(path, judge)


def connect(path: Path, *, busy_timeout: float, bytes_max: int | None) -> sqlite3.Connection:
    """Return a connection to the journal, which is made if the file is empty."""
    # Before the journal: another process may be appending to both.
    ends = load_ends(ends_path(path))
    connection = sqlite3.connect(path, timeout=busy_timeout, isolation_level=None)
    try:
        forgive_text(connection)
        is_new = _is_empty(connection, path)
        # Before anything is written.
        _check_ends(path, ends, {} if is_new else _stored_ends(connection))
        mode: str = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        if mode != "wal":
            raise JournalUnavailable(
                f"{path} is on a file system without shared memory (journal mode {mode!r}): keep "
                "the journal on a local disk"
            )
        connection.execute("PRAGMA synchronous = FULL")
        # Only macOS knows it: there, an ordinary fsync leaves the data in the drive's cache.
        connection.execute("PRAGMA fullfsync = ON")
        if bytes_max is not None:
            page_size = _number(connection, "PRAGMA page_size")
            connection.execute(f"PRAGMA max_page_count = {max(1, bytes_max // page_size)}")
        if is_new:
            _create(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def forgive_text(connection: sqlite3.Connection) -> None:
    """Let damaged text reach the checksum instead of stopping in the decoder."""
    connection.text_factory = lambda text: text.decode(errors="replace")


def _is_empty(connection: sqlite3.Connection, path: Path) -> bool:
    """Return whether the file has no content yet; refuse what is not a journal of ours."""
    application = _number(connection, "PRAGMA application_id")
    version = _number(connection, "PRAGMA user_version")
    if application == 0 and _number(connection, "SELECT count(*) FROM sqlite_master") == 0:
        return True
    if application != APPLICATION_ID:
        raise JournalCorrupt(
            f"{path} is a database of another program: move the file away, or name another "
            "directory"
        )
    if version > FORMAT:
        raise JournalCorrupt(
            f"{path} has format {version}, and this evenmatch knows formats up to {FORMAT}: use "
            "the version that wrote it, or a newer one"
        )
    return False


def _create(connection: sqlite3.Connection, path: Path) -> None:
    with transaction(connection):
        # Another process may have made the tables since we looked.
        if _is_empty(connection, path):
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")


def raise_format(connection: sqlite3.Connection, number: int) -> None:
    """Note that the journal may now hold what versions with older formats cannot read."""
    if _number(connection, "PRAGMA user_version") < number:
        connection.execute(f"PRAGMA user_version = {number:d}")


def _stored_ends(connection: sqlite3.Connection) -> dict[str, object]:
    return dict(connection.execute("SELECT shard, last_seq FROM heads"))


def _check_ends(path: Path, ends: dict[str, int], stored: dict[str, object]) -> None:
    """Refuse a journal that ends before a record that was acknowledged."""
    for shard, end in ends.items():
        last = stored.get(shard, 0)
        # Damage may have changed the type; the head's own checksum deals with that.
        if isinstance(last, int) and last < end:
            raise JournalCorrupt(
                f"{path} ends shard {shard!r} at record {last}, but records up to {end} were "
                f"acknowledged: {path.name}-wal was damaged or lost, or this is an older copy; "
                "nothing was changed, so copy the whole directory first, then restore a newer "
                f"copy, or delete {path.name}-ends to go on without those records"
            )


def _number(connection: sqlite3.Connection, statement: str) -> int:
    value: int = connection.execute(statement).fetchone()[0]
    return value


@contextmanager
def transaction(connection: sqlite3.Connection, mode: str = "IMMEDIATE") -> Iterator[None]:
    """Run the block in a transaction; `DEFERRED` reads one snapshot, `IMMEDIATE` writes."""
    connection.execute(f"BEGIN {mode}")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # SQLite itself may have rolled back already; the first error is the one to report.
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


# A look at a journal that changes none of its files, before SQLite may.
#
# SQLite takes a write-ahead log with a damaged frame for a shorter one, and whoever opens and
# closes the journal moves the rest into `journal.db` and deletes the log. With that goes what an
# expert could still have saved. So after an unclean end the journal is judged first through a
# second name for its file, a copy of its log, and a connection that may only read.

ATTEMPTS = 3
"""Looks at a journal that another process writes to meanwhile."""


def look(path: Path, judge: Callable[[sqlite3.Connection], None]) -> None:
    """Judge a journal whose log was left behind; without a log nothing is at stake.

    Args:
        path: The journal.
        judge: Raises what is wrong with it.
    """
    for _ in range(ATTEMPTS):
        before = state_of(path)
        if not before[1]:
            return
        try:
            _look_once(path, judge)
        except OSError:
            # No room or no right for a second name: opening it will say so, if it matters.
            return
        except Exception:
            # A look at files that changed meanwhile says nothing about the journal.
            if state_of(path) == before:
                raise
        else:
            return


def _look_once(path: Path, judge: Callable[[sqlite3.Connection], None]) -> None:
    with TemporaryDirectory(dir=path.parent, prefix=f"{path.name}-look-") as folder:
        other = Path(folder).resolve() / path.name
        # Not a copy: it may be large, and closing a second descriptor of the file would release
        # the locks that SQLite holds on it in this process.
        os.link(path, other)
        shutil.copyfile(_log(path), _log(other))
        connection = sqlite3.connect(f"{other.as_uri()}?mode=ro", uri=True, isolation_level=None)
        try:
            judge(connection)
        finally:
            connection.close()


def _log(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def state_of(path: Path) -> tuple[tuple[int, int], tuple[int, int] | None]:
    """Return size and time of change of the journal, and of its log, None if it is empty."""
    states = []
    for each in (path, _log(path)):
        try:
            found = each.stat()
        except OSError:
            states.append((0, 0))
        else:
            states.append((found.st_size, found.st_mtime_ns))
    return states[0], states[1] if states[1][0] else None


# A witness beside the SQLite journal: the last acknowledged sequence of each shard.
#
# SQLite takes the first damaged frame of its write-ahead log for the end of the log. So a changed
# bit in it, or its loss, takes back acknowledged batches without an error (seen: half of 300
# records), and inside the database nothing contradicts that. This file does.
#
# It is written after each commit and not forced to the disk. So it may lag behind the journal,
# and is then a weaker witness; it is never ahead of it, and so never accuses an intact journal.
# An unreadable witness counts as none.


class ShardEnds:
    """Notes the ends of shards in a file; one thread calls it.

    Args:
        path: The file; its first line is a checksum and a JSON object.
        known: What the file held.
    """

    def __init__(self, path: Path, known: Mapping[str, int]) -> None:
        self._path = path
        self._ends = dict(known)
        self._file: FileIO | None = None

    def note(self, shard: str, seq: int) -> None:
        """Write down that the records of a shard are stored up to `seq`."""
        self._ends[shard] = seq
        body = msgspec.json.encode(self._ends)
        # The batch is stored already; a witness that lags is no reason to refuse it.
        with suppress(OSError):
            if self._file is None:
                self._path.touch()
                self._file = FileIO(self._path, "r+b")
            self._file.seek(0)
            self._file.write(b"%08x %b\n" % (crc32(body), body))

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._file is not None:
            self._file.close()


def load_ends(path: Path) -> dict[str, int]:
    """Return the last sequence by shard, as far as the witness is there and intact.

    Raises:
        JournalUnavailable: The file may not be read.
    """
    try:
        line = path.read_bytes().partition(b"\n")[0]
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise JournalUnavailable(
            f"{path} cannot be read ({error.strerror}): allow this user to read and write it"
        ) from error
    body = line[9:]
    if line[:9] != b"%08x " % crc32(body):
        return {}
    return msgspec.json.decode(body, type=dict[str, int])


# Whether the files that are written are the ones that a restart would read.
#
# A process keeps writing to files that somebody has removed, renamed or put others in the place
# of, and everything seems well until it ends: then all that it had acknowledged since is gone. So
# the names are looked at with each batch, before anybody hears that it is stored.

PARTS = ("", "-wal", "-shm")
"""Ends of the names of the files that belong together while a journal is open."""


class FileIdentity:
    """Remembers which files a journal's names referred to; one thread calls it.

    Args:
        path: The journal's file.
    """

    def __init__(self, path: Path) -> None:
        self._paths = [path.with_name(path.name + part) for part in PARTS]
        self._known: dict[Path, tuple[int, int]] = {}

    def check(self) -> None:
        """Look at the names; what was not there before is remembered.

        Raises:
            JournalUnavailable: One of them stands for another file than before, or for none.
        """
        for path in self._paths:
            try:
                found = path.stat()
            except OSError as error:
                if path in self._known:
                    raise _moved(path, error.strerror or str(error)) from None
                continue
            here = found.st_dev, found.st_ino
            if self._known.setdefault(path, here) != here:
                raise _moved(path, "another file is in its place")


def _moved(path: Path, why: str) -> JournalUnavailable:
    return JournalUnavailable(
        f"{path} is not the file any more that this server writes ({why}): what was written there "
        f"would be lost at a restart, so nothing more is acknowledged; put the file back, or stop "
        f"the server and start it on a backup"
    )
