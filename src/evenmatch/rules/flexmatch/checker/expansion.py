"""A rule set as it is at an age: every expansion that has begun has put its value in."""

from __future__ import annotations

import msgspec

from evenmatch.rules.flexmatch.checker.match import CandidateMatch, exact
from evenmatch.rules.flexmatch.rule_set import (
    AlgorithmExpansion,
    RuleExpansion,
    RuleSet,
)


def ages_of(rule_set: RuleSet) -> list[float]:
    """Return the ages at which something changes, rising, from 0 on."""
    return sorted({0.0} | {step.wait for each in rule_set.expansions for step in each.steps})


def at_age(rule_set: RuleSet, age: float) -> RuleSet:
    """Return a rule set with the values that hold at an age, in seconds; at its wait a step holds.

    Where two expansions name one target, the later one that has begun decides.
    """
    teams, rules = list(rule_set.teams), list(rule_set.rules)
    for expansion in rule_set.expansions:
        begun = [step.value for step in expansion.steps if step.wait <= age]
        if not begun or isinstance(expansion, AlgorithmExpansion):
            continue
        if isinstance(expansion, RuleExpansion):
            for at, rule in enumerate(rules):
                if rule.name in expansion.rules:
                    rules[at] = msgspec.structs.replace(rule, **{expansion.field: begun[-1]})
            continue
        for at, team in enumerate(teams):
            if team.name in expansion.teams:
                assert isinstance(begun[-1], float)
                size = {expansion.field: int(begun[-1])}
                teams[at] = msgspec.structs.replace(team, **size)
    return msgspec.structs.replace(rule_set, teams=tuple(teams), rules=tuple(rules), expansions=())


def age_of(rule_set: RuleSet, match: CandidateMatch, now: float) -> float:
    """Return the age of a match at a time: that of its newest, or of its oldest ticket."""
    born = [each.enqueued_at for each in match.tickets()]
    start = max(born) if rule_set.algorithm.age == "newest" else min(born)
    return float(exact(now) - exact(start))
