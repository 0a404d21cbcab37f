import itertools

import pytest

from evenmatch.theory.stability import dual, facets, partitions


def all_sizes(k):
    return tuple(range(1, k + 1))


def test_partitions_are_counted_as_euler_counted_them() -> None:
    assert [len(partitions(k, all_sizes(k))) for k in range(1, 11)] == [
        *(1, 2, 3, 5, 7, 11, 15, 22, 30, 42)
    ]
    for team in partitions(7, (1, 2, 4)):
        assert team[0] + 2 * team[1] + 4 * team[2] == 7


TABLE = {  # k: conditions besides rates >= 0, by party size
    1: [],
    2: [],
    3: [(1, -1, 0)],
    4: [(1, 0, -1, 0)],
    5: [(1, 2, -2, -1, 0), (2, -1, 1, -2, 0)],
    6: [(1, 0, 0, 0, -1, 0), (1, 2, 0, -2, -1, 0)],
    7: [
        (1, 2, 3, -3, -2, -1, 0),
        (2, 4, -1, 1, -4, -2, 0),
        (3, -1, 2, -2, 1, -3, 0),
        (4, 1, -2, 2, -1, -4, 0),
    ],
}


@pytest.mark.parametrize("k", TABLE)
def test_facets_are_those_of_the_reference(k) -> None:
    assert list(facets(k, all_sizes(k))) == TABLE[k]


@pytest.mark.parametrize("k", range(3, 11))
def test_facets_hold_for_all_teams_and_touch_enough_of_them(k) -> None:
    teams = partitions(k, all_sizes(k))
    for facet in facets(k, all_sizes(k)):
        values = [sum(x * y for x, y in zip(facet, team, strict=True)) for team in teams]
        assert min(values) == 0
        touching = [team for team, value in zip(teams, values, strict=True) if value == 0]
        # What is at right angles to all of them is a line: the facet has full dimension.
        _, lines = dual([*touching, *(tuple(-x for x in team) for team in touching)], k)
        assert len(lines) == 1


def test_no_facet_is_missing() -> None:
    # Every point outside the cone of k = 5 is outside a facet: no team fits into it any more.
    conditions = [
        *facets(5, all_sizes(5)),
        *(tuple(int(i == j) for j in range(5)) for i in range(5)),
    ]
    teams = partitions(5, all_sizes(5))
    for parties in itertools.product(range(4), repeat=5):
        inside = all(sum(x * y for x, y in zip(c, parties, strict=True)) >= 0 for c in conditions)
        assert inside == can_be_placed(parties, teams)


def can_be_placed(parties, teams):
    """Return whether some multiple of the parties falls into teams, by a linear programme."""
    import numpy as np
    from scipy.optimize import linprog

    made = linprog(np.zeros(len(teams)), A_eq=np.array(teams).T, b_eq=np.array(parties))
    return made.status == 0


def test_sizes_that_do_not_come_leave_other_conditions() -> None:
    assert facets(5, (2, 3)) == ((-1, 1), (1, -1))  # as many duos as trios
    assert facets(5, (2,)) == ((-1,),)  # duos alone never
    assert facets(5, (1, 5)) == ()
    assert facets(4, (1, 2, 4)) == ()
    assert facets(4, (3, 4)) == ((-1, 0),)
