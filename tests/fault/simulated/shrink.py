"""From a failing run to a smaller one that fails in the same way."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tests.fault.simulated.run import Outcome, Setting, run

RUNS_MOST = 120
"""Runs that a search may take: about a minute."""


def shrunk(
    seed: int,
    setting: Setting,
    tell: Callable[[str], None] = lambda line: None,
    runs_most: int = RUNS_MOST,
) -> tuple[Setting, Outcome]:
    """Return a setting with fewer faults, quieter messages and fewer clients that still fails.

    It must break one of the invariants that the whole run breaks. Groups of faults are left out,
    by halves, quarters, and so on, as long as the rest still fails.

    Args:
        seed: Of a run that fails.
        setting: Of that run.
        tell: Told how far it is.
        runs_most: How often something may be tried.
    """
    first = run(seed, setting)
    assert first.violations, f"seed {seed} does not fail"
    setting = msgspec.structs.replace(setting, faults=first.planned)
    search = _Search(seed, setting, first, runs_most)
    for change in ({"lost": 0.0}, {"repeated": 0.0}, {"slow": 0.0}):
        search.attempt(msgspec.structs.replace(search.best, **change))
    while search.best.parties > 4 and search.attempt(
        msgspec.structs.replace(search.best, parties=search.best.parties // 2)
    ):
        pass
    size = max(1, len(first.planned) // 2)
    while True:
        is_smaller = _without_groups(search, size)
        tell(f"{len(search.best.faults or ())} faults, {search.best.parties} parties")
        if search.is_over or (size == 1 and not is_smaller):
            return search.best, search.outcome
        size = max(1, size // 2)


def _without_groups(search: _Search, size: int) -> bool:
    """Leave out each group of faults without which it still fails; return whether there was one."""
    is_smaller, at = False, 0
    while at < len(search.best.faults or ()) and not search.is_over:
        faults = search.best.faults or ()
        rest = faults[:at] + faults[at + size :]
        if search.attempt(msgspec.structs.replace(search.best, faults=rest)):
            is_smaller = True
        else:
            at += size
    return is_smaller


class _Search:
    """The smallest failing setting so far."""

    def __init__(self, seed: int, setting: Setting, outcome: Outcome, runs_most: int) -> None:
        self.seed = seed
        self.best = setting
        self.outcome = outcome
        self._runs_left = runs_most
        self._wanted = invariants(outcome)

    @property
    def is_over(self) -> bool:
        return self._runs_left <= 0

    def attempt(self, setting: Setting) -> bool:
        """Take a setting if it fails too."""
        self._runs_left -= 1
        outcome = run(self.seed, setting)
        if not invariants(outcome) & self._wanted:
            return False
        self.best, self.outcome = setting, outcome
        return True


def invariants(outcome: Outcome) -> frozenset[str]:
    """Return the invariants that a run breaks."""
    return frozenset(each.partition(":")[0] for each in outcome.violations)
