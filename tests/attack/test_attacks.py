"""Each attack once more, as short as it still means something; `make attack` is the whole of it.

Kills are in `tests/integration/test_kill.py`.
"""

from pathlib import Path

import pytest

from tests.attack.__main__ import ATTACKS
from tests.attack.health import health
from tests.attack.report import table

SECONDS = 2.0


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long) if name == "health" else name
        for name in ATTACKS
        if name != "kills"
    ],
)
def test_attack_does_no_harm(name: str, tmp_path: Path) -> None:
    rows = ATTACKS[name](tmp_path, SECONDS)
    assert all(row.is_good for row in rows), f"\n{table(rows)}"


def test_probe_is_answered_beside_decisions_of_seconds(tmp_path: Path) -> None:
    rows = health(tmp_path, 1.0, ("slower",))
    assert all(row.is_good for row in rows), f"\n{table(rows)}"
