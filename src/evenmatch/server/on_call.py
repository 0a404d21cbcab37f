"""The figures that somebody is woken up for; `deploy/prometheus/alerts.yml` has the limits.

They are of this moment: what is not durable yet counts as well, since nobody decides by them.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from evenmatch.engine.engine import Engine
from evenmatch.server.runtime import Runtime


class OnCall(Collector):
    """Whether a server is ready, and what would soon keep it from being so.

    Args:
        runtime: The server's.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def describe(self) -> list[Metric]:
        """Return nothing: queues have names only when there is an engine."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the present figures."""
        runtime = self._runtime
        yield GaugeMetricFamily(
            "evenmatch_ready",
            "1 if tickets are taken and all queues make matches, else 0",
            value=float(runtime.unready is None),
        )
        if runtime.plan.data is not None and runtime.plan.data.is_dir():
            yield GaugeMetricFamily(
                "evenmatch_data_free_bytes",
                "Free space where the journal is",
                value=shutil.disk_usage(runtime.plan.data).free,
            )
        yield GaugeMetricFamily(
            "evenmatch_loop_lag_longest_seconds",
            "The longest lateness of the event loop in the last minute",
            value=runtime.lag.longest,
        )
        yield CounterMetricFamily(
            "evenmatch_loop_away_seconds",
            "Time in which the event loop read no socket, and which is not counted against players",
            value=runtime.lag.away,
        )
        if runtime.failure is None:
            slow = GaugeMetricFamily(
                "evenmatch_policy_slow",
                "The longest decision of a policy that keeps the event loop busy for too long",
                labels=["queue", "policy"],
            )
            for each in runtime.timings.slow(runtime.engine):
                slow.add_metric([each.queue, each.policy], each.longest)
            yield slow
            yield GaugeMetricFamily(
                "evenmatch_journal_unsaved_records",
                "Records since the last snapshot, which a restart reads again",
                value=runtime.unsaved,
            )
            yield from _by_queue(runtime.engine, runtime.now())


def _by_queue(engine: Engine, now: float) -> Iterator[Metric]:
    oldest = GaugeMetricFamily(
        "evenmatch_oldest_wait_seconds", "Wait of the longest waiting ticket", labels=["queue"]
    )
    paused = GaugeMetricFamily(
        "evenmatch_queue_paused", "1 if the queue takes and matches nobody", labels=["queue"]
    )
    for name, pool in engine.pools.items():
        first = next(iter(pool.tickets.values()), None)
        oldest.add_metric([name], 0.0 if first is None else max(0.0, now - first.enqueued_at))
        paused.add_metric([name], float(name in engine.tables.paused))
    yield oldest
    yield paused
