"""The sentences of explanations, read as a person at a help desk does."""

import math
import re

import msgspec
import pytest

from evenmatch.engine.engine import Engine
from evenmatch.errors import ConfigError
from evenmatch.explain import explanations as parts
from evenmatch.explain.explanations import Explainer, explain
from evenmatch.explain.snapshot import snapshot_of
from evenmatch.model.inputs import Accept, Advance, Configure, Decline, Enqueue, Input, Open
from evenmatch.model.queue import Criterion, Expansion, Format, Queue, ReadyCheck, Rule, Scale
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.policies.registry import POLICIES, parse_policy
from evenmatch.testing import new_ticket, rule

NEAR = Criterion("spread", "rating", scale=Scale(min=1000.0, max=2000.0))
WIDENS = rule(limit=100, rate=1.0, limit_max=400)
SERVING = [name for name in POLICIES if getattr(parse_policy(name), "serves_overdue", False)]


def engine_of(*queues: Queue) -> Engine:
    engine = Engine(lambda queue: parse_policy(queue.policy))
    engine.step(Configure(0.0, queues))
    return engine


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


def two(queue: Queue, gap: float, now: float = 0.0) -> tuple[Engine, str]:
    """Return an engine with two tickets that came now, and the first one's id."""
    engine = engine_of(queue)
    hand_in(engine, Enqueue(now, (new_ticket("a", 1500), new_ticket("b", 1500 + gap))))
    return engine, "s0-1"


def told(engine: Engine, ticket: str, now: float) -> str:
    return explain(engine, ticket, now).summary


def matched_at(engine: Engine, ticket: str, until: float) -> float:
    """Return when a ticket is matched as time passes and nobody comes; inf if it is not."""
    while engine.view(ticket).state == "waiting" and engine.next_wakeup <= until:
        now = engine.next_wakeup
        engine.step(Advance(now))
        solve_jobs(engine)
        if engine.view(ticket).state == "matched":
            return now
    return math.inf


# A policy that waits on purpose


def test_rolling_says_why_a_match_is_not_made_and_when_it_will_be() -> None:
    engine, _ = two(Queue("duel", criteria=(NEAR,), policy="rolling", wait_max=120.0), 0.0)
    ticket = "s0-3"
    # After a perfect match, which is made at once, a worse one has to wait.
    hand_in(engine, Enqueue(0.0, (new_ticket("c", 1500), new_ticket("d", 1600))))
    hand_in(engine, Advance(1.0))
    found = explain(engine, ticket, 1.0)
    (part,) = found.queues
    assert part.now is not None
    assert part.now.criteria_cost == pytest.approx(0.2)
    start = part.reason.until
    assert start is not None
    assert found.summary == (
        "This ticket has waited 1 s in duel: a match with s0-4 (quality 0.90) "
        "would be legal now, but rolling waits on purpose: a newcomer may make the matches of "
        "all who wait better. The policy means to start a match with this ticket in "
        f"{start - 1.0:.0f} s. In 119 s at the latest it matches this ticket, if the rules allow "
        "it."
    )
    assert matched_at(engine, ticket, 120.0) <= start


def test_threshold_says_when_a_match_is_good_enough() -> None:
    queue = Queue("duel", criteria=(NEAR,), policy="threshold:relax=0.01", wait_max=120.0)
    engine, ticket = two(queue, 300.0)
    found = explain(engine, ticket, 1.0)
    start = found.queues[0].reason.until
    assert start == pytest.approx(15.0)
    assert "The policy means to start a match with this ticket in 14 s." in found.summary
    assert matched_at(engine, ticket, 120.0) <= start


@pytest.mark.parametrize("name", SERVING)
def test_who_has_waited_longest_is_matched_when_it_was_said_at_the_latest(name: str) -> None:
    # So far apart that each of them would rather wait.
    queue = Queue("duel", criteria=(NEAR,), policy=name, wait_max=60.0)
    try:
        engine, ticket = two(queue, 500.0)
    except ConfigError:
        pytest.skip(f"{name} takes no such queue")
    if engine.view(ticket).state != "waiting":
        pytest.skip(f"{name} makes this match at once")
    summary = told(engine, ticket, 1.0)
    assert re.search(r"[Ii]n 59 s at the latest (it|the policy) matches this ticket", summary)
    assert matched_at(engine, ticket, 60.0) <= 60.0


def test_the_policies_that_serve_the_overdue_are_known() -> None:
    assert {"rolling", "threshold", "price", "gap_value", "delay_greedy"} <= set(SERVING)
    assert not {"greedy", "rounds", "patient", "weighted", "periodic"} & set(SERVING)


@pytest.mark.parametrize(
    ("policy", "wait_max", "end"),
    [
        ("periodic:rounds_of=40", None, "it looks again when somebody comes or leaves."),
        (
            "periodic:rounds_of=40",
            60.0,
            ("it looks again within 59 s. This ticket expires then, if it is still not matched."),
        ),
    ],
)
def test_where_the_policy_cannot_tell_it_is_said_to_decide(
    policy: str, wait_max: float | None, end: str
) -> None:
    engine, ticket = two(Queue("duel", criteria=(NEAR,), policy=policy, wait_max=wait_max), 0.0)
    assert told(engine, ticket, 1.0).endswith(f"Only the policy decides when; {end}")


# A first match that comes too late


def test_who_expires_before_the_first_match_is_told_so_and_what_it_would_take() -> None:
    queue = Queue("duel", criteria=(NEAR,), rules=(WIDENS,), policy="greedy", wait_max=60.0)
    engine, ticket = two(queue, 250.0)
    assert told(engine, ticket, 26.0) == (
        "This ticket has waited 26 s in duel: the limit on rating (126 now) keeps the only other "
        "ticket away. This ticket expires in 34 s, before the limits allow the first match (with "
        "s0-2, in 124 s). To play in time, it would need a limit on rating of 250 by then instead "
        "of 160."
    )
    assert matched_at(engine, ticket, 200.0) == math.inf
    wide = Rule("spread", "rating", 100.0, expand=Expansion(steps=((59.0, 250.0),)))
    engine, ticket = two(Queue("duel", rules=(wide,), policy="greedy", wait_max=60.0), 250.0)
    assert matched_at(engine, ticket, 60.0) == 59.0


def test_the_limit_that_blocks_is_named_whosever_it_is() -> None:
    engine = engine_of(Queue("duel", rules=(WIDENS,), policy="greedy"))
    hand_in(engine, Enqueue(0.0, (new_ticket("a", 1500),)))
    hand_in(engine, Enqueue(60.0, (new_ticket("b", 1650), new_ticket("c", 1350))))
    apart = "keeps both other tickets away"
    theirs = f": their own limit on rating (not this ticket's, 160 now) {apart}."
    assert theirs in told(engine, "s0-1", 60.0)
    assert f": the limit on rating (100 now) {apart}." in told(engine, "s0-2", 60.0)
    hand_in(engine, Enqueue(61.0, (new_ticket("d", 2500),)))
    some = "keeps all 3 other tickets away, 2 of them only by their own limits."
    assert f": the limit on rating (161 now) {some}" in told(engine, "s0-1", 61.0)


def test_a_match_at_the_deadline_is_in_time() -> None:
    queue = Queue("duel", rules=(WIDENS,), policy="greedy", wait_max=60.0)
    engine, ticket = two(queue, 160.0)
    assert told(engine, ticket, 1.0).endswith(
        "The limits allow the first match, with s0-2, in 59 s."
    )
    assert matched_at(engine, ticket, 60.0) == 60.0


def test_a_match_with_somebody_who_leaves_before_it_is_legal_is_told_as_such() -> None:
    grows = rule(limit=10, rate=1.0)
    engine = engine_of(Queue("duel", rules=(grows,), policy="greedy", wait_max=60.0))
    hand_in(engine, Enqueue(0.0, (new_ticket("a", 1500),)))
    hand_in(engine, Enqueue(50.0, (new_ticket("b", 1540),)))
    assert told(engine, "s0-2", 51.0).endswith(
        "The limits allow the first match, with s0-1, in 29 s, but s0-1 expires in 9 s, before "
        "that."
    )
    reason = explain(engine, "s0-2", 51.0).queues[0].reason
    assert (reason.code, reason.until) == ("not_yet", None)
    # Somebody who is farther away, but still there by then, comes first.
    hand_in(engine, Enqueue(52.0, (new_ticket("c", 1585),)))
    assert told(engine, "s0-2", 53.0).endswith(
        "The limits allow the first match, with s0-3, in 34 s."
    )
    assert matched_at(engine, "s0-2", 200.0) == 87.0


def test_a_group_whose_others_leave_before_it_is_legal_is_told_as_such() -> None:
    grows = rule(limit=10, rate=1.0)
    queue = Queue("four", Format((2, 2)), rules=(grows,), policy="greedy", wait_max=60.0)
    engine = engine_of(queue)
    hand_in(engine, Enqueue(0.0, tuple(new_ticket(name, 1500) for name in "ab")))
    hand_in(engine, Enqueue(50.0, (new_ticket("c", 1540), new_ticket("d", 1540))))
    assert told(engine, "s0-3", 51.0).endswith(
        "The limits allow the first match, with 3 other tickets, in 29 s, but 2 of its tickets "
        "leave before that."
    )
    hand_in(engine, Enqueue(52.0, (new_ticket("e", 1590), new_ticket("f", 1590))))
    assert told(engine, "s0-3", 53.0).endswith(
        "The limits allow the first match, with 3 other tickets, in 39 s."
    )
    assert matched_at(engine, "s0-3", 200.0) == 92.0


def test_a_group_that_all_others_leave_before_it_is_legal_is_told_as_such() -> None:
    queue = Queue("three", Format((2, 1)), rules=(rule(limit=10, rate=1.0),), wait_max=60.0)
    engine = engine_of(queue)
    hand_in(engine, Enqueue(0.0, tuple(new_ticket(name, 1500) for name in "ab")))
    hand_in(engine, Enqueue(50.0, (new_ticket("c", 1540),)))
    words = "in 29 s, but its other tickets leave before that"
    (part,) = explain(engine, "s0-3", 51.0).queues
    assert part.reason.text == f"the limits allow the first match {words}"
    assert part.summary.endswith(
        f"The limits allow the first match, with 2 other tickets, {words}."
    )


def test_running_matches_that_ask_for_players_are_named() -> None:
    grows = rule(limit=10, rate=1.0)
    queue = Queue("duel", rules=(grows,), policy="greedy", wait_max=300.0, backfill="manual")
    engine = engine_of(queue)
    hand_in(engine, Enqueue(0.0, (new_ticket("a", 1500), new_ticket("b", 1500))))
    hand_in(engine, Enqueue(2.0, (new_ticket("c", 1540), new_ticket("d", 1900))))
    alone = told(engine, "s0-3", 3.0)
    assert "This ticket expires in 299 s, before the limits allow the first match" in alone
    assert "running" not in alone
    hand_in(engine, Open(3.0, "s0-m1", 0, ("b",), lease=300.0))
    asks = "1 running match of this queue asks for players, too, and may take this ticket sooner."
    assert told(engine, "s0-3", 3.0) == f"{alone} {asks}"
    assert matched_at(engine, "s0-3", 100.0) == 32.0
    assert "running" not in told(engine, "s0-4", 33.0)


def test_running_matches_are_named_only_to_whom_they_can_take() -> None:
    queue = Queue("two", Format((2, 2)), policy="greedy", wait_max=300.0, backfill="manual")
    engine = engine_of(queue)
    hand_in(engine, Enqueue(0.0, tuple(new_ticket(name, 1500) for name in "abcd")))
    hand_in(engine, Open(1.0, "s0-m1", 0, ("b",), lease=300.0))
    pair = tuple(Player(name) for name in "ef")
    hand_in(engine, Enqueue(2.0, (NewTicket(pair),)))
    # One seat is free, and they are two.
    assert "running" not in told(engine, "s0-5", 3.0)
    seen = msgspec.structs.replace(snapshot_of(engine, "two", 3.0), asking=(1, 2, 2))
    summary = Explainer().part(seen, "s0-5").summary
    assert "2 running matches of this queue ask for 2 players or more, too, and may" in summary
    # Who is kept from the policy is kept from running matches.
    seen = msgspec.structs.replace(seen, held={"s0-5": 60.0})
    assert "running" not in Explainer().part(seen, "s0-5").summary


def test_what_comes_before_a_late_match_is_named_as_the_queue_has_it() -> None:
    for way, words in (
        ("bots", "In 59 s this ticket plays with computer players, before the limits allow"),
        ("keep", "The limits allow the first match, with s0-2, in 149 s."),
    ):
        queue = Queue("duel", rules=(WIDENS,), policy="greedy", wait_max=60.0, on_deadline=way)
        engine, ticket = two(queue, 250.0)
        summary = told(engine, ticket, 1.0)
        assert words in summary
        wanted = "it would need a limit on rating of 250 by then instead of 160."
        assert (f"To play with people in time, {wanted}" in summary) == (way == "bots")


# Nobody to play with


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ((WIDENS,), "Even at its widest, 400, the limit on rating lets none of them in, so only"),
        ((rule(limit=50),), "The limit on rating widens no more, so only newcomers can help."),
        ((Rule("same", "mode"),), "No wait changes that, so only newcomers can help."),
        ((Rule("avoid", "avoid"),), "the list of players to avoid (avoid) keeps the only other"),
    ],
)
def test_who_can_never_play_with_those_who_wait_is_told_why(
    rules: tuple[Rule, ...], words: str
) -> None:
    engine = engine_of(Queue("duel", rules=rules, policy="greedy"))
    one = NewTicket((Player("a", None, {"rating": 1500.0, "mode": "x", "avoid": ("b",)}),))
    hand_in(engine, Enqueue(0.0, (one, new_ticket("b", 9000, mode="y"))))
    assert words in told(engine, "s0-1", 1.0)


def of_pings(*pings: dict[str, float], others: int = 1) -> str:
    """Return what a party of these pings is told beside others who are near everything."""
    ping = Rule("latency", "ping", 100.0, pairs="region", expand=Expansion(rate=2.0, max=150.0))
    form = Format(players=(2, 2))
    engine = engine_of(Queue("duo", format=form, rules=(ping,), policy="greedy", wait_max=90.0))
    party = NewTicket(tuple([Player(f"a{n}", None, {"ping": p}) for n, p in enumerate(pings)]))
    near = [
        NewTicket((Player(f"b{n}", None, {"ping": {"eu": 20.0, "us": 20.0}}),))
        for n in range(others)
    ]
    hand_in(engine, Enqueue(0.0, (party, *near)))
    return told(engine, "s0-1", 1.0)


@pytest.mark.parametrize("others", [0, 2, 3])
def test_who_is_too_far_from_every_region_is_not_told_to_wait_for_newcomers(others: int) -> None:
    summary = of_pings({"eu": 320.0, "us": 290.0}, others=others)
    assert (
        "No match is possible with this ticket's ping, whoever comes: the best region is us with "
        "290 ms, and the limit is 150 ms at its widest; measure anew and send it by PATCH, offer a "
        "nearer region, or let the limit widen further. This ticket expires in 89 s."
    ) in summary
    assert "newcomers" not in summary
    assert "No match is possible" not in of_pings({"eu": 320.0, "us": 149.0}, others=others)


def test_party_that_shares_no_near_region_is_told_so() -> None:
    summary = of_pings({"eu": 20.0, "us": 290.0}, {"eu": 200.0, "us": 30.0}, others=0)
    assert "with this party's ping, whoever comes: the best region is eu with 200 ms" in summary
    summary = of_pings({"eu": 20.0}, {"us": 30.0}, others=0)
    assert "The players of this party have no region in common, so no match is poss" in summary


def test_nothing_is_said_twice_of_who_is_alone() -> None:
    engine = engine_of(Queue("duel", policy="greedy", wait_max=90.0))
    hand_in(engine, Enqueue(0.0, (new_ticket("a", 1500),)))
    assert told(engine, "s0-1", 0.081) == (
        "This ticket has waited 0.1 s in duel: nobody else waits there. "
        "This ticket expires in 90 s."
    )


def test_parties_that_fill_no_team_are_told_so() -> None:
    engine = engine_of(Queue("trios", Format((3, 3)), policy="greedy"))
    hand_in(engine, Enqueue(0.0, tuple(new_ticket(f"p{n}", 1, 2) for n in range(3))))
    assert told(engine, "s0-1", 1.0) == (
        "This ticket has waited 1 s in trios as a party of 2: both other tickets may play with it "
        "now, but 2 more players are needed for a match."
    )


def test_ready_checks_are_told_with_their_count() -> None:
    engine = engine_of(Queue("ranked", Format((2, 2)), accept=ReadyCheck(seconds=15.0, repair=9.0)))
    hand_in(engine, Enqueue(0.0, tuple(new_ticket(f"p{n}", 1500) for n in range(4))))
    match = engine.tables.waiting["s0-1"].match
    assert match is not None
    assert told(engine, "s0-1", 1.0) == (
        f"This ticket has to accept match {match} within 14 s; 0 of 4 tickets have accepted."
    )
    # The time is up, and the engine has not heard so yet.
    assert told(engine, "s0-1", 16.0) == (
        f"This ticket has to accept match {match}; 0 of 4 tickets have accepted."
    )
    hand_in(engine, Accept(1.5, match, "s0-2"))
    assert told(engine, "s0-1", 2.0).endswith("within 13 s; 1 of 4 tickets has accepted.")
    hand_in(engine, Decline(2.0, match, "s0-4"))
    hand_in(engine, Decline(2.0, match, "s0-3"))
    assert "2 players have dropped out in the ready-check; replacements are sought" in told(
        engine, "s0-1", 3.0
    )


def test_the_only_ticket_that_is_asked_is_told_so() -> None:
    check = ReadyCheck(seconds=15.0)
    engine = engine_of(Queue("duel", policy="greedy", accept=check, backfill="manual"))
    hand_in(engine, Enqueue(0.0, (new_ticket("a", 1500), new_ticket("b", 1500))))
    match = engine.tables.waiting["s0-1"].match
    assert match is not None
    for name in ("s0-1", "s0-2"):
        hand_in(engine, Accept(1.0, match, name))
    hand_in(engine, Open(2.0, match, 0, ("b",), lease=300.0))
    hand_in(engine, Enqueue(3.0, (new_ticket("c", 1500),)))
    fill = engine.tables.waiting["s0-3"].match
    assert told(engine, "s0-3", 4.0) == (
        f"This ticket has to accept match {fill} within 14 s; no other is asked."
    )


# Lines of a list


def test_lines_below_the_top_say_that_no_match_was_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parts, "SEARCHED_MOST", 1)
    queue = Queue("pairs", Format((2, 2)), (NEAR,), policy="rounds:every=3600")
    engine = engine_of(queue)
    hand_in(engine, Enqueue(0.0, tuple(new_ticket(f"p{n}", 1500) for n in range(6))))
    first, second, *_ = Explainer().longest(snapshot_of(engine, "pairs", 1.0), 6)
    assert (first.code, second.code) == ("round", "not_searched")
    assert second.summary == (
        "This ticket has waited 1 s in pairs: all 5 other tickets may play with it now. "
        "A match is looked for when this ticket is asked about alone."
    )
