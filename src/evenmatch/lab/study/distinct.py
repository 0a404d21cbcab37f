"""Which of several policies is better by more than chance explains.

All policies meet the same arrivals, so they are compared in pairs: the differences of two policies
run by run, or, where there is one run, in equal shares of its tickets one after the other. Runs are
independent; shares of one run are so nearly, as long as each is much longer than the waits in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from evenmatch.lab.study.study import mean_and_width

Samples = Sequence[Sequence[float | None]]
"""A figure of each policy, run by run or share by share; None where it is not known."""
SHARES = 10
"""Parts of a single run."""


class Repeated(NamedTuple):
    """The figures of policies, taken several times.

    Args:
        samples_of: Gives a figure by its key.
        runs: Of each policy; 1 means that a figure is of each share of the one run.
    """

    samples_of: Callable[[str], Samples]
    runs: int


def best_of(values: Sequence[float | None], samples: Samples, direction: int) -> set[int]:
    """Return which policies have the best figure, as far as it can be told.

    A policy that cannot be told from the best one is named with it, and nobody is named if that
    holds for all.

    Args:
        values: A figure of each policy, over all that was simulated.
        samples: The same figure, each policy's as many times.
        direction: 1 if more is better, -1 if less is, 0 if neither.

    >>> best_of([5.0, 7.0], [[4.0, 5.0, 6.0], [6.0, 7.1, 7.9]], -1)
    {0}
    >>> best_of([5.0, 7.0], [[1.0, 5.0, 9.0], [9.0, 5.0, 7.0]], -1)
    set()
    """
    known = [(value * direction, at) for at, value in enumerate(values) if value is not None]
    if not direction or len(known) < 2:
        return set()
    _, first = max(known)
    alike = {at for _, at in known if not is_distinct(samples[first], samples[at])}
    return set() if len(alike) == len(known) else alike


def is_distinct(one: Sequence[float | None], two: Sequence[float | None]) -> bool:
    """Return whether the mean of paired differences is not 0, at a confidence of 95 %."""
    pairs = zip(one, two, strict=True)
    gaps = [a - b for a, b in pairs if a is not None and b is not None]
    mean, width = mean_and_width(gaps)
    return mean is not None and width is not None and abs(mean) > width


def footnote(runs: int) -> str:
    """Return what a mark at a figure means.

    Args:
        runs: Of each policy.
    """
    over = f"{runs} runs" if runs > 1 else f"{SHARES} equal shares of the run"
    return (
        f"* best of its row by more than chance explains (paired differences over {over}, 95 %); "
        "several in a row cannot be told apart"
    )
