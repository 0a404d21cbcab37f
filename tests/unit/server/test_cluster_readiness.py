"""What a node of a game of several shards says of itself to load balancers."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from evenmatch.config.server import ServerSettings
from evenmatch.errors import JournalUnavailable
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.shards import ShardPart
from evenmatch.server.auth.accounts import Accounts
from evenmatch.server.cluster.node import Node
from evenmatch.server.cluster.peer_calls import NodeStatus, PeerAnswer
from evenmatch.server.cluster.plans import GamePlan
from evenmatch.server.cluster.seat import Role, SeatPlan, SeatStatus, ShardDrain
from evenmatch.server.cluster.tenants import Tenants
from evenmatch.server.http.responses import encode
from evenmatch.server.runtime.games import Games
from evenmatch.server.runtime.lease_keeping import Claim
from tests.unit.server.test_cluster_nodes import IDENTITY, SHARDS, asked, greeted_by
from tests.unit.server.test_cluster_seats import PlayedGame
from tests.waiting import until

OTHER = "b/1@127.0.0.1:2"
LEASE = 0.5


class FailingJournal(MemoryJournal):
    """A journal that can be out of reach."""

    is_away = False

    async def lease(self, shard: str, owner: str, ttl: float) -> int:
        if self.is_away:
            raise JournalUnavailable("nobody answers")
        return await super().lease(shard, owner, ttl)


class OtherNode:
    """What the other node says when it is greeted.

    Args:
        monkeypatch: Lets it answer.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.role: Role = "answering"
        self.drains: tuple[ShardDrain, ...] = ()
        self.is_silent = False
        greeted_by(monkeypatch, self._answer)

    def _answer(self) -> PeerAnswer | None:
        if self.is_silent:
            return None
        shards = tuple(SeatStatus("", name, self.role, "b", "127.0.0.1:2") for name in SHARDS)
        status = NodeStatus(
            "b", self.role, "b", "127.0.0.1:2", LEASE, shards, owns_as=OTHER, drains=self.drains
        )
        return PeerAnswer(200, encode(status))


def beside_owner(
    journal: MemoryJournal, scene: Callable[[Node], Awaitable[None]], *held: str
) -> None:
    """Let a node live beside another one, which holds these shards of the game."""

    async def main() -> None:
        for name in held:
            await journal.lease(name, OTHER, 60.0)
        start = cast(Callable[[], Games], PlayedGame)
        claims = [Claim(name, IDENTITY.owner, LEASE) for name in SHARDS]
        seats = [SeatPlan("", each, journal, start) for each in claims]
        parts = [ShardPart(name, (name,), (name,)) for name in SHARDS]
        plan = GamePlan("", tuple(seats), tuple(parts), ServerSettings())
        running = Node(IDENTITY, [plan], Tenants({"": Accounts(ServerSettings())}))
        await running.start()
        try:
            await until(lambda: _knows(running, held), "the leases")
            await scene(running)
        finally:
            await running.stop()

    asyncio.run(main())


def _knows(running: Node, held: tuple[str, ...]) -> bool:
    seats = running._seats.values()
    return all(
        seat.holder == OTHER if seat.claim.shard in held else seat.present is not None
        for seat in seats
    )


async def readiness(running: Node) -> tuple[int, Any]:
    """Return what the node answers to a load balancer."""
    answer = await asked(running, "/readyz")
    return answer.status, answer.value()


def test_node_without_a_shard_is_not_ready_when_no_owner_answers_and_the_journal_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    journal, other = FailingJournal(), OtherNode(monkeypatch)

    async def scene(running: Node) -> None:
        assert await readiness(running) == (200, {"status": "ready"})
        journal.is_away = True
        seats = list(running._seats.values())
        await until(lambda: all(seat.is_cut_off for seat in seats), "the outage")
        # The owner still has its lease, and answers what is handed on to it.
        assert await readiness(running) == (200, {"status": "ready"})
        other.role = "standing_by"
        await until(lambda: running._unready is not None, "what the owner says")
        status, told = await readiness(running)
        assert (status, told["status"]) == (503, "not ready")
        assert "the journal cannot be used" in told["reason"]
        journal.is_away, other.role = False, "answering"
        await until(lambda: running._unready is None, "the journal")

    beside_owner(journal, scene, *SHARDS)


def test_node_without_a_shard_is_not_ready_when_journal_and_owner_are_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    journal, other = FailingJournal(), OtherNode(monkeypatch)

    async def scene(running: Node) -> None:
        journal.is_away = other.is_silent = True
        await until(lambda: running._unready is not None, "the end of the lease")

    beside_owner(journal, scene, *SHARDS)


def test_node_without_a_shard_drains_with_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    other = OtherNode(monkeypatch)

    async def scene(running: Node) -> None:
        other.drains = (ShardDrain("/s0", 60.0, False),)
        first, second = running._seats.values()
        await until(lambda: first.is_draining, "the first drain")
        assert await readiness(running) == (200, {"status": "ready"})
        other.drains = tuple(ShardDrain(f"/{name}", 60.0, False) for name in SHARDS)
        await until(lambda: second.is_draining, "the second drain")
        assert await readiness(running) == (503, {"status": "draining"})
        other.drains = ()
        await until(lambda: not first.is_draining, "the end of the drain")
        assert await readiness(running) == (200, {"status": "ready"})

    beside_owner(MemoryJournal(), scene, *SHARDS)


def test_node_with_a_shard_that_is_told_drains_by_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    OtherNode(monkeypatch)

    async def scene(running: Node) -> None:
        assert await readiness(running) == (200, {"status": "ready"})
        first = next(iter(running._seats.values()))
        cast(Any, first.games).drain_left = 60.0
        # The operator of one game drains it; what belongs to others, the node hands on.
        assert await readiness(running) == (200, {"status": "ready"})
        running.drain()
        assert await readiness(running) == (503, {"status": "draining"})
        cast(Any, first.games).drain_left = None
        assert await readiness(running) == (200, {"status": "ready"})

    beside_owner(MemoryJournal(), scene, "s1")
