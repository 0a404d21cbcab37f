"""Newcomers of a running match who are asked before they join it."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from evenmatch.engine.engine import Engine
from evenmatch.engine.replay import Replay
from evenmatch.engine.state import reducers
from evenmatch.engine.state.snapshot import (
    decode_snapshot,
    encode_snapshot,
    restore,
    state_hash,
    take,
)
from evenmatch.errors import ProposalOver
from evenmatch.model.events import (
    Assigned,
    Cancelled,
    Closed,
    Dissolved,
    Event,
    Finished,
    Matched,
    Opened,
    Penalised,
    Proposed,
    Voided,
)
from evenmatch.model.inputs import (
    Accept,
    Assign,
    Cancel,
    Close,
    Configure,
    Decline,
    Finish,
    Outcome,
    Prolong,
    Register,
    Void,
)
from evenmatch.model.queue import Queue, ReadyCheck
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import new_ticket, rule
from tests.unit.engine.test_backfill import House, filled, fills, kinds

CHECK = ReadyCheck(seconds=10.0, cooldowns=(60.0,))


def asking(*players: int, how: str = "manual", **keys: object) -> Queue:
    """Return a queue with a ready-check whose running matches may be filled."""
    return replace(filled(*players, how=how, **keys), accept=CHECK)


def running(house: House, *left: str) -> House:
    """Let a duel of `a` and `b` start, and `b` leave it."""
    house.enter(1.0, "a", "b")
    house.hand(Accept(1.0, "s0-m1", "s0-1"))
    house.hand(Accept(1.0, "s0-m1", "s0-2"))
    house.open(2.0, *(left or ("b",)), lease=600.0)
    return house


def asked(events: Sequence[Event]) -> list[str]:
    """Return the proposals of fills among some events."""
    return [e.match.id for e in events if isinstance(e, Proposed) and e.match.extends]


def test_newcomers_are_asked_and_those_who_play_are_not() -> None:
    house = running(House(asking(1, 1)))
    (proposed,) = [e for e in house.enter(4.0, "e") if isinstance(e, Proposed)]
    assert proposed.match.tickets == ("s0-3",)
    assert proposed.match.extends == "s0-m1"
    assert proposed.until == {"s0-3": 14.0}
    assert house.state(3) == "proposed"
    assert house.roster().version == 0
    assert house.roster().proposed == "s0-m2"


def test_newcomers_just_join_where_an_older_version_reads_the_journal() -> None:
    house = running(House(asking(1, 1)))
    house.engine.format = 3
    events = house.enter(4.0, "e")
    assert not asked(events)
    assert [each.extends for each in fills(events)] == ["s0-m1"]


def test_fill_happens_when_all_newcomers_have_accepted() -> None:
    house = running(House(asking(1, 1)))
    house.hand(Assign(3.0, "s0-m1", {"connection": "here"}))
    house.enter(4.0, "e")
    events = house.hand(Accept(6.0, "s0-m2", "s0-3"))
    assert kinds(events)[1:] == [Matched, Assigned]
    (match,) = fills(events)
    assert (match.id, match.extends, match.at) == ("s0-m2", "s0-m1", 6.0)
    assert house.roster().version == 1
    assert not house.roster().proposed
    assert house.roster().open is None
    assert house.state(3) == "assigned"


def test_newcomers_wait_until_the_last_of_them_accepts() -> None:
    house = House(asking(2, 2))
    house.enter(1.0, *"abcd")
    for number in range(1, 5):
        house.hand(Accept(1.0, "s0-m1", f"s0-{number}"))
    house.open(2.0, "a", "b", lease=600.0)
    (proposal,) = asked(house.enter(3.0, "e", "f"))
    first, second = house.engine.tables.proposals[proposal].tickets
    assert not fills(house.hand(Accept(4.0, proposal, first)))
    assert fills(house.hand(Accept(5.0, proposal, second)))


def test_seats_of_a_proposed_fill_are_taken_by_nobody_else() -> None:
    house = running(House(asking(1, 1)))
    assert asked(house.enter(4.0, "e"))
    assert not asked(house.enter(5.0, new_ticket("f", 1500)))
    assert not asked(house.pass_to(13.0))
    assert house.state(4) == "waiting"


def test_decline_costs_the_decliner_and_the_next_one_is_asked_at_once() -> None:
    house = running(House(asking(1, 1)))
    house.enter(4.0, "e")
    house.enter(5.0, "f")
    events = [*house.hand(Decline(6.0, "s0-m2", "s0-3")), *house.pass_to(6.0)]
    assert [type(e) for e in events[:3]] == [Cancelled, Penalised, Dissolved]
    assert house.state(3) == "cancelled"
    assert asked(events) == ["s0-m3"]
    assert house.engine.tables.proposals["s0-m3"].tickets == ("s0-4",)


def test_silence_ends_the_ticket_and_the_others_keep_their_place() -> None:
    house = House(replace(asking(2, 2), wait_max=300.0))
    house.enter(1.0, *"abcd")
    for number in range(1, 5):
        house.hand(Accept(1.0, "s0-m1", f"s0-{number}"))
    teams = house.roster().players
    house.open(2.0, teams[0][0], lease=600.0)
    house.enter(3.0, "e")
    events = house.pass_to(13.0)
    assert [e.reason for e in events if isinstance(e, Cancelled)] == ["silent"]
    house.open(14.0, teams[0][0], teams[1][0], lease=600.0)
    (proposal,) = asked([*house.enter(15.0, "f", "g"), *house.pass_to(16.0)])
    innocent, silent = house.engine.tables.proposals[proposal].tickets
    house.hand(Accept(16.0, proposal, innocent))
    before = house.engine.tables.waiting[innocent].ticket
    events = house.pass_to(26.0)
    (over,) = [e for e in events if isinstance(e, Dissolved)]
    assert (over.reason, over.tickets) == ("silent", (innocent,))
    assert house.engine.tables.waiting[innocent].ticket == before
    assert house.engine.view(silent).reason == "silent"
    assert house.roster().open is not None


def test_second_failure_in_a_day_costs_a_cooldown_as_in_any_check() -> None:
    house = running(House(asking(1, 1)))
    house.enter(4.0, "e")
    house.hand(Decline(5.0, "s0-m2", "s0-3"))
    house.enter(40.0, "e")
    (penalty,) = [e for e in house.hand(Decline(41.0, "s0-m3", "s0-4")) if type(e) is Penalised]
    assert (penalty.player, penalty.count, penalty.until) == ("e", 2, 101.0)


def test_newcomer_who_declined_is_not_asked_again_at_once() -> None:
    house = running(House(asking(1, 1)))
    house.enter(4.0, "e")
    house.hand(Decline(5.0, "s0-m2", "s0-3"))
    assert not asked([*house.enter(6.0, "e"), *house.pass_to(34.0)])
    assert asked(house.pass_to(37.0))


def test_cancel_of_a_newcomer_who_is_asked_is_a_decline() -> None:
    house = running(House(asking(1, 1)))
    house.enter(4.0, "e")
    events = house.hand(Cancel(5.0, "s0-3", "player"))
    assert kinds(events) == [Cancelled, Penalised, Dissolved]
    assert house.roster().open is not None
    assert not house.roster().proposed


@pytest.mark.parametrize("how", ["close", "finish", "outcome", "void", "open", "match_max"])
def test_newcomers_wait_again_when_their_match_asks_for_nobody_any_more(how: str) -> None:
    house = running(House(replace(asking(1, 1), match_max=7.0)))
    house.enter(4.0, "e")
    given = {
        "close": Close(5.0, "s0-m1"),
        "finish": Finish(5.0, "s0-m1"),
        "outcome": Outcome(5.0, "s0-m1", ranks=(1.0, 2.0)),
        "void": Void(5.0, "s0-m1", "no server"),
    }
    if how == "open":
        events: Sequence[Event] = house.open(5.0, "b", free=(0, 0))
    elif how == "match_max":
        events = house.pass_to(8.0)
    else:
        events = house.hand(given[how])
    (over,) = [e for e in events if isinstance(e, Dissolved)]
    assert over.tickets == ("s0-3",)
    # Where the match was called off, the newcomer may play with who waits again.
    assert house.engine.view("s0-3").match == ("s0-m3" if how == "void" else None)
    after = [kind for kind in kinds(events) if kind in (Closed, Finished, Opened, Voided)]
    assert after, "the match did not end"
    counters = house.engine.tables.counters
    assert (counters.checks_failed, counters.dissolved) == (0, 1)
    with pytest.raises(ProposalOver):
        house.hand(Accept(9.0, "s0-m2", "s0-3"))


def test_who_waits_again_may_play_in_another_match_at_once() -> None:
    house = running(House(asking(1, 1)))
    house.enter(4.0, "e")
    assert not asked(house.enter(5.0, "f"))
    events = house.hand(Close(6.0, "s0-m1"))
    (new,) = [e.match for e in events if isinstance(e, Proposed)]
    assert (new.tickets, new.extends) == (("s0-3", "s0-4"), None)


def test_lease_that_runs_out_withdraws_the_fill() -> None:
    house = running(House(asking(1, 1)))
    house.open(3.0, "b", lease=5.0, priority="high")
    house.enter(4.0, "e")
    events = house.pass_to(8.0)
    assert kinds(events)[-2:] == [Dissolved, Closed]
    assert house.state(3) == "waiting"


def test_heartbeat_leaves_a_proposed_fill_alone() -> None:
    house = running(House(asking(1, 1)))
    house.open(2.5, "b", lease=8.0, priority="high")
    house.enter(4.0, "e")
    assert kinds(house.open(8.0, lease=8.0, priority="high")) == [Opened]
    assert house.roster().proposed == "s0-m2"
    assert not asked(house.enter(8.5, "f"))
    assert fills(house.hand(Accept(9.0, "s0-m2", "s0-3")))


def test_another_player_who_leaves_has_the_newcomers_asked_anew() -> None:
    house = House(asking(2, 2))
    house.enter(1.0, *"abcd")
    for number in range(1, 5):
        house.hand(Accept(1.0, "s0-m1", f"s0-{number}"))
    teams = house.roster().players
    house.open(2.0, teams[0][0], lease=600.0)
    assert asked(house.enter(3.0, "e")) == ["s0-m2"]
    events = [*house.open(4.0, teams[1][0], lease=600.0), *house.pass_to(5.0)]
    assert Dissolved in kinds(events)
    assert asked(events) == ["s0-m3"]


def test_configuration_without_backfill_withdraws_the_fill() -> None:
    house = running(House(asking(1, 1)))
    house.enter(4.0, "e")
    events = house.hand(Configure(5.0, (replace(asking(1, 1), backfill=None),), version=2))
    assert Dissolved in kinds(events)
    assert house.state(3) == "waiting"


def test_configuration_that_changes_nothing_keeps_the_fill() -> None:
    house = running(House(asking(1, 1, rules=(rule(limit=100),))))
    house.enter(4.0, "e")
    later = replace(asking(1, 1, rules=(rule(limit=100),)), wait_max=77.0)
    assert Dissolved not in kinds(house.hand(Configure(5.0, (later,), version=2)))
    assert not asked([*house.enter(5.5, "f"), *house.pass_to(8.0)])
    assert fills(house.hand(Accept(9.0, "s0-m2", "s0-3")))


def test_automatic_match_opens_itself_again_after_a_fill() -> None:
    house = House(asking(2, 2, how="automatic"))
    house.enter(1.0, *"abcd")
    for number in range(1, 5):
        house.hand(Accept(1.0, "s0-m1", f"s0-{number}"))
    house.open(2.0, *house.roster().players[0])
    (first,) = asked(house.enter(3.0, "e"))
    (opened,) = [e for e in house.hand(Accept(4.0, first, "s0-5")) if isinstance(e, Opened)]
    assert sum(opened.open.free) == 1
    assert asked([*house.enter(5.0, "f"), *house.pass_to(5.0)]) == ["s0-m3"]


def test_match_made_elsewhere_is_over_when_its_newcomers_have_accepted() -> None:
    house = House(asking(1, 1))
    seated = new_ticket("a", 1500).players
    house.hand(Register(1.0, "main", (seated, ()), session="game", lease=600.0))
    (proposal,) = asked(house.enter(2.0, "e"))
    events = house.hand(Accept(3.0, proposal, "s0-1"))
    assert fills(events)
    assert kinds(events)[-1] is Finished
    assert not house.engine.tables.rosters


def test_second_request_for_a_session_replaces_the_one_whose_newcomers_are_asked() -> None:
    house = House(asking(1, 1))
    seated = new_ticket("a", 1500).players
    house.hand(Register(1.0, "main", (seated, ()), session="game", lease=600.0, ticket="one"))
    assert asked(house.enter(2.0, "e"))
    again = Register(3.0, "main", (seated, ()), session="game", lease=600.0, ticket="two")
    events = [*house.hand(again), *house.pass_to(3.0)]
    assert kinds(events)[:3] == [Dissolved, Closed, Finished]
    assert asked(events)
    assert len(house.engine.tables.rosters) == 1
    assert house.engine.tables.backfills["one"].state == "cancelled"


def test_more_time_is_given_to_newcomers_too() -> None:
    house = running(House(asking(1, 1)))
    house.enter(4.0, "e")
    house.hand(Prolong(5.0, 20.0))
    house.pass_to(33.0)
    assert house.state(3) == "proposed"
    house.pass_to(34.0)
    assert house.state(3) == "cancelled"


@pytest.mark.parametrize("way", ["journal", "snapshot"])
def test_restart_keeps_the_seats_of_a_proposed_fill(way: str) -> None:
    house = running(House(asking(1, 1)))
    house.enter(4.0, "e")
    house.enter(4.5, "f")
    again = house.restarted()
    if way == "snapshot":
        restore(again, decode_snapshot(encode_snapshot(take(house.engine))))
    assert state_hash(again) == state_hash(house.engine)
    again.resume(5.0, {})
    house.engine = again
    assert not asked(house.pass_to(9.0))
    assert asked([*house.hand(Decline(9.0, "s0-m2", "s0-3")), *house.pass_to(9.0)]) == ["s0-m3"]
    assert fills(house.hand(Accept(10.0, "s0-m3", "s0-4")))


def test_replay_decides_the_same_from_the_inputs_alone() -> None:
    house = running(House(asking(1, 1)))
    house.enter(4.0, "e")
    house.enter(4.5, "f")
    house.hand(Decline(6.0, "s0-m2", "s0-3"))
    house.pass_to(6.0)
    house.hand(Close(7.0, "s0-m1"))
    house.open(8.0, "b", lease=600.0)
    house.pass_to(8.0)
    assert fills(house.hand(Accept(9.0, "s0-m4", "s0-4")))
    replay = Replay(Engine(lambda each: parse_policy(each.policy)))
    assert [replay.hear(record) for record in house.journal] == [None] * len(house.journal)


def test_match_of_the_policy_gives_way_to_a_fill_whose_newcomers_are_asked() -> None:
    house = running(House(asking(1, 1)))
    events = house.enter(400.0, "e", "f")
    assert asked(events) == ["s0-m2"]
    assert {house.state(3), house.state(4)} == {"proposed", "waiting"}


def test_seats_of_a_match_whose_roster_was_laid_down_are_reserved_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reducers, "ROSTERS_MOST", 1)
    house = running(House(asking(1, 1)))
    house.enter(4.0, "e")
    for number in (4, 5):
        house.enter(5.0, f"x{number}")
    for number in (4, 5):
        house.hand(Accept(5.0, "s0-m3", f"s0-{number}"))
    house.enter(12.0, new_ticket("z", 9000))
    assert list(house.engine.tables.rosters) == ["s0-m3"]
    house.hand(Decline(12.5, "s0-m2", "s0-3"))
    seated = new_ticket("a1", 1500).players
    # It looks through all matches that ask for players.
    house.hand(Register(13.0, "main", (seated, ()), session="game", lease=600.0))
    assert [*asked(house.pass_to(14.0)), *asked(house.enter(14.0, "f"))]


def test_newcomers_of_a_match_that_an_opening_ends_look_around_again() -> None:
    house = House(asking(1, 1, rules=(rule(limit=100, rate=10.0),)))
    house.enter(1.0, "a", "b")
    house.hand(Accept(1.0, "s0-m1", "s0-1"))
    house.hand(Accept(1.0, "s0-m1", "s0-2"))
    house.hand(Outcome(2.0, "s0-m1", ranks=(1.0, 2.0), player="a"))
    house.enter(18.0, new_ticket("d", 1700))
    house.enter(19.0, "c")
    events = house.open(20.0, "b", lease=600.0)
    assert Finished in kinds(events)
    assert house.state(4) == "waiting"
    (new,) = [e.match for e in house.pass_to(40.0) if isinstance(e, Proposed)]
    assert (set(new.tickets), new.extends) == ({"s0-3", "s0-4"}, None)
