"""From what somebody says of a match to its result in one form, so that equal ones are equal."""

from __future__ import annotations

import math
from collections.abc import Collection

from evenmatch.errors import InvalidOutcome
from evenmatch.model.inputs import Outcome
from evenmatch.model.match import Match
from evenmatch.model.outcome import Result, places_of

NUMBER_MAX = 1e15
"""Largest rank or points; totals with a handicap stay exact enough."""


def result_of(given: Outcome, match: Match, left: Collection[str] = ()) -> Result:
    """Return the result that a report means.

    Teams may come in any order, ranks may be any numbers: 10 and 20 are places 1 and 2. Points
    become places after the handicap that the match gave, or the one given with them. Who has left
    has quit, unless the game's service names him among those who played.

    Args:
        given: What is said.
        match: The match, with all who have played in it.
        left: Those of them who have left it.

    Raises:
        InvalidOutcome: It names other players than the match, has not one number a team, or a
            number that is not finite.
    """
    if match.extends is not None:
        raise InvalidOutcome(
            f"match {match.id} filled free seats of match {match.extends}; report the outcome of "
            f"that one",
            match=match.extends,
        )
    order = _order(given, match, left)
    places = places_of(_numbers(given, match, order))
    seated = {player for team in match.players for player in team}
    for player in given.quitters:
        if player not in seated:
            raise InvalidOutcome(
                f"quitter {player[:64]!r} is not in match {match.id}", where="/quitters"
            )
    wide = match.wide if given.wide is None else given.wide
    ranks = [0] * len(order)
    for place, team in zip(places, order, strict=True):
        ranks[team] = place
    # Whether who left did no wrong is for the service to say: players agree on the places alone.
    named = [] if given.player is not None else [p for team in given.teams for p in team]
    quitters = {*given.quitters, *[player for player in left if player not in named]}
    return Result(match.players, tuple(ranks), tuple(sorted(quitters)), wide)


def _order(given: Outcome, match: Match, left: Collection[str]) -> list[int]:
    """Return the number in the match of each team as it is given."""
    if not given.teams:
        return list(range(len(match.players)))
    free = list(range(len(match.players)))
    order = {}
    # A team of which nobody is named may be any whose players have all left: it comes last.
    for number in sorted(range(len(given.teams)), key=lambda at: not given.teams[at]):
        team = given.teams[number]
        found = next((at for at in free if _is_team(team, match.players[at], left)), None)
        if found is None:
            break
        free.remove(found)
        order[number] = found
    if free or len(order) < len(given.teams):
        absent = ", but for those who have left" if left else ""
        raise InvalidOutcome(
            f"teams must hold the players of match {match.id}, each in their own team{absent}; "
            f"leave teams out to give ranks in the order of the match",
            where="/teams",
        )
    return [order[number] for number in range(len(given.teams))]


def _is_team(given: tuple[str, ...], team: tuple[str, ...], left: Collection[str]) -> bool:
    """Return whether players are a team; who has left it may be missing."""
    named = set(given)
    must = {player for player in team if player not in left}
    return must <= named <= set(team) and len(named) == len(given)


def _numbers(given: Outcome, match: Match, order: list[int]) -> list[float]:
    """Return one number for each team as given, of which the smallest won."""
    if (given.ranks is None) == (given.points is None):
        raise InvalidOutcome("an outcome needs either ranks or points, one number for each team")
    if given.points is None:
        numbers = _checked("ranks", given.ranks or (), len(order))
        if given.handicap is not None:
            raise InvalidOutcome(
                "a handicap counts only with points, not with ranks", where="/handicap"
            )
        return numbers
    scored = _checked("points", given.points, len(order))
    if given.handicap is not None:
        gifts = _checked("handicap", given.handicap, len(order))
    else:
        stated = match.handicap or (0.0,) * len(order)
        gifts = [stated[team] for team in order]
    return [-(points + gift) for points, gift in zip(scored, gifts, strict=True)]


def _checked(key: str, numbers: tuple[float, ...], count: int) -> list[float]:
    if len(numbers) != count:
        raise InvalidOutcome(
            f"{key} needs one number for each team: {count} teams, got {len(numbers)}",
            where=f"/{key}",
        )
    for number in numbers:
        if not math.isfinite(number) or abs(number) > NUMBER_MAX:
            raise InvalidOutcome(
                f"{key} must be finite numbers of at most {NUMBER_MAX:g}, got {number}",
                where=f"/{key}",
            )
    return list(numbers)
