"""What criteria and rules require the engine to remember of players' matches."""

from __future__ import annotations

from evenmatch.criteria.registry import KINDS
from evenmatch.model.queue import Queue, Rule

BY_MATCHES = frozenset(kind for kind, each in KINDS.items() if each.memory == "matches")
BY_MEETINGS = frozenset(kind for kind, each in KINDS.items() if each.memory == "meetings")


def matches_remembered(queue: Queue) -> int:
    """Return how many of a player's last matches a queue needs; 0 for none."""
    deepest = 0
    for criterion in queue.criteria:
        if criterion.kind in BY_MATCHES:
            deepest = max(deepest, criterion.matches)
    for rule in queue.rules:
        if rule.kind in BY_MATCHES:
            deepest = max(deepest, rule.matches)
    return deepest


def meeting_rules(queue: Queue) -> tuple[Rule, ...]:
    """Return the rules of a queue that need a count of meetings."""
    return tuple([rule for rule in queue.rules if rule.kind in BY_MEETINGS])


def remembering_kind(queue: Queue) -> str:
    """Return a kind of the queue that needs earlier matches, "" if there is none.

    A kind that counts matches comes before one that counts meetings.
    """
    kinds = [criterion.kind for criterion in queue.criteria] + [rule.kind for rule in queue.rules]
    found = [kind for memory in (BY_MATCHES, BY_MEETINGS) for kind in kinds if kind in memory]
    return found[0] if found else ""
