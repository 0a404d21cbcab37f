"""Matches from the view of one player: the input of the pairwise systems Elo, Glicko and Glicko-2.

These systems have only a player and an opponent. A team therefore plays with the mean of its
members' ratings, against an opponent with the mean rating and the root mean square deviation of
the rival team: each member is rated as if the gap between them and their opponent were the gap
between the teams. For teams of one this is the plain system.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from evenmatch.errors import ConfigError
from evenmatch.model.match import places_of
from evenmatch.ratings.base import Ratings
from evenmatch.ratings.outcomes import PeriodOutcomes


class PairwiseResults(NamedTuple):
    """Encounters of one player with one opponent, shape (encounters,) each.

    Args:
        player: Index of the player.
        gap: Own side's mean less the opponent's, in points.
        deviation: The opponent's deviation, in points.
        score: The player's result: 1 won, 0.5 drew, 0 lost.
    """

    player: npt.NDArray[np.intp]
    gap: FloatArray
    deviation: FloatArray
    score: FloatArray


def find_pairwise_results(ratings: Ratings, outcomes: PeriodOutcomes) -> PairwiseResults:
    """Return every player's encounters of the period, at the ratings of its start."""
    mean, deviation = ratings.mean[outcomes.player], ratings.deviation[outcomes.player]
    if not outcomes.has_only_singles:
        team, teams = outcomes.team, outcomes.team_count
        size = np.bincount(team)
        mean = add_up(team, mean, teams) / size
        deviation = np.sqrt(add_up(team, deviation**2, teams) / size)
    gap = mean[outcomes.meeting_team] - mean[outcomes.meeting_rival]
    gap = settle_gap(gap, outcomes.score, outcomes.wide)
    deviation = deviation[outcomes.meeting_rival]
    if outcomes.has_only_singles:  # then a team's number is that of its only seat
        player = outcomes.player[outcomes.meeting_team]
        return PairwiseResults(player, gap, deviation, outcomes.score)
    seat, meeting = _seats_in_meetings(outcomes)
    score = outcomes.score[meeting]
    if outcomes.quits is not None:
        score = np.where(outcomes.quits[seat], 0.0, score)
    return PairwiseResults(outcomes.player[seat], gap[meeting], deviation[meeting], score)


def _seats_in_meetings(
    outcomes: PeriodOutcomes,
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return all pairs of a seat and a meeting of its team."""
    meetings = np.bincount(outcomes.meeting_team, minlength=outcomes.team_count)
    start = np.cumsum(meetings) - meetings
    repeats = meetings[outcomes.team]
    seat = np.repeat(np.arange(outcomes.team.size), repeats)
    number = np.arange(seat.size) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return seat, start[outcomes.team[seat]] + number


def add_up(owner: npt.NDArray[np.intp], amount: FloatArray, count: int) -> FloatArray:
    """Return the sum of the amounts of each of `count` owners."""
    return np.bincount(owner, weights=amount, minlength=count).astype(np.float64, copy=False)


# Fair results from unfair matches: wide gaps that a long wait allowed, and handicaps.
#
# A player who has waited long may be matched by a virtual rating, far below their own. Nobody chose
# that match, so its result counts like this: if the favourite wins, both change by the ordinary
# update on real ratings, which is near 0. If the favourite loses, they lose and the other gains
# what an even match at their own level would give.

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


def settle_gap(gap: FloatArray, score: FloatArray, wide: BoolArray | None) -> FloatArray:
    """Return the gap at which a meeting is rated.

    The two sides of a meeting have opposite gaps and scores, and get opposite gaps back, so with
    Elo one still wins what the other loses. The source says nothing about draws: they count at half
    the gap, between the favourite's win and loss.

    Args:
        gap: Own mean less the rival's, in points, shape (meetings,).
        score: Own result: 1 won, 0.5 drew, 0 lost.
        wide: Meetings of matches made far beyond the usual gap; None if there are none.

    Source:
        GameDev.net, "1v1 queuing" (2010), the second answer, on virtual ratings.

    >>> settle_gap(np.array([611.0, 611.0]), np.array([1.0, 0.0]), np.array([True, True])).tolist()
    [611.0, 0.0]
    """
    if wide is None:
        return gap
    favourite_score = np.where(gap >= 0.0, score, 1.0 - score)
    kept = np.where(favourite_score > 0.5, 1.0, np.where(favourite_score == 0.5, 0.5, 0.0))
    return np.where(wide, gap * kept, gap)


def ranks_from_points(
    points: Sequence[float], handicap: Sequence[float] | None = None
) -> list[float]:
    """Return the rank of each team: 1 for the most points, equal for equal points.

    Args:
        points: The score of each team; higher is better.
        handicap: Points given to each team before the start, as stated in the match.

    Raises:
        ConfigError: The lengths differ, or a number is not finite.

    >>> ranks_from_points([10, 8, 8])
    [1.0, 2.0, 2.0]
    >>> ranks_from_points([10, 8], handicap=[0, 3])
    [2.0, 1.0]
    """
    given = [0.0] * len(points) if handicap is None else list(handicap)
    if len(given) != len(points):
        raise ConfigError(
            f"a handicap needs one number for each team: {len(points)} teams, got {len(given)}"
        )
    totals = np.asarray(points, np.float64) + np.asarray(given, np.float64)
    if not np.all(np.isfinite(totals)):
        raise ConfigError(f"points and handicap must be finite numbers, got {points!r}, {given!r}")
    return [float(place) for place in places_of((-totals).tolist())]
