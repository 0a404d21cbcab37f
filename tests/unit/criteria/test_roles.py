"""Roles: the best assignment by brute force, sets of players, and Hall's conditions."""

import math
from collections import Counter
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenmatch.criteria.roles import (
    SUBSETS_OF,
    Ranks,
    RoleFit,
    assign,
    assign_roles,
    division_sums,
    fill_seats,
    find_seats,
    mask_of,
    ranks_of,
    role_problem,
    sums_of_sets,
    ways_of,
)
from evenmatch.model.ticket import Player, Ticket
from evenmatch.testing import ticket

TRIO = (("tank", 1), ("dps", 2), ("healer", 1))
ROLES = st.lists(st.sampled_from(["tank", "dps", "healer"]), unique=True, max_size=3)
PEOPLE = st.lists(ROLES, min_size=1, max_size=6)


def party(name: str, *roles: str) -> Ticket:
    """Return a ticket with a player for each text of roles joined by `+`."""
    people = [
        Player(f"{name}{n}", roles=tuple(filter(None, text.split("+"))))
        for n, text in enumerate(roles)
    ]
    return ticket(name, *people)


def ranks(people: list[list[str]]) -> list[Ranks]:
    return [ranks_of(Player(str(n), roles=tuple(own)), TRIO) for n, own in enumerate(people)]


def brute_force(own: list[Ranks], seats: list[int]) -> float:
    """Try every order of players on the seats."""
    each = [role for role, count in enumerate(seats) for _ in range(count)]
    if len(own) > len(each):
        return math.inf
    return min(
        math.fsum(rank[role] for rank, role in zip(own, order, strict=True))
        for order in permutations(each, len(own))
    )


@settings(deadline=None)
@given(PEOPLE)
def test_assignment_has_the_least_sum_of_ranks(people: list[list[str]]) -> None:
    own = ranks(people)

    found = assign(own, [1, 2, 1])

    best = brute_force(own, [1, 2, 1])
    assert (math.inf if found is None else found[0]) == best
    if found is not None:
        assert sum(rank[role] for rank, role in zip(own, found[1], strict=True)) == best
        assert all(
            count <= seats for count, seats in zip(*_counts(found[1], [1, 2, 1]), strict=True)
        )


def _counts(given: tuple[int, ...], seats: list[int]) -> tuple[list[int], list[int]]:
    counted = Counter(given)
    return [counted[role] for role in range(len(seats))], seats


@settings(deadline=None)
@given(PEOPLE)
def test_every_set_of_players_has_the_sum_of_its_own_assignment(people: list[list[str]]) -> None:
    own = ranks(people)

    sums = sums_of_sets(np.array(own), [1, 2, 1])

    assert len(sums) == 2 ** len(own)
    for chosen in range(1, len(sums)):
        some = [rank for place, rank in enumerate(own) if chosen >> place & 1]
        assert sums[chosen] == brute_force(some, [1, 2, 1])


@settings(deadline=None)
@given(PEOPLE)
def test_halls_conditions_say_who_can_be_seated(people: list[list[str]]) -> None:
    players = [Player(str(n), roles=tuple(own)) for n, own in enumerate(people)]
    masks = tuple(sorted(Counter([mask_of(each, TRIO) for each in players]).items()))

    own = ranks(people)
    assert find_seats(masks, (1, 2, 1)) == (brute_force(own, [1, 2, 1]) < math.inf)
    fours = combinations(own, 4)
    is_filled = any(brute_force(list(some), [1, 2, 1]) < math.inf for some in fours)
    assert fill_seats(masks, (1, 2, 1)) == is_filled


def test_flexible_player_takes_what_others_do_not_want() -> None:
    team = [party("a", ""), party("b", "tank"), party("c", "dps+tank", "healer")]

    assert assign_roles(team, TRIO) == ("dps", "tank", "dps", "healer")


def test_of_two_who_want_one_role_the_one_with_the_better_second_choice_yields() -> None:
    team = [party("a", "tank+healer+dps"), party("b", "tank+dps+healer"), party("c", "healer")]

    assert assign_roles(team, TRIO) == ("tank", "dps", "healer")


def test_team_that_nobody_heals_is_no_team() -> None:
    assert assign_roles([party("a", "tank"), party("b", "tank+dps", "dps", "dps")], TRIO) is None


def test_team_with_free_seats_takes_at_most_the_number_of_each_role() -> None:
    assert assign_roles([party("a", "dps"), party("b", "dps")], TRIO) == ("dps", "dps")
    assert assign_roles([party("a", "tank"), party("b", "tank")], TRIO) is None


@pytest.mark.parametrize(("size", "count"), [(4, 4), (4, 5), (3, 5), (3, 6)])
def test_sums_of_divisions_are_those_of_each_team(size: int, count: int) -> None:
    # Full teams are priced by all ways to give roles, 15 players with free seats by sets, 18 team
    # by team.
    texts = ["tank+dps", "", "healer", "dps+healer"]
    tickets = [party(f"t{n}", texts[n % 4]) for n in range(size * count)]
    assert (len(tickets) <= SUBSETS_OF) == (size * count < 17)
    rng = np.random.default_rng(5)
    orders = np.array([rng.permutation(len(tickets)) for _ in range(50)], dtype=np.int16)

    layout = (size,) * count
    found = division_sums(tickets, TRIO, orders, layout)
    legal = RoleFit(tickets, TRIO).legal(orders, layout)

    own = [ranks_of(each.players[0], TRIO) for each in tickets]
    for row, total in zip(orders.tolist(), found.tolist(), strict=True):
        teams = [[own[p] for p in row[at : at + size]] for at in range(0, len(row), size)]
        assert total == sum(brute_force(team, [1, 2, 1]) for team in teams)
    assert legal.any()
    assert not legal.all()
    assert (np.isfinite(found) == legal).all()


def test_ways_to_give_roles_are_all_of_them_or_none() -> None:
    ways = ways_of((1, 2, 2))

    assert ways is not None
    assert ways.shape == (15, 30)
    assert len({tuple(way) for way in ways.T.tolist()}) == 30
    assert (ways.reshape(5, 3, 30).sum(axis=0) == [[1], [2], [2]]).all()
    assert (ways.reshape(5, 3, 30).sum(axis=1) == 1).all()
    assert ways_of((1,) * 5) is None


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (party("a", "bard"), "role bard is not one of tank, dps, healer"),
        (
            party("a", "tank", "tank"),
            "the party's roles do not go together in one team of 1 tank, 2 dps, 1 healer",
        ),
        (party("a", "tank", "tank+dps"), None),
        (party("a", ""), None),
    ],
)
def test_roles_that_no_match_gives_are_named(given: Ticket, sentence: str | None) -> None:
    assert role_problem(given, TRIO) == sentence
