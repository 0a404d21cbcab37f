"""Handicaps: points that a match gives to its weaker teams before the start."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evenmatch.criteria.scales import STEP_SLACK
from evenmatch.criteria.values import numbers
from evenmatch.model.queue import Handicap
from evenmatch.model.ticket import Ticket


def handicap_points(
    handicap: Handicap, teams: Sequence[Sequence[Ticket]], bots: int = 0
) -> tuple[float, ...] | None:
    """Return the points given to each team: factor * (strongest mean - own mean), capped.

    Args:
        handicap: The queue's factor, cap and step.
        teams: Tickets by team; a team that the format lets stay empty gets nothing.
        bots: Computer players. If a team may consist of bots alone, there is no handicap, since
            its strength is unknown.

    Returns:
        Points by team, at least one of them 0; None if no team gets any.

    Source:
        GameDev.net, "1v1 queuing" (2010): give the weaker side points if no close match is to be
        had. The outcome counts them: `ratings.outcomes.ranks_from_points`.
    """
    if bots and not all(teams):
        return None
    values = [[v for t in team for v in numbers(t, handicap.attribute)] for team in teams]
    best = max([math.fsum(own) / len(own) for own in values if own])
    means = [math.fsum(own) / len(own) if own else best for own in values]
    points = tuple([_rounded(handicap, handicap.factor * (best - mean)) for mean in means])
    return points if any(points) else None


def _rounded(handicap: Handicap, points: float) -> float:
    most = math.inf if handicap.max is None else handicap.max
    points = min(points, most)
    if handicap.step > 0.0:
        points = math.floor(points / handicap.step + STEP_SLACK) * handicap.step
    return points
