"""Which queues live together: the shards into which a game falls when several nodes share it.

A player may wait once in a group, and a ticket waits in queues of one group; so a group is the
least that must stay together. Groups whose queues share a ladder stay together too, since an
outcome in one queue changes what the other one knows of a player.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from evenmatch.model.queue import Queue

FIRST = "s0"
"""The shard of a game that is not spread, and the first one of a game that is."""
DEFAULT_GROUP = "default"


class ShardPart(msgspec.Struct, frozen=True):
    """One shard of a game.

    Args:
        name: Prefix of all ids.
        groups: Those whose queues it has.
        queues: The names of its queues.
    """

    name: str
    groups: tuple[str, ...]
    queues: tuple[str, ...]


def shards_of(queues: Sequence[Queue]) -> tuple[ShardPart, ...]:
    """Return the shards of a game, that of its first queue first.

    The shard with the group `default` is `s0`, or that of the first queue where nobody uses that
    group; another one is named after its first group. So a game with one group has the shard that
    it has without a cluster.

    Args:
        queues: All queues of the game.

    Example:
        >>> duel, arena = Queue("duel"), Queue("arena", group="casual")
        >>> [(each.name, each.queues) for each in shards_of([duel, arena])]
        [('s0', ('duel',)), ('s0.casual', ('arena',))]
        >>> arena = Queue("arena", group="casual", ladder="default")
        >>> [(each.name, each.queues) for each in shards_of([duel, arena])]
        [('s0', ('duel', 'arena'))]
    """
    together: dict[str, list[str]] = {}
    for queue in queues:
        together.setdefault(queue.group, [queue.group])
    by_ladder: dict[str, str] = {}
    for queue in queues:
        other = by_ladder.setdefault(queue.rated_in, queue.group)
        one, two = together[other], together[queue.group]
        if one is not two:
            one += two
            for group in two:
                together[group] = one
    sets = list({id(each): each for each in together.values()}.values())
    first = next((each for each in sets if DEFAULT_GROUP in each), sets[0] if sets else None)
    return tuple(
        ShardPart(
            FIRST if each is first else f"{FIRST}.{each[0]}",
            tuple(each),
            tuple(queue.name for queue in queues if queue.group in each),
        )
        for each in sets
    )


def shard_of(name: str) -> str:
    """Return the shard of a ticket's or a match's id.

    >>> shard_of("s0.casual-17"), shard_of("s0-m3"), shard_of("nothing")
    ('s0.casual', 's0', '')
    """
    return name.rpartition("-")[0]
