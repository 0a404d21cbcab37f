"""The numbers of a ticket's players, as criteria and rules compare them."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

import numpy as np

from evenmatch.criteria.percentile import key_of, percentile
from evenmatch.criteria.scales import Floats, scale_value, scale_values
from evenmatch.model.queue import Criterion, Sample
from evenmatch.model.ticket import Ticket, Value, attribute_of


def quoted_value(value: Value) -> str:
    """Return a value as a client wrote it, shortened if it is long.

    >>> quoted_value(("a", "b")), quoted_value("far")
    ('["a", "b"]', '"far"')
    """
    return f"{json.dumps(value, ensure_ascii=False):.80}"


def elements(value: Value | None) -> Collection[str]:
    """Return the elements of a set; files turn a set of one element into a word or a number.

    >>> elements(("en", "fr")), elements("en"), elements(7.0), elements(None)
    (('en', 'fr'), ('en',), ('7',), ())
    """
    if value is None:
        return ()
    if isinstance(value, tuple):
        return value
    if isinstance(value, dict):
        return tuple(value)
    return (value if isinstance(value, str) else f"{value:.17g}",)


def numbers(ticket: Ticket, attribute: str) -> list[float]:
    """Return the attribute's value for each player of the ticket.

    Raises:
        TypeError: A value is missing or not a number; the engine admits no such ticket.
    """
    found = [attribute_of(ticket, player, attribute) for player in ticket.players]
    for value in found:
        if type(value) is not float:
            return _floats(ticket, attribute, found)
    return found  # type: ignore[return-value]


def _floats(ticket: Ticket, attribute: str, found: Sequence[Value | None]) -> list[float]:
    """Return values as floats, some of which are whole numbers, or invalid."""
    if not all(isinstance(value, float | int) for value in found):
        raise TypeError(f"ticket {ticket.id}: {attribute} must be a number, got {found}")
    return [float(value) for value in found]  # type: ignore[arg-type]


def number(ticket: Ticket, attribute: str) -> float:
    """Return the attribute's value for the one player of a solo ticket."""
    player = ticket.players[0]
    if attribute != "rating" or player.attributes or ticket.attributes or player.rating is None:
        value = attribute_of(ticket, player, attribute)
    else:
        # The commonest case of queues and tickets, read by a shorter way.
        value = player.rating.mean
    if type(value) is not float:
        return numbers(ticket, attribute)[0]
    return value


def places(ticket: Ticket, queue: str, attribute: str, sample: Sample) -> list[float]:
    """Return the percentile of each player of the ticket, in [0, 1].

    Raises:
        TypeError: The engine has not placed the ticket among the last values.
    """
    if sample.quantiles:
        return [percentile(sample.quantiles, value) for value in numbers(ticket, attribute)]
    found = ticket.percentiles.get(key_of(queue, attribute))
    if found is None:
        raise TypeError(f"ticket {ticket.id}: {attribute} has no place among the last values")
    return list(found)


def scaled_numbers(criterion: Criterion, queue: str, ticket: Ticket) -> list[float]:
    """Return the value of each player of a ticket as a criterion of the queue compares it."""
    scale = criterion.scale
    if scale.kind == "percentile":
        return places(ticket, queue, criterion.attribute, scale.sample)
    return [scale_value(scale, value) for value in numbers(ticket, criterion.attribute)]


def scaled_column(criterion: Criterion, queue: str, tickets: Sequence[Ticket]) -> Floats:
    """Return `scaled_numbers` of all players of many tickets at once."""
    scale = criterion.scale
    if scale.kind == "percentile" and not scale.sample.quantiles:
        return np.array([value for t in tickets for value in scaled_numbers(criterion, queue, t)])
    raw = np.array([value for t in tickets for value in numbers(t, criterion.attribute)])
    return scale_values(scale, raw)
