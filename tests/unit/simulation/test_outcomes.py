"""Matches are played: how outcomes are drawn, and that ratings find the truth from them."""

import math

import msgspec
import numpy as np
import pytest

from evenmatch import simulate
from evenmatch.config.files import parse_scenario
from evenmatch.errors import ConfigError
from evenmatch.model.scenario import OutcomeModel, Scenario
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.simulation.outcomes import draw_ranks, rank_correlation
from tests.extent import only

PLAYERS = 40
TRUE_SKILLS = np.linspace(1000.0, 2000.0, PLAYERS)
QUEUE = """
[[queue]]
policy = "window:limit=300,rate=10"
wait_max = 60
on_deadline = "keep"
rating = "{rating}"
{period}
[outcomes]
scale = 400
lasts = 30
"""


def world(rating: str = "glicko2", period: str = "") -> Scenario:
    return parse_scenario(QUEUE.format(rating=rating, period=period))


def visits(count: int, seed: int) -> list[Arrival]:
    """Return the same people coming again and again, one every five seconds."""
    rng = np.random.default_rng(seed)
    return [
        Arrival(
            5.0 * number,
            NewTicket((Player(f"p{who}", attributes={"skill": float(TRUE_SKILLS[who])}),)),
        )
        for number, who in enumerate(rng.integers(PLAYERS, size=count).tolist())
    ]


@pytest.mark.parametrize("rating", only(["elo", "glicko", "glicko2:tau=0.5"], 1))
def test_ratings_order_players_by_their_true_skills_in_the_end(rating: str) -> None:
    # 40 players, evenly from 1000 to 2000, about 70 matches each. A rating then has an error of
    # about 60 points against a spread of 290: rank correlations near 1 / sqrt(1 + (60 / 290)^2) =
    # 0.98. The bound leaves four times that distance from 1; seeds are fixed.
    summary = simulate(world(rating), arrivals=visits(3000, seed=11), seed=5).summary

    assert summary["outcomes"]["counted"] > 1300
    assert summary["outcomes"]["order"]["default"] > 0.92


def test_more_matches_order_players_better() -> None:
    orders = [
        simulate(world(), arrivals=visits(count, seed=3), seed=5).summary["outcomes"]["order"]
        for count in (60, 400, 3000)
    ]

    assert orders[0]["default"] < orders[1]["default"] < orders[2]["default"]


def test_rating_periods_work_in_virtual_time_too() -> None:
    summary = simulate(world("glicko", "rating_period = 600"), arrivals=visits(2000, 2)).summary

    assert summary["outcomes"]["order"]["default"] > 0.85


def test_same_seed_gives_the_same_outcomes() -> None:
    runs = [simulate(world(), arrivals=visits(300, seed=1), seed=9).summary for _ in range(2)]

    assert runs[0] == runs[1]


def test_scenario_without_outcomes_says_nothing_of_them() -> None:
    silent = msgspec.structs.replace(world(), outcomes=None)

    assert "outcomes" not in simulate(silent, arrivals=visits(50, seed=1)).summary


def test_players_need_a_true_skill() -> None:
    with pytest.raises(ConfigError, match="attribute 'skill', a number that every player needs"):
        simulate(world(), arrivals=[Arrival(0.0, NewTicket((Player("a"),)))])


def test_chance_of_two_teams_is_that_of_the_logistic_curve() -> None:
    # 20,000 draws: a standard error of 0.0034 at most; four of them are allowed.
    rng, model = np.random.default_rng(1), OutcomeModel()
    for gap in (0.0, 100.0, 400.0):
        won = sum(draw_ranks((gap, 0.0), model, rng) == (1, 2) for _ in range(20_000))

        assert won / 20_000 == pytest.approx(1.0 / (1.0 + 10.0 ** (-gap / 400.0)), abs=0.014)


def test_first_of_three_is_chosen_in_proportion_to_strength() -> None:
    rng, model = np.random.default_rng(2), OutcomeModel()
    first = [draw_ranks((400.0, 0.0, 0.0), model, rng).index(1) for _ in range(20_000)]

    assert first.count(0) / 20_000 == pytest.approx(10.0 / 12.0, abs=0.014)


def test_draws_have_their_share() -> None:
    rng, model = np.random.default_rng(3), OutcomeModel(draws=0.25)
    drawn = sum(draw_ranks((900.0, 0.0), model, rng) == (1, 1) for _ in range(20_000))

    assert drawn / 20_000 == pytest.approx(0.25, abs=0.014)


def test_rank_correlation_is_that_of_the_ranks() -> None:
    one = np.array([1.0, 2.0, 2.0, 9.0])

    assert rank_correlation(one, one**3) == pytest.approx(1.0)
    assert rank_correlation(one, -one) == pytest.approx(-1.0)
    assert rank_correlation(one, np.array([1.0, 3.0, 2.0, 4.0])) == pytest.approx(math.sqrt(0.9))
    assert rank_correlation(one[:1], one[:1]) is None
    assert rank_correlation(one, np.zeros(4)) is None
