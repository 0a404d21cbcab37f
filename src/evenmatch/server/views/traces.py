"""Traces of tickets for OpenTelemetry: from the create to the match and its assignment.

A trace is a ticket's life: the span `ticket` from its create to its end, in it `ready_check` where
there was one, and `assign` from the match to its place. A match that is called off ends no trace:
where that may happen, spans are made once it cannot any more. They are made from durable records
and carry ids and queues, never players. How many tickets are traced is the business of
the standard's sampler (OTEL_TRACES_SAMPLER).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import TypeVar

import msgspec
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, Status, StatusCode, set_span_in_context

import evenmatch
from evenmatch.engine.engine import Engine
from evenmatch.engine.lifecycle import LifecycleView, MatchWithTickets
from evenmatch.engine.records import Record
from evenmatch.engine.state.rows import LiveTicket
from evenmatch.model.events import Assigned, Cancelled, Event, Expired, Voided

Kept = TypeVar("Kept")

KEPT_MOST = 100_000
"""Live tickets, and matches without an assignment, that are kept; the oldest are forgotten."""


def exporting_to(address: str | None) -> TracerProvider:
    """Return what sends spans to a collector; without an address, to the environment's."""
    endpoint = None if address is None else address.rstrip("/") + "/v1/traces"
    provider = TracerProvider(resource=Resource.create({SERVICE_NAME: "evenmatch"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    return provider


class _Ticket(msgspec.Struct):
    """When a live ticket came and was proposed, nanoseconds of wall time."""

    created: int
    proposed: int | None = None


class _TracedMatch(msgspec.Struct, frozen=True):
    """A match and when it was made, with those of its tickets that were seen to come."""

    match: str
    queue: str
    at: int
    tickets: tuple[tuple[str, _Ticket], ...]


class TicketTraces(LifecycleView):
    """Makes spans of tickets from durable records.

    Args:
        provider: Where spans go.
        wall: Unix time in nanoseconds.
    """

    def __init__(self, provider: TracerProvider, *, wall: Callable[[], int] = time.time_ns) -> None:
        self._tracer = provider.get_tracer("evenmatch", evenmatch.__version__)
        self._wall = wall
        self._tickets: dict[str, _Ticket] = {}
        self._matches: dict[str, list[Span]] = {}
        self._ended: dict[str, _TracedMatch] = {}

    def began(self, engine: Engine, live: Collection[LiveTicket]) -> None:
        """Forget tickets that are not live; those that came before a start have no trace."""
        del engine
        waiting = {row.ticket.id for row in live}
        self._tickets = {at: row for at, row in self._tickets.items() if at in waiting}

    def entered(self, record: Record, row: LiveTicket) -> None:
        """Begin the trace of a ticket."""
        del record
        _keep(self._tickets, row.ticket.id, _Ticket(self._wall()))

    def asked(self, record: Record, row: LiveTicket, queue: str) -> None:
        """Note when a ticket is asked for acceptance."""
        del record, queue
        if (ticket := self._tickets.get(row.ticket.id)) is not None:
            ticket.proposed = self._wall()

    def released(self, record: Record, row: LiveTicket) -> None:
        """Forget a ready-check that failed."""
        del record
        if (ticket := self._tickets.get(row.ticket.id)) is not None:
            ticket.proposed = None

    def matched(self, record: Record, made: MatchWithTickets) -> None:
        """Note when the tickets of a match were matched."""
        del record
        match = made.match
        known = [(ticket, self._tickets.pop(ticket, None)) for ticket in match.tickets]
        seen = tuple([(ticket, each) for ticket, each in known if each is not None])
        self._ended[match.id] = _TracedMatch(match.id, match.queue, self._wall(), seen)

    def settled(self, record: Record, made: MatchWithTickets) -> None:
        """End the spans of a match that cannot be voided any more."""
        del record
        if (ended := self._ended.pop(made.match.id, None)) is not None:
            self._end_match(ended)

    def voided(self, record: Record, event: Voided, made: list[MatchWithTickets]) -> None:
        """Let the tickets of a voided match wait on, in the same trace."""
        del record, event
        for each in made:
            ended = self._ended.pop(each.match.id, None)
            for ticket, known in () if ended is None else ended.tickets:
                known.proposed = None
                _keep(self._tickets, ticket, known)

    def ended(self, record: Record, row: LiveTicket, event: Cancelled | Expired) -> None:
        """End the span of a ticket that was seen to come."""
        del record
        ticket = self._tickets.pop(event.ticket, None)
        if ticket is not None:
            state = "cancelled" if isinstance(event, Cancelled) else "expired"
            facts = {"state": state, "reason": event.reason}
            self._span(row.ticket.id, ticket, self._wall(), facts)

    def told(self, record: Record, event: Event) -> None:
        """Note when a match got its place."""
        del record
        if isinstance(event, Assigned):
            self._assign(event.match, self._wall())

    def _end_match(self, ended: _TracedMatch) -> None:
        facts = {"state": "matched", "match": ended.match, "queue": ended.queue}
        spans = [self._span(*each, ended.at, facts) for each in ended.tickets]
        _keep(self._matches, ended.match, spans)

    def _span(self, ticket: str, known: _Ticket, now: int, facts: dict[str, str]) -> Span:
        named = {"evenmatch.ticket": ticket, **{f"evenmatch.{key}": facts[key] for key in facts}}
        span = self._tracer.start_span("ticket", start_time=known.created, attributes=named)
        if known.proposed is not None:
            self._inside(span, "ready_check", known.proposed, now)
        if facts["state"] == "expired":
            span.set_status(Status(StatusCode.ERROR, facts["reason"]))
        span.end(now)
        return span

    def _assign(self, match: str, now: int) -> None:
        for span in self._matches.pop(match, ()):
            matched_at = getattr(span, "end_time", None)
            self._inside(span, "assign", matched_at or now, now)

    def _inside(self, span: Span, name: str, start: int, end: int) -> None:
        context = set_span_in_context(span)
        self._tracer.start_span(name, context=context, start_time=start).end(end)


def _keep(kept: dict[str, Kept], key: str, value: Kept) -> None:
    kept[key] = value
    if len(kept) > KEPT_MOST:
        del kept[next(iter(kept))]
