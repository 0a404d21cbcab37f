"""Requirements on a queue, whoever made it: a TOML file, a journal or a program.

Each refusal is one sentence that names the key as a TOML file spells it:
`queue "duel", rules[0].limit must be between 0 and 1e15, got -1.0`. The types of `model.queue` say
what each field may hold; this module checks what depends on kinds, on the format and on other keys.
"""

from __future__ import annotations

from evenmatch.criteria.base import Form, Limit
from evenmatch.criteria.condition.ages import Conditions
from evenmatch.criteria.percentile import samples_of
from evenmatch.criteria.registry import (
    CRITERION_KINDS,
    KINDS,
    NUMERIC,
    RULE_KINDS,
    kind_of,
    kind_with,
    pairs_of,
)
from evenmatch.criteria.validation.format import fault_of_format
from evenmatch.model import fields
from evenmatch.model.checks import Fault, Place, check, is_in, range_of, show
from evenmatch.model.queue import Criterion, Expansion, Format, Points, Queue, Rule, Scale

STEPS_MAX = 100


def check_queue(queue: Queue) -> None:
    """Refuse a queue that cannot work.

    Checks of the policy's SPEC, and of whether it supports the format, are up to the policy;
    checks across queues (equal names) are made when all of them are known.

    Raises:
        ConfigError: The sentence names the queue, the key, what is allowed and what was given.

    >>> check_queue(Queue(wait_max=60.0))
    """
    at = queue_place(queue.name)
    check(queue, at)
    is_stated = any(rule.condition is not None for rule in queue.rules)
    at.refuse_fault(fault_of_format(queue.format, are_sizes_stated=is_stated))
    for index, criterion in enumerate(queue.criteria):
        here = at.at("criteria").at(index)
        if criterion.sort is not None:
            here.at("kind").one_of(criterion.kind, (kind_with(Form.ANCHOR),))
            continue
        here.at("kind").one_of(criterion.kind, CRITERION_KINDS)
        _check_compared(criterion, queue.format, here)
        here.refuse_fault(_fault_of_criterion(criterion))
    wait_end = None if queue.on_deadline == "keep" else queue.wait_max
    for index, rule in enumerate(queue.rules):
        here = at.at("rules").at(index)
        if rule.condition is not None:
            here.at("kind").one_of(rule.kind, (kind_with(Form.CONDITION),))
            continue
        here.at("kind").one_of(rule.kind, RULE_KINDS)
        _check_compared(rule, queue.format, here)
        here.refuse_fault(_fault_of_rule(rule))
        if rule.expand is not None:
            _check_expansion(rule.expand, rule.limit, wait_end, here.at("expand"))
    if is_stated:
        Conditions([each.condition for each in queue.rules if each.condition is not None])
    samples_of(queue)


def queue_place(name: str) -> Place:
    """Return the place of a queue: `queue "duel"`."""
    name = str(name)  # a queue that was built in Python may be called anything
    name = name if name.isprintable() else repr(name)[1:-1]
    return Place(f'queue "{name if len(name) <= 64 else f"{name[:61]}..."}"')


def _check_compared(each: Criterion | Rule, form: Format, at: Place) -> None:
    """Refuse a criterion or a rule that cannot compare anything in this format."""
    if kind_of(each).attribute != "" or each.attribute:
        at.at("attribute").within(each.attribute, fields.AttributeName)
    at.refuse_fault(kind_of(each).fault_in(form) or _fault_of_pairs(each, form))


def _fault_of_pairs(each: Criterion | Rule, form: Format) -> Fault:
    """Return what is wrong with the pairs that a criterion or a rule compares."""
    allowed = kind_of(each).pairs_allowed
    if not allowed:
        if each.pairs is not None:
            kinds = [kind for kind, other in KINDS.items() if other.pairs_allowed]
            named = " or ".join(f'"{kind}"' for kind in kinds)
            return "pairs", f"goes only with kind = {named}"
        return None
    pairs = pairs_of(each)
    if pairs not in allowed:
        return "pairs", f"must be one of {', '.join(allowed)}, got {pairs!s:.40}"
    if pairs == "enemies" and len(form.players) < 2:
        return "pairs", '= "enemies" compares teams, and this queue has one'
    if pairs == "teammates" and max(form.players) < 2:
        return "pairs", '= "teammates" compares players of one team, and here each plays alone'
    return None


def _fault_of_criterion(criterion: Criterion) -> Fault:
    keys = kind_of(criterion).criterion_keys
    assert keys is not None
    if "scale" not in keys.names and criterion.scale != Scale():
        return "scale", f'does not go with kind = "{criterion.kind}", which is in [0, 1] by itself'
    return None


def _fault_of_rule(rule: Rule) -> Fault:
    """Return a fault of a unit or a limit that does not suit the kind of a rule."""
    if rule.kind not in NUMERIC and rule.unit != "difference":
        return "unit", f'does not go with kind = "{rule.kind}"'
    if rule.unit == "percentile" and rule.limit > 1.0:
        allowed = "between 0 and 1 if unit is percentile, such as 0.05 for 5 %"
        return "limit", f"must be {allowed}, got {rule.limit}"
    if rule.unit != "difference":
        return None
    limit = kind_of(rule).limit or Limit("")
    if limit.is_count:
        if not 1.0 <= rule.limit <= limit.most or rule.limit % 1.0:
            return "limit", f"must be a whole number from 1 to {limit.most:g}, got {rule.limit:g}"
    elif rule.limit > limit.most:
        allowed = f'between 0 and {limit.most:g} with kind = "{rule.kind}"'
        return "limit", f"must be {allowed}, got {rule.limit:g}"
    return None


def _check_expansion(expand: Expansion, limit: float, wait_end: float | None, at: Place) -> None:
    if expand.max is not None and expand.max < limit:
        at.at("max").refuse_value(f"at least the limit {limit:g}", expand.max)
    for key, points in (("steps", expand.steps), ("curve", expand.curve)):
        if points:
            _check_points(points, limit, at.at(key), is_steps=key == "steps")
            _check_reach(points, wait_end, at.at(key), is_line=key == "curve")


def _check_points(points: Points, limit: float, at: Place, *, is_steps: bool) -> None:
    """Refuse points that go back in time, or whose limit falls (steps: does not grow)."""
    waits = fields.Seconds if is_steps else fields.Wait
    if len(points) > STEPS_MAX:
        at.refuse(f"must have at most {STEPS_MAX} pairs [wait, limit], got {len(points):,}")
    last_wait, last_limit = 0.0 if is_steps else -1.0, limit
    for index, (wait, wider) in enumerate(points):
        here = at.at(index)
        if not is_in(wait, waits):
            here.refuse(f"has wait {show(wait)} s; waits must be {range_of(waits)}")
        if wait <= last_wait:
            here.refuse(
                f"has wait {wait:g} s; waits must increase, and the one before is {last_wait:g} s"
            )
        if not is_in(wider, fields.Limit):
            here.refuse(f"has limit {show(wider)}; limits must be {range_of(fields.Limit)}")
        if is_steps and wider <= last_limit:
            here.refuse(
                f"has limit {wider:g}; limits must increase, and the one before is {last_limit:g}"
            )
        if wider < last_limit:
            here.refuse(f"has limit {wider:g}; a limit may not fall, it was {last_limit:g}")
        last_wait, last_limit = wait, wider


def _check_reach(points: Points, wait_end: float | None, at: Place, *, is_line: bool) -> None:
    """Refuse points that no ticket reaches; a line is used before its end is reached."""
    if wait_end is None:
        return
    waits = [wait for wait, _ in points]
    starts = [0.0, *waits[:-1]] if is_line else waits
    for index, (start, wait) in enumerate(zip(starts, waits, strict=True)):
        if start >= wait_end:
            at.at(index).refuse(f"at {wait:g} s can never be reached: wait_max is {wait_end:g} s")
