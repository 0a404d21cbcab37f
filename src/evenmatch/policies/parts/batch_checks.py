"""Which queues have tickets that a `Batch` can hold."""

from __future__ import annotations

from evenmatch.errors import ConfigError
from evenmatch.model.batchable import batch_problem
from evenmatch.model.queue import Queue


def check_batch(name: str, queue: Queue) -> None:
    """Refuse a queue whose tickets a batch cannot hold.

    Raises:
        ConfigError: Says what is in the way.
    """
    problem = batch_problem(queue)
    if problem is not None:
        raise ConfigError(
            f"policy {name} solves batches of parties, and queue {queue.name} {problem}: "
            f"choose greedy"
        )
