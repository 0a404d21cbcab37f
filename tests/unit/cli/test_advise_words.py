import pytest

from evenmatch.cli.advise_view import few_online, match_line
from evenmatch.lab.advise.advice import advise
from evenmatch.lab.advise.player_base import PlayerBase


def test_match_is_told_with_its_teams() -> None:
    assert match_line(PlayerBase(teams=(5,) * 5)).startswith("Matches of 5 teams of 5;")
    assert match_line(PlayerBase(teams=(4,))).startswith("Matches of 1 team of 4;")
    assert match_line(PlayerBase(teams=(1, 4))).startswith("Matches of teams of 1 against 4;")


@pytest.mark.parametrize(("online", "warnings"), [(29.0, 1), (30.0, 0), (1.0, 0)])
def test_fewer_players_than_three_matches_hold_are_warned_of(online: float, warnings: int) -> None:
    # With one player there is no answer that could be too good.
    assert len(list(few_online(advise(PlayerBase(), players_online=online)))) == warnings
