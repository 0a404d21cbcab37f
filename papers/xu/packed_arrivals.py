"""Two against two seen as duels of packages: a party, or two successive solos.

Solos arrive at the rate lambda1, parties of two at lambda2. A package is complete when a party
arrives or a solo finds another one unpaired, so packages are not a Poisson process: the difference
grows with the share of solos. The time t between two packages has the density

    lambda (2 lambda2 + lambda1 lambda t) exp(-lambda t) / lambda_tot,   lambda = lambda1 + lambda2,

since after a package no solo is unpaired with probability lambda / lambda_tot, and then two solos
may be needed; otherwise the next arrival completes one.

Source:
    Xu, Yu, Wu, Rule Designs for Optimal Online Game Matchmaking, section IV-A and figure 6, which
    shows histograms; the density is not in the paper.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evenmatch.errors import ConfigError
from evenmatch.theory.waiting_law import Floats, WaitingLaw


@dataclass(frozen=True)
class PackedArrivals(WaitingLaw):
    """The law of the time between two packages.

    Args:
        solo_rate: Solos per second, >= 0.
        party_rate: Parties per second, >= 0; one of the rates > 0.

    Raises:
        ConfigError: A rate is out of range.

    >>> packages = PackedArrivals(solo_rate=0.5, party_rate=0.25)
    >>> packages.mean, round(packages.var, 6), round(float(packages.cdf(1.0)), 6)
    (2.0, 3.111111, 0.350496)
    """

    solo_rate: float
    party_rate: float

    def __post_init__(self) -> None:
        for name in ("solo_rate", "party_rate"):
            value = getattr(self, name)
            if not (0.0 <= value < math.inf):
                raise ConfigError(f"{name} must be >= 0 per second and finite, got {value:g}")
        if not (self.solo_rate or self.party_rate):
            raise ConfigError("solo_rate or party_rate must be > 0 per second, got 0 and 0")

    @property
    def rate(self) -> float:
        """Return the packages per second: half of the players."""
        return (self.solo_rate + 2.0 * self.party_rate) / 2.0

    @property
    def p_no_wait(self) -> float:
        """Return 0: no two packages are completed at once."""
        return 0.0

    @property
    def mean(self) -> float:
        """Return the mean seconds between two packages."""
        return 1.0 / self.rate

    @property
    def var(self) -> float:
        """Return the variance in s^2; a Poisson process of this rate has mean^2."""
        both = self.solo_rate + self.party_rate
        return (3.0 * self.solo_rate + 2.0 * self.party_rate) / (self.rate * both**2) - self.mean**2

    def survival(self, seconds: ArrayLike) -> Floats:
        """Return the probability of more than `seconds` between two packages."""
        t, both = self._times(seconds)
        found: Floats = (1.0 + self.solo_rate * both * t / (2.0 * self.rate)) * np.exp(-both * t)
        return found

    def density(self, seconds: ArrayLike) -> Floats:
        """Return the density per second."""
        t, both = self._times(seconds)
        found: Floats = (
            (2.0 * self.party_rate + self.solo_rate * both * t)
            * (both / (2.0 * self.rate))
            * np.exp(-both * t)
        )
        return found

    def poisson_density(self, seconds: ArrayLike) -> Floats:
        """Return the density of a Poisson process of the same rate, for comparison."""
        t, _ = self._times(seconds)
        found: Floats = self.rate * np.exp(-self.rate * t)
        return found

    def _times(self, seconds: ArrayLike) -> tuple[Any, float]:
        """Return the seconds, at least 0, and the arrivals of either kind per second."""
        times = np.maximum(np.asarray(seconds, dtype=np.float64), 0.0)
        return times, self.solo_rate + self.party_rate
