"""A shard that two versions share is written in the older format until somebody ends that."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from evenmatch.engine.records import FORMAT
from evenmatch.errors import JournalUnavailable, NoBackfill, NotSupported, StaleOwner
from evenmatch.journals.base import Segment
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.inputs import Configure, Enqueue, Input, Open, Register
from evenmatch.model.queue import Criterion, Queue, Scale, Sort
from evenmatch.model.shards import shards_of
from evenmatch.server.auth.accounts import Accounts
from evenmatch.server.cluster.plans import cluster_plan
from evenmatch.server.runtime.games import Game
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.runtime import Runtime
from evenmatch.testing import new_ticket
from tests.golden.journals.older_reader import unknown_in

OLD = FORMAT - 1
QUEUES = (Queue("duel", policy="greedy"),)
PLAN = ShardPlan(QUEUES, keeps_format=True)


def play(scene: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20.0):
            await scene()

    asyncio.run(bounded())


async def older_journal(shard: str = "s0") -> MemoryJournal:
    """Return a journal that an older version has begun."""
    journal = MemoryJournal()
    await journal.begin(shard, Segment(1, OLD, "0.0", {}, 0.0))
    return journal


class Kept(MemoryJournal):
    """The same journal for a server that comes later: what one closes is open for the next."""

    def __init__(self, other: MemoryJournal) -> None:
        super().__init__()
        self.shelves = other.shelves


async def started(journal: MemoryJournal, plan: ShardPlan = PLAN) -> Runtime:
    runtime = Runtime(plan, Kept(journal))
    await runtime.start()
    return runtime


async def formats(journal: MemoryJournal) -> list[int]:
    return [each.format for each in await journal.segments("s0")]


async def snapshot_format(journal: MemoryJournal) -> int:
    found = await journal.latest_snapshot("s0")
    assert found is not None
    return int(msgspec.json.decode(found.state)["format"])


def test_journal_of_an_older_format_is_written_on_in_it_and_an_older_version_reads_all() -> None:
    async def scene() -> None:
        journal = await older_journal()
        for player in ("ada", "bob", "eve"):
            runtime = await started(journal)
            await runtime.ask(Enqueue(runtime.now(), (new_ticket(player),)))
            await runtime.stop(with_snapshot=player == "eve")
        assert set(await formats(journal)) == {OLD}
        assert await snapshot_format(journal) == OLD
        records = [each.record async for each in journal.read("s0", 1)]
        assert len(records) >= 4
        assert [unknown_in(each, OLD) for each in records] == [[]] * len(records)

    play(scene)


@pytest.mark.parametrize(
    "given",
    [
        Register(0.0, "duel", ((), ())),
        Open(0.0, "s0-m1", 0, ticket="x"),
        Configure(0.0, (Queue("duel", criteria=(Criterion("x", sort=Sort("near")),)),)),
    ],
    ids=["register", "open", "configure"],
)
def test_what_the_older_format_cannot_say_is_refused_with_the_command_that_ends_it(
    given: Input,
) -> None:
    async def scene() -> None:
        journal = await older_journal()
        runtime = await started(journal)
        before = runtime.engine.tables.sequence
        with pytest.raises(NotSupported, match=r"format 3.*needs format 4.*finish-upgrade"):
            await runtime.ask(given)
        assert runtime.engine.tables.sequence == before
        await runtime.stop()

    play(scene)


def test_configuration_that_needs_the_newer_format_waits_until_the_upgrade_ends() -> None:
    async def scene() -> None:
        journal = await older_journal()
        await (await started(journal)).stop()
        scale, order = Scale(knee=100.0), Sort("near")
        sorted_by = Criterion("anchor_sort", "rating", scale=scale, sort=order)
        (queue,) = PLAN.queues
        newer = msgspec.structs.replace(queue, criteria=(sorted_by,))
        plan = msgspec.structs.replace(PLAN, queues=(newer,))
        runtime = await started(journal, plan)
        assert sorted_by not in runtime.engine.tables.queues["duel"].criteria
        await runtime.raise_format()
        assert sorted_by in runtime.engine.tables.queues["duel"].criteria
        await runtime.stop()

    play(scene)


@pytest.mark.parametrize("waits", [False, True])
def test_end_of_an_upgrade_takes_no_change_of_an_operator_back(waits: bool) -> None:
    async def scene() -> None:
        journal = await older_journal()
        await (await started(journal)).stop()
        (queue,) = PLAN.queues
        newer = Criterion("anchor_sort", "rating", scale=Scale(knee=100.0), sort=Sort("near"))
        criteria = (newer,) if waits else ()
        plan = msgspec.structs.replace(
            PLAN, queues=(msgspec.structs.replace(queue, criteria=criteria),)
        )
        runtime = await started(journal, plan)
        version = runtime.engine.tables.version
        theirs = msgspec.structs.replace(queue, wait_max=77.0)
        given = Configure(runtime.now(), (theirs,), version=version + 1, by="ops")
        await runtime.ask(given)
        await runtime.raise_format()
        tables = runtime.engine.tables
        assert tables.queues == {"duel": theirs}
        assert (tables.version, tables.configured_by) == (version + 1, "ops")
        await runtime.stop()

    play(scene)


def test_snapshot_of_an_older_format_holds_nothing_that_matchers_remember() -> None:
    async def scene() -> None:
        journal = await older_journal()
        runtime = await started(journal)
        for player in ("ada", "bob"):
            await runtime.ask(Enqueue(runtime.now(), (new_ticket(player),)))
        await runtime.stop()
        found = await journal.latest_snapshot("s0")
        assert found is not None
        assert msgspec.json.decode(found.state)["memories"] == {}

    play(scene)


def test_raised_format_begins_a_segment_and_stays_raised() -> None:
    async def scene() -> None:
        journal = await older_journal()
        runtime = await started(journal)
        await runtime.ask(Enqueue(runtime.now(), (new_ticket("ada"),)))
        last = runtime.durable
        assert runtime.engine.format == OLD
        await runtime.raise_format()
        await runtime.raise_format()
        found = await journal.segments("s0")
        assert (found[-1].first_seq, found[-1].format, found[-1].raised) == (last + 1, FORMAT, True)
        assert runtime.format == runtime.engine.format == FORMAT
        # It is the engine that says what is wrong with it now.
        with pytest.raises(NoBackfill):
            await runtime.ask(Register(runtime.now(), "duel", ((), ())))
        await runtime.ask(Enqueue(runtime.now(), (new_ticket("bob"),)))
        await runtime.stop()
        assert await snapshot_format(journal) == FORMAT
        again = await started(journal)
        assert again.format == FORMAT
        await again.stop()

    play(scene)


def test_server_that_lost_its_shard_raises_no_format() -> None:
    async def scene() -> None:
        journal = await older_journal()
        plan = msgspec.structs.replace(PLAN, journal="nats://elsewhere", owner="a")
        runtime = await started(journal, plan)
        journal.wall = lambda: 4e9
        await journal.lease("s0", "b", 30.0)
        with pytest.raises(StaleOwner):
            await runtime.raise_format()
        assert set(await formats(journal)) == {OLD}
        await runtime.stop()
        with pytest.raises(JournalUnavailable, match="not ready"):
            await runtime.raise_format()

    play(scene)


def test_server_alone_writes_the_newest_format_at_once() -> None:
    async def scene() -> None:
        journal = await older_journal()
        runtime = await started(journal, ShardPlan(QUEUES))
        assert runtime.format == FORMAT
        await runtime.stop()
        assert (await formats(journal))[-1] == FORMAT

    play(scene)


def test_new_shard_begins_in_the_format_of_the_others_and_the_first_in_the_newest() -> None:
    queues = (Queue("duel"), Queue("squad", group="squads"))

    async def scene() -> None:
        plan = msgspec.structs.replace(PLAN, queues=queues[:1], layout=shards_of(queues))
        alone = await started(MemoryJournal(), plan)
        assert alone.format == FORMAT
        await alone.stop()
        beside = await started(await older_journal("s0.squads"), plan)
        assert beside.format == OLD
        await beside.stop()

    play(scene)


def test_nodes_of_a_cluster_keep_the_format_of_each_shard() -> None:
    plan = ShardPlan(QUEUES, journal="nats://127.0.0.1:1")
    game = Game(plan, Accounts(plan.settings))
    (seat,) = cluster_plan(game, "a/1@h:1", 5.0, snapshot_every=100).shards
    assert seat.start().services[0].runtime.plan.keeps_format
