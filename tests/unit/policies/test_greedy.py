"""`greedy`: as soon as the waiting tickets fill a legal match, longest waiting first."""

import math

import pytest

from evenmatch.engine.engine import Engine
from evenmatch.model.events import Matched
from evenmatch.model.inputs import Configure, Enqueue
from evenmatch.model.match import OpenMatch
from evenmatch.model.queue import Criterion, Format, Queue, Rule
from evenmatch.model.ticket import NewTicket, Player, Ticket, Value
from evenmatch.policies.base import NOTHING, Decision, JobResult
from evenmatch.policies.greedy import Greedy, GreedyMatcher
from evenmatch.policies.registry import parse_policy
from evenmatch.policies.shared.greedy_matcher import SEATINGS_MAX
from evenmatch.policies.shared.group_search import Search
from evenmatch.policies.shared.soonest_group import SoonestGroup
from evenmatch.testing import queue, rule, ticket


def matcher(for_queue: Queue, chosen: Greedy | None = None) -> GreedyMatcher:
    made = (chosen or Greedy()).matcher(for_queue, seed=1)
    assert isinstance(made, GreedyMatcher)
    return made


def enter(at_work: GreedyMatcher, *tickets: Ticket) -> Decision:
    """Let tickets enter one after the other; return the decision after the last one."""
    decision = NOTHING
    for each in tickets:
        at_work.enter(each, each.enqueued_at)
        decision = at_work.decide(each.enqueued_at)
    return decision


def groups(decision: Decision) -> list[tuple[str, ...]]:
    return [grouping.tickets for grouping in decision.matches]


def test_two_players_meet_as_soon_as_both_are_there() -> None:
    at_work = matcher(queue())

    assert enter(at_work, ticket("a", sequence=1)) == NOTHING
    decision = enter(at_work, ticket("b", at=5, sequence=2))

    assert groups(decision) == [("a", "b")]
    assert decision.wake_at == math.inf


@pytest.mark.parametrize(
    ("shared", "one", "other"),
    [
        (Rule("overlap", "langs"), {"langs": ("en",)}, {"langs": ("fr",)}),
        (
            Rule("latency", "latency", 100.0, pairs="region"),
            {"latency": {"eu": 20.0}},
            {"latency": {"us": 20.0}},
        ),
    ],
)
def test_parties_that_share_no_place_wait_and_hold_up_nobody(
    shared: Rule, one: dict[str, Value], other: dict[str, Value]
) -> None:
    engine = Engine(lambda each: parse_policy(each.policy))
    given = Queue("main", Format((2, 2)), (), (shared,), policy="greedy")
    engine.step(Configure(0.0, (given,)))
    for number in range(3):
        pair = Player(f"a{number}", None, one), Player(f"b{number}", None, other)
        engine.step(Enqueue(1.0 + number, (NewTicket(pair),)))
    assert len(engine.tables.waiting) == 3
    assert not engine.faults
    others = tuple(NewTicket((Player(name, None, one),)) for name in "cdef")
    events = engine.step(Enqueue(9.0, others)).events

    assert [each.match.tickets for each in events if isinstance(each, Matched)] == [
        ("s0-4", "s0-5", "s0-6", "s0-7")
    ]


def test_same_question_twice_gets_nothing_the_second_time() -> None:
    at_work = matcher(queue())
    enter(at_work, ticket("a", sequence=1), ticket("b", at=5, sequence=2))

    assert at_work.decide(5.0) == NOTHING
    assert at_work.decide(5.0, fired=True) == NOTHING


def test_newcomer_completes_a_match_with_those_who_wait_longest() -> None:
    at_work = matcher(queue("main", 2, 2))

    decision = enter(at_work, *(ticket(n, at=i, sequence=i) for i, n in enumerate("abcd", 1)))

    assert groups(decision) == [("a", "b", "c", "d")]


def test_tickets_of_one_instant_match_in_order_of_acceptance() -> None:
    at_work = matcher(queue())
    for number, name in enumerate("abcde", 1):
        at_work.enter(ticket(name, at=3, sequence=number), 3.0)

    decision = at_work.decide(3.0)

    assert groups(decision) == [("a", "b"), ("c", "d")]


def test_party_stays_whole_and_takes_what_is_left() -> None:
    at_work = matcher(queue("main", 2, 2))

    decision = enter(
        at_work,
        ticket("a", sequence=1),
        ticket("b", 1500, 1500, at=1, sequence=2),
        ticket("c", 1500, 1500, at=2, sequence=3),
    )

    # a, b and one more would be four, but c has two: b and c fill the match.
    assert groups(decision) == [("b", "c")]


@pytest.mark.parametrize("criteria", [(), (Criterion("imbalance", "rating"),)])
def test_parties_that_no_teams_can_hold_wait_on(criteria: tuple[Criterion, ...]) -> None:
    at_work = matcher(queue("main", 3, 3, criteria=criteria))
    pairs = [ticket(n, 1500, 1500, at=i, sequence=i) for i, n in enumerate("abc", 1)]

    assert groups(enter(at_work, *pairs)) == []
    solos = [ticket(n, 1500, at=i, sequence=i) for i, n in enumerate("de", 4)]
    assert groups(enter(at_work, *solos)) == [("a", "b", "d", "e")]


def test_side_that_is_taken_is_passed_over() -> None:
    at_work = matcher(queue(sides=("white", "black")))

    first = enter(
        at_work,
        ticket("a", sequence=1, side="white"),
        ticket("b", at=1, sequence=2, side="white"),
    )
    second = enter(at_work, ticket("c", at=2, sequence=3, side="black"))

    assert groups(first) == []
    assert groups(second) == [("a", "c")]


def test_flexible_ticket_takes_the_oldest_whichever_side() -> None:
    at_work = matcher(queue(sides=("white", "black")))

    decision = enter(
        at_work,
        ticket("a", sequence=1, side="white"),
        ticket("b", at=1, sequence=2, side="white"),
        ticket("c", at=2, sequence=3),
    )

    assert groups(decision) == [("a", "c")]


def test_same_rule_holds_from_the_first_instant() -> None:
    at_work = matcher(Queue(rules=(Rule("same", "mode"),)))

    decision = enter(
        at_work,
        ticket("a", sequence=1, mode="ctf"),
        ticket("b", at=1, sequence=2, mode="koth"),
        ticket("c", at=2, sequence=3, mode="koth"),
    )

    assert groups(decision) == [("b", "c")]


def test_widening_rule_wakes_the_matcher_at_the_exact_instant() -> None:
    at_work = matcher(queue(rules=(rule(limit=100, rate=2.0),)))

    decision = enter(at_work, ticket("a", 1000, sequence=1), ticket("b", 1300, at=10, sequence=2))

    assert decision == Decision(wake_at=110.0)
    assert at_work.decide(110.0) == Decision(wake_at=110.0)
    assert groups(at_work.decide(110.0, fired=True)) == [("a", "b")]


def test_instant_that_has_passed_is_due_without_firing() -> None:
    at_work = matcher(queue(rules=(rule(limit=100, rate=2.0),)))
    enter(at_work, ticket("a", 1000, sequence=1), ticket("b", 1300, at=10, sequence=2))

    assert groups(at_work.decide(111.0)) == [("a", "b")]


def test_of_several_due_the_one_who_waits_longest_plays() -> None:
    at_work = matcher(queue(rules=(rule(limit=0, rate=1.0),)))
    enter(
        at_work,
        ticket("a", 1000, sequence=1),
        ticket("b", 1300, at=1, sequence=2),
        ticket("c", 1150, at=2, sequence=3),
    )

    decision = at_work.decide(152.0, fired=True)

    assert groups(decision) == [("a", "c")]
    assert decision.wake_at == math.inf


def test_partner_taken_at_the_same_instant_leaves_the_other_waiting() -> None:
    at_work = matcher(queue(rules=(rule(limit=0, rate=1.0),)))
    for each in (
        ticket("a", 1000, sequence=1),
        ticket("b", 1010, sequence=2),
        ticket("c", 990, sequence=3),
    ):
        at_work.enter(each, 0.0)

    decision = at_work.decide(10.0, fired=True)

    # Both gaps of 10 are due at 10 s; b is accepted first, and c waits in vain.
    assert groups(decision) == [("a", "b")]
    assert decision.wake_at == math.inf


def test_ticket_that_leaves_takes_its_timer_along() -> None:
    at_work = matcher(queue(rules=(rule(limit=0, rate=1.0),)))
    enter(
        at_work,
        ticket("a", 1000, sequence=1),
        ticket("b", 1500, sequence=2),
        ticket("c", 1100, sequence=3),
    )

    at_work.leave("a", 5.0)

    assert at_work.decide(5.0) == Decision(wake_at=400.0)


def test_leaving_is_safe_for_anyone() -> None:
    at_work = matcher(queue())

    at_work.leave("nobody", 0.0)

    assert at_work.decide(0.0) == NOTHING


def test_ticket_that_returns_with_an_older_age_goes_first() -> None:
    at_work = matcher(queue("main", 1, 1, 1))
    older, b, c = (
        ticket("a", at=1, sequence=1),
        ticket("b", at=2, sequence=2),
        ticket("c", at=3, sequence=3),
    )
    enter(at_work, b, c)

    at_work.enter(older, 9.0)
    decision = at_work.decide(9.0)

    assert groups(decision) == [("a", "b", "c")]


def test_return_gives_younger_tickets_an_earlier_timer() -> None:
    at_work = matcher(queue(rules=(rule(limit=0, rate=1.0),)))
    enter(at_work, ticket("b", 1500, at=1, sequence=2), ticket("c", 1000, at=2, sequence=3))

    at_work.enter(ticket("a", 1040, at=0, sequence=1), 3.0)

    assert at_work.decide(3.0) == Decision(wake_at=42.0)


def test_return_leaves_the_timers_of_older_tickets_alone() -> None:
    at_work = matcher(queue(rules=(rule(limit=0, rate=1.0),)))
    enter(
        at_work,
        ticket("a", 1000, at=0, sequence=1),
        ticket("b", 1100, at=1, sequence=2),
        ticket("d", 5000, at=3, sequence=4),
    )

    at_work.enter(ticket("c", 1130, at=2, sequence=3), 4.0)

    # c is 30 from b: at 2 + 30. The pair of a and b keeps its instant, 1 + 100.
    assert at_work.decide(4.0) == Decision(wake_at=32.0)
    at_work.leave("c", 5.0)
    assert at_work.decide(5.0) == Decision(wake_at=101.0)


def test_restored_matcher_goes_on_like_the_one_before() -> None:
    waiting = [ticket("a", 1000, sequence=1), ticket("b", 1300, at=10, sequence=2)]
    in_queue = queue(rules=(rule(limit=100, rate=2.0),))
    before = matcher(in_queue)
    enter(before, *waiting)

    after = Greedy().matcher(in_queue, seed=1, memory=before.memory())
    for each in waiting:
        after.enter(each, 50.0)

    assert after.decide(50.0) == before.decide(50.0)
    assert groups(after.decide(110.0, fired=True)) == [("a", "b")]


def test_imbalance_rule_looks_for_the_division_that_it_allows() -> None:
    at_work = matcher(Queue(format=Format((2, 2)), rules=(Rule("imbalance", "rating", 0.0),)))

    decision = enter(
        at_work,
        *(ticket(f"t{i}", rating, at=i, sequence=i) for i, rating in enumerate((1, 1, 2, 2), 1)),
    )

    # In order of arrival the teams would differ; one 1 and one 2 in each do not.
    assert groups(decision) == [("t1", "t2", "t3", "t4")]


@pytest.mark.parametrize(
    ("apart", "pings", "wanted"),
    [
        ({0, 1}, {"eu": 20.0}, ("t2", "t3", "t4", "t5")),
        ({0, 1}, {"eu": 20.0, "us": 25.0}, ("t2", "t3", "t4", "t5")),
        ({0, 2, 5}, {"eu": 20.0}, ("t1", "t3", "t4", "t6")),
    ],
)
def test_division_is_sought_until_it_is_found_where_either_may_accept_a_place(
    apart: set[int], pings: dict[str, float], wanted: tuple[str, ...]
) -> None:
    rules = (
        Rule("latency", "latency", 100.0, pairs="region", accept="either"),
        Rule("imbalance", "rating", 10.0),
    )
    at_work = matcher(Queue(format=Format((2, 2), party_sizes=(1,)), rules=rules))
    # No column tells that only 1000 and 2000 against the two 1500 are even.
    even = iter((1000, 2000, 1500, 1500))
    ratings = [10_000 * 3**at if at in apart else next(even) for at in range(4 + len(apart))]

    decision = enter(
        at_work,
        *(ticket(f"t{at}", r, sequence=at, latency=pings) for at, r in enumerate(ratings)),
    )
    while decision.wake_at < math.inf:
        # The turn did not suffice.
        decision = at_work.decide(decision.wake_at, fired=True)

    assert groups(decision) == [wanted]


def test_of_several_sets_the_one_that_is_legal_first_sets_the_timer() -> None:
    at_work = matcher(queue("main", 1, 1, 1, rules=(rule(limit=0, rate=1.0),)))

    decision = enter(
        at_work,
        *(ticket(f"t{i}", r, sequence=i) for i, r in enumerate((1100, 900, 1150, 1000), 1)),
    )

    # 1000, 1100 and 900 span 200; 1000, 1100 and 1150 span 150.
    assert decision.wake_at == 150.0


def test_search_that_gives_up_falls_back_on_the_set_found_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at_work = matcher(queue(rules=(rule(limit=100, rate=2.0),)))
    enter(at_work, ticket("a", 1000, sequence=1), ticket("b", 1300, at=10, sequence=2))

    def gives_up(*given: object) -> Search:
        yield from ()
        return None

    monkeypatch.setattr(SoonestGroup, "by", gives_up)

    assert groups(at_work.decide(110.0, fired=True)) == [("a", "b")]


def test_open_matches_are_left_to_the_engine() -> None:
    at_work = matcher(queue())

    at_work.enter(OpenMatch("m1", "main", 1, 0.0, (("x",), ()), (0, 1)), 0.0)

    assert at_work.decide(0.0) == NOTHING


def test_there_are_no_jobs_to_settle() -> None:
    at_work = matcher(queue())

    assert at_work.settle(JobResult(1, ()), 0.0) == NOTHING
    assert at_work.memory() == {}


def crowd(count: int, *, first: int, side: str) -> list[Ticket]:
    numbered = range(first, first + count)
    return [ticket(f"t{i}", at=i, sequence=i, side=side) for i in numbered]


@pytest.mark.parametrize(
    ("seats", "sides", "matches"), [((5, 5), (60, 20), 4), ((1, 4), (30, 40), 10)]
)
def test_surplus_on_one_side_does_not_keep_the_others_from_playing(
    seats: tuple[int, int], sides: tuple[int, int], matches: int
) -> None:
    at_work = matcher(queue("main", *seats, sides=("A", "B")))
    waiting = crowd(sides[0], first=1, side="A") + crowd(sides[1], first=101, side="B")

    found = [groups(enter(at_work, each)) for each in waiting]

    assert sum(map(len, found)) == matches
    first = next(filter(None, found))[0]
    assert first[: seats[0]] == tuple(f"t{i}" for i in range(1, seats[0] + 1))
    assert first[seats[0] :] == tuple(f"t{i}" for i in range(101, 101 + seats[1]))


def test_surplus_on_one_side_is_seen_through_rules_as_well() -> None:
    limits = (rule(limit=100.0),)
    at_work = matcher(queue("main", 5, 5, sides=("A", "B"), rules=limits))
    enter(at_work, *(ticket(f"a{i}", 1500, at=i, sequence=i, side="A") for i in range(1, 61)))

    decision = enter(
        at_work, *(ticket(f"b{i}", 1500, at=i, sequence=i, side="B") for i in range(61, 66))
    )

    assert groups(decision) == [
        (*(f"a{i}" for i in range(1, 6)), *(f"b{i}" for i in range(61, 66)))
    ]


def test_trios_in_surplus_play_as_soon_as_solos_fill_up() -> None:
    at_work = matcher(queue("main", 5, 5))
    trios = [ticket(f"t{i}", 1, 1, 1, at=i, sequence=i) for i in range(1, 61)]
    solos = [ticket(f"s{i}", 1, at=i, sequence=i) for i in range(61, 65)]

    assert groups(enter(at_work, *trios)) == []
    assert groups(enter(at_work, *solos)) == [("t1", "t2", "s61", "s62", "s63", "s64")]


def test_trios_that_no_large_team_holds_cost_no_search() -> None:
    at_work = matcher(queue("main", 32, 32))

    assert (
        enter(at_work, *(ticket(f"t{i}", 1, 1, 1, at=i, sequence=i) for i in range(40))) == NOTHING
    )


@pytest.mark.parametrize(("seats", "rules"), [(500, ()), (150, (Rule("spread", "rating", 100.0),))])
def test_match_of_hundreds_is_made(seats: int, rules: tuple[Rule, ...]) -> None:
    at_work = matcher(Queue(format=Format((seats, seats), (), (1,)), rules=rules))
    players = [ticket(f"t{i}", 1500, at=i, sequence=i) for i in range(1, 2 * seats + 1)]

    decision = enter(at_work, *players)

    assert len(decision.matches[0].tickets) == 2 * seats


def hard(count: int) -> list[Ticket]:
    return [ticket(f"t{i}", float(2**i), at=i, sequence=i) for i in range(1, count + 1)]


def test_rule_that_nobody_satisfies_costs_a_bounded_number_of_seatings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at_work = matcher(Queue(format=Format((5, 5)), rules=(Rule("imbalance", "rating", 0.0),)))
    *others, last = hard(40)
    enter(at_work, *others)
    seated = []
    legal_at = at_work._objective.legal_at

    def counting(group: list[Ticket]) -> float:
        seated.append(group)
        return legal_at(group)

    monkeypatch.setattr(at_work._objective, "legal_at", counting)

    assert enter(at_work, last) == NOTHING
    assert 0 < len(seated) <= SEATINGS_MAX


def test_search_that_gave_up_is_done_again_when_someone_leaves() -> None:
    in_queue = Queue(format=Format((2, 2)), rules=(Rule("imbalance", "rating", 0.0),))
    waiting = [*hard(30), *(ticket(f"u{i}", 7.0, at=i, sequence=i) for i in range(31, 35))]
    before = matcher(in_queue, ample := Greedy(evaluations_max=100_000))
    assert enter(before, *waiting) == NOTHING

    for leaving in waiting[:27]:
        before.leave(leaving.id, 50.0)
    after = matcher(in_queue, ample)
    for staying in waiting[27:]:
        after.enter(staying, 50.0)

    decision = before.decide(50.0)
    assert decision == after.decide(50.0)
    assert groups(decision) == [("u31", "u32", "u33", "u34")]
