"""From what every pool says to rows: means over pools, their half-widths, and verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evenmatch.lab.reproduce.measure import Estimate
from evenmatch.lab.reproduce.row import Row, Verdict
from evenmatch.lab.study import mean_and_width

Found = dict[str, float | None]
"""What one pool says, by what it is about."""


def mean_of(results: Sequence[Found], key: str) -> Estimate:
    """Return the mean over pools of what they say, where they say something."""
    known = [each[key] for each in results]
    mean, width = mean_and_width([value for value in known if value is not None])
    return Estimate(0.0 if mean is None else mean, width or 0.0)


def difference(results: Sequence[Found], one: str, other: str) -> Estimate:
    """Return the mean over pools of one thing less another, both of the same pool."""
    pairs = [(each[one], each[other]) for each in results]
    known = [a - b for a, b in pairs if a is not None and b is not None]
    mean, width = mean_and_width(known)
    return Estimate(0.0 if mean is None else mean, width or 0.0)


def is_above(found: Estimate, least: float = 0.0) -> Verdict:
    """Return `holds` where it is surely above, `not reproducible` where surely not.

    What chance may have made either way holds with the condition that there be more pools.
    """
    if found.value - found.half_width > least:
        return "holds"
    return "holds with conditions" if found.value > least else "not reproducible"


def told(
    row_id: str, what: str, found: Estimate, verdict: Verdict | None = None, **params: Any
) -> Row:
    """Return a row of a measured figure.

    Args:
        row_id: Its id.
        what: What the figure is, in words.
        found: The figure.
        verdict: What is to be thought of what the blog says about it.
        params: The setting.
    """
    return Row(
        id=row_id,
        params={**params, "what": what},
        simulated=found.value,
        half_width=found.half_width,
        verdict=verdict,
    )
