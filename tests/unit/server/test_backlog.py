"""Views hear of records after the answers are out, a slice at a time, and all in order."""

import asyncio
from typing import Any

import pytest

from evenmatch.server.views import backlog
from evenmatch.server.views.backlog import Backlog


class Slow:
    """A listener for which each record takes some time of a clock, and which fails at one."""

    def __init__(self, seconds: float, fails_at: Any = None) -> None:
        self.now = 0.0
        self.heard: list[Any] = []
        self._seconds = seconds
        self._fails_at = fails_at

    def reset(self, engine: Any) -> None:
        self.heard.append(engine)

    def hear(self, record: Any) -> None:
        if record == self._fails_at:
            raise ValueError(record)
        self.now += self._seconds
        self.heard.append(record)


def kept(slow: Slow, records: int) -> Backlog:
    late = Backlog(slow, clock=lambda: slow.now)  # type: ignore[arg-type]
    for number in range(records):
        late.hear(number)  # type: ignore[arg-type]
    return late


def test_views_take_two_milliseconds_of_a_round_and_lose_nothing() -> None:
    async def play() -> list[int]:
        slow = Slow(0.0005)
        late = kept(slow, 10)
        sizes = [len(late)]
        while len(late):
            await asyncio.sleep(0)
            sizes.append(len(late))
        assert slow.heard == list(range(10))
        return sizes

    assert asyncio.run(play()) == [10, 6, 2, 0]


def test_record_that_takes_long_is_folded_alone() -> None:
    async def play() -> list[int]:
        late = kept(Slow(1.0), 3)
        sizes = []
        while len(late):
            await asyncio.sleep(0)
            sizes.append(len(late))
        return sizes

    assert asyncio.run(play()) == [2, 1, 0]


def test_whoever_reads_finds_all_folded() -> None:
    async def play() -> None:
        slow = Slow(1.0)
        late = kept(slow, 5)
        late.catch_up()
        assert slow.heard == [0, 1, 2, 3, 4]
        assert not len(late)

    asyncio.run(play())


def test_more_than_the_most_are_folded_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "RECORDS_MAX", 4)

    async def play() -> None:
        slow = Slow(1.0)
        assert len(kept(slow, 5)) == 0
        assert slow.heard == [0, 1, 2, 3, 4]

    asyncio.run(play())


def test_listener_that_fails_is_told_of_and_begins_anew() -> None:
    async def play() -> None:
        slow, errors = Slow(0.0, fails_at=1), list[Exception]()
        late = kept(slow, 3)
        late.begin(errors.append)
        await asyncio.sleep(0)
        assert [str(each) for each in errors] == ["1"]
        late.reset("engine")  # type: ignore[arg-type]
        assert slow.heard == [0, "engine"]

    asyncio.run(play())
