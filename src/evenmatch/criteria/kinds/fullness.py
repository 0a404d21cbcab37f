"""The kind that counts free seats: `fullness`."""

from __future__ import annotations

from evenmatch.criteria.base import Assigned, Comparison, Gap, Seats


class Fullness(Comparison):
    """Free seats over those that may stay free: 0 = full, 1 = the smallest match.

    A bot leaves its seat free. It does not depend on the division into teams.
    """

    raw = (Gap("free seats"),)

    def raw_gaps(self, teams: Seats, roles: Assigned = None) -> tuple[float, ...]:
        """Return how many seats stay free."""
        del roles
        players = sum([ticket.size for team in teams for ticket in team])
        return (float(self.queue.format.k - players),)

    def gap(self, teams: Seats) -> float:
        """Return the share of the seats that may stay free and are."""
        form = self.queue.format
        if not form.is_variable:
            return 0.0
        players = sum([ticket.size for team in teams for ticket in team])
        return min(1.0, (form.k - players) / (form.k - form.k_min))

    def pair_gap(self, one: object, two: object) -> float:
        """Return 0: who else plays is not known of two tickets."""
        del one, two
        return 0.0
