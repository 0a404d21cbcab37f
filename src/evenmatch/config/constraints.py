"""From tables of criteria and rules to the values a queue holds.

Which keys a table takes, and what they must be like, each kind says in `criteria.kinds`; here are
the values that keys stand for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast, get_args

from msgspec import structs

from evenmatch.config.decode import Place
from evenmatch.config.shapes import CriterionShape, ExpandShape, RuleShape, ScaleShape
from evenmatch.criteria.base import Comparison, Fault, Form, Keys
from evenmatch.criteria.registry import CRITERION_KINDS, KINDS, RULE_KINDS
from evenmatch.model.queue import (
    Criterion,
    Expansion,
    Rule,
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
    kind = at.at("kind").one_of(shape.kind, CRITERION_KINDS)
    of_kind = KINDS[kind]
    table = _table_of(shape, kind, of_kind.criterion_keys, at)
    _refuse_fault(of_kind.fault_of_criterion_table(table), at)
    values: dict[str, Any] = {
        "weight": shape.weight,
        **_plain(table, ("step", "matches", "best", "worst")),
        **_words(table, of_kind, at),
        "attribute": _attribute(table, of_kind, at),
    }
    if "scale" in (of_kind.criterion_keys or Keys(())).names:
        values["scale"] = build_scale(shape.scale or ScaleShape(), at.at("scale"), read_table)
    return Criterion(kind, **values)


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
        kind=cast("ScaleKind", kind),
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
    kind = at.at("kind").one_of(shape.kind, RULE_KINDS)
    of_kind = KINDS[kind]
    table = _table_of(shape, kind, of_kind.rule_keys, at)
    _refuse_fault(of_kind.fault_of_rule_table(table, wait_end), at)
    values: dict[str, Any] = {
        **_plain(table, ("limit", "matches", "within")),
        **_words(table, of_kind, at),
        "attribute": _attribute(table, of_kind, at),
        "expand": of_kind.expansion_of(table, wait_end),
    }
    if shape.expand is not None:
        values["expand"] = build_expansion(shape.expand, at.at("expand"))
    if of_kind.limit is not None and shape.limit is None:
        at.at("limit").refuse(f"is missing; it is {of_kind.limit.words}")
    for key in SAMPLE_KEYS:
        if key in table and values.get("unit") != "percentile":
            at.at(key).refuse('goes only with unit = "percentile"')
    if values.get("unit") == "percentile":
        values["sample"] = build_sample(shape, at, read_table)
    return Rule(kind, **values)


def _table_of(
    shape: CriterionShape | RuleShape, kind: str, keys: Keys | None, at: Place
) -> dict[str, Any]:
    """Return the keys that a table gives; refuse those that its kind does not take."""
    assert keys is not None
    given = {field.name: getattr(shape, field.name) for field in structs.fields(shape)}
    table = {key: value for key, value in given.items() if key != "kind" and value is not None}
    others = [key for key in table if key not in keys.names]
    for key in others:
        owners = [name for name, each in KINDS.items() if key in each.own_keys]
        if owners:
            _refuse_key(key, owners, at)
    for key in others:
        if KINDS[kind].form is Form.NUMBERS:
            _refuse_key(key, _takers(key), at)
        at.at(key).refuse(f'does not go with kind = "{kind}", which takes {keys.text}')
    return table


def _takers(key: str) -> list[str]:
    """Return the kinds whose criteria or rules take a key."""
    none = Keys(())
    return [
        name
        for name, each in KINDS.items()
        if key in (each.criterion_keys or none).names or key in (each.rule_keys or none).names
    ]


def _refuse_key(key: str, kinds: list[str], at: Place) -> None:
    named = " or ".join(f'"{kind}"' for kind in kinds)
    at.at(key).refuse(f"goes only with kind = {named}")


def _refuse_fault(fault: Fault, at: Place) -> None:
    if fault is not None:
        at.at(fault[0]).refuse(fault[1])


def _attribute(table: dict[str, Any], of_kind: type[Comparison], at: Place) -> str:
    """Return what is compared: as the table says, or as the kind does."""
    name = table.get("attribute", of_kind.attribute)
    if name is None:
        at.at("attribute").refuse("is missing; it names the value that is compared")
    return cast("str", name)


def _plain(table: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """Return the keys of a table that mean what they are."""
    return {key: table[key] for key in keys if key in table}


def _words(table: dict[str, Any], of_kind: type[Comparison], at: Place) -> dict[str, Any]:
    """Return the keys of a table that are words of a few."""
    allowed: dict[str, tuple[str, ...]] = {
        "measure": MEASURES,
        "unit": get_args(Unit),
        "accept": ACCEPTS,
        "pairs": of_kind.pairs_allowed,
    }
    return {
        key: at.at(key).one_of(table[key], words) for key, words in allowed.items() if key in table
    }


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
