"""Which queues stay together when nodes share a game out."""

import msgspec
import pytest

from evenmatch.model.queue import Queue
from evenmatch.model.shards import shard_of, shards_of


def names(*queues: Queue) -> list[tuple[str, tuple[str, ...]]]:
    return [(each.name, each.queues) for each in shards_of(queues)]


def test_game_of_one_group_has_the_shard_that_it_has_alone() -> None:
    assert names(Queue("a"), Queue("b")) == [("s0", ("a", "b"))]
    assert names(Queue("a", group="x")) == [("s0", ("a",))]


def test_groups_are_shards_and_the_default_one_keeps_its_name_wherever_it_stands() -> None:
    queues = Queue("a", group="x"), Queue("b"), Queue("c", group="x"), Queue("d", group="y")
    assert names(*queues) == [("s0.x", ("a", "c")), ("s0", ("b",)), ("s0.y", ("d",))]


def test_groups_that_share_a_ladder_stay_together_through_others_too() -> None:
    queues = (
        Queue("a", group="x", ladder="one"),
        Queue("b", group="y", ladder="one"),
        Queue("c", group="y", ladder="two"),
        Queue("d", group="z", ladder="two"),
        Queue("e", group="w"),
    )
    assert names(*queues) == [("s0", ("a", "b", "c", "d")), ("s0.w", ("e",))]


@pytest.mark.parametrize("shard", ["s0", "s0.x", "s0.a-b", "s0.m-m5"])
def test_shard_follows_from_the_ids_that_it_makes(shard: str) -> None:
    assert shard_of(f"{shard}-17") == shard
    assert shard_of(f"{shard}-m17") == shard


def test_queues_may_come_as_any_sequence() -> None:
    queues = [msgspec.structs.replace(Queue("a"), name=name) for name in "abc"]
    assert shards_of(queues) == shards_of(tuple(queues))
