"""Which sets of classes are, or are nearly, more than those whom they may meet.

Duels on a graph are stable if and only if, for every set of classes that cannot meet each other,
more players come who may meet somebody of the set than players of the set. What is left of each
condition is its margin. A class with a loop never has two waiting, so it cannot be too many.

Source:
    J. Mairesse and P. Moyal, Stability of the stochastic matching model ("Ncond"): necessary under
    every order of service. Moyal, Busic and Mairesse: sufficient under first come, first matched.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from evenmatch.theory.independent_sets import (
    Component,
    Masks,
    levels,
    margin,
    members_of,
    rate_of,
)
from evenmatch.theory.rates import joined, shown

CANDIDATES = 256
"""Sets per component, tightest first, among which the margins to show are looked for."""


@dataclass(frozen=True)
class Margin:
    """One condition of stability.

    Attributes:
        classes: A set of classes that cannot meet each other.
        margin: Players per second who may meet them, less their own; stable if all are > 0.
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

    No order of service can place more of a set than come who may meet it, so the worst margin,
    of whatever set, is the least growth.

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
    """Return whether a set falls into no two that have no opponents in common.

    The margin of a set that does is the sum of theirs.
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
    who = joined(classes)
    whom = joined(names[i] for i in members_of(met)) if met else ""
    if not met:
        sentence = f"{who} may meet nobody, and {shown(rate_of(component, mask))}/s come"
    elif value > 0:
        sentence = f"{who} may be {shown(value)}/s more before they outnumber {whom}"
    elif value == 0:
        sentence = f"{who} are exactly as many as {whom}, whom alone they may meet"
    else:
        sentence = f"{who} exceed {whom}, whom alone they may meet, by {shown(-value)}/s"
    return Margin(classes, value, sentence)
