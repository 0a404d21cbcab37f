"""The exact mean wait under a rule that depends only on how many parties of each size wait.

With three against three, {2, 2, 2} has six players and no match, so pools have no limit; their
tail falls geometrically while the rule is stable. The chain of the counts is truncated where a
class has `limit` waiting parties: further ones are turned away. Their share is reported, and the
error of the means is of the same order. By Little's law, the mean number of waiting parties gives
the mean wait, which does not depend on who of a class leaves first.

Source:
    Little, A proof of the queuing formula L = lambda W, Operations Research 9 (1961).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement
from typing import Literal

from evenmatch.errors import ConfigError
from evenmatch.theory.chain import reachable, stationary

Counts = tuple[int, ...]
Prefer = Literal["largest", "smallest"]

STATES_MAX = 50_000
RESERVE_MAX = 1_000


@dataclass(frozen=True)
class CountsChain:
    """The result of `counts_chain`.

    Attributes:
        mean: Mean wait of a random player, s.
        means: Mean wait of a party, by its size; None for a rate of 0.
        lost: Share of the players who are turned away at the limit; small if the limit is high
            enough for the figures.
    """

    mean: float
    means: dict[int, float | None]
    lost: float


def counts_chain(
    rates: Mapping[int, float], decide: Callable[[Counts], Counts | None], *, limit: int
) -> CountsChain:
    """Return the mean waits under a rule that decides by counts.

    Args:
        rates: Parties per second, by their size.
        decide: Given how many parties of each size wait, in the order of `rates`, returns how
            many of each leave together, or None; it is called again until it returns None.
        limit: Number of waiting parties of one size at which more are turned away.

    Raises:
        ConfigError: A rate is out of range, or there are more than 50,000 states.

    Complexity:
        Like `chain.stationary`, on a state per reachable pool; limits of some hundred take seconds.
    """
    _check(rates, limit)
    sizes = list(rates)

    def step(counts: Counts) -> dict[Counts, float]:
        after: dict[Counts, float] = defaultdict(float)
        for index, size in enumerate(sizes):
            if rates[size] > 0.0 and (to := _arrive(counts, index, decide, limit)) is not None:
                after[to] += rates[size]
        return after

    start = (0,) * len(sizes)
    share = stationary(reachable(start, step, states_max=STATES_MAX))
    players = math.fsum(size * rate for size, rate in rates.items())
    waiting = [math.fsum(p * counts[i] for counts, p in share.items()) for i in range(len(sizes))]
    turned_away = math.fsum(
        p * sizes[i] * rates[sizes[i]]
        for counts, p in share.items()
        if max(counts) == limit
        for i in range(len(sizes))
        if counts[i] == limit and _arrive(counts, i, decide, limit) is None
    )
    return CountsChain(
        mean=math.fsum(size * each for size, each in zip(sizes, waiting, strict=True)) / players,
        means={
            size: each / rates[size] if rates[size] else None
            for size, each in zip(sizes, waiting, strict=True)
        },
        lost=turned_away / players,
    )


def _arrive(
    counts: Counts, index: int, decide: Callable[[Counts], Counts | None], limit: int
) -> Counts | None:
    """Return the counts after an arrival and the rule's decisions; None if it is turned away."""
    now = (*counts[:index], counts[index] + 1, *counts[index + 1 :])
    while (leaving := decide(now)) is not None:
        now = tuple(here - gone for here, gone in zip(now, leaving, strict=True))
    return None if max(now) > limit else now


def team_rule(k: int, prefer: Prefer, *, reserve: int = 0) -> Callable[[Counts], Counts | None]:
    """Return the rule of two teams of k that starts as soon as it can, for parties of 1 .. k.

    Args:
        k: Players per team, 2 to 8.
        prefer: Of the possible matches, take the one with the most of the largest parties, then of
            the second largest, and so on; or of the smallest.
        reserve: Least number of waiting solos before a team is made of solos alone, which keeps
            them for parties that need them; then the rule does not start as soon as it can.
    """
    if not 2 <= k <= 8:
        raise ConfigError(f"k must be from 2 to 8, got {k}")
    if not 0 <= reserve <= RESERVE_MAX:
        raise ConfigError(f"reserve must be from 0 to {RESERVE_MAX:,} solos, got {reserve}")
    alone = (k, *(0,) * (k - 1))
    pairs = list(combinations_with_replacement(_partitions(k, k), 2))
    # The number of solos that must wait for a match: the least over its divisions into teams.
    solos_min: dict[Counts, int] = {}
    for pair in pairs:
        match = tuple(map(sum, zip(*pair, strict=True)))
        asked = reserve if alone in pair else 0
        solos_min[match] = min(asked, solos_min.get(match, asked))
    direction = -1 if prefer == "largest" else 1
    ordered = sorted(solos_min, key=lambda match: match[::direction], reverse=True)
    # Larger counts of a size change nothing, so capping them keeps the cache small.
    enough = max(2 * k, reserve)

    @cache
    def decide(counts: Counts) -> Counts | None:
        fitting = (
            match
            for match in ordered
            if counts[0] >= solos_min[match]
            and all(need <= have for need, have in zip(match, counts, strict=True))
        )
        return next(fitting, None)

    return lambda counts: decide(tuple(min(count, enough) for count in counts))


def _partitions(k: int, largest: int) -> Iterator[Counts]:
    """Yield all combinations of parties of 1 .. `largest` that fill a team of k."""
    if largest == 1:
        yield (k,)
        return
    for count in range(k // largest + 1):
        for rest in _partitions(k - count * largest, largest - 1):
            yield (*rest, count)


def _check(rates: Mapping[int, float], limit: int) -> None:
    for size, rate in rates.items():
        if size < 1 or not (0.0 <= rate < math.inf):
            raise ConfigError(
                f"parties have a size >= 1 and a rate >= 0 per second and finite, got {size} at "
                f"{rate:g}"
            )
    if not any(rates.values()):
        raise ConfigError("one rate must be > 0 per second, got only zeros")
    if limit < 1:
        raise ConfigError(f"limit must be at least 1, got {limit}")
