"""The answer of `evenmatch.advise`: its figures, and simple conclusions from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evenmatch.lab.advise.flexible_theory import Flexible
from evenmatch.lab.advise.hours import Day
from evenmatch.lab.advise.market import SplitPool, WaitFigures, finite
from evenmatch.lab.advise.player_base import PlayerBase
from evenmatch.lab.advise.pool_simulation import SimulatedPool
from evenmatch.lab.advise.pool_theory import PoolEvidence
from evenmatch.lab.advise.splits import SplitEffect, ZonePlan


@dataclass(frozen=True)
class ClassFigures:
    """Players of one kind in the smallest pool: their share of all, and their waits in seconds."""

    name: str
    share: float
    figures: WaitFigures


@dataclass(frozen=True)
class Advice:
    """The answer to one question; None means infinite, unknown or not requested.

    Args:
        base: The player base.
        percentile: The share of players that `wait` covers.
        target_wait: The wait that they should not exceed, seconds.
        known: The theory of a pool.
        players_online: Given, or the number with which every pool meets the target.
        rate: Searches per second of the whole game with that many online.
        pooled: Waits of a random player of any pool.
        pooled_players: Players online with which the percentile over all players, of whatever
            pool, meets the target.
        pooled_rate: Searches per second of that many.
        cells: All pools.
        classes: Waits by kind of player, in the smallest pool.
        splits: The cost of each split.
        flexible: The gain of flexible players, and who loses.
        cuts: The best zones of levels.
        day: The hours.
        given: Whether `players_online` was given rather than computed.
        worst_wait_if_pooled: The percentile's wait in the smallest pool with `pooled_players`.
        simulated: The results of a simulation of the smallest pool.
    """

    base: PlayerBase
    percentile: float
    target_wait: float | None
    known: PoolEvidence
    players_online: float | None
    rate: float | None
    pooled: WaitFigures
    pooled_players: float | None
    pooled_rate: float | None
    cells: tuple[SplitPool, ...] = ()
    classes: tuple[ClassFigures, ...] = ()
    splits: tuple[SplitEffect, ...] = ()
    flexible: tuple[Flexible, ...] = ()
    cuts: tuple[ZonePlan, ...] = ()
    day: Day | None = None
    given: bool = False
    worst_wait_if_pooled: float | None = None
    simulated: SimulatedPool | None = None

    @property
    def worst(self) -> SplitPool | None:
        """Return the pool whose players wait longest: the smallest one."""
        return min(self.cells, key=lambda cell: cell.share, default=None)

    @property
    def players_half_width(self) -> float | None:
        """Return the half-width of `players_online` if it comes from a simulation.

        A relative error of the wait makes the same relative error of the required rate.
        """
        simulated = self.simulated
        is_found = self.known.pool is not None and self.known.pool.of_quantiles == "simulated"
        if simulated is None or not is_found or self.given or self.rate is None:
            return None
        wait = simulated.figures["wait"]
        if not wait.value or wait.half_width is None:
            return None
        return self.rate * self.base.cycle * wait.half_width / wait.value

    @property
    def kind(self) -> str | None:
        """Return `transient` if some can never be placed, `null recurrent` on the boundary.

        None if waits stay finite, and if theory cannot tell.
        """
        if self.known.stable is not False or self.known.growth is None:
            return None
        return "transient" if self.known.growth > 0.0 else "null recurrent"

    @property
    def growth(self) -> float | None:
        """Return the players per second who can never be placed; None if all can be.

        It is computed for the given players online, as if nobody waited yet: as waiting players
        accumulate, fewer are left to search and play.
        """
        if self.known.growth is None or self.players_online is None:
            return None
        return self.known.growth * self.players_online / self.base.cycle

    def figures(self) -> dict[str, Any]:
        """Return the output of `evenmatch advise --json`."""
        base, worst = self.base, self.worst
        return {
            "match": {
                "teams": list(base.teams),
                "players": base.seats,
                "length": base.match_length,
                "idle": base.idle,
                "patience": base.patience,
            },
            "percentile": self.percentile,
            "target_wait": self.target_wait,
            "players_online": finite(self.players_online),
            "players_online_half_width": self.players_half_width,
            "rate": finite(self.rate),
            "stable": self.known.stable,
            "pooled": {
                "players_online": finite(self.pooled_players),
                "rate": finite(self.pooled_rate),
                "worst_wait": self.worst_wait_if_pooled,
                "waits": vars(self.pooled),
            },
            "worst": None if worst is None else worst.as_json(),
            "cells": [cell.as_json() for cell in self.cells],
            "classes": [
                {"class": each.name, "share": each.share, "waits": vars(each.figures)}
                for each in self.classes
            ],
            "margins": [vars(each) for each in self.known.margins],
            "splits": [each.as_json() for each in self.splits],
            "flexible": [each.as_json() for each in self.flexible],
            "cuts": [each.as_json() for each in self.cuts],
            "hours": None if self.day is None else self.day.as_json(),
            "theory": [vars(each) for each in self.known.statements],
            "kind": self.kind,
            "growth": self.growth,
            "growth_share": self.known.growth,
            "simulated": None if self.simulated is None else self.simulated.as_json(),
        }
