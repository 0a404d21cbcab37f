"""All pools of a game together: waits from the number of players online, and the other way round.

Players go through a cycle: they search, play, pause, and search again. By Little's law, the players
online are the searches per second times the mean length of a cycle. Poisson arrivals are an
approximation, which is good if many more are online than wait.

Source:
    J. D. C. Little, A proof for the queuing formula L = lambda W, Operations Research 9 (1961).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evenmatch.lab.advise.player_base import PlayerBase, Split, name_of
from evenmatch.lab.advise.pools import Floats, PoolModel, PoolWaits, solve_increasing

DIGITS = 12
"""Digits to which pools of one size count as equal."""
ROOM = 1e-9
"""Relative widening of the bounds of a rate, against rounding."""
HORIZON = 1e12
"""Seconds after which a wait counts as infinite."""


def key_of(share: float) -> float:
    """Return a share rounded so that pools of one size are equal."""
    return float(f"{share:.{DIGITS}g}")


@dataclass(frozen=True)
class Market:
    """The players of a game in its pools.

    Args:
        base: The players.
        pool: The model of a pool of such players.
    """

    base: PlayerBase
    pool: PoolModel

    @cached_property
    def sizes(self) -> tuple[tuple[float, int], ...]:
        """Return the different shares of pools, the largest first, and how many pools have each."""
        parts = itertools.product(*(split.shares.values() for split in self.base.splits))
        found: dict[float, tuple[float, int]] = {}
        for share in map(math.prod, parts):
            first, count = found.get(key_of(share), (share, 0))
            found[key_of(share)] = first, count + 1
        return tuple(sorted(found.values(), reverse=True))

    @cached_property
    def _arrays(self) -> tuple[Floats, Floats]:
        """Return the different shares, and the share of all players in pools of each."""
        shares = np.array([share for share, _ in self.sizes])
        weights = shares * np.array([count for _, count in self.sizes])
        return shares, weights / weights.sum()

    @property
    def smallest(self) -> float:
        """Return the share of the smallest pool, whose players wait longest."""
        return self.sizes[-1][0]

    @property
    def count(self) -> int:
        """Return the number of pools."""
        return sum(count for _, count in self.sizes)

    def with_splits(self, splits: Sequence[Split]) -> Market:
        """Return the same players with other splits."""
        from msgspec.structs import replace

        return Market(replace(self.base, splits=tuple(splits)), self.pool)

    def pooled(self, figure: Callable[[PoolWaits], float], rate: float) -> float:
        """Return the mean of a figure of the pools, each by its share of all players."""
        shares, weights = self._arrays
        values = [figure(self.pool.waits(float(share) * rate)) for share in shares]
        return float(weights @ np.array(values))

    def players_online(self, rate: float) -> float:
        """Return how many are online if `rate` search per second, over all pools."""
        return math.fsum(count * self.players_of(share * rate) for share, count in self.sizes)

    def players_at(self, rate: float) -> float:
        """Return the same for rates of 0 (none is needed) and inf (no number is enough)."""
        return self.players_online(rate) if 0.0 < rate < math.inf else rate

    def players_of(self, rate: float) -> float:
        """Return how many players of one pool are online: searching, playing or pausing."""
        waits = self.pool.waits(rate)
        return rate * (self.base.idle + waits.in_queue + waits.matched * self.base.match_length)

    def rate_of(self, players: float) -> float | None:
        """Return the searches per second of a number of players online.

        None if they are too few: all of them wait in partly filled pools on average, and none
        plays. With patience it is never None, since every waiting player leaves at some time.
        """
        patience = self.base.patience
        if patience is not None:
            # A cycle is the break, then either a match, or all of the patience in the queue.
            ends = sorted((patience, self.base.match_length))
            high, low = (players / (self.base.idle + end) for end in ends)
            low, high = low * (1.0 - ROOM), high * (1.0 + ROOM)
        else:
            low = high = players * 1e-9 / self.base.cycle
            if self.players_online(low) >= players:
                return None
            while self.players_online(high) < players:
                low, high = high, 4.0 * high
        return solve_increasing(self.players_online, players, low, high)

    def within(self, rate: float, wait: float) -> float:
        """Return the share of all players who are matched within a wait."""
        shares, weights = self._arrays
        return float(weights @ self.pool.within(shares * rate, wait))

    def quantile(self, rate: float, share: float) -> float | None:
        """Return the wait within which a share of all players is matched; None if never."""
        ends = [self.pool.waits(size * rate).quantile(share) for size, _ in self.sizes]
        if len(ends) == 1 or ends[0] is None:
            return ends[0]
        longest = [end for end in ends if end is not None]
        high = max(longest)
        if len(longest) < len(ends):
            # A pool may never reach the share, although all together do.
            high *= 2.0
            while self.within(rate, high) < share:
                high *= 2.0
                if high > HORIZON:
                    return None
        return solve_increasing(lambda wait: self.within(rate, wait), share, min(longest), high)

    def rate_for_all(self, wait: float, share: float) -> float:
        """Return the rate at which the smallest pool, and so every pool, meets a wait."""
        return self.pool.rate_for(wait, share) / self.smallest

    def rate_for_most(self, wait: float, share: float) -> float:
        """Return the rate at which a share of all players, of whatever pool, meets a wait."""
        least = self.pool.rate_for(wait, share)
        if len(self.sizes) == 1 or not 0.0 < least < math.inf:
            return least / self.smallest
        low, high = least / self.sizes[0][0], least / self.smallest
        return solve_increasing(lambda rate: self.within(rate, wait), share, low, high)


# The pools one by one: the waits in each, and how many players each one needs.

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95}
WHOLE = "everybody"
"""The name of the only pool, if there are no splits."""


@dataclass(frozen=True)
class WaitFigures:
    """Waits in seconds; None if nobody is ever matched, or too few are.

    Args:
        mean: Mean of those who are matched.
        p50, p90, p95: Seconds within which this share of all players is matched.
        wait: The same for the requested percentile.
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
        rate: Players per second who search in it; None if too few are online.
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
    """Return a number, or None if it is infinite."""
    return None if value is None or math.isinf(value) else value


def names_of(market: Market) -> list[tuple[str, float]]:
    """Return all pools by name with their shares, in the order of the splits' options.

    >>> from evenmatch.lab.advise.player_base import PlayerBase, Split
    >>> from evenmatch.lab.advise.pool_theory import pool_as_if
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
        rate: Searches per second of the whole game; None if too few are online.
        percentile: The percentile in addition to p50, p90 and p95.
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
    """Return all pools at a rate of searches of the whole game, in the order of their splits."""
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
    """Return how many must be online in the whole game for one pool to meet the target."""
    if target_wait is None:
        return None
    rate = market.pool.rate_for(target_wait, percentile) / share
    return market.players_at(rate)
