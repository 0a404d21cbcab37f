"""What tests of the papers share: a quick reproduction in this process, and its rows."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from papers.shared.findings import Effort, Row

QUICK = Effort(quick=True, seed=0)
ROW_KEYS = ["id", "statement", "params", "printed", "corrected", "exact", "simulated"]
ROW_KEYS += ["half_width", "verdict", "why", "scenario", "command"]
PARTS = ("criteria cost", "time cost")


def here(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Do the work in this process."""
    return [function(item) for item in items]


def assert_near(row: Row, expected: float) -> None:
    """Assert agreement within twice the 95 % half-width and the reference's last digit."""
    assert row.simulated is not None
    assert row.half_width is not None
    assert row.simulated == pytest.approx(expected, abs=2.0 * row.half_width + 0.001)
    assert row.half_width < 0.06 * expected, "an interval that wide says nothing"
