"""Traces of tickets for OpenTelemetry: from the create to the match and its assignment.

A trace is a ticket's life: the span `ticket` from its create to its end, in it `ready_check` where
there was one, and `assign` from the match to its place. Spans are made from durable records, when
they end, and carry ids and queues, never players. How many tickets are traced is the business of
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
from evenmatch.model.events import (
    Accepted,
    Assigned,
    Cancelled,
    Dissolved,
    Event,
    Expired,
    Matched,
    Proposed,
    Repaired,
)

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

    def reset(self, engine: Engine) -> None:
        """Forget tickets that are not live; those that came before a start have no trace."""
        waiting = engine.tables.waiting
        self._tickets = {at: row for at, row in self._tickets.items() if at in waiting}

    def hear(self, record: Record) -> None:
        """Take note of a durable record."""
        now = self._wall()
        for event in record.events:
            self._hear(event, now)

    def _hear(self, event: Event, now: int) -> None:
        if isinstance(event, Accepted):
            _keep(self._tickets, event.ticket, _Ticket(now))
        elif isinstance(event, Matched):
            spans = [
                self._end(
                    ticket, now, state="matched", match=event.match.id, queue=event.match.queue
                )
                for ticket in event.match.tickets
            ]
            _keep(self._matches, event.match.id, [span for span in spans if span is not None])
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

    def _end(self, ticket: str, now: int, **facts: str) -> Span | None:
        """End the span of a ticket that was seen to come."""
        known = self._tickets.pop(ticket, None)
        if known is None:
            return None
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
