"""Free seats and the ranks of roles as criteria and rules."""

from itertools import product
from random import Random

import pytest

from evenmatch.criteria.divisions import Room, division_tables, divisions
from evenmatch.criteria.objective import Objective
from evenmatch.criteria.registry import comparison_of
from evenmatch.model.queue import Criterion, Expansion, Format, Queue, Rule
from evenmatch.model.ticket import Player, Ticket
from evenmatch.testing import ticket

NAMES = ("tank", "dps", "healer")
TRIO = Format((3, 3), roles=tuple((name, 1) for name in NAMES))
BRAWL = Format((1,) * 6, players_min=(1, 1, 0, 0, 0, 0))


def solo(number: int, *roles: str) -> Ticket:
    return ticket(f"t{number}", Player(f"p{number}", roles=roles), at=number, sequence=number)


@pytest.mark.parametrize(("players", "cost"), [(2, 1.0), (3, 0.75), (5, 0.25), (6, 0.0)])
def test_free_seats_count_as_a_share_of_those_that_may_be_free(players: int, cost: float) -> None:
    queue = Queue(format=BRAWL, criteria=(Criterion("fullness", "", 2.0),))

    seating = Objective(queue).seat([solo(n) for n in range(players)])

    assert seating is not None
    assert seating.criteria_cost == 2.0 * cost
    assert seating.quality == 1.0 - cost


def test_rule_lets_smaller_matches_start_later() -> None:
    later = Rule("fullness", "", 0.0, expand=Expansion(steps=((10.0, 0.5), (30.0, 1.0))))
    objective = Objective(Queue(format=BRAWL, rules=(later,)))

    ready = [objective.seat([solo(n) for n in range(players)]) for players in (6, 5, 4, 3, 2)]

    # The youngest came at 5, 4, 3, 2 and 1 s.
    assert [each.ready_at for each in ready if each] == [5.0, 14.0, 13.0, 32.0, 31.0]


def test_rank_of_roles_decides_between_divisions() -> None:
    queue = Queue(format=TRIO, criteria=(Criterion("role_rank", "", 1.0),))
    first = [solo(n, "tank", "healer") for n in range(2)] + [solo(2, "dps"), solo(3, "dps")]

    seating = Objective(queue).seat([*first, solo(4, "healer", "dps"), solo(5, "healer")])

    assert seating is not None
    # One tank, one dps and one healer a team: everybody plays the first choice.
    assert seating.criteria_cost == 0.0
    assert [sorted(team) for team in seating.roles or ()] == [["dps", "healer", "tank"]] * 2


def test_cost_of_ranks_is_their_mean_over_the_last_rank() -> None:
    queue = Queue(format=TRIO, criteria=(Criterion("role_rank", "", 1.0),))
    picky = [solo(n, "tank", "dps", "healer") for n in range(6)]

    seating = Objective(queue).seat(picky)

    assert seating is not None
    # In each team somebody plays the second choice and somebody the third: ranks 0, 1 and 2.
    assert seating.criteria_cost == pytest.approx(6 / (6 * 2))
    assert seating.roles == (NAMES, NAMES)


@pytest.mark.parametrize("seed", range(10))
def test_table_of_ranks_equals_the_definition_on_every_division(seed: int) -> None:
    rng = Random(seed)
    tickets = [solo(n, *rng.sample(NAMES, rng.randrange(4))) for n in range(6)]
    room = Room((3, 3), (2, 2), named=True)
    queue = Queue(format=TRIO)
    soft = comparison_of(Criterion("role_rank", ""), queue)

    for layout, orders in division_tables(
        [1] * 6, divisions([1] * 6, room, [None] * 6), room.seats
    ):
        costs = soft.cost_table(tickets, orders, layout)
        for row, cost in zip(orders.tolist(), costs.tolist(), strict=True):
            seated = [tickets[player] for player in row]
            teams = [seated[: layout[0]], seated[layout[0] :]]
            assert cost == pytest.approx(soft.cost(teams))


def test_one_role_has_no_ranks() -> None:
    queue = Queue(format=Format((2, 2), roles=(("dps", 2),)))
    soft = comparison_of(Criterion("role_rank", ""), queue)

    assert not soft.is_by_team
    assert soft.cost([[solo(1, "dps")], [solo(2)]]) == 0.0


def test_best_seating_weighs_ranks_against_balance() -> None:
    rng = Random(4)
    tickets = [solo(n, *rng.sample(NAMES, 3)) for n in range(6)]
    criteria = (Criterion("role_rank", "", 1.0), Criterion("party_parity", "", 1.0))
    objective = Objective(Queue(format=TRIO, criteria=criteria))

    seating = objective.seat(tickets)

    every = [
        [[t for t, own in zip(tickets, choice, strict=True) if own == at] for at in (0, 1)]
        for choice in product((0, 1), repeat=6)
    ]
    soft = comparison_of(criteria[0], objective.queue)
    costs = [soft.cost(teams) for teams in every if len(teams[0]) == 3]
    assert seating is not None
    assert seating.criteria_cost == pytest.approx(min(costs))
