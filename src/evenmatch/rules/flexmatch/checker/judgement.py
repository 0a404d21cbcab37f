"""Whether a match is legal at a time, by which rule it is not, and at which times it is.

If AWS's text is silent or ambiguous, one reading is chosen here:

- Expansions go by the age of the newest or oldest ticket of the match itself. A step holds from its
  `waitTimeSeconds` on, including that instant.
- A player who lacks an attribute without a default is never matched, whether or not a rule uses it.
  Declared defaults replace missing attributes.
- A value that does not exist (such as the average of an empty team, or the intersection of no
  collections) makes its rule neither true nor false, and the `not` of it too, so there is no match.
  An `or` with a true rule is still true. The sum and the count of nothing are 0.
- `partyAggregation` merges the numbers of a party, on both sides of a comparison or distance; lists
  contain the merged value once for each of its players (`Readings.party_weight`). Strings are never
  merged: each player's own string counts.
- A comparison without a reference looks at each player's own value. Single values of all its
  measurements are compared with one another; a list is compared within itself, and so is each list
  inside a list.
- A comparison with a reference, or a distance, must hold for every measured value, however deep in
  lists.
- `contains` counts players, each with their own collection (`Readings.contains`). For one list of
  strings it counts the strings. For lists within lists it counts each list separately.
- `intersection` and `reference_intersection_count` merge the collections of a party, by union
  unless the rule says otherwise. A list of strings is one collection, in which equal strings count
  once. Bounds must hold for each collection, and for each list of collections.
- A latency at the limit is allowed. A location counts for a party if all its players report it,
  with the merged latency. One location must suit all tickets, by the limit and the distance at the
  same time. A player without latencies is never matched if the rule set has such a rule.
- `batchDistance` compares all tickets of the match: the merged numbers, or each player's string.
- An `xor` of more than two operands holds if exactly one of them does. A rule that a compound rule
  names is not enforced by itself; nor is a compound rule that another one names.
- The short form `players...` means all players of the match in one list; a team with a `quantity`
  in an expression means a list by team.
- `stddev` divides by the number of values (`Readings.stddev`).
- Sort rules, and the algorithm with its strategy and expansions, forbid nothing.
- Numbers are compared exactly, as the decimals that are written.
"""

from __future__ import annotations

import math

import msgspec

from evenmatch.rules.flexmatch.checker.match import (
    CandidateMatch,
    Readings,
    exact,
    fault_of_match,
)
from evenmatch.rules.flexmatch.checker.rules import Verdict, verdict_of
from evenmatch.rules.flexmatch.rule_set import (
    AlgorithmExpansion,
    CompoundRule,
    RuleExpansion,
    RuleSet,
    TeamDefinition,
)
from evenmatch.rules.flexmatch.statements import RuleName, Statement

Instants = tuple[tuple[float, float], ...]
"""Half-open intervals of time, disjoint and ascending; the last may end at infinity."""


class Objection(msgspec.Struct, frozen=True, kw_only=True):
    """A reason why a match is illegal.

    Args:
        rule: The name of the rule, `teams[red]` for the size of a team, "" for something that is
            no match at all or has not arrived yet.
        reason: A sentence.
    """

    rule: str
    reason: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.reason}" if self.rule else self.reason


def objections_to(
    rule_set: RuleSet, match: CandidateMatch, now: float, readings: Readings | None = None
) -> tuple[Objection, ...]:
    """Return why a match is not legal at a time; nothing if it is.

    Args:
        rule_set: One without errors.
        match: Whole parties in teams.
        now: Seconds, on the clock of `enqueued_at`.
        readings: How to interpret what the language leaves open.

    Complexity:
        O(players * values * rules) for a match; far too slow to search by.
    """
    fault = fault_of_match(rule_set, match)
    if fault is not None:
        return (Objection(rule="", reason=fault),)
    late = [each.id for each in match.tickets() if each.enqueued_at > now]
    if late:
        return (Objection(rule="", reason=f"the ticket {late[0]} has not come yet at {now:g} s"),)
    current = at_age(rule_set, age_of(rule_set, match, now))
    return _objections(current, match, readings or Readings())


def is_legal(
    rule_set: RuleSet, match: CandidateMatch, now: float, readings: Readings | None = None
) -> bool:
    """Return whether a match is legal at a time; see `objections_to`."""
    return not objections_to(rule_set, match, now, readings)


def legal_instants(
    rule_set: RuleSet, match: CandidateMatch, readings: Readings | None = None
) -> Instants:
    """Return exactly the times at which a match is legal.

    Between two steps nothing changes, so one test for each step is enough.

    Returns:
        On the clock of `enqueued_at`, from the arrival of the last ticket on; empty if never.
    """
    if fault_of_match(rule_set, match) is not None:
        return ()
    born = [each.enqueued_at for each in match.tickets()]
    start = _start_of(rule_set, match)
    waits = ages_of(rule_set)
    legal: list[tuple[float, float]] = []
    for wait, following in zip(waits, [*waits[1:], math.inf], strict=True):
        begin = max(float(exact(start) + exact(wait)), *born)
        end = float(exact(start) + exact(following)) if following < math.inf else math.inf
        if begin >= end or _objections(at_age(rule_set, wait), match, readings or Readings()):
            continue
        if legal and legal[-1][1] == begin:
            legal[-1] = (legal[-1][0], end)
        else:
            legal.append((begin, end))
    return tuple(legal)


def rules_passed(rule_set: RuleSet, match: CandidateMatch, now: float) -> dict[str, bool]:
    """Return for each rule, by name, whether a match passes it, including parts of compounds.

    Team sizes are not checked, so a match may be incomplete.

    Args:
        rule_set: One without errors.
        match: At least one ticket.
        now: Seconds, on the clock of `enqueued_at`.

    Complexity:
        As `objections_to`.
    """
    current = at_age(rule_set, age_of(rule_set, match, now))
    verdicts = _verdicts(current, match, Readings())
    return {name: verdict.holds is True for name, verdict in verdicts.items()}


def _verdicts(rule_set: RuleSet, match: CandidateMatch, readings: Readings) -> dict[str, Verdict]:
    """Return the verdict of each rule of a rule set without expansions."""
    verdicts: dict[str, Verdict] = {}
    for rule in rule_set.rules:
        if isinstance(rule, CompoundRule):
            verdicts[rule.name] = _of_statement(rule, verdicts)
        else:
            verdicts[rule.name] = verdict_of(rule, rule_set, match, readings)
    return verdicts


def _objections(
    rule_set: RuleSet, match: CandidateMatch, readings: Readings
) -> tuple[Objection, ...]:
    """Return the objections by a rule set without expansions."""
    objections = [each for team in rule_set.teams for each in _of_team(team, match)]
    supporting = rule_set.supporting()
    verdicts = _verdicts(rule_set, match, readings)
    for rule in rule_set.rules:
        verdict = verdicts[rule.name]
        is_enforced = rule.name not in supporting or verdict.bars
        if is_enforced and verdict.holds is not True:
            objections.append(Objection(rule=rule.name, reason=verdict.reason))
    return tuple(objections)


def _of_team(team: TeamDefinition, match: CandidateMatch) -> list[Objection]:
    objections = []
    for name in team.names():
        size = sum(len(each.players) for each in match.teams.get(name, ()))
        if not team.players_min <= size <= team.players_max:
            allowed = f"{team.players_min} to {team.players_max} players"
            reason = f"has {size} players, and must have {allowed}"
            objections.append(Objection(rule=f"teams[{name}]", reason=reason))
    return objections


def _of_statement(rule: CompoundRule, verdicts: dict[str, Verdict]) -> Verdict:
    holds = _truth(rule.statement, verdicts)
    if holds:
        return Verdict(True, "")
    said = ", ".join(
        f"{name} is {_word(verdicts[name].holds)}" for name in dict.fromkeys(_names(rule.statement))
    )
    return Verdict(holds, f"the statement is {_word(holds)}: {said}")


def _word(holds: bool | None) -> str:
    return "undefined" if holds is None else str(holds).lower()


def _names(statement: Statement) -> list[str]:
    if isinstance(statement, RuleName):
        return [statement.name]
    return [name for part in statement.parts for name in _names(part)]


def _truth(statement: Statement, verdicts: dict[str, Verdict]) -> bool | None:
    """Return whether a statement holds; None if an undefined part decides."""
    if isinstance(statement, RuleName):
        return verdicts[statement.name].holds
    parts = [_truth(part, verdicts) for part in statement.parts]
    if statement.operator == "not":
        return None if parts[0] is None else not parts[0]
    if statement.operator == "and":
        return False if False in parts else None if None in parts else True
    if statement.operator == "or":
        return True if True in parts else None if None in parts else False
    if parts.count(True) > 1:
        return False
    return None if None in parts else parts.count(True) == 1


# A rule set at an age: every expansion that has begun has replaced its value.


def ages_of(rule_set: RuleSet) -> list[float]:
    """Return the ages at which something changes, ascending from 0."""
    return sorted({0.0} | {step.wait for each in rule_set.expansions for step in each.steps})


def at_age(rule_set: RuleSet, age: float) -> RuleSet:
    """Return a rule set with the values at an age, in seconds; a step holds from its wait on.

    If two expansions have the same target, the later one that has begun decides.
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
    return float(exact(now) - exact(_start_of(rule_set, match)))


def _start_of(rule_set: RuleSet, match: CandidateMatch) -> float:
    born = [each.enqueued_at for each in match.tickets()]
    return max(born) if rule_set.algorithm.age == "newest" else min(born)
