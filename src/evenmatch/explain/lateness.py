"""What a match before a ticket's deadline would take, where the limits come too late for it."""

from __future__ import annotations

import numpy as np

from evenmatch.explain.changes import nice_above
from evenmatch.explain.pairwise import Obstacle, Sight
from evenmatch.explain.tolerances import limit_now
from evenmatch.explain.waiting_table import TraitTable
from evenmatch.explain.words import joined, limit_text, rule_name
from evenmatch.model.explanation import Prospect
from evenmatch.model.queue import NUMERIC

SOONER = "to play sooner it would take others who fit better, or limits that widen faster"


def in_time(crowd: TraitTable, sight: Sight, later: Prospect, deadline: float) -> str:
    """Return what the first match would take to be legal in time, as a clause.

    Args:
        crowd: The table.
        sight: How the ticket stands to all others.
        later: The first match with it, legal after the deadline.
        deadline: When the ticket's wait is over.

    Complexity:
        O(tickets of the match) for each rule.
    """
    own = crowd.tickets[sight.row].id
    rows = np.array([crowd.row_of(each) for each in later.tickets if each != own], dtype=np.intp)
    wanted = []
    for obstacle in sight.obstacles:
        if obstacle is not None:
            late = rows[obstacle.ready_at[rows] > deadline]
            if len(late):
                worst = int(late[np.argmax(obstacle.needs[late])])
                wanted.append(_wanted(obstacle, crowd, (sight.row, worst), deadline))
    # Where only two of the others are kept apart, nothing is known here of the rule that does it.
    who = " with people" if crowd.queue.on_deadline == "bots" else ""
    return f"to play{who} in time it would take {joined(wanted)}" if wanted else SOONER


def _wanted(obstacle: Obstacle, crowd: TraitTable, pair: tuple[int, int], deadline: float) -> str:
    """Return what one rule would have to allow two tickets by a deadline."""
    rule = obstacle.rule
    if rule.kind not in (*NUMERIC, "latency"):
        return f"a match without {rule_name(rule)}"
    need = limit_text(rule, nice_above(float(obstacle.needs[pair[1]]), rule))
    limits = [limit_now(rule, deadline - crowd.tickets[row].enqueued_at) for row in pair]
    reached = limit_text(rule, min(limits) if rule.accept == "both" else max(limits))
    return f"{rule_name(rule)} of {need} by then instead of {reached}"
