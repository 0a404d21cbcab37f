"""A batch says the same of a match as the queue's own criteria and rules."""

from __future__ import annotations

import itertools

import msgspec
import numpy as np
import pytest

from evenmatch.criteria.objective import Objective
from evenmatch.criteria.roles import role_problem
from evenmatch.model.queue import (
    Criterion,
    Expansion,
    Format,
    Queue,
    Rule,
    Scale,
)
from evenmatch.model.ticket import Player, Ticket
from evenmatch.policies.default_choice import default_choice, default_policy
from evenmatch.policies.shared.ticket_batch import BatchRoster, with_worth
from evenmatch.solvers.teams.batch import Batch
from evenmatch.solvers.teams.reference import cost_of, is_legal
from evenmatch.testing import player, queue, rule, ticket
from evenmatch.testing.scripts import QUEUES, draw_script
from tests.extent import extent, more, thinned

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


def met_by(
    rng: np.random.Generator, others: list[str]
) -> dict[str, tuple[str, ...] | dict[str, float]]:
    """Return whom a player met; half of the players remember nothing and are told by the others."""
    if not others or rng.random() < 0.5:
        return {}
    met = tuple(sorted({str(each) for each in rng.choice(others, 2)}))
    return {"recent": met, "meetings": dict.fromkeys(met, 1.0)}


def people(rng: np.random.Generator, name: str, size: int, others: list[str]) -> Ticket:
    sequence = int(name[1:]) + 1
    party = [
        player(
            f"{name}p{number}",
            float(rng.integers(0, 20_000)),
            skill=float(rng.integers(0, 20_000)),
            latency={"eu": float(rng.integers(5, 400)), "us": float(rng.integers(5, 400))},
            near={"a": float(rng.integers(5, 120)), "b": float(rng.integers(5, 120))},
            network=str(rng.choice(["open", "moderate", "strict"])),
            connect=str(rng.choice(["open", "moderate", "strict"])),
            mode=str(rng.choice(["a", "b"])),
            house=f"h{(7 * sequence + number) % 5}",
            words=tuple(sorted({str(each) for each in rng.choice(["de", "en", "fr"], 2)})),
            **met_by(rng, others),
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


def groups_of(tickets: list[Ticket], form: Format, most: int) -> list[tuple[Ticket, ...]]:
    groups = (
        group
        for count in range(1, form.k + 1)
        for group in itertools.combinations(tickets, count)
        if form.k_min <= sum(t.size for t in group) <= form.k
    )
    found = list(groups)
    return found[:: max(1, len(found) // most)]


def compare(given: Queue, tickets: list[Ticket], now: float) -> int:
    """Compare a batch with the queue's objective; return how many matches were compared."""
    roster = BatchRoster(given)
    for each in tickets:
        roster.enter(each)
    batch = roster.batch(tickets, now)
    objective = Objective(given)
    compared = 0
    for group in groups_of(tickets, given.format, 60):
        seating = objective.seat(group, now=now)
        if seating is None:
            continue
        teams = teams_of(batch, tickets, seating.teams)
        total = sum(objective.weights)
        cost = total * cost_of(batch, teams)
        if seating.ready_at <= now - 1e-5:
            assert cost == pytest.approx(seating.criteria_cost, abs=1e-6)
        else:
            # Its region may be one that is not open yet: the least that it may cost.
            assert cost >= objective.judge(seating.teams).criteria_cost - 1e-6
        if abs(seating.ready_at - now) > 1e-5:
            assert is_legal(batch, teams) == (seating.ready_at < now)
        compared += 1
    return compared


@pytest.mark.parametrize("seed", range(2))
def test_cost_of_the_blogs_six_criteria_equals_the_objective(seed: int) -> None:
    assert compare(BLOG, pool(seed, 9, (1, 1, 2, 3)), 60.0) > 20


ROLES = (("tank", 1), ("healer", 1), ("dps", 2))
ROLE_LISTS = ((), ("dps",), ("dps", "tank"), ("tank", "dps"), ("healer", "dps"), ("healer", "tank"))
FULLNESS = Criterion("fullness", weight=0.3)
RANK = Criterion("role_rank", weight=0.2)
FORMATS = {
    "roles": Format((4, 4), roles=ROLES),
    "roles and free seats": Format((4, 4), players_min=(3, 2), roles=ROLES),
    "free seats": Format((3, 3), players_min=(2, 1)),
    "one against four": Format((1, 4)),
    "one against one to four": Format((1, 4), players_min=(1, 1)),
    "free-for-all": Format((1,) * 8, players_min=(1, 1, 1, 1, 0, 0, 0, 0)),
    "pairs for all": Format((2, 2, 2), players_min=(2, 1, 0)),
}


def with_roles(tickets: list[Ticket], form: Format, seed: int) -> list[Ticket]:
    """Return tickets whose players like some roles, those who go together in one team."""
    if not form.roles:
        return tickets
    rng, found = np.random.default_rng(seed), []
    for each in tickets:
        lists = [ROLE_LISTS[int(rng.integers(len(ROLE_LISTS)))] for _ in each.players]
        players = zip(each.players, lists, strict=True)
        party = tuple([msgspec.structs.replace(p, roles=own) for p, own in players])
        asked = msgspec.structs.replace(each, players=party)
        found.append(asked if role_problem(asked, form.roles) is None else each)
    return found


@more
@pytest.mark.parametrize("seed", range(extent(1, 3)))
@pytest.mark.parametrize("name", FORMATS)
def test_cost_of_roles_and_free_seats_equals_the_objective(name: str, seed: int) -> None:
    form = FORMATS[name]
    criteria = (
        *BLOG.criteria,
        *([FULLNESS] if form.is_variable else []),
        *([RANK] if form.roles else []),
    )
    sizes = tuple(size for size in (1, 1, 2) if form.admits(size))
    tickets = with_roles(pool(seed, 9, sizes), form, seed)

    assert compare(Queue("formed", form, criteria), tickets, 60.0) > 20


@pytest.mark.parametrize("accept", ["both", "either"])
def test_rule_of_free_seats_holds_as_long_as_its_players_have_not_waited(accept: str) -> None:
    form = FORMATS["free-for-all"]
    expand = Expansion(rate=0.025)
    rules = (Rule("fullness", limit=0.0, expand=expand, accept=accept),)  # type: ignore[arg-type]
    given = Queue("filling", form, (*BLOG.criteria, FULLNESS), rules)
    tickets = pool(4, 9, (1,))
    now = 60.0
    assert compare(given, tickets, now) > 20
    roster, objective = BatchRoster(given), Objective(given)
    for each in tickets:
        roster.enter(each)
    batch = roster.batch(tickets, now)
    verdicts = []
    for group in groups_of(tickets, form, 60):
        seating = objective.seat(group, now=now)
        assert seating is not None
        if abs(seating.ready_at - now) > 1e-5:
            legal = is_legal(batch, teams_of(batch, tickets, seating.teams))
            assert legal == (seating.ready_at < now)
            verdicts.append(legal)
    assert set(verdicts) == {True, False}


def test_team_without_a_role_for_each_is_not_legal() -> None:
    given = Queue("formed", Format((4, 4), players_min=(4, 3), roles=ROLES), (RANK,))
    roster = BatchRoster(given)
    tickets = []
    for number in range(8):
        only = ("tank",) if number < 3 else ()
        tickets.append(ticket(f"t{number}", Player(f"p{number}", roles=only), sequence=number + 1))
        roster.enter(tickets[-1])
    batch = roster.batch(tickets, 0.0)

    assert not is_legal(batch, [[0, 3, 4, 5], [1, 2, 6, 7]])
    assert is_legal(batch, [[0, 3, 4, 5], [1, 6, 7]])


@pytest.mark.parametrize("name", [q.name for q in QUEUES])
@pytest.mark.parametrize("seed", range(2))
def test_cost_on_the_kits_queues_equals_the_objective(name: str, seed: int) -> None:
    (given,) = [each for each in QUEUES if each.name == name]
    script = draw_script(given, given.rules, seed)
    tickets = [t for step in script.steps for t in step.enters][:10]
    assert compare(given, tickets, max(t.enqueued_at for t in tickets) + 3.0) > 0


FAR = Expansion(rate=2.0)
LIFTED = Expansion(steps=((30.0, 1.0),))
SLOW = Expansion(rate=0.02, max=3.0)
RULED = [
    (rule("skill", 4_000, rate=100.0),),
    (rule("skill", 0.5, rate=0.05, unit="relative"),),
    (rule("skill", 4_000, rate=100.0, accept="either"),),
    (Rule("latency", "latency", 300.0, expand=FAR, pairs="enemies"),),
    (Rule("latency", "latency", 200.0, expand=FAR, pairs="teammates", accept="either"),),
    (Rule("latency", "latency", 400.0, pairs="all"),),
    (Rule("latency", "latency", 180.0, expand=FAR, pairs="region"),),
    (Rule("latency", "latency", 250.0, pairs="region", accept="either"),),
    (Rule("latency", "latency", 180.0, expand=Expansion(rate=1.0, max=220.0), pairs="region"),),
    (Rule("latency", "near", 60.0, expand=Expansion(rate=0.5), pairs="region"),),
    (Rule("latency", "near", 150.0, expand=FAR), Rule("latency", "latency", 500.0)),
    (Rule("same", "mode"),),
    (Rule("same", "mode", expand=LIFTED),),
    (Rule("same", "mode", expand=LIFTED, accept="either"),),
    (Rule("overlap", "words"),),
    (Rule("overlap", "words", expand=LIFTED),),
    (Rule("rematch", "recent", expand=LIFTED),),
    (Rule("avoid", "recent"), Rule("avoid", "recent", pairs="teammates")),
    (Rule("avoid", "recent", expand=LIFTED, pairs="enemies"),),
    (Rule("avoid", "recent", expand=LIFTED, accept="either"),),
    (Rule("pair_limit", "meetings", 1.0),),
    (Rule("pair_limit", "meetings", 1.0, expand=SLOW),),
    (Rule("household_limit", "house", 1.0),),
    (Rule("household_limit", "house", 1.0, pairs="enemies"),),
    (Rule("household_limit", "house", 1.0, pairs="teammates"),),
    (Rule("household_limit", "house", 1.0, expand=SLOW),),
    (Rule("household_limit", "house", 2.0, pairs="enemies"),),
    (Rule("household_limit", "house", 1.0, pairs="teammates", expand=SLOW),),
    (Rule("imbalance", "skill", 3_000.0, expand=Expansion(rate=50.0), measure="sum"),),
    (Rule("mean_gap", "skill", 3_000.0, expand=Expansion(rate=50.0)),),
    (Rule("party_parity", limit=0.0, expand=SLOW),),
    (Rule("host_options", "connect", 1.0),),
    (Rule("host_options", "network", 0.0, expand=SLOW), Rule("host_options", "connect", 1.0)),
]


@pytest.mark.parametrize(
    ("criteria", "rules"), thinned(itertools.product([BLOG.criteria, BLOG.criteria[:1]], RULED), 2)
)
def test_rules_allow_and_forbid_what_the_objective_does(
    rules: tuple[Rule, ...], criteria: tuple[Criterion, ...]
) -> None:
    given = Queue("ruled", Format((2, 2)), criteria, rules)
    tickets = pool(5, 12, (1, 1, 1, 2))
    now = 62.0
    assert compare(given, tickets, now) > 20
    assert verdicts_of(given, tickets, now) == {True, False}


def verdicts_of(given: Queue, tickets: list[Ticket], now: float) -> set[bool]:
    """Return what the batch says of the objective's own divisions of many groups."""
    roster, objective = BatchRoster(given), Objective(given)
    for each in tickets:
        roster.enter(each)
    batch = roster.batch(tickets, now)
    found = [objective.seat(group, now=now) for group in groups_of(tickets, given.format, 300)]
    return {is_legal(batch, teams_of(batch, tickets, each.teams)) for each in found if each}


SIX = Format((2, 2), roles=(("tank", 1), ("dps", 1)))


@pytest.mark.parametrize("has_criterion", [True, False])
def test_rule_of_role_ranks_allows_what_the_objective_does(has_criterion: bool) -> None:
    ranked = Rule("role_rank", limit=0.2, expand=Expansion(rate=0.01))
    criteria = (*BLOG.criteria, *([RANK] if has_criterion else []))
    given = Queue("ruled", SIX, criteria, (ranked,))
    rng = np.random.default_rng(3)
    lists = (("tank", "dps"), ("dps", "tank"), ("dps", "tank"), ())
    tickets = [
        msgspec.structs.replace(
            t,
            players=tuple(
                [msgspec.structs.replace(p, roles=lists[rng.integers(4)]) for p in t.players]
            ),
        )
        for t in pool(6, 12, (1, 1, 2))
    ]
    assert compare(given, tickets, 62.0) > 20
    assert verdicts_of(given, tickets, 62.0) == {True, False}


NEAR = Criterion("latency", "near", pairs="region", best=10.0, worst=100.0, weight=0.2)
ODD = {
    "two scales": (*BLOG.criteria, Criterion("latency", "latency", pairs="region", best=5.0)),
    "two attributes": (*BLOG.criteria, NEAR, Criterion("latency", "near", pairs="teammates")),
    "two regions": (NEAR, Criterion("latency", "latency", pairs="region", weight=0.3)),
    "two memories": (Criterion("rematch", "recent"), Criterion("rematch", "recent", matches=5)),
    "two routers": (*BLOG.criteria, Criterion("host_options", "network", weight=0.3)),
    "one router twice": (*BLOG.criteria, Criterion("host_options", "connect", weight=0.3)),
    "parity twice": (*BLOG.criteria, Criterion("party_parity", weight=0.3)),
    "raw gaps": (
        Criterion("imbalance", "skill", scale=Scale("none"), weight=2.0),
        Criterion("mean_gap", "skill", scale=Scale("none"), weight=0.5),
        Criterion("party_parity", weight=0.3),
    ),
    "none": (),
}
PLACED = (
    Rule("latency", "near", 90.0, expand=FAR, pairs="region"),
    Rule("latency", "latency", 200.0, expand=FAR, pairs="region"),
)
BOUNDED = (
    Rule("latency", "near", 90.0, expand=Expansion(rate=1.0, max=100.0), pairs="region"),
    Rule("latency", "latency", 150.0, pairs="region"),
)
ODD_RULES = {"free": (), "ruled": PLACED, "bounded": BOUNDED}


@pytest.mark.parametrize(
    ("odd", "players", "rules"),
    thinned(
        itertools.product(
            ODD, [(2, 2), (1, 3), (1, 1, 1, 1), (1, 1), (2, 1, 1)], ["free", "ruled", "bounded"]
        ),
        4,
    ),
)
def test_odd_criteria_cost_what_the_objective_says(
    odd: str, players: tuple[int, ...], rules: str
) -> None:
    criteria = ODD[odd]
    form = Format(players)
    sizes = tuple(size for size in (1, 1, 2) if form.admits(size))
    queue = Queue("odd", form, criteria, ODD_RULES[rules])
    assert compare(queue, pool(7, 11, sizes), 62.0) > 20


@pytest.mark.parametrize("choice", ["insist", "prefer"])
@pytest.mark.parametrize("players", [(2, 2), (1, 3), (1, 1)])
def test_sides_hold_whom_the_objective_puts_there(players: tuple[int, ...], choice: str) -> None:
    form = Format(players, ("attack", "defend"), side_choice=choice)  # type: ignore[arg-type]
    given = Queue("sided", form, BLOG.criteria)
    rng = np.random.default_rng(2)
    tickets = [
        msgspec.structs.replace(t, attributes={"side": side} if side else {})
        for t in pool(8, 11, (1, 1, 2) if form.admits(2) else (1,))
        for side in [("", "attack", "defend")[rng.integers(3)]]
    ]
    assert compare(given, tickets, 62.0) > 20
    roster = BatchRoster(given)
    for each in tickets:
        roster.enter(each)
    batch = roster.batch(tickets, 62.0)
    seating = next(s for g in groups_of(tickets, form, 60) if (s := Objective(given).seat(g)))
    teams = teams_of(batch, tickets, seating.teams)
    named = [p for team in teams for p in team if batch.sides.size and batch.sides[p] >= 0]
    assert is_legal(batch, teams)
    if choice == "insist" and named:
        assert not is_legal(batch, teams[::-1])
    assert (batch.sides.size == 0) == (choice == "prefer")


def test_rows_are_used_again_and_grow_with_the_pool() -> None:
    roster = BatchRoster(BLOG)
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
    fresh = BatchRoster(BLOG)
    for each in waiting:
        fresh.enter(each)
    one, two = roster.batch(waiting, 90.0), fresh.batch(waiting, 90.0)
    for group in groups_of(waiting[:9], BLOG.format, 20):
        teams: list[list[int]] = [[], []]
        for each in group:
            at = waiting.index(each)
            side = min(teams, key=len)
            side += range(one.first[at], one.first[at + 1])
        assert cost_of(one, teams) == cost_of(two, teams)
    assert len(roster) == len(waiting)
    assert roster.leave("nobody") is None


def test_worth_of_a_party_is_that_of_each_of_its_players() -> None:
    roster = BatchRoster(BLOG)
    tickets = [ticket("a", 1.0, 2.0, sequence=1), ticket("b", 3.0, sequence=2)]
    for each in tickets:
        roster.enter(each)
    plain = BatchRoster(queue("plain", 2, 2, criteria=(Criterion("spread", "rating"),)))
    for each in tickets:
        plain.enter(each)
    batch = with_worth(plain.batch(tickets, 0.0), (0.5, 0.25))
    assert batch.worth.tolist() == [0.5, 0.5, 0.25]


@pytest.mark.parametrize(
    ("given", "policy", "reason"),
    [
        (BLOG, "rolling", "the default for teams"),
        (
            Queue("sided", Format((3, 3), ("a", "b")), BLOG.criteria),
            "rolling",
            "the default for teams",
        ),
        (
            Queue("short", Format((3, 3), players_min=(2, 2)), BLOG.criteria),
            "rolling",
            "the default for teams",
        ),
        (
            Queue("arena", FORMATS["free-for-all"], (FULLNESS, BLOG.criteria[1])),
            "rolling",
            "the default for matches that may start before they are full",
        ),
        (
            Queue("ruled", Format((2, 2)), BLOG.criteria, RULED[8]),
            "rolling",
            "the default for teams",
        ),
        (
            Queue("free", Format((3, 3))),
            "greedy",
            "since the queue has no criteria: only waiting counts",
        ),
        (
            Queue("gratis", Format((3, 3)), BLOG.criteria, wait_price=0.0),
            "greedy",
            "since its wait_price is 0: without a price nothing would end a wait",
        ),
        (
            Queue("duel", criteria=(Criterion("spread", "rating"),)),
            "price",
            "the default for one against one",
        ),
        (
            Queue("far", criteria=(Criterion("latency", "latency"),)),
            "greedy",
            "since the queue compares latency, which price does not support",
        ),
        (
            Queue("three", Format((1, 1, 1)), (Criterion("spread", "rating"),)),
            "group_price",
            "the default for single players",
        ),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_default_policy_comes_with_its_reason(given: Queue, policy: str, reason: str) -> None:
    assert default_policy(given) == policy
    assert default_choice(given) == (policy, reason)


def test_rule_on_latency_holds_where_no_criterion_weighs_it() -> None:
    far = Rule("latency", "latency", limit=100.0)
    queue = Queue(
        "main", Format((1, 1)), (Criterion("spread", "rating"),), rules=(far,), policy="greedy"
    )
    roster = BatchRoster(queue)
    tickets = [
        Ticket(
            f"t{n}",
            n,
            0.0,
            (Player(f"p{n}", attributes={"rating": 0.5, "latency": {region: 20.0}}),),
            ("main",),
        )
        for n, region in enumerate(("eu", "eu", "us"), 1)
    ]
    for each in tickets:
        roster.enter(each)
    batch = roster.batch(tickets, 0.0)
    assert is_legal(batch, [[0], [1]])
    assert not is_legal(batch, [[0], [2]])
    assert cost_of(batch, [[0], [1]]) == pytest.approx(0.0, abs=1e-8)
