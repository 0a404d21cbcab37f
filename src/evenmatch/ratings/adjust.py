"""Fair results from unfair matches: wide gaps that a long wait allowed, and handicaps.

A player who has waited long may be matched by a virtual rating, far below his own. Nobody asked
for that match, so its result counts like this: if the favourite wins, both change by the ordinary
update on real ratings, which is near 0. If the favourite loses, he loses and the other gains what
an even match at their own level would give.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evenmatch.errors import ConfigError
from evenmatch.model.outcome import places_of

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


def settle_gap(gap: FloatArray, score: FloatArray, wide: BoolArray | None) -> FloatArray:
    """Return the gap at which a meeting is counted.

    Both sides of a meeting give opposite gaps and scores, and get opposite gaps back, so what one
    wins in Elo the other still loses. The proposal says nothing of draws: they count at half the
    gap, between the favourite's win and his loss.

    Args:
        gap: Own mean less the rival's, in points, shape (meetings,).
        score: Own result: 1 won, 0.5 drew, 0 lost.
        wide: Meetings of matches made far beyond the usual gap; None when there are none.

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
        points: What each team scored; higher is better.
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
