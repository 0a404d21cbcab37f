"""What the kinds of criteria and rules that compare no numbers must be like; see `cost.valid`."""

from __future__ import annotations

from typing import get_args

from evenmatch.criteria.relation import pairs_of
from evenmatch.model.queue import Criterion, Format, Pairs, Rule, Scale

MS_MIN, MS_MAX = 1e-3, 1e6
PARTIES_MAX = 1.0
"""The largest difference of party sizes that there is."""
NAMELESS = ("party_parity", "fullness", "role_rank")
"""Kinds without an attribute."""
UNSCALED = (
    "rematch",
    "latency",
    "party_parity",
    "host_options",
    "same",
    "overlap",
    "fullness",
    "role_rank",
)
"""Kinds of criteria that are in [0, 1] by themselves."""

RELATED = ("latency", "avoid", "pair_limit", "household_limit")
"""Kinds that look at enemies, at teammates or at all pairs."""
COUNTED = {"pair_limit": 20, "household_limit": 100}
"""Kinds whose limit is a number of matches or players, and the largest that makes sense."""
WITHIN_MIN, WITHIN_MAX = 1.0, 604_800.0
"""Seconds for which a meeting may count: at most a week."""

Fault = tuple[str, str] | None
"""A key, and what is wrong with it; None if all is well."""


def fault_of_kind(each: Criterion | Rule, form: Format) -> Fault:
    """Return why a kind has nothing to compare in matches of this format."""
    if each.kind == "fullness" and not form.is_variable:
        return "kind", '= "fullness" counts free seats, and here all are filled; set players_min'
    if each.kind == "role_rank" and not form.roles:
        return "kind", '= "role_rank" compares roles, and this queue has none; set roles'
    return None


def fault_of_pairs(each: Criterion | Rule, form: Format) -> Fault:
    """Return what is wrong with the pairs that a criterion or a rule looks at."""
    if each.kind not in RELATED:
        if each.pairs is not None:
            named = " or ".join(f'"{kind}"' for kind in RELATED)
            return "pairs", f"goes only with kind = {named}"
        return None
    pairs = pairs_of(each)
    allowed = [word for word in get_args(Pairs) if word != "region" or each.kind == "latency"]
    if pairs not in allowed:
        return "pairs", f"must be one of {', '.join(allowed)}, got {pairs!s:.40}"
    if pairs == "enemies" and len(form.players) < 2:
        return "pairs", '= "enemies" compares teams, and this queue has one'
    if pairs == "teammates" and max(form.players) < 2:
        return "pairs", '= "teammates" compares players of one team, and here each plays alone'
    return None


def fault_of_criterion(criterion: Criterion) -> Fault:
    """Return what is wrong with a criterion beside its pairs, attribute and weight."""
    if criterion.kind in UNSCALED and criterion.scale != Scale():
        return "scale", f'does not go with kind = "{criterion.kind}", which is in [0, 1] by itself'
    for key, ms in (("best", criterion.best), ("worst", criterion.worst)):
        if not _is_number(ms) or not MS_MIN <= ms <= MS_MAX:
            return key, f"must be between {MS_MIN:g} and {MS_MAX:g} ms, got {ms!s:.40}"
    if criterion.worst < criterion.best * (1.0 + 1e-9):
        return "worst", f"must be above best = {criterion.best:g} ms, got {criterion.worst:g}"
    return None


def fault_of_rule(rule: Rule) -> Fault:
    """Return what is wrong with a rule of one of these kinds."""
    if rule.unit != "difference":
        return "unit", f'does not go with kind = "{rule.kind}"'
    if not _is_number(rule.within) or not WITHIN_MIN <= rule.within <= WITHIN_MAX:
        return "within", f"must be between 1 and {WITHIN_MAX:g} s, got {rule.within!s:.40}"
    if (counted := COUNTED.get(rule.kind)) is not None:
        if not 1.0 <= rule.limit <= counted or rule.limit % 1.0:
            return "limit", f"must be a whole number from 1 to {counted}, got {rule.limit:g}"
        return None
    most = {"latency": MS_MAX, "host_options": 2.0}.get(rule.kind, PARTIES_MAX)
    if rule.limit > most:
        allowed = f'between 0 and {most:g} with kind = "{rule.kind}"'
        return "limit", f"must be {allowed}, got {rule.limit:g}"
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool)
