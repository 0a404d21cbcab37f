"""From `[arrivals]` and `[attributes]` tables to arrivals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from evenmatch.config.tables import ArrivalsTable
from evenmatch.config.world import build_world
from evenmatch.model.checks import Place, suggestion
from evenmatch.model.fields import SHARES_SLACK, Share, TicketRate, TicketRateOrNone, Wait
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import (
    ARRIVALS_MAX,
    ArrivalClass,
    Arrivals,
    Choice,
    Distribution,
    Normal,
    Process,
    Uniform,
)
from evenmatch.model.ticket import LATENCY

ATTRIBUTES_MAX = 64
HOURS = 24
# The keys of each process, beyond count, duration, columns, classes and patience of all processes.
KEYS: dict[str, tuple[str, ...]] = {
    "poisson": ("rate",),
    "regular": ("interval",),
    "ramp": ("rate", "to", "by"),
    "hourly": ("rate", "hours"),
    "world": ("world",),
    "file": ("file",),
}
GIVEN_BY_WORLD = ("region", LATENCY)
"""Attributes that a world draws together, so that neither can be drawn by itself."""


def build_arrivals(
    table: ArrivalsTable,
    attributes: Mapping[str, Distribution],
    queues: tuple[Queue, ...],
    until: float | None,
) -> Arrivals:
    """Return the arrivals of a scenario.

    Args:
        table: The table `[arrivals]`.
        attributes: The tables `[attributes.NAME]`.
        queues: The queues of the same file.
        until: End of the run in seconds; it bounds arrivals without count and duration.

    Raises:
        ConfigError: The arrivals are impossible as written.
    """
    at = Place("arrivals")
    process = _process(table, at)
    given: dict[str, Any] = {
        key: value
        for key in Arrivals.__struct_fields__
        if (value := getattr(table, key, None)) is not None
    }
    given |= {
        "process": process,
        "classes": build_classes(table, queues, at.at("classes")),
        "attributes": _attributes(attributes),
        "patience": _patience(table.patience, at.at("patience")),
    }
    if table.world is not None:
        given["world"] = build_world(table.world, queues, at.at("world"))
    if table.duration is None and table.count is None and process != "file":
        given["duration"] = until
    built = Arrivals(**given)
    for ours, theirs in built.columns.items():
        if not ours or not theirs:
            columns = at.at("columns")
            columns.refuse_value("names, ours = theirs, none of them empty", f"{ours} = {theirs}")
    _check_process(built, at)
    _check_bounds(built, at)
    return built


def _process(table: ArrivalsTable, at: Place) -> Process:
    """Return the process; without the key, a file or `columns` alone mean `file`."""
    chosen = table.process
    if chosen is None:
        is_bare = table.rate is None and not table.classes
        is_file = table.file is not None or (table.columns and is_bare)
        chosen = "file" if is_file else "poisson" if table.world is None else "world"
    elif chosen == "file" and table.file is None:
        at.at("file").refuse('is missing; process = "file" needs the name of a file')
    elif chosen == "world" and table.world is None:
        at.at("world").refuse('is missing; process = "world" needs a table [arrivals.world]')
    for key in dict.fromkeys(key for keys in KEYS.values() for key in keys):
        if getattr(table, key) is not None and key not in KEYS[chosen]:
            takes = ", ".join(KEYS[chosen])
            at.at(key).refuse(f'does not go with process = "{chosen}", which takes {takes}')
    return chosen


def _patience(given: Distribution | float | None, at: Place) -> Distribution | None:
    """Return how long tickets wait before they cancel, in seconds; a number means a constant."""
    if isinstance(given, float):
        return Choice((given,))
    if isinstance(given, Normal) and (given.min is None or given.min < 0.0):
        at.at("min").refuse("must be >= 0 s, because nobody leaves before arriving")
    if isinstance(given, Uniform):
        at.at("min").within(given.min, Wait)
    if isinstance(given, Choice):
        for index, value in enumerate(given.values):
            if not isinstance(value, float):
                at.at("values").at(index).refuse_value("a number of seconds", value)
            at.at("values").at(index).within(value, Wait)
    return given


def _check_process(built: Arrivals, at: Place) -> None:
    """Refuse rates that are missing, negative or zero."""
    is_rated = any(each.rate is not None for each in built.classes)
    if built.process in ("poisson", "ramp") and built.rate is None and not is_rated:
        at.at("rate").refuse("is missing; give the tickets per second")
    if built.process == "poisson" and built.rate is not None:
        at.at("rate").within(built.rate, TicketRate)
    if built.process == "regular" and built.interval is None:
        at.at("interval").refuse("is missing; give the seconds between arrivals")
    if built.process == "ramp":
        _check_ramp(built, at)
    if is_rated and built.count and built.duration is None and is_ended(built.classes):
        at.at("duration").refuse(
            "is missing; rates that all fall to 0 end arrivals at an instant, not at a count"
        )
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
        at.at("to").refuse("is missing; give the tickets per second at the end of the ramp")
    if (built.rate or 0.0) + built.to < RATE_MIN:
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
    if sum(built.hours) < RATE_MIN:
        here.refuse("must not all be 0")
    if built.rate is not None:
        at.at("rate").within(built.rate, TicketRate)


def _check_bounds(built: Arrivals, at: Place) -> None:
    """Refuse arrivals without an end, or too many of them."""
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


def _attributes(given: Mapping[str, Distribution]) -> dict[str, Distribution]:
    """Return the distributions of attributes, checked; sets of texts are sorted."""
    at = Place("attributes")
    if len(given) > ATTRIBUTES_MAX:
        at.refuse(f"must have at most {ATTRIBUTES_MAX} entries, got {len(given)}")
    for name in given:
        if name in RESERVED:
            at.at(name).refuse(f"cannot be drawn; reserved names are {', '.join(RESERVED)}")
        if not name or len(name) > 100:
            at.refuse_value("named with 1 to 100 characters", name)
        attribute, dot, key = name.partition(".")
        if dot and (not attribute or not key):
            at.at(name).refuse("must have a name before the dot and a key behind it")
        if dot and (attribute in given or attribute in RESERVED):
            at.at(name).refuse(f"is a key of {attribute}, which is another attribute")
    return {
        name: msgspec.structs.replace(each, values=tuple(map(_kept, each.values)))
        if isinstance(each, Choice)
        else each
        for name, each in given.items()
    }


def _kept(value: Any) -> Any:
    """Return an attribute's value; a list of texts is a set, which is stored sorted."""
    return tuple(sorted(set(value))) if isinstance(value, tuple) else value


# From `[[arrivals.classes]]` tables to classes.

RATE_MIN = 1e-9
"""The least rate or share, unless it drifts."""
SOME = Annotated[float, Meta(ge=RATE_MIN, le=1.0)]
RATED = ("poisson", "hourly")
"""Processes whose rate may be given by class."""

RESERVED = ("ticket", "at", "size", "player", "queues", "roles", "leaves_at")
"""Columns of arrivals that are not attributes, so that no attribute may have these names."""


def build_classes(
    table: ArrivalsTable, queues: tuple[Queue, ...], at: Place
) -> tuple[ArrivalClass, ...]:
    """Return the classes of the arrivals.

    Args:
        table: The table `[arrivals]`.
        queues: The queues of the same file.
        at: The place of the classes.

    Raises:
        ConfigError: A class is impossible as written.
    """
    classes = table.classes
    if classes and (table.process == "file" or table.file is not None):
        at.refuse("do not go with a file, whose rows say all this")
    _check_amounts(table, at)
    return tuple(_build_class(each, queues, at.at(i)) for i, each in enumerate(classes))


def _check_amounts(table: ArrivalsTable, at: Place) -> None:
    """Refuse classes that mix rates with shares, and amounts that do not fit together."""
    classes = table.classes
    for index, each in enumerate(classes):
        if (each.rate is None) == (each.share is None):
            at.at(index).refuse("must have either a rate or a share")
        if each.rate is not None:
            rates = TicketRateOrNone if each.drift else TicketRate
            at.at(index).at("rate").within(each.rate, rates)
        elif each.share is not None:
            at.at(index).at("share").within(each.share, Share if each.drift else SOME)
        _check_drift(each, at.at(index).at("drift"))
    shares = [each.share for each in classes if each.share is not None]
    if not shares and classes:
        if (table.process or "poisson") not in RATED:
            at.refuse(f'must have shares, not rates, with process = "{table.process}"')
        if table.rate is not None:
            at.refuse("have rates of their own, so leave arrivals.rate out or give shares")
        _check_total(table, at)
    elif len(shares) != len(classes):
        at.refuse("must either all have a rate or all have a share")
    elif shares:
        _check_shares(classes, at)


def _check_shares(classes: Sequence[ArrivalClass], at: Place) -> None:
    """Refuse shares that do not always sum to 1."""
    for instant in _knots(classes):
        total = math.fsum(_built(each).amount(instant) for each in classes)
        if abs(total - 1.0) > SHARES_SLACK:
            when = f" at {instant:g} s" if instant else ""
            at.refuse(f"have shares that sum to {total:g}{when}; they must sum to 1")


def _check_drift(arrival_class: ArrivalClass, at: Place) -> None:
    """Refuse instants that do not ascend from 0, and shares out of range."""
    before = 0.0
    for index, (instant, amount) in enumerate(arrival_class.drift):
        if not instant > before:
            at.at(index).refuse_value(f"at an instant later than {before:g} s", instant)
        at.at(index).at(1).within(
            amount, TicketRateOrNone if arrival_class.share is None else Share
        )
        before = instant


def _check_total(table: ArrivalsTable, at: Place) -> None:
    """Refuse rates that change if the process does not allow it, or that are always 0."""
    classes = table.classes
    if table.process == "hourly" and any(each.drift for each in classes):
        at.refuse('must have shares, not rates, to drift with process = "hourly"')
    total = sum(_built(each).amount(instant) for each in classes for instant in _knots(classes))
    if total < RATE_MIN:
        at.refuse("have rates that are all 0, so nobody would arrive")


def is_ended(classes: Sequence[ArrivalClass]) -> bool:
    """Return whether the rates of all classes end at 0, so that nobody arrives any more.

    >>> is_ended([ArrivalClass(rate=1.0, drift=((10.0, 0.0),)), ArrivalClass(rate=0.0)])
    True
    """
    end = _knots(classes)[-1]
    return all(each.amount(end) == 0.0 for each in classes)


def mean_total(classes: Sequence[ArrivalClass], duration: float) -> float:
    """Return the mean over a time of the total rate of all classes, each piecewise linear.

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


def _knots(classes: Sequence[ArrivalClass]) -> list[float]:
    """Return 0 and all instants at which a class's rate changes its slope, ascending."""
    return sorted({0.0, *(at for each in classes for at, _ in each.drift)})


def _built(table: ArrivalClass) -> ArrivalClass:
    """Return the rates or shares of a class over time, without its other keys."""
    return ArrivalClass(rate=table.rate, share=table.share, drift=table.drift)


def _build_class(table: ArrivalClass, queues: tuple[Queue, ...], at: Place) -> ArrivalClass:
    known = {queue.name: queue for queue in queues}
    for index, name in enumerate(table.queues):
        here = at.at("queues").at(index)
        if name not in known:
            hint = suggestion(name, known) or ";"
            here.refuse(f'= "{name}" is not a queue{hint} queues are {", ".join(known)}')
        if name in table.queues[:index]:
            here.refuse(f'repeats "{name}"')
    entered = [known[name] for name in table.queues] or [queues[0]]
    if len({queue.group for queue in entered}) > 1:
        groups = ", ".join(f"{queue.name} of {queue.group}" for queue in entered)
        at.at("queues").refuse(
            f"are of different groups ({groups}); only queues of one group share players"
        )
    for queue in entered:
        _check_class_fits(table, queue, at)
    return ArrivalClass(
        rate=table.rate,
        share=table.share,
        drift=table.drift,
        size=table.size,
        queues=table.queues,
        attributes={name: _kept(value) for name, value in table.attributes.items()},
    )


def _check_class_fits(table: ArrivalClass, queue: Queue, at: Place) -> None:
    if not queue.format.admits(table.size):
        allowed = queue.format.party_sizes or tuple(range(1, max(queue.format.players) + 1))
        sizes = ", ".join(map(str, allowed[:10])) + (", ..." if len(allowed) > 10 else "")
        at.at("size").refuse_value(f'a size that queue "{queue.name}" admits: {sizes}', table.size)
    for name in table.attributes:
        if not name or name in RESERVED:
            elsewhere = "; roles come from a recording with a column roles" * (name == "roles")
            at.at("attributes").refuse(
                f'cannot hold "{name}"; reserved are {", ".join(RESERVED)}{elsewhere}'
            )
    side = table.attributes.get("side", "")
    if side != "" and queue.format.sides and side not in queue.format.sides:
        sides = ", ".join(queue.format.sides)
        at.at("attributes").at("side").refuse_value(f"one of {sides}, or empty", side)
