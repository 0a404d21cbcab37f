"""Which players of a match can reach all others, and so could host it.

The data are an attribute of the ticket: either the set of player ids that were reached, or the type
of the player's NAT: `open` reaches and is reached by anyone, two who are `moderate` reach each
other, and all other pairs fail.
"""

from __future__ import annotations

from evenmatch.criteria.base import Seats
from evenmatch.model.ticket import Player, Ticket, Value, attribute_of

COSTS = (1.0, 0.4, 0.0)
"""Cost of a match with no, one, and two or more possible hosts."""
ENOUGH = len(COSTS) - 1
"""More hosts than this make no difference."""
WORDS = ("open", "moderate", "strict")


def reaches(one: Value, two: Value, two_id: str) -> bool:
    """Return whether a player can connect to another.

    Args:
        one: The first player's attribute.
        two: The second player's attribute.
        two_id: The second player's id.

    >>> reaches("strict", "open", "b"), reaches("moderate", "strict", "b")
    (True, False)
    >>> reaches("moderate", "moderate", "b"), reaches(("b",), (), "b"), reaches((), (), "b")
    (True, True, False)
    """
    if one == "open" or two == "open":
        return True
    if one in WORDS:
        return one == two == "moderate"
    return two_id in _ids(one)


def hosts_of(teams: Seats, attribute: str) -> list[tuple[Ticket, Player]]:
    """Return the players who reach everyone in a match, team by team.

    Complexity:
        O(k^2).
    """
    people = [(t, p, _value(t, p, attribute)) for team in teams for t in team for p in t.players]
    return [
        (ticket, player)
        for ticket, player, own in people
        if all(other is player or reaches(own, value, other.id) for _, other, value in people)
    ]


def _value(ticket: Ticket, player: Player, attribute: str) -> Value:
    value = attribute_of(ticket, player, attribute)
    if value is None:
        raise TypeError(f"ticket {ticket.id}: {attribute} is missing")
    return value


def _ids(value: Value) -> tuple[str, ...]:
    """Return the ids of a set; files turn a set of one id into a word or a number."""
    if isinstance(value, tuple):
        return value
    return (value if isinstance(value, str) else f"{value:.17g}",)
