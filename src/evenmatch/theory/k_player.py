"""Matches of k players in the order of arrival: the full law of a player's wait.

Players arrive in a Poisson process, and the k-th one starts the match. The number of waiting
players is uniform on 0 .. k-1, so an arrival waits for m more, m uniform on 0 .. k-1: a mixture of
Erlang laws with an atom of 1/k at 0. It does not matter which k of the waiting players are taken:
nobody is left.

With patience, each waiting player leaves at the rate `patience_rate`. The number of waiting
players is then a birth and death chain that drops from k-1 to 0 at a match.

Source:
    Xu, Yu, Wu, Rule Designs for Optimal Online Game Matchmaking, Lemma 1, eq. (1) and (2). The
    variance, the law and patience are not in the paper.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincc

from evenmatch.errors import ConfigError
from evenmatch.theory.rates import exact_rate, rational
from evenmatch.theory.waiting_law import PHASES_MAX, Floats, PhaseTypeLaw, WaitingLaw

K_MAX = 100_000


@dataclass(frozen=True)
class ErlangMixture(WaitingLaw):
    """The wait for m more arrivals, m uniform on 0 .. k-1.

    Args:
        k: Players of a match, >= 1.
        rate: Players per second, > 0.

    Complexity:
        O(k) per wait, by incomplete gamma functions.
    """

    k: int
    rate: float

    @property
    def p_no_wait(self) -> float:
        """Return the probability of no wait at all, 1/k."""
        return 1.0 / self.k

    @property
    def mean(self) -> float:
        """Return the mean wait in seconds."""
        return (self.k - 1) / (2.0 * self.rate)

    @property
    def var(self) -> float:
        """Return the variance in s^2."""
        return (self.k - 1) * (self.k + 7) / 12.0 / self.rate**2

    def survival(self, seconds: ArrayLike) -> Floats:
        """Return the probability of waiting longer than `seconds`, for an array of any shape."""
        expected = np.maximum(np.asarray(seconds, dtype=np.float64) * self.rate, 0.0)
        total = np.zeros(expected.shape)
        for first in range(1, self.k, 1024):
            arrivals = np.arange(first, min(first + 1024, self.k))
            total += gammaincc(arrivals, expected[..., None]).sum(axis=-1)
        found: Floats = total / self.k
        return found

    def density(self, seconds: ArrayLike) -> Floats:
        """Return the density per second, for `seconds` > 0; the atom at 0 is not in it."""
        expected = np.maximum(np.asarray(seconds, dtype=np.float64) * self.rate, 0.0)
        # The Erlang densities of 1 .. k-1 arrivals are the terms of a Poisson law's cdf.
        found: Floats = (
            self.rate / self.k * gammaincc(self.k - 1, expected)
            if self.k > 1
            else np.zeros(expected.shape)
        )
        return found


@dataclass(frozen=True)
class KPlayer:
    """The wait of a random player; see `k_player`.

    Attributes:
        mean: Seconds; with patience, over the players who get a match, like `simulate`.
        var: s^2.
        p50, p90, p95, p99: Quantiles, s.
        p_no_wait: Probability that an arriving player starts the match.
        p_match: Probability of a match before patience ends; None without patience.
        time_in_queue: Mean seconds until a match or leaving, over all; None without patience.
        law: The law of the wait, for the players who get a match.
        exact: Figures as fractions, without patience.
    """

    mean: float
    var: float
    p50: float
    p90: float
    p95: float
    p99: float
    p_no_wait: float
    p_match: float | None
    time_in_queue: float | None
    law: WaitingLaw = field(repr=False, compare=False)
    exact: dict[str, str] = field(default_factory=dict)

    def figures(self) -> dict[str, Any]:
        """Return the figures under the keys of `evenmatch theory k_player`."""
        names = ["mean", "var", "p50", "p90", "p95", "p99", "p_no_wait"]
        if self.p_match is not None:
            names += ["p_match", "time_in_queue"]
        shown: dict[str, Any] = {name: getattr(self, name) for name in names}
        return {**shown, "exact": self.exact} if self.exact else shown


def k_player(*, k: int, rate: float, patience_rate: float | None = None) -> KPlayer:
    """Return the law of the wait in one pool of players that start as soon as they are k.

    Args:
        k: Players of a match, >= 1.
        rate: Players per second, > 0.
        patience_rate: Rate at which each waiting player leaves, per second: 1 / mean patience;
            None or 0 for players who wait for ever.

    Raises:
        ConfigError: A number is out of range.

    Complexity:
        O(k) per quantile; with patience O(k^3).

    Source:
        Xu, Yu, Wu, eq. (1): the mean is (k-1) / (2 rate).

    >>> found = k_player(k=10, rate=1.0)
    >>> found.mean, found.var, round(found.p90, 7)
    (4.5, 12.75, 9.4346017)
    >>> round(k_player(k=10, rate=0.05, patience_rate=1 / 120).p_match, 6)
    0.244825
    """
    _check(k, rate, patience_rate)
    if patience_rate:
        found = _Patient.of(k, rate, patience_rate)
        p_no_wait = math.exp(found.log_pi[-1])
        return _answer(found.law(), p_no_wait, p_match=k * p_no_wait, time_in_queue=found.in_queue)
    mixture = ErlangMixture(k, rate)
    exact = {
        "mean": (k - 1) / (2 * rational(rate)),
        "var": Fraction((k - 1) * (k + 7), 12) / rational(rate) ** 2,
        "p_no_wait": Fraction(1, k),
    }
    return _answer(
        mixture,
        mixture.p_no_wait,
        p_match=None if patience_rate is None else 1.0,
        time_in_queue=None if patience_rate is None else mixture.mean,
        exact={name: str(value) for name, value in exact.items()},
    )


@dataclass(frozen=True, eq=False)
class PatientWaits:
    """Waits if each waiting player leaves at a rate; see `patient_waits`.

    Attributes:
        matched: Probability of a match before patience ends.
        in_queue: Mean seconds until a match or leaving, over all.
        mean: Mean wait of those who get a match, seconds.
    """

    matched: float
    in_queue: float
    mean: float
    _patient: _Patient = field(repr=False)

    @cached_property
    def law(self) -> WaitingLaw:
        """Return the law of the wait of those who get a match."""
        return self._patient.law()

    @cached_property
    def law_of_the_patient(self) -> WaitingLaw:
        """Return the law of the wait of one player who never leaves, among others who do."""
        return self._patient.law_of_the_patient()

    def cdf(self, seconds: ArrayLike) -> Floats:
        """Return the probabilities of waiting at most `seconds`, for those who get a match."""
        return self.law.cdf(seconds)

    def quantile(self, p: float) -> float:
        """Return a quantile of the wait of those who get a match."""
        return self.law.quantile(p)


def patient_waits(*, k: int, rate: float, patience_rate: float) -> PatientWaits:
    """Return the figures of `k_player` with patience, and compute its law only on demand.

    Args:
        k: Players of a match, >= 1.
        rate: Players per second, > 0.
        patience_rate: Rate at which each waiting player leaves, per second, > 0.

    Raises:
        ConfigError: A number is out of range.

    Complexity:
        O(k); the law takes O(k^3), by far the largest part.

    >>> round(patient_waits(k=10, rate=0.05, patience_rate=1 / 120).matched, 6)
    0.244825
    """
    _check(k, rate, patience_rate)
    found = _Patient.of(k, rate, patience_rate)
    return PatientWaits(k * math.exp(found.log_pi[-1]), found.in_queue, found.mean, found)


def _answer(law: WaitingLaw, p_no_wait: float, **more: Any) -> KPlayer:
    return KPlayer(
        mean=law.mean,
        var=law.var,
        p50=law.quantile(0.5),
        p90=law.quantile(0.9),
        p95=law.quantile(0.95),
        p99=law.quantile(0.99),
        p_no_wait=p_no_wait,
        law=law,
        **more,
    )


@dataclass(frozen=True, eq=False)
class _Patient:
    """The birth and death chain of waiting players who leave.

    Args:
        k: Players of a match.
        rate: Players per second.
        patience_rate: Rate at which each waiting player leaves, per second.
        log_pi: Logarithms of the shares of time with n players waiting, n = 0 .. k-1.
        gain: Relative growth of the chance of a match when one more joins a player who waits with
            m = 0 .. k-2 others.
        start: Of those who get a match, the share who find m others waiting, m = 0 .. k-2.
    """

    k: int
    rate: float
    patience_rate: float
    log_pi: list[float]
    gain: list[float]
    start: list[float]

    @classmethod
    def of(cls, k: int, rate: float, patience_rate: float) -> _Patient:
        """Solve the chain, in plain floats: a step of it is too little work for an array."""
        a = patience_rate / rate
        # In logarithms, since the shares of a thin pool leave the range of floats. The flow up
        # through n is departures above it plus all matches: pi_n = pi_{k-1} + (n + 1) a pi_{n+1}.
        log_pi = [0.0]
        for n in range(k - 1, 0, -1):
            log_pi.append(_log_of_one_plus(math.log(n * a) + log_pi[-1]))
        log_pi.reverse()
        log_pi = _normal(log_pi)
        # h_m: chance of a match of a player who waits with m others; gain_m = h_{m+1}/h_m - 1.
        gain: list[float] = []
        for m in range(k - 1):
            before = gain[-1] if m else 0.0
            gain.append(a + m * a * before / (1.0 + before))
        log_h = [0.0]
        for each in reversed(gain):
            log_h.append(log_h[-1] - math.log1p(each))
        log_h.reverse()
        log_start = _normal([pi + h for pi, h in zip(log_pi, log_h, strict=True)])
        return cls(k, rate, patience_rate, log_pi, gain, [math.exp(x) for x in log_start[:-1]])

    @property
    def in_queue(self) -> float:
        """Return the mean time in the queue over all players, by Little's law."""
        return math.fsum(n * math.exp(log) for n, log in enumerate(self.log_pi)) / self.rate

    @property
    def mean(self) -> float:
        """Return the mean wait of those who get a match.

        It is a sum over the steps from m others to m + 1, each including its ways back.
        """
        up, down = self._moves()
        step = so_far = total = 0.0
        for m, started in enumerate(self.start):
            step = (1.0 + (down[m - 1] * step if m else 0.0)) / up[m]
            so_far += started
            total += so_far * step
        return total

    def law(self) -> PhaseTypeLaw:
        """Return the law of the wait of those who get a match."""
        return _climb(self.start, *self._moves())

    def law_of_the_patient(self) -> PhaseTypeLaw:
        """Return the law of the wait of one who never leaves, among others who do."""
        start = [math.exp(log) for log in self.log_pi[:-1]]
        down = [m * self.patience_rate for m in range(1, self.k - 1)]
        return _climb(start, [self.rate] * (self.k - 1), down)

    def _moves(self) -> tuple[list[float], list[float]]:
        """Return the rates from m others to one more and to one fewer, given that a match comes.

        Moves towards the match become likelier by the ratio of the chances of a match after and
        before them, others less likely, and leaving has probability 0 (Doob's transform).
        """
        up = [self.rate * (1.0 + each) for each in self.gain]
        below = self.gain[: max(self.k - 2, 0)]
        down = [m * self.patience_rate / (1.0 + each) for m, each in enumerate(below, 1)]
        return up, down


def _climb(start: list[float], up: list[float], down: list[float]) -> PhaseTypeLaw:
    """Return the law of the time until a birth and death chain leaves at its top."""
    exits = np.zeros(len(up))
    exits[-1:] = up[-1:]
    return PhaseTypeLaw(np.array(start), np.diag(up[:-1], 1) + np.diag(down, -1), exits)


def _log_of_one_plus(log: float) -> float:
    """Return log(1 + exp(log)) without leaving the range of floats."""
    return max(log, 0.0) + math.log1p(math.exp(-abs(log)))


def _normal(logs: list[float]) -> list[float]:
    """Return the logarithms of shares that sum to 1."""
    top = max(logs)
    total = top + math.log(math.fsum(math.exp(log - top) for log in logs))
    return [log - total for log in logs]


def _check(k: int, rate: float, patience_rate: float | None) -> None:
    if not 1 <= k <= K_MAX:
        raise ConfigError(f"k must be from 1 to {K_MAX:,}, got {k:g}")
    if not exact_rate("rate", rate):
        raise ConfigError("rate must be > 0 players per second, got 0")
    if patience_rate is None:
        return
    exact_rate("patience_rate", patience_rate)
    if patience_rate and k > PHASES_MAX:
        raise ConfigError(f"with patience k must be at most {PHASES_MAX:,}, got {k}; simulate")
