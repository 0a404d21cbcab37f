"""Writes a queue in one plain form, whatever form its text has.

The checker interprets JSON. A text may have numbers in quotes, short names of types, or lists of
values in one string; here every rule is in `Rules`, with PlayFab's own names, and each expansion
is a list of overrides.
"""

from __future__ import annotations

import math
from typing import Any

from evenmatch.rules.playfab.queue import (
    DifferenceRule,
    MatchTotalRule,
    PlayFabQueue,
    PlayFabRule,
    RegionSelectionRule,
    RuleAttribute,
    SetIntersectionRule,
    StringEqualityRule,
    TeamDifferenceRule,
    TeamSizeBalanceRule,
    steps_of,
    value_at,
)

NUMBERS: dict[type, tuple[str, ...]] = {
    StringEqualityRule: ("Enabled",),
    DifferenceRule: ("Difference",),
    SetIntersectionRule: ("MinIntersectionSize",),
    MatchTotalRule: ("Min", "Max"),
    RegionSelectionRule: ("MaxLatency",),
    TeamDifferenceRule: ("Difference",),
    TeamSizeBalanceRule: ("Difference",),
}
"""The keys of what changes with age, by type, in the order of `steps_of`."""
MERGES = {"avg": "Average", "min": "Min", "max": "Max"}


def plain_form(queue: PlayFabQueue) -> dict[str, Any]:
    """Return a queue as JSON in the form that the checker reads."""
    return {
        "Name": queue.name,
        "MinMatchSize": queue.players_min,
        "MaxMatchSize": queue.players_max,
        "MaxTicketSize": queue.ticket_max,
        "Teams": [
            {"Name": e.name, "MinTeamSize": e.players_min, "MaxTeamSize": e.players_max}
            for e in queue.teams
        ],
        "Rules": [_rule(each) for each in queue.rules],
    }


def _rule(rule: PlayFabRule) -> dict[str, Any]:
    found: dict[str, Any] = {"Type": type(rule).__name__, "Name": rule.name}
    if rule.optional_after is not None:
        found["SecondsUntilOptional"] = rule.optional_after
    if isinstance(rule, DifferenceRule):
        found["MergeFunction"] = MERGES[rule.merge]
    if isinstance(own := getattr(rule, "attribute", None), RuleAttribute):
        found |= _attribute(own)
    named = dict(zip(NUMBERS.get(type(rule), ()), steps_of(rule), strict=True))
    found |= {key: steps[0][1] for key, steps in named.items() if key != "Enabled"}
    ages = [int(age) for steps in named.values() for age, _ in steps]
    every = math.gcd(*ages) or 1
    if any(len(steps) > 1 or steps[0][1] is None for steps in named.values()):
        found["CustomExpansion"] = {"SecondsBetweenExpansions": every} | {
            f"{key}Overrides": [
                value_at(steps, float(age)) for age in range(0, int(steps[-1][0]) + 1, every)
            ]
            for key, steps in named.items()
        }
    return found


def _attribute(own: RuleAttribute) -> dict[str, Any]:
    found: dict[str, Any] = {"Attribute": {"Path": own.path, "Source": own.source}}
    if own.missing == "any":
        found["AttributeNotSpecifiedBehavior"] = "MatchAny"
    elif own.default is not None:
        found["DefaultAttributeValue"] = own.default
    return found
