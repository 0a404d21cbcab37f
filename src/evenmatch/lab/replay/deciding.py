"""An engine as the server builds it."""

from __future__ import annotations

from evenmatch.engine.engine import Engine
from evenmatch.model.queue import Queue
from evenmatch.policies.base import Policy
from evenmatch.policies.registry import parse_policy
from evenmatch.ratings.periods import rate_period


def new_engine(shard: str) -> Engine:
    """Return an engine of the server's making, without any state."""
    return Engine(resolve, shard=shard, rate=rate_period)


def resolve(queue: Queue) -> Policy:
    """Return a queue's policy."""
    return parse_policy(queue.policy)
