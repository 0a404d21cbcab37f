"""The kit of the store beside a journal: on every adapter, and on some that break a promise."""

import asyncio
import itertools
from collections.abc import Sequence

import asyncpg
import nats
import pytest

from evenmatch.journals.nats_store import NatsStore
from evenmatch.journals.postgres_store import PostgresStore
from evenmatch.journals.store import Document, MemoryStore, Note, Store, StoredNote
from evenmatch.testing import check_store
from evenmatch.testing.journals import flip_bit
from evenmatch.testing.stores import damage_memory_store
from tests.journal_servers import NatsServer, PostgresServer


def reopen_memory(store: Store) -> Store:
    assert isinstance(store, MemoryStore)
    return type(store)(store.shelf)


def test_memory_store_keeps_every_promise() -> None:
    asyncio.run(check_store(MemoryStore, reopen=reopen_memory, damage=damage_memory_store))


@pytest.mark.xdist_group("postgres")
def test_postgres_store_keeps_every_promise(postgres_server: PostgresServer) -> None:
    count = itertools.count()

    async def reopen(store: Store) -> Store:
        assert isinstance(store, PostgresStore)
        await store.close()
        return PostgresStore(store.url, schema=store.schema)

    async def damage(store: Store, name: str) -> None:
        assert isinstance(store, PostgresStore)
        connection = await asyncpg.connect(store.url)
        await connection.execute(
            f"UPDATE {store.schema}.documents SET body = set_bit(body, 9, 1 - get_bit(body, 9))"
            " WHERE name = $1",
            name,
        )
        await connection.close()

    asyncio.run(
        check_store(
            lambda: PostgresStore(postgres_server.url, schema=f"stores_{next(count)}"),
            reopen=reopen,
            damage=damage,
        )
    )


@pytest.mark.xdist_group("nats")
def test_nats_store_keeps_every_promise(nats_server: NatsServer) -> None:
    count = itertools.count()

    async def reopen(store: Store) -> Store:
        assert isinstance(store, NatsStore)
        await store.close()
        return NatsStore(store.address, name=store.name)

    async def damage(store: Store, name: str) -> None:
        """Publish what is stored with a bit changed."""
        assert isinstance(store, NatsStore)
        client = await nats.connect(store.address)
        context = client.jetstream()
        subject = f"{store.name}-state.%3Dstore.document.{name}"
        stored = await context.get_last_msg(f"{store.name}-state", subject)
        assert stored.data is not None
        await context.publish(subject, flip_bit(stored.data, 8 * len(stored.data) - 9))
        await client.close()

    asyncio.run(
        check_store(
            lambda: NatsStore(nats_server.url, name=f"stores_{next(count)}"),
            reopen=reopen,
            damage=damage,
        )
    )


class Trusting(MemoryStore):
    """Looks at no revision."""

    async def put(self, name: str, body: bytes, expected: str | None = None) -> str | None:
        return await super().put(name, body)


class Racing(MemoryStore):
    """Lets others in between its look and its write."""

    async def put(self, name: str, body: bytes, expected: str | None = None) -> str | None:
        found = await self.get(name)
        if expected is not None and expected != ("" if found is None else found.revision):
            return None
        await asyncio.sleep(0)
        return await super().put(name, body)


class Repeating(MemoryStore):
    """Stores a note as often as it is added."""

    async def add(self, series: str, notes: Sequence[Note]) -> None:
        await super().add(series, notes)
        self.shelf.ids.clear()


class Unordered(MemoryStore):
    """Numbers each series by itself."""

    async def notes(self, after: int | None, most: int) -> list[StoredNote]:
        found = [note for kept in self.shelf.series.values() for note in kept]
        return [each for each in found if each.number > (after or 0)][:most]


class Believing(MemoryStore):
    """Never looks at a checksum."""

    async def get(self, name: str) -> Document | None:
        found = self.shelf.documents.get(name)
        return None if found is None else Document(str(found[0]), found[2])


class Counting(MemoryStore):
    """Gives a document that is made anew its old revision."""

    async def delete(self, name: str) -> None:
        await super().delete(name)
        self.shelf.revision = 0


class Cutting(MemoryStore):
    """Keeps the first megabyte."""

    async def put(self, name: str, body: bytes, expected: str | None = None) -> str | None:
        return await super().put(name, body[:1_000_000], expected)


class Forgetful(MemoryStore):
    """Begins anew at each start."""

    def __init__(self, shelf: object = None) -> None:
        super().__init__()


class Listing(MemoryStore):
    """Lists everything."""

    async def names(self, prefix: str = "") -> list[str]:
        return await super().names()


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (Trusting, "only the expected revision is replaced"),
        (Racing, "of many who replace a revision one does"),
        (Repeating, "a note that is added again is stored once"),
        (Unordered, "notes are numbered in their order"),
        (Believing, "damage is found"),
        (Counting, "what is deleted is gone"),
        (Cutting, "a document comes back as it was put"),
        (Forgetful, "what is stored survives a restart"),
        (Listing, "names are listed"),
    ],
    ids=lambda each: each.__name__ if isinstance(each, type) else "promise",
)
def test_a_broken_store_is_found(broken: type[MemoryStore], promise: str) -> None:
    with pytest.raises(AssertionError, match=f"^{promise}"):
        asyncio.run(check_store(broken, reopen=reopen_memory, damage=damage_memory_store))
