"""Which configuration counts where nodes take shards over from each other."""

import asyncio
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import parse_qsl

import msgspec
import pytest

from evenmatch.config.files import server_of
from evenmatch.errors import ConfigError, MatchmakingError, StaleVersion
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.queue import Queue
from evenmatch.model.shards import shards_of
from evenmatch.server.auth.accounts import Accounts
from evenmatch.server.cluster import configurations
from evenmatch.server.cluster.configurations import Configurations
from evenmatch.server.cluster.greetings import digest_of
from evenmatch.server.cluster.plans import GamePlan, cluster_plan
from evenmatch.server.cluster.seat import Seat
from evenmatch.server.http.responses import (
    InvalidRequest,
    Message,
    Receive,
    Scope,
    Send,
    encode,
    read_body,
    replay_body,
    send_body,
)
from evenmatch.server.operations import versions
from evenmatch.server.operations.versions import changeable, read_anew
from evenmatch.server.runtime.games import Game, Games, game
from evenmatch.server.runtime.recovery import ShardPlan
from tests.waiting import turns

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


def test_digest_of_a_node_is_of_the_config_that_it_has_read_last(tmp_path: Path) -> None:
    file = tmp_path / "duel.toml"

    def planned() -> GamePlan:
        plan = msgspec.structs.replace(plan_of(file), journal="nats://127.0.0.1:1")
        game = Game(plan, Accounts(plan.settings))
        return cluster_plan(game, "a/1@h:1", 5.0, snapshot_every=100)

    file.write_text(CONFIG)
    one = planned()
    file.write_text(WIDER)
    # As long as nobody says so, the file is not read.
    assert digest_of([one]) != digest_of([planned()])
    again = one.read_anew()
    assert digest_of([again]) == digest_of([planned()])
    file.write_text("[[queue")
    assert digest_of([again.read_anew()]) == digest_of([again])


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


class PlayedShard:
    """A shard that keeps one configuration, and loses answers as a test says."""

    def __init__(self, lost: int = 0) -> None:
        self.version = 1
        self.config: Any = {"seed": 0}
        self.lost = lost
        """How many changes it makes without saying so."""

    def put(self, query: dict[str, str], config: Any) -> tuple[int, Any]:
        if "if_version" in query and int(query["if_version"]) != self.version:
            return 409, {"error": "stale_version", "message": "", "version": self.version}
        is_dry = query.get("dry_run") == "1"
        if not is_dry:
            # The same again makes no version.
            self.version += config != self.config
            self.config = config
            if self.lost:
                self.lost -= 1
                return 503, {"error": "unavailable", "message": ""}
        numbers = dict.fromkeys(("expired", "left", "overdue"), 0)
        lists: dict[str, list[str]] = {"queues": [], "at_restart": []}
        return 200, {"version": self.version, "dry_run": is_dry, **numbers, **lists}


def put_to(
    shards: list[PlayedShard], *configs: Any, query: bytes, near: int | None = None
) -> list[Any]:
    """Send changes to a game of these shards at once; return each answer, or its error.

    The shard that is near hears of the first change sooner than of others, which are sooner
    elsewhere.
    """
    seats = {cast(Seat, object()): shard for shard in shards}

    async def serve(seat: Seat, scope: Scope, receive: Receive, send: Send) -> None:
        shard = seats[seat]
        # Both changes are under way before either of them gets any further.
        await turns(3)
        if scope["method"] == "GET":
            state = {"version": shard.version, "source": "http", "paused": []}
            await send_body(send, 200, encode({**state, "config": shard.config}))
            return
        body = await read_body(scope, receive, 1_000)
        if near is not None:
            is_first = msgspec.json.decode(body) == configs[0]
            await turns(3 if is_first == (shard is shards[near]) else 9)
        query = dict(parse_qsl(scope["query_string"].decode()))
        status, told = shard.put(query, msgspec.json.decode(body))
        await send_body(send, status, encode(told))

    async def put(config: Any) -> Any:
        headers = [(b"content-type", b"application/json")]
        scope = {"type": "http", "method": "PUT", "path": "/v1/config", "headers": headers}
        receive = replay_body(encode(config), never)
        game = Configurations(list(seats), {}, serve)
        try:
            answer = await game.answer({**scope, "query_string": query}, receive)
        except MatchmakingError as error:
            return error
        return answer.status, answer.value()

    async def never() -> Message:
        raise AssertionError

    async def main() -> list[Any]:
        return list(await asyncio.gather(*(put(each) for each in configs)))

    return asyncio.run(main())


def test_of_two_changes_of_one_version_of_several_shards_one_is_refused() -> None:
    shards = [PlayedShard(), PlayedShard(), PlayedShard()]
    found = put_to(shards, {"seed": 1}, {"seed": 2}, query=b"if_version=3")
    (made,) = (each for each in found if not isinstance(each, StaleVersion))
    assert (made[0], made[1]["version"]) == (200, 6)
    (refused,) = (each for each in found if isinstance(each, StaleVersion))
    # The version is that of the game as it stands, not that of a shard.
    assert 3 < refused.version <= 6
    seed = 1 if found[0] is made else 2
    assert [each.config["seed"] for each in shards] == [seed] * 3


@pytest.mark.parametrize("near", [0, 1, 2])
def test_of_two_changes_at_once_one_is_in_force_in_all_shards(near: int) -> None:
    shards = [PlayedShard(), PlayedShard(), PlayedShard()]
    found = put_to(shards, {"seed": 1}, {"seed": 2}, query=b"", near=near)
    assert [status for status, _ in found] == [200, 200]
    assert len({each.config["seed"] for each in shards}) == 1
    assert {each.version for each in shards} == {3}


def test_change_that_is_overtaken_again_and_again_is_refused() -> None:
    class Busy(PlayedShard):
        def put(self, query: dict[str, str], config: Any) -> tuple[int, Any]:
            self.version += 1
            return super().put(query, config)

    shards = [PlayedShard(), Busy()]
    (refused,) = put_to(shards, {"seed": 1}, query=b"")
    assert isinstance(refused, StaleVersion)
    assert shards[0].config == {"seed": 0}


def test_change_of_a_version_is_done_where_a_shard_made_it_and_could_not_say_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(configurations, "AGAIN_SECONDS", 0.0)
    shards = [PlayedShard(lost=1), PlayedShard(), PlayedShard(lost=1)]
    ((status, told),) = put_to(shards, {"seed": 1}, query=b"if_version=3")
    assert (status, told["version"]) == (200, 6)
    assert [(each.version, each.config["seed"]) for each in shards] == [(2, 1)] * 3


def test_change_of_a_version_is_refused_where_a_shard_has_another_one_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Changed(PlayedShard):
        def put(self, query: dict[str, str], config: Any) -> tuple[int, Any]:
            if query.get("dry_run") == "1" or self.version > 1:
                return super().put(query, config)
            # It never heard of this one, and somebody else was faster than its repetition.
            self.version, self.config = 2, {"seed": 7}
            return 503, {"error": "unavailable", "message": ""}

    monkeypatch.setattr(configurations, "AGAIN_SECONDS", 0.0)
    shards = [PlayedShard(), Changed()]
    (refused,) = put_to(shards, {"seed": 1}, query=b"if_version=2")
    assert isinstance(refused, StaleVersion)
    assert refused.version == 4
    assert shards[1].config == {"seed": 7}


@pytest.mark.parametrize("version", [b"9" * 4_400, b"x", b"-1"])
def test_version_that_is_no_number_is_refused_by_a_game_of_several_shards(version: bytes) -> None:
    (refused,) = put_to([PlayedShard(), PlayedShard()], {}, query=b"if_version=" + version)
    assert isinstance(refused, InvalidRequest)
    assert refused.where == "/if_version"
