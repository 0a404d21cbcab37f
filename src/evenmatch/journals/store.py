"""The port to what a game keeps beside its journal: documents, and a log of notes.

Documents are small and named: the keys, the configurations that came over HTTP, the secret of
guests. Each has a revision, and who changes one says which revision they have seen, so that of two
who change it at once one is told to look again. Notes are numbered in the order in which they are
stored, and the oldest give way.

`evenmatch.testing.check_store` proves that an adapter keeps these promises.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from typing import Protocol
from zlib import crc32

import msgspec

from evenmatch.errors import ConfigError, JournalCorrupt, JournalUnavailable

NAME_PATTERN = r"[A-Za-z0-9_-]+([./][A-Za-z0-9_-]+){0,3}"
BYTES_MAX = 16 * 2**20
"""Size of a document."""
NOTES_KEPT = 100_000
"""Notes of a series that are kept at least; the oldest of those beyond give way."""
NOTE_BYTES_MAX = 65_536
MISSING = ""
"""The revision of a document that is not there."""


class Document(msgspec.Struct, frozen=True):
    """A document as it is stored.

    Args:
        revision: Another one after each change; what it is made of is the adapter's business.
        body: What was put.
    """

    revision: str
    body: bytes


class Note(msgspec.Struct, frozen=True, gc=False):
    """A note before it is stored.

    Args:
        id: Tells it from all others, so that one whose answer was lost can be added again.
        body: At most `NOTE_BYTES_MAX` bytes.
    """

    id: str
    body: bytes


class StoredNote(msgspec.Struct, frozen=True, gc=False):
    """A note and its number; numbers rise through all series."""

    number: int
    body: bytes


class Store(Protocol):
    """What a game keeps beside its journal, where all its servers see it."""

    async def get(self, name: str) -> Document | None:
        """Return a document, None if there is none.

        Raises:
            JournalCorrupt: It is not what was put.
            JournalUnavailable: The storage does not answer.
        """
        ...

    async def put(self, name: str, body: bytes, expected: str | None = None) -> str | None:
        """Put a document in the place of another one, durably.

        Args:
            name: Of letters, digits, hyphens and underscores, in parts behind dots and slashes.
            body: At most `BYTES_MAX` bytes.
            expected: The revision that is to be replaced, `MISSING` for none; None takes any.

        Returns:
            The new revision; None if another one than the expected is there: nothing was changed.

        Raises:
            JournalUnavailable: The storage does not take it, or nobody can say whether it did.
        """
        ...

    async def delete(self, name: str) -> None:
        """Forget a document; one that is not there is forgotten already."""
        ...

    async def names(self, prefix: str = "") -> list[str]:
        """Return the names that begin so, in order."""
        ...

    async def add(self, series: str, notes: Sequence[Note]) -> None:
        """Store notes at the end of a series; one that was added before is not added twice.

        Raises:
            JournalUnavailable: Some may not be stored; add the same ones again.
        """
        ...

    async def notes(self, after: int | None, most: int) -> list[StoredNote]:
        """Return the first notes of all series after a number; without one, the last of all."""
        ...

    async def close(self) -> None:
        """Release connections; whatever is asked later is refused."""
        ...


def check_name(name: str) -> None:
    """Refuse what cannot name a document or a series.

    Raises:
        ConfigError: It cannot.

    >>> check_name("config/7.json")
    """
    if len(name) > 100 or re.fullmatch(NAME_PATTERN, name) is None:
        raise ConfigError(
            "a document's name has at most 100 letters, digits, hyphens and underscores, in up to "
            f"4 parts behind dots and slashes, got {name[:120]!r}"
        )


def check_body(name: str, body: bytes) -> None:
    """Refuse a document that is too large.

    Raises:
        ConfigError: It is.
    """
    check_name(name)
    if len(body) > BYTES_MAX:
        raise ConfigError(f"{name} may have at most {BYTES_MAX:,} bytes, got {len(body):,}")


def check_notes(series: str, notes: Sequence[Note]) -> None:
    """Refuse notes that are too large.

    Raises:
        ConfigError: One is.
    """
    check_name(series)
    for note in notes:
        if len(note.body) > NOTE_BYTES_MAX:
            raise ConfigError(
                f"a note may have at most {NOTE_BYTES_MAX:,} bytes, got {len(note.body):,}"
            )


def seal_document(name: str, body: bytes) -> int:
    """Return the checksum of a document, which covers its name."""
    return crc32(body, crc32(name.encode()))


def changed_document_error(name: str, where: str) -> JournalCorrupt:
    """Return the error for a document that is not as it was stored."""
    return JournalCorrupt(
        f"{name} in {where} fails its checksum: keep what is there for inspection and restore a "
        "copy"
    )


class StoredMemory(msgspec.Struct):
    """The contents of a store in memory."""

    documents: dict[str, tuple[int, int, bytes]] = msgspec.field(default_factory=dict)
    series: dict[str, deque[StoredNote]] = msgspec.field(default_factory=dict)
    ids: dict[str, None] = msgspec.field(default_factory=dict)
    revision: int = 0
    number: int = 0


class MemoryStore:
    """A store that lasts as long as its process.

    Args:
        shelf: What another one stored.
    """

    def __init__(self, shelf: StoredMemory | None = None) -> None:
        self.shelf = StoredMemory() if shelf is None else shelf
        self._is_closed = False

    async def get(self, name: str) -> Document | None:
        """Return a document, None if there is none."""
        check_name(name)
        found = self._open().documents.get(name)
        if found is None:
            return None
        revision, crc, body = found
        if seal_document(name, body) != crc:
            raise changed_document_error(name, "memory")
        return Document(str(revision), body)

    async def put(self, name: str, body: bytes, expected: str | None = None) -> str | None:
        """Put a document in the place of another one."""
        check_body(name, body)
        shelf = self._open()
        found = shelf.documents.get(name)
        present = MISSING if found is None else str(found[0])
        if expected is not None and expected != present:
            return None
        shelf.revision += 1
        shelf.documents[name] = (shelf.revision, seal_document(name, body), bytes(body))
        return str(shelf.revision)

    async def delete(self, name: str) -> None:
        """Forget a document."""
        check_name(name)
        self._open().documents.pop(name, None)

    async def names(self, prefix: str = "") -> list[str]:
        """Return the names that begin so, in order."""
        return sorted(name for name in self._open().documents if name.startswith(prefix))

    async def add(self, series: str, notes: Sequence[Note]) -> None:
        """Store notes at the end of a series."""
        check_notes(series, notes)
        shelf = self._open()
        kept = shelf.series.setdefault(series, deque(maxlen=NOTES_KEPT))
        for note in notes:
            if note.id not in shelf.ids:
                shelf.ids[note.id] = None
                shelf.number += 1
                kept.append(StoredNote(shelf.number, bytes(note.body)))
        while len(shelf.ids) > NOTES_KEPT:
            del shelf.ids[next(iter(shelf.ids))]

    async def notes(self, after: int | None, most: int) -> list[StoredNote]:
        """Return the first notes after a number; without one, the last of all."""
        found = sorted(
            (note for kept in self._open().series.values() for note in kept),
            key=lambda note: note.number,
        )
        if after is None:
            return found[-most:] if most else []
        return [note for note in found if note.number > after][:most]

    async def close(self) -> None:
        """Refuse all further calls."""
        self._is_closed = True

    def _open(self) -> StoredMemory:
        if self._is_closed:
            raise JournalUnavailable("the store was closed: open it again")
        return self.shelf
