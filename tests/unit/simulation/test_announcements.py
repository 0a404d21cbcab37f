"""Policies with a horizon are told of arrivals in a simulation, whoever wrote them."""

import pytest

from evenmatch.errors import PolicyError
from evenmatch.model.queue import Criterion, Queue
from evenmatch.model.ticket import NewTicket, Player, Rating, Ticket
from evenmatch.policies.base import Decision, Matcher, Memory, NoJobs, Policy
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.simulation.history import History
from evenmatch.simulation.simulator import Simulator

Told = list[tuple[float, str, float]]


class Listening(NoJobs):
    """Notes what it is told: (now, ticket, its instant), and when it decides."""

    def __init__(self, told: Told, decided: list[tuple[float, bool]]) -> None:
        self.told, self.decided = told, decided

    def announce(self, ticket: Ticket, now: float) -> None:
        if ticket.id == "bad":
            raise KeyError("bad")
        self.told.append((now, ticket.id, ticket.enqueued_at))

    def enter(self, entry: object, now: float) -> None: ...

    def leave(self, entry_id: str, now: float) -> None: ...

    def decide(self, now: float, fired: bool = False) -> Decision:
        self.decided.append((now, fired))
        return Decision()


class Listener:
    """A user's policy that wants to know two seconds ahead."""

    horizon = 2.0

    def __init__(self) -> None:
        self.told: Told = []
        self.decided: list[tuple[float, bool]] = []

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        return Listening(self.told, self.decided)


def arrival(at: float, name: str, rating: float | None = 1500.0) -> Arrival:
    player = Player(name, None if rating is None else Rating(rating))
    return Arrival(at, NewTicket((player,), id=name))


def run(policy: Policy, arrivals: list[Arrival], **options: float) -> Simulator:
    queue = Queue(criteria=(Criterion("spread", "rating"),))
    simulator = Simulator((queue,), lambda _: policy, History("main"), **options)  # type: ignore[arg-type]
    simulator.run(arrivals)
    return simulator


def test_policy_is_told_its_horizon_ahead_and_decides_then() -> None:
    listener = Listener()
    run(listener, [arrival(1.0, "a"), arrival(5.0, "b"), arrival(5.0, "c")])
    assert listener.told == [(0.0, "a", 1.0), (3.0, "b", 5.0), (3.0, "c", 5.0)]
    # Both announcements of one instant are followed by one decision.
    assert listener.decided[1:] == [
        (0.0, True),
        (1.0, False),
        (3.0, True),
        (5.0, False),
        (5.0, False),
    ]


def test_announcement_of_the_instant_of_an_arrival_comes_first() -> None:
    listener = Listener()
    run(listener, [arrival(1.0, "a"), arrival(3.0, "b")])
    # So the decision that follows the arrival knows of it, and no other is needed.
    assert listener.decided[1:] == [(0.0, True), (1.0, False), (3.0, False)]
    assert listener.told[1] == (1.0, "b", 3.0)


def test_nothing_is_announced_after_the_end_of_a_run() -> None:
    listener = Listener()
    run(listener, [arrival(1.0, "a"), arrival(9.0, "b")], until=4.0)
    assert listener.told == [(0.0, "a", 1.0)]


def test_failing_announcement_is_a_fault_of_the_policy() -> None:
    with pytest.raises(PolicyError, match="failed in announce: KeyError"):
        run(Listener(), [arrival(1.0, "bad")])


def test_ticket_that_the_queue_would_refuse_is_not_announced() -> None:
    listener = Listener()
    with pytest.raises(Exception, match="attribute rating is missing"):
        run(listener, [arrival(1.0, "a", rating=None)])
    assert listener.told == []


def test_policy_without_a_horizon_is_told_nothing() -> None:
    listener = Listener()
    listener.horizon = 0.0
    run(listener, [arrival(1.0, "a")])
    assert listener.told == []
