"""Rules of PlayFab queues: from objects of the text, in either of the forms in use, to values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, get_args

from evenmatch.model.condition import ValueKind
from evenmatch.model.fields import ATTRIBUTE_NAME_MAX, LARGEST
from evenmatch.model.ticket_names import RESERVED
from evenmatch.rules.fields import Fields
from evenmatch.rules.findings import excerpt
from evenmatch.rules.json_text import Json
from evenmatch.rules.playfab.expansion_reader import (
    Expandable,
    ExpansionSteps,
    read_expansion,
    refuse_expansion,
)
from evenmatch.rules.playfab.queue import (
    DifferenceRule,
    MatchTotalRule,
    Merge,
    Missing,
    PlayFabRule,
    RegionSelectionRule,
    RuleAttribute,
    SetIntersectionRule,
    Source,
    StringEqualityRule,
    TeamDifferenceRule,
    TeamSizeBalanceRule,
    TeamTicketSizeSimilarityRule,
)

SOURCES: tuple[Source, ...] = get_args(Source)
RULES_MAX = 20
NAME_MAX = 255
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*\Z")
SECONDS_MAX = 1_000_000
WEIGHT_MAX = 1e6
PLAYERS_MAX = 100
MERGES: dict[str, Merge] = {"Average": "avg", "Min": "min", "Max": "max"}
LISTS = {
    "StringEqualityRules": "StringEqualityRule",
    "DifferenceRules": "DifferenceRule",
    "SetIntersectionRules": "SetIntersectionRule",
    "MatchTotalRules": "MatchTotalRule",
    "RegionSelectionRule": "RegionSelectionRule",
    "TeamDifferenceRules": "TeamDifferenceRule",
    "TeamSizeBalanceRule": "TeamSizeBalanceRule",
    "TeamTicketSizeSimilarityRule": "TeamTicketSizeSimilarityRule",
}
"""The API's keys for the rules of each type."""


class RuleReader:
    """Reader of the rules of one queue.

    Args:
        queue: Its object in the text.
        has_teams: Whether it has teams, which some rules require.
    """

    def __init__(self, queue: Fields, *, has_teams: bool) -> None:
        self._queue = queue
        self._findings = queue.findings
        self._has_teams = has_teams
        self._names: dict[str, str] = {}
        self._attributes: dict[tuple[str, str], str] = {}
        self._kinds: dict[str, tuple[ValueKind, str]] = {}

    def rules(self) -> tuple[PlayFabRule, ...]:
        """Return the rules of the queue; none if there are too many."""
        given = self._typed() + self._listed()
        if len(given) > RULES_MAX:
            at = given[RULES_MAX][0].path
            message = f"is one rule too many: a queue has at most {RULES_MAX}, got {len(given):,}"
            self._findings.error(at, f"{message}; delete some, or join them")
            return ()
        self._name_attributes([fields for fields, _ in given])
        found = [READERS[kind](self, fields) for fields, kind in given]
        return tuple([rule for rule in found if rule is not None])

    def _typed(self) -> list[tuple[Fields, str]]:
        """Return the rules that state their own type."""
        found = []
        for fields in self._queue.objects("Rules"):
            raw = fields.raw("Type")
            text = raw if isinstance(raw, str) else ""
            kind = next((k for k in READERS if text.lower() in (k.lower(), k.lower()[:-4])), None)
            if kind is None:
                hint = self._findings.hint(text, READERS)
                message = f"must be one of {', '.join(READERS)}, got {excerpt(raw)}{hint}"
                self._findings.error(fields.at("Type"), message)
                continue
            if kind != text:
                self._findings.warning(fields.at("Type"), f"is taken as {kind}, got {excerpt(raw)}")
            found.append((fields, kind))
        return found

    def _listed(self) -> list[tuple[Fields, str]]:
        """Return the rules that are in lists by type."""
        found = []
        for key, kind in LISTS.items():
            raw = self._queue.raw(key)
            if isinstance(raw, dict):
                own = [Fields(raw, self._queue.at(key), self._findings)] if raw else []
            else:
                own = self._queue.objects(key)
            for fields in own:
                fields.raw("Type")
                found.append((fields, kind))
        return found

    # Attributes

    def _name_attributes(self, rules: Sequence[Fields]) -> None:
        """Give each path in a source a unique name: its last part, if that is free."""
        for fields in rules:
            raw = fields.raw("Attribute")
            path = raw.get("Path") if isinstance(raw, dict) else raw
            source = raw.get("Source") if isinstance(raw, dict) else None
            if not isinstance(source, str):
                source = SOURCES[0]
            if not isinstance(path, str) or (path, _plain(source)) in self._attributes:
                continue
            parts = [part for part in re.split(r"[.\[\]'\"]+", path.lstrip("$")) if part]
            name = parts[-1] if parts else path
            if name in RESERVED or name in self._attributes.values():
                name = "_".join(parts) if len(parts) > 1 else f"{name}_value"
            name = name[-ATTRIBUTE_NAME_MAX:]
            while name in self._attributes.values():
                name = f"{name}_2"[-ATTRIBUTE_NAME_MAX:]
            self._attributes[path, _plain(source)] = name

    def attribute(self, rule: Fields, kind: ValueKind) -> RuleAttribute | None:
        """Return the attribute of a rule, and what to do if a player lacks it.

        Args:
            rule: The rule.
            kind: The type that the attribute must have.
        """
        default = DEFAULTS[kind](rule, "DefaultAttributeValue")
        given = rule.raw("AttributeNotSpecifiedBehavior")
        missing: Missing = "needed" if default is None else "default"
        if given is not None:
            word = rule.word("AttributeNotSpecifiedBehavior", ("UseDefault", "MatchAny"))
            missing = "any" if word == "MatchAny" else "default"
            if word == "UseDefault" and default is None:
                missing = "needed"
                message = "is missing, and UseDefault needs it: whoever lacks the attribute is"
                at = rule.at("DefaultAttributeValue")
                self._findings.warning(at, f"{message} refused; give a default")
        raw = rule.raw("Attribute")
        if isinstance(raw, str):
            message = 'is a text; write {"Path": ..., "Source": "User"}'
            self._findings.warning(rule.at("Attribute"), message)
            raw = {"Path": raw}
        if not isinstance(raw, dict):
            message = 'must be an object such as {"Path": "skill", "Source": "User"}'
            self._findings.error(rule.at("Attribute"), f"{message}, got {excerpt(raw)}")
            return None
        fields = Fields(raw, rule.at("Attribute"), self._findings)
        path = fields.text("Path", is_needed=True)
        source = fields.word("Source", SOURCES, "User")
        fields.end("an attribute")
        name = self._attributes.get((path, _plain(source)), path)
        first, at = self._kinds.setdefault(name, (kind, rule.path))
        if first != kind:
            message = f"is a {first} in {at} and a {kind} here, so no ticket can have it"
            self._findings.error(rule.at("Attribute"), f"{message}; read two attributes")
        return RuleAttribute(name=name, path=path, source=source, missing=missing, default=default)

    # What all rules have

    def common(self, rule: Fields) -> dict[str, Any]:
        """Return the fields that all rules have, with a name that no other rule has."""
        name = rule.text("Name", is_needed=True)
        if name and (len(name) > NAME_MAX or not NAME.match(name)):
            message = f"has to be 1 to {NAME_MAX} letters, digits, _ and -, a letter or digit first"
            self._findings.warning(rule.at("Name"), f"{message} for PlayFab, got {excerpt(name)}")
        if name and name in self._names:
            message = f"is the name of {self._names[name]}, too: {name!r}; give each rule its own"
            self._findings.error(rule.at("Name"), message)
        self._names.setdefault(name, rule.path)
        return {
            "name": name,
            "path": rule.path,
            "weight": self._number(rule, "Weight", 0.0, WEIGHT_MAX),
            "optional_after": self.optional_after(rule),
        }

    def optional_after(self, rule: Fields) -> float | None:
        """Return the wait after which a rule requires nothing."""
        return self._number(rule, "SecondsUntilOptional", 0.0, SECONDS_MAX)

    def _number(self, rule: Fields, key: str, least: float, most: float) -> float | None:
        value = rule.number(key)
        if value is not None and not least <= value <= most:
            allowed = f"must be a number from {least:g} to {most:,.0f}"
            self._findings.error(rule.at(key), f"{allowed}, got {excerpt(rule.raw(key))}")
            return None
        return value

    def limit(self, rule: Fields, key: str, *, is_whole: bool = False) -> float:
        """Return a limit of 0 or more."""
        if is_whole:
            return float(rule.whole(key, 0, 1_000_000))
        value = rule.number(key, is_needed=True)
        if value is not None and not 0 <= value <= 1e15:
            allowed = "must be a number from 0 to 1e15"
            self._findings.error(rule.at(key), f"{allowed}, got {excerpt(rule.raw(key))}")
            return 0.0
        return value or 0.0

    def need_teams(self, rule: Fields, kind: str) -> None:
        """Report a rule on teams if there are none."""
        if not self._has_teams:
            message = f"is a {kind}, and the queue has no Teams; add them, or delete the rule"
            self._findings.error(rule.path, message)


# Types of rules


def _string_equality(reader: RuleReader, rule: Fields) -> PlayFabRule | None:
    common = reader.common(rule)
    attribute = reader.attribute(rule, "string")
    number = Expandable("the rule", "EnabledOverrides", 1.0, is_switch=True)
    expansion = read_expansion(rule, (number,), common["optional_after"], is_linear=False)
    return _made(StringEqualityRule, rule, common, expansion, attribute, "active")


def _difference(reader: RuleReader, rule: Fields) -> PlayFabRule | None:
    common = reader.common(rule)
    attribute = reader.attribute(rule, "number")
    merge = MERGES[rule.word("MergeFunction", tuple(MERGES), "Average")]
    number = Expandable("Difference", "DifferenceOverrides", reader.limit(rule, "Difference"))
    expansion = read_expansion(rule, (number,), common["optional_after"])
    common["merge"] = merge
    return _made(DifferenceRule, rule, common, expansion, attribute, "difference")


def _set_intersection(reader: RuleReader, rule: Fields) -> PlayFabRule | None:
    common = reader.common(rule)
    attribute = reader.attribute(rule, "string_list")
    number = Expandable(
        "MinIntersectionSize",
        "MinIntersectionSizeOverrides",
        reader.limit(rule, "MinIntersectionSize", is_whole=True),
        is_falling=True,
        is_whole=True,
    )
    expansion = read_expansion(rule, (number,), common["optional_after"])
    return _made(SetIntersectionRule, rule, common, expansion, attribute, "size")


def _match_total(reader: RuleReader, rule: Fields) -> PlayFabRule | None:
    common = reader.common(rule)
    given = reader.attribute(rule, "number")
    if given is not None and given.missing == "needed":
        # The role and host patterns of PlayFab's guide give the number to those who have the role.
        given = RuleAttribute(name=given.name, path=given.path, source=given.source, missing="any")
    least, most = rule.number("Min", is_needed=True), rule.number("Max", is_needed=True)
    numbers = (
        Expandable("Min", "MinOverrides", least or 0.0, is_falling=True),
        Expandable("Max", "MaxOverrides", most or 0.0),
    )
    if least is not None and most is not None and most < least:
        message = f"must be at least Min = {least:g}, got {most:g}; swap the two"
        rule.findings.error(rule.at("Max"), message)
    expansion = read_expansion(rule, numbers, common["optional_after"], is_linear=False)
    return _made(MatchTotalRule, rule, common, expansion, given, "least", "most")


def _region_selection(reader: RuleReader, rule: Fields) -> PlayFabRule | None:
    common = reader.common(rule)
    raw = rule.raw("Attribute")
    path: Json = raw.get("Path") if isinstance(raw, dict) else raw
    common["latencies"] = path if isinstance(path, str) else rule.text("Path", is_needed=True)
    number = Expandable("MaxLatency", "MaxLatencyOverrides", reader.limit(rule, "MaxLatency"))
    expansion = read_expansion(rule, (number,), common["optional_after"])
    rule.raw("Path")
    return _made(RegionSelectionRule, rule, common, expansion, None, "latency_ms")


def _team_difference(reader: RuleReader, rule: Fields) -> PlayFabRule | None:
    common = reader.common(rule)
    reader.need_teams(rule, "TeamDifferenceRule")
    attribute = reader.attribute(rule, "number")
    number = Expandable("Difference", "DifferenceOverrides", reader.limit(rule, "Difference"))
    expansion = read_expansion(rule, (number,), common["optional_after"])
    return _made(TeamDifferenceRule, rule, common, expansion, attribute, "difference")


def _team_size_balance(reader: RuleReader, rule: Fields) -> PlayFabRule | None:
    common = reader.common(rule)
    reader.need_teams(rule, "TeamSizeBalanceRule")
    number = Expandable(
        "Difference",
        "DifferenceOverrides",
        reader.limit(rule, "Difference", is_whole=True),
        is_whole=True,
    )
    expansion = read_expansion(rule, (number,), common["optional_after"])
    return _made(TeamSizeBalanceRule, rule, common, expansion, None, "difference")


def _team_ticket_size(reader: RuleReader, rule: Fields) -> PlayFabRule | None:
    common = reader.common(rule)
    reader.need_teams(rule, "TeamTicketSizeSimilarityRule")
    refuse_expansion(rule)
    return _made(TeamTicketSizeSimilarityRule, rule, common, ExpansionSteps(()), None)


def _made(
    kind: Callable[..., Any],
    rule: Fields,
    common: dict[str, Any],
    expansion: ExpansionSteps,
    attribute: RuleAttribute | None,
    *keys: str,
) -> PlayFabRule | None:
    """Return a rule of its parts; None if an attribute that it needs cannot be read."""
    rule.end("such a rule")
    given = common | dict(zip(keys, expansion.steps, strict=True))
    given |= {"expanded": expansion.kind, "is_cut": expansion.is_cut}
    if "attribute" in kind.__struct_fields__:  # type: ignore[attr-defined]
        if attribute is None:
            return None
        given["attribute"] = attribute
    made: PlayFabRule = kind(**given)
    return made


def _plain(source: str) -> str:
    return source.strip().lower()


def _number_default(rule: Fields, key: str) -> float | None:
    number = rule.number(key)
    if number is not None and abs(number) > LARGEST:
        allowed = "must be a number from -1e15 to 1e15"
        rule.findings.error(rule.at(key), f"{allowed}, got {excerpt(rule.raw(key))}")
    return number


def _text_default(rule: Fields, key: str) -> str | None:
    return rule.text(key) if rule.has(key) else None


def _list_default(rule: Fields, key: str) -> tuple[str, ...] | None:
    if not rule.has(key):
        return None
    return tuple(dict.fromkeys(text for text, _ in rule.texts(key)))


DEFAULTS: dict[ValueKind, Callable[[Fields, str], Any]] = {
    "number": _number_default,
    "string": _text_default,
    "string_list": _list_default,
}
"""How defaults of attributes are read, by type."""
READERS: dict[str, Callable[[RuleReader, Fields], PlayFabRule | None]] = {
    "StringEqualityRule": _string_equality,
    "DifferenceRule": _difference,
    "SetIntersectionRule": _set_intersection,
    "MatchTotalRule": _match_total,
    "RegionSelectionRule": _region_selection,
    "TeamDifferenceRule": _team_difference,
    "TeamSizeBalanceRule": _team_size_balance,
    "TeamTicketSizeSimilarityRule": _team_ticket_size,
}
