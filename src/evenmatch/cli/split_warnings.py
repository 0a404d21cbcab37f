"""What it means that a group is split: who never meets any more, and what that may cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evenmatch.model.group_split import GroupSplit, read_split
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import Arrivals
from evenmatch.model.shards import split_of

FEW = 100.0
"""Arrivals a second in a part below which it is said that matches suffer.

Duels by rating in four parts by hash cost 1.07 times the whole at 25 a second in a part, and
1.02 times at 250, under `window`, which takes whoever is near enough; under `price`, which uses
what there is to choose from, 1.9 and 1.6 times.
"""


def split_warnings(queues: Sequence[Queue], arrivals: Arrivals | None) -> Iterator[str]:
    """Yield sentences about groups that are split.

    Args:
        queues: All queues.
        arrivals: What a simulation plays, whose rate tells how many there are in a part.
    """
    for group in dict.fromkeys(queue.group for queue in queues):
        own = [queue for queue in queues if queue.group == group]
        split = read_split(split_of(own))
        if split is not None:
            yield f"group {group}: split = {own[0].split}: {_who(split)}"
            if any(max(queue.format.players) > 1 for queue in own):
                yield (
                    f"group {group}: a party belongs to the part of its first player, so one of "
                    f"the others may wait in another part at the same time, and be matched twice"
                )
            yield from _few(group, split, arrivals)


def _who(split: GroupSplit) -> str:
    if split.kind == "hash":
        return (
            f"players of its {split.parts} parts never meet, so that a player can meet only one "
            f"in {split.parts} of the others"
        )
    cuts = ", ".join(f"{cut:g}" for cut in split.cuts)
    return (
        f"players on two sides of {split.attribute} {cuts} never meet, however near they are to "
        f"each other, and the first and the last part may be small"
    )


def _few(group: str, split: GroupSplit, arrivals: Arrivals | None) -> Iterator[str]:
    rate = None if arrivals is None else arrivals.rate
    if rate is not None and rate / split.parts < FEW:
        yield (
            f"group {group}: at {rate:g} arrivals a second a part gets {rate / split.parts:g}, and "
            f"matches are worse or later than in the whole: see by how much with evenmatch "
            f"simulate, with and without split"
        )
