"""The entry point: from the text of one or several PlayFab queues to values, with all errors.

A text may be a queue, a list of queues, an answer of PlayFab's API, or a piece of its guide: in
`MatchmakingQueue` or not, with or without braces around that. With an error there are no queues.
Text that PlayFab would refuse although its meaning is plain is accepted with a warning.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evenmatch.errors import ConfigError
from evenmatch.rules.fields import Fields
from evenmatch.rules.findings import Finding, FindingList, child_path, excerpt
from evenmatch.rules.json_text import Json, NotJson, read_json
from evenmatch.rules.playfab.queue import (
    PlayFabQueue,
    PlayFabRule,
    QueueTeam,
    TeamDifferenceRule,
    ages_of,
)
from evenmatch.rules.playfab.rule_reader import NAME, PLAYERS_MAX, RuleReader

CHARACTERS_MAX = 1_000_000
QUEUES_MAX = 100
AGES_MAX = 1_000
"""Most ages at which the rules of a queue may change: a second of work for a matcher."""
PAIRS_MAX = 20_000
"""Most pairs of teams that rules with `MatchAny` compare, each at every age: a second, too."""
TEAM_PLAYERS_MAX = 32
"""Most players of a match of teams, according to PlayFab's documentation."""
NAME_MAX = 64
WRAPPERS = ("MatchmakingQueue", "MatchmakingQueueConfig")
LISTS = ("MatchMakingQueues", "MatchmakingQueues", "Queues")
SIZES = ("MinMatchSize", "MaxMatchSize")
BARE = re.compile(
    r'(?:[\s\ufeff]|//[^\n]*\n|/\*.*?\*/)*"(?:Matchmaking|MatchMaking)\w+"\s*:', re.DOTALL
)
"""A piece of a page: a key and its value, without braces around them."""


def read_queues(text: str | bytes) -> tuple[tuple[PlayFabQueue, ...], tuple[Finding, ...]]:
    """Return the queues of a text, and its errors and oddities.

    Args:
        text: JSON, comments allowed; bytes are UTF-8.

    Returns:
        The queues, none if one of the findings is an error; the findings in the order of the text.

    >>> queues, findings = read_queues('{"Name": "duel", "MinMatchSize": 2}')
    >>> queues, str(findings[0])
    ((), 'error: $.MaxMatchSize (line 1) is missing; give it a number')
    """
    source = read_source(text)
    return source.queues, source.findings


class QueueText(NamedTuple):
    """A text of queues, and its content.

    Args:
        queues: None if there is an error.
        findings: The errors and oddities.
        objects: The queues as JSON, by path, without comments and duplicate keys.
        lines: The line of each path.
    """

    queues: tuple[PlayFabQueue, ...]
    findings: tuple[Finding, ...]
    objects: dict[str, dict[str, Json]]
    lines: dict[str, int]


def read_source(text: str | bytes) -> QueueText:
    """Return the queues of a text, its errors and oddities, and the line of every path."""
    findings = FindingList()
    objects = _objects(_parsed(text, findings), findings)
    queues = tuple([_read(each) for each in objects])
    if not findings.has_error and not queues:
        findings.error("$", "has no queue; write one with Name, MinMatchSize and MaxMatchSize")
    _compare(queues, findings)
    return QueueText(
        () if findings.has_error else queues,
        findings.sorted(),
        {each.path: each.object for each in objects},
        findings.lines,
    )


def load_queues(text: str | bytes) -> tuple[PlayFabQueue, ...]:
    """Return the queues of a text that has no errors.

    Raises:
        ConfigError: There are errors; the message lists them, one per line.
    """
    queues, findings = read_queues(text)
    errors = [each for each in findings if each.level == "error"]
    if errors:
        lines = [f"{each.path} (line {each.line}) {each.message}" for each in errors]
        raise ConfigError("\n".join(lines))
    return queues


def is_playfab(raw: Json) -> bool:
    """Return whether JSON is meant as one or several PlayFab queues, judged by its keys."""
    if isinstance(raw, list):
        return bool(raw) and is_playfab(raw[0])
    if not isinstance(raw, dict):
        return False
    if isinstance(inner := raw.get("data"), dict):
        return is_playfab(inner)
    return any(key in raw for key in (*WRAPPERS, *LISTS, *SIZES))


def is_playfab_text(text: str | bytes) -> bool:
    """Return whether a text is meant as PlayFab queues; one that cannot be read is not."""
    try:
        raw = _parse(text, FindingList())
    except NotJson:
        return False
    return is_playfab(raw)


def _parsed(text: str | bytes, findings: FindingList) -> Json:
    try:
        return _parse(text, findings)
    except NotJson:
        return None


def _parse(text: str | bytes, findings: FindingList) -> Json:
    is_bare = isinstance(text, str) and BARE.match(text)
    if isinstance(text, bytes):
        is_bare = BARE.match(text[:200].decode("utf-8", "replace"))
        text = b"{" + text.removeprefix(b"\xef\xbb\xbf") + b"}" if is_bare else text
    elif is_bare:
        text = "{" + text.removeprefix("\ufeff") + "}"
    raw = read_json(text, findings, characters_max=CHARACTERS_MAX, owner="PlayFab")
    if is_bare:
        findings.warning("$", "has no braces around it; put the whole text into { and }")
    return raw


class _Object(Fields):
    """The object of a queue."""

    def __init__(self, raw: dict[str, Json], path: str, findings: FindingList) -> None:
        super().__init__(raw, path, findings)
        self.object = raw


def _objects(raw: Json, findings: FindingList) -> list[_Object]:
    """Return the objects of queues, in whatever form the text has them."""
    if findings.has_error:
        return []
    found: list[_Object] = []
    for path, value in _unwrapped(raw, "$"):
        if len(found) == QUEUES_MAX:
            findings.error(path, f"is one queue too many: at most {QUEUES_MAX}; split the text")
            break
        if isinstance(value, dict):
            found.append(_Object(value, path, findings))
        else:
            message = "must be a queue, an object with Name, MinMatchSize and MaxMatchSize"
            findings.error(path, f"{message}, got {excerpt(value)}")
    return found


def _unwrapped(raw: Json, path: str) -> Iterator[tuple[str, Json]]:
    if isinstance(raw, list):
        for number, each in enumerate(raw):
            yield from _unwrapped(each, child_path(path, number))
        return
    if isinstance(raw, dict):
        inside = [
            key for key in ("data", *WRAPPERS, *LISTS) if isinstance(raw.get(key), dict | list)
        ]
        if inside:
            for key in inside:
                yield from _unwrapped(raw[key], child_path(path, key))
            return
    yield path, raw


# Queues


def _read(fields: Fields) -> PlayFabQueue:
    findings = fields.findings
    name = fields.text("Name", is_needed=True)
    _check_name(fields, name, NAME_MAX)
    least = fields.whole("MinMatchSize", 2, PLAYERS_MAX)
    most = fields.whole("MaxMatchSize", 2, PLAYERS_MAX)
    ticket_max = fields.whole("MaxTicketSize", 1, PLAYERS_MAX, default=max(1, most - 1))
    if most < least and fields.has("MaxMatchSize"):
        message = f"must be at least MinMatchSize = {least}, got {most}; swap the two"
        findings.error(fields.at("MaxMatchSize"), message)
    teams = _read_teams(fields, least, most)
    rules = RuleReader(fields, has_teams=bool(teams)).rules()
    ages = {age for rule in rules for age in ages_of(rule)}
    if len(ages) > AGES_MAX:
        message = f"changes at {len(ages):,} ages, at most {AGES_MAX:,} are allowed: raise"
        hint = "SecondsBetweenExpansions, let rules share it, or give them a Limit"
        findings.error(fields.path, f"{message} {hint}")
    _check_pairs(fields, rules, len(teams))
    is_allocated = _read_allocation(fields)
    if is_allocated and not any(type(rule).__name__ == "RegionSelectionRule" for rule in rules):
        message = "is true, and PlayFab then needs a RegionSelectionRule; here none is needed"
        findings.warning(fields.at("ServerAllocationEnabled"), message)
    fields.end("a queue")
    return PlayFabQueue(
        name=name,
        players_min=least,
        players_max=most,
        # A ticket that would be a whole match by itself is refused.
        ticket_max=min(ticket_max, most - 1),
        teams=teams,
        rules=rules,
        path=fields.path,
    )


def _check_pairs(fields: Fields, rules: Sequence[PlayFabRule], teams: int) -> None:
    """Refuse rules that compare each two teams, as some may lack the number, at too many ages."""
    ages = sum(
        len(ages_of(rule))
        for rule in rules
        if isinstance(rule, TeamDifferenceRule) and rule.attribute.missing == "any"
    )
    pairs = ages * math.comb(teams, 2)
    if pairs > PAIRS_MAX:
        message = f"compares {pairs:,} pairs of teams over all ages of its TeamDifferenceRules with"
        hint = "give a DefaultAttributeValue in its place, or fewer expansions"
        findings = fields.findings
        findings.error(
            fields.path, f"{message} MatchAny, at most {PAIRS_MAX:,} are allowed: {hint}"
        )


def _check_name(fields: Fields, name: str, most: int) -> None:
    if name and (len(name) > most or not NAME.match(name)):
        message = f"must be 1 to {most} letters, digits, _ and -, a letter or digit first"
        fields.findings.error(fields.at("Name"), f"{message}, got {excerpt(name)}")


def _read_allocation(fields: Fields) -> bool:
    raw = fields.raw("ServerAllocationEnabled")
    if raw is not None and not isinstance(raw, bool):
        message = f"must be true or false, got {excerpt(raw)}"
        fields.findings.error(fields.at("ServerAllocationEnabled"), message)
    fields.text("BuildId")
    for key in ("BuildAliasParams", "StatisticsVisibilityToPlayers"):
        value = fields.raw(key)
        if value is not None and not isinstance(value, dict):
            fields.findings.error(fields.at(key), f"must be an object, got {excerpt(value)}")
    return raw is True


def _read_teams(fields: Fields, least: int, most: int) -> tuple[QueueTeam, ...]:
    teams: list[QueueTeam] = []
    objects = fields.objects("Teams")
    if len(objects) > PLAYERS_MAX:
        message = f"has {len(objects):,} teams; a match of {PLAYERS_MAX} players cannot fill them"
        fields.findings.error(fields.at("Teams"), message)
        return ()
    for each in objects:
        team = QueueTeam(
            name=each.text("Name", is_needed=True),
            players_min=each.whole("MinTeamSize", 0, PLAYERS_MAX),
            players_max=each.whole("MaxTeamSize", 1, PLAYERS_MAX),
        )
        each.end("a team")
        _check_name(each, team.name, NAME_MAX)
        if team.name.lower() in [other.name.lower() for other in teams]:
            message = f"is taken: {team.name!r}; names of teams must differ, not only in case"
            each.findings.error(each.at("Name"), message)
        if team.players_max < team.players_min and each.has("MaxTeamSize"):
            message = f"must be at least MinTeamSize = {team.players_min}"
            each.findings.error(each.at("MaxTeamSize"), f"{message}, got {team.players_max}")
        teams.append(team)
    if teams:
        _check_teams(fields, teams, least, most)
    return tuple(teams)


def _check_teams(fields: Fields, teams: list[QueueTeam], least: int, most: int) -> None:
    findings, at = fields.findings, fields.at("Teams")
    if len(teams) == 1:
        findings.error(at, "must have two teams or more; leave it out for a match without teams")
    fewest = sum([team.players_min for team in teams])
    highest = sum([team.players_max for team in teams])
    if fewest > most:
        message = f"need {fewest} players in sum of MinTeamSize, above MaxMatchSize = {most}"
        findings.error(at, f"{message}; no match can be made, change one of them")
    elif highest < least:
        message = f"have {highest} players in sum of MaxTeamSize, below MinMatchSize = {least}"
        findings.error(at, f"{message}; no match can be made, change one of them")
    if most > TEAM_PLAYERS_MAX:
        message = f"is above {TEAM_PLAYERS_MAX}, the most that PlayFab takes with Teams"
        findings.warning(fields.at("MaxMatchSize"), f"{message}; here it counts, got {most}")


def _compare(queues: Sequence[PlayFabQueue], findings: FindingList) -> None:
    """Report two queues of one name."""
    seen: dict[str, str] = {}
    for queue in queues:
        if queue.name:
            if queue.name in seen:
                message = f"is the name of {seen[queue.name]}, too; queues need names of their own"
                findings.error(child_path(queue.path, "Name"), message)
            seen.setdefault(queue.name, queue.path)
