"""The full law of a wait in duels on a compatibility graph: medians and other quantiles.

Let a single player of class j wait, who may not play their own class (a player who may is covered
by another class of rate 0 with the same opponents). The recursion of `independent_sets`, with the
rate of j as its variable, gives not only means but the transform of the law. It has the form of a
chain whose phases are the sets I that contain j: it starts in I with probability
(pi(I - j) + [j in I'] pi(I)) / sum pi, goes from I to I + i at rate(i), and leaves I at rate(E(I))
- rate(I') in all. The probability missing to 1 at the start is that of playing at once.

The phases are not states of the pool: the rate of leaving a phase for good may come out negative,
and the survival function is still a sum of positive terms. This is not in the sources of
`independent_sets`; its tests compare moments with the recursion, sides with their closed law, and
quantiles with simulation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evenmatch.errors import ConfigError
from evenmatch.theory.graph import Edges, compatibility_graph, components, read_graph, read_pairs
from evenmatch.theory.independent_sets import Component, levels, margin, weights_of_sets
from evenmatch.theory.waiting_law import PHASES_MAX, Floats, PhaseTypeLaw, WaitingLaw

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True, eq=False)
class MixedLaw(WaitingLaw):
    """The wait of a player whose class is random.

    Args:
        laws: By class.
        weights: Probability of each class.
    """

    laws: tuple[WaitingLaw, ...]
    weights: tuple[float, ...]

    @property
    def p_no_wait(self) -> float:
        """Return the probability of no wait at all."""
        return math.fsum(w * law.p_no_wait for w, law in zip(self.weights, self.laws, strict=True))

    @property
    def mean(self) -> float:
        """Return the mean wait in seconds."""
        return math.fsum(w * law.mean for w, law in zip(self.weights, self.laws, strict=True))

    @property
    def var(self) -> float:
        """Return the variance in s^2."""
        pairs = zip(self.weights, self.laws, strict=True)
        return math.fsum(w * (law.var + law.mean**2) for w, law in pairs) - self.mean**2

    def survival(self, seconds: ArrayLike) -> Floats:
        """Return the probability of waiting longer than `seconds`, for an array of any shape."""
        pairs = zip(self.weights, self.laws, strict=True)
        found: Floats = np.sum([w * law.survival(seconds) for w, law in pairs], axis=0)
        return found

    def density(self, seconds: ArrayLike) -> Floats:
        """Return the density per second, for `seconds` > 0; the atom at 0 is not in it."""
        pairs = zip(self.weights, self.laws, strict=True)
        found: Floats = np.sum([w * law.density(seconds) for w, law in pairs], axis=0)
        return found


@dataclass(frozen=True)
class GraphLaws:
    """The laws of the waits of duels on a graph.

    Attributes:
        everybody: The law of a random player.
        classes: The law by class; for a class with rate 0, that of a single such player. Classes
            that would never play have none.
    """

    everybody: WaitingLaw
    classes: dict[str, PhaseTypeLaw]

    def figures(self) -> dict[str, Any]:
        """Return mean, variance and quantiles of everybody, and by class."""
        classes = {name: _figures(law) for name, law in self.classes.items()}
        return {**_figures(self.everybody), "classes": classes}


def graph_laws(*, rates: Mapping[str, float], edges: Edges) -> GraphLaws:
    """Return the laws of the waits of duels on a stable graph of classes.

    Args:
        rates: Players per second by class, >= 0.
        edges: Pairs of classes that may play each other, in either order; (x, x) is a loop.

    Raises:
        ConfigError: The graph cannot be used, is not stable, or has more than `PHASES_MAX` sets
            of classes that may wait together.

    Complexity:
        Each class has a phase for each independent set that contains it.

    >>> laws = graph_laws(rates={"duel": 2.0}, edges=[("duel", "duel")])
    >>> round(laws.everybody.quantile(0.9), 6)
    0.804719
    """
    pairs = read_pairs(edges)
    names, fractions, neighbours = read_graph(rates, pairs)
    waits = compatibility_graph(rates=rates, edges=pairs, exact=False)
    if not waits.stable:
        raise ConfigError(f"waits have no law: {waits.margins[0].text}")
    if waits.independent_sets > PHASES_MAX:
        raise ConfigError(
            f"laws are for at most {PHASES_MAX:,} sets of classes that may wait together, the "
            f"graph has {waits.independent_sets:,}; ask graph for means and variances, or simulate"
        )
    laws: dict[str, PhaseTypeLaw] = {}
    for at, part in components(fractions, neighbours):
        pi = weights_of_sets(part)
        laws |= {names[i]: _law(part, place, pi) for place, i in enumerate(at)}
    total = sum(fractions)
    coming = [name for name, rate in zip(names, fractions, strict=True) if rate]
    shares = tuple(float(rate / total) for rate in fractions if rate)
    return GraphLaws(
        MixedLaw(tuple(laws[name] for name in coming), shares),
        {name: laws[name] for name in names if name in laws},
    )


def _law(component: Component, j: int, pi: dict[int, float]) -> PhaseTypeLaw:
    """Return the law of one class of a component."""
    phases = [mask for masks in levels(component) for mask in masks.tolist() if mask >> j & 1]
    place = {mask: row for row, mask in enumerate(phases)}
    total = math.fsum(pi.values())
    has_loop = component.loops >> j & 1
    start = np.array([pi[mask ^ 1 << j] + (0.0 if has_loop else pi[mask]) for mask in phases])
    moves = np.zeros((len(phases), len(phases)))
    for mask in phases:
        for i, rate in enumerate(component.rates):
            after = mask | 1 << i
            if after != mask and after in place:
                moves[place[mask], place[after]] = float(rate)
    leaving = np.array([float(margin(component, mask)) for mask in phases])
    return PhaseTypeLaw(start / total, moves, leaving - moves.sum(axis=1))


def _figures(law: WaitingLaw) -> dict[str, float]:
    # Half of all players never wait: the median is 0, and rounding must not change that.
    quantiles = {
        name: law.quantile(p) if p > law.p_no_wait + 1e-12 else 0.0 for name, p in QUANTILES.items()
    }
    return {"mean": law.mean, "var": law.var, **quantiles, "p_no_wait": law.p_no_wait}
