"""Rules that can never pass and expansions without effect, in a readable rule set.

AWS accepts such rule sets, and then nobody is matched, or nothing widens. A rule that no match can
satisfy is an error, unless a compound rule names it. An expansion that changes nothing, or that
allows fewer matches, is a warning. A small text can name rules so often, by compound rules of
compound rules, that nobody could judge a match by them: that is an error too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from evenmatch.rules.findings import FindingList, child_path
from evenmatch.rules.flexmatch.bounds import Range, Sizes, bounds_of, players_of
from evenmatch.rules.flexmatch.compile import RULES_MAX
from evenmatch.rules.flexmatch.expansion_reader import ALGORITHM_FIELDS, RULE_FIELDS
from evenmatch.rules.flexmatch.expressions import Call, Constant, Property, type_of
from evenmatch.rules.flexmatch.oversights import note_oversights
from evenmatch.rules.flexmatch.rule_set import (
    AlgorithmExpansion,
    BatchDistanceRule,
    CollectionRule,
    ComparisonRule,
    CompoundRule,
    DistanceRule,
    FlexRule,
    LatencyRule,
    RuleExpansion,
    RuleSet,
    SortRule,
    TeamDefinition,
    TeamExpansion,
    TeamField,
)
from evenmatch.rules.flexmatch.statements import RuleName, Statement, names_in

NAMES_MAX = 10
"""A statement of more rules is not evaluated by cases: there are too many."""
WRITTEN_MAX = 1_000
"""Most rules that a statement names once the compound rules in it are written out."""
DEPTH_MAX = 100
"""Most operators within each other in a statement that is written out."""
TESTS_MAX = 10_000
"""Most tests of a match, each counted at every age at which it changes: a second's work."""
LARGE_RULES = (BatchDistanceRule, LatencyRule)
LOOSER_UP = ("distance_max", "latency_ms_max", "distance_ms_max", "count_max", "players_max")
"""Numbers that allow more matches the higher they are; others do the lower they are."""


def judge(rule_set: RuleSet, findings: FindingList) -> None:
    """Record the rules that can never pass and the expansions without effect."""
    sizes = _sizes(rule_set)
    supporting = rule_set.supporting()
    _judge_work(rule_set, supporting, findings)
    for number, rule in enumerate(rule_set.rules):
        path = f"$.rules[{number}]"
        impossible = _impossible(rule, rule_set, sizes)
        if impossible is not None and rule.name in supporting:
            message = f"{impossible[1]}; the statements that name it count it as false"
            findings.warning(child_path(path, impossible[0]), message)
        elif impossible is not None:
            findings.error(child_path(path, impossible[0]), impossible[1])
        if isinstance(rule, CompoundRule):
            _judge_statement(rule, path, findings, is_named=rule.name in supporting)
        if rule_set.algorithm.strategy == "balanced" and not isinstance(rule, LARGE_RULES):
            message = "is a rule that AWS does not take with the strategy balanced; here it counts"
            findings.warning(path, message)
    note_oversights(rule_set, sizes, findings)
    _judge_teams(rule_set, findings)
    for number, expansion in enumerate(rule_set.expansions):
        path = f"$.expansions[{number}]"
        if isinstance(expansion, AlgorithmExpansion):
            _judge_algorithm(expansion, rule_set, path, findings)
        else:
            _judge_steps(expansion, rule_set, path, findings)


# Rules


def _values(rule: FlexRule, field: str, rule_set: RuleSet) -> list[object]:
    """Return the values of a field of a rule over all ages."""
    values = [getattr(rule, field)]
    for each in rule_set.expansions:
        if isinstance(each, RuleExpansion) and rule.name in each.rules and each.field == field:
            values += [step.value for step in each.steps]
    return values


def _sizes(rule_set: RuleSet) -> Sizes:
    """Return how many players each team may have at some age."""
    sizes = {}
    for team in rule_set.teams:
        least, most = [team.players_min], [team.players_max]
        for each in rule_set.expansions:
            if isinstance(each, TeamExpansion) and team.name in each.teams:
                values = [int(step.value) for step in each.steps if isinstance(step.value, float)]
                (least if each.field == "players_min" else most).extend(values)
        for name in team.names():
            sizes[name] = Range(min(least), max(most))
    return sizes


def _impossible(rule: FlexRule, rule_set: RuleSet, sizes: Sizes) -> tuple[str, str] | None:
    """Return a key and why no match at any age satisfies a rule; None if one may."""
    if isinstance(rule, DistanceRule):
        return _impossible_distance(rule, rule_set, sizes)
    if isinstance(rule, ComparisonRule):
        return _impossible_comparison(rule, rule_set, sizes)
    if isinstance(rule, CollectionRule):
        return _impossible_collection(rule, rule_set, sizes)
    if isinstance(rule, BatchDistanceRule | LatencyRule):
        for key, field in RULE_FIELDS[type(rule)].items():
            most = _most(_values(rule, field, rule_set))
            if most < 0:
                return key, f"never passes: nothing is at most {most:g}; write 0 or more"
    return None


def _most(values: list[object]) -> float:
    return max(each if isinstance(each, float) else math.inf for each in values)


def _least(values: list[object]) -> float:
    return min(each if isinstance(each, float) else -math.inf for each in values)


def _impossible_distance(
    rule: DistanceRule, rule_set: RuleSet, sizes: Sizes
) -> tuple[str, str] | None:
    most = _most(_values(rule, "distance_max", rule_set))
    least = _least(_values(rule, "distance_min", rule_set))
    if most < 0:
        return "maxDistance", f"never passes: no distance is at most {most:g}; write 0 or more"
    if least > most:
        message = f"never passes: it is below minDistance = {least:g}, got {most:g}; swap the two"
        return "maxDistance", message
    if len(_values(rule, "reference", rule_set)) > 1:
        return None
    for measured in _ranges(rule, sizes):
        for reference in bounds_of(rule.reference, sizes):
            nearest = max(0.0, measured.least - reference.most, reference.least - measured.most)
            farthest = max(measured.most - reference.least, reference.most - measured.least)
            if nearest > most or farthest < least:
                wanted = f"at least {least:g}" if farthest < least else f"at most {most:g}"
                is_at_most = farthest < least
                possible = f"at most {farthest:g}" if is_at_most else f"at least {nearest:g}"
                message = f"never passes: team sizes make the distance {possible}, not {wanted}"
                return "referenceValue", message
    return None


def _ranges(rule: DistanceRule | ComparisonRule, sizes: Sizes) -> Iterator[Range]:
    for each in rule.measurements:
        yield from bounds_of(each, sizes)


def _impossible_comparison(
    rule: ComparisonRule, rule_set: RuleSet, sizes: Sizes
) -> tuple[str, str] | None:
    attributes = rule_set.scope.attributes
    if rule.reference is None or type_of(rule.measurements[0], attributes).base != "number":
        return None
    failures = []
    for reference in _values(rule, "reference", rule_set):
        assert isinstance(reference, Constant | Property | Call)
        (wanted,) = bounds_of(reference, sizes)
        wrong = [
            each for each in _ranges(rule, sizes) if not _may_hold(rule.operation, each, wanted)
        ]
        failures.append((wrong, wanted))
    if not all(wrong for wrong, _ in failures):
        return None
    (measured, *_), wanted = failures[0]
    return "referenceValue", (
        f"never passes: the team sizes allow {_span(measured)} here, which is never "
        f"{rule.operation} the reference, {_span(wanted)}; change one of them"
    )


def _span(of: Range) -> str:
    return f"{of.least:g}" if of.least == of.most else f"{of.least:g} to {of.most:g}"


def _may_hold(operation: str, measured: Range, reference: Range) -> bool:
    """Return whether the comparison holds for some numbers of the two ranges."""
    if operation == "<":
        return measured.least < reference.most
    if operation == "<=":
        return measured.least <= reference.most
    if operation == ">":
        return measured.most > reference.least
    if operation == ">=":
        return measured.most >= reference.least
    if operation == "=":
        return measured.least <= reference.most and reference.least <= measured.most
    return not measured.least == measured.most == reference.least == reference.most


def _impossible_collection(
    rule: CollectionRule, rule_set: RuleSet, sizes: Sizes
) -> tuple[str, str] | None:
    most = _most(_values(rule, "count_max", rule_set))
    least = _least(_values(rule, "count_min", rule_set))
    if most < 0:
        return "maxCount", f"never passes: no count is at most {most:g}; write 0 or more"
    if least > most:
        message = f"never passes: it is below minCount = {least:g}, got {most:g}; swap the two"
        return "maxCount", message
    for each in rule.measurements:
        players = players_of(each, sizes).most
        if rule.operation == "contains" and least > players:
            message = f"never passes: at most {players:g} players can have it, got {least:g}"
            return "minCount", f"{message}; lower it, or raise maxPlayers"
    if rule.operation == "reference_intersection_count":
        references = _values(rule, "reference", rule_set)
        lengths = [
            (len(each.value) if isinstance(each.value, tuple) else 1)
            if isinstance(each, Constant)
            else math.inf
            for each in references
        ]
        longest = max(lengths)
        if least > longest:
            values = f"{longest:g} value{'' if longest == 1 else 's'}"
            message = f"never passes: the referenceValue has {values}, got {least:g}"
            return "minCount", f"{message}; lower it"
    return None


def _judge_statement(
    rule: CompoundRule, path: str, findings: FindingList, *, is_named: bool
) -> None:
    """Record a statement that is true or false whatever its rules are."""
    names = list(dict.fromkeys(names_in(rule.statement)))
    if len(names) > NAMES_MAX:
        return
    cases = 2 ** len(names)
    everything = 2**cases - 1
    columns = {
        name: sum(1 << case for case in range(cases) if case >> number & 1)
        for number, name in enumerate(names)
    }
    holds = _cases(rule.statement, columns, everything)
    at = child_path(path, "statement")
    if holds == 0 and not is_named:
        findings.error(at, "never passes: it is false whatever its rules say; change it")
    elif holds in (0, everything):
        always = "true" if holds else "false"
        findings.warning(at, f"is {always} whatever its rules say; change it, or delete the rule")


def _cases(statement: Statement, columns: dict[str, int], everything: int) -> int:
    """Return the cases in which a statement holds, one bit each."""
    if isinstance(statement, RuleName):
        return columns[statement.name]
    parts = [_cases(part, columns, everything) for part in statement.parts]
    if statement.operator == "not":
        return everything & ~parts[0]
    some, several, all_of = 0, 0, everything
    for part in parts:
        several |= some & part
        some |= part
        all_of &= part
    if statement.operator == "and":
        return all_of
    return some if statement.operator == "or" else some & ~several


# Work


def _judge_work(rule_set: RuleSet, supporting: frozenset[str], findings: FindingList) -> None:
    """Record a rule set whose tests are so many that matches could not be judged by them."""
    written: dict[str, tuple[int, int]] = {}
    large: set[str] = set()
    for number, rule in enumerate(rule_set.rules):
        written[rule.name] = (1, 0)
        if not isinstance(rule, CompoundRule):
            continue
        if not large.isdisjoint(names_in(rule.statement)):
            large.add(rule.name)  # the error is that of the rule which it names
            continue
        rules, depth = _written(rule.statement, written)
        at = f"$.rules[{number}].statement"
        inside = "once the compound rules that it names are written out"
        if rules > WRITTEN_MAX:
            message = f"stands for {rules:,} rules {inside}, at most {WRITTEN_MAX:,} are allowed"
            findings.error(at, f"{message}; name each of them once")
        elif depth > DEPTH_MAX:
            message = f"nests {depth} deep {inside}, at most {DEPTH_MAX} are allowed"
            findings.error(at, f"{message}; name rules in place of compound rules")
        else:
            written[rule.name] = (rules, depth)
            continue
        large.add(rule.name)
    enforced = [each for each in rule_set.rules if each.name not in supporting]
    tests = 1 + sum(written[each.name][0] for each in enforced if not isinstance(each, SortRule))
    if tests > TESTS_MAX:
        message = f"make {tests:,} tests of a match, at most {TESTS_MAX:,} are allowed"
        findings.error("$.rules", f"{message}; name rules in fewer statements")
        return
    shares = _shares(rule_set, enforced, written)
    total = sum([share.tests * len(share.ages) for share in shares])
    if total > TESTS_MAX:
        most = max(shares, key=lambda share: share.tests * len(share.ages))
        message = (
            f"make {total:,} tests of a match over all ages, at most {TESTS_MAX:,} are allowed"
        )
        of = f"{most.tests:,} at each of {len(most.ages):,} ages are of {most.name}"
        findings.error("$.expansions", f"{message}; {of}: give fewer steps")


class _Share(NamedTuple):
    """The tests that are made anew at some ages, and whose they are."""

    name: str
    tests: int
    ages: frozenset[float]


def _shares(
    rule_set: RuleSet, enforced: list[FlexRule], written: dict[str, tuple[int, int]]
) -> list[_Share]:
    """Return how many tests change at which ages, for each condition that a queue has."""
    ages: dict[str, frozenset[float]] = {}
    for rule in rule_set.rules:
        own = {0.0}
        if isinstance(rule, CompoundRule):
            own = own.union(*[ages[name] for name in set(names_in(rule.statement))])
        for each in rule_set.expansions:
            if isinstance(each, RuleExpansion) and rule.name in each.rules:
                own |= {step.wait for step in each.steps}
        ages[rule.name] = frozenset(own)
    teams = [each for each in rule_set.expansions if isinstance(each, TeamExpansion)]
    sizes = frozenset({0.0} | {step.wait for each in teams for step in each.steps})
    rules = [
        _Share(f"the rule {rule.name}", written[rule.name][0], ages[rule.name])
        for rule in enforced
        if not isinstance(rule, SortRule)
    ]
    # Beside the sizes and the attributes, a queue has so many conditions; it joins the others.
    alone = RULES_MAX - 3
    first, rest = rules[:alone], rules[alone:]
    if len(rest) > 1:
        name = f"{rest[0].name} and all after it, which are judged as one"
        every = frozenset[float]().union(*[share.ages for share in rest])
        rest = [_Share(name, sum([share.tests for share in rest]), every)]
    return [_Share("the sizes of teams", 1, sizes), *first, *rest]


def _written(statement: Statement, written: dict[str, tuple[int, int]]) -> tuple[int, int]:
    """Return how many rules a statement names, and how deep, with compound rules written out."""
    if isinstance(statement, RuleName):
        return written[statement.name]
    parts = [_written(part, written) for part in statement.parts]
    return sum([rules for rules, _ in parts]), 1 + max(depth for _, depth in parts)


# Expansions


def _judge_teams(rule_set: RuleSet, findings: FindingList) -> None:
    """Record steps after which a team must have more players than it may have."""
    changes: dict[str, list[_Change]] = {team.name: [] for team in rule_set.teams}
    for number, expansion in enumerate(rule_set.expansions):
        if isinstance(expansion, TeamExpansion):
            for at, step in enumerate(expansion.steps):
                assert isinstance(step.value, float)
                path = f"$.expansions[{number}].steps[{at}].value"
                change = _Change(step.wait, number, expansion.field, step.value, path)
                for name in expansion.teams:
                    changes[name].append(change)
    for team in rule_set.teams:
        _judge_team(team, sorted(changes[team.name]), findings)


class _Change(NamedTuple):
    """A step of a team's size."""

    wait: float
    number: int
    field: TeamField
    size: float
    path: str


def _judge_team(team: TeamDefinition, changes: list[_Change], findings: FindingList) -> None:
    """Check the steps of a team in order of time; the later expansion decides."""
    sizes: dict[TeamField, tuple[int, float]] = {
        "players_min": (-1, team.players_min),
        "players_max": (-1, team.players_max),
    }
    for at, change in enumerate(changes):
        if change.number >= sizes[change.field][0]:
            sizes[change.field] = (change.number, change.size)
        if at + 1 < len(changes) and changes[at + 1].wait == change.wait:
            continue
        least, most = sizes["players_min"][1], sizes["players_max"][1]
        if least > most:
            message = f"leaves {team.name} with minPlayers = {least:g} above maxPlayers"
            since = f"{most:g} from {change.wait:g} s on; no match has such a team"
            findings.error(change.path, f"{message} = {since}")


def _judge_steps(
    expansion: RuleExpansion | TeamExpansion, rule_set: RuleSet, path: str, findings: FindingList
) -> None:
    """Record steps that change nothing or allow fewer matches."""
    if isinstance(expansion, TeamExpansion):
        holders: list[object] = [t for t in rule_set.teams if t.name in expansion.teams]
        sign = 1
    else:
        holders = [r for r in rule_set.rules if r.name in expansion.rules]
        sign = _sign(expansion.rules, rule_set)
    values = [getattr(holder, expansion.field) for holder in holders]
    for number, step in enumerate(expansion.steps):
        at = f"{path}.steps[{number}].value"
        if all(value == step.value for value in values):
            before = "the step before" if number else "the rule or team itself"
            findings.warning(at, f"changes nothing: {before} says the same; delete the step")
        elif (
            sign
            and isinstance(step.value, float)
            and any(_tightens(expansion.field, value, step.value, sign) for value in values)
        ):
            message = "makes matches rarer from then on, but expansions are meant to widen"
            findings.warning(at, f"{message}; check that the numbers are not swapped")
        values = [step.value for _ in values]


def _tightens(field: str, before: float | None, after: float, sign: int) -> bool:
    """Return whether fewer matches satisfy the number after a step; `sign` as `_sign` gives it."""
    if field in LOOSER_UP:
        gain = after - (math.inf if before is None else before)
    else:
        gain = (0.0 if before is None else before) - after
    return gain * sign < 0


def _sign(rules: tuple[str, ...], rule_set: RuleSet) -> int:
    """Return 1 if wider rules allow more matches, -1 if fewer, 0 if that depends."""
    supporting = rule_set.supporting()
    signs = {each.name: set() if each.name in supporting else {1} for each in rule_set.rules}
    for compound in reversed(rule_set.rules):
        if isinstance(compound, CompoundRule):
            for name, sign in _signs(compound.statement, 1):
                signs[name] |= {sign * each for each in signs[compound.name]}
    united = {sign for name in rules for sign in signs[name]}
    return united.pop() if len(united) == 1 else 0


def _signs(statement: Statement, sign: int) -> Iterator[tuple[str, int]]:
    if isinstance(statement, RuleName):
        yield statement.name, sign
        return
    inner = {"and": sign, "or": sign, "not": -sign, "xor": 0}[statement.operator]
    for part in statement.parts:
        yield from _signs(part, inner)


def _judge_algorithm(
    expansion: AlgorithmExpansion, rule_set: RuleSet, path: str, findings: FindingList
) -> None:
    key = {field: key for key, field in ALGORITHM_FIELDS.items()}[expansion.field]
    message = f"changes {key}, by which AWS searches; which matches are legal stays the same"
    findings.warning(child_path(path, "target"), message)
    if expansion.field == "balanced_attribute":
        for number, step in enumerate(expansion.steps):
            name = str(step.value)
            if rule_set.scope.attributes.get(name) != "number":
                declared = f"must be a declared attribute of type number, got {name!r}"
                findings.error(f"{path}.steps[{number}].value", declared)
