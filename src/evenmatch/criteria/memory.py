"""What the engine has to remember of players' matches, since criteria and rules ask for it."""

from __future__ import annotations

from evenmatch.criteria.registry import kind_of
from evenmatch.model.queue import Criterion, Queue, Rule

Given = tuple[Criterion | Rule, ...]


def matches_remembered(queue: Queue) -> int:
    """Return how many of a player's last matches a queue asks for; 0 for none."""
    given: Given = (*queue.criteria, *queue.rules)
    return max([each.matches for each in given if kind_of(each).memory == "matches"], default=0)


def meeting_rules(queue: Queue) -> tuple[Rule, ...]:
    """Return the rules of a queue for which the meetings of players are counted."""
    return tuple([rule for rule in queue.rules if kind_of(rule).memory == "meetings"])


def remembering_kind(queue: Queue) -> str:
    """Return a kind of the queue that looks at earlier matches; "" if none does."""
    given: Given = (*queue.criteria, *queue.rules)
    found = [(kind_of(each).memory, each.kind) for each in given if kind_of(each).memory]
    return min(found)[1] if found else ""
