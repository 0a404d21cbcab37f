"""`greedy` never does more in one call than it declares, whoever waits; counted, not timed."""

import math
import sys
from collections.abc import Callable, Iterable
from types import FrameType

import pytest
from msgspec.structs import replace

from evenmatch.model.queue import Format, Queue, Rule
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Decision
from evenmatch.policies.greedy import EVALUATIONS_MAX, Greedy, GreedyMatcher
from evenmatch.policies.shared.timers import Timers
from evenmatch.policies.shared.work_slices import PAUSE
from tests.heroes import QUEUE, heroes

MANY = 2_000
FEW = 250
CALLS_MAX = 12
"""Calls of Python functions for each evaluation, at the most; a thousand more are free."""


def all_tanks(ticket: Ticket) -> Ticket:
    players = [replace(player, roles=("tank",)) for player in ticket.players[:1]]
    return replace(ticket, players=tuple(players))


def no_tanks(ticket: Ticket) -> Ticket:
    players = [replace(player, roles=("damage", "support")) for player in ticket.players]
    return replace(ticket, players=tuple(players))


def each_elsewhere(ticket: Ticket) -> Ticket:
    pings = {"latency": {f"place{ticket.sequence}": 20.0}}
    return replace(ticket, players=tuple(replace(p, attributes=pings) for p in ticket.players))


def in_fours(ticket: Ticket) -> Ticket:
    first = ticket.players[0]
    players = [replace(first, id=f"{first.id}{letter}", roles=()) for letter in "abcd"]
    return replace(ticket, players=tuple(players))


def at_once(ticket: Ticket) -> Ticket:
    return replace(ticket, enqueued_at=0.0)


class Watched:
    """A matcher whose calls are counted one by one."""

    def __init__(self, queue: Queue = QUEUE) -> None:
        made = Greedy().matcher(queue, seed=1)
        assert isinstance(made, GreedyMatcher)
        self.matcher = made
        self.most = 0
        self.wake_at = math.inf
        self.matched: list[str] = []

    def call(self, method: Callable[..., Decision | None], *given: object) -> Decision | None:
        before = self.matcher.evaluations
        found = method(*given)
        self.most = max(self.most, self.matcher.evaluations - before)
        return found

    def decide(self, now: float, fired: bool) -> None:
        decision = self.call(self.matcher.decide, now, fired)
        assert decision is not None
        self.wake_at = decision.wake_at
        self.matched += [name for match in decision.matches for name in match.tickets]

    def play(self, tickets: Iterable[Ticket], until: float = -math.inf) -> None:
        for ticket in tickets:
            self.advance(ticket.enqueued_at)
            self.call(self.matcher.enter, ticket, ticket.enqueued_at)
            self.decide(ticket.enqueued_at, False)
        self.advance(until)

    def advance(self, until: float) -> None:
        while self.wake_at < until:
            self.decide(self.wake_at, True)


@pytest.mark.parametrize(
    "change",
    [all_tanks, no_tanks, pytest.param(each_elsewhere, marks=pytest.mark.long), in_fours],
)
def test_no_call_does_more_than_declared_where_nobody_can_match(
    change: Callable[[Ticket], Ticket],
) -> None:
    watched = Watched()

    watched.play(change(ticket) for ticket in heroes(MANY))

    assert watched.matched == []
    assert 0 < watched.most <= EVALUATIONS_MAX


def test_no_call_does_more_than_declared_where_each_is_elsewhere() -> None:
    watched = Watched()

    watched.play(each_elsewhere(ticket) for ticket in heroes(FEW))

    assert watched.matched == []
    assert 0 < watched.most <= EVALUATIONS_MAX


def test_oldest_comes_back_for_the_price_of_a_newcomer() -> None:
    watched = Watched()
    waiting = [all_tanks(ticket) for ticket in heroes(MANY)]
    watched.play(waiting)
    now, before = waiting[-1].enqueued_at, watched.matcher.evaluations
    watched.decide(now, False)

    for ticket in waiting[:10]:
        watched.call(watched.matcher.leave, ticket.id, now)
        watched.call(watched.matcher.enter, ticket, now)
        watched.decide(now, False)

    assert watched.matcher.evaluations - before < 10 * MANY
    assert watched.most <= EVALUATIONS_MAX


def test_ticket_on_which_all_timers_rest_leaves_at_the_price_of_one() -> None:
    watched = Watched()
    waiting = [no_tanks(ticket) for ticket in heroes(400, pause=0.01)]
    far = {"latency": {"america": 150.0, "asia": 150.0, "europe": 150.0, "oceania": 150.0}}
    tanks = [replace(all_tanks(each), sequence=each.sequence + 1_000) for each in heroes(2)]
    tanks = [replace(t, id=f"tank{t.id}", enqueued_at=0.0) for t in tanks]
    tanks = [replace(t, players=(replace(t.players[0], attributes=far),)) for t in tanks]
    watched.play([*tanks, *waiting])
    now, before = waiting[-1].enqueued_at, watched.matcher.evaluations

    watched.call(watched.matcher.leave, tanks[0].id, now)

    assert watched.matcher.evaluations - before <= 100
    watched.decide(now, False)
    assert watched.most <= EVALUATIONS_MAX


def test_burst_goes_on_turn_by_turn_and_leaves_no_legal_match() -> None:
    watched = Watched()
    tickets = [at_once(ticket) for ticket in heroes(500)]
    for ticket in tickets:
        watched.call(watched.matcher.enter, ticket, 0.0)

    watched.decide(0.0, False)
    assert watched.wake_at == PAUSE
    assert not watched.matcher.decide(0.0, True).matches
    watched.decide(PAUSE, True)
    assert watched.wake_at == 2 * PAUSE
    watched.advance(60.0)

    assert watched.most <= EVALUATIONS_MAX
    assert len(watched.matched) > 350
    left = [each for each in tickets if each.id not in watched.matched]
    again = Watched()
    again.play(left, until=60.0)
    assert again.matched == []


def test_turns_come_to_an_end_where_many_come_back() -> None:
    watched = Watched()
    made = Greedy(evaluations_max=1_000).matcher(QUEUE, seed=1)
    assert isinstance(made, GreedyMatcher)
    watched.matcher = made
    tickets = list(heroes(200, pause=0.2))
    turns = 0
    for number, ticket in enumerate(tickets):
        now = ticket.enqueued_at
        watched.play([ticket])
        gone = [t for t in tickets[: number + 1] if t.id not in watched.matched][:8]
        for each in gone if number % 5 == 0 else ():
            watched.call(watched.matcher.leave, each.id, now)
            watched.call(watched.matcher.enter, each, now)
        watched.decide(now, False)
        while watched.wake_at < now + 0.1:
            turns += 1
            assert turns < 10_000
            watched.decide(watched.wake_at, True)

    assert watched.most <= 1_000
    assert len(watched.matched) > 100


@pytest.mark.parametrize(
    "queue",
    [
        Queue(format=Format((5, 5)), rules=(Rule("imbalance", "rating", 0.0),)),
        Queue(format=Format((6, 6)), rules=(Rule("spread", "rating", 1.0),)),
        Queue(format=Format((2, 5, 3)), rules=(Rule("mean_gap", "rating", 0.5),)),
        Queue(format=Format((1,) * 60)),
        Queue(format=Format((3,) * 20)),
        Queue(format=Format((12, 12)), rules=(Rule("avoid", "avoid"),)),
    ],
    ids=["imbalance", "spread", "uneven", "free-for-all", "squads", "avoid"],
)
def test_no_format_and_no_rule_takes_more_than_declared(queue: Queue) -> None:
    watched = Watched(queue)
    most = max(queue.format.players)
    tickets = [replace(t, players=t.players[:most]) for t in heroes(300)]
    tickets = [replace(t, players=tuple(replace(p, roles=()) for p in t.players)) for t in tickets]

    watched.play(tickets, until=200.0)

    assert 0 < watched.most <= EVALUATIONS_MAX


def test_evaluations_stand_for_work() -> None:
    watched = Watched()
    ratio = 0.0
    calls = 0

    def count(frame: FrameType, event: str, given: object) -> None:
        nonlocal calls
        calls += event == "call"

    for ticket in heroes(300):
        before, calls = watched.matcher.evaluations, 0
        sys.setprofile(count)
        watched.play([ticket])
        sys.setprofile(None)
        made = watched.matcher.evaluations - before
        ratio = max(ratio, (calls - 1_000) / max(1, made))

    assert ratio < CALLS_MAX


def test_crowd_of_one_instant_is_taken_up_over_several_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = Greedy().matcher(QUEUE, seed=1)
    for each in heroes(3 * MANY):
        made.enter(at_once(each), 0.0)
    taken: list[int] = []
    pop_due = Timers.pop_due

    def noted(timers: Timers, *given: float) -> list[int]:
        due = pop_due(timers, *given)  # type: ignore[arg-type]
        taken.append(len(due))
        return due

    monkeypatch.setattr(Timers, "pop_due", noted)
    decision, most = made.decide(0.0), 0
    while not decision.matches:
        most = max(most, sum(taken))
        taken.clear()
        decision = made.decide(decision.wake_at, fired=True)
    assert 0 < most <= EVALUATIONS_MAX < 3 * MANY


def test_a_crowd_beside_many_tanks_leaves_most_of_the_time_free() -> None:
    tanks = [replace(all_tanks(at_once(ticket)), id=f"x{ticket.id}") for ticket in heroes(600)]
    fresh = [replace(each, sequence=600 + each.sequence) for each in heroes(300, pause=0.02)]
    watched = Watched()
    watched.play(tanks, until=5.0)
    fresh = [replace(each, enqueued_at=each.enqueued_at + 5.0) for each in fresh]
    before = watched.matcher.evaluations

    watched.play(fresh)

    seconds = fresh[-1].enqueued_at - 5.0
    assert len(watched.matched) >= 300
    assert watched.matcher.evaluations - before <= 17 * EVALUATIONS_MAX * seconds
