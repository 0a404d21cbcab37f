"""Where a party plays best: the region by which tickets are told apart in figures."""

from __future__ import annotations

from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.ticket import LATENCY, NewTicket, Ticket, Value, attribute_of

REGION_MOST = 40
"""Characters of a region's name that count."""


def region_of(ticket: Ticket | NewTicket, latency: str) -> str:
    """Return a party's region: the one it names, or the one with the least mean latency.

    Args:
        ticket: The party.
        latency: The attribute that holds milliseconds by region.

    Returns:
        "" where the party names none and its players share none.
    """
    if not (ticket.attributes or ticket.players[0].attributes):
        return ""
    named = attribute_of(ticket, ticket.players[0], "region")
    if isinstance(named, str):
        return named[:REGION_MOST]
    maps = [_latencies(attribute_of(ticket, player, latency)) for player in ticket.players]
    shared = [name for name in maps[0] if all(name in each for each in maps[1:])]
    if not shared:
        return ""
    best = min(shared, key=lambda name: (sum(each[name] for each in maps), name))
    return best[:REGION_MOST]


def latency_attribute(queue: Queue) -> str:
    """Return the attribute by which a queue compares latencies, `latency` where it does not."""
    compared: tuple[Criterion | Rule, ...] = (*queue.criteria, *queue.rules)
    for each in compared:
        # The kind is called as the attribute that it compares.
        if each.kind == LATENCY and each.attribute:
            return each.attribute
    return LATENCY


def _latencies(value: Value | None) -> dict[str, float]:
    return value if isinstance(value, dict) else {}
