"""`rolling`, `rounds` and `threshold` play where the best match is illegal and others are not.

In each pool the first four are equal and would make the best match; a rule forbids it. The others
are not quite as good, and with some of them a match is legal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import pytest

from evenmatch.criteria.objective import Objective
from evenmatch.model.queue import Criterion, Expansion, Format, Queue, Rule, Scale
from evenmatch.model.ticket import Player, Ticket
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import ticket
from tests.extent import thinned

SPECS = ["rolling", "rounds:every=10,effort=50", "threshold:relax=0.01"]
LEVEL = Criterion("spread", "rating", weight=1.0, scale=Scale(min=0.0, max=1_000.0))
FAIR = Criterion("imbalance", "rating", weight=1.0, scale=Scale(min=0.0, max=1_000.0))
RATINGS = (500.0, 500.0, 500.0, 500.0, 520.0, 540.0, 560.0, 580.0)
SLOWLY = Expansion(steps=((10_000.0, 1.0),))

Told = Callable[[int], dict[str, object]]
"""From the place of a player among eight to attributes; the first four make the best match."""


def near(number: int) -> dict[str, object]:
    return {"latency": {"eu": 20.0, "us": 120.0} if number % 4 < 2 else {"eu": 120.0, "us": 20.0}}


def by_half(name: str, one: object, two: object) -> Told:
    return lambda number: {name: one if number % 4 < 2 else two}


def naming(name: str, value: Callable[[str], object] = lambda other: (other,)) -> Told:
    """The first two name each other."""
    return lambda number: {name: value(f"t{2 - number}p1")} if number < 2 else {}


def same(name: str) -> Told:
    """Three of the first four are of one household."""
    return lambda number: {name: "h" if number < 3 else f"own{number}"}


CASES: dict[str, tuple[tuple[Rule, ...], Told]] = {
    "region": ((Rule("latency", "latency", 90.0, pairs="region"),), near),
    "region widens": (
        (
            Rule(
                "latency",
                "latency",
                60.0,
                expand=Expansion(rate=0.01, max=90.0),
                pairs="region",
            ),
        ),
        near,
    ),
    "enemies": ((Rule("latency", "latency", 100.0, pairs="enemies"),), near),
    "all pairs widen": (
        (
            Rule(
                "latency",
                "latency",
                100.0,
                pairs="all",
                expand=Expansion(steps=((9_000.0, 400.0),)),
            ),
        ),
        near,
    ),
    "same": ((Rule("same", "mode"),), by_half("mode", "a", "b")),
    "same widens": ((Rule("same", "mode", expand=SLOWLY),), by_half("mode", "a", "b")),
    "same for one": (
        (Rule("same", "mode", expand=SLOWLY, accept="either"),),
        by_half("mode", "a", "b"),
    ),
    "overlap": ((Rule("overlap", "words"),), by_half("words", ("de",), ("fr",))),
    "overlap widens": (
        (Rule("overlap", "words", expand=SLOWLY),),
        by_half("words", ("de", "it"), ("fr", "es")),
    ),
    "avoid": ((Rule("avoid", "foes"),), naming("foes")),
    "avoid widens": ((Rule("avoid", "foes", expand=SLOWLY),), naming("foes")),
    "rematch": ((Rule("rematch", "recent"),), naming("recent")),
    "pair limit": (
        (Rule("pair_limit", "met", 2.0),),
        naming("met", lambda other: {other: 4.0}),
    ),
    "pair limit widens": (
        (Rule("pair_limit", "met", 2.0, expand=Expansion(steps=((9_000.0, 9.0),))),),
        naming("met", lambda other: {other: 4.0}),
    ),
    "household": ((Rule("household_limit", "home", 1.0),), same("home")),
    "household in teams": (
        (Rule("household_limit", "home", 1.0, pairs="teammates"),),
        same("home"),
    ),
    "household of two": ((Rule("household_limit", "home", 2.0),), same("home")),
    "household widens": (
        (Rule("household_limit", "home", 1.0, expand=Expansion(steps=((9_000.0, 4.0),))),),
        same("home"),
    ),
    "hosts": (
        (Rule("host_options", "net", 0.0),),
        lambda number: {"net": "strict" if number < 4 else "open"},
    ),
    "hosts of another": (
        (Rule("host_options", "net", 1.0), Rule("host_options", "lan", 0.0)),
        lambda number: {"net": "open", "lan": "strict" if number < 4 else "open"},
    ),
    "spread": ((Rule("spread", "age", 5.0),), lambda number: {"age": float(number % 4 // 2 * 20)}),
}


def pool_of(told: Told) -> list[Ticket]:
    found = []
    for number, rating in enumerate(RATINGS):
        player = Player(f"t{number + 1}p1", attributes={"rating": rating, **told(number)})  # type: ignore[dict-item]
        found.append(ticket(f"t{number + 1}", player, sequence=number + 1))
    return found


def played(spec: str, queue: Queue, tickets: list[Ticket]) -> list[tuple[str, ...]]:
    """Return the matches that a policy makes of a pool in ten minutes."""
    matcher = parse_policy(spec).matcher(queue, seed=1)
    for each in tickets:
        matcher.enter(each, 0.0)
    now, found = 0.0, []
    decision = matcher.decide(now)
    for _ in range(200):
        found += [group.tickets for group in decision.matches]
        if decision.job is not None:
            job = decision.job
            decision = matcher.settle(job.combine([job.solve(p) for p in range(job.parts)]), now)
            continue
        if not now <= decision.wake_at <= 600.0:
            break
        now = max(now, decision.wake_at)
        decision = matcher.decide(now, fired=True)
    return found


def assert_plays(spec: str, queue: Queue, tickets: list[Ticket], best: int = 4) -> None:
    objective = Objective(queue)
    naive = objective.seat(tickets[:best], now=600.0)
    assert naive is None or naive.ready_at > 600.0
    found = played(spec, queue, tickets)
    assert found
    by_id = {each.id: each for each in tickets}
    for match in found:
        group = sorted((by_id[name] for name in match), key=lambda each: each.age_key)
        seating = objective.seat(group, now=600.0)
        assert seating is not None
        assert seating.ready_at < math.inf


@pytest.mark.parametrize(("name", "spec"), thinned(product(CASES, SPECS), 2))
def test_policy_plays_although_a_rule_forbids_the_best_match(name: str, spec: str) -> None:
    rules, told = CASES[name]
    queue = Queue("twos", Format((2, 2)), (LEVEL, FAIR), rules, wait_price=0.005)

    assert_plays(spec, queue, pool_of(told))


@pytest.mark.parametrize("spec", SPECS)
def test_policy_plays_although_the_best_parties_are_too_different(spec: str) -> None:
    rules = (Rule("party_parity", limit=0.0),)
    queue = Queue("twos", Format((2, 2)), (LEVEL, FAIR), rules, wait_price=0.005)
    tickets = [ticket("pair", 500.0, 500.0, sequence=1)]
    tickets += [ticket(f"t{n}", 500.0 + 10.0 * (n > 3), sequence=n) for n in range(2, 6)]

    assert_plays(spec, queue, tickets, best=3)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("is_weighed", [True, False])
def test_policy_plays_although_the_best_would_get_their_last_roles(
    spec: str, is_weighed: bool
) -> None:
    form = Format((2, 2), roles=(("tank", 1), ("dps", 1)))
    criteria = (LEVEL, FAIR, *([Criterion("role_rank", weight=0.001)] if is_weighed else []))
    rules = (Rule("role_rank", limit=0.25),)
    queue = Queue("cast", form, criteria, rules, wait_price=0.005)
    tickets = [
        ticket(
            f"t{number + 1}",
            Player(
                f"t{number + 1}p1",
                attributes={"rating": rating},
                roles=("dps", "tank") if number < 4 else ("tank", "dps"),
            ),
            sequence=number + 1,
        )
        for number, rating in enumerate(RATINGS)
    ]

    assert_plays(spec, queue, tickets)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("players", [(2, 2), (1, 3), (1, 1)])
def test_policy_plays_although_the_best_insist_on_one_side(
    spec: str, players: tuple[int, ...]
) -> None:
    form = Format(players, ("attack", "defend"))
    queue = Queue("sided", form, (LEVEL, FAIR), wait_price=0.005)
    tickets = pool_of(lambda number: {"side": "attack" if number < 4 else "defend"})

    assert_plays(spec, queue, tickets, best=sum(players))


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("players", [(1, 1, 1, 1), (1, 3), (2, 1, 1)])
def test_policy_plays_in_other_formats_although_a_rule_forbids_the_best(
    spec: str, players: tuple[int, ...]
) -> None:
    rules, told = CASES["region"]
    queue = Queue("odd", Format(players), (LEVEL, FAIR), rules, wait_price=0.005)

    assert_plays(spec, queue, pool_of(told))


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize(
    "criteria",
    [
        (),
        (Criterion("spread", "rating", scale=Scale("none"), weight=1.0),),
        (
            Criterion("latency", "latency", pairs="region", weight=1.0),
            Criterion("latency", "latency", pairs="enemies", best=5.0, weight=1.0),
        ),
    ],
    ids=["none", "raw", "two scales"],
)
def test_policy_plays_by_any_criteria(spec: str, criteria: tuple[Criterion, ...]) -> None:
    rules, told = CASES["region"]
    queue = Queue("odd", Format((2, 2)), criteria, rules, wait_price=0.005)

    assert_plays(spec, queue, pool_of(told))
