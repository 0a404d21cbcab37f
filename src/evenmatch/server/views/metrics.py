"""Prometheus metrics of one server.

Figures that are counted anyway, from durable records only, are read when somebody looks; only
durations are observed as they happen. `evenmatch_invariant_violations` must stay 0 for ever.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Sized
from itertools import accumulate
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from evenmatch.engine.engine import Engine
from evenmatch.engine.lifecycle import LifecycleView
from evenmatch.engine.state.rows import LiveTicket
from evenmatch.engine.state.state import Counters
from evenmatch.server.runtime.logs import log
from evenmatch.server.views.statistics import Statistics

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
REQUEST_SECONDS = (
    "evenmatch_request_seconds",
    "Durations of requests, long polls and streams left out",
)
WAIT_BUCKETS = (0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800)
REQUEST_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
JOB_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
LOOP_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
BATCH_BUCKETS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
LOG_PAUSE = 60.0
"""An unexpected error of the same kind is logged once in this many seconds."""
KINDS_MOST = 100
CREATE = "POST /v1/tickets"
TURNED_AWAY = (429, 503)
ENGINE = "engine"
"""The label `route` of errors that no request has met alone: the shard is rebuilt."""
NODE, UNKNOWN = "node", "unknown"
"""The same of errors of a node between its shards, and of requests that no route answers."""
TOO_MANY = "too_many_requests"
"""The reason of refused callers for which there is an alert."""


class Commits(Protocol):
    """Counts commits, and failures of the engine."""

    def committed(self, seconds: float, records: int) -> None:
        """Take note of a commit."""
        ...

    def failed(self) -> None:
        """Take note of an unexpected error after which the shard is rebuilt."""
        ...


class Metrics:
    """All metrics of one server; each has its own registry, so that tests may run several."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Tallies(*REQUEST_SECONDS, ["route", "status"], REQUEST_BUCKETS)
        self._waits = Tallies(
            "evenmatch_wait_seconds",
            "Waits of matched players in engine time",
            ["queue"],
            WAIT_BUCKETS,
        )
        self.inputs = Tallies(
            "evenmatch_input_seconds",
            "What inputs take of the event loop, by their kind and the first queue they name",
            ["input", "queue"],
            LOOP_BUCKETS,
        )
        self.decisions = Tallies(
            "evenmatch_decision_seconds",
            "What decisions of a queue's policy take of the event loop, jobs left out",
            ["queue"],
            LOOP_BUCKETS,
        )
        for tallies in (self._requests, self._waits, self.inputs, self.decisions):
            self.registry.register(tallies)
        self._lag = self._tally(
            "evenmatch_loop_lag_seconds",
            "How late a timer of the event loop is that is due every 0.05 s",
            LOOP_BUCKETS,
        )
        self._commit_seconds = self._tally(
            "evenmatch_journal_commit_seconds", "Durations of commits", REQUEST_BUCKETS
        )
        self._commit_records = self._tally(
            "evenmatch_journal_commit_records", "Records of a commit", BATCH_BUCKETS
        )
        self._job_seconds = self._tally(
            "evenmatch_job_seconds",
            "Durations of jobs, from the start of the first part to the plan",
            JOB_BUCKETS,
        )
        self._unexpected = Counts(
            "evenmatch_unexpected_errors", "Unexpected errors; each is a bug", "route"
        )
        self.registry.register(self._unexpected)
        self._refused = Counter(
            "evenmatch_refused_callers",
            "Requests turned away at the gate: no valid key or token, or too many",
            ["reason"],
            registry=self.registry,
        )
        # There from the start: Prometheus sees no increase in a series that begins with its first.
        self._refused.labels(TOO_MANY)
        for status in TURNED_AWAY:
            self._requests.begin(CREATE, str(status))
        self.expect_errors((ENGINE, NODE, UNKNOWN))
        self._logged: dict[str, float] = {}

    def _tally(self, name: str, text: str, bounds: Sequence[float]) -> Tally:
        """Return a histogram without labels, which is shown from now on."""
        tallies = Tallies(name, text, (), bounds)
        self.registry.register(tallies)
        return tallies.begin()

    def expect_errors(self, routes: Iterable[str]) -> None:
        """Show 0 unexpected errors of these routes until there is one; see the constructor."""
        for route in routes:
            self._unexpected.add(route, 0)

    def watch(self, followers: Sized, statistics: Statistics) -> EngineFigures:
        """Show figures that are counted in any case; the result must hear of the engine."""
        figures = EngineFigures(followers, statistics)
        self.registry.register(figures)
        return figures

    def show(self, name: str, text: str, value: Callable[[], float]) -> None:
        """Show a figure that is computed when somebody reads the metrics."""
        Gauge(name, text, registry=self.registry).set_function(value)

    def show_certificate(self, seconds_left: Callable[[], float]) -> None:
        """Show for how long the server's own certificate is valid; few servers have one."""
        text = "Seconds for which the server's own certificate is valid; below 0 it has expired"
        self.show("evenmatch_certificate_seconds_left", text, seconds_left)

    def created(self, status: int, seconds: float) -> None:
        """Count a create."""
        self._requests.observe(seconds, CREATE, str(status))

    def requested(self, route: str, status: int, seconds: float) -> None:
        """Count a request by its route's pattern, never by its path."""
        self._requests.observe(seconds, route, str(status))

    def waited(self, queue: str, seconds: float) -> None:
        """Count the wait of a matched player."""
        self._waits.observe(seconds, queue)

    def committed(self, seconds: float, records: int) -> None:
        """Count a commit."""
        self._commit_seconds.observe(seconds)
        self._commit_records.observe(records)

    def failed(self) -> None:
        """Count an unexpected error of the engine; who saw it has logged it."""
        self._unexpected.add(ENGINE)

    def solved(self, seconds: float) -> None:
        """Count a job that has its plan."""
        self._job_seconds.observe(seconds)

    def lagged(self, seconds: float) -> None:
        """Record by how much a timer of the event loop was late."""
        self._lag.observe(seconds)

    def turned_away(self, reason: str) -> None:
        """Count a request that the gate turned away."""
        self._refused.labels(reason).inc()

    def unexpected(self, error: Exception, route: str) -> None:
        """Count an unexpected error, and log it unless its kind was logged just now."""
        self._unexpected.add(route)
        kind, now = f"{route} {type(error).__name__}", time.monotonic()
        if now - self._logged.get(kind, -LOG_PAUSE) >= LOG_PAUSE:
            if len(self._logged) >= KINDS_MOST:
                self._logged.clear()
            self._logged[kind] = now
            log.error("unexpected_error", route=route, error=repr(error), exc_info=error)

    def text(self) -> bytes:
        """Return all metrics in Prometheus's text format."""
        return generate_latest(self.registry)


# Histograms that cost next to nothing to feed: one search and two additions an observation.


class Tally:
    """The observations under one set of labels.

    Args:
        bounds: Upper bounds of the buckets, ascending; the last bucket is open.
    """

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Tallies(Collector):
    """A histogram, in Prometheus's terms, read when somebody looks.

    Args:
        name: Of the metric.
        text: What it measures.
        labels: Their names, if it has any.
        bounds: Upper bounds of the buckets, ascending.
    """

    def __init__(
        self, name: str, text: str, labels: Sequence[str], bounds: Sequence[float]
    ) -> None:
        self._name, self._text, self._labels, self._bounds = name, text, labels, bounds
        self._tallies: dict[tuple[str, ...], Tally] = {}

    def observe(self, value: float, *labels: str) -> None:
        """Count a value under these labels; there are few, so they are kept for ever."""
        tally = self._tallies.get(labels)
        if tally is None:
            tally = self.begin(*labels)
        tally.observe(value)

    def begin(self, *labels: str) -> Tally:
        """Show these labels from now on, with no observation yet."""
        tally = self._tallies[labels] = Tally(self._bounds)
        return tally

    def describe(self) -> list[Metric]:
        """Return the metric without values."""
        return [HistogramMetricFamily(self._name, self._text, labels=self._labels)]

    def collect(self) -> Iterator[Metric]:
        """Yield the present counts."""
        family = HistogramMetricFamily(self._name, self._text, labels=self._labels)
        names = [*(str(float(bound)) for bound in self._bounds), "+Inf"]
        for labels, tally in self._tallies.items():
            buckets = list(zip(names, accumulate(tally.counts), strict=True))
            family.add_metric(labels, buckets, sum_value=tally.total)
        yield family


class Counts(Collector):
    """A counter with one label; what the library makes has a line more for each of its values.

    Args:
        name: Of the metric.
        text: What it counts.
        label: Its name.
    """

    def __init__(self, name: str, text: str, label: str) -> None:
        self._name, self._text, self._label = name, text, label
        self._counts: dict[str, int] = {}

    def add(self, label: str, times: int = 1) -> None:
        """Count under a label; there are few, so they are kept for ever."""
        self._counts[label] = self._counts.get(label, 0) + times

    def describe(self) -> list[Metric]:
        """Return the metric without values."""
        return [CounterMetricFamily(self._name, self._text, labels=[self._label])]

    def collect(self) -> Iterator[Metric]:
        """Yield the present counts."""
        family = CounterMetricFamily(self._name, self._text, labels=[self._label])
        for label, count in self._counts.items():
            family.add_metric([label], count)
        yield family


# The engine's own counts as Prometheus metrics, read when somebody looks.

INVARIANTS = ("I1_player_in_one_ticket", "I2_ticket_in_one_state", "I3_tickets_accounted_for")


class EngineFigures(Collector, LifecycleView):
    """Figures of durable records that are counted in any case: a fold, not a walk over tables.

    Args:
        followers: Those who follow tickets and matches now.
        statistics: The figures of durable records.
    """

    def __init__(self, followers: Sized, statistics: Statistics) -> None:
        self._engine: Engine | None = None
        self._followers = followers
        self._statistics = statistics
        self._violations = dict.fromkeys(INVARIANTS, 0)

    def began(self, engine: Engine, live: Collection[LiveTicket]) -> None:
        """Show this engine from now on."""
        del live
        self._engine = engine

    def describe(self) -> list[Metric]:
        """Return nothing: the names are known only when there is an engine."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the present figures."""
        yield _gauge("evenmatch_followers", "Clients that follow", len(self._followers))
        engine, statistics = self._engine, self._statistics
        if engine is None:
            return
        totals = statistics.totals
        yield _ticket_figures(totals)
        waiting = GaugeMetricFamily("evenmatch_waiting", "Waiting tickets", labels=["queue"])
        for name, count in statistics.waiting_by_queue().items():
            waiting.add_metric([name], count)
        yield waiting
        paused = GaugeMetricFamily(
            "evenmatch_paused", "1 if the queue takes and matches nobody", labels=["queue"]
        )
        for name in engine.tables.queues:
            paused.add_metric([name], float(name in engine.tables.paused))
        yield paused
        yield _counter("evenmatch_matches", "Matches made", totals.matches)
        yield _counter("evenmatch_bots", "Seats filled by computer players", totals.bots)
        yield _counter("evenmatch_jobs", "Jobs that policies asked for", totals.jobs)
        yield _counter(
            "evenmatch_job_matches_dropped",
            "Matches of jobs' plans that could not be played any more",
            totals.dropped,
        )
        yield _counter("evenmatch_proposals", "Matches proposed to their players", totals.proposed)
        yield _counter(
            "evenmatch_checks_failed", "Ready-checks that lost a player", totals.checks_failed
        )
        yield _counter(
            "evenmatch_checks_repaired", "Failed ready-checks that were played", totals.repaired
        )
        yield _counter(
            "evenmatch_checks_dissolved", "Ready-checks that came to nothing", totals.dissolved
        )
        yield from _checks(statistics)
        yield _counter("evenmatch_fills", "Matches that filled running ones", totals.filled)
        yield _counter("evenmatch_matches_void", "Matches called off again", totals.voided)
        yield _counter("evenmatch_outcomes", "Outcomes of matches that counted", totals.outcomes)
        yield _counter(
            "evenmatch_outcomes_disputed",
            "Matches on whose outcome the players did not agree in time",
            totals.disputed,
        )
        yield _counter("evenmatch_ratings", "New ratings of players stored", totals.rated)
        yield _gauge("evenmatch_policy_faults", "Queues that stopped: a bug", len(engine.faults))
        yield _gauge(
            "evenmatch_journal_sequence", "Number of the last durable record", statistics.sequence
        )
        yield self._invariants(engine)

    def _invariants(self, engine: Engine) -> Metric:
        """Return counts that must be 0: each is a promise that can be checked by comparing totals.

        What was heard and what is held agree only while memory is not ahead of the journal; until
        then, the last comparison stands.
        """
        tables, statistics = engine.tables, self._statistics
        self._violations["I3_tickets_accounted_for"] = tables.miscounted
        if statistics.sequence == tables.sequence:
            players = sum(len(group) for group in tables.players.values())
            self._violations["I1_player_in_one_ticket"] = abs(players - statistics.players)
            heard = statistics.waiting_by_queue()
            held = {name: len(pool.tickets) for name, pool in engine.pools.items()}
            self._violations["I2_ticket_in_one_state"] = sum(
                abs(heard.get(name, 0) - held.get(name, 0)) for name in heard | held
            )
        family = GaugeMetricFamily(
            "evenmatch_invariant_violations", "Must stay 0", labels=["invariant"]
        )
        for name, count in self._violations.items():
            family.add_metric([name], count)
        return family


def _ticket_figures(totals: Counters) -> Metric:
    states = CounterMetricFamily("evenmatch_tickets", "Tickets by state", labels=["state"])
    states.add_metric(["accepted"], totals.accepted)
    states.add_metric(["matched"], totals.matched)
    states.add_metric(["cancelled"], totals.cancelled)
    states.add_metric(["expired"], totals.expired)
    states.add_metric(["returned"], totals.returned)
    return states


def _checks(statistics: Statistics) -> Iterator[Metric]:
    """Yield how ready-checks go for the players of each queue, and what comes of proposals."""
    families = [
        CounterMetricFamily(f"evenmatch_{name}", text, labels=["queue"])
        for name, text in (
            ("players_asked", "Players who were asked to accept a match"),
            ("players_unready", "Players asked who declined, withdrew or did not answer"),
            ("proposals_ended", "Proposals that were played, or given up"),
            ("proposals_given_up", "Proposals that came to nothing, after repair"),
        )
    ]
    for queue, counts in statistics.checks().items():
        for family, count in zip(families, counts, strict=True):
            family.add_metric([queue], count)
    yield from families


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)


def _counter(name: str, text: str, value: float) -> Metric:
    return CounterMetricFamily(name, text, value=value)
