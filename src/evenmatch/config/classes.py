"""From `[[arrivals.classes]]` tables to classes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evenmatch.config.decode import RATES, WAITS, Place, suggestion
from evenmatch.config.distributions import build_fact
from evenmatch.config.shapes import ArrivalsShape, ClassShape
from evenmatch.criteria.validation.values import Bounds
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import ArrivalClass

CLASSES_MAX = 100
DRIFT_MAX = 1_000
SHARES_SLACK = 1e-6
RAMP_RATES = Bounds(0.0, RATES.high, unit=RATES.unit)
SHARES = Bounds(1e-9, 1.0)
DRIFT_SHARES = Bounds(0.0, 1.0)
RATED = ("poisson", "hourly")
"""Processes whose rate may be given class by class."""

RESERVED = ("ticket", "at", "size", "player", "queues", "roles", "leaves_at")
"""Columns of arrivals that are not attributes, so that no such attribute can be drawn."""


def build_classes(
    shape: ArrivalsShape, queues: tuple[Queue, ...], at: Place
) -> tuple[ArrivalClass, ...]:
    """Return the classes of the arrivals.

    Args:
        shape: The table `[arrivals]`.
        queues: The queues of the same file.
        at: The place of the classes.

    Raises:
        ConfigError: A class cannot come as written.
    """
    classes = shape.classes
    if classes and (shape.process == "file" or shape.file is not None):
        at.refuse("do not go with a file, whose rows say it all")
    if len(classes) > CLASSES_MAX:
        at.refuse(f"must be given at most {CLASSES_MAX} times, got {len(classes)}")
    _check_amounts(shape, at)
    return tuple(_build_class(each, queues, at.at(i)) for i, each in enumerate(classes))


def _check_amounts(shape: ArrivalsShape, at: Place) -> None:
    """Refuse classes that mix rates with shares, or whose shares do not sum to 1."""
    classes = shape.classes
    for index, each in enumerate(classes):
        if (each.rate is None) == (each.share is None):
            at.at(index).refuse("must have either a rate or a share")
        if each.rate is not None:
            at.at(index).at("rate").within(each.rate, RAMP_RATES if each.drift else RATES)
        elif each.share is not None:
            allowed = DRIFT_SHARES if each.drift else SHARES
            at.at(index).at("share").within(each.share, allowed)
        _check_drift(each, at.at(index).at("drift"))
    shares = [each.share for each in classes if each.share is not None]
    if not shares and classes:
        if (shape.process or "poisson") not in RATED:
            at.refuse(f'must have shares, not rates, with process = "{shape.process}"')
        if shape.rate is not None:
            at.refuse("have rates of their own, so leave arrivals.rate out or give shares")
        _check_total(shape, at)
    elif len(shares) != len(classes):
        at.refuse("must either all have a rate or all have a share")
    elif shares:
        for instant in _knots(classes):
            total = math.fsum(_built(each).amount(instant) for each in classes)
            if abs(total - 1.0) > SHARES_SLACK:
                when = f" at {instant:g} s" if instant else ""
                at.refuse(f"have shares that sum to {total:g}{when}; they must sum to 1")


def _check_drift(given: ClassShape, at: Place) -> None:
    """Refuse instants that do not ascend from 0, and rates or shares out of range."""
    if len(given.drift) > DRIFT_MAX:
        at.refuse(f"must have at most {DRIFT_MAX:,} pairs, got {len(given.drift):,}")
    before = 0.0
    for index, (instant, amount) in enumerate(given.drift):
        at.at(index).within(instant, WAITS)
        if not instant > before:
            at.at(index).refuse_value(f"at an instant later than {before:g} s", instant)
        at.at(index).within(amount, RAMP_RATES if given.share is None else DRIFT_SHARES)
        before = instant


def _check_total(shape: ArrivalsShape, at: Place) -> None:
    """Refuse rates that change where they cannot, or by which nobody ever comes."""
    classes = shape.classes
    if shape.process == "hourly" and any(each.drift for each in classes):
        at.refuse('must have shares, not rates, to drift with process = "hourly"')
    total = sum(_built(each).amount(instant) for each in classes for instant in _knots(classes))
    if total < RATES.low:
        at.refuse("have rates that are all 0, so nobody would arrive")


def mean_total(classes: Sequence[ArrivalClass], duration: float) -> float:
    """Return the mean over a time of the rates of all classes, which move along straight lines.

    >>> mean_total([ArrivalClass(rate=1.0, drift=((10.0, 3.0),))], 20.0)
    2.5
    """
    times = [at for at in _knots(classes) if at < duration] + [duration]
    rates = [sum(each.amount(at) for each in classes) for at in times]
    areas = [
        (one + two) / 2.0 * (end - start)
        for one, two, start, end in zip(rates, rates[1:], times, times[1:], strict=False)
    ]
    return math.fsum(areas) / duration


def _knots(classes: Sequence[ClassShape] | Sequence[ArrivalClass]) -> list[float]:
    """Return 0 and all instants at which a class turns, ascending."""
    return sorted({0.0, *(at for each in classes for at, _ in each.drift)})


def _built(shape: ClassShape) -> ArrivalClass:
    """Return how much of a class comes when, without anything else of it."""
    return ArrivalClass(rate=shape.rate, share=shape.share, drift=shape.drift)


def _build_class(shape: ClassShape, queues: tuple[Queue, ...], at: Place) -> ArrivalClass:
    known = {queue.name: queue for queue in queues}
    for index, name in enumerate(shape.queues):
        here = at.at("queues").at(index)
        if name not in known:
            hint = suggestion(name, known) or ";"
            here.refuse(f'= "{name}" is not a queue{hint} queues are {", ".join(known)}')
        if name in shape.queues[:index]:
            here.refuse(f'repeats "{name}"')
    entered = [known[name] for name in shape.queues] or [queues[0]]
    if len({queue.group for queue in entered}) > 1:
        at.at("queues").refuse("are of different groups; only queues of one group share players")
    for queue in entered:
        _check_class_fits(shape, queue, at)
    return ArrivalClass(
        rate=shape.rate,
        share=shape.share,
        drift=shape.drift,
        size=shape.size,
        queues=shape.queues,
        attributes={
            name: build_fact(value, at.at("attributes").at(name))
            for name, value in shape.attributes.items()
        },
    )


def _check_class_fits(shape: ClassShape, queue: Queue, at: Place) -> None:
    if not queue.format.admits(shape.size):
        allowed = queue.format.party_sizes or tuple(range(1, max(queue.format.players) + 1))
        sizes = ", ".join(map(str, allowed[:10])) + (", ..." if len(allowed) > 10 else "")
        at.at("size").refuse_value(f'a size that queue "{queue.name}" admits: {sizes}', shape.size)
    for name in shape.attributes:
        if not name or name in RESERVED:
            elsewhere = "; roles come from a recording with a column roles" * (name == "roles")
            at.at("attributes").refuse(
                f'cannot hold "{name}"; reserved are {", ".join(RESERVED)}{elsewhere}'
            )
    side = shape.attributes.get("side", "")
    if side != "" and queue.format.sides and side not in queue.format.sides:
        sides = ", ".join(queue.format.sides)
        at.at("attributes").at("side").refuse_value(f"one of {sides}, or empty", side)
