"""The instant from which two tickets may be in one match, for whole columns of pairs.

`Rules.pair_ready_at` is exact for two tickets. This module applies the rules that compare numbers
(`spread`) and single words (`same`) to many pairs at once; other rules are left out, so the result
is never too late, and it is exact if there are no other rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from hashlib import blake2b

import numpy as np

from evenmatch.criteria.base import Comparison, Form, NumberGap
from evenmatch.criteria.expansion import inverse_table
from evenmatch.criteria.rules import PERCENTILE_DIGITS, RuleLimit, Rules
from evenmatch.criteria.scales import Floats
from evenmatch.model.ticket import Ticket, attribute_of

CODE_BYTES = 6
"""Bytes of a word's code; a collision of two words is not to be expected in a lifetime."""
UNKNOWN = math.inf
"""The code of a value that is neither word nor number: it may equal anything."""
MIXED = math.nan
"""The code of a party whose players differ: it equals nothing."""
PERCENTILE_SLACK = 10.0**-PERCENTILE_DIGITS
"""How far rounding may lower a gap of percentiles."""


class PairTable:
    """`Rules.pair_ready_at` of many pairs, as far as columns of numbers determine it.

    Args:
        rules: Those of one queue.
    """

    def __init__(self, rules: Rules) -> None:
        self._told = [
            _RuleColumns(each, rules) for each in rules.widening_limits if is_told(each, rules)
        ]
        limits = [
            each
            for each in rules.widening_limits
            if is_told(each, rules) or says_nothing(each, rules)
        ]
        self._untold = [each for each in rules.widening_limits if each not in limits]
        # Sides bind two tickets only in a duel.
        self._sides_count = bool(rules.sides) and rules.queue.format.is_duel
        self.columns = 1 + 2 * len(self._told)
        self.nobody = (-math.inf, *[value for each in self._told for value in each.nobody])

    @property
    def is_exact(self) -> bool:
        """Return whether the columns are exact for all tickets seen so far."""
        return self.is_exact_beside(())

    def is_exact_beside(self, limits: Sequence[RuleLimit]) -> bool:
        """Return the same if some rules are covered elsewhere."""
        is_whole = not self._sides_count and all(each in limits for each in self._untold)
        return is_whole and all(each.is_exact for each in self._told)

    def row(self, ticket: Ticket) -> tuple[float, ...]:
        """Return the compared values of a ticket: its age, then two numbers for each rule."""
        return (ticket.enqueued_at, *[value for each in self._told for value in each.pair(ticket)])

    def ready_at(self, some: Floats, others: Floats) -> Floats:
        """Return the instant from which pairs may play; never later than `Rules.pair_ready_at`.

        Args:
            some: Rows of tickets, or `nobody`; the first axis is that of a row's numbers.
            others: Rows of the tickets to compare with; the other axes broadcast.

        Complexity:
            O(rules) passes over as many numbers as there are pairs.
        """
        younger = np.maximum(some[0], others[0])
        at: Floats = younger
        for number, each in enumerate(self._told):
            columns = slice(1 + 2 * number, 3 + 2 * number)
            waits = each.waits(some[columns], others[columns])
            if each.counts_from == "younger":
                waits += younger
            elif each.counts_from == "older":
                waits += np.minimum(some[0], others[0])
            else:
                # Another player of the match may accept it, unless no wait ever suffices.
                waits = np.where(waits == math.inf, math.inf, -math.inf)
            at = np.maximum(at, waits)
        return at


class _RuleColumns:
    """The columns of one rule."""

    def __init__(self, limit: RuleLimit, rules: Rules) -> None:
        rule = limit.rule
        self._limit = limit
        self._is_word = limit.comparison.form is Form.WORD
        self._slack = PERCENTILE_SLACK if rule.unit == "percentile" else 0.0
        self._when: Callable[[Floats], Floats] = inverse_table(rule.limit, rule.expand)
        self._apart = limit.when(1.0)
        self.is_exact = not self._slack
        self.nobody = (UNKNOWN, UNKNOWN) if self._is_word else (math.inf, -math.inf)
        self.counts_from = "younger"
        if rule.accept == "either":
            self.counts_from = "older" if rules.queue.format.is_duel else "nobody"

    def pair(self, ticket: Ticket) -> Sequence[float]:
        """Return the least and the largest value of a ticket, or twice its word's code."""
        if not self._is_word:
            values = self._limit.values(ticket)
            return min(values), max(values)
        name = self._limit.rule.attribute
        codes = {code_of(attribute_of(ticket, player, name)) for player in ticket.players}
        code = codes.pop() if len(codes) == 1 else MIXED
        if UNKNOWN in codes or code == UNKNOWN:
            self.is_exact, code = False, UNKNOWN
        return code, code

    def waits(self, some: Floats, others: Floats) -> Floats:
        """Return the wait that each pair's gap needs."""
        if self._is_word:
            one, two = some[0], others[0]
            apart = (one != two) & (one != UNKNOWN) & (two != UNKNOWN)
            return np.where(apart, self._apart, 0.0)
        gaps = np.maximum(some[1], others[1]) - np.minimum(some[0], others[0])
        gaps = np.maximum(gaps - self._slack, 0.0) if self._slack else gaps
        return self._when(gaps.ravel()).reshape(gaps.shape)


def is_told(limit: RuleLimit, rules: Rules) -> bool:
    """Return whether two numbers of each ticket determine a rule for any two tickets."""
    compared = limit.comparison
    if compared.form is Form.WORD:
        return True
    is_pairwise = rules.queue.format.is_duel or compared.number_gap is NumberGap.WIDEST
    return compared.form is Form.NUMBERS and is_pairwise and limit.rule.unit != "relative"


def says_nothing(limit: RuleLimit, rules: Rules) -> bool:
    """Return whether a rule constrains no two tickets of a larger match."""
    if rules.queue.format.is_duel:
        return False
    compared = limit.comparison
    if compared.form is Form.NUMBERS:
        return compared.number_gap is not NumberGap.WIDEST
    return type(compared).pair_gap is Comparison.pair_gap


def code_of(value: object) -> float:
    """Return a number for a word, equal for equal words on every machine."""
    if isinstance(value, str):
        return float(int.from_bytes(blake2b(value.encode(), digest_size=CODE_BYTES).digest()))
    return float(value) if isinstance(value, int | float) else UNKNOWN
