"""The instant from which a ticket may join others, by its latency to the region of the match.

`PairTable` leaves regions out, since each ticket has its own. Here they are columns, added when a
ticket names a new region, so that one pass compares many waiting tickets with a whole match.
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
"""Most places with a column; if tickets name more, the table gives no bounds any more."""


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
        """Return the present number of columns."""
        return len(self._places)

    @property
    def says_something(self) -> bool:
        """Return whether there is such a rule and all places seen so far have columns."""
        return bool(self._limits) and not self._is_full

    @property
    def told(self) -> Sequence[RuleLimit]:
        """Return the rules that it covers completely."""
        return self._rules if self.says_something else ()

    def row(self, ticket: Ticket) -> list[float]:
        """Return a ticket's worst latency to each place; inf for one that some player lacks."""
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
        """Return the instant from which each ticket may join the seated ones, never too late.

        Args:
            seated: The rows of the seated tickets.
            youngest: When the last of them entered.
            enqueued_at: When each ticket entered; shape (tickets,).
            rows: From `row`, padded with inf; shape (columns, tickets).

        Complexity:
            O(tickets * places).
        """
        at: Floats = np.full(len(enqueued_at), -math.inf)
        if not self.says_something:
            return at
        if len(rows) < self.columns:
            # Seated tickets may name places that no waiting ticket has named.
            rows = np.vstack([rows, np.full((self.columns - len(rows), rows.shape[1]), math.inf)])
        worst = np.array([each + [math.inf] * (self.columns - len(each)) for each in seated])
        younger = np.maximum(enqueued_at, youngest)
        for each in self._limits:
            columns = [c for (name, _), c in self._places.items() if name == each.attribute]
            ways = np.maximum(rows[columns], worst[:, columns].max(axis=0)[:, None])
            waits = each.when(ways.min(axis=0, initial=math.inf))
            if each.accepts_for_all:
                # Another player of the match may accept it, unless no wait ever suffices.
                np.maximum(at, np.where(waits == math.inf, math.inf, -math.inf), out=at)
            else:
                np.maximum(at, younger + waits, out=at)
        return at


class _RegionColumns:
    """The columns of one rule on latencies."""

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
