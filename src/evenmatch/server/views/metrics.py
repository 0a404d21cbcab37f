"""What operators watch: Prometheus metrics of one server.

Figures that are counted anyway, from durable records only, are read when somebody looks; only
durations are observed as they happen. `evenmatch_invariant_violations` must stay 0 for ever.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sized
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from evenmatch.server.runtime.logs import log
from evenmatch.server.views.engine_metrics import EngineFigures
from evenmatch.server.views.histogram import Tallies
from evenmatch.server.views.statistics import Statistics

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
WAIT_BUCKETS = (0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800)
REQUEST_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
JOB_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
LOOP_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
BATCH_BUCKETS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
LOG_PAUSE = 60.0
"""An unexpected error of the same kind is logged once in this many seconds."""
KINDS_MOST = 100
TOO_MANY = "too_many_requests"
"""The reason of refused callers for which there is an alert."""


class Commits(Protocol):
    """Somebody who counts commits."""

    def committed(self, seconds: float, records: int) -> None:
        """Take note of a commit."""
        ...


class Metrics:
    """All metrics of one server; each has its own registry, so that tests may run several."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Tallies(
            "evenmatch_request_seconds",
            "Durations of requests, long polls and streams left out",
            ["route", "status"],
            REQUEST_BUCKETS,
        )
        self._waits = Tallies(
            "evenmatch_wait_seconds",
            "Waits of matched players in engine time",
            ["queue"],
            WAIT_BUCKETS,
        )
        self._inputs = Tallies(
            "evenmatch_input_seconds",
            "What inputs take of the event loop, by their kind and the first queue they name",
            ["input", "queue"],
            LOOP_BUCKETS,
        )
        self._decisions = Tallies(
            "evenmatch_decision_seconds",
            "What decisions of a queue's policy take of the event loop, jobs left out",
            ["queue"],
            LOOP_BUCKETS,
        )
        for tallies in (self._requests, self._waits, self._inputs, self._decisions):
            self.registry.register(tallies)
        self._lag = Histogram(
            "evenmatch_loop_lag_seconds",
            "How late a timer of the event loop is that is due every 0.05 s",
            buckets=LOOP_BUCKETS,
            registry=self.registry,
        )
        self._commit_seconds = Histogram(
            "evenmatch_journal_commit_seconds",
            "Durations of commits",
            buckets=REQUEST_BUCKETS,
            registry=self.registry,
        )
        self._commit_records = Histogram(
            "evenmatch_journal_commit_records",
            "Records of a commit",
            buckets=BATCH_BUCKETS,
            registry=self.registry,
        )
        self._job_seconds = Histogram(
            "evenmatch_job_seconds",
            "Durations of jobs, from the start of the first part to the plan",
            buckets=JOB_BUCKETS,
            registry=self.registry,
        )
        self._unexpected = Counter(
            "evenmatch_unexpected_errors",
            "Unexpected errors; each is a bug",
            ["route"],
            registry=self.registry,
        )
        self._refused = Counter(
            "evenmatch_refused_callers",
            "Requests turned away at the gate: no valid key or token, or too many",
            ["reason"],
            registry=self.registry,
        )
        # There from the start: Prometheus sees no increase in a series that begins with its first.
        self._refused.labels(TOO_MANY)
        self._logged: dict[str, float] = {}

    def watch(self, followers: Sized, statistics: Statistics) -> EngineFigures:
        """Show what is counted anyway; set the engine on what is returned."""
        figures = EngineFigures(followers, statistics)
        self.registry.register(figures)
        return figures

    def show(self, name: str, text: str, value: Callable[[], float]) -> None:
        """Show a figure that is asked for when somebody looks."""
        Gauge(name, text, registry=self.registry).set_function(value)

    def created(self, status: int, seconds: float) -> None:
        """Count a create."""
        self._requests.of("POST /v1/tickets", str(status)).observe(seconds)

    def requested(self, route: str, status: int, seconds: float) -> None:
        """Count a request by its route's pattern, never by its path."""
        self._requests.of(route, str(status)).observe(seconds)

    def waited(self, queue: str, seconds: float) -> None:
        """Count the wait of a matched player."""
        self._waits.of(queue).observe(seconds)

    def committed(self, seconds: float, records: int) -> None:
        """Count a commit."""
        self._commit_seconds.observe(seconds)
        self._commit_records.observe(records)

    def solved(self, seconds: float) -> None:
        """Count a job that has its plan."""
        self._job_seconds.observe(seconds)

    def lagged(self, seconds: float) -> None:
        """Count by how much a timer of the event loop was late."""
        self._lag.observe(seconds)

    def handled(self, kind: str, queue: str, seconds: float) -> None:
        """Count an input that the engine has dealt with."""
        self._inputs.of(kind, queue).observe(seconds)

    def decided(self, queue: str, seconds: float) -> None:
        """Count a decision of a policy."""
        self._decisions.of(queue).observe(seconds)

    def turned_away(self, reason: str) -> None:
        """Count a request that the gate let nobody see."""
        self._refused.labels(reason).inc()

    def unexpected(self, error: Exception, route: str) -> None:
        """Count an error that nobody foresaw, and log it unless its kind was logged just now."""
        self._unexpected.labels(route).inc()
        kind, now = f"{route} {type(error).__name__}", time.monotonic()
        if now - self._logged.get(kind, -LOG_PAUSE) >= LOG_PAUSE:
            if len(self._logged) >= KINDS_MOST:
                self._logged.clear()
            self._logged[kind] = now
            log.error("unexpected_error", route=route, error=repr(error), exc_info=error)

    def text(self) -> bytes:
        """Return all metrics in Prometheus's text format."""
        return generate_latest(self.registry)
