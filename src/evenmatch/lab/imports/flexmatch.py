"""From a FlexMatch rule set, and a matchmaking configuration if there is one, to a configuration.

A queue plays by the rule set itself, so its definition of legal matches is kept exactly; its
settings of AWS's search are not, since ours works differently.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from evenmatch.errors import ConfigError
from evenmatch.lab.imports.report import (
    ImportLine,
    ImportOptions,
    ImportResult,
    TakenLine,
    unreached,
)
from evenmatch.lab.imports.toml_text import arrivals_text, table_text, value_text
from evenmatch.lab.rule_set_scenario import drawn_by
from evenmatch.model.ticket_names import ticket_name
from evenmatch.rules.fields import MISSING, Fields
from evenmatch.rules.findings import FindingList, child_path, excerpt
from evenmatch.rules.flexmatch.compile import CompiledRuleSet, compile_rule_set
from evenmatch.rules.flexmatch.reader import read_rule_set
from evenmatch.rules.flexmatch.rendering import render_rule_set
from evenmatch.rules.flexmatch.rule_set import AlgorithmExpansion, RuleSet, SortRule
from evenmatch.rules.json_text import Json, NotJson, read_json

ANSWER_MAX = 1_000_000
BODY = "RuleSetBody"
NOT_SLUG = re.compile(r"[^A-Za-z0-9_.-]+")
REQUEST, ACCEPTANCE = "RequestTimeoutSeconds", "AcceptanceTimeoutSeconds"
REQUIRED = "AcceptanceRequired"
REQUEST_MAX, ACCEPTANCE_MAX = 43_200, 600
"""Seconds: the longest that AWS takes."""
SEARCH = "it says how AWS searches, and forbids nothing; by_rules tries all it can, oldest first"
ELSEWHERE = {
    "AdditionalPlayerCount": "leave seats free by maxPlayers, or fill them by backfill",
    "GameSessionQueueArns": "name a hook: allocation = NAME and [server.allocation.NAME]",
    "FlexMatchMode": "name a hook: allocation = NAME and [server.allocation.NAME]",
    "NotificationTarget": "events go over webhooks and streams; or serve the GameLift protocol",
    "CustomEventData": "only the GameLift protocol has it",
    "GameProperties": "only the GameLift protocol has them",
    "GameSessionData": "only the GameLift protocol has it",
    "Description": "it means nothing to the matchmaker",
    "RuleSetArn": "the rule set is the file that is imported",
    "ConfigurationArn": "it is AWS's own",
    "CreationTime": "it is AWS's own",
    "Tags": "only the GameLift protocol has them",
}
"""Keys of a configuration that have no equivalent, and why."""


def import_rule_set(
    text: bytes,
    options: ImportOptions,
    configuration: bytes | None = None,
    *,
    name: str = "",
    beside: str = "",
    source: str = "configuration",
) -> ImportResult:
    """Return the import of a rule set.

    Args:
        text: The rule set, in JSON, or the answer of AWS's API with it.
        options: Settings that it does not have.
        configuration: A matchmaking configuration of AWS, in JSON.
        name: Name of the queue if neither of them has a name.
        beside: The name of the file itself, by which the queue plays; "" to write a clean one.
        source: What errors of the configuration begin with.

    Raises:
        ConfigError: There are errors; the message lists those of the rule set, one per line, or
            says the first of the configuration.
    """
    body = body_of(text)
    if body is not None:
        text, beside = body, ""
    rule_set, findings = read_rule_set(text)
    if rule_set is None:
        errors = [each for each in findings if each.level == "error"]
        raise ConfigError("\n".join([f"{e.path} (line {e.line}) {e.message}" for e in errors]))
    noted = FindingList()
    raw = read_json(text, noted)
    assert isinstance(raw, dict)
    compiled = compile_rule_set(rule_set)
    settings = _Settings(options, configuration, rule_set.name or name, source)
    queue = settings.queue
    file = beside or f"{queue}.rules.json"
    values: dict[str, object] = {"name": queue, "rules_file": file} | settings.values
    tables = ["\n".join(table_text("[[queue]]", values)) + "\n"]
    tables.append(arrivals_text(compiled.format.k, (queue,), drawn_by(rule_set)))
    report = _Report(rule_set, compiled, raw, noted.lines, settings)
    return ImportResult(
        format="flexmatch",
        queues=(queue,),
        toml="\n".join(tables),
        files={} if beside else {file: render_rule_set(rule_set)},
        lines=(*report.lines(), *settings.lines),
        findings=findings,
    )


def body_of(text: bytes) -> bytes | None:
    """Return the rule set inside an answer of AWS's API; None if a text is none.

    Raises:
        ConfigError: The answer holds several rule sets, or none.
    """
    if BODY.encode() not in text:
        return None
    try:
        raw: Json = read_json(text, FindingList(), characters_max=ANSWER_MAX)
    except NotJson:
        return None
    inner = raw.get("RuleSets", raw.get("RuleSet", raw)) if isinstance(raw, dict) else raw
    sets = inner if isinstance(inner, list) else [inner]
    bodies = [each[BODY] for each in sets if isinstance(each, dict) and BODY in each]
    if len(bodies) != 1:
        raise ConfigError(f"must hold one rule set, got {len(bodies)}; name one to AWS's command")
    return str(bodies[0]).encode()


class _Settings:
    """The settings of a queue, from a configuration or from the options."""

    def __init__(
        self, options: ImportOptions, configuration: bytes | None, name: str, source: str
    ) -> None:
        self.values: dict[str, object] = {}
        self.lines: list[ImportLine] = []
        wait_max, accept = options.wait_max, options.accept
        if configuration is not None:
            fields, lines = _configuration(configuration, source)
            name = fields.text("Name") or name
            told = _times(fields, options)
            if fields.findings.has_error:
                raise ConfigError(f"{source}: {_first_error(fields.findings)}")
            wait_max = told.wait_max if wait_max is None else wait_max
            accept = told.accept if accept is None else accept
            written = _Times(wait_max, accept)
            self.lines = list(_of_configuration(fields, lines, told, written))
            self.lines += [
                each
                for each in _not_said(options)
                if each.taken == "exactly" and each.path not in fields.names
            ]
            if fields.raw("BackfillMode") == "AUTOMATIC":
                self.values["backfill"] = "automatic"
        else:
            self.lines = list(_not_said(options))
        self.queue = NOT_SLUG.sub("-", name).strip("-")[:64] or "main"
        self.wait_max = wait_max
        if wait_max is not None:
            self.values["wait_max"] = wait_max
        if accept is not None:
            self.values["accept"] = {"seconds": accept}


class _Times(NamedTuple):
    """Seconds until a ticket ends, and seconds to accept a match; None if there are none."""

    wait_max: float | None
    accept: float | None


def _times(fields: Fields, options: ImportOptions) -> _Times:
    """Return the times of a configuration; one may be missing if an option gives it."""
    wait_max = accept = None
    if options.wait_max is None or fields.has(REQUEST):
        wait_max = _seconds(fields, REQUEST, REQUEST_MAX, "--wait-max")
    is_asked = fields.raw(REQUIRED)
    if is_asked is not None and not isinstance(is_asked, bool):
        message = f"must be true or false, got {excerpt(is_asked)}"
        fields.findings.error(fields.at(REQUIRED), message)
    if is_asked is True and (options.accept is None or fields.has(ACCEPTANCE)):
        accept = _seconds(fields, ACCEPTANCE, ACCEPTANCE_MAX, "--accept")
    return _Times(wait_max, accept)


def _seconds(fields: Fields, key: str, most: int, option: str) -> int | None:
    """Return a time of a configuration; without it there is an error that names the option."""
    if fields.has(key):
        return fields.whole(key, 1, most)
    fields.findings.error(fields.at(key), f"{MISSING}; give it a number, or give {option} SECONDS")
    return None


def _first_error(findings: FindingList) -> str:
    error = next(each for each in findings.sorted() if each.level == "error")
    return f"{error.path} (line {error.line}) {error.message}"


def _not_said(options: ImportOptions) -> Iterator[ImportLine]:
    """Yield settings that only a configuration has."""
    for path, value, key, option in (
        (REQUEST, options.wait_max, "wait_max", "--wait-max"),
        (ACCEPTANCE, options.accept, "accept.seconds", "--accept"),
    ):
        if value is not None:
            becomes = f"{key} = {value_text(value)}"
            yield ImportLine(path=path, line=0, taken="exactly", becomes=becomes)
        else:
            note = f"a rule set does not say it: give {option} SECONDS, or --configuration FILE"
            yield ImportLine(path=path, line=0, taken="not at all", note=note)


def _configuration(text: bytes, source: str) -> tuple[Fields, dict[str, int]]:
    """Return the keys of the first configuration of a text, and their lines."""
    findings = FindingList()
    try:
        raw: Json = read_json(text, findings)
    except NotJson:
        raise ConfigError(f"{source}: {_first_error(findings)}") from None
    path = "$"
    for key in ("Configurations", "Configuration"):
        if isinstance(raw, dict) and isinstance(raw.get(key), list | dict):
            raw, path = raw[key], child_path(path, key)
    if isinstance(raw, list) and raw:
        raw, path = raw[0], child_path(path, 0)
    if not isinstance(raw, dict) or ("Name" not in raw and REQUEST not in raw):
        raise ConfigError(f"{source}: must be an object with Name or {REQUEST}, as AWS prints it")
    return Fields(raw, path, findings), findings.lines


def _of_configuration(
    fields: Fields, lines: dict[str, int], told: _Times, written: _Times
) -> Iterator[ImportLine]:
    """Yield what became of each key of a configuration.

    Args:
        fields: The configuration.
        lines: The line of each path.
        told: The times that it has.
        written: Those of the queue: an option goes before the configuration.
    """
    taken: dict[str, tuple[TakenLine, str, str]] = {"Name": ("exactly", "the queue's name", "")}
    wait_max = f"wait_max = {value_text(written.wait_max)}"
    is_same = told.wait_max == written.wait_max
    taken[REQUEST] = ("exactly", wait_max, "") if is_same else _overruled(wait_max, "--wait-max")
    accept = f"accept = {{seconds = {value_text(written.accept)}}}"
    overruled = _overruled(accept, "--accept")
    note = "if a player rejects a match, those who accepted wait again with their age, as with AWS"
    if written.accept is None:
        taken[REQUIRED] = ("exactly", "no ready-check", "")
        taken[ACCEPTANCE] = ("exactly", "nothing, as nobody is asked", "")
    else:
        is_asked = fields.raw(REQUIRED) is True
        taken[REQUIRED] = ("exactly", accept, note) if is_asked else overruled
        is_same = told.accept == written.accept
        taken[ACCEPTANCE] = ("exactly", accept, "") if is_same else overruled
    is_automatic = fields.raw("BackfillMode") == "AUTOMATIC"
    backfill = 'backfill = "automatic"' if is_automatic else "no backfill by itself"
    taken["BackfillMode"] = ("exactly", backfill, "")
    taken["RuleSetName"] = ("exactly", "rules_file", "")
    if fields.raw("FlexMatchMode") == "STANDALONE":
        taken["FlexMatchMode"] = ("exactly", "no allocation", "")
    for key in fields.names:
        path = fields.at(key)
        level, becomes, note = taken.get(key, ("not at all", "", ELSEWHERE.get(key, "")))
        if not note and level == "not at all":
            note = "no key of a configuration that is known here"
        line = lines.get(path, 0)
        yield ImportLine(path=path, line=line, taken=level, becomes=becomes, note=note)


def _overruled(becomes: str, option: str) -> tuple[TakenLine, str, str]:
    return "not at all", becomes, f"{option} counts in its place"


class _Report:
    """The report on each key of a rule set."""

    def __init__(
        self,
        rule_set: RuleSet,
        compiled: CompiledRuleSet,
        raw: dict[str, Json],
        lines: dict[str, int],
        settings: _Settings,
    ) -> None:
        self._rule_set = rule_set
        self._raw = raw
        self._lines = lines
        self._queue = settings.queue
        self._wait_max = settings.wait_max
        self._sources = compiled.sources

    def lines(self) -> Iterator[ImportLine]:
        """Yield them in the order of the text."""
        for key, raw in self._raw.items():
            path = child_path("$", key)
            if key == "name":
                taken: TakenLine = "exactly" if self._queue == raw else "approximately"
                yield self._line(path, taken, f'name = "{self._queue}"')
            elif key == "ruleLanguageVersion":
                yield self._line(path, "exactly", "read as 1.0")
            elif key == "algorithm" and isinstance(raw, dict):
                yield from [self._of_algorithm(child_path(path, each), each) for each in raw]
            elif key in ("playerAttributes", "teams", "rules", "expansions"):
                of = {
                    "playerAttributes": self._of_attribute,
                    "teams": self._of_team,
                    "rules": self._of_rule,
                    "expansions": self._of_expansion,
                }[key]
                count = len(raw) if isinstance(raw, list) else 0
                yield from [of(child_path(path, number), number) for number in range(count)]
            else:
                yield self._line(path, "not at all", note="no key of a rule set; it is ignored")

    def _line(self, path: str, taken: TakenLine, becomes: str = "", note: str = "") -> ImportLine:
        line = self._lines.get(path, 0)
        return ImportLine(path=path, line=line, taken=taken, becomes=becomes, note=note)

    def _of_attribute(self, path: str, number: int) -> ImportLine:
        attribute = self._rule_set.attributes[number]
        words = f"the attribute {attribute.name} of each player"
        if (name := ticket_name(attribute.name)) != attribute.name:
            words += f", in tickets {name}: {attribute.name} means something else there"
        if isinstance(attribute.default, dict):
            note = "its default counts where sort rules compare it; tickets do not show it"
            return self._line(path, "exactly", words, note)
        note = (
            ""
            if attribute.default is not None
            else "a ticket without it is refused, not kept waiting"
        )
        return self._line(path, "exactly", words, note)

    def _of_team(self, path: str, number: int) -> ImportLine:
        team = self._rule_set.teams[number]
        sizes = f"{team.players_min} to {team.players_max} players"
        return self._line(path, "exactly", f"{', '.join(team.names())}: {sizes}")

    def _of_rule(self, path: str, number: int) -> ImportLine:
        rule = self._rule_set.rules[number]
        if not isinstance(rule, SortRule):
            is_named = rule.name in self._rule_set.supporting()
            note = "only compound rules enforce it" if is_named else ""
            return self._line(path, "exactly", f"condition {rule.name}", note)
        source = next((s for s in self._sources if s.startswith(f"sort rule {rule.name}:")), None)
        if source is None:
            note = "no criterion compares it; it forbids nothing, so the same matches are legal"
            return self._line(path, "not at all", note=note)
        note = "it says how good a match is; by_rules does not try candidates in this order"
        becomes = f"criterion on {ticket_name(rule.attribute)}"
        if rule.map_key is not None:
            becomes += f", by the {rule.map_key} of who has waited longest"
        return self._line(path, "approximately", becomes, note)

    def _of_expansion(self, path: str, number: int) -> ImportLine:
        expansion = self._rule_set.expansions[number]
        if isinstance(expansion, AlgorithmExpansion):
            return self._line(path, "not at all", note=SEARCH)
        shown = [value_text(each.value) for each in expansion.steps if _is_plain(each.value)]
        steps = [f"from {each.wait:g} s" for each in expansion.steps]
        if len(shown) == len(steps):
            steps = [f"{a} {b}" for a, b in zip(shown, steps, strict=True)]
        late = unreached([each.wait for each in expansion.steps], self._wait_max)
        note = late or f"by the age of the {self._rule_set.algorithm.age} ticket of a match"
        return self._line(path, "exactly", ", ".join(steps), note)

    def _of_algorithm(self, path: str, key: str) -> ImportLine:
        algorithm = self._rule_set.algorithm
        if key == "expansionAgeSelection":
            return self._line(path, "exactly", f"the age of the {algorithm.age} ticket counts")
        if key == "balancedAttribute":
            note = "it says how good a match is; by_rules does not divide teams by it"
            words = f"criterion on {ticket_name(algorithm.balanced_attribute)}"
            is_there = any(each.startswith("balancedAttribute") for each in self._sources)
            return self._line(path, "approximately", words if is_there else "", note)
        if key == "backfillPriority":
            note = "running matches are filled before new ones are made"
            taken: TakenLine = "exactly" if algorithm.backfill_priority == "high" else "not at all"
            return self._line(path, taken, note=note)
        if key in ("strategy", "batchingPreference", "sortByAttributes"):
            return self._line(path, "not at all", note=SEARCH)
        return self._line(path, "not at all", note="no key of an algorithm; it is ignored")


def _is_plain(value: object) -> bool:
    return isinstance(value, float | int | str)
