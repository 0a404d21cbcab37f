import itertools
import math
import time

import numpy as np
import pytest

from evenmatch import MatchmakingError, split_teams
from evenmatch.solvers.equal_teams import EXACT_PARTIES, best_half
from tests.extent import extent


def gap_of(skills: list[float], teams: list[list[int]]) -> float:
    sums = [math.fsum(skills[p] for p in team) for team in teams]
    return max(sums) - min(sums)


def all_splits(players: tuple[int, ...], room: int) -> list[list[tuple[int, ...]]]:
    """Return all ways to divide players into teams, in the order of their first player."""
    if not players:
        return [[]]
    return [
        [(players[0], *mates), *rest]
        for mates in itertools.combinations(players[1:], room - 1)
        for rest in all_splits(tuple(p for p in players[1:] if p not in mates), room)
    ]


def by_brute_force(
    skills: list[float], parties: list[list[int]], team_count: int
) -> list[list[int]] | None:
    """Return the first of the best splits in lexicographic order, or None if there is none."""
    whole = [
        [list(team) for team in split]
        for split in all_splits(tuple(range(len(skills))), len(skills) // team_count)
        if all(
            len(set(party) & set(team)) in (0, len(party)) for party in parties for team in split
        )
    ]
    least = min((gap_of(skills, split) for split in whole), default=None)
    return next((split for split in whole if gap_of(skills, split) == least), None)


def random_parties(rng: np.random.Generator, players: int, size_max: int) -> list[list[int]]:
    places = rng.permutation(players).tolist()
    found = []
    while places:
        size = min(int(rng.integers(1, size_max + 1)), len(places))
        found.append(places[:size])
        places = places[size:]
    return [party for party in found if len(party) > 1 or rng.random() < 0.5]


@pytest.mark.parametrize("seed", range(120))
def test_split_is_the_first_of_the_best(seed: int) -> None:
    rng = np.random.default_rng(seed)
    team_count, room = [(2, 3), (2, 4), (3, 2), (3, 3), (4, 2), (2, 5), (1, 4), (5, 1)][seed % 8]
    # Whole numbers: sums are exact, and there are many ties.
    skills = [float(skill) for skill in rng.integers(0, 30, team_count * room)]
    parties = random_parties(rng, len(skills), min(room, 3))
    best = by_brute_force(skills, parties, team_count)
    if best is None:
        with pytest.raises(MatchmakingError, match="do not fill"):
            split_teams(skills, parties=parties, team_count=team_count)
    else:
        assert split_teams(skills, parties=parties, team_count=team_count) == best


@pytest.mark.parametrize(("players", "team_count"), [(16, 2), (12, 3), (12, 4), (12, 6)])
def test_split_is_exact_at_the_promised_sizes(players: int, team_count: int) -> None:
    rng = np.random.default_rng(players + team_count)
    skills = rng.normal(1500.0, 350.0, players).tolist()
    least = min(
        gap_of(skills, [list(team) for team in split])
        for split in all_splits(tuple(range(players)), players // team_count)
    )
    found = split_teams(skills, team_count=team_count)
    assert gap_of(skills, found) == pytest.approx(least, abs=1e-9)


@pytest.mark.parametrize("seed", range(extent(6, 12)))
def test_large_splits_are_nearly_even_and_keep_parties(seed: int) -> None:
    rng = np.random.default_rng(seed)
    team_count, room = [(2, 30), (5, 5), (12, 5), (50, 4), (4, 30), (100, 2)][seed % 6]
    skills = rng.normal(1500.0, 350.0, team_count * room).tolist()
    pairs = [[2 * i, 2 * i + 1] for i in range(team_count * (room // 4))]
    teams = split_teams(skills, parties=pairs, team_count=team_count)
    assert sorted(p for team in teams for p in team) == list(range(len(skills)))
    assert {len(team) for team in teams} == {room}
    team_of = {p: t for t, team in enumerate(teams) for p in team}
    assert all(team_of[a] == team_of[b] for a, b in pairs)
    # Sums of teams drawn at random have a standard deviation of 350 sqrt(room).
    assert gap_of(skills, teams) < (350.0 * math.sqrt(room) * (0.05 if room > 4 else 1.5))


def test_parties_that_are_hard_to_pack_are_packed() -> None:
    # Nine parties of 4, 3, 3 and so on fill teams of ten only as 4 + 3 + 3.
    parties, start = [], 0
    for size in [4] * 5 + [3] * 10:
        parties.append(list(range(start, start + size)))
        start += size
    teams = split_teams([float(p) for p in range(start)], parties=parties, team_count=5)
    assert all(len(team) == 10 for team in teams)


def test_half_may_make_up_for_a_lead() -> None:
    half = best_half(np.array([1, 1, 1, 1]), np.array([4.0, 3.0, 2.0, 1.0]), 2, ahead=4.0)
    assert half is not None
    assert half.tolist() == [False, False, True, True]


def test_relabelled_players_get_equally_even_teams() -> None:
    rng = np.random.default_rng(3)
    skills = rng.normal(1500.0, 350.0, 10)
    order = rng.permutation(10)
    one = gap_of(skills.tolist(), split_teams(skills.tolist()))
    two = gap_of(skills[order].tolist(), split_teams(skills[order].tolist()))
    assert one == pytest.approx(two, abs=1e-9)


def test_numpy_arrays_are_taken_and_plain_numbers_given_back() -> None:
    teams = split_teams(np.array([3, 2, 1, 0]), parties=np.array([[0, 3]]).tolist())
    assert teams == [[0, 3], [1, 2]]
    assert {type(place) for team in teams for place in team} == {int}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"skills": []}, "1 to 500 players, got 0"),
        ({"skills": [1.0] * 502}, "1 to 500 players, got 502"),
        ({"skills": [1.0, math.nan]}, "got nan at place 1"),
        ({"skills": [1.0, math.inf]}, "got inf at place 1"),
        ({"skills": [1.0] * 3}, "3 players do not divide into 2 equal teams; leave out 1"),
        ({"skills": [1.0] * 4, "team_count": 0}, "team_count must be at least 1, got 0"),
        ({"skills": [1.0] * 4, "parties": [[0, 1, 2]]}, "party of 3 does not fit into a team of 2"),
        ({"skills": [1.0] * 4, "parties": [[0, 1], [1, 2]]}, "place 1 is in parties twice"),
        ({"skills": [1.0] * 4, "parties": [[0, 4]]}, "places from 0 to 3 in skills, got 4"),
        ({"skills": [1.0] * 4, "parties": [[-1, 2]]}, "places from 0 to 3 in skills, got -1"),
        (
            {"skills": [1.0] * 6, "parties": [[0, 1], [2, 3], [4, 5]]},
            "parties of 2 + 2 + 2 players do not fill 2 teams of 3",
        ),
        (
            {"skills": [1.0] * 9, "parties": [[0, 1], [2, 3], [4, 5], [6, 7]], "team_count": 3},
            "parties of 2 + 2 + 2 + 2 + 1 x 1 players do not fill 3 teams of 3",
        ),
        (
            {"skills": [1.0] * 30, "parties": [[2 * i, 2 * i + 1] for i in range(15)]},
            "do not fill 2 teams of 15",
        ),
        (
            {
                "skills": [1.0] * 50,
                "parties": [[2 * i, 2 * i + 1] for i in range(23)],
                "team_count": 10,
            },
            "do not fill 10 teams of 5",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(MatchmakingError) as caught:
        split_teams(**given)
    assert sentence in str(caught.value)


def test_twenty_parties_are_divided_in_a_moment() -> None:
    skills = np.random.default_rng(1).normal(1500.0, 350.0, EXACT_PARTIES).tolist()
    start = time.thread_time()
    split_teams(skills)
    assert time.thread_time() - start < 2.0
