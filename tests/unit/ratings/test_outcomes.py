"""Teams, free-for-all, draws, quits and wide matches become meetings."""

import numpy as np
import pytest

from evenmatch.errors import ConfigError
from evenmatch.ratings.base import Ratings, newcomers
from evenmatch.ratings.elo import Elo
from evenmatch.ratings.glicko import Glicko
from evenmatch.ratings.glicko2 import Glicko2
from evenmatch.ratings.outcomes import (
    MatchTable,
    PeriodOutcomes,
    duels,
    ranks_from_points,
    team_matches,
)
from evenmatch.ratings.pairwise_results import find_pairwise_results
from evenmatch.ratings.weng_lin import WengLin

SYSTEMS = [Elo(), Glicko(), Glicko2(), WengLin()]


def ratings_of(*means: float) -> Ratings:
    n = len(means)
    return Ratings(np.array(means, float), np.linspace(60.0, 200.0, n), np.full(n, 0.06))


def one_match(
    teams: list[list[int]],
    ranks: list[float],
    quits: list[bool] | None = None,
    wide: bool = False,
) -> PeriodOutcomes:
    flat = [player for team in teams for player in team]
    return team_matches(
        MatchTable(flat, [len(team) for team in teams], [len(teams)], ranks, quits, [wide])
    )


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_match_of_two_teams_of_one_is_a_duel(system: Elo) -> None:
    ratings = ratings_of(1500, 1620, 1700)
    as_teams = team_matches(MatchTable([0, 1, 2, 1], [1, 1, 1, 1], [2, 2], [1, 2, 5, 5]))
    after = system.update(ratings, as_teams)
    other = system.update(ratings, duels([0, 2], [1, 1], [1.0, 0.5]))
    for one, two in zip(after, other, strict=True):
        assert one == pytest.approx(two, nan_ok=True)


@pytest.mark.parametrize("system", [Elo(), Glicko(), Glicko2()])
def test_a_free_for_all_is_all_pairs(system: Elo) -> None:
    ratings = ratings_of(1500, 1620, 1700)
    after = system.update(ratings, one_match([[0], [1], [2]], [2, 1, 2]))
    pairs = duels([0, 0, 1], [1, 2, 2], [0.0, 0.5, 1.0])
    other = system.update(ratings, pairs)
    for one, two in zip(after, other, strict=True):
        assert one == pytest.approx(two, nan_ok=True)


def test_a_team_plays_with_the_mean_of_its_members() -> None:
    ratings = Ratings(
        np.array([1400.0, 1600.0, 1700.0]), np.array([50.0, 60.0, 80.0]), np.full(3, np.nan)
    )
    met = find_pairwise_results(ratings, one_match([[0, 1], [2]], [1, 2]))
    assert met.player.tolist() == [0, 1, 2]
    assert met.gap.tolist() == [-200.0, -200.0, 200.0]
    assert met.deviation == pytest.approx([80.0, 80.0, np.sqrt((50**2 + 60**2) / 2)])
    assert met.score.tolist() == [1.0, 1.0, 0.0]


@pytest.mark.parametrize("system", SYSTEMS)
def test_members_of_the_winning_team_gain_and_the_others_lose(system: Elo) -> None:
    start = newcomers(system, 6)
    after = system.update(start, one_match([[0, 1, 2], [3, 4, 5]], [1, 2]))
    assert np.all(after.mean[:3] > start.mean[:3])
    assert np.all(after.mean[3:] < start.mean[3:])


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_draw_of_equals_changes_no_mean(system: Elo) -> None:
    start = newcomers(system, 4)
    after = system.update(start, one_match([[0, 1], [2, 3]], [1, 1]))
    assert after.mean == pytest.approx(start.mean)


@pytest.mark.parametrize("system", SYSTEMS)
def test_who_quits_a_duel_has_lost_it(system: Elo) -> None:
    start = newcomers(system, 2)
    after = system.update(start, one_match([[0], [1]], [1, 2], quits=[True, False]))
    other = system.update(start, one_match([[0], [1]], [2, 1]))
    assert after.mean.tolist() == other.mean.tolist()


@pytest.mark.parametrize("system", SYSTEMS)
def test_who_quits_a_winning_team_has_lost_alone(system: Elo) -> None:
    start = newcomers(system, 4)
    won = system.update(start, one_match([[0, 1], [2, 3]], [1, 2]))
    after = system.update(
        start, one_match([[0, 1], [2, 3]], [1, 2], quits=[True, False, False, False])
    )
    lost = system.update(start, one_match([[0, 1], [2, 3]], [2, 1]))
    assert after.mean[0] == pytest.approx(lost.mean[0])
    assert after.mean[1:] == pytest.approx(won.mean[1:])


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("teams", [[[0], [1]], [[0, 1], [2, 3]]])
def test_everybody_quitting_is_a_draw(system: Elo, teams: list[list[int]]) -> None:
    count = sum(map(len, teams))
    start = newcomers(system, count)
    after = system.update(start, one_match(teams, [1, 2], [True] * count))
    drawn = system.update(start, one_match(teams, [1, 1]))
    assert after.mean.tolist() == drawn.mean.tolist() == start.mean.tolist()
    assert after.deviation.tolist() == drawn.deviation.tolist()


def test_a_team_of_nobody_left_is_behind_the_last() -> None:
    outcomes = one_match([[0], [1], [2]], [1, 2, 3], quits=[True, False, False])
    after = Elo().update(newcomers(Elo(), 3), outcomes)
    assert after.mean.tolist() == [1484 - 16, 1516 + 16, 1500]


# The pair of the thread that proposed virtual ratings.
FAVOURITE, OTHER = 2655.0, 2044.0


@pytest.mark.parametrize("system", [Elo(), Glicko(), Glicko2()])
def test_a_favourite_who_wins_a_wide_match_gains_almost_nothing(system: Elo) -> None:
    ratings = ratings_of(FAVOURITE, OTHER)._replace(deviation=np.array([50.0, 50.0]))
    after = system.update(ratings, duels([0], [1], [1.0], wide=[True]))
    ordinary = system.update(ratings, duels([0], [1], [1.0]))
    assert after.mean.tolist() == ordinary.mean.tolist()
    assert 0.0 < after.mean[0] - FAVOURITE < 1.0
    assert -1.0 < after.mean[1] - OTHER < 0.0


@pytest.mark.parametrize("system", [Elo(), Glicko(), Glicko2()])
def test_a_favourite_who_loses_a_wide_match_loses_as_if_even(system: Elo) -> None:
    deviation = np.array([50.0, 80.0])
    ratings = ratings_of(FAVOURITE, OTHER)._replace(deviation=deviation)
    after = system.update(ratings, duels([0], [1], [0.0], wide=[True]))
    at_his_level = ratings_of(FAVOURITE, FAVOURITE)._replace(deviation=deviation)
    at_others_level = ratings_of(OTHER, OTHER)._replace(deviation=deviation)
    even = duels([0], [1], [0.0])
    assert after.mean[0] == pytest.approx(system.update(at_his_level, even).mean[0])
    assert after.mean[1] == pytest.approx(system.update(at_others_level, even).mean[1])
    assert ratings.mean[0] - after.mean[0] < FAVOURITE - system.update(ratings, even).mean[0]


def test_elo_of_the_threads_wide_match() -> None:
    ratings = ratings_of(FAVOURITE, OTHER)
    won = Elo().update(ratings, duels([0], [1], [1.0], wide=[True])).mean
    lost = Elo().update(ratings, duels([0], [1], [0.0], wide=[True])).mean
    assert won - ratings.mean == pytest.approx([0.923, -0.923], abs=1e-3)
    assert (lost - ratings.mean).tolist() == [-16.0, 16.0]


def test_a_drawn_wide_match_lies_between_win_and_loss() -> None:
    ratings = ratings_of(FAVOURITE, OTHER)
    change = Elo().update(ratings, duels([0], [1], [0.5], wide=[True])).mean - ratings.mean
    assert -16.0 < change[0] < 0.0
    assert change.sum() == pytest.approx(0.0)


def test_wide_counts_for_its_match_only() -> None:
    ratings = ratings_of(FAVOURITE, OTHER, FAVOURITE, OTHER)
    table = MatchTable([0, 1, 2, 3], [1, 1, 1, 1], [2, 2], [2, 1, 2, 1], wide=[True, False])
    change = Elo().update(ratings, team_matches(table)).mean - ratings.mean
    assert change == pytest.approx([-16, 16, -31.077, 31.077], abs=1e-3)


def test_weng_lin_counts_a_lost_wide_match_as_even() -> None:
    start = Ratings(np.array([40.0, 10.0]), np.array([2.0, 2.0]), np.full(2, np.nan))
    after = WengLin().update(start, duels([0], [1], [0.0], wide=[True]))
    even = start._replace(mean=np.array([40.0, 40.0]))
    assert after.mean[0] == pytest.approx(WengLin().update(even, duels([0], [1], [0.0])).mean[0])


def test_handicap_decides_who_won() -> None:
    assert ranks_from_points([20, 18]) == [1.0, 2.0]
    assert ranks_from_points([20, 18], [0, 5]) == [2.0, 1.0]
    assert ranks_from_points([20, 18, 3], [0, 2, 0]) == [1.0, 1.0, 3.0]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: duels([0], [0], [1.0]), "no player can meet themselves: match 0 pairs 0 with 0"),
        (lambda: duels([0], [1], [1.5]), r"every score must be in \[0, 1\]"),
        (lambda: duels([0], [1], [np.nan]), r"every score must be in \[0, 1\]"),
        (lambda: duels([0, 1], [1], [1.0]), "flat arrays of one length"),
        (lambda: duels([0.5], [1], [1.0]), "first must be a flat array of whole numbers"),
        (lambda: duels([-1], [1], [1.0]), "first must not hold negative indices, got -1"),
        (lambda: duels([0], [1], [1.0], wide=[True, True]), "wide needs 1 flags"),
        (lambda: one_match([[0], [1]], [1, 2, 3]), "the arrays do not fit together"),
        (lambda: one_match([[0], [1]], [1, np.nan]), "every rank must be a finite number"),
        (lambda: one_match([[0]], [1]), "a match has 2 to 200 teams"),
        (lambda: ranks_from_points([1, 2], [1]), "a handicap needs one number for each team"),
        (lambda: ranks_from_points([1, np.nan]), "must be finite numbers"),
    ],
)
def test_malformed_outcomes_are_refused(make: object, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        make()  # type: ignore[operator]
