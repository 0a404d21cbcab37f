"""What each split costs: the players whom the game would need without it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evenmatch.lab.advise.base import PlayerBase, Split
from evenmatch.lab.advise.cells import finite
from evenmatch.lab.advise.market import Market

DROPPED_MAX = 50
"""Options of a split that are dropped one by one, the smallest first."""
SHARED_MAX = 6
"""Options of a split that are simulated together."""


@dataclass(frozen=True)
class Need:
    """What a game needs so that no pool waits longer than a target, and what it has otherwise.

    Args:
        players_online: Players online so that every pool meets the target; inf if none is enough.
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
        name: What it is called.
        options: How many it has.
        without: The game where its players are together.
        dropped: The game without one option, whose players go to the others in proportion; the
            smallest options first, and of equal ones only one.
    """

    name: str
    options: int
    without: Need
    dropped: tuple[tuple[str, Need], ...]

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
    """What is asked of every pool.

    Args:
        wait: Seconds within which a share of its players is matched.
        percentile: That share.
        players: Players online now.
        needed: Players online with whom every pool reaches it.
    """

    wait: float
    percentile: float
    players: float
    needed: float


def split_effects(market: Market, goal: Goal) -> list[SplitEffect]:
    """Return what each split costs, the costliest first."""
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


def _need(market: Market, goal: Goal) -> Need:
    rate = market.rate_for_all(goal.wait, goal.percentile)
    needed = market.players_at(rate)
    saves = 0.0 if goal.needed == needed else goal.needed - needed
    now = market.rate_of(goal.players)
    wait = (
        None if now is None else market.pool.waits(market.smallest * now).quantile(goal.percentile)
    )
    return Need(needed, saves, wait)


def _droppable(split: Split) -> Sequence[str]:
    """Return options of different sizes, the smallest first; none of a split with one option."""
    if len(split.shares) < 2:
        return []
    # The last of equal options: who says "the third mode" means the newest.
    by_share = {share: option for option, share in split.shares.items()}
    return [by_share[share] for share in sorted(by_share)][:DROPPED_MAX]


def _without(split: Split, option: str) -> Split:
    kept = {name: share for name, share in split.shares.items() if name != option}
    total = math.fsum(kept.values())
    return Split(split.name, {name: share / total for name, share in kept.items()})


def shared_split(base: PlayerBase, effects: Sequence[SplitEffect]) -> Split | None:
    """Return the split of which a simulation can show who loses by players who take any option.

    It is the costliest one. Of duels theory knows that; None too where a simulation would not do.

    Args:
        base: Who plays.
        effects: What each split costs, the costliest first.
    """
    if not (effects and base.is_plain and base.patience is None and base.seats > 2):
        return None
    split = next(each for each in base.splits if each.name == effects[0].name)
    return split if 2 <= len(split.shares) <= SHARED_MAX else None
