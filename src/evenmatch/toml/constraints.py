"""From `[[queue.criteria]]` and `[[queue.rules]]` tables to criteria and rules."""

from __future__ import annotations

from typing import Literal, cast, get_args

from evenmatch.model.queue import (
    Criterion,
    CriterionKind,
    Expansion,
    Format,
    Rule,
    RuleKind,
    Scale,
    ScaleKind,
)
from evenmatch.toml.decode import Place
from evenmatch.toml.shapes import CriterionShape, ExpandShape, RuleShape, ScaleShape

CRITERIA_LATER = ("latency", "party_parity", "rematch", "host_options", "fullness")
RULES_LATER = (*CRITERIA_LATER, "overlap", "avoid", "pair_limit", "household_limit")
SCALES_LATER = ("percentile",)
UNITS = ("difference", "relative")
MEASURES = ("mean", "sum")
STEPS_MAX = 100
SCALE_KEYS: dict[str, tuple[str, ...]] = {
    "linear": ("min", "max"),
    "capped": ("max",),
    "log": ("knee", "max", "cap"),
    "none": (),
}

Measure = Literal["mean", "sum"]


def build_criterion(shape: CriterionShape, form: Format, at: Place) -> Criterion:
    """Return one soft preference of a queue.

    Raises:
        ConfigError: A key does not fit the kind, or a number is out of range.
    """
    kind = at.at("kind").one_of(shape.kind, get_args(CriterionKind), CRITERIA_LATER)
    measure = _measure(shape.measure, kind, form, at)
    step = shape.step or 0.0
    if shape.step is not None:
        at.at("step").not_negative(shape.step)
        if kind != "imbalance" or measure != "sum":
            at.at("step").refuse('goes only with kind = "imbalance" and measure = "sum"')
    return Criterion(
        kind=cast(CriterionKind, kind),
        attribute=_attribute(shape.attribute, at.at("attribute")),
        weight=None if shape.weight is None else at.at("weight").not_negative(shape.weight),
        scale=build_scale(shape.scale or ScaleShape(), at.at("scale")),
        measure=measure,
        step=step,
    )


def build_scale(shape: ScaleShape, at: Place) -> Scale:
    """Return a scale; `linear` from 0 to 1 unless it says more."""
    kind = at.at("kind").one_of(shape.kind, get_args(ScaleKind), SCALES_LATER)
    for key in ("min", "max", "knee", "cap"):
        if getattr(shape, key) is not None and key not in SCALE_KEYS[kind]:
            keys = ", ".join(SCALE_KEYS[kind]) or "no further key"
            at.at(key).refuse(f'does not go with kind = "{kind}", which takes {keys}')
    if kind in ("capped", "log"):
        if shape.max is None:
            at.at("max").refuse(f'is missing; kind = "{kind}" needs the gap that costs 1')
        at.at("max").positive(shape.max)
    scale = Scale(
        kind=cast(ScaleKind, kind),
        min=0.0 if shape.min is None else shape.min,
        max=1.0 if shape.max is None else shape.max,
        knee=1.0 if shape.knee is None else at.at("knee").positive(shape.knee),
        cap=shape.cap,
    )
    if kind == "linear" and scale.max <= scale.min:
        at.at("max").refuse_value(f"above min = {scale.min:g}", scale.max)
    return scale


def build_rule(shape: RuleShape, form: Format, wait_end: float | None, at: Place) -> Rule:
    """Return one hard constraint of a queue.

    Args:
        shape: The table.
        form: The queue's format.
        wait_end: The wait at which every ticket has left the queue, seconds; None = never.
        at: Where the table stands.

    Raises:
        ConfigError: A key does not fit the kind, or a limit can never apply.
    """
    kind = at.at("kind").one_of(shape.kind, get_args(RuleKind), RULES_LATER)
    attribute = _attribute(shape.attribute, at.at("attribute"))
    measure = _measure(shape.measure, kind, form, at)
    if kind == "same":
        for key in ("limit", "unit", "expand"):
            if getattr(shape, key) is not None:
                at.at(key).refuse('does not go with kind = "same", where all values are equal')
        return Rule(kind="same", attribute=attribute)
    if shape.limit is None:
        at.at("limit").refuse("is missing; it is the largest gap that is accepted at once")
    limit = at.at("limit").not_negative(shape.limit)
    unit = "difference" if shape.unit is None else shape.unit
    at.at("unit").one_of(unit, UNITS, ("percentile",))
    return Rule(
        kind=cast(RuleKind, kind),
        attribute=attribute,
        limit=limit,
        unit=cast(Literal["difference", "relative"], unit),
        expand=(
            None
            if shape.expand is None
            else build_expansion(shape.expand, limit, wait_end, at.at("expand"))
        ),
        measure=measure,
    )


def build_expansion(
    shape: ExpandShape, limit: float, wait_end: float | None, at: Place
) -> Expansion:
    """Return how a limit widens: by a rate, in steps or along a curve."""
    given = [key for key in ("rate", "steps", "curve") if getattr(shape, key) is not None]
    if len(given) != 1:
        found = " and ".join(given) or "none"
        at.refuse(f"must have exactly one of rate, steps and curve, got {found}")
    if shape.max is not None and shape.max < limit:
        at.at("max").refuse_value(f"at least the limit {limit:g}", shape.max)
    if shape.rate is not None:
        return Expansion(rate=at.at("rate").positive(shape.rate, "per second"), max=shape.max)
    if shape.steps is not None:
        _check_steps(shape.steps, limit, shape.max, at.at("steps"))
        _refuse_unreachable(shape.steps, wait_end, at.at("steps"), ends=False)
        return Expansion(steps=shape.steps, max=shape.max)
    curve = shape.curve or ()
    _check_curve(curve, limit, shape.max, at.at("curve"))
    _refuse_unreachable(curve, wait_end, at.at("curve"), ends=True)
    return Expansion(curve=curve, max=shape.max)


Points = tuple[tuple[float, float], ...]


def _check_steps(steps: Points, limit: float, most: float | None, at: Place) -> None:
    """Refuse steps that go back in time, or whose limit does not grow."""
    _check_length(steps, at)
    last_wait, last_limit = 0.0, limit
    for index, (wait, wider) in enumerate(steps):
        here = at.at(index)
        if wait <= last_wait:
            here.refuse(f"has wait {wait:g} s; waits must increase from above {last_wait:g} s")
        if wider <= last_limit:
            here.refuse(f"has limit {wider:g}; limits must increase from above {last_limit:g}")
        _check_most(wider, most, here)
        last_wait, last_limit = wait, wider


def _check_curve(curve: Points, limit: float, most: float | None, at: Place) -> None:
    """Refuse curves that go back in time, or whose limit falls."""
    _check_length(curve, at)
    last_wait, last_limit = -1.0, limit
    for index, (wait, wider) in enumerate(curve):
        here = at.at(index)
        if wait < 0.0 or wait <= last_wait:
            here.refuse(f"has wait {wait:g} s; waits must be >= 0 s and increase")
        if wider < last_limit:
            here.refuse(f"has limit {wider:g}; a limit may not fall, it was {last_limit:g}")
        _check_most(wider, most, here)
        last_wait, last_limit = wait, wider


def _check_length(points: Points, at: Place) -> None:
    if not 1 <= len(points) <= STEPS_MAX:
        at.refuse(f"must have 1 to {STEPS_MAX} pairs [wait, limit], got {len(points)}")


def _check_most(limit: float, most: float | None, here: Place) -> None:
    if most is not None and limit > most:
        here.refuse(f"has limit {limit:g}, above max = {most:g}")


def _refuse_unreachable(points: Points, wait_end: float | None, at: Place, *, ends: bool) -> None:
    """Refuse points that no ticket lives to see.

    Args:
        points: Pairs (wait, limit).
        wait_end: The wait at which every ticket has left.
        at: Where the points stand.
        ends: Whether a point ends a line, which can be used before the point is reached.
    """
    if wait_end is None:
        return
    waits = [wait for wait, _ in points]
    starts = [0.0, *waits[:-1]] if ends else waits
    for index, (start, wait) in enumerate(zip(starts, waits, strict=True)):
        if start >= wait_end:
            at.at(index).refuse(f"at {wait:g} s can never be reached: wait_max is {wait_end:g} s")


def _attribute(name: str | None, at: Place) -> str:
    if name is None:
        at.refuse("is missing; it names the value that is compared")
    if not name or len(name) > 100:
        at.refuse_value("a name of 1 to 100 characters", name)
    return name


def _measure(measure: str | None, kind: str, form: Format, at: Place) -> Measure:
    if kind == "imbalance" and len(form.players) < 2:
        at.at("kind").refuse('= "imbalance" compares teams, and this queue has one')
    if measure is None:
        return "mean"
    at.at("measure").one_of(measure, MEASURES)
    if kind != "imbalance":
        at.at("measure").refuse('goes only with kind = "imbalance"')
    return cast(Measure, measure)
