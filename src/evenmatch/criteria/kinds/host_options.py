"""Host options: the players of a match who could host it, because they can reach everyone.

The data are an attribute of the ticket (`connect` unless the queue names another): either the set
of player ids that were reached, or the type of the player's NAT: `open` reaches and is reached by
anyone, two who are `moderate` reach each other, and all other pairs fail.

Source:
    Galactron, possible hosts: none 0 %, one 60 %, two or more 100 %; a second one can take over
    when the first leaves.
"""

from __future__ import annotations

from collections.abc import Sequence

from evenmatch.criteria.base import Comparison, Form, Gap, Keys, Limit, RolesByTeam, Seats
from evenmatch.criteria.host_reach import COSTS, ENOUGH, WORDS, hosts_of
from evenmatch.model.queue import Rule
from evenmatch.model.ticket import Ticket, Value


class HostOptions(Comparison):
    """How many players of a match can reach everyone."""

    criterion_keys = Keys(("attribute", "weight"))
    rule_keys = Keys(("attribute", "limit", "expand", "accept"))
    attribute = "connect"
    limit = Limit("how many hosts may be missing to two: 0 asks for two, 1 for one", 2.0)
    form = Form.NETWORK
    gap_most = 2.0
    compared = "the number of missing hosts (of two who can reach everyone, by {})"
    raw = (Gap("possible hosts", "", 1, is_of_attribute=False),)

    @classmethod
    def sentence(cls, rule: Rule) -> str:
        """Return how many hosts a match needs, or how their number widens."""
        if rule.expand is not None or rule.limit >= ENOUGH:
            return super().sentence(rule)
        hosts = "two players" if rule.limit < 1.0 else "at least one player"
        return f"A match needs {hosts} who can reach everyone, by {rule.attribute}."

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
        """Return by how many the hosts fall short of two."""
        return float(ENOUGH - min(ENOUGH, len(hosts_of(teams, self.definition.attribute))))

    def raw_gaps(self, teams: Seats, roles: RolesByTeam = None) -> tuple[float, ...]:
        """Return how many players reach everyone."""
        del roles
        return (float(len(hosts_of(teams, self.definition.attribute))),)

    def gap_max(self, tickets: Sequence[Ticket]) -> float:
        """Return the largest number by which hosts can fall short of two."""
        del tickets
        return float(ENOUGH)
