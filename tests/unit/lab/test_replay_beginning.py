"""Where a replay begins whose first records are deleted."""

from evenmatch.engine.admission import Limits
from evenmatch.engine.snapshot import decode_snapshot
from evenmatch.lab.replay.beginning import beginning
from evenmatch.model.inputs import Configure, Enqueue
from evenmatch.model.queue import Criterion, Format, Queue, Scale
from evenmatch.testing import new_ticket
from tests.unit.lab.journals import Played

CLOSE = Criterion("spread", "rating", scale=Scale(min=1000.0, max=2000.0))


def test_what_limits_refused_is_unknown_to_matchers_of_a_beginning_too() -> None:
    teams = Queue("teams", Format((2, 2)), (CLOSE,), policy="threshold:wait_max=1000.0")
    rounds = Queue("rounds", Format((2, 2)), (CLOSE,), policy="rounds:every=2")
    world = Played(solve_time=1.0)
    world.engine.limits = Limits(text_max=8)
    world.hand_in(Configure(0.0, (rounds, teams), 1))
    for n in range(6):
        name = f"p{n}"
        world.hand_in(
            Enqueue(0.125 + n / 8, (new_ticket(name, 1400 + n * 30, queues=("rounds",)),))
        )
    world.wait(2.5)
    assert world.engine.pools["rounds"].slot.running is not None
    taken = world.stop().engine.tables.sequence
    several = [new_ticket(name, 1500, queues=("teams",)) for name in ("far too long a name", "ada")]
    world.hand_in(Enqueue(2.625, tuple(several))).wait(4.0)
    begin = beginning(decode_snapshot(world.snapshots[taken]), world.records[taken:])
    assert begin.tables.sequence > taken + 1, "records were folded until the plan was back"
    waiting = [row.ticket.sequence for row in begin.tables.waiting.values()]
    assert set(begin.memories["teams"]["known"]) == set(waiting) - {1, 2, 3, 4, 5, 6}
