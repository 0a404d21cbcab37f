"""Whose turn it is in a switchback: a function of engine time, so a restart changes nothing.

Blocks are counted from the shard's birth. Each round of blocks has every policy once, in an order
drawn from the seed, so no policy gets the evenings for itself and none has more blocks than others.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable

import msgspec

from evenmatch.model.queue import Queue
from evenmatch.model.switchback import Switchback


def block_at(switchback: Switchback, now: float) -> int:
    """Return the number of the block at an instant of engine time, from 0."""
    return math.floor(now / switchback.block)


def arm_of(switchback: Switchback, block: int, name: str) -> int:
    """Return which policy has a block, as its place among the policies.

    Args:
        switchback: The policies.
        block: Number of the block.
        name: The queue's; two queues with one seed have different orders.

    >>> turns = Switchback(("greedy", "patient"), seed=3)
    >>> [arm_of(turns, block, "duel") for block in range(8)]
    [1, 0, 1, 0, 0, 1, 1, 0]
    """
    count = len(switchback.policies)
    of_round, place = divmod(block, count)

    def drawn(arm: int) -> bytes:
        return hashlib.sha256(f"{switchback.seed}/{name}/{of_round}/{arm}".encode()).digest()

    return sorted(range(count), key=drawn)[place]


def as_played(queues: Iterable[Queue], now: float) -> tuple[Queue, ...]:
    """Return queues with the policies whose turn it is at an instant of engine time."""
    found = []
    for queue in queues:
        turns = queue.switchback
        if turns is not None:
            policy = turns.policies[arm_of(turns, block_at(turns, now), queue.name)]
            queue = msgspec.structs.replace(queue, policy=policy)
        found.append(queue)
    return tuple(found)


def next_turn(queues: Iterable[Queue], now: float) -> float:
    """Return the next instant at which a block ends; inf without a switchback."""
    ends = [
        (block_at(queue.switchback, now) + 1) * queue.switchback.block
        for queue in queues
        if queue.switchback is not None
    ]
    return min(ends, default=math.inf)
