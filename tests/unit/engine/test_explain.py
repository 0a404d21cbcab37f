"""Why a ticket waits, case by case, each told from a live engine."""

import math
import random

import msgspec
import pytest

from evenmatch.criteria.base import Form
from evenmatch.criteria.objective import Objective
from evenmatch.engine.engine import Engine
from evenmatch.errors import UnknownTicket
from evenmatch.explain import waiting_table
from evenmatch.explain.explanations import Explainer, explain
from evenmatch.explain.snapshot import QueueSnapshot, snapshot_of
from evenmatch.model.explanation import Explanation, QueuePart
from evenmatch.model.inputs import (
    Accept,
    Advance,
    Cancel,
    Configure,
    Decline,
    Enqueue,
    Input,
)
from evenmatch.model.queue import Criterion, Expansion, Format, Queue, Rule, Scale
from evenmatch.model.queue import ReadyCheck as Check
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import new_ticket, rule
from evenmatch.testing.scripts import draw_script

ROLES = (("tank", 1), ("dps", 2))


def engine_of(*queues: Queue) -> Engine:
    engine = Engine(lambda queue: parse_policy(queue.policy))
    engine.step(Configure(0.0, queues))
    return engine


def enter(engine: Engine, now: float, *tickets: NewTicket) -> list[str]:
    before = engine.tables.counters.accepted
    hand_in(engine, Enqueue(now, tickets))
    return [f"s0-{n}" for n in range(before + 1, engine.tables.counters.accepted + 1)]


def hand_in(engine: Engine, given: Input) -> None:
    """Hand an input in, and what is due before it; searches are solved at once."""
    while engine.next_wakeup < given.now:
        engine.step(Advance(engine.next_wakeup))
        solve_jobs(engine)
    engine.step(given)
    if any(pool.slot.is_declared for pool in engine.pools.values()):
        while engine.next_wakeup <= given.now:
            engine.step(Advance(given.now))
            solve_jobs(engine)


def solve_jobs(engine: Engine) -> None:
    for running in engine.take_jobs():
        engine.step(running.settle(running.solve(), engine.tables.now))


def told(engine: Engine, ticket: str, now: float) -> QueuePart:
    (part,) = explain(engine, ticket, now).queues
    return part


def test_limits_are_told_as_they_stand_and_as_they_will() -> None:
    steps = Rule("spread", "rating", 50.0, expand=Expansion(steps=((10.0, 80.0), (30.0, 200.0))))
    curve = Rule("spread", "age", 5.0, expand=Expansion(curve=((0.0, 5.0), (20.0, 5.0), (40, 9.0))))
    rate = Rule("spread", "skill", 1.0, expand=Expansion(rate=0.5, max=4.0))
    endless = Rule("spread", "size", 1.0, expand=Expansion(rate=0.5))
    fixed = Rule("same", "mode")
    engine = engine_of(Queue(rules=(steps, curve, rate, endless, fixed)))
    facts = {"age": 20.0, "skill": 3.0, "size": 1.0, "mode": "a"}
    (one,) = enter(engine, 8.0, new_ticket("a", 1500, **facts))

    def limits(now: float) -> list[tuple[float, float | None, float | None, float | None]]:
        rules = told(engine, one, now).rules
        return [(each.limit, each.next_at, each.next_limit, each.final) for each in rules]

    assert limits(8.0) == [
        (50.0, 18.0, 80.0, 200.0),
        (5.0, 28.0, None, 9.0),
        (1.0, 8.0, None, 4.0),
        (1.0, 8.0, None, None),
        (0.0, None, None, 0.0),
    ]
    assert limits(18.0)[0] == (80.0, 38.0, 200.0, 200.0)
    assert limits(38.0) == [
        (200.0, None, None, 200.0),
        (7.0, 38.0, None, 9.0),
        (4.0, None, None, 4.0),
        (16.0, 38.0, None, None),
        (0.0, None, None, 0.0),
    ]


def test_what_would_have_to_change_is_counted_on_the_pool() -> None:
    rules = (rule(limit=100, rate=2.0, limit_max=300), Rule("same", "mode"))
    criteria = (Criterion("spread", "rating", scale=Scale(min=1000.0, max=4000.0)),)
    engine = engine_of(Queue(criteria=criteria, rules=rules, policy="rounds:every=10000"))
    gaps = [110, 130, 150, 205, 290, 400]
    (one,) = enter(engine, 0.0, new_ticket("me", 1500, mode="a"))
    for at, gap in enumerate(gaps):
        enter(engine, 0.0, new_ticket(f"a{at}", 1500 + gap, mode="a"))
        enter(engine, 0.0, new_ticket(f"b{at}", 1500 + gap + 2_000, mode=f"b{at}"))
    (near,) = enter(engine, 0.0, new_ticket("near", 1550, mode="b"))
    part = told(engine, one, 0.0)
    assert [each.blocks for each in part.rules] == [12, 7]
    assert [each.blocks_alone for each in part.rules] == [6, 1]
    wider = "a limit on rating of 110 instead of 100 would allow 1 more candidate"
    told_wider = f"{wider}; this ticket's own is as wide in 5 s"
    assert part.changes == (
        "1 more player who may play with this ticket now",
        told_wider,
        "without the rule that mode be the same this ticket could play with 1 more candidate",
    )
    assert part.later is not None
    assert (part.later.at, part.later.tickets) == (5.0, (one, "s0-2"))
    assert part.now is None
    hand_in(engine, Cancel(1.0, near))
    assert told(engine, one, 1.0).rules[1].blocks == 6


def test_missing_roles_sizes_and_players_are_named() -> None:
    roles = engine_of(Queue(format=Format((3, 3), roles=ROLES)))
    dps = [NewTicket((Player(f"p{n}", roles=("dps",)),)) for n in range(7)]
    one, *_ = enter(roles, 0.0, *dps)
    part = told(roles, one, 1.0)
    assert part.reason.code == "seats"
    assert part.seats.roles_missing == {"tank": 2}
    assert "2 more players of role tank" in part.changes
    assert "all 6 other tickets may play with it now, but 2 players of role tank are missing." in (
        part.summary
    )
    trios = engine_of(Queue(format=Format((4, 4))))
    pair, *_ = enter(trios, 0.0, new_ticket("a", 1, 2), new_ticket("b", 1, 2, 3))
    part = told(trios, pair, 1.0)
    assert (part.seats.players_missing, part.seats.sizes_missing) == (3, ())
    assert "3 more players who may play with this ticket now" in part.changes
    enter(trios, 1.0, new_ticket("c", 1, 2))
    part = told(trios, pair, 1.0)
    assert part.seats.sizes_missing == (1, 4)
    assert "this party of 2 needs a solo or a party of 4 more" in part.changes


HERO = (("tank", 1), ("damage", 2), ("support", 2))
FIVES = Format((5, 5))


def _parties(*sizes: int) -> list[NewTicket]:
    return [new_ticket(f"t{at}", *range(size)) for at, size in enumerate(sizes)]


def _players(*roles: str) -> list[NewTicket]:
    each = [tuple(filter(None, given.split("+"))) for given in roles]
    return [NewTicket((Player(f"p{at}", roles=own),)) for at, own in enumerate(each)]


MISSING = [
    # Format, who waits (the first is asked about), players missing, and of which roles at least.
    (FIVES, _parties(2), 8, {}),
    (FIVES, _parties(3, 3, 3), 4, {}),  # a third party of three fits into neither team
    (FIVES, _parties(1, 4, 4), 1, {}),
    (FIVES, _parties(5, 4, 4), 1, {}),
    (Format((1, 1)), _parties(1), 1, {}),
    (Format((1,) * 8), _parties(1, 1, 1), 5, {}),
    (Format((1, 4)), _parties(2), 3, {}),
    (Format((1, 4)), _parties(3, 3), 2, {}),
    (Format((5, 5), players_min=(3, 3)), _parties(2), 4, {}),
    (Format((5, 5), players_min=(3, 3)), _parties(5), 3, {}),
    (Format((1,) * 8, players_min=(1, 1, 1, 1, 0, 0, 0, 0)), _parties(1), 3, {}),
    (Format((5, 5), roles=HERO), _players(""), 9, {"tank": 1, "damage": 3, "support": 3}),
    (Format((5, 5), roles=HERO), _players(*["damage"] * 9), 6, {"tank": 2, "support": 4}),
    (Format((5, 5), roles=HERO), _players("tank+damage", "tank"), 8, {"damage": 3, "support": 4}),
]


@pytest.mark.parametrize(("form", "tickets", "players", "roles"), MISSING)
def test_missing_players_are_those_whom_the_others_leave_seats_for(
    form: Format, tickets: list[NewTicket], players: int, roles: dict[str, int]
) -> None:
    engine = engine_of(Queue(format=form, policy="greedy"))
    one, *_ = enter(engine, 0.0, *tickets)
    seats = told(engine, one, 1.0).seats
    assert (seats.players_missing, seats.roles_missing) == (players, roles)


def test_a_lone_party_of_two_is_told_that_eight_are_missing() -> None:
    party = NewTicket((Player("a"), Player("b")))
    plain = engine_of(Queue(format=FIVES, wait_max=60.0, on_deadline="bots", policy="greedy"))
    (one,) = enter(plain, 0.0, party)
    assert told(plain, one, 1.0).summary == (
        "This ticket has waited 1 s in main as a party of 2: nobody else waits there, and 8 more "
        "players are needed for a match. In 59 s this ticket plays with computer players."
    )
    roles = engine_of(Queue(format=Format((5, 5), roles=HERO), policy="greedy"))
    (one,) = enter(roles, 0.0, party)
    part = told(roles, one, 1.0)
    assert part.seats.players_missing == 8
    more = "8 more players"
    least = ", at least 2 of them of role damage and 2 of role support"
    assert part.changes == (f"{more} who may play with this ticket now{least}",)
    assert f"{more} are needed for a match{least}." in part.summary


def test_those_who_go_together_on_no_side_are_misfits() -> None:
    engine = engine_of(Queue(format=Format(sides=("cat", "mouse"))))
    one, *_ = enter(engine, 0.0, *(new_ticket(f"c{n}", 1, side="cat") for n in range(4)))
    part = told(engine, one, 1.0)
    assert (part.seats.misfits, part.allowed, part.reason.code) == (3, 0, "seats")
    assert part.summary.startswith(
        "This ticket has waited 1 s in main: sizes, sides or roles keep all 3 other tickets out of "
        "any match with it"
    )


def test_a_party_that_breaks_a_rule_by_itself_is_told_so() -> None:
    rules = (rule(limit=100, rate=1.0, limit_max=300), Rule("same", "mode"))
    engine = engine_of(Queue(format=Format((2, 2)), rules=rules))
    wide = NewTicket(
        tuple(Player(f"p{n}", None, {"rating": 500.0 * n, "mode": f"m{n}"}) for n in range(2))
    )
    one, *_ = enter(engine, 0.0, wide, *(new_ticket(f"s{n}", 1, mode="m0") for n in range(3)))
    part = told(engine, one, 1.0)
    assert part.reason.code == "never"
    assert any("need a limit on rating of 500, which it never reaches" in c for c in part.changes)
    assert "the players of this party differ in mode, which has to be the same" in part.changes


@pytest.mark.parametrize(
    ("policy", "code", "words"),
    [
        ("rounds:every=60", "round", "but the policy waits for its next round in 59 s"),
        ("price:theta=0.01", "policy", "but price waits for somebody whose match costs less"),
        ("periodic:rounds_of=40", "policy", "but periodic collects more players"),
        ("threshold:quality=1", "policy", "but threshold waits until a match is good enough"),
    ],
)
def test_a_legal_match_that_is_not_made_is_told_with_the_reason(
    policy: str, code: str, words: str
) -> None:
    near = Criterion("spread", "rating", scale=Scale(min=1000.0, max=2000.0))
    engine = engine_of(Queue(criteria=(near,), policy=policy, wait_max=120.0))
    one, two = enter(engine, 0.0, new_ticket("a", 1500), new_ticket("b", 1900))
    part = told(engine, one, 1.0)
    assert part.now is not None
    assert (part.now.tickets, part.now.quality) == ((one, two), 0.6)
    assert part.now.is_exact
    assert part.reason.code == code
    assert words in part.summary
    assert "a match with s0-2 (quality 0.60) would be legal now, but " in part.summary


def test_a_policy_that_fails_or_computes_is_told_so() -> None:
    engine = engine_of(Queue(rules=(rule(limit=10),)))
    one, _ = enter(engine, 0.0, new_ticket("a", 1500), new_ticket("b", 1600))
    engine.pools["main"].fail_job(ValueError("no"))
    part = told(engine, one, 1.0)
    assert part.reason.code == "policy_failed"
    assert part.changes[0].startswith("queue main needs a policy that works: policy greedy")
    scene = msgspec.structs.replace(snapshot_of(engine, "main", 200.0), fault=None, is_solving=True)
    near = {each: scene.tickets[each] for each in scene.tickets}
    near["s0-2"] = msgspec.structs.replace(near["s0-2"], players=near[one].players)
    part = Explainer().part(msgspec.structs.replace(scene, tickets=near), one)
    assert part.reason.code == "computing"


def test_a_ticket_of_two_queues_has_a_part_for_each() -> None:
    engine = engine_of(
        Queue("near", rules=(rule(limit=10),)),
        Queue("far", rules=(rule(limit=10, rate=1.0),), wait_max=20.0),
    )
    both = ("near", "far")
    one, _ = enter(
        engine, 0.0, new_ticket("a", 1500, queues=both), new_ticket("b", 1540, queues=both)
    )
    found = explain(engine, one, 2.0)
    near, far = found.queues
    assert (near.reason.code, far.reason.code) == ("never", "not_yet")
    assert far.reason.until == 30.0
    assert (far.deadline_at, far.at_deadline) == (20.0, "expire")
    assert far.summary == (
        "This ticket has waited 2 s in far: the limit on rating (12 now) keeps the only other "
        "ticket away. This ticket leaves this queue in 18 s, before the limits allow the first "
        "match (with s0-2, in 28 s). To play in time, it would need a limit on rating of 40 by "
        "then instead of 30."
    )
    assert far.changes[-1].endswith("is as wide only in 28 s, after its longest wait")
    brief = "In near: the rules never allow a match with those who wait now."
    assert found.summary == f"{far.summary} {brief}"
    # Where another queue is nearer, the brief word on this one is as true.
    engine = engine_of(
        Queue("soon", rules=(rule(limit=20, rate=1.0),)),
        Queue("far", rules=(rule(limit=10, rate=1.0),), wait_max=20.0),
    )
    both = ("soon", "far")
    one, _ = enter(
        engine, 0.0, new_ticket("a", 1500, queues=both), new_ticket("b", 1540, queues=both)
    )
    assert explain(engine, one, 2.0).summary.endswith(
        "The limits allow the first match, with s0-2, in 18 s. In far: the limits allow the first "
        "match in 28 s, but this ticket leaves this queue in 18 s, before that."
    )


def test_ended_tickets_are_told_how_they_ended() -> None:
    engine = engine_of(Queue(wait_max=30.0, accept=Check(seconds=5.0, repair=1.0)))
    one, two = enter(engine, 0.0, new_ticket("a", 1500), new_ticket("b", 1500))
    match = engine.tables.waiting[one].match
    assert match is not None
    hand_in(engine, Decline(1.0, match, one))
    found = explain(engine, one, 2.0)
    assert found.summary == "This ticket was cancelled after 1 s: it declined a ready-check."
    waits = explain(engine, two, 1.5)
    assert waits.check is not None
    assert (waits.check.free_seats, waits.check.repair_until) == (1, 2.0)
    assert waits.summary == (
        "This ticket has to accept its match s0-m1 within 3.5 s. 1 player has dropped out in the "
        "ready-check; replacements are sought for another 0.5 s at most."
    )
    hand_in(engine, Advance(2.0))
    assert told(engine, two, 3.0).reason.code == "alone"
    hand_in(engine, Advance(30.0))
    ended = explain(engine, two, 31.0)
    assert ended.summary == (
        "This ticket expired after 30 s: its longest wait was over and no match was found."
    )
    assert (ended.state, ended.wait, ended.players) == ("expired", 30.0, None)
    with pytest.raises(UnknownTicket):
        explain(engine, "s0-99", 31.0)


def test_silence_in_a_ready_check_is_told_from_a_lost_client() -> None:
    engine = engine_of(Queue(accept=Check(seconds=5.0, repair=0.0)))
    one, two = enter(engine, 0.0, new_ticket("a", 1500), new_ticket("b", 1500))
    match = engine.tables.waiting[one].match
    assert match is not None
    hand_in(engine, Accept(1.0, match, one))
    hand_in(engine, Advance(5.0))
    assert "it did not answer a ready-check in time" in explain(engine, two, 6.0).summary
    enter(engine, 7.0, new_ticket("c", 1500))
    found = explain(engine, one, 8.0)
    assert found.state == "proposed"
    hand_in(engine, Cancel(8.0, one, "silent"))


def test_who_failed_a_check_together_is_told_until_when_they_are_kept_apart() -> None:
    engine = engine_of(Queue(accept=Check(seconds=5.0, repair=0.0, again=30.0)))
    trio = enter(engine, 0.0, new_ticket("a", 1500), new_ticket("b", 1500))
    match = engine.tables.waiting[trio[0]].match
    assert match is not None
    hand_in(engine, Decline(1.0, match, trio[0]))
    (again,) = enter(engine, 2.0, new_ticket("a", 1500))
    held = engine.pools["main"].held_until
    assert list(held) == [again]
    part = told(engine, again, 3.0)
    assert (part.reason.code, part.reason.until) == ("held", held[again])
    assert part.summary.endswith(
        "after a failed ready-check the same players are kept apart for another 28 s."
    )


def test_who_is_kept_apart_from_one_is_told_of_the_match_with_another() -> None:
    near = Criterion("spread", "rating", scale=Scale(min=1000.0, max=2000.0))
    check = Check(seconds=5.0, repair=0.0, again=60.0)
    engine = engine_of(Queue(criteria=(near,), policy="delay_greedy", wait_max=99.0, accept=check))
    one, two = enter(engine, 0.0, new_ticket("a", 1500), new_ticket("b", 1500))
    hand_in(engine, Advance(engine.next_wakeup))
    match = engine.tables.waiting[one].match
    assert match is not None
    (other,) = enter(engine, 0.5, new_ticket("c", 1650))
    hand_in(engine, Decline(1.0, match, one))
    (again,) = enter(engine, 1.5, new_ticket("a", 1500))
    hand_in(engine, Advance(2.0))
    assert list(engine.pools["main"].held_until) == [again]
    part = told(engine, two, 2.1)
    assert part.now is not None
    assert (part.now.tickets, part.reason.code) == ((two, other), "policy")
    assert told(engine, again, 2.1).reason.code == "held"
    while engine.tables.waiting[two].match is None:
        hand_in(engine, Advance(engine.next_wakeup))
    assert engine.tables.waiting[other].match == engine.tables.waiting[two].match
    assert engine.tables.now < 30.0


@pytest.mark.parametrize("seed", range(4))
def test_a_table_kept_up_to_date_says_what_a_new_one_says(seed: int) -> None:
    rng = random.Random(seed)
    rules = (
        rule(limit=100, rate=5.0),
        Rule("latency", "latency", 90.0, expand=Expansion(rate=10.0)),
        Rule("same", "mode", expand=Expansion(steps=((9.0, 1.0),))),
        Rule("rematch", "recent", matches=2),
        Rule("overlap", "words"),
    )
    queue = Queue(criteria=(Criterion("latency", "latency"),), rules=rules)
    everyone = [t for s in draw_script(queue, rules, seed).steps for t in s.enters]
    explainer, waiting = Explainer(), set(range(0, len(everyone), 2))
    for turn in range(12):
        waiting ^= set(rng.sample(range(len(everyone)), 4))
        tickets = {everyone[at].id: everyone[at] for at in sorted(waiting)}
        now = everyone[-1].enqueued_at + turn
        scene = scene_with(queue, tickets, now)
        for ticket_id in tickets:
            assert explainer.part(scene, ticket_id) == Explainer().part(scene, ticket_id)
        explainer._comparers["main"].table._check()


def scene_with(queue: Queue, tickets: dict, now: float) -> QueueSnapshot:  # type: ignore[type-arg]
    objective = OBJECTIVES.setdefault(queue.rules, Objective(queue))
    return QueueSnapshot(
        queue, objective, tickets, {}, now, math.inf, "", False, False, False, None
    )


OBJECTIVES: dict[tuple[Rule, ...], Objective] = {}


def test_what_cannot_be_compared_in_time_is_said_to_be_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(waiting_table.PAIR_COLUMNS, Form.WORD)
    monkeypatch.setattr(waiting_table, "EXCEPTIONS_MAX", 3)
    engine = engine_of(Queue(rules=(Rule("same", "mode"), rule(limit=1, unit="relative"))))
    names = [new_ticket(f"p{n}", 1500, mode=f"m{n}") for n in range(9)]
    one, *_ = enter(engine, 0.0, *names)
    part = told(engine, one, 1.0)
    assert (part.others, part.compared, part.rules[0].blocks) == (8, 3, 3)
    assert part.rules[1].blocks == 0


def test_an_explanation_goes_over_the_wire_and_back() -> None:
    engine = engine_of(Queue(rules=(rule(limit=100, rate=1.0),)))
    one, _ = enter(engine, 0.0, new_ticket("a", 1500), new_ticket("b", 1700))
    found = explain(engine, one, 1.0)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Explanation) == found


@pytest.mark.parametrize("policy", ["rolling", "threshold"])
def test_tickets_that_ended_after_the_snapshot_do_not_stop_explanations(policy: str) -> None:
    criteria = (Criterion("spread", "rating", scale=Scale(min=1000.0, max=2000.0)),)
    teams = Queue("main", Format((2, 2)), criteria, policy=policy)
    engine = engine_of(teams)
    # A perfect match, which is what is usual from then on.
    enter(engine, 0.5, *(new_ticket(f"p{n}", 1500) for n in range(4)))
    for n in range(9):
        enter(engine, 1.0 + n / 64, new_ticket(f"t{n}", 1300 + n * 60))
    # By then a search has seen them all.
    hand_in(engine, Advance(3.0))
    starts = engine.pools["main"].matcher.starts()  # type: ignore[attr-defined]
    memories = engine.memories()
    ended = next(iter(starts))
    hand_in(engine, Cancel(3.25, ended))
    hand_in(engine, Configure(3.5, (teams,), pause=("main",)))
    restarted = Engine(lambda queue: parse_policy(queue.policy))
    restarted.tables = engine.tables
    # The queue is paused, so its matcher decides nothing, and forgets nobody.
    restarted.resume(4.0, memories)
    kept = restarted.pools["main"].matcher.starts()  # type: ignore[attr-defined]
    assert ended not in kept
    assert set() < kept.keys() < starts.keys()
    assert explain(restarted, next(iter(restarted.tables.waiting)), 4.0).queues


def test_a_policy_whose_starts_fail_is_explained_as_one_that_says_nothing() -> None:
    engine = engine_of(Queue("main", policy="greedy"))
    (one,) = enter(engine, 1.0, new_ticket("a", 1500))
    pool = engine.pools["main"]
    before = told(engine, one, 2.0)

    def fail() -> dict[str, float]:
        raise KeyError("a user's mistake")

    pool.matcher.starts = fail  # type: ignore[attr-defined]
    assert told(engine, one, 2.0) == before
    assert pool.fault is None, "what only explains stops no matches"
