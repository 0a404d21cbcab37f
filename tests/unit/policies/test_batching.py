"""A batch says the same of a match as the queue's own criteria and rules."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from evenmatch.cost.objective import Objective
from evenmatch.errors import ConfigError
from evenmatch.model.queue import Criterion, Expansion, Format, Queue, Rule, Scale
from evenmatch.model.ticket import Ticket
from evenmatch.policies.parts.batch_checks import batch_problem, check_batch
from evenmatch.policies.parts.batching import Roster, with_worth
from evenmatch.solvers.batch.batch import Batch
from evenmatch.solvers.batch.reference import cost_of, is_legal
from evenmatch.testing import player, queue, rule, ticket
from evenmatch.testing.scripts import QUEUES, draw_script

BLOG = Queue(
    "blog",
    Format((3, 3)),
    (
        Criterion(
            "imbalance",
            "skill",
            weight=0.24,
            scale=Scale("log", knee=1500.0, max=27000.0),
            measure="sum",
            step=16.0,
        ),
        Criterion("mean_gap", "skill", weight=0.22, scale=Scale("log", knee=2e3, max=18e3)),
        Criterion("party_parity", weight=0.12),
        Criterion("latency", "latency", weight=0.26),
        Criterion("rematch", "recent", weight=0.04),
        Criterion("host_options", "connect", weight=0.12),
    ),
)


def people(rng: np.random.Generator, name: str, size: int, others: list[str]) -> Ticket:
    sequence = int(name[1:]) + 1
    party = [
        player(
            f"{name}p{number}",
            float(rng.integers(0, 20_000)),
            skill=float(rng.integers(0, 20_000)),
            latency={"eu": float(rng.integers(5, 400)), "us": float(rng.integers(5, 400))},
            connect=str(rng.choice(["open", "moderate", "strict"])),
            recent=tuple(sorted({str(each) for each in rng.choice(others, 2)})) if others else (),
            mode=str(rng.choice(["a", "b"])),
            words=tuple(sorted({str(each) for each in rng.choice(["de", "en", "fr"], 2)})),
        )
        for number in range(size)
    ]
    return ticket(name, *party, at=float(rng.integers(0, 60)), sequence=sequence)


def pool(seed: int, count: int, sizes: tuple[int, ...]) -> list[Ticket]:
    rng = np.random.Generator(np.random.PCG64(seed))
    found: list[Ticket] = []
    for number in range(count):
        others = [p.id for t in found for p in t.players]
        found.append(people(rng, f"t{number}", int(rng.choice(sizes)), others))
    return sorted(found, key=lambda t: t.age_key)


def teams_of(
    batch: Batch, tickets: list[Ticket], seated: tuple[tuple[Ticket, ...], ...]
) -> list[list[int]]:
    place = {t.id: at for at, t in enumerate(tickets)}
    return [
        [p for t in team for p in range(batch.first[place[t.id]], batch.first[place[t.id] + 1])]
        for team in seated
    ]


def full_groups(tickets: list[Ticket], k: int, most: int) -> list[tuple[Ticket, ...]]:
    groups = (
        group
        for count in range(2, k + 1)
        for group in itertools.combinations(tickets, count)
        if sum(t.size for t in group) == k
    )
    found = list(groups)
    return found[:: max(1, len(found) // most)]


def compare(given: Queue, tickets: list[Ticket], now: float) -> int:
    """Compare a batch with the queue's objective; return how many matches were compared."""
    roster = Roster(given)
    for each in tickets:
        roster.enter(each)
    batch = roster.batch(tickets, now)
    objective = Objective(given)
    compared = 0
    for group in full_groups(tickets, given.format.k, 60):
        seating = objective.seat(group, now=now)
        if seating is None:
            continue
        teams = teams_of(batch, tickets, seating.teams)
        total = sum(objective.weights)
        assert total * cost_of(batch, teams) == pytest.approx(seating.criteria_cost, abs=1e-6)
        if seating.ready_at <= now - 1e-5:
            assert is_legal(batch, teams)
        compared += 1
    return compared


@pytest.mark.parametrize("seed", range(2))
def test_cost_of_the_blogs_six_criteria_equals_the_objective(seed: int) -> None:
    assert compare(BLOG, pool(seed, 9, (1, 1, 2, 3)), 60.0) > 20


@pytest.mark.parametrize("name", [q.name for q in QUEUES if batch_problem(q) is None])
@pytest.mark.parametrize("seed", range(2))
def test_cost_on_the_kits_queues_equals_the_objective(name: str, seed: int) -> None:
    (given,) = [each for each in QUEUES if each.name == name]
    script = draw_script(given, given.rules, seed)
    tickets = [t for step in script.steps for t in step.enters][:10]
    assert compare(given, tickets, max(t.enqueued_at for t in tickets) + 3.0) > 0


@pytest.mark.parametrize(
    "rules",
    [
        (rule("skill", 4_000, rate=100.0),),
        (rule("skill", 0.5, rate=0.05, unit="relative"),),
        (rule("skill", 4_000, rate=100.0, accept="either"),),
        (Rule("latency", "latency", 300.0, expand=Expansion(rate=2.0), pairs="enemies"),),
        (Rule("same", "mode"),),
        (Rule("same", "mode", expand=Expansion(steps=((20.0, 1.0),))),),
        (Rule("overlap", "words"),),
        (Rule("overlap", "words", expand=Expansion(steps=((20.0, 1.0),))),),
        (Rule("rematch", "recent", expand=Expansion(steps=((30.0, 1.0),))),),
        (Rule("avoid", "recent"), Rule("avoid", "recent", pairs="teammates")),
        (Rule("imbalance", "skill", 3_000.0, expand=Expansion(rate=50.0), measure="sum"),),
        (Rule("mean_gap", "skill", 3_000.0, expand=Expansion(rate=50.0)),),
    ],
    ids=lambda rules: (
        f"{rules[0].kind}-{rules[0].unit}-{rules[0].accept}-{rules[0].expand is None}"
    ),
)
def test_what_the_rules_allow_is_legal_and_what_they_forbid_forever_is_not(
    rules: tuple[Rule, ...],
) -> None:
    given = Queue("ruled", Format((2, 2)), BLOG.criteria, rules)
    tickets = pool(5, 9, (1, 1, 2))
    now = 70.0
    assert compare(given, tickets, now) > 20
    roster, objective = Roster(given), Objective(given)
    for each in tickets:
        roster.enter(each)
    batch = roster.batch(tickets, now)
    verdicts = set()
    for group in full_groups(tickets, 4, 60):
        seating = objective.seat(group, now=now)
        if seating is not None:
            legal = is_legal(batch, teams_of(batch, tickets, seating.teams))
            if legal and seating.ready_at == math.inf:
                pytest.fail(f"{[t.id for t in group]} never may play")
            verdicts.add(legal)
    assert verdicts == {True, False}


def test_rows_are_used_again_and_grow_with_the_pool() -> None:
    roster = Roster(BLOG)
    tickets = pool(2, 150, (1, 2, 3))
    for each in tickets:
        roster.enter(each)
    roster.batch(tickets, 60.0)
    for each in tickets[:140]:
        assert roster.leave(each.id) == each.sequence
    again = pool(3, 60, (1, 2))
    moved = [ticket(f"n{t.id}", *t.players, at=61.0, sequence=1_000 + t.sequence) for t in again]
    for each in moved:
        roster.enter(each)
    waiting = [*tickets[140:], *moved]
    fresh = Roster(BLOG)
    for each in waiting:
        fresh.enter(each)
    one, two = roster.batch(waiting, 90.0), fresh.batch(waiting, 90.0)
    for group in full_groups(waiting[:9], 6, 20):
        teams: list[list[int]] = [[], []]
        for each in group:
            at = waiting.index(each)
            side = min(teams, key=len)
            side += range(one.first[at], one.first[at + 1])
        assert cost_of(one, teams) == cost_of(two, teams)
    assert len(roster) == len(waiting)
    assert roster.leave("nobody") is None


def test_worth_of_a_party_is_that_of_each_of_its_players() -> None:
    roster = Roster(BLOG)
    tickets = [ticket("a", 1.0, 2.0, sequence=1), ticket("b", 3.0, sequence=2)]
    for each in tickets:
        roster.enter(each)
    plain = Roster(queue("plain", 2, 2, criteria=(Criterion("spread", "rating"),)))
    for each in tickets:
        plain.enter(each)
    batch = with_worth(plain.batch(tickets, 0.0), (0.5, 0.25))
    assert batch.worth.tolist() == [0.5, 0.5, 0.25]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (queue("free"), "has no criteria"),
        (queue("sided", sides=("a", "b"), criteria=BLOG.criteria), "has sides"),
        (
            queue(
                "far",
                criteria=(Criterion("latency", "latency"), Criterion("latency", "l", best=5.0)),
            ),
            "weighs latencies on several scales",
        ),
        (
            queue("met", criteria=(Criterion("rematch", "a"), Criterion("rematch", "b"))),
            "has several criteria rematch",
        ),
    ],
)
def test_queue_that_no_batch_holds_is_refused_in_a_sentence(given: Queue, problem: str) -> None:
    with pytest.raises(ConfigError, match=f"queue {given.name} {problem}: choose greedy"):
        check_batch("rounds", given)
