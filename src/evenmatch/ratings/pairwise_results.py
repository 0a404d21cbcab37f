"""Matches from the view of one player: the input of the pairwise systems Elo, Glicko and Glicko-2.

These systems have only a player and an opponent. A team therefore plays with the mean of its
members' ratings, against an opponent with the mean rating and the root mean square deviation of
the rival team: each member is rated as if the gap between them and their opponent were the gap
between the teams. For teams of one this is the plain system.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenmatch.ratings.base import Ratings
from evenmatch.ratings.outcomes import FloatArray, IndexArray, PeriodOutcomes, settle_gap


class PairwiseResults(NamedTuple):
    """Encounters of one player with one opponent, shape (encounters,) each.

    Args:
        player: Index of the player.
        gap: Own side's mean less the opponent's, in points.
        deviation: The opponent's deviation, in points.
        score: The player's result: 1 won, 0.5 drew, 0 lost.
    """

    player: IndexArray
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
) -> tuple[IndexArray, IndexArray]:
    """Return all pairs of a seat and a meeting of its team."""
    meetings = np.bincount(outcomes.meeting_team, minlength=outcomes.team_count)
    start = np.cumsum(meetings) - meetings
    repeats = meetings[outcomes.team]
    seat = np.repeat(np.arange(outcomes.team.size), repeats)
    number = np.arange(seat.size) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return seat, start[outcomes.team[seat]] + number


def add_up(owner: IndexArray, amount: FloatArray, count: int) -> FloatArray:
    """Return the sum of the amounts of each of `count` owners."""
    return np.bincount(owner, weights=amount, minlength=count).astype(np.float64, copy=False)
