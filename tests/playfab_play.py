"""Draw PlayFab queues and pools, play them in the engine, and hold that against brute force."""

import math
from collections.abc import Iterator, Sequence
from itertools import product
from random import Random
from typing import Any

import msgspec

from evenmatch.criteria.objective import Objective
from evenmatch.lab.simulate import simulate
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import Scenario
from evenmatch.model.ticket import Player, Ticket
from evenmatch.rules.languages import load_rules
from evenmatch.rules.playfab.checker import (
    Instants,
    Json,
    PlainTicket,
    is_admitted,
    is_legal,
    legal_instants,
)
from tests.flexmatch_play import LATE_MAX

WORDS = ("x", "y", "z")
REGIONS = ("north", "south")
Made = list[tuple[float, list[list[PlainTicket]]]]


def queue_of(text: Json) -> Queue:
    base = Queue("main", on_deadline="keep", policy="by_rules")
    return load_rules(msgspec.json.encode(text)).queue(base)


def ticket_of(given: PlainTicket, sequence: int, queue: Queue) -> Ticket:
    players = tuple(
        [
            Player(f"{given.id}.{number}", attributes=dict(each))
            for number, each in enumerate(given.players)
        ]
    )
    return Ticket(given.id, sequence, given.at, players, ("main",), attributes=dict(queue.defaults))


def played(text: Json, pool: Sequence[PlainTicket]) -> Made:
    """Return the matches that the engine makes of tickets by age, each with its instant."""
    queue = queue_of(text)
    tickets = [ticket_of(each, number, queue) for number, each in enumerate(pool, 1)]
    run = simulate(Scenario(queues=(queue,)), arrivals=tickets)
    by_id = {each.id: each for each in pool}
    return [(row["at"], [[by_id[i] for i in ids] for ids in row["teams"]]) for row in run.matches]


def engine_admits(text: Json, ticket: PlainTicket) -> bool:
    """Return whether the engine takes a ticket."""
    queue = queue_of(text)
    given = ticket_of(ticket, 1, queue)
    return queue.format.admits(len(ticket.players)) and Objective(queue).missing(given) is None


def faults_of_play(text: Json, pool: Sequence[PlainTicket], matches: Made) -> list[str]:
    """Return what is wrong with matches: illegal, late, or left unmade."""
    faults = [
        f"illegal at {at:g}: {teams}" for at, teams in matches if not is_legal(text, teams, at)
    ]
    possible: list[tuple[set[str], Instants]] = []
    for teams in divisions(text, pool):
        if legal := legal_instants(text, teams):
            possible.append(({t.id for team in teams for t in team}, legal))
    gone: set[str] = set()
    before = -math.inf
    for at, made in [*matches, (math.inf, [])]:
        waiting = [legal for ids, legal in possible if not ids & gone]
        first = min([first_from(legal, before) for legal in waiting], default=math.inf)
        if at > first + LATE_MAX:
            faults.append(f"legal from {first:g}, made at {at:g}")
        gone |= {ticket.id for team in made for ticket in team}
        before = at
    return faults


def first_from(legal: Instants, since: float) -> float:
    """Return the first legal instant at or after another."""
    return next((max(start, since) for start, end in legal if end > since), math.inf)


# Drawing


def drawn_queue(rng: Random) -> Json:
    """Return a queue in one of the two forms, with up to three rules."""
    has_teams = rng.random() < 0.6
    queue: Json = {"Name": "main"}
    if has_teams:
        sizes = [(least := rng.randint(1, 2), least + rng.randint(0, 1)) for _ in range(2)]
        if rng.random() < 0.2:
            sizes[1] = (0, 2)
        queue["Teams"] = [
            {"Name": f"t{n}", "MinTeamSize": a, "MaxTeamSize": b} for n, (a, b) in enumerate(sizes)
        ]
        low, high = max(2, sum(a for a, _ in sizes)), sum(b for _, b in sizes)
        queue["MinMatchSize"] = rng.randint(low, max(low, high))
        queue["MaxMatchSize"] = max(queue["MinMatchSize"], high - rng.randint(0, 1))
    else:
        queue["MinMatchSize"] = rng.randint(2, 3)
        queue["MaxMatchSize"] = queue["MinMatchSize"] + rng.randint(0, 2)
    if rng.random() < 0.2:
        queue["MaxTicketSize"] = rng.randint(1, 2)
    kinds = [_string, _difference, _set, _total, _region]
    kinds += [_team_difference, _balance, _similarity] if has_teams else []
    chosen = [(kind.__name__, kind(rng)) for kind in rng.sample(kinds, rng.randint(0, 3))]
    rules = []
    for number, (_, (kind, rule)) in enumerate(chosen):
        rule["Name"] = f"rule{number}"
        if rng.random() < 0.3:
            rule["SecondsUntilOptional"] = rng.choice((0, 3, 7, 20))
        if rng.random() < 0.3:
            rule["Weight"] = rng.choice((0, 1, 2.5))
        rules.append((kind, rule))
    _write(queue, rules, is_typed=rng.random() < 0.5)
    return queue


def _write(queue: Json, rules: list[tuple[str, Json]], *, is_typed: bool) -> None:
    if is_typed:
        queue["Rules"] = [{"Type": kind} | rule for kind, rule in rules]
        return
    for kind, rule in rules:
        expansion = rule.pop("Expansion", None)
        if expansion is not None:
            linear = expansion.pop("Type") == "Linear"
            rule["LinearExpansion" if linear else "CustomExpansion"] = expansion
            if kind in ("StringEqualityRule", "MatchTotalRule"):
                rule["Expansion"] = rule.pop("CustomExpansion")
            for key, values in expansion.items():
                if key.endswith("Overrides") and key != "EnabledOverrides":
                    expansion[key] = [{"Value": value} for value in values]
        if kind in ("RegionSelectionRule", "TeamSizeBalanceRule", "TeamTicketSizeSimilarityRule"):
            queue[kind] = rule
        else:
            queue.setdefault(f"{kind}s", []).append(rule)


def _with_expansion(rng: Random, rule: Json, key: str, values: Sequence[Any], linear: Json) -> None:
    chance = rng.random()
    every = rng.choice((2, 3, 5))
    if chance < 0.35:
        overrides = [rng.choice((*values, None)) for _ in range(rng.randint(1, 4))]
        rule["Expansion"] = {f"{key}Overrides": overrides}
    elif chance < 0.6 and linear:
        rule["Expansion"] = dict(linear)
    else:
        return
    kind = "Linear" if "Delta" in rule["Expansion"] else "Custom"
    rule["Expansion"] |= {"Type": kind, "SecondsBetweenExpansions": every}


def _attribute(rng: Random, path: str, default: Any) -> Json:
    given: Json = {"Attribute": {"Path": path, "Source": "User"}}
    chance = rng.random()
    if chance < 0.3:
        given["AttributeNotSpecifiedBehavior"] = "MatchAny"
    elif chance < 0.7:
        given["DefaultAttributeValue"] = default
        if chance < 0.6:
            given["AttributeNotSpecifiedBehavior"] = "UseDefault"
    return given


def _string(rng: Random) -> tuple[str, Json]:
    rule = _attribute(rng, "mode", "x")
    _with_expansion(rng, rule, "Enabled", (True, True, False), {})
    return "StringEqualityRule", rule


def _difference(rng: Random) -> tuple[str, Json]:
    rule = _attribute(rng, "skill", 1.5) | {"Difference": rng.choice((0, 0.1, 1))}
    rule["MergeFunction"] = rng.choice(("Average", "Min", "Max"))
    linear = {"Delta": rng.choice((0.1, 1)), "Limit": rng.choice((0.2, 2, 3))}
    _with_expansion(rng, rule, "Difference", (0, 0.3, 1, 2), linear)
    return "DifferenceRule", rule


def _set(rng: Random) -> tuple[str, Json]:
    rule = _attribute(rng, "maps", ["x", "y"]) | {"MinIntersectionSize": rng.randint(0, 2)}
    _with_expansion(rng, rule, "MinIntersectionSize", (0, 1, 2), {"Delta": 1})
    return "SetIntersectionRule", rule


def _total(rng: Random) -> tuple[str, Json]:
    rule: Json = {"Attribute": {"Path": "host", "Source": "User"}}
    rule |= {"Min": rng.randint(0, 2), "Max": rng.randint(2, 3)}
    if rng.random() < 0.5:
        every = rng.choice((2, 4))
        expansion: Json = {"Type": "Custom", "SecondsBetweenExpansions": every}
        for key, values in (("Min", (0, 1, 2, None)), ("Max", (2, 3, None))):
            if rng.random() < 0.6:
                expansion[f"{key}Overrides"] = [rng.choice(values) for _ in range(3)]
        if len(expansion) > 2:
            rule["Expansion"] = expansion
    return "MatchTotalRule", rule


def _region(rng: Random) -> tuple[str, Json]:
    rule: Json = {"Path": "Latencies", "MaxLatency": rng.choice((40, 80))}
    linear = {"Delta": 20, "Limit": 110}
    _with_expansion(rng, rule, "MaxLatency", (30, 60, 100), linear)
    return "RegionSelectionRule", rule


def _team_difference(rng: Random) -> tuple[str, Json]:
    rule = _attribute(rng, "skill", 1.5) | {"Difference": rng.choice((0, 0.2, 1))}
    linear = {"Delta": rng.choice((0.1, 0.5)), "Limit": 2}
    _with_expansion(rng, rule, "Difference", (0, 0.5, 2), linear)
    return "TeamDifferenceRule", rule


def _balance(rng: Random) -> tuple[str, Json]:
    rule: Json = {"Difference": rng.randint(0, 1)}
    _with_expansion(rng, rule, "Difference", (0, 1, 2), {"Delta": 1, "Limit": 2})
    return "TeamSizeBalanceRule", rule


def _similarity(rng: Random) -> tuple[str, Json]:
    del rng
    return "TeamTicketSizeSimilarityRule", {}


def drawn_pool(rng: Random, most: int) -> list[PlainTicket]:
    """Return tickets in order of age."""
    at = 0.0
    pool = []
    for number in range(rng.randint(2, most)):
        at += rng.choice((0.0, 0.5, 1.0, 4.0, 11.0))
        size = rng.choice((1, 1, 1, 2, 2, 3))
        players = tuple([_player(rng) for _ in range(size)])
        pool.append(PlainTicket(f"k{number}", at, players))
    return pool


def _player(rng: Random) -> Json:
    told: Json = {
        "latency": {region: float(rng.choice((20, 50, 70, 105))) for region in REGIONS},
        "skill": rng.choice((0.0, 0.3, 1.0, 1.2, 2.0, 3.0)),
        "mode": rng.choice(("x", "x", "y")),
        "maps": tuple(rng.sample(WORDS, rng.randint(1, 3))),
        "host": float(rng.choice((0, 1, 1))),
    }
    for key in tuple(told):
        if rng.random() < 0.12:
            del told[key]
    return told


def admitted(text: Json, pool: Sequence[PlainTicket]) -> list[PlainTicket]:
    """Return the tickets that may queue."""
    return [ticket for ticket in pool if is_admitted(text, ticket)]


def divisions(queue: Json, pool: Sequence[PlainTicket]) -> Iterator[list[list[PlainTicket]]]:
    """Yield every way to put some tickets of a pool into teams that hold them."""
    most = [team["MaxTeamSize"] for team in queue.get("Teams") or ()] or [queue["MaxMatchSize"]]
    for places in product((None, *range(len(most))), repeat=len(pool)):
        teams: list[list[PlainTicket]] = [[] for _ in most]
        for ticket, place in zip(pool, places, strict=True):
            if place is not None:
                teams[place].append(ticket)
        sizes = [sum(len(ticket.players) for ticket in team) for team in teams]
        if any(sizes) and all(size <= limit for size, limit in zip(sizes, most, strict=True)):
            yield teams
