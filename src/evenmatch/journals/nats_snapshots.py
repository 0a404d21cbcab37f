"""The snapshots of the NATS journal: a list of the last two for each shard, and their parts.

The parts are stored first. Their name says which revision of the list was the present one then, and
they are listed in its place or not at all. So as soon as there is a later revision, parts that it
does not name belong to no snapshot, whoever left them: a process that died, or a lost answer.
"""

from __future__ import annotations

from contextlib import suppress

import msgspec

from evenmatch.errors import JournalError, JournalUnavailable
from evenmatch.journals.base import AnswerLost, StoredSnapshot
from evenmatch.journals.head import is_intact, sealer
from evenmatch.journals.nats_state import ATTEMPTS, Documents, changed_by_others

SNAPSHOTS_KEPT = 2
LIST = "snapshots"


class StoredDocument(msgspec.Struct, frozen=True, gc=False):
    """A snapshot: the name of its parts, and its checksum."""

    sequence: int
    wall: float
    crc: int
    parts: str


class NatsSnapshots:
    """Stores the snapshots of any number of shards.

    Args:
        documents: Where.
    """

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        # Those that were found as they were stored, by shard.
        self._intact: dict[str, frozenset[StoredDocument]] = {}

    async def put(self, shard: str, seq: int, wall: float, body: bytes) -> None:
        """Store the state after a record; the last two are kept."""
        crc = sealer(shard)(seq, wall, body)
        for _ in range(ATTEMPTS):
            at, before = await self._look(shard)
            parts = await self._documents.put_parts(shard, body, f"{LIST}{at}")
            new = StoredDocument(seq, wall, crc, parts)
            if await self._add(shard, at, before, new):
                # What is left over is deleted next time.
                with suppress(JournalError):
                    await self._clean(shard, before)
                return
            await self._documents.discard_parts(shard, parts)
        raise changed_by_others(shard, LIST)

    async def _add(
        self, shard: str, at: int, before: list[StoredDocument], new: StoredDocument
    ) -> bool:
        """Add a snapshot to a list; return whether that was still the present one.

        Raises:
            JournalUnavailable: It is not stored; or the servers do not answer.
        """
        others = [each for each in before if each.sequence != new.sequence]
        after = sorted([*others, new], key=lambda each: each.sequence)[-SNAPSHOTS_KEPT:]
        try:
            return await self._documents.replace(shard, LIST, at, after)
        except AnswerLost as error:
            lost = error
        except JournalError:
            await self._documents.discard_parts(shard, new.parts)
            raise
        # Of two lists that expect the same one before them, only one can be stored.
        try:
            is_over = await self._documents.replace(shard, LIST, at, before)
            now, present = await self._look(shard)
        except JournalUnavailable:
            # It may be stored yet, so its parts stay.
            raise lost from None
        if new in present:
            return True
        if is_over:
            await self._documents.discard_parts(shard, new.parts)
            raise JournalUnavailable(f"{lost}; nothing of the snapshot was stored") from lost
        if now == at:
            raise lost
        return False

    async def _clean(self, shard: str, before: list[StoredDocument]) -> None:
        """Delete the parts of snapshots that have gone, and of those that were never listed.

        Parts are listed where the revision in their name was the newest, or never.
        """
        at, present = await self._look(shard)
        kept = {each.parts for each in present}
        gone = {each.parts for each in before} - kept
        for name in gone | await self._documents.unused(shard, LIST, at, kept):
            await self._documents.delete_parts(shard, name)

    async def _look(self, shard: str) -> tuple[int, list[StoredDocument]]:
        return await self._documents.look(shard, LIST, list[StoredDocument])

    async def kept(self, shard: str) -> list[StoredDocument]:
        """Return what is known of the snapshots, the oldest first."""
        return (await self._look(shard))[1]

    async def open(self, shard: str, stored: StoredDocument) -> StoredSnapshot | None:
        """Return a snapshot, None if it is not what was stored."""
        body, seal = await self._documents.get_parts(shard, stored.parts), sealer(shard)
        if body is None or not is_intact(
            seal, stored.sequence, stored.wall, crc=stored.crc, body=body
        ):
            return None
        return StoredSnapshot(stored.sequence, stored.wall, body)

    async def are_intact(self, shard: str, kept: list[StoredDocument]) -> bool:
        """Return whether all of them are what was stored; each is read once only."""
        known = self._intact.get(shard, frozenset())
        for each in kept:
            if each not in known and await self.open(shard, each) is None:
                return False
        self._intact[shard] = frozenset(kept)
        return True
