"""Traces of tickets for OpenTelemetry: from the create to the match and its assignment.

A trace is a ticket's life: the span `ticket` from its create to its end, in it `ready_check` where
there was one, and `assign` from the match to its place. A match that is called off ends no trace:
where that may happen, spans are made once it cannot any more. They are made from durable records
and carry ids and queues, never players. How many tickets are traced is the business of
the standard's sampler (OTEL_TRACES_SAMPLER).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import msgspec
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, Status, StatusCode, set_span_in_context

import evenmatch
from evenmatch.engine.engine import Engine
from evenmatch.engine.records import Record
from evenmatch.engine.state.rosters import VoidableMatches
from evenmatch.model.events import (
    Accepted,
    Assigned,
    Cancelled,
    Configured,
    Dissolved,
    Event,
    Expired,
    Matched,
    Proposed,
    Repaired,
    Voided,
)
from evenmatch.model.inputs import Configure
from evenmatch.model.match import Match

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


class _Ended(msgspec.Struct, frozen=True):
    """A match and when it was made, with those of its tickets that were seen to come."""

    match: str
    queue: str
    at: int
    tickets: tuple[tuple[str, _Ticket], ...]


class TicketTraces:
    """Hears of durable records and makes the spans of tickets.

    Args:
        provider: Where spans go.
        wall: Unix time in nanoseconds.
    """

    def __init__(self, provider: TracerProvider, *, wall: Callable[[], int] = time.time_ns) -> None:
        self._tracer = provider.get_tracer("evenmatch", evenmatch.__version__)
        self._wall = wall
        self._tickets: dict[str, _Ticket] = {}
        self._matches: dict[str, list[Span]] = {}
        self._recall: VoidableMatches[_Ended] = VoidableMatches()

    def reset(self, engine: Engine) -> None:
        """Forget tickets that are not live; those that came before a start have no trace."""
        self._recall.configure(engine.tables.queues.values())
        waiting = engine.tables.waiting
        self._tickets = {at: row for at, row in self._tickets.items() if at in waiting}

    def hear(self, record: Record) -> None:
        """Take note of a durable record."""
        now = self._wall()
        for event in record.events:
            if isinstance(event, Configured) and isinstance(record.input, Configure):
                self._recall.configure(record.input.queues)
            self._hear(event, now)

    def _hear(self, event: Event, now: int) -> None:
        for ended in self._recall.settle(event):
            self._end_match(ended)
        if isinstance(event, Accepted):
            _keep(self._tickets, event.ticket, _Ticket(now))
        elif isinstance(event, Matched):
            self._match(event.match, now)
        elif isinstance(event, Voided):
            self._void(event)
        elif isinstance(event, Proposed | Repaired):
            tickets = event.match.tickets if isinstance(event, Proposed) else event.joined
            for ticket in tickets:
                if (known := self._tickets.get(ticket)) is not None:
                    known.proposed = now
        elif isinstance(event, Dissolved):
            for ticket in event.tickets:
                if (known := self._tickets.get(ticket)) is not None:
                    known.proposed = None
        elif isinstance(event, Cancelled | Expired):
            state = "cancelled" if isinstance(event, Cancelled) else "expired"
            self._end(event.ticket, now, state=state, reason=event.reason)
        elif isinstance(event, Assigned):
            self._assign(event.match, now)

    def _match(self, match: Match, now: int) -> None:
        known = [(ticket, self._tickets.pop(ticket, None)) for ticket in match.tickets]
        seen = tuple([(ticket, each) for ticket, each in known if each is not None])
        for ended in self._recall.keep(match, _Ended(match.id, match.queue, now, seen)):
            self._end_match(ended)

    def _void(self, event: Voided) -> None:
        """Let the tickets of a match that was called off wait on, in the same trace."""
        for ended in self._recall.take_back(event):
            for ticket, known in ended.tickets:
                known.proposed = None
                _keep(self._tickets, ticket, known)

    def _end_match(self, ended: _Ended) -> None:
        """End the spans of a match that is not called off any more."""
        facts = {"state": "matched", "match": ended.match, "queue": ended.queue}
        spans = [self._span(*each, ended.at, facts) for each in ended.tickets]
        _keep(self._matches, ended.match, spans)

    def _end(self, ticket: str, now: int, **facts: str) -> None:
        """End the span of a ticket that was seen to come."""
        known = self._tickets.pop(ticket, None)
        if known is not None:
            self._span(ticket, known, now, facts)

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
