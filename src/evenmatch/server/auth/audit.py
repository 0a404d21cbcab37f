"""The audit log: who did what when, as lines of JSON that are only ever appended.

One file of the data directory, `audit.jsonl`; when it is full it becomes `audit.1.jsonl`, and the
oldest of them is deleted. What can come by the thousand, and would push an operator's entry out,
has files of its own, `audit-often.jsonl`: cancelled tickets, failed authentications, keys that ask
too often. Entries are numbered across both and read in that order. They name keys by their ids and
never hold a key or a token. What comes in floods, and whatever was done to nothing (404, 410,
or GameLift's `NotFoundException`), is written once a minute for each caller, with a count.

Where the game has no data directory and its journal is on a server, the entries are notes beside
that journal, which all nodes write and read; the server of the journal numbers them.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from heapq import merge
from itertools import islice, pairwise
from pathlib import Path
from typing import BinaryIO

import msgspec

from evenmatch.journals.store import StoredNote
from evenmatch.journals.store_thread import StoreThread
from evenmatch.server.auth.principal import Principal
from evenmatch.server.runtime.logs import log

SERIES = ("audit", "audit-often")
"""Names of the files: what operators do, and what comes by the thousand."""
OFTEN_ACTIONS = frozenset({"DELETE /v1/tickets/{ticket}", "GameLift.StopMatchmaking"})
"""What goes into the second series, whoever does it."""
NOTHING = frozenset({404, 410})
"""Statuses of what was done to nothing."""
FILE_BYTES_MAX = 10_000_000
FILES_MAX = 5
"""Full files that are kept beside the one that is written."""
KEPT_IN_MEMORY = 1_000
PAGE_MAX = 500
FAILURE_PAUSE = 60.0
"""Seconds for which failures of one address and reason are only counted."""
TAIL_BYTES = 65_536
"""What is read of a file to find its last entry; no entry is as long."""
FAILURES_MAX = 100
"""Addresses and reasons that are written of in that time; what is beyond is counted together."""
TEXT_MAX = 256
UNNUMBERED = b'{"seq":0,'
"""How an entry begins that gets its number from a store."""


class AuditEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One entry of the audit log: something that somebody did.

    Args:
        seq: The number of the entry; each entry's is one higher than the last.
        at: Unix time.
        who: The name of the key or player that called, or the address of an unknown caller.
        action: What was done: method and pattern of a route, a call such as
            `GameLift.TagResource`, or a word for something else.
        kind: What the caller is: `service`, `player`, `local`, `nobody` or `server`.
        key: The id of the key.
        target: The path of the request, which says what it was done to, with the parameters that
            the operation reads: `/v1/config?dry_run=1` changed nothing. Of a GameLift call, the
            name, the ARN or the ticket's id in it.
        status: The HTTP status of the answer.
        address: Where the request came from.
        detail: Further details.
        count: How often it happened, if one entry stands for several.
    """

    seq: int
    at: float
    who: str
    action: str
    kind: str = ""
    key: str = ""
    target: str = ""
    status: int = 0
    address: str = ""
    detail: str = ""
    count: int = 1


class AuditPage(msgspec.Struct, frozen=True):
    """Entries of the audit log in order.

    Args:
        entries: The entries.
        next: Send this as `after` to get the next page.
    """

    entries: tuple[AuditEntry, ...]
    next: int


class RepeatedEntry(msgspec.Struct, frozen=True):
    """A frequent action, written once a minute; its fields are those of `AuditEntry`."""

    who: str
    action: str
    kind: str
    key: str = ""
    detail: str = ""


class AuditLog:
    """The audit log of one game.

    Args:
        folder: Its data directory; None keeps the last entries in memory.
        wall: Unix time.
        bytes_max: Size from which the file is put aside.
        store: Where the entries are kept instead, and numbered: beside a journal on a server.
    """

    def __init__(
        self,
        folder: Path | None,
        *,
        wall: Callable[[], float] = time.time,
        bytes_max: int = FILE_BYTES_MAX,
        store: StoreThread | None = None,
    ) -> None:
        self._folder = folder
        self._store = store
        self._wall = wall
        self._bytes_max = bytes_max
        self._recent = tuple([deque[AuditEntry](maxlen=KEPT_IN_MEMORY) for _ in SERIES])
        # Pages are read in threads; what is held under the lock is short, for the loop takes it.
        self._lock = threading.Lock()
        self._failures: dict[RepeatedEntry, int] = {}
        self._failures_since = 0.0
        self._is_broken = False
        # Found at the first entry: until then another server may still write.
        self._last: int | None = None

    def note(
        self, principal: Principal, action: str, *, is_nothing: bool = False, **more: object
    ) -> None:
        """Write down an action of a known caller.

        Args:
            principal: The caller.
            action: What was done.
            is_nothing: It was done to nothing, though its status may not say so.
            more: Fields of `AuditEntry`.
        """
        if is_nothing or more.get("status") in NOTHING:
            detail = "nothing was there"
            entry = RepeatedEntry(principal.name, action, principal.kind, principal.key, detail)
            self._gather(entry, **more)
            return
        told = {"kind": principal.kind, "key": principal.key, **more}
        self._write(principal.name, action, often=action in OFTEN_ACTIONS, **told)

    def note_server(self, action: str, detail: str) -> None:
        """Write down what the server noticed itself, such as a change of its keys."""
        self._write("server", action, kind="server", detail=detail[:4096])

    def note_failure(self, address: str, reason: str) -> None:
        """Write down that an address used an invalid credential."""
        self._gather(RepeatedEntry(address, "authentication failed", "nobody", detail=reason))

    def note_limited(self, principal: Principal) -> None:
        """Write down that a key exceeded its rate limit."""
        self._gather(
            RepeatedEntry(principal.name, "asked too often", principal.kind, principal.key)
        )

    def _gather(self, entry: RepeatedEntry, **more: object) -> None:
        """Write down what comes in floods: at once, and then once a minute with a count."""
        self.settle()
        if not self._failures:
            self._failures_since = self._wall()
        if entry in self._failures:
            self._failures[entry] += 1
            return
        if len(self._failures) >= FAILURES_MAX:
            others = RepeatedEntry("others", entry.action, "nobody", detail="various")
            self._failures[others] = self._failures.get(others, 0) + 1
            return
        self._failures[entry] = 0
        told = {"kind": entry.kind, "key": entry.key, "detail": entry.detail, **more}
        self._write(entry.who, entry.action, often=True, **told)

    def settle(self) -> None:
        """Write down the counts of a minute that is over, whether or not anything follows."""
        if not 0.0 <= self._wall() - self._failures_since < FAILURE_PAUSE:
            self.flush()

    def flush(self) -> None:
        """Write down how often the failures of the last minute were repeated."""
        for entry, count in self._failures.items():
            if count:
                self._write(**msgspec.structs.asdict(entry), count=count, often=True)
        self._failures.clear()

    def page(self, after: int | None, most: int = PAGE_MAX) -> AuditPage:
        """Return the entries after a number; without one, the last ones.

        Complexity:
            O(bytes of the files), so it runs in a thread.

        Raises:
            JournalUnavailable: The store does not answer.
        """
        if self._store is not None:
            notes = self._store.notes(after, most)
            return AuditPage(
                tuple(_entries(_numbered(each) for each in notes)),
                notes[-1].number if notes else after or 0,
            )
        with ExitStack() as files:
            kept = self._kept(files)
            if after is None:
                ending = tuple(deque(kept, maxlen=most))
                return AuditPage(ending, ending[-1].seq if ending else 0)
            entries = tuple(islice((entry for entry in kept if entry.seq > after), most))
        return AuditPage(entries, entries[-1].seq if entries else after)

    def _write(self, who: str, action: str, *, often: bool = False, **more: object) -> None:
        if self._store is not None:
            self._hand_over(self._store, SERIES[often], self._entry(0, who, action, more))
            return
        with self._lock:
            try:
                if self._last is None:
                    self._last = self._find_last()
                entry = self._entry(self._last + 1, who, action, more)
                self._last = entry.seq
                self._recent[often].append(entry)
                if self._folder is None:
                    return
                self._append(SERIES[often], msgspec.json.encode(entry) + b"\n")
                self._is_broken = False
            except OSError as error:
                if not self._is_broken:
                    log.error("audit_failed", error=str(error), consequence="entries are lost")
                self._is_broken = True

    def _entry(self, seq: int, who: str, action: str, more: Mapping[str, object]) -> AuditEntry:
        at, who = round(self._wall(), 3), who[:TEXT_MAX]
        return msgspec.convert(
            {"seq": seq, "at": at, "who": who, "action": action, **more}, AuditEntry
        )

    def _hand_over(self, store: StoreThread, series: str, entry: AuditEntry) -> None:
        """Let the store number and keep an entry, soon; say once that it does not."""
        store.note(series, b"{" + msgspec.json.encode(entry).removeprefix(UNNUMBERED))
        trouble = store.trouble
        if trouble is not None and not self._is_broken:
            consequence = "entries wait, and the oldest are lost when too many do"
            log.error("audit_failed", error=str(trouble), consequence=consequence)
        self._is_broken = trouble is not None

    def _append(self, series: str, line: bytes) -> None:
        path = self._paths(series)[-1]
        if path.exists() and path.stat().st_size + len(line) > self._bytes_max:
            newest_first = self._paths(series)[::-1]
            for newer, older in reversed(list(pairwise(newest_first))):
                if newer.exists():
                    newer.replace(older)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
        with os.fdopen(os.open(path, flags, 0o600), "a+b", buffering=0) as file:
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                # A line that a crash or a full disk has torn must not take the next one along.
                line = line if file.read(1) == b"\n" else b"\n" + line
            if (written := file.write(line)) < len(line):
                raise OSError(errno.ENOSPC, f"only {written} of {len(line)} bytes were written")

    def _paths(self, series: str) -> list[Path]:
        """Return the files of a series that may be there, oldest first."""
        if self._folder is None:
            return []
        aside = [f"{series}.{number}.jsonl" for number in range(FILES_MAX, 0, -1)]
        return [self._folder / name for name in (*aside, f"{series}.jsonl")]

    def _kept(self, files: ExitStack) -> Iterator[AuditEntry]:
        """Return all entries that are kept, oldest first.

        The files are opened together, so that none is missed when they are put aside meanwhile,
        and read up to where they ended then; `files` closes them.
        """
        with self._lock:
            if self._folder is None:
                found = [iter(tuple(recent)) for recent in self._recent]
            else:
                found = [self._read(files, series) for series in SERIES]
        return merge(*found, key=lambda entry: entry.seq)

    def _read(self, files: ExitStack, series: str) -> Iterator[AuditEntry]:
        """Open the files of a series, and return their entries, to be read up to their ends."""
        opened = [
            files.enter_context(path.open("rb")) for path in self._paths(series) if path.exists()
        ]
        sizes = [os.fstat(file.fileno()).st_size for file in opened]
        return _entries(
            line for file, size in zip(opened, sizes, strict=True) for line in _lines(file, size)
        )

    def _find_last(self) -> int:
        """Return the number of the last entry, from the ends of the newest files that have one."""
        return max([self._last_of(series) for series in SERIES])

    def _last_of(self, series: str) -> int:
        for path in reversed(self._paths(series)):
            if not path.exists():
                continue
            with path.open("rb") as file:
                file.seek(max(0, path.stat().st_size - TAIL_BYTES))
                lines = reversed(file.read(TAIL_BYTES).splitlines())
            if (entry := next(_entries(lines), None)) is not None:
                return entry.seq
        return 0


def _numbered(note: StoredNote) -> bytes:
    """Return the line of an entry that a store has numbered."""
    return b'{"seq":%d,' % note.number + note.body[1:]


def _lines(file: BinaryIO, size: int) -> Iterator[bytes]:
    """Yield the lines of a file's first bytes."""
    for line in file:
        size -= len(line)
        if size < 0:
            return
        yield line


def _entries(lines: Iterable[bytes]) -> Iterator[AuditEntry]:
    """Yield the entries of lines; torn and foreign ones are passed over."""
    for line in lines:
        try:
            yield msgspec.json.decode(line, type=AuditEntry)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
