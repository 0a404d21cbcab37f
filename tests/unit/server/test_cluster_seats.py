"""A shard as one node has it, in front of a game that does what a test says."""

import asyncio
import io
import json
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
import structlog

from evenmatch.engine.records import FORMAT
from evenmatch.errors import ConfigError, JournalUnavailable, MatchmakingError
from evenmatch.journals.memory import MemoryJournal
from evenmatch.server.cluster.identity import name_of
from evenmatch.server.cluster.seat import (
    AGAIN_SECONDS,
    UNFIT_SECONDS_MAX,
    UNTRUSTED_SECONDS,
    UNTRUSTED_SECONDS_MAX,
    Seat,
    SeatPlan,
    ShardDrain,
)
from evenmatch.server.runtime.games import Games
from evenmatch.server.runtime.lease_keeping import RELEASED, Claim
from evenmatch.server.runtime.logs import log
from tests.waiting import turns, until

OWNER, OTHER = "a/1@h:1", "b/1@h:2"
LEASE = 30.0


class PlayedGame:
    """What a seat asks of a game.

    Args:
        error: Why it cannot start, if it cannot.
        stuck: Why it cannot be stopped.
    """

    def __init__(
        self, error: MatchmakingError | None = None, stuck: Exception | None = None
    ) -> None:
        runtime = SimpleNamespace(
            lease=(1, LEASE), unready=None, format=FORMAT, refusal=None, is_cut_off=False
        )
        self.services = (SimpleNamespace(runtime=runtime),)
        self.gate = SimpleNamespace(is_keyed=False, look=lambda: None)
        self.may_answer = True
        self.is_lost = asyncio.Event()
        self.is_drained = False
        self.drain_left: float | None = None
        self.saved = self.looks = 0
        self.unreadable: Exception | None = None
        self.not_followed: Exception | None = None
        self._error, self._stuck = error, stuck

    async def refresh(self) -> None:
        if self.unreadable is not None:
            raise self.unreadable

    async def save(self) -> None:
        self.saved += 1

    async def start(self) -> None:
        if self._error is not None:
            raise self._error

    async def stop(self, *, with_snapshot: bool = True) -> None:
        del with_snapshot
        if self._stuck is not None:
            raise self._stuck

    async def follow(self, *, anew: bool = False) -> None:
        del anew
        self.looks += 1
        if self.not_followed is not None:
            raise self.not_followed

    async def raise_format(self) -> None:
        self.services[0].runtime.format = FORMAT

    async def given_up(self) -> None:
        await self.is_lost.wait()

    def drain(self, seconds: float = 60.0) -> None:
        self.drain_left = seconds

    def close(self) -> None:
        pass


def with_seat(
    start: Callable[[], PlayedGame],
    scene: Callable[[Seat, MemoryJournal, "asyncio.Task[None]"], Awaitable[None]],
) -> None:
    """Let a seat live on a journal in memory, and play a scene beside it."""

    async def main() -> None:
        journal = MemoryJournal()
        plan = SeatPlan("", Claim("s0", OWNER, LEASE), journal, cast(Callable[[], Games], start))
        seat = Seat(plan, lambda: 0.0, lambda: None)
        life = asyncio.create_task(seat.live())
        try:
            await scene(seat, journal, life)
        finally:
            life.cancel()
            await asyncio.gather(life, return_exceptions=True)

    asyncio.run(main())


def test_log_names_who_gave_the_shard_away(monkeypatch: pytest.MonkeyPatch) -> None:
    told = io.StringIO()
    monkeypatch.setattr(log, "_logger", structlog.PrintLogger(told))

    async def main() -> None:
        journal = MemoryJournal()
        await journal.lease("s0", OTHER, 60.0)
        start = cast(Callable[[], Games], PlayedGame)
        seat = Seat(SeatPlan("", Claim("s0", OWNER, LEASE), journal, start), lambda: 0.0, no_look)
        life = asyncio.create_task(seat.live())
        try:
            await until(lambda: seat.holder == OTHER, "who has the lease")
            seat.expect()
            await journal.lease("s0", OTHER, RELEASED)
            await until(lambda: seat.present is not None, "the lease")
        finally:
            life.cancel()
            await asyncio.gather(life, return_exceptions=True)

    asyncio.run(main())
    (line,) = [each for each in told.getvalue().splitlines() if '"node_answers"' in each]
    assert json.loads(line)["before"] == name_of(OTHER)


def no_look() -> None:
    pass


def test_shard_whose_journal_does_not_answer_is_cut_off() -> None:
    async def scene(seat: Seat, journal: MemoryJournal, _: Any) -> None:
        del journal
        await until(lambda: seat.present is not None, "the lease")
        runtime = cast(Any, seat.games).services[0].runtime
        assert not seat.is_cut_off
        runtime.is_cut_off, runtime.refusal = True, "the disk of the database is full"
        assert seat.is_cut_off
        assert seat.outage == "the disk of the database is full"

    with_seat(PlayedGame, scene)


def test_node_that_cannot_recover_leaves_the_shard_to_others() -> None:
    async def scene(seat: Seat, journal: MemoryJournal, _: Any) -> None:
        await until(lambda: seat.is_unfit, "the end of the try")
        assert (seat.holder, seat.present, seat.is_held) == ("", None, False)

        async def granted() -> bool:
            try:
                await journal.lease("s0", OTHER, LEASE)
            except MatchmakingError:
                return False
            return True

        # Within the moment for which a lease is given back, not after its whole length.
        while not await granted():
            await asyncio.sleep(0)
        # It learns from the others who has it, and does not ask for it.
        seat.expect()
        assert seat.holder == ""
        seat.note(OTHER)
        assert seat.holder == OTHER

    with_seat(lambda: PlayedGame(ConfigError("a queue is missing")), scene)


@pytest.mark.parametrize(
    ("error", "first"),
    [
        (ConfigError("a queue is missing"), LEASE),
        (JournalUnavailable("it does not answer"), AGAIN_SECONDS),
    ],
)
def test_node_that_fails_again_and_again_waits_longer_up_to_a_bound(
    error: MatchmakingError, first: float
) -> None:
    async def scene(seat: Seat, journal: MemoryJournal, _: Any) -> None:
        del journal
        await until(lambda: seat.is_unfit, "the end of the try")
        loop = asyncio.get_running_loop()
        waits = [seat._unfit_until - loop.time()]
        for _again in range(8):
            await seat._give_back(error)
            waits.append(seat._unfit_until - loop.time())
        assert first - 5.0 < waits[0] <= first
        assert waits[1] > 1.5 * waits[0]
        assert UNFIT_SECONDS_MAX - 5.0 < waits[-1] <= UNFIT_SECONDS_MAX

    with_seat(lambda: PlayedGame(error), scene)


def test_hand_over_ends_even_if_the_game_cannot_be_stopped() -> None:
    async def scene(seat: Seat, journal: MemoryJournal, life: "asyncio.Task[None]") -> None:
        del journal
        await until(lambda: seat.present is not None, "the lease")
        await seat.hand_over(OTHER)
        assert seat.games is None
        with pytest.raises(OSError, match="disk"):
            await life

    with_seat(lambda: PlayedGame(stuck=OSError("the disk is gone")), scene)


def test_shard_that_has_drained_stays_and_can_take_tickets_again() -> None:
    game: list[PlayedGame] = []

    def start() -> PlayedGame:
        game.append(PlayedGame())
        return game[-1]

    async def scene(seat: Seat, journal: MemoryJournal, life: "asyncio.Task[None]") -> None:
        del journal
        await until(lambda: seat.present is not None, "the lease")
        assert (seat.drain, seat.is_drained) == (None, False)
        game[-1].drain_left, game[-1].is_drained = 0.0, True
        assert seat.drain == ShardDrain("/s0", 0.0, True)
        await turns()
        assert seat.present is not None
        assert not life.done()
        game[-1].drain_left, game[-1].is_drained = None, False
        assert (seat.drain, seat.is_drained) == (None, False)

    with_seat(start, scene)


def test_whoever_takes_over_goes_on_with_a_drain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenmatch.server.cluster.seat.ASK_EVERY", 0.01)
    game: list[PlayedGame] = []

    def start() -> PlayedGame:
        game.append(PlayedGame())
        return game[-1]

    async def main() -> None:
        journal = MemoryJournal()
        await journal.lease("s0", OTHER, 60.0)
        plan = SeatPlan("", Claim("s0", OWNER, LEASE), journal, cast(Callable[[], Games], start))
        seat = Seat(plan, lambda: 0.0, lambda: None)
        life = asyncio.create_task(seat.live())
        await until(lambda: seat.holder == OTHER, "who has it")
        seat.hear_drain(ShardDrain("/s0", 5.0, True))
        assert seat.is_drained
        seat.hear_drain(None)
        assert not seat.is_drained
        seat.hear_drain(ShardDrain("/s0", 120.0, False))
        assert not seat.is_drained
        await journal.lease("s0", OTHER, 0.001)
        await until(lambda: seat.present is not None, "the lease")
        left = game[-1].drain_left
        assert left is not None
        assert 60.0 < left <= 120.0
        # What it heard before counts no more: it is the owner who says it now.
        seat.hear_drain(ShardDrain("/s0", 5.0, True))
        assert not seat.is_drained
        life.cancel()
        await asyncio.gather(life, return_exceptions=True)

    asyncio.run(main())


def test_journal_that_does_not_answer_is_told_once_and_when_it_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("evenmatch.server.cluster.seat.ASK_EVERY", 0.001)
    told = io.StringIO()
    monkeypatch.setattr(log, "_logger", structlog.PrintLogger(told))

    async def scene(seat: Seat, journal: MemoryJournal, _: Any) -> None:
        await until(lambda: seat.present is not None, "the lease")
        asked = 0

        async def away(*_: object) -> int:
            nonlocal asked
            asked += 1
            raise JournalUnavailable("the journal is away")

        with monkeypatch.context() as patched:
            patched.setattr(journal, "lease", away)
            cast(Any, seat.games).is_lost.set()
            await until(lambda: asked > 20, "questions")
            assert seat.is_cut_off
        await until(lambda: not seat.is_cut_off, "its answer")

    with_seat(PlayedGame, scene)
    lines = told.getvalue()
    assert (lines.count("lease_not_asked"), lines.count("journal_answers_again")) == (1, 1)


@pytest.mark.parametrize(
    ("error", "first", "most"),
    [
        (ConfigError("a queue is missing"), UNTRUSTED_SECONDS, UNTRUSTED_SECONDS_MAX),
        (JournalUnavailable("it does not answer"), AGAIN_SECONDS, UNFIT_SECONDS_MAX),
    ],
)
def test_node_that_could_not_recover_is_given_the_shard_by_no_healthy_one(
    error: MatchmakingError, first: float, most: float
) -> None:
    async def scene(seat: Seat, journal: MemoryJournal, _: Any) -> None:
        del journal
        await until(lambda: seat.is_unfit, "the end of the try")
        now = asyncio.get_running_loop().time
        assert not seat.may_be_given
        assert first - 5.0 < seat._untrusted_until - now() <= first
        for _again in range(8):
            await seat._give_back(error)
        assert most - 5.0 < seat._untrusted_until - now() <= most
        seat.expect()
        assert seat.holder == ""
        # Whoever has its files read anew has mended them.
        seat.trust()
        assert seat.may_be_given
        assert not seat.is_unfit

    with_seat(lambda: PlayedGame(error), scene)


def with_standby(
    scene: Callable[[Seat, PlayedGame], Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Play a scene with a seat that follows another node."""
    monkeypatch.setattr("evenmatch.server.cluster.seat.FOLLOW_EVERY", 0.01)
    game: list[PlayedGame] = []

    def start() -> PlayedGame:
        game.append(PlayedGame())
        return game[-1]

    async def main() -> None:
        journal = MemoryJournal()
        await journal.lease("s0", OTHER, 60.0)
        plan = SeatPlan("", Claim("s0", OWNER, LEASE), journal, cast(Callable[[], Games], start))
        seat = Seat(plan, lambda: 0.0, lambda: None)
        life = asyncio.create_task(seat.live())
        try:
            await until(lambda: game and game[-1].looks > 1, "the first looks")
            await scene(seat, game[-1])
        finally:
            life.cancel()
            await asyncio.gather(life, return_exceptions=True)

    asyncio.run(main())


@pytest.mark.parametrize(
    "error", [ConfigError("CONFIG is broken"), JournalUnavailable("away"), ValueError("a fault")]
)
def test_node_that_cannot_read_a_shard_says_so_before_it_is_given(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(seat: Seat, game: PlayedGame) -> None:
        await seat.prepare(20.0)
        game.unreadable = error
        with pytest.raises(JournalUnavailable, match=str(error)):
            await seat.prepare(20.0)
        game.unreadable, game.not_followed = None, error
        failed = seat.unfollowed
        with pytest.raises(JournalUnavailable, match=str(error)):
            await seat.prepare(20.0)
        assert seat.unfollowed > failed
        game.not_followed = None
        await seat.prepare(20.0)

    with_standby(scene, monkeypatch)


def test_shard_is_followed_on_after_an_unexpected_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = io.StringIO()
    monkeypatch.setattr(log, "_logger", structlog.PrintLogger(told))

    async def scene(seat: Seat, game: PlayedGame) -> None:
        del seat
        game.not_followed = ValueError("a fault of ours")
        looks = game.looks
        await until(lambda: game.looks > looks + 2, "further looks")
        game.not_followed = None
        await until(lambda: game.looks > looks + 5, "further looks")

    with_standby(scene, monkeypatch)
    assert told.getvalue().count("shard_not_followed") == 1
    assert "a fault of ours" in told.getvalue()
