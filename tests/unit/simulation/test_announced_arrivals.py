"""Announcements: when they are made, to whom, and how far is read ahead."""

import math
from collections.abc import Iterator

import pytest

from evenmatch.model.ticket import NewTicket, Player
from evenmatch.simulation import simulator as foresight
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.simulation.simulator import AnnouncedArrivals


def arrival(at: float, name: str | None, *queues: str) -> Arrival:
    return Arrival(at, NewTicket((Player(name or "x"),), queues, {}, name))


def told(given: AnnouncedArrivals, now: float) -> list[tuple[str, str, float]]:
    """Return all announcements made up to an instant: ticket, queue, instant."""
    found = []
    while (at := given.announced_at(0.0)) <= now:
        ticket, queue = given.announce(at)
        found.append((ticket.id, queue, at))
    return found


def test_arrivals_are_announced_their_horizon_ahead_and_not_before_the_start() -> None:
    given = AnnouncedArrivals([arrival(0.5, "a"), arrival(3.0, "b")], {"main": 1.0}, "main")
    assert told(given, 9.0) == [("a", "main", 0.0), ("b", "main", 2.0)]
    assert given.announced_at(0.0) == math.inf


def test_announcement_comes_late_where_now_has_passed_it() -> None:
    given = AnnouncedArrivals([arrival(3.0, "a")], {"main": 2.0}, "main")
    assert given.announced_at(2.5) == 2.5


def test_each_queue_is_told_of_its_own_tickets_at_its_own_horizon() -> None:
    coming = [arrival(4.0, "a"), arrival(5.0, "b", "other"), arrival(6.0, "c", "main", "other")]
    given = AnnouncedArrivals(coming, {"main": 1.0, "other": 3.0, "deaf": 0.0}, "main")
    assert told(given, 9.0) == [
        ("b", "other", 2.0),
        ("a", "main", 3.0),
        ("c", "other", 3.0),
        ("c", "main", 5.0),
    ]


def test_ticket_without_an_id_is_not_announced() -> None:
    given = AnnouncedArrivals([arrival(1.0, None), arrival(2.0, "b")], {"main": math.inf}, "main")
    assert told(given, 9.0) == [("b", "main", 0.0)]


def test_arrival_that_was_taken_is_not_announced_any_more() -> None:
    given = AnnouncedArrivals([arrival(1.0, "a"), arrival(2.0, "b")], {"main": 5.0}, "main")
    assert given.at == 1.0
    assert given.take().ticket.id == "a"
    assert told(given, 9.0) == [("b", "main", 0.0)]


def test_without_horizon_nothing_is_read_ahead() -> None:
    def coming() -> Iterator[Arrival]:
        yield arrival(1.0, "a")
        raise AssertionError("read too far")

    given = AnnouncedArrivals(coming(), {"main": 0.0}, "main")
    assert given.announced_at(0.0) == math.inf
    assert given.at == given.take().at == 1.0


def test_reading_ahead_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foresight, "AHEAD_MAX", 2)

    def for_ever() -> Iterator[Arrival]:
        number = 0
        while True:
            yield arrival(float(number), str(number))
            number += 1

    given = AnnouncedArrivals(for_ever(), {"main": math.inf}, "main")
    assert [name for name, _, _ in told(given, 0.0)] == ["0", "1"]
    assert given.at == 0.0
    given.take()
    assert [name for name, _, _ in told(given, 0.0)] == ["2"]


def test_asking_for_an_announcement_that_is_not_due_is_an_error() -> None:
    given = AnnouncedArrivals([arrival(3.0, "a")], {"main": 1.0}, "main")
    with pytest.raises(LookupError, match="nothing is to be announced at 1"):
        given.announce(1.0)
