"""What a node counts of itself: requests that it fails because nobody answers for their shard.

What a shard refuses is counted by the node that answers for it, by its route. Beside that a node
says what it knows of its cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from evenmatch.server.runtime.clock import Clocks
from evenmatch.server.views.metrics import REQUEST_BUCKETS, REQUEST_SECONDS, Tallies

ROUTE = "node"
"""The label `route` of what reached no route of a shard."""
FAILED = (500, 503)


class ClusterFigures(NamedTuple):
    """What a node knows of its cluster.

    Args:
        nodes: Nodes that are alive, itself included.
        unlike: Those of them that run another CONFIG.
        taken: How often it got the lease of a shard.
        unfollowed: How often it could not read on in the journal of a shard of another node.
    """

    nodes: int = 1
    unlike: int = 0
    taken: int = 0
    unfollowed: int = 0


class _ClusterCollector(Collector):
    """Looks at the figures whenever somebody asks for metrics."""

    def __init__(self, node: str, figures: Callable[[], ClusterFigures]) -> None:
        self._node, self._figures = node, figures

    def collect(self) -> Iterator[Metric]:
        now = self._figures()
        gauges = (
            (
                "evenmatch_nodes",
                "Nodes that this one knows to be alive, itself included",
                now.nodes,
            ),
            ("evenmatch_nodes_unlike", "Of these, those with another CONFIG", now.unlike),
        )
        counters = (
            ("evenmatch_shards_taken", "Shards whose lease this node got", now.taken),
            (
                "evenmatch_shards_unfollowed",
                "Failed looks at what the owner of a shard has written",
                now.unfollowed,
            ),
        )
        for name, about, value in gauges:
            gauge = GaugeMetricFamily(name, about, labels=["node"])
            gauge.add_metric([self._node], value)
            yield gauge
        for name, about, value in counters:
            counter = CounterMetricFamily(name, about, labels=["node"])
            counter.add_metric([self._node], value)
            yield counter


class NodeMetrics:
    """The metrics of one node about one game.

    Args:
        node: Its name, the label `node`: an address in front of the cluster shows now one node,
            now another, and their counts must not be taken for one.
        figures: Returns what it knows of its cluster.
    """

    stopwatch = staticmethod(Clocks().stopwatch)

    def __init__(self, node: str, figures: Callable[[], ClusterFigures] = ClusterFigures) -> None:
        self._node = node
        self._registry = CollectorRegistry()
        self._registry.register(_ClusterCollector(node, figures))
        self._failed = Tallies(*REQUEST_SECONDS, ["node", "route", "status"], REQUEST_BUCKETS)
        self._registry.register(self._failed)
        for status in FAILED:
            # There from the start: Prometheus sees no increase in a series that begins with its
            # first.
            self._failed.begin(node, ROUTE, str(status))

    def answered(self, status: int, began: float) -> None:
        """Count an answer of the node's own, if it is one that it should not have to give.

        Args:
            status: Of the answer.
            began: When the request came, by the stopwatch.
        """
        if status in FAILED:
            seconds = self.stopwatch() - began
            self._failed.observe(seconds, self._node, ROUTE, str(status))

    def text(self) -> str:
        """Return them in Prometheus's text format."""
        return generate_latest(self._registry).decode()
