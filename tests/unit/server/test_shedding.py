"""Creates beyond what the server can do: a line, an end of the line, and honest times."""

import asyncio
import math

import pytest

from evenmatch.errors import Overloaded
from evenmatch.server.runtime.shedding import (
    COMMIT_MOST,
    LATE_MOST,
    RETRY_MOST,
    STANDING_MOST,
    STANDING_SECONDS,
    TURN_LEAST,
    TURN_MOST,
    WAIT_MOST,
    LoadShedding,
)


class Desk:
    """An admission whose creates take a stated time, without waiting for it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.late = 0.0
        self.age = 0.0
        self.admission = LoadShedding(lambda: self.late, lambda: self.age, clock=lambda: self.now)
        self.rounds = 0

    async def create(self, seconds: float) -> int:
        """Create a ticket; return in which round of the loop it was let in."""
        await self.admission.enter()
        self.now += seconds
        self.admission.leave()
        return self.rounds

    async def waited(self, seconds: float) -> float | None:
        """Create a ticket; return how long that one stood in line, None if it was refused."""
        came_at = self.now
        try:
            await self.admission.enter()
        except Overloaded:
            return None
        let_in_at = self.now
        self.now += seconds
        self.admission.leave()
        return let_in_at - came_at

    async def flood(self, *, each: float, at_once: int, rounds: int) -> list[float | None]:
        """Let so many come in each round of the loop; return how long each stood in line."""
        coming: list[asyncio.Task[float | None]] = []
        for _ in range(rounds):
            coming += [asyncio.create_task(self.waited(each)) for _ in range(at_once)]
            await asyncio.sleep(0)
        return await asyncio.gather(*coming)

    async def count(self, rounds: int) -> None:
        """Count rounds of the loop."""
        for self.rounds in range(rounds):
            await asyncio.sleep(0)


def test_creates_take_no_more_than_their_part_of_a_round() -> None:
    async def play() -> list[int]:
        desk = Desk()
        await desk.create(0.02)
        counting = asyncio.create_task(desk.count(50))
        found = await asyncio.gather(*(desk.create(0.02) for _ in range(12)))
        counting.cancel()
        return found

    found = asyncio.run(play())
    most = max(found.count(each) for each in found)
    assert found == sorted(found)
    assert most * 0.02 <= TURN_LEAST + 0.02


def test_creates_get_as_much_of_a_round_as_all_else_in_it_up_to_a_bound() -> None:
    async def play(other: float) -> float:
        desk = Desk()
        await desk.create(0.001)
        coming = [asyncio.create_task(desk.waited(0.001)) for _ in range(500)]
        for _ in range(10):
            await asyncio.sleep(0)
            desk.now += other
        before, began = desk.admission.waiting, desk.now
        for _ in range(5):
            await asyncio.sleep(0)
            desk.now += other
        let_in, took = before - desk.admission.waiting, desk.now - began
        for each in coming:
            each.cancel()
        await asyncio.gather(*coming, return_exceptions=True)
        return let_in * 0.001 / took

    assert asyncio.run(play(0.02)) == pytest.approx(0.5, abs=0.1)
    assert asyncio.run(play(0.1)) == pytest.approx(TURN_MOST / (TURN_MOST + 0.1), abs=0.05)


def test_line_ends_where_the_answer_would_come_too_late() -> None:
    async def play() -> list[int | BaseException]:
        desk = Desk()
        await desk.create(0.1)
        some = [desk.create(0.1) for _ in range(30)]
        return await asyncio.gather(*some, return_exceptions=True)

    found = asyncio.run(play())
    refused = [each for each in found if isinstance(each, Overloaded)]
    assert 10 <= len(found) - len(refused) <= 13
    times = [each.seconds or 0.0 for each in refused]
    # Each is told a time of their own, as far apart as creates are, in whole seconds and in words.
    assert f"in {math.ceil(times[-1])} s" in str(refused[-1])
    assert times == sorted(times)
    assert times[-1] - times[0] == pytest.approx(0.1 * (len(times) - 1))


def test_line_that_does_not_dissolve_is_kept_short() -> None:
    async def play() -> tuple[list[float | None], list[float | None], list[float | None]]:
        desk = Desk()
        await desk.create(0.002)
        # Eight come where there is time for four or five.
        begins = await desk.flood(each=0.002, at_once=8, rounds=400)
        rest = await desk.flood(each=0.002, at_once=8, rounds=1)
        # After a pause many may come at once again.
        desk.now += 10.0
        burst = await desk.flood(each=0.002, at_once=400, rounds=1)
        return begins, rest, burst

    begins, rest, burst = asyncio.run(play())
    # It stands for a second before it counts as standing, and takes as long to become short.
    assert max(each for each in begins if each is not None) > STANDING_MOST
    late = [each for each in begins[-800:] if each is not None]
    assert 0.4 <= len(late) / 800 <= 0.8
    assert max(late) <= STANDING_MOST + TURN_LEAST + 0.002
    assert None not in rest
    assert None not in burst
    assert STANDING_MOST < max(each for each in burst if each is not None) <= WAIT_MOST


def test_burst_that_dissolves_in_time_is_let_in_whole() -> None:
    async def play() -> list[float | None]:
        desk = Desk()
        await desk.create(0.002)
        waits: list[float | None] = []
        # Each burst takes .9 s, and the next comes when nobody waits any more.
        for _ in range(5):
            waits += await desk.flood(each=0.002, at_once=450, rounds=1)
        assert desk.now > 3 * STANDING_SECONDS
        return waits

    assert None not in asyncio.run(play())


def test_times_are_as_far_off_as_what_was_refused_and_no_farther() -> None:
    async def play() -> tuple[float | None, float | None]:
        desk = Desk()
        await desk.create(0.5)
        desk.late = 2 * LATE_MOST
        for _ in range(500):
            with pytest.raises(Overloaded) as first:
                await desk.create(0.5)
        desk.now += 10_000.0
        with pytest.raises(Overloaded) as later:
            await desk.create(0.5)
        return first.value.seconds, later.value.seconds

    first, later = asyncio.run(play())
    assert first == RETRY_MOST
    assert later == pytest.approx(2 * LATE_MOST + 0.5)


@pytest.mark.parametrize(("late", "age"), [(LATE_MOST + 0.1, 0.0), (0.0, COMMIT_MOST + 0.1)])
def test_loop_that_is_late_and_journal_that_is_behind_refuse(late: float, age: float) -> None:
    async def play() -> None:
        desk = Desk()
        await desk.create(0.01)
        desk.late, desk.age = late, age
        with pytest.raises(Overloaded):
            await desk.create(0.01)
        desk.late = desk.age = 0.0
        await desk.create(0.01)

    asyncio.run(play())


def test_whoever_left_the_line_takes_nobody_s_turn() -> None:
    async def play() -> int:
        desk = Desk()
        await desk.create(0.06)
        waiting = [asyncio.create_task(desk.create(0.06)) for _ in range(5)]
        await asyncio.sleep(0)
        for each in waiting[:3]:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return desk.admission.waiting

    assert asyncio.run(play()) == 0
