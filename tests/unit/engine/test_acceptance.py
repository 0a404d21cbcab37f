"""The ready-check: proposals, answers, repairs, cooldowns."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from evenmatch.criteria.gaps import Gaps
from evenmatch.criteria.objective import Objective
from evenmatch.criteria.rules import Rules
from evenmatch.engine.engine import Engine
from evenmatch.engine.ready_check import repairs
from evenmatch.engine.ready_check.repairs import LOOK_GAP, LOOKS_MOST, OFFERS_MOST
from evenmatch.engine.ready_check.replacements import ASKED_MOST, CLOSELY_MOST, GO_ON
from evenmatch.engine.records import Record, decode, encode
from evenmatch.engine.state.snapshot import (
    decode_snapshot,
    encode_snapshot,
    restore,
    state_hash,
    take,
)
from evenmatch.errors import NotInMatch, NotMade, ProposalOver, TooLate, UnknownMatch
from evenmatch.model import queue as accept_model
from evenmatch.model import queue as q
from evenmatch.model.events import (
    Accepted,
    Cancelled,
    Confirmed,
    Dissolved,
    Event,
    Existing,
    Expired,
    Matched,
    Penalised,
    Proposed,
    Refused,
    Repaired,
    SeatsFreed,
)
from evenmatch.model.inputs import (
    Accept,
    Advance,
    Assign,
    Cancel,
    Configure,
    Decline,
    Enqueue,
    Input,
    Prolong,
    Update,
)
from evenmatch.model.queue import Criterion, Queue, Scale
from evenmatch.model.ticket import NewTicket, Player, Rating, Ticket
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import new_ticket, queue, rule

CHECK = accept_model.ReadyCheck(seconds=15.0, repair=10.0, again=30.0)
NEAR = Criterion("spread", "rating", scale=Scale("linear", 1000.0, 2000.0))


def checked(*players: int, accept: accept_model.ReadyCheck = CHECK, **keys: object) -> Queue:
    """Return a queue whose matches are proposed first."""
    return replace(queue("main", *players, **keys), accept=accept)  # type: ignore[arg-type]


class House:
    """An engine under test, its journal, and shorter words for its inputs."""

    def __init__(self, *queues: Queue) -> None:
        self.engine = Engine(lambda each: parse_policy(each.policy))
        self.journal: list[Record] = []
        self.hand(Configure(0.0, queues or (checked(),)))

    def hand(self, given: Input) -> tuple[Event, ...]:
        while self.engine.next_wakeup < given.now:
            self._step(Advance(self.engine.next_wakeup))
        return self._step(given)

    def enter(self, now: float, *new: NewTicket | str) -> tuple[Event, ...]:
        made = tuple(new_ticket(n, 1500) if isinstance(n, str) else n for n in new)
        return self.hand(Enqueue(now, made))

    def accept(self, now: float, *tickets: int, match: int = 1) -> tuple[Event, ...]:
        events: tuple[Event, ...] = ()
        for number in tickets:
            events = self.hand(Accept(now, f"s0-m{match}", f"s0-{number}"))
        return events

    def decline(self, now: float, ticket: int, match: int = 1) -> tuple[Event, ...]:
        return self.hand(Decline(now, f"s0-m{match}", f"s0-{ticket}"))

    def pass_to(self, now: float) -> list[Event]:
        """Let time pass up to and with an instant."""
        events: list[Event] = []
        while self.engine.next_wakeup <= now:
            events += self._step(Advance(self.engine.next_wakeup))
        return events

    def state(self, ticket: int) -> str:
        return self.engine.view(f"s0-{ticket}").state

    def _step(self, given: Input) -> tuple[Event, ...]:
        record = self.engine.step(given)
        self.engine.tables._check()
        if record.sequence:
            self.journal.append(record)
        return record.events


def kinds(events: Sequence[Event]) -> list[type]:
    return [type(event) for event in events]


def only(events: Sequence[Event], kind: type) -> list[Event]:
    return [event for event in events if type(event) is kind]


class TestProposal:
    def test_waits_until_everyone_has_accepted(self) -> None:
        house = House()
        events = house.enter(1.0, "a", "b")

        assert only(events, Proposed)
        assert (house.state(1), house.state(2)) == ("proposed", "proposed")
        assert house.engine.view("s0-1").match == "s0-m1"
        assert kinds(house.accept(2.0, 1)) == [Confirmed]
        (made,) = only(house.accept(3.0, 2), Matched)
        assert made.match.id == "s0-m1"  # type: ignore[attr-defined]
        assert made.match.at == 3.0  # type: ignore[attr-defined]
        assert (house.state(1), house.state(2)) == ("matched", "matched")

    def test_cost_counts_the_wait_for_the_answers_too(self) -> None:
        house = House(replace(checked(), wait_price=0.5))
        house.enter(1.0, "a", "b")
        (made,) = only(house.accept(5.0, 1, 2), Matched)

        assert made.match.cost == 0.5 * 2 * 4.0  # type: ignore[attr-defined]

    def test_policy_is_told_how_long_the_players_of_a_match_were_asked(self) -> None:
        house = House()
        told: list[tuple[float, float]] = []
        house.engine.pools["main"].matcher.confirmed = lambda *given: told.append(given)
        house.enter(1.0, "a", "b")
        house.accept(3.0, 1)
        assert told == []
        house.accept(5.0, 2)

        assert told == [(4.0, 5.0)]

    def test_policy_is_told_of_the_time_that_a_repair_took_too(self) -> None:
        house = House()
        told: list[tuple[float, float]] = []
        house.engine.pools["main"].matcher.confirmed = lambda *given: told.append(given)
        house.enter(1.0, "a", "b")
        house.accept(3.0, 1)
        house.decline(4.0, 2)
        house.enter(6.0, "c")
        (made,) = only(house.accept(9.0, 3), Matched)

        assert made.match.tickets == ("s0-1", "s0-3")  # type: ignore[attr-defined]
        assert told == [(8.0, 9.0)]

    def test_policy_that_fails_when_it_is_told_is_asked_no_more(self) -> None:
        house = House()

        def refuse(seconds: float, now: float) -> None:
            raise ValueError(f"{seconds} s at {now}")

        house.engine.pools["main"].matcher.confirmed = refuse
        house.enter(1.0, "a", "b")
        (made,) = only(house.accept(5.0, 1, 2), Matched)

        assert made.match.at == 5.0  # type: ignore[attr-defined]
        assert "4.0 s at 5.0" in str(house.engine.pools["main"].fault)

    def test_accept_is_idempotent_even_after_the_match_is_made(self) -> None:
        house = House()
        house.enter(1.0, "a", "b")
        house.accept(2.0, 1)

        assert house.accept(2.5, 1) == ()
        house.accept(3.0, 2)
        assert house.accept(4.0, 1, 2) == ()

    def test_party_accepts_player_by_player(self) -> None:
        house = House(checked(2, 2))
        house.enter(1.0, new_ticket("a", 1500, 1500), new_ticket("b", 1500, 1500))
        house.accept(2.0, 2)
        first = house.hand(Accept(3.0, "s0-m1", "s0-1", ("a2",)))
        last = house.hand(Accept(3.0, "s0-m1", "s0-1", ("a1", "a2")))

        assert first == (Confirmed("s0-m1", "s0-1", ("a2",)),)
        assert kinds(last) == [Confirmed, Matched]

    def test_player_of_a_proposal_may_not_queue_again(self) -> None:
        house = House()
        house.enter(1.0, "a", "b")

        assert house.enter(2.0, "a") == (Existing(0, "s0-1"),)

    def test_accepting_a_match_that_is_made_is_for_its_players_only(self) -> None:
        house = House()
        house.enter(1.0, "a", "b")
        house.accept(2.0, 1, 2)
        for late in (Accept(3.0, "s0-m1", "s0-1"), Accept(3.0, "s0-m1", "s0-1", ("a",))):
            house.hand(late)
            assert house.engine.view("s0-1").state == "matched"

        with pytest.raises(NotInMatch, match="player 'b' is not in ticket s0-1"):
            house.hand(Accept(3.0, "s0-m1", "s0-1", ("b",)))
        house.pass_to(700.0)
        house.enter(700.0, "z")
        assert "s0-1" not in house.engine.tables.ended, "its players are known by the match alone"
        house.hand(Accept(701.0, "s0-m1", "s0-1", ("a",)))
        with pytest.raises(NotInMatch, match="player 'x' is not in ticket s0-1"):
            house.hand(Accept(701.0, "s0-m1", "s0-1", ("x",)))

    @pytest.mark.parametrize("given", [Accept, Decline])
    def test_answer_of_a_stranger_is_refused(self, given: type[Accept] | type[Decline]) -> None:
        house = House()
        house.enter(1.0, "a", "b", "c")

        with pytest.raises(NotInMatch, match="ticket 's0-3' has no seat in match s0-m1"):
            house.hand(given(2.0, "s0-m1", "s0-3"))
        with pytest.raises(NotInMatch, match="player 'x' is not in ticket s0-1"):
            house.hand(given(2.0, "s0-m1", "s0-1", ("x",)))
        with pytest.raises(UnknownMatch):
            house.hand(given(2.0, "s0-m9", "s0-1"))

    def test_is_no_match_yet(self) -> None:
        house = House()
        house.enter(1.0, "a", "b")

        with pytest.raises(NotMade, match="its players have to accept it first"):
            house.hand(Assign(2.0, "s0-m1", {"server": "x"}))

    def test_ticket_of_several_queues_leaves_all_while_proposed(self) -> None:
        other = replace(queue("other"), accept=CHECK)
        house = House(checked(), other)
        house.enter(1.0, new_ticket("a", 1500, queues=("main", "other")), "b")
        events = house.enter(2.0, new_ticket("c", 1500, queues=("other",)))

        assert not only(events, Proposed)
        events = house.decline(3.0, 2)
        events = tuple(house.pass_to(13.0))
        (again,) = only(events, Proposed)
        assert again.match.queue == "other"  # type: ignore[attr-defined]

    def test_of_a_long_waiting_ticket_is_open_longer_for_it(self) -> None:
        patient = replace(CHECK, long_wait=60.0, long_seconds=40.0)
        house = House(checked(accept=patient))
        house.enter(0.0, "a")
        (proposed,) = only(house.enter(60.0, "b"), Proposed)

        assert proposed.until == {"s0-1": 100.0, "s0-2": 75.0}  # type: ignore[attr-defined]
        assert [house.engine.view(key).long_wait for key in proposed.until] == [True, False]  # type: ignore[attr-defined]

    def test_keeps_its_region_though_a_cheaper_one_opens_before_all_have_accepted(self) -> None:
        near = Criterion("latency", "latency", pairs="region", weight=1.0)
        widening = q.Rule(
            "latency", "latency", 100.0, pairs="region", expand=q.Expansion(rate=10.0)
        )
        given = checked(criteria=(near,), rules=(widening,))
        house = House(given)
        ms = ({"eu": 25.0, "us": 90.0}, {"eu": 120.0, "us": 90.0})
        new = [new_ticket(n, 1500, latency=own) for n, own in zip("ab", ms, strict=True)]
        house.enter(1.0, *new)
        teams = [[house.engine.tables.waiting[f"s0-{n}"].ticket] for n in (1, 2)]
        house.accept(2.0, 1)
        (made,) = only(house.accept(9.0, 2), Matched)
        match = made.match  # type: ignore[attr-defined]

        assert (match.region, match.at) == ("us", 9.0)
        numbers = Gaps(given).of(teams, region=match.region)
        assert numbers == (90.0, 90.0)
        objective = Objective(given)
        assert 1.0 - objective.factors(teams, region=match.region)[0] == match.quality
        assert objective.factors(teams)[0] < objective.factors(teams, region="us")[0]


class TestRepair:
    def test_replaces_only_who_declined_and_asks_nobody_else_again(self) -> None:
        house = House(checked(2, 2))
        house.enter(1.0, *"abcd", "e")
        house.accept(2.0, 1, 2, 3)
        events = house.decline(3.0, 4)

        assert kinds(events) == [Cancelled, Penalised, SeatsFreed, Repaired]
        (repaired,) = only(events, Repaired)
        assert repaired.joined == ("s0-5",)  # type: ignore[attr-defined]
        assert [house.state(n) for n in (1, 2, 3, 4, 5)] == [
            *["proposed"] * 3,
            "cancelled",
            "proposed",
        ]
        (made,) = only(house.accept(4.0, 5), Matched)
        assert sorted(made.match.tickets) == ["s0-1", "s0-2", "s0-3", "s0-5"]  # type: ignore[attr-defined]

    def test_may_be_played_in_another_region(self) -> None:
        near = Criterion("latency", "latency", pairs="region", weight=1.0)
        house = House(checked(criteria=(near,), accept=replace(CHECK, loss_max=1.0)))
        known = ({"eu": 20.0, "us": 60.0}, {"eu": 20.0, "us": 60.0}, {"us": 30.0})
        events = house.enter(
            1.0, *[new_ticket(n, 1500, latency=ms) for n, ms in zip("abc", known, strict=True)]
        )
        (proposed,) = only(events, Proposed)
        (repaired,) = only(house.decline(2.0, 2), Repaired)

        assert proposed.match.region == "eu"  # type: ignore[attr-defined]
        assert repaired.match.region == "us"  # type: ignore[attr-defined]
        assert repaired.match.latency_delta == ((40.0,), (0.0,))  # type: ignore[attr-defined]

    @pytest.mark.parametrize("others", [20, 150, 350])
    def test_of_many_the_one_who_fits_is_found_though_each_look_asks_few(
        self, others: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = 0
        ready_at = Rules.pair_ready_at

        def count(rules: Rules, one: Ticket, two: Ticket) -> float:
            nonlocal asked
            asked += 1
            return ready_at(rules, one, two)

        # Columns tell nothing of this rule, so each candidate has to be asked.
        shared = q.Rule("overlap", "words", expand=q.Expansion(steps=((60.0, 1.0),)))
        given = checked(criteria=(NEAR,), rules=(shared,), accept=replace(CHECK, loss_max=1.0))
        house = House(given)
        house.enter(1.0, *[new_ticket(n, 1500, words=("x",)) for n in "ab"])
        house.hand(Configure(1.5, (replace(given, policy="periodic:rounds_of=999"),), version=2))
        house.enter(2.0, *[new_ticket(f"y{n}", 1500, words=("y",)) for n in range(others)])
        house.enter(2.5, new_ticket("c", 1900, words=("x",)))
        house.accept(3.0, 1)
        monkeypatch.setattr(Rules, "pair_ready_at", count)
        events = list(house.decline(4.0, 2))
        looks = 0
        while not only(events, Repaired):
            assert asked <= ASKED_MOST + CLOSELY_MOST
            asked, looks = 0, looks + 1
            assert house.engine.next_wakeup == pytest.approx(4.0 + looks * GO_ON)
            events = house.pass_to(house.engine.next_wakeup)

        (repaired,) = only(events, Repaired)
        assert repaired.joined == (f"s0-{others + 3}",)  # type: ignore[attr-defined]
        assert looks == others // ASKED_MOST

    def test_looks_of_many_repairs_keep_apart(self, monkeypatch: pytest.MonkeyPatch) -> None:
        looks: list[float] = []
        find = repairs.find_replacements

        def count(*given: Any) -> Any:
            looks.append(given[3])
            return find(*given)

        monkeypatch.setattr(repairs, "find_replacements", count)
        given = checked(2, 2, accept=replace(CHECK, repair=30.0))
        house = House(given)
        for match in range(12):
            house.enter(1.0, *[f"{name}{match}" for name in "abcd"])
        # Nobody answers, so that all checks fail at the same instant.
        for proposal in list(house.engine.tables.proposals.values()):
            for ticket_id in proposal.tickets[1:]:
                house.hand(Accept(2.0, proposal.match.id, ticket_id))
        house.pass_to(1.0 + CHECK.seconds)
        assert len(house.engine.tables.proposals) == 12
        house.pass_to(5.0 + CHECK.seconds)

        assert len(looks) >= 12
        for first, later in zip(looks, looks[LOOKS_MOST:], strict=False):
            assert later >= first + LOOK_GAP - 1e-6

    def test_newcomer_is_offered_to_few_repairs_at_once_and_to_the_others_soon(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        looks: list[int] = []
        find = repairs.find_replacements

        def count(*given: Any) -> Any:
            looks.append(len(given[2].tickets))
            return find(*given)

        house = House(checked(accept=replace(CHECK, repair=30.0, loss_max=1.0)))
        for pair in range(12):
            house.enter(1.0, *[f"{name}{pair}" for name in "ab"])
        for proposal in list(house.engine.tables.proposals.values()):
            house.hand(Accept(2.0, proposal.match.id, proposal.tickets[0]))
        house.pass_to(2.0 + CHECK.seconds)
        assert sum(each.open is not None for each in house.engine.tables.proposals.values()) == 12
        monkeypatch.setattr(repairs, "find_replacements", count)
        # One who fits nobody's match: the set with them has just failed.
        house.enter(18.0, new_ticket("far", 1e6))
        assert len(looks) <= OFFERS_MOST
        for number in range(12):
            house.enter(18.5 + 0.1 * number, f"c{number}")
        assert all(each.open is None for each in house.engine.tables.proposals.values())

    def test_newcomers_are_asked_once_before_the_look_that_sees_them_all(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[float] = []
        helps = repairs.helps_at

        def count(*given: Any) -> Any:
            asked.append(given[3])
            return helps(*given)

        monkeypatch.setattr(repairs, "helps_at", count)
        house = House(checked(3, 3))
        house.enter(1.0, *"abcdef")
        house.accept(2.0, 1, 2, 3, 4)
        for ticket in (5, 6):
            house.decline(3.0, ticket)
        # Two seats are free, and the last look at all who wait was just now.
        for number in range(2):
            assert not only(house.enter(3.01 + 0.01 * number, f"g{number}"), Repaired)
        assert asked == [3.01]

        (repaired,) = only(house.pass_to(3.0 + GO_ON + LOOK_GAP), Repaired)
        assert repaired.joined == ("s0-7", "s0-8")  # type: ignore[attr-defined]

    def test_looks_of_many_repairs_take_turns(self, monkeypatch: pytest.MonkeyPatch) -> None:
        looks: dict[str, int] = {}
        find = repairs.find_replacements

        def count(*given: Any) -> Any:
            first = given[1].staying[0].id
            looks[first] = looks.get(first, 0) + 1
            return find(*given)

        monkeypatch.setattr(repairs, "find_replacements", count)
        # Nobody fits, and columns do not tell: each look asks some, and the next one others.
        shared = q.Rule("overlap", "words", expand=q.Expansion(steps=((60.0, 1.0),)))
        given = checked(2, 2, rules=(shared,), accept=replace(CHECK, repair=30.0))
        house = House(given)
        for match in range(12):
            names = [f"{name}{match}" for name in "abcd"]
            house.enter(1.0, *[new_ticket(name, 1500, words=("x",)) for name in names])
        house.hand(Configure(1.5, (replace(given, policy="rounds:every=1000"),), version=2))
        house.enter(2.0, *[new_ticket(f"y{n}", 1500, words=("y",)) for n in range(600)])
        for proposal in list(house.engine.tables.proposals.values()):
            for ticket_id in proposal.tickets[1:]:
                house.hand(Accept(2.0, proposal.match.id, ticket_id))
        house.pass_to(6.0 + CHECK.seconds)

        assert len(looks) == 12
        assert 2 * min(looks.values()) > max(looks.values())

    def test_waits_for_a_replacement_to_enter(self) -> None:
        house = House()
        house.enter(1.0, "a", "b")
        house.accept(2.0, 1)
        assert kinds(house.decline(3.0, 2)) == [Cancelled, Penalised, SeatsFreed]

        events = house.enter(8.0, "c")

        assert only(events, Repaired)
        assert only(house.accept(9.0, 3), Matched)

    def test_of_the_silent_begins_when_their_time_is_up(self) -> None:
        house = House()
        house.enter(1.0, "a", "b", "c")
        house.accept(2.0, 1)
        events = house.pass_to(16.0)

        assert house.engine.view("s0-2").reason == "silent"
        assert [e.joined for e in only(events, Repaired)] == [("s0-3",)]  # type: ignore[attr-defined]
        assert house.state(1) == "proposed"

    def test_gives_up_in_time_and_sends_innocents_back_with_their_age(self) -> None:
        house = House()
        house.enter(1.0, "a", "b")
        house.decline(3.0, 2)
        assert house.pass_to(12.9) == []
        events = house.pass_to(13.0)

        assert kinds(events) == [Dissolved]
        view = house.engine.view("s0-1")
        assert (view.state, view.enqueued_at, view.match) == ("waiting", 1.0, None)
        (proposed,) = only(house.enter(14.0, "c"), Proposed)
        assert proposed.match.tickets == ("s0-1", "s0-3")  # type: ignore[attr-defined]
        with pytest.raises(ProposalOver):
            house.accept(15.0, 1)

    def test_never_costs_more_than_the_loss_allowed(self) -> None:
        near = checked(criteria=(NEAR,), accept=replace(CHECK, loss_max=0.1))
        house = House(near)
        house.enter(1.0, new_ticket("a", 1500), new_ticket("b", 1500))
        house.enter(1.5, new_ticket("far", 1700))
        assert only(house.decline(3.0, 2), Repaired) == []

        (repaired,) = only(house.enter(4.0, new_ticket("near", 1590)), Repaired)

        assert repaired.joined == ("s0-4",)  # type: ignore[attr-defined]
        assert repaired.match.quality == pytest.approx(0.91)  # type: ignore[attr-defined]

    def test_prefers_the_replacement_that_costs_least(self) -> None:
        house = House(checked(2, 2, criteria=(NEAR,), accept=replace(CHECK, loss_max=1.0)))
        house.enter(1.0, *[new_ticket(n, 1500) for n in "abc"], new_ticket("d", 1540))
        house.enter(1.5, new_ticket("e", 1600), new_ticket("f", 1400), new_ticket("g", 1535))
        (repaired,) = only(house.decline(3.0, 4), Repaired)

        assert repaired.joined == ("s0-7",)  # type: ignore[attr-defined]

    def test_looks_first_at_those_most_like_who_left(self) -> None:
        crowd = [new_ticket(f"x{n}", 1000 + 20 * n) for n in range(40)]
        near = checked(40, 40, criteria=(NEAR,), accept=replace(CHECK, loss_max=1.0))
        house = House(near)
        house.enter(1.0, *[new_ticket(f"a{n}", 1990) for n in range(80)])
        house.enter(2.0, *crowd)
        (repaired,) = only(house.decline(3.0, 1), Repaired)

        assert repaired.joined == ("s0-120",)  # type: ignore[attr-defined]

    def test_never_breaks_a_rule(self) -> None:
        house = House(checked(rules=(rule(limit=100),)))
        house.enter(1.0, new_ticket("a", 1500), new_ticket("b", 1500))
        house.enter(1.5, new_ticket("c", 1601))

        assert only(house.decline(3.0, 2), Repaired) == []

    def test_fills_several_seats_with_a_party(self) -> None:
        house = House(checked(2, 2))
        house.enter(1.0, new_ticket("a", 1500, 1500), new_ticket("b", 1500, 1500))
        house.enter(1.5, "c", "d")
        (repaired,) = only(house.decline(3.0, 2), Repaired)

        assert repaired.joined == ("s0-3", "s0-4")  # type: ignore[attr-defined]
        assert len(repaired.match.teams[0]) + len(repaired.match.teams[1]) == 3  # type: ignore[attr-defined]

    def test_does_not_bring_back_who_has_just_declined(self) -> None:
        house = House()
        house.enter(1.0, "a", "b")
        house.decline(3.0, 2)
        events = house.enter(4.0, "b")

        assert only(events, Repaired) == []
        assert house.state(3) == "waiting"

    def test_that_loses_another_player_goes_on(self) -> None:
        house = House(checked(2, 2))
        house.enter(1.0, *"abcd")
        house.decline(3.0, 4)
        house.decline(4.0, 3)
        events = house.enter(5.0, "e", "f")

        (repaired,) = only(events, Repaired)
        assert repaired.joined == ("s0-5", "s0-6")  # type: ignore[attr-defined]
        counters = house.engine.tables.counters
        assert (counters.proposed, counters.checks_failed) == (1, 1)
        house.accept(6.0, 1, 2, 5, 6)
        assert counters.repaired == 1

    def test_is_left_out_where_the_queue_says_so(self) -> None:
        house = House(checked(accept=replace(CHECK, repair=0.0)))
        house.enter(1.0, "a", "b")
        events = house.decline(3.0, 2)

        assert kinds(events) == [Cancelled, Penalised, Dissolved]
        assert house.state(1) == "waiting"

    def test_smaller_match_is_played_where_nobody_comes(self) -> None:
        form = q.Format((2, 2), players_min=(1, 1))
        house = House(replace(checked(2, 2), format=form, policy="greedy"))
        house.enter(1.0, *"abcd")
        house.accept(2.0, 1, 2, 3)
        house.decline(3.0, 4)
        events = house.pass_to(13.0)

        assert kinds(events) == [Repaired, Matched]
        assert house.state(1) == "matched"

    def test_deadline_in_the_meantime_is_met_when_the_proposal_fails(self) -> None:
        house = House(checked(wait_max=5.0))
        house.enter(1.0, "a", "b")
        house.decline(3.0, 2)
        assert house.state(1) == "proposed"
        events = house.pass_to(13.0)

        assert kinds(events) == [Dissolved, Expired]


class TestAnswers:
    def test_decline_is_idempotent(self) -> None:
        house = House()
        house.enter(1.0, "a", "b")
        house.decline(2.0, 2)

        assert house.decline(3.0, 2) == ()

    def test_decline_of_a_made_match_is_too_late(self) -> None:
        house = House()
        house.enter(1.0, "a", "b")
        house.accept(2.0, 1, 2)

        with pytest.raises(TooLate, match="match s0-m1 is already made"):
            house.decline(3.0, 1)

    def test_who_accepted_may_still_decline(self) -> None:
        house = House()
        house.enter(1.0, "a", "b")
        house.accept(2.0, 1)

        assert only(house.decline(2.5, 1), SeatsFreed)

    def test_cancel_of_a_proposed_ticket_is_a_decline(self) -> None:
        house = House()
        house.enter(1.0, "a", "b", "c")
        events = house.hand(Cancel(2.0, "s0-2"))

        assert kinds(events) == [Cancelled, Penalised, SeatsFreed, Repaired]
        assert house.engine.view("s0-2").reason == "player"
        assert house.hand(Cancel(2.5, "s0-2")) == ()

    def test_party_that_leaves_by_a_cancel_is_blamed_as_if_it_declined(self) -> None:
        house = House(checked(2, 2))
        house.enter(1.0, new_ticket("a", 1500, 1500), new_ticket("b", 1500, 1500))
        house.hand(Accept(2.0, "s0-m1", "s0-2", ("b1",)))
        house.hand(Cancel(3.0, "s0-2"))
        assert house.engine.tables.penalties["default"].keys() == {"b2"}
        house.hand(Cancel(4.0, "s0-1", by="a1"))
        assert house.engine.tables.penalties["default"].keys() == {"b2", "a1"}

    def test_cancel_by_a_service_blames_nobody(self) -> None:
        house = House()
        house.enter(1.0, "a", "b")
        house.hand(Cancel(2.0, "s0-1", reason="silent"))
        assert house.engine.tables.penalties == {}

    def test_two_last_answers_make_one_match(self) -> None:
        house = House()
        house.enter(1.0, "a", "b")
        events = [*house.accept(2.0, 1), *house.accept(2.0, 2), *house.accept(2.0, 1, 2)]

        assert len(only(events, Matched)) == 1

    def test_accept_at_the_very_last_instant_counts(self) -> None:
        house = House()
        house.enter(1.0, "a", "b")
        house.accept(2.0, 1)

        assert only(house.accept(16.0, 2), Matched)
        assert house.pass_to(100.0) == []


class TestCooldowns:
    def test_are_for_repeat_decliners_only(self) -> None:
        house = House(checked(accept=replace(CHECK, cooldowns=(60.0, 300.0), repair=0.0)))
        house.enter(0.0, "innocent")
        refused = []
        for n in range(4):
            now = 1000.0 * (n + 1)
            house.enter(now, "b")
            (penalised,) = only(house.decline(now + 1, n + 2, match=n + 1), Penalised)
            refused.append(penalised.until - now - 1)  # type: ignore[attr-defined]
        assert refused == [0.0, 60.0, 300.0, 300.0]
        assert house.engine.tables.penalties["default"].keys() == {"b"}

    def test_player_on_cooldown_is_refused_with_the_seconds_left(self) -> None:
        house = House(checked(accept=replace(CHECK, cooldowns=(60.0,), repair=0.0, again=0.0)))
        house.enter(0.0, "a")
        for n in range(2):
            house.enter(10.0 * n + 1, "b")
            house.decline(10.0 * n + 2, n + 2, match=n + 1)
        (refused,) = house.enter(20.0, "b")

        assert isinstance(refused, Refused)
        assert refused.code == "cooldown"
        assert "failed 2 ready-checks and may queue again in 52 s" in refused.message
        assert refused.seconds == 52.0
        assert kinds(house.enter(72.0, "b"))[0] is not Refused

    def test_may_last_longer_than_a_day(self) -> None:
        house = House(checked(accept=replace(CHECK, cooldowns=(604_800.0,), repair=0.0, again=0.0)))
        house.enter(0.0, "a")
        for n in range(2):
            house.enter(10.0 * n + 1, "b")
            house.decline(10.0 * n + 2, n + 2, match=n + 1)
        house.enter(86_450.0, "c")
        (refused,) = house.enter(86_460.0, "b")

        assert isinstance(refused, Refused)
        assert refused.seconds == 604_812.0 - 86_460.0

    def test_party_mates_of_a_silent_player_are_not_blamed(self) -> None:
        house = House(checked(2, 2))
        house.enter(1.0, new_ticket("a", 1500, 1500), new_ticket("b", 1500, 1500))
        house.accept(2.0, 2)
        house.hand(Accept(2.0, "s0-m1", "s0-1", ("a1",)))
        house.pass_to(16.0)

        assert house.engine.tables.penalties["default"].keys() == {"a2"}

    @pytest.mark.parametrize(
        ("accepted", "named", "blamed"),
        [
            (("a1",), (), {"a2"}),
            (("a1", "a2"), (), {"a1", "a2"}),
            (("a1",), ("a1",), {"a1"}),
            ((), (), {"a1", "a2"}),
        ],
    )
    def test_decline_that_names_nobody_blames_nobody_who_has_accepted(
        self, accepted: tuple[str, ...], named: tuple[str, ...], blamed: set[str]
    ) -> None:
        house = House(checked(2, 2))
        house.enter(1.0, new_ticket("a", 1500, 1500), new_ticket("b", 1500, 1500))
        for player in accepted:
            house.hand(Accept(2.0, "s0-m1", "s0-1", (player,)))
        house.hand(Decline(3.0, "s0-m1", "s0-1", named))

        assert house.engine.tables.penalties["default"].keys() == blamed

    def test_other_decliners_first_does_not_make_innocents_guilty(self) -> None:
        house = House(checked(2, 2))
        house.enter(1.0, *"abcd")
        house.decline(2.0, 1)
        house.pass_to(12.0)

        assert house.engine.tables.penalties["default"].keys() == {"a"}
        assert [house.state(n) for n in (2, 3, 4)] == ["waiting"] * 3

    def test_failures_are_forgotten_after_a_day(self) -> None:
        house = House(checked(accept=replace(CHECK, repair=0.0)))
        house.enter(0.0, "a", "b")
        house.decline(1.0, 2)
        house.enter(90_000.0, "b")
        (penalised,) = only(house.decline(90_001.0, 3, match=2), Penalised)

        assert (penalised.count, penalised.until) == (1, 90_001.0)  # type: ignore[attr-defined]


class TestSameSet:
    def test_is_not_proposed_again_at_once(self) -> None:
        house = House(checked(accept=replace(CHECK, repair=0.0)))
        house.enter(1.0, "a", "b")
        house.decline(2.0, 2)
        events = house.enter(3.0, "b")

        assert only(events, Proposed) == []
        assert only(house.pass_to(31.9), Proposed) == []
        (again,) = only(house.pass_to(32.0), Proposed)
        assert again.match.tickets == ("s0-1", "s0-3")  # type: ignore[attr-defined]

    def test_does_not_keep_its_players_from_others(self) -> None:
        house = House(checked(accept=replace(CHECK, repair=0.0)))
        house.enter(1.0, "a", "b")
        house.decline(2.0, 2)
        house.enter(3.0, "b")
        (proposed,) = only(house.enter(4.0, "c"), Proposed)

        assert proposed.match.tickets == ("s0-1", "s0-4")  # type: ignore[attr-defined]
        (other,) = only(house.enter(5.0, "d"), Proposed)
        assert other.match.tickets == ("s0-3", "s0-5")  # type: ignore[attr-defined]


class TestWhoIsOffered:
    """Everybody who is let in while seats are free, however he comes."""

    def near(self, **keys: object) -> House:
        return House(replace(checked(rules=(rule(limit=100),)), **keys))  # type: ignore[arg-type]

    def test_whoever_was_brought_into_range(self) -> None:
        house = self.near()
        house.enter(1.0, new_ticket("a", 1500), new_ticket("b", 1500))
        house.enter(1.5, new_ticket("c", 1900))
        house.decline(3.0, 2)
        events = house.hand(Update(4.0, "s0-3", players=(Player("c", Rating(1550.0)),)))

        assert only(events, Repaired)

    def test_whoever_was_held_back_as_a_newcomer(self) -> None:
        house = self.near(commit_jitter=2.0)
        house.enter(0.0, "a", "b")
        house.pass_to(2.0)
        house.decline(3.0, 2)
        assert not only(house.enter(4.0, "c"), Repaired)

        assert only(house.pass_to(6.0), Repaired)

    def test_whoever_comes_back_from_another_proposal(self) -> None:
        house = self.near()
        house.enter(1.0, "a", "b")
        house.decline(2.0, 2)
        house.enter(2.5, new_ticket("x", 1590), new_ticket("y", 1650))
        house.engine.tables._check()
        assert house.engine.tables.proposals["s0-m1"].open is None


def test_ticket_held_back_may_be_changed_meanwhile() -> None:
    house = House(replace(queue("main"), commit_jitter=30.0))
    house.enter(0.0, "a", "b")
    house.hand(Update(1.0, "s0-1", players=(Player("a", Rating(1600.0)),)))
    house.hand(Configure(2.0, (replace(queue("main"), commit_jitter=30.0),), version=2))
    house.pass_to(31.0)

    assert house.state(1) == "matched"


def test_same_set_is_not_proposed_again_at_a_deadline() -> None:
    form = q.Format((2, 2), players_min=(1, 1))
    hasty = replace(CHECK, repair=0.0)
    house = House(replace(checked(2, 2, wait_max=5.0, accept=hasty), format=form))
    house.enter(0.0, "a", "b")
    assert only(house.pass_to(5.0), Proposed)
    house.decline(5.0, 2)

    assert only([*house.enter(5.0, "b"), *house.pass_to(5.0)], Proposed) == []


def test_time_that_the_server_was_away_is_given_back() -> None:
    house = House()
    house.enter(1.0, "a", "b", "c", "d")
    house.decline(4.0, 2)
    house.hand(Prolong(5.0, 20.0))
    assert house.pass_to(33.0) == []

    silent = only(house.pass_to(36.0), Cancelled)
    again = Engine(lambda each: parse_policy(each.policy))
    for record in house.journal:
        again.apply(decode(encode(record)))

    assert {e.ticket for e in silent} == {"s0-3", "s0-4"}  # type: ignore[attr-defined]
    assert house.state(1) == "waiting"
    assert state_hash(again) == state_hash(house.engine)


def test_repair_that_was_given_time_back_keeps_it_when_another_declines() -> None:
    house = House(checked(2, 2, accept=replace(CHECK, seconds=60.0)))
    house.enter(1.0, *"abcd")
    house.decline(2.0, 1)
    house.hand(Prolong(3.0, 20.0))
    house.decline(15.0, 2)
    seats = house.engine.tables.proposals["s0-m1"].open

    assert seats is not None
    assert (seats.enqueued_at, seats.expires_at) == (2.0, 32.0)
    assert only(house.pass_to(31.0), Dissolved) == []
    assert only(house.pass_to(32.0), Dissolved)


def test_time_that_clients_take_to_come_back_is_given_to_those_who_are_named() -> None:
    house = House()
    house.enter(1.0, "a", "b", "c", "d")
    for number, match in ((1, 1), (4, 2)):
        house.hand(Accept(2.0, f"s0-m{match}", f"s0-{number}"))
    house.hand(Prolong(5.0, 20.0, ("s0-3", "s0-99")))

    first = only(house.pass_to(35.9), Cancelled)
    then = only(house.pass_to(36.0), Cancelled)
    again = Engine(lambda each: parse_policy(each.policy))
    for record in house.journal:
        again.apply(decode(encode(record)))

    assert state_hash(again) == state_hash(house.engine)
    assert {e.ticket for e in first} == {"s0-2"}  # type: ignore[attr-defined]
    assert {e.ticket for e in then} == {"s0-3"}  # type: ignore[attr-defined]


class TestChangesInFlight:
    def test_innocents_whom_the_queue_no_longer_takes_expire(self) -> None:
        house = House()
        house.enter(1.0, "a", "b")
        asks_more = checked(criteria=(Criterion("spread", "elo2", scale=Scale()),))
        house.hand(Configure(2.0, (asks_more,), version=2))
        events = house.decline(3.0, 2)

        assert kinds(events) == [Cancelled, Penalised, Dissolved, Expired]
        house.enter(4.0, new_ticket("c", 1500, elo2=0.5))

    def test_repair_under_other_rules_ends_at_once(self) -> None:
        house = House()
        house.enter(1.0, "a", "b")
        house.decline(2.0, 2)
        events = house.hand(Configure(3.0, (queue("main"),), version=2))

        assert only(events, Dissolved)
        assert only(house.enter(4.0, "c"), Matched)

    def test_another_policy_or_a_shadow_stops_no_repair(self) -> None:
        house = House()
        house.enter(1.0, "a", "b")
        other = replace(checked(), policy="periodic:rounds_of=2", shadow="greedy")
        house.hand(Configure(2.0, (other,), version=2))
        house.decline(3.0, 2)

        assert only(house.enter(4.0, "c"), Repaired)

    def test_proposal_ends_under_the_settings_that_it_began_with(self) -> None:
        house = House(replace(checked(), exclusive_match=True))
        house.enter(1.0, "a", "b")
        house.hand(Configure(2.0, (queue("other"),), version=2))
        house.accept(3.0, 1)
        (made,) = only(house.accept(4.0, 2), Matched)

        assert made.match.queue == "main"  # type: ignore[attr-defined]
        assert house.engine.tables.matches["s0-m1"].live

    def test_innocents_of_a_queue_that_is_gone_expire(self) -> None:
        house = House()
        house.enter(1.0, "a", "b")
        house.hand(Configure(2.0, (queue("other"),), version=2))
        events = house.decline(3.0, 2)

        assert kinds(events) == [Cancelled, Penalised, Dissolved, Expired]
        assert house.engine.view("s0-1").reason == "queue_changed"

    def test_innocents_of_a_queue_that_came_back_in_another_group_expire(self) -> None:
        house = House()
        house.enter(1.0, "a", "b")
        house.hand(Configure(2.0, (queue("other"),), version=2))
        house.hand(Configure(3.0, (replace(checked(), group="apart"),), version=3))
        events = house.decline(4.0, 2)

        assert kinds(events) == [Cancelled, Penalised, Dissolved, Expired]
        assert house.engine.view("s0-1").reason == "queue_changed"
        assert kinds(house.enter(5.0, "a")) == [Accepted]

    def test_paused_queue_repairs_nothing(self) -> None:
        house = House()
        house.enter(1.0, "a", "b", "c")
        house.hand(Configure(2.0, (checked(),), version=2, pause=("main",)))

        assert kinds(house.decline(3.0, 2)) == [Cancelled, Penalised, Dissolved]


def a_busy_minute() -> House:
    """Return an engine in the middle of proposals, repairs and cooldowns."""
    house = House(checked(2, 2, criteria=(NEAR,)), replace(queue("duel"), accept=CHECK))
    house.enter(1.0, *"abcd")
    house.enter(2.0, *[new_ticket(n, 1500, queues=("duel",)) for n in "xyz"])
    house.accept(3.0, 1, 2)
    house.decline(4.0, 3)
    house.decline(4.5, 5, match=2)
    house.enter(5.0, "e")
    house.accept(6.0, 8)
    house.decline(7.0, 4)
    return house


def test_journal_rebuilds_proposals_and_goes_on_alike() -> None:
    house = a_busy_minute()
    again = Engine(lambda each: parse_policy(each.policy))
    for record in house.journal:
        again.apply(decode(encode(record)))
    again.resume(7.0)

    assert state_hash(again) == state_hash(house.engine)
    rest = []
    while again.next_wakeup < 1000.0:
        rest += again.step(Advance(again.next_wakeup)).events
    assert rest == house.pass_to(1000.0)
    assert state_hash(again) == state_hash(house.engine)


def test_snapshot_holds_proposals() -> None:
    house = a_busy_minute()
    again = Engine(lambda each: parse_policy(each.policy))
    again.resume(7.0, restore(again, decode_snapshot(encode_snapshot(take(house.engine)))))

    assert state_hash(again) == state_hash(house.engine)
    assert _rest(again) == house.pass_to(1000.0)


def _rest(engine: Engine) -> list[Event]:
    events: list[Event] = []
    while engine.next_wakeup < 1000.0:
        events += engine.step(Advance(engine.next_wakeup)).events
    return events
