"""Matches that were made elsewhere: their backend brings the roster, and newcomers join."""

import math
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record, decode, encode
from evenmatch.engine.state.reducers import BACKFILLS_MOST, forget
from evenmatch.engine.state.rows import KEEP_ENDED, BackfillTicket
from evenmatch.engine.state.snapshot import (
    decode_snapshot,
    encode_snapshot,
    restore,
    state_hash,
    take,
)
from evenmatch.engine.state.state import Tables
from evenmatch.errors import InvalidOpening, InvalidTicket, NoBackfill, Overloaded, UnknownQueue
from evenmatch.model.events import (
    Assigned,
    Closed,
    Event,
    Finished,
    Matched,
    Opened,
    Refused,
    Registered,
)
from evenmatch.model.inputs import Advance, Close, Configure, Enqueue, Finish, Input, Open, Register
from evenmatch.model.match import Priority
from evenmatch.model.queue import Criterion, Queue
from evenmatch.model.ticket import LATENCY, NewTicket, Player
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import new_ticket, queue, rule


def playing(name: str, skill: float = 1500) -> Player:
    (player,) = new_ticket(name, skill).players
    return player


def roster(*teams: str) -> tuple[tuple[Player, ...], ...]:
    """Return the players of teams, a letter for each: "ab", "c"."""
    return tuple(tuple(playing(name) for name in team) for team in teams)


class Shard:
    """An engine under test, and its journal."""

    def __init__(self, *queues: Queue) -> None:
        self.engine = Engine(lambda each: parse_policy(each.policy))
        self.journal: list[Record] = []
        plain = replace(queue("main", 2, 2), backfill="manual", wait_max=1e6)
        self.hand(Configure(0.0, queues or (plain,)))

    def hand(self, given: Input) -> tuple[Event, ...]:
        while self.engine.next_wakeup < given.now:
            self._step(Advance(self.engine.next_wakeup))
        return self._step(given)

    def pass_to(self, now: float) -> list[Event]:
        events: list[Event] = []
        while self.engine.next_wakeup <= now:
            events += self._step(Advance(self.engine.next_wakeup))
        return events

    def enter(self, now: float, *names: str, skill: float = 1500) -> tuple[Event, ...]:
        return self.hand(Enqueue(now, tuple(new_ticket(name, skill) for name in names)))

    def register(self, now: float, *teams: str, **more: object) -> tuple[Event, ...]:
        told = {"ticket": "t1", "lease": 60.0, **more}
        return self.hand(Register(now, "main", roster(*teams), **told))  # type: ignore[arg-type]

    def backfill(self, name: str = "t1") -> BackfillTicket:
        return self.engine.tables.backfills[name]

    def restarted(self) -> Engine:
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


def test_roster_of_a_foreign_match_gets_its_newcomers() -> None:
    shard = Shard()
    assert kinds(shard.register(1.0, "ab", "c", session="elsewhere")) == [Registered, Opened]
    assert (shard.backfill().state, shard.backfill().enqueued_at) == ("waiting", 1.0)
    events = shard.enter(5.0, "d")
    (made,) = [event.match for event in events if isinstance(event, Matched)]
    assert made.players == ((), ("d",))
    assert made.extends == shard.backfill().match
    assert Assigned(made.id, {"session": "elsewhere"}) in events
    row = shard.backfill()
    assert (row.state, row.ended_at, row.fill) == ("matched", 5.0, made.id)
    assert Finished(row.match, "filled") in events
    assert not shard.engine.tables.rosters


def test_newcomer_waits_already_when_the_roster_comes() -> None:
    shard = Shard()
    shard.enter(1.0, "d")
    shard.register(2.0, "ab", "c")
    assert Matched in kinds(shard.pass_to(2.0))
    assert shard.backfill().state == "matched"


def test_rules_of_the_queue_say_who_joins_a_foreign_match() -> None:
    rules = (rule(limit=100.0),)
    shard = Shard(replace(queue("main", 2, 2), backfill="manual", wait_max=1e6, rules=rules))
    shard.register(1.0, "ab", "c")
    shard.enter(2.0, "far", skill=1900)
    assert shard.backfill().state == "waiting"
    shard.enter(3.0, "near", skill=1550)
    assert shard.backfill().state == "matched"
    assert shard.engine.view("s0-1").state == "waiting"


def test_two_foreign_matches_never_join() -> None:
    shard = Shard()
    shard.register(1.0, "ab", "", ticket="t1", session="one")
    shard.register(2.0, "", "cd", ticket="t2", session="two")
    shard.pass_to(50.0)
    assert [shard.backfill(name).state for name in ("t1", "t2")] == ["waiting", "waiting"]


def test_newer_request_of_a_session_takes_the_place_of_the_older() -> None:
    shard = Shard()
    shard.register(1.0, "ab", "c", session="one")
    old = shard.backfill().match
    events = shard.register(2.0, "a", "c", ticket="t2", session="one")
    assert events[:2] == (Closed(old, "replaced"), Finished(old, "closed"))
    assert (shard.backfill().state, shard.backfill().reason) == ("cancelled", "replaced")
    shard.enter(3.0, "d", "e")
    assert shard.backfill("t2").state == "matched"
    kept = shard.engine.tables.matches[shard.backfill("t2").match]
    assert kept.match.players == (("a",), ("c",))


def test_request_ends_by_close_and_by_its_lease() -> None:
    shard = Shard()
    shard.register(1.0, "ab", "c")
    shard.hand(Close(2.0, shard.backfill().match))
    assert (shard.backfill().state, shard.backfill().reason) == ("cancelled", "player")
    shard.register(3.0, "ab", "c", ticket="t2", lease=10.0)
    shard.pass_to(13.0)
    late = shard.backfill("t2")
    assert (late.state, late.reason, late.ended_at) == ("expired", "deadline", 13.0)
    assert not fills_of(shard.enter(14.0, "d"))
    assert not shard.engine.tables.rosters


def test_heartbeat_extends_a_request_beyond_its_first_lease() -> None:
    shard = Shard()
    (registered, *_) = shard.register(1.0, "ab", "c", ticket="", lease=30.0)
    assert isinstance(registered, Registered)
    shard.hand(Open(20.0, registered.match.id, 0, (), lease=30.0))

    assert shard.pass_to(49.0) == []
    ended = shard.pass_to(50.0)
    assert ended == [Closed(registered.match.id, "lease"), Finished(registered.match.id, "closed")]


def test_foreign_match_ends_with_match_max_however_often_it_is_heard_of() -> None:
    plain = replace(queue("main", 2, 2), backfill="manual", match_max=100.0)
    shard = Shard(plain)
    (registered, *_) = shard.register(1.0, "ab", "c", ticket="", lease=30.0)
    assert isinstance(registered, Registered)
    for now in (25.0, 50.0, 75.0, 100.0):
        shard.hand(Open(now, registered.match.id, 0, (), lease=30.0))

    assert shard.pass_to(101.0) == [Finished(registered.match.id, "match_max")]


def test_foreign_match_asks_for_its_whole_lease_even_beyond_match_max() -> None:
    plain = replace(queue("main", 2, 2), backfill="manual", match_max=100.0)
    shard = Shard(plain)
    shard.register(1.0, "ab", "c", lease=5_000.0)

    assert shard.pass_to(5_000.0) == []
    events = shard.pass_to(5_001.0)
    assert [type(each) for each in events] == [Closed, Finished]
    assert (shard.backfill().state, shard.backfill().ended_at) == ("expired", 5_001.0)


def test_request_of_a_match_that_is_over_ended_when_it_was() -> None:
    shard = Shard()
    (registered, *_) = shard.register(1.0, "ab", "c", lease=3_000.0)
    assert isinstance(registered, Registered)
    # Nothing was recorded for longer than requests are kept that have ended.
    shard.hand(Finish(2_000.0, registered.match.id))

    assert (shard.backfill().state, shard.backfill().ended_at) == ("cancelled", 2_000.0)


def fills_of(events: Sequence[Event]) -> list[Event]:
    return [event for event in events if isinstance(event, Matched)]


def test_players_of_the_roster_do_not_join_their_own_match() -> None:
    shard = Shard()
    shard.register(1.0, "ab", "c")
    shard.enter(2.0, "a")
    assert shard.backfill().state == "waiting"


@pytest.mark.parametrize("priority", ["low", "normal", "high"])
def test_priority_says_who_comes_first(priority: Priority) -> None:
    """One waits already; the second could make a new match with them, or fill the running one."""
    even = replace(queue("main", 1, 1), backfill="manual", wait_max=1e6)
    shard = Shard(even)
    shard.register(1.0, "a", "", priority=priority)
    shard.engine.tables._check()
    (made,) = fills_of(shard.enter(2.0, "x", "y"))[:1]
    assert isinstance(made, Matched)
    assert (made.match.extends is not None) == (priority != "low")


def test_later_priority_holds_from_its_second_on_even_after_a_restart() -> None:
    even = replace(queue("main", 1, 1), backfill="manual", wait_max=1e6, policy="greedy")
    steps: tuple[tuple[float, Priority], ...] = ((10.0, "normal"), (20.0, "high"))
    for instant, priority in ((5.0, "low"), (10.9, "low"), (11.0, "normal"), (21.0, "high")):
        shard = Shard(even)
        shard.register(1.0, "a", "", priority="low", steps=steps, lease=100.0)
        again = shard.restarted()
        again.resume(1.0)
        for engine in (shard.engine, again):
            while engine.next_wakeup <= instant:
                engine.step(Advance(engine.next_wakeup))
            table = engine._backfill._fills._tables["main"]
            ids = table.of(priority)[0]
            assert ids == [shard.backfill().match]


def test_state_survives_the_journal_and_a_snapshot() -> None:
    shard = Shard()
    shard.register(1.0, "ab", "c", session="one")
    shard.register(1.5, "fg", "h", ticket="t2", session="two")
    shard.enter(2.0, "d")
    again = shard.restarted()
    assert state_hash(again) == state_hash(shard.engine)
    fresh = Engine(lambda each: parse_policy(each.policy))
    restore(fresh, decode_snapshot(encode_snapshot(take(shard.engine))))
    assert state_hash(fresh) == state_hash(shard.engine)
    again.resume(3.0)
    again.step(Advance(3.0))
    record = again.step(Enqueue(3.0, (new_ticket("e", 1500),)))
    assert any(isinstance(event, Matched) for event in record.events)
    assert {row.state for row in again.tables.backfills.values()} == {"matched"}


def test_request_for_a_match_of_this_server_has_a_name_too() -> None:
    shard = Shard()
    shard.enter(1.0, "a", "b", "c", "d")
    shard.hand(Open(2.0, "s0-m1", 0, ("b",), ticket="t1", lease=60.0))
    shard.hand(Open(3.0, "s0-m1", 0, ("b",), ticket="t2", lease=60.0))
    assert (shard.backfill().state, shard.backfill().reason) == ("cancelled", "replaced")
    shard.enter(4.0, "e")
    assert shard.backfill("t2").fill == "s0-m2"
    assert shard.engine.tables.rosters["s0-m1"].fills == ("s0-m2",)


@pytest.mark.parametrize(
    ("teams", "more", "error", "text"),
    [
        (("ab", "cd"), {}, InvalidOpening, "no seat is free"),
        (("", ""), {}, InvalidOpening, "nobody is in the match"),
        (("abc", ""), {}, InvalidOpening, "team 1 has at most 2 players"),
        (("ab",), {}, InvalidOpening, "teams must be 2"),
        (("ab", "a"), {}, InvalidOpening, "'a' is named twice"),
        (
            ("ab", "c"),
            {"steps": ((5.0, "low"), (5.0, "high"))},
            InvalidOpening,
            "later than the one before",
        ),
        (("ab", "c"), {"steps": ((math.nan, "low"),)}, InvalidOpening, "later than the one before"),
    ],
    ids=["full", "empty", "overfull", "teams", "twice", "steps", "nan"],
)
def test_rosters_that_do_not_fit_are_refused(
    teams: tuple[str, ...], more: dict[str, object], error: type[Exception], text: str
) -> None:
    shard = Shard()
    with pytest.raises(error, match=text):
        shard.register(1.0, *teams, **more)
    assert not shard.engine.tables.matches
    assert not shard.engine.tables.backfills


def test_attributes_of_a_roster_are_checked_like_those_of_tickets() -> None:
    shard = Shard()
    for value, text in ((math.nan, "finite"), (1e300, "finite"), ("x" * 200, "too long")):
        teams = ((Player("a", attributes={"rating": value}),), ())
        with pytest.raises(InvalidTicket, match=text):
            shard.hand(Register(1.0, "main", teams))
    comparing = replace(
        queue("main", 1, 1), backfill="manual", criteria=(Criterion("spread", "mmr"),)
    )
    with pytest.raises(InvalidOpening, match="lacks an attribute that queue main compares"):
        Shard(comparing).hand(Register(1.0, "main", ((Player("a"),), ())))


def test_defaults_count_for_a_roster_too() -> None:
    comparing = replace(
        queue("main", 1, 1, criteria=(Criterion("spread", "mmr"),)),
        backfill="manual",
        wait_max=1e6,
        defaults=(("mmr", 1200.0),),
    )
    shard = Shard(comparing)
    shard.hand(Register(1.0, "main", ((Player("a"),), ()), ticket="t1"))
    (row,) = shard.engine.tables.rosters.values()
    assert row.teams[0][0].attributes == {"mmr": 1200.0}
    shard.hand(Enqueue(2.0, (NewTicket((Player("b"),)),)))
    assert shard.backfill().state == "matched"


def test_queue_has_to_be_there_and_to_allow_it() -> None:
    shard = Shard(queue("main", 2, 2))
    with pytest.raises(NoBackfill):
        shard.register(1.0, "ab", "c")
    with pytest.raises(UnknownQueue):
        shard.hand(Register(1.0, "other", roster("ab", "c")))


def test_name_of_a_request_is_used_once() -> None:
    shard = Shard()
    shard.register(1.0, "ab", "c")
    with pytest.raises(InvalidOpening, match="was used before"):
        shard.register(2.0, "fg", "h")
    (refused,) = shard.hand(Enqueue(3.0, (replace(new_ticket("z", 1500), id="t1"),)))
    assert isinstance(refused, Refused)
    assert "was used before" in refused.message


def test_queue_has_a_limit_of_open_matches() -> None:
    shard = Shard()
    for number in range(200):
        shard.register(1.0, f"{chr(1000 + number)}", "", ticket=f"t{number}")
    with pytest.raises(Overloaded, match="200 open matches"):
        shard.register(2.0, "ab", "c", ticket="more")


def test_region_is_that_of_the_session_where_all_players_know_it() -> None:
    def at(name: str, **ms: float) -> Player:
        return replace(playing(name), attributes={LATENCY: ms})

    for second, region in ((at("b", eu=50.0, us=20.0), "eu"), (at("b", us=20.0), None)):
        shard = Shard()
        teams = ((at("a", eu=10.0),), (second,))
        shard.hand(Register(1.0, "main", teams, region="eu"))
        (kept,) = shard.engine.tables.matches.values()
        assert kept.match.region == region


def test_ended_requests_are_forgotten_and_open_ones_kept() -> None:
    tables = Tables(now=KEEP_ENDED + 100.0)
    tables.backfills = {
        "open": BackfillTicket("q", "m", 0.0),
        "old": BackfillTicket("q", "m", 0.0, "matched", ended_at=50.0),
        "new": BackfillTicket("q", "m", 0.0, "matched", ended_at=500.0),
    }
    forget(tables)
    assert list(tables.backfills) == ["open", "new"]
    late = {
        str(n): BackfillTicket("q", "m", 0.0, "matched", ended_at=600.0 + n / 1e6)
        for n in range(BACKFILLS_MOST)
    }
    tables.backfills |= late
    tables.forget_at = 0.0
    forget(tables)
    assert len(tables.backfills) == BACKFILLS_MOST
    assert "open" in tables.backfills
    assert "new" not in tables.backfills
