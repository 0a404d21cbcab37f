"""One simulation of a scenario, and the estimates from it.

Tickets are divided into equal batches in order of arrival; the first, in which the pool fills,
and the last, whose tickets the end of the run may censor, are left out. Intervals come from the
scatter of the batches.

Source:
    Batch means and the ratio estimator: Law, Simulation Modeling and Analysis, chapter 9.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
from numpy.typing import NDArray

from evenmatch.config.files import parse_scenario
from evenmatch.lab.simulate import simulate
from evenmatch.lab.study.study import student_t
from evenmatch.simulation.history import WAITING, History
from papers.shared.estimates import Estimate, mean_of_ratios

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BATCHES = 30
"""Batches of a run; two are left out."""
ALL = "all"
TOLD_OF_ONE = 4
"""Most waiting tickets of a class for which states are distinguished."""
THREE_ERRORS = 3.0 / student_t(BATCHES - 3)
"""Half-widths in three standard errors."""


Sums = tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]
"""Batch by batch: players, the sum of their waits, and that of the squares."""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario to simulate.

    Args:
        name: Its file.
        text: TOML.
        count: Tickets to simulate, in place of the scenario's own number.
        by: The property that defines the classes of tickets: `size`, `side` or `queues`.
        wants_states: Whether to compute the shares of time in each state.
    """

    name: str
    text: str
    count: int
    by: str = "size"
    wants_states: bool = False


class TrialFigures(msgspec.Struct, frozen=True):
    """The results of a trial, batch by batch.

    Args:
        sums: By class and `all`: players, sum of their waits and of the squares, each (batches,).
        states: Share of time by state: waiting tickets of each class, as `2,0`; in order of the
            names of the classes.
        growth: Tickets waiting at the end, per second of the run.
        waiting: Tickets waiting at the end, by class.
    """

    sums: dict[str, Sums]
    states: dict[str, tuple[float, ...]]
    growth: float
    waiting: dict[str, int]

    def mean(self, name: str = ALL) -> Estimate:
        """Return the mean wait of a player of a class, seconds."""
        return estimate_mean(self.sums[name])

    def var(self, name: str = ALL) -> Estimate:
        """Return the variance of a player's wait, seconds^2."""
        return estimate_var(self.sums[name])

    def per_party(self, sizes: dict[str, int]) -> Estimate:
        """Return the mean wait of a party, each counted once, seconds.

        Args:
            sizes: Players of a party of each class.
        """
        parts = [(self.sums[name], size) for name, size in sizes.items() if name in self.sums]
        waits = np.sum([np.asarray(sums[1]) / size for sums, size in parts], axis=0)
        parties = np.sum([np.asarray(sums[0]) / size for sums, size in parts], axis=0)
        return mean_of_ratios([(waits.tolist(), parties.tolist())])

    def ratio(self, above: str, below: str) -> Estimate:
        """Return the ratio of the mean waits of two classes."""
        one, other = (np.asarray(each) for each in (self.sums[above], self.sums[below]))
        top, bottom = one[1].sum() / one[0].sum(), other[1].sum() / other[0].sum()
        value = top / bottom
        scatter = (one[1] - top * one[0]) / one[0].mean() / bottom
        scatter -= value * (other[1] - bottom * other[0]) / other[0].mean() / bottom
        return _estimate(float(value), scatter)

    def share(self, *names: str) -> Estimate:
        """Return the share of time in any of these states."""
        zeros = (0.0,) * (BATCHES - 2)
        found = np.sum([self.states.get(name, zeros) for name in names], axis=0)
        return _estimate(float(found.mean()), found - found.mean())


def estimate_mean(sums: Sums) -> Estimate:
    """Return the mean wait of a player, seconds."""
    players, waits, _ = sums
    return mean_of_ratios([(waits, players)])


def estimate_var(sums: Sums) -> Estimate:
    """Return the variance of a player's wait, seconds^2."""
    players, waits, squares = (np.asarray(each) for each in sums)
    mean, second = waits.sum() / players.sum(), squares.sum() / players.sum()
    # The linear part of S2/S0 - (S1/S0)^2 around the sums of all batches.
    scatter = (squares - second * players) - 2.0 * mean * (waits - mean * players)
    return _estimate(float(second - mean**2), scatter / players.mean())


def sums_of(weights: Floats, waits: Floats) -> Sums:
    """Return the sums of each batch except the first and the last.

    Args:
        weights: Players of each ticket, or 0 if it is of another class, by arrival.
        waits: Of each ticket, seconds.
    """
    batch = np.arange(len(weights)) * BATCHES // len(weights)
    columns = (weights, weights * waits, weights * waits**2)
    players, first, second = (
        tuple(np.bincount(batch, each, BATCHES)[1:-1].tolist()) for each in columns
    )
    return players, first, second


def _estimate(value: float, residuals: Floats) -> Estimate:
    count = len(residuals)
    variance = float((residuals**2).sum()) / (count - 1)
    return Estimate(value, student_t(count - 1) * math.sqrt(variance / count))


def observe(trial: Trial) -> TrialFigures:
    """Simulate a scenario."""
    scenario = parse_scenario(trial.text)
    assert scenario.arrivals is not None
    arrivals = msgspec.structs.replace(scenario.arrivals, count=trial.count)
    own = msgspec.structs.replace(scenario, arrivals=arrivals)
    by = ("side",) if trial.by == "side" else ()
    return observed(simulate(own, by=by).history, trial)


def observed(history: History, trial: Trial) -> TrialFigures:
    """Return the figures of a run."""
    names, classes = _classes(history, trial.by)
    sizes = np.asarray(history.sizes, dtype=np.float64)
    begun = np.asarray(history.enqueued_at)
    ended = np.asarray(history.ended_at)
    waits = ended - begun
    sums = {name: sums_of(sizes * (classes == place), waits) for place, name in enumerate(names)}
    sums[ALL] = sums_of(sizes, waits)
    states = {}
    if trial.wants_states:
        batch = np.arange(len(sizes)) * BATCHES // len(sizes)
        edges = begun[np.searchsorted(batch, np.arange(1, BATCHES))]
        states = shares_of_states(begun, ended, classes, edges)
    left = np.frombuffer(bytes(history.states), dtype=np.uint8) == WAITING
    return TrialFigures(
        sums,
        states,
        float(left.sum()) / history.end if history.end else 0.0,
        {name: int((left & (classes == place)).sum()) for place, name in enumerate(names)},
    )


def _classes(history: History, by: str) -> tuple[list[str], Ints]:
    """Return the names of the classes, sorted, and the index of each ticket's class."""
    if by == "size":
        keys = list(map(str, history.sizes))
    elif by == "queues":
        keys = ["+".join(sorted(each)) for each in history.queues]
    else:
        keys = [str(each.attributes.get("side", "")) for each in history.tickets]
    names = sorted(set(keys))
    places = {name: place for place, name in enumerate(names)}
    return names, np.asarray([places[key] for key in keys], dtype=np.int64)


def shares_of_states(
    begun: Floats, ended: Floats, classes: Ints, edges: Floats
) -> dict[str, tuple[float, ...]]:
    """Return the share of time in each state, batch by batch.

    A state is the number of waiting tickets of each class. With three classes or more, if one each
    of two waits and nobody else, the class that came first is named too, as `1,0,1 first 2`. In all
    games that use this, the last one of a class to arrive is then the one that waits.

    Args:
        begun: When each ticket came, seconds.
        ended: When it was matched.
        classes: Of each ticket, from 0.
        edges: The instants between the batches.
    """
    count = int(classes.max()) + 1
    waited = ended > begun
    instants = np.concatenate([begun[waited], ended[waited]])
    steps = np.concatenate([np.ones(waited.sum()), -np.ones(waited.sum())]).astype(np.int64)
    kinds = np.concatenate([classes[waited], classes[waited]])
    order = np.argsort(instants, kind="stable")
    instants, steps, kinds = instants[order], steps[order], kinds[order]
    waiting = np.stack([np.cumsum(steps * (kinds == kind)) for kind in range(count)])
    came = np.stack(
        [
            np.maximum.accumulate(np.where((kinds == kind) & (steps > 0), instants, -1.0))
            for kind in range(count)
        ]
    )
    times = np.append(np.diff(instants), 0.0)
    batch = np.digitize(instants, edges)
    low = np.minimum(waiting, TOLD_OF_ONE)
    code = np.ravel_multi_index(tuple(low), (TOLD_OF_ONE + 1,) * count)
    if count > 2:
        is_pair = (waiting.sum(axis=0) == 2) & (waiting.max(axis=0) == 1)
        first = np.where(waiting > 0, came, math.inf).argmin(axis=0)
        code = np.where(is_pair, code + (first + 1) * (TOLD_OF_ONE + 1) ** count, code)
    lengths = np.diff(edges)
    found = {}
    for each in np.unique(code):
        spent = np.bincount(batch, times * (code == each), BATCHES)[1:-1]
        found[_state(int(each), count)] = tuple((spent / lengths).tolist())
    return found


def _state(code: int, count: int) -> str:
    first, rest = divmod(code, (TOLD_OF_ONE + 1) ** count)
    places = np.unravel_index(rest, (TOLD_OF_ONE + 1,) * count)
    text = ",".join(str(int(each)) for each in places)
    return f"{text} first {first - 1}" if first else text
