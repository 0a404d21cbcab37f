"""What every kind of criterion and rule answers about a match.

A kind is one class in one module: `cost.kinds` has the list. The **reference** looks at one match
and defines the kind; the **table** looks at many divisions of the same tickets at once, and a
property test holds the two together. Objective and rules ask nothing but what stands here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evenmatch.criteria.scales import Floats
from evenmatch.criteria.team_packing import Orders
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.ticket import Ticket, Value

Seats = Sequence[Sequence[Ticket]]
"""A division: tickets by team."""
Assigned = Sequence[Sequence[str]] | None
"""Each player's role by team, party by party; None where a queue has no roles."""


class Gap(NamedTuple):
    """What a kind says of a match in the unit of what it compares, and not as a cost.

    Args:
        words: What people call it.
        unit: Of the number: "" is that of the attribute, `%` says that it is a share in [0, 1].
        better: 1 if more of it is better, -1 if less is.
        is_of_attribute: Whether its name says which attribute is compared.
    """

    words: str
    unit: str = ""
    better: int = -1
    is_of_attribute: bool = True


class Comparison(ABC):
    """A criterion or a rule of one queue, ready to compare the players of a match.

    Args:
        given: The criterion or the rule; a kind that is only one of the two is asked as such.
        queue: Its queue.
    """

    is_by_team = False
    """Whether the division into teams changes what comes out."""
    raw: tuple[Gap, ...] = ()
    """What `raw_gaps` has numbers of; a kind that is kept or broken has none."""

    def __init__(self, given: Criterion | Rule, queue: Queue) -> None:
        self.given = given
        self.queue = queue

    @staticmethod
    def problem(value: Value | None) -> str | None:
        """Return what is wrong with a player's attribute, as the end of a sentence, or None."""
        del value
        return None

    def cost(self, teams: Seats) -> float:
        """Return q_d of one division: the definition of the criterion.

        Args:
            teams: Tickets by team, without bots; where the format allows it, a team may have free
                seats, or nobody at all.

        Returns:
            A cost in [0, 1], 0 = best; any number >= 0 if the scale is `none`.
        """
        return self.gap(teams)

    def cost_at(self, teams: Seats, at: float) -> float:
        """Return q_d of a match that is made at an instant, from which on rules allow it.

        Never less than `cost`, which is what it costs long after. They differ only where waiting
        opens something better: a region.
        """
        del at
        return self.cost(teams)

    def cost_in(self, teams: Seats, region: str | None) -> float:
        """Return q_d of a match that is played in a region; None: the best that ever opens."""
        del region
        return self.cost(teams)

    def cost_table(
        self, tickets: Sequence[Ticket], orders: Orders, layout: Sequence[int]
    ) -> Floats:
        """Return `cost` of many divisions of the same tickets.

        Args:
            tickets: In the order in which `orders` numbers their players.
            orders: Shape (divisions, k): players in the order of the teams.
            layout: Players per team.

        Returns:
            Shape (divisions,).
        """
        del layout
        return np.full(len(orders), self.cost((tickets,)))

    def cost_of_duel(self, one: Ticket, two: Ticket, at: float = math.inf) -> float:
        """Return `cost_at` of one solo ticket against another; some kinds know a shorter way."""
        return self.cost_at(((one,), (two,)), at)

    @abstractmethod
    def gap(self, teams: Seats) -> float:
        """Return what a rule of the kind limits, in one division.

        Args:
            teams: Tickets by team; a team may have free seats (bots), or nobody at all.
        """

    def gap_table(self, tickets: Sequence[Ticket], orders: Orders, layout: Sequence[int]) -> Floats:
        """Return `gap` of many divisions; never above it, and below it by rounding only."""
        del layout
        return np.full(len(orders), self.gap((tickets,)))

    def raw_gaps(self, teams: Seats, roles: Assigned = None) -> tuple[float, ...]:
        """Return the numbers of `raw` for one division, as they are before any scale.

        Args:
            teams: Tickets by team, without bots.
            roles: What the players were given to play.

        Returns:
            A number for each of `raw`; inf or NaN where it is not known.
        """
        del teams, roles
        return ()

    def raw_gaps_in(self, teams: Seats, roles: Assigned, region: str | None) -> tuple[float, ...]:
        """Return `raw_gaps` of a match that is played in a region; None: the best that opens."""
        del region
        return self.raw_gaps(teams, roles)

    def pair_gap(self, one: Ticket, two: Ticket) -> float:
        """Return a gap that no match with both tickets is below; 0 where nothing is known.

        In a duel it is the gap itself.
        """
        return self.gap(((one,), (two,))) if self.queue.format.is_duel else 0.0

    def gap_max(self, tickets: Sequence[Ticket]) -> float:
        """Return a gap that no match of these tickets exceeds, unless nothing allows it."""
        del tickets
        return 1.0
