"""The law of a wait: mean, variance, density, cdf, quantiles, and an atom at 0.

A player whose arrival completes a match waits 0 s and counts, so the law has an atom there. If the
pool is a Markov chain, the rest is of phase type: the wait is the time until an absorbing chain is
left.

Powers of the matrix exponential consist of sums and products of non-negative numbers only, so
the survival function keeps its digits in the far tail, even if rates differ by orders of magnitude.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenmatch.errors import ConfigError

Floats = NDArray[np.float64]

PHASES_MAX = 1_000
STEPS_MAX = 200
"""Most steps of a search for a quantile; each at least halves its bracket."""
PRECISION = 1e-13
"""Relative width of the bracket at which the search ends."""
TERMS = 24
"""Terms of the exponential series at arguments of at most 1: the next is below 1e-23."""


class WaitingLaw(ABC):
    """The law of a wait that is never negative and always ends."""

    @property
    @abstractmethod
    def p_no_wait(self) -> float:
        """Return the probability of no wait at all."""

    @property
    @abstractmethod
    def mean(self) -> float:
        """Return the mean wait in seconds."""

    @property
    @abstractmethod
    def var(self) -> float:
        """Return the variance in s^2."""

    @abstractmethod
    def survival(self, seconds: ArrayLike) -> Floats:
        """Return the probability of waiting longer than `seconds`, for an array of any shape."""

    @abstractmethod
    def density(self, seconds: ArrayLike) -> Floats:
        """Return the density per second, for `seconds` > 0; the atom at 0 is not in it."""

    def cdf(self, seconds: ArrayLike) -> Floats:
        """Return the probability of waiting at most `seconds`."""
        return 1.0 - self.survival(seconds)

    def quantile(self, p: float) -> float:
        """Return the least wait t with cdf(t) >= p; infinite for p = 1 unless nobody waits.

        Newton steps on the logarithm of the survival, inside a bracket that each step narrows.

        Args:
            p: Probability, in [0, 1].

        Raises:
            ConfigError: p is out of range.

        Complexity:
            About ten evaluations of survival and density.
        """
        if not 0.0 <= p <= 1.0:
            raise ConfigError(f"a quantile's probability must be in [0, 1], got {p:g}")
        if p <= self.p_no_wait:
            return 0.0
        if p == 1.0:
            return math.inf
        wanted = 1.0 - p
        # By Markov's inequality survival(t) <= mean / t.
        low, high = 0.0, self.mean / wanted
        at = min(self.mean, high)
        for _ in range(STEPS_MAX):
            above = float(self.survival(at))
            low, high = (at, high) if above > wanted else (low, at)
            if high - low <= PRECISION * high:
                break
            hazard = float(self.density(at)) / above if above > 0.0 else 0.0
            step = math.log(above / wanted) / hazard if hazard > 0.0 else math.inf
            if abs(step) <= PRECISION * at:
                break
            at = at + step if low < at + step < high else (low + high) / 2.0
        return at


@dataclass(frozen=True, eq=False)
class PhaseTypeLaw(WaitingLaw):
    """The time until an absorbing chain of few states is left.

    Args:
        start: Probability of each phase at the start, shape (m,); the rest to 1 is the atom at 0.
        moves: Rates between the phases, shape (m, m); the diagonal is ignored.
        exits: Rates out of each phase, shape (m,).

    Raises:
        ConfigError: There are more than `PHASES_MAX` phases.

    Complexity:
        O(m^3 log(rate * seconds)) once, O(m^2 log(rate * seconds)) per wait.

    >>> law = PhaseTypeLaw(np.array([0.5]), np.zeros((1, 1)), np.array([2.0]))
    >>> law.p_no_wait, law.mean, round(law.quantile(0.9), 6)
    (0.5, 0.25, 0.804719)
    """

    start: Floats
    moves: Floats
    exits: Floats

    def __post_init__(self) -> None:
        if len(self.start) > PHASES_MAX:
            raise ConfigError(
                f"a law has at most {PHASES_MAX:,} phases, this one {len(self.start):,}; "
                "ask for the moments only, or simulate"
            )

    @classmethod
    def mixture(cls, laws: Sequence[PhaseTypeLaw], weights: Sequence[float]) -> PhaseTypeLaw:
        """Return the law of a wait that follows each of `laws` with the probability `weights`."""
        count = sum(len(law.start) for law in laws)
        moves = np.zeros((count, count))
        first = 0
        for law in laws:
            last = first + len(law.start)
            moves[first:last, first:last] = law.moves
            first = last
        starts = [weight * law.start for law, weight in zip(laws, weights, strict=True)]
        return cls(np.concatenate(starts), moves, np.concatenate([law.exits for law in laws]))

    @property
    def p_no_wait(self) -> float:
        """Return the probability of no wait at all."""
        return max(0.0, 1.0 - math.fsum(self.start))

    @cached_property
    def mean(self) -> float:
        """Return the mean wait in seconds."""
        return float(self.start @ self._times)

    @cached_property
    def var(self) -> float:
        """Return the variance in s^2."""
        return float(self.start @ self._until_exit(2.0 * self._times)) - self.mean**2

    def survival(self, seconds: ArrayLike) -> Floats:
        """Return the probability of waiting longer than `seconds`, for an array of any shape."""
        found: Floats = self._phases_at(seconds) @ np.ones(len(self.start))
        return found

    def density(self, seconds: ArrayLike) -> Floats:
        """Return the density per second, for `seconds` > 0; the atom at 0 is not in it."""
        found: Floats = self._phases_at(seconds) @ self.exits
        return found

    @cached_property
    def _generator(self) -> Floats:
        between = self.moves - np.diag(np.diag(self.moves))
        return between - np.diag(between.sum(axis=1) + self.exits)

    @cached_property
    def _times(self) -> Floats:
        """The mean time from each phase to the exit."""
        return self._until_exit(np.ones(len(self.start)))

    def _until_exit(self, rewards: Floats) -> Floats:
        """Return the total reward from each phase on, at `rewards` per second.

        Phases are eliminated without subtraction, as in `chain.until_exit`, since a matrix of
        very different rates looks singular.
        """
        moves, exits, earned = self.moves.copy(), self.exits.copy(), rewards.copy()
        totals = np.zeros(len(exits))
        for n in reversed(range(len(exits))):
            totals[n] = moves[n, :n].sum() + exits[n]
            through = moves[:n, n] / totals[n]
            moves[:n, :n] += np.outer(through, moves[n, :n])
            exits[:n] += through * exits[n]
            earned[:n] += through * earned[n]
        found = np.zeros(len(exits))
        for n in range(len(exits)):
            found[n] = (earned[n] + moves[n, :n] @ found[:n]) / totals[n]
        return found

    @cached_property
    def _rate(self) -> float:
        """A rate that no phase exceeds: the chain can be observed at the ticks of such a clock."""
        return float(-self._generator.diagonal().min()) if len(self.start) else 1.0

    @cached_property
    def _tick(self) -> Floats:
        """The probabilities of the phase after one tick; no entry is negative."""
        return np.eye(len(self.start)) + self._generator / self._rate

    @cached_property
    def _doublings(self) -> list[Floats]:
        """The probabilities of the phase after 1, 2, 4, ... mean ticks; extended on demand."""
        return [math.exp(-1.0) * self._series(np.eye(len(self.start)), np.ones(1))]

    def _series(self, rows: Floats, ticks: Floats) -> Floats:
        """Return rows times exp(tick * ticks), for ticks in [0, 1] per row."""
        total = rows.copy()
        term = rows
        for n in range(1, TERMS):
            term = (term @ self._tick) * (ticks / n)[:, None]
            total += term
        return total

    def _phases_at(self, seconds: ArrayLike) -> Floats:
        """Return the probability of each phase after `seconds`, on a new last axis."""
        times = np.asarray(seconds, dtype=np.float64)
        # Beyond this, all have left, and infinity has no binary digits.
        ticks = np.minimum(self._rate * np.maximum(times.reshape(-1), 0.0), 2.0**1000)
        whole, rest = np.floor(ticks), ticks - np.floor(ticks)
        rows = np.tile(self.start, (len(ticks), 1))
        rows = self._series(rows, rest) * np.exp(-rest)[:, None]
        bit = 0
        while (whole >= 1.0).any():
            if bit == len(self._doublings):
                self._doublings.append(self._doublings[-1] @ self._doublings[-1])
            is_odd = whole % 2.0 == 1.0
            rows[is_odd] = rows[is_odd] @ self._doublings[bit]
            whole = np.floor(whole / 2.0)
            bit += 1
        found: Floats = rows.reshape(*times.shape, len(self.start))
        return found
