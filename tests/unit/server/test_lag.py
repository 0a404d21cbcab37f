"""The event loop's lateness, and what follows from it, on a clock that a test sets."""

import asyncio
import io
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest
import structlog

from evenmatch.config.server import ServerSettings
from evenmatch.engine.shard import Effect
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.inputs import Accept, Configure, Decline, Enqueue, Input, Prolong
from evenmatch.model.queue import Queue
from evenmatch.model.queue import ReadyCheck as Check
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.server.runtime.clock import Clock
from evenmatch.server.runtime.lag import INTERVAL, READ_MOST, Lag, RecentDurations
from evenmatch.server.runtime.logs import log
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.services import Services, assemble
from evenmatch.server.runtime.stalls import TIMES_MOST

RATED = {"rating": 1500.0}
CHECKED = Queue(name="duel", policy="greedy", accept=Check(seconds=10.0, cooldowns=()))
WATCHED = Queue(
    name="watched", policy="periodic:rounds_of=1000", silent_after=10.0, group="watched"
)


class World:
    """A server whose loop is away when a test says so; the probe never runs by itself."""

    def __init__(self, parts: Services) -> None:
        self.parts = parts
        self.runtime = parts.runtime
        self._now = 0.0
        self.runtime.clock = Clock(parts.runtime.now(), monotonic=lambda: self._now)
        self.lag = self.runtime.lag = Lag(monotonic=lambda: self._now)
        self.lag.begin(self.runtime.note_lag)

    def be_away(self, seconds: float) -> None:
        """Let time pass in which nothing is read."""
        self._now += seconds

    def turn(self, seconds: float) -> None:
        """Let time pass in which the loop comes round as it should."""
        for _ in range(round(seconds / INTERVAL)):
            self._now += INTERVAL
            self.lag.end()
            self.lag._probe()

    async def enter(self, *players: str, queue: str = "duel") -> list[str]:
        new = tuple(NewTicket((Player(player, attributes=RATED),), (queue,)) for player in players)
        views = await self.runtime.ask(Enqueue(self.runtime.now(), new))
        return [view.id for view in views]

    async def accept(self, ticket: str) -> None:
        await self.runtime.ask(Accept(self.runtime.now(), "s0-m1", ticket))

    def state(self, ticket: str) -> tuple[str, str | None]:
        view = self.runtime.engine.view(ticket)
        return view.state, view.reason

    def prolongs(self) -> list[Prolong]:
        records = self.journal.records
        return [each for each in records if isinstance(each, Prolong) and each.seconds > 0.0]

    journal: "Journal"


class Journal(MemoryJournal):
    """Remembers inputs as they are appended."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[object] = []

    async def append(self, shard, owner, epoch, first_seq, records):  # type: ignore[no-untyped-def]
        self.records += [each.input for each in records]
        return await super().append(shard, owner, epoch, first_seq, records)


def play(scene: Callable[[World], Awaitable[None]], *, speed: float = 1.0) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20.0):
            journal = Journal()
            settings = msgspec.structs.replace(ServerSettings(), clock_speed=speed)
            parts = assemble(ShardPlan((CHECKED, WATCHED), settings=settings), journal)
            await parts.runtime.start()
            parts.runtime.lag.end()
            world = World(parts)
            world.journal = journal
            world.runtime.clock.speed = speed
            await scene(world)
            world.lag.end()
            parts.presence.close()
            await parts.runtime.stop()

    asyncio.run(bounded())


def test_answer_that_was_sent_in_time_counts_though_it_is_read_late() -> None:
    async def scene(world: World) -> None:
        begun = world.runtime.now()
        one, other = await world.enter("one", "other")
        world.turn(2.0)
        world.be_away(12.0)
        # The timer is the first to run, as it is on a real loop; the answers are read behind it.
        world.runtime._fire()
        assert world.state(one) == world.state(other) == ("proposed", None)
        await world.accept(one)
        await world.accept(other)
        assert world.state(one) == ("matched", None)
        (prolong,) = world.prolongs()
        assert prolong.now - begun == pytest.approx(2.0, abs=INTERVAL)
        assert prolong.seconds == pytest.approx(12.0 + READ_MOST, abs=INTERVAL)

    play(scene)


def test_player_who_says_nothing_has_what_was_left_of_their_time() -> None:
    async def scene(world: World) -> None:
        one, other = await world.enter("one", "other")
        world.turn(2.0)
        world.be_away(12.0)
        await world.accept(one)
        world.turn(8.0)
        assert world.state(other)[0] == "proposed"
        world.turn(READ_MOST + 2 * INTERVAL)
        world.runtime._fire()
        assert world.state(other) == ("cancelled", "silent")
        assert world.state(one)[0] != "cancelled"

    play(scene)


def test_journal_says_what_time_it_was_after_a_long_turn() -> None:
    async def scene(world: World) -> None:
        await world.enter("one", "other")
        world.be_away(12.0)
        world.runtime.note_lag()
        await world.runtime.look(lambda engine: None)
        assert world.journal.records[-1].now == pytest.approx(world.runtime.now())  # type: ignore[attr-defined]

    play(scene)


def test_short_stalls_are_made_up_for_once_when_time_is_up() -> None:
    async def scene(world: World) -> None:
        begun = world.runtime.now()
        one, other = await world.enter("one", "other")
        # Turns that are too long, one after the other, with many inputs in each.
        for number in range(9):
            world.be_away(0.6)
            for item in range(3):
                await world.enter(f"p{number}-{item}", queue="watched")
            world.turn(INTERVAL)
        assert world.prolongs() == []
        world.turn(10.0 - (world.runtime.now() - begun) + INTERVAL)
        world.runtime._fire()
        assert world.state(one) == ("proposed", None)
        await world.accept(other)
        (prolong,) = world.prolongs()
        assert prolong.tickets == (one, other)
        # Nothing since the last input has fired before.
        assert begun < prolong.now < begun + 10.0
        assert prolong.seconds == pytest.approx(9 * 1.2, abs=1e-3)
        world.turn(9 * 1.2 - INTERVAL)
        world.runtime._fire()
        assert world.state(one) == ("proposed", None)
        world.turn(2 * INTERVAL)
        world.runtime._fire()
        assert world.state(one) == ("cancelled", "silent")
        assert len(world.prolongs()) == 1

    play(scene)


def test_stall_is_owed_to_those_who_were_asked_by_then() -> None:
    async def scene(world: World) -> None:
        await world.enter("one", "other")
        world.turn(1.0)
        world.be_away(0.5)
        later, _ = await world.enter("later", "latest")
        world.turn(11.0)
        world.runtime._fire()
        await world.runtime.look(lambda engine: None)
        (prolong,) = world.prolongs()
        assert prolong.tickets == ("s0-1", "s0-2")
        assert world.state(later) == ("cancelled", "silent")

    play(scene)


def test_time_that_is_up_within_a_stall_undoes_no_merged_round() -> None:
    async def scene(world: World) -> None:
        rounds = Queue("rounds", policy="sweep:every=1", accept=CHECKED.accept, group="rounds")
        await world.runtime.ask(Configure(world.runtime.now(), (CHECKED, rounds), version=2))
        await world.enter("one", "other")
        world.turn(9.0 / 20.0)
        waits, _ = await world.enter("waits", "too", queue="rounds")
        world.be_away(1.8)
        world.runtime._fire()
        now = world.runtime.now()
        assert world.state("s0-1") == ("proposed", None)
        proposals = list(world.runtime.engine.tables.proposals.values())
        assert world.state(waits) == ("proposed", None)
        assert proposals[1].proposed_at == pytest.approx(now, abs=1.1)

    play(scene, speed=20.0)


def test_whoever_joins_a_repair_is_owed_nothing_of_the_stalls_before() -> None:
    async def scene(world: World) -> None:
        one, other = await world.enter("one", "other")
        for _ in range(3):
            world.turn(0.5)
            world.be_away(1.5)
            world.runtime.note_lag()
        await world.accept(one)
        await world.runtime.ask(Decline(world.runtime.now(), "s0-m1", other))
        (joins,) = await world.enter("joins")
        world.turn(9.9)
        assert world.state(joins) == ("proposed", None)
        world.turn(0.2)
        world.runtime._fire()
        assert world.state(joins) == ("cancelled", "silent")

    play(scene)


def test_giving_time_that_is_a_stall_itself_comes_to_an_end() -> None:
    async def scene(world: World) -> None:
        await world.enter("one", "other")
        handle = world.runtime.shard.handle

        def slowly(given: Input, *more: Any) -> list[Effect]:
            world.be_away(0.4 if isinstance(given, Prolong) else 0.0)
            return handle(given, *more)

        world.runtime.shard.handle = slowly  # type: ignore[method-assign]
        world.be_away(0.2)
        for _ in range(40):
            world.turn(0.5)
            world.runtime._fire()
        await world.runtime.look(lambda engine: None)
        assert len(world.prolongs()) == TIMES_MOST
        assert world.state("s0-1") == ("cancelled", "silent")

    play(scene)


def test_stalls_cost_no_more_where_many_are_asked_and_are_forgotten_behind_them() -> None:
    async def scene(world: World) -> None:
        for number in range(100):
            await world.enter(f"{number}-a", f"{number}-b")
        records = len(world.journal.records)
        for number in range(50):
            world.be_away(0.2)
            world.runtime.note_lag()
            match = f"s0-m{number + 1}"
            for ticket in (f"s0-{2 * number + 1}", f"s0-{2 * number + 2}"):
                await world.runtime.ask(Accept(world.runtime.now(), match, ticket))
        assert len(world.journal.records) == records + 100
        # Those of the first fifty stalls who are asked still are owed all of them.
        assert len(world.runtime._stalls._instants) == 50
        for number in range(50, 100):
            for ticket in (f"s0-{2 * number + 1}", f"s0-{2 * number + 2}"):
                await world.runtime.ask(Accept(world.runtime.now(), f"s0-m{number + 1}", ticket))
        await world.enter("one", "other")
        for _ in range(3):
            world.be_away(0.2)
            world.runtime.note_lag()
        assert len(world.runtime._stalls._instants) == 3

    play(scene)


def test_who_is_overdue_is_looked_at_once_for_many_inputs_before_the_deadline_fires() -> None:
    async def scene(world: World) -> None:
        one, other = await world.enter("one", "other")
        world.be_away(0.2)
        world.runtime.note_lag()
        looks = []
        engine = world.runtime.engine
        due = engine.answers_due

        def answers_due(until: float) -> list[str]:
            looks.append(until)
            return due(until)

        engine.answers_due = answers_due  # type: ignore[method-assign]
        # They get their time back, and then it is up for good.
        for _ in range(2):
            world.turn(11.0)
        looks.clear()
        for _ in range(20):
            world.be_away(0.002)
            world.runtime.note_lag()
        assert len(looks) <= 1
        world.be_away(0.2)
        world.runtime.note_lag()
        assert len(looks) <= 2
        assert world.state(one)[0] == world.state(other)[0] == "proposed"

    play(scene)


def test_long_absence_gives_everybody_time_at_once() -> None:
    async def scene(world: World) -> None:
        for number in range(3):
            await world.enter(f"{number}-a", f"{number}-b")
        world.be_away(3.0)
        world.runtime.note_lag()
        await world.runtime.look(lambda engine: None)
        (prolong,) = world.prolongs()
        assert prolong.tickets == ()
        until = [each.until for each in world.runtime.engine.tables.proposals.values()]
        assert all(at == pytest.approx(14.0, abs=0.1) for each in until for at in each.values())

    play(scene)


def test_short_lags_and_loops_without_ready_checks_leave_no_record() -> None:
    async def scene(world: World) -> None:
        await world.enter("one", queue="watched")
        world.be_away(30.0)
        await world.enter("two", queue="watched")
        await world.enter("three", "four")
        world.be_away(INTERVAL + 0.05)
        await world.enter("five", queue="watched")
        assert world.prolongs() == []

    play(scene)


def test_clock_that_runs_faster_excuses_as_much_of_its_own_time() -> None:
    async def scene(world: World) -> None:
        one, other = await world.enter("one", "other")
        world.be_away(2.0)
        await world.accept(one)
        await world.accept(other)
        assert world.state(one) == ("matched", None)
        (prolong,) = world.prolongs()
        assert prolong.seconds == pytest.approx(60.0 * (2.0 + READ_MOST))

    play(scene, speed=60.0)


def test_heartbeats_that_lie_in_the_sockets_are_read_before_anybody_is_judged() -> None:
    async def scene(world: World) -> None:
        beats, silent = await world.enter("beats", "silent", queue="watched")
        presence = world.parts.presence
        world.turn(5.0)
        world.be_away(30.0)
        presence._look()
        presence.seen(beats)
        world.turn(4.0)
        presence._look()
        assert world.state(beats) == world.state(silent) == ("waiting", None)
        world.turn(READ_MOST + 1.0 + 2 * INTERVAL)
        presence._look()
        assert world.state(silent) == ("cancelled", "silent")
        assert world.state(beats) == ("waiting", None)
        world.turn(10.0)
        presence._look()
        assert world.state(beats) == ("cancelled", "silent")

    play(scene)


def test_log_tells_of_long_absences_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    told = io.StringIO()
    monkeypatch.setattr(log, "_logger", structlog.PrintLogger(told))

    async def scene(world: World) -> None:
        for seconds in (0.9, 3.0, 5.0):
            world.be_away(seconds)
            world.runtime.note_lag()
        assert told.getvalue().count("server_was_away") == 1
        assert '"seconds": 3.0' in told.getvalue()
        assert "times_before" not in told.getvalue()
        world.be_away(6.1)
        world.runtime.note_lag()
        # One that is twice as long as the last that was told is told at once.
        assert told.getvalue().count("server_was_away") == 2
        assert '"times_before": 1' in told.getvalue()
        world.turn(60.0)
        world.be_away(1.0)
        world.runtime.note_lag()
        assert told.getvalue().count("server_was_away") == 3

    play(scene)


def test_log_tells_of_an_absence_once_for_all_shards_of_a_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = io.StringIO()
    monkeypatch.setattr(log, "_logger", structlog.PrintLogger(told))
    now = [0.0]

    async def scene() -> None:
        shards = [Lag(monotonic=lambda: now[0]) for _ in range(3)]
        for lag in shards:
            lag.begin(lambda: None)
        now[0] += 3.0
        for lag in shards:
            now[0] += 0.001
            assert lag.notice()[0] > 2.9
        assert told.getvalue().count("server_was_away") == 1
        now[0] += 7.0
        for lag in shards:
            lag.notice()
            lag.end()
        assert told.getvalue().count("server_was_away") == 2
        assert "times_before" not in told.getvalue()

    asyncio.run(scene())


def test_recent_forgets_what_is_long_ago() -> None:
    recent = RecentDurations(60.0, 0.1)
    recent.add(0.0, 0.05)
    recent.add(1.0, 2.0)
    recent.add(30.0, 0.2)
    assert recent.of(30.0) == (3, 2, 2.0)
    assert recent.of(70.0) == (1, 1, 0.2)
    assert recent.of(200.0) == (0, 0, 0.0)


class TestStanding:
    """A loop that is late throughout a second has more to do than it can."""

    def lag(self) -> tuple[Lag, Callable[[float], None]]:
        now = [0.0]
        lag = Lag(monotonic=lambda: now[0])

        def come_round(late: float) -> None:
            now[0] += INTERVAL + late
            lag._probe()

        return lag, come_round

    async def played(self, *late: float) -> float:
        lag, come_round = self.lag()
        lag.begin(lambda: None)
        for each in late:
            come_round(each)
            lag.end()
        return lag.standing

    @pytest.mark.parametrize(
        ("late", "standing"),
        [
            ((5.0,), 0.0),
            ((0.01,) * 10 + (5.0,), 0.01),
            ((0.4,) * 5, 0.4),
            ((0.4,) * 4 + (0.02,), 0.02),
            ((0.4,) * 4 + (0.0, 0.4, 0.4), 0.0),
        ],
    )
    def test_is_the_least_of_a_second(self, late: tuple[float, ...], standing: float) -> None:
        assert asyncio.run(self.played(*late)) == pytest.approx(standing)
