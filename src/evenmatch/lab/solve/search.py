"""Solve a batch within a budget of time or of evaluations, on one thread per part."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from evenmatch.errors import ConfigError
from evenmatch.solvers.kernel import settle
from evenmatch.solvers.teams.anneal import HASTY, Annealing
from evenmatch.solvers.teams.batch import Batch, Floats, Pairs, Places, Plan
from evenmatch.solvers.teams.candidates import candidates_of
from evenmatch.solvers.teams.evaluation_input import PLAYERS_IN_TABLE, Scene, scene_of
from evenmatch.solvers.teams.judge import judge
from evenmatch.solvers.teams.moves import (
    END_HEAT,
    EVALUATIONS,
    GUIDED,
    PICKY,
    START_HEAT,
)
from evenmatch.solvers.teams.pairs import tabulate
from evenmatch.solvers.teams.start import ORDERS, start_matches, with_smallest

SECONDS_A_PLAYER = 0.003
"""Seconds per player for which a budget is worth another start."""
SINGLE_MOST = 100.0
"""With more players than this, a start needs more time per player, in proportion to the players: a
long search of 300 ends .1 points above the best of as many short ones as take the same time."""
RESTARTS_MAX = 64
CHOICES_LEAST = 4
"""Least number of starts, if the objective only chooses among their results."""
FIRST_SHARE = 0.7
"""Share of a budget for the fewest matches that seat everybody, if seats may stay free."""
MORE = 3
"""Searches in the rest of it that seat those whose matches are not legal."""
ESCAPES = ("restarts", "forced")
FIRST_SLICE = 4_000
SLICES = 40
"""Number of times that one search reads the clock."""
EVALUATIONS_TO_CALIBRATE = 20_000
EVALUATIONS_A_SECOND = 1_000_000
"""Approximate speed of a core, from which the number of starts for an effort follows."""
USUAL, LARGE, LARGEST = 7.0, 12.0, 20.0
"""Parties of matches that need no habits of their own, of large ones, and of the largest for which
the temperature still falls."""
COOLING = 2.5
"""Exponent of a match's parties in the first temperature: chosen on two against two to sixteen
against sixteen. Parties count, not players: with parties of 2.4 players on average, eight against
eight need the temperature of small matches."""


class Method(NamedTuple):
    """The parameters of a search.

    Args:
        name: `anneal` or `descent`.
        escape: For `descent`: what to do when no swap is better, `restarts` or `forced`.
        start: For `descent`: the order of the first matches.
    """

    name: str = "anneal"
    escape: str = "restarts"
    start: str = "skill"


class SolveObjective(NamedTuple):
    """The objective that a search maximises.

    Args:
        name: As given.
        power: A search raises the sum of quality ** power; 0 = minus the squares of the shortfalls
            from 1, whose root mean is `rms`.
        percentile: Selects among restarts; None means the same sum.
    """

    name: str = "mean"
    power: float = 1.0
    percentile: float | None = None

    def value(self, quality: Floats) -> float:
        """Return the value of a plan with these qualities, in [0, 1]."""
        if not quality.size:
            return 0.0
        if self.percentile is not None:
            return float(np.percentile(quality, self.percentile))
        if self.power == 0.0:
            return 1.0 - float(np.sqrt(np.mean((1.0 - quality) ** 2)))
        return float(np.mean(np.maximum(quality, 0.0) ** self.power) ** (1.0 / self.power))


class SolveBudget(NamedTuple):
    """How long to search: seconds, or a total of evaluations, which can be repeated exactly."""

    seconds: float | None = None
    evaluations: int | None = None
    parts: int = 1


def parse_method(spec: str) -> Method:
    """Return the method of a text such as `descent:escape=forced,start=random`.

    Raises:
        ConfigError: It names no method, or a setting that the method does not have.
    """
    name, _, rest = spec.partition(":")
    if name not in ("anneal", "descent"):
        raise ConfigError(f"the policy of a batch is anneal or descent, got {name[:64]!r}")
    allowed = {"escape": ESCAPES, "start": ORDERS} if name == "descent" else {}
    chosen: dict[str, str] = {}
    for setting in filter(None, rest.split(",")):
        key, equals, value = setting.partition("=")
        if key not in allowed or not equals:
            known = ", ".join(allowed) or "none"
            raise ConfigError(f"{name} has no setting {setting[:64]!r}; allowed: {known}")
        if value not in allowed[key]:
            raise ConfigError(
                f"{name}: {key} must be one of {', '.join(allowed[key])}, got {value[:64]!r}"
            )
        chosen[key] = value
    return Method(name, **chosen)


def parse_objective(text: str) -> SolveObjective:
    """Return the objective of a text: mean, sqrt, power:P, rms, median or p10.

    Raises:
        ConfigError: It is none of these, or the power is not in (0, 10].
    """
    known = {
        "mean": SolveObjective(),
        "sqrt": SolveObjective("sqrt", 0.5),
        "rms": SolveObjective("rms", 0.0),
        "median": SolveObjective("median", percentile=50.0),
        "p10": SolveObjective("p10", percentile=10.0),
    }
    if text in known:
        return known[text]
    name, _, number = text.partition(":")
    try:
        power = float(number) if name == "power" else 0.0
    except ValueError:
        power = 0.0
    if not 0.0 < power <= 10.0:
        allowed = ", ".join([*known, "power:P with P in (0, 10]"])
        raise ConfigError(f"the objective must be one of {allowed}, got {text[:64]!r}")
    return SolveObjective(text, power)


def search(
    batch: Batch,
    method: Method,
    objective: SolveObjective,
    budget: SolveBudget,
    seed: int,
    on_part: Callable[[], None] = lambda: None,
) -> Plan:
    """Return the best plan that any part finds.

    Args:
        batch: The batch.
        method: The method.
        objective: The objective.
        budget: The budget.
        seed: Of all randomness; each part has a child of it.
        on_part: Called when a part is done.

    Complexity:
        The budget; with a budget of evaluations the plan is the same on every machine.
    """
    load(method)
    began = time.perf_counter()
    if batch.players < int(batch.seats_min.sum()):
        return nothing_found(batch)
    seeds = _children(seed, budget.parts)
    pairs = tabulate(batch.facts, batch.seats) if batch.players <= PLAYERS_IN_TABLE else None
    scene = scene_of(batch, pairs, power=objective.power)
    is_annealed = method.name == "anneal" or _has_room(batch)
    candidates = candidates_of(scene) if is_annealed else np.zeros((0, 0), dtype=np.int32)
    work = Work(batch, pairs, scene, candidates, method, objective)

    def one(part_seed: int) -> Plan:
        if budget.evaluations is not None:
            effort = max(1, budget.evaluations // budget.parts)
            found = work.by_effort(effort, part_seed)
        else:
            found = work.by_time(began, budget.seconds or 0.0, part_seed)
        on_part()
        return found

    if budget.parts == 1:
        return one(seeds[0])
    with ThreadPoolExecutor(budget.parts) as threads:
        plans = list(threads.map(one, seeds))
    return work.best_of(plans)


def load(method: Method) -> None:
    """Load the kernels of a method, so that no budget of time includes that."""
    if method.name == "descent":
        import evenmatch.solvers.teams.descent  # noqa: F401
    settle()


def nothing_found(batch: Batch) -> Plan:
    """Return the plan without matches."""
    nobody: Places = np.zeros((0, batch.k), dtype=np.int32)
    return Plan(nobody, np.zeros(0), np.zeros(0, dtype=np.bool_), 0)


class Work(NamedTuple):
    """A batch and how it is searched; all parts share it."""

    batch: Batch
    pairs: Pairs | None
    scene: Scene
    candidates: Places
    method: Method
    objective: SolveObjective

    def by_effort(self, effort: int, seed: int) -> Plan:
        """Return the plan found in `effort` evaluations; the same on every machine."""
        if not _has_room(self.batch):
            return self._first_by_effort(effort, seed)
        plan = self._first_by_effort(max(1, int(FIRST_SHARE * effort)), seed)
        each = max(1, int((1.0 - FIRST_SHARE) * effort / MORE))
        return self._with_more(plan, seed, lambda annealing, _: annealing.run(each))

    def by_time(self, began: float, seconds: float, seed: int) -> Plan:
        """Return the plan found until `seconds` after an instant of `time.perf_counter`."""
        if not _has_room(self.batch):
            return self._first_by_time(began, seconds, seed)
        plan = self._first_by_time(began, FIRST_SHARE * seconds, seed)
        ends = began + np.linspace(FIRST_SHARE, 1.0, MORE + 1)[1:] * seconds
        return self._with_more(plan, seed, lambda annealing, at: _cool(annealing, float(ends[at])))

    def _with_more(self, plan: Plan, seed: int, run: Callable[[Annealing, int], None]) -> Plan:
        """Return a plan that seats more players in legal matches, if searches find one.

        The plan has the fewest matches that seat everybody. If some are not legal, more matches of
        fewer players may be; the last search only adds players to the matches that there are.

        Args:
            plan: A plan of a format with seats that may stay free.
            seed: Of all randomness.
            run: Runs a search, given its number.
        """
        for number, child in enumerate(_children(seed, MORE)):
            if _seated(plan) == self.batch.players:
                break
            seated = plan.seating[plan.legal]
            start = seated if number == MORE - 1 else with_smallest(self.batch, seated)
            annealing = self._annealing_from(start, child)
            run(annealing, number)
            other = self._plan(annealing)
            evaluations = plan.evaluations + other.evaluations
            best = max(plan, other, key=lambda each: (_seated(each), self._worth(each)[1]))
            plan = best._replace(evaluations=evaluations)
        return plan

    def _first_by_effort(self, effort: int, seed: int) -> Plan:
        if self.method.name == "descent":
            return self._descent(effort, seed)
        restarts = min(effort, self._restarts(effort / EVALUATIONS_A_SECOND))
        plans = []
        for child in _children(seed, restarts):
            annealing = self._annealing(child)
            annealing.run(effort // restarts)
            plans.append(self._plan(annealing))
        return self.best_of(plans)

    def _first_by_time(self, began: float, seconds: float, seed: int) -> Plan:
        if self.method.name == "descent":
            return self._descent_for(began + seconds, seed)
        restarts = self._restarts(seconds)
        plans = []
        for place, child in enumerate(_children(seed, restarts), 1):
            annealing = self._annealing(child)
            _cool(annealing, began + seconds * place / restarts)
            plans.append(self._plan(annealing))
        return self.best_of(plans)

    def _restarts(self, seconds: float) -> int:
        """Return the number of starts for a budget."""
        least = 1 if self.objective.percentile is None else CHOICES_LEAST
        players = max(1, self.batch.players)
        enough = seconds / (SECONDS_A_PLAYER * players * max(1.0, players / SINGLE_MOST))
        return min(RESTARTS_MAX, max(least, int(enough)))

    def _annealing(self, seed: int) -> Annealing:
        """Return a search whose habits suit the size of matches."""
        seated = start_matches(self.batch, "skill", np.random.default_rng(seed))
        return self._annealing_from(seated, seed)

    def _annealing_from(self, seated: Places, seed: int) -> Annealing:
        annealing = Annealing(self.scene, seated, self.candidates, seed)
        habits, parties = annealing.walk.habits, len(self.batch.first) - 1
        habits[:] = habits_of_large(habits, self.batch.k * parties / self.batch.players)
        return annealing

    def _plan(self, annealing: Annealing) -> Plan:
        seated = annealing.seated()
        quality, legal = judge(self.scene, self.batch, seated)
        return Plan(seated, quality, legal, int(annealing.walk.counts[EVALUATIONS]))

    def best_of(self, plans: list[Plan]) -> Plan:
        """Return the plan with the most legal matches, then of most value; sum up the effort."""
        best = max(plans, key=self._worth)
        return best._replace(evaluations=sum(plan.evaluations for plan in plans))

    def _worth(self, plan: Plan) -> tuple[int, float]:
        return int(plan.legal.sum()), self.objective.value(plan.quality[plan.legal])

    def _descent(self, effort: int, seed: int) -> Plan:
        from evenmatch.solvers.teams.descent import descent

        return descent(
            self.batch,
            effort=effort,
            seed=seed,
            escape=self.method.escape,
            start=self.method.start,
            pairs=self.pairs,
            power=self.objective.power,
        )

    def _descent_for(self, until: float, seed: int) -> Plan:
        """Run a descent with the effort that lasts until then, as estimated from a short one."""
        before = time.perf_counter()
        if before >= until:
            return self._descent(1, seed)
        plan = self._descent(EVALUATIONS_TO_CALIBRATE, seed)
        now = time.perf_counter()
        effort = int(plan.evaluations * (until - now) / max(now - before, 1e-6))
        return self._descent(effort, seed) if effort > plan.evaluations else plan


def _has_room(batch: Batch) -> bool:
    """Return whether seats of a match may stay free."""
    return bool((batch.seats != batch.seats_min).any())


def _seated(plan: Plan) -> int:
    """Return the number of players in legal matches."""
    return int((plan.seating[plan.legal] >= 0).sum())


def habits_of_large(habits: Floats, parties: float) -> Floats:
    """Return `Walk.habits` for matches of `parties` parties on average, from those of small ones.

    One party changes less of a large match, so the same temperature would accept too much; and a
    smaller share of moves is good, so more of them are guided.

    >>> habits_of_large(np.array([0.02, 0.001, 0.7, 0.0]), 6.0).round(4).tolist()
    [0.02, 0.001, 0.7, 0.0]
    >>> habits_of_large(np.array([0.02, 0.001, 0.7, 0.0]), 12.0).round(4).tolist()
    [0.0052, 0.0006, 0.85, 0.5]
    """
    share = USUAL / min(max(parties, USUAL), LARGEST)
    largeness = min(1.0, math.log(share) / math.log(USUAL / LARGE))
    changed = habits.copy()
    changed[START_HEAT] *= share**COOLING
    changed[END_HEAT] *= share
    for habit in (GUIDED, PICKY):
        changed[habit] = max(
            habits[habit], habits[habit] * (1.0 - largeness) + largeness * HASTY[habit]
        )
    return changed


def _children(seed: int, count: int) -> list[int]:
    return [int(each) for each in np.random.SeedSequence(seed).generate_state(count)]


def _cool(annealing: Annealing, until: float) -> None:
    """Anneal until an instant, in slices whose evaluations follow the measured speed."""
    began = time.perf_counter()
    done, effort = 0.0, FIRST_SLICE
    while done < 1.0:
        before = time.perf_counter()
        if before >= until:
            return
        share = min(1.0, (before - began) / (until - began) + 1.0 / SLICES)
        annealing.run(effort, done, share)
        done = share
        rate = effort / max(time.perf_counter() - before, 1e-6)
        effort = max(1, int(rate * (until - began) / SLICES))
