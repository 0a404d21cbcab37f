"""From `kind = "rematch"` tables to the criterion and the rule, which counts redraws."""

from __future__ import annotations

from evenmatch.config.decode import Place
from evenmatch.config.shapes import CriterionShape, RuleShape
from evenmatch.model.queue import RECENT, Criterion, Rule
from evenmatch.model.redraw import redraw_rule

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
