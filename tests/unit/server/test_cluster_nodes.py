"""A node of a cluster, in front of games that do what a test says."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from evenmatch.config.server import ServerSettings
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.shards import ShardPart
from evenmatch.server.auth.accounts import Accounts
from evenmatch.server.cluster.identity import NodeIdentity
from evenmatch.server.cluster.node import GamePlan, Node
from evenmatch.server.cluster.seat import SeatPlan
from evenmatch.server.cluster.tenants import Tenants
from evenmatch.server.runtime.games import Games
from evenmatch.server.runtime.lease_keeping import Claim
from tests.unit.server.test_cluster_seats import PlayedGame

KEY = b"0123456789abcdef"
IDENTITY = NodeIdentity("a", "127.0.0.1:1", KEY, "00")


def node(*settings: ServerSettings) -> Node:
    """Return a node with a game of one shard for each of the settings."""
    games, accounts = [], {}
    for number, each in enumerate(settings or (ServerSettings(),)):
        name = f"game-{number}" if len(settings) > 1 else ""
        start = cast(Callable[[], Games], PlayedGame)
        seat = SeatPlan(name, Claim("s0", IDENTITY.owner, 30.0), MemoryJournal(), start)
        part = ShardPart("s0", ("default",), ("duel",))
        games.append(GamePlan(name, (seat,), (part,), each))
        accounts[name] = Accounts(each)
    return Node(IDENTITY, games, Tenants(accounts))


def with_node(scene: Callable[[Node], Awaitable[None]], *settings: ServerSettings) -> None:
    """Let a node live, and play a scene beside it."""

    async def main() -> None:
        running = node(*settings)
        await running.start()
        try:
            await scene(running)
        finally:
            await running.stop()

    asyncio.run(main())


def test_node_that_can_greet_no_others_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    async def failing(_: Any) -> None:
        raise AssertionError("a fault of ours")

    monkeypatch.setattr(Node, "_level", failing)

    async def scene(running: Node) -> None:
        await running.over()
        with pytest.raises(AssertionError, match="a fault of ours"):
            running.check_given_up()

    with_node(scene)
