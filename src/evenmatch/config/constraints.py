"""From `[[queue.criteria]]` and `[[queue.rules]]` tables to criteria and rules.

Here is asked which keys go together; whether their values make sense is `cost.valid`'s question.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, cast, get_args

from evenmatch.config.decode import Place
from evenmatch.config.kinds import (
    CRITERIA,
    RULES,
    build_criterion_of_kind,
    build_rule_of_kind,
    refuse_keys_of_kinds,
)
from evenmatch.config.rematch import (
    build_rematch_criterion,
    build_rematch_rule,
    refuse_rematch_keys,
)
from evenmatch.config.shapes import CriterionShape, ExpandShape, RuleShape, ScaleShape
from evenmatch.model.queue import (
    Criterion,
    CriterionKind,
    Expansion,
    Rule,
    RuleKind,
    Sample,
    Scale,
    ScaleKind,
    Unit,
)

MEASURES = ("mean", "sum")
ACCEPTS = ("both", "either")
SCALE_KEYS: dict[str, tuple[str, ...]] = {
    "linear": ("min", "max"),
    "capped": ("max",),
    "log": ("knee", "max", "cap"),
    "percentile": ("file", "column", "last"),
    "none": (),
}
SAMPLE_KEYS = ("file", "column", "last")

Measure = Literal["mean", "sum"]
ReadTable = Callable[[str, str, Place], tuple[float, ...]]
"""From a file's name, a column and the place of the file's key to quantiles of the column."""


def build_criterion(shape: CriterionShape, at: Place, read_table: ReadTable) -> Criterion:
    """Return one soft preference of a queue.

    Args:
        shape: The table.
        at: Where the table stands.
        read_table: Reads the table of percentiles.

    Raises:
        ConfigError: A key does not fit the kind.
    """
    kind = at.at("kind").one_of(shape.kind, get_args(CriterionKind))
    if kind == "rematch":
        return build_rematch_criterion(shape, at)
    refuse_rematch_keys(shape, at)
    if kind in CRITERIA:
        return build_criterion_of_kind(shape, kind, at)
    refuse_keys_of_kinds(shape, at)
    measure = _measure(shape.measure, kind, at)
    if shape.step is not None and (kind != "imbalance" or measure != "sum"):
        at.at("step").refuse('goes only with kind = "imbalance" and measure = "sum"')
    return Criterion(
        kind=cast(CriterionKind, kind),
        attribute=_attribute(shape.attribute, at.at("attribute")),
        weight=shape.weight,
        scale=build_scale(shape.scale or ScaleShape(), at.at("scale"), read_table),
        measure=measure,
        step=shape.step or 0.0,
    )


def build_scale(shape: ScaleShape, at: Place, read_table: ReadTable) -> Scale:
    """Return a scale; `linear` from 0 to 1 unless it says more."""
    kind = at.at("kind").one_of(shape.kind, get_args(ScaleKind))
    for key in ("min", "max", "knee", "cap", *SAMPLE_KEYS):
        if getattr(shape, key) is not None and key not in SCALE_KEYS[kind]:
            keys = ", ".join(SCALE_KEYS[kind]) or "no further key"
            at.at(key).refuse(f'does not go with kind = "{kind}", which takes {keys}')
    if kind in ("capped", "log") and shape.max is None:
        at.at("max").refuse(f'is missing; kind = "{kind}" needs the gap that costs 1')
    return Scale(
        kind=cast(ScaleKind, kind),
        min=0.0 if shape.min is None else shape.min,
        max=1.0 if shape.max is None else shape.max,
        knee=1.0 if shape.knee is None else shape.knee,
        cap=shape.cap,
        sample=build_sample(shape, at, read_table),
    )


def build_sample(shape: ScaleShape | RuleShape, at: Place, read_table: ReadTable) -> Sample:
    """Return where percentiles are taken: the column of a file, or the last values."""
    if shape.file is None:
        if shape.column is not None:
            at.at("column").refuse("goes only with file, whose column it names")
        return Sample() if shape.last is None else Sample(last=shape.last)
    if shape.last is not None:
        at.at("last").refuse("does not go with file: percentiles are taken in one of the two")
    if shape.column is None:
        at.at("column").refuse("is missing; it names the column of the file")
    return Sample(quantiles=read_table(shape.file, shape.column, at.at("file")))


def build_rule(
    shape: RuleShape, at: Place, read_table: ReadTable, wait_end: float | None = None
) -> Rule:
    """Return one hard constraint of a queue.

    Args:
        shape: The table.
        at: Where the table stands.
        read_table: Reads the table of percentiles.
        wait_end: The wait at which every ticket has left the queue, seconds; None = never.

    Raises:
        ConfigError: A key does not fit the kind.
    """
    kind = at.at("kind").one_of(shape.kind, get_args(RuleKind))
    if kind == "rematch":
        return build_rematch_rule(shape, at, wait_end)
    refuse_rematch_keys(shape, at)
    expand = None if shape.expand is None else build_expansion(shape.expand, at.at("expand"))
    if kind in RULES:
        return build_rule_of_kind(shape, kind, at, expand)
    refuse_keys_of_kinds(shape, at)
    attribute = _attribute(shape.attribute, at.at("attribute"))
    measure = _measure(shape.measure, kind, at)
    if shape.limit is None:
        at.at("limit").refuse("is missing; it is the largest gap that is accepted at once")
    unit = "difference" if shape.unit is None else shape.unit
    at.at("unit").one_of(unit, get_args(Unit))
    for key in SAMPLE_KEYS:
        if getattr(shape, key) is not None and unit != "percentile":
            at.at(key).refuse('goes only with unit = "percentile"')
    return Rule(
        kind=cast(RuleKind, kind),
        attribute=attribute,
        limit=shape.limit,
        unit=cast(Unit, unit),
        expand=expand,
        measure=measure,
        accept=cast(
            Literal["both", "either"], at.at("accept").one_of(shape.accept or "both", ACCEPTS)
        ),
        sample=build_sample(shape, at, read_table),
    )


def build_expansion(shape: ExpandShape, at: Place) -> Expansion:
    """Return how a limit widens: by a rate, in steps or along a curve."""
    given = [key for key in ("rate", "steps", "curve") if getattr(shape, key) is not None]
    if len(given) != 1:
        found = " and ".join(given) or "none"
        at.refuse(f"must have exactly one of rate, steps and curve, got {found}")
    for key in ("steps", "curve"):
        if getattr(shape, key) == ():
            at.at(key).refuse("must have at least one pair [wait, limit], got an empty list")
        for index, (_, wider) in enumerate(getattr(shape, key) or ()):
            if shape.max is not None and wider > shape.max:
                at.at(key).at(index).refuse(f"has limit {wider:g}, above max = {shape.max:g}")
    return Expansion(
        rate=shape.rate or 0.0,
        steps=shape.steps or (),
        curve=shape.curve or (),
        max=shape.max,
    )


def _attribute(name: str | None, at: Place) -> str:
    if name is None:
        at.refuse("is missing; it names the value that is compared")
    return name


def _measure(measure: str | None, kind: str, at: Place) -> Measure:
    if measure is None:
        return "mean"
    at.at("measure").one_of(measure, MEASURES)
    if kind != "imbalance":
        at.at("measure").refuse('goes only with kind = "imbalance"')
    return cast(Measure, measure)
