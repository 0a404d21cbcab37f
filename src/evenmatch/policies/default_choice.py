"""The default policy of a queue that names none."""

from __future__ import annotations

from evenmatch.criteria.base import Form, NumberGap
from evenmatch.criteria.registry import NUMERIC, form_of, number_gap_of
from evenmatch.model.queue import Queue


def default_policy(queue: Queue) -> str:
    """Return the SPEC for a queue of a file that names none."""
    return default_choice(queue)[0]


def default_choice(queue: Queue) -> tuple[str, str]:
    """Return the SPEC for a queue of a file that names none, and why, as the end of a sentence.

    Where criteria say how good a match is, teams get `rolling` whatever the rules are, and so do
    matches that may start before they are full. Single players get a policy that weighs cost
    against waiting where it knows all that is compared; elsewhere `greedy`, which the rules hold
    back.
    """
    if any(rule.condition is not None for rule in queue.rules):
        return "by_rules", "the default for rule sets: it starts a match as soon as they allow one"
    if queue.wait_price == 0.0:
        return "greedy", "since its wait_price is 0: without a price nothing would end a wait"
    if not queue.criteria:
        return "greedy", "since the queue has no criteria: only waiting counts"
    if max(queue.format.players) > 1:
        return "rolling", "the default for teams"
    if queue.format.is_variable:
        return "rolling", "the default for matches that may start before they are full"
    if any(rule.unit == "percentile" for rule in queue.rules):
        return "greedy", "since the queue has a rule in percentiles"
    ruled = [rule for rule in queue.rules if form_of(rule) is not Form.WORD or rule.expand]
    if queue.format.is_duel:
        others = [c.kind for c in queue.criteria if c.kind not in NUMERIC]
        others += [rule.kind for rule in ruled if rule.kind not in NUMERIC]
        if not others:
            return "price", "the default for one against one"
        return "greedy", f"since the queue compares {min(others)}, which price does not support"
    if queue.format.sides:
        return "greedy", "since the queue has sides, which group_price does not support"
    of_players = (NumberGap.WIDEST, NumberGap.PAIRS)
    others = [each.kind for each in queue.criteria if number_gap_of(each) not in of_players]
    others += [each.kind for each in ruled if number_gap_of(each) is not NumberGap.WIDEST]
    if not others:
        return "group_price", "the default for single players"
    return "greedy", f"since the queue compares {min(others)}, which group_price does not support"
