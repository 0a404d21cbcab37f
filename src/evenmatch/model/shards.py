"""Which queues live together: the shards into which a game falls when several nodes share it.

A player may wait once in a group, and a ticket waits in queues of one group; so a group is the
least that must stay together. Groups whose queues share a ladder stay together too, since an
outcome in one queue changes what the other one knows of a player.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from evenmatch.errors import ConfigError
from evenmatch.model.group_split import read_split
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
        split: Which part of them it is, where their groups are split; the SPEC and the number.
    """

    name: str
    groups: tuple[str, ...]
    queues: tuple[str, ...]
    split: tuple[str, int] = ("", 0)


def shards_of(queues: Sequence[Queue]) -> tuple[ShardPart, ...]:
    """Return the shards of a game, that of its first queue first.

    The shard with the group `default` is `s0`, or that of the first queue where nobody uses that
    group; another one is named after its first group. So a game with one group has the shard that
    it has without a cluster. Of a group that is split, the first part has the name of the whole,
    and the others are numbered.

    Args:
        queues: All queues of the game.

    Raises:
        ConfigError: Queues that stay together are split in different ways.

    Example:
        >>> duel, arena = Queue("duel"), Queue("arena", group="casual")
        >>> [(each.name, each.queues) for each in shards_of([duel, arena])]
        [('s0', ('duel',)), ('s0.casual', ('arena',))]
        >>> arena = Queue("arena", group="casual", ladder="default")
        >>> [(each.name, each.queues) for each in shards_of([duel, arena])]
        [('s0', ('duel', 'arena'))]
        >>> [each.name for each in shards_of([Queue("duel", split="hash:3")])]
        ['s0', 's0~1', 's0~2']
    """
    sets = _together(queues)
    first = next((each for each in sets if DEFAULT_GROUP in each), sets[0] if sets else None)
    parts: list[ShardPart] = []
    for each in sets:
        own = [queue for queue in queues if queue.group in each]
        name = FIRST if each is first else f"{FIRST}.{each[0]}"
        names = tuple(queue.name for queue in own)
        text = split_of(own)
        split = read_split(text)
        for number in range(1 if split is None else split.parts):
            numbered = f"{name}~{number}" if number else name
            parts.append(ShardPart(numbered, tuple(each), names, (text, number)))
    return tuple(parts)


def is_shard_name(name: str) -> bool:
    """Return whether `shards_of` gives such names.

    >>> [is_shard_name(each) for each in ("s0", "s0.casual", "s0~2", "s01", "mine")]
    [True, True, True, False, False]
    """
    return name == FIRST or name.startswith((f"{FIRST}.", f"{FIRST}~"))


def split_of(queues: Sequence[Queue]) -> str:
    """Return how queues that stay together are split; "" if they are not.

    Raises:
        ConfigError: They say different things.
    """
    for queue in queues[1:]:
        if queue.split != queues[0].split:
            raise ConfigError(
                f"queues {queues[0].name} and {queue.name} belong together, by their group or "
                f"their ladder, and must be split alike: split is {queues[0].split!r} in one and "
                f"{queue.split!r} in the other"
            )
    return queues[0].split


def shard_of(name: str) -> str:
    """Return the shard of a ticket's or a match's id; "" if it is none.

    >>> shard_of("s0.casual-17"), shard_of("s0-m3"), shard_of("nothing")
    ('s0.casual', 's0', '')
    """
    return name.rpartition("-")[0]


def _together(queues: Sequence[Queue]) -> list[list[str]]:
    """Return the groups by what must stay together, in the order of the queues."""
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
    return list({id(each): each for each in together.values()}.values())
