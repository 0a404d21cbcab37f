"""Rating what a shard has stored: from results and aged ratings to new ratings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from evenmatch.model.outcome import Aged, Result
from evenmatch.model.rating import POINTS_MAX, Rating
from evenmatch.ratings.base import FloatArray, Ratings, RatingSystem
from evenmatch.ratings.glicko import Glicko
from evenmatch.ratings.outcomes import team_matches
from evenmatch.ratings.rate import table_of
from evenmatch.ratings.registry import parse_system


def rate_period(
    system: str, known: Mapping[str, Aged], results: Sequence[Result]
) -> dict[str, Rating]:
    """Return the ratings after the results of one period, or after resting if there are none.

    Args:
        system: The SPEC of the rating system.
        known: Every player of the results, as stored at the start of the period; one without a
            rating is a newcomer. Periods without a match make deviations grow first.
        results: What was played; all of it counts against the ratings at the start.

    Raises:
        ConfigError: The SPEC names no rating system.

    Complexity:
        O(players + seats + meetings); about 0.2 ms for one match.

    >>> rate_period("elo", {"ann": Aged()}, ())["ann"].mean
    1500.0
    """
    chosen = _system(system)
    if not known:
        return {}
    start = chosen.newcomer
    before = [each.rating or start for each in known.values()]
    rested = chosen.rest(_columns(before, start), _rests(chosen, known))
    after = rested
    if results:
        number_of = {name: number for number, name in enumerate(known)}
        after = chosen.update(rested, team_matches(table_of(results, number_of)))
    mean = np.clip(after.mean, -POINTS_MAX, POINTS_MAX).tolist()
    deviation = np.minimum(after.deviation, POINTS_MAX).tolist()
    volatility = [
        None if start.volatility is None else value for value in after.volatility.tolist()
    ]
    return {
        name: Rating(*columns)
        for name, *columns in zip(known, mean, deviation, volatility, strict=True)
    }


def _rests(system: RatingSystem, known: Mapping[str, Aged]) -> FloatArray:
    """Return for how many periods each rating rests before the update.

    Glickman's step 1 of Glicko makes those who played in the period before less certain, too; the
    other systems take care of that when they update.
    """
    periods = np.array([each.periods for each in known.values()], np.float64)
    return periods if isinstance(system, Glicko) else np.maximum(periods - 1.0, 0.0)


@lru_cache(maxsize=64)
def _system(spec: str) -> RatingSystem:
    return parse_system(spec)


def _columns(ratings: Sequence[Rating], start: Rating) -> Ratings:
    """Return ratings as arrays; what the system needs and a rating lacks is a newcomer's."""
    unknown = np.nan if start.volatility is None else start.volatility
    return Ratings(
        np.array([each.mean for each in ratings], np.float64),
        np.array([each.deviation for each in ratings], np.float64),
        np.array(
            [unknown if each.volatility is None else each.volatility for each in ratings],
            np.float64,
        ),
    )
