"""The result of a played match, and what is known of it so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from evenmatch.model.rating import Rating

OutcomeKind = Literal["reported", "counted", "disputed"]


class Result(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """How a match ended, in one form for all who report it.

    Args:
        teams: Player ids by team, as in the match.
        ranks: Place of each team from 1, equal places are a draw: 1, 1, 3.
        quitters: Players who left before the end, sorted.
        wide: Whether the match was made far beyond the usual gap; see `ratings.adjust`.
    """

    teams: tuple[tuple[str, ...], ...]
    ranks: tuple[int, ...]
    quitters: tuple[str, ...] = ()
    wide: bool = False


class MatchOutcome(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What is known of the outcome of one match.

    Args:
        state: `reported` by players and not yet agreed, `counted`, or `disputed`.
        result: What counted; None before that.
        reports: What each player who reported has said.
        until: Engine time at which the reports are judged.
    """

    state: OutcomeKind
    result: Result | None = None
    reports: dict[str, Result] = {}
    until: float = 0.0


class Aged(msgspec.Struct, frozen=True, gc=False):
    """A stored rating and its age.

    Args:
        rating: None of a player of whom nothing is known.
        periods: How many rating periods later it is now than when it was made, >= 0; 1 for
            somebody who played in the period before.
    """

    rating: Rating | None = None
    periods: int = 0


def places_of(numbers: Sequence[float]) -> tuple[int, ...]:
    """Return the place of each number among all: 1 for the smallest, equal for equal ones.

    >>> places_of([2.5, 0.0, 2.5])
    (2, 1, 2)
    """
    return tuple(1 + sum(other < number for other in numbers) for number in numbers)
