"""From batches to plans: several annealing searches, and the best of their results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evenmatch.errors import ConfigError
from evenmatch.solvers.teams.anneal import Annealing
from evenmatch.solvers.teams.batch import Batch, Floats, Pairs, Places, Plan
from evenmatch.solvers.teams.candidates import candidates_of
from evenmatch.solvers.teams.evaluation_input import Scene, scene_of
from evenmatch.solvers.teams.judge import judge
from evenmatch.solvers.teams.start import start_matches

RESTART = 80
"""With more evaluations than this times the squared number of players, a second search is worth
more than a longer one; estimated from runs of 3v3 with 30 to 300 players."""
RESTARTS_MAX = 16
FINISH = 0.1
"""Share of the effort spent on dividing pairs of matches anew, if there is plenty of effort."""
FINISH_FROM = 2_500
"""Evaluations per player from which that is worthwhile."""
POWER_MAX = 10.0

OBJECTIVES = "mean, sqrt, power:P, rms"
SELECTIONS = ("mean", "median", "p10")


class Round(NamedTuple):
    """A batch ready to be searched; it is immutable, so any number of searches can share it.

    Args:
        batch: The batch.
        scene: The batch in the form that kernels read.
        seating: Matches to start from.
        candidates: The best partners of each player.
    """

    batch: Batch
    scene: Scene
    seating: Places
    candidates: Places


def power_of(objective: str) -> float:
    """Return the `power` of `scene_of` for an objective.

    `mean` sums qualities, `sqrt` and `power:P` sum powers of them, `rms` lowers the root mean
    square of their shortfalls from 1: all but the first give bad matches more influence.

    Raises:
        ConfigError: There is no such objective.

    >>> power_of("sqrt"), power_of("power:0.25"), power_of("rms")
    (0.5, 0.25, 0.0)
    """
    name, _, value = objective.partition(":")
    if name == "power" and value:
        try:
            power = float(value)
        except ValueError:
            power = math.nan
        if 0.0 < power <= POWER_MAX:
            return power
        raise ConfigError(f"power:P needs 0 < P <= {POWER_MAX:g}, got {objective!r}")
    fixed = {"mean": 1.0, "sqrt": 0.5, "rms": 0.0}
    if objective not in fixed:
        raise ConfigError(f"objective is one of {OBJECTIVES}; got {objective!r}")
    return fixed[objective]


def prepare(
    batch: Batch, *, pairs: Pairs | None = None, objective: str = "mean", start: str = "skill"
) -> Round:
    """Return a batch ready to be searched.

    Args:
        batch: The batch.
        pairs: Its table of pairs, if it exists already.
        objective: See `power_of`.
        start: Order of the parties, see `start_matches`.

    Complexity:
        O(n^2) for the table, O(n) above `PLAYERS_IN_TABLE` players.
    """
    scene = scene_of(batch, pairs, power=power_of(objective))
    seated = start_matches(batch, start, np.random.default_rng(0))
    return Round(batch, scene, seated, candidates_of(scene))


def restarts_for(effort: int, players: int) -> int:
    """Return the number of searches into which an effort is best divided.

    >>> restarts_for(1_000_000, 30), restarts_for(1_000_000, 300)
    (13, 1)
    """
    return min(max(effort // (RESTART * max(players, 1) ** 2), 1), RESTARTS_MAX)


def child_seeds(seed: int, count: int) -> list[int]:
    """Return independent seeds for the parts of a job."""
    children = np.random.SeedSequence(seed).spawn(count)
    return [int(child.generate_state(1, dtype=np.uint64)[0]) for child in children]


def search(ready: Round, effort: int, seed: int) -> Plan:
    """Return the plan that one search finds.

    The function is pure, and its kernels release the interpreter's lock.

    Args:
        ready: The batch.
        effort: Approximate evaluations.
        seed: Of all random choices.
    """
    players = ready.batch.players
    annealing = Annealing(ready.scene, ready.seating, ready.candidates, seed)
    polish = int(FINISH * effort) if effort >= FINISH_FROM * players else 0
    annealing.pace(effort)
    annealing.run(effort - polish)
    if polish:
        annealing.finish(polish)
    return plan_of(ready, annealing)


def plan_of(ready: Round, annealing: Annealing) -> Plan:
    """Return the present plan of a search, judged exactly."""
    seated = annealing.seated()
    quality, legal = judge(ready.scene, ready.batch, seated)
    return Plan(seated, quality, legal, annealing.evaluations)


def best_of(plans: Sequence[Plan], worth: Floats, *, objective: str, select: str) -> Plan:
    """Return the best plan, with the evaluations of all; of equal plans, the earliest.

    Args:
        plans: At least one.
        worth: `Batch.worth`.
        objective: See `power_of`.
        select: `mean` of transformed qualities, or `median` or `p10` of qualities.

    Raises:
        ConfigError: There is no such selection.
    """
    if select not in SELECTIONS:
        raise ConfigError(f"select is one of {', '.join(SELECTIONS)}; got {select!r}")
    power = power_of(objective)
    values = [_value(plan, worth, power, select) for plan in plans]
    best = plans[values.index(max(values))]
    return best._replace(evaluations=sum(plan.evaluations for plan in plans))


def _value(plan: Plan, worth: Floats, power: float, select: str) -> tuple[float, float]:
    """Return the value of a plan as a sort key: legal matches count first."""
    if not len(plan.quality):
        return 0.0, 0.0
    quality = np.where(plan.legal, plan.quality, 0.0)
    if select == "median":
        value = float(np.median(quality))
    elif select == "p10":
        value = float(np.quantile(quality, 0.1))
    elif power == 0.0:
        value = -float(np.square(1.0 - quality).mean())
    else:
        value = float((np.sign(quality) * np.abs(quality) ** power).mean())
    seated = plan.seating[plan.legal]
    return float(plan.legal.sum()), value + float(worth[seated[seated >= 0]].sum()) / len(quality)


def anneal(
    batch: Batch,
    *,
    effort: int,
    seed: int,
    pairs: Pairs | None = None,
    objective: str = "mean",
    select: str = "mean",
    restarts: int | None = None,
) -> Plan:
    """Return the best matches that a search finds within an effort.

    Equal arguments give equal plans.

    Args:
        batch: The batch.
        effort: Evaluations of matches; 0 = the start alone.
        seed: Of all random choices.
        pairs: Its table of pairs, if it exists already.
        objective: See `power_of`.
        select: How the best of several searches is chosen, see `best_of`.
        restarts: Number of searches; None = as `restarts_for` says.

    Raises:
        ConfigError: Effort or restarts are negative, or a name is unknown.
    """
    if effort < 0 or (restarts is not None and restarts < 1):
        raise ConfigError(
            f"effort must be >= 0 and restarts >= 1, got effort={effort}, restarts={restarts}"
        )
    ready = prepare(batch, pairs=pairs, objective=objective)
    parts = restarts or restarts_for(effort, batch.players)
    plans = [search(ready, effort // parts, child) for child in child_seeds(seed, parts)]
    return best_of(plans, batch.worth, objective=objective, select=select)
