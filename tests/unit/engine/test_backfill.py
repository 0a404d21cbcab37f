"""Backfill: running matches that ask for players, and those who join them."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from evenmatch.criteria.objective import Objective
from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record, decode, encode
from evenmatch.engine.state.rosters import OPENS_PER_MINUTE
from evenmatch.engine.state.rows import Roster
from evenmatch.engine.state.snapshot import (
    decode_snapshot,
    encode_snapshot,
    restore,
    state_hash,
    take,
)
from evenmatch.errors import (
    InvalidOpening,
    NoBackfill,
    Overloaded,
    StaleRoster,
    TooLate,
    UnknownMatch,
)
from evenmatch.model.events import (
    Accepted,
    Assigned,
    Cancelled,
    Closed,
    Event,
    Expired,
    Finished,
    Matched,
    Opened,
    Refused,
    Voided,
)
from evenmatch.model.inputs import (
    Accept,
    Advance,
    Assign,
    Cancel,
    Close,
    Configure,
    Enqueue,
    Finish,
    Input,
    Open,
    Outcome,
    Void,
)
from evenmatch.model.match import Match
from evenmatch.model.queue import Criterion, Expansion, Format, Queue, ReadyCheck, Rule, Scale
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import new_ticket, queue, rule

NEAR = Criterion("spread", "rating", scale=Scale("linear", 1000.0, 2000.0))


def filled(*players: int, how: str = "manual", **keys: object) -> Queue:
    """Return a queue whose running matches may be filled."""
    return replace(queue("main", *players, **keys), backfill=how)  # type: ignore[arg-type]


class House:
    """An engine under test, its journal, and shorter words for its inputs."""

    def __init__(self, *queues: Queue) -> None:
        self.engine = Engine(lambda each: parse_policy(each.policy))
        self.journal: list[Record] = []
        self.hand(Configure(0.0, queues or (filled(2, 2),)))

    def hand(self, given: Input) -> tuple[Event, ...]:
        while self.engine.next_wakeup < given.now:
            self._step(Advance(self.engine.next_wakeup))
        return self._step(given)

    def enter(self, now: float, *new: NewTicket | str) -> tuple[Event, ...]:
        made = tuple(new_ticket(n, 1500) if isinstance(n, str) else n for n in new)
        return self.hand(Enqueue(now, made))

    def open(self, now: float, *left: str, version: int = 0, **more: object) -> tuple[Event, ...]:
        return self.hand(Open(now, "s0-m1", version, left, **more))  # type: ignore[arg-type]

    def pass_to(self, now: float) -> list[Event]:
        """Let time pass up to and with an instant."""
        events: list[Event] = []
        while self.engine.next_wakeup <= now:
            events += self._step(Advance(self.engine.next_wakeup))
        return events

    def state(self, ticket: int) -> str:
        return self.engine.view(f"s0-{ticket}").state

    def roster(self, match: int = 1) -> Roster:
        return self.engine.tables.rosters[f"s0-m{match}"]

    def restarted(self) -> Engine:
        """Return the engine that the journal rebuilds."""
        again = Engine(lambda each: parse_policy(each.policy))
        for record in self.journal:
            again.apply(decode(encode(record)))
        return again

    def _step(self, given: Input) -> tuple[Event, ...]:
        record = self.engine.step(given)
        self.engine.tables._check()
        assert not self.engine.faults
        if record.sequence:
            self.journal.append(record)
        return record.events


def kinds(events: Sequence[Event]) -> list[type]:
    return [type(event) for event in events]


def fills(events: Sequence[Event]) -> list[Match]:
    """Return the matches that brought newcomers to running ones."""
    return [e.match for e in events if isinstance(e, Matched) and e.match.extends is not None]


def voided(event: Event) -> tuple[str, ...]:
    """Return the ids of the tickets that wait again after match 1 was called off."""
    assert isinstance(event, Voided)
    assert (event.match, event.reason) == ("s0-m1", "no server")
    return tuple(ticket.id for ticket in event.tickets)


def running(house: House, now: float = 1.0) -> House:
    """Let four players start a match of two against two."""
    assert house.enter(now, "a", "b", "c", "d")
    assert "s0-m1" in house.engine.tables.matches
    return house


class TestOpening:
    def test_frees_the_seats_of_those_who_left(self) -> None:
        house = running(House())
        (event,) = house.open(5.0, "b")
        assert isinstance(event, Opened)
        assert event.left == ("b",)
        assert sum(event.open.free) == 1
        assert house.roster().left == ("b",)
        assert sum(map(len, house.roster().players)) == 3

    def test_under_a_name_is_for_seats_that_are_free(self) -> None:
        house = running(House())
        with pytest.raises(InvalidOpening, match="no seat of match s0-m1 is to be filled"):
            house.open(5.0, ticket="mine")
        assert not house.engine.tables.backfills
        assert kinds(house.open(6.0)) == [Opened]

    def test_is_for_queues_that_allow_it(self) -> None:
        house = running(House(queue("main", 2, 2)))
        with pytest.raises(NoBackfill, match="queue main has no backfill"):
            house.open(5.0, "b")
        assert not house.engine.tables.rosters

    def test_is_for_matches_that_were_made(self) -> None:
        with pytest.raises(UnknownMatch):
            House().open(1.0)

    def test_refuses_players_who_were_never_in_it(self) -> None:
        house = running(House())
        with pytest.raises(InvalidOpening) as refused:
            house.open(5.0, "b", "z")
        assert refused.value.where == "/left/1"
        assert not house.roster().left

    def test_refuses_seats_that_the_match_does_not_have(self) -> None:
        house = running(House())
        for free in ((1, 1), (-1, 0), (0, 0, 0)):
            with pytest.raises(InvalidOpening, match="at most"):
                house.open(5.0, "b", free=free)

    def test_is_over_with_the_match(self) -> None:
        house = running(House())
        house.open(5.0, "b")
        assert kinds(house.hand(Finish(6.0, "s0-m1"))) == [Finished]
        assert not house.engine.tables.rosters
        assert not fills(house.enter(7.0, "e"))
        with pytest.raises(NoBackfill, match="is over"):
            house.open(8.0, "b")

    def test_is_over_when_the_match_has_lasted_long_enough(self) -> None:
        house = running(House(replace(filled(2, 2), match_max=10.0)))
        house.open(5.0, "b", lease=100.0)
        assert Finished("s0-m1", "match_max") in house.pass_to(11.0)
        assert not house.engine.tables.rosters

    def test_that_everybody_has_left_is_refused(self) -> None:
        house = running(House())
        with pytest.raises(NoBackfill, match="everybody has left"):
            house.open(5.0, "a", "b", "c", "d")

    def test_without_seats_only_says_who_left(self) -> None:
        house = running(House())
        house.open(5.0, "b", free=(0, 0))
        assert house.roster().open is None
        assert house.roster().left == ("b",)
        assert not fills(house.enter(6.0, "e"))

    def test_ends_by_close_and_closing_again_changes_nothing(self) -> None:
        house = running(House())
        house.open(5.0, "b")
        assert house.hand(Close(6.0, "s0-m1")) == (Closed("s0-m1", "close"),)
        assert house.hand(Close(7.0, "s0-m1")) == ()
        assert not fills(house.enter(8.0, "e"))

    def test_lets_whoever_left_queue_again_where_matches_are_exclusive(self) -> None:
        house = running(House(filled(2, 2, exclusive_match=True)))
        (refused,) = house.enter(2.0, "b")
        assert isinstance(refused, Refused)
        house.open(5.0, "b", free=(0, 0))
        house.enter(6.0, "b")
        assert house.state(5) == "waiting"


class TestLease:
    def test_closes_the_match_by_itself(self) -> None:
        house = running(House())
        house.open(5.0, "b", lease=30.0)
        assert house.pass_to(34.9) == []
        assert house.pass_to(35.0) == [Closed("s0-m1", "lease")]

    def test_is_renewed_by_heartbeats_of_which_few_are_journalled(self) -> None:
        house = running(House())
        house.open(5.0, "b", lease=30.0)
        before = len(house.journal)
        for second in range(10, 100, 5):
            house.open(float(second), "b", lease=30.0)
        assert len(house.journal) - before <= 6
        assert not [e for e in house.pass_to(109.0) if isinstance(e, Closed)]
        assert house.roster().open is not None

    def test_lasts_half_of_it_after_a_heartbeat_at_least(self) -> None:
        for beat in range(6, 34):
            house = running(House())
            house.open(5.0, "b", lease=30.0)
            house.open(float(beat), "b", lease=30.0)
            assert Closed("s0-m1", "lease") in house.pass_to(80.0)
            assert house.engine.tables.now >= beat + 15.0

    def test_that_ends_twice_at_one_instant_closes_once(self) -> None:
        house = running(House())
        house.open(5.0, "b", lease=30.0)
        house.open(25.0, "b", lease=10.0, priority="high")
        assert house.pass_to(35.0) == [Closed("s0-m1", "lease")]

    def test_keeps_the_age_of_the_free_seats(self) -> None:
        house = running(House())
        house.open(5.0, "b", lease=30.0)
        house.open(25.0, "b", lease=30.0)
        opened = house.roster().open
        assert opened is not None
        assert (opened.enqueued_at, opened.expires_at) == (5.0, 55.0)


class TestFill:
    def test_brings_a_newcomer_to_the_running_match(self) -> None:
        house = running(House())
        house.open(5.0, "b")
        (match,) = fills(house.enter(6.0, "e"))
        assert (match.id, match.extends, match.tickets) == ("s0-m2", "s0-m1", ("s0-5",))
        assert [player for team in match.players for player in team] == ["e"]
        assert house.state(5) == "matched"
        assert house.roster().version == 1
        assert house.roster().open is None
        assert sorted(map(len, house.roster().players)) == [2, 2]

    def test_finds_those_who_wait_already(self) -> None:
        house = running(House())
        house.enter(2.0, "e")
        house.open(5.0, "b")
        (match,) = fills(house.pass_to(5.0))
        assert match.tickets == ("s0-5",)

    def test_gives_newcomers_the_place_of_the_match_at_once(self) -> None:
        house = running(House())
        house.hand(Assign(2.0, "s0-m1", {"connection": "x:1"}))
        house.open(5.0, "b")
        events = house.enter(6.0, "e")
        assert kinds(events)[1:] == [Matched, Assigned]
        assert house.engine.view("s0-5").assignment == {"connection": "x:1"}

    def test_gives_newcomers_the_place_that_comes_later_too(self) -> None:
        house = running(House())
        house.open(5.0, "b")
        house.enter(6.0, "e")
        house.hand(Assign(7.0, "s0-m1", {"connection": "x:1"}))
        assert house.engine.view("s0-5").assignment == {"connection": "x:1"}

    def test_seats_a_newcomer_in_the_team_that_lost_a_player(self) -> None:
        house = House(filled(2, 2, sides=("red", "blue")))
        named = [
            new_ticket(n, 1500, side=s) for n, s in zip("abcd", ["red", "blue"] * 2, strict=True)
        ]
        house.enter(1.0, *named)
        house.open(2.0, "b")
        house.enter(3.0, new_ticket("e", 1500, side="red"))
        assert house.state(5) == "waiting"
        (match,) = fills(house.enter(4.0, new_ticket("f", 1500, side="blue")))
        assert match.players == ((), ("f",))

    def test_gives_newcomers_only_roles_that_are_free(self) -> None:
        roles = (("tank", 1), ("dps", 1))
        house = House(Queue("main", Format((2, 2), roles=roles), backfill="manual"))
        people = [("a", "tank"), ("b", "dps"), ("c", "tank"), ("d", "dps")]
        house.enter(1.0, *(NewTicket((Player(n, roles=(r,)),)) for n, r in people))
        house.open(2.0, "b")
        house.enter(3.0, NewTicket((Player("e", roles=("tank",)),)))
        assert house.state(5) == "waiting"
        (match,) = fills(house.enter(4.0, NewTicket((Player("f", roles=("tank", "dps")),))))
        assert [role for team in match.roles or () for role in team] == ["dps"]

    def test_holds_the_rules_against_everybody_who_plays(self) -> None:
        house = House(filled(2, 2, rules=(rule(limit=100.0),)))
        house.enter(
            1.0, *(new_ticket(n, r) for n, r in zip("abcd", [1500, 1590, 1500, 1520], strict=True))
        )
        house.open(2.0, "a")
        house.enter(3.0, new_ticket("e", 1480))
        assert house.state(5) == "waiting"
        (match,) = fills(house.enter(4.0, new_ticket("f", 1600)))
        assert match.players in ((("f",), ()), ((), ("f",)))

    def test_comes_when_a_rule_widens_far_enough(self) -> None:
        house = House(filled(1, 1, rules=(rule(limit=10.0, rate=10.0),)))
        house.enter(1.0, new_ticket("a", 1500), new_ticket("b", 1500))
        house.open(2.0, "b", lease=60.0)
        house.enter(3.0, new_ticket("e", 1560))
        (match,) = fills(house.pass_to(12.0))
        assert 8.0 <= match.at <= 10.0

    def test_keeps_those_apart_who_avoid_one_another(self) -> None:
        house = House(filled(2, 2, rules=(Rule("avoid", "blocked"),)))
        house.enter(1.0, *(new_ticket(n, 1500, blocked=()) for n in "abcd"))
        house.open(2.0, "b")
        house.enter(3.0, new_ticket("e", 1500, blocked=("c",)))
        assert house.state(5) == "waiting"

    def test_plays_in_the_region_of_the_running_match(self) -> None:
        ping = Criterion("latency", "latency", pairs="region")
        house = House(
            filled(
                1, 1, criteria=(ping,), rules=(Rule("latency", "latency", 80.0, pairs="region"),)
            )
        )
        house.enter(1.0, *(new_ticket(n, 1500, latency={"eu": 20.0, "us": 70.0}) for n in "ab"))
        assert house.engine.match("s0-m1").match.region == "eu"
        house.open(2.0, "b")
        house.enter(3.0, new_ticket("e", 1500, latency={"eu": 150.0, "us": 10.0}))
        assert house.state(3) == "waiting"
        (match,) = fills(house.enter(4.0, new_ticket("f", 1500, latency={"eu": 50.0, "us": 10.0})))
        assert match.region == "eu"
        assert [d for team in match.latency_delta or () for d in team] == [40.0]

    @pytest.mark.parametrize("criteria", [(), (Criterion("latency", "latency", pairs="region"),)])
    def test_stays_in_its_region_although_all_could_play_in_a_better_one(
        self, criteria: tuple[Criterion, ...]
    ) -> None:
        far = Rule("latency", "latency", 100.0, pairs="region")
        house = House(filled(2, 2, criteria=criteria, rules=(far,)))
        near, off = {"eu": 10.0, "us": 60.0}, {"eu": 101.0, "us": 60.0}
        house.enter(1.0, *(new_ticket(n, 1500, latency=near) for n in "abc"))
        house.enter(1.0, new_ticket("d", 1500, latency=off))
        assert house.engine.match("s0-m1").match.region == "us"
        house.open(2.0, "d", lease=60.0)
        house.enter(3.0, new_ticket("e", 1500, latency={"eu": 10.0, "us": 120.0}))
        assert house.state(5) == "waiting"
        (match,) = fills(house.enter(4.0, new_ticket("f", 1500, latency={"eu": 10.0, "us": 99.0})))
        assert match.region == "us"
        assert [d for team in match.latency_delta or () for d in team] == [89.0]

    def test_takes_nobody_who_plays_in_the_match_already(self) -> None:
        house = running(House(filled(2, 2)))
        house.enter(2.0, "a")
        assert not fills(house.open(3.0, "d"))
        assert not fills(house.pass_to(9.0))
        assert fills(house.enter(10.0, "e"))

    def test_waits_for_newcomers_whom_commit_jitter_holds_back(self) -> None:
        house = House(replace(filled(2, 2), commit_jitter=8.0))
        house.enter(1.0, "a", "b", "c", "d")
        house.pass_to(20.0)
        house.open(21.0, "d", lease=60.0)
        assert not fills(house.enter(22.0, "e"))
        let_in_at = house.engine.pools["main"].delayed_until["s0-5"]
        assert let_in_at > 22.5
        assert not fills(house.pass_to(let_in_at - 0.01))
        assert fills(house.pass_to(let_in_at))

    def test_of_a_match_opened_later_waits_for_those_held_back_too(self) -> None:
        house = House(replace(filled(2, 2), commit_jitter=8.0))
        house.enter(1.0, "a", "b", "c", "d")
        house.pass_to(20.0)
        house.enter(22.0, "e")
        let_in_at = house.engine.pools["main"].delayed_until["s0-5"]
        assert not fills(house.open(22.25, "d", lease=60.0))
        assert not fills(house.pass_to(let_in_at - 0.01))
        assert fills(house.pass_to(let_in_at + 2.0))

    def test_keeps_to_the_quality_floor(self) -> None:
        house = House(filled(1, 1, criteria=(NEAR,)))
        house.enter(1.0, new_ticket("a", 1500), new_ticket("b", 1500))
        house.open(2.0, "b", quality_floor=0.9, priority="high")
        house.enter(3.0, new_ticket("e", 1700))
        assert house.state(3) == "waiting"
        (match,) = fills(house.enter(4.0, new_ticket("f", 1550)))
        assert match.quality == pytest.approx(0.95)

    def test_asks_nobody_where_a_ready_check_is_not_for_newcomers(self) -> None:
        house = House(replace(filled(1, 1), accept=ReadyCheck(newcomers=False)))
        from evenmatch.model.inputs import Accept as Yes

        house.enter(1.0, "a", "b")
        house.hand(Yes(2.0, "s0-m1", "s0-1"))
        house.hand(Yes(2.0, "s0-m1", "s0-2"))
        house.open(3.0, "b")
        assert fills(house.enter(4.0, "e"))
        assert house.state(3) == "matched"

    def test_brings_a_party_to_seats_of_one_team_only(self) -> None:
        house = House(filled(3, 3))
        house.enter(1.0, *"abcdef")
        teams = house.roster().players
        house.open(2.0, teams[0][0], teams[1][0])
        house.enter(3.0, new_ticket("g", 1500, 1500))
        assert house.state(7) == "waiting"
        house.open(4.0, teams[0][1])
        house.pass_to(5.0)
        (match,) = fills([e for r in house.journal for e in r.events])
        assert match.players == (("g1", "g2"), ())

    def test_takes_the_ticket_out_of_its_other_queues(self) -> None:
        other = queue("other", 2, 2)
        house = House(filled(1, 1), other)
        house.enter(1.0, "a", "b")
        house.open(2.0, "b")
        house.enter(3.0, new_ticket("e", 1500, queues=("other", "main")))
        assert house.state(3) == "matched"
        assert not house.engine.pools["other"].tickets

    def test_of_one_match_does_not_end_another_fill(self) -> None:
        house = House(filled(1, 1))
        house.enter(1.0, "a", "b", "c", "d")
        house.open(2.0, "b")
        house.hand(Open(2.0, "s0-m2", 0, ("d",)))
        found = fills(house.enter(3.0, "e", "f"))
        assert {match.extends for match in found} == {"s0-m1", "s0-m2"}

    def test_comes_to_all_matches_that_look_at_the_same_instant(self) -> None:
        house = House(filled(1, 1, rules=(rule(limit=10.0, rate=10.0),)))
        house.enter(1.0, *(new_ticket(n, r) for n, r in zip("abcd", (0, 0, 900, 900), strict=True)))
        house.enter(3.0, new_ticket("e", 80), new_ticket("f", 980))
        house.open(4.0, "b", lease=60.0)
        house.hand(Open(4.0, "s0-m2", 0, ("d",), lease=60.0))
        found = fills(house.pass_to(20.0))
        assert [(match.extends, match.at) for match in found] == [("s0-m1", 10.0), ("s0-m2", 10.0)]

    def test_that_one_input_has_no_room_for_comes_a_little_later(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("evenmatch.engine.backfill.search.BUDGET", 2)
        monkeypatch.setattr("evenmatch.engine.backfill.search.LOOKS_MOST", 2)
        judged = []
        judge = Objective.judge
        monkeypatch.setattr(
            Objective, "judge", lambda self, *args: (judged.append(1), judge(self, *args))[1]
        )
        # Newcomers may sit with those who play, but teams are too uneven until the rule widens.
        even = Rule("imbalance", "rating", 10.0, expand=Expansion(rate=20.0))
        house = House(filled(2, 2, rules=(even,)))
        for match in range(8):
            house.enter(1.0, *(f"m{match}{seat}" for seat in range(4)))
        for match in range(1, 9):
            house.hand(Open(2.0, f"s0-m{match}", 0, (f"m{match - 1}0",), lease=60.0))
        found = []
        for number in range(3):
            judged.clear()
            found += fills(house.enter(3.0, new_ticket(f"n{number}", 1_700)))
            # Two steps at most: what was due before, and the create.
            assert len(judged) <= 4
        while house.engine.next_wakeup < 30.0:
            judged.clear()
            found += fills(house.hand(Advance(house.engine.next_wakeup)))
            # One look at all who wait may end what it has begun.
            assert len(judged) <= 10
        # The rule is wide enough from 7.5 s on.
        assert [match.players for match in found] == [(("n0",), ()), (("n1",), ()), (("n2",), ())]
        assert all(7.5 <= match.at < 12.0 for match in found)

    def test_finishes_with_the_running_match(self) -> None:
        house = running(House(filled(2, 2, exclusive_match=True)))
        house.open(2.0, "b")
        house.enter(3.0, "e")
        assert house.hand(Finish(4.0, "s0-m1")) == (Finished("s0-m1", "finish"),)
        assert not house.engine.match("s0-m2").live
        house.enter(5.0, "e", "a")
        assert (house.state(6), house.state(7)) == ("waiting", "waiting")

    @pytest.mark.parametrize("is_over", [False, True])
    def test_is_not_finished_by_itself_nor_in_the_name_of_the_others(self, is_over: bool) -> None:
        house = running(House(filled(2, 2)))
        house.open(2.0, "b")
        house.enter(3.0, "e")
        if is_over:
            house.hand(Finish(4.0, "s0-m1"))
        with pytest.raises(NoBackfill, match="to match s0-m1: finish that one") as refused:
            house.hand(Finish(5.0, "s0-m2"))
        assert refused.value.match == "s0-m1"
        assert house.engine.match("s0-m1").live is not is_over


class TestPriority:
    def test_high_is_filled_before_new_matches(self) -> None:
        house = House(filled(1, 1))
        house.enter(1.0, "a", "b", "x")
        house.open(2.0, "b", priority="high")
        house.pass_to(2.0)
        assert fills([e for r in house.journal for e in r.events])[0].tickets == ("s0-3",)
        house.open(3.0, "x", version=1, priority="high")
        events = house.enter(4.0, "e", "f")
        assert [match.tickets for match in fills(events)] == [("s0-4",)]

    def test_low_gets_who_is_left_over(self) -> None:
        house = House(filled(1, 1))
        house.enter(1.0, "a", "b")
        house.open(2.0, "b", priority="low")
        events = house.enter(3.0, "e", "f")
        assert not fills(events)
        assert (house.state(3), house.state(4)) == ("matched", "matched")
        assert fills(house.enter(4.0, "g"))

    def test_low_looks_at_those_of_whom_the_policy_had_something_in_mind(self) -> None:
        spread = Rule("spread", "rating", 100.0, expand=Expansion(rate=10.0))
        house = House(filled(1, 1, rules=(spread,)))
        house.enter(0.5, new_ticket("a", 1500), new_ticket("b", 1500))
        house.open(1.0, "b", priority="low", lease=300.0)
        # The policy plans that x and y meet at 12 s, and y gives up before.
        assert not fills(house.enter(2.0, new_ticket("x", 1500), new_ticket("y", 1700)))
        house.pass_to(2.5)
        assert house.state(3) == "waiting"
        events = house.hand(Cancel(3.0, "s0-4"))
        assert [match.tickets for match in fills(events)] == [("s0-3",)]

    def test_low_looks_when_the_policy_has_decided_some_at_a_time(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("evenmatch.engine.backfill.search.LOOKS_MOST", 1)
        spread = Rule("spread", "rating", 100.0, expand=Expansion(rate=10.0))
        house = House(filled(1, 1, rules=(spread,)))
        house.enter(0.0, new_ticket("a", 1800), new_ticket("b", 1800))
        house.enter(0.0, new_ticket("c", 2000), new_ticket("d", 2000))
        for match, left in (("s0-m1", "b"), ("s0-m2", "d")):
            house.hand(Open(0.0, match, 0, (left,), priority="low", lease=300.0))
        # The policy plans that u and v meet at 6 s; w and x are left over then.
        ratings = {"u": 1500, "v": 1650, "w": 1800, "x": 2000}
        house.enter(1.0, *[new_ticket(name, rating) for name, rating in ratings.items()])
        assert not fills(house.pass_to(5.9))
        events = house.pass_to(30.0)
        joined = [(match.at, match.tickets, match.extends) for match in fills(events)]
        assert joined == [(6.0, ("s0-7",), "s0-m1"), (6.25, ("s0-8",), "s0-m2")]

    def test_normal_gives_the_better_of_the_two(self) -> None:
        near, far = (1500, 1510), (1500, 1900)
        for (one, two), wanted in ((near, 0), (far, 1)):
            house = House(filled(1, 1, criteria=(NEAR,)))
            house.enter(1.0, new_ticket("a", 1450), new_ticket("b", 1450))
            house.open(2.0, "b")
            events = house.enter(2.0, new_ticket("e", one), new_ticket("f", two))
            assert len(fills(events)) == wanted

    def test_normal_lets_the_loser_of_a_match_wait_on(self) -> None:
        house = House(filled(1, 1, criteria=(NEAR,)))
        house.enter(1.0, new_ticket("a", 1450), new_ticket("b", 1450))
        house.open(2.0, "b")
        house.enter(2.0, new_ticket("e", 1500), new_ticket("f", 1900))
        assert house.state(4) == "waiting"
        house.enter(3.0, new_ticket("g", 1800))
        assert house.state(4) == "matched"

    def test_normal_counts_how_long_the_seats_are_free(self) -> None:
        criteria = (NEAR,)
        for later, wanted in ((0.0, 0), (60.0, 1)):
            house = House(replace(filled(1, 1, criteria=criteria), wait_price=0.01))
            house.enter(1.0, new_ticket("a", 1300), new_ticket("b", 1300))
            house.open(2.0, "b", lease=100.0)
            now = 2.0 + later
            events = house.enter(now, new_ticket("e", 1500), new_ticket("f", 1510))
            assert len(fills(events)) == wanted


class TestAutomatic:
    def queue(self) -> Queue:
        form = Format((2, 2), players_min=(1, 1))
        return Queue("main", form, backfill="automatic", wait_max=60.0, policy="greedy")

    def test_opens_a_match_that_is_not_full(self) -> None:
        house = House(self.queue())
        house.enter(1.0, "a", "b")
        house.pass_to(61.0)
        opened = house.roster().open
        assert opened is not None
        assert opened.free == (1, 1)

    def test_opens_again_until_the_match_is_full(self) -> None:
        house = House(self.queue())
        house.enter(1.0, "a", "b")
        house.pass_to(61.0)
        assert fills(house.enter(62.0, "e"))
        assert house.roster().open is not None
        assert fills(house.enter(63.0, "f"))
        assert house.roster().open is None
        assert house.roster().version == 2

    def test_closes_unless_the_backend_is_heard_of(self) -> None:
        house = House(self.queue())
        house.enter(1.0, "a", "b")
        house.pass_to(61.0)
        at = house.engine.match("s0-m1").match.at
        closed = [e for e in house.pass_to(200.0) if isinstance(e, Closed)]
        assert closed == [Closed("s0-m1", "lease")]
        assert house.engine.tables.now == at + 60.0

    @pytest.mark.parametrize(
        ("change", "opens"),
        [
            (None, False),
            ({"backfill": "manual"}, False),
            ({"backfill": None}, False),
            ({"format": Format((1, 1))}, False),
            ({"format": Format((3, 3), players_min=(1, 1))}, False),
            ({"rules": (rule("elo", 100.0),)}, False),
            ({"wait_max": 30.0}, True),
        ],
        ids=["gone", "manual", "none", "smaller", "larger", "compares more", "suits"],
    )
    def test_opens_a_match_only_where_its_queue_after_the_check_suits_it(
        self, change: dict[str, object] | None, opens: bool
    ) -> None:
        main = replace(self.queue(), accept=ReadyCheck(seconds=15.0))
        house = House(main, queue("other"))
        house.enter(1.0, "a", "b")
        house.pass_to(61.0)
        changed = () if change is None else (replace(main, **change),)
        house.hand(Configure(62.0, (*changed, queue("other"))))
        house.hand(Accept(63.0, "s0-m1", "s0-1"))
        events = house.hand(Accept(63.0, "s0-m1", "s0-2"))
        assert [event.match.id for event in events if isinstance(event, Matched)] == ["s0-m1"]
        assert (Opened in kinds(events)) == opens
        assert (house.roster().open is not None) == opens
        assert not fills(house.enter(64.0, NewTicket((Player("z"),), ("other",))))


class TestIncidents:
    def test_a_backfill_never_contains_a_player_who_left(self) -> None:
        """A backfill ticket that still contains a player who left."""
        house = running(House())
        house.open(5.0, "b")
        house.enter(6.0, "b")
        assert house.state(5) == "waiting"
        house.enter(7.0, new_ticket("x", Player("b2"), Player("b3")))
        house.open(8.0, "b")
        assert house.state(5) == "waiting"
        (match,) = fills(house.enter(9.0, "e"))
        assert all("b" not in team for team in (*match.players, *house.roster().players))

    def test_a_party_that_lost_a_member_keeps_the_others_seated(self) -> None:
        house = House(filled(2, 2))
        house.enter(1.0, new_ticket("a", 1500, 1500), "c", "d")
        house.open(2.0, "a2")
        assert "a1" in [player for team in house.roster().players for player in team]
        assert fills(house.enter(3.0, "e"))
        assert sorted(p for team in house.roster().players for p in team) == ["a1", "c", "d", "e"]
        house.enter(4.0, "a2")
        house.open(5.0, "e", version=1)
        house.pass_to(5.0)
        assert house.state(5) == "waiting"

    def test_one_backfill_does_not_race_into_two_servers(self) -> None:
        """One backfill racing into two servers."""
        house = running(House())
        house.hand(Assign(2.0, "s0-m1", {"connection": "x:1"}))
        house.open(5.0, "b")
        house.enter(6.0, "e")
        with pytest.raises(StaleRoster) as refused:
            house.open(7.0, "b")
        assert refused.value.roster_version == 1
        assert not fills(house.enter(8.0, "f"))
        house.open(9.0, "c", version=1)
        (match,) = fills(house.pass_to(9.0))
        assert match.tickets == ("s0-6",)
        assert house.engine.view("s0-6").assignment == {"connection": "x:1"}

    def test_a_backfill_storm_is_refused(self) -> None:
        """Backfill storm."""
        house = running(House())
        house.open(5.0, "b")
        for turn in range(OPENS_PER_MINUTE - 1):
            house.hand(Close(5.0, "s0-m1"))
            house.open(5.0, "b", quality_floor=0.01 * turn)
        house.hand(Close(5.0, "s0-m1"))
        before = len(house.journal)
        for _ in range(100):
            with pytest.raises(Overloaded, match="10 times within a minute"):
                house.open(6.0, "b")
        assert len(house.journal) == before
        house.open(66.0, "b")
        assert house.roster().open is not None

    def test_heartbeats_are_no_storm(self) -> None:
        house = running(House())
        house.open(5.0, "b")
        before = len(house.journal)
        for _ in range(100):
            house.open(6.0, "b")
        assert len(house.journal) == before

    def test_a_queue_has_so_many_open_matches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("evenmatch.engine.backfill.requests.OPEN_MOST", 1)
        house = House(filled(1, 1))
        house.enter(1.0, "a", "b", "c", "d")
        house.open(2.0, "b")
        with pytest.raises(Overloaded, match="has 1 open matches"):
            house.hand(Open(2.0, "s0-m2", 0, ("d",)))
        house.hand(Finish(3.0, "s0-m1"))
        house.hand(Open(4.0, "s0-m2", 0, ("d",)))

    def test_a_player_in_a_backfill_gets_the_server_of_that_match(self) -> None:
        """A player in a backfill gets another server."""
        house = House(filled(1, 1))
        house.enter(1.0, "a", "b", "c", "d")
        house.hand(Assign(2.0, "s0-m1", {"connection": "one"}))
        house.hand(Assign(2.0, "s0-m2", {"connection": "two"}))
        house.hand(Open(3.0, "s0-m2", 0, ("d",)))
        (match,) = fills(house.enter(4.0, "e"))
        assert match.extends == "s0-m2"
        assert house.engine.view("s0-5").assignment == {"connection": "two"}


class TestVoid:
    def house(self, **keys: object) -> House:
        return House(replace(queue("main", 1, 1, **keys), allocation="fleet"))  # type: ignore[arg-type]

    def test_lets_the_tickets_wait_again_as_old_as_they_were(self) -> None:
        house = self.house()
        house.enter(1.0, "a")
        house.enter(3.0, "b")
        events = house.hand(Void(9.0, "s0-m1", "no server"))
        assert voided(events[0]) == ("s0-1", "s0-2")
        assert house.engine.match("s0-m1").void == "no server"
        # They play again in another match, with their age, but do not hammer at the hook.
        assert (house.state(1), house.state(2)) == ("waiting", "waiting")
        (again,) = [e.match for e in house.pass_to(19.0) if isinstance(e, Matched)]
        assert (again.id, again.tickets) == ("s0-m2", ("s0-1", "s0-2"))
        assert again.cost == 18.0 + 16.0
        assert house.engine.tables.counters.returned == 2

    def test_arms_their_deadlines_anew(self) -> None:
        house = House(
            replace(queue("main", 1, 1, wait_max=10.0), allocation="fleet"), queue("other", 2, 2)
        )
        house.enter(1.0, "a", "b")
        house.hand(Configure(2.0, (house.engine.tables.queues["main"],), pause=("main",)))
        house.hand(Void(3.0, "s0-m1", "no server"))
        assert (house.state(1), house.state(2)) == ("waiting", "waiting")
        assert [e for e in house.pass_to(11.0) if isinstance(e, Expired)] == [
            Expired("s0-1", "deadline"),
            Expired("s0-2", "deadline"),
        ]

    def test_just_before_a_deadline_leaves_the_ticket_a_match_with_bots(self) -> None:
        house = self.house(wait_max=30.0, on_deadline="bots")
        house.enter(1.0, "a")
        house.enter(28.0, "b")
        house.hand(Void(30.0, "s0-m1", "no server"))
        (made,) = [e.match for e in house.pass_to(31.0) if isinstance(e, Matched)]
        assert (made.tickets, made.bots) == (("s0-1",), 1)
        assert house.state(2) == "waiting"

    def test_leaves_an_id_to_the_ticket_that_has_it_by_now(self) -> None:
        house = self.house()
        house.enter(1.0, replace(new_ticket("a", 1500), id="own"), "b")
        house.enter(700.0, "c")
        house.enter(702.0, replace(new_ticket("d", 1500), id="own"))
        house.hand(Void(703.0, "s0-m2", "no server"))
        (event, *_) = house.hand(Void(704.0, "s0-m1", "no server"))
        assert voided(event) == ("s0-2",)
        row = house.engine.tables.waiting["own"]
        assert (row.ticket.players[0].id, row.ticket.enqueued_at) == ("d", 702.0)
        assert state_hash(house.restarted()) == state_hash(house.engine)

    @pytest.mark.parametrize("at", [703.0, 1400.0])
    def test_brings_the_later_of_two_tickets_with_one_id_back(self, at: float) -> None:
        house = House(replace(filled(1, 1), allocation="fleet"), queue("other", 2, 2))
        house.enter(1.0, replace(new_ticket("a", 1500), id="own"), "b")
        house.open(2.0, "b", lease=1000.0)
        house.enter(650.0, new_ticket("x", 1500, queues=("other",)))
        house.enter(702.0, replace(new_ticket("d", 1500), id="own"))
        house.enter(at, new_ticket("y", 1500, queues=("other",)))
        events = house.hand(Void(at, "s0-m1", "no server"))
        assert voided(events[0]) == ("own",)
        assert house.engine.tables.waiting["own"].ticket.players[0].id == "d"

    def test_brings_nobody_into_a_queue_of_another_group(self) -> None:
        first, other = replace(queue("first", 1, 1), allocation="fleet"), queue("other", 1, 1)
        house = House(first, other)
        both = ("first", "other")
        house.enter(1.0, new_ticket("a", 1500, queues=both), new_ticket("b", 1500, queues=both))
        house.hand(Configure(2.0, (first, replace(other, group="apart")), version=2))
        house.hand(Void(3.0, "s0-m1", "no server"))
        assert [row.queues for row in house.engine.tables.waiting.values()] == [("first",)] * 2
        # Who waits in one group may wait in the other one too, but is nobody's opponent twice.
        house.enter(4.0, new_ticket("a", 1500, queues=("other",)))
        assert list(house.engine.pools["other"].tickets) == ["s0-3"]

    def test_is_refused_once_the_match_has_a_place(self) -> None:
        house = self.house()
        house.enter(1.0, "a", "b")
        house.hand(Assign(2.0, "s0-m1", {"connection": "x"}))
        assert not house.engine.tables.rosters
        with pytest.raises(TooLate):
            house.hand(Void(3.0, "s0-m1", "no server"))

    def test_changes_nothing_the_second_time(self) -> None:
        house = self.house()
        house.enter(1.0, "a", "b")
        house.hand(Void(3.0, "s0-m1", "no server"))
        assert house.hand(Void(4.0, "s0-m1", "again")) == ()

    def test_cancels_the_ticket_of_a_player_who_waits_in_another_one(self) -> None:
        house = self.house()
        house.enter(1.0, "a", "b")
        house.enter(2.0, "a")
        events = house.hand(Void(3.0, "s0-m1", "no server"))
        assert Cancelled("s0-1", "waits_elsewhere") in events
        (again,) = [e.match for e in house.pass_to(13.0) if isinstance(e, Matched)]
        assert again.tickets == ("s0-2", "s0-3")

    def test_cancels_the_ticket_of_a_player_who_waits_in_another_one_though_its_queue_is_gone(
        self,
    ) -> None:
        other = queue("other", 2, 2)
        house = House(replace(queue("main", 1, 1), allocation="fleet"), other)
        house.enter(1.0, *[NewTicket((Player(name),), ("main", "other")) for name in "ab"])
        house.hand(Configure(2.0, (other,)))
        house.enter(3.0, NewTicket((Player("a"),), ("other",)))
        events = house.hand(Void(4.0, "s0-m1", "no server"))
        assert Cancelled("s0-1", "waits_elsewhere") in events
        assert (house.state(1), house.state(2), house.state(3)) == (
            "cancelled",
            "waiting",
            "waiting",
        )
        assert house.engine.tables.players["default"] == {"a": "s0-3", "b": "s0-2"}

    def test_frees_players_of_an_exclusive_match(self) -> None:
        house = self.house(exclusive_match=True)
        house.enter(1.0, "a", "b")
        house.hand(Void(3.0, "s0-m1", "no server"))
        assert not house.engine.tables.busy["default"]
        house.pass_to(13.0)
        assert set(house.engine.tables.busy["default"].values()) == {"s0-m2"}

    def test_takes_back_those_who_joined_the_match_too(self) -> None:
        house = House(replace(filled(1, 1), allocation="fleet"))
        house.enter(1.0, "a", "b")
        house.open(2.0, "b")
        house.enter(3.0, "e")
        events = house.hand(Void(4.0, "s0-m1", "no server"))
        assert voided(events[0]) == ("s0-1", "s0-3")
        assert house.engine.match("s0-m2").void == "no server"

    def test_lets_a_ticket_cancel_afterwards(self) -> None:
        house = House(replace(queue("main", 2, 2), allocation="fleet"))
        house.enter(1.0, "a", "b", "c", "d")
        house.hand(Configure(2.0, tuple(house.engine.tables.queues.values()), pause=("main",)))
        house.hand(Void(3.0, "s0-m1", "no server"))
        house.hand(Cancel(4.0, "s0-1"))
        assert house.state(1) == "cancelled"


class TestRecovery:
    def story(self) -> House:
        house = House(replace(filled(2, 2, exclusive_match=True), allocation="fleet"))
        house.enter(1.0, new_ticket("a", 1500, 1500), "c", "d")
        house.open(2.0, "a2", lease=40.0)
        house.enter(3.0, "e")
        house.open(4.0, "c", version=1, lease=40.0)
        house.enter(5.0, *"wxyz")
        house.hand(Void(6.0, "s0-m1", "no server"))
        house.hand(Assign(7.0, "s0-m4", {"connection": "x"}))
        return house

    def test_rebuilds_rosters_and_void_matches_from_the_journal(self) -> None:
        house = self.story()
        assert state_hash(house.restarted()) == state_hash(house.engine)

    def test_goes_on_from_a_snapshot_with_the_open_matches(self) -> None:
        house = running(House())
        house.open(5.0, "b", lease=40.0)
        again = Engine(lambda each: parse_policy(each.policy))
        memories = restore(again, decode_snapshot(encode_snapshot(take(house.engine))))
        assert state_hash(again) == state_hash(house.engine)
        again.resume(6.0, memories)
        house.engine = again
        (match,) = fills(house.enter(7.0, "e"))
        assert match.extends == "s0-m1"
        house.open(8.0, "c", version=1, lease=10.0)
        assert [e for e in house.pass_to(18.0) if isinstance(e, Closed)]

    def test_closes_what_a_new_configuration_would_not_open(self) -> None:
        house = running(House())
        house.open(5.0, "b")
        events = house.hand(Configure(6.0, (queue("main", 2, 2),)))
        assert Closed("s0-m1", "queue_changed") in events

    def test_says_when_the_queue_of_a_match_is_gone(self) -> None:
        house = running(House())
        house.hand(Configure(6.0, (queue("other", 2, 2),)))
        with pytest.raises(NoBackfill, match="queue main is gone"):
            house.open(7.0, "b")

    def test_closes_matches_whose_players_lack_what_the_queue_compares_now(self) -> None:
        house = running(House())
        house.open(5.0, "b")
        changed = replace(filled(2, 2), rules=(rule("elo", 100.0),))
        events = house.hand(Configure(6.0, (changed,)))
        assert Closed("s0-m1", "queue_changed") in events
        with pytest.raises(NoBackfill, match="compares"):
            house.open(7.0, "b")
        newcomer = NewTicket((Player("e", attributes={"elo": 5.0}),))
        assert kinds(house.enter(8.0, newcomer)) == [Accepted]

    def test_keeps_a_party_open_that_lost_a_member_though_parties_are_full_now(self) -> None:
        house = House(filled(2, 2))
        house.enter(1.0, new_ticket("a", 1500, 1500), new_ticket("b", 1500, 1500))
        house.open(5.0, "b2")
        pairs = Format((2, 2), party_sizes=(2,))
        events = house.hand(Configure(6.0, (replace(filled(2, 2), format=pairs),)))
        assert not [event for event in events if isinstance(event, Closed)]

    def test_keeps_open_what_a_new_configuration_would_open(self) -> None:
        house = running(House())
        house.open(5.0, "b")
        house.hand(Configure(6.0, (filled(2, 2, wait_max=60.0),)))
        assert fills(house.enter(7.0, "e"))


def test_outcome_counts_those_who_joined_later_and_those_who_left() -> None:
    house = running(House(filled(2, 2)))
    teams = house.engine.tables.matches["s0-m1"].match.players
    house.open(2.0, "b")
    (fill,) = fills(house.enter(3.0, "e"))
    played = tuple(old + new for old, new in zip(teams, fill.players, strict=True))
    told = Outcome(4.0, "s0-m1", ranks=(1.0, 2.0), teams=played, quitters=("b",))

    (counted, _) = house.hand(told)
    assert counted.result.teams == played  # type: ignore[attr-defined]
    assert counted.result.quitters == ("b",)  # type: ignore[attr-defined]
    assert house.hand(replace(told, now=5.0)) == ()
    assert state_hash(house.restarted()) == state_hash(house.engine)
