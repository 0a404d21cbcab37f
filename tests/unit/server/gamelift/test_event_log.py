"""Events that are kept for those who follow and come back."""

from typing import Any

from evenmatch.server.gamelift import event_log
from evenmatch.server.gamelift.event_log import EventLog, Filter
from evenmatch.server.views.followers import Event, Follower

ALL = Filter()


def envelope(number: int, size: int = 0) -> dict[str, Any]:
    return {"detail": {"type": "MatchmakingSearching", "number": number, "more": "x" * size}}


def followed(log: EventLog, wanted: Filter = ALL) -> Follower:
    follower = Follower()
    log.join(follower, wanted, None)
    return follower


def taken(follower: Follower) -> list[Event]:
    found = []
    while (event := follower.take()) is not None:
        found.append(event)
    return found


def test_numbers_rise_within_a_record_and_from_one_to_the_next() -> None:
    log = EventLog()
    log.begin(4)
    follower = followed(log)
    log.turn(5)
    log.put("q", envelope(1))
    log.put("q", envelope(2))
    log.turn(6)
    log.put("q", envelope(3))
    numbers = [event.sequence for event in taken(follower)]
    assert numbers == sorted(set(numbers))
    assert [number // event_log.PLACES for number in numbers] == [5, 5, 6]


def test_follower_hears_of_the_configurations_it_asks_for_and_may_see() -> None:
    log = EventLog()
    log.begin(1)
    one, both, barred = (
        followed(log, Filter(queue="a")),
        followed(log, Filter(frozenset({"a", "b"}))),
        followed(log, Filter(frozenset({"c"}), "a")),
    )
    log.turn(2)
    for queue in ("a", "b", "c"):
        log.put(queue, envelope(0))
    assert [len(taken(each)) for each in (one, both, barred)] == [1, 2, 0]
    assert len(log.join(Follower(), Filter(frozenset({"b"})), event_log.PLACES * 2)) == 1
    log.part(one)
    log.put("a", envelope(1))
    assert taken(one) == []


def test_who_comes_back_gets_what_it_missed_and_is_told_of_what_is_gone() -> None:
    log = EventLog()
    log.begin(1)
    follower = followed(log)
    log.turn(2)
    for number in range(5):
        log.put("q", envelope(number))
    heard = [event.sequence for event in taken(follower)]
    again = log.join(Follower(), ALL, heard[1])
    assert [event.sequence for event in again] == heard[2:]
    assert log.join(Follower(), ALL, heard[-1]) == []
    for strange in (3, heard[-1] + event_log.PLACES):
        assert log.join(Follower(), ALL, strange)[0].name == "missed"
    log.begin(9)
    (missed,) = log.join(Follower(), ALL, heard[-1])
    assert missed.name == "missed"
    assert log.join(Follower(), ALL, missed.sequence) == []


def test_what_is_kept_has_a_limit_in_events_and_in_bytes() -> None:
    log = EventLog()
    log.begin(1)
    followed(log)
    log.turn(2)
    for number in range(event_log.KEPT_MOST + 10):
        log.put("q", envelope(number))
    first = 2 * event_log.PLACES
    kept = log.join(Follower(), ALL, first)
    assert (kept[0].name, len(kept)) == ("missed", event_log.KEPT_MOST + 1)
    assert len(log.join(Follower(), ALL, kept[0].sequence)) == event_log.KEPT_MOST
    for number in range(4):
        log.put("q", envelope(number, event_log.BYTES_MOST // 3))
    assert len(log.join(Follower(), ALL, first)) == 3


def test_nothing_is_kept_until_somebody_follows() -> None:
    log = EventLog()
    log.begin(1)
    assert not log.is_wanted
    followed(log)
    assert log.is_wanted
