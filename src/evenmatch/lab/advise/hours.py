"""The hours of a day: which meet the target, and what to do about the others.

Each hour is treated as a steady state, since queues settle within minutes and hours change slowly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from evenmatch.lab.advise.market import Market
from evenmatch.lab.advise.player_base import HOURS

MINUTES = 60.0


@dataclass(frozen=True)
class HourOfDay:
    """One hour of the day.

    Args:
        hour: 0 to 23.
        players_online: Mean number online during it.
        wait: The percentile's wait in the smallest pool; None if too few are online.
        meets: Whether that meets the target; None without a target.
        play_minutes: If it does not: the minutes into which the same players must be concentrated
            so that it does during them.
    """

    hour: int
    players_online: float
    wait: float | None
    meets: bool | None
    play_minutes: float | None


@dataclass(frozen=True)
class Day:
    """The hours together.

    Args:
        hours: From midnight.
        shared_minutes: Minutes for which the players of all hours that miss the target could meet
            it, if they came at the same time; None without a target or without such players.
        needed_mean: Mean number of players online over the day with which every hour meets the
            target; None without a target, and if an hour has no players.
    """

    hours: tuple[HourOfDay, ...]
    shared_minutes: float | None
    needed_mean: float | None

    def as_json(self) -> dict[str, Any]:
        """Return the figures by name."""
        met = [each.hour for each in self.hours if each.meets]
        missed = [each.hour for each in self.hours if each.meets is False]
        return {
            "meet": met,
            "miss": missed,
            "shared_minutes": self.shared_minutes,
            "players_online_needed": self.needed_mean,
            "by_hour": [vars(each) for each in self.hours],
        }


def day_of(market: Market, players: float, percentile: float, needed: float | None) -> Day | None:
    """Return the hours of the day, or None if the base does not have them.

    Args:
        market: The pools.
        players: Players online on average over the day.
        percentile: The share of players that the wait covers.
        needed: Players online with whom every pool meets the target; None without a target.
    """
    weights = market.base.hours
    if not weights:
        return None
    mean = math.fsum(weights) / HOURS
    hours = tuple(
        _hour(market, place, players * weight / mean, percentile, needed)
        for place, weight in enumerate(weights)
    )
    if needed is None or not math.isfinite(needed):
        return Day(hours, None, None)
    minutes = [each.play_minutes for each in hours if each.play_minutes is not None]
    lowest = min(weights)
    return Day(
        hours,
        math.fsum(minutes) if minutes else None,
        needed * mean / lowest if lowest > 0.0 else None,
    )


def _hour(
    market: Market,
    place: int,
    players: float,
    percentile: float,
    needed: float | None,
) -> HourOfDay:
    rate = market.rate_of(players) if players > 0.0 else None
    wait = None if rate is None else market.pool.waits(market.smallest * rate).quantile(percentile)
    if needed is None:
        return HourOfDay(place, players, wait, None, None)
    # The needed number decides, so that it meets its own target to the last digit.
    meets = players >= needed * (1.0 - 1e-9)
    is_hopeless = not math.isfinite(needed) or players == 0.0
    minutes = None if meets or is_hopeless else MINUTES * players / needed
    return HourOfDay(place, players, wait, meets, minutes)
