"""Simulates a group that is split: each part is a group with queues of its own.

The parts share nothing, as on the nodes of a cluster, so one engine plays them side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from evenmatch.model.group_split import GroupSplit, read_split
from evenmatch.model.queue import Queue
from evenmatch.model.shards import split_of
from evenmatch.model.ticket import NewTicket, attribute_of
from evenmatch.simulation.arrivals.stream import Arrival


class Parts:
    """The parts of a scenario's queues.

    Args:
        queues: As configured.

    Raises:
        ConfigError: Queues of one group are split in different ways.
    """

    def __init__(self, queues: Sequence[Queue]) -> None:
        self._first = queues[0].name
        self._splits: dict[str, GroupSplit] = {}
        found: list[Queue] = []
        for queue in queues:
            split = read_split(split_of([each for each in queues if each.group == queue.group]))
            if split is None:
                found.append(queue)
                continue
            self._splits[queue.name] = split
            found += (_part(queue, number) for number in range(split.parts))
        self.queues = tuple(found)

    @property
    def are_several(self) -> bool:
        """Return whether any group is split."""
        return bool(self._splits)

    def placed(self, arrivals: Iterator[Arrival]) -> Iterator[Arrival]:
        """Yield arrivals with the queues of their part."""
        for arrival in arrivals:
            yield msgspec.structs.replace(arrival, ticket=self._placed(arrival.ticket))

    def _placed(self, ticket: NewTicket) -> NewTicket:
        names = ticket.queues or (self._first,)
        split = self._splits.get(names[0])
        if split is None:
            return ticket
        first = ticket.players[0]
        value = attribute_of(ticket, first, split.attribute) if split.attribute else None
        part = split.part_of(first.id, value)
        return msgspec.structs.replace(ticket, queues=tuple(name_of(each, part) for each in names))


def name_of(queue: str, part: int) -> str:
    """Return the name of a queue in a part: that of the queue in the first one."""
    return f"{queue}.part{part}" if part else queue


def _part(queue: Queue, number: int) -> Queue:
    ladder = name_of(queue.rated_in, number) if number else queue.ladder
    return msgspec.structs.replace(
        queue,
        name=name_of(queue.name, number),
        group=name_of(queue.group, number),
        ladder=ladder,
    )
