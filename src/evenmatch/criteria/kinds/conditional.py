"""The kind of a general condition over the teams of a match: `condition`."""

from __future__ import annotations

import math

from evenmatch.criteria.base import Comparison, Form, Seats
from evenmatch.criteria.condition.ages import Conditions
from evenmatch.criteria.sentences import seconds
from evenmatch.model.condition import waits_of
from evenmatch.model.queue import Criterion, Queue, Rule


class Conditional(Comparison):
    """A rule that holds at some ages of a match, and may cease to hold.

    It is stated by values, not by keys of a file: rule sets of other matchmakers are read into it.
    `Rules` evaluates all conditions of a queue at once, by `criteria.condition.ages`; this class
    gives what one rule says of a match that has waited for ever.
    """

    attribute = ""
    form = Form.CONDITION
    is_kept = True
    gap_most = 1.0
    is_by_team = True
    compared = "a condition over the teams"

    def __init__(self, definition: Criterion | Rule, queue: Queue) -> None:
        super().__init__(definition, queue)
        assert isinstance(definition, Rule)
        self._conditions = Conditions(
            () if definition.condition is None else (definition.condition,)
        )

    def gap(self, teams: Seats) -> float:
        """Return 0 if the condition holds once all its changes are over; else 1."""
        intervals = self._conditions.intervals(teams)
        return 0.0 if intervals and intervals[-1].end == math.inf else 1.0

    def pair_gap(self, one: object, two: object) -> float:
        """Return 0: two tickets alone say nothing about a match of several."""
        del one, two
        return 0.0

    @classmethod
    def sentence(cls, rule: Rule) -> str:
        """Return what a rule demands, by its name, and when that changes."""
        assert rule.condition is not None
        name = rule.condition.name
        if " " in name:
            # Names that a compiler gave to its own conditions; names of rules stay as they are.
            name = name[0].upper() + name[1:]
        waits = waits_of(rule.condition.test)[1:]
        if not waits:
            return f"{name} must hold."
        when = ", ".join([seconds(wait) for wait in waits])
        clock = rule.condition.clock
        whose = "each" if clock == "each" else f"the {clock}"
        return (
            f"{name} must hold as it stands at the age of {whose} ticket of the match; "
            f"it changes at {when}."
        )

    @classmethod
    def limit_name(cls, attribute: str, kind: str) -> str:
        """Return the name of a rule of the kind when it keeps a ticket waiting."""
        del attribute, kind
        return "the conditions of the rule set"

    @classmethod
    def warning_without_deadline(cls, rule: Rule) -> str:
        """Return a warning that some may wait for ever; the same for all conditions of a queue."""
        del rule
        return (
            "no deadline, and the rule set may never allow a match for some: they may wait for "
            "ever; set wait_max"
        )
