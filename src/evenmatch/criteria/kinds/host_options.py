"""Host options: who of a match could host it, because they can reach everyone.

What a player knows is an attribute of the ticket (`connect` unless the queue names another): the
set of player ids that were reached, or how the own router translates addresses: `open` reaches and
is reached by anyone, two who are `moderate` reach each other, and everything else fails.

Source:
    Galactron, possible hosts: none 0 %, one 60 %, two or more 100 %; a second one can take over
    when the first leaves.
"""

from __future__ import annotations

from collections.abc import Sequence

from evenmatch.criteria.base import Assigned, Comparison, Gap, Seats
from evenmatch.model.ticket import Player, Ticket, Value, attribute_of

COSTS = (1.0, 0.4, 0.0)
"""Of a match with no, one, and two or more possible hosts."""
ENOUGH = len(COSTS) - 1
"""Hosts beyond whom more make no difference."""
WORDS = ("open", "moderate", "strict")


def reaches(one: Value, two: Value, two_id: str) -> bool:
    """Return whether a player can connect to another.

    Args:
        one: The one's attribute.
        two: The other's attribute.
        two_id: The other's id.

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


class HostOptions(Comparison):
    """How many players of a match can reach everyone."""

    raw = (Gap("possible hosts", "", 1, is_of_attribute=False),)

    @staticmethod
    def problem(value: Value | None) -> str | None:
        """Return what is wrong with an attribute that says whom a player reaches."""
        if value is None:
            return "is missing"
        if isinstance(value, dict):
            return f"must be a set of player ids or one of {', '.join(WORDS)}, got a map"
        return None

    def cost(self, teams: Seats) -> float:
        """Return 1, .4 and 0 for no, one, and two or more hosts."""
        return COSTS[ENOUGH - int(self.gap(teams))]

    def gap(self, teams: Seats) -> float:
        """Return how many hosts are missing to two."""
        return float(ENOUGH - min(ENOUGH, len(hosts_of(teams, self.given.attribute))))

    def raw_gaps(self, teams: Seats, roles: Assigned = None) -> tuple[float, ...]:
        """Return how many players reach everyone."""
        del roles
        return (float(len(hosts_of(teams, self.given.attribute))),)

    def gap_max(self, tickets: Sequence[Ticket]) -> float:
        """Return how many hosts can be missing."""
        del tickets
        return float(ENOUGH)


def _value(ticket: Ticket, player: Player, attribute: str) -> Value:
    value = attribute_of(ticket, player, attribute)
    if value is None:
        raise TypeError(f"ticket {ticket.id}: {attribute} is missing")
    return value


def _ids(value: Value) -> tuple[str, ...]:
    """Return the ids of a set; files turn one of one id into a word or a number."""
    if isinstance(value, tuple):
        return value
    return (value if isinstance(value, str) else f"{value:.17g}",)
