"""A plain, slow reading of PlayFab queues: which matches are legal, when, and by which rule not.

It reads the JSON itself and shares no code with the fast implementation. A match is legal at a time
if the whole match satisfies every rule, as it is at the wait of each ticket.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

from evenmatch.model.ticket import LATENCY

Json = dict[str, Any]
LISTS = {
    "StringEqualityRules": "StringEqualityRule",
    "DifferenceRules": "DifferenceRule",
    "SetIntersectionRules": "SetIntersectionRule",
    "MatchTotalRules": "MatchTotalRule",
    "TeamDifferenceRules": "TeamDifferenceRule",
}
LAST = re.compile(r"[^.\[\]'\"$]+")
TYPES: dict[str, tuple[type, ...]] = {
    "StringEqualityRule": (str,),
    "SetIntersectionRule": (list, tuple),
}
"""Types of the attributes that are not numbers."""
SINGLE = ("RegionSelectionRule", "TeamSizeBalanceRule", "TeamTicketSizeSimilarityRule")


class PlainTicket(NamedTuple):
    """A ticket: its players are their attributes, with latencies under `latency`."""

    id: str
    at: float
    players: tuple[Json, ...]


Teams = Sequence[Sequence[PlainTicket]]
Instants = list[tuple[float, float]]


def rules_of(queue: Json) -> list[tuple[str, Json]]:
    """Return the rules of a queue with their types."""
    found = [(rule["Type"], rule) for rule in queue.get("Rules") or ()]
    for key, kind in LISTS.items():
        found += [(kind, rule) for rule in queue.get(key) or ()]
    return found + [(kind, queue[kind]) for kind in SINGLE if queue.get(kind)]


def expansion_of(rule: Json) -> tuple[str, Json]:
    """Return the kind of a rule's expansion, Linear or Custom, and its object; "" for none."""
    if rule.get("LinearExpansion"):
        return "Linear", rule["LinearExpansion"]
    if rule.get("CustomExpansion"):
        return "Custom", rule["CustomExpansion"]
    given = rule.get("Expansion") or {}
    kind = given.get("Type", "Custom" if any("Overrides" in k for k in given) else "Linear")
    return (kind, given) if given else ("", {})


def value_of(rule: Json, key: str, base: Any, wait: float) -> Any:
    """Return a number of a rule after a wait; None if the rule is not active."""
    kind, expansion = expansion_of(rule)
    if not kind:
        return base
    interval = int(wait // expansion["SecondsBetweenExpansions"])
    if kind == "Custom":
        overrides = expansion.get(f"{key}Overrides")
        if overrides is None:
            return base
        value = overrides[min(interval, len(overrides) - 1)]
        return value.get("Value") if isinstance(value, dict) else value
    delta, limit = exact(expansion["Delta"]), expansion.get("Limit")
    # A value beyond its limit from the start stays there: the expansion never begins.
    if key == "MinIntersectionSize":
        least = 0 if limit is None else limit
        return base if base <= least else max(base - interval * delta, least)
    most = math.inf if limit is None else exact(limit)
    return base if exact(base) >= most else min(exact(base) + interval * delta, most)


def exact(number: float) -> Fraction:
    """Return the exact number of a decimal."""
    return Fraction(str(number))


def changes_of(queue: Json) -> set[float]:
    """Return the waits at which something may change."""
    waits = {0.0}
    for _, rule in rules_of(queue):
        if rule.get("SecondsUntilOptional") is not None:
            waits.add(float(rule["SecondsUntilOptional"]))
        _, expansion = expansion_of(rule)
        if expansion:
            every = expansion["SecondsBetweenExpansions"]
            waits |= {float(every * n) for n in range(1, 40)}
    return waits


def legal_instants(queue: Json, teams: Teams) -> Instants:
    """Return the half-open intervals in which a match is legal, from its last arrival on."""
    tickets = [ticket for team in teams for ticket in team]
    newest = max(ticket.at for ticket in tickets)
    ends = sorted({ticket.at + wait for ticket in tickets for wait in changes_of(queue)})
    starts = [newest, *[end for end in ends if end > newest]]
    found: Instants = []
    for start, end in zip(starts, [*starts[1:], math.inf], strict=True):
        if is_legal(queue, teams, start):
            if found and found[-1][1] == start:
                found[-1] = (found[-1][0], end)
            else:
                found.append((start, end))
    return found


def is_legal(queue: Json, teams: Teams, now: float) -> bool:
    """Return whether a match is legal at an instant."""
    return not objections(queue, teams, now)


def objections(queue: Json, teams: Teams, now: float) -> list[str]:
    """Return in words why a match is illegal at an instant; nothing if it is legal."""
    tickets = [ticket for team in teams for ticket in team]
    wrong = [] if sizes_fit(queue, teams) else ["the sizes of the match or its teams do not fit"]
    if len(tickets) < 2:
        wrong.append("a match needs two tickets")
    most = ticket_max(queue)
    wrong += [f"{t.id} has no players" for t in tickets if not t.players]
    wrong += [
        f"{t.id} has {len(t.players)} players, a ticket has {most} at most"
        for t in tickets
        if len(t.players) > most
    ]
    wrong += [f"{t.id} lacks what a rule compares" for t in tickets if not _brings(queue, t)]
    wrong += _odd_types(queue, tickets)
    if wrong:
        return wrong
    for kind, rule in rules_of(queue):
        for ticket in tickets:
            wait = now - ticket.at
            optional = rule.get("SecondsUntilOptional")
            if optional is not None and wait >= optional:
                continue
            if not holds(queue, kind, rule, teams, wait):
                wrong.append(f"{rule['Name']} does not hold for {ticket.id}, who waits {wait:g} s")
                break
    return wrong


def _odd_types(queue: Json, tickets: Sequence[PlainTicket]) -> list[str]:
    """Return which rules read something that is not of the type that they compare."""
    return [
        f"{rule['Name']}: an attribute is not of the type that it compares"
        for kind, rule in rules_of(queue)
        if "Attribute" in rule
        and any(
            not isinstance(value, TYPES.get(kind, (int, float)))
            for ticket in tickets
            for player in ticket.players
            if (value := player_value(rule, player)) is not None
        )
    ]


def ticket_max(queue: Json) -> int:
    """Return how many players a ticket may have: never as many as the largest match."""
    return min(int(queue.get("MaxTicketSize", 100)), int(queue["MaxMatchSize"]) - 1)


def sizes_fit(queue: Json, teams: Teams) -> bool:
    """Return whether a match and its teams have numbers of players that a queue allows."""
    sizes = [sum(len(ticket.players) for ticket in team) for team in teams]
    if not queue["MinMatchSize"] <= sum(sizes) <= queue["MaxMatchSize"]:
        return False
    given = queue.get("Teams") or ()
    return all(
        team["MinTeamSize"] <= size <= team["MaxTeamSize"]
        for team, size in zip(given, sizes, strict=False)
    )


def is_admitted(queue: Json, ticket: PlainTicket) -> bool:
    """Return whether a ticket may queue at all."""
    size = len(ticket.players)
    most = max([t["MaxTeamSize"] for t in queue.get("Teams") or ()] or [queue["MaxMatchSize"]])
    if size > min(ticket_max(queue), most):
        return False
    return _brings(queue, ticket)


def _brings(queue: Json, ticket: PlainTicket) -> bool:
    """Return whether the players of a ticket have what the rules of a queue require."""
    for kind, rule in rules_of(queue):
        if kind == "RegionSelectionRule":
            if not all(player.get(LATENCY) for player in ticket.players):
                return False
        elif "Attribute" in rule and kind != "MatchTotalRule":
            behaviour = rule.get("AttributeNotSpecifiedBehavior")
            is_free = behaviour == "MatchAny" or "DefaultAttributeValue" in rule
            if not is_free and any(player_value(rule, player) is None for player in ticket.players):
                return False
    return True


def key_of(path: str, source: str) -> str:
    """Return under which key a player has an attribute that shares its path or its last part."""
    return f"{source.strip().lower()} {path}"


def player_value(rule: Json, player: Json) -> Any:
    """Return what a rule reads of a player; None if there is nothing to read.

    Where a player has a key of the attribute's path and source together, this decides.
    """
    given = rule["Attribute"]
    path, source = (given, None) if isinstance(given, str) else (given["Path"], given.get("Source"))
    value = player.get(path, player.get(LAST.findall(path)[-1] if LAST.search(path) else path))
    value = player.get(key_of(path, source or "User"), value)
    if value is None and rule.get("AttributeNotSpecifiedBehavior") != "MatchAny":
        return rule.get("DefaultAttributeValue")
    return value


def holds(queue: Json, kind: str, rule: Json, teams: Teams, wait: float) -> bool:
    """Return whether a match satisfies a rule, as the rule is after a wait."""
    if kind == "TeamTicketSizeSimilarityRule":
        return _tickets_are_alike(queue, teams)
    return HOLDS[kind](rule, teams, wait)


def _words_are_equal(rule: Json, teams: Teams, wait: float) -> bool:
    if not value_of(rule, "Enabled", True, wait):
        return True
    return len({player_value(rule, player) for player in _players(teams)} - {None}) <= 1


def _parties_are_near(rule: Json, teams: Teams, wait: float) -> bool:
    limit = value_of(rule, "Difference", rule["Difference"], wait)
    merged = [merge(rule, ticket) for team in teams for ticket in team]
    known = [value for value in merged if value is not None]
    return limit is None or all(
        abs(a - b) <= exact_or_inf(limit) for a, b in combinations(known, 2)
    )


def _sets_share(rule: Json, teams: Teams, wait: float) -> bool:
    least = value_of(rule, "MinIntersectionSize", rule["MinIntersectionSize"], wait)
    values = [player_value(rule, player) for player in _players(teams)]
    sets = [set(words) for words in values if words is not None]
    return not least or not sets or len(set.intersection(*sets)) >= least


def _total_fits(rule: Json, teams: Teams, wait: float) -> bool:
    least = value_of(rule, "Min", rule["Min"], wait)
    most = value_of(rule, "Max", rule["Max"], wait)
    total = sum(exact(player_value(rule, player) or 0) for player in _players(teams))
    return least is None or most is None or exact(least) <= total <= exact(most)


def _a_region_is_near(rule: Json, teams: Teams, wait: float) -> bool:
    limit = value_of(rule, "MaxLatency", rule["MaxLatency"], wait)
    latencies = [player[LATENCY] for player in _players(teams)]
    regions = set.intersection(*map(set, latencies))
    return limit is None or any(all(ms[region] <= limit for ms in latencies) for region in regions)


def _teams_are_near(rule: Json, teams: Teams, wait: float) -> bool:
    limit = value_of(rule, "Difference", rule["Difference"], wait)
    if limit is None:
        return True
    values = [[v for t in team for v in _numbers(rule, t)] for team in teams]
    if not all(values) and rule.get("AttributeNotSpecifiedBehavior") != "MatchAny":
        return False
    means = [sum(each) / len(each) for each in values if each]
    return not means or bool(max(means) - min(means) <= exact_or_inf(limit))


def _teams_are_as_large(rule: Json, teams: Teams, wait: float) -> bool:
    limit = value_of(rule, "Difference", rule["Difference"], wait)
    totals = [sum(len(ticket.players) for ticket in team) for team in teams]
    return limit is None or max(totals) - min(totals) <= limit


def _tickets_are_alike(queue: Json, teams: Teams) -> bool:
    """Return whether all teams have a ticket of at least half the largest team, or none has."""
    largest = max(team["MaxTeamSize"] for team in queue["Teams"])
    large = [any(2 * len(ticket.players) >= largest for ticket in team) for team in teams]
    return all(large) or not any(large)


HOLDS: dict[str, Callable[[Json, Teams, float], bool]] = {
    "StringEqualityRule": _words_are_equal,
    "DifferenceRule": _parties_are_near,
    "SetIntersectionRule": _sets_share,
    "MatchTotalRule": _total_fits,
    "RegionSelectionRule": _a_region_is_near,
    "TeamDifferenceRule": _teams_are_near,
    "TeamSizeBalanceRule": _teams_are_as_large,
}
"""Whether a match satisfies a rule of each kind after a wait."""


def _players(teams: Teams) -> list[Json]:
    """Return the players of a match."""
    return [player for team in teams for ticket in team for player in ticket.players]


def exact_or_inf(limit: Any) -> Any:
    """Return a limit exactly; an infinite one stays as it is."""
    return limit if isinstance(limit, Fraction) or limit == math.inf else exact(limit)


def _numbers(rule: Json, ticket: PlainTicket) -> list[Fraction]:
    """Return the numbers of a ticket's players for a rule, without those who have none."""
    return [exact(v) for p in ticket.players if (v := player_value(rule, p)) is not None]


def merge(rule: Json, ticket: PlainTicket) -> Fraction | None:
    """Return the number of a party for a rule; None if no player of it has one."""
    values = _numbers(rule, ticket)
    if not values:
        return None
    how = rule.get("MergeFunction", "Average")
    if how == "Average":
        return Fraction(sum(values), len(values))
    return min(values) if how == "Min" else max(values)
