"""The best matches under prices of parties: an exact depth-first search, the pricing of a bound.

A match that starts from a given party, its root, grows by one party at a time, each placed in a
team. Its worth is

    1 - cost - sum of its parties' prices

and each party that is not yet in it has a score per team: the change of the worth if it is placed
there. No completion adds more than the best scores that fill the free seats, less half of the least
cost that the added parties cause one another; this bound removes parties from the list of a branch,
and ends branches. Roots come in a fixed order and a root's match contains no earlier root, so each
match is searched for once, and each root has its own upper bound on the worth of its matches.

A search that has used up its effort returns a bound on the matches that it has not seen.
"""

from __future__ import annotations

import numpy as np

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.teams.batch import Floats, Ints

_MATRIX = "float64[:,::1]"
_VECTOR = "float64[::1]"
_INTS = "int64[::1]"


@kernel(f"void({_VECTOR}, int64, float64, int64)", inline=True)
def _put(best: Floats, count: int, value: float, times: int) -> None:
    """Insert a value several times into a list of the highest, in descending order."""
    for _ in range(times):
        if value <= best[count - 1]:
            return
        at = count - 1
        while at > 0 and best[at - 1] < value:
            best[at] = best[at - 1]
            at -= 1
        best[at] = value


@kernel(f"void({_MATRIX}, {_INTS}, {_INTS}, int64, int64, {_MATRIX})")
def least_sums(
    costs: Floats, sizes: Ints, listed: Ints, count: int, most: int, sums: Floats
) -> None:
    """Fill in the least cost of a party with 0..most seats of others on a list, for each on it.

    A fraction of the last party counts in proportion, so it is a lower bound for whole parties.
    """
    best = np.zeros(most + 1)
    for a in range(count):
        i = listed[a]
        best[:] = -np.inf
        for b in range(count):
            if a != b:
                j = listed[b]
                each = -costs[i, j] / sizes[j]
                if most > 0 and each > best[most - 1]:
                    _put(best, most, each, sizes[j])
        sums[i, 0] = 0.0
        for m in range(most):
            sums[i, m + 1] = sums[i, m] - best[m]


@kernel(
    f"int64(float64, {_INTS}, {_MATRIX}, int64, {_INTS}, {_INTS}, {_MATRIX}, {_MATRIX}, float64,"
    f" {_VECTOR})"
)
def strike(
    value: float,
    listed: Ints,
    scores: Floats,
    count: int,
    free: Ints,
    sizes: Ints,
    with_mates: Floats,
    with_enemies: Floats,
    limit: float,
    most: Floats,
) -> int:
    """Remove from a list all parties that are in no match above a limit.

    Args:
        value: Worth of the match so far.
        listed: Parties, reordered in place: the highest bound first.
        scores: Shape (teams, parties on the list): change of the worth; -inf = not in this team.
        count: Parties on the list.
        free: Free seats of each team.
        sizes: Size of each party.
        with_mates: Least cost of each party with some seats of mates, see `least_sums`.
        with_enemies: The same with enemies.
        limit: Only matches worth more than this matter.
        most: Filled with an upper bound on the worth of a match with each party on the list.

    Returns:
        The number of parties left.
    """
    teams = len(free)
    open_seats = 0
    for t in range(teams):
        open_seats += free[t]
    best = np.full((teams, open_seats + 1), -np.inf)
    for a in range(count):
        i = listed[a]
        for t in range(teams):
            if scores[t, a] > -np.inf and sizes[i] <= free[t]:
                part = with_mates[i, free[t] - sizes[i]] + with_enemies[i, open_seats - free[t]]
                each = (scores[t, a] - 0.5 * part) / sizes[i]
                if each > best[t, free[t] - 1]:
                    _put(best[t], free[t], each, sizes[i])
    bound = value
    for t in range(teams):
        for m in range(free[t]):
            bound += best[t, m]
    if not bound > limit:
        return 0
    kept = 0
    for a in range(count):
        i = listed[a]
        top = -np.inf
        for t in range(teams):
            reach = -np.inf
            if scores[t, a] > -np.inf and sizes[i] <= free[t]:
                part = with_mates[i, free[t] - sizes[i]] + with_enemies[i, open_seats - free[t]]
                own = scores[t, a] - 0.5 * part
                for m in range(free[t] - sizes[i], free[t]):
                    own -= best[t, m]
                reach = bound + min(0.0, own)
            if not reach > limit:
                scores[t, a] = -np.inf
            top = max(top, reach)
        if top > limit:
            at = kept
            listed[at], most[at] = i, top
            for t in range(teams):
                scores[t, at] = scores[t, a]
            kept += 1
    return kept


@kernel(f"void({_INTS}, {_MATRIX}, {_VECTOR}, int64)")
def sort_list(listed: Ints, scores: Floats, most: Floats, count: int) -> None:
    """Sort a list by the upper bound of its parties, the highest first."""
    teams = scores.shape[0]
    if count > 64:
        order = np.argsort(-most[:count], kind="mergesort")
        listed[:count] = listed[:count][order]
        most[:count] = most[:count][order]
        for t in range(teams):
            scores[t, :count] = scores[t, :count][order]
        return
    for a in range(1, count):
        b = a
        while b > 0 and most[b - 1] < most[b]:
            most[b - 1], most[b] = most[b], most[b - 1]
            listed[b - 1], listed[b] = listed[b], listed[b - 1]
            for t in range(teams):
                scores[t, b - 1], scores[t, b] = scores[t, b], scores[t, b - 1]
            b -= 1
