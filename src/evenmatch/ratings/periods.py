"""Rate the stored results of a shard: from results and aged ratings to new ratings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from evenmatch.model.match import AgedRating, Result
from evenmatch.model.ticket import POINTS_MAX, VOLATILITY_MAX, VOLATILITY_MIN, Rating
from evenmatch.ratings.base import PlainRating, Ratings, RatingSystem
from evenmatch.ratings.glicko import Glicko
from evenmatch.ratings.outcomes import FloatArray, team_matches
from evenmatch.ratings.rate import table_of
from evenmatch.ratings.registry import parse_system


def rate_period(
    system: str, ratings: Mapping[str, AgedRating], results: Sequence[Result]
) -> dict[str, Rating]:
    """Return the ratings after the results of one period, or after resting if there are none.

    The result can always be rated again: it stays within `POINTS_MAX` and `VOLATILITY_MAX`.

    Args:
        system: The SPEC of the rating system.
        ratings: Every player of the results, as stored at the start of the period; one without a
            rating is a newcomer. Periods without a match make deviations grow first.
        results: The results; all are rated against the ratings at the start.

    Raises:
        ConfigError: The SPEC names no rating system.

    Complexity:
        O(players + seats + meetings); about 0.2 ms for one match, a tenth of that for a game of one
        against one.

    >>> rate_period("elo", {"ann": AgedRating()}, ())["ann"].mean
    1500.0
    """
    chosen = _system(system)
    if not ratings:
        return {}
    start = chosen.newcomer
    if len(results) == 1 and (rated := _after_game(chosen, start, ratings, results[0])):
        return rated
    before = [each.rating or start for each in ratings.values()]
    rested = chosen.rest(_columns(before, start), _rests(chosen, ratings))
    after = rested
    if results:
        number_of = {name: number for number, name in enumerate(ratings)}
        with np.errstate(all="ignore"):
            after = chosen.update(rested, team_matches(table_of(results, number_of)))
    mean = _kept(after.mean, rested.mean, -POINTS_MAX, POINTS_MAX)
    deviation = _kept(after.deviation, rested.deviation, 0.0, POINTS_MAX)
    volatility: list[float | None] = [None] * len(ratings)
    if start.volatility is not None:
        volatility[:] = _kept(after.volatility, rested.volatility, VOLATILITY_MIN, VOLATILITY_MAX)
    rows = zip(ratings, mean, deviation, volatility, strict=True)
    return {name: Rating(m, d, v) for name, m, d, v in rows}


def _after_game(
    system: RatingSystem, start: Rating, ratings: Mapping[str, AgedRating], game: Result
) -> dict[str, Rating] | None:
    """Return the ratings after one game of one against one, computed with plain numbers.

    None for any other match, if a player has rested, or if an absurd parameter leads beyond the
    range of plain numbers.
    """
    if len(ratings) != 2 or len(game.teams) != 2 or game.quitters or game.wide:
        return None
    if any(each.periods for each in ratings.values()) or {*game.teams} != {
        (name,) for name in ratings
    }:
        return None
    unknown = math.nan if start.volatility is None else start.volatility
    one, two = [_plain(ratings[name].rating or start, unknown) for (name,) in game.teams]
    ahead = game.ranks[1] - game.ranks[0]
    score = 0.5 if ahead == 0 else float(ahead > 0)
    try:
        after = system.after_game(one, two, score)
    except (ArithmeticError, ValueError):
        return None
    has_volatility = start.volatility is not None
    rated = [
        _rating_of(*each, has_volatility=has_volatility)
        for each in zip(after, (one, two), strict=True)
    ]
    names = [name for (name,) in game.teams]
    return {name: rated[names.index(name)] for name in ratings}


def _plain(rating: Rating, unknown: float) -> PlainRating:
    """Return a rating in plain numbers; `unknown` replaces a missing volatility."""
    volatility = unknown if rating.volatility is None else rating.volatility
    return rating.mean, rating.deviation, volatility


def _rating_of(after: PlainRating, before: PlainRating, *, has_volatility: bool) -> Rating:
    """Return a rating in the form that is stored; see `_kept`."""
    lows, highs = (-POINTS_MAX, 0.0, VOLATILITY_MIN), (POINTS_MAX, POINTS_MAX, VOLATILITY_MAX)
    mean, deviation, volatility = map(_within, after, before, lows, highs)
    return Rating(mean, deviation, volatility if has_volatility else None)


def _within(after: float, before: float, low: float, high: float) -> float:
    """Return a number clipped to bounds, or the previous one if it is NaN."""
    return min(max(before if math.isnan(after) else after, low), high)


def _kept(after: FloatArray, before: FloatArray, low: float, high: float) -> list[float]:
    """Return numbers clipped to bounds; the previous ones replace NaN from absurd parameters."""
    found: list[float] = np.clip(np.where(np.isnan(after), before, after), low, high).tolist()
    return found


def _rests(system: RatingSystem, ratings: Mapping[str, AgedRating]) -> FloatArray:
    """Return for how many periods each rating rests before the update.

    Glickman's step 1 of Glicko also makes those who played in the previous period less certain; the
    other systems do that in their update.
    """
    periods = np.array([each.periods for each in ratings.values()], np.float64)
    return periods if isinstance(system, Glicko) else np.maximum(periods - 1.0, 0.0)


@lru_cache(maxsize=64)
def _system(spec: str) -> RatingSystem:
    return parse_system(spec)


def _columns(ratings: Sequence[Rating], start: Rating) -> Ratings:
    """Return ratings as arrays; a newcomer's values replace missing ones."""
    unknown = np.nan if start.volatility is None else start.volatility
    return Ratings(
        np.array([each.mean for each in ratings], np.float64),
        np.array([each.deviation for each in ratings], np.float64),
        np.array(
            [unknown if each.volatility is None else each.volatility for each in ratings],
            np.float64,
        ),
    )
