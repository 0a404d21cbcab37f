"""The kind that compares the roles that players get with those that they prefer: `role_rank`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evenmatch.criteria.base import (
    Comparison,
    Fault,
    Form,
    Gap,
    Keys,
    Limit,
    RolesByTeam,
    Seats,
)
from evenmatch.criteria.roles import assign_roles, division_sums, rank_sum
from evenmatch.criteria.scales import Floats
from evenmatch.criteria.team_packing import Orders
from evenmatch.model.queue import Criterion, Format, Queue, Rule
from evenmatch.model.ticket import Ticket


class RoleRank(Comparison):
    """The mean rank of the assigned roles, over the last rank: 0 = everybody's first choice.

    A player who lists no roles is content with any, rank 0.
    """

    criterion_keys = Keys(("weight",))
    rule_keys = Keys(("limit", "expand", "accept"))
    attribute = ""
    limit = Limit("the mean rank of the roles that players get, over the last, from 0 to 1")
    form = Form.ROLES
    gap_most = 1.0
    compared = "the mean rank of the roles that its players get"
    raw = (Gap("players off their role", "%"),)

    def __init__(self, definition: Criterion | Rule, queue: Queue) -> None:
        super().__init__(definition, queue)
        self.is_by_team = len(queue.format.roles) > 1

    @classmethod
    def fault_in(cls, form: Format) -> Fault:
        """Refuse a queue without roles."""
        if not form.roles:
            return "kind", '= "role_rank" compares roles, and this queue has none; set roles'
        return None

    @classmethod
    def is_told_of(cls, form: Format) -> bool:
        """Return whether there are roles."""
        return bool(form.roles)

    def gap(self, teams: Seats) -> float:
        """Return the mean rank of the best assignment in each team, in [0, 1]."""
        if not self.is_by_team:
            return 0.0
        players = sum([ticket.size for team in teams for ticket in team])
        ranks = math.fsum([rank_sum(team, self.queue.format.roles) for team in teams])
        return ranks / self._worst(players)

    def raw_gaps(self, teams: Seats, roles: RolesByTeam = None) -> tuple[float, ...]:
        """Return the share of the players who play another role than their first choice."""
        if not self.is_by_team:
            return (0.0,)
        if roles is None:
            roles = [assign_roles(team, self.queue.format.roles) or () for team in teams]
        people = [[player for ticket in team for player in ticket.players] for team in teams]
        off = count = 0
        for team, given in zip(people, roles, strict=True):
            if len(team) != len(given):
                return (math.nan,)
            count += len(team)
            off += sum(
                [bool(p.roles) and p.roles[0] != r for p, r in zip(team, given, strict=True)]
            )
        return (off / count if count else math.nan,)

    def cost_table(
        self, tickets: Sequence[Ticket], orders: Orders, layout: Sequence[int]
    ) -> Floats:
        """Return `cost` of many divisions, which is the gap."""
        return self.gap_table(tickets, orders, layout)

    def gap_table(self, tickets: Sequence[Ticket], orders: Orders, layout: Sequence[int]) -> Floats:
        """Return `gap` of many divisions."""
        sums = division_sums(tickets, self.queue.format.roles, orders, layout)
        return sums / self._worst(orders.shape[1])

    def _worst(self, players: int) -> int:
        """Return the sum of ranks of players who all get the last of all roles."""
        return players * (len(self.queue.format.roles) - 1)
