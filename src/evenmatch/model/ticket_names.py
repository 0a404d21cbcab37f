"""Attributes of other matchmakers whose names mean something else in our tickets.

A ticket's `latency` is its map of latencies, its `side` a team that it asks for; recordings have
columns such as `at` and `size`, and a dot there parts a map from its key. So tickets have these
attributes under other names, and each of those leads back to the one that was declared.
"""

from __future__ import annotations

import re

from evenmatch.model.ticket import LATENCY

RESERVED = ("at", LATENCY, "leaves_at", "player", "queues", "roles", "side", "size", "ticket")
"""Names that have another meaning in our tickets and recordings."""
ENDING = "_value"
MISREAD = re.compile("~(?=[01])")
"""A tilde that would be taken for one that stands for a dot, or for a tilde."""


def ticket_name(declared: str) -> str:
    """Return the name that an attribute has in tickets.

    >>> ticket_name("skill"), ticket_name("side"), ticket_name("side_value"), ticket_name("a.b")
    ('skill', 'side_value', 'side_value_value', 'a~1b')
    """
    if _is_reserved(declared):
        return declared + ENDING
    # Without its dots a name must differ from all others, so it is escaped as in JSON pointers,
    # but only where it must be.
    return MISREAD.sub("~0", declared).replace(".", "~1")


def declared_name(name: str) -> str:
    """Return the declared name of an attribute by its name in tickets.

    >>> declared_name("side_value"), declared_name("a~1b")
    ('side', 'a.b')
    """
    if _is_reserved(name):
        return name.removesuffix(ENDING)
    return name.replace("~1", ".").replace("~0", "~")


def origin_of(name: str) -> str:
    """Return the end of a sentence about a rule set's attribute, by its name in tickets.

    >>> origin_of("skill"), origin_of("side_value")
    ('', " (the rule set's side is called so in tickets)")
    """
    declared = declared_name(name)
    return "" if declared == name else f" (the rule set's {declared} is called so in tickets)"


def _is_reserved(name: str) -> bool:
    while name.endswith(ENDING):
        name = name.removesuffix(ENDING)
    return name in RESERVED
