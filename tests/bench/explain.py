"""What explanations take with 5,000 waiting tickets: one alone, all in a batch, and the loop."""

from __future__ import annotations

import asyncio
import gc
import random
import time
from collections.abc import Iterator

import msgspec

from evenmatch.config.server import ServerSettings
from evenmatch.criteria.objective import Objective
from evenmatch.engine.state.rows import TicketView
from evenmatch.explain.explanations import Explainer
from evenmatch.explain.snapshot import ExplanationSubject, QueueSnapshot
from evenmatch.journals.memory import MemoryJournal
from evenmatch.model.inputs import Enqueue
from evenmatch.model.queue import Criterion, Expansion, Format, Queue, Rule, Scale
from evenmatch.model.ticket import NewTicket, Player, Rating, Ticket
from evenmatch.server.runtime.process_setup import calm_collector, share_interpreter
from evenmatch.server.runtime.recovery import ShardPlan
from evenmatch.server.runtime.services import Services, assemble
from tests.bench.report import Row, Setting

WAITING = 5_000
REGIONS = ("asia", "br", "eu-n", "eu-w", "in", "jp", "kr", "us-c", "us-e", "us-w")
ROLES = (("tank", 1), ("healer", 1), ("dps", 3))
RATING = Criterion("spread", "rating", scale=Scale("capped", max=400.0))
WIDENS = Rule("spread", "rating", 20.0, expand=Expansion(rate=0.5, max=300.0))
REACHED = Rule("latency", "latency", 60.0, expand=Expansion(rate=1.0, max=200.0))
MODE = Rule("same", "mode")
QUEUES = (
    Queue("duels by rating", criteria=(RATING,), rules=(WIDENS,)),
    Queue(
        "duels by rating, ping and mode",
        criteria=(RATING, Criterion("latency", "latency")),
        rules=(WIDENS, REACHED, MODE),
    ),
    Queue(
        "5v5, parties and roles",
        Format((5, 5), party_sizes=(1, 2, 3), roles=ROLES),
        (Criterion("imbalance", "rating", scale=Scale("capped", max=400.0)),),
        (WIDENS, MODE),
    ),
)
ONES, LINES = 50, 5_000


class Pauses(msgspec.Struct):
    """Pauses of the loop in ms, ascending, and the most CPU that it took between two of them."""

    pauses: list[float]
    cpu: float

    @property
    def p99(self) -> float:
        return self.pauses[int(0.99 * len(self.pauses))]


def run(setting: Setting) -> Iterator[Row]:
    ones, lines = (20, 1_000) if setting.quick else (ONES, LINES)
    for queue in QUEUES:
        tickets = _tickets(queue, WAITING)
        scene = _scene(queue, tickets)
        began = time.thread_time()
        explainer = Explainer()
        explainer.explain(_subject(scene, tickets[0]))
        yield Row(f"{queue.name}: first of all", (1e3 * (time.thread_time() - began),), "ms")
        yield Row(f"{queue.name}: one", _ones(explainer, scene, tickets, ones), "ms", "<= 5")
        gc.collect()
        began = time.thread_time()
        made = sum(1 for _ in Explainer().longest(scene, lines))
        seconds = time.thread_time() - began
        yield Row(f"{queue.name}: batch of {made:,}", (seconds,), "s CPU", "<= 2")
    yield from asyncio.run(_loop(lines))


def _ones(
    explainer: Explainer, scene: QueueSnapshot, tickets: list[Ticket], count: int
) -> tuple[float, ...]:
    """Return what one explanation takes while one ticket comes and one goes between two."""
    took = []
    spare = _tickets(scene.queue, WAITING + count)[WAITING:]
    waiting = dict(scene.tickets)
    for ticket, newcomer in zip(random.Random(5).sample(tickets, count), spare, strict=True):
        began = time.thread_time()
        now = QueueSnapshot(scene.queue, scene.objective, dict(waiting), *_rest(scene))
        explainer.explain(_subject(now, ticket))
        took.append(1e3 * (time.thread_time() - began))
        del waiting[ticket.id]
        waiting[newcomer.id] = newcomer
    return tuple(took)


async def _loop(lines: int) -> list[Row]:
    """Return how long the event loop stands still while a batch is made beside it."""
    share_interpreter()
    calm_collector()
    queue = QUEUES[0]
    idle = "rounds:every=3600"
    plan = ShardPlan((Queue("duel", criteria=(RATING,), rules=(WIDENS,), policy=idle),))
    parts: Services = assemble(ShardPlan(plan.queues, settings=ServerSettings()), MemoryJournal())
    await parts.runtime.start()
    for ticket in _tickets(queue, WAITING):
        parts.runtime.handle(
            Enqueue(parts.runtime.now(), (NewTicket(ticket.players),)), lambda answer: None
        )
    await parts.runtime.look(lambda engine: None)
    rest = await _pauses(asyncio.create_task(asyncio.sleep(2.0)))
    beside = await _pauses(asyncio.create_task(parts.explanations.longest("duel", lines)))
    await parts.runtime.stop()
    return [
        Row("loop at rest: pauses, p99", (rest.p99,), "ms"),
        Row("loop at rest: longest pause", (rest.pauses[-1],), "ms"),
        Row("loop beside a batch: pauses, p99", (beside.p99,), "ms"),
        Row("loop beside a batch: longest pause", (beside.pauses[-1],), "ms", "<= 20"),
        Row("loop beside a batch: longest CPU of its own", (beside.cpu,), "ms", "<= 20"),
    ]


async def _pauses(task: asyncio.Task[object]) -> Pauses:
    """Return how late the loop wakes up every millisecond until a task is done."""
    pauses: list[float] = []
    cpu, before, spent = 0.0, time.perf_counter(), time.thread_time()
    while not task.done():
        await asyncio.sleep(0.001)
        after, more = time.perf_counter(), time.thread_time()
        pauses.append(1e3 * (after - before) - 1.0)
        cpu = max(cpu, 1e3 * (more - spent))
        before, spent = after, more
    return Pauses(sorted(pauses), cpu)


def _tickets(queue: Queue, count: int) -> list[Ticket]:
    rng, now = random.Random(7), 0.0
    sizes = queue.format.party_sizes or (1,)
    tickets = []
    for number in range(1, count + 1):
        now += rng.expovariate(50.0)
        home = rng.randrange(len(REGIONS))
        party = tuple(
            Player(
                f"p{number}-{seat}",
                Rating(rng.gauss(1500.0, 300.0)),
                {"latency": _pings(rng, home), "mode": rng.choice(("ranked", "casual"))},
                _roles(rng, queue, seat),
            )
            for seat in range(rng.choice(sizes))
        )
        mode = {"mode": party[0].attributes["mode"]}
        players = tuple(Player(p.id, p.rating, {**p.attributes, **mode}, p.roles) for p in party)
        tickets.append(Ticket(f"t{number}", number, now, players, (queue.name,)))
    return tickets


def _roles(rng: random.Random, queue: Queue, seat: int) -> tuple[str, ...]:
    names = ("dps", "healer", "tank")
    return tuple(rng.sample(names, 2)) if queue.format.roles and seat else ()


def _pings(rng: random.Random, home: int) -> dict[str, float]:
    return {
        name: 15.0 + 25.0 * abs(place - home) + 20.0 * rng.random()
        for place, name in enumerate(REGIONS)
    }


def _scene(queue: Queue, tickets: list[Ticket]) -> QueueSnapshot:
    waiting = {ticket.id: ticket for ticket in tickets}
    now = tickets[-1].enqueued_at + 1.0
    return QueueSnapshot(
        queue, Objective(queue), waiting, {}, now, now + 9.0, "", True, False, False, None
    )


def _rest(scene: QueueSnapshot) -> tuple[object, ...]:
    return (
        scene.held, scene.now, scene.wake_at, scene.held_back, scene.in_rounds, scene.is_paused,
        scene.is_solving, scene.fault,
    )  # fmt: skip


def _subject(scene: QueueSnapshot, ticket: Ticket) -> ExplanationSubject:
    view = TicketView(ticket.id, "waiting", ticket.queues, ticket.enqueued_at, 1)
    return ExplanationSubject(view, scene.now, ticket.size, (scene,), None)
