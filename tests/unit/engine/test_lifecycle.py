"""What a view is told of tickets: by hooks, with the tickets themselves."""

from collections.abc import Collection

from msgspec.structs import replace

from evenmatch.engine.engine import Engine
from evenmatch.engine.ledger import Ledger
from evenmatch.engine.lifecycle import LifecycleView, MatchWithTickets, TicketLifecycle
from evenmatch.engine.records import Record
from evenmatch.engine.state.rows import LiveTicket
from evenmatch.model.events import Cancelled, Dissolved, Event, Expired, Penalised, Voided
from evenmatch.model.inputs import (
    Accept,
    Advance,
    Assign,
    Cancel,
    Configure,
    Decline,
    Enqueue,
    Input,
    Update,
    Void,
)
from evenmatch.model.match import Match
from evenmatch.model.queue import Criterion, Queue, ReadyCheck, Rule, Scale
from evenmatch.model.ticket import NewTicket, Player, Rating
from evenmatch.policies.registry import parse_policy

SKILL = Criterion("spread", "rating", scale=Scale(min=0.0, max=3000.0))
DUEL = Queue(name="duel", policy="greedy", criteria=(SKILL,))
SLOW = Queue(name="slow", policy="periodic:rounds_of=99", criteria=(SKILL,), wait_max=50.0)
CHECKED = Queue(name="duel", policy="greedy", criteria=(SKILL,), accept=ReadyCheck(seconds=10.0))


class Heard(LifecycleView):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def began(self, engine: Engine, live: Collection[LiveTicket]) -> None:
        self.lines.append(f"began {sorted(row.ticket.id for row in live)}")

    def configured(self, record: Record, given: Configure, live: Collection[LiveTicket]) -> None:
        self.lines.append(f"configured {given.version} {len(live)}")

    def entered(self, record: Record, row: LiveTicket) -> None:
        self.lines.append(f"entered {row.ticket.id} {row.queues}")

    def updated(self, record: Record, row: LiveTicket) -> None:
        self.lines.append(f"updated {row.ticket.id} {row.ticket.attributes}")

    def left_queue(self, record: Record, row: LiveTicket, queue: str) -> None:
        self.lines.append(f"left {queue} {row.ticket.id} {row.queues}")

    def proposed(self, record: Record, match: Match) -> None:
        self.lines.append(f"proposed {match.id}")

    def repaired(self, record: Record, match: Match) -> None:
        self.lines.append(f"repaired {match.id}")

    def asked(self, record: Record, row: LiveTicket, queue: str) -> None:
        self.lines.append(f"asked {row.ticket.id} {row.match}")

    def dissolved(self, record: Record, event: Dissolved, queue: str) -> None:
        self.lines.append(f"dissolved {event.match} {queue}")

    def released(self, record: Record, row: LiveTicket) -> None:
        self.lines.append(f"released {row.ticket.id} {row.match}")

    def penalised(self, record: Record, event: Penalised, queue: str) -> None:
        self.lines.append(f"penalised {event.player} {queue}")

    def matched(self, record: Record, made: MatchWithTickets) -> None:
        tickets = [None if row is None else row.ticket.id for row in made.tickets]
        asked = "asked" if made.was_proposed else "unasked"
        self.lines.append(f"matched {made.match.id} {tickets} {made.waits} {asked}")

    def settled(self, record: Record, made: MatchWithTickets) -> None:
        self.lines.append(f"settled {made.match.id}")

    def voided(self, record: Record, event: Voided, made: list[MatchWithTickets]) -> None:
        self.lines.append(f"voided {[each.match.id for each in made]}")

    def returned(self, record: Record, row: LiveTicket) -> None:
        self.lines.append(f"returned {row.ticket.id} {row.ticket.enqueued_at}")

    def ended(self, record: Record, row: LiveTicket, event: Cancelled | Expired) -> None:
        self.lines.append(f"ended {row.ticket.id} {event.reason}")

    def told(self, record: Record, event: Event) -> None:
        self.lines.append(f"told {type(event).__name__}")


class World:
    """An engine, and a view of all that becomes durable in it."""

    def __init__(self, *queues: Queue) -> None:
        self.engine = Engine(lambda queue: parse_policy(queue.policy))
        self.heard = Heard()
        self.lifecycle = TicketLifecycle([self.heard])
        self.lifecycle.reset(self.engine)
        self.give(Configure(0.0, queues, version=1))

    def give(self, given: Input) -> list[str]:
        """Hand an input in, and return what the view was told."""
        before = len(self.heard.lines)
        while self.engine.next_wakeup < given.now:
            self.lifecycle.hear(self.engine.step(Advance(self.engine.next_wakeup)))
        self.lifecycle.hear(self.engine.step(given))
        return self.heard.lines[before:]

    def enter(self, now: float, *names: str, queues: tuple[str, ...] = ()) -> list[str]:
        new = [NewTicket((Player(name, Rating(1500.0)),), queues) for name in names]
        return self.give(Enqueue(now, tuple(new)))


def test_duel_is_told_with_its_tickets_and_waits() -> None:
    world = World(DUEL)
    assert world.heard.lines == ["began []", "configured 1 0"]
    assert world.enter(1.0, "a") == ["entered s0-1 ('duel',)"]
    assert world.enter(4.0, "b") == [
        "entered s0-2 ('duel',)",
        "matched s0-m1 ['s0-1', 's0-2'] ((3.0, 1), (0.0, 1)) unasked",
        "settled s0-m1",
    ]
    assert world.give(Assign(5.0, "s0-m1", {"at": "x"})) == ["told Assigned"]
    assert not world.lifecycle.live


def test_match_that_is_called_off_settles_nothing_and_brings_its_tickets_back() -> None:
    world = World(Queue(name="duel", policy="greedy", criteria=(SKILL,), backfill="manual"))
    made = world.enter(1.0, "a", "b")
    assert not [line for line in made if line.startswith("settled")]
    told = world.give(Void(3.0, "s0-m1", "no server"))
    assert told[:3] == ["voided ['s0-m1']", "returned s0-1 1.0", "returned s0-2 1.0"]
    world.enter(9.0, "c")
    assert world.give(Assign(10.0, "s0-m2", {}))[0] == "settled s0-m2"


def test_ready_check_is_told_to_its_end() -> None:
    world = World(CHECKED)
    told = world.enter(1.0, "a", "b")
    assert told[2:] == ["proposed s0-m1", "asked s0-1 s0-m1", "asked s0-2 s0-m1"]
    told = world.give(Decline(2.0, "s0-m1", "s0-2", ("b",)))
    assert "ended s0-2 declined" in told
    assert "penalised b duel" in told
    told = world.enter(3.0, "c")
    assert told[1:3] == ["repaired s0-m1", "asked s0-3 s0-m1"]
    world.give(Accept(4.0, "s0-m1", "s0-1", ("a",)))
    told = world.give(Accept(5.0, "s0-m1", "s0-3", ("c",)))
    assert told[-2:] == [
        "matched s0-m1 ['s0-1', 's0-3'] ((4.0, 1), (2.0, 1)) asked",
        "settled s0-m1",
    ]


def test_who_is_left_of_a_proposal_waits_again() -> None:
    world = World(CHECKED)
    world.enter(1.0, "a", "b")
    world.give(Accept(2.0, "s0-m1", "s0-1", ("a",)))
    told = world.give(Advance(60.0))
    assert "dissolved s0-m1 duel" in told
    assert "released s0-1 None" in told
    assert list(world.lifecycle.live) == ["s0-1"]


def test_ticket_leaves_a_queue_changes_and_ends() -> None:
    world = World(DUEL, SLOW)
    world.enter(1.0, "a", queues=("duel", "slow"))
    assert world.give(Update(2.0, "s0-1", {"map": "east"})) == ["updated s0-1 {'map': 'east'}"]
    assert world.give(Advance(51.0))[-1] == "left slow s0-1 ('duel',)"
    assert world.give(Configure(52.0, (DUEL, SLOW), version=2)) == ["configured 2 1"]
    assert world.give(Cancel(53.0, "s0-1")) == ["ended s0-1 player"]


def test_ticket_that_an_update_gets_matched_is_told_with_its_new_rating() -> None:
    class Ratings(LifecycleView):
        def __init__(self) -> None:
            self.of_matches: list[list[float]] = []

        def matched(self, record: Record, made: MatchWithTickets) -> None:
            rows = [row for row in made.tickets if row is not None]
            ratings = [player.rating for row in rows for player in row.ticket.players]
            self.of_matches.append([rating.mean for rating in ratings if rating is not None])

    close = replace(DUEL, rules=(Rule("spread", "rating", limit=100.0),))
    world, ratings = World(close), Ratings()
    lifecycle = TicketLifecycle([ratings])
    lifecycle.reset(world.engine)
    far, near = Player("a", Rating(1.0)), Player("a", Rating(1450.0))
    other = NewTicket((Player("b", Rating(1500.0)),))
    lifecycle.hear(world.engine.step(Enqueue(1.0, (NewTicket((far,)), other))))
    lifecycle.hear(world.engine.step(Update(2.0, "s0-1", players=(near,))))
    assert ratings.of_matches == [[1450.0, 1500.0]]


def test_view_that_begins_later_is_told_who_is_live() -> None:
    world = World(CHECKED)
    world.enter(1.0, "a", "b", "c")
    later = Heard()
    lifecycle = TicketLifecycle([later])
    lifecycle.reset(world.engine)
    assert later.lines == ["began ['s0-1', 's0-2', 's0-3']"]
    assert lifecycle.live["s0-1"].match == "s0-m1"
    record = world.engine.step(Decline(2.0, "s0-m1", "s0-1", ("a",)))
    lifecycle.hear(record)
    assert "penalised a duel" in later.lines


def test_ticket_that_memory_has_forgotten_is_made_from_the_record() -> None:
    engine = Engine(lambda queue: parse_policy(queue.policy))
    records = [engine.step(Configure(0.0, (DUEL,)))]
    records.append(engine.step(Enqueue(1.0, (NewTicket((Player("a", Rating(1500.0)),)),))))
    records.append(engine.step(Cancel(2.0, "s0-1")))
    heard = Heard()
    lifecycle = TicketLifecycle([heard])
    for record in records:
        lifecycle.hear(record)
    assert heard.lines[1:] == ["entered s0-1 ('duel',)", "ended s0-1 player"]


def test_ledger_counts_what_it_is_told() -> None:
    world = World(DUEL, SLOW)
    ledger = Ledger((), (DUEL, SLOW))
    inputs: list[Input] = [
        Enqueue(1.0, (NewTicket((Player("a", Rating(1500.0)),), ("slow", "duel")),)),
        Enqueue(2.0, (NewTicket((Player("b", Rating(1500.0)),), ("slow",)),)),
        Enqueue(3.0, (NewTicket((Player("c", Rating(1500.0)),), ("duel",)),)),
        Advance(52.0),
    ]
    for given in inputs:
        while world.engine.next_wakeup < given.now:
            ledger.hear(world.engine.step(Advance(world.engine.next_wakeup)))
        ledger.hear(world.engine.step(given))
    duel, slow = ledger.of("duel"), ledger.of("slow")
    assert (duel.matches, duel.players, duel.wait, list(duel.waits)) == (1, 2, 2.0, [2.0, 0.0])
    assert (slow.waiting, slow.expired, slow.entered) == (0, 1, 0.0)
