"""The cost of each split: the players that the game would save without it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenmatch.lab.advise.market import Market, finite
from evenmatch.lab.advise.player_base import PlayerBase, Split

DROPPED_MAX = 50
"""Most options of a split that are dropped one by one, the smallest first."""
SHARED_MAX = 6
"""Most options of a split that are simulated together."""


@dataclass(frozen=True)
class PlayersNeeded:
    """The players that a game needs so that no pool exceeds a target, and its waits now.

    Args:
        players_online: Players online with which every pool meets the target; inf if none is
            enough.
        saves_players: How many fewer these are than with all splits.
        wait: The percentile's wait in the smallest pool, with the players who are online now.
    """

    players_online: float
    saves_players: float
    wait: float | None

    def as_json(self) -> dict[str, Any]:
        """Return the figures by name."""
        return {
            "players_online": finite(self.players_online),
            "saves_players": finite(self.saves_players),
            "wait": self.wait,
        }


@dataclass(frozen=True)
class SplitEffect:
    """One split, and the game without it.

    Args:
        name: Its name.
        options: The number of its options.
        without: The game with the players of this split pooled.
        dropped: The game without one option, whose players go to the others in proportion; the
            smallest options first, and only one of equal ones.
    """

    name: str
    options: int
    without: PlayersNeeded
    dropped: tuple[tuple[str, PlayersNeeded], ...]

    def as_json(self) -> dict[str, Any]:
        """Return the figures by name."""
        return {
            "name": self.name,
            "options": self.options,
            **self.without.as_json(),
            "dropped": [{"option": option, **need.as_json()} for option, need in self.dropped],
        }


@dataclass(frozen=True)
class Goal:
    """The goal of every pool.

    Args:
        wait: Seconds within which a share of its players should be matched.
        percentile: That share.
        players: Players online now.
        needed: Players online with which every pool reaches the goal.
    """

    wait: float
    percentile: float
    players: float
    needed: float


def split_effects(market: Market, goal: Goal) -> list[SplitEffect]:
    """Return the cost of each split, the costliest first."""
    splits = market.base.splits
    effects = []
    for place, split in enumerate(splits):
        others = (*splits[:place], *splits[place + 1 :])
        without = _need(market.with_splits(others), goal)
        dropped = []
        for option in _droppable(split):
            smaller = (*splits[:place], _without(split, option), *splits[place + 1 :])
            dropped.append((option, _need(market.with_splits(smaller), goal)))
        effects.append(SplitEffect(split.name, len(split.shares), without, tuple(dropped)))
    return sorted(effects, key=lambda effect: -effect.without.saves_players)


def _need(market: Market, goal: Goal) -> PlayersNeeded:
    rate = market.rate_for_all(goal.wait, goal.percentile)
    needed = market.players_at(rate)
    saves = 0.0 if goal.needed == needed else goal.needed - needed
    now = market.rate_of(goal.players)
    wait = (
        None if now is None else market.pool.waits(market.smallest * now).quantile(goal.percentile)
    )
    return PlayersNeeded(needed, saves, wait)


def _droppable(split: Split) -> Sequence[str]:
    """Return options of different sizes, the smallest first; none of a split with one option."""
    if len(split.shares) < 2:
        return []
    # The last of equal options, since "the third mode" is usually the newest.
    by_share = {share: option for option, share in split.shares.items()}
    return [by_share[share] for share in sorted(by_share)][:DROPPED_MAX]


def _without(split: Split, option: str) -> Split:
    kept = {name: share for name, share in split.shares.items() if name != option}
    total = math.fsum(kept.values())
    return Split(split.name, {name: share / total for name, share in kept.items()})


def shared_split(base: PlayerBase, effects: Sequence[SplitEffect]) -> Split | None:
    """Return the split for which a simulation can show who loses by players who take any option.

    It is the costliest one. For duels, theory has the answer; None too if no simulation fits.

    Args:
        base: The players.
        effects: The cost of each split, the costliest first.
    """
    if not (effects and base.is_plain and base.patience is None and base.seats > 2):
        return None
    split = next(each for each in base.splits if each.name == effects[0].name)
    return split if 2 <= len(split.shares) <= SHARED_MAX else None


# Where to cut the levels of players into zones.
#
# Each zone is a pool of its own. If players do not give up, the place of a cut does not change the
# mean wait over all of them: a pool of any size holds as many waiting players on average. It
# changes who waits: the smallest zone waits longest, so the best cut makes it as large as possible.
# (`theory.zone_cuts` is about duels with flexible players, and tries every way to cut.)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ZonePlan:
    """The best cut into a number of zones.

    Args:
        zones: Number of zones.
        first_levels: The lowest level of each zone but the first, counted from 1.
        shares: The share of players in each zone.
        players_online: Players online with which every zone of every pool meets the target.
        wait: The percentile's wait in the smallest one, with the players who are online now.
    """

    zones: int
    first_levels: tuple[int, ...]
    shares: tuple[float, ...]
    players_online: float
    wait: float | None

    def as_json(self) -> dict[str, Any]:
        """Return the figures by name."""
        return {
            "zones": self.zones,
            "first_levels": list(self.first_levels),
            "shares": list(self.shares),
            "players_online": finite(self.players_online),
            "wait": self.wait,
        }


def best_cuts(market: Market, goal: Goal) -> list[ZonePlan]:
    """Return the best cut into 2, 3, ... zones, up to the number in the base."""
    base = market.base
    if not base.levels:
        return []
    return [_cut(market, goal, zones) for zones in range(2, base.zones + 1)]


def _cut(market: Market, goal: Goal, zones: int) -> ZonePlan:
    levels = market.base.levels
    places = even_cut(levels, zones)
    ends = (0, *places, len(levels))
    shares = tuple(math.fsum(levels[a:b]) for a, b in itertools.pairwise(ends))
    split = Split("zone", {str(place + 1): share for place, share in enumerate(shares)})
    cut = market.with_splits((*market.base.splits, split))
    rate = cut.rate_for_all(goal.wait, goal.percentile)
    now = cut.rate_of(goal.players)
    return ZonePlan(
        zones,
        tuple(place + 1 for place in places),
        shares,
        cut.players_at(rate),
        None if now is None else cut.pool.waits(cut.smallest * now).quantile(goal.percentile),
    )


def even_cut(levels: tuple[float, ...], zones: int) -> tuple[int, ...]:
    """Return where to cut a row into zones so that the smallest sum is as large as possible.

    Of equally good cuts, the one with the least sum of squares is taken.

    Args:
        levels: Shares by level.
        zones: How many zones, >= 1 and at most the levels.

    Returns:
        The place of the first level of each zone but the first, from 0.

    Complexity:
        O(zones * levels^2).

    >>> even_cut((0.1, 0.2, 0.3, 0.4), 2)
    (3,)
    """
    sums = np.concatenate([[0.0], np.cumsum(levels)])
    least = np.where(np.arange(len(sums)) == 0, np.inf, -np.inf)
    for _ in range(zones):
        least = np.array(
            [np.minimum(least[: j + 1], sums[j] - sums[: j + 1]).max() for j in range(len(sums))]
        )
    # Sums are rounded; a zone exactly as small as the bound must not be lost.
    return _least_squares(sums, zones, float(least[-1]) - 1e-12)


def _least_squares(sums: Floats, zones: int, least: float) -> tuple[int, ...]:
    costs = np.where(np.arange(len(sums)) == 0, 0.0, np.inf)
    starts = []
    for _ in range(zones):
        after = np.full(len(sums), np.inf)
        start = np.zeros(len(sums), dtype=np.int64)
        for j in range(1, len(sums)):
            widths = sums[j] - sums[:j]
            tried = np.where(widths >= least, costs[:j] + widths**2, np.inf)
            start[j] = tried.argmin()
            after[j] = tried[start[j]]
        starts.append(start)
        costs = after
    places = []
    end = len(sums) - 1
    for start in reversed(starts):
        end = int(start[end])
        places.append(end)
    return tuple(reversed(places[:-1]))
