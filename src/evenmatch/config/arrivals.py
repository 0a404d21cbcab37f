"""From `[arrivals]` and `[attributes]` tables to arrivals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, cast, get_args

from evenmatch.config.decode import RATES, SECONDS, WAITS, Place, suggestion
from evenmatch.config.distributions import (
    build_distribution,
    build_fact,
    build_patience,
    locate_file,
)
from evenmatch.config.shapes import ArrivalsShape, ClassShape, DistributionShape
from evenmatch.config.world import build_world
from evenmatch.criteria.validation.values import Bounds
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import (
    ARRIVALS_MAX,
    ArrivalClass,
    Arrivals,
    Distribution,
    Process,
    TimeUnit,
)
from evenmatch.model.ticket import LATENCY

ATTRIBUTES_MAX = 64
HOURS = 24
# What each process takes beside count, duration, columns, classes and patience, which all take.
KEYS: dict[str, tuple[str, ...]] = {
    "poisson": ("rate",),
    "regular": ("interval",),
    "ramp": ("rate", "to", "by"),
    "hourly": ("rate", "hours"),
    "world": ("world",),
    "file": ("file",),
}
GIVEN_BY_WORLD = ("region", LATENCY)
"""Attributes that belong together, so that none of them can be drawn by itself."""


def build_arrivals(
    shape: ArrivalsShape,
    attributes: Mapping[str, DistributionShape],
    queues: tuple[Queue, ...],
    until: float | None,
    base_dir: Path | None,
) -> Arrivals:
    """Return who arrives when.

    Args:
        shape: The table `[arrivals]`.
        attributes: The tables `[attributes.NAME]`.
        queues: The queues of the same file.
        until: End of the run in seconds; it bounds arrivals without count and duration.
        base_dir: The folder from which relative file names count.

    Raises:
        ConfigError: The arrivals cannot be made as written.
    """
    at = Place("arrivals")
    process = _process(shape, at)
    built = Arrivals(
        process=process,
        rate=shape.rate,
        interval=shape.interval,
        to=shape.to,
        by=cast("Literal['time', 'index']", shape.by or "time"),
        hours=shape.hours or (),
        count=shape.count,
        duration=_duration(shape, process, until),
        file=None if shape.file is None else locate_file(shape.file, base_dir, at.at("file")),
        columns=_columns(shape.columns, at.at("columns")),
        unit=_unit(shape.unit, at.at("unit")),
        skip_bad=shape.skip_bad,
        classes=build_classes(shape, queues, at.at("classes")),
        attributes=_build_attributes(attributes, base_dir),
        patience=(
            None
            if shape.patience is None
            else build_patience(shape.patience, base_dir, at.at("patience"))
        ),
        world=(
            None
            if shape.world is None
            else build_world(shape.world, queues, base_dir, at.at("world"))
        ),
    )
    _check_process(built, at)
    _check_bounds(built, at)
    return built


def _process(shape: ArrivalsShape, at: Place) -> Process:
    """Return the process; without the key, a file or `columns` alone mean `file`."""
    chosen = shape.process
    if chosen is None:
        is_bare = shape.rate is None and not shape.classes
        is_file = shape.file is not None or (shape.columns and is_bare)
        chosen = "file" if is_file else "poisson" if shape.world is None else "world"
    elif chosen == "file" and shape.file is None:
        at.at("file").refuse('is missing; process = "file" needs the name of a file')
    elif chosen == "world" and shape.world is None:
        at.at("world").refuse('is missing; process = "world" needs a table [arrivals.world]')
    at.at("process").one_of(chosen, get_args(Process))
    for key in dict.fromkeys(key for keys in KEYS.values() for key in keys):
        if getattr(shape, key) is not None and key not in KEYS[chosen]:
            takes = ", ".join(KEYS[chosen])
            at.at(key).refuse(f'does not go with process = "{chosen}", which takes {takes}')
    if shape.by is not None:
        at.at("by").one_of(shape.by, ("time", "index"))
    return cast("Process", chosen)


def _duration(shape: ArrivalsShape, process: Process, until: float | None) -> float | None:
    if shape.duration is None and shape.count is None and process != "file":
        return until
    return shape.duration


def _check_process(built: Arrivals, at: Place) -> None:
    """Refuse rates that are missing, negative or zero."""
    is_rated = any(each.rate is not None for each in built.classes)
    if built.process in ("poisson", "ramp") and built.rate is None and not is_rated:
        at.at("rate").refuse("is missing; it is the tickets per second")
    if built.process == "poisson" and built.rate is not None:
        at.at("rate").within(built.rate, RATES)
    if built.process == "regular":
        if built.interval is None:
            at.at("interval").refuse("is missing; it is the seconds between arrivals")
        at.at("interval").within(built.interval, SECONDS)
    if built.process == "ramp":
        _check_ramp(built, at)
    if built.process == "hourly":
        _check_hours(built, at)
    if built.process == "world":
        _check_world(built, at)


def _check_world(built: Arrivals, at: Place) -> None:
    if built.classes:
        at.at("classes").refuse("do not go with a world, which has parties of its own")
    for name in built.attributes:
        if name.partition(".")[0] in GIVEN_BY_WORLD:
            Place("attributes").at(name).refuse("is given by [arrivals.world], so leave it out")


def _check_ramp(built: Arrivals, at: Place) -> None:
    if built.to is None:
        at.at("to").refuse("is missing; it is the tickets per second at the end of the ramp")
    at.at("rate").within(built.rate or 0.0, RAMP_RATES)
    at.at("to").within(built.to, RAMP_RATES)
    if (built.rate or 0.0) + built.to < RATES.low:
        at.at("to").refuse("and rate are both 0, so nobody would arrive")
    if built.by == "index" and built.count is None:
        at.at("count").refuse('is missing; by = "index" needs the number of tickets')
    if built.by == "time" and not built.to and built.duration is None:
        at.at("duration").refuse(
            "is missing; a ramp that falls to 0 ends at an instant, not at a count"
        )


def _check_hours(built: Arrivals, at: Place) -> None:
    here = at.at("hours")
    if len(built.hours) != HOURS:
        here.refuse(f"must have {HOURS} numbers, one for each hour, got {len(built.hours)}")
    for index, rate in enumerate(built.hours):
        here.at(index).within(rate, RAMP_RATES)
    if sum(built.hours) < RATES.low:
        here.refuse("must not all be 0")
    if built.rate is not None:
        at.at("rate").within(built.rate, RATES)


def _check_bounds(built: Arrivals, at: Place) -> None:
    """Refuse arrivals that have no end, or too many of them."""
    if built.count is not None:
        at.at("count").between(built.count, 1, ARRIVALS_MAX)
    if built.duration is not None:
        at.at("duration").within(built.duration, SECONDS)
    if built.process == "file" or built.count is not None:
        return
    if built.duration is None:
        at.at("count").refuse("is missing; give count, duration or until, so that arrivals end")
    expected = _mean_rate(built) * built.duration
    if expected > ARRIVALS_MAX:
        at.at("duration").refuse(
            f"gives about {expected:,.0f} tickets; at most {ARRIVALS_MAX:,} can arrive"
        )


def _mean_rate(built: Arrivals) -> float:
    if built.process == "regular":
        return 1.0 / (built.interval or math.inf)
    if built.process == "ramp":
        return ((built.rate or 0.0) + (built.to or 0.0)) / 2.0
    if built.process == "hourly" and not built.total_rate:
        return sum(built.hours) / HOURS
    if built.process == "poisson" and built.classes and built.rate is None and built.duration:
        return mean_total(built.classes, built.duration)
    return built.total_rate


def _columns(columns: dict[str, str], at: Place) -> dict[str, str]:
    for ours, theirs in columns.items():
        if not ours or not theirs:
            at.refuse_value("names, ours = theirs, none of them empty", f"{ours} = {theirs}")
    return columns


def _unit(unit: str | None, at: Place) -> TimeUnit | None:
    if unit is not None:
        at.one_of(unit, get_args(TimeUnit))
    return cast("TimeUnit | None", unit)


def _build_attributes(
    shapes: Mapping[str, DistributionShape], base_dir: Path | None
) -> dict[str, Distribution]:
    at = Place("attributes")
    if len(shapes) > ATTRIBUTES_MAX:
        at.refuse(f"must have at most {ATTRIBUTES_MAX} entries, got {len(shapes)}")
    for name in shapes:
        if name in RESERVED:
            at.at(name).refuse(f"cannot be drawn; reserved names are {', '.join(RESERVED)}")
        if not name or len(name) > 100:
            at.refuse_value("named with 1 to 100 characters", name)
        attribute, dot, key = name.partition(".")
        if dot and (not attribute or not key):
            at.at(name).refuse("must have a name before the dot and a key behind it")
        if dot and (attribute in shapes or attribute in RESERVED):
            at.at(name).refuse(f"is a key of {attribute}, which is another attribute")
    return {
        name: build_distribution(shape, base_dir, at.at(name)) for name, shape in shapes.items()
    }


# From `[[arrivals.classes]]` tables to classes.

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
