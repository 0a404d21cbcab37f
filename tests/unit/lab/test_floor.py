"""Where the floor is printed, and where theory knows none."""

import math

import pytest

from evenmatch.config.files import parse_scenario
from evenmatch.lab.optimum.floor import floor_of

PLAIN = """
[[queue]]
wait_max = 5.0
on_deadline = "bots"
[[queue.criteria]]
kind = "spread"
attribute = "c0"
[arrivals]
rate = 3.0
count = 100
[attributes.c0]
distribution = "uniform"
"""


@pytest.mark.long
def test_floor_of_a_plain_scenario_is_that_of_the_theory() -> None:
    found = floor_of(parse_scenario(PLAIN))
    # `theory floor rate=3 weight=2 wait_max=5`; its own tests tell how it was checked.
    assert found is not None
    assert found["cost_per_match"] == pytest.approx(math.sqrt(2.0 / 15.0))
    assert found["cost_per_match"] + found["error_per_match"] == pytest.approx(0.39056, abs=1e-4)
    assert found["cost_per_player"] == found["cost_per_match"] / 2.0


def test_weight_is_that_of_the_range_and_the_price_a_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def noted(**setting: float) -> dict[str, float]:
        asked.append(setting)
        return {}

    monkeypatch.setattr("evenmatch.lab.optimum.floor.floor", noted)
    points = PLAIN.replace('"uniform"', '"uniform"\nmin = 1000.0\nmax = 1500.0').replace(
        'attribute = "c0"',
        'attribute = "c0"\nweight = 4.4\nscale = {kind = "linear", min = 0.0, max = 2000.0}',
    )
    floor_of(parse_scenario(points.replace("wait_max = 5.0", "wait_max = 5.0\nwait_price = 0.08")))
    assert asked == [{"rate": 3.0, "weight": pytest.approx(1.1), "wait_max": 12.5}]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"bots"', '"expire"'),
        ("rate = 3.0", "rate = 0.06"),
        ("rate = 3.0", 'process = "ramp"\nrate = 0.0\nto = 6.0'),
        ("rate = 3.0", "rate = 3.0\npatience = 2.0"),
        ('"uniform"', '"normal"\nmean = 0.5\ndeviation = 0.1'),
        ('"uniform"', '"uniform"\nmax = 2.0'),
        ('attribute = "c0"', 'attribute = "c0"\nscale = {kind = "capped", max = 0.5}'),
        ("[[queue]]", "[[queue]]\nteams = 3"),
        ("[arrivals]", '[[queue]]\nname = "two"\n[arrivals]'),
        ("[arrivals]", '[[queue.criteria]]\nkind = "spread"\nattribute = "c0"\n[arrivals]'),
    ],
)
def test_where_theory_does_not_apply_there_is_none(old: str, new: str) -> None:
    assert old in PLAIN
    assert floor_of(parse_scenario(PLAIN.replace(old, new))) is None
