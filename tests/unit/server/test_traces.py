"""Traces of tickets, with the exporter in memory; without them nothing is loaded."""

import subprocess
import sys

import pytest

from evenmatch.config.files import parse_server
from evenmatch.engine.engine import Engine
from evenmatch.engine.lifecycle import TicketLifecycle
from evenmatch.errors import ConfigError, NotSupported
from evenmatch.model.inputs import Accept, Advance, Assign, Cancel, Configure, Enqueue, Input
from evenmatch.model.queue import Queue
from evenmatch.model.queue import ReadyCheck as ReadyCheck
from evenmatch.model.ticket import NewTicket, Player, Rating
from evenmatch.server.runtime import services
from evenmatch.server.runtime.recovery import resolve
from evenmatch.server.runtime.services import asks_for_traces

sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="the extra traces is not installed")

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider  # noqa: E402
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import (  # noqa: E402
    InMemorySpanExporter,
)

from evenmatch.server.views.traces import TicketTraces  # noqa: E402

SECOND = 1_000_000_000


class Traced:
    """An engine whose records become spans; wall time is engine time."""

    def __init__(self, queue: Queue) -> None:
        self.exporter, provider = InMemorySpanExporter(), TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.now = 0.0
        traces = TicketTraces(provider, wall=lambda: int(self.now * SECOND))
        self.lifecycle = TicketLifecycle([traces])
        self.engine = Engine(resolve)
        self.lifecycle.reset(self.engine)
        self.step(Configure(0.0, (queue,)))

    def step(self, given: Input) -> None:
        self.now = given.now
        self.lifecycle.hear(self.engine.step(given))

    def spans(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]


def new(player: str) -> NewTicket:
    return NewTicket((Player(player, Rating(1500.0), {"clan": "secret"}),))


def seconds(span: ReadableSpan) -> tuple[float, float]:
    assert span.start_time is not None
    assert span.end_time is not None
    return span.start_time / SECOND, span.end_time / SECOND


def test_trace_of_a_ticket_reaches_from_its_create_to_its_assignment() -> None:
    traced = Traced(Queue(name="duel", policy="greedy"))
    traced.step(Enqueue(1.0, (new("zoe"),)))
    traced.step(Enqueue(4.0, (new("bob"),)))
    traced.step(Assign(6.0, "s0-m1", {"connection": "10.0.0.1"}))
    zoe, bob = traced.spans("ticket")
    assert (seconds(zoe), seconds(bob)) == ((1.0, 4.0), (4.0, 4.0))
    assert zoe.attributes == {
        "evenmatch.ticket": "s0-1",
        "evenmatch.state": "matched",
        "evenmatch.match": "s0-m1",
        "evenmatch.queue": "duel",
    }
    placed = traced.spans("assign")
    assert [seconds(span) for span in placed] == [(4.0, 6.0), (4.0, 6.0)]
    parents = [span.parent.span_id for span in placed if span.parent is not None]
    assert parents == [zoe.context.span_id, bob.context.span_id]
    text = "".join(span.to_json() for span in traced.exporter.get_finished_spans())
    # No name of hexadecimal digits alone: the random ids of spans would spell it now and then.
    for word in ("zoe", "bob", "secret", "10.0.0.1"):
        assert word not in text


def test_ready_check_is_a_span_of_its_own() -> None:
    traced = Traced(Queue(name="duel", policy="greedy", accept=ReadyCheck(seconds=20.0)))
    traced.step(Enqueue(1.0, (new("ada"), new("bob"))))
    for now, ticket in ((3.0, "s0-1"), (5.0, "s0-2")):
        traced.step(Accept(now, "s0-m1", ticket))
    assert [seconds(span) for span in traced.spans("ready_check")] == [(1.0, 5.0), (1.0, 5.0)]


def test_ticket_that_ends_without_a_match_says_why() -> None:
    traced = Traced(Queue(name="duel", policy="greedy", wait_max=10.0))
    traced.step(Enqueue(1.0, (new("ada"),)))
    traced.step(Cancel(2.0, "s0-1"))
    traced.step(Enqueue(3.0, (new("bob"),)))
    traced.step(Advance(13.0))
    ada, bob = traced.spans("ticket")
    assert ada.attributes is not None
    assert (ada.attributes["evenmatch.reason"], ada.status.is_ok) == ("player", True)
    assert (bob.status.description, bob.status.is_ok) == ("deadline", False)
    assert seconds(bob) == (3.0, 13.0)


def test_environment_or_the_configuration_asks_for_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}
    assert not asks_for_traces(None, {})
    assert asks_for_traces("http://collector:4318", {})
    assert asks_for_traces(None, endpoint)
    assert not asks_for_traces(None, {**endpoint, "OTEL_SDK_DISABLED": "true"})
    monkeypatch.setattr(services, "find_spec", lambda name: None)
    assert not asks_for_traces(None, endpoint)
    with pytest.raises(NotSupported, match=r"evenmatch\[traces\]"):
        asks_for_traces("http://collector:4318", {})


def test_collector_must_be_an_address() -> None:
    text = '[[queue]]\n[server]\ntraces = "%s"\n'
    assert parse_server(text % "http://collector:4318")[1].traces == "http://collector:4318"
    with pytest.raises(ConfigError, match="traces must be the address of a collector"):
        parse_server(text % "collector:4318")


def test_server_without_traces_loads_nothing_of_them() -> None:
    code = (
        "import sys, evenmatch.server.runtime.serve, evenmatch.server.runtime.services as p\n"
        "from evenmatch.journals.memory import MemoryJournal\n"
        "from evenmatch.model.queue import Queue\n"
        "from evenmatch.server.runtime.recovery import ShardPlan\n"
        "p.assemble(ShardPlan((Queue(),)), MemoryJournal())\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
