"""The snapshots of the NATS journal: a list of the last two for each shard, and their parts."""

from __future__ import annotations

import msgspec

from evenmatch.journals.base import StoredSnapshot
from evenmatch.journals.head import is_intact, sealer
from evenmatch.journals.nats_state import Documents

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
        new = StoredDocument(seq, wall, crc, await self._documents.put_parts(shard, body))
        gone: list[StoredDocument] = []

        def add(documents: list[StoredDocument]) -> list[StoredDocument]:
            others = [each for each in documents if each.sequence != seq]
            present = sorted([*others, new], key=lambda each: each.sequence)[-SNAPSHOTS_KEPT:]
            gone[:] = [each for each in documents if each not in present]
            return present

        await self._documents.change(shard, LIST, list[StoredDocument], add)
        for each in gone:
            await self._documents.delete_parts(shard, each.parts)

    async def kept(self, shard: str) -> list[StoredDocument]:
        """Return what is known of the snapshots, the oldest first."""
        return await self._documents.get(shard, LIST, list[StoredDocument])

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
