"""What is known of a batch that was solved: matches, quality, bound, reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from evenmatch.lab.solve.arrays import Given
from evenmatch.lab.solve.factors import BatchFactor
from evenmatch.lab.solve.search import Method, SolveBudget, SolveObjective
from evenmatch.solvers.teams.batch import Batch, Floats, Places, Plan
from evenmatch.solvers.teams.evaluation_input import scene_of
from evenmatch.solvers.teams.judge import judge

POINTS = 100.0


class Settings(NamedTuple):
    """What to do with a batch.

    Args:
        method: How to search.
        objective: What is maximised.
        budget: How long to search.
        seed: Of all chance.
        bound_seconds: How long to look for a bound; None = no bound.
    """

    method: Method = Method()
    objective: SolveObjective = SolveObjective()
    budget: SolveBudget = SolveBudget(1.0)
    seed: int = 1
    bound_seconds: float | None = None


class Bound(NamedTuple):
    """What was proved of a plan.

    Args:
        most: No plan with as many matches has a higher mean quality, in points; None = unknown.
        is_optimal: Whether the plan is proved to be a best one.
        reason: Why nothing is known; "" otherwise.
    """

    most: float | None = None
    is_optimal: bool = False
    reason: str = ""


UNKNOWN = Bound()


@dataclass(frozen=True)
class Solution:
    """Matches for a batch, and what is known about them; qualities are in points of 100.

    Args:
        given: The batch.
        settings: How it was solved.
        plan: The matches, in [0, 1].
        factors: What they are judged by.
        elapsed: Seconds of the search, pair data included; without the proof.
        proof: An upper bound on how good the matches can be.
        reason: Why there are no matches, or fewer than players could fill; "" otherwise.
        explanation: What each factor does; empty unless it was asked for.
    """

    given: Given
    settings: Settings
    plan: Plan
    factors: tuple[BatchFactor, ...]
    elapsed: float
    proof: Bound = UNKNOWN
    reason: str = ""
    explanation: Mapping[str, Mapping[str, Any]] | None = None

    @property
    def quality(self) -> float | None:
        """Return the mean quality of the matches; None without matches."""
        return POINTS * float(self.plan.quality.mean()) if len(self.plan.quality) else None

    @property
    def bound(self) -> float | None:
        """Return what no plan with as many matches exceeds; None if it is not known."""
        return self.proof.most

    @property
    def gap(self) -> float | None:
        """Return how far the quality may be from the best possible."""
        if self.bound is None or self.quality is None:
            return None
        return max(0.0, self.bound - self.quality)

    @property
    def bench(self) -> list[int]:
        """Return the players without a match."""
        seated = set(self.plan.seated.ravel().tolist())
        return [p for p in range(self.given.batch.players) if p not in seated]

    @cached_property
    def teams(self) -> list[list[list[int]]]:
        """Return by match and team the numbers of its players."""
        starts = np.concatenate(([0], np.cumsum(self.given.batch.seats))).tolist()
        return [
            [sorted(p for p in row[low:high] if p >= 0) for low, high in pairwise(starts)]
            for row in self.plan.seated.tolist()
        ]

    @cached_property
    def matches(self) -> list[dict[str, Any]]:
        """Return the matches: teams of player numbers, quality and factors; ids where known."""
        names = [self.named(factor.name) for factor in self.factors]
        costs = [cost_of(factor.alone, self.plan.seated) for factor in self.factors]
        people = self.given.people
        rows = []
        for row, teams in enumerate(self.teams):
            quality = POINTS * float(self.plan.quality[row])
            own = [POINTS * (1.0 - float(cost[row])) for cost in costs]
            match = {
                "teams": teams,
                "quality": quality,
                "factors": dict(zip(names, own, strict=True)),
            }
            rows.append(match if people is None else match | people.tell(teams))
        return rows

    @property
    def summary(self) -> dict[str, Any]:
        """Return the object of `--json`."""
        own = self.plan.quality
        told = {
            "matches": self.matches,
            "quality": self.quality,
            "median": _points(own, 50.0),
            "p10": _points(own, 10.0),
            "bound": self.bound,
            "gap": self.gap,
            "optimal": self.proof.is_optimal,
            "bench": self.bench,
            "evaluations": self.plan.evaluations,
            "elapsed": self.elapsed,
            "reason": self.reason,
            "bound_reason": self.proof.reason,
        }
        return told if self.explanation is None else told | {"explain": self.explanation}

    def named(self, factor: str) -> str:
        """Return what people call a factor."""
        return self.given.names.get(factor, factor)

    def __repr__(self) -> str:
        return f"Solution(matches={len(self.plan.seated)}, quality={self.quality})"


def cost_of(batch: Batch, seated: Places) -> Floats:
    """Return the exact cost of each match."""
    if not len(seated):
        return np.zeros(0)
    quality, _ = judge(scene_of(batch), batch, seated)
    return 1.0 - quality


def _points(quality: Floats, percentile: float) -> float | None:
    return POINTS * float(np.percentile(quality, percentile)) if len(quality) else None
