"""Notes of engine time beside the journal, for times at which nothing is recorded.

Without a note, a server that restarts knows only when its last record was made. Players who had
waited for minutes without anybody coming or going would be young again: limits that widen would
shrink and deadlines would come late. So the time is written down beside the journal from time to
time while anybody waits, and at the end. It is no record, since nothing is decided by it; a note
that is lost costs what passed since the one before. A journal at an address holds the time itself,
see `time_records.py`.
"""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from zlib import crc32

import msgspec

from evenmatch.engine.state.state import Tables
from evenmatch.server.runtime.clock import resumed_at
from evenmatch.server.runtime.logs import log

FILE_NAME = "time.json"
EVERY = 5.0
"""Seconds between two notes."""


class TimeNote(msgspec.Struct, frozen=True):
    """An instant at which a server was running.

    Args:
        sequence: The last record before it.
        now: Engine time.
        wall: Unix time.
        crc: Checksum of these; None in notes of earlier versions. One wrong digit of the time
            would let all who wait grow old at once, and their deadlines pass.
    """

    sequence: int
    now: float
    wall: float
    crc: int | None = None

    def with_checksum(self) -> TimeNote:
        """Return the note with its checksum."""
        return msgspec.structs.replace(self, crc=self._sum())

    def is_intact(self) -> bool:
        """Return whether the note is what was written and makes sense."""
        if not (math.isfinite(self.now) and math.isfinite(self.wall)):
            return False
        return self.crc is None or self.crc == self._sum()

    def _sum(self) -> int:
        return crc32(f"{self.sequence} {self.now!r} {self.wall!r}".encode())


def resumes_at(folder: Path | None, tables: Tables, last_wall: float, wall: float) -> float:
    """Return where engine time goes on after a restart, by the last record and the last note.

    Args:
        folder: Where notes are; None has none.
        tables: As recovered.
        last_wall: Unix time of the last record.
        wall: Unix time now.
    """
    if not tables.sequence:
        return tables.now
    noted = None if folder is None else _read(folder / FILE_NAME)
    # A note of records that are not here belongs to another journal than this one: to the one that
    # a backup was put in the place of.
    if noted is not None and noted.sequence <= tables.sequence and noted.now > tables.now:
        return resumed_at(noted.now, max(noted.wall, last_wall), wall)
    return resumed_at(tables.now, last_wall, wall)


class TimeNotes:
    """The time notes of one server.

    Args:
        folder: The data directory; None keeps no notes.
        present: Returns what there is to note now, or None.
        every: Seconds between two notes.
    """

    def __init__(
        self, folder: Path | None, present: Callable[[], TimeNote | None], *, every: float = EVERY
    ) -> None:
        self._folder = folder
        self._present = present
        self._every = every
        self._is_broken = False

    async def watch(self) -> None:
        """Note the time again and again while any ticket waits."""
        while True:
            await asyncio.sleep(self._every)
            if (note := self._note()) is not None:
                await asyncio.to_thread(self._write, note)

    def end(self) -> None:
        """Note the time at the end, before the journal is closed."""
        if (note := self._note()) is not None:
            self._write(note)

    def _note(self) -> TimeNote | None:
        return None if self._folder is None else self._present()

    def _write(self, note: TimeNote) -> None:
        assert self._folder is not None
        path = self._folder / FILE_NAME
        part = path.with_suffix(".part")
        try:
            part.write_bytes(msgspec.json.encode(note.with_checksum()))
            os.replace(part, path)
            self._is_broken = False
        except OSError as error:
            if not self._is_broken:
                consequence = "players lose waiting time at a restart"
                log.error("time_not_noted", error=str(error), consequence=consequence)
            self._is_broken = True
            with suppress(OSError):
                part.unlink(missing_ok=True)


def _read(path: Path) -> TimeNote | None:
    """Return a note; None where there is none, or none that makes sense."""
    try:
        noted = msgspec.json.decode(path.read_bytes(), type=TimeNote)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return noted if noted.is_intact() else None
