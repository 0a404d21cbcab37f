"""What a game keeps beside its journal, in NATS JetStream.

A document is the last message of a subject in the journal's stream of states, published only where
the one before is the expected one; what is too large for a message goes to parts first. Notes are
the messages of a stream of their own, whose sequence numbers them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from urllib.parse import quote, unquote

from evenmatch.errors import JournalUnavailable
from evenmatch.journals.base import AnswerLost
from evenmatch.journals.nats_link import NatsLink, NatsMessage, parse_address
from evenmatch.journals.nats_state import Documents
from evenmatch.journals.store import (
    NOTES_KEPT,
    Document,
    Note,
    StoredNote,
    changed_document_error,
    check_body,
    check_name,
    check_notes,
    seal_document,
)

PLACE = "=store"
"""In the place of a shard's name in subjects; a shard of that name would be quoted twice."""


class NatsStore:
    """Documents and notes of one game.

    Nothing is opened before the first call.

    Args:
        address: `nats://HOST:PORT[,HOST:PORT...][?replicas=3]`.
        name: Begins the names of the streams; they are made if they are missing.
        timeout: Longest wait for an answer, seconds.
        is_read_only: Make and change nothing.

    Raises:
        NotSupported: The package nats-py is missing.
        ConfigError: The address or the name cannot be used.
    """

    def __init__(
        self,
        address: str,
        *,
        name: str = "evenmatch",
        timeout: float = 5.0,
        is_read_only: bool = False,
    ) -> None:
        self.address = address
        self.name = name
        kept = None if is_read_only else NOTES_KEPT
        self._link = NatsLink(
            parse_address(address), name, timeout, is_read_only=is_read_only, notes_kept=kept
        )
        self._parts = Documents(self._link)

    async def get(self, name: str) -> Document | None:
        """Return a document, None if there is none."""
        check_name(name)
        subject, seen = self._subject(name), 0
        while True:
            message = await self._link.last_message(self._link.state, subject)
            if message is None:
                return None
            body = await self._body(name, message)
            if body is not None:
                return Document(str(message.seq), body)
            # Its parts went when another one took its place.
            if message.seq == seen:
                raise changed_document_error(name, "NATS")
            seen = message.seq

    async def put(self, name: str, body: bytes, expected: str | None = None) -> str | None:
        """Put a document in the place of another one."""
        check_body(name, body)
        subject = self._subject(name)
        before = await self._link.last_message(self._link.state, subject)
        at = None if expected is None else int(expected or 0)
        line, kept = b"%08x" % seal_document(name, body), body
        if len(body) > await self._link.largest() - len(line) - 1:
            parts = await self._parts.put_parts(PLACE, body)
            line, kept = b"%b %b" % (line, parts.encode()), b""
        try:
            stored = await self._link.publish(subject, b"%b\n%b" % (line, kept), at)
        except AnswerLost as lost:
            # It was stored, or was not yet: what is there now tells.
            present = await self.get(name)
            if present is not None and present.body == body and present.revision != expected:
                return present.revision
            raise JournalUnavailable(f"{lost}; whether {name} was stored is not known") from lost
        gone = before if stored is not None else NatsMessage(0, b"%b\n" % line)
        if gone is not None and (parts_of := _parts_of(gone)):
            await self._parts.delete_parts(PLACE, parts_of)
        return None if stored is None else str(stored)

    async def delete(self, name: str) -> None:
        """Forget a document."""
        check_name(name)
        subject = self._subject(name)
        message = await self._link.last_message(self._link.state, subject)
        if message is None:
            return
        await self._link.purge(self._link.state, subject)
        if parts := _parts_of(message):
            await self._parts.delete_parts(PLACE, parts)

    async def names(self, prefix: str = "") -> list[str]:
        """Return the names that begin so, in order."""
        start = self._link.state_subject(PLACE, "document", "")
        found = await self._link.subjects(self._link.state, f"{start}*")
        names = (unquote(each.removeprefix(start)) for each in found)
        return sorted(name for name in names if name.startswith(prefix))

    async def add(self, series: str, notes: Sequence[Note]) -> None:
        """Store notes at the end of a series."""
        check_notes(series, notes)
        for note in notes:
            subject = f"{self._link.notes}.{_token(series)}"
            await self._link.publish(subject, note.body, message_id=note.id)

    async def notes(self, after: int | None, most: int) -> list[StoredNote]:
        """Return the first notes after a number; without one, the last of all."""
        first, last = await self._link.ends_of(self._link.notes)
        if after is not None:
            return await self._notes(after + 1, most) if after < last else []
        # Between them some may have given way to later ones of their series.
        width = most
        while True:
            found = await self._notes(max(first, last - width + 1), width)
            if len(found) >= most or last - width + 1 <= first:
                return found[-most:] if most else []
            width *= 4

    async def _notes(self, start: int, most: int) -> list[StoredNote]:
        notes: list[StoredNote] = []
        everything = f"{self._link.notes}.>"
        async with aclosing(self._link.messages(self._link.notes, everything, start)) as messages:
            async for message in messages:
                if len(notes) == most:
                    break
                notes.append(StoredNote(message.seq, message.data))
        return notes

    async def close(self) -> None:
        """Close the connection."""
        await self._link.close()

    def _subject(self, name: str) -> str:
        return self._link.state_subject(PLACE, "document", _token(name))

    async def _body(self, name: str, message: NatsMessage) -> bytes | None:
        """Return what a message holds, None if it is not what was put."""
        line, _, body = message.data.partition(b"\n")
        if parts := _parts_of(message):
            body = await self._parts.get_parts(PLACE, parts) or b""
        return body if line[:8] == b"%08x" % seal_document(name, body) else None


def _parts_of(message: NatsMessage) -> str:
    """Return the name of the parts of a document that is too large for a message."""
    return message.data.partition(b"\n")[0][9:].decode(errors="replace")


def _token(name: str) -> str:
    return quote(name, safe="").replace(".", "%2E")
