"""From `[[queue.criteria]]` and `[[queue.rules]]` tables to criteria and rules.

Here is asked which keys go together; whether their values make sense is `cost.valid`'s question.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NoReturn, cast, get_args

import msgspec

from evenmatch.config.decode import Place
from evenmatch.config.shapes import CriterionShape, ExpandShape, RuleShape, ScaleShape
from evenmatch.model.queue import (
    DAY,
    RECENT,
    Criterion,
    CriterionKind,
    Expansion,
    Pairs,
    Rule,
    RuleKind,
    Sample,
    Scale,
    ScaleKind,
    Unit,
    redraw_rule,
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
        kind=cast("CriterionKind", kind),
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
        kind=cast("RuleKind", kind),
        attribute=attribute,
        limit=shape.limit,
        unit=cast("Unit", unit),
        expand=expand,
        measure=measure,
        accept=cast(
            "Literal['both', 'either']", at.at("accept").one_of(shape.accept or "both", ACCEPTS)
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
    return cast("Measure", measure)


# From tables of the kinds that compare no numbers to criteria and rules.
#
# Their costs are in [0, 1] by themselves, so none of them takes a scale; `rematch`, whose rule
# counts redraws, has a module of its own.

ATTRIBUTES = {
    "latency": "latency",
    "host_options": "connect",
    "avoid": "avoid",
    "pair_limit": "meetings",
    "household_limit": "household",
}
"""Attributes of kinds that need not name one."""
WITHOUT_ATTRIBUTE = ("party_parity", "fullness", "role_rank")
CRITERIA: dict[str, tuple[str, ...]] = {
    "latency": ("pairs", "best", "worst"),
    "party_parity": (),
    "host_options": (),
    "same": (),
    "overlap": (),
    "fullness": (),
    "role_rank": (),
}
"""The keys of each kind of criterion beside kind, attribute and weight."""
RULES: dict[str, tuple[str, ...]] = {
    "latency": ("limit", "pairs"),
    "party_parity": ("limit",),
    "host_options": ("limit",),
    "same": (),
    "overlap": (),
    "avoid": ("pairs",),
    "pair_limit": ("limit", "within", "pairs"),
    "household_limit": ("limit", "pairs"),
    "fullness": ("limit",),
    "role_rank": ("limit",),
}
"""The keys of each kind of rule beside kind, attribute, expand and accept."""
OWN_KEYS = ("pairs", "best", "worst", "within")
"""Keys that no other kind has."""

LIMITS = {
    "latency": "the largest ping in milliseconds that is accepted at once",
    "party_parity": "the largest difference of the teams' party sizes, from 0 to 1",
    "pair_limit": "how many matches two players may have within a day, or within `within` seconds",
    "household_limit": "how many players of one household a match may have",
    "fullness": "the share of the seats beyond the minimum that may stay free, from 0 to 1",
    "role_rank": "the mean rank of the roles that players get, over the last, from 0 to 1",
    "host_options": "how many hosts may be missing to two: 0 asks for two, 1 for one",
}


def build_criterion_of_kind(shape: CriterionShape, kind: str, at: Place) -> Criterion:
    """Return a criterion of one of the `CRITERIA`.

    Raises:
        ConfigError: A key does not go with the kind.
    """
    keys = (*_attribute_key(kind), "weight", *CRITERIA[kind])
    _refuse_other_keys(shape, keys, kind, at)
    given: dict[str, Any] = {
        key: getattr(shape, key) for key in CRITERIA[kind] if getattr(shape, key) is not None
    }
    _pairs(shape.pairs, kind, at)
    return Criterion(
        cast("CriterionKind", kind),
        _attribute_for(shape.attribute, kind, at),
        shape.weight,
        **given,
    )


def build_rule_of_kind(shape: RuleShape, kind: str, at: Place, expand: Expansion | None) -> Rule:
    """Return a rule of one of the `RULES`.

    Args:
        shape: The table.
        kind: Its kind.
        at: Where it stands.
        expand: How it widens.

    Raises:
        ConfigError: A key is missing or does not go with the kind.
    """
    keys = (*_attribute_key(kind), *RULES[kind], "expand", "accept")
    _refuse_other_keys(shape, keys, kind, at)
    if kind in LIMITS and shape.limit is None:
        at.at("limit").refuse(f"is missing; it is {LIMITS[kind]}")
    accept = at.at("accept").one_of(shape.accept or "both", ("both", "either"))
    return Rule(
        kind=cast("RuleKind", kind),
        attribute=_attribute_for(shape.attribute, kind, at),
        limit=shape.limit or 0.0,
        expand=expand,
        accept=cast("Literal['both', 'either']", accept),
        pairs=_pairs(shape.pairs, kind, at),
        within=DAY if shape.within is None else shape.within,
    )


def refuse_keys_of_kinds(shape: CriterionShape | RuleShape, at: Place) -> None:
    """Refuse the keys that only kinds of this module have."""
    for key in OWN_KEYS:
        if getattr(shape, key, None) is not None:
            kinds = [kind for kind, own in (*CRITERIA.items(), *RULES.items()) if key in own]
            named = " or ".join(f'"{kind}"' for kind in dict.fromkeys(kinds))
            at.at(key).refuse(f"goes only with kind = {named}")


def _attribute_key(kind: str) -> tuple[str, ...]:
    return () if kind in WITHOUT_ATTRIBUTE else ("attribute",)


def _attribute_for(name: str | None, kind: str, at: Place) -> str:
    if name is not None:
        return name
    if kind in WITHOUT_ATTRIBUTE:
        return ""
    if kind not in ATTRIBUTES:
        _refuse_missing(at)
    return ATTRIBUTES[kind]


def _refuse_missing(at: Place) -> NoReturn:
    at.at("attribute").refuse("is missing; it names the value that is compared")


def _pairs(pairs: str | None, kind: str, at: Place) -> Pairs | None:
    if pairs is None:
        return None
    allowed = [word for word in get_args(Pairs) if word != "region" or kind == "latency"]
    return cast("Pairs", at.at("pairs").one_of(pairs, allowed))


def _refuse_other_keys(
    shape: CriterionShape | RuleShape, keys: tuple[str, ...], kind: str, at: Place
) -> None:
    for field in msgspec.structs.fields(shape):
        key = field.name
        if key != "kind" and key not in keys and getattr(shape, key) is not None:
            at.at(key).refuse(f'does not go with kind = "{kind}", which takes {", ".join(keys)}')


# From `kind = "rematch"` tables to the criterion and the rule, which counts redraws.

REDRAWS_MAX = 100
EVERY = 10.0
"""Seconds between two draws where neither `every` nor a deadline says more."""
REMATCH_KEYS = ("matches", "redraws", "every")
CRITERION_KEYS = ("scale", "measure", "step", "pairs", "best", "worst")
RULE_KEYS = (
    *("limit", "unit", "expand", "measure", "accept"),
    *("file", "column", "last", "pairs", "within"),
)


def build_rematch_criterion(shape: CriterionShape, at: Place) -> Criterion:
    """Return the criterion; it is in [0, 1] by itself.

    Raises:
        ConfigError: A key does not go with it.
    """
    _refuse_keys(shape, CRITERION_KEYS, at, "which takes attribute, weight and matches")
    matches = 1 if shape.matches is None else shape.matches
    return Criterion(
        "rematch",
        RECENT if shape.attribute is None else shape.attribute,
        shape.weight,
        matches=matches,
    )


def build_rematch_rule(shape: RuleShape, at: Place, wait_end: float | None) -> Rule:
    """Return the rule that allows a rematch after some redraws.

    Without `every` the draws divide the wait up to the deadline evenly, so that a rematch is
    allowed before the ticket ends.

    Raises:
        ConfigError: A key is missing, does not go with it, or the redraws outlast the wait.
    """
    _refuse_keys(shape, RULE_KEYS, at, "which takes attribute, redraws, every and matches")
    redraws = shape.redraws
    if redraws is None:
        at.at("redraws").refuse("is missing; it is how often a rematch is refused before it plays")
    at.at("redraws").between(redraws, 1, REDRAWS_MAX)
    every = shape.every
    if every is None:
        every = EVERY if wait_end is None else wait_end / (redraws + 1)
    elif not 1e-6 <= every <= 1e7:
        at.at("every").refuse_value("between 1e-6 and 1e7 s", every)
    elif wait_end is not None and redraws * every >= wait_end:
        at.at("every").refuse(
            f"= {every:g} s and redraws = {redraws} take {redraws * every:g} s, and wait_max is "
            f"{wait_end:g} s; leave every out to divide the wait evenly"
        )
    matches = 1 if shape.matches is None else shape.matches
    return redraw_rule(
        redraws,
        every=every,
        matches=matches,
        attribute=RECENT if shape.attribute is None else shape.attribute,
    )


def refuse_rematch_keys(shape: CriterionShape | RuleShape, at: Place) -> None:
    """Refuse the keys that only a rematch has."""
    for key in REMATCH_KEYS:
        if getattr(shape, key, None) is not None:
            at.at(key).refuse('goes only with kind = "rematch"')


def _refuse_keys(
    shape: CriterionShape | RuleShape, keys: tuple[str, ...], at: Place, allowed: str
) -> None:
    for key in keys:
        if getattr(shape, key) is not None:
            at.at(key).refuse(f'does not go with kind = "rematch", {allowed}')
