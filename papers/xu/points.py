"""The settings of two against two: the rates at which each order of service is tried."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from evenmatch.theory.two_v_two import Order
from papers.xu.rows import CHANCE, rounded
from papers.xu.worlds import Run, parties_toml, two_queues_toml

FIXED = ((1.0, 1.0), (0.2, 0.4), (0.5, 0.25), (0.8, 0.1), (3.0, 1.0))
"""Individual players and pairs per second."""
DRAWN = 3
LENGTH = 1_000_000
SPECS: dict[Order, str] = {
    "fifo": "first_come:order=oldest",
    "lifo": "first_come:order=lifo",
    "packing": "first_come:order=packing",
    "two_queues": "first_come:order=oldest",
}


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """Two against two under an order of service.

    Args:
        name: Of its file.
        solo: Individual players per second.
        party: Pairs per second.
        order: One of `SPECS`.
        is_drawn: Whether the seed chose it.
        number: Offset of its seed from that of the run; the same for all orders at its rates.
    """

    name: str
    solo: float
    party: float
    order: Order
    is_drawn: bool = False
    number: int = 0

    @property
    def scenario(self) -> str:
        """Return the name of its file."""
        return f"xu-2v2-{self.order.replace('_', '-')}-{self.name}.toml"

    @property
    def params(self) -> dict[str, Any]:
        """Return the setting as in rows."""
        drawn = CHANCE if self.is_drawn else {}
        rates = {"solo_rate": self.solo, "party_rate": self.party}
        return {**rates, **drawn, "order": self.order}

    def text(self, seed: int) -> str:
        """Return the scenario."""
        run = Run(policy=SPECS[self.order], count=LENGTH, seed=seed + self.number)
        if self.order == "two_queues":
            return two_queues_toml(self.solo, self.party, **run)
        return parties_toml(2, (self.solo, self.party), **run)


def points(seed: int) -> list[Point]:
    """Return the settings: ours, and those that the seed chooses."""
    rng = np.random.default_rng((seed, 2))
    rates = [(f"{number}", *each, False) for number, each in enumerate(FIXED, start=1)]
    for number in range(1, DRAWN + 1):
        solo, party = rounded([rng.uniform(0.2, 2.0), rng.uniform(0.1, 1.0)])
        rates.append((f"drawn-{number}", solo, party, True))
    return [
        Point(name=name, solo=solo, party=party, order=order, is_drawn=is_drawn, number=number)
        for order in SPECS
        for number, (name, solo, party, is_drawn) in enumerate(rates)
        # Packing makes the same matches as FIFO: two settings are enough to show it.
        if order != "packing" or name in ("1", "drawn-1")
    ]


def texts(seed: int) -> dict[str, str]:
    """Return the scenarios by their names."""
    return {each.scenario: each.text(seed) for each in points(seed)}
