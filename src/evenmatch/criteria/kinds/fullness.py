"""The kind that counts free seats: `fullness`."""

from __future__ import annotations

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
from evenmatch.model.queue import Format


class Fullness(Comparison):
    """Free seats as a share of those that may stay free: 0 = full, 1 = the smallest match.

    A bot leaves its seat free. The division into teams does not matter.
    """

    criterion_keys = Keys(("weight",))
    rule_keys = Keys(("limit", "expand", "accept"))
    attribute = ""
    limit = Limit("the share of the seats beyond the minimum that may stay free, from 0 to 1")
    form = Form.SEATS
    gap_most = 1.0
    compared = "the share of the seats beyond its minimum that stay free"
    raw = (Gap("free seats"),)

    @classmethod
    def fault_in(cls, form: Format) -> Fault:
        """Refuse a queue whose matches are always full."""
        if not form.is_variable:
            return (
                "kind",
                '= "fullness" counts free seats, and here all are filled; set players_min',
            )
        return None

    def raw_gaps(self, teams: Seats, roles: RolesByTeam = None) -> tuple[float, ...]:
        """Return how many seats stay free."""
        del roles
        players = sum([ticket.size for team in teams for ticket in team])
        return (float(self.queue.format.k - players),)

    def gap(self, teams: Seats) -> float:
        """Return the free seats as a share of those that may stay free."""
        form = self.queue.format
        if not form.is_variable:
            return 0.0
        players = sum([ticket.size for team in teams for ticket in team])
        return min(1.0, (form.k - players) / (form.k - form.k_min))
