"""Engine time of a server that is quiet and then restarts."""

import asyncio
import time
from pathlib import Path

import msgspec
import pytest

from evenmatch.journals.sqlite import SqliteJournal
from evenmatch.model.inputs import Enqueue
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.server.runtime.clock import Clock, Clocks
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.runtime import Runtime
from evenmatch.server.runtime.time_notes import FILE_NAME, TimeNote, TimeNotes
from tests.waiting import until

QUEUE = Queue(name="duel", policy="greedy", wait_max=300.0)


class World:
    """Servers one after the other on one directory, on clocks that a test sets."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seconds = 0.0

    async def start(self) -> Runtime:
        journal = SqliteJournal.open(self.folder)
        plan = ShardPlan((QUEUE,), data=self.folder)
        runtime = Runtime(plan, journal, clocks=Clocks(wall=lambda: time.time() + self.seconds))
        await runtime.start()
        runtime.clock = Clock(runtime.now(), monotonic=lambda: self.seconds)
        return runtime


async def _enter(runtime: Runtime, player: str) -> None:
    await runtime.ask(Enqueue(runtime.now(), (NewTicket((Player(player),)),)))


def waited_after(folder: Path, *, is_told: bool, away: float = 0.0) -> tuple[float, float]:
    """Return how long somebody has waited before and after a restart, 110 quiet seconds later."""

    async def scene() -> tuple[float, float]:
        world = World(folder)
        runtime = await world.start()
        await _enter(runtime, "ada")
        born = runtime.engine.tables.waiting["s0-1"].ticket.enqueued_at
        world.seconds += 110.0
        before = runtime.now() - born
        if is_told:
            TimeNotes(runtime.plan.data, runtime.time_note).end()
        await runtime.stop()
        world.seconds += away
        runtime = await world.start()
        after = runtime.now() - born
        await runtime.stop()
        return before, after

    return asyncio.run(scene())


@pytest.mark.parametrize(("away", "counts"), [(0.0, 0.0), (20.0, 20.0), (3_600.0, 60.0)])
def test_whoever_waits_is_as_old_after_a_restart(
    tmp_path: Path, away: float, counts: float
) -> None:
    before, after = waited_after(tmp_path, is_told=True, away=away)

    assert before == pytest.approx(110.0, abs=1.0)
    assert after == pytest.approx(before + counts, abs=1.0)


def test_without_a_note_the_quiet_time_would_be_lost(tmp_path: Path) -> None:
    before, after = waited_after(tmp_path, is_told=False)

    assert after < before - 40.0


def test_note_is_written_while_somebody_waits_and_only_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> tuple[bool, bool]:
        world = World(tmp_path)
        runtime = await world.start()
        notes, looks = TimeNotes(runtime.plan.data, runtime.time_note, every=0.01), []
        note = notes._note
        monkeypatch.setattr(notes, "_note", lambda: looks.append(1) or note())
        watching = asyncio.create_task(notes.watch())
        await until(lambda: len(looks) >= 3)
        is_idle = (tmp_path / FILE_NAME).exists()
        await _enter(runtime, "ada")
        await until((tmp_path / FILE_NAME).exists)
        watching.cancel()
        await runtime.stop()
        return is_idle, True

    assert asyncio.run(scene()) == (False, True)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b'{"sequence": 1, "now": 1e999, "wall": 1.0}',
        # Of a journal that went on further than this one.
        msgspec.json.encode(TimeNote(1_000_000, 5_000.0, 1.0)),
    ],
)
def test_note_that_makes_no_sense_is_passed_over(tmp_path: Path, body: bytes) -> None:
    async def scene() -> float:
        world = World(tmp_path)
        runtime = await world.start()
        await _enter(runtime, "ada")
        await runtime.stop()
        (tmp_path / FILE_NAME).write_bytes(body)
        world.seconds += 30.0
        runtime = await world.start()
        now = runtime.now()
        await runtime.stop()
        return now

    assert asyncio.run(scene()) == pytest.approx(30.0, abs=1.0)


def test_note_with_a_wrong_digit_makes_nobody_old(tmp_path: Path) -> None:
    async def scene() -> tuple[float, float]:
        world = World(tmp_path)
        runtime = await world.start()
        await _enter(runtime, "ada")
        world.seconds += 20.0
        TimeNotes(runtime.plan.data, runtime.time_note).end()
        noted = runtime.now()
        await runtime.stop()
        path = tmp_path / FILE_NAME
        note = msgspec.json.decode(path.read_bytes(), type=TimeNote)
        path.write_bytes(msgspec.json.encode(msgspec.structs.replace(note, now=note.now + 900.0)))
        runtime = await world.start()
        resumed = runtime.now()
        await runtime.stop()
        return noted, resumed

    noted, resumed = asyncio.run(scene())

    assert resumed < noted + 60.0
