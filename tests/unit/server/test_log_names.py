"""Lines of the log name the game and the shard that they are about."""

import asyncio
import io
import json
from typing import Any

from evenmatch.config.server import ServerSettings
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.queue import Queue
from evenmatch.server.auth.accounts import Accounts
from evenmatch.server.cluster.node import Node
from evenmatch.server.runtime.games import Game, Games
from evenmatch.server.runtime.logs import lines_about, log
from evenmatch.server.runtime.recovery import ShardPlan
from tests.unit.server.test_cluster_nodes import with_node
from tests.waiting import until


def lines(told: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in told.getvalue().splitlines()]


def test_tasks_that_are_begun_within_names_keep_them(told: io.StringIO) -> None:
    async def main() -> None:
        heard = asyncio.Event()

        async def task() -> None:
            await heard.wait()
            log.info("inside")
            log.info("inside", shard="s9")

        with lines_about(game="chess", shard=""):
            running = asyncio.create_task(task())
        log.info("outside")
        heard.set()
        await running

    asyncio.run(main())
    named = [(each["event"], each.get("game"), each.get("shard")) for each in lines(told)]
    assert named == [("outside", None, None), ("inside", "chess", None), ("inside", "chess", "s9")]


def test_what_a_shard_of_a_node_says_names_its_game(told: io.StringIO) -> None:
    async def scene(running: Node) -> None:
        seats = running._seats.values()
        await until(lambda: all(seat.present is not None for seat in seats), "the leases")

    with_node(scene, ServerSettings(), ServerSettings(), journal=MemoryJournal())
    answers = [each for each in lines(told) if each["event"] == "node_answers"]
    named = sorted((each["game"], each["shard"]) for each in answers)
    assert named == [("game-0", "s0"), ("game-1", "s0")]


def test_what_a_request_or_a_signal_brings_about_names_game_and_shard(told: io.StringIO) -> None:
    async def scene() -> None:
        plan = ShardPlan((Queue("duel"),))
        # As a seat of a node does.
        with lines_about(shard="s0"):
            games = Games([Game(plan, Accounts(plan.settings), "chess")], snapshot_every=1_000)
        await games.start()
        (services,) = games.services
        await services.operator.pause("duel", paused=True)
        services.drain.begin(1_000.0)
        await services.drain.over.wait()
        services.drain.end()
        await games.stop()

    asyncio.run(scene())
    for event in ("queue_paused", "draining", "drained", "draining_ended"):
        (said,) = [each for each in lines(told) if each["event"] == event]
        assert (said.get("game"), said.get("shard")) == ("chess", "s0"), event
