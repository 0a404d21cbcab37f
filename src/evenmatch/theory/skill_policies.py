"""Simple policies for players of a few skills, and exactly what each costs in the long run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from evenmatch.theory.skill_pools import Floats, Ints, LongRun, Pools, run_long

THRESHOLDS_MAX = 1_000


class SimplePolicies:
    """Exact costs of policies that look at the evenest set or the size of the pool alone.

    Args:
        pools: All pools.
        price: Cost of an imbalance of 1.
    """

    def __init__(self, pools: Pools, price: float) -> None:
        self._pools = pools
        self._price = price
        self._least = pools.least_moves()
        self._all = pools.after(self._least)
        self._forced = -1.0

    def threshold(self, least: Ints, delta: float) -> float | None:
        """Return the cost of matching the evenest set if its imbalance is at most delta.

        None if it would let more players wait than the cap allows: that is no longer its cost.
        """
        pools = self._pools
        gaps = np.where(least >= 0, pools.imbalances[pools.move_set[least]], np.inf)
        is_full = pools.sizes == pools.cap
        left, imbalance = pools.after(np.where((gaps <= delta) | is_full, least, -1))
        found = run_long(pools, left, imbalance)
        if (is_full & (gaps > delta))[pools_met(pools, found)].any():
            self._forced = max(self._forced, delta)
            return None
        return found.wait + self._price * found.imbalance

    def static(self, least: Ints) -> tuple[float, float]:
        """Return the cost of the best threshold, and that threshold."""
        pools = self._pools
        deltas = np.unique(pools.imbalances[pools.move_set[least[least >= 0]]])
        if len(deltas) > THRESHOLDS_MAX:
            deltas = np.append(deltas[: -1 : -(-len(deltas) // THRESHOLDS_MAX)], deltas[-1])
        found = ((self.threshold(least, delta), delta) for delta in deltas.tolist())
        # The largest is never held back by the cap, as it matches whatever it can.
        return min((cost, delta) for cost, delta in found if cost is not None)

    def notes(self) -> Iterator[str]:
        """Yield which thresholds have no cost, of those that were asked for."""
        if self._forced >= 0.0:
            yield (
                f"the cap forces matches on patient or on thresholds up to {self._forced:.6g}, "
                "which have no cost here: give a higher cap to have them"
            )

    def at_least(self, players: int) -> float:
        """Return the cost of matching the evenest set while so many wait."""
        return self._cost(
            *self._pools.after(np.where(self._pools.sizes >= players, self._least, -1))
        )

    def batch(self, players: int) -> float:
        """Return the cost of matching all when so many wait."""
        acts = self._pools.sizes >= players
        left, imbalance = self._all
        return self._cost(
            np.where(acts, left, np.arange(len(left))), np.where(acts, imbalance, 0.0)
        )

    def _cost(self, left: Ints, imbalance: Floats) -> float:
        found = run_long(self._pools, left, imbalance)
        return found.wait + self._price * found.imbalance


def pools_met(pools: Pools, found: LongRun) -> Ints:
    """Return the pools that arrivals make of those that are left in the long run."""
    return np.unique(pools.arrivals[found.shares > 0.0])
