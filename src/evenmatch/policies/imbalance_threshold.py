"""stub"""

from __future__ import annotations

import msgspec

from evenmatch.cost.valid import LIMITS
from evenmatch.model.queue import Queue
from evenmatch.policies.base import Matcher, Memory
from evenmatch.policies.parts.balance import Balance
from evenmatch.policies.parts.imbalance import FixedLimit, ImbalanceMatcher, Limit
from evenmatch.policies.parts.rated import check_number


class ImbalanceThreshold(msgspec.Struct, frozen=True, kw_only=True):
    """Stub."""

    fills = False

    delta: float | None = None

    def matcher(self, queue: Queue, *, seed: int, memory: Memory | None = None) -> Matcher:
        del seed
        balance = Balance(queue, "imbalance_threshold")
        check_number("imbalance_threshold: delta", self.delta, LIMITS)
        return ImbalanceMatcher(balance, FixedLimit(self.delta), memory or {})
