"""Handicaps: who gets how many points."""

import pytest

from evenmatch.criteria.handicap import handicap_points
from evenmatch.model.queue import Handicap
from evenmatch.testing import ticket


def test_weaker_side_gets_the_difference_times_the_factor() -> None:
    strong, weak = ticket("a", 1800), ticket("b", 1500)

    assert handicap_points(Handicap(0.01), [[strong], [weak]]) == (0.0, 3.0)
    assert handicap_points(Handicap(0.01), [[weak], [strong]]) == (3.0, 0.0)


def test_points_are_capped_and_rounded_down_to_the_step() -> None:
    teams = [[ticket("a", 1800)], [ticket("b", 1525)]]

    assert handicap_points(Handicap(0.01, max=2.5), teams) == (0.0, 2.5)
    assert handicap_points(Handicap(0.01, step=1.0), teams) == (0.0, 2.0)
    assert handicap_points(Handicap(0.01, max=1.5, step=1.0), teams) == (0.0, 1.0)


def test_multiple_of_the_step_stays_that_multiple_despite_rounding() -> None:
    # 0.29 * 100 is a little less than 29.
    teams = [[ticket("a", 100)], [ticket("b", 0)]]

    assert handicap_points(Handicap(0.29, step=1.0), teams) == (0.0, 29.0)


def test_means_of_teams_are_compared_and_each_team_gets_its_own() -> None:
    duo, one, two = ticket("a", 1000, 2000), ticket("b", 1400), ticket("c", 1100)

    assert handicap_points(Handicap(0.01), [[duo], [one], [two]]) == (0.0, 1.0, 4.0)


@pytest.mark.parametrize("teams", [[["a"], ["b"]], [["a"], []]], ids=["even", "bots"])
def test_even_teams_and_bots_get_none(teams: list[list[str]]) -> None:
    seated = [[ticket(name, 1500) for name in team] for team in teams]

    assert handicap_points(Handicap(0.01), seated, bots=1) is None


def test_team_that_stays_empty_gets_none_and_the_others_theirs() -> None:
    teams = [[ticket("a", 1800)], [ticket("b", 1500)], []]

    assert handicap_points(Handicap(0.01), teams) == (0.0, 3.0, 0.0)


def test_any_attribute_may_say_how_strong_a_player_is() -> None:
    teams = [[ticket("a", power=4.0)], [ticket("b", power=1.0)]]

    assert handicap_points(Handicap(2.0, attribute="power"), teams) == (0.0, 6.0)
