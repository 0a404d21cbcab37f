"""From tables of criteria and rules to the values a queue holds.

Each kind in `criteria.kinds` declares the keys that a table takes, and their ranges; this module
builds the values of the keys.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from msgspec import structs

from evenmatch.config.tables import (
    CriterionTable,
    LinearScale,
    PercentileScale,
    RuleTable,
    ScaleTable,
)
from evenmatch.criteria.base import Comparison, Form, Keys
from evenmatch.criteria.registry import CRITERION_KINDS, KINDS, RULE_KINDS
from evenmatch.model.checks import Place
from evenmatch.model.queue import Criterion, Expansion, Rule, Sample, Scale, ScaleKind

SAMPLE_KEYS = ("file", "column", "last")

ReadTable = Callable[[str, str, Place], tuple[float, ...]]
"""Maps a file's name, a column and the place of the file's key to quantiles of the column."""


def build_criterion(shape: CriterionTable, at: Place, read_table: ReadTable) -> Criterion:
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
    at.refuse_fault(of_kind.fault_of_criterion_table(table))
    values: dict[str, Any] = {
        "weight": shape.weight,
        **_plain(table, ("measure", "step", "matches", "pairs", "best", "worst")),
        "attribute": _attribute(table, of_kind, at),
    }
    if "scale" in (of_kind.criterion_keys or Keys(())).names:
        values["scale"] = build_scale(shape.scale or LinearScale(), at.at("scale"), read_table)
    return Criterion(kind, **values)


def build_scale(table: ScaleTable, at: Place, read_table: ReadTable) -> Scale:
    """Return a scale; `linear` from 0 to 1 by default."""
    kind = cast("str", table.__struct_config__.tag)
    if isinstance(table, PercentileScale):
        return Scale("percentile", sample=build_sample(table, at, read_table))
    return Scale(cast("ScaleKind", kind), **structs.asdict(table))


def build_sample(table: PercentileScale | RuleTable, at: Place, read_table: ReadTable) -> Sample:
    """Return the distribution for percentiles: the column of a file, or the last values."""
    if table.file is None:
        if table.column is not None:
            at.at("column").refuse("goes only with file, whose column it names")
        return Sample() if table.last is None else Sample(last=table.last)
    if table.last is not None:
        at.at("last").refuse("does not go with file: percentiles are taken in one of the two")
    if table.column is None:
        at.at("column").refuse("is missing; it names the column of the file")
    return Sample(quantiles=read_table(table.file, table.column, at.at("file")))


def build_rule(
    shape: RuleTable, at: Place, read_table: ReadTable, wait_end: float | None = None
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
    at.refuse_fault(of_kind.fault_of_rule_table(table, wait_end))
    values: dict[str, Any] = {
        **_plain(table, ("accept", "limit", "matches", "measure", "pairs", "unit", "within")),
        "attribute": _attribute(table, of_kind, at),
        "expand": of_kind.expansion_of(table, wait_end),
    }
    if shape.expand is not None:
        values["expand"] = _capped(shape.expand, at.at("expand"))
    if of_kind.limit is not None and shape.limit is None:
        at.at("limit").refuse(f"is missing; it is {of_kind.limit.words}")
    for key in SAMPLE_KEYS:
        if key in table and values.get("unit") != "percentile":
            at.at(key).refuse('goes only with unit = "percentile"')
    if values.get("unit") == "percentile":
        values["sample"] = build_sample(shape, at, read_table)
    return Rule(kind, **values)


def _table_of(
    shape: CriterionTable | RuleTable, kind: str, keys: Keys | None, at: Place
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
    if "pairs" in table:
        at.at("pairs").one_of(table["pairs"], KINDS[kind].pairs_allowed)
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


def _attribute(table: dict[str, Any], of_kind: type[Comparison], at: Place) -> str:
    """Return the attribute that is compared: that of the table, or the kind's default."""
    name = table.get("attribute", of_kind.attribute)
    if name is None:
        at.at("attribute").refuse("is missing; it names the value that is compared")
    return cast("str", name)


def _plain(table: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """Return the keys of a table whose values are used unchanged."""
    return {key: table[key] for key in keys if key in table}


def _capped(expand: Expansion, at: Place) -> Expansion:
    """Return how a limit widens, unless the cap makes a part of the file's schedule useless."""
    for key, points in (("steps", expand.steps), ("curve", expand.curve)):
        for index, (_, wider) in enumerate(points):
            if expand.max is not None and wider > expand.max:
                at.at(key).at(index).refuse(f"has limit {wider:g}, above max = {expand.max:g}")
    return expand
