"""Percentiles: the place of a value in a distribution, from 0 (the lowest) to 1.

Two players who are 100 points apart are nearly equal in the middle of a ladder and far apart at its
top; a difference of percentiles says how many players stand between them. The distribution is a
table, which is part of the queue, or the last values of tickets that the queue accepted. A table
gives the percentile of any value. Among the last values, a ticket gets its place once, on
acceptance, and keeps it: so its limits never shrink, and recovery computes nothing.

Source:
    "Matching players in an online 1vs1 game": the top 10 % meets the top 5 to 15 %.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from evenmatch.errors import ConfigError
from evenmatch.model.events import Placed
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket, Ticket, attribute_of

Floats = NDArray[np.float64]

QUANTILES_MAX = 1_001
"""Most quantiles kept of a table."""


def quantiles_of(values: Sequence[float]) -> tuple[float, ...]:
    """Return the quantiles at equal steps, from the least to the greatest value.

    Args:
        values: At least one, in any order.

    Returns:
        All values in order if there are at most `QUANTILES_MAX`, else that many quantiles.

    >>> quantiles_of([3.0, 1.0, 2.0])
    (1.0, 2.0, 3.0)
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    if len(ordered) > QUANTILES_MAX:
        ordered = np.quantile(ordered, np.linspace(0.0, 1.0, QUANTILES_MAX))
    return tuple(ordered.tolist())


def percentile(quantiles: Sequence[float], value: float) -> float:
    """Return the share of a table that lies below a value, in [0, 1].

    Between two quantiles the share grows linearly; a value that equals several quantiles gets
    their middle.

    Args:
        quantiles: At equal steps, ascending; at least one.
        value: Any number.

    >>> percentile((1000.0, 1500.0, 2000.0), 1750.0)
    0.75
    """
    steps = max(1, len(quantiles) - 1)
    low, high = bisect_left(quantiles, value), bisect_right(quantiles, value)
    if low < high:
        return 0.5 if len(quantiles) == 1 else (low + high - 1) / 2 / steps
    if low == 0 or low == len(quantiles):
        return 0.0 if low == 0 else 1.0
    below, above = quantiles[low - 1], quantiles[low]
    return (low - 1 + (value - below) / (above - below)) / steps


def percentiles(quantiles: Sequence[float], values: Floats) -> Floats:
    """Return `percentile` of every element; any shape."""
    table = np.asarray(quantiles, dtype=np.float64)
    steps, last = max(1, len(table) - 1), len(table) - 1
    low, high = np.searchsorted(table, values, "left"), np.searchsorted(table, values, "right")
    below, above = table[np.clip(low - 1, 0, last)], table[np.clip(low, 0, last)]
    width = np.where(above > below, above - below, 1.0)
    found: Floats = (low - 1 + (values - below) / width) / steps
    found = np.where(low == 0, 0.0, np.where(low > last, 1.0, found))
    in_table = 0.5 if last == 0 else (low + high - 1) / 2 / steps
    return np.where(low < high, in_table, found)


class RecentValues(msgspec.Struct):
    """The last values, in order of arrival and sorted; see `model.events.Placed`."""

    arrived: list[float] = []
    ordered: list[float] = []

    def place(self, value: float) -> float:
        """Return the share of the values, this one included, that lies below it, in (0, 1).

        Equal values count by half, so that the very first value gets the middle.

        >>> RecentValues([1.0, 5.0, 3.0], [1.0, 3.0, 5.0]).place(4.0)
        0.625
        """
        low, high = bisect_left(self.ordered, value), bisect_right(self.ordered, value)
        return (low + (high - low + 1) / 2) / (len(self.ordered) + 1)

    def add(self, value: float, last: int) -> None:
        """Add a value, and drop those before the last `last`.

        Complexity:
            O(log n) and moves of memory.
        """
        self.arrived.append(value)
        insort(self.ordered, value)
        while len(self.arrived) > last:
            gone = self.arrived.pop(0)
            del self.ordered[bisect_left(self.ordered, gone)]

    def copy(self) -> RecentValues:
        """Return a copy that later values do not change."""
        return RecentValues(list(self.arrived), list(self.ordered))


def key_of(queue: str, attribute: str) -> str:
    """Return the key of last values in tables and of a ticket's places among them.

    >>> key_of("duel", "wins/losses")
    'duel/wins/losses'
    """
    return f"{queue}/{attribute}"


def parts_of(key: str) -> tuple[str, str]:
    """Return the queue and the attribute of a key; names of queues have no slash."""
    queue, _, attribute = key.partition("/")
    return queue, attribute


def samples_of(queue: Queue) -> dict[str, int]:
    """Return how many last values a queue keeps, by key.

    Raises:
        ConfigError: Two criteria or rules place one attribute among different numbers of values.
    """
    samples = [(rule.attribute, rule.sample) for rule in queue.rules if rule.unit == "percentile"]
    samples += [
        (each.attribute, each.scale.sample)
        for each in queue.criteria
        if each.scale.kind == "percentile"
    ]
    found: dict[str, int] = {}
    for attribute, sample in samples:
        if sample.quantiles:
            continue
        last = found.setdefault(key_of(queue.name, attribute), sample.last)
        if last != sample.last:
            raise ConfigError(
                f'queue "{queue.name}", percentiles of {attribute} are taken among the last '
                f"{last:,} and the last {sample.last:,} values; give last one number everywhere"
            )
    return found


def placed_among(
    ticket: NewTicket | Ticket, samples: Mapping[str, int], recent: Mapping[str, RecentValues]
) -> dict[str, Placed]:
    """Return the places of a ticket's players among the last values.

    Args:
        ticket: The ticket, not yet among them.
        samples: How many last values count, by key.
        recent: The last values, by key.
    """
    places = {}
    for key, last in samples.items():
        known = recent.get(key) or RecentValues()
        values = _values(ticket, parts_of(key)[1])
        places[key] = Placed(last, tuple([known.place(value) for value in values]))
    return places


def remember(
    ticket: NewTicket | Ticket,
    queues: Collection[str],
    places: Mapping[str, Placed],
    recent: dict[str, RecentValues],
) -> None:
    """Add an accepted ticket's values to the last ones of its queues.

    Args:
        ticket: The ticket.
        queues: The queues in which it waits.
        places: The places that it was given; other last values of these queues are dropped.
        recent: The last values, by key.
    """
    for key in [key for key in recent if key not in places and parts_of(key)[0] in queues]:
        del recent[key]
    for key, placed in places.items():
        values = recent.setdefault(key, RecentValues())
        for value in _values(ticket, parts_of(key)[1]):
            values.add(value, placed.last)


def _values(ticket: NewTicket | Ticket, attribute: str) -> list[float]:
    found = [attribute_of(ticket, player, attribute) for player in ticket.players]
    return [float(value) for value in found if isinstance(value, float | int)]
