"""More than two skills: the best policy, simple policies compared with it, and the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from evenmatch.lab.report.plots import Plot, PlotLine
from evenmatch.theory.skill_mdp import SkillPolicies, best_moves, skill_mdp
from evenmatch.theory.skill_pools import Floats, Ints, Pools, run_long
from papers.shared.findings import Effort, Findings, Part, Row
from papers.shared.words import table_of_rows
from papers.wu.worlds import PeriodFigures, Run, World, by_world, choice, mean, play, runs_of


class Setting(msgspec.Struct, frozen=True):
    """Equally frequent types of equally spaced skill on [0, 1].

    Args:
        n: Players of a team.
        types: How many.
        alpha: Cost per player of a difference of 1.
        cap: Players at whom a match must be made; it is never reached by the best policy.
    """

    n: int
    types: int
    alpha: float
    cap: int

    @property
    def skills(self) -> tuple[float, ...]:
        """Return the skill of each type."""
        return tuple(i / (self.types - 1) for i in range(self.types))


SETTINGS = (
    Setting(1, 3, 2.0, 7),
    Setting(1, 3, 4.0, 7),
    Setting(1, 5, 4.0, 7),
    Setting(1, 5, 8.0, 7),
    Setting(1, 8, 4.0, 6),
    Setting(1, 8, 8.0, 6),
    Setting(1, 8, 16.0, 6),
    Setting(2, 3, 2.0, 10),
    Setting(2, 3, 4.0, 10),
)
SIMULATED = (Setting(1, 3, 2.0, 7), Setting(1, 5, 8.0, 7), Setting(2, 3, 2.0, 10))
DRAWN = Setting(1, 8, 8.0, 6)
SIZED_TYPES = 5
"""With fewer types there is nothing left to gain."""
Task = Setting | Run


def skill(effort: Effort) -> Part:
    """Return the part of more skills than two."""
    runs = runs_of(worlds(), effort)
    tasks: list[Task] = [*SETTINGS, *runs]
    ids = ("wu.skill", "wu.least_set", "wu.pool", "wu.batch")
    return Part(ids, work, tasks, lambda results: _finish(runs, results, effort.seed))


def work(task: Task) -> SkillPolicies | PeriodFigures:
    """Solve a setting, or simulate a run."""
    return play(task) if isinstance(task, Run) else solved(task)


def solved(setting: Setting) -> SkillPolicies:
    """Return the exact costs of a setting."""
    return skill_mdp(types=setting.skills, n=setting.n, alpha=setting.alpha, cap=setting.cap)


def worlds() -> list[World]:
    """Return the simulated worlds: greedy once, and the best threshold of each setting."""
    deltas = (0.5, 0.25, 0.5)
    best = [
        _world(setting, f"imbalance_threshold:delta={delta:g}")
        for setting, delta in zip(SIMULATED, deltas, strict=True)
    ]
    return [_world(SIMULATED[0], "greedy"), *best]


def _world(setting: Setting, policy: str) -> World:
    short = policy.partition(":")[0].replace("imbalance_", "")
    return World(
        name=f"wu-skill-n{setting.n}-m{setting.types}-a{setting.alpha:g}-{short}",
        n=setting.n,
        alpha=setting.alpha,
        policy=policy,
        skill=choice(setting.skills),
    )


def _finish(
    runs: Sequence[Run], results: Sequence[SkillPolicies | PeriodFigures], seed: int
) -> Findings:
    exact = {
        setting: found
        for setting, found in zip(SETTINGS, results, strict=False)
        if isinstance(found, SkillPolicies)
    }
    played = [found for found in results if isinstance(found, PeriodFigures)]
    found = by_world(runs, played)
    rows = [row for setting in SETTINGS for row in _rows(setting, exact[setting])]
    rows += _simulated(exact, found)
    text = (
        "Equally frequent types m of equally spaced skill on [0, 1]. Exact: the decision process, "
        "and chains of simpler policies. Of equally even sets a threshold plays that of the "
        "lowest types, or where it says so the one farthest from the mean."
    )
    return Findings(
        tuple(rows),
        (table_of_rows("More skills than two", text, rows),),
        (_plot(exact[DRAWN]), _plot_of_pools(exact[DRAWN])),
        {world.file: world.toml(seed) for world in worlds()},
    )


def _params(setting: Setting) -> dict[str, float]:
    return {"n": setting.n, "m": setting.types, "alpha": setting.alpha}


def _rows(setting: Setting, found: SkillPolicies) -> Iterator[Row]:
    def row(name: str, what: str, exact: float) -> Row:
        return Row(id=f"wu.{name}", params={**_params(setting), "what": what}, exact=exact)

    def above(cost: float) -> float:
        # A difference in the last digit of a float counts as 0.
        return round(100.0 * (cost / found.cost - 1.0), 9) + 0.0

    yield row("skill", "least cost per period", found.cost)
    yield row("skill", "greedy: percent above", above(found.greedy))
    if found.patient is not None:
        yield row("skill", "patient: percent above", above(found.patient))
    delta = found.static_threshold_delta
    yield row("skill", f"threshold {delta:.3g}: percent above", above(found.static_threshold))
    what = "best threshold, ties to the farthest from the mean: percent above"
    yield row("skill", what, above(found.static_threshold_outer))
    what = "share of its matches that are of the evenest set there is"
    yield row("least_set", what, _share_of_least(setting))
    if setting.types >= SIZED_TYPES:
        what = "best threshold for each size of the pool: percent above"
        yield row("pool", what, above(cost_by_size(setting, delta)))
    yield row("pool", "most players whom the best policy lets wait", float(found.pool_max))
    what = f"match while {found.pool_threshold_players} wait: percent above"
    yield row("pool", what, above(found.pool_threshold))
    what = f"all at once when {found.batch_players} wait: percent less than greedy"
    yield row("batch", what, round(100.0 * (1.0 - found.batch / found.greedy), 9) + 0.0)


def _share_of_least(setting: Setting) -> float:
    """Return the share of the best policy's matches with the least imbalance of their pool."""
    pools, price = _pools(setting)
    moves = best_moves(pools, price)
    met = run_long(pools, *pools.after(moves)).shares > 0.0
    asked = pools.arrivals[met].ravel()
    asked = asked[moves[asked] >= 0]
    gaps = pools.imbalances[pools.move_set]
    return float((gaps[moves[asked]] == gaps[pools.least_moves()[asked]]).mean())


def cost_by_size(setting: Setting, start: float) -> float:
    """Return the cost of the best thresholds, one for each size of the pool.

    Args:
        setting: The game.
        start: The best threshold for all sizes; one after the other is changed until none helps.
    """
    pools, price = _pools(setting)
    least = pools.least_moves()
    deltas = sorted(set(pools.imbalances.tolist()))

    def cost(by_size: dict[int, float]) -> float:
        limits = np.array([by_size.get(size, np.inf) for size in pools.sizes.tolist()])
        return _cost_of_limits(pools, price, least, limits)

    best = dict.fromkeys(range(2 * setting.n, setting.cap), start)
    reached = cost(best)
    while True:
        tried = [{**best, size: delta} for size in best for delta in deltas]
        found, best_now = min(((cost(each), each) for each in tried), key=lambda pair: pair[0])
        if found >= reached - 1e-12:
            return reached
        reached, best = found, best_now


def _pools(setting: Setting) -> tuple[Pools, float]:
    """Return the pools of a setting, and the cost of an imbalance of 1."""
    probs = (1.0 / setting.types,) * setting.types
    return Pools(setting.skills, probs, setting.n, setting.cap), 2.0 * setting.n * setting.alpha


def _cost_of_limits(pools: Pools, price: float, least: Ints, limits: Floats) -> float:
    """Return the cost of matching the most even set of a pool up to the pool's own limit."""
    gaps = np.where(least >= 0, pools.imbalances[pools.move_set[least]], np.inf)
    acts = (least >= 0) & ((gaps <= limits) | (pools.sizes == pools.cap))
    done = run_long(pools, *pools.after(np.where(acts, least, -1)))
    return done.wait + price * done.imbalance


def _simulated(
    exact: Mapping[Setting, SkillPolicies], found: Mapping[str, Sequence[PeriodFigures]]
) -> Iterator[Row]:
    """Yield the engine's costs beside those of the chains; ties go to the longest waiting."""
    for world in worlds():
        setting = next(s for s in SIMULATED if world.name == _world(s, world.policy).name)
        costs = exact[setting]
        cost = mean([run.cost for run in found[world.name]])
        yield Row(
            id="wu.skill",
            params={**_params(setting), "policy": world.policy, "what": "cost per period"},
            exact=costs.greedy if world.policy == "greedy" else costs.static_threshold,
            simulated=cost.value,
            half_width=cost.half_width,
            scenario=world.file,
        )


def _plot(best: SkillPolicies) -> Plot:
    """Return a plot of the cost of each threshold."""
    pools, price = _pools(DRAWN)
    least = pools.least_moves()
    xs = tuple(sorted(set(pools.imbalances.tolist())))
    everywhere = np.ones(len(pools.counts))
    costs = [_cost_of_limits(pools, price, least, delta * everywhere) for delta in xs]
    return Plot(
        "cost_by_threshold",
        "A match if its imbalance is at most delta",
        f"Duels of {DRAWN.types} types, alpha = {DRAWN.alpha:g}: what the threshold costs, and the "
        "least cost of all policies. At the right every pair is accepted: that is greedy.",
        "delta",
        "cost per period",
        (
            PlotLine("threshold", xs, tuple(costs), is_theory=True),
            PlotLine("best policy", xs, (best.cost,) * len(xs), is_theory=True),
        ),
    )


def _plot_of_pools(best: SkillPolicies) -> Plot:
    """Return a plot of the cost of waiting for more players, whoever they are."""
    pools, price = _pools(DRAWN)
    least = pools.least_moves()
    sizes = range(2 * DRAWN.n, DRAWN.cap + 1)
    costs = [
        _cost_of_limits(pools, price, least, np.where(pools.sizes >= size, np.inf, -1.0))
        for size in sizes
    ]
    xs = tuple(map(float, sizes))
    return Plot(
        "cost_by_pool",
        "A match while K wait, whoever they are",
        f"Duels of {DRAWN.types} types, alpha = {DRAWN.alpha:g}. A larger pool is no substitute "
        "for a threshold: more wait, also those who would suit each other.",
        "K",
        "cost per period",
        (
            PlotLine("match while K wait", xs, tuple(costs)),
            PlotLine("best threshold", xs, (best.static_threshold,) * len(xs), is_theory=True),
            PlotLine("best policy", xs, (best.cost,) * len(xs), is_theory=True),
        ),
    )
