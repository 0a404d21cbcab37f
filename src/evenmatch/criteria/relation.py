"""Pairs of players by their relation in a match: enemies, teammates, or both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from evenmatch.criteria.base import Seats
from evenmatch.criteria.scales import Floats
from evenmatch.criteria.team_packing import Orders
from evenmatch.model.queue import Format, Pairs
from evenmatch.model.ticket import Player, Ticket

Seat = tuple[int, Ticket, Player]
"""The index of a team, and one of its players with their ticket."""


def pairs_within(pairs: Pairs, form: Format) -> Pairs:
    """Return the pairs that count in a format: `all` if all are enemies or all teammates."""
    are_alike = (pairs == "enemies" and max(form.players) == 1) or (
        pairs == "teammates" and len(form.players) == 1
    )
    return "all" if are_alike else pairs


def is_by_team(pairs: Pairs) -> bool:
    """Return whether the division into teams decides which pairs count."""
    return pairs in ("enemies", "teammates")


def are_surely(pairs: Pairs, form: Format, one: Ticket, two: Ticket) -> bool:
    """Return whether any two players of two tickets are such a pair in every division."""
    return pairs == "all" or (pairs == "enemies" and one.size + two.size > max(form.players))


def seats_of(teams: Seats) -> list[Seat]:
    """Return all players of a division with their teams, team by team."""
    return [(at, t, p) for at, team in enumerate(teams) for t in team for p in t.players]


def related_pairs(teams: Seats, pairs: Pairs) -> Iterator[tuple[Seat, Seat]]:
    """Yield the pairs of players of a division that are in the relation."""
    for first, second in combinations(seats_of(teams), 2):
        if pairs == "all" or (first[0] == second[0]) == (pairs == "teammates"):
            yield first, second


def pair_places(layout: Sequence[int], pairs: Pairs) -> list[tuple[int, int]]:
    """Return the indices, in the order of the teams, of the pairs that are in the relation."""
    team = np.repeat(np.arange(len(layout)), layout)
    return [
        (one, two)
        for one, two in combinations(range(len(team)), 2)
        if pairs == "all" or (team[one] == team[two]) == (pairs == "teammates")
    ]


def mean_over_pairs(table: Floats, orders: Orders, layout: Sequence[int], pairs: Pairs) -> Floats:
    """Return the mean of a symmetric table over the related pairs of many divisions.

    Args:
        table: Shape (k, k), players as `orders` numbers them.
        orders: Shape (divisions, k): players in the order of the teams.
        layout: Players per team; sums to k.
        pairs: Which pairs count.

    Returns:
        Shape (divisions,); 0 if no pair counts.

    Complexity:
        O(divisions * k^2).
    """
    totals: Floats = np.zeros(len(orders))
    places = pair_places(layout, pairs)
    for one, two in places:
        totals += table[orders[:, one], orders[:, two]]
    return totals / max(1, len(places))


def max_over_pairs(table: Floats, orders: Orders, layout: Sequence[int], pairs: Pairs) -> Floats:
    """Return the largest entry of a table >= 0 over the related pairs of many divisions."""
    largest: Floats = np.zeros(len(orders))
    for one, two in pair_places(layout, pairs):
        np.maximum(largest, table[orders[:, one], orders[:, two]], out=largest)
    return largest
