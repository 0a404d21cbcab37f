"""A match is legal as soon as some region is, and played in the best of those that are legal then.

Brute force holds every way to say so: the objective, columns, batches, judge, policies, `solve`.
In each pool most players have a region that is cheapest for them and that others can never use.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import pytest

import evenmatch
from evenmatch.criteria.columns.regions import RegionTable
from evenmatch.criteria.columns.sets import SetTable
from evenmatch.criteria.expansion import inverse
from evenmatch.criteria.kinds.latency import cost_of_ms
from evenmatch.criteria.objective import Objective
from evenmatch.model.queue import Criterion, Expansion, Format, Queue, Rule, Scale
from evenmatch.model.ticket import Player, Ticket
from evenmatch.policies.greedy import Greedy
from evenmatch.policies.registry import parse_policy
from evenmatch.policies.shared.ticket_batch import BatchRoster
from evenmatch.solvers.teams.evaluation_input import scene_of
from evenmatch.solvers.teams.judge import judge
from evenmatch.solvers.teams.reference import cost_of, is_legal
from evenmatch.testing import ticket
from tests.extent import extent

LONG = 1e9
"""A wait after which no limit widens any more."""
NEAR = Criterion("latency", "latency", weight=1.0, pairs="region")
LEVEL = Criterion("spread", "rating", weight=1.0, scale=Scale(min=0.0, max=1_000.0))
FIXED = (Rule("latency", "latency", 100.0, pairs="region"),)
WIDENING = (
    Rule("latency", "latency", 60.0, expand=Expansion(rate=2.0, max=100.0), pairs="region"),
)
STEPS = (
    Rule("latency", "latency", 50.0, expand=Expansion(steps=((9.0, 100.0),)), pairs="region"),
    Rule("latency", "latency", 130.0, pairs="region"),
)
EITHER = (
    Rule(
        "latency",
        "latency",
        60.0,
        expand=Expansion(curve=((0.0, 60.0), (30.0, 100.0))),
        pairs="region",
        accept="either",
    ),
)
ENDLESS = (Rule("latency", "latency", 60.0, expand=Expansion(rate=2.0), pairs="region"),)
RULES = {"fixed": FIXED, "widening": WIDENING, "steps": STEPS, "either": EITHER, "endless": ENDLESS}
CRITERIA = {"weighed": (NEAR, LEVEL), "by milliseconds": (LEVEL,)}
TWOS = Format((2, 2))

by_rules = pytest.mark.parametrize("rules", RULES.values(), ids=RULES.keys())
by_criteria = pytest.mark.parametrize("criteria", CRITERIA.values(), ids=CRITERIA.keys())


def somebody(chance: random.Random, name: str) -> Player:
    """Return a player near a, as most are, or too far from it for ever; few never reach b."""
    latency = {
        "a": float(
            chance.randrange(5, 20) if chance.random() < 0.7 else chance.choice((100, 101, 130))
        ),
        "b": float(chance.randrange(55, 95) if chance.random() < 0.85 else 140),
        "c": float(chance.randrange(30, 200)),
        "d": float(chance.randrange(30, 300)),
    }
    for region in chance.sample("abcd", chance.choice((0, 0, 0, 1))):
        del latency[region]
    return Player(name, attributes={"rating": 20.0 * chance.randrange(9), "latency": latency})


def pool(seed: int, count: int, sizes: Sequence[int] = (1,)) -> list[Ticket]:
    chance = random.Random(seed)
    found = []
    for number in range(1, count + 1):
        size = chance.choice(sizes)
        players = [somebody(chance, f"t{number}p{seat}") for seat in range(size)]
        found.append(ticket(f"t{number}", *players, at=float(number // 3), sequence=number))
    return found


def opens(queue: Queue, group: Sequence[Ticket]) -> dict[str, float]:
    """Return from when on rules let a match be played in each region that all know."""
    known = [p.attributes["latency"] for t in group for p in t.players]
    born = [each.enqueued_at for each in group]
    found = {}
    for region in "abcd":
        most = max(each.get(region, math.inf) for each in known)  # type: ignore[union-attr]
        starts = [max(born) if rule.accept == "both" else min(born) for rule in queue.rules]
        waits = [inverse(rule.limit, rule.expand)(most) for rule in queue.rules]
        at = max(max(born), *[first + wait for first, wait in zip(starts, waits, strict=True)])
        if most < math.inf and at < math.inf:
            found[region] = at
    return found


def region_of(
    queue: Queue, group: Sequence[Ticket], at: float = math.inf
) -> tuple[str, list[float], float] | None:
    """Return region, latencies and mean cost of a match made at an instant; None if it has none."""
    known = [p.attributes["latency"] for t in group for p in t.players]
    found = []
    for region, opens_at in opens(queue, group).items():
        if opens_at <= at:
            ms = [each[region] for each in known]  # type: ignore[index]
            costs = [cost_of_ms(each, NEAR.best, NEAR.worst) for each in ms]
            weighed = sum(costs) if NEAR in queue.criteria else sum(ms)
            found.append((round(weighed, 9), sum(ms), max(ms), region, ms, sum(costs) / len(ms)))
    if not found:
        return None
    _, _, _, region, ms, cost = min(found)
    return region, ms, cost


def legal_at(queue: Queue, group: Sequence[Ticket]) -> float:
    """Return from when on rules allow a match by the definition; inf if never."""
    return min(opens(queue, group).values(), default=math.inf)


def groups_of(tickets: Sequence[Ticket], k: int) -> Iterator[tuple[Ticket, ...]]:
    for count in range(1, k + 1):
        for group in combinations(tickets, count):
            if sum(each.size for each in group) == k:
                yield group


@by_criteria
@by_rules
def test_objective_columns_and_venue_know_the_region_by_its_definition(
    rules: tuple[Rule, ...], criteria: tuple[Criterion, ...]
) -> None:
    queue = Queue("main", TWOS, criteria, rules)
    objective, joint = Objective(queue), SetTable(Objective(queue).rules)
    regions = RegionTable(objective.rules)
    never = changed = 0
    for seed in range(6):
        tickets = pool(seed, 8, (1, 1, 2))
        for each in tickets:
            joint.row(each)
        for group in groups_of(tickets, 4):
            found, at = region_of(queue, group), legal_at(queue, group)
            teams = (group[:1], group[1:])

            assert objective.rules.ready_at(teams) == at
            row = [np.max(blocks, axis=0) for blocks in zip(*map(joint.row, group), strict=True)]
            told = float(joint.ready_at(row))
            assert told <= at
            *rows, last = [regions.row(each) for each in group]
            born = [each.enqueued_at for each in group]
            apart = regions.ready_at(rows, max(born[:-1]), np.array(born[-1:]), np.array([last]).T)
            assert apart[0] <= at
            if rules is not ENDLESS:
                assert (told == math.inf) == (at == math.inf)
            if rules is not EITHER:
                assert told == at
            never += at == math.inf
            # Whoever asks before it is legal is told of the first instant at which it is.
            asked = [at, *opens(queue, group).values(), at + 1e-3, at + 5.0, LONG]
            for now in asked if at < math.inf else ():
                place = region_of(queue, group, max(now, at))
                assert place is not None
                assert objective.venues.of(teams, max(now, at)).region == place[0]
                changed += place != found
                for early in (now, -math.inf if now == at else now):
                    seating = objective.judge(teams, early)
                    total = 1.0 - (seating.quality or 0.0)
                    if NEAR in criteria:
                        assert objective.factors(teams, region=place[0])[0] == pytest.approx(
                            place[2], abs=1e-9
                        )
                        spread = objective.factors(teams)[1]
                        assert total == pytest.approx((place[2] + spread) / 2.0, abs=1e-9)
                assert objective.factors(teams)[0] <= objective.factors(teams, region=place[0])[0]
    assert never > 20 or rules is ENDLESS
    assert changed > 20 or rules in (FIXED, STEPS)
    assert changed == 0 or rules is not FIXED


@by_criteria
@by_rules
@pytest.mark.parametrize("players", [(2, 2), (1, 1)])
def test_reference_and_compiled_judge_say_of_a_batch_what_the_objective_says(
    players: tuple[int, ...], rules: tuple[Rule, ...], criteria: tuple[Criterion, ...]
) -> None:
    queue = Queue("main", Format(players), criteria, rules)
    objective, k, now = Objective(queue), sum(players), 20.0
    tickets = pool(3, 9)
    roster = BatchRoster(queue)
    for each in tickets:
        roster.enter(each)
    batch = roster.batch(tickets, now)
    place = {each.id: number for number, each in enumerate(tickets)}
    groups = list(groups_of(tickets, k))
    seated = np.array([[place[each.id] for each in group] for group in groups], dtype=np.int32)

    quality, legal = judge(scene_of(batch), batch, seated)

    verdicts = set()
    for group, who, own, allowed in zip(groups, seated.tolist(), quality, legal, strict=True):
        teams = (group[: players[0]], group[players[0] :])
        numbers = (who[: players[0]], who[players[0] :])
        truth = objective.judge(teams, now)
        assert allowed == is_legal(batch, numbers) == (truth.ready_at <= now)
        if not allowed:
            # What is not legal yet costs the least that it ever will.
            truth = objective.judge(teams)
        assert own == pytest.approx(truth.quality, abs=1e-9)
        assert cost_of(batch, numbers) == pytest.approx(1.0 - own, abs=1e-9)
        verdicts.add(bool(allowed))
    assert verdicts == {True, False}


@by_criteria
@by_rules
@pytest.mark.parametrize("seed", range(4))
def test_greedy_lets_no_legal_match_wait(
    rules: tuple[Rule, ...], criteria: tuple[Criterion, ...], seed: int
) -> None:
    queue = Queue("main", TWOS, criteria, rules)
    matcher = Greedy(evaluations_max=1_000_000).matcher(queue, seed=1)
    waiting: dict[str, Ticket] = {}
    made = 0
    for each in pool(seed, 14, (1, 1, 2)):
        now = each.enqueued_at
        waiting[each.id] = each
        matcher.enter(each, now)
        decision = matcher.decide(now)
        while True:
            for group in decision.matches:
                assert legal_at(queue, [waiting.pop(name) for name in group.tickets]) <= now
                made += 1
            if not decision.matches and decision.wake_at > now:
                break
            decision = matcher.decide(now)
        first = min((legal_at(queue, g) for g in groups_of([*waiting.values()], 4)), default=LONG)
        assert first > now
        if rules is FIXED:
            assert decision.wake_at == math.inf
    assert made


def played(
    spec: str, queue: Queue, tickets: Sequence[Ticket]
) -> list[tuple[float, tuple[str, ...]]]:
    """Return the matches that a policy makes of those who came at once, within ten minutes."""
    matcher = parse_policy(spec).matcher(queue, seed=1)
    now, found = max(each.enqueued_at for each in tickets), []
    for each in tickets:
        matcher.enter(each, now)
    decision = matcher.decide(now)
    for _ in range(300):
        found += [(now, group.tickets) for group in decision.matches]
        if decision.job is not None:
            job = decision.job
            decision = matcher.settle(job.combine([job.solve(p) for p in range(job.parts)]), now)
            continue
        if not now <= decision.wake_at <= 600.0:
            break
        now = max(now, decision.wake_at)
        decision = matcher.decide(now, fired=True)
    return found


POLICIES = [
    ("greedy:evaluations_max=1000000", TWOS),
    ("rolling", TWOS),
    ("rounds:every=10,effort=50", TWOS),
    ("threshold:relax=0.01", TWOS),
    ("window:attribute=rating,limit=1000", Format((1, 1))),
    ("greedy", Format((1, 1))),
    ("rolling", Format((1, 1))),
]


@pytest.mark.parametrize(
    ("spec", "form"), POLICIES, ids=[f"{spec.split(':')[0]}{form.k}" for spec, form in POLICIES]
)
@pytest.mark.parametrize("rules", [FIXED, WIDENING], ids=["fixed", "widening"])
def test_policies_play_exactly_where_brute_force_finds_a_legal_match(
    spec: str, form: Format, rules: tuple[Rule, ...]
) -> None:
    queue = Queue("main", form, (NEAR, LEVEL), rules, wait_price=0.005)
    outcomes = set()
    for seed in range(extent(12, 24)):
        tickets = pool(1_000 + seed, form.k + seed % 2)
        by_id = {each.id: each for each in tickets}
        possible = any(legal_at(queue, g) < math.inf for g in groups_of(tickets, form.k))

        found = played(spec, queue, tickets)

        assert bool(found) == possible
        for at, names in found:
            assert legal_at(queue, [by_id[name] for name in names]) <= at
        outcomes.add(possible)
    assert outcomes == {True, False}


def test_solve_plays_exactly_where_brute_force_does_and_the_bound_is_none_too_low() -> None:
    near = {"kind": "latency", "attribute": "latency", "pairs": "region", "weight": 1.0}
    level = {"kind": "spread", "attribute": "rating", "weight": 1.0, "scale": {"max": 1_000.0}}
    raw = {
        "format": {"teams": 2, "players": 2},
        "criteria": [near, level],
        "rules": [{"kind": "latency", "attribute": "latency", "pairs": "region", "limit": 100.0}],
    }
    queue = Queue("main", TWOS, (NEAR, LEVEL), FIXED)
    objective = Objective(queue)
    outcomes = set()
    for seed in range(8):
        tickets = pool(2_000 + seed, 4 + seed % 3)
        given = [
            {"players": [{"id": p.id, "attributes": p.attributes} for p in t.players]}
            for t in tickets
        ]
        legal = [g for g in groups_of(tickets, 4) if legal_at(queue, g) < math.inf]
        found = evenmatch.solve({**raw, "tickets": given}, effort=500, bound=True, bound_seconds=5)

        assert bool(found.matches) == bool(legal)
        outcomes.add(bool(legal))
        if legal:
            best = max(objective.judge((g[:2], g[2:])).quality or 0.0 for g in legal)
            (match,) = found.matches
            group = [tickets[p] for team in match["teams"] for p in team]
            place = region_of(queue, group)
            assert place is not None
            assert match["region"] == place[0]
            assert match["quality"] / 100.0 == pytest.approx(best, abs=1e-4)
            assert found.bound is not None
            assert found.bound >= best - 1e-9
    assert outcomes == {True, False}
