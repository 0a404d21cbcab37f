"""From tables of the kinds that compare no numbers to criteria and rules.

Their costs are in [0, 1] by themselves, so none of them takes a scale; `rematch`, whose rule counts
redraws, has a module of its own.
"""

from __future__ import annotations

from typing import Any, Literal, NoReturn, cast, get_args

import msgspec

from evenmatch.config.decode import Place
from evenmatch.config.shapes import CriterionShape, RuleShape
from evenmatch.model.queue import (
    DAY,
    Criterion,
    CriterionKind,
    Expansion,
    Pairs,
    Rule,
    RuleKind,
)

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
        cast(CriterionKind, kind), _attribute(shape.attribute, kind, at), shape.weight, **given
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
        kind=cast(RuleKind, kind),
        attribute=_attribute(shape.attribute, kind, at),
        limit=shape.limit or 0.0,
        expand=expand,
        accept=cast(Literal["both", "either"], accept),
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


def _attribute(name: str | None, kind: str, at: Place) -> str:
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
    return cast(Pairs, at.at("pairs").one_of(pairs, allowed))


def _refuse_other_keys(
    shape: CriterionShape | RuleShape, keys: tuple[str, ...], kind: str, at: Place
) -> None:
    for field in msgspec.structs.fields(shape):
        key = field.name
        if key != "kind" and key not in keys and getattr(shape, key) is not None:
            at.at(key).refuse(f'does not go with kind = "{kind}", which takes {", ".join(keys)}')
