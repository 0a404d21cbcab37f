"""What tests reach of the core does not fall."""

import pytest

from tests.extent import IS_LONG
from tests.gates.covering import (
    CORE,
    File,
    Report,
    Totals,
    asked,
    fallen,
    measured,
    percentages,
)


def test_figures_are_of_the_whole_core() -> None:
    given = asked()
    assert tuple(given.percent) == CORE
    assert all(percent > 40.0 for percent in given.percent.values())


def test_lines_and_branches_count_alike() -> None:
    files = {f"src/evenmatch/{name}/x.py": File(Totals(6, 3, 4, 2)) for name in CORE}
    assert percentages(Report(files), CORE) == dict.fromkeys(CORE, 50.0)


def test_a_fall_of_more_than_half_a_point_is_told() -> None:
    before = {"cost": 90.0, "engine": 80.0, "model": 70.0}
    (sentence,) = fallen(before, {"cost": 89.5, "engine": 79.4, "model": 71.0})
    assert sentence.startswith("engine: 79.40 % of lines and branches are reached, 80.00 % were")


@pytest.mark.long
@pytest.mark.skipif(not IS_LONG, reason="make test-full runs quick tests once more for it")
def test_quick_tests_reach_as_much_of_the_core_as_before() -> None:
    given = asked()
    assert fallen(given.percent, measured(given)) == []
