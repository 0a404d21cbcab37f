"""What a class of players gains by being flexible, and who pays for it.

A flexible player takes every opponent that he or somebody of other classes may meet: either side,
any zone, any band. A single one changes nobody else's wait, and his own is that of a class of rate
0 with those opponents. When a share of a class does so, all waits move, and some get longer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenmatch.errors import ConfigError
from evenmatch.theory.graph import Edges, GraphWaits, compatibility_graph

CLASSES_MAX = 30
LONGER = 1e-9
"""By which part of it a wait must grow to count as longer; less may be rounding."""


@dataclass(frozen=True)
class Gain:
    """What one class gains by being flexible.

    Attributes:
        mean: Its mean wait now, seconds; None where it would never play.
        mean_flexible: The mean wait of a single player of it who becomes flexible.
        improvement: mean_flexible / mean.
        others: Mean waits by class after `share` of it has become flexible; None if that is
            unstable.
        losers: Classes that wait longer then.
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
        stable: Whether waits have means now; if not, there are no classes.
        mean: Mean wait of a player now, seconds.
        share: The share of a class that becomes flexible.
        classes: Gains by class.
    """

    stable: bool
    mean: float | None
    share: float
    classes: dict[str, Gain]

    def figures(self) -> dict[str, Any]:
        """Return the figures by name."""
        return {
            **vars(self),
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
        share: The share of a class that becomes flexible where the others are looked at, (0, 1].
        accepts: By class, the classes as one of which it would then count too; all by default.

    Raises:
        ConfigError: The graph cannot be used, or a share or class is wrong.

    Complexity:
        Two graphs with a class more for each class.

    >>> pairs = [("junior", "junior"), ("expert", "expert")]
    >>> found = flexibility(rates={"junior": 0.5, "expert": 0.5}, edges=pairs, share=0.1)
    >>> found.classes["expert"].mean_flexible, found.classes["expert"].losers
    (0.25, ('expert',))
    """
    pairs = [tuple(each) for each in edges]
    before = compatibility_graph(rates=rates, edges=pairs)
    if not 0.0 < share <= 1.0:
        raise ConfigError(f"share must be in (0, 1], got {share:g}")
    if len(rates) > CLASSES_MAX:
        raise ConfigError(f"rates must have at most {CLASSES_MAX} classes here, got {len(rates)}")
    chosen = _accepts(list(rates), accepts or {})
    if not before.stable:
        return Flexibility(False, None, share, {})
    classes = {name: _gain(rates, pairs, name, chosen[name], before, share) for name in chosen}
    return Flexibility(True, before.mean, share, classes)


def with_flexible(
    rates: Mapping[str, float],
    edges: Sequence[Sequence[str]],
    name: str,
    accepted: Sequence[str],
    share: float,
) -> tuple[dict[str, float], list[tuple[str, str]], str]:
    """Return the graph in which a share of a class counts as one of others as well.

    Args:
        rates: Players per second by class.
        edges: Pairs of classes that may play each other.
        name: The class of which some become flexible.
        accepted: The classes as one of which they count then.
        share: How many of it, in [0, 1].

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
    name: str,
    accepted: Sequence[str],
    before: GraphWaits,
    share: float,
) -> Gain:
    now = before.means or {}
    more_rates, more_edges, free = with_flexible(rates, edges, name, accepted, 0.0)
    single = compatibility_graph(rates=more_rates, edges=more_edges).means or {}
    more_rates, more_edges, free = with_flexible(rates, edges, name, accepted, share)
    then = compatibility_graph(rates=more_rates, edges=more_edges).means
    own, alone = now[name], single[free]
    losers = tuple(each for each in rates if _is_longer(now[each], (then or {}).get(each)))
    return Gain(own, alone, alone / own if own and alone is not None else None, then, losers)


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
