"""From what every pool says to rows: means over pools, their half-widths, and verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evenmatch.lab.study import mean_and_width
from papers.shared.measure import Estimate
from papers.shared.row import Row, Verdict

Found = dict[str, float | None]
"""What one pool says, by what it is about."""


def mean_of(results: Sequence[Found], key: str) -> Estimate:
    """Return the mean over pools of what they say, where they say something."""
    known = [each[key] for each in results]
    values = [value for value in known if value is not None]
    mean, width = mean_and_width(values)
    return Estimate(0.0 if mean is None else mean, width or 0.0, len(values))


def difference(results: Sequence[Found], one: str, other: str) -> Estimate:
    """Return the mean over pools of one thing less another, both of the same pool."""
    pairs = [(each[one], each[other]) for each in results]
    known = [a - b for a, b in pairs if a is not None and b is not None]
    mean, width = mean_and_width(known)
    return Estimate(0.0 if mean is None else mean, width or 0.0, len(known))


def is_above(found: Estimate, least: float = 0.0) -> Verdict:
    """Return `holds` where it is surely above, `differs` where it is surely not.

    What chance may have made either way is unresolved.

    >>> is_above(Estimate(1.0, 0.4)), is_above(Estimate(0.2, 0.4)), is_above(Estimate(-1.0, 0.4))
    ('holds', 'unresolved', 'differs')
    """
    if found.value - found.half_width > least:
        return "holds"
    return "unresolved" if found.value + found.half_width > least else "differs"


def told(
    row_id: str,
    what: str,
    found: Estimate,
    verdict: Verdict | None = None,
    *,
    aim: float = 0.0,
    **params: Any,
) -> Row:
    """Return a row of a measured figure; one without any difference decides nothing.

    Args:
        row_id: Its id.
        what: What the figure is, in words.
        found: The figure.
        verdict: What is to be thought of what the blog says about it.
        aim: What the figure was compared with.
        params: The setting.
    """
    return Row(
        id=row_id,
        params={**params, "what": what},
        simulated=found.value,
        half_width=found.half_width,
        verdict=None if found.value == 0.0 == found.half_width else verdict,
        runs=found.runs,
        aim=None if verdict is None else aim,
    )
