"""The engine's own counts as Prometheus metrics, read when somebody looks."""

from __future__ import annotations

from collections.abc import Iterator, Sized

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from evenmatch.engine.engine import Engine
from evenmatch.engine.tables import Tables


class EngineFigures(Collector):
    """What the engine counts anyway.

    Args:
        followers: Those who follow tickets and matches now.
    """

    def __init__(self, followers: Sized) -> None:
        self.engine: Engine | None = None
        self._followers = followers

    def describe(self) -> list[Metric]:
        """Return nothing: the names are known only when there is an engine."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the present figures."""
        yield _gauge("evenmatch_followers", "Clients that follow", len(self._followers))
        engine = self.engine
        if engine is None:
            return
        tables = engine.tables
        yield from _ticket_figures(tables)
        waiting = GaugeMetricFamily("evenmatch_waiting", "Waiting tickets", labels=["queue"])
        for name, pool in engine.pools.items():
            waiting.add_metric([name], len(pool.tickets))
        yield waiting
        yield _counter("evenmatch_matches", "Matches made", tables.counters.matches)
        yield _counter("evenmatch_bots", "Seats filled by computer players", tables.counters.bots)
        yield _gauge("evenmatch_policy_faults", "Queues that stopped: a bug", len(engine.faults))
        yield _gauge("evenmatch_journal_sequence", "Number of the last record", tables.sequence)
        yield from _invariants(engine)


def _ticket_figures(tables: Tables) -> Iterator[Metric]:
    counters = tables.counters
    states = CounterMetricFamily("evenmatch_tickets", "Tickets by state", labels=["state"])
    states.add_metric(["accepted"], counters.accepted)
    states.add_metric(["matched"], counters.matched)
    states.add_metric(["cancelled"], counters.cancelled)
    states.add_metric(["expired"], counters.expired)
    yield states


def _invariants(engine: Engine) -> Iterator[Metric]:
    """Yield counts that must be 0: each is a promise that can be checked by comparing totals."""
    tables, counters = engine.tables, engine.tables.counters
    ended = counters.matched + counters.cancelled + counters.expired
    waiting = {ticket_id for pool in engine.pools.values() for ticket_id in pool.tickets}
    players = sum(len(row.ticket.players) for row in tables.waiting.values())
    indexed = sum(len(group) for group in tables.players.values())
    broken = GaugeMetricFamily(
        "evenmatch_invariant_violations", "Must stay 0", labels=["invariant"]
    )
    broken.add_metric(["I1_player_in_one_ticket"], abs(players - indexed))
    broken.add_metric(["I2_ticket_in_one_state"], len(waiting ^ tables.waiting.keys()))
    broken.add_metric(
        ["I3_tickets_accounted_for"], abs(counters.accepted - len(tables.waiting) - ended)
    )
    yield broken


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)


def _counter(name: str, text: str, value: float) -> Metric:
    return CounterMetricFamily(name, text, value=value)
