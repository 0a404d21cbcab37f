"""From `[attributes.NAME]` tables to distributions."""

from __future__ import annotations

import math
from pathlib import Path
from typing import cast, get_args

from evenmatch.config.decode import GAPS, VALUES, WAITS, Place
from evenmatch.config.shapes import DistributionShape
from evenmatch.criteria.validation.values import Bounds
from evenmatch.model.scenario import SHIPPED, Distribution, DistributionKind
from evenmatch.model.ticket import Value

VALUES_MAX = 1000
PROBS_SLACK = 1e-6
MASS_MIN = 0.01
RANGE_MIN = 1e-9
SHARES = Bounds(0.0, 1.0)
KEYS: dict[str, tuple[str, ...]] = {
    "uniform": ("min", "max"),
    "normal": ("mean", "deviation", "min", "max"),
    "exponential": ("mean",),
    "choice": ("values", "probs"),
    "empirical": ("file", "column"),
}
NEEDED: dict[str, tuple[str, ...]] = {
    "uniform": (),
    "normal": ("mean", "deviation"),
    "exponential": ("mean",),
    "choice": ("values",),
    "empirical": ("file", "column"),
}


def build_distribution(shape: DistributionShape, base_dir: Path | None, at: Place) -> Distribution:
    """Return how a value is drawn.

    Args:
        shape: The table.
        base_dir: The folder from which relative file names count.
        at: Where the table stands.

    Raises:
        ConfigError: A key does not fit the distribution, or a number is out of range.
    """
    kind = at.at("distribution").one_of(shape.distribution, get_args(DistributionKind))
    for key in dict.fromkeys(key for keys in KEYS.values() for key in keys):
        if getattr(shape, key) is not None and key not in KEYS[kind]:
            at.at(key).refuse(f"does not go with {kind}, which takes {', '.join(KEYS[kind])}")
    for key in NEEDED[kind]:
        if getattr(shape, key) is None:
            at.at(key).refuse(f"is missing; {kind} needs {' and '.join(NEEDED[kind])}")
    built = Distribution(
        kind=cast("DistributionKind", kind),
        min=shape.min,
        max=shape.max,
        mean=shape.mean or 0.0,
        deviation=1.0 if shape.deviation is None else shape.deviation,
        values=_facts(shape.values or (), at.at("values")),
        probs=shape.probs or (),
        file=locate_file(shape.file, base_dir, at.at("file")) if shape.file is not None else "",
        column=shape.column or "",
    )
    _check_numbers(built, at)
    return built


def build_patience(
    shape: DistributionShape | float, base_dir: Path | None, at: Place
) -> Distribution:
    """Return how long tickets wait before they cancel, in seconds; a number means always that."""
    if not isinstance(shape, DistributionShape):
        return Distribution(kind="choice", values=(at.within(shape, WAITS),))
    built = build_distribution(shape, base_dir, at)
    if built.kind == "normal" and (built.min is None or built.min < 0.0):
        at.at("min").refuse("must be >= 0 s, because nobody leaves before arriving")
    if built.kind == "uniform" and built.min is not None:
        at.at("min").within(built.min, WAITS)
    for index, value in enumerate(built.values):
        here = at.at("values").at(index)
        if not isinstance(value, float):
            here.refuse_value("a number of seconds", value)
        here.within(value, WAITS)
    return built


def locate_file(file: str, base_dir: Path | None, at: Place) -> str:
    """Return a file's name, counted from the folder of the scenario; ours stay as they are."""
    if not file or file == SHIPPED:
        at.refuse_value("the name of a file", file)
    if base_dir is None or file.startswith(SHIPPED):
        return file
    return str(base_dir / file)


def _facts(values: tuple[Value | tuple[str, ...], ...], at: Place) -> tuple[Value, ...]:
    if len(values) > VALUES_MAX:
        at.refuse(f"must have at most {VALUES_MAX:,} entries, got {len(values):,}")
    return tuple(build_fact(value, at.at(i)) for i, value in enumerate(values))


def build_fact(value: Value, at: Place) -> Value:
    """Return an attribute's value; a list of texts is a set, which is kept sorted."""
    if isinstance(value, float):
        at.within(value, VALUES)
    return tuple(sorted(set(value))) if isinstance(value, tuple) else value


def _check_numbers(built: Distribution, at: Place) -> None:
    for key in ("min", "max", "mean"):
        at.at(key).within(getattr(built, key) or 0.0, VALUES)
    low, high = built.min, built.max
    if built.kind == "uniform":
        low, high = low or 0.0, 1.0 if high is None else high
    if low is not None and high is not None and high - low < RANGE_MIN:
        at.at("max").refuse_value(f"at least {RANGE_MIN:g} above min = {low:g}", high)
    if built.kind == "exponential":
        at.at("mean").within(built.mean, GAPS)
    if built.kind == "normal":
        at.at("deviation").within(built.deviation, GAPS)
        if _mass(built) < MASS_MIN:
            at.refuse("leaves less than 1 % of the normal distribution between min and max")
    if built.kind == "choice":
        if not built.values:
            at.at("values").refuse("must have at least one entry")
        _check_probs(built, at.at("probs"))


def _check_probs(built: Distribution, at: Place) -> None:
    if not built.probs:
        return
    if len(built.probs) != len(built.values):
        at.refuse(f"must have one entry for each of {len(built.values)} values")
    for index, prob in enumerate(built.probs):
        at.at(index).within(prob, SHARES)
    total = math.fsum(built.probs)
    if abs(total - 1.0) > PROBS_SLACK:
        at.refuse(f"must sum to 1, got {total:g}")


def _mass(built: Distribution) -> float:
    """Return the probability that a normal draw is within the bounds."""
    scale = built.deviation * math.sqrt(2.0)
    low = -math.inf if built.min is None else (built.min - built.mean) / scale
    high = math.inf if built.max is None else (built.max - built.mean) / scale
    return 0.5 * (math.erf(high) - math.erf(low))
