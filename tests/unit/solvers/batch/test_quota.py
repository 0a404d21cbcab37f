"""Counts of teams are those of an integer programme, or nearly so, and every team can be had."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest

from evenmatch.solvers.teams import quota
from evenmatch.solvers.teams.quota import Team, Vector, most_teams
from evenmatch.solvers.teams.start import Choices, _choices_of
from tests.extent import extent


class World(NamedTuple):
    """Pools of one game: seats by role, how many players take each, sizes of parties, teams."""

    seats: Vector
    takes: tuple[float, ...]
    sizes: tuple[float, ...]
    per_match: int = 2


WORLDS = {
    "hero": World((1, 2, 2), (0.15, 0.6, 0.5), (0.5, 0.2, 0.12, 0.08, 0.1)),
    "scarce tanks": World((1, 2, 2), (0.05, 0.7, 0.4), (0.6, 0.2, 0.1, 0.05, 0.05)),
    "roles": World((1, 1, 3), (0.25, 0.3, 0.75), (0.6, 0.25, 0.1, 0.0, 0.05)),
    "large parties": World((1, 2, 2), (0.3, 0.6, 0.5), (0.0, 0.3, 0.35, 0.25, 0.1)),
    "trios": World((1, 1, 1), (0.3, 0.4, 0.6), (0.6, 0.3, 0.1)),
    "sixes": World((2, 2, 2), (0.4, 0.5, 0.6), (0.4, 0.3, 0.15, 0.1, 0.0, 0.05)),
    "four teams": World((1, 1, 3), (0.25, 0.3, 0.75), (0.6, 0.25, 0.1, 0.0, 0.05), 4),
    "no roles": World((5,), (1.0,), (0.1, 0.1, 0.2, 0.5, 0.1)),
    "one against four": World((1, 4), (1.0, 1.0), (0.2, 0.3, 0.3, 0.2), 1),
}


def pool_of(world: World, players: int, seed: int) -> Counter[Choices]:
    """Return parties of about so many players, by what they can take."""
    rng = np.random.default_rng([players, seed])
    found: Counter[Choices] = Counter()
    seated = 0
    while seated < players:
        size = int(rng.choice(len(world.sizes), p=world.sizes)) + 1
        seated += size
        members = []
        for _ in range(size):
            takes = rng.random(len(world.takes)) < world.takes
            takes[-1] |= not takes.any()
            members.append(int(takes @ (1 << np.arange(len(takes)))))
        found[_choices_of(tuple(sorted(members)), world.seats)] += 1
    del found[()]
    return found


def check_teams(pool: Counter[Choices], world: World, teams: list[Team]) -> None:
    kinds = list(pool)
    used = Counter(kind for team in teams for kind, _ in team)
    assert all(count <= pool[kinds[kind]] for kind, count in used.items())
    assert len(teams) % world.per_match == 0
    for team in teams:
        assert all(vector in kinds[kind] for kind, vector in team)
        assert tuple(np.sum([vector for _, vector in team], axis=0)) == world.seats


def most_by_program(pool: Counter[Choices], world: World) -> int:
    """Return the most matches, by an integer programme over all kinds of teams."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    vectors = sorted({vector for own in pool for vector in own})
    kinds = _kinds_of(world.seats, vectors)
    pairs = [(row, vectors.index(v)) for row, own in enumerate(pool) for v in own]
    columns = len(kinds) + len(pairs) + 1
    balance, room = np.zeros((len(vectors) + 1, columns)), np.zeros((len(pool), columns))
    for column, kind in enumerate(kinds):
        for vector in kind:
            balance[vectors.index(vector), column] += 1
    balance[-1, : len(kinds)], balance[-1, -1] = 1, -world.per_match
    for column, (row, vector) in enumerate(pairs, len(kinds)):
        balance[vector, column], room[row, column] = -1, 1
    aim = np.zeros(columns)
    aim[-1] = -1.0
    answer = milp(
        aim,
        integrality=np.ones(columns),
        bounds=Bounds(0.0, np.inf),
        constraints=[
            LinearConstraint(balance, 0.0, 0.0),
            LinearConstraint(room, -np.inf, list(pool.values())),
        ],
    )
    assert answer.x is not None
    return round(answer.x[-1])


def _kinds_of(seats: Vector, vectors: list[Vector]) -> list[tuple[Vector, ...]]:
    found = []
    stack: list[tuple[tuple[Vector, ...], Vector, int]] = [((), seats, 0)]
    while stack:
        kind, room, begin = stack.pop()
        if not any(room):
            found.append(kind)
        for at in range(begin, len(vectors)):
            rest = tuple(free - own for own, free in zip(vectors[at], room, strict=True))
            if any(room) and min(rest) >= 0:
                stack.append(((*kind, vectors[at]), rest, at))
    return found


@pytest.mark.parametrize("name", WORLDS)
def test_hardly_a_match_is_lost_against_an_integer_programme(name: str) -> None:
    pytest.importorskip("scipy")
    world = WORLDS[name]
    made = possible = 0
    for players, seeds in ((15, 6), (30, extent(3, 6)), (60, extent(2, 4)), (200, 1)):
        for seed in range(seeds):
            pool = pool_of(world, players, seed)
            teams = most_teams(list(pool), list(pool.values()), world.seats, world.per_match)
            assert teams is not None
            check_teams(pool, world, teams)
            matches, most = len(teams) // world.per_match, most_by_program(pool, world)
            assert matches <= most
            assert players > 60 or matches >= most - 1
            made, possible = made + matches, possible + most
    assert made >= 0.98 * possible > 0


def test_what_was_scarce_is_spared_in_the_next_pass() -> None:
    # The cheapest team takes both who can do either, and leaves two who can do one.
    world = World((1, 1), (), (), 1)
    pool: Counter[Choices] = Counter({((0, 1), (1, 0)): 2, ((1, 0),): 2})
    teams = most_teams(list(pool), list(pool.values()), world.seats, 1)
    assert teams is not None
    check_teams(pool, world, teams)
    assert len(teams) == 2


def test_crowds_of_alikes_are_filled_in_few_steps() -> None:
    kinds: list[Choices] = [((1, 0), (0, 1)), ((1, 1),)]
    teams = most_teams(kinds, [40_000, 10_000], (2, 3), 2)
    assert teams is not None
    check_teams(
        Counter(dict(zip(kinds, [40_000, 10_000], strict=True))), World((2, 3), (), ()), teams
    )
    assert len(teams) == 12_000


def test_too_many_ways_to_fill_a_team_are_refused() -> None:
    seats = (1,) * 13
    assert 2 ** len(seats) > quota.STATES_MAX
    assert most_teams([(seats,)], [4], seats, 2) is None


def test_nobody_makes_no_team() -> None:
    assert most_teams([], [], (1, 2, 2), 2) == []
    assert most_teams([((0, 1, 0),)], [9], (1, 2, 2), 2) == []
