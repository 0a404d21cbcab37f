"""Who played with whom and when: counted within a window, bounded, and handed to new tickets."""

import math

import msgspec
import pytest

from evenmatch.engine.engine import Engine
from evenmatch.engine.matching import meeting_counts
from evenmatch.engine.state import encounters as module
from evenmatch.engine.state.encounters import (
    EncounterRow,
    PlayedMatches,
    forget_unlimited,
    with_counts,
)
from evenmatch.engine.state.snapshot import decode_snapshot, encode_snapshot, take
from evenmatch.errors import ConfigError
from evenmatch.model.events import Refused
from evenmatch.model.inputs import Accept, Advance, Cancel, Configure, Enqueue, Open, Update, Void
from evenmatch.model.queue import Pairs, Queue, ReadyCheck, Rule
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import new_ticket, player, queue


def limited(
    name: str = "fair", most: float = 1.0, within: float = 100.0, pairs: Pairs | None = None
) -> Queue:
    rule = Rule("pair_limit", "meetings", most, pairs=pairs, within=within)
    return queue(name, rules=(rule,))


def row(at: float, *teams: str) -> EncounterRow:
    """Return a match whose teams are parties of players with names of one letter."""
    return EncounterRow(
        at, tuple([tuple([tuple(party) for party in team.split("+")]) for team in teams])
    )


def known(*rows: EncounterRow, within: float = 100.0) -> PlayedMatches:
    played = PlayedMatches()
    for each in rows:
        played.add(each, within)
    return played


def counts(played: PlayedMatches, name: str, now: float, asked: Queue) -> object:
    """Return what the ticket of a player carries."""
    new = new_ticket(name)
    (found,) = with_counts(new, new.players, [asked], played, now)
    return found.attributes.get("meetings")


def test_matches_of_a_pair_are_counted_until_the_window_has_passed() -> None:
    played = known(row(0.0, "a", "b"), row(50.0, "b", "a"), row(60.0, "a", "c"))

    assert counts(played, "a", 99.0, limited()) == {"c": 1.0, "b": 2.0}
    assert counts(played, "a", 100.0, limited()) == {"c": 1.0, "b": 1.0}
    assert counts(played, "a", 160.0, limited()) is None


def test_ticket_names_only_those_whom_the_limit_concerns() -> None:
    played = known(row(0.0, "a", "b"), row(50.0, "b", "a"), row(60.0, "a", "c"))

    assert counts(played, "a", 99.0, limited(most=2.0)) == {"b": 2.0}
    assert counts(played, "a", 99.0, limited(most=3.0)) is None
    assert counts(played, "z", 99.0, limited()) is None


def test_newcomers_of_a_running_match_meet_all_and_the_others_meet_only_them() -> None:
    joined = msgspec.structs.replace(row(10.0, "ab+x", "c+yz"), newcomers=("x", "y", "z"))
    played = known(row(0.0, "ab+x", "c+d"), joined)

    assert counts(played, "a", 11.0, limited()) == {
        "c": 1.0,
        "d": 1.0,
        "x": 2.0,
        "y": 1.0,
        "z": 1.0,
    }
    assert counts(played, "y", 11.0, limited()) == dict.fromkeys("abcx", 1.0)
    assert counts(played, "c", 11.0, limited(pairs="teammates")) == dict.fromkeys("dyz", 1.0)
    assert counts(played, "c", 105.0, limited()) == dict.fromkeys("xyz", 1.0)


def test_party_mates_have_not_met() -> None:
    played = known(row(0.0, "ab+c", "d+ef"))

    assert counts(played, "a", 1.0, limited()) == dict.fromkeys("cdef", 1.0)
    assert counts(played, "a", 1.0, limited(pairs="teammates")) == {"c": 1.0}
    assert counts(played, "a", 1.0, limited(pairs="enemies")) == dict.fromkeys("def", 1.0)


def test_caller_may_add_meetings_but_not_take_them_away() -> None:
    played = known(row(0.0, "a", "b"), row(1.0, "a", "b"))
    new = new_ticket("t", player("a", meetings={"b": 1.0, "z": 7.0}))
    (found,) = with_counts(new, new.players, [limited()], played, 2.0)

    assert found.attributes["meetings"] == {"b": 2.0, "z": 7.0}
    (later,) = with_counts(new, (found,), [limited()], played, 100.5)
    assert later.attributes["meetings"] == {"b": 1.0, "z": 7.0}
    (later,) = with_counts(new, (found,), [limited()], played, 200.0)
    assert later == new.players[0], "nothing is left of the engine's counts"


def test_rows_older_than_the_window_are_forgotten_as_new_ones_come() -> None:
    played = known(*(row(float(at), "a", "b") for at in range(0, 1000, 10)))

    assert len(played.rows) == len(played.of["a"]) == 10
    assert played.seats == 20
    assert min(map(int, played.rows)) == played.first


def test_matches_kept_are_bounded_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SEATS_MOST", 6)
    played = known(row(0.0, "a", "b"), row(1.0, "c", "d"), row(2.0, "e", "f"), row(3.0, "g", "h"))

    assert sorted(played.of) == list("cdefgh")
    assert played.seats == 6


def test_matches_kept_of_one_player_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MATCHES_MOST", 3)
    played = known(*(row(float(at), "a", other) for at, other in enumerate("bcdef")), within=9.0)

    assert counts(played, "a", 5.0, limited()) == {"f": 1.0, "e": 1.0, "d": 1.0}
    # His opponents still know, and the larger memory counts.
    assert counts(played, "b", 5.0, limited()) == {"a": 1.0}


def test_groups_without_a_limit_are_forgotten() -> None:
    kept = {"default": known(row(0.0, "a", "b")), "other": known(row(0.0, "a", "b"))}

    forget_unlimited(kept, (limited(), msgspec.structs.replace(queue("plain"), group="other")))

    assert list(kept) == ["default"]


def world(*queues: Queue) -> Engine:
    engine = Engine(lambda each: parse_policy(each.policy))
    engine.step(Configure(0.0, queues))
    return engine


def enter(engine: Engine, names: str, at: float) -> None:
    while engine.next_wakeup < at:
        engine.step(Advance(engine.next_wakeup))
    for name in names:
        engine.step(Enqueue(at, (new_ticket(name, 1500),)))


def pairs_made(engine: Engine) -> list[tuple[float, str]]:
    assert not engine.faults
    matches = [kept.match for kept in engine.tables.matches.values()]
    return [(m.at, "".join(sorted(p for team in m.players for p in team))) for m in matches]


@pytest.mark.parametrize("policy", ["greedy", "window:limit=100", "weighted"])
def test_two_who_met_as_often_as_allowed_wait_for_others(policy: str) -> None:
    engine = world(msgspec.structs.replace(limited(most=2.0), policy=policy))
    for at in (0.0, 10.0, 20.0):
        enter(engine, "ab", at)
    enter(engine, "c", 30.0)
    enter(engine, "d", 40.0)

    assert [pair for _, pair in pairs_made(engine)][:2] == ["ab", "ab"]
    assert sorted(pair for _, pair in pairs_made(engine)[2:]) in (["ac", "bd"], ["ad", "bc"])


def test_they_meet_again_when_the_window_has_passed() -> None:
    engine = world(limited(within=100.0))
    for at in (0.0, 99.0):
        enter(engine, "ab", at)
    assert pairs_made(engine) == [(0.0, "ab")]

    later = world(limited(within=100.0))
    for at in (0.0, 100.0):
        enter(later, "ab", at)
    assert pairs_made(later) == [(0.0, "ab"), (100.0, "ab")]


@pytest.mark.parametrize("policy", ["greedy", "window:limit=100", "weighted"])
def test_two_who_wait_meet_again_once_their_match_is_too_old(policy: str) -> None:
    engine = world(msgspec.structs.replace(limited(within=100.0), policy=policy))
    enter(engine, "ab", 0.0)
    enter(engine, "a", 50.0)
    enter(engine, "b", 60.0)
    assert len(pairs_made(engine)) == 1
    assert engine.next_wakeup <= 100.0
    enter(engine, "", 130.0)

    assert pairs_made(engine) == [(0.0, "ab"), (100.0, "ab")]


def test_match_that_was_called_off_counts_for_no_limit() -> None:
    engine = world(msgspec.structs.replace(limited(within=100.0), backfill="manual"))
    enter(engine, "ab", 0.0)
    engine.step(Void(5.0, "s0-m1", "no server"))
    assert not engine.tables.played["default"].of
    enter(engine, "", 50.0)

    assert [pair for _, pair in pairs_made(engine)] == ["ab", "ab"]
    assert engine.tables.played["default"].seats == 2


def running() -> Engine:
    """Let `x` take the seat of `b`, who has left a match of two against two."""
    rule = limited().rules[0]
    engine = world(
        msgspec.structs.replace(queue("fair", 2, 2, rules=(rule,)), backfill="manual"),
    )
    enter(engine, "abcd", 0.0)
    engine.step(Open(5.0, "s0-m1", 0, ("b",)))
    enter(engine, "x", 10.0)
    assert engine.tables.matches["s0-m2"].match.extends == "s0-m1"
    return engine


def carried(engine: Engine, name: str, at: float) -> object:
    """Return what the ticket of a player carries who comes now."""
    enter(engine, name, at)
    ticket = list(engine.tables.waiting.values())[-1].ticket
    return ticket.players[0].attributes.get("meetings")


def test_newcomer_has_met_those_who_play_already() -> None:
    engine = running()

    assert carried(engine, "x", 20.0) == dict.fromkeys("acd", 1.0)
    assert carried(engine, "a", 20.0) == dict.fromkeys("bcdx", 1.0)
    assert carried(engine, "b", 20.0) == dict.fromkeys("acd", 1.0)
    enter(engine, "pq", 30.0)
    assert pairs_made(engine)[2:] == [(30.0, "bpqx")], "b had left before x came"


def test_match_that_was_called_off_counts_for_no_newcomer_either() -> None:
    engine = running()
    engine.step(Void(11.0, "s0-m1", "no server"))

    assert engine.tables.played["default"].of == {}
    assert engine.tables.played["default"].seats == 0


def test_fill_that_an_older_version_noted_is_taken_back_too() -> None:
    engine = running()
    played = engine.tables.played["default"]
    played.rows["2"] = row(10.0, "x", "")
    played.of = {"x": (2,), **dict.fromkeys("abcd", (1,))}
    played.seats = 5
    engine.step(Void(11.0, "s0-m1", "no server"))

    assert (played.of, played.seats) == ({}, 0)


def test_of_several_matches_each_counts_until_it_is_too_old() -> None:
    engine = world(limited(most=2.0, within=100.0))
    for at in (0.0, 10.0):
        enter(engine, "ab", at)
    enter(engine, "ab", 20.0)
    assert len(pairs_made(engine)) == 2
    enter(engine, "", 99.0)
    assert len(pairs_made(engine)) == 2
    enter(engine, "", 101.0)
    assert pairs_made(engine)[2:] == [(100.0, "ab")]


def test_what_is_waited_for_is_bounded_by_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meeting_counts, "SWEPT_AT", 16)
    engine = world(limited(within=9000.0))
    enter(engine, "ab", 0.0)
    enter(engine, "a", 1.0)
    pending = engine._recounts.pending
    for turn in range(200):
        engine.step(Update(2.0, "s0-3", players=(player("a", 1000.0 + turn),)))
    assert 1 <= len(pending) <= 17
    for turn in range(200):
        enter(engine, "b", 3.0)
        engine.step(Cancel(3.0, f"s0-{4 + turn}"))
    assert 1 <= len(pending) <= 17
    assert "s0-3" in {name for _, name in pending}


def test_tickets_that_are_gone_wake_nobody() -> None:
    engine = world(limited(within=100.0))
    enter(engine, "ab", 0.0)
    enter(engine, "a", 1.0)
    assert engine.next_wakeup == 100.0
    engine.step(Cancel(2.0, "s0-3"))

    assert engine.next_wakeup == math.inf


def test_what_the_caller_said_stays_when_a_match_is_too_old() -> None:
    engine = world(limited(within=100.0))
    enter(engine, "ab", 0.0)
    said = new_ticket("t", player("a", meetings={"b": 1.0, "z": 3.0}))
    engine.step(Enqueue(50.0, (said,)))
    enter(engine, "b", 60.0)
    enter(engine, "", 200.0)

    assert len(pairs_made(engine)) == 1
    first, second = [row.ticket.players[0].attributes for row in engine.tables.waiting.values()]
    assert first == {"meetings": {"b": 1.0, "z": 3.0}}
    assert not second


@pytest.mark.parametrize("killed_at", [70.0, 100.0])
def test_restart_looks_at_once_at_matches_that_are_too_old_by_then(killed_at: float) -> None:
    engine, records = world(limited(within=100.0)), []
    for name, at in (("a", 0.0), ("b", 0.0), ("a", 50.0), ("b", 60.0)):
        records.append(engine.step(Enqueue(at, (new_ticket(name, 1500),))))
    while engine.next_wakeup < killed_at:
        records.append(engine.step(Advance(engine.next_wakeup)))
    again = Engine(lambda each: parse_policy(each.policy))
    again.step(Configure(0.0, (limited(within=100.0),)))
    for record in records:
        if record.sequence:
            again.apply(record)
    assert again.tables.waiting == engine.tables.waiting
    again.resume(300.0)
    while again.next_wakeup <= 300.0 and len(pairs_made(again)) == 1:
        again.step(Advance(again.next_wakeup))

    assert pairs_made(again) == [(0.0, "ab"), (300.0, "ab")]


def test_snapshot_holds_what_was_played() -> None:
    engine = world(limited(within=100.0))
    enter(engine, "ab", 0.0)
    before = take(engine)
    enter(engine, "cd", 1.0)
    restored = decode_snapshot(encode_snapshot(before)).tables

    assert restored.played == {"default": known(row(0.0, "a", "b"))}
    assert len(engine.tables.played["default"].rows) == 2


def test_new_configuration_without_the_limit_forgets_all() -> None:
    engine = world(limited())
    enter(engine, "ab", 0.0)
    engine.step(Configure(1.0, (queue("fair"),)))

    assert engine.tables.played == {}


def test_rules_that_count_differently_need_attributes_of_their_own() -> None:
    with pytest.raises(ConfigError, match="of queues fair and day count different matches under"):
        world(limited("fair"), limited("day", within=50.0))
    world(limited("fair"), msgspec.structs.replace(limited("day", within=50.0), group="other"))


def test_party_of_one_household_is_refused_with_the_numbers() -> None:
    engine = world(queue("main", 2, 2, rules=(Rule("household_limit", "household", 1.0),)))
    party = new_ticket("t", player("a", household="x"), player("b", household="x"))
    (event,) = engine.step(Enqueue(0.0, (party,))).events

    assert isinstance(event, Refused)
    assert "2 players of the party share household, a match takes 1" in event.message


def test_newer_facts_of_a_ticket_do_not_undo_what_was_counted() -> None:
    engine = world(limited())
    for names, at in (("ab", 0.0), ("a", 5.0)):
        enter(engine, names, at)
    (ticket_id,) = engine.tables.waiting
    engine.step(Update(6.0, ticket_id, {}, (player("a", meetings={"z": 1.0}),)))
    enter(engine, "b", 7.0)

    (row, _) = engine.tables.waiting.values()
    assert row.ticket.players[0].attributes["meetings"] == {"z": 1.0, "b": 1.0}
    assert pairs_made(engine) == [(0.0, "ab")]


def test_count_falls_in_a_proposal_of_a_ticket_whose_other_queue_is_gone() -> None:
    first = msgspec.structs.replace(limited(within=100.0), accept=ReadyCheck(seconds=15.0))
    engine = world(first, queue("gone", 2, 2))
    for name, at in (("a", 1.0), ("b", 1.0), ("a", 90.0), ("c", 90.0)):
        enter(engine, "", at)
        new = msgspec.structs.replace(new_ticket(name, 1500), queues=("fair", "gone"))
        engine.step(Enqueue(at, (new,)))
        for match_id, proposal in list(engine.tables.proposals.items()) if name == "b" else ():
            for ticket_id in proposal.tickets:
                engine.step(Accept(at, match_id, ticket_id))
    engine.step(Configure(95.0, (first,)))
    assert "meetings" in engine.tables.waiting["s0-3"].ticket.players[0].attributes
    enter(engine, "", 102.0)

    assert engine.tables.waiting["s0-3"].match == "s0-m2"
    assert not engine.tables.waiting["s0-3"].ticket.players[0].attributes


def test_lower_limit_binds_those_who_wait_already() -> None:
    def form(most: float, *players: int) -> Queue:
        return queue("fair", *players, rules=limited(most=most).rules)

    engine = world(form(2.0, 1, 1))
    enter(engine, "ab", 0.0)
    enter(engine, "", 20.0)
    assert len(pairs_made(engine)) == 1
    engine.step(Configure(20.0, (form(2.0, 2, 2),)))
    enter(engine, "abc", 20.0)
    engine.step(Configure(21.0, (form(1.0, 2, 2),)))
    enter(engine, "d", 22.0)
    enter(engine, "", 60.0)

    assert len(pairs_made(engine)) == 1
    enter(engine, "", 130.0)
    assert [pair for _, pair in pairs_made(engine)][1:] == ["abcd"]


def test_shorter_window_and_higher_limit_free_those_who_wait_already() -> None:
    for eased in (limited(within=10.0), limited(most=2.0)):
        engine = world(limited(within=100.0))
        enter(engine, "ab", 0.0)
        enter(engine, "ab", 5.0)
        assert len(pairs_made(engine)) == 1
        engine.step(Configure(20.0, (eased,)))
        enter(engine, "", 21.0)

        assert pairs_made(engine) == [(0.0, "ab"), (20.0, "ab")]


def test_lower_limit_binds_who_is_in_a_ready_check_and_waits_again() -> None:
    def form(most: float, *players: int) -> Queue:
        made = queue("fair", *players, rules=limited(most=most).rules)
        return msgspec.structs.replace(made, accept=ReadyCheck(seconds=15.0, again=0.0))

    engine = world(form(2.0, 1, 1))
    enter(engine, "ab", 0.0)
    for ticket_id in ("s0-1", "s0-2"):
        engine.step(Accept(1.0, "s0-m1", ticket_id))
    enter(engine, "ab", 2.0)
    engine.step(Configure(3.0, (form(1.0, 1, 1),)))
    assert engine.tables.waiting["s0-3"].match == "s0-m2"
    assert engine.tables.waiting["s0-3"].ticket.players[0].attributes["meetings"] == {"b": 1.0}
