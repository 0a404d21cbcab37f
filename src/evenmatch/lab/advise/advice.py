"""`evenmatch.advise`: how many players a game needs, or how long those that it has will wait."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from evenmatch.errors import ConfigError
from evenmatch.lab.advise.answer import Advice, ClassFigures
from evenmatch.lab.advise.flexible_theory import flexible_players
from evenmatch.lab.advise.hours import day_of
from evenmatch.lab.advise.market import (
    NOTHING,
    QUANTILES,
    Market,
    WaitFigures,
    cells_of,
    key_of,
    names_of,
    pooled_figures,
)
from evenmatch.lab.advise.player_base import SECONDS_MAX, PlayerBase
from evenmatch.lab.advise.pool_theory import PoolEvidence, PoolStatement, known_of, pool_as_if
from evenmatch.lab.advise.pools import PatientPool, PoolWaits
from evenmatch.lab.advise.splits import Goal, best_cuts, split_effects

if TYPE_CHECKING:
    from evenmatch.lab.advise.pool_scenario import PoolScenario
    from evenmatch.lab.advise.pool_simulation import Mapper, SimulatedPool

PLAYERS_MAX = 1e9


def advise(
    base: PlayerBase,
    *,
    players_online: float | None = None,
    target_wait: float | None = None,
    percentile: float = 0.5,
    seed: int | None = None,
) -> Advice:
    """Say how many players a game needs for a given wait, or how long its players will wait.

    Args:
        base: The game's matches and players.
        players_online: How many players are in a match, between matches or in the queue; with
            `hours`, the daily average.
        target_wait: Seconds within which the share `percentile` of the players in every pool should
            be matched. Give either this or `players_online`; with `hours` you may give both.
        percentile: The share for `target_wait`, above 0 and below 1.
        seed: If given, also simulate the smallest pool with this seed, which takes some seconds.

    Returns:
        The answer. Its `figures()` are what `evenmatch advise --json` prints.

    Raises:
        ConfigError: Something cannot be computed; the sentence says what.

    Source:
        Xu, Yu and Wu, Rule Designs for Optimal Online Game Matchmaking, for the pools; Little's
        law for players online.

    >>> round(advise(PlayerBase(teams=(5, 5)), target_wait=60.0).players_online)
    133
    """
    _check(base, players_online, target_wait, percentile)
    advice = _of_known(base, known_of(base), players_online, target_wait, percentile)
    return advice if seed is None else simulate(advice, seed)


def _of_known(
    base: PlayerBase,
    evidence: PoolEvidence,
    players_online: float | None,
    target_wait: float | None,
    percentile: float,
) -> Advice:
    if evidence.pool is None:
        return Advice(
            base=base,
            percentile=percentile,
            target_wait=target_wait,
            known=evidence,
            players_online=players_online,
            rate=None,
            pooled=NOTHING,
            pooled_players=None,
            pooled_rate=None,
            given=players_online is not None,
        )
    market = Market(base, evidence.pool)
    if players_online is None:
        assert target_wait is not None, "one of both is given"
        rate = market.rate_for_all(target_wait, percentile)
        players = market.players_at(rate)
    else:
        players, rate = players_online, market.rate_of(players_online) or math.nan
    advice = _answer(market, evidence, (players, rate), percentile, target_wait)
    return replace(advice, given=players_online is not None)


def simulate(advice: Advice, seed: int, map_: Mapper | None = None) -> Advice:
    """Return an advice with the smallest pool simulated, and its law if theory has none.

    Args:
        advice: The answer of theory.
        seed: Of all randomness.
        map_: Makes the runs; `study.map_all` makes several at a time, in processes that import
            the calling script. By default one is made after the other.

    Raises:
        MatchmakingError: The pool cannot be simulated.
    """
    from evenmatch.lab.advise.flexible_simulation import shifted
    from evenmatch.lab.advise.pool_simulation import (
        known_by,
        one_by_one,
        simulated_pool,
    )

    if advice.rate is None:
        return advice
    pool, mapper = scenario_of(advice, seed), map_ or one_by_one
    simulated = simulated_pool(pool, advice.percentile, mapper)
    evidence = known_by(simulated, advice.known)
    if evidence is not advice.known:
        players = advice.players_online if advice.given else None
        advice = _of_known(advice.base, evidence, players, advice.target_wait, advice.percentile)
    advice = _seen_instead(simulated, replace(advice, simulated=simulated))
    return replace(advice, flexible=tuple(shifted(advice, pool, simulated, mapper)))


def _seen_instead(simulated: SimulatedPool, advice: Advice) -> Advice:
    """Return an advice with the simulated waits of the smallest pool in place of an estimate.

    With patience they hold only at the simulated rate: the waits of other pools, and the number of
    players for a target, stay estimates.
    """
    pool = advice.known.pool
    if not isinstance(pool, PatientPool) or pool.of_quantiles != "estimate":
        return advice
    figures = WaitFigures(**{name: each.value for name, each in simulated.figures.items()})
    smallest = key_of(min(cell.share for cell in advice.cells))
    cells = tuple(
        replace(cell, figures=figures) if key_of(cell.share) == smallest else cell
        for cell in advice.cells
    )
    is_all = all(cell.figures is figures for cell in cells)
    text = (
        f"{simulated.runs} runs of {simulated.policy}, {simulated.players:,} players in all, at "
        f"{simulated.rate:.4g} players per second; with patience waits do not scale to other rates"
    )
    evidence = advice.known
    if is_all and advice.given:
        others = tuple(each for each in evidence.statements if each.figure == "players online")
        seen = replace(pool, of_quantiles="simulated")
        statements = (PoolStatement("waits", "simulated", text), *others)
        evidence = replace(evidence, pool=seen, statements=statements)
    else:
        statement = PoolStatement("waits of the smallest pool", "simulated", text)
        evidence = replace(evidence, statements=(*evidence.statements, statement))
    return replace(advice, known=evidence, cells=cells, pooled=figures if is_all else advice.pooled)


def scenario_of(advice: Advice, seed: int) -> PoolScenario:
    """Return the smallest pool as a scenario.

    Args:
        advice: The advice; if it has no rate, the rate is that of a game in which nobody waits.
        seed: Of all randomness.
    """
    from evenmatch.lab.advise.pool_scenario import PoolScenario

    market = Market(advice.base, advice.known.pool or pool_as_if(advice.base))
    rate = advice.rate or (advice.players_online or 1_000.0) / advice.base.cycle
    worst = min(names_of(market), key=lambda each: each[1])
    return PoolScenario(advice.base, market.smallest * rate, worst[0], seed)


def _answer(
    market: Market,
    evidence: PoolEvidence,
    online: tuple[float, float],
    percentile: float,
    target_wait: float | None,
) -> Advice:
    """Return the advice for a number of players online and searches per second (nan = none)."""
    players, rate = online
    usable = rate if 0.0 < rate < math.inf else None
    pooled_rate: float | None = usable
    pooled_players: float | None = players
    if target_wait is not None:
        pooled_rate = market.rate_for_most(target_wait, percentile)
        pooled_players = market.players_at(pooled_rate)
    worst = None
    if pooled_rate and math.isfinite(pooled_rate):
        worst = market.pool.waits(market.smallest * pooled_rate).quantile(percentile)
    cells = tuple(cells_of(market, usable, percentile, target_wait))
    goal = _goal(market, players, usable, percentile, target_wait)
    needed = None
    if target_wait is not None:
        needed = market.players_at(market.rate_for_all(target_wait, percentile))
    return Advice(
        base=market.base,
        percentile=percentile,
        target_wait=target_wait,
        known=evidence,
        players_online=players,
        rate=usable,
        pooled=pooled_figures(market, usable, percentile),
        pooled_players=pooled_players,
        pooled_rate=pooled_rate,
        cells=cells,
        classes=_classes(market, evidence, usable, percentile),
        splits=tuple(split_effects(market, goal)) if goal else (),
        flexible=tuple(flexible_players(market, usable, evidence.classes)),
        cuts=tuple(best_cuts(market, goal)) if goal else (),
        day=day_of(market, players, percentile, needed) if math.isfinite(players) else None,
        worst_wait_if_pooled=worst,
    )


def _goal(
    market: Market,
    players: float,
    rate: float | None,
    percentile: float,
    target_wait: float | None,
) -> Goal | None:
    """Return the goal of every pool; without a target, the wait of the worst one."""
    if rate is None:
        return None
    wait = target_wait
    if wait is None:
        wait = market.pool.waits(market.smallest * rate).quantile(percentile)
    if not wait:
        return None
    needed = market.players_at(market.rate_for_all(wait, percentile))
    return Goal(wait, percentile, players, needed)


def _classes(
    market: Market, evidence: PoolEvidence, rate: float | None, percentile: float
) -> tuple[ClassFigures, ...]:
    if rate is None:
        return ()
    found = []
    for each in evidence.classes:
        own = rate * market.smallest
        waits = PoolWaits(each.mean / own, each.mean / own, 1.0, each.law, own)
        quantiles = {name: waits.quantile(part) for name, part in QUANTILES.items()}
        figures = WaitFigures(waits.mean, **quantiles, wait=waits.quantile(percentile), matched=1.0)
        found.append(ClassFigures(each.name, each.share, figures))
    return tuple(found)


def _check(
    base: object, players_online: float | None, target_wait: float | None, percentile: float
) -> None:
    if not isinstance(base, PlayerBase):
        raise ConfigError(f"base must be a PlayerBase, got {type(base).__name__}")
    if not 0.0 < percentile < 1.0:
        raise ConfigError(
            f"percentile must be above 0 and below 1 (0.5 is half of the players), got {percentile}"
        )
    if players_online is None and target_wait is None:
        raise ConfigError(
            "give players online, to learn how long they wait, or a target wait, to learn how "
            "many players it takes"
        )
    if players_online is not None and target_wait is not None and not base.hours:
        raise ConfigError(
            "give players online or a target wait, not both; both together are for hours, where "
            "each hour is compared with the target"
        )
    if players_online is not None and not 0.0 < players_online <= PLAYERS_MAX:
        raise ConfigError(
            f"players online must be above 0 and at most {PLAYERS_MAX:,.0f}, got {players_online:g}"
        )
    if target_wait is not None and not 0.0 < target_wait <= SECONDS_MAX:
        raise ConfigError(
            f"target wait must be above 0 s and at most {SECONDS_MAX:g} s, got {target_wait:g}"
        )
