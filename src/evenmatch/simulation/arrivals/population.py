"""Who the drawn arrivals are: their class, their attributes and their patience."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import islice, repeat
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from evenmatch.errors import ArrivalsError
from evenmatch.model.scenario import (
    ArrivalClass,
    Arrivals,
    Distribution,
    Empirical,
    Exponential,
    Normal,
    Uniform,
)
from evenmatch.model.ticket import NewTicket, Player, Value
from evenmatch.simulation.arrivals.tables import open_table, value_of
from evenmatch.simulation.arrivals.times import drifting_kinds, has_drift
from evenmatch.simulation.seeds import generator

CHUNK = 4096
EMPIRICAL_MAX = 10_000_000
SIDE = "side"
"""The one attribute that is drawn once a ticket: a party is on one side."""

Sampler = Callable[[np.random.Generator, int], list[Value]]


def drawn_names(arrivals: Arrivals, known: Collection[str] = ()) -> tuple[str, ...]:
    """Return the attributes that are drawn, in alphabetical order.

    Args:
        arrivals: What the tickets carry.
        known: Attributes that a file gives, which are not drawn.
    """
    return tuple(
        name for name in sorted(arrivals.attributes) if name.partition(".")[0] not in known
    )


class Population:
    """Draws attributes and patience, each from its own stream of chance.

    Args:
        arrivals: The distributions and classes.
        seeds: The seed of the streams; a stream depends on it and on the attribute's name.
        base_dir: The folder from which relative file names count.
        known: Attributes that a file gives, which are not drawn.
    """

    def __init__(
        self,
        arrivals: Arrivals,
        seeds: np.random.SeedSequence,
        base_dir: Path | None = None,
        known: Collection[str] = (),
    ) -> None:
        self._arrivals, self._seeds, self._base_dir = arrivals, seeds, base_dir
        drawn = drawn_names(arrivals, known)
        self._names = tuple(name for name in drawn if name != SIDE)
        self._keys = tuple((each, *each.split(".", 1)) for each in self._names if "." in each)
        streams = [self._stream(name) for name in self._names]
        self._rows: Iterator[tuple[Value, ...]] = (
            zip(*streams, strict=True) if streams else repeat(())
        )
        self._sides: Iterator[Value] = self._stream(SIDE) if SIDE in drawn else repeat("")

    def tickets(self, times: Iterator[float] | None = None) -> Iterator[NewTicket]:
        """Yield tickets, numbered from 0, of the classes in their proportions.

        Args:
            times: When they arrive, where proportions change over time; then there are as many
                tickets as times, else tickets have no end.
        """
        for number, kind in enumerate(self._kinds(times)):
            yield self._ticket(str(number), kind)

    def attributes(self) -> dict[str, Value]:
        """Return the drawn attributes of the next player; `latency.eu` is one key of a map."""
        drawn: dict[str, Value] = dict(zip(self._names, next(self._rows), strict=True))
        for name, attribute, key in self._keys:
            value = drawn.pop(name)
            entries = drawn.setdefault(attribute, {})
            if not isinstance(value, float):
                raise ArrivalsError(
                    f"attribute {name} must be drawn as a number, got {value!r:.80}"
                )
            assert isinstance(entries, dict)
            entries[key] = value
        return drawn

    def party_attributes(self) -> dict[str, Value]:
        """Return the drawn attributes of the next ticket as a whole: its side, unless flexible."""
        side = next(self._sides)
        return {} if side == "" else {SIDE: side}

    def column(self, name: str, count: int) -> NDArray[np.float64]:
        """Return the first values of a drawn number, as the players of `tickets` have them."""
        return np.array(list(islice(self._stream(name), count)), dtype=np.float64)

    def class_numbers(self, times: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the class of each of the first `tickets`, as its place in the scenario.

        Args:
            times: When they arrive, ascending.
        """
        numbers = islice(self._numbers(iter(times.tolist())), len(times))
        return np.fromiter(numbers, dtype=np.int64, count=len(times))

    def sides(self, count: int) -> list[Value]:
        """Return the drawn sides of the first `tickets`, "" for those who are flexible.

        It takes them away from `tickets`.
        """
        return list(islice(self._sides, count))

    def patience(self) -> Iterator[float | None]:
        """Yield the seconds from arrival until each ticket cancels, or None for never."""
        distribution = self._arrivals.patience
        if distribution is None:
            return repeat(None)
        sampler = _sampler(distribution, self._base_dir)
        return map(_seconds, _values(sampler, generator(self._seeds, "patience")))

    def _stream(self, name: str) -> Iterator[Value]:
        sampler = _sampler(self._arrivals.attributes[name], self._base_dir)
        return _values(sampler, generator(self._seeds, f"attribute {name}"))

    def _kinds(self, times: Iterator[float] | None) -> Iterator[_Kind]:
        classes = self._arrivals.classes or (ArrivalClass(share=1.0),)
        kinds = [_Kind.of(each, self._names) for each in classes]
        return (kinds[number] for number in self._numbers(times))

    def _numbers(self, times: Iterator[float] | None) -> Iterator[int]:
        classes = self._arrivals.classes
        if len(classes) < 2:
            return repeat(0)
        rng = generator(self._seeds, "classes")
        if times is not None and has_drift(classes):
            return drifting_kinds(classes, times, rng)
        parts = [(each.rate if each.share is None else each.share) or 0.0 for each in classes]
        return _indices(rng, tuple(parts), len(classes))

    def _ticket(self, number: str, kind: _Kind) -> NewTicket:
        facts = {**self.party_attributes(), **kind.facts}
        if kind.size == 1:
            ids: tuple[str, ...] = (number,)
        else:
            ids = tuple(f"{number}.{i}" for i in range(kind.size))
        players = tuple(Player(id=each, attributes=self.attributes()) for each in ids)
        if kind.hidden:
            players = tuple(_without(player, kind.hidden) for player in players)
        return NewTicket(players=players, queues=kind.queues, attributes=facts, id=number)


class _Kind(msgspec.Struct, frozen=True):
    """A class made ready, with the names of drawn attributes that its own facts replace."""

    size: int
    queues: tuple[str, ...]
    facts: dict[str, Value]
    hidden: tuple[str, ...]

    @classmethod
    def of(cls, arrival_class: ArrivalClass, drawn: tuple[str, ...]) -> _Kind:
        hidden = tuple(name for name in drawn if name in arrival_class.attributes)
        return cls(arrival_class.size, arrival_class.queues, dict(arrival_class.attributes), hidden)


def _without(player: Player, names: tuple[str, ...]) -> Player:
    kept = {name: value for name, value in player.attributes.items() if name not in names}
    return Player(id=player.id, attributes=kept)


def _values(sampler: Sampler, rng: np.random.Generator) -> Iterator[Value]:
    while True:
        yield from sampler(rng, CHUNK)


def _seconds(value: Value) -> float:
    if not isinstance(value, float) or value < 0.0:
        raise ArrivalsError(f"patience must be a number of seconds >= 0, got {value!r}")
    return value


def _sampler(distribution: Distribution, base_dir: Path | None) -> Sampler:
    """Return the function that draws n values as Python objects."""
    if isinstance(distribution, Uniform):
        low, high = distribution.min, distribution.max
        return lambda rng, n: list(rng.uniform(low, high, n).tolist())
    if isinstance(distribution, Exponential):
        mean = distribution.mean
        return lambda rng, n: list(rng.exponential(mean, n).tolist())
    if isinstance(distribution, Normal):
        return lambda rng, n: _normal(distribution, rng, n)
    probs: tuple[float, ...] = ()
    if isinstance(distribution, Empirical):
        values = _column(distribution, base_dir)
    else:
        values, probs = distribution.values, distribution.probs
    return lambda rng, n: [values[i] for i in _draw_indices(rng, probs, len(values), n)]


def _normal(distribution: Normal, rng: np.random.Generator, n: int) -> list[Value]:
    """Return normal draws; those outside the bounds are drawn again."""
    low = -np.inf if distribution.min is None else distribution.min
    high = np.inf if distribution.max is None else distribution.max
    drawn = rng.normal(distribution.mean, distribution.deviation, n)
    outside = (drawn < low) | (drawn > high)
    while outside.any():
        again = rng.normal(distribution.mean, distribution.deviation, int(outside.sum()))
        drawn[outside] = again
        outside = (drawn < low) | (drawn > high)
    return list(drawn.tolist())


def _indices(rng: np.random.Generator, parts: tuple[float, ...], choices: int) -> Iterator[int]:
    while True:
        yield from _draw_indices(rng, parts, choices, CHUNK)


def _draw_indices(
    rng: np.random.Generator, parts: tuple[float, ...], choices: int, n: int
) -> list[int]:
    """Return n indices below `choices`, in proportion to `parts` or equally likely."""
    if not parts:
        return list(rng.integers(choices, size=n).tolist())
    bounds = np.cumsum(parts)
    drawn = np.searchsorted(bounds, rng.random(n) * bounds[-1], side="right")
    return list(np.minimum(drawn, choices - 1).tolist())


def _column(distribution: Empirical, base_dir: Path | None) -> tuple[Value, ...]:
    """Return all filled cells of a file's column."""
    table = open_table(distribution.file, base_dir)
    index = table.index(distribution.column)
    values: list[Value] = []
    for line, cells in table.rows:
        if not cells[index]:
            continue
        try:
            values.append(value_of(cells[index]))
        except ValueError as error:
            raise table.error(str(error), line, index) from None
        if len(values) > EMPIRICAL_MAX:
            raise table.error(f"must have at most {EMPIRICAL_MAX:,} values", line, index)
    if not values:
        raise table.error(f"has no value in column {distribution.column}")
    return tuple(values)
