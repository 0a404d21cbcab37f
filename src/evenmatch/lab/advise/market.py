"""All pools of a game together: how many players online make which waits, and the other way round.

Players go round in a circle: they search, play, pause, and search again. By Little's law the
players online are the searches per second times the mean length of a round; that arrivals are
Poisson is an approximation, good where many more are online than wait.

Source:
    J. D. C. Little, A proof for the queuing formula L = lambda W, Operations Research 9 (1961).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenmatch.lab.advise.base import PlayerBase, Split
from evenmatch.lab.advise.pools import Floats, PoolModel, PoolWaits, solve_increasing

DIGITS = 12
"""Digits to which pools of one size count as equal."""
ROOM = 1e-9
"""By which part the bounds of a rate are widened, since they are rounded."""
HORIZON = 1e12
"""Seconds beyond which nobody is waited for."""


def key_of(share: float) -> float:
    """Return a share to the digits by which pools of one size are known."""
    return float(f"{share:.{DIGITS}g}")


@dataclass(frozen=True)
class Market:
    """A player base at work in its pools.

    Args:
        base: Who plays.
        pool: What is known about a pool of such players.
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
        """Return the same players, kept apart otherwise."""
        from msgspec.structs import replace

        return Market(replace(self.base, splits=tuple(splits)), self.pool)

    def pooled(self, figure: Callable[[PoolWaits], float], rate: float) -> float:
        """Return the mean of a figure of the pools, each by its share of all players."""
        shares, weights = self._arrays
        values = [figure(self.pool.waits(float(share) * rate)) for share in shares]
        return float(weights @ np.array(values))

    def players_online(self, rate: float) -> float:
        """Return how many are online where so many search per second, all pools together."""
        return math.fsum(count * self.players_of(share * rate) for share, count in self.sizes)

    def players_at(self, rate: float) -> float:
        """Return the same where the rate may be 0, none is needed, or inf, none is enough."""
        return self.players_online(rate) if 0.0 < rate < math.inf else rate

    def players_of(self, rate: float) -> float:
        """Return how many players of one pool are online: searching, playing or pausing."""
        waits = self.pool.waits(rate)
        return rate * (self.base.idle + waits.in_queue + waits.matched * self.base.match_length)

    def rate_of(self, players: float) -> float | None:
        """Return the searches per second of so many players online.

        None where they are too few: that many wait in half-filled pools on average, and none of
        them plays. With patience it is never None, since everybody who waits goes on some day.
        """
        patience = self.base.patience
        if patience is not None:
            # A round is the break, and after it a match, or all of the patience in the queue.
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
            # Some pools never reach the share; together they may.
            high *= 2.0
            while self.within(rate, high) < share:
                high *= 2.0
                if high > HORIZON:
                    return None
        return solve_increasing(lambda wait: self.within(rate, wait), share, min(longest), high)

    def rate_for_all(self, wait: float, share: float) -> float:
        """Return the rate at which the smallest pool, and so every pool, keeps to a wait."""
        return self.pool.rate_for(wait, share) / self.smallest

    def rate_for_most(self, wait: float, share: float) -> float:
        """Return the rate at which a share of all players, of whatever pool, keeps to a wait."""
        least = self.pool.rate_for(wait, share)
        if len(self.sizes) == 1 or not 0.0 < least < math.inf:
            return least / self.smallest
        low, high = least / self.sizes[0][0], least / self.smallest
        return solve_increasing(lambda rate: self.within(rate, wait), share, low, high)
