"""`ruleEvaluationMetrics`: how many matches each rule of a rule set passed and turned down.

The search itself counts nothing: it works with bounds and columns, in which most matches that a
rule forbids are never built. So a few matches around the one in question are judged in full:

- of a match: the match itself, and those in which one other ticket that waits takes the place of
  its newest ticket of that size;
- of a ticket that ended without a match: the ticket with those who wait longest, and with those
  behind them.

Each is judged at the instant of the event, by every rule. The counts say which rules are in the
way; they are no count of what the search has done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from evenmatch.model.ticket import Player, Ticket
from evenmatch.rules.flexmatch.checker.judgement import rules_passed
from evenmatch.rules.flexmatch.checker.match import (
    CandidateMatch,
    CandidatePlayer,
    CandidateTicket,
    fault_of_match,
)
from evenmatch.rules.flexmatch.rule_set import RuleSet
from evenmatch.server.gamelift.players import apart

TRIALS = 5
"""Matches that are judged for one event at the most."""
WORK = 400
"""Players times rules that are judged for one event; a match of more is the only one."""

Teams = dict[str, list[Ticket]]
Metrics = list[dict[str, str | int]]


def metrics_of_match(
    rule_set: RuleSet, teams: Teams, waiting: Iterable[Ticket], now: float
) -> Metrics:
    """Return the counts around a match.

    Args:
        rule_set: Of its configuration.
        teams: Its tickets by the names of the teams.
        waiting: Other tickets, longest waiting first.
        now: Engine time.

    Complexity:
        `TRIALS` runs of the plain checker, which is O(players * values * rules).
    """
    return _counted(rule_set, _around(teams, waiting), now)


def metrics_of_ticket(
    rule_set: RuleSet, ticket: Ticket, waiting: Sequence[Ticket], now: float
) -> Metrics:
    """Return the counts around a ticket that ended without a match; see `metrics_of_match`."""
    return _counted(rule_set, _with(rule_set, ticket, waiting), now)


def _counted(rule_set: RuleSet, matches: Iterator[Teams], now: float) -> Metrics:
    counts = {rule.name: [0, 0] for rule in rule_set.rules}
    done = 0
    for trial, teams in enumerate(matches):
        done += sum(t.size for team in teams.values() for t in team) * len(rule_set.rules)
        if trial and (trial >= TRIALS or done > WORK):
            break
        candidate = CandidateMatch(
            teams={name: tuple(map(_candidate, team)) for name, team in teams.items()}
        )
        if fault_of_match(rule_set, candidate) is not None:
            continue  # The rule set was changed since, and needs what these players do not have.
        for name, holds in rules_passed(rule_set, candidate, now).items():
            counts[name][not holds] += 1
    return [
        {"ruleName": name, "passedCount": passed, "failedCount": failed}
        for name, (passed, failed) in counts.items()
    ]


def _around(teams: Teams, waiting: Iterable[Ticket]) -> Iterator[Teams]:
    """Yield a match, and those with one other ticket in it."""
    yield teams
    places = [(name, ticket) for name, team in teams.items() for ticket in team]
    places.sort(key=lambda place: place[1].age_key, reverse=True)
    for other in waiting:
        out = next((place for place in places if place[1].size == other.size), None)
        if out is not None:
            name, left = out
            team = [other if each is left else each for each in teams[name]]
            yield {**teams, name: team}


def _with(rule_set: RuleSet, ticket: Ticket, waiting: Sequence[Ticket]) -> Iterator[Teams]:
    """Yield matches of a ticket and those who wait, each beginning further behind."""
    for first in range(len(waiting)):
        teams: Teams = {name: [] for team in rule_set.teams for name in team.names()}
        free = {name: team.players_max for team in rule_set.teams for name in team.names()}
        least = sum(team.players_min * len(team.names()) for team in rule_set.teams)
        for each in (ticket, *waiting[first:]):
            name = max(free, key=lambda team: free[team])
            if each.size <= free[name]:
                teams[name].append(each)
                free[name] -= each.size
                least -= each.size
            if least <= 0:
                break
        if sum(map(len, teams.values())) > 1:
            yield teams


def _candidate(ticket: Ticket) -> CandidateTicket:
    return CandidateTicket(
        id=ticket.id,
        players=tuple(map(_player, ticket.players)),
        enqueued_at=ticket.enqueued_at,
    )


def _player(player: Player) -> CandidatePlayer:
    attributes, latencies = apart(player)
    return CandidatePlayer(id=player.id, attributes=attributes, latencies=latencies)
