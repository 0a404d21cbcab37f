"""Parts of the sentences in which kinds describe a rule or a criterion."""

from __future__ import annotations

import math

from evenmatch.criteria.expansion import inverse
from evenmatch.model.queue import Rule

UNITS = {
    "difference": "",
    "relative": " times one's own value",
    "percentile": " of all players, by percentile",
}


def number(value: float) -> str:
    """Return a number in a sentence."""
    return f"{value:.6g}"


def seconds(value: float) -> str:
    """Return a duration in a sentence."""
    return f"{value:.6g} s"


def at_first(rule: Rule, compared: str) -> str:
    """Return the sentence for a rule that limits something from the start.

    Args:
        rule: The rule.
        compared: The quantity that it limits.
    """
    return widening(rule, f"At first {compared} may be {number(rule.limit)}{UNITS[rule.unit]}")


def widening(rule: Rule, text: str) -> str:
    """Return the sentence for a rule, how it widens, and who must accept."""
    expand = rule.expand
    if expand is None:
        return f"{text}, and that never widens."
    if expand.steps or expand.curve:
        points = expand.steps or expand.curve
        word = "from" if expand.steps else "at"
        steps = ", ".join(f"{number(limit)} {word} {seconds(wait)}" for wait, limit in points)
        text += f"; after waiting it widens to {steps}"
    else:
        text += f"; it widens by {number(expand.rate)} for each second of waiting"
    top = "" if expand.max is None else f", up to {number(expand.max)}"
    accepts = (
        "Every ticket of the match must accept."
        if rule.accept == "both"
        else "It is enough that one ticket of the match accepts."
    )
    return f"{text}{top}. {accepts}"


def lifted_at(rule: Rule) -> float:
    """Return the wait after which a rule that is kept or broken is lifted; inf if never."""
    return inverse(rule.limit, rule.expand)(1.0)


def rule_sentence(rule: Rule, text: str) -> str:
    """Return the sentence for a rule that is kept or broken, and when it is lifted."""
    wait = lifted_at(rule)
    if wait == math.inf:
        return f"{text}."
    who = "all tickets of the match have" if rule.accept == "both" else "one ticket has"
    return f"{text}, until {who} waited {seconds(wait)}."
