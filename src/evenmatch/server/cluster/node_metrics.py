"""What a node counts of itself: requests that it fails because nobody answers for their shard.

What a shard refuses is counted by the node that answers for it, by its route.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest

from evenmatch.server.runtime.clock import Clocks
from evenmatch.server.views.metrics import REQUEST_BUCKETS, REQUEST_SECONDS, Tallies

ROUTE = "node"
"""The label `route` of what reached no route of a shard."""
FAILED = (500, 503)


class NodeMetrics:
    """The metrics of one node about one game.

    Args:
        node: Its name, the label `node`: an address in front of the cluster shows now one node,
            now another, and their counts must not be taken for one.
    """

    stopwatch = staticmethod(Clocks().stopwatch)

    def __init__(self, node: str) -> None:
        self._node = node
        self._registry = CollectorRegistry()
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
