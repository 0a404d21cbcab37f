"""Parts of what is too large for a message in NATS: none stay that nobody refers to."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from evenmatch.engine.records import Record
from evenmatch.errors import JournalUnavailable, StaleOwner
from evenmatch.journals.base import AnswerLost
from evenmatch.journals.nats import NatsJournal
from evenmatch.model.inputs import Enqueue
from evenmatch.testing.journals import sample_records
from tests.integration.test_nats_faults import stored, through_proxy
from tests.journal_faults import CuttingProxy
from tests.journal_servers import NatsServer

pytestmark = pytest.mark.xdist_group("nats")

Publish = Callable[[], Awaitable[int | None]]


@pytest.fixture
def name() -> str:
    return f"parts-{os.urandom(8).hex()}"


def large(seq: int) -> list[Record]:
    return [Record(seq, Enqueue(0.0, (), key=os.urandom(600_000).hex()), ())]


async def parts(journal: NatsJournal) -> set[str]:
    """Return the names of all parts."""
    subjects = await journal._link.subjects(f"{journal.name}-state", f"{journal.name}-state.>")
    return {each.split(".")[3] for each in subjects if ".part." in each}


async def filled(journal: NatsJournal) -> int:
    """Store three batches, and snapshots after the first two; return the epoch."""
    epoch = await journal.lease("main", "one", 60.0)
    for seq in (1, 2, 3):
        await journal.append("main", "one", epoch, seq, sample_records(seq, 1))
    await journal.snapshot("main", 1, b"first")
    await journal.snapshot("main", 2, b"second")
    assert len(await parts(journal)) == 2
    return epoch


def with_journal(
    server: NatsServer, name: str, test: Callable[[NatsJournal], Awaitable[None]]
) -> None:
    async def main() -> None:
        journal = NatsJournal(server.url, name=name)
        try:
            await test(journal)
        finally:
            await journal.close()

    asyncio.run(main())


async def as_ever(publish: Publish) -> int | None:
    return await publish()


async def unanswered(publish: Publish) -> int | None:
    await publish()
    raise AnswerLost("the answer was lost")


async def unsent(_: Publish) -> int | None:
    raise AnswerLost("the message was lost")


async def unconnected(_: Publish) -> int | None:
    raise JournalUnavailable("there is no connection")


class Trouble:
    """Stands between a journal and its link, and decides what becomes of some messages.

    Args:
        journal: Whose.
        where: Part of the subjects of these messages.
        patch: Plants it.
    """

    def __init__(self, journal: NatsJournal, where: str, patch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.do: Callable[[Publish], Awaitable[int | None]] = as_ever
        self._publish = journal._link.publish
        self._where = where
        patch.setattr(journal._link, "publish", self)

    async def __call__(self, subject: str, data: bytes, expected: int | None = None) -> int | None:
        publish = partial(self._publish, subject, data, expected)
        if self._where not in subject:
            return await publish()
        self.count += 1
        return await self.do(publish)

    def once(self, do: Callable[[Publish], Awaitable[int | None]]) -> None:
        """Do something with the next message, and pass on those that follow."""

        async def first(publish: Publish) -> int | None:
            self.do = as_ever
            return await do(publish)

        self.do = first


@pytest.mark.parametrize("becomes", [unconnected, unsent])
def test_parts_of_a_snapshot_that_is_not_listed_go_at_once(
    nats_server: NatsServer,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    becomes: Callable[[Publish], Awaitable[int | None]],
) -> None:
    async def main(journal: NatsJournal) -> None:
        await filled(journal)
        before = await parts(journal)
        trouble = Trouble(journal, ".snapshots", monkeypatch)
        trouble.once(becomes)
        with pytest.raises(
            JournalUnavailable, match=r"no connection|lost; nothing of the snapshot"
        ):
            await journal.snapshot("main", 3, os.urandom(2_500_000))
        assert await parts(journal) == before
        assert [each.sequence for each in await journal.snapshots("main")] == [1, 2]

    with_journal(nats_server, name, main)


def test_snapshot_whose_answer_was_lost_is_looked_up(
    nats_server: NatsServer, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(journal: NatsJournal) -> None:
        await filled(journal)
        trouble = Trouble(journal, ".snapshots", monkeypatch)
        trouble.once(unanswered)
        await journal.snapshot("main", 3, b"third")
        assert [each.state for each in await journal.snapshots("main")] == [b"second", b"third"]
        assert len(await parts(journal)) == 2

    with_journal(nats_server, name, main)


def test_parts_that_may_be_listed_yet_stay_until_the_next_snapshot(
    nats_server: NatsServer, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(journal: NatsJournal) -> None:
        await filled(journal)
        trouble = Trouble(journal, ".snapshots", monkeypatch)
        trouble.do = unsent
        for _ in range(3):
            with pytest.raises(AnswerLost, match="the message was lost"):
                await journal.snapshot("main", 3, b"third")
        assert len(await parts(journal)) == 5
        trouble.do = as_ever
        await journal.snapshot("main", 3, b"third")
        assert [each.state for each in await journal.snapshots("main")] == [b"second", b"third"]
        assert len(await parts(journal)) == 2

    with_journal(nats_server, name, main)


def test_parts_that_end_before_the_last_one_go_at_once(
    nats_server: NatsServer, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(journal: NatsJournal) -> None:
        await filled(journal)
        before = await parts(journal)
        trouble = Trouble(journal, "-3.2", monkeypatch)
        trouble.do = unsent
        with pytest.raises(AnswerLost, match="the message was lost"):
            await journal.snapshot("main", 3, os.urandom(2_500_000))
        assert trouble.count == 1
        assert await parts(journal) == before

    with_journal(nats_server, name, main)


def test_snapshot_that_another_process_overtakes_is_stored_anew(
    nats_server: NatsServer, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(journal: NatsJournal) -> None:
        await filled(journal)
        other = NatsJournal(nats_server.url, name=name)

        async def overtaken(publish: Publish) -> int | None:
            await other.snapshot("main", 2, b"of another")
            return await publish()

        trouble = Trouble(journal, ".snapshots", monkeypatch)
        trouble.once(overtaken)
        await journal.snapshot("main", 3, b"third")
        states = [each.state for each in await journal.snapshots("main")]
        assert states == [b"of another", b"third"]
        assert len(await parts(journal)) == 2
        await other.close()

    with_journal(nats_server, name, main)


def test_parts_that_another_process_is_about_to_list_stay(
    nats_server: NatsServer, name: str
) -> None:
    async def main(journal: NatsJournal) -> None:
        await filled(journal)
        revision, _ = await journal._snapshots._look("main")
        pending = await journal._documents.put_parts("main", b"state", f"snapshots{revision}")
        of_a_batch = await journal._documents.put_parts("main", b"batch", "batch1")
        of_an_older_version = await journal._documents.put_parts("main", b"state")
        await journal._snapshots._clean("main", [])
        assert {pending, of_a_batch, of_an_older_version} < await parts(journal)
        await journal.snapshot("main", 3, b"third")
        present = await parts(journal)
        assert present & {pending, of_a_batch, of_an_older_version} == {
            of_a_batch,
            of_an_older_version,
        }

    with_journal(nats_server, name, main)


def test_parts_of_a_large_batch_go_if_it_is_not_stored_and_stay_if_it_is(
    nats_server: NatsServer, name: str
) -> None:
    async def main(proxy: CuttingProxy, journal: NatsJournal) -> None:
        epoch = await filled(journal)
        before = await parts(journal)
        proxy.cut_requests = True
        with pytest.raises(JournalUnavailable, match="nothing of the batch was stored"):
            await journal.append("main", "one", epoch, 4, large(4))
        assert await parts(journal) == before
        proxy.cut_answers = True
        assert await journal.append("main", "one", epoch, 4, large(4)) == 4
        assert proxy.cuts == 2
        assert len(await parts(journal)) == 3
        assert await stored(journal) == [1, 2, 3, 4]

    through_proxy(nats_server, name, main)


def test_parts_of_a_large_batch_of_a_stale_owner_go(nats_server: NatsServer, name: str) -> None:
    async def main(journal: NatsJournal) -> None:
        epoch = await filled(journal)
        newer = NatsJournal(nats_server.url, name=name)
        await newer.lease("main", "one", 60.0)
        before = await parts(journal)
        with pytest.raises(StaleOwner):
            await journal.append("main", "one", epoch, 4, large(4))
        assert await parts(journal) == before
        await newer.close()

    with_journal(nats_server, name, main)


def test_parts_that_a_process_left_go_with_the_batches_in_whose_place_they_were(
    nats_server: NatsServer, name: str
) -> None:
    async def main(journal: NatsJournal) -> None:
        epoch = await journal.lease("main", "one", 60.0)
        left = []
        for seq in range(1, 6):
            left.append(await journal._documents.put_parts("main", b"left", f"batch{seq}"))
            await journal.append("main", "one", epoch, seq, large(seq))
        left.append(await journal._documents.put_parts("main", b"left", "batch6"))
        for seq in (3, 4):
            await journal.snapshot("main", seq, b"state")
        assert len(await parts(journal)) == 6 + 5 + 2
        assert await journal.forget("main", 1e10) == 3
        present = await parts(journal)
        assert present & set(left) == set(left[4:])
        assert len(present) == 2 + 2 + 2
        assert await stored(journal, 4) == [4, 5]

    with_journal(nats_server, name, main)
