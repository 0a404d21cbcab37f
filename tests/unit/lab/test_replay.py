"""A journal decided again: the same where nothing changed, else the first difference."""

import asyncio
import random
import sqlite3
from pathlib import Path

import msgspec
import pytest

from evenmatch.engine.records import Record
from evenmatch.errors import ConfigError, JournalCorrupt
from evenmatch.journals.sqlite import SqliteJournal
from evenmatch.lab.replay.counterfactual import CounterfactualResult, with_other_policy
from evenmatch.lab.replay.redecide import ReplayResult, redecide
from evenmatch.lab.replay.source import open_source
from evenmatch.model.events import Matched
from evenmatch.model.inputs import (
    Accept,
    Advance,
    Assign,
    Cancel,
    Close,
    Configure,
    Decline,
    Enqueue,
    Finish,
    Input,
    Open,
    Outcome,
    Prolong,
    Update,
    Void,
)
from evenmatch.model.queue import Criterion, Format, Queue, Rule, Sample, Scale
from evenmatch.model.queue import ReadyCheck as ReadyCheck
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.policies.registry import POLICIES, parse_policy
from evenmatch.testing import new_ticket
from evenmatch.testing.scripts import QUEUES, RULED_QUEUES
from tests.unit.lab.journals import Played, delete_before, rewrite

CLOSE = Criterion("spread", "rating", scale=Scale(min=1000.0, max=2000.0))
DUEL = Queue("duel", policy="greedy", criteria=(CLOSE,))


def redecided(data: Path) -> ReplayResult:
    with open_source(data, "s0") as source:
        return redecide(source, lambda done, total: None)


def compared(data: Path, policy: str, queue: str | None = None) -> CounterfactualResult:
    with open_source(data, "s0") as source:
        return with_other_policy(source, policy, lambda done, total: None, queue=queue)


def some_players(
    rng: random.Random, count: int, *, since: float, queues: tuple[str, ...] = ("duel",)
) -> list[Input]:
    """Return players who come about every half second; one in ten cancels a little later."""
    inputs: list[Input] = []
    now = since
    for n in range(count):
        now += rng.expovariate(2.0)
        name = f"p{since:g}-{n}"
        inputs.append(Enqueue(now, (new_ticket(name, rng.gauss(1500, 150), queues=queues),)))
        if rng.random() < 0.1:
            inputs.append(Cancel(now, f"s0-{n // 2 + 1}"))
    return inputs


def everything(rng: random.Random) -> Played:
    """Return a world with a ready-check, backfill, ratings, jobs, jitter, pauses and timers."""
    checked = Queue(
        "checked",
        policy="window:limit=100,rate=20",
        accept=ReadyCheck(4.0, loss_max=0.5, cooldowns=(5.0, 30.0)),
        criteria=(CLOSE,),
        wait_max=60.0,
    )
    rated = Queue(
        "rated", policy="price", criteria=(CLOSE,), rating="glicko2", group="b", rating_period=20.0
    )
    filled = Queue(
        "filled",
        Format((2, 2)),
        (CLOSE,),
        policy="rounds:every=2",
        backfill="automatic",
        group="c",
        commit_jitter=1.0,
        exclusive_match=True,
    )
    ranked = Queue(
        "ranked",
        policy="periodic:rounds_of=4",
        rules=(Rule("spread", "rating", 0.5, unit="percentile", sample=Sample(last=50)),),
        group="d",
        wait_max=9.0,
        on_deadline="bots",
    )
    queues = (checked, rated, filled, ranked)
    world = Played().hand_in(Configure(0.0, queues, 5))
    now = 0.0
    for n in range(160):
        now += rng.expovariate(2.0)
        queue = ("checked", "rated", "filled", "ranked")[n % 4]
        ticket = new_ticket(f"p{n}", rng.gauss(1500, 100), queues=(queue,))
        too_many = NewTicket(tuple(Player(f"q{n}-{m}") for m in range(5)), (queue,))
        world.hand_in(Enqueue(now, (ticket, too_many) if n % 9 == 0 else (ticket,), key=f"k{n}"))
        _react(rng, world, now)
        if n == 80:
            pause = msgspec.structs.replace(rated, policy="greedy")
            world.hand_in(Configure(now, (checked, pause, filled, ranked), 5, 2, ("checked",)))
        if n == 90:
            world.hand_in(Configure(now, queues, 5, 3))
    return world.wait(now + 30.0)


def _react(rng: random.Random, world: Played, now: float) -> None:
    """Answer proposals; assign, leave, call off, finish and report matches."""
    tables = world.engine.tables
    for proposal in list(tables.proposals.values()):
        for ticket in proposal.tickets:
            draw = rng.random()
            if draw < 0.7:
                world.hand_in(Accept(now, proposal.match.id, ticket))
            elif draw < 0.8:
                world.hand_in(Decline(now, proposal.match.id, ticket))
    kept = list(tables.matches.values())[-1:]
    for match in (each.match for each in kept if each.void is None):
        draw = rng.random()
        if draw < 0.2:
            world.hand_in(Assign(now, match.id, {"connect": "10.0.0.1"}))
        elif draw < 0.3:
            world.hand_in(Void(now, match.id, "no server"))
        elif draw < 0.5:
            world.hand_in(Outcome(now, match.id, ranks=(1.0, 2.0)))
        elif draw < 0.7 and match.queue == "filled" and match.extends is None:
            left = match.players[0][:1]
            world.hand_in(Open(now, match.id, 0, left=left, lease=10.0))
        elif draw < 0.8:
            world.hand_in(Close(now, match.id), Finish(now, match.id))
    if waiting := list(tables.waiting):
        world.hand_in(Update(now, rng.choice(waiting), {}))


def test_all_that_an_engine_can_do_is_decided_the_same(tmp_path: Path) -> None:
    world = everything(random.Random(1))
    told = redecided(world.write(tmp_path))
    assert told.first_difference is None
    assert told.records == len(world.records)
    kinds = {"configure", "enqueue", "advance", "accept", "decline", "settle", "open", "outcome"}
    assert kinds < set(told.inputs)
    events = {type(event).__name__ for record in world.records for event in record.events}
    missing = {"Proposed", "SeatsFreed", "Repaired", "Rated", "JobSettled", "Penalised"} - events
    assert not missing, "the world is too small to show these"
    made = sum(isinstance(e, Matched) for record in world.records for e in record.events)
    assert told.matches == made > 40


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_decides_the_same_again(name: str, tmp_path: Path) -> None:
    queue = next(each for each in (*QUEUES, *RULED_QUEUES) if accepts(name, each))
    rng = random.Random(name)
    world = Played().hand_in(Configure(0.0, (msgspec.structs.replace(queue, policy=name),), 3))
    now = 0.0
    for n in range(200):
        now += rng.expovariate(1.0)
        facts = {"side": rng.choice(queue.format.sides)} if queue.format.sides else {}
        world.hand_in(Enqueue(now, (new_ticket(f"p{n}", rng.gauss(1200, 100), **facts),)))
    told = redecided(world.wait(now + 100.0).write(tmp_path))
    assert told.first_difference is None
    assert told.tickets == 200
    assert told.matches > 3


def accepts(name: str, queue: Queue) -> bool:
    if any(rule.condition is not None for rule in queue.rules):
        return name == "by_rules"
    if any(rule.kind not in {"spread"} or rule.attribute != "rating" for rule in queue.rules):
        return False
    try:
        parse_policy(name).matcher(queue, seed=1)
    except ConfigError:
        return False
    return True


def with_quality(record: Record, quality: float) -> Record:
    """Return a record whose match is said to be worth something else."""
    events = tuple(
        Matched(msgspec.structs.replace(event.match, quality=quality))
        if isinstance(event, Matched)
        else event
        for event in record.events
    )
    assert events != record.events
    return msgspec.structs.replace(record, events=events)


def a_duel(seed: int = 1) -> Played:
    world = Played().hand_in(Configure(0.0, (DUEL,)))
    return world.hand_in(*some_players(random.Random(seed), 40, since=0.0))


def test_a_changed_record_is_the_first_difference(tmp_path: Path) -> None:
    world = a_duel()
    data = world.write(tmp_path)
    number = [r.sequence for r in world.records if isinstance(r.events[-1], Matched)][7]
    rewrite(data, [with_quality(world.records[number - 1], 0.25)])
    told = redecided(data)
    assert told.first_difference is not None
    difference = told.first_difference.difference
    assert (difference.record.sequence, told.records) == (number, number - 1)
    (decided,) = difference.decided[difference.first :]
    assert decided == world.records[number - 1].events[-1]
    assert told.first_difference.reasons == ()


def test_a_changed_input_is_found_where_it_first_changes_a_decision(tmp_path: Path) -> None:
    world = a_duel()
    data = world.write(tmp_path)
    third = world.records[3]
    assert isinstance(third.input, Enqueue)
    stranger = (new_ticket("stranger", 1000.0, queues=("duel",)),)
    rewrite(data, [msgspec.structs.replace(third, input=Enqueue(third.input.now, stranger))])
    told = redecided(data)
    assert told.first_difference is not None
    assert told.first_difference.difference.record.sequence == 5


def test_a_timer_that_the_journal_does_not_know_is_told_with_its_instant(tmp_path: Path) -> None:
    queue = msgspec.structs.replace(DUEL, policy="window:limit=1", wait_max=5.0)
    world = Played().hand_in(Configure(0.0, (queue,)))
    world.hand_in(Enqueue(1.0, (new_ticket("ada", 1500.0),)))
    world.hand_in(Enqueue(9.0, (new_ticket("bob", 1500.0),)))
    assert isinstance(world.records[2].input, Advance)
    # As if the record of the expiry had never been written.
    world.records[2:] = [msgspec.structs.replace(world.records[3], sequence=3)]
    found = redecided(world.write(tmp_path)).first_difference
    assert found is not None
    assert (found.difference.at, found.difference.record.input.now) == (6.0, 9.0)


def change(data: Path, statement: str) -> None:
    connection = sqlite3.connect(data / "journal.db")
    with connection:
        connection.execute(statement)
    connection.close()


def test_an_input_that_would_be_refused_now_is_a_difference(tmp_path: Path) -> None:
    world = a_duel()
    data = world.write(tmp_path)
    cancelled = world.records[5]
    given = Cancel(cancelled.input.now, "s0-999")
    rewrite(data, [msgspec.structs.replace(cancelled, input=given)])
    found = redecided(data).first_difference
    assert found is not None
    assert found.difference.refused == "no ticket has the id 's0-999'"


def test_time_that_runs_backwards_is_damage(tmp_path: Path) -> None:
    world = a_duel()
    data = world.write(tmp_path)
    rewrite(data, [msgspec.structs.replace(world.records[9], input=Cancel(0.0, "s0-1"))])
    with pytest.raises(
        JournalCorrupt, match=r"record 10 is at 0\.0 s, but the one before it is at"
    ):
        redecided(data)


@pytest.mark.parametrize("is_stopped", [True, False])
def test_what_came_after_restarts_is_decided_the_same(is_stopped: bool, tmp_path: Path) -> None:
    # These learn: the limit, the rate of arrivals, the round.
    queues = tuple(
        msgspec.structs.replace(DUEL, name=f"q{n}", policy=policy, group=f"g{n}")
        for n, policy in enumerate(["price", "periodic:rounds_of=6", "rounds:every=2", "gap_value"])
    )
    rng = random.Random(2)
    world = Played().hand_in(Configure(0.0, queues))
    for part in range(3):
        since = world.engine.tables.now
        for n in range(4):
            inputs = some_players(rng, 20, since=since + n * 20, queues=(f"q{n}",))
            world.hand_in(*(each for each in inputs if isinstance(each, Enqueue)))
        if is_stopped or part == 1:
            world.stop()
        world.start()
        world.hand_in(Prolong(world.engine.tables.now, 5.0))
    data = world.hand_in(Enqueue(1e4, (new_ticket("last", 1500.0, queues=("q0",)),))).write(
        tmp_path
    )
    told = redecided(data)
    assert told.first_difference is None
    assert len(told.starts) == 3


def test_a_difference_after_a_restart_says_that_it_may_be_the_reason(tmp_path: Path) -> None:
    world = a_duel().start()
    since = world.engine.tables.now
    world.hand_in(*some_players(random.Random(3), 10, since=since + 1))
    data = world.write(tmp_path, package="0.0.1")
    number = [r.sequence for r in world.records if isinstance(r.events[-1], Matched)][-1]
    rewrite(data, [with_quality(world.records[number - 1], 0.25)])
    found = redecided(data).first_difference
    assert found is not None
    assert found.reasons[0].startswith("evenmatch 0.0.1 wrote the record")
    assert found.reasons[1].startswith(
        f"the server was started again before record {world.starts[1]}"
    )


@pytest.mark.parametrize("has_snapshot", [True, False])
def test_after_a_difference_a_replay_goes_on_where_the_state_is_known(
    has_snapshot: bool, tmp_path: Path
) -> None:
    rng = random.Random(3)
    world = a_duel().start()
    world.hand_in(*some_players(rng, 10, since=world.engine.tables.now + 1))
    changed = [r.sequence for r in world.records if isinstance(r.events[-1], Matched)][-1]
    world.hand_in(*some_players(rng, 10, since=world.engine.tables.now + 1))
    if has_snapshot:
        world.stop()
    between = len(world.records)
    world.start()
    world.hand_in(*some_players(rng, 20, since=world.engine.tables.now + 1))
    data = world.write(tmp_path)
    rewrite(data, [with_quality(world.records[changed - 1], 0.25)])
    told = redecided(data)
    assert told.first_difference is not None
    assert told.first_difference.difference.record.sequence == changed
    assert told.skipped == [(changed, between)]
    assert told.records == len(world.records) - (between - changed + 1)
    assert told.starts[-1] == between + 1


def test_a_replay_begins_with_the_oldest_snapshot_where_records_are_deleted(tmp_path: Path) -> None:
    world = a_duel().stop()
    covered = len(world.records)
    world.start().hand_in(*some_players(random.Random(3), 40, since=world.engine.tables.now + 1))
    world.stop()
    data = world.write(tmp_path)
    delete_before(data, covered - 3)
    told = redecided(data)
    assert told.first_difference is None
    assert (told.first, told.records) == (covered + 1, len(world.records) - covered)


def test_a_snapshot_taken_while_a_job_ran_is_a_beginning_too(tmp_path: Path) -> None:
    queue = msgspec.structs.replace(DUEL, policy="rounds:every=2")
    world = Played(solve_time=0.75).hand_in(Configure(0.0, (queue,)))
    rng = random.Random(6)
    for given in some_players(rng, 120, since=0.0):
        world.hand_in(given)
        is_running = world.engine.pools["duel"].slot.running is not None
        if is_running and given.now > 20.0 and not world.snapshots:
            world.stop()
    (taken,) = world.snapshots
    data = world.write(tmp_path)
    delete_before(data, taken + 1)
    told = redecided(data)
    assert told.first_difference is None
    assert told.first > taken + 1, "records were folded until the job was back"
    assert told.matches > 10


def test_records_without_any_beginning_are_damage(tmp_path: Path) -> None:
    data = a_duel().write(tmp_path)
    delete_before(data, 5)
    with pytest.raises(JournalCorrupt, match="records 1 to 4 of shard 's0' are gone"):
        redecided(data)


def test_a_record_that_fails_its_checksum_is_damage(tmp_path: Path) -> None:
    data = a_duel().write(tmp_path)
    change(data, "UPDATE records SET body = replace(body, 'p0-3', 'p0-x') WHERE seq = 5")
    with pytest.raises(JournalCorrupt, match="record 5 of shard 's0' fails its checksum"):
        redecided(data)


def test_a_server_may_write_meanwhile(tmp_path: Path) -> None:
    world = a_duel()
    data = world.write(tmp_path)

    async def write_on() -> ReplayResult:
        journal = SqliteJournal.open(data, wall=lambda: 1e9)
        epoch = await journal.lease("s0", "me", 1e8)
        with open_source(data, "s0") as source:
            # Replay looks at what was there when it began.
            next_one = Record(len(world.records) + 1, Cancel(1e6, "nobody"), ())
            await journal.append("s0", "me", epoch, next_one.sequence, [next_one])
            told = redecide(source, lambda done, total: None)
        await journal.close()
        return told

    told = asyncio.run(write_on())
    assert (told.first_difference, told.records) == (None, len(world.records))


def test_the_same_policy_does_the_same_in_the_other_world(tmp_path: Path) -> None:
    found = compared(a_duel().write(tmp_path), "greedy")
    assert found.journal == found.other
    assert found.journal["duel"]["matches"] > 10


def test_another_policy_is_compared_on_the_same_tickets(tmp_path: Path) -> None:
    found = compared(a_duel().write(tmp_path), "window:limit=20")
    was, would = found.journal["duel"], found.other["duel"]
    assert would["matches"] < was["matches"]
    assert would["quality"] > was["quality"]
    assert would["wait"]["mean"] > was["wait"]["mean"]
    assert set(would["wait"]) == {"mean", "p50", "p90"}


def test_another_policy_solves_its_jobs_and_plays_ready_checks_at_once(tmp_path: Path) -> None:
    data = everything(random.Random(1)).write(tmp_path)
    found = compared(data, "rounds:every=3", "checked")
    was, would = found.journal["checked"], found.other["checked"]
    assert would["matches"] > 5
    assert (was["matches"], would["matches"]) != (0, was["matches"])
    # Another shard may have that queue.
    assert list(compared(data, "greedy", "nope").journal) == [
        "checked",
        "rated",
        "filled",
        "ranked",
    ]


def test_a_policy_that_cannot_play_is_refused_in_one_sentence(tmp_path: Path) -> None:
    data = a_duel().write(tmp_path)
    with pytest.raises(ConfigError, match="no policy is called 'nope'"):
        compared(data, "nope")
    with pytest.raises(ConfigError, match="policy adaptive_sides cannot play these inputs"):
        compared(data, "adaptive_sides")
