"""What somebody says of a match, in one form: equal results are equal, nonsense is refused."""

import math
from typing import Any

import pytest
from msgspec.structs import replace

from evenmatch.engine.outcomes.reports import result_of
from evenmatch.errors import InvalidOutcome
from evenmatch.model.inputs import Outcome
from evenmatch.model.match import Match, Result

DUEL = Match("m", "q", 0.0, ("1", "2"), (("1",), ("2",)), (("a",), ("b",)))
TEAMS = Match("m", "q", 0.0, (), (), (("a", "b"), ("c", "d"), ("e", "f")))


def said(match: Match = DUEL, **what: Any) -> Result:
    return result_of(Outcome(1.0, "m", **what), match)


def test_ranks_of_any_numbers_become_places() -> None:
    assert said(ranks=(1, 2)) == said(ranks=(10.0, 20.0)) == Result((("a",), ("b",)), (1, 2))
    assert said(ranks=(0, 0)).ranks == (1, 1)
    assert said(TEAMS, ranks=(7, 3, 7)).ranks == (2, 1, 2)


def test_teams_may_come_in_any_order() -> None:
    other_way = said(TEAMS, teams=(("f", "e"), ("a", "b"), ("d", "c")), ranks=(1, 2, 3))

    assert other_way == said(TEAMS, ranks=(2, 3, 1))


def test_points_count_with_the_handicap_that_the_match_gave() -> None:
    given = Match("m", "q", 0.0, (), (), DUEL.players, handicap=(0.0, 3.0))

    assert said(points=(10, 8)).ranks == (1, 2)
    assert said(given, points=(10, 8)).ranks == (2, 1)
    assert said(given, points=(10, 8), handicap=(0, 0)).ranks == (1, 2)
    assert said(given, teams=(("b",), ("a",)), points=(8, 10)).ranks == (2, 1)


def test_match_says_whether_it_is_wide_unless_the_report_does() -> None:
    wide = Match("m", "q", 0.0, (), (), DUEL.players, wide=True)

    assert said(wide, ranks=(1, 2)).wide
    assert not said(wide, ranks=(1, 2), wide=False).wide
    assert said(ranks=(1, 2), wide=True).wide


def test_quitters_are_a_set() -> None:
    assert said(TEAMS, ranks=(1, 2, 3), quitters=("d", "a", "d")).quitters == ("a", "d")


@pytest.mark.parametrize(
    ("what", "where", "sentence"),
    [
        ({}, "", "give either ranks or points"),
        ({"ranks": (1, 2), "points": (1, 2)}, "", "give either ranks or points"),
        ({"ranks": (1,)}, "/ranks", "ranks needs one number for each team: 2 teams, got 1"),
        ({"ranks": (1, 2, 3)}, "/ranks", "2 teams, got 3"),
        ({"ranks": (1, math.nan)}, "/ranks", "must be finite numbers of at most 1e+15, got nan"),
        ({"points": (1, 1e300)}, "/points", "got 1e+300"),
        ({"points": (1, 2), "handicap": (1,)}, "/handicap", "handicap needs one number"),
        ({"ranks": (1, 2), "handicap": (1, 2)}, "/handicap", "only with points"),
        ({"ranks": (1, 2), "quitters": ("z",)}, "/quitters", "quitter 'z' is not in match m"),
        ({"ranks": (1, 2), "teams": (("a",), ("z",))}, "/teams", "teams must hold the players"),
        ({"ranks": (1, 2), "teams": (("a", "b"), ())}, "/teams", "teams must hold the players"),
        ({"ranks": (1, 2), "teams": (("a", "a"), ("b",))}, "/teams", "each in their own team"),
    ],
)
def test_what_does_not_fit_the_match_is_refused(
    what: dict[str, Any], where: str, sentence: str
) -> None:
    with pytest.raises(InvalidOutcome) as refused:
        said(**what)

    assert sentence in refused.value.message
    assert refused.value.where == where


def test_outcome_of_a_backfill_is_that_of_the_match_it_filled() -> None:
    filled = Match("m", "q", 0.0, (), (), DUEL.players, extends="s0-m1")

    with pytest.raises(InvalidOutcome, match="report the outcome of") as refused:
        said(filled, ranks=(1, 2))
    assert refused.value.match == "s0-m1"


def test_team_that_has_left_is_an_empty_one_wherever_it_stands() -> None:
    with_bots = Match("m", "q", 0.0, (), (), ((), ("a",), ("b",)), bots=1)
    given = Outcome(1.0, "m", ranks=(3, 2, 1), teams=((), ("a",), ("b",)))

    told = [
        result_of(replace(given, teams=teams), with_bots, ("a",))
        for teams in (((), ("a",), ("b",)), (("a",), (), ("b",)), ((), (), ("b",)))
    ]

    assert [each.ranks for each in told] == [(3, 2, 1), (2, 3, 1), (3, 2, 1)]
    assert [each.quitters for each in told] == [(), (), ("a",)]
    assert {each.teams for each in told} == {with_bots.players}
