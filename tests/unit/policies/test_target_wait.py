"""The mean wait that a queue of teams wants is the one that its players have."""

from pathlib import Path

import pytest

import evenmatch
from evenmatch.config.files import load_scenario, parse_scenario
from evenmatch.lab.study.sweep import target_in

SCENARIOS = Path(__file__).parents[3] / "scenarios"
CHECKED = """
seed = 3
warmup = 60.0
[[queue]]
name = "pairs"
teams = 2
players = 2
target_wait = 12.0
[queue.accept]
seconds = 15.0
[[queue.criteria]]
kind = "mean_gap"
attribute = "rating"
scale = {kind = "log", knee = 20.0, max = 1000.0}
[arrivals]
process = "poisson"
rate = 4.0
duration = 240.0
[attributes.rating]
distribution = "normal"
mean = 1500.0
deviation = 350.0
[answers]
seconds = 3.0
"""


def test_time_for_the_ready_check_is_part_of_the_mean_wait() -> None:
    pytest.importorskip("numba")
    # Four people take six seconds until the last of them has answered.
    summary = evenmatch.simulate(parse_scenario(CHECKED)).summary

    assert summary["wait"]["mean"] == pytest.approx(12.0, rel=0.1)


@pytest.mark.parametrize(
    ("name", "target"),
    [("hero_5v5", 30.0), ("world_3v3", 60.0), ("world_5v5", 30.0), ("roles_5v5", 60.0)],
)
def test_shipped_games_of_teams_have_a_mean_wait_to_sweep(name: str, target: float) -> None:
    assert target_in(load_scenario(SCENARIOS / f"{name}.toml")) == target
