"""Criteria: how far apart the players of a match are, in one respect.

Each criterion has two forms. The **reference** works on one match, as lists of numbers by team,
and defines the criterion. The **table** works on many matches of one layout at once, as an array,
and is what solvers use; a property test holds the two together.

These kinds compare plain numbers; `cost.numeric` takes them from tickets, and `cost.kinds` lists
the kinds that compare something else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain, combinations

import numpy as np

from evenmatch.criteria.scales import Floats, scale_gap, scale_gaps
from evenmatch.criteria.values import numbers
from evenmatch.model.queue import Criterion, Handicap, Scale
from evenmatch.model.ticket import Ticket

BENT = ("capped", "log")
"""Scales by which the mean cost of some gaps is not the cost of their mean."""
Teams = Sequence[Sequence[float]]
"""The values of one match's players, by team."""

STEP_SLACK = 1e-9
"""A difference this close below a multiple of `step` counts as that multiple."""


def spread(teams: Teams) -> float:
    """Return max - min over all players of the match.

    Source:
        Schlup, Automatic Game Matching, eq. (1): the range of a criterion in a game.
    """
    values = list(chain.from_iterable(teams))
    return max(values) - min(values)


def mean_gap(teams: Teams) -> float:
    """Return the mean absolute difference over all pairs of players; 0 for one player."""
    values = list(chain.from_iterable(teams))
    pairs = list(combinations(values, 2))
    return math.fsum(abs(a - b) for a, b in pairs) / len(pairs) if pairs else 0.0


def imbalance(teams: Teams, measure: str = "mean", step: float = 0.0) -> float:
    """Return the largest difference between two teams, of their means or sums.

    Args:
        teams: Values by team; teams without players are left out.
        measure: `mean` or `sum`.
        step: Differences of sums are rounded down to multiples of it; 0 = exact.
    """
    teams = [team for team in teams if team]
    sums = [math.fsum(team) for team in teams]
    if measure == "mean":
        means = [total / len(team) for total, team in zip(sums, teams, strict=True)]
        return max(means) - min(means)
    gap = max(sums) - min(sums)
    return math.floor(gap / step + STEP_SLACK) * step if step > 0.0 else gap


def gap_of(kind: str, teams: Teams, measure: str = "mean", step: float = 0.0) -> float:
    """Return the raw gap of one match for any kind of criterion."""
    if kind == "spread":
        return spread(teams)
    if kind == "mean_gap":
        return mean_gap(teams)
    return imbalance(teams, measure, step)


def reference(criterion: Criterion, teams: Teams) -> float:
    """Return q_d of one match from scaled values: the definition of the criterion.

    `mean_gap` is the mean of what the gap of each pair costs, so that one stranger among friends is
    judged pair by pair.

    Args:
        criterion: What to compare.
        teams: Values by team, already through `scale_value`.

    Returns:
        A cost in [0, 1], 0 = best; any number >= 0 if the scale is `none`.
    """
    if criterion.kind == "mean_gap":
        pairs = list(combinations(chain.from_iterable(teams), 2))
        costs = [scale_gap(criterion.scale, abs(a - b)) for a, b in pairs]
        return math.fsum(costs) / len(costs) if costs else 0.0
    gap = gap_of(criterion.kind, teams, criterion.measure, criterion.step)
    return scale_gap(criterion.scale, gap)


def table(criterion: Criterion, values: Floats, layout: Sequence[int]) -> Floats:
    """Return q_d of many matches of one layout.

    Args:
        criterion: What to compare.
        values: Shape (matches, k), already through `scale_values`; the players of the first
            team first, then those of the second, and so on.
        layout: Players per team; they sum to k.

    Returns:
        Shape (matches,).

    Complexity:
        O(matches * k), O(matches * k log k) for `mean_gap`, O(matches * k^2) on a bent scale.
    """
    if criterion.kind == "mean_gap" and criterion.scale.kind in BENT:
        return _mean_costs(criterion.scale, values)
    gaps = gap_table(criterion.kind, values, layout, criterion.measure, criterion.step)
    return scale_gaps(criterion.scale, gaps)


def gap_table(
    kind: str, values: Floats, layout: Sequence[int], measure: str = "mean", step: float = 0.0
) -> Floats:
    """Return `gap_of` of many matches of one layout.

    Args:
        kind: Of the criterion or rule.
        values: Shape (matches, k), team by team.
        layout: Players per team.
        measure: As for `imbalance`.
        step: As for `imbalance`.

    Returns:
        Shape (matches,).
    """
    gaps: Floats
    if kind == "spread":
        gaps = np.ptp(values, axis=1)
    elif kind == "mean_gap":
        gaps = _mean_gaps(values)
    else:
        gaps = _imbalances(values, layout, measure, step)
    return gaps


def _mean_costs(scale: Scale, values: Floats) -> Floats:
    """Return the mean over all pairs of the scaled gap."""
    pairs = list(combinations(range(values.shape[1]), 2))
    totals: Floats = np.zeros(values.shape[0])
    for one, two in pairs:
        totals += scale_gaps(scale, np.abs(values[:, one] - values[:, two]))
    return totals / max(1, len(pairs))


def _mean_gaps(values: Floats) -> Floats:
    k = values.shape[1]
    if k < 2:
        return np.zeros(values.shape[0])
    # In sorted order the i-th value is added i times and taken away k-1-i times.
    signs = 2.0 * np.arange(k) - (k - 1)
    means: Floats = np.sort(values, axis=1) @ signs / (k * (k - 1) / 2)
    # Equal values may leave a rounding error below 0.
    return np.maximum(means, 0.0)


def _imbalances(values: Floats, layout: Sequence[int], measure: str, step: float) -> Floats:
    layout = [count for count in layout if count]
    starts = np.concatenate(([0], np.cumsum(layout)[:-1])).astype(np.intp)
    totals: Floats = np.add.reduceat(values, starts, axis=1)
    if measure == "mean":
        totals = totals / np.asarray(layout, dtype=np.float64)
    gaps: Floats = np.ptp(totals, axis=1)
    if measure == "sum" and step > 0.0:
        gaps = np.floor(gaps / step + STEP_SLACK) * step
    return gaps


# Handicaps: points that a match gives to its weaker teams before the start.


def points_given(
    given: Handicap, teams: Sequence[Sequence[Ticket]], bots: int = 0
) -> tuple[float, ...] | None:
    """Return the points given to each team: factor * (strongest mean - own mean), capped.

    Args:
        given: The queue's factor, cap and step.
        teams: Tickets by team; one that the format lets stay empty gets nothing.
        bots: Computer players; where they are all that a team may have, there is no handicap,
            since nobody knows how strong it is.

    Returns:
        Points by team, at least one of them 0; None if nobody gets any.

    Source:
        GameDev.net, "1v1 queuing" (2010): give the weaker side points where a close match is not
        to be had. The outcome counts them: `ratings.adjust.ranks_from_points`.
    """
    if bots and not all(teams):
        return None
    values = [[v for t in team for v in numbers(t, given.attribute)] for team in teams]
    best = max([math.fsum(own) / len(own) for own in values if own])
    means = [math.fsum(own) / len(own) if own else best for own in values]
    points = tuple([_rounded(given, given.factor * (best - mean)) for mean in means])
    return points if any(points) else None


def _rounded(given: Handicap, points: float) -> float:
    most = math.inf if given.max is None else given.max
    points = min(points, most)
    if given.step > 0.0:
        points = math.floor(points / given.step + STEP_SLACK) * given.step
    return points
