"""Which configuration counts where nodes take shards over from each other."""

import asyncio
import tomllib
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from evenmatch.config.files import server_of
from evenmatch.errors import ConfigError
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.queue import Queue
from evenmatch.model.shards import shards_of
from evenmatch.server.operations import versions
from evenmatch.server.operations.versions import changeable, read_anew
from evenmatch.server.runtime.games import Games, game
from evenmatch.server.runtime.recovery import ShardPlan

CONFIG = """
[[queue]]
name = "duel"
policy = "window:limit=100"
"""
WIDER = CONFIG.replace("limit=100", "limit=300")
TWO_SHARDS = CONFIG + '[[queue]]\nname = "arena"\ngroup = "casual"\npolicy = "greedy"\n'


def plan_of(file: Path) -> ShardPlan:
    document = tomllib.loads(file.read_text())
    queues, settings, seed = server_of(document)
    return ShardPlan(
        queues, seed, settings, file=file, document=changeable(document), config_from="data"
    )


def games(plan: ShardPlan, journal: MemoryJournal) -> Games:
    return Games([game(plan)], snapshot_every=100, open_with=lambda plan, name: journal)


def policy_of(running: Games) -> str:
    return running.services[0].runtime.engine.tables.queues["duel"].policy


def test_configuration_of_sighup_stays_after_a_take_over(tmp_path: Path) -> None:
    file = tmp_path / "duel.toml"
    file.write_text(CONFIG)
    at_start = plan_of(file)

    async def main() -> None:
        journal = MemoryJournal()
        first = games(at_start, journal)
        await first.refresh()
        await first.start()
        file.write_text(WIDER)
        await first.reload()
        assert policy_of(first) == "window:limit=300"
        await first.stop()
        # Another process, which has read CONFIG before it was changed.
        journal = journal.reopen()
        second = games(at_start, journal)
        await second.refresh()
        await second.start()
        assert policy_of(second) == "window:limit=300"
        assert second.services[0].runtime.engine.tables.version == 2
        await second.stop()

    asyncio.run(main())


@pytest.mark.parametrize("text", ["[[queue", TWO_SHARDS, CONFIG.replace("window", "widow")])
def test_config_that_cannot_be_used_at_a_take_over_changes_nothing(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "duel.toml"
    file.write_text(CONFIG)
    plan = plan_of(file)
    file.write_text(text)
    said: list[str] = []
    log = SimpleNamespace(error=lambda event, **_: said.append(event))
    monkeypatch.setattr(versions, "log", log)
    assert read_anew(plan) == plan
    assert said == ["config_not_read_anew"]


def test_queue_for_which_nodes_know_no_shard_is_refused_in_a_change() -> None:
    duel, arena = Queue("duel"), Queue("arena", group="casual")
    plan = ShardPlan((duel,), layout=shards_of((duel, arena)))
    wider = msgspec.structs.replace(duel, policy="window:limit=300")
    assert plan.changed_queues((wider, arena)) == (wider,)
    with pytest.raises(ConfigError, match="queue squad is new, and the nodes"):
        plan.changed_queues((duel, Queue("squad"), arena))
    # A node alone, and one with a game of one shard, find each queue.
    alone = ShardPlan((duel,))
    assert alone.changed_queues((duel, Queue("squad"))) == (duel, Queue("squad"))
