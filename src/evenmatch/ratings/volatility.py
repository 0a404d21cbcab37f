"""The one equation of Glicko-2 without a closed form, solved for all players at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from evenmatch.ratings.base import FloatArray

CONVERGED = 1e-6
"""Glickman's epsilon, on the logarithm of the squared volatility."""

ITERATIONS_MAX = 100
"""The Illinois method needs about ten; the best value so far stands after these."""


def solve_volatility(
    sigma: FloatArray, spread: FloatArray, delta: FloatArray, *, tau: float
) -> FloatArray:
    """Return the volatilities after a period.

    Args:
        sigma: Volatilities before it, in logits, > 0.
        spread: phi^2 + v, the variance of the prior plus that of the results, logits squared.
        delta: Improvement that the results alone suggest, in logits.
        tau: How fast volatilities change, > 0.

    Complexity:
        O(players x iterations); a player who has converged is not computed again.

    Source:
        Glickman, Example of the Glicko-2 system (2013 revision), step 5: the Illinois variant of
        regula falsi.
    """
    if not sigma.size:
        return sigma
    a = 2.0 * np.log(sigma)
    problem = _Problem(a, spread, np.square(delta) - spread, tau)
    bracket = _first_bracket(problem)
    root = np.empty_like(a)
    at = np.arange(a.size)
    for _ in range(ITERATIONS_MAX):
        root[at] = bracket.best
        left = np.abs(bracket.end - bracket.best) > CONVERGED
        if not left.any():
            break
        if np.count_nonzero(left) < 0.7 * left.size:  # copying costs about half an iteration
            at, problem, bracket = at[left], problem.take(left), bracket.take(left)
            left = left[left]
        bracket = _narrow(bracket, problem, left)
    return np.exp(root / 2.0)


class _Problem(NamedTuple):
    """Glickman's f, with a = ln sigma^2 and excess = delta^2 - phi^2 - v."""

    a: FloatArray
    spread: FloatArray
    excess: FloatArray
    tau: float

    def f(self, x: FloatArray) -> FloatArray:
        e = np.exp(x)
        pull: FloatArray = e * (self.excess - e) / (2.0 * np.square(self.spread + e))
        return pull - (x - self.a) / self.tau**2

    def take(self, left: npt.NDArray[np.bool_]) -> _Problem:
        return _Problem(self.a[left], self.spread[left], self.excess[left], self.tau)


class _Bracket(NamedTuple):
    """Two ends with the root between them; `f_best` may have been halved."""

    best: FloatArray
    end: FloatArray
    f_best: FloatArray
    f_end: FloatArray

    def take(self, left: npt.NDArray[np.bool_]) -> _Bracket:
        return _Bracket(*(column[left] for column in self))


def _first_bracket(problem: _Problem) -> _Bracket:
    rises = problem.excess > 0.0
    end = np.where(rises, np.log(np.where(rises, problem.excess, 1.0)), problem.a - problem.tau)
    f_end = problem.f(end)
    # The pull is never below -1/2, so f >= 0 after tau / 2 steps: one, for usual values of tau.
    while np.any(short := ~rises & (f_end < 0.0)):
        end = np.where(short, end - problem.tau, end)
        f_end = problem.f(end)
    return _Bracket(problem.a, end, problem.f(problem.a), f_end)


def _narrow(bracket: _Bracket, problem: _Problem, left: npt.NDArray[np.bool_]) -> _Bracket:
    """Make one step of the Illinois method where `left` is true."""
    best, end, f_best, f_end = bracket
    fall = np.where(left, f_end - f_best, 1.0)
    new = best + (best - end) * f_best / fall
    f_new = problem.f(new)
    crosses = f_new * f_end <= 0.0
    return _Bracket(
        np.where(left & crosses, end, best),
        np.where(left, new, end),
        np.where(left, np.where(crosses, f_end, 0.5 * f_best), f_best),
        np.where(left, f_new, f_end),
    )
