"""`check` holds limits and scales against the ratings that a queue's rating system makes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from evenmatch.cli.main import main

Check = Callable[[str], str]

RATED = """
[[queue]]
name = "duel"
wait_max = 60.0
policy = "greedy"
rating = "{system}"
"""
TEAMS = RATED + "players = 5\n"
RULE = """
[[queue.rules]]
kind = "{kind}"
attribute = "rating"
limit = {limit}
"""
CRITERION = """
[[queue.criteria]]
kind = "spread"
attribute = "rating"
scale = {scale}
"""


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Check:
    def told(text: str) -> str:
        path = tmp_path / "rated.toml"
        path.write_text(text)
        assert main(["check", str(path)]) == 0
        return capsys.readouterr().out

    return told


def rated(system: str, limit: float, more: str = "") -> str:
    return RATED.format(system=system) + RULE.format(kind="spread", limit=limit) + more


@pytest.mark.parametrize(
    ("system", "told"),
    [
        ("weng_lin", "mean 25, deviation 8.33333."),
        ("glicko2", "mean 1500, deviation 350."),
        ("glicko:mean=1000,deviation=200", "mean 1000, deviation 200."),
    ],
)
def test_newcomers_rating_is_told(check: Check, system: str, told: str) -> None:
    assert f"the stored one, or a newcomer's: {told}" in check(RATED.format(system=system))


def test_limit_wider_than_all_differences_is_told(check: Check) -> None:
    told = check(rated("weng_lin", 100.0))
    assert (
        "warning: queue duel: the limit 100 of spread on rating keeps nobody apart; write one well "
        "below 50 (by weng_lin nearly all players lie between 0 and 50)" in told
    )


def test_limit_that_a_policy_stands_for_is_told_too(check: Check) -> None:
    queue = RATED.format(system="weng_lin").replace('"greedy"', '"window:limit=100"')
    assert "the limit 100 of spread on rating keeps nobody apart" in check(queue)


def test_limit_that_never_reaches_a_usual_difference_is_told(check: Check) -> None:
    assert (
        "the limit of spread on rating is never wider than 8, so hardly anybody but newcomers may "
        "meet; let it reach 350 or so" in check(rated("glicko2", 8.0))
    )


@pytest.mark.parametrize(
    ("system", "limit", "more"),
    [
        ("weng_lin", 10.0, "expand = {steps = [[20, 100.0]]}\n"),
        ("weng_lin:mean=1500,deviation=350,beta=175,tau=3.5", 100.0, ""),
        ("glicko2", 100.0, ""),
        ("glicko2", 0.0, "expand = {rate = 2.0}\n"),
        ("elo", 50.0, ""),
        ("weng_lin", 0.2, 'unit = "relative"\n'),
        ("glicko2", 0.05, 'unit = "percentile"\n'),
    ],
)
def test_limit_that_some_differences_pass_and_some_do_not_is_fine(
    check: Check, system: str, limit: float, more: str
) -> None:
    told = check(rated(system, limit, more))
    assert "keeps nobody apart" not in told
    assert "is never wider than" not in told


def test_teams_may_be_even_to_a_small_limit_and_differ_in_sum_by_a_large_one(check: Check) -> None:
    queue, even = TEAMS.format(system="weng_lin"), RULE.format(kind="imbalance", limit=0.1)
    assert "is never wider than" not in check(queue + even)
    wide = RULE.format(kind="imbalance", limit=100.0)
    assert "keeps nobody apart; write one well below 50" in check(queue + wide)
    assert "keeps nobody apart" not in check(queue + wide + 'measure = "sum"\n')


def test_queue_that_reads_the_ladder_of_another_is_judged_by_it(check: Check) -> None:
    reads = (
        rated("weng_lin", 100.0).replace('"duel"', '"casual"').replace('rating = "weng_lin"', "")
    )
    told = check(RATED.format(system="weng_lin") + reads)
    assert "queue casual: the limit 100 of spread on rating keeps nobody apart" in told


@pytest.mark.parametrize(
    ("system", "scale", "told"),
    [
        (
            "weng_lin",
            "{min = 1000, max = 2000}",
            "goes from 1000 to 2000, so that a newcomer counts as 1000 (by weng_lin nearly all",
        ),
        (
            "weng_lin",
            "{min = 0, max = 3000}",
            "is so wide that a difference of 8.33333 costs only 0.0028 of the weight",
        ),
        (
            "weng_lin",
            '{kind = "capped", max = 400}',
            "is so wide that a difference of 8.33333 costs only 0.021 of the weight",
        ),
        (
            "glicko2",
            '{kind = "capped", max = 10}',
            "is so narrow that all differences from 17.5 on cost the same, the whole weight",
        ),
    ],
)
def test_scale_that_does_not_suit_ratings_is_told(
    check: Check, system: str, scale: str, told: str
) -> None:
    assert told in check(RATED.format(system=system) + CRITERION.format(scale=scale))


@pytest.mark.parametrize(
    ("system", "scale"),
    [
        ("weng_lin", "{min = 0, max = 50}"),
        ("glicko2", "{min = 0, max = 3000}"),
        ("glicko2", '{kind = "capped", max = 400}'),
        ("glicko2", '{kind = "log", knee = 100, max = 1000}'),
    ],
)
def test_scale_that_suits_ratings_is_fine(check: Check, system: str, scale: str) -> None:
    assert "the scale of" not in check(RATED.format(system=system) + CRITERION.format(scale=scale))


def test_what_a_rating_without_a_deviation_counts_as_is_told(check: Check) -> None:
    told = "a rating that a ticket gives without a deviation counts as one with 350"
    assert f"queue duel: {told}, a newcomer's has 8.33333" in check(RATED.format(system="weng_lin"))
    assert told not in check(RATED.format(system="glicko2"))
    assert told not in check(RATED.format(system="elo"))
