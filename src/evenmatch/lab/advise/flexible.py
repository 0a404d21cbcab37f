"""What a player gains who is less particular, and who loses by it.

A player who waits in several pools at once plays in the first of them that fills up. To each pool
he is a player like any other, so a single such player waits the least of the waits of all of them,
which are independent. When many do so the pools are no longer independent: of duels the exact law
of a compatibility graph says what becomes of the others, of larger matches only a simulation.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenmatch.lab.advise.base import ANY, PlayerBase, Split
from evenmatch.lab.advise.market import Market
from evenmatch.lab.advise.pools import Floats, Pool, ScalingPool, Source

SHIFT = 0.1
"""The share of a class that becomes flexible where it is asked who loses."""
OPTIONS_MAX = 12
"""Options of a split for which it is computed, the smallest first."""
GRAPH_MAX = 10
"""Pools of duels up to which it is computed who loses: any set of them may be waiting."""
PANELS, NODES = 400, 8
TAIL = 1e-12


@dataclass(frozen=True)
class Flexible:
    """One class of players, and what its wait would be if they were flexible.

    Args:
        who: The class, `asia` or `side A`.
        becomes: What it would be, `any region` or `either side`.
        wait: Its mean wait now, seconds.
        wait_if_flexible: The mean wait of a single such player who becomes flexible.
        source: How both are known.
        others: Mean waits now, and if a tenth of the class became flexible, by class; empty where
            only a simulation can say.
        others_source: How these are known.
    """

    who: str
    becomes: str
    wait: float | None
    wait_if_flexible: float | None
    source: Source
    others: dict[str, tuple[float | None, float | None]]
    others_source: Source = "exact"

    def as_json(self) -> dict[str, Any]:
        """Return the figures by name."""
        others = {
            name: {"now": now, "if_a_tenth_were": then} for name, (now, then) in self.others.items()
        }
        return {**vars(self), "others": others}


def flexible_players(market: Market, rate: float | None) -> list[Flexible]:
    """Return what flexible players gain, of each split and of the two sides of a duel.

    Args:
        market: The pools.
        rate: Searches per second of the whole game; None where too few are online.
    """
    if rate is None:
        return []
    found = [
        each
        for place, split in enumerate(market.base.splits)
        for each in _of_split(market, rate, place, split)
    ]
    if market.base.sides and market.base.teams == (1, 1):
        found.extend(_of_sides(market.base, market.smallest * rate))
    return found


def _of_split(market: Market, rate: float, place: int, split: Split) -> list[Flexible]:
    """Return what players gain who wait in all options of a split, in its thinnest pools."""
    if len(split.shares) < 2 or not isinstance(market.pool, ScalingPool):
        return []
    others = [other for at, other in enumerate(market.base.splits) if at != place]
    rest = math.prod(min(other.shares.values()) for other in others)
    rates = {option: rate * rest * share for option, share in split.shares.items()}
    alone = mean_of_least(market.pool, np.array(list(rates.values())))
    by_rate = {own: option for option, own in sorted(rates.items(), reverse=True)}
    found = []
    for own in sorted(by_rate)[:OPTIONS_MAX]:
        option = by_rate[own]
        found.append(
            Flexible(
                who=name_of(split, option),
                becomes=f"any {split.name}",
                wait=market.pool.mean / own,
                wait_if_flexible=alone,
                source=market.pool.of_quantiles,
                others=_others_of_split(market.base, split, rates, option),
            )
        )
    return found


def mean_of_least(pool: Pool, rates: Floats) -> float:
    """Return the mean wait of one player who waits in pools of these rates at once.

    Args:
        pool: Law of the waits.
        rates: Players per second of each.
    """
    end = min(pool.waits(float(rate)).quantile(1.0 - TAIL) or math.inf for rate in rates)
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    # Panels get wider with the wait, as the survival gets smoother.
    edges = end * np.linspace(0.0, 1.0, PANELS + 1) ** 2
    total = 0.0
    for low, high in itertools.pairwise(edges):
        for node, weight in zip(nodes, weights, strict=True):
            wait = 0.5 * (low + high) + 0.5 * (high - low) * float(node)
            survival = np.prod(1.0 - pool.within(rates, wait))
            total += 0.5 * (high - low) * float(weight) * float(survival)
    return float(total)


def name_of(split: Split, option: str) -> str:
    """Return what people call an option; a number says little without its split."""
    return f"{split.name} {option}" if option.isdigit() else option


def _others_of_split(
    base: PlayerBase, split: Split, rates: dict[str, float], option: str
) -> dict[str, tuple[float | None, float | None]]:
    """Return the mean waits of all options of duels, now and if a tenth of one waited in all."""
    from evenmatch.theory.graph import compatibility_graph

    if base.seats != 2 or not base.is_plain or len(rates) > GRAPH_MAX:
        return {}
    names = {each: name_of(split, each) for each in rates}
    edges = [(each, each) for each in rates]
    free = " ".join(rates) + " free"
    edges += [(each, free) for each in rates] + [(free, free)]
    before = compatibility_graph(rates={**rates, free: 0.0}, edges=edges).means or {}
    moved = SHIFT * rates[option]
    after_rates = {**rates, option: rates[option] - moved, free: moved}
    after = compatibility_graph(rates=after_rates, edges=edges).means or {}
    return {name: (before.get(each), after.get(each)) for each, name in names.items()}


def _of_sides(base: PlayerBase, rate: float) -> list[Flexible]:
    from evenmatch.theory.sides import sides

    a, b = (name for name in base.sides if name != ANY)
    rates = {name: rate * base.sides.get(name, 0.0) for name in (a, b, ANY)}
    before = sides(a=rates[a], b=rates[b], flexible=rates[ANY])
    found = []
    for side, wait in ((a, before.mean_a), (b, before.mean_b)):
        moved = {**rates, side: (1.0 - SHIFT) * rates[side]}
        moved[ANY] += SHIFT * rates[side]
        after = sides(a=moved[a], b=moved[b], flexible=moved[ANY])
        others = {
            f"side {a}": (before.mean_a, after.mean_a),
            f"side {b}": (before.mean_b, after.mean_b),
            "either side": (before.mean_flexible, after.mean_flexible),
        }
        found.append(
            Flexible(f"side {side}", "either side", wait, before.mean_flexible, "exact", others)
        )
    return found
