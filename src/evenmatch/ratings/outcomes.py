"""The results of one rating period as arrays: the players of each team, and the teams' results.

A match of t teams is t (t - 1) meetings: every team meets every other, counted from both sides. So
a duel is two meetings of two teams of one, a free-for-all is all pairs, and every rating system
reads the same table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from evenmatch.errors import ConfigError
from evenmatch.model.match import places_of

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]

TEAMS_MAX = 200
"""Most teams in one match; their meetings grow with the square."""


class PeriodOutcomes(NamedTuple):
    """The outcomes of one rating period; made by `duels` or `team_matches`.

    Args:
        player: Index of the player in each seat, shape (seats,).
        team: Number of each seat's team in the period, ascending, shape (seats,).
        meeting_team: Team of each meeting, ascending, shape (meetings,).
        meeting_rival: The rival team of each meeting, shape (meetings,).
        score: Result of the meeting's team: 1 won, 0.5 drew, 0 lost, shape (meetings,).
        quits: Seats whose player left before the end, or None if nobody did.
        wide: Meetings to be settled by `settle_gap`, or None if there are none.
    """

    player: IndexArray
    team: IndexArray
    meeting_team: IndexArray
    meeting_rival: IndexArray
    score: FloatArray
    quits: BoolArray | None = None
    wide: BoolArray | None = None

    @property
    def team_count(self) -> int:
        """Return the number of teams in the period."""
        return int(self.team[-1]) + 1 if self.team.size else 0

    @property
    def has_only_singles(self) -> bool:
        """Return whether every team is one player."""
        return self.team.size == self.team_count


def duels(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    score: npt.ArrayLike,
    *,
    wide: npt.ArrayLike | None = None,
) -> PeriodOutcomes:
    """Return the outcomes of a period of one-against-one matches.

    Args:
        first: Index of one player of each match, shape (n,).
        second: Index of the other.
        score: Result of the first: 1 won, 0.5 drew, 0 lost; values between are allowed.
        wide: Matches made far beyond the usual gap, see `settle_gap`; shape (n,).

    Raises:
        ConfigError: Lengths differ, a score is not in [0, 1], or a player meets themselves.

    Complexity:
        O(n).
    """
    one, two = _indices("first", first), _indices("second", second)
    result = np.asarray(score, np.float64)
    if not one.shape == two.shape == result.shape:
        raise ConfigError(
            "first, second and score must be flat arrays of one length, got shapes "
            f"{one.shape}, {two.shape} and {result.shape}"
        )
    if not np.all((result >= 0.0) & (result <= 1.0)):
        raise ConfigError("every score must be in [0, 1]: 1 won, 0.5 drew, 0 lost")
    if np.any(one == two):
        at = int(np.argmax(one == two))
        raise ConfigError(
            f"no player can meet themselves: match {at} pairs {one[at]} with {one[at]}"
        )
    n = one.size
    seats = np.arange(2 * n)
    rivals = np.concatenate((seats[n:], seats[:n]))
    flags = _flags("wide", wide, n)
    if flags is not None:
        flags = np.tile(flags, 2)
    both = np.concatenate((one, two))
    return PeriodOutcomes(
        both, seats, seats, rivals, np.concatenate((result, 1.0 - result)), None, flags
    )


class MatchTable(NamedTuple):
    """Matches between teams of any number and size, as flat arrays.

    Args:
        player: Index of the player in each seat, team after team, match after match.
        team_sizes: Seats of each team, shape (teams,).
        team_counts: Teams of each match, shape (matches,).
        ranks: Place of each team in its match; lower is better, equal is a draw.
        quits: Seats whose player left before the end; None if nobody did.
        wide: Matches made far beyond the usual gap, see `settle_gap`; None if there are none.
    """

    player: npt.ArrayLike
    team_sizes: npt.ArrayLike
    team_counts: npt.ArrayLike
    ranks: npt.ArrayLike
    quits: npt.ArrayLike | None = None
    wide: npt.ArrayLike | None = None


def team_matches(table: MatchTable) -> PeriodOutcomes:
    """Return the outcomes of a period of matches between teams.

    A team that all its players quit is ranked behind all others; two such teams have drawn.
    Otherwise, a player who quit has lost to every other team, whatever their team achieved without
    them.

    Raises:
        ConfigError: The shapes do not match, or a size is out of bounds.

    Complexity:
        O(seats + meetings).
    """
    seats = _indices("player", table.player)
    sizes = _indices("team_sizes", table.team_sizes)
    counts = _indices("team_counts", table.team_counts)
    places = np.array(table.ranks, np.float64)
    _check_shapes(seats, sizes, counts, places)
    team = np.repeat(np.arange(sizes.size), sizes)
    quits = _flags("quits", table.quits, seats.size)
    if quits is not None:
        is_gone = np.bincount(team, weights=~quits, minlength=sizes.size) == 0
        places[is_gone] = np.inf
        quits = quits & ~is_gone[team]  # the place of their team says it all
    wide = _flags("wide", table.wide, counts.size)
    if wide is not None:
        wide = np.repeat(wide, counts * (counts - 1))
    met, rivals = _all_pairs(counts)
    score = np.where(places[met] == places[rivals], 0.5, 1.0 * (places[met] < places[rivals]))
    return PeriodOutcomes(seats, team, met, rivals, score, quits, wide)


def _flags(name: str, values: npt.ArrayLike | None, count: int) -> BoolArray | None:
    """Return the flags as an array, or None when none is set."""
    if values is None:
        return None
    flags = np.asarray(values, np.bool_)
    if flags.shape != (count,):
        raise ConfigError(f"{name} needs {count} flags, got shape {flags.shape}")
    return flags if flags.any() else None


def _check_shapes(
    seats: IndexArray, sizes: IndexArray, counts: IndexArray, places: FloatArray
) -> None:
    fits = counts.sum() == sizes.size and sizes.sum() == seats.size
    if not fits or places.shape != sizes.shape:
        raise ConfigError(
            f"the arrays do not fit together: {seats.size} seats for team sizes adding up to "
            f"{sizes.sum()}, {sizes.size} teams for team counts adding up to {counts.sum()}, "
            f"{places.size} ranks"
        )
    if not np.all(np.isfinite(places)):
        raise ConfigError("every rank must be a finite number")
    if sizes.size and (sizes.min() < 1 or counts.min() < 2 or counts.max() > TEAMS_MAX):
        raise ConfigError(f"a match has 2 to {TEAMS_MAX} teams of at least 1 player")


def _all_pairs(counts: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return all ordered pairs of teams that met, given the number of teams of each match."""
    teams = int(counts.sum())
    first = np.repeat(np.cumsum(counts) - counts, counts)  # first team of each team's match
    rivals_of = np.repeat(counts, counts) - 1
    met = np.repeat(np.arange(teams), rivals_of)
    number = np.arange(met.size) - np.repeat(np.cumsum(rivals_of) - rivals_of, rivals_of)
    own = met - first[met]
    return met, first[met] + number + (number >= own)


def _indices(name: str, values: npt.ArrayLike) -> IndexArray:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ConfigError(f"{name} must be a flat array of whole numbers, got {array.dtype}")
    if array.size and array.min() < 0:
        raise ConfigError(f"{name} must not hold negative indices, got {array.min()}")
    return array.astype(np.intp, copy=False)


# Fair results from unfair matches: wide gaps that a long wait allowed, and handicaps.
#
# A player who has waited long may be matched by a virtual rating, far below their own. Nobody chose
# that match, so its result counts like this: if the favourite wins, both change by the ordinary
# update on real ratings, which is near 0. If the favourite loses, they lose and the other gains
# what an even match at their own level would give.


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
