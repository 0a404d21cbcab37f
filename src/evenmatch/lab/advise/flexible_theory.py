"""The gain of a player who becomes flexible, and who loses by it.

A player who waits in several pools at once plays in the first of them that fills up. Each pool
treats them like any other player, so the wait of a single such player is the minimum of the waits
of all of them, which are independent for players of one kind: a side or a party is the same in all
of them. If many players do so, the pools are no longer independent: for duels the exact law of a
compatibility graph gives the others' waits, for larger matches only a simulation does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from evenmatch.lab.advise.market import Market
from evenmatch.lab.advise.player_base import ANY, PlayerBase, Split, name_of
from evenmatch.lab.advise.pool_theory import KnownClass
from evenmatch.lab.advise.pools import Floats, PatientPool, PoolModel, ScalingPool, Source, WaitLaw

SHIFT = 0.1
"""The share of a class that becomes flexible when the others' losses are computed."""
OPTIONS_MAX = 12
"""Most options of a split for which the gain is computed, the smallest first."""
GRAPH_MAX = 10
"""Most pools of duels for which losses are computed: any set of them may be waiting."""
PANELS, NODES = 400, 8
PARTS = 20
"""Number of arrays into which the points of an integral are split, so that each fits memory."""
TAIL = 1e-12
MATCHED_MIN = 1e-6
"""Below this probability of a match, a mean wait would be only rounding."""


@dataclass(frozen=True)
class Flexible:
    """One class of players, and what its wait would be if they were flexible.

    Args:
        who: The class, `asia` or `side A`.
        becomes: What it would be, `any region` or `either side`.
        wait: Its mean wait now, seconds.
        wait_if_flexible: The mean wait of a single such player who becomes flexible.
        source: How both are known.
        others: Mean waits now, and if a tenth of the class became flexible, by class; empty if
            only a simulation can tell.
        others_source: How these are known.
        matched: The share of the class who are matched before they give up, if they do; waits are
            those of players who are matched.
        matched_if_flexible: The same for the single flexible player.
    """

    who: str
    becomes: str
    wait: float | None
    wait_if_flexible: float | None
    source: Source
    others: dict[str, tuple[float | None, float | None]]
    others_source: Source = "exact"
    matched: float | None = None
    matched_if_flexible: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the figures by name."""
        others = {
            name: {"now": now, "if_a_tenth_were": then} for name, (now, then) in self.others.items()
        }
        return {**vars(self), "others": others}


def flexible_players(
    market: Market, rate: float | None, classes: Sequence[KnownClass]
) -> list[Flexible]:
    """Return the gain of flexible players, for each split and for the two sides of a duel.

    Args:
        market: The pools.
        rate: Searches per second of the whole game; None where too few are online.
        classes: The kinds of players of a pool; empty where they are not known apart.
    """
    if rate is None:
        return []
    found = [
        each
        for place in range(len(market.base.splits))
        for each in _of_split(market, rate, place, classes)
    ]
    base = market.base
    if base.sides and base.teams == (1, 1) and base.patience is None:
        found.extend(_of_sides(base, market.smallest * rate))
    return found


def _of_split(
    market: Market, rate: float, place: int, classes: Sequence[KnownClass]
) -> list[Flexible]:
    """Return what players gain who wait in all options of a split, in its thinnest pools."""
    split, pool = market.base.splits[place], market.pool
    if len(split.shares) < 2:
        return []
    others = [other for at, other in enumerate(market.base.splits) if at != place]
    rest = math.prod(min(other.shares.values()) for other in others)
    rates = {option: rate * rest * share for option, share in split.shares.items()}
    free = _in_all(pool, np.array(list(rates.values())), classes)
    if free is None:
        return []
    by_rate = {own: option for option, own in sorted(rates.items(), reverse=True)}
    found = []
    for own in sorted(by_rate)[:OPTIONS_MAX]:
        option, now = by_rate[own], pool.waits(own)
        has_patience = market.base.patience is not None
        found.append(
            Flexible(
                who=name_of(split.name, option),
                becomes=f"any {split.name}",
                wait=now.mean,
                wait_if_flexible=free.mean,
                source=pool.of_quantiles,
                others=_others_of_split(market, split, rates, option),
                matched=now.matched if has_patience else None,
                matched_if_flexible=free.matched if has_patience else None,
            )
        )
    return found


class PooledWait(NamedTuple):
    """A player in several pools at once: the mean wait if they are matched, and that chance."""

    mean: float
    matched: float


def _in_all(pool: PoolModel, rates: Floats, classes: Sequence[KnownClass]) -> PooledWait | None:
    """Return the wait of a player in pools of these rates at once; None if it is not known."""
    if isinstance(pool, PatientPool):
        found = None if pool.matched_max < 1.0 else least_with_patience(pool, rates)
        return found if found is not None and found.matched >= MATCHED_MIN else None
    if not isinstance(pool, ScalingPool):
        return None
    if not classes:
        return PooledWait(mean_of_least(pool, rates), 1.0)
    total = math.fsum(each.share for each in classes)
    means = [each.share * mean_of_least(each.law, rates) for each in classes if each.share]
    return PooledWait(math.fsum(means) / total, 1.0)


def mean_of_least(law: WaitLaw, rates: Floats) -> float:
    """Return the mean wait of one player who waits in pools of these rates at once.

    Args:
        law: Of the waits of players of their kind, at a rate of one player per second.
        rates: Players per second of each pool.
    """
    waits, weights = _panels(law.quantile(1.0 - TAIL) / float(rates.max()))
    survival = [np.prod(1.0 - law.cdf(part[:, None] * rates), axis=1) for part in waits]
    return float(np.concatenate(survival) @ weights)


def least_with_patience(pool: PatientPool, rates: Floats) -> PooledWait:
    """Return the same where players give up, and this one does too.

    They are matched where the least of the waits that they would have with patience comes before
    their patience ends. With S the survival of that least wait and P the mean patience, the time in
    the queue is the integral of S exp(-t/P), and by parts the wait in case of a match that of
    S (1 - t/P) exp(-t/P).

    Args:
        pool: Its patience, and players of a match.
        rates: Players per second of each pool.
    """
    laws = [pool.law_of_the_patient(float(rate)) for rate in rates]
    # Nobody stays longer than their patience, and hardly anybody than the fullest pool needs.
    # Its wait is looked for by doubling: that of a thin pool is out of reach.
    fullest = laws[int(rates.argmax())]
    last, end = -math.log(TAIL) * pool.patience, pool.patience * 2.0**-40
    while end < last and float(fullest.cdf(np.array(end))) < 1.0 - TAIL:
        end *= 2.0
    waits, weights = _panels(min(end, last))
    parts = [np.prod([1.0 - law.cdf(part) for law in laws], axis=0) for part in waits]
    spent = np.concatenate(waits) / pool.patience
    staying = np.concatenate(parts) * np.exp(-spent)
    matched = 1.0 - float(staying @ weights) / pool.patience
    return PooledWait(float((staying * (1.0 - spent)) @ weights) / matched, matched)


def _panels(end: float) -> tuple[list[Floats], Floats]:
    """Return where to evaluate an integral from 0 on, in parts, and the weights of all of it."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    # Panels get wider with the wait, as the survival gets smoother.
    edges = end * np.linspace(0.0, 1.0, PANELS + 1) ** 2
    half = 0.5 * np.diff(edges)[:, None]
    waits = edges[:-1, None] + half * (1.0 + nodes)
    return np.array_split(waits.reshape(-1), PARTS), (half * weights).reshape(-1)


def _others_of_split(
    market: Market, split: Split, rates: dict[str, float], option: str
) -> dict[str, tuple[float | None, float | None]]:
    """Return the mean waits of all options of duels, now and if a tenth of one waited in all."""
    from evenmatch.theory.flexibility import with_flexible
    from evenmatch.theory.graph import compatibility_graph

    base, pool = market.base, market.pool
    is_duel = base.seats == 2 and base.is_plain and base.patience is None
    if not is_duel or len(rates) > GRAPH_MAX:
        return {}
    # Waits are inversely proportional to all rates, and shares are in the range of theory.
    loops = [(each, each) for each in rates]
    moved, edges, _ = with_flexible(split.shares, loops, option, list(rates), SHIFT)
    after = compatibility_graph(rates=moved, edges=edges).means or {}
    scale = rates[option] / split.shares[option]
    return {
        name_of(split.name, each): (pool.waits(own).mean, _over(after.get(each), scale))
        for each, own in rates.items()
    }


def _of_sides(base: PlayerBase, rate: float) -> list[Flexible]:
    """Return what players gain who take either side of a duel, at so many players per second."""
    from evenmatch.theory.sides import sides

    a, b = (name for name in base.sides if name != ANY)
    # Waits are inversely proportional to all rates, and shares are in the range of theory.
    shares = {name: base.sides.get(name, 0.0) for name in (a, b, ANY)}
    before = sides(a=shares[a], b=shares[b], flexible=shares[ANY])
    found = []
    for side, wait in ((a, before.mean_a), (b, before.mean_b)):
        moved = {**shares, side: (1.0 - SHIFT) * shares[side]}
        moved[ANY] += SHIFT * shares[side]
        after = sides(a=moved[a], b=moved[b], flexible=moved[ANY])
        others = {
            f"side {a}": (_over(before.mean_a, rate), _over(after.mean_a, rate)),
            f"side {b}": (_over(before.mean_b, rate), _over(after.mean_b, rate)),
            "either side": (_over(before.mean_flexible, rate), _over(after.mean_flexible, rate)),
        }
        found.append(
            Flexible(
                who=f"side {side}",
                becomes="either side",
                wait=_over(wait, rate),
                wait_if_flexible=_over(before.mean_flexible, rate),
                source="exact",
                others=others,
            )
        )
    return found


def _over(mean: float | None, rate: float) -> float | None:
    """Return a mean wait at a rate, by that at one player per second."""
    return None if mean is None else mean / rate
