"""Matches that are called off count nowhere: every fold of records against a naive recount."""

import random
from importlib.util import find_spec

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from evenmatch.engine.engine import Engine
from evenmatch.engine.ledger import Ledger
from evenmatch.engine.lifecycle import LifecycleView, TicketLifecycle
from evenmatch.engine.records import Record
from evenmatch.errors import Refusal
from evenmatch.journals.base import Entry
from evenmatch.lab.export.export import Trace, _take
from evenmatch.model.events import Accepted, Matched, Voided
from evenmatch.model.inputs import Advance, Assign, Configure, Enqueue, Finish, Input, Open, Void
from evenmatch.model.match import Match
from evenmatch.model.queue import Criterion, Format, Queue, Scale, Switchback
from evenmatch.model.ticket import NewTicket, Player, Rating
from evenmatch.server.runtime.recovery import resolve
from evenmatch.server.views.statistics import Rate, Statistics, wait_stats
from evenmatch.server.views.switchback import Switchbacks
from tests.extent import extent

TURNS = Switchback(("greedy", "greedy"), block=50.0, trim=0.0)
GAP = (Criterion("spread", "rating", scale=Scale("linear", min=0.0, max=3000.0)),)
QUEUES = (
    Queue("main", Format((1, 1)), GAP, allocation="fleet", switchback=TURNS),
    Queue("main", Format((2, 2)), GAP, backfill="manual", switchback=TURNS),
    Queue(
        "main",
        Format((2, 2), players_min=(1, 1)),
        GAP,
        backfill="automatic",
        allocation="fleet",
        switchback=TURNS,
    ),
)
SECOND = 1_000_000_000


class Recounted:
    """An engine, everything that counts its records, and the records themselves."""

    def __init__(self, queue: Queue, seed: int) -> None:
        self.engine, self.rng, self.now = Engine(resolve), random.Random(seed), 0.0
        self.records: list[Record] = []
        self.waits: list[float] = []
        self.statistics, self.switchbacks = Statistics(), Switchbacks()
        self.ledger, self.trace = Ledger((), (queue,)), Trace()
        views: list[LifecycleView] = [self.statistics, self.switchbacks]
        if find_spec("opentelemetry.sdk") is not None:
            views.append(self._traces())
        self.heard = [TicketLifecycle(views).hear, self.ledger.hear]
        self.step(Configure(0.0, (queue,)))

    def _traces(self) -> LifecycleView:
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

        from evenmatch.server.views.traces import TicketTraces

        self.exporter, provider = InMemorySpanExporter(), TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        return TicketTraces(provider, wall=lambda: int(self.now * SECOND))

    def step(self, given: Input) -> None:
        while (at := self.engine.next_wakeup) < given.now:
            self._hand(Advance(at))
        self._hand(given)

    def _hand(self, given: Input) -> None:
        try:
            record = self.engine.step(given)
        except Refusal:
            return
        self.records.append(record)
        _take(self.trace, Entry(record, 0.0))
        for hear in self.heard:
            hear(record)

    def act(self) -> None:
        """Hand in something that may happen; what the engine refuses changes nothing."""
        rng = self.rng
        self.now += rng.choice((0.0, 0.5, 3.0, 20.0))
        name = f"s0-m{rng.randint(max(1, len(self.made()) - 4), len(self.made()) + 1)}"
        kind = rng.randrange(10)
        if kind < 5:
            party = tuple(
                Player(f"p{len(self.records)}-{seat}", Rating(rng.uniform(1000.0, 2000.0)))
                for seat in range(rng.randint(1, 2))
            )
            self.step(Enqueue(self.now, (NewTicket(party),)))
        elif kind < 8:
            self.step(Void(self.now, name, "no server"))
        elif kind == 8:
            match = self.made().get(name)
            left = () if match is None else match.players[0][:1]
            self.step(Open(self.now, name, 0, left))
        else:
            self.step(rng.choice((Assign(self.now, name, {}), Finish(self.now, name))))

    def made(self) -> dict[str, Match]:
        """Return all matches ever made, by id."""
        events = (event for record in self.records for event in record.events)
        return {event.match.id: event.match for event in events if isinstance(event, Matched)}

    def played(self) -> list[Match]:
        """Return the matches that were not called off, and no match that filled one that was."""
        void: set[str] = set()
        for record in self.records:
            for event in record.events:
                if isinstance(event, Voided):
                    void |= {event.match, *event.fills}
        return [match for name, match in self.made().items() if name not in void]

    def came(self) -> dict[str, tuple[float, int]]:
        """Return when each ticket came, and its players: those who have not left it."""
        found: dict[str, tuple[float, int]] = {}
        for record in self.records:
            for event in record.events:
                if isinstance(event, Accepted):
                    assert isinstance(record.input, Enqueue)
                    new = record.input.tickets[event.item]
                    found[event.ticket] = (record.input.now, len(new.players))
                elif isinstance(event, Voided):
                    found |= {each.id: (each.enqueued_at, each.size) for each in event.tickets}
        return found


@settings(
    max_examples=extent(20, 60),
    derandomize=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(st.sampled_from(QUEUES), st.integers(0, 2**32), st.integers(5, 80))
def test_match_that_is_called_off_counts_nowhere(queue: Queue, seed: int, acts: int) -> None:
    world = Recounted(queue, seed)
    for _ in range(acts):
        world.act()
    for name in world.made():
        world.step(Assign(world.now, name, {}))
    played, came = world.played(), world.came()
    waits = [
        match.at - came[ticket][0]
        for match in played
        for ticket in match.tickets
        for _ in range(came[ticket][1])
    ]

    sums = world.ledger.of("main")
    assert (sums.matches, sums.players) == (len(played), len(waits))
    assert sums.bots == sum(match.bots for match in played)
    assert sums.wait == pytest.approx(sum(waits))
    assert sorted(sums.waits) == sorted(waits)
    assert sums.quality == pytest.approx(sum(match.quality or 0.0 for match in played))
    assert sums.waiting == len(world.engine.tables.waiting)

    stats, rate = world.statistics.of("main", world.now, []), Rate()
    for match in played:
        rate.add(match.at)
    assert (stats.matches, stats.matched) == (len(played), len(waits))
    assert stats.wait == wait_stats(waits)
    assert stats.matches_per_minute == pytest.approx(rate.per_minute(world.now))

    assert list(world.trace.matches.values()) == played

    compared = world.switchbacks.of("main", world.now + 1000.0)
    assert compared is not None
    assert sum(arm.players for arm in compared.arms) == len(waits)
    assert sum((arm.wait_mean or 0.0) * arm.players for arm in compared.arms) == pytest.approx(
        sum(waits)
    )

    if find_spec("opentelemetry.sdk") is not None:
        spans = [dict(span.attributes or {}) for span in world.exporter.get_finished_spans()]
        matched = [each for each in spans if each.get("evenmatch.state") == "matched"]
        told = sorted((each["evenmatch.ticket"], each["evenmatch.match"]) for each in matched)
        assert told == sorted((ticket, match.id) for match in played for ticket in match.tickets)
