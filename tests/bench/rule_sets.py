"""What FlexMatch rule sets cost: a round of many tickets, a large match, a pair, a condition."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

import msgspec
import numpy as np

from evenmatch.criteria.condition.ages import Conditions
from evenmatch.criteria.rules import Rules
from evenmatch.model.queue import Queue, Rule
from evenmatch.model.ticket import Player, Ticket
from evenmatch.policies.shared.condition_columns import ConditionColumns
from evenmatch.policies.shared.condition_matcher import ConditionMatcher
from evenmatch.policies.shared.condition_round import ConditionRounds, teams_in
from evenmatch.policies.shared.condition_search import ConditionSearch
from evenmatch.policies.shared.ticket_batch import BatchRoster
from evenmatch.rules.flexmatch.compile import compile_rule_set
from evenmatch.rules.flexmatch.reader import load_rule_set
from evenmatch.solvers.teams.batch import Batch
from evenmatch.solvers.teams.solve import anneal
from tests.bench.report import Row, Setting

Table = dict[str, Any]
Teams = Sequence[Sequence[Ticket]]
REGIONS = ("eu", "us", "asia")
GREEDY_BUILDS = 20
EFFORT = 150
"""Evaluations of the solver for each player of a round."""
SKILL = {"name": "skill", "type": "number", "default": 10}

FIVE: Table = {
    "name": "five",
    "ruleLanguageVersion": "1.0",
    "playerAttributes": [SKILL],
    "teams": [
        {"name": "red", "minPlayers": 5, "maxPlayers": 5},
        {"name": "blue", "minPlayers": 5, "maxPlayers": 5},
    ],
    "rules": [
        {
            "name": "NearSkill", "type": "batchDistance", "batchAttribute": "skill",
            "maxDistance": 200,
        },
        {
            "name": "FairTeamSkill", "type": "distance", "maxDistance": 20,
            "measurements": ["avg(teams[*].players.attributes[skill])"],
            "referenceValue": "avg(flatten(teams[*].players.attributes[skill]))",
        },
        {"name": "FastConnection", "type": "latency", "maxLatency": 90},
    ],
}  # fmt: skip
CROWD: Table = {
    "name": "crowd",
    "ruleLanguageVersion": "1.0",
    "playerAttributes": [SKILL],
    "algorithm": {
        "strategy": "balanced", "balancedAttribute": "skill",
        "batchingPreference": "largestPopulation",
    },
    "teams": [{"name": "side", "minPlayers": 100, "maxPlayers": 100, "quantity": 2}],
    "rules": [{"name": "FastConnection", "type": "latency", "maxLatency": 90}],
}  # fmt: skip
SPREAD: Table = FIVE | {
    "teams": [{"name": "one", "minPlayers": 1, "maxPlayers": 1, "quantity": 2}],
    "rules": FIVE["rules"][:1],
}


def run(setting: Setting) -> Iterator[Row]:
    repeats = 2 if setting.quick else 5
    yield from _rounds(1_000, repeats, "<= 0.25", GREEDY_BUILDS // (4 if setting.quick else 1))
    yield from _rounds(10_000, 1 if setting.quick else 3, "<= 5", 0)
    yield from _large(repeats)
    yield from _pairs(repeats)
    yield from _conditions(repeats)


def queue_of(table: Table) -> Queue:
    """Return a queue by a rule set."""
    return compile_rule_set(load_rule_set(json.dumps(table))).queue(Queue(on_deadline="keep"))


def tickets_of(count: int, seed: int, skill: float = 1_000.0) -> list[Ticket]:
    """Return single players with a skill around 1,500 and latencies to three regions."""
    rng, found = random.Random(seed), []
    for number in range(1, count + 1):
        home = rng.randrange(3)
        latency = {
            name: float(round(rng.uniform(15, 80) if at == home else rng.uniform(60, 220)))
            for at, name in enumerate(REGIONS)
        }
        values: dict[str, Any] = {"skill": float(round(rng.gauss(1_500, skill / 3)))}
        player = Player(f"p{number}", None, values | {"latency": latency})
        found.append(Ticket(f"t{number}", number, number / count, (player,), ("main",)))
    return found


def _rounds(count: int, repeats: int, aim: str, builds: int) -> Iterator[Row]:
    queue = queue_of(FIVE)
    rounds = ConditionRounds(queue)
    seconds, matches, gaps, greedy_matches, greedy_gaps = [], [], [], [], []
    anneal(round_batch(queue, rounds, tickets_of(100, 0)), effort=1_000, seed=1)  # loads kernels
    for seed in range(repeats):
        tickets = tickets_of(count, seed)
        began = time.thread_time()
        batch = round_batch(queue, rounds, tickets)
        plan = rounds.plan(
            batch, tickets, 2.0, lambda batch=batch: anneal(batch, effort=EFFORT * count, seed=1),
            seed=1, tries=1_000,
        )  # fmt: skip
        seconds.append(time.thread_time() - began)
        by_number = {ticket.sequence: ticket for ticket in tickets}
        made = [
            [[by_number[number] for number in team] for team in teams_in(batch, row, tickets)]
            for row in plan.seating.tolist()
        ]
        assert all(rounds.is_legal(tuple(map(tuple, teams)), 2.0) for teams in made)
        matches.append(float(len(made)))
        gaps.append(fmean(map(gap_of, made)))
        if builds:
            found = [built(rounds, tickets, each) for each in range(builds)]
            best = max(found, key=len)
            greedy_matches.append(float(len(best)))
            greedy_gaps.append(fmean(map(gap_of, best)))
    name = f"round of {count:,}"
    yield Row(f"{name}: processor time", tuple(seconds), "s", aim)
    yield Row(f"{name}: matches", tuple(matches), "matches", ">= greedy")
    yield Row(f"{name}: gap of teams' means", tuple(gaps), "skill", "< greedy")
    if builds:
        yield Row(f"best of {builds} greedy builds: matches", tuple(greedy_matches), "matches")
        yield Row(f"best of {builds} greedy builds: gap", tuple(greedy_gaps), "skill")


def round_batch(queue: Queue, rounds: ConditionRounds, tickets: Sequence[Ticket]) -> Batch:
    """Return tickets two seconds after the first came, with what conditions demand then."""
    roster = BatchRoster(queue)
    for ticket in tickets:
        roster.enter(ticket)
    return rounds.sketch.sketched(roster.batch(tickets, 2.0), tickets, 2.0)


def gap_of(teams: Teams) -> float:
    """Return how far the average skills of two teams are apart."""
    means = [fmean([skill_of(ticket) for ticket in team]) for team in teams]
    return abs(means[0] - means[1])


def skill_of(ticket: Ticket) -> float:
    """Return a single player's skill."""
    return float(ticket.players[0].attributes["skill"])  # type: ignore[arg-type]


def built(rounds: ConditionRounds, tickets: Sequence[Ticket], seed: int) -> list[Teams]:
    """Return the matches that a greedy builder makes of tickets, anchors in an order by chance.

    Around each anchor it adds whoever is nearest in skill, to the weaker of the two teams, as long
    as all who are in keep a region and a range of skill, and starts what is legal when it is full.
    """
    order = list(tickets)
    random.Random(seed).shuffle(order)
    by_skill = sorted(tickets, key=skill_of)
    skills = np.array([skill_of(ticket) for ticket in by_skill])
    gone: set[int] = set()
    found: list[Teams] = []
    for anchor in order:
        if anchor.sequence in gone:
            continue
        near = np.argsort(np.abs(skills - skill_of(anchor)), kind="stable")
        teams: list[list[Ticket]] = [[anchor], []]
        for at in near.tolist():
            other = by_skill[at]
            if other.sequence in gone or other is anchor:
                continue
            if abs(skills[at] - skill_of(anchor)) > 200 or sum(map(len, teams)) == 10:
                break
            if not _go_together([*teams[0], *teams[1], other]):
                continue
            open_teams = [team for team in teams if len(team) < 5]
            min(open_teams, key=lambda team: (len(team), sum(map(skill_of, team)))).append(other)
        if sum(map(len, teams)) == 10 and rounds.is_legal(tuple(map(tuple, teams)), 2.0):
            found.append(teams)
            gone.update(ticket.sequence for team in teams for ticket in team)
    return found


def _go_together(tickets: Sequence[Ticket]) -> bool:
    skills = [skill_of(ticket) for ticket in tickets]
    if max(skills) - min(skills) > 200:
        return False
    latencies: list[Any] = [ticket.players[0].attributes["latency"] for ticket in tickets]
    return any(all(each[region] <= 90 for each in latencies) for region in REGIONS)


def _large(repeats: int) -> Iterator[Row]:
    """Measure the search for one match of 200 players among 260."""
    queue, seconds = queue_of(CROWD), []
    for seed in range(repeats):
        tickets = [
            msgspec.structs.replace(ticket, enqueued_at=0.0) for ticket in tickets_of(600, seed)
        ]
        began = time.thread_time()
        matcher = ConditionMatcher(queue, 2_000)
        at, made = 0.0, 0
        for ticket in tickets:
            matcher.enter(ticket, 0.0)
        while (not made and matcher.is_busy) or at == 0.0:
            decision = matcher.decide(at, True)
            made += len(decision.matches)
            at = max(decision.wake_at, at + 1e-6)
            if made:
                break
        assert made
        seconds.append(time.thread_time() - began)
    yield Row("one match of 200 players, balanced", tuple(seconds), "s", "<= 0.5")


def _pairs(repeats: int) -> Iterator[Row]:
    """Measure how many pairs of tickets columns tell apart in a second, latencies included."""
    rule = next(r for r in queue_of(FIVE).rules if r.condition)
    conditions = Conditions([r.condition for r in queue_of(FIVE).rules if r.condition])
    assert rule.condition is not None
    search = ConditionSearch(conditions, queue_of(FIVE).format, None)
    columns = ConditionColumns(conditions, search.ways, 2)
    tickets = tickets_of(1_000, 1)
    for ticket in tickets:
        columns.enter(ticket)
    rates = []
    for _ in range(repeats):
        began = time.thread_time()
        told = sum(columns.count_mates(ticket, 0) for ticket in tickets)
        rates.append(len(tickets) ** 2 / (time.thread_time() - began))
        assert told
    yield Row("pairs that are told apart in columns", tuple(rates), "/s", ">= 2,000,000")


def _conditions(repeats: int) -> Iterator[Row]:
    """Measure a condition against the kind that says the same: a range of skill in a duel."""
    ruled = Rules(queue_of(SPREAD))
    plain = Rules(Queue(rules=(Rule("spread", "skill", 200.0),)))
    tickets = tickets_of(2_001, 1)
    matches = [((one,), (two,)) for one, two in pairwise(tickets)]
    own = _micros(lambda: [ruled.ready_at(each, 2.0) for each in matches], len(matches), repeats)
    kind = _micros(lambda: [plain.ready_at(each, 2.0) for each in matches], len(matches), repeats)
    yield Row("a kind judges a match", kind, "µs")
    yield Row("a condition that says the same", own, "µs")
    ratio = tuple(a / b for a, b in zip(own, kind, strict=True))
    yield Row("times as long", ratio, "x", "<= 3")


def _micros(work: Callable[[], object], count: int, repeats: int) -> tuple[float, ...]:
    work()
    found = []
    for _ in range(repeats):
        began = time.thread_time()
        work()
        found.append((time.thread_time() - began) / count * 1e6)
    return tuple(found)
