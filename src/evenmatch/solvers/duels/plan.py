"""A batch of single players for one against one: pairs as a plan, and a proof of their worth."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from evenmatch.errors import ConfigError
from evenmatch.solvers.duels.facts import FactCosts
from evenmatch.solvers.duels.pool import duel_costs, duels_of
from evenmatch.solvers.duels.rounds import pair_duels
from evenmatch.solvers.teams.batch import Batch, Plan


@dataclass(frozen=True)
class DuelPlan:
    """Matches of two players each, and what is proved about them.

    Args:
        plan: The matches, in the order of their first players.
        bound: No plan with at least as many matches has a higher sum of qualities and of the
            worth of seated players, divided by the matches of this one. Without worth, that is
            a bound of the mean quality.
        is_optimal: Whether it is proved, up to rounding, that no plan has more matches, and none
            with as many a higher sum.
    """

    plan: Plan
    bound: float
    is_optimal: bool


def plan_duels(batch: Batch) -> DuelPlan:
    """Pair the players of a batch: as many as possible, then at the highest quality.

    Args:
        batch: Two teams of one player; every party is one player. `worth` adds to the quality of
            who is seated, so the longest waiting play when somebody must stay over.

    Raises:
        ConfigError: The batch has other teams, or parties.

    Complexity:
        That of `pair_duels`; facts that are no gaps of numbers are looked up for the pairs
        that gaps and rules along one row of values leave over.

    >>> from evenmatch.solvers.teams.batch import empty_batch, empty_facts
    >>> facts = empty_facts(4)._replace(values=np.array([[0.0, 0.5, 0.6, 1.0]]))
    >>> batch = empty_batch(np.array([1, 1]), np.arange(5), facts)
    >>> batch = batch._replace(terms=np.array([[0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0]]))
    >>> plan_duels(batch).plan.seated.tolist()
    [[0, 1], [2, 3]]
    """
    if batch.seats.tolist() != [1, 1]:
        raise ConfigError(f"a duel has teams of 1 + 1 players, got {batch.seats.tolist()}")
    if np.any(np.diff(batch.first) != 1):
        raise ConfigError("a duel takes parties of one player; a larger one does not fit a team")
    duels, other = duels_of(batch), FactCosts(batch)
    extra = None if other.is_nothing else other.costs
    found = pair_duels(duels, extra, extra_top=other.top)
    pairs = found.pairs
    one, two = np.ascontiguousarray(pairs.T)
    quality = 1.0 - duel_costs(*duels[:4], one, two) - other.costs(one, two)
    seated = other.by_side(pairs).astype(np.int32)
    plan = Plan(seated, quality, np.ones(len(pairs), np.bool_), found.pairs_seen)
    most = len(pairs) + math.fsum(batch.worth.tolist()) - found.bound
    return DuelPlan(plan, most / len(pairs) if len(pairs) else 0.0, found.is_optimal)
