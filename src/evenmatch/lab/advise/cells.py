"""The pools one by one: who waits how long in each, and how many players each one needs."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

from evenmatch.lab.advise.base import name_of
from evenmatch.lab.advise.market import Market, key_of

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95}
WHOLE = "everybody"
"""The name of the one pool of players whom nothing keeps apart."""


@dataclass(frozen=True)
class WaitFigures:
    """Waits in seconds; None where nobody is ever matched, or too few are.

    Args:
        mean: Mean of those who are matched.
        p50, p90, p95: Seconds within which this share of all players is matched.
        wait: The same for the percentile that was asked for.
        matched: Share of players who are matched before they give up.
    """

    mean: float | None
    p50: float | None
    p90: float | None
    p95: float | None
    wait: float | None
    matched: float | None


NOTHING = WaitFigures(None, None, None, None, None, None)


@dataclass(frozen=True)
class SplitPool:
    """One pool.

    Args:
        name: Its options, `eu / ranked`.
        share: Its share of all players.
        rate: Players per second who search in it; None where too few are online.
        players_online: Its players online.
        figures: Its waits.
        needs: Players online in the whole game with whom this pool meets the target; None without
            a target, inf if no number is enough.
    """

    name: str
    share: float
    rate: float | None
    players_online: float
    figures: WaitFigures
    needs: float | None

    def as_json(self) -> dict[str, Any]:
        """Return the figures by name."""
        return {
            "cell": self.name,
            "share": self.share,
            "rate": self.rate,
            "players_online": self.players_online,
            "waits": vars(self.figures),
            "players_online_needed": finite(self.needs),
        }


def finite(value: float | None) -> float | None:
    """Return a number, or None where it is infinite."""
    return None if value is None or math.isinf(value) else value


def names_of(market: Market) -> list[tuple[str, float]]:
    """Return all pools by name with their shares, in the order of the splits' options.

    >>> from evenmatch.lab.advise.base import PlayerBase, Split
    >>> from evenmatch.lab.advise.known import pool_as_if
    >>> base = PlayerBase(splits=(Split.even("modes", 2),))
    >>> names_of(Market(base, pool_as_if(base)))
    [('modes 1', 0.5), ('modes 2', 0.5)]
    """
    options = [
        [(name_of(split.name, option), share) for option, share in split.shares.items()]
        for split in market.base.splits
    ]
    return [
        (" / ".join(name for name, _ in parts) or WHOLE, math.prod(share for _, share in parts))
        for parts in itertools.product(*options)
    ]


def figures_at(market: Market, share: float, rate: float | None, percentile: float) -> WaitFigures:
    """Return the waits of the pool with this share of all searches.

    Args:
        market: The pools.
        share: Of the pool.
        rate: Searches per second of the whole game; None where too few are online.
        percentile: What is asked for besides p50, p90 and p95.
    """
    if rate is None:
        return NOTHING
    waits = market.pool.waits(share * rate)
    found = {name: waits.quantile(part) for name, part in QUANTILES.items()}
    return WaitFigures(waits.mean, **found, wait=waits.quantile(percentile), matched=waits.matched)


def pooled_figures(market: Market, rate: float | None, percentile: float) -> WaitFigures:
    """Return the waits of a random player of any pool."""
    if rate is None:
        return NOTHING
    matched = market.pooled(lambda waits: waits.matched, rate)
    mean = market.pooled(lambda waits: waits.matched * waits.mean, rate) / matched
    found = {name: market.quantile(rate, part) for name, part in QUANTILES.items()}
    return WaitFigures(mean, **found, wait=market.quantile(rate, percentile), matched=matched)


def cells_of(
    market: Market, rate: float | None, percentile: float, target_wait: float | None
) -> list[SplitPool]:
    """Return all pools at a rate of searches of the whole game, as their splits list them."""
    known: dict[float, tuple[float | None, WaitFigures, float, float | None]] = {}
    cells = []
    for name, share in names_of(market):
        key = key_of(share)
        if key not in known:
            own = None if rate is None else share * rate
            known[key] = (
                own,
                figures_at(market, share, rate, percentile),
                0.0 if own is None else market.players_of(own),
                _needs(market, share, percentile, target_wait),
            )
        own_rate, figures, online, needs = known[key]
        cells.append(SplitPool(name, share, own_rate, online, figures, needs))
    return cells


def _needs(
    market: Market, share: float, percentile: float, target_wait: float | None
) -> float | None:
    """Return how many must be online in the whole game so that one pool meets the target."""
    if target_wait is None:
        return None
    rate = market.pool.rate_for(target_wait, percentile) / share
    return market.players_at(rate)
