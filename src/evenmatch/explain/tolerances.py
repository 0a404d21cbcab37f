"""What each rule accepts of one ticket now and later, and which tickets it keeps away."""

from __future__ import annotations

import itertools
import math

import numpy as np

from evenmatch.criteria.expansion import curve_points, limit_at, round_up
from evenmatch.explain.pairwise import Obstacle, PairwiseView
from evenmatch.explain.waiting_table import Mask, PairColumnTable
from evenmatch.model.condition import waits_of
from evenmatch.model.explanation import Tolerance
from evenmatch.model.queue import Expansion, Rule


def tolerances(table: PairColumnTable, pairwise: PairwiseView) -> tuple[Tolerance, ...]:
    """Return what each rule of the queue accepts, and which tickets it blocks."""
    born = table.tickets[pairwise.row].enqueued_at
    alone = pairwise.others & pairwise.fits & (pairwise.blockers() == 1)
    return tuple(
        [
            _tolerance(rule, (obstacle, alone), pairwise, born)
            for rule, obstacle in zip(table.queue.rules, pairwise.obstacles, strict=True)
        ]
    )


def limit_now(rule: Rule, waited: float) -> float:
    """Return a rule's limit after a wait; a step counts from the instant that the engine uses."""
    expand = rule.expand
    if expand is None or not expand.steps:
        return limit_at(rule.limit, expand, waited)
    top = math.inf if expand.max is None else expand.max
    come = [limit for wait, limit in expand.steps if round_up(wait) <= waited]
    return min(come[-1], top) if come else rule.limit


def final_limit(rule: Rule) -> float | None:
    """Return the final limit of a rule; None if it grows for ever."""
    expand = rule.expand
    if expand is None:
        return rule.limit
    top = math.inf if expand.max is None else expand.max
    points = expand.steps or expand.curve
    if points:
        return min(points[-1][1], top)
    if expand.rate <= 0.0:
        return rule.limit
    return None if top == math.inf else top


def next_change(rule: Rule, waited: float) -> tuple[float, float | None] | None:
    """Return the wait at which a limit changes next, and its new value; None if it never does.

    If the limit grows continuously, the wait is the given one and the new value is None.
    """
    if rule.condition is not None:
        changes = [round_up(wait) for wait in waits_of(rule.condition.test)]
        return next(((wait, None) for wait in changes if wait > waited), None)
    expand = rule.expand
    final = final_limit(rule)
    if expand is None or (final is not None and limit_now(rule, waited) >= final):
        return None
    if expand.steps:
        top = math.inf if expand.max is None else expand.max
        for wait, limit in expand.steps:
            if round_up(wait) > waited:
                return round_up(wait), min(limit, top)
        return None
    return _next_slope(rule, expand, waited)


def _next_slope(rule: Rule, expand: Expansion, waited: float) -> tuple[float, float | None] | None:
    """Return the next instant from which a limit grows by a rate or along a curve."""
    if not expand.curve:
        return waited, None
    for (start, low), (end, high) in itertools.pairwise(curve_points(rule.limit, expand)):
        if high > low and end > waited:
            return max(waited, round_up(start)), None
    return None


def _tolerance(
    rule: Rule, met: tuple[Obstacle | None, Mask], pairwise: PairwiseView, born: float
) -> Tolerance:
    """Return what one rule accepts, given the tickets blocked by it, and by it alone."""
    obstacle, by_one = met
    waited = pairwise.now - born
    change = next_change(rule, waited)
    blocks = theirs = alone = forever = 0
    if obstacle is not None:
        blocked = obstacle.blocked & pairwise.others
        blocks = int(np.count_nonzero(blocked))
        theirs = int(np.count_nonzero(obstacle.blocked_by_theirs & pairwise.others))
        alone = int(np.count_nonzero(blocked & by_one))
        forever = int(np.count_nonzero(blocked & (obstacle.ready_at == math.inf)))
    return Tolerance(
        rule=rule.kind,
        attribute=rule.attribute if rule.condition is None else rule.condition.name,
        unit=rule.unit,
        accept=rule.accept,
        limit=limit_now(rule, waited),
        next_at=None if change is None else born + change[0],
        next_limit=None if change is None else change[1],
        final=final_limit(rule),
        is_pairwise=obstacle is not None and rule.condition is None,
        blocks=blocks,
        blocks_by_theirs=theirs,
        blocks_alone=alone,
        blocks_forever=forever,
    )
