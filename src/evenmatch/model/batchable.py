"""Which queues have tickets that solvers of batches can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenmatch.model.queue import Queue

CRITERIA = (
    "spread",
    "mean_gap",
    "imbalance",
    "rematch",
    "latency",
    "party_parity",
    "host_options",
    "same",
    "overlap",
    "fullness",
    "role_rank",
)
RULES = (
    "spread",
    "mean_gap",
    "imbalance",
    "rematch",
    "latency",
    "same",
    "overlap",
    "avoid",
    "pair_limit",
    "household_limit",
    "fullness",
)
"""Kinds that a batch knows. A search that did not know a rule would plan what it forbids."""


def batch_problem(queue: Queue) -> str | None:
    """Return why a batch cannot hold the queue's tickets, as the end of a sentence, or None."""
    if queue.format.insisted:
        return "has sides, which tickets may insist on"
    if queue.format.sides:
        return "has sides, which tickets may wish for"
    if not queue.criteria:
        return "has no criteria"
    kinds: list[str] = [c.kind for c in queue.criteria if c.kind not in CRITERIA]
    kinds += [r.kind for r in queue.rules if r.kind not in RULES]
    if kinds:
        return f"uses {kinds[0]}"
    if any(
        rule.kind == "household_limit" and (rule.limit >= 2.0 or rule.expand is not None)
        for rule in queue.rules
    ):
        return "admits several players of a household"
    if any(c.scale.kind == "none" for c in queue.criteria):
        return "weighs raw gaps (scale none)"
    scales = {
        (c.attribute, c.best, c.worst, c.pairs == "region")
        for c in queue.criteria
        if c.kind == "latency"
    }
    if len({scale[:3] for scale in scales}) > 1:
        return "weighs latencies on several scales"
    compared = [each.attribute for each in queue.criteria if each.kind == "latency"]
    compared += [each.attribute for each in queue.rules if each.kind == "latency"]
    if len(set(compared)) > 1:
        return "compares latencies of several attributes"
    for kind in ("rematch", "host_options", "party_parity", "role_rank"):
        if sum(c.kind == kind for c in queue.criteria) > 1:
            return f"has several criteria {kind}"
    return None
