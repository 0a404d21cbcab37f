"""Pools of players of a few skills, the sets that can be matched from them, and long runs.

A pool is the number of waiting players of each type. Each period one player arrives, then any
number of matches is made, one after the other, and the players left wait for a period. So a policy
is a chain on the pools that are left, and its long-run shares give the policy's exact cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, identity
from scipy.sparse.csgraph import breadth_first_order, connected_components
from scipy.sparse.linalg import spsolve

from evenmatch.errors import ConfigError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TYPES_MAX = 64
STATES_MAX = 20_000
MOVES_MAX = 400_000
"""Most pairs of a pool and a set that can be matched from it."""
DIGITS = 9
"""Differences of skill below 10^-9 of the range count as 0: decimals are not exact."""
NEGLIGIBLE = 1e-13


def check_size(*, types: int, n: int, cap: int) -> None:
    """Refuse a problem that would take too long.

    Raises:
        ConfigError: There are too many pools or sets; the sentence says what to do.
    """
    states = comb(cap + types, types)
    moves = comb(2 * n + types - 1, types - 1) * comb(cap - 2 * n + types, types)
    for name, count, most in (("pools", states, STATES_MAX), ("matches", moves, MOVES_MAX)):
        if types > TYPES_MAX or count > most:
            raise ConfigError(
                f"{types} types, n = {n} and cap = {cap} have {count:,} possible {name}, at most "
                f"{most:,} and {TYPES_MAX} types can be solved; lower cap or the number of types, "
                "or simulate the policy imbalance_threshold"
            )


class Pools:
    """All pools of at most `cap` players, by size, and the matches that each allows.

    Args:
        types: Skill of each type.
        probs: Probability of each type; all > 0, they sum to 1.
        n: Players of a team.
        cap: Pool size at which a match must be made.

    Complexity:
        O(types * moves) time and O(moves) memory, see `check_size`.
    """

    def __init__(self, types: Sequence[float], probs: Sequence[float], n: int, cap: int) -> None:
        check_size(types=len(types), n=n, cap=cap)
        self.types: Floats = np.asarray(types, dtype=np.float64)
        self.probs: Floats = np.asarray(probs, dtype=np.float64)
        self.n, self.cap = n, cap
        self.counts: Ints = np.vstack([multisets(len(types), size) for size in range(cap + 1)])
        self.sizes: Ints = self.counts.sum(axis=1)
        self.starts: Ints = np.searchsorted(self.sizes, np.arange(cap + 2))
        self.kept = int(self.starts[cap])
        """Number of pools that may wait: those below the cap, which come first."""
        self.sets: Ints = multisets(len(types), 2 * n)
        self.imbalances: Floats = self._imbalances()
        self._move()

    def _imbalances(self) -> Floats:
        """Return the least difference of the team sums of each set."""
        least: Floats = np.full(len(self.sets), np.inf)
        for team in multisets(len(self.types), self.n):
            fits = (team <= self.sets).all(axis=1)
            gaps = np.abs((self.sets[fits] - 2 * team) @ self.types)
            least[fits] = np.minimum(least[fits], gaps)
        spread = float(np.ptp(self.types)) or 1.0
        rounded, first, place = np.unique(
            np.round(least / spread, DIGITS), return_index=True, return_inverse=True
        )
        # Values that differ by rounding alone are replaced by one of them.
        values: Floats = np.where(rounded > 0.0, least[first], 0.0)[place]
        return values

    def _move(self) -> None:
        """List the moves by pool: the set that plays, and the pool that is left."""
        most = self.cap - 2 * self.n
        rests: Ints = np.arange(self.starts[most + 1])
        sets, left = (each.ravel() for each in np.meshgrid(np.arange(len(self.sets)), rests))
        pools = self.rank(self.sets[sets] + self.counts[left])
        order = np.lexsort((sets, pools))
        self.move_set: Ints = sets[order]
        self.move_left: Ints = left[order]
        self.move_from: Ints = pools[order]
        self.first: Ints = np.searchsorted(self.move_from, np.arange(len(self.counts) + 1))
        """Start of the moves of each pool; pools of fewer than 2n players have none."""

    def rank(self, counts: Ints) -> Ints:
        """Return the index of each row of counts.

        Pools are ordered by size, and those of one size by their counts, descending.
        """
        kinds = counts.shape[1]
        left = counts.sum(axis=1)
        ranks: Ints = self.starts[left]
        for place in range(kinds - 1):
            left = left - counts[:, place]
            ranks = ranks + self._below[left, kinds - place - 1]
        return ranks

    @cached_property
    def _below(self) -> Ints:
        """Return the number of multisets of fewer than `left` players, by number of types."""
        kinds = range(len(self.types) + 1)
        return np.array(
            [[comb(left - 1 + kind, kind) if left else 0 for kind in kinds]
             for left in range(self.cap + 1)],
            dtype=np.int64,
        )  # fmt: skip

    @cached_property
    def arrivals(self) -> Ints:
        """Return the pool after each type's arrival, shape (kept, types)."""
        each = np.eye(len(self.types), dtype=np.int64)
        return np.stack([self.rank(self.counts[: self.kept] + one) for one in each], axis=1)

    def level(self, size: int) -> slice:
        """Return the range of pools of `size` players."""
        return slice(int(self.starts[size]), int(self.starts[size + 1]))

    def least_moves(self, *, outermost: bool = False) -> Ints:
        """Return the move of least imbalance of each pool, -1 if there is none.

        Args:
            outermost: Of several such sets, whether to take the one farthest from the mean skill
                rather than that of the lowest types.
        """
        away = self.sets @ np.abs(self.types - self.types @ self.probs)
        ties = -np.round(away, DIGITS)[self.move_set] if outermost else self.move_set
        order = np.lexsort((ties, self.imbalances[self.move_set], self.move_from))
        moves: Ints = np.full(len(self.counts), -1)
        has = self.first[1:] > self.first[:-1]
        moves[has] = order[self.first[:-1][has]]
        return moves

    def after(self, moves: Ints) -> tuple[Ints, Floats]:
        """Return the pool that is left of each, and the total imbalance of its matches.

        Args:
            moves: Action of each pool, a move or -1 to wait.
        """
        left: Ints = np.arange(len(self.counts))
        imbalance: Floats = np.zeros(len(self.counts))
        for size in range(2 * self.n, self.cap + 1):
            here = np.arange(len(self.counts))[self.level(size)]
            acting = here[moves[here] >= 0]
            chosen = moves[acting]
            then = self.move_left[chosen]
            left[acting] = left[then]
            imbalance[acting] = self.imbalances[self.move_set[chosen]] + imbalance[then]
        return left, imbalance

    def chain(self, left: Ints) -> csr_matrix:
        """Return the chain of the pools that are left from period to period, shape (kept, kept)."""
        rows = np.repeat(np.arange(self.kept), len(self.types))
        shares = np.tile(self.probs, self.kept)
        return csr_matrix(
            (shares, (rows, left[self.arrivals].ravel())), shape=(self.kept, self.kept)
        )


@dataclass(frozen=True)
class LongRun:
    """The long-run means of a policy, per period.

    Args:
        wait: Players left after the matches.
        imbalance: Imbalance of the matches.
        shares: Share of periods in which each pool is left; shares below `NEGLIGIBLE` are 0.
    """

    wait: float
    imbalance: float
    shares: Floats


def run_long(pools: Pools, left: Ints, imbalance: Floats) -> LongRun:
    """Return the long run of a policy that starts with an empty pool.

    Args:
        pools: All pools.
        left: What each pool becomes, see `Pools.after`.
        imbalance: Imbalance of the matches made in each pool.
    """
    shares = long_run_shares(pools.chain(left))
    per_pool = imbalance[pools.arrivals] @ pools.probs
    return LongRun(float(shares @ pools.sizes[: pools.kept]), float(shares @ per_pool), shares)


def long_run_shares(chain: csr_matrix) -> Floats:
    """Return the share of time in each state of a chain that starts in state 0.

    Args:
        chain: Probabilities of the next state, a row for each state.

    Complexity:
        A sparse LU decomposition of the reachable states.
    """
    reached = np.sort(breadth_first_order(chain, 0, return_predecessors=False))
    inner = chain[reached][:, reached].tocsr()
    count, labels = connected_components(inner, connection="strong")
    leaves = inner.tocoo()
    open_ones = set(labels[leaves.row[labels[leaves.row] != labels[leaves.col]]].tolist())
    closed = [label for label in range(count) if label not in open_ones]
    shares: Floats = np.zeros(chain.shape[0])
    for label, weight in _absorbed(inner, labels, closed):
        members = np.flatnonzero(labels == label)
        shares[reached[members]] = weight * _stationary(inner[members][:, members])
    shares[shares < NEGLIGIBLE] = 0.0
    return shares


def _absorbed(inner: csr_matrix, labels: Ints, closed: Sequence[int]) -> list[tuple[int, float]]:
    """Return the probability that state 0 ends in each closed class."""
    if len(closed) == 1:
        return [(closed[0], 1.0)]
    passing = np.flatnonzero(~np.isin(labels, closed))
    start = np.zeros(len(passing))
    start[0] = 1.0  # State 0 comes first and is transient: otherwise there is only one class.
    moving = identity(len(passing)) - inner[passing][:, passing]
    visits = np.atleast_1d(spsolve(moving.T.tocsc(), start))
    return [
        (label, float((visits @ inner[passing][:, np.flatnonzero(labels == label)]).sum()))
        for label in closed
    ]


def _stationary(chain: csr_matrix) -> Floats:
    """Return the stationary law of a chain of one class."""
    size = chain.shape[0]
    balance = (chain.T - identity(size)).tolil()
    balance[size - 1] = np.ones(size)
    total = np.zeros(size)
    total[-1] = 1.0
    law: Floats = np.atleast_1d(spsolve(balance.tocsc(), total))
    return law


def multisets(kinds: int, size: int) -> Ints:
    """Return all ways to have `size` players of `kinds` types, counts in descending order.

    >>> multisets(2, 2).tolist()
    [[2, 0], [1, 1], [0, 2]]
    """
    if kinds == 1:
        return np.array([[size]], dtype=np.int64)
    parts = []
    for first in range(size, -1, -1):
        others = multisets(kinds - 1, size - first)
        parts.append(np.hstack([np.full((len(others), 1), first, dtype=np.int64), others]))
    return np.vstack(parts)
