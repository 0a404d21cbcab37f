"""Small scenarios with exact outputs, kept beside this file.

Ids and states are compared exactly, numbers to 1e-9. After a change that is meant to alter them:

    python -m tests.golden.write
"""

import json
from pathlib import Path
from typing import Any

import pytest

from evenmatch import simulate

HERE = Path(__file__).parent
NAMES = sorted(path.stem for path in HERE.glob("*.toml"))


def outputs(name: str) -> dict[str, Any]:
    """Return all that `simulate` says about a golden scenario."""
    path = HERE / f"{name}.toml"
    by = [line.removeprefix("# by: ") for line in path.read_text().splitlines() if "# by: " in line]
    run = simulate(path, by=by)
    return {"summary": run.summary, "matches": run.matches, "tickets": run.tickets}


def assert_same(got: Any, expected: Any, where: str = "") -> None:
    if isinstance(expected, dict):
        assert list(got) == list(expected), where
        for key, value in expected.items():
            assert_same(got[key], value, f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(got) == len(expected), where
        for at, value in enumerate(expected):
            assert_same(got[at], value, f"{where}[{at}]")
    elif isinstance(expected, float):
        assert got == pytest.approx(expected, rel=1e-9, abs=1e-9), where
    else:
        assert got == expected, where


@pytest.mark.parametrize("name", NAMES)
def test_golden_scenario_gives_the_same_output(name: str) -> None:
    expected = json.loads((HERE / f"{name}.json").read_text())
    assert_same(json.loads(json.dumps(outputs(name))), expected)


def test_every_golden_output_has_its_scenario() -> None:
    assert sorted(path.stem for path in HERE.glob("*.json")) == NAMES
    assert len(NAMES) >= 8
