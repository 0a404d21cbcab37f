"""The public `rate`: plain dicts in, plain dicts out, one rating period."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import msgspec
import numpy as np

from evenmatch.errors import ConfigError
from evenmatch.model.match import Result
from evenmatch.model.ticket import POINTS_MAX, VOLATILITY_MAX, Rating
from evenmatch.ratings.base import PlainRating, Ratings, RatingSystem
from evenmatch.ratings.outcomes import TEAMS_MAX, MatchTable, ranks_from_points, team_matches
from evenmatch.ratings.registry import SPECS_KEPT, parse_system

Kind = TypeVar("Kind")

LISTS, NUMBERS = (list, tuple), (float, int)
"""Python's own types; subtypes are checked more closely."""
FIELDS = ("mean", "deviation", "volatility")
PLACE_MAX = 1e300
"""Larger ranks and points are checked more closely: a whole number may exceed a float."""
PLAYERS_MAX = 1_000
"""Most players in one match."""


class RatingOutcome(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """The result of one match.

    Args:
        teams: Player ids by team.
        ranks: Place of each team; lower is better, equal is a draw.
        points: In place of ranks: the score of each team; higher is better.
        handicap: Points given to each team before the start; only with points.
        quitters: Players who left before the end: each has lost to every other team, but teams that
            all their players left have drawn with each other.
        wide: The match was made far beyond the usual gap: a favourite who loses and a rival who
            wins change as after an even match. `is_wide` of the policy `virtual_rating` says which
            of its matches are wide.
    """

    teams: tuple[tuple[str, ...], ...]
    ranks: tuple[float, ...] | None = None
    points: tuple[float, ...] | None = None
    handicap: tuple[float, ...] | None = None
    quitters: tuple[str, ...] = ()
    wide: bool = False


class _GivenRating(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A rating as passed in; missing values are a newcomer's."""

    mean: float | None = None
    deviation: float | None = None
    volatility: float | None = None


def rate(
    system: str,
    ratings: Mapping[str, Mapping[str, float | None]],
    outcomes: Iterable[Mapping[str, Any]],
) -> dict[str, dict[str, float | None]]:
    """Return the ratings after one rating period.

    All matches are rated against the ratings at the start of the period, so their order does not
    matter. Players without a match come out less certain, if the system provides for that. Players
    who appear only in an outcome are newcomers.

    Args:
        system: `elo`, `glicko`, `glicko2` or `weng_lin`, with parameters as in
            `glicko2:tau=0.5`.
        ratings: For each player `mean`, `deviation` and `volatility`; missing values and None are
            a newcomer's. The unit is the system's points, except for the volatility. Here and in
            outcomes, numbers may be numpy numbers, and lists may be numpy arrays.
        outcomes: For each match `teams` (player ids by team) and `ranks` (lower is better, equal
            is a draw) or `points` (higher is better), and optionally `handicap` (points given
            to each team), `quitters` (player ids) and `wide` (see `RatingOutcome`).

    Returns:
        New dicts in the same form for all players; volatility is None unless the system has one.

    Raises:
        ConfigError: Also a ValueError: an unknown system, a number that is not finite, a player
            twice in a match, or ranks that do not fit the teams.

    Example:
        >>> match = {"teams": [["ann"], ["bob"]], "ranks": [1, 2]}
        >>> rate("elo", {"ann": {"mean": 1500.0}}, [match])["ann"]["mean"]
        1516.0
    """
    engine, start, plain = _engine(system)
    has_volatility = start.volatility is not None
    rated = _rate_game(engine, has_volatility, plain, ratings, outcomes)
    if rated is not None:
        return rated
    known = {name: _read_rating(name, value, start) for name, value in _items(ratings)}
    played = [_read_outcome(number, value) for number, value in enumerate(outcomes)]
    for outcome in played:
        for name in (name for team in outcome.teams for name in team):
            known.setdefault(name, start)
    before = Ratings(
        np.array([each.mean for each in known.values()], np.float64),
        np.array([each.deviation for each in known.values()], np.float64),
        np.array([each.volatility for each in known.values()], np.float64),  # None is NaN
    )
    number_of = {name: number for number, name in enumerate(known)}
    after = engine.update(before, team_matches(table_of(played, number_of)))
    rows = zip(known, *(column.tolist() for column in after), strict=True)
    return {
        name: {
            "mean": mean,
            "deviation": deviation,
            "volatility": None if math.isnan(volatility) else volatility,
        }
        for name, mean, deviation, volatility in rows
    }


@lru_cache(maxsize=SPECS_KEPT)
def _engine(system: str) -> tuple[RatingSystem, Rating, PlainRating]:
    """Return a rating system and a newcomer's rating, also in plain numbers."""
    engine = parse_system(system)
    start = engine.newcomer
    return engine, start, (start.mean, start.deviation, start.volatility or 1.0)


def _rate_game(
    engine: RatingSystem,
    has_volatility: bool,
    start: PlainRating,
    ratings: Mapping[str, Mapping[str, float | None]],
    outcomes: Iterable[Mapping[str, Any]],
) -> dict[str, dict[str, float | None]] | None:
    """Return the ratings after one plain game of one against one, the most common call.

    It takes a tenth of the time. None for anything else, and for errors, which the general way
    then reports.
    """
    if type(outcomes) is not list or len(outcomes) != 1 or type(ratings) is not dict:
        return None
    if (game := _read_game(outcomes[0])) is None:
        return None
    first, second, score = game
    given, other_given = ratings.get(first), ratings.get(second)
    if len(ratings) != (given is not None) + (other_given is not None):
        return None
    one = start if given is None else _plain_rating(given, has_volatility, start)
    two = start if other_given is None else _plain_rating(other_given, has_volatility, start)
    if one is None or two is None:
        return None
    one, two = engine.after_game(one, two, score)
    if next(iter(ratings), first) == second:
        first, second, one, two = second, first, two, one
    return {
        first: {
            "mean": one[0],
            "deviation": one[1],
            "volatility": one[2] if has_volatility else None,
        },
        second: {
            "mean": two[0],
            "deviation": two[1],
            "volatility": two[2] if has_volatility else None,
        },
    }


def _read_game(game: Any) -> tuple[str, str, float] | None:
    """Return both names and the first player's score; None unless it is a plain game of two."""
    if type(game) is not dict or len(game) != 2:
        return None
    teams, places, is_points = game.get("teams"), game.get("ranks"), False
    if places is None:
        places, is_points = game.get("points"), True
    if type(teams) not in LISTS or type(places) not in LISTS:
        return None
    assert teams is not None
    assert places is not None
    if len(teams) != 2 or len(places) != 2:
        return None
    team, other_team = teams
    if type(team) not in LISTS or type(other_team) not in LISTS:
        return None
    if len(team) != 1 or len(other_team) != 1:
        return None
    first, second = team[0], other_team[0]
    if type(first) is not str or type(second) is not str or first == second:
        return None
    place, other_place = places
    if type(place) not in NUMBERS or type(other_place) not in NUMBERS:
        return None
    if not (abs(place) <= PLACE_MAX and abs(other_place) <= PLACE_MAX):
        return None
    place, other_place = float(place), float(other_place)
    if place == other_place:
        return first, second, 0.5
    return first, second, 1.0 if (place > other_place) is is_points else 0.0


def _plain_rating(given: Any, has_volatility: bool, start: PlainRating) -> PlainRating | None:
    """Return a rating of Python's own numbers, in range; None if it needs a closer check."""
    if type(given) is not dict:
        return None
    mean, deviation, volatility = start
    for name, value in given.items():
        if type(value) is not float:
            if value is None and name in FIELDS:
                continue
            if type(value) is not int or abs(value) > POINTS_MAX:
                return None
            value = float(value)
        if name == "mean":
            mean = value
        elif name == "deviation":
            deviation = value
        elif name != "volatility":
            return None
        elif has_volatility:
            volatility = value
    is_usable = abs(mean) <= POINTS_MAX and 0.0 <= deviation <= POINTS_MAX
    if is_usable and 0.0 < volatility <= VOLATILITY_MAX:
        return mean, deviation, volatility
    return None


def _items(ratings: Mapping[str, Mapping[str, float | None]]) -> Iterable[tuple[str, object]]:
    if not isinstance(ratings, Mapping):
        raise ConfigError(f"ratings must map player ids to ratings, got {type(ratings).__name__}")
    for name in ratings:
        if not isinstance(name, str):
            raise ConfigError(f"a player id must be text, got {name!r}")
    return ratings.items()


def _read_rating(player: str, value: object, start: Rating) -> Rating:
    """Return a player's rating, with a volatility only if the system has one."""
    given = _convert(f"rating of {player!r}", value, _GivenRating)
    mean = start.mean if given.mean is None else given.mean
    deviation = start.deviation if given.deviation is None else given.deviation
    volatility = None
    if start.volatility is not None:
        volatility = start.volatility if given.volatility is None else given.volatility
    if not abs(mean) <= POINTS_MAX:
        raise ConfigError(
            f"rating of {player!r}: mean must be a finite number of at most {POINTS_MAX:g} "
            f"either way, got {mean!r}"
        )
    if not 0.0 <= deviation <= POINTS_MAX:
        raise ConfigError(
            f"rating of {player!r}: deviation must be >= 0 and at most {POINTS_MAX:g}, "
            f"got {deviation!r}"
        )
    if volatility is not None and not 0.0 < volatility <= VOLATILITY_MAX:
        raise ConfigError(
            f"rating of {player!r}: volatility must be > 0 and at most {VOLATILITY_MAX:g}, "
            f"got {volatility!r}"
        )
    return Rating(mean=mean, deviation=deviation, volatility=volatility)


def _read_outcome(number: int, value: object) -> RatingOutcome:
    """Return an outcome with ranks, checked for all possible errors."""
    where = f"outcome {number}"
    outcome = _convert(where, value, RatingOutcome)
    players = [player for team in outcome.teams for player in team]
    if not 2 <= len(outcome.teams) <= TEAMS_MAX or not all(outcome.teams):
        raise ConfigError(f"{where} needs 2 to {TEAMS_MAX} teams of at least 1 player each")
    if len(players) > PLAYERS_MAX:
        raise ConfigError(f"{where} may have {PLAYERS_MAX} players, got {len(players)}")
    if len(set(players)) < len(players):
        twice = next(player for player in players if players.count(player) > 1)
        raise ConfigError(f"{where} names player {twice!r} twice; a player has one seat in a match")
    strangers = sorted(set(outcome.quitters) - set(players))
    if strangers:
        raise ConfigError(f"{where}: quitter {strangers[0]!r} is in none of its teams")
    ranks = _ranks(where, outcome)
    if len(ranks) != len(outcome.teams):
        raise ConfigError(
            f"{where} needs one rank for each team: {len(outcome.teams)} teams, got {len(ranks)}"
        )
    if not all(map(math.isfinite, ranks)):
        raise ConfigError(f"{where}: every rank must be a finite number, got {list(ranks)!r}")
    return msgspec.structs.replace(outcome, ranks=ranks)


def _ranks(where: str, outcome: RatingOutcome) -> tuple[float, ...]:
    if (outcome.ranks is None) == (outcome.points is None):
        raise ConfigError(f"{where} needs either ranks or points")
    if outcome.points is None:
        if outcome.handicap is not None:
            raise ConfigError(f"{where}: a handicap counts only with points, not with ranks")
        return outcome.ranks or ()
    try:
        return tuple(ranks_from_points(outcome.points, outcome.handicap))
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def table_of(played: Sequence[RatingOutcome | Result], number_of: Mapping[str, int]) -> MatchTable:
    """Return results as flat arrays; `number_of` gives the index of each player."""
    teams = [team for outcome in played for team in outcome.teams]
    quits = [
        player in outcome.quitters
        for outcome in played
        for team in outcome.teams
        for player in team
    ]
    return MatchTable(
        player=[number_of[player] for team in teams for player in team],
        team_sizes=[len(team) for team in teams],
        team_counts=[len(outcome.teams) for outcome in played],
        ranks=[rank for outcome in played for rank in outcome.ranks or ()],
        quits=quits,
        wide=[outcome.wide for outcome in played],
    )


def _convert(where: str, value: object, kind: type[Kind]) -> Kind:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        pass  # numpy's numbers are not Python's; only callers who use them pay for a second reading
    try:
        return msgspec.convert(_without_numpy(value), kind)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {error}") from None


def _without_numpy(value: object) -> object:
    """Return the same value with Python's numbers and lists in place of numpy's."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {name: _without_numpy(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_numpy(each) for each in value]
    return value
