"""Creates beyond what the server can do: a line, an end of the line, and honest times."""

import asyncio

import pytest

from evenmatch.errors import Overloaded
from evenmatch.server.runtime.shedding import (
    COMMIT_MOST,
    LATE_MOST,
    RETRY_MOST,
    TURN_MOST,
    Admission,
)


class Desk:
    """An admission whose creates take a stated time, without waiting for it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.late = 0.0
        self.age = 0.0
        self.admission = Admission(lambda: self.late, lambda: self.age, clock=lambda: self.now)
        self.rounds = 0

    async def create(self, seconds: float) -> int:
        """Create a ticket; return in which round of the loop it was let in."""
        await self.admission.enter()
        self.now += seconds
        self.admission.leave()
        return self.rounds

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
    assert most * 0.02 <= TURN_MOST + 0.02


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
    # Each is told a time of their own, as far apart as creates are.
    assert times == sorted(times)
    assert times[-1] - times[0] == pytest.approx(0.1 * (len(times) - 1))


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
