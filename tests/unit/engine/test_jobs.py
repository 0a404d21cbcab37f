"""Jobs in the engine: who may ask for one, what becomes of its plan, and when it is forgotten."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from evenmatch.engine.engine import Engine
from evenmatch.engine.matching.jobs import RunningJob
from evenmatch.engine.matching.pool import Pool, check_decision
from evenmatch.engine.records import Record, decode, encode
from evenmatch.engine.state.snapshot import (
    decode_snapshot,
    encode_snapshot,
    restore,
    state_hash,
    take,
)
from evenmatch.errors import PolicyError
from evenmatch.model.events import (
    Cancelled,
    Configured,
    Event,
    Expired,
    JobAsked,
    JobSettled,
    Matched,
)
from evenmatch.model.inputs import Advance, Cancel, Configure, Enqueue, Settle
from evenmatch.model.queue import Queue
from evenmatch.policies.base import Decision, JobResult, Policy
from evenmatch.policies.greedy import Greedy
from evenmatch.testing import new_ticket, queue, rule
from tests.shuffles import Shuffles, ShufflesMatcher

MAIN = queue()


class Plan:
    """A job that has its plan already."""

    def __init__(self, *matches: Any, number: Any = 1, parts: Any = 1) -> None:
        self.number, self.parts, self.matches = number, parts, tuple(matches)

    def solve(self, part: int) -> object:
        return part

    def combine(self, results: object) -> JobResult:
        return JobResult(self.number, self.matches)


def engine(*queues: Queue, policy: Policy | None = None) -> Engine:
    chosen = policy or Shuffles(every=4.0)
    made = Engine(lambda each: Greedy() if each.policy == "greedy:" else chosen)
    made.step(Configure(0.0, queues or (MAIN,)))
    return made


def enqueue(at_work: Engine, now: float, *names: str, queues: tuple[str, ...] = ()) -> Record:
    tickets = tuple(
        msgspec.structs.replace(new_ticket(name, 1500.0, queues=queues), id=name) for name in names
    )
    return at_work.step(Enqueue(now, tickets))


def asked(at_work: Engine, now: float) -> RunningJob:
    """Advance to an instant at which one job is asked for, and return it."""
    record = at_work.step(Advance(now))
    assert JobAsked in map(type, record.events)
    (running,) = at_work.take_jobs()
    return running


def settle(at_work: Engine, now: float, running: RunningJob) -> tuple[Event, ...]:
    return at_work.step(running.settle(running.solve(), now)).events


def matched(events: tuple[Event, ...]) -> list[tuple[str, ...]]:
    return [event.match.tickets for event in events if isinstance(event, Matched)]


class TestAsking:
    def job_pool(self) -> Pool:
        return Pool(MAIN, Shuffles(), seed=1)

    def refused(self, pool: Pool, job: Plan, fired: bool = True) -> str:
        with pytest.raises(PolicyError) as caught:
            check_decision(pool, Decision(job=job), 5.0, fired)
        return str(caught.value).removeprefix("policy greedy of queue main: ")

    def test_decide_that_is_fired_may_ask(self) -> None:
        check_decision(self.job_pool(), Decision(job=Plan()), 5.0, True)

    def test_input_may_not_ask(self) -> None:
        assert (
            self.refused(self.job_pool(), Plan(), fired=False)
            == "a job is asked for only by a decide with fired=True"
        )

    def test_policy_says_that_it_has_jobs(self) -> None:
        assert (
            self.refused(Pool(MAIN, Greedy(), seed=1), Plan())
            == "a policy that asks for jobs says so with jobs = True"
        )

    def test_one_job_runs_at_a_time(self) -> None:
        pool = self.job_pool()
        pool.begin(Plan(), 1, 4.0)

        assert self.refused(pool, Plan()) == "a second job was asked for while one runs"

    def test_job_is_asked_for_once_at_an_instant(self) -> None:
        pool = self.job_pool()
        pool.begin(Plan(), 1, 5.0)
        pool.settle(JobResult(1, ()), 5.0)

        assert self.refused(pool, Plan()) == "a second job was asked for at 5.0 s"

    @pytest.mark.parametrize("parts", [0, -1, 1025, True, 2.0, None])
    def test_parts_are_few(self, parts: object) -> None:
        said = self.refused(self.job_pool(), Plan(parts=parts))

        assert said == f"a job has 1 to 1024 parts, got {parts!r}"

    def test_number_is_a_number(self) -> None:
        assert (
            self.refused(self.job_pool(), Plan(number="1"))
            == "the number of a job is an int, got '1'"
        )


class TestPlans:
    @pytest.mark.parametrize(
        "matches",
        [["ab"], (["a", "b"],), (("a", 1),), ("ab",)],
        ids=["list", "lists", "int", "text"],
    )
    def test_plan_is_tuples_of_ids(self, matches: Any) -> None:
        job = Plan()
        job.matches = matches

        with pytest.raises(PolicyError, match="must be tuples of ticket ids"):
            RunningJob(7, "main", job).solve()

    @pytest.mark.parametrize("result", [None, (("a", "b"),), JobResult(2, ())])
    def test_result_is_the_one_of_the_job(self, result: object) -> None:
        job = Plan()
        job.combine = lambda results: result  # type: ignore[method-assign,assignment,return-value]

        with pytest.raises(PolicyError, match="must return the JobResult of job 1"):
            RunningJob(7, "main", job).solve()

    def test_results_come_in_order_of_the_parts(self) -> None:
        job = Plan(parts=3)
        seen: list[object] = []

        def combine(results: object) -> JobResult:
            seen.append(results)
            return JobResult(1, ())

        job.combine = combine  # type: ignore[method-assign]
        RunningJob(7, "main", job).solve()

        assert seen == [[0, 1, 2]]


class TestSettling:
    def test_plan_is_played(self) -> None:
        at_work = engine()
        enqueue(at_work, 1.0, "a", "b", "c", "d", "e")

        events = settle(at_work, 5.5, asked(at_work, 5.0))

        assert events[0] == JobSettled("main", 1, 0)
        assert len(matched(events)) == 2
        assert [event.match.at for event in events if isinstance(event, Matched)] == [5.5, 5.5]

    def test_match_that_came_too_late_is_dropped_and_counted(self) -> None:
        at_work = engine(policy=Shuffles(parts=1))
        enqueue(at_work, 1.0, "a", "b", "c", "d")
        running = asked(at_work, 5.0)
        plan = running.solve().matches
        at_work.step(Cancel(5.25, plan[0][0]))

        events = settle(at_work, 5.5, running)

        assert events[0] == JobSettled("main", 1, 1)
        assert matched(events) == [tuple(sorted(plan[1]))]
        assert at_work.tables.counters.dropped == 1
        assert not at_work.faults

    def test_unknown_job_changes_nothing(self) -> None:
        at_work = engine()
        enqueue(at_work, 1.0, "a", "b")
        running = asked(at_work, 5.0)
        before = state_hash(at_work)

        for queue_name, number in (("main", 2), ("main", 0), ("other", 1)):
            record = at_work.step(Settle(5.5, queue_name, number, (("a", "b"),)))
            assert record.sequence == 0
            assert record.events == ()

        assert state_hash(at_work) == before
        assert matched(settle(at_work, 5.5, running)) == [("a", "b")]

    def test_job_is_settled_once(self) -> None:
        at_work = engine()
        enqueue(at_work, 1.0, "a", "b")
        running = asked(at_work, 5.0)
        settle(at_work, 5.5, running)

        assert settle(at_work, 5.5, running) == ()

    def test_rounds_are_skipped_while_a_job_runs(self) -> None:
        at_work = engine()
        enqueue(at_work, 1.0, "a", "b")
        running = asked(at_work, 5.0)
        enqueue(at_work, 6.0, "c", "d")

        assert at_work.step(Advance(9.0)).events == ()
        assert len(matched(settle(at_work, 10.0, running))) == 1
        assert asked(at_work, 13.0).number == 2

    def test_another_queue_that_loses_a_ticket_decides_again(self) -> None:
        queues = (queue("one"), queue("two"))
        at_work = engine(*queues)
        enqueue(at_work, 1.0, "a", "b", queues=("one", "two"))
        at_work.step(Advance(5.0))
        first, second = at_work.take_jobs()

        assert len(matched(settle(at_work, 5.5, first))) == 1
        assert settle(at_work, 5.75, second) == (JobSettled("two", 2, 1),)

    @pytest.mark.parametrize(("now", "dropped"), [(40.75, 1), (41.0, 0)])
    def test_rules_are_those_of_the_instant_of_settling(self, now: float, dropped: int) -> None:
        at_work = engine(queue(rules=(rule(limit=10, rate=1.0),)))
        ratings = {"a": 1500.0, "b": 1550.0, "c": 1500.0}
        at_work.step(Enqueue(1.0, tuple(new_ticket(name, at) for name, at in ratings.items())))
        asked(at_work, 5.0)
        while at_work.next_wakeup < now:
            at_work.step(Advance(at_work.next_wakeup))

        events = at_work.step(Settle(now, "main", 1, (("s0-1", "s0-2"),))).events

        assert events[0] == JobSettled("main", 1, dropped)
        assert len(matched(events)) == 1 - dropped


class TestDeadlines:
    QUEUE = queue(wait_max=4.0)

    def test_deadlines_stay_due_until_the_plan_is_there(self) -> None:
        at_work = engine(self.QUEUE)
        enqueue(at_work, 1.0, "a", "b")
        running = asked(at_work, 5.0)

        assert at_work.next_wakeup == 5.0
        assert matched(settle(at_work, 5.0, running)) == [("a", "b")]
        assert at_work.step(Advance(5.0)).events == ()

    def test_deadlines_are_met_where_no_plan_comes(self) -> None:
        at_work = engine(self.QUEUE)
        enqueue(at_work, 1.0, "a", "b")
        running = asked(at_work, 5.0)

        expired = at_work.step(Advance(5.0)).events

        assert expired == (Expired("a", "deadline"), Expired("b", "deadline"))
        assert settle(at_work, 6.0, running) == (JobSettled("main", 1, 1),)

    def test_deadlines_are_put_off_once_at_an_instant(self) -> None:
        at_work = engine(self.QUEUE, queue("other", policy="greedy:", wait_max=4.0))
        enqueue(at_work, 1.0, "a", "b")
        enqueue(at_work, 1.0, "c", queues=("other",))
        asked(at_work, 5.0)

        at_work.step(Advance(5.0))

        assert not at_work.tables.waiting
        assert at_work.next_wakeup > 5.0


class TestForgetting:
    def with_a_job(self) -> tuple[Engine, RunningJob]:
        at_work = engine()
        enqueue(at_work, 1.0, "a", "b")
        return at_work, asked(at_work, 5.0)

    def test_pause_forgets_the_job_and_its_end_asks_again(self) -> None:
        at_work, running = self.with_a_job()

        at_work.step(Configure(6.0, (MAIN,), pause=("main",)))

        assert settle(at_work, 6.5, running) == ()
        assert at_work.step(Configure(7.0, (MAIN,))).events == (Configured(),)
        assert matched(settle(at_work, 9.0, asked(at_work, 9.0))) == [("a", "b")]

    def test_unchanged_queue_keeps_its_job(self) -> None:
        at_work, running = self.with_a_job()

        at_work.step(Configure(6.0, (MAIN, queue("new"))))

        assert matched(settle(at_work, 6.5, running)) == [("a", "b")]

    def test_changed_queue_forgets_its_job(self) -> None:
        at_work, running = self.with_a_job()

        at_work.step(Configure(6.0, (queue(wait_max=60.0),)))

        assert settle(at_work, 6.5, running) == ()
        assert at_work.take_jobs() == []

    def test_job_that_was_forgotten_before_it_was_taken_is_not_handed_out(self) -> None:
        at_work = engine()
        enqueue(at_work, 1.0, "a", "b")
        at_work.step(Advance(5.0))
        at_work.step(Configure(5.0, (queue("other"),)))

        assert at_work.take_jobs() == []

    def test_job_that_raised_stops_its_queue(self) -> None:
        at_work, running = self.with_a_job()

        at_work.fail_job(running, ZeroDivisionError("no seats"))

        (fault,) = at_work.faults
        assert str(fault) == (
            "policy greedy of queue main failed in its job: ZeroDivisionError: no seats"
        )
        assert at_work.next_wakeup == float("inf")
        assert settle(at_work, 6.0, running) == ()
        enqueue(at_work, 7.0, "c")
        assert at_work.next_wakeup == float("inf")

    def test_job_that_raised_after_it_was_forgotten_harms_nobody(self) -> None:
        at_work, running = self.with_a_job()
        at_work.step(Configure(6.0, (queue(wait_max=60.0),)))

        at_work.fail_job(running, ZeroDivisionError())

        assert not at_work.faults

    def test_settle_that_raises_stops_the_queue(self, monkeypatch: pytest.MonkeyPatch) -> None:
        at_work, running = self.with_a_job()

        def broken(self: object, result: JobResult, now: float) -> Decision:
            raise KeyError("plan")

        monkeypatch.setattr(ShufflesMatcher, "settle", broken)
        settle(at_work, 6.0, running)

        assert "failed in settle: KeyError: 'plan'" in str(at_work.faults[0])

    @pytest.mark.parametrize(
        ("decision", "said"),
        [
            (Decision(job=Plan()), "only by a decide with fired=True"),
            (Decision(wake_at=1.0), "wake_at must be later than 6.0, got 1.0"),
        ],
        ids=["job", "wake"],
    )
    def test_settle_keeps_the_contract_of_an_input(
        self, monkeypatch: pytest.MonkeyPatch, decision: Decision, said: str
    ) -> None:
        at_work, running = self.with_a_job()
        monkeypatch.setattr(ShufflesMatcher, "settle", lambda *_: decision)

        settle(at_work, 6.0, running)

        assert said in str(at_work.faults[0])


class TestRecovery:
    def played(self) -> tuple[Engine, list[Record]]:
        """Return an engine with one job settled and one on its way, and its records."""
        at_work = engine()
        records: list[Record] = []
        step = at_work.step

        def noted(given: Any) -> Record:
            records.append(step(given))
            return records[-1]

        at_work.step = noted  # type: ignore[method-assign]
        noted(Configure(0.0, (MAIN,)))
        enqueue(at_work, 1.0, "a", "b", "c")
        settle(at_work, 6.0, asked(at_work, 5.0))
        enqueue(at_work, 7.0, "d")
        asked(at_work, 9.0)
        return at_work, [record for record in records if record.sequence]

    def test_records_tell_of_jobs(self) -> None:
        _, records = self.played()

        kinds = [(type(each.input), type(each.events[0])) for each in records]
        assert kinds[2:] == [
            (Advance, JobAsked),
            (Settle, JobSettled),
            (Enqueue, type(records[4].events[0])),
            (Advance, JobAsked),
        ]
        assert [decode(encode(each)) for each in records] == records

    def test_applying_the_records_decides_nothing_and_rebuilds_the_state(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        at_work, records = self.played()

        def never(*_: object) -> Any:
            raise AssertionError("recovery decides nothing")

        monkeypatch.setattr(ShufflesMatcher, "decide", never)
        monkeypatch.setattr(ShufflesMatcher, "settle", never)
        other = Engine(lambda each: Shuffles())
        for record in records:
            other.apply(record)
        other.resume(9.0)

        assert state_hash(other) == state_hash(at_work)
        assert other.tables.counters.jobs == 2

    @pytest.mark.parametrize("with_memory", [True, False])
    def test_restart_forgets_the_job_and_its_matcher_asks_again(self, with_memory: bool) -> None:
        at_work, _ = self.played()
        snapshot = decode_snapshot(encode_snapshot(take(at_work)))
        other = Engine(lambda each: Shuffles())
        memories = restore(other, snapshot)
        other.resume(9.0, memories if with_memory else None)

        other.step(Advance(other.next_wakeup))
        assert other.take_jobs() == []
        late = other.step(Settle(9.5, "main", 2, (("c", "d"),)))
        running = asked(other, other.next_wakeup)

        assert late.events == ()
        assert running.number == 3
        assert len(matched(settle(other, 14.0, running))) == 1


def test_equal_inputs_give_equal_plans() -> None:
    def plan(build: Callable[[], Engine]) -> tuple[Any, ...]:
        at_work = build()
        enqueue(at_work, 1.0, *(f"t{number}" for number in range(20)))
        return asked(at_work, 5.0).solve().matches

    assert plan(engine) == plan(engine)
    assert len(plan(engine)) == 10


def test_cancelled_ticket_of_a_plan_is_cancelled() -> None:
    at_work = engine()
    enqueue(at_work, 1.0, "a", "b")
    running = asked(at_work, 5.0)

    assert at_work.step(Cancel(5.5, "a")).events == (Cancelled("a", "player"),)
    assert settle(at_work, 6.0, running) == (JobSettled("main", 1, 1),)
