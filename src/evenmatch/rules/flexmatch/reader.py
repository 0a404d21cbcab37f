"""The entry point: from the text of a FlexMatch rule set to a `RuleSet`, with all its errors.

`read_rule_set` finds as many errors as it can at once; with an error there is no rule set. Text
that AWS would refuse although its meaning is plain is accepted with a warning.
"""

from __future__ import annotations

from evenmatch.errors import ConfigError
from evenmatch.model.fields import ATTRIBUTE_NAME_MAX, LARGEST
from evenmatch.model.ticket_names import ticket_name
from evenmatch.rules.fields import Fields, number_of
from evenmatch.rules.findings import Finding, FindingList, child_path, excerpt
from evenmatch.rules.flexmatch import expansion_reader, rule_reader, soundness
from evenmatch.rules.flexmatch.expressions import AttributeType
from evenmatch.rules.flexmatch.rule_set import (
    BACKFILL_PRIORITIES,
    BATCHINGS,
    STRATEGIES,
    Algorithm,
    AttributeValue,
    PlayerAttribute,
    RuleSet,
    TeamDefinition,
)
from evenmatch.rules.json_text import Json, NotJson, read_json

LANGUAGE = "1.0"
PLAYERS_MAX = 200
TEAM_NAME_MAX = 64
SMALL_MATCH_MAX = 40
"""With more players, AWS requires the strategy `balanced`, and supports fewer types of rules."""
ATTRIBUTE_KINDS: tuple[AttributeType, ...] = (
    "string",
    "number",
    "string_list",
    "string_number_map",
)


def read_rule_set(text: str | bytes) -> tuple[RuleSet | None, tuple[Finding, ...]]:
    """Return the rule set of a text, and its errors and oddities.

    Args:
        text: JSON, comments allowed; bytes are UTF-8.

    Returns:
        The rule set, or None if one of the findings is an error; the findings in the order of the
        text.

    >>> rule_set, findings = read_rule_set('{"ruleLanguageVersion": "1.0", "teams": [{}]}')
    >>> rule_set is None, str(findings[0])
    (True, 'error: $.teams[0].name (line 1) is missing; give it a string')
    """
    findings = FindingList()
    try:
        raw = read_json(text, findings)
    except NotJson:
        return None, findings.sorted()
    if not isinstance(raw, dict):
        findings.error("$", f"must be an object with teams and rules, got {excerpt(raw)}")
        return None, findings.sorted()
    rule_set = _read(Fields(raw, "$", findings))
    if rule_set is not None:
        soundness.judge(rule_set, findings)
    return (None if findings.has_error else rule_set), findings.sorted()


def load_rule_set(text: str | bytes) -> RuleSet:
    """Return the rule set of a text that has no errors.

    Raises:
        ConfigError: There are errors; the message lists them, one per line.
    """
    rule_set, findings = read_rule_set(text)
    if rule_set is None:
        errors = [each for each in findings if each.level == "error"]
        lines = [f"{each.path} (line {each.line}) {each.message}" for each in errors]
        raise ConfigError("\n".join(lines))
    return rule_set


def _read(fields: Fields) -> RuleSet | None:
    _check_language(fields)
    name = fields.text("name")
    attributes = _read_attributes(fields)
    teams = _read_teams(fields)
    algorithm = _read_algorithm(fields, attributes)
    plain = RuleSet(name=name, attributes=attributes, teams=teams, algorithm=algorithm)
    if not _check_size(fields, plain):
        return None  # there could be too many names of teams to check
    rules = rule_reader.read_rules(fields.objects("rules"), plain.scope)
    expansions = expansion_reader.read_expansions(
        fields.objects("expansions"), rules, teams, plain.scope
    )
    fields.end("a rule set")
    if fields.findings.has_error:
        return None
    return RuleSet(
        name=name,
        attributes=attributes,
        teams=teams,
        rules=tuple(rules.values()),
        expansions=expansions,
        algorithm=algorithm,
    )


def _check_language(fields: Fields) -> None:
    version = fields.raw("ruleLanguageVersion")
    path = fields.at("ruleLanguageVersion")
    if version == 1.0 and not isinstance(version, bool):
        fields.findings.warning(path, f'is a number; write "{LANGUAGE}" in quotes')
    elif version is None:
        fields.findings.error(path, f'is missing; give it "{LANGUAGE}"')
    elif version != LANGUAGE:
        fields.findings.error(path, f'must be "{LANGUAGE}", got {excerpt(version)}')


# Attributes


def _read_attributes(fields: Fields) -> tuple[PlayerAttribute, ...]:
    attributes: dict[str, PlayerAttribute] = {}
    for each in fields.objects("playerAttributes"):
        name = each.text("name", is_needed=True)
        kind = each.word("type", ATTRIBUTE_KINDS)
        default = _read_default(each, kind)
        each.end("a player attribute")
        if name in attributes:
            each.findings.error(each.at("name"), f"declares {name!r} again; delete one of the two")
        elif "]" in name or name != name.strip():
            message = "must have no ] and no blanks around it, or no expression can name it"
            each.findings.error(each.at("name"), f"{message}, got {excerpt(name)}")
        elif len(ticket_name(name)) > ATTRIBUTE_NAME_MAX:
            message = f"must make a name of at most {ATTRIBUTE_NAME_MAX} characters in tickets"
            each.findings.error(each.at("name"), f"{message}, got {excerpt(ticket_name(name))}")
        attributes.setdefault(name, PlayerAttribute(name=name, type=kind, default=default))
    return tuple(attributes.values())


def _read_default(fields: Fields, kind: AttributeType) -> AttributeValue | None:
    if kind == "number":
        number = fields.number("default")
        if number is not None:
            _check_number(number, fields.at("default"), fields.findings)
        return number
    if kind == "string":
        return fields.text("default") if fields.has("default") else None
    if kind == "string_list":
        if not fields.has("default"):
            return None
        return tuple(dict.fromkeys(text for text, _ in fields.texts("default")))
    return _read_map(fields, fields.raw("default"))


def _read_map(fields: Fields, raw: Json) -> dict[str, float] | None:
    if raw is None:
        return None
    path = fields.at("default")
    if not isinstance(raw, dict):
        fields.findings.error(path, f"must be an object of numbers, got {excerpt(raw)}")
        return None
    numbers: dict[str, float] = {}
    for key, value in raw.items():
        number = number_of(value)
        if number is None:
            fields.findings.error(child_path(path, key), f"must be a number, got {excerpt(value)}")
        else:
            _check_number(number, child_path(path, key), fields.findings)
            numbers[key] = number
    return numbers


def _check_number(number: float, path: str, findings: FindingList) -> None:
    """Refuse a default that no ticket could have as its own value."""
    if abs(number) > LARGEST:
        findings.error(path, f"must be a number from -1e15 to 1e15, got {excerpt(number)}")


# Teams


def _read_teams(fields: Fields) -> tuple[TeamDefinition, ...]:
    objects = fields.objects("teams", is_needed=True)
    if fields.raw("teams") == []:
        fields.findings.error(fields.at("teams"), "must have at least one team")
    teams: list[TeamDefinition] = []
    names: set[str] = set()
    for each in objects:
        team = TeamDefinition(
            name=each.text("name", is_needed=True),
            players_min=each.whole("minPlayers", 0, PLAYERS_MAX),
            players_max=each.whole("maxPlayers", 1, PLAYERS_MAX),
            quantity=each.whole("quantity", 1, PLAYERS_MAX, default=1),
        )
        each.end("a team")
        _check_team(each, team, names)
        names |= {team.name, *team.names()}
        teams.append(team)
    return tuple(teams)


def _check_team(fields: Fields, team: TeamDefinition, names: set[str]) -> None:
    again = names & {team.name, *team.names()}
    if team.name and again:
        message = f"makes a team {min(again)!r} that there is already; give it another name"
        fields.findings.error(fields.at("name"), message)
    if any(sign in team.name for sign in "[],*") or team.name != team.name.strip():
        message = "must have none of [ ] , * and no blanks around it, or no expression can name it"
        fields.findings.error(fields.at("name"), f"{message}, got {excerpt(team.name)}")
    if len(team.names()[-1]) > TEAM_NAME_MAX:
        message = f"must make names of at most {TEAM_NAME_MAX} characters"
        fields.findings.error(fields.at("name"), f"{message}, got {team.names()[-1]!r:.80}")
    if team.players_min > team.players_max and fields.has("maxPlayers"):
        message = f"must be at most maxPlayers = {team.players_max}, got {team.players_min}"
        fields.findings.error(fields.at("minPlayers"), message)


def _check_size(fields: Fields, rule_set: RuleSet) -> bool:
    """Report AWS's limits on the number of players; return whether a match may be so large."""
    players = sum(each.players_max * each.quantity for each in rule_set.teams)
    path = fields.at("teams")
    if players > PLAYERS_MAX:
        message = f"have {players:,} players in sum of maxPlayers; at most {PLAYERS_MAX} can play"
        fields.findings.error(path, message)
    elif players > SMALL_MATCH_MAX and rule_set.algorithm.strategy != "balanced":
        fields.findings.warning(
            path,
            f"have {players} players, and AWS takes more than {SMALL_MATCH_MAX} only with the "
            "algorithm's strategy balanced and a balancedAttribute",
        )
    elif rule_set.algorithm.strategy == "balanced" and players <= SMALL_MATCH_MAX:
        fields.findings.warning(
            child_path(fields.at("algorithm"), "strategy"),
            f"is balanced, which AWS intends for more than {SMALL_MATCH_MAX} players; these teams "
            f"have {players}",
        )
    return players <= PLAYERS_MAX


# Algorithm


def _read_algorithm(fields: Fields, attributes: tuple[PlayerAttribute, ...]) -> Algorithm:
    raw = fields.raw("algorithm")
    if raw is None:
        return Algorithm()
    if not isinstance(raw, dict):
        fields.findings.error(fields.at("algorithm"), f"must be an object, got {excerpt(raw)}")
        return Algorithm()
    own = Fields(raw, fields.at("algorithm"), fields.findings)
    strategy = own.word("strategy", STRATEGIES, "exhaustiveSearch")
    is_large = strategy == "balanced"
    algorithm = Algorithm(
        strategy=strategy,
        batching=own.word(
            "batchingPreference", BATCHINGS, "largestPopulation" if is_large else "random"
        ),
        sort_by=tuple(text for text, _ in own.texts("sortByAttributes")),
        balanced_attribute=own.text("balancedAttribute", is_needed=is_large),
        age=own.word("expansionAgeSelection", ("newest", "oldest"), "newest"),
        backfill_priority=own.word("backfillPriority", BACKFILL_PRIORITIES, "normal"),
    )
    _check_algorithm(own, algorithm, {each.name: each.type for each in attributes})
    own.end("an algorithm")
    return algorithm


def _check_algorithm(fields: Fields, algorithm: Algorithm, types: dict[str, AttributeType]) -> None:
    findings = fields.findings
    name = algorithm.balanced_attribute
    if name and types.get(name) != "number":
        message = f"must be a declared attribute of type number, got {excerpt(name)}"
        hint = findings.hint(name, [each for each, kind in types.items() if kind == "number"])
        findings.error(fields.at("balancedAttribute"), f"{message}{hint}")
    for text, path in fields.texts("sortByAttributes"):
        if text not in types:
            message = f"names the attribute {text!r}, which playerAttributes does not declare"
            findings.error(path, f"{message}{findings.hint(text, types)}")
    is_large = algorithm.batching in ("largestPopulation", "fastestRegion")
    if is_large != (algorithm.strategy == "balanced"):
        allowed = "random or sorted" if is_large else "largestPopulation or fastestRegion"
        message = f"goes with another strategy; with {algorithm.strategy} it is {allowed}"
        findings.warning(fields.at("batchingPreference"), message)
    if algorithm.batching == "sorted" and not algorithm.sort_by:
        message = "is missing though batchingPreference is sorted; list attributes"
        findings.warning(fields.at("sortByAttributes"), message)
