"""The instant from which a ticket may join others, by its latency to the region of the match.

`PairTable` leaves regions out, since each ticket knows its own. Here they are columns that are
added as tickets name them, so that many who wait are compared with a whole match in one pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from evenmatch.criteria.base import Form
from evenmatch.criteria.expansion import inverse_table
from evenmatch.criteria.kinds.latency import worst_of
from evenmatch.criteria.rules import RuleLimit, Rules
from evenmatch.criteria.scales import Floats
from evenmatch.model.ticket import Ticket

COLUMNS_MOST = 64
"""Places that the table tells apart; where tickets name more, it says nothing more."""


class RegionTable:
    """The rules of a queue on latencies to one region, for whole columns of tickets.

    Args:
        rules: Those of one queue.
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = [each for each in rules.widening_limits if _is_told(each, rules)]
        self._limits = [_RegionColumns(each) for each in self._rules]
        self._places: dict[tuple[str, str], int] = {}
        self._is_full = False

    @property
    def columns(self) -> int:
        """Return how many columns there are by now."""
        return len(self._places)

    @property
    def says_something(self) -> bool:
        """Return whether there is such a rule, and the tickets seen so far fit into the columns."""
        return bool(self._limits) and not self._is_full

    @property
    def told(self) -> Sequence[RuleLimit]:
        """Return the rules of which it tells all."""
        return self._rules if self.says_something else ()

    def row(self, ticket: Ticket) -> list[float]:
        """Return a ticket's worst latency to each place; inf for one that not all of it know."""
        found = [math.inf] * len(self._places)
        for attribute in {each.attribute for each in self._limits}:
            for place, ms in worst_of(ticket, attribute).items():
                column = self._places.get((attribute, place))
                if column is not None:
                    found[column] = ms
                elif len(self._places) < COLUMNS_MOST:
                    self._places[attribute, place] = len(self._places)
                    found.append(ms)
                else:
                    self._is_full = True
        return found

    def ready_at(
        self, seated: Sequence[list[float]], youngest: float, enqueued_at: Floats, rows: Floats
    ) -> Floats:
        """Return the instant from which each ticket may join those who are seated, never too late.

        Args:
            seated: The rows of those whom it joins.
            youngest: When the last of them entered.
            enqueued_at: When each ticket entered; shape (tickets,).
            rows: By `row`, filled up with inf; shape (columns, tickets).

        Complexity:
            O(tickets * places).
        """
        at: Floats = np.full(len(enqueued_at), -math.inf)
        if not self.says_something:
            return at
        if len(rows) < self.columns:
            # Those who are seated name places that nobody who waits has named.
            rows = np.vstack([rows, np.full((self.columns - len(rows), rows.shape[1]), math.inf)])
        worst = np.array([each + [math.inf] * (self.columns - len(each)) for each in seated])
        younger = np.maximum(enqueued_at, youngest)
        for each in self._limits:
            columns = [c for (name, _), c in self._places.items() if name == each.attribute]
            ways = np.maximum(rows[columns], worst[:, columns].max(axis=0)[:, None])
            waits = each.when(ways.min(axis=0, initial=math.inf))
            if each.accepts_for_all:
                # Somebody of the match may accept it, unless no wait ever does.
                np.maximum(at, np.where(waits == math.inf, math.inf, -math.inf), out=at)
            else:
                np.maximum(at, younger + waits, out=at)
        return at


class _RegionColumns:
    """One rule on latencies."""

    def __init__(self, limit: RuleLimit) -> None:
        self.attribute = limit.rule.attribute
        self.accepts_for_all = limit.rule.accept == "either"
        self.when: Callable[[Floats], Floats] = inverse_table(limit.rule.limit, limit.rule.expand)


def _is_told(limit: RuleLimit, rules: Rules) -> bool:
    compared = limit.comparison
    return (
        compared.form is Form.PLACES
        and compared.pairs == "region"
        and not rules.queue.format.is_duel
    )
