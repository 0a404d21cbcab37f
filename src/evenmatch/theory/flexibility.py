"""What players of a class gain by being flexible, and whose waits grow.

A flexible player accepts every opponent whom they or somebody of other classes may meet: either
side, any zone, any band. A single flexible player changes no other wait, and their own wait is that
of a class of rate 0 with those opponents. If a share of a class becomes flexible, all waits change,
and some grow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from evenmatch.errors import ConfigError
from evenmatch.theory.graph import (
    Edges,
    GraphWaits,
    compatibility_graph,
    components,
    read_graph,
    read_pairs,
    tightest,
)
from evenmatch.theory.rates import list_in_words, rate_text

CLASSES_MAX = 30
WORK_MAX = 60_000_000
"""Most work: sets of classes that may wait together, times classes, times graphs: about ten s."""
HALVINGS = 30
"""Bisection steps for the share that must become flexible: some nine digits."""
LONGER = 1e-9
"""Relative growth of a wait that counts as longer; less may be rounding."""


@dataclass(frozen=True)
class Gain:
    """What one class gains by being flexible.

    Attributes:
        mean: Its mean wait now, seconds; None if it would never play.
        mean_flexible: The mean wait of a single player of the class who becomes flexible.
        improvement: mean_flexible / mean.
        others: Mean waits by class after `share` of it has become flexible; None if that is
            unstable.
        losers: Classes whose wait is longer then.
    """

    mean: float | None
    mean_flexible: float | None
    improvement: float | None
    others: dict[str, float | None] | None
    losers: tuple[str, ...]

    def figures(self) -> dict[str, Any]:
        """Return the figures by name."""
        return {**vars(self), "losers": list(self.losers)}


@dataclass(frozen=True)
class Flexibility:
    """What each class gains by being flexible.

    Attributes:
        stable: Whether waits have means now; if not, `reason` says who must change.
        mean: Mean wait of a player now, seconds.
        share: The share of a class that becomes flexible.
        classes: Gains by class; none if unstable.
        starved: Classes that wait longer and longer; none if stable.
        growth: Players per second by which they grow; None if stable.
        needed: Players per second by class, if unstable: more than these of the starved classes,
            an equal share of each, must become flexible before waits have means. Empty if stable,
            or if even all of them would not be enough.
        reason: The same in a sentence; None if stable.
    """

    stable: bool
    mean: float | None
    share: float
    classes: dict[str, Gain]
    starved: tuple[str, ...] = ()
    growth: float | None = None
    needed: dict[str, float] = field(default_factory=dict)
    reason: str | None = None

    def figures(self) -> dict[str, Any]:
        """Return the figures by name."""
        return {
            **vars(self),
            "starved": list(self.starved),
            "classes": {name: each.figures() for name, each in self.classes.items()},
        }


def flexibility(
    *,
    rates: Mapping[str, float],
    edges: Edges,
    share: float = 0.1,
    accepts: Mapping[str, Sequence[str]] | None = None,
) -> Flexibility:
    """Return for each class of a graph what it gains by being flexible, and who loses.

    Args:
        rates: Players per second by class, >= 0.
        edges: Pairs of classes that may play each other, in either order; (x, x) is a loop.
        share: The share of a class that becomes flexible when the others' waits are computed,
            (0, 1].
        accepts: By class, the classes as whose members its flexible players also count; all by
            default.

    Raises:
        ConfigError: The graph cannot be used, a share or class is wrong, or the work would exceed
            `WORK_MAX`.

    Complexity:
        One more graph for each class, and one for each list of opponents that a flexible player
        may have; without `accepts` that is a single list.

    >>> pairs = [("junior", "junior"), ("expert", "expert")]
    >>> found = flexibility(rates={"junior": 0.5, "expert": 0.5}, edges=pairs, share=0.1)
    >>> found.classes["expert"].mean_flexible, found.classes["expert"].losers
    (0.25, ('expert',))
    """
    pairs = read_pairs(edges)
    before = compatibility_graph(rates=rates, edges=pairs)
    if not 0.0 < share <= 1.0:
        raise ConfigError(f"share must be in (0, 1], got {share:g}")
    if len(rates) > CLASSES_MAX:
        raise ConfigError(f"rates must have at most {CLASSES_MAX} classes here, got {len(rates)}")
    chosen = _accepts(list(rates), accepts or {})
    if not before.stable:
        return _unstable(rates, pairs, chosen, before, share)
    if before.independent_sets * len(rates) ** 2 > WORK_MAX:
        raise ConfigError(
            f"flexibility solves a graph for each class: {len(rates)} classes with "
            f"{before.independent_sets:,} sets that may wait together would take minutes; merge "
            "classes, or ask graph twice, with and without a flexible class"
        )
    singles: dict[frozenset[str], float | None] = {}
    classes = {
        name: _gain(rates, pairs, (name, chosen[name]), before, share, singles) for name in chosen
    }
    return Flexibility(True, before.mean, share, classes)


def with_flexible(
    rates: Mapping[str, float],
    edges: Sequence[Sequence[str]],
    name: str,
    accepted: Sequence[str],
    share: float,
) -> tuple[dict[str, float], list[tuple[str, str]], str]:
    """Return the graph in which a share of a class also counts as members of others.

    Args:
        rates: Players per second by class.
        edges: Pairs of classes that may play each other.
        name: The class of which some become flexible.
        accepted: The classes as whose members they count then.
        share: The share that becomes flexible, in [0, 1].

    Returns:
        Rates, edges, and the name of the flexible class.
    """
    free = f"flexible {name}"
    while free in rates:
        free += "'"
    some = {name, *accepted}
    met = {y for x, y in edges if x in some} | {x for x, y in edges if y in some}
    more = [(each, free) for each in rates if each in met]
    if met & some:
        more.append((free, free))
    moved = rates[name] * share
    return {**rates, name: rates[name] - moved, free: moved}, [*map(_pair, edges), *more], free


def _pair(edge: Sequence[str]) -> tuple[str, str]:
    return edge[0], edge[1]


def _gain(
    rates: Mapping[str, float],
    edges: Sequence[Sequence[str]],
    of: tuple[str, Sequence[str]],
    before: GraphWaits,
    share: float,
    singles: dict[frozenset[str], float | None],
) -> Gain:
    """Return what a class gains; `of` holds the class and what it accepts.

    All single flexible players with the same opponents wait alike: `singles` caches their wait.
    """
    now, (name, accepted) = before.means or {}, of
    more_rates, more_edges, free = with_flexible(rates, edges, name, accepted, 0.0)
    met = frozenset(y if x == free else x for x, y in more_edges if free in (x, y)) - {free}
    if met not in singles:
        waits = compatibility_graph(rates=more_rates, edges=more_edges)
        singles[met] = (waits.means or {})[free]
    more_rates, more_edges, free = with_flexible(rates, edges, name, accepted, share)
    then = compatibility_graph(rates=more_rates, edges=more_edges).means
    own, alone = now[name], singles[met]
    losers = tuple(each for each in rates if _is_longer(now[each], (then or {}).get(each)))
    return Gain(own, alone, alone / own if own and alone is not None else None, then, losers)


def _unstable(
    rates: Mapping[str, float],
    edges: Sequence[Sequence[str]],
    chosen: Mapping[str, Sequence[str]],
    before: GraphWaits,
    share: float,
) -> Flexibility:
    """Return which classes starve, and how many of them must become flexible."""
    low, high = 0.0, 1.0

    def is_too_few(part: float) -> bool:
        more_rates, more_edges = dict(rates), list(edges)
        for name in before.starved:
            accepted = chosen[name]
            moved = with_flexible(more_rates, more_edges, name, accepted, part)
            more_rates, more_edges = moved[0], list(moved[1])
        return _worst_margin(more_rates, more_edges) <= 0

    who, told = list_in_words(before.starved), before.margins[0].text
    if is_too_few(1.0):
        reason = f"{told}; even if all of {who} were flexible, too few could play them"
        return Flexibility(False, None, share, {}, before.starved, before.growth, {}, reason)
    for _ in range(HALVINGS if before.growth else 0):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if is_too_few(middle) else (low, middle)
    part = high if before.growth else 0.0
    needed = {name: float(f"{part * rates[name]:.8g}") for name in before.starved}
    total = rate_text(sum(needed.values()))
    reason = (
        f"{told}; more than {total}/s of {who} must become flexible, {100.0 * part:.3g} % of them"
    )
    if not part:
        reason = f"{told}; some of {who} must become flexible, however few"
    return Flexibility(False, None, share, {}, before.starved, before.growth, needed, reason)


def _worst_margin(rates: Mapping[str, float], edges: Sequence[Sequence[str]]) -> Fraction:
    """Return the smallest margin of all conditions; 1 if there is none."""
    names, fractions, neighbours = read_graph(rates, edges)
    margins = [
        each.margin
        for at, part in components(fractions, neighbours)
        for each in tightest(part, [names[i] for i in at])
    ]
    return min(margins, default=Fraction(1))


def _is_longer(now: float | None, then: float | None) -> bool:
    return now is not None and then is not None and then > now * (1.0 + LONGER)


def _accepts(names: list[str], accepts: Any) -> dict[str, list[str]]:
    if not isinstance(accepts, Mapping):
        raise ConfigError("accepts must give lists of classes by class")
    for name, others in accepts.items():
        known = isinstance(others, Sequence) and not isinstance(others, str)
        if name not in names or not known or not all(each in names for each in others):
            raise ConfigError(
                f"accepts must give lists of classes that have rates by class, got "
                f"{str(name)[:64]}: {str(others)[:64]}"
            )
    return {name: list(accepts.get(name, names)) for name in names}
