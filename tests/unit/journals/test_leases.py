"""Leases that are over by what was seen, on one's own clock."""

import pytest

from evenmatch.errors import StaleOwner
from evenmatch.journals.leases import LeaseWatch


class Clock:
    def __init__(self) -> None:
        self.now = 1e6

    def __call__(self) -> float:
        return self.now


def test_whole_time_counts_from_the_first_sight() -> None:
    clock = Clock()
    watch = LeaseWatch(clock)
    assert watch.remaining("s0", ("one", 1, 7), 10.0) == 10.0
    clock.now += 9.5
    assert watch.remaining("s0", ("one", 1, 7), 10.0) == 0.5
    clock.now += 0.5
    assert watch.remaining("s0", ("one", 1, 7), 10.0) == 0.0


@pytest.mark.parametrize("renewal", [("one", 1, 8), ("one", 2, 7), ("two", 1, 7)])
def test_what_changed_is_watched_anew(renewal: tuple[str, int, int]) -> None:
    clock = Clock()
    watch = LeaseWatch(clock)
    watch.remaining("s0", ("one", 1, 7), 10.0)
    clock.now += 10.0
    assert watch.remaining("s0", renewal, 10.0) == 10.0


def test_shards_are_watched_apart() -> None:
    clock = Clock()
    watch = LeaseWatch(clock)
    watch.remaining("s0", ("one", 1, 7), 10.0)
    clock.now += 10.0
    assert watch.remaining("s1", ("one", 1, 7), 10.0) == 10.0


def test_refusal_says_who_and_for_how_long() -> None:
    clock = Clock()
    watch = LeaseWatch(clock)
    with pytest.raises(StaleOwner, match=r"'s0' is held by 'one' .* 10\.000 s .* 'two'") as found:
        watch.check_over("s0", ("one", 1, 7), 10.0, "two")
    # The owner may be a healthy node: whoever reads this must not be sent to stop it.
    assert "in a cluster whose nodes share the journal, the other node does" in str(found.value)
    assert str(found.value).index("in a cluster") < str(found.value).index("stop")
    clock.now += 10.0
    watch.check_over("s0", ("one", 1, 7), 10.0, "two")
