"""From the tickets of a queue of single players to the arrays of `solvers.steps.waiting`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from evenmatch.criteria.base import Form
from evenmatch.criteria.expansion import curve_points, widest
from evenmatch.criteria.registry import NUMERIC, form_of, numeric_kind
from evenmatch.criteria.rules import side_of
from evenmatch.criteria.scales import Floats, scale_value
from evenmatch.criteria.values import number, places
from evenmatch.errors import ConfigError
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.ticket import Ticket, attribute_of
from evenmatch.solvers.matching.pairs import CAPPED, LOG, RAW
from evenmatch.solvers.steps.waiting import BY_CURVE, BY_RATE, BY_STEPS, NEVER

Table = tuple[Floats, Floats, Floats, Floats]
"""(terms, gates, rules, steps), see `solvers.steps.waiting`."""


class StepColumns:
    """The rows of a queue's tickets: scaled values, then what gates compare, then what rules do.

    Args:
        queue: With all its rules, those of the policy included.
        policy: The policy's name for messages.

    Raises:
        ConfigError: A criterion or a rule compares something else than numbers or equality.
    """

    def __init__(self, queue: Queue, policy: str) -> None:
        kinds: list[str] = [criterion.kind for criterion in queue.criteria]
        kinds += [
            f"{rule.kind} with expand" if _is_word(rule) else rule.kind
            for rule in queue.rules
            if not is_code(rule)
        ]
        for kind in kinds:
            if kind not in NUMERIC:
                raise ConfigError(
                    f"policy {policy} does not support {kind}, which queue {queue.name} uses: "
                    f"choose greedy or window"
                )
        if any(rule.unit == "percentile" for rule in queue.rules):
            raise ConfigError(
                f"policy {policy} does not support unit = percentile, which a rule of queue "
                f"{queue.name} uses: choose greedy or window"
            )
        self._queue = queue.name
        self._criteria = queue.criteria
        self._sides = {name: float(code) for code, name in enumerate(queue.format.strict_sides, 1)}
        self._same = [rule for rule in queue.rules if _is_word(rule)]
        self._gated = [rule for rule in queue.rules if is_gated(rule)]
        self._compared = [rule for rule in queue.rules if not _is_word(rule)]
        # Values of those who wait, each with its code and by how many it is held.
        self._codes: dict[tuple[str, object], tuple[int, int]] = {}
        self._next_code = 0
        self.table = self._table(queue)

    def side(self, ticket: Ticket) -> float:
        """Return the code of the side that a ticket insists on, 0 if none."""
        return self._sides.get(side_of(ticket), 0.0) if self._sides else 0.0

    def row(self, ticket: Ticket) -> list[float]:
        """Return a ticket's values, in the order of the rows after `FIRST_VALUE`."""
        values = [self._scaled(criterion, ticket) for criterion in self._criteria]
        values += [self._code(rule.attribute, ticket) for rule in self._same]
        values += [number(ticket, rule.attribute) for rule in self._gated]
        values += [number(ticket, rule.attribute) for rule in self._compared]
        return values

    def release(self, ticket: Ticket) -> None:
        """Forget what is remembered for a ticket that leaves."""
        for rule in self._same:
            key = _key(rule.attribute, ticket)
            code, held = self._codes[key]
            if held > 1:
                self._codes[key] = (code, held - 1)
            else:
                del self._codes[key]

    def _scaled(self, criterion: Criterion, ticket: Ticket) -> float:
        """Return a ticket's value as a criterion compares it."""
        scale = criterion.scale
        if scale.kind == "percentile":
            return places(ticket, self._queue, criterion.attribute, scale.sample)[0]
        return scale_value(scale, number(ticket, criterion.attribute))

    def _code(self, attribute: str, ticket: Ticket) -> float:
        """Return a number for a value, equal for equal values."""
        key = _key(attribute, ticket)
        code, held = self._codes.get(key, (self._next_code, 0))
        self._next_code += not held
        self._codes[key] = (code, held + 1)
        return float(code)

    def _table(self, queue: Queue) -> Table:
        terms = np.array([term(c, queue) for c in queue.criteria], dtype=np.float64)
        gates = [0.0] * len(self._same) + [widest(r.limit, r.expand) for r in self._gated]
        steps: list[tuple[float, float]] = []
        rules = []
        for rule in self._compared:
            first = len(steps)
            form = _form(rule)
            if rule.expand is not None and form in (BY_STEPS, BY_CURVE):
                steps += _steps(rule)
            expand = rule.expand
            top = math.inf if expand is None or expand.max is None else expand.max
            rate = 0.0 if expand is None else expand.rate
            relative = float(rule.unit == "relative")
            either = float(rule.accept == "either")
            rules.append((relative, either, rule.limit, rate, top, form, first, len(steps)))
        return (
            terms.reshape(len(queue.criteria), 5),
            np.array(gates, dtype=np.float64),
            np.array(rules, dtype=np.float64).reshape(len(rules), 8),
            np.ascontiguousarray(np.array(steps, dtype=np.float64).reshape(len(steps), 2).T),
        )


def term(criterion: Criterion, queue: Queue) -> tuple[float, float, float, float, float]:
    """Return a criterion as a term of `matching.pairs`: (weight, shape, top, knee, step)."""
    weight = queue.format.k / len(queue.criteria) if criterion.weight is None else criterion.weight
    scale = criterion.scale
    shape = {"capped": CAPPED, "log": LOG, "none": RAW}.get(scale.kind, CAPPED)
    top = scale.max if scale.kind in ("capped", "log") else 1.0
    return weight, shape, top, scale.knee, numeric_kind(criterion).step_of(criterion)


def _is_word(rule: Rule) -> bool:
    return form_of(rule) is Form.WORD


def is_code(rule: Rule) -> bool:
    """Return whether a rule says for ever that codes are equal."""
    return _is_word(rule) and rule.expand is None


def is_gated(rule: Rule) -> bool:
    """Return whether a rule has a gap that it never accepts, whoever compares."""
    return not _is_word(rule) and rule.unit != "relative"


def _form(rule: Rule) -> float:
    if rule.expand is None:
        return NEVER
    if rule.expand.steps:
        return BY_STEPS
    if rule.expand.curve:
        return BY_CURVE
    return BY_RATE if rule.expand.rate > 0.0 else NEVER


def _steps(rule: Rule) -> Sequence[tuple[float, float]]:
    assert rule.expand is not None
    top = math.inf if rule.expand.max is None else rule.expand.max
    if rule.expand.steps:
        return [(wait, min(limit, top)) for wait, limit in rule.expand.steps]
    return curve_points(rule.limit, rule.expand)


def _key(attribute: str, ticket: Ticket) -> tuple[str, object]:
    value = attribute_of(ticket, ticket.players[0], attribute)
    return attribute, tuple(value.items()) if isinstance(value, dict) else value
