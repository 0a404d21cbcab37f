"""The simulation of a pool beyond theory: the longest waiting first, in several runs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from evenmatch.config.files import parse_scenario
from evenmatch.lab.advise.market import QUANTILES
from evenmatch.lab.advise.pool_theory import KnownClass, PoolEvidence, PoolStatement
from evenmatch.lab.advise.pools import Floats, ScalingPool
from evenmatch.lab.simulate import simulate
from evenmatch.lab.study.study import mean_and_width
from evenmatch.simulation.groups import groups_of
from evenmatch.simulation.history import MATCHED
from evenmatch.simulation.metrics import waits_of

RUNS = 8
Mapper = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]


@dataclass(frozen=True)
class MeanInterval:
    """A figure with the half-width of its 95 % confidence interval; None if there is none."""

    value: float | None
    half_width: float | None


@dataclass(frozen=True, eq=False)
class EmpiricalWaits:
    """The empirical law of simulated waits.

    Args:
        waits: In ascending order, seconds at a rate of one player per second.
    """

    waits: Floats = field(repr=False)

    def cdf(self, seconds: Floats, /) -> Floats:
        """Return the shares of waits up to these."""
        places = np.searchsorted(self.waits, np.asarray(seconds), side="right")
        shares: Floats = places / len(self.waits)
        return shares

    def quantile(self, p: float, /) -> float:
        """Return the least wait up to which a share `p` of them is."""
        place = int(np.ceil(p * len(self.waits) - 1e-9)) - 1
        return float(self.waits[min(max(place, 0), len(self.waits) - 1)])


@dataclass(frozen=True)
class SimulatedPool:
    """The results of the runs.

    Args:
        policy: The policy.
        rate: Players per second.
        runs: Number of runs.
        players: Players counted in all of them.
        figures: `mean`, `p50`, `p90`, `p95`, `wait` (of the percentile) in seconds, and
            `matched`; quantiles are of all players, matched or not.
        classes: Mean wait by kind of player, seconds.
        law: All waits of those who were matched, at one player per second.
        by_class: Shares and waits of the kinds likewise.
    """

    policy: str
    rate: float
    runs: int
    players: int
    figures: dict[str, MeanInterval]
    classes: dict[str, MeanInterval]
    law: EmpiricalWaits = field(repr=False)
    by_class: dict[str, tuple[float, EmpiricalWaits]] = field(repr=False, default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the figures by name; every one is {value, half_width}."""
        return {
            "policy": self.policy,
            "rate": self.rate,
            "runs": self.runs,
            "players": self.players,
            "waits": {name: vars(each) for name, each in self.figures.items()},
            "classes": {name: vars(each) for name, each in self.classes.items()},
        }


class Drawable(Protocol):
    """What can be simulated: a pool, or several that share players."""

    @property
    def policy(self) -> str:
        """Return the policy that decides."""
        ...

    @property
    def rate(self) -> float:
        """Return the players per second."""
        ...

    @property
    def seed(self) -> int:
        """Return the seed of all chance."""
        ...

    @property
    def by(self) -> str | None:
        """Return what tells the kinds of players apart; None if there is one kind."""
        ...

    def toml(self, csv: str | None = None) -> str:
        """Return the scenario's text."""
        ...

    def csv(self, child: int = 0) -> str | None:
        """Return the arrivals of a run; None where the scenario draws them itself."""
        ...

    def label(self, group: str) -> str:
        """Return what people call a group of players, by its name in `--by`."""
        ...


@dataclass(frozen=True)
class _PoolRun:
    """One run to make, small enough to send to another process."""

    pool: Drawable
    child: int


class _Waits(NamedTuple):
    """Waits of players, and whether they were matched."""

    waits: Floats
    matched: NDArray[np.bool_]


class _RunWaits(NamedTuple):
    """One run: all of its players, and each kind of them."""

    every: _Waits
    kinds: dict[str, _Waits]


def one_by_one(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Return what a function makes of each item, in this process.

    Other processes would import the script that asked, and run it again where nothing guards it.
    """
    return [function(item) for item in items]


def simulated_pool(pool: Drawable, percentile: float, map_: Mapper = one_by_one) -> SimulatedPool:
    """Simulate a pool.

    Args:
        pool: What is simulated.
        percentile: The share of players whose wait is asked for.
        map_: Makes the runs; `study.map_all` makes several at a time.

    Raises:
        MatchmakingError: The pool cannot be simulated.
    """
    seen: list[_RunWaits] = map_(_run, [_PoolRun(pool, child) for child in range(RUNS)])
    parts = {**QUANTILES, "wait": percentile}
    every = [each.every for each in seen]
    figures = {"mean": _interval(map(_mean, every))}
    for name, part in parts.items():
        figures[name] = _interval(_quantile(each, part) for each in every)
    figures["matched"] = _interval(float(each.matched.mean()) for each in every)
    kinds = {
        name: [each.kinds[name] for each in seen if name in each.kinds]
        for name in dict.fromkeys(name for each in seen for name in each.kinds)
    }
    players = sum(len(each.waits) for each in every)
    return SimulatedPool(
        policy=pool.policy,
        rate=pool.rate,
        runs=len(seen),
        players=players,
        figures=figures,
        classes={name: _interval(map(_mean, found)) for name, found in kinds.items()},
        law=_law(every, pool.rate),
        by_class={
            name: (sum(len(each.waits) for each in found) / players, _law(found, pool.rate))
            for name, found in kinds.items()
        },
    )


def known_by(simulated: SimulatedPool, evidence: PoolEvidence) -> PoolEvidence:
    """Return what is known of a pool with the simulated law in place of the estimate.

    Without patience all times scale with the rate, so the law that was seen at one rate holds at
    each; with patience only at that one, and nothing is replaced.
    """
    mean = simulated.figures["mean"].value
    if evidence.is_exact or not isinstance(evidence.pool, ScalingPool) or mean is None:
        return evidence
    text = (
        f"{simulated.runs} runs of {simulated.policy}, {simulated.players:,} players in all; "
        "without patience waits are inversely proportional to the rate, so that one law is enough"
    )
    others = tuple(each for each in evidence.statements if each.figure == "players online")
    classes = tuple(
        KnownClass(name, share, law, float(law.waits.mean()))
        for name, (share, law) in simulated.by_class.items()
        if len(law.waits)
    )
    return replace(
        evidence,
        pool=ScalingPool(simulated.law, mean * simulated.rate, "simulated"),
        statements=(
            *(each for each in evidence.statements if each.source == "bound"),
            PoolStatement("waits", "simulated", text),
            *others,
        ),
        classes=classes,
    )


def _run(run: _PoolRun) -> _RunWaits:
    pool = run.pool
    seeds = np.random.SeedSequence(pool.seed, spawn_key=(run.child,))
    with tempfile.TemporaryDirectory() as folder:
        csv = pool.csv(run.child)
        if csv is not None:
            (Path(folder) / "arrivals.csv").write_text(csv, encoding="utf-8")
        scenario = parse_scenario(pool.toml(csv and "arrivals.csv"), folder)
        by = [] if pool.by is None else [pool.by]
        history = simulate(scenario, seed=seeds, by=by).history
    first = history.first_counted
    waits = waits_of(history)
    matched = np.frombuffer(bytes(history.states), dtype=np.uint8) == MATCHED
    places = np.repeat(np.arange(first, len(waits)), history.sizes[first:])
    groups = {} if pool.by is None else groups_of(history, pool.by, first)
    return _RunWaits(
        _Waits(waits[places], matched[places]),
        {pool.label(name): _Waits(waits[found], matched[found]) for name, found in groups.items()},
    )


def _interval(values: Iterable[float | None]) -> MeanInterval:
    found = list(values)
    known = [value for value in found if value is not None]
    if len(known) < len(found):
        return MeanInterval(None, None)
    return MeanInterval(*mean_and_width(known))


def _mean(seen: _Waits) -> float | None:
    return float(seen.waits[seen.matched].mean()) if seen.matched.any() else None


def _quantile(seen: _Waits, part: float) -> float | None:
    """Return the wait within which a share of all players is matched."""
    share = float(seen.matched.mean())
    if part > share:
        return None
    return float(np.quantile(seen.waits[seen.matched], min(part / share, 1.0)))


def _law(seen: Iterable[_Waits], rate: float) -> EmpiricalWaits:
    waits = np.concatenate([each.waits[each.matched] for each in seen])
    return EmpiricalWaits(np.sort(waits) * rate)
