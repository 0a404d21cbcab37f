"""Where a replay begins whose first records are deleted."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from evenmatch.engine.admission.shard_limits import ShardLimits
from evenmatch.engine.state.snapshot import decode_snapshot
from evenmatch.errors import JournalUnavailable
from evenmatch.journals.reading import first_of
from evenmatch.lab.replay import source as replay_source
from evenmatch.lab.replay.redecide import ReplayResult, redecide
from evenmatch.lab.replay.source import open_source, start_point
from evenmatch.model.events import Repaired
from evenmatch.model.inputs import Accept, Configure, Decline, Enqueue, Open
from evenmatch.model.queue import Criterion, Expansion, Format, Queue, Rule, Scale
from evenmatch.model.queue import ReadyCheck as ReadyCheck
from evenmatch.testing import new_ticket
from tests.unit.lab.journals import Played, delete_before

CLOSE = Criterion("spread", "rating", scale=Scale(min=1000.0, max=2000.0))
WIDENS = Rule("spread", "rating", 50.0, expand=Expansion(rate=10.0))
FILLED = Queue("filled", Format((2, 2)), (CLOSE,), (WIDENS,), policy="greedy", backfill="manual")
CHECKED = Queue("checked", Format((1, 1)), (CLOSE,), (WIDENS,), accept=ReadyCheck(60.0, 0.5))


def test_what_limits_refused_is_unknown_to_matchers_of_a_beginning_too() -> None:
    teams = Queue("teams", Format((2, 2)), (CLOSE,), policy="threshold:wait_max=1000.0")
    rounds = Queue("rounds", Format((2, 2)), (CLOSE,), policy="rounds:every=2")
    world = Played(solve_time=1.0)
    world.engine.limits = ShardLimits(text_max=8)
    world.hand_in(Configure(0.0, (rounds, teams), 1))
    for n in range(6):
        name = f"p{n}"
        world.hand_in(
            Enqueue(0.125 + n / 8, (new_ticket(name, 1400 + n * 30, queues=("rounds",)),))
        )
    world.wait(2.5)
    assert world.engine.pools["rounds"].slot.running is not None
    taken = world.stop().engine.tables.sequence
    several = [new_ticket(name, 1500, queues=("teams",)) for name in ("far too long a name", "ada")]
    world.hand_in(Enqueue(2.625, tuple(several))).wait(4.0)
    begin = start_point(decode_snapshot(world.snapshots[taken]), world.records[taken:])
    assert begin.tables.sequence > taken + 1, "records were folded until the plan was back"
    waiting = [row.ticket.sequence for row in begin.tables.waiting.values()]
    known = {sequence for sequence, _ in begin.memories["teams"]["rule"]["falls"]}
    assert known == set(waiting) - {1, 2, 3, 4, 5, 6}


def enter(now: float, name: str, rating: float) -> Enqueue:
    return Enqueue(now, (new_ticket(name, rating),))


def redecided(world: Played, folder: Path) -> ReplayResult:
    """Return what a replay tells that has no record before the snapshot."""
    (taken,) = world.snapshots
    data = world.write(folder)
    delete_before(data, taken + 1)
    with open_source(data, "s0") as source:
        return redecide(source, lambda done, total: None)


def with_an_open_match() -> Played:
    """Return a world in which a match may be joined half a second later by who waits."""
    world = Played().hand_in(Configure(0.0, (FILLED,)))
    world.hand_in(*(enter(1.0, name, 1500.0) for name in ("ada", "bob", "cid", "dan")))
    world.hand_in(Open(2.0, "s0-m1", 0, ("ada",), lease=1000.0), enter(3.0, "eve", 1600.0))
    return world.hand_in(enter(7.5, "far", 9000.0))


def test_a_match_with_free_seats_is_filled_before_a_replay_begins(tmp_path: Path) -> None:
    world = with_an_open_match().stop()
    world.hand_in(enter(12.0, "fay", 1000.0), enter(13.0, "gus", 1000.0))
    told = redecided(world, tmp_path)
    (taken,) = world.snapshots
    assert told.first_difference is None
    assert world.records[taken].input.now == 8.0, "the match is filled when the rule allows it"
    assert (told.first, told.records) == (taken + 2, len(world.records) - taken - 1)


def test_a_failed_ready_check_is_repaired_before_a_replay_begins(tmp_path: Path) -> None:
    world = Played().hand_in(Configure(0.0, (CHECKED,)))
    world.hand_in(enter(1.0, "ada", 1500.0), enter(1.0, "bob", 1500.0))
    (proposal,) = world.engine.tables.proposals
    world.hand_in(Accept(2.0, proposal, "s0-1"), Decline(2.0, proposal, "s0-2"))
    world.hand_in(enter(3.0, "eve", 1560.0), enter(3.75, "far", 9000.0)).stop()
    world.wait(20.0).hand_in(enter(21.0, "fay", 4000.0))
    (taken,) = world.snapshots
    repaired = next(
        record for record in world.records if any(type(e) is Repaired for e in record.events)
    )
    told = redecided(world, tmp_path)
    assert told.first_difference is None
    assert told.first == repaired.sequence + 1 > taken + 1


def test_a_match_that_stays_open_is_named_as_the_reason_of_a_difference(tmp_path: Path) -> None:
    world = with_an_open_match()
    world.hand_in(*(enter(7.5, f"p{n}", 5000.0) for n in range(4)))
    world.hand_in(Open(7.5, "s0-m2", 0, ("p0",), lease=1000.0)).stop()
    told = redecided(world.hand_in(enter(12.0, "fay", 1000.0)), tmp_path)
    assert told.first_difference is not None
    assert told.first_difference.difference.record.input.now == 8.0, "it looked too late for this"
    assert told.first_difference.reasons[-1] == (
        "s0-m1, s0-m2 had seats to fill when the replay began, and when a match looks for "
        "players again is in no snapshot"
    )


def test_what_is_deleted_while_a_replay_is_opened_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = with_an_open_match().stop()
    data = world.hand_in(enter(12.0, "fay", 1000.0)).stop().write(tmp_path)
    delete_before(data, 3)

    def deleting(connection: sqlite3.Connection, shard: str) -> int | None:
        """Let the server delete, just before this is read: its snapshots are of later records."""
        delete_before(data, len(world.records))
        with closing(sqlite3.connect(data / "journal.db")) as other, other:
            other.execute("DELETE FROM snapshots")
        return first_of(connection, shard)

    monkeypatch.setattr(replay_source, "first_of", deleting)
    told = "oldest records of shard 's0' while they were read"
    with pytest.raises(JournalUnavailable, match=told), open_source(data, "s0") as source:
        redecide(source, lambda done, total: None)
