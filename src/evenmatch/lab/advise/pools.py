"""The model of one pool: the wait of a random player at a given rate.

Without patience, all times of a pool are inversely proportional to its rate, so that one law, at a
rate of one player per second, is enough. Patience sets a time scale of its own, and then each rate
has its own law.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from evenmatch.theory.k_player import PatientWaits

Floats = NDArray[np.float64]
Source = Literal["exact", "bound", "estimate", "simulated"]
"""How a figure is known: `exact`, from theory; `bound`, a lower bound under any rule; `estimate`,
as if all players could play together; `simulated`, with an interval."""
RATE_MIN, RATE_MAX = 1e-9, 1e9
"""Bounds, in players per second, of a search for a pool's rate."""
ROUNDS_MAX = 200
PRECISION = 1e-13
NO_WAIT = 1e-12
"""Waits below this share of the mean count as 0."""


class WaitLaw(Protocol):
    """A law of waits."""

    def cdf(self, seconds: Floats, /) -> Floats:
        """Return the probabilities of at most these."""
        ...

    def quantile(self, p: float, /) -> float:
        """Return the least value with at least this probability of at most it."""
        ...


@dataclass(frozen=True)
class PoolWaits:
    """The wait of a random player of a pool; it is 0 for a player who completes a match.

    Args:
        mean: Mean wait of those who are matched, seconds.
        in_queue: Mean time in the queue of all players, matched or not, seconds.
        matched: Share of players who are matched before they give up.
        law: The law of the waits of matched players, at the rate `scale`.
        scale: Divisor of the times of `law`.
    """

    mean: float
    in_queue: float
    matched: float
    law: WaitLaw = field(repr=False)
    scale: float = 1.0

    def quantile(self, share: float) -> float | None:
        """Return the seconds within which a share of all players is matched; None if never."""
        if share >= self.matched:
            return None if self.matched < 1.0 else math.inf
        found = self.law.quantile(share / self.matched) / self.scale
        # If exactly this share never waits, rounding must not turn 0 into a short wait.
        return found if found > NO_WAIT * self.mean else 0.0


class PoolModel(Protocol):
    """A pool of players who arrive at any rate."""

    @property
    def of_quantiles(self) -> Source:
        """Return how the quantiles are known."""
        ...

    def waits(self, rate: float) -> PoolWaits:
        """Return the waits at a rate of players per second, > 0."""
        ...

    def within(self, rates: Floats, wait: float) -> Floats:
        """Return the share of players who are matched within a wait, at each of the rates."""
        ...

    def rate_for(self, wait: float, share: float) -> float:
        """Return the least rate at which a share of players waits no longer than `wait`.

        It is inf if there is none, and 0.0 if that share never waits at any rate.
        """
        ...


@dataclass(frozen=True)
class ScalingPool:
    """A pool without patience.

    Args:
        law: Waits at a rate of one player per second.
        mean: The mean wait at that rate.
        of_quantiles: How the law is known.
    """

    law: WaitLaw
    mean: float
    of_quantiles: Source = "exact"
    _quantiles: dict[float, float] = field(default_factory=dict, compare=False, repr=False)

    def waits(self, rate: float) -> PoolWaits:
        """Return the waits at a rate of players per second."""
        mean = self.mean / rate
        return PoolWaits(mean, mean, 1.0, self, rate)

    def cdf(self, seconds: Floats) -> Floats:
        """Return the probabilities of waiting at most `seconds`, at a rate of 1."""
        return self.law.cdf(seconds)

    def quantile(self, p: float) -> float:
        """Return a quantile of the law at a rate of 1, computed once."""
        found = self._quantiles.get(p)
        if found is None:
            found = self._quantiles[p] = float(self.law.quantile(p))
        return found

    def within(self, rates: Floats, wait: float) -> Floats:
        """Return the share of players who are matched within a wait, at each of the rates."""
        return self.law.cdf(rates * wait)

    def rate_for(self, wait: float, share: float) -> float:
        """Return the quantile at a rate of 1 divided by `wait`."""
        found = self.quantile(share)
        return found / wait if found > NO_WAIT * self.mean else 0.0


@dataclass(frozen=True)
class PatientPool:
    """A pool whose players give up after exponential times; any of them can play together.

    Args:
        k: Parties of a match.
        patience: Mean seconds until a party gives up.
        size: Players of each party.
        matched_max: Share of players who can be placed at all.
        of_quantiles: How the law is known.
    """

    k: int
    patience: float
    size: int = 1
    matched_max: float = 1.0
    of_quantiles: Source = "exact"
    _known: dict[float, PoolWaits] = field(default_factory=dict, compare=False, repr=False)

    def waits(self, rate: float) -> PoolWaits:
        """Return the waits at a rate of players per second."""
        found = self._known.get(rate)
        if found is None:
            seen = self._chain(rate)
            matched, in_queue = seen.matched, seen.in_queue
            if matched > self.matched_max:
                # A player who is not matched gives up, after their whole patience on average.
                matched, in_queue = self.matched_max, (1.0 - self.matched_max) * self.patience
            found = self._known[rate] = PoolWaits(seen.mean, in_queue, matched, seen)
        return found

    def within(self, rates: Floats, wait: float) -> Floats:
        """Return the share of players who are matched within a wait, at each of the rates."""
        return np.array([self._within(float(rate), wait) for rate in rates])

    def rate_for(self, wait: float, share: float) -> float:
        """Return the rate by a search, since waits fall as the rate grows."""
        if share >= self.matched_max:
            return math.inf
        if self._within(RATE_MIN, wait) >= share:
            return 0.0
        low, high = RATE_MIN, min(self.k * self.size / wait, RATE_MAX)
        while self._within(high, wait) < share:
            if high >= RATE_MAX:
                return math.inf
            low, high = high, min(4.0 * high, RATE_MAX)
        return solve_increasing(lambda rate: self._within(rate, wait), share, low, high)

    def law_of_the_patient(self, rate: float) -> WaitLaw:
        """Return the law of the wait of one party that never gives up, among those that do."""
        return self._chain(rate).law_of_the_patient

    def _chain(self, rate: float) -> PatientWaits:
        """Return the theory at a rate of players per second.

        A rate that theory refuses is replaced by the nearest one that it accepts: so thin a pool
        matches hardly anybody, and so full a pool everybody at once.
        """
        from evenmatch.theory import rates
        from evenmatch.theory.k_player import patient_waits

        own = min(max(rate / self.size, rates.RATE_MIN), rates.RATE_MAX)
        return patient_waits(k=self.k, rate=own, patience_rate=1.0 / self.patience)

    def _within(self, rate: float, wait: float) -> float:
        waits = self.waits(rate)
        return waits.matched * float(waits.law.cdf(np.array(wait)))


def solve_increasing(
    function: Callable[[float], float], wanted: float, low: float, high: float
) -> float:
    """Return the argument at which an increasing function reaches a value, to 13 digits.

    It interpolates linearly between the ends of a bracket, with the correction of the Illinois
    rule if that gains little.

    Args:
        function: Increasing between the ends.
        wanted: The value.
        low: Where the function is at most the value, >= 0.
        high: Where it is at least the value.
    """
    below, above = function(low) - wanted, function(high) - wanted
    if below >= 0.0:
        return low
    for turn in range(ROUNDS_MAX):
        if above <= 0.0 or high - low <= PRECISION * high:
            break
        at = high - above * (high - low) / (above - below)
        if turn % 3 == 2 or not low < at < high:
            at = 0.5 * (low + high)
        value = function(at) - wanted
        if value < 0.0:
            low, below, above = at, value, above if turn % 3 == 2 else 0.5 * above
        else:
            high, above, below = at, value, below if turn % 3 == 2 else 0.5 * below
    return high
