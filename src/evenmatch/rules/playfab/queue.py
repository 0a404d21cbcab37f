"""A PlayFab queue as values: sizes, teams, and rules whose numbers are given by age.

All defaults are filled in, and expansions are steps: the two forms of PlayFab become one. Ages are
seconds that a ticket has waited, latencies milliseconds.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import itemgetter
from typing import Literal

import msgspec

Merge = Literal["min", "max", "avg"]
Missing = Literal["needed", "default", "any"]
"""What a missing attribute means: ticket refused, default used, or any match allowed."""
Source = Literal["User", "PlayerEntity"]
Expanded = Literal["", "linear", "custom"]
Steps = tuple[tuple[float, float | None], ...]
"""Values by the age from which on they hold, ascending from 0; None: the rule is not active."""


class RuleAttribute(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The attribute that a rule reads.

    Args:
        name: Its name in our tickets.
        path: Where PlayFab reads it.
        source: `User`, from the ticket, or `PlayerEntity`, from PlayFab's store.
        missing: What it means if a player lacks it.
        default: The default, if there is one.
    """

    name: str
    path: str
    source: Source = "User"
    missing: Missing = "needed"
    default: float | str | tuple[str, ...] | None = None


class _PlayFabRule(msgspec.Struct, frozen=True, gc=False, kw_only=True, tag_field="Type"):
    """The fields that all rules have.

    Args:
        name: Its name for people.
        path: Its place in the text.
        weight: Its weight in the order of candidates; None if it has none.
        optional_after: Seconds after which it requires nothing; None: never.
        expanded: The kind of its expansion.
        is_cut: Whether the expansion would continue beyond the steps that are kept.
    """

    name: str
    path: str = ""
    weight: float | None = None
    optional_after: float | None = None
    expanded: Expanded = ""
    is_cut: bool = False


class StringEqualityRule(_PlayFabRule, frozen=True, gc=False, kw_only=True, tag=True):
    """All players have the same string, while it is active (a step that is not None)."""

    attribute: RuleAttribute
    active: Steps


class DifferenceRule(_PlayFabRule, frozen=True, gc=False, kw_only=True, tag=True):
    """The numbers of any two tickets, merged over their players, differ by at most a limit."""

    attribute: RuleAttribute
    merge: Merge
    difference: Steps


class SetIntersectionRule(_PlayFabRule, frozen=True, gc=False, kw_only=True, tag=True):
    """All players share at least a number of strings."""

    attribute: RuleAttribute
    size: Steps


class MatchTotalRule(_PlayFabRule, frozen=True, gc=False, kw_only=True, tag=True):
    """The sum of a number over all players is between two bounds."""

    attribute: RuleAttribute
    least: Steps
    most: Steps


class RegionSelectionRule(_PlayFabRule, frozen=True, gc=False, kw_only=True, tag=True):
    """All players are near enough to one region."""

    latencies: str
    latency_ms: Steps


class TeamDifferenceRule(_PlayFabRule, frozen=True, gc=False, kw_only=True, tag=True):
    """The averages of any two teams differ by at most a limit."""

    attribute: RuleAttribute
    difference: Steps


class TeamSizeBalanceRule(_PlayFabRule, frozen=True, gc=False, kw_only=True, tag=True):
    """The largest team has at most a number of players more than the smallest."""

    difference: Steps


class TeamTicketSizeSimilarityRule(_PlayFabRule, frozen=True, gc=False, kw_only=True, tag=True):
    """Every team has a large party, or none has; large is half of the largest team, or more."""


PlayFabRule = (
    StringEqualityRule
    | DifferenceRule
    | SetIntersectionRule
    | MatchTotalRule
    | RegionSelectionRule
    | TeamDifferenceRule
    | TeamSizeBalanceRule
    | TeamTicketSizeSimilarityRule
)


class QueueTeam(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A team of every match."""

    name: str
    players_min: int
    players_max: int


class PlayFabQueue(msgspec.Struct, frozen=True, kw_only=True):
    """A queue that was read without errors.

    Args:
        name: Its name.
        players_min: Fewest players of a match.
        players_max: Most players of a match.
        ticket_max: Most players of a ticket.
        teams: None, or at least two.
        rules: In the order of the text.
        path: Its place in the text.
    """

    name: str
    players_min: int
    players_max: int
    ticket_max: int
    teams: tuple[QueueTeam, ...] = ()
    rules: tuple[PlayFabRule, ...] = ()
    path: str = "$"


def steps_of(rule: PlayFabRule) -> tuple[Steps, ...]:
    """Return all changes of a rule with age, except that it becomes optional."""
    if isinstance(rule, StringEqualityRule):
        return (rule.active,)
    if isinstance(rule, SetIntersectionRule):
        return (rule.size,)
    if isinstance(rule, MatchTotalRule):
        return rule.least, rule.most
    if isinstance(rule, RegionSelectionRule):
        return (rule.latency_ms,)
    if isinstance(rule, TeamTicketSizeSimilarityRule):
        return ()
    return (rule.difference,)


def value_at(steps: Steps, age: float) -> float | None:
    """Return the value at an age; None if the rule is not active.

    >>> value_at(((0.0, 1.0), (5.0, None), (10.0, 3.0)), 9.9) is None
    True
    """
    return steps[bisect_right(steps, age, key=itemgetter(0)) - 1][1]


def ages_of(rule: PlayFabRule) -> tuple[float, ...]:
    """Return the ages at which a rule changes, ascending from 0; once optional, it has ended."""
    ages = {0.0} | {age for steps in steps_of(rule) for age, _ in steps}
    if rule.optional_after is not None:
        ages = {age for age in ages if age < rule.optional_after} | {rule.optional_after}
    return tuple(sorted(ages))


def values_at(rule: PlayFabRule, age: float) -> tuple[float, ...] | None:
    """Return the numbers of a rule at an age; None if it requires nothing."""
    if rule.optional_after is not None and age >= rule.optional_after:
        return None
    values = [value_at(steps, age) for steps in steps_of(rule)]
    known = [value for value in values if value is not None]
    return tuple(known) if len(known) == len(values) else None


def only_loosens(rule: PlayFabRule) -> bool:
    """Return whether a match that a rule allows is also allowed at all later ages."""
    rising = [True]
    if isinstance(rule, SetIntersectionRule):
        rising = [False]
    elif isinstance(rule, MatchTotalRule):
        rising = [False, True]
    before: tuple[float, ...] | None = ()
    for age in ages_of(rule):
        now = values_at(rule, age)
        if before is None and now is not None:
            return False
        for is_rising, old, new in zip(rising, before or (), now or (), strict=False):
            if new != old and (new > old) is not is_rising:
                return False
        before = now
    return True
