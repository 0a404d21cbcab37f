"""Metrics for alerts that wake somebody up; `deploy/prometheus/alerts.yml` has their limits.

They are of this moment: what is not durable yet counts as well, since nobody decides by them.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from evenmatch.engine.engine import Engine
from evenmatch.server.allocation.allocations import Allocations
from evenmatch.server.gamelift.delivery import Targets
from evenmatch.server.runtime.runtime import Runtime
from evenmatch.server.views.stalled_queues import StalledQueues

READY = "evenmatch_ready", "1 if tickets are taken and all queues make matches, else 0"


class AlertMetrics(Collector):
    """Shows whether a server is ready, and what would soon keep it from being ready.

    Args:
        runtime: The server's.
        standstills: Tells which queues stand still.
        allocations: Counts what hooks answer.
        targets: Counts the events that webhooks miss.
    """

    def __init__(
        self,
        runtime: Runtime,
        standstills: StalledQueues,
        allocations: Allocations,
        targets: Targets,
    ) -> None:
        self._runtime = runtime
        self._standstills = standstills
        self._allocations = allocations
        self._targets = targets

    def describe(self) -> list[Metric]:
        """Return nothing: queues have names only when there is an engine."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the present figures."""
        runtime = self._runtime
        yield GaugeMetricFamily(*READY, value=float(runtime.unready is None))
        yield from _free_bytes(runtime.plan.journal_folder)
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
        yield from _failed_calls(self._allocations, self._targets)
        if runtime.failure is None:
            slow = GaugeMetricFamily(
                "evenmatch_policy_slow",
                "The longest decision of a policy that is slow again and again; 0 if it is not",
                labels=["queue", "policy"],
            )
            for name in runtime.engine.pools:
                lately = runtime.timings.recent(name, runtime.engine)
                slow.add_metric([name, lately.policy], lately.longest if lately.is_slow else 0.0)
            yield slow
            yield GaugeMetricFamily(
                "evenmatch_journal_unsaved_records",
                "Records since the last snapshot, which a restart reads again",
                value=runtime.unsaved,
            )
            yield from _by_queue(runtime.engine, runtime.now())
            yield self._still(runtime.engine)

    def _still(self, engine: Engine) -> Metric:
        family = GaugeMetricFamily(
            "evenmatch_queue_still_seconds",
            "How long a queue has made no match although players for several wait; 0 if it does",
            labels=["queue"],
        )
        for name in engine.pools:
            still = self._standstills.of(name)
            family.add_metric([name], 0.0 if still is None else still.seconds)
        return family


def _free_bytes(folder: Path | None) -> Iterator[Metric]:
    """Yield the free space in a folder; a disk that has failed says nothing of it."""
    if folder is None:
        return
    with suppress(OSError):
        free = shutil.disk_usage(folder).free
        yield GaugeMetricFamily(
            "evenmatch_data_free_bytes", "Free space where the journal is", value=free
        )


def _failed_calls(allocations: Allocations, targets: Targets) -> Iterator[Metric]:
    """Yield how often hooks gave no server, of their calls, and how many events were dropped."""
    for name, text, label, counts in (
        (
            "evenmatch_allocation_tries",
            "Times that a hook was asked for a server",
            "hook",
            allocations.tries,
        ),
        (
            "evenmatch_allocation_tries_failed",
            "Of these, those after which it had given none",
            "hook",
            allocations.failures,
        ),
        (
            "evenmatch_events_dropped",
            "Events that a webhook of notifications did not take",
            "target",
            targets.dropped,
        ),
    ):
        family = CounterMetricFamily(name, text, labels=[label])
        for value, count in counts.items():
            family.add_metric([value], count)
        yield family


def _by_queue(engine: Engine, now: float) -> Iterator[Metric]:
    oldest = GaugeMetricFamily(
        "evenmatch_oldest_wait_seconds", "Wait of the longest waiting ticket", labels=["queue"]
    )
    for name, pool in engine.pools.items():
        first = next(iter(pool.tickets.values()), None)
        oldest.add_metric([name], 0.0 if first is None else max(0.0, now - first.enqueued_at))
    yield oldest
