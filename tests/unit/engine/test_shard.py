"""The output gate: nobody hears of anything before the journal has it."""

from typing import Any

import pytest

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.engine.shard import Answer, Effect, Push, Shard, Solve
from evenmatch.engine.state.rows import TicketView
from evenmatch.errors import (
    ConfigError,
    InvalidTicket,
    JournalUnavailable,
    KeyReused,
    MatchmakingError,
    Overloaded,
    Refusal,
    UnknownTicket,
)
from evenmatch.model.events import Expired, Matched, Refused
from evenmatch.model.inputs import Advance, Assign, Cancel, Configure, Enqueue, Settle
from evenmatch.model.queue import Queue
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import new_ticket, queue, rule


def shard(*queues: Queue, pending_max: int = 50_000) -> Shard:
    """Return a shard whose configuration is durable."""
    made = Shard(Engine(lambda each: parse_policy(each.policy)), pending_max=pending_max)
    made.handle(Configure(0.0, queues or (queue(),)))
    commit(made)
    return made


def commit(at: Shard) -> list[Effect]:
    """Let the journal take all records; return what that sets free."""
    records = at.take_records()
    return at.acknowledge(records[-1].sequence) if records else []


def enqueue(now: float, *names: str, key: str | None = None, digest: str = "") -> Enqueue:
    return Enqueue(now, tuple(new_ticket(name, 1500) for name in names), key, digest)


def answers(effects: list[Effect]) -> list[Any]:
    """Return whom the answers go to, in order."""
    return [effect.to for effect in effects if isinstance(effect, Answer)]


def error_of(effect: Effect) -> MatchmakingError | None:
    assert isinstance(effect, Answer)
    return effect.error


def states(effect: Effect) -> list[str]:
    """Return the states, or the codes of refusals, that an answer to `Enqueue` holds."""
    assert isinstance(effect, Answer)
    return [each.code if isinstance(each, Refused) else each.state for each in effect.value]


def test_answer_waits_until_its_record_is_durable() -> None:
    at = shard()

    assert at.handle(enqueue(1.0, "a"), "caller") == []
    assert at.has_records
    records = at.take_records()
    assert [record.sequence for record in records] == [2]
    assert not at.has_records
    push, answer = at.acknowledge(2)

    assert push == Push(records[0])
    assert answers([answer]) == ["caller"]
    assert states(answer) == ["waiting"]


def test_effects_come_out_in_the_order_of_their_records() -> None:
    at = shard()
    for number in range(1, 4):
        at.handle(enqueue(float(number), f"p{number}"), number)

    first = at.take_records(1)
    assert answers(at.acknowledge(first[-1].sequence)) == [1]
    rest = at.take_records(10)
    assert [record.sequence for record in rest] == [3, 4]
    assert answers(at.acknowledge(4)) == [2, 3]


def test_refusal_waits_behind_the_last_record() -> None:
    at = shard()
    at.handle(enqueue(1.0, "a"), "first")

    assert at.handle(Cancel(1.0, "s0-99"), "second") == []
    effects = commit(at)

    assert answers(effects) == ["first", "second"]
    assert isinstance(error_of(effects[-1]), UnknownTicket)


def test_refusal_with_nothing_before_it_is_answered_at_once() -> None:
    (answer,) = shard().handle(Cancel(1.0, "s0-99"), "caller")

    assert isinstance(error_of(answer), UnknownTicket)


def test_bulk_that_is_refused_in_whole_makes_no_record() -> None:
    at = shard()

    (answer,) = at.handle(enqueue(1.0, "", ""), "caller")

    assert states(answer) == ["invalid_ticket", "invalid_ticket"]
    assert not at.has_records


def test_read_sees_what_is_decided_and_waits_until_it_is_durable() -> None:
    at = shard()
    at.handle(enqueue(1.0, "a"))

    assert at.read(lambda engine: engine.view("s0-1"), "reader") == []
    effects = commit(at)

    assert answers(effects) == [None, "reader"]
    answer = effects[-1]
    assert isinstance(answer, Answer)
    assert isinstance(answer.value, TicketView)


def test_read_of_durable_state_is_answered_at_once() -> None:
    at = shard()

    (answer,) = at.read(lambda engine: len(engine.tables.waiting), "reader")
    (failed,) = at.read(lambda engine: engine.view("s0-9"), "reader")

    assert answer == Answer("reader", 0)
    assert isinstance(error_of(failed), UnknownTicket)


def test_cancel_answers_with_the_ticket_as_it_is_then() -> None:
    at = shard()
    at.handle(enqueue(1.0, "a"))
    at.handle(Cancel(2.0, "s0-1"), "caller")

    answer = commit(at)[-1]

    assert isinstance(answer, Answer)
    assert answer.value.state == "cancelled"


def test_other_inputs_answer_with_nothing() -> None:
    at = shard()
    at.handle(enqueue(1.0, "a", "b"))
    at.handle(Assign(2.0, "s0-m1", {"address": "here"}), "caller")

    assert commit(at)[-1] == Answer("caller")


def test_configuration_that_cannot_work_is_answered_with_its_error() -> None:
    at = shard()

    (answer,) = at.handle(Configure(1.0, ()), "operator")

    assert isinstance(error_of(answer), ConfigError)


def test_same_key_and_body_get_the_same_answer_without_a_new_ticket() -> None:
    at = shard()
    at.handle(enqueue(1.0, "a", key="k", digest="d"), "first")
    first = commit(at)[-1]
    at.handle(Cancel(2.0, "s0-1"))
    commit(at)

    (again,) = at.handle(enqueue(3.0, "a", key="k", digest="d"), "second")

    assert isinstance(first, Answer)
    assert again == Answer("second", first.value)
    assert at.engine.tables.counters.accepted == 1


def test_repeat_before_the_first_is_durable_waits_with_it() -> None:
    at = shard()
    at.handle(enqueue(1.0, "a", key="k", digest="d"), "first")

    assert at.handle(enqueue(1.0, "a", key="k", digest="d"), "second") == []
    assert answers(commit(at)) == ["first", "second"]


def test_same_key_with_another_body_is_refused() -> None:
    at = shard()
    at.handle(enqueue(1.0, "a", key="k", digest="d"), "first")
    commit(at)

    (answer,) = at.handle(enqueue(2.0, "b", key="k", digest="e"), "second")

    assert isinstance(error_of(answer), KeyReused)
    assert len(at.engine.tables.waiting) == 1


def test_timers_due_before_an_input_are_handed_in_first() -> None:
    at = shard(queue(wait_max=10))
    at.handle(enqueue(0.0, "a"))
    at.handle(enqueue(4.0, "", key=None))

    at.handle(enqueue(20.0, "b"), "late")
    records = at.take_records()

    assert [record.input.now for record in records] == [0.0, 10.0, 20.0]
    assert records[1].events == (Expired("s0-1", "deadline"),)


def test_several_timers_fire_each_at_its_own_instant() -> None:
    at = shard(queue(wait_max=10, rules=(rule(limit=0, rate=1.0),)))
    at.handle(Enqueue(0.0, (new_ticket("a", 0), new_ticket("b", 5), new_ticket("c", 100))))
    at.take_records()

    at.handle(Advance(50.0))

    instants = [(record.input.now, len(record.events)) for record in at.take_records()]
    assert instants == [(5.0, 1), (10.0, 1)]


def test_input_comes_before_a_deadline_of_the_same_instant() -> None:
    at = shard(queue(wait_max=10))
    at.handle(enqueue(0.0, "a"))

    at.handle(enqueue(10.0, "b"), "caller")
    effects = commit(at)

    answer = effects[-1]
    assert states(answer) == ["matched"]
    assert at.next_wakeup == float("inf")


def test_advance_fires_what_is_due_at_its_own_instant() -> None:
    at = shard(queue(wait_max=10))
    at.handle(enqueue(0.0, "a"))
    commit(at)
    assert at.next_wakeup == 10.0

    assert at.handle(Advance(9.0)) == []
    assert not at.has_records
    at.handle(Advance(10.0))
    (push,) = commit(at)

    assert isinstance(push, Push)
    assert push.record.events == (Expired("s0-1", "deadline"),)


def with_a_job(*, pending_max: int = 50_000, wait_max: float | None = None) -> tuple[Shard, Solve]:
    """Return a shard whose last records are not durable, and the job that its queue asked for."""
    at = shard(queue(policy="tests.shuffles.Shuffles", wait_max=wait_max), pending_max=pending_max)
    at.handle(enqueue(0.0, "a", "b"))
    solve = next(effect for effect in at.handle(Advance(4.0)) if isinstance(effect, Solve))
    return at, solve


def plan_of(solve: Solve, now: float) -> Settle:
    return solve.running.settle(solve.running.solve(), now)


def test_job_goes_out_before_anything_is_durable() -> None:
    at, solve = with_a_job()

    assert solve.running.queue == "main"
    assert at.handle(plan_of(solve, 5.0), "shell") == []
    effects = commit(at)

    assert answers(effects) == [None, "shell"]
    assert [type(e.record.input) for e in effects if isinstance(e, Push)] == [
        Enqueue,
        Advance,
        Settle,
    ]


def test_job_that_a_late_timer_asked_for_goes_out_with_the_input_behind_it() -> None:
    at = shard(queue(policy="tests.shuffles.Shuffles"))
    at.handle(enqueue(0.0, "a", "b"))

    effects = at.handle(Cancel(30.0, "s0-99"), "caller")

    assert [type(effect) for effect in effects] == [Solve]


def test_advance_meets_the_deadlines_that_a_job_put_off() -> None:
    at, solve = with_a_job(wait_max=4.0)

    assert not at.engine.tables.waiting
    at.handle(plan_of(solve, 5.0))
    assert at.engine.tables.counters.dropped == 1


def test_plan_is_taken_however_far_the_journal_is_behind() -> None:
    at, solve = with_a_job(pending_max=4)
    while len(at.read(lambda engine: 1, "reader")) == 0:
        pass

    at.handle(plan_of(solve, 5.0))

    assert at.engine.tables.counters.matches == 1


def test_job_that_raised_stops_its_queue() -> None:
    at, solve = with_a_job()

    at.fail_job(solve.running, ValueError("odd"))

    assert "failed in its job: ValueError: odd" in str(at.engine.faults[0])


def test_match_is_pushed_with_its_record() -> None:
    at = shard()
    at.handle(enqueue(1.0, "a"))
    at.handle(enqueue(2.0, "b"))

    pushed: list[Record] = [e.record for e in commit(at) if isinstance(e, Push)]

    assert any(isinstance(event, Matched) for event in pushed[-1].events)


def test_failed_append_owes_every_answer_an_error_and_drops_the_rest() -> None:
    at = shard()
    at.handle(enqueue(1.0, "a"), "first")
    at.handle(Cancel(1.0, "s0-99"), "second")
    at.read(lambda engine: 1, "third")
    at.take_records()

    owed = at.fail()

    assert answers(list(owed)) == ["first", "second", "third"]
    assert all(isinstance(answer.error, JournalUnavailable) for answer in owed)
    assert not at.has_records
    assert at.take_records() == []


def test_shard_that_was_given_up_takes_nothing_any_more() -> None:
    at = shard()
    at.fail()

    (answer,) = at.handle(enqueue(1.0, "a"), "caller")

    assert isinstance(error_of(answer), JournalUnavailable)
    assert at.is_given_up
    assert at.engine.tables.counters.accepted == 0


def test_read_of_a_shard_that_was_given_up_is_answered_with_an_error() -> None:
    at = shard()
    at.handle(enqueue(1.0, "a"))
    at.take_records()
    at.fail()

    (answer,) = at.read(lambda engine: engine.view("s0-1"), "reader")

    assert isinstance(error_of(answer), JournalUnavailable)


def test_inputs_are_refused_while_the_journal_is_behind() -> None:
    at = shard(queue(wait_max=10), pending_max=4)
    at.handle(enqueue(1.0, "a"), 1)
    at.handle(Cancel(2.0, "s0-1"), 2)

    (refused,) = at.handle(enqueue(3.0, "c"), 3)
    assert isinstance(error_of(refused), Overloaded)
    assert at.engine.tables.counters.accepted == 1

    commit(at)
    at.handle(enqueue(4.0, "c"), 4)
    assert answers(commit(at)) == [4]


def test_time_goes_on_while_the_journal_is_behind() -> None:
    at = shard(queue(wait_max=10), pending_max=2)
    at.handle(enqueue(1.0, "a"), 1)

    at.handle(Advance(11.0))

    assert at.engine.view("s0-1").state == "expired"


def test_acknowledgement_of_what_was_never_decided_is_a_fault() -> None:
    at = shard()

    with pytest.raises(AssertionError):
        at.acknowledge(99)
    with pytest.raises(AssertionError):
        at.acknowledge(0)


def test_refused_input_changes_no_table() -> None:
    at = shard()
    at.handle(enqueue(1.0, "a", key="k", digest="d"))
    commit(at)
    before = at.engine.tables.shallow_copy()

    for given in (
        enqueue(2.0, ""),
        enqueue(2.0, "b", key="k", digest="e"),
        Cancel(2.0, "s0-9"),
        Assign(2.0, "s0-m9", {}),
        Configure(2.0, ()),
    ):
        (answer,) = at.handle(given, "caller")
        error = error_of(answer)
        assert error is None or isinstance(error, Refusal | ConfigError)

    assert at.engine.tables == before
    assert not at.has_records


def test_invalid_ticket_is_answered_per_item() -> None:
    at = shard()
    at.handle(enqueue(1.0, "a", ""), "caller")

    answer = commit(at)[-1]

    assert states(answer) == ["waiting", InvalidTicket.code]
