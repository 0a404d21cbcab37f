"""Exact waits of duels on any compatibility graph, first come, first matched.

Classes of players arrive in Poisson streams; an edge joins two classes that may play each other, a
loop marks a class that may play among itself. A newcomer plays the longest waiting of those whom
they may meet. Sides, zones, skill bands and regions with flexible players are such graphs.
`independent_sets` explains the solution.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from evenmatch.errors import ConfigError
from evenmatch.theory.independent_sets import (
    Component,
    Masks,
    Waits,
    levels,
    margin,
    members_of,
    rate_of,
    solve,
    solve_exactly,
    split,
)
from evenmatch.theory.rates import Exact, exact_rates, list_in_words, rate_text

CLASSES_MAX = 60
"""Most classes of one graph; the solvable limit is about 25 classes that hardly meet each other,
which have the most independent sets."""
EXACT_SETS_MAX = 2_000
"""Most independent sets of a component for which fractions may be requested."""
EXACT_SETS = 200
"""Most independent sets for which fractions are used by default."""
MARGINS_SHOWN = 10
NAME_MAX = 100

Edges = Iterable[Sequence[str]]


@dataclass(frozen=True)
class GraphWaits:
    """Waits of duels on a graph; seconds and players per second.

    Attributes:
        stable: Whether all waits have finite means.
        kind: Why waits have no means: `transient`, some pool grows for ever; `null recurrent`, on
            the boundary: it empties again and again, but waits have no mean.
        growth: Players per second by which the pool must grow, whatever the order of service; 0
            on the boundary, None if stable.
        starved: Classes that grow: those of the set with the worst margin; on the boundary, those
            of all sets whose margin is 0.
        mean: Mean wait of a player.
        means: Mean wait by class. For a class with rate 0, the wait of a single such player; None
            if they would never play.
        var, vars: Variances of the same.
        p_no_wait: Probability by class that a newcomer plays at once. Over all players it is 1/2:
            each match has one player who waited and one who did not.
        margins: The tightest conditions, worst first: by how much the players who may meet a set
            of classes outnumber the set. Conditions that are sums of others are left out. Classes
            with a loop never violate one.
        independent_sets: Sets of classes that may wait together, the size of the problem.
        exact: The same figures as fractions, if they were computed as fractions.
    """

    stable: bool
    kind: str | None
    growth: float | None
    starved: tuple[str, ...]
    mean: float | None
    means: dict[str, float | None] | None
    var: float | None
    vars: dict[str, float | None] | None
    p_no_wait: dict[str, float | None] | None
    margins: tuple[Margin, ...]
    independent_sets: int
    exact: Exact

    def figures(self) -> dict[str, Any]:
        """Return the figures by name."""
        margins = [each.figures() for each in self.margins]
        return {**vars(self), "starved": list(self.starved), "margins": margins}


def compatibility_graph(
    *, rates: Mapping[str, float], edges: Edges, exact: bool | None = None
) -> GraphWaits:
    """Return stability and waits of duels on a graph of classes.

    Args:
        rates: Players per second by class, >= 0, at most `CLASSES_MAX` classes.
        edges: Pairs of classes that may play each other, in either order; (x, x) is a loop.
        exact: Compute with fractions; None does so up to `EXACT_SETS` independent sets.

    Raises:
        ConfigError: A rate or an edge cannot be used, or there are too many independent sets.

    Complexity:
        O(sets x classes^2): 24 classes with 15,687 sets take less than a second.

    Source:
        Moyal, Busic and Mairesse; Comte; see `independent_sets`.

    >>> rates = {"a": 0.3, "b": 0.3, "flexible": 0.4}
    >>> pairs = [("a", "b"), ("a", "flexible"), ("b", "flexible"), ("flexible", "flexible")]
    >>> compatibility_graph(rates=rates, edges=pairs).exact["mean"]
    '121/116'
    """
    names, fractions, neighbours = read_graph(rates, edges)
    parts = components(fractions, neighbours)
    sizes = [sum(level.size for level in levels(part)) for _, part in parts]
    margins = [each for at, part in parts for each in tightest(part, [names[i] for i in at])]
    margins.sort(key=lambda each: (each.margin, len(each.classes), each.classes))
    if margins and margins[0].margin <= 0:
        grown = [growth_of(part, [names[i] for i in at]) for at, part in parts]
        return _unstable(margins, grown, sum(sizes))
    in_fractions = _use_fractions(exact, max(sizes))
    waits = [solve_exactly(part) if in_fractions else solve(part) for _, part in parts]
    by_class = _by_class(names, [at for at, _ in parts], waits)
    found = _of_players(dict(zip(names, fractions, strict=True)), by_class)
    return GraphWaits(
        stable=True,
        kind=None,
        growth=None,
        starved=(),
        mean=float(found.mean),
        means=_floats(by_class["means"]),
        var=float(found.var),
        vars=_floats(found.vars),
        p_no_wait=_floats(by_class["p_no_wait"]),
        margins=tuple(margins[:MARGINS_SHOWN]),
        independent_sets=sum(sizes),
        exact=_texts(found, by_class) if in_fractions else {},
    )


def _unstable(
    margins: list[Margin], grown: list[tuple[Fraction, list[str]]], sets: int
) -> GraphWaits:
    growth = sum((each for each, _ in grown), Fraction(0))
    if growth:
        kind, starved = "transient", {name for _, classes in grown for name in classes}
    else:
        kind = "null recurrent"
        starved = {name for each in margins if each.margin == 0 for name in each.classes}
    return GraphWaits(
        stable=False,
        kind=kind,
        growth=float(growth),
        starved=tuple(sorted(starved)),
        mean=None,
        means=None,
        var=None,
        vars=None,
        p_no_wait=None,
        margins=tuple(margins[:MARGINS_SHOWN]),
        independent_sets=sets,
        exact={},
    )


def read_graph(rates: Any, edges: Any) -> tuple[list[str], list[Fraction], list[int]]:
    """Return names, rates and neighbours (as bits) of the classes.

    Raises:
        ConfigError: Something cannot be used; the sentence says what is allowed.
    """
    if not isinstance(rates, Mapping) or not 1 <= len(rates) <= CLASSES_MAX:
        raise ConfigError(f"rates must give the rates of 1 to {CLASSES_MAX} classes by name")
    for name in rates:
        if not isinstance(name, str) or not 1 <= len(name) <= NAME_MAX:
            raise ConfigError(f"a class must have a name of 1 to {NAME_MAX} characters")
    names = list(rates)
    fractions = exact_rates({f"rate of {name}": rate for name, rate in rates.items()})
    neighbours = [0] * len(names)
    for edge in read_pairs(edges):
        i, j = _ends(edge, names)
        neighbours[i] |= 1 << j
        neighbours[j] |= 1 << i
    return names, fractions, neighbours


def read_pairs(edges: Any) -> list[tuple[Any, Any]]:
    """Return edges as pairs, whatever they are pairs of.

    Raises:
        ConfigError: They are not a list, or one is not a pair.
    """
    if isinstance(edges, str | Mapping) or not isinstance(edges, Iterable):
        raise ConfigError('edges must be a list of pairs of classes, as [["x", "y"], ["x", "x"]]')
    pairs = []
    for edge in edges:
        if isinstance(edge, str) or not isinstance(edge, Sequence) or len(edge) != 2:
            raise ConfigError(f"an edge must be a pair of classes, got {str(edge)[:64]}")
        pairs.append((edge[0], edge[1]))
    return pairs


def _ends(edge: tuple[Any, Any], names: list[str]) -> tuple[int, int]:
    for name in edge:
        if name not in names:
            known = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
            raise ConfigError(
                f"an edge must join classes that have rates ({known}), got {str(name)[:64]!r}"
            )
    return names.index(edge[0]), names.index(edge[1])


def _that_ever_play(rates: list[Fraction], neighbours: list[int]) -> list[int]:
    """Return the classes that arrive, or could meet somebody who arrives.

    A class of rate 0 whose opponents have rate 0 changes nothing and would wait for ever.
    """
    coming = sum(1 << i for i, rate in enumerate(rates) if rate)
    return [i for i, met in enumerate(neighbours) if rates[i] or met & coming]


def components(rates: list[Fraction], neighbours: list[int]) -> list[tuple[list[int], Component]]:
    """Return the connected parts of the graph, with their classes.

    Classes that would never play are left out.
    """
    playing = _that_ever_play(rates, neighbours)
    kept = {old: new for new, old in enumerate(playing)}
    inner = [sum(1 << kept[j] for j in playing if neighbours[i] >> j & 1) for i in playing]
    found = []
    for part in split([rates[i] for i in playing], inner):
        at = [playing[i] for i in part]
        bits = tuple(
            sum(1 << new for new, j in enumerate(at) if neighbours[i] >> j & 1) for i in at
        )
        found.append((at, Component(tuple(rates[i] for i in at), bits)))
    return found


def _use_fractions(exact: bool | None, largest: int) -> bool:
    if exact and largest > EXACT_SETS_MAX:
        raise ConfigError(
            f"exact fractions are for at most {EXACT_SETS_MAX:,} independent sets, and the graph "
            f"has {largest:,}; leave exact out, floats have some twelve digits"
        )
    return largest <= EXACT_SETS if exact is None else exact


Figures = dict[str, Fraction | float | None]


@dataclass(frozen=True)
class _OfPlayers:
    mean: Fraction | float
    var: Fraction | float
    vars: Figures


def _by_class(names: list[str], places: list[list[int]], waits: list[Waits]) -> dict[str, Figures]:
    keys = ("means", "squares", "p_no_wait")
    found: dict[str, Figures] = {key: dict.fromkeys(names) for key in keys}
    for at, part in zip(places, waits, strict=True):
        for key in keys:
            for i, value in zip(at, getattr(part, key), strict=True):
                found[key][names[i]] = value
    return found


def _of_players(rates: dict[str, Fraction], by_class: dict[str, Figures]) -> _OfPlayers:
    """Return mean and variance over players, weighted by rate; classes of rate 0 do not count."""
    total = sum(rates.values())
    moments: list[Fraction | float] = []
    for key in ("means", "squares"):
        moment: Fraction | float = Fraction(0)
        for name, rate in rates.items():
            value = by_class[key][name]
            if value is not None and rate:
                moment += rate * value
        moments.append(moment / total)
    mean, square = moments
    variances = {
        name: None if mean is None or square is None else square - mean**2
        for (name, mean), square in zip(
            by_class["means"].items(), by_class["squares"].values(), strict=True
        )
    }
    return _OfPlayers(mean, square - mean**2, variances)


def _floats(values: Figures) -> dict[str, float | None]:
    return {name: None if value is None else float(value) for name, value in values.items()}


def _texts(found: _OfPlayers, by_class: dict[str, Figures]) -> Exact:
    classes = {"means": by_class["means"], "vars": found.vars, "p_no_wait": by_class["p_no_wait"]}
    texts = {
        key: {name: str(value) for name, value in values.items() if value is not None}
        for key, values in classes.items()
    }
    return {"mean": str(found.mean), "var": str(found.var), **texts}


# Sets of classes that outnumber, or nearly outnumber, those whom they may meet.
#
# Duels on a graph are stable if and only if, for every set of classes that cannot meet each
# other, the players who may meet somebody of the set arrive at a higher rate than the set itself.
# The difference is the margin of the condition. A class with a loop never has two players waiting,
# so it cannot outnumber anybody.
#
# Source:
#     J. Mairesse and P. Moyal, Stability of the stochastic matching model ("Ncond"): necessary
#     under every order of service. Moyal, Busic and Mairesse: sufficient under first come, first
#     matched.

CANDIDATES = 256
"""Sets per component, tightest first, among which the reported margins are searched."""


@dataclass(frozen=True)
class Margin:
    """One condition of stability.

    Attributes:
        classes: A set of classes that cannot meet each other.
        margin: Players per second who may meet them, less their own rate; stable if all are > 0.
        text: The same in words.
    """

    classes: tuple[str, ...]
    margin: Fraction
    text: str

    def figures(self) -> dict[str, Any]:
        """Return the figures by name."""
        return {"set": list(self.classes), "margin": float(self.margin), "text": self.text}


def tightest(component: Component, names: list[str]) -> list[Margin]:
    """Return the tightest conditions of a component, worst first.

    Args:
        component: A part of the graph.
        names: Its classes' names.

    Complexity:
        O(sets x classes).
    """
    found = [each for each in _candidates(component) if _is_one_condition(component, each[1])]
    return [_margin(component, names, value, mask) for value, mask in found]


def growth_of(component: Component, names: list[str]) -> tuple[Fraction, list[str]]:
    """Return how fast the pool of a component must grow, and the classes that do.

    No order of service can place more players of a set than arrive who may meet them, so the worst
    margin of any set is the least growth.

    Args:
        component: A part of the graph.
        names: Its classes' names.
    """
    candidates = _candidates(component)
    if not candidates or candidates[0][0] >= 0:
        return Fraction(0), []
    value, mask = candidates[0]
    return -value, [names[i] for i in members_of(mask)]


def _candidates(component: Component) -> list[tuple[Fraction, int]]:
    """Return the tightest sets with exact margins, and all that floats cannot tell from 0."""
    able = sum(
        1 << i for i, rate in enumerate(component.rates) if rate and not component.loops >> i & 1
    )
    masks = np.concatenate([level[level & ~able == 0] for level in levels(component)][1:])
    values = _rough(component, masks)
    order = np.argsort(values, kind="stable")[:CANDIDATES]
    unclear = np.flatnonzero(np.abs(values) <= 1e-9 * float(sum(component.rates)))
    chosen = {int(masks[i]) for i in np.concatenate([order, unclear])}
    return sorted(
        ((margin(component, mask), mask) for mask in chosen),
        key=lambda each: (each[0], each[1].bit_count(), each[1]),
    )


def _rough(component: Component, masks: Masks) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the margins of sets of classes without loops in floats."""
    n = len(component.rates)
    rates = np.array([float(rate) for rate in component.rates])
    met = np.zeros_like(masks)
    own = np.zeros(masks.size)
    for i, bits in enumerate(component.neighbours):
        inside = masks >> i & 1 == 1
        met[inside] |= bits
        own[inside] += rates[i]
    others = np.zeros(masks.size)
    for i in range(n):
        others += np.where(met >> i & 1 == 1, rates[i], 0.0)
    return others - own


def _is_one_condition(component: Component, mask: int) -> bool:
    """Return whether a set is not the union of two without common opponents.

    The margin of such a union is the sum of their margins.
    """
    members = members_of(mask)
    part, met = {members[0]}, component.neighbours[members[0]]
    grows = True
    while grows:
        more = {i for i in members if component.neighbours[i] & met} - part
        part |= more
        for i in more:
            met |= component.neighbours[i]
        grows = bool(more)
    return len(part) == len(members)


def _margin(component: Component, names: list[str], value: Fraction, mask: int) -> Margin:
    classes = tuple(names[i] for i in members_of(mask))
    met = 0
    for i in members_of(mask):
        met |= component.neighbours[i]
    who = list_in_words(classes)
    whom = list_in_words(names[i] for i in members_of(met)) if met else ""
    if not met:
        sentence = f"{who} may meet nobody, and {rate_text(rate_of(component, mask))}/s come"
    elif value > 0:
        sentence = f"{who} may grow by {rate_text(value)}/s before they outnumber {whom}"
    elif value == 0:
        sentence = f"{who} are exactly as many as {whom}, and may meet nobody else"
    else:
        sentence = f"{who} exceed {whom} by {rate_text(-value)}/s, and may meet nobody else"
    return Margin(classes, value, sentence)
