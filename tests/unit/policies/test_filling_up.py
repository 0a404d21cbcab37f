"""Matches of four to eight: few arrivals start small ones after a while, many fill them up."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from evenmatch.config.files import load_scenario
from evenmatch.lab.simulate import simulate
from evenmatch.model.scenario import Scenario
from tests.extent import extent
from tools import roles_5v5

SCENARIOS = Path(__file__).parents[3] / "scenarios"


def arena(rate: float, count: int) -> Scenario:
    scenario = load_scenario(SCENARIOS / "free_for_all.toml")
    assert scenario.arrivals is not None
    arrivals = msgspec.structs.replace(scenario.arrivals, rate=rate, count=count)
    return msgspec.structs.replace(scenario, arrivals=arrivals)


def first_of_roles_5v5(count: int, folder: Path) -> Path:
    few = folder / "few.csv"
    lines = (SCENARIOS / "roles_5v5.csv").read_text().splitlines()
    few.write_text("\n".join(lines[: 1 + count]))
    return few


def mean_size(rate: float, policy: str) -> float:
    run = simulate(arena(rate, 120), policy=policy)
    sizes = [len(match["tickets"]) for match in run.matches]
    assert set(sizes) <= {4, 5, 6, 7, 8}
    assert run.summary["expired"] <= 0.05 * 120
    return sum(sizes) / len(sizes)


@pytest.mark.parametrize("policy", ["rolling", "threshold:quality=0.75"])
def test_few_arrivals_start_small_matches_and_many_fill_them(policy: str) -> None:
    sparse, dense = mean_size(0.02, policy), mean_size(1.0, policy)
    assert sparse < 6.0
    assert dense > 6.5


@pytest.mark.parametrize(
    ("name", "most"),
    [("free_for_all", 8), pytest.param("roles_5v5", 10, marks=pytest.mark.long)],
)
def test_scenario_without_a_policy_plays_nearly_everybody(
    name: str, most: int, tmp_path: Path
) -> None:
    arrivals = first_of_roles_5v5(extent(400, 900), tmp_path) if name == "roles_5v5" else None
    run = simulate(SCENARIOS / f"{name}.toml", arrivals=arrivals)
    players = [sum(map(len, match["teams"])) for match in run.matches]
    assert max(players) <= most
    assert run.summary["expired"] <= 0.02 * run.summary["tickets"]
    if name == "roles_5v5":
        for match in run.matches:
            for team in match["roles"]:
                assert sorted(team) == ["dps", "dps", "dps", "healer", "tank"]


def test_first_teams_of_a_scenario_with_roles_have_them_all(tmp_path: Path) -> None:
    few = first_of_roles_5v5(80, tmp_path)
    run = simulate(SCENARIOS / "roles_5v5.toml", arrivals=few)
    assert len(run.matches) >= 2
    for match in run.matches:
        for team in match["roles"]:
            assert sorted(team) == ["dps", "dps", "dps", "healer", "tank"]


def test_who_comes_with_which_roles_is_what_the_script_draws() -> None:
    lines = (SCENARIOS / "roles_5v5.csv").read_text().splitlines()
    assert [line.split(",") for line in lines] == roles_5v5.rows()
