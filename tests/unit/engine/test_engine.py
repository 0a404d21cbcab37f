"""The engine: every input, what it refuses, and what time does to those who wait."""

import math
from collections.abc import Sequence
from contextlib import suppress

import pytest
from msgspec.structs import replace

from evenmatch.engine.admission.shard_limits import ShardLimits
from evenmatch.engine.engine import Engine
from evenmatch.engine.matching.pool import Pool
from evenmatch.engine.records import Record, decode, encode
from evenmatch.engine.state.snapshot import state_hash
from evenmatch.errors import (
    ConfigError,
    Forgotten,
    KeyReused,
    PolicyError,
    Refusal,
    TooLate,
    UnknownMatch,
    UnknownTicket,
)
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
    Refused,
)
from evenmatch.model.inputs import (
    Advance,
    Assign,
    Cancel,
    Configure,
    Enqueue,
    Finish,
    Input,
    Update,
)
from evenmatch.model.match import Match
from evenmatch.model.queue import Criterion, Format, Queue, Rule, Scale
from evenmatch.model.ticket import NewTicket, Player, Rating, Ticket
from evenmatch.policies.base import Decision, Grouping, NoJobs, Policy, policy
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import new_ticket, queue, rule, ticket

BOTH = ("east", "west")


def engine(*queues: Queue, limits: ShardLimits | None = None, **policies: Policy) -> Engine:
    """Return a configured engine; a queue named in `policies` gets that one, not its SPEC."""
    made = Engine(
        lambda each: policies[each.name] if each.name in policies else parse_policy(each.policy),
        limits=limits,
    )
    made.step(Configure(0.0, queues or (queue(),)))
    return made


def enqueue(now: float, *new: NewTicket | str) -> Enqueue:
    """Return an input with these tickets; a name alone is a player rated 1500."""
    return Enqueue(now, tuple(new_ticket(n, 1500) if isinstance(n, str) else n for n in new))


def after(at_work: Engine, *inputs: Input) -> tuple[Event, ...]:
    """Hand inputs in; return the events of the last one."""
    events: tuple[Event, ...] = ()
    for given in inputs:
        events = at_work.step(given).events
        at_work.tables._check()
    return events


def until(at_work: Engine, now: float) -> list[tuple[float, Event]]:
    """Let time pass up to `now`; return what happens with its instants."""
    found = []
    while (at := at_work.next_wakeup) <= now:
        found += [(at, event) for event in after(at_work, Advance(at))]
    return found


def matches(events: Sequence[Event]) -> list[Match]:
    return [event.match for event in events if isinstance(event, Matched)]


def tickets(events: Sequence[Event]) -> list[tuple[str, ...]]:
    return [match.tickets for match in matches(events)]


def state(at_work: Engine, ticket_id: str) -> str:
    return at_work.view(ticket_id).state


class TestConfigure:
    def test_puts_queues_in_force(self) -> None:
        at_work = Engine(lambda each: parse_policy(each.policy))

        record = at_work.step(Configure(0.0, (queue("a"), queue("b")), seed=7, version=3))

        assert record.events == (Configured(),)
        assert record.sequence == 1
        assert list(at_work.tables.queues) == list(at_work.pools) == ["a", "b"]
        assert (at_work.tables.seed, at_work.tables.version) == (7, 3)

    @pytest.mark.parametrize(
        "given",
        [
            Configure(5.0, ()),
            Configure(5.0, (queue("a"), queue("a"))),
            Configure(5.0, (queue(policy="gredy"),)),
            Configure(5.0, (queue("main", 2, 2, policy="window:limit=1"),)),
            Configure(5.0, (Queue(group="elsewhere"),)),
        ],
        ids=["none", "twice", "policy", "policy-and-queue", "group"],
    )
    def test_that_cannot_work_changes_nothing(self, given: Configure) -> None:
        at_work = engine()
        after(at_work, enqueue(1.0, "a"))
        before, pools = state_hash(at_work), at_work.pools

        with pytest.raises(ConfigError):
            at_work.step(given)

        assert state_hash(at_work) == before
        assert at_work.pools is pools
        assert tickets(after(at_work, enqueue(6.0, "b"))) == [("s0-1", "s0-2")]

    def test_of_another_group_says_what_to_do_with_those_who_wait(self) -> None:
        at_work = engine()
        after(at_work, enqueue(1.0, "a"))

        with pytest.raises(ConfigError, match="must stay default: drain first, or bring the queue"):
            at_work.step(Configure(5.0, (Queue(group="elsewhere"),)))

    def test_may_move_an_empty_queue_to_another_group(self) -> None:
        at_work = engine()

        after(at_work, Configure(1.0, (Queue(group="elsewhere"),)))

        assert at_work.tables.queues["main"].group == "elsewhere"

    def test_ends_the_tickets_of_a_queue_that_is_gone(self) -> None:
        at_work = engine(queue("east"), queue("west"))
        after(at_work, enqueue(1.0, new_ticket("a", 1500, queues=("east",))))

        events = after(at_work, Configure(2.0, (queue("west"),)))

        assert events == (Configured(), Expired("s0-1", "queue_changed"))
        assert at_work.view("s0-1").reason == "queue_changed"

    def test_leaves_tickets_in_the_queues_that_stay(self) -> None:
        at_work = engine(queue("east"), queue("west"))
        after(at_work, enqueue(1.0, new_ticket("a", 1500, queues=BOTH)))

        events = after(at_work, Configure(2.0, (queue("west"),)))

        assert events == (Configured(), LeftQueue("s0-1", "east"))
        later = enqueue(3.0, new_ticket("b", 1500, queues=("west",)))
        assert tickets(after(at_work, later)) == [("s0-1", "s0-2")]

    def test_ends_tickets_that_do_not_fit_the_new_version(self) -> None:
        at_work = engine(queue("main", 2, 2))
        party, solo = new_ticket("a", 1500, 1500), new_ticket("b")
        after(at_work, enqueue(1.0, party, solo))

        events = after(at_work, Configure(2.0, (queue("main", rules=(rule(limit=100),)),)))

        assert events == (
            Configured(),
            Expired("s0-1", "queue_changed"),
            Expired("s0-2", "queue_changed"),
        )

    def test_keeps_the_ages_of_those_who_wait_and_decides_at_once(self) -> None:
        at_work = engine(queue(policy="window:limit=0"))
        far = [new_ticket(name, rating) for name, rating in (("a", 1), ("b", 2), ("c", 3))]
        for now, new in enumerate(far, 1):
            after(at_work, enqueue(float(now), new))

        (match,) = matches(after(at_work, Configure(9.0, (queue(policy="greedy"),))))

        assert (match.tickets, match.at) == (("s0-1", "s0-2"), 9.0)
        assert at_work.view("s0-3").enqueued_at == 3.0

    def test_with_a_shorter_wait_lets_the_overdue_go_at_once(self) -> None:
        at_work = engine(queue(wait_max=300.0))
        after(at_work, enqueue(0.0, "a"), Configure(100.0, (queue(wait_max=10.0),)))

        assert until(at_work, 100.0) == [(100.0, Expired("s0-1", "deadline"))]

    def test_of_a_queue_that_keeps_its_overdue_goes_on(self) -> None:
        kept = queue(wait_max=10.0, on_deadline="keep")
        at_work = engine(kept)
        after(at_work, enqueue(0.0, "a"))
        until(at_work, 10.0)

        after(at_work, Configure(20.0, (kept,)))
        until(at_work, 20.0)

        assert tickets(after(at_work, enqueue(21.0, "b"))) == [("s0-1", "s0-2")]


class TestEnqueue:
    def test_gives_ids_and_sequences_in_order_of_acceptance(self) -> None:
        at_work = engine(queue("main", 2, 2))

        events = after(at_work, enqueue(1.0, "a", "b"))

        assert events == (Accepted(0, "s0-1", 1), Accepted(1, "s0-2", 2))
        assert at_work.view("s0-2").enqueued_at == 1.0

    def test_takes_the_callers_own_id(self) -> None:
        at_work = engine()

        events = after(at_work, Enqueue(1.0, (NewTicket((Player("a"),), id="row-7"),)))

        assert events == (Accepted(0, "row-7", 1),)
        assert state(at_work, "row-7") == "waiting"

    def test_enters_the_first_queue_unless_others_are_named(self) -> None:
        at_work = engine(queue("east"), queue("west"))

        after(at_work, enqueue(1.0, "a", new_ticket("b", 1500, queues=("west",))))

        assert at_work.view("s0-1").queues == ("east",)
        assert at_work.view("s0-2").queues == ("west",)

    def test_matches_in_the_same_record(self) -> None:
        at_work = engine()
        after(at_work, enqueue(1.0, "a"))

        events = after(at_work, enqueue(3.0, "b"))

        assert [type(event) for event in events] == [Accepted, Matched]
        (match,) = matches(events)
        assert (match.id, match.queue, match.at) == ("s0-m1", "main", 3.0)
        assert match.players == (("a",), ("b",))
        assert match.cost == 2.0
        assert at_work.view("s0-1").match == at_work.view("s0-2").match == "s0-m1"

    def test_answers_each_item_of_a_bulk_for_itself(self) -> None:
        at_work = engine(queue("main", 2, 2))
        after(at_work, enqueue(1.0, "a"))

        events = after(at_work, enqueue(2.0, "a", "", "b", "b"))

        assert [type(event) for event in events] == [Existing, Refused, Accepted, Existing]
        assert events[0] == Existing(0, "s0-1")
        assert events[3] == Existing(3, "s0-2")

    def test_that_only_repeats_or_fails_makes_no_record(self) -> None:
        at_work = engine(queue("main", 2, 2))
        after(at_work, enqueue(1.0, "a"))
        before = state_hash(at_work)

        record = at_work.step(enqueue(2.0, "a", ""))

        assert record.sequence == 0
        assert [type(event) for event in record.events] == [Existing, Refused]
        assert state_hash(at_work) == before

    def test_of_a_party_that_overlaps_another_is_refused_with_the_ticket(self) -> None:
        at_work = engine(queue("main", 2, 2))
        after(at_work, enqueue(1.0, NewTicket((Player("a"), Player("b")))))

        (event,) = after(at_work, enqueue(2.0, NewTicket((Player("b"), Player("c")))))

        assert isinstance(event, Refused)
        assert (event.code, event.ticket) == ("already_waiting", "s0-1")

    def test_with_a_used_key_is_refused_and_changes_nothing(self) -> None:
        at_work = engine()
        after(at_work, Enqueue(1.0, (new_ticket("a"),), "key", "digest"))
        before = state_hash(at_work)

        with pytest.raises(KeyReused, match="the idempotency key key was used before"):
            at_work.step(Enqueue(2.0, (new_ticket("b"),), "key", "digest"))

        assert state_hash(at_work) == before

    @pytest.mark.parametrize("pause", [(), ("main",)], ids=["full", "paused"])
    def test_repeated_in_an_overload_still_finds_its_ticket(self, pause: tuple[str, ...]) -> None:
        at_work = engine(limits=ShardLimits(waiting_max=200_000 if pause else 1))
        after(at_work, enqueue(1.0, "a"), Configure(2.0, (queue(),), pause=pause))

        assert after(at_work, enqueue(3.0, "a")) == (Existing(0, "s0-1"),)

    def test_before_any_configuration_is_refused(self) -> None:
        at_work = Engine(lambda each: parse_policy(each.policy))

        with pytest.raises(ConfigError, match="hand in Configure first"):
            after(at_work, enqueue(1.0, "a"))

    def test_beyond_the_limit_of_the_shard_is_refused_as_overload(self) -> None:
        at_work = engine(queue("main", 2, 2), limits=ShardLimits(waiting_max=2))

        events = after(at_work, enqueue(1.0, "a", "b", "c"))

        assert [type(event) for event in events] == [Accepted, Accepted, Refused]
        assert isinstance(events[2], Refused)
        assert events[2].code == "overloaded"

    def test_of_a_bulk_plays_oldest_first(self) -> None:
        at_work = engine()

        events = after(at_work, enqueue(1.0, "a", "b", "c", "d", "e"))

        assert tickets(events) == [("s0-1", "s0-2"), ("s0-3", "s0-4")]
        assert state(at_work, "s0-5") == "waiting"

    def test_divides_a_match_by_the_best_split(self) -> None:
        criterion = Criterion("imbalance", "rating", scale=Scale("linear", 0.0, 1000.0))
        at_work = engine(queue("main", 2, 2, criteria=(criterion,)))
        ratings = (100, 200, 300, 400)

        events = after(
            at_work, enqueue(1.0, *(new_ticket(f"p{rating}", rating) for rating in ratings))
        )

        (match,) = matches(events)
        assert match.teams == (("s0-1", "s0-4"), ("s0-2", "s0-3"))
        assert match.quality == 1.0

    def test_with_an_id_that_is_taken_is_refused(self) -> None:
        at_work = engine(queue("main", 2, 2))

        events = after(
            at_work,
            Enqueue(1.0, tuple(NewTicket((Player(name),), id="same") for name in "ab")),
        )

        assert [type(event) for event in events] == [Accepted, Refused]


class TestCancel:
    def test_takes_a_waiting_ticket_back(self) -> None:
        at_work = engine()
        after(at_work, enqueue(1.0, "a"))

        events = after(at_work, Cancel(2.0, "s0-1", "silent"))

        assert events == (Cancelled("s0-1", "silent"),)
        assert (at_work.view("s0-1").state, at_work.view("s0-1").reason) == ("cancelled", "silent")
        assert tickets(after(at_work, enqueue(3.0, "b"))) == []

    def test_frees_the_player_for_another_ticket(self) -> None:
        at_work = engine()

        events = after(at_work, enqueue(1.0, "a"), Cancel(2.0, "s0-1"), enqueue(3.0, "a"))

        assert events == (Accepted(0, "s0-2", 2),)

    def test_takes_the_ticket_out_of_all_its_queues(self) -> None:
        at_work = engine(queue("east"), queue("west"))
        after(at_work, enqueue(1.0, new_ticket("a", 1500, queues=BOTH)), Cancel(2.0, "s0-1"))

        assert all(not pool.tickets for pool in at_work.pools.values())

    @pytest.mark.parametrize("end", ["cancelled", "expired"])
    def test_of_a_ticket_that_ended_changes_nothing(self, end: str) -> None:
        at_work = engine(queue(wait_max=10.0))
        after(at_work, enqueue(1.0, "a"))
        after(at_work, Cancel(2.0, "s0-1") if end == "cancelled" else Advance(11.0))
        before = state_hash(at_work)

        record = at_work.step(Cancel(12.0, "s0-1"))

        assert (record.sequence, record.events) == (0, ())
        assert state_hash(at_work) == before
        assert state(at_work, "s0-1") == end

    def test_of_a_matched_ticket_is_too_late_and_names_the_match(self) -> None:
        at_work = engine()
        after(at_work, enqueue(1.0, "a", "b"))
        before = state_hash(at_work)

        with pytest.raises(TooLate) as caught:
            at_work.step(Cancel(2.0, "s0-1"))

        assert (caught.value.match, caught.value.ticket) == ("s0-m1", "s0-1")
        assert caught.value.message == "ticket s0-1 is matched"
        assert state_hash(at_work) == before

    def test_of_an_assigned_ticket_is_too_late_too(self) -> None:
        at_work = engine()
        after(at_work, enqueue(1.0, "a", "b"), Assign(2.0, "s0-m1", {"address": "here"}))

        with pytest.raises(TooLate, match="ticket s0-1 is assigned"):
            at_work.step(Cancel(3.0, "s0-1"))


class TestMatches:
    def test_assignment_is_kept_with_the_match(self) -> None:
        at_work = engine()
        after(at_work, enqueue(1.0, "a", "b"))

        events = after(at_work, Assign(2.0, "s0-m1", {"address": "here"}))

        assert events == (Assigned("s0-m1"),)
        assert at_work.match("s0-m1").assignment == {"address": "here"}
        assert state(at_work, "s0-1") == "assigned"

    def test_finish_frees_the_players_of_an_exclusive_match(self) -> None:
        at_work = engine(queue(exclusive_match=True))
        after(at_work, enqueue(1.0, "a", "b"))
        (refused,) = after(at_work, enqueue(2.0, "a"))
        assert isinstance(refused, Refused)
        assert (refused.code, refused.match) == ("already_waiting", "s0-m1")

        events = after(at_work, Finish(3.0, "s0-m1"))

        assert events == (Finished("s0-m1", "finish"),)
        assert after(at_work, enqueue(4.0, "a")) == (Accepted(0, "s0-3", 3),)

    def test_finish_of_what_is_not_live_changes_nothing(self) -> None:
        at_work = engine()
        after(at_work, enqueue(1.0, "a", "b"))

        assert at_work.step(Finish(2.0, "s0-m1")).sequence == 0

    def test_match_max_frees_players_whom_nobody_reports(self) -> None:
        held = Queue(exclusive_match=True, match_max=100.0)
        at_work = engine(held)
        after(at_work, enqueue(1.0, "a", "b"))

        assert at_work.next_wakeup == 101.0
        assert until(at_work, 101.0) == [(101.0, Finished("s0-m1", "match_max"))]
        assert at_work.next_wakeup == math.inf
        assert tickets(after(at_work, enqueue(102.0, "a", "b"))) == [("s0-3", "s0-4")]

    def test_finished_match_does_not_end_again(self) -> None:
        at_work = engine(Queue(exclusive_match=True, match_max=100.0))
        after(at_work, enqueue(1.0, "a", "b"), Finish(2.0, "s0-m1"))

        assert at_work.next_wakeup == math.inf

    def test_players_of_an_open_queue_may_queue_again_at_once(self) -> None:
        at_work = engine()
        after(at_work, enqueue(1.0, "a", "b"))

        assert after(at_work, enqueue(2.0, "a")) == (Accepted(0, "s0-3", 3),)


class TestUnknownIds:
    @pytest.mark.parametrize("ticket_id", ["", "x", "s0-", "s0-2", "s0-0", "s0--1", "s1-1", "s0-²"])
    def test_ticket_that_never_was_is_unknown(self, ticket_id: str) -> None:
        at_work = engine()
        after(at_work, enqueue(1.0, "a"))
        before = state_hash(at_work)

        with pytest.raises(UnknownTicket, match="no ticket has the id"):
            at_work.view(ticket_id)
        with pytest.raises(UnknownTicket):
            at_work.step(Cancel(2.0, ticket_id))
        assert state_hash(at_work) == before

    @pytest.mark.parametrize("match_id", ["", "m1", "s0-1", "s0-m2", "s0-m0"])
    def test_match_that_never_was_is_unknown(self, match_id: str) -> None:
        at_work = engine()
        after(at_work, enqueue(1.0, "a", "b"))
        before = state_hash(at_work)

        for given in (Assign(2.0, match_id, {}), Finish(2.0, match_id)):
            with pytest.raises(UnknownMatch, match="no match has the id"):
                at_work.step(given)
        assert state_hash(at_work) == before

    def test_ticket_that_ended_long_ago_is_forgotten(self) -> None:
        at_work = engine()
        after(at_work, enqueue(1.0, "a"), Cancel(2.0, "s0-1"), enqueue(700.0, "b"))

        with pytest.raises(Forgotten, match="ticket s0-1 ended long ago"):
            at_work.view("s0-1")
        with pytest.raises(Forgotten):
            at_work.step(Cancel(701.0, "s0-1"))

    def test_match_of_long_ago_is_forgotten(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("evenmatch.engine.state.reducers.KEEP_MATCHES", 100.0)
        at_work = engine()
        after(at_work, enqueue(1.0, "a", "b"), enqueue(700.0, "c"))

        with pytest.raises(Forgotten, match=r"match s0-m1 is no longer kept"):
            at_work.match("s0-m1")
        with pytest.raises(Forgotten):
            at_work.step(Assign(701.0, "s0-m1", {}))


class TestTime:
    def test_never_runs_backwards(self) -> None:
        at_work = engine()
        after(at_work, enqueue(5.0, "a"))

        with pytest.raises(AssertionError, match="time runs backwards"):
            at_work.step(enqueue(4.0, "b"))

    def test_passes_only_through_the_timers(self) -> None:
        at_work = engine(queue(wait_max=10.0))
        after(at_work, enqueue(0.0, "a"))

        with pytest.raises(AssertionError, match=r"hand in Advance\(next_wakeup\) first"):
            at_work.step(enqueue(10.5, "b"))

    def test_deadline_is_the_next_wake_up(self) -> None:
        at_work = engine(queue(wait_max=10.0))
        assert at_work.next_wakeup == math.inf

        after(at_work, enqueue(3.0, "a"))

        assert at_work.next_wakeup == 13.0

    def test_timer_of_a_policy_is_the_next_wake_up(self) -> None:
        at_work = engine(queue(policy="window:limit=0,rate=1"))
        after(at_work, enqueue(0.0, new_ticket("a", 0), new_ticket("b", 30)))

        assert at_work.next_wakeup == 30.0
        ((at, event),) = until(at_work, 30.0)
        assert (at, tickets((event,))) == (30.0, [("s0-1", "s0-2")])

    def test_early_advance_does_nothing(self) -> None:
        at_work = engine(queue(wait_max=10.0))
        after(at_work, enqueue(0.0, "a"))

        assert at_work.step(Advance(9.0)).sequence == 0
        assert at_work.next_wakeup == 10.0

    def test_input_at_the_instant_of_a_deadline_comes_first(self) -> None:
        at_work = engine(queue(wait_max=10.0))
        after(at_work, enqueue(0.0, "a"))

        assert tickets(after(at_work, enqueue(10.0, "b"))) == [("s0-1", "s0-2")]

    def test_policy_decides_before_the_deadline_applies(self) -> None:
        at_work = engine(queue(policy="window:limit=0,rate=1", wait_max=10.0))
        after(at_work, enqueue(0.0, new_ticket("a", 0), new_ticket("b", 10)))

        assert [type(event) for _, event in until(at_work, 10.0)] == [Matched]


class TestDeadline:
    def test_expire_ends_the_ticket_exactly_then(self) -> None:
        at_work = engine(queue(wait_max=0.1))
        after(at_work, enqueue(0.2, "a"))

        assert until(at_work, 1.0) == [(0.2 + 0.1, Expired("s0-1", "deadline"))]
        assert at_work.view("s0-1").reason == "deadline"

    def test_keep_lets_the_ticket_wait_on(self) -> None:
        at_work = engine(queue(wait_max=10.0, on_deadline="keep"))
        after(at_work, enqueue(0.0, "a"))

        assert until(at_work, 100.0) == []
        assert at_work.next_wakeup == math.inf
        assert tickets(after(at_work, enqueue(50.0, "b"))) == [("s0-1", "s0-2")]

    def test_stays_one_however_often_the_ticket_is_updated(self) -> None:
        at_work = engine(replace(queue("east", rules=(rule(),), wait_max=30.0), commit_jitter=5.0))
        after(at_work, enqueue(0.0, new_ticket("a", 1000), new_ticket("b", 2000)))
        for now in range(20):
            until(at_work, float(now))
            after(at_work, Update(float(now), "s0-1", players=(Player("a", Rating(1000.0 + now)),)))

        assert list(at_work.pools["east"].tickets) == ["s0-1", "s0-2"]
        assert len(at_work._scheduler.deadlines.pending) == 2
        assert len(at_work._scheduler.commits.pending) <= 2
        assert [event for _, event in until(at_work, 30.0)] == [
            Expired("s0-1", "deadline"),
            Expired("s0-2", "deadline"),
        ]

    def test_update_counts_beyond_it(self) -> None:
        at_work = engine(queue(rules=(rule(),), wait_max=10.0, on_deadline="keep"))
        after(at_work, enqueue(0.0, new_ticket("a", 1000), new_ticket("b", 2000)))
        until(at_work, 20.0)

        updated = Update(20.0, "s0-1", players=(Player("a", Rating(2000.0)),))

        assert tickets(after(at_work, updated)) == [("s0-1", "s0-2")]

    def test_bots_fill_what_is_missing(self) -> None:
        at_work = engine(queue("main", 2, 2, wait_max=10.0, on_deadline="bots"))
        after(at_work, enqueue(0.0, "a"), enqueue(4.0, "b"))

        ((at, event),) = until(at_work, 10.0)

        (match,) = matches((event,))
        assert (at, match.tickets, match.bots) == (10.0, ("s0-1", "s0-2"), 2)
        # The players waited 10 s and 6 s, two bots count 10 s each, at 1/10 a second.
        assert match.cost == pytest.approx((10 + 6 + 2 * 10) / 10)
        assert at_work.tables.counters.bots == 2
        assert until(at_work, 100.0) == []

    def test_bots_make_the_quality_nothing(self) -> None:
        criterion = Criterion("spread", "rating", scale=Scale("linear", 0.0, 3000.0))
        at_work = engine(queue(criteria=(criterion,), wait_max=10.0, on_deadline="bots"))
        after(at_work, enqueue(0.0, "a"))

        (match,) = matches([event for _, event in until(at_work, 10.0)])

        assert match.quality == 0.0
        assert match.cost == 2.0 + 2 * 10 / 10

    def test_overdue_ticket_plays_with_the_oldest_who_may(self) -> None:
        squads = queue("main", 2, 2, rules=(rule(limit=100),), wait_max=10.0, on_deadline="bots")
        at_work = engine(squads)
        after(
            at_work,
            enqueue(0.0, new_ticket("a", 1000)),
            enqueue(1.0, new_ticket("far", 1101)),
            enqueue(2.0, new_ticket("b", 1040, 1040)),
        )

        (match,) = matches([event for _, event in until(at_work, 10.0)])

        assert (match.tickets, match.bots) == (("s0-1", "s0-3"), 1)
        assert match.teams == (("s0-1",), ("s0-3",))

    def test_party_that_is_too_large_for_the_rest_is_passed_over(self) -> None:
        at_work = engine(queue("main", 2, 2, wait_max=10.0, on_deadline="bots"))
        three = (new_ticket("a"), new_ticket("b"), new_ticket("c"))
        after(at_work, enqueue(0.0, *three), enqueue(1.0, new_ticket("d", 1500, 1500)))

        found = until(at_work, 20.0)

        # a, b and d fill a match on arrival; c plays with bots.
        assert [(at, match.bots) for at, e in found for match in matches((e,))] == [(10.0, 3)]

    def test_pool_without_room_for_a_second_ticket_is_passed_over(self) -> None:
        at_work = engine(queue("main", 1, 4, wait_max=10.0, on_deadline="bots"))
        four = new_ticket("a", 1, 1, 1, 1)
        two = new_ticket("b", 1, 1)
        after(at_work, enqueue(0.0, four), enqueue(1.0, two))

        found = [match for _, e in until(at_work, 20.0) for match in matches((e,))]

        assert [(match.tickets, match.bots) for match in found] == [(("s0-1",), 1), (("s0-2",), 3)]

    def test_tickets_beyond_the_look_are_left_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("evenmatch.engine.matching.waiting_columns.LOOK_AT_MOST", 1)
        at_work = engine(queue("main", 2, 2, wait_max=10.0, on_deadline="bots"))
        after(at_work, enqueue(0.0, "a", "b"))

        found = [match for _, e in until(at_work, 10.0) for match in matches((e,))]

        assert [match.bots for match in found] == [3, 3]

    def test_party_whose_side_is_too_small_expires(self) -> None:
        hunt = queue("main", 1, 4, sides=("one", "many"), wait_max=10.0, on_deadline="bots")
        at_work = engine(hunt)
        after(at_work, enqueue(0.0, new_ticket("a", 1, 1, side="one")))

        assert until(at_work, 10.0) == [(10.0, Expired("s0-1", "deadline"))]

    def test_ticket_whose_company_would_break_a_rule_of_teams_is_passed_over(self) -> None:
        even = Rule("imbalance", "rating", 0.0)
        at_work = engine(
            queue("main", 1, 2, rules=(even,), wait_max=10.0, on_deadline="bots"),
        )
        after(at_work, enqueue(0.0, new_ticket("a", 1)), enqueue(1.0, new_ticket("b", 2)))

        found = [match for _, e in until(at_work, 10.0) for match in matches((e,))]

        assert [(match.tickets, match.bots) for match in found] == [(("s0-1",), 2)]

    def test_party_that_breaks_a_rule_by_itself_expires_instead_of_playing(self) -> None:
        squads = queue("main", 2, 2, rules=(rule(limit=100),), wait_max=10.0, on_deadline="bots")
        at_work = engine(squads)
        after(at_work, enqueue(0.0, new_ticket("a", 1000, 2000)))

        assert until(at_work, 10.0) == [(10.0, Expired("s0-1", "deadline"))]

    def test_policy_may_bring_bots_itself_at_the_deadline(self) -> None:
        class Alone(NoJobs):
            def __init__(self) -> None:
                self.waiting: list[Ticket] = []

            def enter(self, entry: Ticket, now: float) -> None:
                self.waiting.append(entry)

            def decide(self, now: float, fired: bool = False) -> Decision:
                if not fired:
                    return Decision()
                found = tuple(Grouping((each.id,), bots=1) for each in self.waiting)
                self.waiting.clear()
                return Decision(found)

        at_work = engine(queue(wait_max=10.0, on_deadline="bots"), main=made_of(Alone()))
        after(at_work, enqueue(0.0, "a"))

        ((_, event),) = until(at_work, 10.0)

        assert matches((event,))[0].bots == 1
        assert at_work.faults == []


class TestSeveralQueues:
    def test_match_in_one_takes_the_ticket_out_of_all(self) -> None:
        at_work = engine(queue("east"), queue("west"))
        after(
            at_work,
            enqueue(1.0, new_ticket("a", 1500, queues=BOTH)),
            enqueue(2.0, new_ticket("b", 1500, queues=("west",))),
        )

        assert at_work.view("s0-1").match == "s0-m1"
        assert at_work.match("s0-m1").match.queue == "west"
        events = after(at_work, enqueue(3.0, new_ticket("c", 1500, queues=("east",))))
        assert tickets(events) == []

    def test_queue_with_the_oldest_partner_decides_first(self) -> None:
        at_work = engine(queue("east"), queue("west"))
        after(
            at_work,
            enqueue(1.0, new_ticket("old", 1500, queues=("west",))),
            enqueue(2.0, new_ticket("young", 1500, queues=("east",))),
        )

        (match,) = matches(after(at_work, enqueue(3.0, new_ticket("a", 1500, queues=BOTH))))

        assert (match.queue, match.tickets) == ("west", ("s0-1", "s0-3"))

    def test_partner_whom_a_rule_forbids_does_not_count(self) -> None:
        at_work = engine(queue("east"), queue("west", rules=(rule(limit=100),)))
        after(
            at_work,
            enqueue(1.0, new_ticket("far", 3000, queues=("west",))),
            enqueue(2.0, new_ticket("young", 1500, queues=("east",))),
        )

        (match,) = matches(after(at_work, enqueue(3.0, new_ticket("a", 1500, queues=BOTH))))

        assert (match.queue, match.tickets) == ("east", ("s0-2", "s0-3"))

    def test_without_partners_the_order_of_configuration_decides(self) -> None:
        at_work = engine(queue("east"), queue("west"))
        reverse = ("west", "east")

        events = after(
            at_work,
            enqueue(
                1.0,
                new_ticket("a", 1500, queues=reverse),
                new_ticket("b", 1500, queues=reverse),
            ),
        )

        assert [match.queue for match in matches(events)] == ["east"]

    def test_queue_that_loses_a_ticket_wakes_up_for_the_next(self) -> None:
        timed = queue("east", policy="window:limit=0,rate=1")
        at_work = engine(timed, queue("west"))
        after(
            at_work,
            enqueue(0.0, new_ticket("a", 0, queues=("east",))),
            enqueue(0.0, new_ticket("b", 50, queues=BOTH)),
            enqueue(0.0, new_ticket("c", 70, queues=("east",))),
        )
        assert at_work.next_wakeup == 20.0

        after(at_work, enqueue(5.0, new_ticket("d", 50, queues=("west",))))

        assert state(at_work, "s0-2") == "matched"
        assert at_work.next_wakeup == 70.0

    def test_deadline_takes_the_ticket_out_of_one_queue_and_the_last_ends_it(self) -> None:
        at_work = engine(queue("east", wait_max=10.0), queue("west", wait_max=20.0))
        after(at_work, enqueue(0.0, new_ticket("a", 1500, queues=BOTH)))

        assert until(at_work, 30.0) == [
            (10.0, LeftQueue("s0-1", "east")),
            (20.0, Expired("s0-1", "deadline")),
        ]

    def test_queue_without_deadline_keeps_the_ticket(self) -> None:
        at_work = engine(queue("east", wait_max=10.0), queue("west"))
        after(at_work, enqueue(0.0, new_ticket("a", 1500, queues=BOTH)))
        until(at_work, 30.0)

        events = after(at_work, enqueue(31.0, new_ticket("b", 1500, queues=("west",))))

        assert tickets(events) == [("s0-1", "s0-2")]

    def test_bots_of_one_queue_claim_the_ticket_from_the_other(self) -> None:
        at_work = engine(
            queue("east", wait_max=10.0, on_deadline="bots"), queue("west", wait_max=10.0)
        )
        after(at_work, enqueue(0.0, new_ticket("a", 1500, queues=BOTH)))

        found = until(at_work, 30.0)

        assert [type(event) for _, event in found] == [Matched]
        assert not at_work.pools["west"].tickets


class TestPause:
    def test_paused_queue_takes_and_matches_nobody(self) -> None:
        strict = queue(policy="window:limit=0")
        at_work = engine(strict)
        after(at_work, enqueue(1.0, new_ticket("a", 1), new_ticket("b", 2)))

        events = after(at_work, Configure(2.0, (queue(),), pause=("main",)))
        assert matches(events) == []
        (refused,) = after(at_work, enqueue(3.0, "c"))

        assert isinstance(refused, Refused)
        assert (refused.code, refused.where) == ("paused", "/queues")

    def test_end_of_a_pause_matches_those_who_wait(self) -> None:
        at_work = engine(queue(policy="window:limit=0"))
        after(at_work, enqueue(1.0, new_ticket("a", 1), new_ticket("b", 2)))
        after(at_work, Configure(2.0, (queue(),), pause=("main",)))

        assert tickets(after(at_work, Configure(9.0, (queue(),)))) == [("s0-1", "s0-2")]

    def test_deadlines_pass_in_a_pause_without_bots(self) -> None:
        filled = queue(wait_max=10.0, on_deadline="bots")
        at_work = engine(filled)
        after(at_work, enqueue(0.0, "a"), Configure(2.0, (filled,), pause=("main",)))

        assert until(at_work, 20.0) == [(10.0, Expired("s0-1", "deadline"))]

    def test_timers_of_a_paused_queue_do_not_fire(self) -> None:
        timed = queue(policy="window:limit=0,rate=1")
        at_work = engine(timed)
        after(at_work, enqueue(0.0, new_ticket("a", 0), new_ticket("b", 30)))

        after(at_work, Configure(2.0, (timed,), pause=("main",)))

        assert at_work.next_wakeup == math.inf

    def test_cancel_is_taken_in_a_pause(self) -> None:
        at_work = engine()
        after(at_work, enqueue(0.0, "a"), Configure(2.0, (queue(),), pause=("main",)))

        assert after(at_work, Cancel(3.0, "s0-1")) == (Cancelled("s0-1", "player"),)


@policy()
def uses_one_twice(pool: Sequence[Ticket], now: float) -> list[list[str]]:
    return [[pool[0].id, pool[0].id]] if len(pool) > 1 else []


@policy()
def raises(pool: Sequence[Ticket], now: float) -> list[list[str]]:
    raise ZeroDivisionError("a user's bug")


class Broken(NoJobs):
    """A matcher that fails in one verb."""

    def __init__(self, verb: str) -> None:
        self.verb = verb

    def fail(self, verb: str) -> None:
        if verb == self.verb:
            raise RuntimeError("a user's bug")

    def enter(self, entry: Ticket, now: float) -> None:
        self.fail("enter")

    def leave(self, entry_id: str, now: float) -> None:
        self.fail("leave")

    def decide(self, now: float, fired: bool = False) -> Decision:
        self.fail("decide")
        return Decision()


def made_of(matcher: NoJobs) -> Policy:
    """Return a policy with this one matcher."""

    class Fixed:
        def matcher(self, queue: Queue, *, seed: int, memory: object = None) -> NoJobs:
            return matcher

    return Fixed()  # type: ignore[return-value]


class TestPolicyFault:
    def test_stops_the_queue_and_leaves_the_others_running(self) -> None:
        at_work = engine(queue("east"), queue("west"), east=uses_one_twice)
        east = [new_ticket(name, 1500, queues=("east",)) for name in "ab"]
        west = [new_ticket(name, 1500, queues=("west",)) for name in "cd"]

        assert matches(after(at_work, enqueue(1.0, *east))) == []
        assert tickets(after(at_work, enqueue(2.0, *west))) == [("s0-3", "s0-4")]

        (fault,) = at_work.faults
        assert isinstance(fault, PolicyError)
        assert "a ticket is used twice (tickets s0-1, s0-1)" in str(fault)
        assert state(at_work, "s0-1") == "waiting"

    def test_keeps_the_matches_of_the_decision_that_came_before_it(self) -> None:
        @policy()
        def one_good_one_bad(pool: Sequence[Ticket], now: float) -> list[list[str]]:
            return [[pool[0].id, pool[1].id], [pool[2].id]] if len(pool) == 3 else []

        at_work = engine(main=one_good_one_bad)

        events = after(at_work, enqueue(1.0, "a", "b", "c"))

        assert tickets(events) == [("s0-1", "s0-2")]
        assert state(at_work, "s0-3") == "waiting"
        assert len(at_work.faults) == 1

    def test_wake_up_in_the_past_is_one(self) -> None:
        class Sleepless(Broken):
            def decide(self, now: float, fired: bool = False) -> Decision:
                return Decision(wake_at=now - 1.0)

        at_work = engine(main=made_of(Sleepless("")))
        after(at_work, enqueue(1.0, "a"))

        assert "wake_at must be later than 0.0, got -1.0" in str(at_work.faults[0])
        assert at_work.next_wakeup == math.inf

    @pytest.mark.parametrize("verb", ["enter", "leave", "decide"])
    def test_whatever_a_policy_raises_is_one(self, verb: str) -> None:
        at_work = engine(main=made_of(Broken(verb)))

        after(at_work, enqueue(1.0, "a"), Cancel(2.0, "s0-1"), enqueue(3.0, "b"))

        (fault,) = at_work.faults
        assert f"failed in {verb}: RuntimeError: a user's bug" in str(fault)
        assert state(at_work, "s0-1") == "cancelled"
        assert state(at_work, "s0-2") == "waiting"

    def test_of_a_function_does_not_lose_the_input(self) -> None:
        at_work = engine(main=raises)

        record = at_work.step(enqueue(1.0, "a"))

        assert record.sequence == 2
        assert record.events == (Accepted(0, "s0-1", 1),)
        assert "ZeroDivisionError: a user's bug" in str(at_work.faults[0])

    def test_does_not_stop_deadlines(self) -> None:
        at_work = engine(queue(wait_max=10.0), main=raises)
        after(at_work, enqueue(1.0, "a"))

        assert until(at_work, 20.0) == [(11.0, Expired("s0-1", "deadline"))]

    def test_is_healed_by_a_new_policy(self) -> None:
        chosen = {"main": raises}
        at_work = Engine(lambda each: chosen.get(each.name) or parse_policy(each.policy))
        after(at_work, Configure(0.0, (queue(),)), enqueue(1.0, "a", "b"))
        chosen.clear()

        events = after(at_work, Configure(2.0, (queue(),)))

        assert tickets(events) == [("s0-1", "s0-2")]
        assert at_work.faults == []


class TestReturns:
    def test_pool_keeps_the_order_of_age(self) -> None:
        pool = Pool(queue(policy="window:limit=0"), parse_policy("window:limit=0"), seed=1)
        for number in (2, 3, 1):
            pool.enter(ticket(f"t{number}", number, at=number, sequence=number), 9.0)

        assert list(pool.tickets) == ["t1", "t2", "t3"]


QUEUES = (
    queue("east", wait_max=30.0, policy="window:limit=0,rate=0.5", exclusive_match=True),
    queue("west", 2, 2, wait_max=20.0, on_deadline="bots"),
)


def a_busy_hour() -> tuple[Engine, list[Record]]:
    """Return an engine after one of everything, and its journal."""
    at_work = Engine(lambda each: parse_policy(each.policy))
    journal: list[Record] = []

    def hand_in(given: Input) -> None:
        while at_work.next_wakeup < given.now:
            journal.append(at_work.step(Advance(at_work.next_wakeup)))
        with suppress(Refusal):
            journal.append(at_work.step(given))

    hand_in(Configure(0.0, QUEUES, seed=3))
    for number in range(60):
        now = number * 1.75
        queues = (("east",), ("west",), BOTH)[number % 3]
        sizes = (1500.0 + 37 * number % 60,) * (2 if queues == ("west",) and number % 2 else 1)
        hand_in(Enqueue(now, (new_ticket(f"p{number}", *sizes, queues=queues),), f"k{number}", "d"))
        if number % 5 == 0:
            hand_in(Cancel(now, f"s0-{number}"))
        if number % 6 == 0:
            hand_in(Assign(now, f"s0-m{number // 6}", {"address": "here"}))
            hand_in(Finish(now, f"s0-m{number // 12}"))
    hand_in(Configure(110.0, (QUEUES[1],), version=2))
    return at_work, [record for record in journal if record.sequence]


class TestRecovery:
    def test_applying_the_journal_rebuilds_the_state(self) -> None:
        before, journal = a_busy_hour()
        kinds = {type(event) for record in journal for event in record.events}
        assert {Accepted, Matched, Cancelled, Expired, LeftQueue, Assigned, Finished} <= kinds

        recovered = Engine(lambda each: parse_policy(each.policy))
        for record in journal:
            recovered.apply(decode(encode(record)))

        assert state_hash(recovered) == state_hash(before)
        recovered.tables._check()

    def test_deciding_again_gives_the_same_records(self) -> None:
        _, first = a_busy_hour()
        _, second = a_busy_hour()

        assert first == second

    def test_resumed_engine_meets_the_deadlines_of_the_downtime_at_once(self) -> None:
        before = engine(queue(wait_max=10.0))
        after(before, enqueue(0.0, "a"))
        recovered = Engine(lambda each: parse_policy(each.policy))
        recovered.tables = before.tables

        recovered.resume(60.0)

        assert recovered.next_wakeup == 60.0
        assert until(recovered, 60.0) == [(60.0, Expired("s0-1", "deadline"))]
        assert recovered.next_wakeup == math.inf

    def test_resumed_engine_decides_first(self) -> None:
        before = engine(queue(policy="window:limit=0"))
        after(before, enqueue(0.0, new_ticket("a", 1), new_ticket("b", 2)))
        recovered = Engine(lambda each: parse_policy("greedy"))
        recovered.tables = before.tables

        recovered.resume(0.0)

        assert [type(event) for _, event in until(recovered, 0.0)] == [Matched]

    def test_resumed_engine_ends_live_matches_in_time(self) -> None:
        before = engine(Queue(exclusive_match=True, match_max=100.0))
        after(before, enqueue(0.0, "a", "b"))
        recovered = Engine(lambda each: parse_policy(each.policy))
        recovered.tables = before.tables

        recovered.resume(50.0)

        assert until(recovered, 200.0) == [(100.0, Finished("s0-m1", "match_max"))]

    def test_live_match_of_a_queue_that_is_gone_still_ends(self) -> None:
        before = engine(Queue(exclusive_match=True, match_max=100.0))
        after(before, enqueue(0.0, "a", "b"), Configure(1.0, (queue("other"),)))
        recovered = Engine(lambda each: parse_policy(each.policy))
        recovered.tables = before.tables

        recovered.resume(50.0)

        assert until(recovered, 200.0) == [(100.0, Finished("s0-m1", "match_max"))]

    def test_memories_come_from_the_matchers(self) -> None:
        at_work = engine(queue("a"), queue("b", policy="periodic"))

        assert at_work.memories() == {"a": {}, "b": {"flushed_at": -1.0, "stayed": []}}


class TestParties:
    def test_are_whole_in_every_match(self) -> None:
        at_work = engine(queue("main", 5, 5))
        sizes = (3, 2, 2, 1, 1, 1, 4, 1, 5, 3, 2, 5)
        for number, size in enumerate(sizes):
            after(at_work, enqueue(float(number), new_ticket(f"p{number}", *(1500.0,) * size)))

        made = list(at_work.tables.matches.values())

        assert len(made) >= 2
        for kept in made:
            assert [len(team) for team in kept.match.players] == [5, 5]
            named = [player for team in kept.match.players for player in team]
            assert len(set(named)) == 10

    def test_sides_are_kept_in_order_of_the_format(self) -> None:
        at_work = engine(queue("main", 1, 1, sides=("white", "black")))

        events = after(
            at_work,
            enqueue(1.0, new_ticket("a", 1500, side="black"), new_ticket("b", 1500)),
        )

        (match,) = matches(events)
        assert match.players == (("b",), ("a",))

    def test_side_that_there_is_not_is_refused(self) -> None:
        at_work = engine(queue("main", 1, 1, sides=("white", "black")))

        (event,) = after(at_work, enqueue(1.0, new_ticket("a", 1500, side="red")))

        assert isinstance(event, Refused)
        assert "side must be one of white, black, or absent, got red" in event.message

    def test_of_unequal_teams_find_their_seats(self) -> None:
        at_work = engine(Queue(format=Format((1, 4)), rules=(Rule("same", "mode"),)))
        four = new_ticket("four", 1, 1, 1, 1, mode="hunt")

        events = after(at_work, enqueue(1.0, four, new_ticket("one", 1, mode="hunt")))

        (match,) = matches(events)
        assert match.teams == (("s0-2",), ("s0-1",))


def test_whole_number_as_an_attribute_is_taken() -> None:
    at_work = engine()

    (event,) = after(at_work, enqueue(1.0, NewTicket((Player("a", None, {"level": 7}),))))

    assert isinstance(event, Accepted)


def test_whole_numbers_are_numbers() -> None:
    at_work = engine(queue(rules=(rule(limit=100),)))
    two = (NewTicket((Player("a", Rating(1500)),)), NewTicket((Player("b", Rating(1550.5)),)))

    events = after(at_work, enqueue(1.0, *two))

    assert len(matches(events)) == 1


def test_ticket_under_an_id_that_is_used_again_has_a_deadline_of_its_own() -> None:
    at_work = engine(queue("main", 2, 2, wait_max=1800.0))
    at_work.step(enqueue(0.0, new_ticket("first", 1500)))
    at_work.step(enqueue(1.0, replace(new_ticket("gone", 1500), id="own")))
    at_work.step(Cancel(2.0, "own"))
    at_work.step(enqueue(700.0, "other"))
    at_work.step(enqueue(1500.0, replace(new_ticket("later", 1500), id="own")))

    ended = {}
    while at_work.next_wakeup < math.inf:
        for event in after(at_work, Advance(at_work.next_wakeup)):
            assert isinstance(event, Expired)
            ended[event.ticket] = at_work.now

    assert ended == {"s0-1": 1800.0, "s0-3": 2500.0, "own": 3300.0}


def test_update_need_not_fit_queues_that_the_ticket_has_left() -> None:
    ranked = queue("ranked", rules=(Rule("spread", "elo", 10.0),), wait_max=5.0)
    casual = queue("casual", rules=(Rule("spread", "mood", 1.0),))
    at_work = engine(ranked, replace(casual, attributes=("clan",)))
    facts = {"elo": 1000.0, "mood": 1.0, "clan": "red"}
    new = NewTicket((Player("a", attributes=facts),), ("ranked", "casual"))
    at_work.step(Enqueue(0.0, (new,), strict=True))
    assert after(at_work, Advance(5.0)) == (LeftQueue("s0-1", "ranked"),)
    at_work.step(Configure(6.0, (ranked, casual), version=2))

    later = Update(7.0, "s0-1", players=(Player("a", attributes={"elo": 900.0, "mood": 2.0}),))
    at_work.step(replace(later, strict=True))

    (player,) = at_work.tables.waiting["s0-1"].ticket.players
    assert player.attributes == {"elo": 900.0, "mood": 2.0, "clan": "red"}
    unknown = Update(8.0, "s0-1", players=(Player("a", attributes={"clan": "blue"}),), strict=True)
    with pytest.raises(Refusal, match="attribute 'clan' is not declared by the ticket's queues"):
        at_work.step(unknown)
