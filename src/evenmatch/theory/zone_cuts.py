"""The level at which to cut the players of duels into zones.

Without flexible players the cut does not change the overall mean wait: each zone keeps half a
player waiting, whatever its size. It changes who waits: the smallest zone waits longest. And it
changes how far apart opponents are. Flexible players of upper zones also play in the zone below,
and shorten its waits rather than their own zone's. The waits are exact, from the graph.

Source:
    M. Xu, Y. Yu and C. Wu, Rule Designs for Optimal Online Game Matchmaking, section V-A, poses
    the question and leaves it open.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from evenmatch.errors import ConfigError
from evenmatch.theory.graph import compatibility_graph

CUTS_MAX = 5_000
LEVELS_MAX = 200
WORK_MAX = 5_000_000
"""Most work: sets of classes that may wait together, times ways to cut: about a minute."""


@dataclass(frozen=True)
class Cut:
    """One way to cut levels into zones.

    Attributes:
        first_levels: The lowest level of each zone but the first, counted from 1.
        shares: The share of all players in each zone.
        waits: Mean wait of those who play in their zone only, seconds; None if nobody does.
        waits_flexible: Mean wait of those who also play in the zone below; None for the first.
        worst: The longest of these waits.
        mean: Mean wait of a player.
        gap: Mean difference of the levels of two players of a zone.
    """

    first_levels: tuple[int, ...]
    shares: tuple[float, ...]
    waits: tuple[float | None, ...]
    waits_flexible: tuple[float | None, ...]
    worst: float
    mean: float
    gap: float

    def figures(self) -> dict[str, Any]:
        """Return the figures by name."""
        return {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in vars(self).items()
        }


def zone_cuts(
    *,
    shares: tuple[float, ...],
    rate: float,
    zones: int = 2,
    flexible: float = 0.0,
    wait_max: float | None = None,
) -> Cut:
    """Return the best levels at which to cut players of duels into zones.

    Args:
        shares: Players by level from the lowest, >= 0; normalised to sum to 1.
        rate: Players per second, > 0.
        zones: Number of zones.
        flexible: The share of the players of each zone but the first who also play in the zone
            below, in [0, 1].
        wait_max: The longest mean wait that a zone may have. With it, the best cut is the one with
            the closest opponents among those that keep to it; without it, or if none does, the one
            whose longest mean wait is shortest. Ties go to the closer opponents.

    Raises:
        ConfigError: A number is out of range, or there are too many ways to cut.

    Complexity:
        One small graph for each way to cut.

    >>> zone_cuts(shares=(4, 3, 2, 1), rate=1.0).first_levels
    (2,)
    """
    players = _check(shares, rate, zones, flexible, wait_max)
    found = [
        _cut(players, rate, (0, *places, len(players)), flexible)
        for places in _ways(players, zones)
    ]
    kept = [cut for cut in found if wait_max is not None and cut.worst <= wait_max]
    if kept:
        return min(kept, key=lambda cut: (cut.gap, cut.worst, cut.first_levels))
    # Rounded, so that the last digit of a wait does not decide.
    return min(found, key=lambda cut: (float(f"{cut.worst:.9g}"), cut.gap, cut.first_levels))


def _ways(players: list[float], zones: int) -> Iterator[tuple[int, ...]]:
    """Yield the first levels of the zones but the first, such that each zone has players."""
    for places in itertools.combinations(range(1, len(players)), zones - 1):
        ends = itertools.pairwise((0, *places, len(players)))
        if all(sum(players[low:high]) > 0 for low, high in ends):
            yield places


def _cut(players: list[float], rate: float, ends: tuple[int, ...], flexible: float) -> Cut:
    parts = [players[low:high] for low, high in itertools.pairwise(ends)]
    shares = [math.fsum(part) for part in parts]
    own = {f"zone {i}": rate * x * (1 - flexible * (i > 0)) for i, x in enumerate(shares)}
    both = {f"both {i}": rate * x * flexible for i, x in enumerate(shares) if i > 0}
    waits = compatibility_graph(rates={**own, **both}, edges=_edges(len(parts)), exact=False)
    means = {
        name: mean if {**own, **both}[name] else None for name, mean in (waits.means or {}).items()
    }
    return Cut(
        first_levels=tuple(place + 1 for place in ends[1:-1]),
        shares=tuple(shares),
        waits=tuple(means[name] for name in own),
        waits_flexible=(None, *(means[name] for name in both)),
        worst=max(mean for mean in means.values() if mean is not None),
        mean=waits.mean or 0.0,
        gap=sum(share * _gap(part) for share, part in zip(shares, parts, strict=True)),
    )


def _edges(zones: int) -> list[tuple[str, str]]:
    """Return the pairs of classes that play in a common zone."""
    plays = {f"zone {i}": {i} for i in range(zones)}
    plays |= {f"both {i}": {i - 1, i} for i in range(1, zones)}
    pairs = itertools.combinations_with_replacement(plays, 2)
    return [(one, other) for one, other in pairs if plays[one] & plays[other]]


def _gap(players: list[float]) -> float:
    """Return the mean difference of the levels of two players, in O(levels)."""
    total = math.fsum(players)
    below = itertools.accumulate(players)
    return sum(2 * x * (total - x) for x in below) / total**2


def _check(
    shares: tuple[float, ...], rate: float, zones: int, flexible: float, wait_max: float | None
) -> list[float]:
    """Return the shares of all players."""
    if not 2 <= len(shares) <= LEVELS_MAX:
        raise ConfigError(f"shares must be of 2 to {LEVELS_MAX} levels, got {len(shares)}")
    if not all(math.isfinite(x) and x >= 0 for x in shares) or sum(shares) <= 0:
        raise ConfigError("shares must be finite and >= 0, and not all 0")
    players = [x / math.fsum(shares) for x in shares]
    filled = sum(x > 0 for x in players)
    if not 2 <= zones <= filled:
        raise ConfigError(f"zones must be from 2 to the {filled} levels with players, got {zones}")
    if not 0.0 <= flexible <= 1.0:
        raise ConfigError(f"flexible must be a share in [0, 1], got {flexible:g}")
    for name, value in (("rate", rate), ("wait_max", wait_max)):
        if value is not None and not (0.0 < value < math.inf):
            raise ConfigError(f"{name} must be > 0 and finite, got {value:g}")
    ways = math.comb(len(shares) - 1, zones - 1)
    if ways > CUTS_MAX:
        raise ConfigError(
            f"there are {ways:,} ways to cut, and at most {CUTS_MAX:,} are tried: merge levels, or "
            "take fewer zones"
        )
    if ways * _waiting_sets(zones) > WORK_MAX:
        raise ConfigError(
            f"{ways:,} ways to cut into {zones} zones would take minutes: take fewer zones, or "
            "merge levels"
        )
    return players


def _waiting_sets(zones: int) -> int:
    """Return how many sets of classes may wait together.

    A zone more adds its own players, who may wait beside all sets, and the flexible players
    between it and the last one, who may wait beside all sets of the zones before that.

    >>> [_waiting_sets(zones) for zones in (1, 2, 3)]
    [2, 5, 12]
    """
    before, now = 1, 2
    for _ in range(zones - 1):
        before, now = now, 2 * now + before
    return now
