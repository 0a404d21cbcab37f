"""The scenarios of "Dynamic Matching With Teams", and runs of them.

A second is a period: one player arrives at each of the instants 1, 2, ..., and the run ends one
period after the last, so that all have waited for the period that follows their arrival. What a
run costs divided by its arrivals is then the paper's cost per period.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from evenmatch.config.files import parse_scenario
from evenmatch.lab.simulate import simulate
from evenmatch.lab.study.study import mean_and_width
from papers.shared.estimates import Estimate
from papers.shared.findings import Effort

PERIODS = 3000
"""Arrivals of a run: a multiple of 2n for every team size here, so that greedy leaves nobody."""
RUNS, RUNS_QUICK = 100, 6


class World(msgspec.Struct, frozen=True, kw_only=True):
    """One game, its arrivals, and the policy that matches them.

    Args:
        name: Of the scenario's file, without ending.
        n: Players of a team.
        alpha: Cost per player of a difference of 1 between the teams' sums of skill.
        policy: SPEC.
        skill: The attribute's `distribution` and its parameters, as TOML lines.
        rate: Players per second; None means one at each second.
        wait_price: Cost of a second of waiting.
        has_tenths: Whether to report waits by tenths of skill too.
        longer: Length of a run relative to others.
    """

    name: str
    n: int
    alpha: float
    policy: str
    skill: str
    rate: float | None = None
    wait_price: float = 1.0
    has_tenths: bool = False
    longer: int = 1

    @property
    def periods(self) -> int:
        """Return how many players come."""
        return PERIODS * self.longer

    @property
    def file(self) -> str:
        """Return the name of the scenario's file."""
        return f"{self.name}.toml"

    def toml(self, seed: int) -> str:
        """Return the scenario's text."""
        weight = 2 * self.n * self.alpha
        process = 'process = "regular"\ninterval = 1.0'
        end = f"until = {self.periods + 1}.0\n"
        if self.rate is not None:
            process, end = f'process = "poisson"\nrate = {self.rate!r}', ""
        return (
            f'seed = {seed}\n{end}\n[[queue]]\nname = "main"\nteams = 2\nplayers = {self.n}\n'
            f'wait_price = {self.wait_price!r}\non_deadline = "keep"\npolicy = "{self.policy}"\n\n'
            '[[queue.criteria]]\nkind = "imbalance"\nmeasure = "sum"\nattribute = "skill"\n'
            f'scale = {{ kind = "none" }}\nweight = {weight!r}\n\n'
            f"[arrivals]\n{process}\ncount = {self.periods}\n\n[attributes.skill]\n{self.skill}"
        )


def choice(values: Sequence[float], probs: Sequence[float] | None = None) -> str:
    """Return the TOML lines of a skill of a few types.

    >>> choice((0, 1), (0.7, 0.3)).splitlines()
    ['distribution = "choice"', 'values = [0, 1]', 'probs = [0.7, 0.3]']
    """
    lines = f'distribution = "choice"\nvalues = {list(values)}\n'
    return lines if probs is None else f"{lines}probs = {list(probs)}\n"


def two_skills(n: int, q: float, alpha: float, policy: str) -> World:
    """Return the paper's game: high players with probability q.

    >>> two_skills(2, 0.3, 0.5, "greedy").name
    'wu-n2-q0.3-a0.5-greedy'
    """
    return World(
        name=f"wu-n{n}-q{q:g}-a{alpha:g}-{policy}",
        n=n,
        alpha=alpha,
        policy=policy,
        # Rounded to decimals: 1 - .3 is not exactly .7 in floats.
        skill=choice((0, 1), (float(f"{1 - q:.9g}"), float(q))),
    )


class Run(msgspec.Struct, frozen=True):
    """One sequence of players to simulate: child `child` of the seed, as `--runs` has it."""

    world: World
    seed: int
    child: int


class PeriodFigures(msgspec.Struct, frozen=True):
    """The figures of a run, per period.

    Args:
        cost: Waiting and imbalance.
        wait: Its part for waiting.
        pools: Share of periods in which k wait just before an arrival, for k = 0 .. 2n; empty
            if arrivals have no periods.
        waits: Mean wait of the players of each tenth of skill, lowest first; empty by default.
    """

    cost: float
    wait: float
    pools: tuple[float, ...] = ()
    waits: tuple[float, ...] = ()


def play(run: Run) -> PeriodFigures:
    """Simulate one sequence with the engine."""
    world = run.world
    seed = np.random.SeedSequence(run.seed, spawn_key=(run.child,))
    by = ("skill_decile",) if world.has_tenths else ()
    done = simulate(parse_scenario(world.toml(run.seed)), seed=seed, by=by)
    found, history = done.summary, done.history
    waited = float(np.sum(history.ended_at) - np.sum(history.enqueued_at))
    tenths = found["by"]["skill_decile"].values() if by else ()
    return PeriodFigures(
        cost=(found["cost"] + found["cost_waiting"]) / world.periods,
        wait=world.wait_price * waited / world.periods,
        pools=() if world.rate else _pools([match.at for match in history.matches], world),
        waits=tuple(each["wait"]["mean"] for each in tenths),
    )


def _pools(matched_at: Sequence[float], world: World) -> tuple[float, ...]:
    """Return how often k wait just before an arrival: all earlier arrivals, less those matched."""
    before = np.arange(world.periods)
    waiting = before - 2 * world.n * np.searchsorted(matched_at, before, side="right")
    counts = np.bincount(waiting, minlength=2 * world.n + 1)
    return tuple((counts / world.periods).tolist())


def runs_of(worlds: Sequence[World], effort: Effort) -> list[Run]:
    """Return the runs of each world, those of one world in a row."""
    count = RUNS_QUICK if effort.quick else RUNS
    return [Run(world, effort.seed, child) for world in worlds for child in range(count)]


def by_world(
    runs: Sequence[Run], results: Sequence[PeriodFigures]
) -> dict[str, list[PeriodFigures]]:
    """Return the results of each world by its name, in the order of the runs."""
    found: dict[str, list[PeriodFigures]] = {}
    for run, result in zip(runs, results, strict=True):
        found.setdefault(run.world.name, []).append(result)
    return found


def mean(values: Sequence[float]) -> Estimate:
    """Return the mean over runs, and the half-width of its confidence interval."""
    value, width = mean_and_width(values)
    assert value is not None, "there is at least one run"
    return Estimate(value, width or 0.0)
