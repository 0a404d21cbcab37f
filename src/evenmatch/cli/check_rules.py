"""`evenmatch check rules.json`: are rules of another matchmaker sound, and are matches legal?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from evenmatch.errors import ConfigError
from evenmatch.model.ticket import LATENCY
from evenmatch.model.ticket_names import declared_name
from evenmatch.rules.findings import Finding
from evenmatch.rules.flexmatch.checker.judgement import objections_to
from evenmatch.rules.flexmatch.checker.match import (
    CandidateMatch,
    CandidatePlayer,
    CandidateTicket,
)
from evenmatch.rules.flexmatch.reader import read_rule_set
from evenmatch.rules.flexmatch.rule_set import RuleSet
from evenmatch.rules.playfab.checker import Json, PlainTicket, key_of, objections
from evenmatch.rules.playfab.compile import attributes_of
from evenmatch.rules.playfab.plain_form import plain_form
from evenmatch.rules.playfab.queue import RuleAttribute
from evenmatch.rules.playfab.reader import is_playfab_text, read_source

PROBLEMS_MAX = 20
"""Problems of a file that are printed; the rest is counted."""
BAD_INPUT = 2
LINE = (
    'a line is {"match": ..., "at": ..., "teams": {TEAM: [{"id": ..., "enqueued_at": ..., '
    '"players": [{"id": ..., "attributes": {...}}]}]}}'
)
"""What a line of a file of matches looks like; those of `simulate` have no attributes."""


class MatchToCheck(CandidateMatch, frozen=True, kw_only=True):
    """A line of a file of matches: its name, when it is made, and who is in it.

    `queue` is the name of its PlayFab queue, where a file has several.
    """

    match: str
    at: float
    queue: str = ""


Judge = Callable[[MatchToCheck], list[str]]
"""What is wrong with a match."""


def check_rules(path: Path, matches: Path | None) -> int:
    """Say what is wrong or odd in a rule set, or which matches are not legal by it.

    Returns:
        The exit code: 2 if the rule set has errors, 1 if a match is not legal.

    Raises:
        ConfigError: A file cannot be read.
    """
    text = _bytes_of(path)
    if is_playfab_text(text):
        return _check_queues(path, text, matches)
    rule_set, findings = read_rule_set(text)
    if rule_set is None:
        _say(path, [each for each in findings if each.level == "error"])
        return BAD_INPUT
    if matches is not None:

        def by_rule_set(line: MatchToCheck) -> list[str]:
            match = _with_declared_names(line, rule_set)
            return [str(each) for each in objections_to(rule_set, match, line.at)]

        return _check_matches(path, by_rule_set, matches)
    print(f"{path} is a valid FlexMatch rule set: {_extent(rule_set)}.")
    _say_findings(findings)
    return 0


def _with_declared_names(match: CandidateMatch, rule_set: RuleSet) -> CandidateMatch:
    """Return a match whose players have attributes by their names in tickets by the declared."""
    declared = {each.name for each in rule_set.attributes}

    def renamed(player: CandidatePlayer) -> CandidatePlayer:
        others = {declared_name(e): v for e, v in player.attributes.items() if e not in declared}
        return replace(player, attributes=others | dict(player.attributes))

    teams = {
        team: tuple([replace(e, players=tuple(map(renamed, e.players))) for e in tickets])
        for team, tickets in match.teams.items()
    }
    return CandidateMatch(teams=teams)


def _check_queues(path: Path, text: bytes, matches: Path | None) -> int:
    """Say what is wrong or odd in PlayFab queues."""
    source = read_source(text)
    queues, findings = source.queues, source.findings
    if not queues:
        _say(path, [each for each in findings if each.level == "error"])
        return BAD_INPUT
    if matches is not None:
        plain = {each.name: (attributes_of(each), plain_form(each)) for each in queues}
        return _check_matches(path, lambda line: _against_queues(plain, line), matches)
    for queue in queues:
        least, most = queue.players_min, queue.players_max
        players = f"{most}" if least == most else f"{least} to {most}"
        teams = f"{len(queue.teams)} teams, " if queue.teams else ""
        rules = f"{len(queue.rules)} rule{'s'[: len(queue.rules) != 1]}"
        print(f"{path} has the PlayFab queue {queue.name}: {players} players, {teams}{rules}.")
    _say_findings(findings)
    return 0


def _say_findings(findings: Sequence[Finding]) -> None:
    if findings:
        print()
    for finding in findings:
        print(f"{finding.level}: line {finding.line}, {finding.path} {finding.message}")


def _say(path: Path, errors: list[Finding]) -> None:
    for error in errors[:PROBLEMS_MAX]:
        print(f"evenmatch: {path}:{error.line}: {error.path} {error.message}", file=sys.stderr)
    if (more := len(errors) - PROBLEMS_MAX) > 0:
        print(f"evenmatch: {path}: and {more:,} more", file=sys.stderr)


def _extent(rule_set: RuleSet) -> str:
    teams = rule_set.scope.all_teams()
    # Nobody makes no match, even if each team may be empty.
    least = max(1, sum(each.players_min * each.quantity for each in rule_set.teams))
    most = sum(each.players_max * each.quantity for each in rule_set.teams)
    players = f"{most}" if least == most else f"{least} to {most}"
    counts = [
        f"{len(things)} {name}{'' if len(things) == 1 else 's'}"
        for name, things in (
            ("team", teams), ("rule", rule_set.rules), ("expansion", rule_set.expansions)
        )
    ]  # fmt: skip
    return f"{players} player{'s'[: most != 1]}, {', '.join(counts)}"


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from None


def _against_queues(
    queues: Mapping[str, tuple[Mapping[str, RuleAttribute], Json]], line: MatchToCheck
) -> list[str]:
    """Return what is wrong with a match of a PlayFab queue."""
    name = line.queue or next(iter(queues))
    if name not in queues or (not line.queue and len(queues) > 1):
        return [f"queue must be one of {', '.join(queues)}, got {line.queue!r:.80}"]
    known, queue = queues[name]
    names = [team["Name"] for team in queue.get("Teams") or ()] or [*line.teams][:1]
    if unknown := [each for each in line.teams if each not in names]:
        return [f"the queue {name} has the teams {', '.join(names)}, and no {unknown[0]}"]
    players = [player.id for ticket in line.tickets() for player in ticket.players]
    for what, ids in (("ticket", [each.id for each in line.tickets()]), ("player", players)):
        if double := next((each for each in ids if ids.count(each) > 1), None):
            return [f"the {what} {double} is in it twice"]
    teams = [[_plain_ticket(each, known) for each in line.teams.get(team, ())] for team in names]
    born = [ticket.enqueued_at for ticket in line.tickets()]
    if not born or line.at < max(born):
        return ["a match must have tickets, and none that comes later than it is made"]
    return objections(queue, teams, line.at)


def _plain_ticket(candidate: CandidateTicket, known: Mapping[str, RuleAttribute]) -> PlainTicket:
    """Return a ticket whose players have each attribute by its path and source, too."""
    players = []
    for player in candidate.players:
        given: Json = dict(player.attributes)
        by_path = {path: value for path, value in given.items() if path not in known}
        for name, each in known.items():
            given[key_of(each.path, each.source)] = given.get(name, by_path.get(each.path))
        players.append({**given, LATENCY: player.latencies or {}})
    return PlainTicket(candidate.id, candidate.enqueued_at, tuple(players))


def _check_matches(path: Path, judge: Judge, matches: Path) -> int:
    count, problems = 0, 0
    for line_problems in _judged(judge, matches):
        count += 1
        for problem in line_problems:
            problems += 1
            if problems <= PROBLEMS_MAX:
                print(f"{matches}: {problem}", file=sys.stderr)
    if problems:
        often = "once" if problems == 1 else f"{problems:,} times"
        print(f"{matches} breaks {path} {often}.", file=sys.stderr)
        return 1
    legal = "1 match is" if count == 1 else f"{count:,} matches are"
    print(f"{matches}: {legal} legal by {path}.")
    return 0


def _judged(judge: Judge, matches: Path) -> Iterator[list[str]]:
    """Yield what is wrong with each match of a file; no ticket is in two of them."""
    decoder = msgspec.json.Decoder(MatchToCheck)
    seen: dict[str, int] = {}
    for number, text in enumerate(_bytes_of(matches).splitlines(), 1):
        if not text.strip():
            continue
        try:
            line = decoder.decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            yield [f"line {number}: not a match to check: {error}; {LINE}"]
            continue
        problems = judge(line)
        for ticket in line.tickets():
            before = seen.setdefault(ticket.id, number)
            if before != number:
                problems.append(f"the ticket {ticket.id} was in line {before} already")
        yield [f"line {number}: match {line.match}: {each}" for each in problems]
