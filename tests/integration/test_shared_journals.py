"""Journals that machines share, when connections are cut and owners replaced: all do the same."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, NamedTuple, Protocol

import pytest

from evenmatch.errors import JournalUnavailable, SequenceGap, StaleOwner
from evenmatch.journals.base import Journal
from evenmatch.journals.nats import NatsJournal
from evenmatch.journals.postgres import PostgresJournal
from evenmatch.testing.journals import sample_records
from tests.integration import test_nats_faults, test_postgres_faults
from tests.journal_faults import CuttingProxy

pytestmark = pytest.mark.xdist_group("postgres")


class Reached(Protocol):
    """A server of journals."""

    port: int

    def url_at(self, port: int) -> str: ...


class Shared(NamedTuple):
    """Journals of one name on a server; `is_append` knows a batch on its way there."""

    server: Reached
    make: Callable[..., Journal]
    is_append: Callable[[bytes], bool]

    def open(self, port: int | None = None, **options: Any) -> Journal:
        return self.make(self.server.url_at(port or self.server.port), **options)


@pytest.fixture(params=["postgres", "nats"])
def shared(request: pytest.FixtureRequest) -> Iterator[Shared]:
    name = f"faults_{os.urandom(8).hex()}"
    server = request.getfixturevalue(f"{request.param}_server")
    if request.param == "postgres":
        yield Shared(
            server,
            lambda url, **options: PostgresJournal(url, schema=name, **options),
            test_postgres_faults.is_append,
        )
    else:
        yield Shared(
            server,
            lambda url, **options: NatsJournal(url, name=name, **options),
            test_nats_faults.is_append,
        )


async def stored(journal: Journal) -> list[int]:
    return [entry.record.sequence async for entry in journal.read("main", 1)]


def through_proxy(shared: Shared, test: Callable[[CuttingProxy, Journal], Awaitable[None]]) -> None:
    async def main() -> None:
        async with CuttingProxy(shared.server.port, shared.is_append) as proxy:
            journal = shared.open(proxy.port)
            try:
                await test(proxy, journal)
            finally:
                await journal.close()

    asyncio.run(main())


def test_a_stored_batch_whose_answer_is_lost_is_acknowledged_and_not_stored_twice(
    shared: Shared,
) -> None:
    async def main(proxy: CuttingProxy, journal: Journal) -> None:
        epoch = await journal.lease("main", "one", 60.0)
        await journal.append("main", "one", epoch, 1, sample_records(1, 2))
        for number in range(5):
            proxy.cut_answers = True
            first = 3 + 2 * number
            records = sample_records(first, 2)
            assert await journal.append("main", "one", epoch, first, records) == first + 1
            assert proxy.cuts == number + 1
        assert await stored(journal) == list(range(1, 13))

    through_proxy(shared, main)


def test_a_batch_that_never_reached_the_server_is_reported_and_can_be_sent_again(
    shared: Shared,
) -> None:
    async def main(proxy: CuttingProxy, journal: Journal) -> None:
        epoch = await journal.lease("main", "one", 60.0)
        await journal.append("main", "one", epoch, 1, sample_records(1, 2))
        proxy.cut_requests = True
        with pytest.raises(JournalUnavailable, match="nothing of the batch was stored"):
            await journal.append("main", "one", epoch, 3, sample_records(3, 2))
        assert proxy.cuts == 1
        assert await stored(journal) == [1, 2]
        assert await journal.append("main", "one", epoch, 3, sample_records(3, 3)) == 5
        assert await stored(journal) == [1, 2, 3, 4, 5]

    through_proxy(shared, main)


def test_an_owner_that_was_replaced_is_refused_for_good(shared: Shared) -> None:
    async def main() -> None:
        now = 0.0
        one, two = (shared.open(clock=lambda: now) for _ in range(2))
        try:
            old = await one.lease("main", "one", 10.0)
            await one.append("main", "one", old, 1, sample_records(1, 2))
            with pytest.raises(StaleOwner, match=r"10\.000 s"):
                await two.lease("main", "two", 10.0)
            now = 9.0
            assert await one.lease("main", "one", 10.0) == old
            # Seen renewed: the whole time counts anew from here on.
            with pytest.raises(StaleOwner, match=r"10\.000 s"):
                await two.lease("main", "two", 10.0)
            now = 18.9
            # What is appended renews nothing.
            await one.append("main", "one", old, 3, sample_records(3, 1))
            with pytest.raises(StaleOwner, match=r"0\.100 s"):
                await two.lease("main", "two", 10.0)
            now = 19.0
            new = await two.lease("main", "two", 10.0)
            assert new == old + 1
            with pytest.raises(StaleOwner, match="'two' in epoch 2"):
                await one.append("main", "one", old, 4, sample_records(4, 1))
            assert await two.append("main", "two", new, 4, sample_records(4, 2)) == 5
            with pytest.raises(StaleOwner):
                await one.append("main", "one", old, 6, sample_records(6, 1))
            assert await stored(two) == [1, 2, 3, 4, 5]
        finally:
            await one.close()
            await two.close()

    asyncio.run(main())


def test_an_older_process_of_the_same_owner_is_refused(shared: Shared) -> None:
    async def main() -> None:
        old, new = shared.open(), shared.open()
        try:
            epoch = await old.lease("main", "one", 10.0)
            await old.append("main", "one", epoch, 1, sample_records(1, 2))
            assert await new.lease("main", "one", 10.0) == epoch
            with pytest.raises(StaleOwner, match="newer process"):
                await old.append("main", "one", epoch, 3, sample_records(3, 1))
            assert await new.append("main", "one", epoch, 3, sample_records(3, 1)) == 3
            # A renewal keeps the turn.
            assert await new.lease("main", "one", 10.0) == epoch
            assert await new.append("main", "one", epoch, 4, sample_records(4, 1)) == 4
        finally:
            await old.close()
            await new.close()

    asyncio.run(main())


def test_an_older_process_is_told_of_a_newer_one_that_has_written(shared: Shared) -> None:
    """Who is only told that its records do not continue the journal takes the shard back."""

    async def main() -> None:
        old, new = shared.open(), shared.open()
        try:
            epoch = await old.lease("main", "one", 10.0)
            await old.append("main", "one", epoch, 1, sample_records(1, 2))
            await new.lease("main", "one", 10.0)
            await new.append("main", "one", epoch, 3, sample_records(3, 1))
            with pytest.raises(StaleOwner, match="newer process"):
                await old.append("main", "one", epoch, 3, sample_records(3, 1))
            assert await new.append("main", "one", epoch, 4, sample_records(4, 1)) == 4
            with pytest.raises(SequenceGap):
                await new.append("main", "one", epoch, 4, sample_records(4, 1))
        finally:
            await old.close()
            await new.close()

    asyncio.run(main())
