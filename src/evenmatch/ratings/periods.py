"""Rating what a shard has stored: from results and aged ratings to new ratings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from evenmatch.model.match import Aged, Result
from evenmatch.model.ticket import POINTS_MAX, VOLATILITY_MAX, VOLATILITY_MIN, Rating
from evenmatch.ratings.base import FloatArray, Ratings, RatingSystem
from evenmatch.ratings.glicko import Glicko
from evenmatch.ratings.outcomes import team_matches
from evenmatch.ratings.rate import table_of
from evenmatch.ratings.registry import parse_system


def rate_period(
    system: str, known: Mapping[str, Aged], results: Sequence[Result]
) -> dict[str, Rating]:
    """Return the ratings after the results of one period, or after resting if there are none.

    What comes out can always be rated again: it stays within `POINTS_MAX` and `VOLATILITY_MAX`.

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
        with np.errstate(all="ignore"):
            after = chosen.update(rested, team_matches(table_of(results, number_of)))
    mean = _kept(after.mean, rested.mean, -POINTS_MAX, POINTS_MAX)
    deviation = _kept(after.deviation, rested.deviation, 0.0, POINTS_MAX)
    volatility: list[float | None] = [None] * len(known)
    if start.volatility is not None:
        volatility[:] = _kept(after.volatility, rested.volatility, VOLATILITY_MIN, VOLATILITY_MAX)
    rows = zip(known, mean, deviation, volatility, strict=True)
    return {name: Rating(m, d, v) for name, m, d, v in rows}


def _kept(after: FloatArray, before: FloatArray, low: float, high: float) -> list[float]:
    """Return numbers within bounds; where an absurd parameter made none, those before."""
    found: list[float] = np.clip(np.where(np.isnan(after), before, after), low, high).tolist()
    return found


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
