"""The engine under policies, configurations and callers that mean no good."""

import math
from typing import Any

import msgspec
import pytest

from evenmatch.engine.engine import Engine
from evenmatch.engine.shard import Answer, Shard
from evenmatch.engine.state import reducers as forgetting
from evenmatch.engine.state.snapshot import decode_snapshot, encode_snapshot, restore, take
from evenmatch.errors import ConfigError, JournalCorrupt, Overloaded
from evenmatch.model.events import Accepted, Expired, Matched, Refused
from evenmatch.model.inputs import Advance, Cancel, Configure, Enqueue
from evenmatch.model.queue import Format, Queue, Rule
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.policies.base import Decision, Grouping, NoJobs, policy
from evenmatch.policies.greedy import Greedy
from evenmatch.policies.registry import parse_policy
from evenmatch.server.views import forecasting
from evenmatch.testing import new_ticket, queue


class Says(NoJobs):
    """A matcher that always decides the same thing."""

    def __init__(self, decision: Any) -> None:
        self.decision = decision

    def matcher(self, queue: Queue, *, seed: int, memory: Any = None) -> "Says":
        return self

    def enter(self, entry: Any, now: float) -> None: ...

    def leave(self, entry_id: str, now: float) -> None: ...

    def decide(self, now: float, fired: bool = False) -> Any:
        return self.decision


def engine(*queues: Queue, **policies: Any) -> Engine:
    made = Engine(lambda each: policies.get(each.name) or parse_policy(each.policy))
    made.step(Configure(0.0, queues or (queue(),)))
    return made


def one(now: float, name: str, *, key: str | None = None, queues: tuple[str, ...] = ()) -> Enqueue:
    return Enqueue(now, (new_ticket(name, 1500, queues=queues),), key)


@pytest.mark.parametrize(
    "decision",
    [
        None,
        "soon",
        Decision(wake_at="soon"),  # type: ignore[arg-type]
        Decision(matches=None),  # type: ignore[arg-type]
        Decision(matches=("x",)),  # type: ignore[arg-type]
        Decision(matches=(Grouping((["unhashable"],)),)),  # type: ignore[arg-type]
        Decision(matches=(Grouping("s0-1"),)),  # type: ignore[arg-type]
        Decision(wake_at=math.nan),
    ],
)
def test_decision_of_the_wrong_shape_stops_its_queue_alone(decision: Any) -> None:
    at_work = engine(queue("bad"), queue("good"), bad=Says(decision))

    at_work.step(one(1.0, "a", queues=("bad",)))
    at_work.step(one(1.0, "b", queues=("good",)))
    record = at_work.step(one(1.0, "c", queues=("good",)))

    assert any(isinstance(event, Matched) for event in record.events)
    assert len(at_work.faults) == 1
    assert at_work.pools["bad"].fault is not None
    assert at_work.pools["bad"].tickets.keys() == {"s0-1"}


def test_queue_whose_policy_failed_plays_with_no_bots_either() -> None:
    broken = queue(wait_max=5.0, on_deadline="bots")
    at_work = engine(broken, main=Says(None))
    at_work.step(one(1.0, "a"))

    record = at_work.step(Advance(6.0))

    assert record.events == (Expired("s0-1", "deadline"),)


def test_memory_that_fails_is_a_fault_and_not_a_crash() -> None:
    class Forgetful(Says):
        def memory(self) -> Any:
            raise KeyError("gone")

    at_work = engine(queue(), main=Forgetful(Decision()))

    assert at_work.memories() == {"main": {}}
    assert "failed in memory" in str(at_work.faults[0])


def test_policy_that_fails_in_calling_a_match_wide_stops_after_the_match() -> None:
    class Unsure(Greedy, frozen=True):
        def is_wide(self, first: float, second: float) -> bool:
            raise ZeroDivisionError("wide?")

    at_work = engine(queue(), main=Unsure())
    at_work.step(one(1.0, "a"))
    record = at_work.step(one(2.0, "b"))

    (match,) = [event.match for event in record.events if isinstance(event, Matched)]
    assert not match.wide
    assert not at_work.tables.miscounted
    assert not at_work.tables.waiting
    assert "failed in is_wide: ZeroDivisionError: wide?" in str(at_work.faults[0])
    assert at_work.step(one(3.0, "c")).sequence, "tickets are still taken"


def test_promise_that_fails_is_none() -> None:
    class Promises(Says):
        def promise(self, ticket_id: str, now: float) -> Any:
            raise KeyError(ticket_id)

    at_work = engine(queue(), main=Promises(Decision()))
    at_work.step(one(1.0, "a"))

    assert at_work.pools["main"].promise("s0-1", 2.0) is None
    assert forecasting._round_at(at_work, "main", "s0-1", 2.0) is None
    assert not at_work.faults, "that is no reason to make no matches"


def test_policy_that_is_gone_does_not_stop_recovery() -> None:
    live = engine(queue(policy="gone.for_good"), main=parse_policy("greedy"))
    live.step(one(1.0, "a"))
    found = Engine(lambda each: parse_policy(each.policy))
    found.tables = live.tables

    found.resume(2.0)
    assert "cannot import gone" in str(found.faults[0])
    found.step(Configure(2.0, (queue(policy="greedy"),)))
    record = found.step(one(2.0, "b"))

    assert not found.faults
    assert any(isinstance(event, Matched) for event in record.events)


def test_configuring_another_queue_leaves_a_round_where_it_was() -> None:
    @policy(every=60.0)
    def pairs(pool: Any, now: float) -> Any:
        return zip(pool[::2], pool[1::2], strict=False)

    at_work = engine(queue("rounds"), queue("other"), rounds=pairs)
    at_work.step(one(1.0, "a", queues=("rounds",)))

    at_work.step(Configure(50.0, (queue("rounds"), queue("other", wait_max=9.0))))

    assert at_work.next_wakeup == 61.0


def test_new_policy_counts_its_rounds_from_the_instant_of_the_configuration() -> None:
    @policy(every=30.0)
    def pairs(pool: Any, now: float) -> Any:
        return zip(pool[::2], pool[1::2], strict=False)

    at_work = engine(queue())
    at_work.step(one(1.0, "a"))
    at_work._scheduler.resolve = lambda each: pairs

    at_work.step(Configure(100.0, (queue(policy="pairs"),)))

    assert at_work.next_wakeup == 130.0


def test_pause_of_no_queue_is_refused() -> None:
    with pytest.raises(ConfigError, match="pause names queue 'nope'"):
        engine().step(Configure(1.0, (queue(),), pause=("nope",)))


def test_equal_deadlines_of_one_ticket_go_by_the_order_of_configuration() -> None:
    bots = {"wait_max": 5.0, "on_deadline": "bots"}
    at_work = engine(queue("zebra", **bots), queue("ape", **bots))
    at_work.step(one(1.0, "a", queues=("ape", "zebra")))

    (event,) = at_work.step(Advance(6.0)).events

    assert isinstance(event, Matched)
    assert event.match.queue == "zebra"


def test_key_of_an_answer_that_found_a_ticket_is_kept() -> None:
    shard = Shard(engine())
    answers: list[Answer] = []

    def ask(given: Enqueue) -> Any:
        effects = shard.handle(given, "caller")
        records = shard.take_records()
        if records:
            effects += shard.acknowledge(records[-1].sequence)
        answers[:] = [effect for effect in effects if isinstance(effect, Answer)]
        return answers[-1]

    shard.acknowledge(shard.engine.tables.sequence)
    ask(one(1.0, "a"))
    first = ask(one(2.0, "a", key="k"))
    other = ask(Enqueue(3.0, (new_ticket("b", 1500),), "k", "another body"))

    assert first.value[0].id == "s0-1"
    assert other.error is not None
    assert other.error.code == "key_reused"


def test_reads_that_wait_for_the_journal_have_a_limit() -> None:
    shard = Shard(engine(), pending_max=5)
    shard.handle(one(1.0, "a"))

    answers = [shard.read(lambda at: at.view("s0-1"), n) for n in range(10)]

    refused = [answer for found in answers for answer in found]
    assert len(refused) >= 5
    assert all(isinstance(answer.error, Overloaded) for answer in refused)


def test_generated_id_never_takes_the_place_of_a_callers_own() -> None:
    own = NewTicket((Player("p"),), id="s0-2")
    record = engine().step(Enqueue(1.0, (own, NewTicket((Player("q"),)))))

    assert isinstance(record.events[0], Accepted)
    assert isinstance(record.events[1], Refused)
    assert "in the way" in record.events[1].message


def test_ended_tickets_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgetting, "KEEP_ENDED_MOST", 10)
    at_work = engine()
    for number in range(50):
        at_work.step(one(1.0, "a"))
        at_work.step(Cancel(1.0, f"s0-{number + 1}"))

    assert 10 <= len(at_work.tables.ended) <= 20


def test_time_never_runs_backwards_even_where_nothing_happened() -> None:
    at_work = engine()
    at_work.step(Advance(1.0))

    with pytest.raises(AssertionError, match="time runs backwards"):
        at_work.step(one(0.5, "a"))


def test_snapshot_of_another_shard_is_refused() -> None:
    state = encode_snapshot(take(engine()))
    other = Engine(lambda each: parse_policy(each.policy), shard="s1")

    with pytest.raises(JournalCorrupt, match="shard s0, not s1"):
        restore(other, decode_snapshot(state))


def test_snapshot_in_slices_is_the_snapshot() -> None:
    at_work = engine()
    at_work.step(one(1.0, "a", key="k"))

    snapshot = take(at_work)

    assert decode_snapshot(encode_snapshot(snapshot)) == msgspec.json.decode(
        msgspec.json.encode(snapshot), type=type(snapshot)
    )


def test_policy_that_ends_the_process_stops_its_queue_instead() -> None:
    class Quits(Says):
        def decide(self, now: float, fired: bool = False) -> Any:
            raise SystemExit(3)

    at_work = engine(queue(), main=Quits(None))

    record = at_work.step(one(1.0, "a"))

    assert isinstance(record.events[0], Accepted)
    assert "SystemExit" in str(at_work.faults[0])


def test_strict_enqueue_refuses_attributes_that_no_queue_declares() -> None:
    at_work = engine(Queue(attributes=("platform",)))
    known = new_ticket("a", 1500, platform="pc")
    typing_error = new_ticket("b", 1500, platfrom="pc")

    record = at_work.step(Enqueue(1.0, (known, typing_error), strict=True))

    accepted, refused = record.events
    assert isinstance(accepted, Accepted)
    assert isinstance(refused, Refused)
    assert "'platfrom' is not declared" in refused.message
    assert "allowed: platform" in refused.message


def test_strict_enqueue_refuses_a_number_in_the_place_of_ids() -> None:
    at_work = engine(Queue(rules=(Rule("avoid", "avoid"),)))
    number, ids = new_ticket("a", 1500, avoid=5.0), new_ticket("b", 1500, avoid=("a", "5"))

    (refused, accepted) = at_work.step(Enqueue(1.0, (number, ids), strict=True)).events

    assert isinstance(refused, Refused)
    assert refused.message == (
        'attribute avoid must be an array of player ids such as ["ada"], got 5'
    )
    assert isinstance(accepted, Accepted)
    # A file cannot tell the id 5 from the number.
    (taken,) = engine(Queue(rules=(Rule("avoid", "avoid"),))).step(Enqueue(1.0, (number,))).events
    assert isinstance(taken, Accepted)


def test_strict_enqueue_takes_pings_for_a_queue_that_does_not_compare_them() -> None:
    at_work = engine(queue())
    pings = new_ticket("a", 1500, latency={"eu": 30.0})

    (accepted,) = at_work.step(Enqueue(1.0, (pings,), strict=True)).events

    assert isinstance(accepted, Accepted)


def test_strict_enqueue_refuses_roles_where_no_queue_has_any() -> None:
    duo = Queue("duo", Format((2, 2), roles=(("tank", 1), ("dps", 1))))
    at_work = engine(queue(), duo)
    tank = Player("a", roles=("tank",))

    record = at_work.step(
        Enqueue(1.0, (NewTicket((tank,)), NewTicket((tank,), ("main", "duo"))), strict=True)
    )

    refused, accepted = record.events
    assert isinstance(refused, Refused)
    assert (refused.where, refused.message) == (
        "/players/0/roles",
        "the ticket's queues have no roles; leave them out",
    )
    assert isinstance(accepted, Accepted)
