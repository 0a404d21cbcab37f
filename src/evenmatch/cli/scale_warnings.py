"""Scales of criteria that the values of a scenario do not fit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from evenmatch.criteria.base import Form
from evenmatch.criteria.registry import form_of
from evenmatch.criteria.sentences import number
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import attribute_of
from evenmatch.simulation.arrivals.stream import Arrival

OUTSIDE_MOST = 0.5
"""Share of the values that may lie outside a scale before that is said."""


def scale_warnings(queues: Sequence[Queue], arrivals: Sequence[Arrival]) -> Iterator[str]:
    """Yield a sentence about each linear scale that takes most values for one of its ends.

    Between two players whose values count as the same end the criterion sees no difference.

    Args:
        queues: All queues, the first one being that of tickets which name none.
        arrivals: The first of those who come.
    """
    for place, queue in enumerate(queues):
        own = [
            each.ticket
            for each in arrivals
            if queue.name in each.ticket.queues or not (each.ticket.queues or place)
        ]
        for criterion in queue.criteria:
            scale, name = criterion.scale, criterion.attribute
            if form_of(criterion) is not Form.NUMBERS or scale.kind != "linear":
                continue
            found = [attribute_of(each, player, name) for each in own for player in each.players]
            values = [value for value in found if isinstance(value, float | int)]
            outside = sum(not scale.min <= value <= scale.max for value in values)
            if outside > OUTSIDE_MOST * len(values):
                low, high = _round_range(min(values), max(values))
                yield (
                    f"queue {queue.name}: the scale of {criterion.kind} goes from {scale.min:g} to "
                    f"{scale.max:g}, and of the first {len(values)} values of {name} {outside} lie "
                    "outside and count as one of its ends; write scale = "
                    f"{{min = {number(low)}, max = {number(high)}}}"
                )


def _round_range(low: float, high: float) -> tuple[float, float]:
    """Return a range of round numbers that holds another one.

    >>> _round_range(712.0, 2290.0), _round_range(3.0, 3.0)
    ((0.0, 3000.0), (2.0, 4.0))
    """
    if high <= low:
        return low - 1.0, high + 1.0
    step = 10.0 ** math.floor(math.log10(high - low))
    return step * math.floor(low / step), step * math.ceil(high / step)
