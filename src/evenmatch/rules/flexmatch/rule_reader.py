"""Rules of a rule set, from JSON objects to the structs of `rule_set`, type by type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

from evenmatch.rules.fields import Fields, number_of
from evenmatch.rules.findings import FindingList, child_path, excerpt
from evenmatch.rules.flexmatch.expressions import (
    Constant,
    Expression,
    Scope,
    ValueType,
    WrongExpression,
    is_expression,
    parse_expression,
    type_of,
)
from evenmatch.rules.flexmatch.rule_set import (
    BatchDistanceRule,
    CollectionOperation,
    CollectionRule,
    Comparator,
    ComparisonRule,
    CompoundRule,
    DistanceRule,
    FlexRule,
    LatencyRule,
    MapKey,
    Merge,
    SortRule,
)
from evenmatch.rules.flexmatch.statements import (
    RuleName,
    Statement,
    WrongStatement,
    names_in,
    parse_statement,
)

MERGES: tuple[Merge, ...] = ("avg", "min", "max")
COMPARATORS: tuple[Comparator, ...] = get_args(Comparator)
COLLECTION_OPERATIONS: tuple[CollectionOperation, ...] = get_args(CollectionOperation)
LATENCY_REFERENCES: tuple[Literal["min", "avg"], ...] = ("min", "avg")
MAP_KEYS: tuple[MapKey, ...] = get_args(MapKey)


class RuleText:
    """The context of reading one rule: its keys, the scope, the rules before it."""

    def __init__(self, fields: Fields, scope: Scope, earlier: dict[str, FlexRule]) -> None:
        self.fields = fields
        self.scope = scope
        self.earlier = earlier
        self.findings = fields.findings

    def measurements(self, *allowed: str) -> tuple[Expression, ...]:
        """Return the measured expressions, all of one of the allowed kinds of value."""
        texts = self.fields.texts("measurements")
        if not texts and not self.fields.has("measurements"):
            path = self.fields.at("measurements")
            self.findings.error(path, "is missing; give it a list of property expressions")
        elif self.fields.raw("measurements") == []:
            path = self.fields.at("measurements")
            self.findings.error(path, "must have at least one property expression")
        read = []
        for text, path in texts:
            expression = expression_at(text, path, self.scope, self.findings)
            if expression is None:
                continue
            of = type_of(expression, self.scope.attributes)
            if of.base not in allowed:
                kinds = " or ".join(f"{each}s" for each in allowed)
                self.findings.error(path, f"must give {kinds}, and gives a {of}")
            else:
                read.append(expression)
        return tuple(read)

    def attribute(self, key: str, *allowed: str) -> str:
        """Return the name of a declared attribute of one of some types."""
        name = self.fields.text(key, is_needed=True)
        kind = self.scope.attributes.get(name)
        if name and kind is None:
            message = f"names the attribute {name!r}, which playerAttributes does not declare"
            hint = self.findings.hint(name, self.scope.attributes)
            self.findings.error(self.fields.at(key), f"{message}{hint}")
        elif kind is not None and kind not in allowed:
            message = f"must be an attribute of type {' or '.join(allowed)}; {name} is a {kind}"
            self.findings.error(self.fields.at(key), message)
        return name


def read_rules(objects: list[Fields], scope: Scope) -> dict[str, FlexRule]:
    """Return the usable rules, by name; findings receive the errors of the others."""
    rules: dict[str, FlexRule] = {}
    for number, fields in enumerate(objects):
        rule = _read_rule(fields, number, scope, rules)
        if rule.name in rules:
            message = f"is the name of two rules, {excerpt(rule.name)}; give one of them another"
            fields.findings.error(fields.at("name"), message)
        rules.setdefault(rule.name, rule)
    return rules


def _read_rule(fields: Fields, number: int, scope: Scope, earlier: dict[str, FlexRule]) -> FlexRule:
    kind = fields.word("type", tuple(READERS))
    name = fields.text("name")
    if not name:
        name = f"rule_{number + 1}"
        if not fields.has("name"):
            fields.findings.warning(
                fields.at("name"), f"is missing; the rule is called {name} here"
            )
    if any(sign in name for sign in "(),[]") or name != name.strip():
        message = "must have none of ( ) [ ] , and no blanks around it, or nothing can name it"
        fields.findings.error(fields.at("name"), f"{message}, got {excerpt(name)}")
    description = fields.text("description")
    rule = READERS[kind](RuleText(fields, scope, earlier), name, description)
    fields.end(f"a rule of type {kind}")
    return rule


# Expressions


def expression_at(text: str, path: str, scope: Scope, findings: FindingList) -> Expression | None:
    """Return the expression of a text; None, and an error, if it cannot be read."""
    try:
        expression, notes = parse_expression(text, scope)
    except WrongExpression as error:
        hint = findings.hint(error.name, error.names) if error.names else ""
        findings.error(path, f"{error}{hint}; in {excerpt(text)}")
        return None
    for note in notes:
        findings.warning(path, note)
    return expression


def reference_at(
    raw: object, path: str, wanted: ValueType, scope: Scope, findings: FindingList
) -> Expression | None:
    """Return a reference value: a constant or an expression.

    Args:
        raw: The value in the text, not None.
        path: Its place.
        wanted: Its type; a list of strings may also be given as one string.
        scope: The names that expressions may use.
        findings: Receives the errors.
    """
    if isinstance(raw, str) and is_expression(raw):
        expression = expression_at(raw, path, scope, findings)
    else:
        expression = _constant(raw, path, wanted, findings)
    if expression is None:
        return None
    of = type_of(expression, scope.attributes)
    if of == wanted or (wanted.depth == 1 and of == ValueType("string")):
        return expression
    instead = ""
    if of.base == wanted.base and of.depth > wanted.depth:
        fold = "flatten(...)" if wanted.depth else "avg(flatten(...)), min(...) or max(...)"
        instead = f"; put {fold} around it"
    findings.error(path, f"must be a {wanted}, and is a {of}{instead}")
    return None


def _constant(
    raw: object, path: str, wanted: ValueType, findings: FindingList
) -> Expression | None:
    if isinstance(raw, str) and wanted.base == "number":
        number = number_of(raw)
        if number is not None:
            findings.warning(path, f"is a number in quotes; write {raw.strip()} without them")
            return Constant(number)
        findings.error(path, f"must be a number or a property expression, got {excerpt(raw)}")
        return None
    if isinstance(raw, str | float) and not isinstance(raw, bool):
        return Constant(raw)
    if isinstance(raw, list) and all(isinstance(each, str) for each in raw):
        return Constant(tuple(dict.fromkeys(str(each) for each in raw)))
    findings.error(path, f"must be a {wanted} or a property expression, got {excerpt(raw)}")
    return None


# Types of rules


def _read_comparison(rule_text: RuleText, name: str, description: str) -> FlexRule:
    fields = rule_text.fields
    measurements = rule_text.measurements("number", "string")
    operation = fields.word("operation", COMPARATORS)
    types = [type_of(each, rule_text.scope.attributes) for each in measurements]
    bases = {each.base for each in types}
    if len(bases) > 1:
        rule_text.findings.error(
            fields.at("measurements"), "compares numbers with strings; write a rule for each"
        )
    is_text = bases == {"string"}
    reference = None
    if fields.has("referenceValue") and len(bases) == 1:
        wanted = ValueType("string" if is_text else "number")
        raw, path = fields.raw("referenceValue"), fields.at("referenceValue")
        reference = reference_at(raw, path, wanted, rule_text.scope, rule_text.findings)
    is_among = not fields.has("referenceValue")
    if (is_among or is_text) and operation not in ("=", "!="):
        without = "without a referenceValue" if is_among else "for strings"
        message = f"must be = or != {without}, got {operation}"
        rule_text.findings.error(fields.at("operation"), message)
    party = fields.word("partyAggregation", MERGES, "avg")
    if is_among and fields.has("partyAggregation"):
        message = "does nothing without a referenceValue: each player's own value is compared"
        rule_text.findings.warning(fields.at("partyAggregation"), message)
    return ComparisonRule(
        name=name,
        description=description,
        measurements=measurements,
        operation=operation,
        reference=reference,
        party=party,
    )


def _read_distance(rule_text: RuleText, name: str, description: str) -> FlexRule:
    fields = rule_text.fields
    measurements = rule_text.measurements("number")
    reference: Expression | None = None
    if fields.has("referenceValue"):
        raw, path = fields.raw("referenceValue"), fields.at("referenceValue")
        reference = reference_at(
            raw, path, ValueType("number"), rule_text.scope, rule_text.findings
        )
    else:
        message = "is missing; give it a number or an expression, avg(flatten(...)) say"
        rule_text.findings.error(fields.at("referenceValue"), message)
    least, most = fields.number("minDistance"), fields.number("maxDistance")
    if (
        least is None
        and most is None
        and not (fields.has("minDistance") or fields.has("maxDistance"))
    ):
        message = "is missing, and minDistance too; one of them must be a number"
        rule_text.findings.error(fields.at("maxDistance"), message)
    return DistanceRule(
        name=name,
        description=description,
        measurements=measurements,
        reference=reference or Constant(0.0),
        distance_min=least,
        distance_max=most,
        party=fields.word("partyAggregation", MERGES, "avg"),
    )


def _read_batch_distance(rule_text: RuleText, name: str, description: str) -> FlexRule:
    fields = rule_text.fields
    attribute = rule_text.attribute("batchAttribute", "number", "string")
    kind = rule_text.scope.attributes.get(attribute)
    most = fields.number("maxDistance")
    if kind == "number" and not fields.has("maxDistance"):
        rule_text.findings.error(fields.at("maxDistance"), "is missing; give it a number")
    if kind == "string" and most is not None:
        message = f"does nothing, since {attribute} is a string: it must be the same for all"
        rule_text.findings.warning(fields.at("maxDistance"), message)
        most = None
    return BatchDistanceRule(
        name=name,
        description=description,
        attribute=attribute,
        distance_max=most,
        party=fields.word("partyAggregation", MERGES, "avg"),
    )


def _read_collection(rule_text: RuleText, name: str, description: str) -> FlexRule:
    fields = rule_text.fields
    measurements = rule_text.measurements("string")
    operation = fields.word("operation", COLLECTION_OPERATIONS)
    for number, each in enumerate(measurements):
        if type_of(each, rule_text.scope.attributes).depth < 1:
            path = child_path(fields.at("measurements"), number)
            rule_text.findings.error(path, "must give lists of strings")
    reference: Expression | None = None
    raw, path = fields.raw("referenceValue"), fields.at("referenceValue")
    if operation == "intersection":
        if raw is not None:
            message = "does nothing with the operation intersection; leave it out"
            rule_text.findings.warning(path, message)
    elif raw is None:
        message = "is missing; give it a string, a list of strings or an expression"
        rule_text.findings.error(path, message)
    else:
        wanted = ValueType("string", int(operation == "reference_intersection_count"))
        reference = reference_at(raw, path, wanted, rule_text.scope, rule_text.findings)
    least, most = fields.number("minCount"), fields.number("maxCount")
    if not fields.has("minCount") and not fields.has("maxCount"):
        rule_text.findings.warning(
            fields.at("minCount"), "is missing, and maxCount too, so minCount is 1; write that"
        )
        least = 1.0
    return CollectionRule(
        name=name,
        description=description,
        measurements=measurements,
        operation=operation,
        reference=reference,
        count_min=least,
        count_max=most,
        party=fields.word("partyAggregation", ("union", "intersection"), "union"),
    )


def _read_latency(rule_text: RuleText, name: str, description: str) -> FlexRule:
    fields = rule_text.fields
    most, distance = fields.number("maxLatency"), fields.number("maxDistance")
    if not fields.has("maxLatency") and not fields.has("maxDistance"):
        message = "is missing, and maxDistance too; give it milliseconds"
        rule_text.findings.error(fields.at("maxLatency"), message)
    has_reference = fields.has("distanceReference")
    if has_reference != fields.has("maxDistance"):
        key, other = "distanceReference", "maxDistance"
        if has_reference:
            message = f"does nothing without {other}; give that, or leave it out"
            rule_text.findings.warning(fields.at(key), message)
        else:
            message = f"is missing though there is a {other}; give it min or avg"
            rule_text.findings.error(fields.at(key), message)
    return LatencyRule(
        name=name,
        description=description,
        latency_ms_max=most,
        distance_ms_max=distance,
        distance_reference=(
            fields.word("distanceReference", LATENCY_REFERENCES) if has_reference else None
        ),
        party=fields.word("partyAggregation", MERGES, "avg"),
    )


def _read_absolute_sort(rule_text: RuleText, name: str, description: str) -> FlexRule:
    return _read_sort(rule_text, SortRule(
        name=name, description=description, kind="absolute", attribute="", direction="ascending"
    ))  # fmt: skip


def _read_distance_sort(rule_text: RuleText, name: str, description: str) -> FlexRule:
    return _read_sort(rule_text, SortRule(
        name=name, description=description, kind="distance", attribute="", direction="ascending"
    ))  # fmt: skip


def _read_sort(rule_text: RuleText, plain: SortRule) -> FlexRule:
    fields = rule_text.fields
    sortable = ("number", "string_number_map")
    allowed = sortable if plain.kind == "distance" else (*sortable, "string")
    attribute = rule_text.attribute("sortAttribute", *allowed)
    kind = rule_text.scope.attributes.get(attribute)
    has_key = fields.has("mapKey")
    if kind == "string_number_map" and not has_key:
        message = f"is missing, and {attribute} is a map; give it minValue or maxValue"
        rule_text.findings.error(fields.at("mapKey"), message)
    map_key = fields.word("mapKey", MAP_KEYS) if has_key else None
    if kind not in (None, "string_number_map") and has_key:
        message = f"does nothing, since {attribute} is no map; leave it out"
        rule_text.findings.warning(fields.at("mapKey"), message)
    return SortRule(
        name=plain.name,
        description=plain.description,
        kind=plain.kind,
        attribute=attribute,
        direction=fields.word("sortDirection", ("ascending", "descending")),
        map_key=map_key,
        party=fields.word("partyAggregation", MERGES, "avg"),
    )


def _read_compound(rule_text: RuleText, name: str, description: str) -> FlexRule:
    fields, findings = rule_text.fields, rule_text.findings
    text = fields.text("statement", is_needed=True)
    statement: Statement = RuleName(name)
    try:
        statement, notes = parse_statement(text)
    except WrongStatement as error:
        if text:
            findings.error(fields.at("statement"), f"{error}; in {excerpt(text)}")
        return CompoundRule(name=name, description=description, statement=statement)
    for note in notes:
        findings.warning(fields.at("statement"), note)
    for each in dict.fromkeys(names_in(statement)):
        rule = rule_text.earlier.get(each)
        if rule is None:
            message = f"names {each!r}, and no rule before this one is called so"
            hint = findings.hint(each, rule_text.earlier)
            findings.error(fields.at("statement"), f"{message}; move it up, or mend the name{hint}")
        elif isinstance(rule, BatchDistanceRule | SortRule):
            kind = "batchDistance" if isinstance(rule, BatchDistanceRule) else "sort rule"
            instead = " (use distance or comparison)" if kind == "batchDistance" else ""
            message = f"names {each!r}, a {kind}, which no statement can use{instead}"
            findings.error(fields.at("statement"), message)
    return CompoundRule(name=name, description=description, statement=statement)


READERS: dict[str, Callable[[RuleText, str, str], FlexRule]] = {
    "comparison": _read_comparison,
    "distance": _read_distance,
    "batchDistance": _read_batch_distance,
    "collection": _read_collection,
    "latency": _read_latency,
    "absoluteSort": _read_absolute_sort,
    "distanceSort": _read_distance_sort,
    "compound": _read_compound,
}
