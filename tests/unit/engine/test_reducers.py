"""Tables fold events and nothing else; what is old is forgotten."""

import msgspec
import pytest

from evenmatch.engine.records import Record, changes_state, decode, encode
from evenmatch.engine.state import reducers as forgetting
from evenmatch.engine.state.reducers import apply
from evenmatch.engine.state.state import Tables
from evenmatch.errors import Forgotten, JournalCorrupt
from evenmatch.model.events import (
    Accepted,
    Assigned,
    Cancelled,
    Configured,
    Event,
    Existing,
    Expired,
    Finished,
    LeftQueue,
    Matched,
    Penalised,
    Refused,
    Skipped,
)
from evenmatch.model.inputs import Advance, Assign, Cancel, Configure, Enqueue, Finish, Input
from evenmatch.model.match import Match
from evenmatch.model.queue import Queue
from evenmatch.testing import new_ticket, queue


def configured(*queues: Queue) -> Tables:
    made = Tables()
    record(made, Configure(0.0, queues or (queue(),)), Configured())
    return made


def record(into: Tables, given: Input, *events: Event) -> Record:
    made = Record(into.sequence + 1, given, events)
    apply(into, made)
    into._check()
    return made


def create(into: Tables, name: str, now: float, **settings: object) -> str:
    """Let player `name` wait from `now` on; return the ticket's id."""
    number = into.counters.accepted + 1
    queues = settings.pop("queues", ())
    given = Enqueue(now, (new_ticket(name, queues=queues),), **settings)
    record(into, given, Accepted(0, f"s0-{number}", number))
    return f"s0-{number}"


def play(into: Tables, one: str, two: str, now: float, name: str = "main", bots: int = 0) -> str:
    """Match two tickets; return the match's id."""
    match_id = f"s0-m{into.counters.matches + 1}"
    players = tuple((into.waiting[each].ticket.players[0].id,) for each in (one, two))
    match = Match(match_id, name, now, (one, two), ((one,), (two,)), players, bots)
    record(into, Advance(now), Matched(match))
    return match_id


def test_accepted_ticket_waits_in_the_first_queue_unless_it_names_others() -> None:
    tables = configured(queue("a"), queue("b"))

    first = create(tables, "p1", 3.0)
    second = create(tables, "p2", 4.0, queues=("b", "a"))

    assert tables.view(first).queues == ("a",)
    assert tables.view(second).queues == ("b", "a")
    assert (tables.view(first).state, tables.view(first).enqueued_at) == ("waiting", 3.0)
    assert (tables.view(first).changed, tables.view(second).changed) == (2, 3)
    assert tables.players == {"default": {"p1": first, "p2": second}}
    assert (tables.now, tables.sequence) == (4.0, 3)


def test_ticket_ends_once_in_one_state() -> None:
    tables = configured()
    ids = [create(tables, name, 1.0) for name in ("a", "b", "c", "d")]

    match = play(tables, ids[0], ids[1], 2.0, bots=1)
    record(tables, Cancel(3.0, ids[2], "silent"), Cancelled(ids[2], "silent"))
    record(tables, Advance(4.0), Expired(ids[3], "deadline"))

    views = [tables.view(each) for each in ids]
    assert [view.state for view in views] == ["matched", "matched", "cancelled", "expired"]
    assert [view.reason for view in views] == [None, None, "silent", "deadline"]
    assert [view.match for view in views] == [match, match, None, None]
    assert [view.ended_at for view in views] == [2.0, 2.0, 3.0, 4.0]
    counters = tables.counters
    assert (counters.accepted, counters.matched, counters.cancelled) == (4, 2, 1)
    assert (counters.expired, counters.matches, counters.bots) == (1, 1, 1)
    assert tables.players == {"default": {}}


def test_end_of_a_ticket_leaves_its_players_in_other_groups() -> None:
    tables = configured(queue("here"), Queue(name="there", group="elsewhere"))
    here = create(tables, "a", 1.0, queues=("here",))
    there = create(tables, "a", 2.0, queues=("there",))

    record(tables, Cancel(3.0, here), Cancelled(here, "player"))

    assert tables.players == {"default": {}, "elsewhere": {"a": there}}


def test_ticket_that_left_one_queue_waits_on_in_the_others() -> None:
    tables = configured(queue("a"), queue("b"))
    waiting = create(tables, "p1", 1.0, queues=("a", "b"))

    record(tables, Advance(2.0), LeftQueue(waiting, "a"))

    assert tables.view(waiting).queues == ("b",)
    assert tables.view(waiting).state == "waiting"
    assert tables.view(waiting).changed == tables.sequence


def test_assigned_match_is_seen_in_its_tickets() -> None:
    tables = configured()
    one, two = create(tables, "a", 1.0), create(tables, "b", 1.0)
    match = play(tables, one, two, 2.0)

    record(tables, Assign(3.0, match, {"address": "10.0.0.1:7777"}), Assigned(match))

    view = tables.view(one)
    assert view.state == "assigned"
    assert view.assignment == {"address": "10.0.0.1:7777"}
    assert view.changed == tables.sequence


def test_players_of_an_exclusive_match_are_busy_until_it_ends() -> None:
    tables = configured(queue(exclusive_match=True))
    match = play(tables, create(tables, "a", 1.0), create(tables, "b", 1.0), 2.0)
    assert tables.busy == {"default": {"a": match, "b": match}}
    assert tables.matches[match].live

    record(tables, Finish(3.0, match), Finished(match, "finish"))

    assert tables.busy == {"default": {}}
    assert not tables.matches[match].live
    record(tables, Advance(4.0), Finished(match, "match_max"))
    assert not tables.matches[match].live


def test_finished_match_leaves_players_of_a_later_one_busy() -> None:
    tables = configured(queue(exclusive_match=True), queue("other"))
    first = play(tables, create(tables, "a", 1.0), create(tables, "b", 1.0), 2.0)
    tables.busy["default"]["a"] = "s0-m9"

    record(tables, Finish(3.0, first), Finished(first, "finish"))

    assert tables.busy == {"default": {"a": "s0-m9"}}


def test_results_are_in_the_order_of_the_request() -> None:
    tables = configured()
    waiting = create(tables, "a", 1.0)
    given = Enqueue(2.0, (new_ticket("a"), new_ticket("b"), new_ticket("")))
    refused = Refused(2, "invalid_ticket", "no")
    events = (Existing(0, waiting), Accepted(1, "s0-2", 2), refused)

    made = record(tables, given, *events)

    views = tables.results(made)
    assert views == (tables.view(waiting), tables.view("s0-2"), refused)


def test_key_keeps_the_answer_of_its_instant() -> None:
    tables = configured()
    create(tables, "a", 1.0, key="k", digest="d")
    record(tables, Cancel(2.0, "s0-1"), Cancelled("s0-1", "player"))

    kept = tables.keys["k"]

    assert (kept.digest, kept.at) == ("d", 1.0)
    assert [view.state for view in kept.results if not isinstance(view, Refused)] == ["waiting"]


def test_reconfiguration_replaces_queues_and_pauses() -> None:
    tables = configured(queue("a"))

    record(tables, Configure(1.0, (queue("b"),), 7, 2, ("b",)), Configured())

    assert list(tables.queues) == ["b"]
    assert (tables.seed, tables.version, tables.paused) == (7, 2, ("b",))


def test_ended_tickets_and_keys_are_forgotten_after_600_seconds() -> None:
    tables = configured()
    ticket = create(tables, "a", 1.0, key="k", digest="d")
    record(tables, Cancel(1.0, ticket), Cancelled(ticket, "player"))

    create(tables, "b", 601.0)
    assert ticket in tables.ended
    assert "k" in tables.keys

    create(tables, "c", 611.5)
    assert ticket not in tables.ended
    assert "k" not in tables.keys
    with pytest.raises(Forgotten, match="ticket s0-1 ended more than 600 s ago"):
        tables.view(ticket)


def test_view_at_an_instant_forgets_before_the_row_is_swept() -> None:
    tables = configured()
    ticket = create(tables, "a", 1.0)
    record(tables, Cancel(2.0, ticket), Cancelled(ticket, "player"))

    assert tables.view(ticket, 602.0).state == "cancelled"
    with pytest.raises(Forgotten):
        tables.view(ticket, 602.5)


def test_waiting_tickets_are_never_forgotten() -> None:
    tables = configured()
    ticket = create(tables, "a", 1.0)

    create(tables, "b", 1e6)

    assert tables.view(ticket).state == "waiting"


def test_old_matches_are_forgotten_and_live_ones_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgetting, "KEEP_MATCHES", 100.0)
    tables = configured(queue("free"), queue("held", exclusive_match=True))
    old = play(tables, create(tables, "a", 1.0), create(tables, "b", 1.0), 2.0, "free")
    live = play(tables, create(tables, "c", 1.0), create(tables, "d", 1.0), 3.0, "held")

    create(tables, "e", 200.0)

    assert old not in tables.matches
    assert live in tables.matches
    assert tables.forgotten == {"free": 4}


def test_surplus_of_matches_is_forgotten_oldest_first_even_if_live(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forgetting, "KEEP_MATCHES_MOST", 2)
    tables = configured(queue(exclusive_match=True))
    matches = [
        play(tables, create(tables, f"a{at}", at), create(tables, f"b{at}", at), at)
        for at in (1.0, 2.0, 3.0)
    ]
    assert list(tables.matches) == matches

    fourth = play(tables, create(tables, "a4", 4.0), create(tables, "b4", 4.0), 4.0)

    assert list(tables.matches) == [matches[2], fourth]
    assert tables.busy["default"].keys() == {"a3.0", "b3.0", "a4", "b4"}
    assert tables.forgotten == {"main": 7}


def test_shallow_copy_is_not_touched_by_later_records() -> None:
    tables = configured(queue(exclusive_match=True))
    one, two = create(tables, "a", 1.0), create(tables, "b", 1.0, key="k", digest="d")
    copy = tables.shallow_copy()
    before = msgspec.json.encode(copy)

    play(tables, one, two, 2.0)
    create(tables, "c", 3.0, key="l", digest="d")
    record(tables, Configure(4.0, (queue(), queue("other"))), Configured())

    assert msgspec.json.encode(copy) == before
    copy._check()


def test_check_finds_what_must_never_happen() -> None:
    tables = configured(queue())
    one, two = create(tables, "a", 1.0), create(tables, "b", 1.0)

    lost = tables.shallow_copy()
    lost.counters.accepted += 1
    with pytest.raises(AssertionError, match="I3"):
        lost._check()
    twice = tables.shallow_copy()
    twice.waiting[two] = msgspec.structs.replace(
        twice.waiting[two], ticket=twice.waiting[one].ticket
    )
    with pytest.raises(AssertionError, match="I1: player a waits twice"):
        twice._check()
    stale = tables.shallow_copy()
    stale.players["default"]["c"] = one
    with pytest.raises(AssertionError, match="I1: the index"):
        stale._check()
    nowhere = tables.shallow_copy()
    nowhere.waiting[one] = msgspec.structs.replace(nowhere.waiting[one], queues=())
    with pytest.raises(AssertionError, match="I2: ticket s0-1 waits in no queue"):
        nowhere._check()


def test_record_survives_its_line_of_json() -> None:
    tables = configured()
    given = Enqueue(0.1 + 0.2, (new_ticket("a", 1500.5, region="eu"),), "k", "d")
    made = record(tables, given, Accepted(0, "s0-1", 1), Refused(1, "overloaded", "later"))

    line = encode(made)

    assert b"\n" not in line
    assert decode(line) == made


@pytest.mark.parametrize("line", [b"", b"{}", b"null", b'{"sequence":1,"input":{"kind":"x"}}'])
def test_line_that_is_no_record_is_a_corrupt_journal(line: bytes) -> None:
    with pytest.raises(JournalCorrupt, match="a journal line is not a record of format 4"):
        decode(line)


def test_refusals_and_repeats_change_nothing() -> None:
    given = Enqueue(1.0, ())
    repeated = (Refused(0, "overloaded", "later"), Existing(1, "s0-1"))

    assert not changes_state(given, ())
    assert not changes_state(given, repeated)
    assert changes_state(given, (Refused(0, "overloaded", "later"), Accepted(1, "s0-1", 1)))


def test_answer_to_a_key_is_kept_unless_all_was_refused() -> None:
    keyed = Enqueue(1.0, (), key="k")

    assert changes_state(keyed, (Existing(0, "s0-1"),))
    assert not changes_state(keyed, (Refused(0, "overloaded", "later"),))


def fail(into: Tables, player: str, now: float, cooldown: float = 0.0) -> None:
    record(into, Advance(now), Penalised(player, "default", 2, now + cooldown))


def test_failed_checks_are_forgotten_after_a_day_and_longer_cooldowns_when_they_are_over() -> None:
    tables = configured()
    fail(tables, "a", 1.0)
    fail(tables, "b", 2.0, 604_800.0)
    fail(tables, "c", 3.0)
    fail(tables, "d", 86_000.0)

    for now, kept in ((86_500.0, "bd"), (604_801.0, "b"), (604_820.0, "")):
        record(tables, Advance(now), Skipped())
        assert "".join(tables.penalties["default"]) == kept


def test_cooldowns_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgetting, "PENALTIES_MOST", 3)
    tables = configured()
    for at, player in enumerate("abcdef"):
        fail(tables, player, float(at), 604_800.0)
    fail(tables, "g", 86_500.0)

    assert "".join(tables.penalties["default"]) == "efg"
