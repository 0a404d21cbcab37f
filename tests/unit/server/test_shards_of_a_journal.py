"""A journal that a cluster has written is not served by a server that knows one shard only."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from evenmatch.errors import ConfigError
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.inputs import Enqueue
from evenmatch.model.queue import Queue
from evenmatch.model.shards import shards_of
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.runtime import Runtime

DUEL, SQUAD = Queue("duel", policy="greedy"), Queue("squad", policy="greedy", group="squad")
ADDRESS = "postgresql://ada:secret@db/games"
ALONE = ShardPlan((DUEL, SQUAD), journal=ADDRESS, owner="alone")


class Shared(MemoryJournal):
    """A journal on a server: what one server closes is open for others."""

    async def close(self) -> None:
        pass


def play(scene: Callable[[Shared], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20.0):
            await scene(Shared(wall=lambda: 1.0))

    asyncio.run(bounded())


def node_plan(shard: str, *queues: Queue) -> ShardPlan:
    layout = shards_of(queues)
    own = next(part for part in layout if part.name == shard)
    return ShardPlan(
        tuple(each for each in queues if each.name in own.queues),
        shard=shard,
        owner="node",
        journal=ADDRESS,
        layout=layout if len(layout) > 1 else (),
        keeps_format=True,
    )


async def served(journal: Shared, plan: ShardPlan, *players: str, queue: str = "squad") -> None:
    """Run a server, let players wait in it, and stop it."""
    runtime = Runtime(plan, journal)
    try:
        await runtime.start()
        for player in players:
            ticket = NewTicket((Player(player),), (queue,))
            await runtime.ask(Enqueue(runtime.now(), (ticket,)))
        await runtime.stop()
    finally:
        # Nobody watches leases run out here.
        for shelf in journal.shelves.values():
            if shelf.head is not None:
                shelf.head = msgspec.structs.replace(shelf.head, expires=0.0)


def test_server_without_node_refuses_the_journal_of_a_cluster_and_says_what_to_do() -> None:
    async def scene(journal: Shared) -> None:
        await served(journal, node_plan("s0", DUEL, SQUAD))
        await served(journal, node_plan("s0.squad", DUEL, SQUAD), "ada")
        before = await journal.last("s0"), journal.shelves["s0"].head
        said = r"postgresql://db/games has tickets or matches in .* \(s0\.squad\).*--node NAME"
        with pytest.raises(ConfigError, match=said):
            await served(journal, ALONE)
        # Its shard was not touched: any node has it at once.
        assert (await journal.last("s0"), journal.shelves["s0"].head) == before
        await served(journal, node_plan("s0", DUEL, SQUAD), "bob", queue="duel")

    play(scene)


def test_backup_of_several_shards_is_not_served_by_one_server(tmp_path: Path) -> None:
    async def scene(journal: Shared) -> None:
        await served(journal, node_plan("s0.squad", DUEL, SQUAD), "ada")
        restored = ShardPlan((DUEL, SQUAD), owner="alone", data=tmp_path)
        said = rf"journal in .* \(s0\.squad\).*`evenmatch backup {tmp_path} ADDRESS`"
        with pytest.raises(ConfigError, match=said):
            await served(journal, restored)

    play(scene)


def test_cluster_of_one_group_and_its_journal_are_served_by_either() -> None:
    async def scene(journal: Shared) -> None:
        await served(journal, node_plan("s0", DUEL), "ada", queue="duel")
        alone = msgspec.structs.replace(ALONE, queues=(DUEL,))
        await served(journal, alone, "bob", queue="duel")
        await served(journal, node_plan("s0", DUEL), "eve", queue="duel")

    play(scene)


def test_server_without_node_goes_on_with_its_own_journal_of_several_groups() -> None:
    async def scene(journal: Shared) -> None:
        await served(journal, ALONE, "ada")
        await served(journal, ALONE, "bob")

    play(scene)


def test_queue_that_waits_in_another_shard_than_the_configuration_has_it_in_is_said_so() -> None:
    async def scene(journal: Shared) -> None:
        await served(journal, ALONE, "ada")
        said = r"shard s0 .*squad \(1 waiting\), now in s0\.squad; .*drain.*--drop-queues"
        with pytest.raises(ConfigError, match=said) as error:
            await served(journal, node_plan("s0", DUEL, SQUAD))
        assert "add them again" not in str(error.value)
        # The other shard has begun, but nobody has waited there: the way back is open.
        await served(journal, node_plan("s0.squad", DUEL, SQUAD))
        await served(journal, ALONE)

    play(scene)


def test_queue_that_no_shard_has_any_more_is_to_be_added_again() -> None:
    async def scene(journal: Shared) -> None:
        await served(journal, node_plan("s0.squad", DUEL, SQUAD), "ada")
        other = Queue("trio", policy="greedy", group="squad")
        with pytest.raises(ConfigError, match=r"squad \(1 waiting\); add them again"):
            await served(journal, node_plan("s0.squad", DUEL, other))

    play(scene)
