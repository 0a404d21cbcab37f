"""Snapshots: the whole state as bytes, and back."""

import msgspec
import pytest
from msgspec.structs import replace

from evenmatch.engine.engine import Engine
from evenmatch.engine.records import FORMAT
from evenmatch.engine.state import snapshot as module
from evenmatch.engine.state.snapshot import (
    Snapshot,
    decode_snapshot,
    encode_snapshot,
    restore,
    state_hash,
    take,
)
from evenmatch.errors import JournalCorrupt
from evenmatch.model.inputs import Advance, Assign, Cancel, Configure, Enqueue, Input
from evenmatch.model.queue import Criterion, Queue, Scale
from evenmatch.policies.registry import parse_policy
from evenmatch.testing import new_ticket, queue, rule

RATING = Criterion("spread", "rating")
QUEUES = (
    queue("duel", rules=(rule(limit=100, rate=1.0),), wait_max=300.0, exclusive_match=True),
    queue("rounds", policy="periodic:rounds_of=2", criteria=(RATING,), wait_max=60.0),
)


def engine(*inputs: Input) -> Engine:
    made = Engine(lambda each: parse_policy(each.policy))
    for given in inputs:
        made.step(given)
    return made


def busy() -> Engine:
    """Return an engine with something in every table."""
    both = ("duel", "rounds")
    key = Enqueue(0.5, (new_ticket("a", 1000, queues=both), new_ticket("")), "k1", "d1")
    return engine(
        Configure(0.0, QUEUES, seed=9, version=3),
        key,
        Enqueue(1.0, (new_ticket("b", 1050, mode="ctf", maps=("x", "y")),)),
        Enqueue(2.0, (new_ticket("c", 2000, queues=both), new_ticket("d", 2600))),
        Enqueue(2.5, (new_ticket("e", 10),), "k2", "d2"),
        Cancel(3.0, "s0-5", "silent"),
        Assign(4.0, "s0-m1", {"address": "10.0.0.1:7777"}),
    )


def test_snapshot_survives_the_round_trip() -> None:
    before = busy()
    assert before.tables.matches
    assert before.tables.ended
    assert before.tables.busy
    assert before.tables.keys

    found = decode_snapshot(encode_snapshot(take(before)))

    assert found.format == FORMAT
    assert found.shard == "s0"
    assert found.tables == before.tables
    assert found.memories == before.memories()


def test_snapshot_of_another_shard_is_refused() -> None:
    taken = take(busy())
    other = Engine(lambda each: parse_policy(each.policy), shard="s1")

    with pytest.raises(JournalCorrupt, match="this is a snapshot of shard s0, not s1"):
        restore(other, taken)

    assert not other.tables.matches


@pytest.mark.parametrize("rows", [1, 2, 1_000])
def test_slices_are_put_together_as_if_encoded_at_once(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SLICE", rows)
    taken = take(busy())

    assert encode_snapshot(taken) == msgspec.json.encode(taken)


def test_region_and_hosts_of_a_match_survive_the_round_trip() -> None:
    asks = (Criterion("latency", "latency", pairs="region"), Criterion("host_options", "connect"))
    near, far = {"eu": 20.5}, {"eu": 30.0, "us": 20.0}
    before = engine(
        Configure(0.0, (queue(criteria=asks),), seed=1),
        Enqueue(1.0, (new_ticket("a", latency=near, connect=()),)),
        Enqueue(2.0, (new_ticket("b", latency=far, connect=("a",)),)),
    )
    (kept,) = decode_snapshot(encode_snapshot(take(before))).tables.matches.values()

    assert (kept.match.region, kept.match.latency_delta) == ("eu", ((0.0,), (10.0,)))
    assert kept.match.hosts == ("b",)


def test_restored_engine_goes_on_like_the_one_before() -> None:
    before = busy()
    after = engine()
    memories = restore(after, decode_snapshot(encode_snapshot(take(before))))
    after.resume(before.tables.now, memories)

    assert state_hash(after) == state_hash(before)
    after.step(Advance(after.next_wakeup))
    assert after.next_wakeup == before.next_wakeup
    for now in (5.0, 6.0):
        given = Enqueue(now, (new_ticket(f"n{now}", 2500 + now, queues=("duel", "rounds")),))
        assert after.step(given).events == before.step(given).events
    while before.next_wakeup < 1e6:
        given = Advance(before.next_wakeup)
        assert after.step(given).events == before.step(given).events
    assert state_hash(after) == state_hash(before)


def test_snapshot_is_not_touched_by_what_comes_after() -> None:
    at_work = busy()
    snapshot = take(at_work)
    body = encode_snapshot(snapshot)

    at_work.step(Cancel(5.0, "s0-3"))

    assert encode_snapshot(snapshot) == body


def test_newer_format_is_refused() -> None:
    newer = msgspec.structs.replace(take(busy()), format=FORMAT + 1)

    with pytest.raises(JournalCorrupt) as caught:
        decode_snapshot(encode_snapshot(newer))

    assert str(caught.value) == (
        f"the snapshot has format {FORMAT + 1}, this version reads up to {FORMAT}; "
        "use a newer evenmatch"
    )


def test_older_format_is_migrated_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def adds_the_shard(state: bytes) -> bytes:
        return state.replace(b'"format":0', b'"format":1,"shard":"old"')

    monkeypatch.setitem(module.MIGRATIONS, 0, adds_the_shard)

    found = decode_snapshot(b'{"format":0,"tables":{},"memories":{}}')

    assert found == Snapshot(FORMAT, "old", engine().tables, {})


@pytest.mark.parametrize("state", [b"", b"[]", b'{"format":"one"}', b'{"format":1}', b"\x00\xff"])
def test_bytes_that_are_no_snapshot_are_a_corrupt_journal(state: bytes) -> None:
    with pytest.raises(JournalCorrupt, match="the snapshot cannot be read"):
        decode_snapshot(state)


def test_format_without_a_migration_is_a_corrupt_journal() -> None:
    with pytest.raises(JournalCorrupt):
        decode_snapshot(b'{"format":-1}')


def test_equal_inputs_give_equal_states_and_others_do_not() -> None:
    one, two = busy(), busy()
    assert state_hash(one) == state_hash(two)

    two.step(Cancel(5.0, "s0-3"))

    assert state_hash(one) != state_hash(two)


def test_configuration_is_part_of_the_state() -> None:
    plain, other = Configure(0.0, (Queue(),)), Configure(0.0, (Queue(wait_max=5.0),))

    assert state_hash(engine(plain)) != state_hash(engine(other))


def test_snapshot_from_before_meetings_and_handicaps_is_read() -> None:
    before = busy()
    state = msgspec.json.decode(encode_snapshot(take(before)))
    assert state["tables"].pop("met") == {}
    assert "handicap" not in state["tables"]["matches"]["s0-m1"]["match"]
    old = decode_snapshot(msgspec.json.encode(state))
    assert old.tables == before.tables


def test_meetings_survive_the_round_trip() -> None:
    asking = queue("main", criteria=(Criterion("rematch", "recent"),))
    before = engine(Configure(0.0, (asking,)), Enqueue(1.0, (new_ticket("a"), new_ticket("b"))))
    found = decode_snapshot(encode_snapshot(take(before))).tables
    assert found.met == {"default": {"a": {"b": 1.0}, "b": {"a": 1.0}}}
    assert found == before.tables


@pytest.mark.parametrize("policy", ["difference_wait", "rolling:target_wait=20"])
def test_memory_of_another_configuration_is_not_handed_on(policy: str) -> None:
    near = Criterion("spread", "rating", scale=Scale("linear", 1000.0, 2000.0))
    given = replace(queue("main", criteria=(near,)), policy="rolling:target_wait=10")
    before = Engine(lambda each: parse_policy(each.policy))
    before.step(Configure(0.0, (given,)))
    stored = encode_snapshot(take(before))
    changed = before.step(Configure(2.0, (replace(given, policy=policy),), version=2))

    after = Engine(lambda each: parse_policy(each.policy))
    memories = restore(after, decode_snapshot(stored))
    after.apply(changed)
    after.resume(2.0, memories)

    assert after.memories() == before.memories()
