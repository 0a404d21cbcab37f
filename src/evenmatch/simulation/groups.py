"""Groups of players by what `--by` names: an attribute, `size`, `queue`, `queues`, or deciles.

`rating_decile` and every other NAME_decile split the counted players by the nine quantiles of the
number NAME, "1" the lowest; equal values share a decile.
"""

from __future__ import annotations

import numpy as np

from evenmatch.errors import ConfigError
from evenmatch.model.ticket import Value, attribute_of
from evenmatch.simulation.history import History

DECILE = "_decile"
FLEXIBLE = "flexible"
"""The group of players who insist on no side."""
NONE = "none"
"""The group of players who have no such attribute; it comes last."""
GROUPS_MAX = 1000
"""Most groups of one attribute; a number with more values wants deciles."""

WITHOUT_TICKETS = frozenset({"size", "queue"})
"""What a history can be split by that has not kept its tickets."""


def groups_of(history: History, attribute: str, first: int = 0) -> dict[str, list[int]]:
    """Return the counted players by group: the index of each one's ticket.

    Args:
        history: A finished run that kept its tickets, but for `WITHOUT_TICKETS`.
        attribute: What to group by. `queue` is where a player was matched, else where they waited,
            joined by `+`; `queues` is where they waited in either case. By `side`, those who insist
            on none are `flexible`.
        first: Index of the first ticket that counts.

    Returns:
        Groups by name, numbers in ascending order before words.

    Raises:
        ConfigError: No player has the attribute, it is a map, or it has too many values.
    """
    values = _values(history, attribute, first)
    groups: dict[Value | None, list[int]] = {}
    places = (
        place for place in range(first, len(history.ids)) for _ in range(history.sizes[place])
    )
    for place, value in zip(places, values, strict=True):
        groups.setdefault(value, []).append(place)
    if len(groups) > GROUPS_MAX:
        raise ConfigError(
            f"--by {attribute}: it has {len(groups):,} values, at most {GROUPS_MAX:,} can be "
            f"shown; for a number use {attribute}{DECILE}"
        )
    return {_name(value): groups[value] for value in sorted(groups, key=_order)}


def _values(history: History, attribute: str, first: int) -> list[Value | None]:
    """Return the value of each counted player, party by party."""
    if attribute == "size":
        return [float(size) for size in history.sizes[first:] for _ in range(size)]
    if attribute == "queue":
        counted = range(first, len(history.ids))
        return [_queue_of(history, p) for p in counted for _ in range(history.sizes[p])]
    if attribute == "queues":
        counted = range(first, len(history.ids))
        return ["+".join(history.queues[p]) for p in counted for _ in range(history.sizes[p])]
    values = _attributes(history, attribute, first)
    if values and all(value is None for value in values):
        if not attribute.endswith(DECILE):
            raise ConfigError(f"--by {attribute}: no ticket has an attribute {attribute}")
        return _deciles(history, attribute.removesuffix(DECILE), first)
    if any(isinstance(value, dict) for value in values):
        raise ConfigError(f"--by {attribute}: it is a map; name a number, a word or a set")
    return [value or FLEXIBLE for value in values] if attribute == "side" else values


def _queue_of(history: History, place: int) -> str:
    number = history.match_of[place]
    return history.matches[number].queue if number >= 0 else "+".join(history.queues[place])


def _attributes(history: History, attribute: str, first: int) -> list[Value | None]:
    found = (
        attribute_of(ticket, player, attribute)
        for ticket in history.tickets[first:]
        for player in ticket.players
    )
    # Tickets made in Python may have whole numbers.
    return [float(value) if isinstance(value, float | int) else value for value in found]


def _deciles(history: History, attribute: str, first: int) -> list[Value | None]:
    values = _attributes(history, attribute, first)
    numbers = [value for value in values if isinstance(value, float)]
    if not numbers:
        raise ConfigError(f"--by {attribute}{DECILE}: no ticket has a number {attribute}")
    edges = np.quantile(numbers, np.arange(1, 10) / 10.0)
    return [
        1.0 + float(np.searchsorted(edges, value)) if isinstance(value, float) else None
        for value in values
    ]


def _order(value: Value | None) -> tuple[int, float, str]:
    if value is None:
        return (2, 0.0, "")
    return (0, value, "") if isinstance(value, float) else (1, 0.0, _name(value))


def _name(value: Value | None) -> str:
    if value is None:
        return NONE
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return value if isinstance(value, str) else "+".join(value)
