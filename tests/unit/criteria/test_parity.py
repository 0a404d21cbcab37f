"""Party parity: the source's three examples, the table against the definition, and the rule."""

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evenmatch.criteria.divisions import Room, division_tables, divisions
from evenmatch.criteria.kinds.party_parity import cost_of_difference, difference
from evenmatch.criteria.objective import Objective
from evenmatch.criteria.registry import comparison_of
from evenmatch.criteria.rules import Rules
from evenmatch.model.queue import Criterion, Expansion, Format, Queue, Rule
from evenmatch.model.ticket import Ticket
from evenmatch.testing import ticket
from tests.extent import extent

PARITY = Criterion("party_parity")


def party(number: int, size: int, at: float = 0.0) -> Ticket:
    return ticket(f"t{number}", *([1500.0] * size), at=at, sequence=number)


@pytest.mark.parametrize(
    ("one", "two", "quality"),
    [((1, 1, 1), (1, 1, 1), 1.0), ((3,), (3,), 1.0), ((2, 1), (1, 1, 1), 0.6),
     ((3,), (1, 2), 0.6), ((3,), (1, 1, 1), 0.0)],
)  # fmt: skip
def test_teams_of_three_have_the_qualities_of_the_source(
    one: tuple[int, ...], two: tuple[int, ...], quality: float
) -> None:
    assert 1.0 - cost_of_difference(difference([one, two])) == pytest.approx(quality, abs=1e-15)
    assert difference([one, two]) == difference([two, one])


def test_largest_difference_of_two_teams_counts() -> None:
    assert difference([(2, 2), (4,), (2, 2)]) == difference([(2, 2), (4,)]) == 2 / 3


def test_teams_of_one_and_the_match_of_one_team_have_no_difference() -> None:
    assert difference([(1,), (1,)]) == difference([(2, 1)]) == 0.0


@settings(deadline=None, max_examples=extent(20, 80))
@given(
    st.sampled_from(((3, 3), (5, 5), (2, 4), (1, 4), (2, 2, 2), (3, 2, 1))), st.randoms(), st.data()
)
def test_tables_equal_the_definitions_on_every_division(
    layout: tuple[int, ...], rng: object, data: st.DataObject
) -> None:
    del rng
    left, sizes = sum(layout), []
    while left:
        sizes.append(data.draw(st.integers(1, min(left, max(layout)))))
        left -= sizes[-1]
    tickets = [party(n, size) for n, size in enumerate(sizes, 1)]
    found = list(divisions(sizes, Room(layout, layout, True), [None] * len(sizes)))
    assume(found)
    ((_, orders),) = division_tables(sizes, found, layout)
    queue = Queue(format=Format(layout))
    soft, hard = comparison_of(PARITY, queue), comparison_of(Rule("party_parity"), queue)

    costs = soft.cost_table(tickets, orders, layout)
    gaps = hard.gap_table(tickets, orders, layout)

    for division, cost, gap in zip(found, costs.tolist(), gaps.tolist(), strict=True):
        teams = [[tickets[place] for place in team] for team in division]
        assert cost == pytest.approx(soft.cost(teams), abs=1e-12)
        assert gap == pytest.approx(hard.gap(teams), abs=1e-12)
        assert 0.0 <= cost <= 1.0


def test_best_division_sets_parties_against_parties() -> None:
    tickets = [party(1, 2), party(2, 1), party(3, 2), party(4, 1)]
    seating = Objective(Queue(format=Format((3, 3)), criteria=(PARITY,))).seat(tickets)

    assert seating is not None
    assert seating.criteria_cost == 0.0
    assert sorted(t.size for t in seating.teams[0]) == [1, 2]


def test_rule_limits_the_difference_until_it_widens() -> None:
    expand = Expansion(steps=((60.0, 1.0),))
    queue = Queue(format=Format((3, 3)), rules=(Rule("party_parity", limit=0.5, expand=expand),))
    three = [party(1, 3), *(party(n, 1, at=5.0) for n in (2, 3, 4))]
    near = [party(1, 2), *(party(n, 1, at=5.0) for n in (2, 3, 4, 5))]
    objective = Objective(queue)

    assert objective.seat(three).ready_at == 65.0  # type: ignore[union-attr]
    assert objective.seat(near).ready_at == 5.0  # type: ignore[union-attr]
    strict = Queue(format=Format((3, 3)), rules=(Rule("party_parity", limit=0.5),))
    assert Rules(strict).ready_at((three[:1], three[1:])) == math.inf


def test_nothing_is_asked_of_tickets() -> None:
    assert Objective(Queue(format=Format((2, 2)), criteria=(PARITY,))).missing(party(1, 2)) is None
