"""The exact wait of every class of party under any rule whose pool stays small.

Parties of several classes arrive in Poisson processes; after each arrival a rule inspects the pool
in its order of arrival and says who leaves together. If the pool has finitely many states, it is a
finite Markov chain, and an arriving party sees its stationary law. From there one party is
followed: its place in the pool and the pool around it are a chain that ends when it leaves. That
gives means and variances, in fractions if the rates are fractions, and the full law of the wait.

Source:
    Wolff, Poisson arrivals see time averages, Operations Research 30 (1982).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Generic, cast

import numpy as np

from evenmatch.errors import ConfigError
from evenmatch.theory.chain import Number, reachable, stationary, until_exit
from evenmatch.theory.rates import rational
from evenmatch.theory.waiting_law import PhaseTypeLaw

Pool = tuple[str, ...]
Rule = Callable[[Pool], Collection[int]]
Place = tuple[Pool, int]
"""A pool after a decision, and the index in it of the party that is followed."""

PLACES_MAX = 5_000
CLASSES_MAX = 100
SIZE_MAX = 1_000


@dataclass(frozen=True)
class ClassWait(Generic[Number]):
    """How long the parties of one class wait, or the players of several.

    Attributes:
        mean: Seconds.
        mean_square: Mean of the squared wait, s^2.
        p_no_wait: Probability that the arrival itself starts the match.
    """

    mean: Number
    mean_square: Number
    p_no_wait: Number

    @property
    def var(self) -> Number:
        """Return the variance in s^2."""
        return self.mean_square - self.mean * self.mean


@dataclass(frozen=True)
class TaggedChain(Generic[Number]):
    """The result of `tagged_chain`.

    Attributes:
        classes: The wait of each class whose rate is not 0.
        players: The wait of a random player: classes weighted by rate and size.
        parties: The wait of a random party: classes weighted by rate.
        pools: The share of time of each pool.
    """

    classes: Mapping[str, ClassWait[Number]]
    players: ClassWait[Number]
    parties: ClassWait[Number]
    pools: Mapping[Pool, Number]
    _starts: Mapping[str, Mapping[Place, Number]]
    _moves: Mapping[Place, Mapping[Place, Number]]
    _exits: Mapping[Place, Number]
    _weights: Mapping[str, Number]

    def law(self, name: str | None = None) -> PhaseTypeLaw:
        """Return the law of the wait of a class, or of a random player.

        Args:
            name: A class; None takes a random player.

        Raises:
            ConfigError: There is no such class, or the chain is too large for a full law.
        """
        if name is not None:
            if name not in self._starts:
                raise ConfigError(f"class {name} is unknown, classes are {', '.join(self._starts)}")
            return self._law({name: 1.0})
        return self._law({each: float(weight) for each, weight in self._weights.items()})

    def _law(self, weights: Mapping[str, float]) -> PhaseTypeLaw:
        moves, exits = self._matrices
        start = np.zeros(len(exits))
        for name, weight in weights.items():
            for place, share in self._starts[name].items():
                start[self._number[place]] += weight * float(share)
        return PhaseTypeLaw(start, moves, exits)

    @cached_property
    def _number(self) -> dict[Place, int]:
        return {place: index for index, place in enumerate(self._moves)}

    @cached_property
    def _matrices(self) -> tuple[np.ndarray, np.ndarray]:
        count = len(self._moves)
        # Checked before the matrix is made, which could be large.
        PhaseTypeLaw(np.zeros(count), np.zeros((0, 0)), np.zeros(0))
        moves, exits = np.zeros((count, count)), np.zeros(count)
        for place, row in self._moves.items():
            exits[self._number[place]] = float(self._exits.get(place, 0.0))
            for to, rate in row.items():
                moves[self._number[place], self._number[to]] = float(rate)
        return moves, exits


def tagged_chain(
    sizes: Mapping[str, int],
    rates: Mapping[str, float | Fraction],
    decide: Rule,
    *,
    exact: bool = False,
    places_max: int = PLACES_MAX,
) -> TaggedChain[Fraction] | TaggedChain[float]:
    """Return the exact wait of each class of party under a rule.

    Args:
        sizes: Players of a party, by class.
        rates: Parties per second, by class; >= 0, one > 0.
        decide: Given the classes of the waiting parties, newest last, returns the indices of
            those who leave together, or nothing; it is called again until it returns nothing. Its
            answer must depend on the pool only.
        exact: Whether to compute in fractions, with a rate of .1 as 1/10; else in floats.
        places_max: Most places, that is the sum of the sizes of all pools that can occur.

    Raises:
        ConfigError: A rate or size is out of range, the rule returns something other than a set of
            indices, or its pool has no limit; then simulate.

    Complexity:
        Like `chain.stationary`, on a state per place; fractions grow with every elimination, and
        are feasible for a few hundred places.

    >>> duel = tagged_chain({"solo": 1}, {"solo": 0.5}, lambda pool: (0, 1)[: len(pool) // 2 * 2])
    >>> duel.players.mean, duel.players.p_no_wait
    (1.0, 0.5)
    """
    _check(sizes, rates)
    if exact:
        return _solve(
            sizes, {name: rational(rate) for name, rate in rates.items()}, decide, places_max
        )
    return _solve(sizes, {name: float(rate) for name, rate in rates.items()}, decide, places_max)


def _solve(
    sizes: Mapping[str, int], rates: Mapping[str, Number], decide: Rule, places_max: int
) -> TaggedChain[Number]:
    rates = {name: rate for name, rate in rates.items() if rate > 0}
    zero = next(iter(rates.values())) * 0
    places = 0

    def pools_after(pool: Pool) -> dict[Pool, Number]:
        nonlocal places
        places += len(pool)
        if places > places_max:
            raise ConfigError(
                f"the rule's pool reaches {len(pool)} parties and more than {places_max:,} places "
                "in all, and may have no limit: the exact wait needs a rule that keeps the pool "
                "small; simulate it"
            )
        after: dict[Pool, Number] = defaultdict(lambda: zero)
        for name, rate in rates.items():
            after[_arrive(pool, name, decide)[0]] += rate
        return dict(after)

    pools = stationary(reachable(cast("Pool", ()), pools_after, states_max=places_max + 1))
    starts, moves, exits = _follow(pools, rates, decide)
    moments = _moments(moves, exits, zero + 1)
    classes = {name: _class_wait(starts[name], moments, zero) for name in rates}
    players = {name: rate * sizes[name] for name, rate in rates.items()}
    return TaggedChain(
        classes=classes,
        players=_mixed(classes, players),
        parties=_mixed(classes, rates),
        pools=pools,
        _starts=starts,
        _moves=moves,
        _exits=exits,
        _weights=_shares(players),
    )


def _arrive(pool: Pool, name: str, decide: Rule, at: int = -1) -> tuple[Pool, int | None]:
    """Return the pool after an arrival and the rule's decisions.

    Args:
        pool: Before the arrival.
        name: The class that arrives.
        decide: The rule.
        at: The index in `pool` of the party that is followed; -1 follows the arrival.

    Returns:
        The pool, and the followed party's index in it; None if it left.
    """
    left = list(range(len(pool) + 1))
    names = (*pool, name)
    followed: int | None = at if at >= 0 else len(pool)
    while chosen := set(decide(tuple(names[each] for each in left))):
        if not chosen <= set(range(len(left))):
            raise ConfigError(
                f"the rule must return indices of the pool, 0 to {len(left) - 1}, got "
                f"{sorted(chosen)}"
            )
        left = [each for index, each in enumerate(left) if index not in chosen]
    after = tuple(names[each] for each in left)
    return after, left.index(followed) if followed in left else None


def _follow(
    pools: Mapping[Pool, Number], rates: Mapping[str, Number], decide: Rule
) -> tuple[dict[str, dict[Place, Number]], dict[Place, dict[Place, Number]], dict[Place, Number]]:
    """Return where a party of each class starts, and the rates between places and out of them."""
    zero = next(iter(rates.values())) * 0
    starts: dict[str, dict[Place, Number]] = {name: defaultdict(lambda: zero) for name in rates}
    for pool, share in pools.items():
        for name, start in starts.items():
            after, index = _arrive(pool, name, decide)
            if index is not None and share > 0:
                start[after, index] += share
    moves: dict[Place, dict[Place, Number]] = {}
    exits: dict[Place, Number] = {}
    waiting = [place for start in starts.values() for place in start]
    while waiting:
        place = waiting.pop()
        if place in moves:
            continue
        row: dict[Place, Number] = defaultdict(lambda: zero)
        for name, rate in rates.items():
            after, index = _arrive(place[0], name, decide, at=place[1])
            if index is None:
                exits[place] = exits.get(place, zero) + rate
            elif (after, index) != place:
                row[after, index] += rate
        moves[place] = row
        waiting.extend(row)
    return starts, moves, exits


def _moments(
    moves: Mapping[Place, Mapping[Place, Number]], exits: Mapping[Place, Number], one: Number
) -> tuple[Mapping[Place, Number], Mapping[Place, Number]]:
    """Return mean and mean square of the time until the followed party leaves, by place."""
    if not moves:
        return {}, {}
    means = until_exit(moves, exits, dict.fromkeys(moves, one))
    return means, until_exit(moves, exits, {place: 2 * mean for place, mean in means.items()})


def _class_wait(
    start: Mapping[Place, Number],
    moments: tuple[Mapping[Place, Number], Mapping[Place, Number]],
    zero: Number,
) -> ClassWait[Number]:
    means, squares = moments
    return ClassWait(
        mean=sum((share * means[place] for place, share in start.items()), start=zero),
        mean_square=sum((share * squares[place] for place, share in start.items()), start=zero),
        p_no_wait=1 - sum(start.values(), start=zero),
    )


def _shares(weights: Mapping[str, Number]) -> dict[str, Number]:
    whole = sum(weights.values(), start=next(iter(weights.values())) * 0)
    return {name: weight / whole for name, weight in weights.items()}


def _mixed(
    classes: Mapping[str, ClassWait[Number]], weights: Mapping[str, Number]
) -> ClassWait[Number]:
    """Return the wait of a class drawn with these weights."""
    zero = next(iter(weights.values())) * 0
    mean, square, at_once = zero, zero, zero
    for name, share in _shares(weights).items():
        mean += share * classes[name].mean
        square += share * classes[name].mean_square
        at_once += share * classes[name].p_no_wait
    return ClassWait(mean, square, at_once)


def _check(sizes: Mapping[str, int], rates: Mapping[str, float | Fraction]) -> None:
    if not 1 <= len(rates) <= CLASSES_MAX:
        raise ConfigError(f"there must be 1 to {CLASSES_MAX} classes, got {len(rates)}")
    if sizes.keys() != rates.keys():
        raise ConfigError(
            f"sizes and rates must name the same classes, got {', '.join(sizes)} and "
            f"{', '.join(rates)}"
        )
    for name, rate in rates.items():
        if not (0 <= rate < math.inf):
            raise ConfigError(f"the rate of {name} must be >= 0 per second and finite, got {rate}")
        if not 1 <= sizes[name] <= SIZE_MAX:
            raise ConfigError(f"the size of {name} must be 1 to {SIZE_MAX:,}, got {sizes[name]}")
    if not any(rate > 0 for rate in rates.values()):
        raise ConfigError("one rate must be > 0 per second, got only zeros")
