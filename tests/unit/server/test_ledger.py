"""The sums of one world: who waits where, whatever became of tickets."""

from evenmatch.engine.engine import Engine
from evenmatch.engine.ledger import Ledger
from evenmatch.model.inputs import Advance, Configure, Enqueue, Input, Void
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.server.runtime.recovery import resolve
from evenmatch.server.views.shadow import figures_of

ALONE = "periodic:rounds_of=1000"
BRIEF = Queue(name="brief", policy=ALONE, wait_max=5.0)
LONG = Queue(name="long", policy=ALONE, wait_max=50.0)
DUEL = Queue(name="duel", policy="greedy", backfill="manual")


class World:
    """An engine and the ledger that hears of its records."""

    def __init__(self, *queues: Queue) -> None:
        self.engine = Engine(resolve)
        self.engine.step(Configure(0.0, queues))
        self.ledger = Ledger((), queues)

    def step(self, given: Input) -> None:
        while (at := self.engine.next_wakeup) < given.now:
            self.ledger.hear(self.engine.step(Advance(at)))
        self.ledger.hear(self.engine.step(given))

    def figures(self, queue: str, now: float) -> tuple[int, float | None, int]:
        """Return how many wait, their mean age, and how many expired."""
        found = figures_of(self.ledger, queue, since=0.0, now=now)
        return found.waiting, found.waiting_age, found.expired


def test_ticket_counts_no_more_in_a_queue_that_it_left() -> None:
    world = World(BRIEF, LONG)
    world.step(Enqueue(1.0, (NewTicket((Player("a"),), ("brief", "long")),)))
    assert world.figures("brief", 3.0) == (1, 2.0, 0)
    world.step(Advance(11.0))
    assert world.figures("brief", 11.0) == (0, None, 0)
    assert world.figures("long", 11.0) == (1, 10.0, 0)
    world.step(Advance(60.0))
    assert world.figures("brief", 60.0) == (0, None, 0)
    assert world.figures("long", 60.0) == (0, None, 1)


def test_tickets_of_a_match_that_was_called_off_wait_again_with_their_age() -> None:
    world = World(DUEL)
    for now, player in ((1.0, "a"), (3.0, "b")):
        world.step(Enqueue(now, (NewTicket((Player(player),)),)))
    assert world.figures("duel", 3.0) == (0, None, 0)
    world.step(Void(4.0, "s0-m1", "no server"))
    assert world.figures("duel", 5.0) == (2, 3.0, 0)
