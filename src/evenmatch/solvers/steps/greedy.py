"""The steps of `greedy` for single players without rules: the longest waiting fill a match."""

from __future__ import annotations

from evenmatch.solvers.kernel import kernel
from evenmatch.solvers.steps.waiting import OLDEST, SIZE, Ints, WaitingRoster, free_slot


@kernel("void(WaitingRoster, int64, float64)", inline=True)
def arrive(waiting: WaitingRoster, slot: int, now: float) -> None:
    """Do nothing for a newcomer: the order of age is all that the policy needs."""


@kernel("int64(WaitingRoster, float64, boolean, int64[:,::1])", inline=True)
def decide(waiting: WaitingRoster, now: float, fired: bool, out: Ints) -> int:  # noqa: ARG001
    """Make the matches of an instant; return how many.

    Complexity:
        O(k) a match.
    """
    counts = waiting.counts
    found = 0
    while counts[SIZE] >= out.shape[1]:
        for seat in range(out.shape[1]):
            out[found, seat] = counts[OLDEST]
            free_slot(waiting, counts[OLDEST])
        found += 1
    return found
