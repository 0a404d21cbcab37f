"""Recordings in pieces: what each cost, beside the least that its tickets could have cost."""

from itertools import permutations

import pytest

from evenmatch.model.ticket import NewTicket, Player
from evenmatch.simulation.arrivals.stream import Arrival
from papers.gamedev.recorded import QUEUE, pieces

RATINGS = (0.0, 10.0, 1.0, 11.0, 0.0, 30.0, 31.0)
"""Two pieces of three, and one that is left out."""


def arrivals() -> list[Arrival]:
    return [
        Arrival(10.0 * at, NewTicket((Player(f"p{at}"),), (), {"rating": rating}))
        for at, rating in enumerate(RATINGS)
    ]


def cost(one: int, two: int) -> float:
    return 30.0 * abs(RATINGS[one] - RATINGS[two]) + 10.0 * abs(one - two)


def test_each_piece_is_run_alone_beside_its_optimum() -> None:
    found = pieces(QUEUE, arrivals(), "greedy", 3)
    assert [each.tickets for each in found] == [3, 3]
    assert [each.left for each in found] == [1, 1]
    # The first two play; of an odd number one is left out.
    assert [each.cost for each in found] == pytest.approx([cost(0, 1), cost(3, 4)])
    best = [min(cost(*pair) for pair in permutations(those, 2)) for those in ((0, 1, 2), (3, 4, 5))]
    assert [each.optimum for each in found] == pytest.approx(best)


def test_who_waits_at_the_end_is_paired_at_the_last_arrival() -> None:
    (found,) = pieces(QUEUE, arrivals()[:4], "window:limit=0.5", 4)
    assert (found.tickets, found.left) == (4, 4)
    waits = 30.0 + 20.0 + 10.0 + 0.0
    assert found.cost == pytest.approx(30.0 * (1.0 + 1.0) + waits)
