"""One ticket compared with every other: the instant from which each rule lets the two play.

`Rules.pair_ready_at` is the definition; here it is split by rule and by side, for all others at
once. In a duel the result is exact, in larger formats a necessary condition.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy

import msgspec
import numpy as np
from numpy.typing import NDArray

from evenmatch.criteria.expansion import inverse_table
from evenmatch.criteria.rules import PERCENTILE_DIGITS
from evenmatch.criteria.scales import Floats
from evenmatch.explain.pair_columns import PairColumn
from evenmatch.explain.waiting_table import ENQUEUED, KIND, Mask, PairColumnTable
from evenmatch.model.queue import Rule
from evenmatch.model.ticket import Player, Ticket

When = Callable[[Floats], Floats]


class Obstacle(msgspec.Struct, frozen=True, eq=False):
    """The effect of one rule on all other tickets.

    Args:
        rule: The rule.
        needs: The limit that each pair needs, in the rule's unit; shape (tickets,).
        ready_at: The instant from which the rule lets each pair play; inf if never.
        blocked: The tickets that it keeps apart now.
        blocked_by_theirs: Those of them that are within the ticket's own limit, so that only their
            own limits keep them apart.
    """

    rule: Rule
    needs: Floats
    ready_at: Floats
    blocked: Mask
    blocked_by_theirs: Mask


class PairwiseView(msgspec.Struct, frozen=True, eq=False):
    """One ticket compared with all others; every array has shape (tickets,).

    Args:
        row: The ticket's index.
        now: The instant.
        others: The other tickets that were compared.
        fits: Tickets that may be in one match by size, side and roles.
        obstacles: By rule that two tickets alone can break; None for the others.
        ready_at: The instant from which all rules let a pair play; inf if never.
        allowed: Tickets that may play with the ticket now.
    """

    row: int
    now: float
    others: Mask
    fits: Mask
    obstacles: tuple[Obstacle | None, ...]
    ready_at: Floats
    allowed: Mask

    def blockers(self) -> NDArray[np.uint8]:
        """Return how many rules keep each pair apart now."""
        found = np.zeros(len(self.others), dtype=np.uint8)
        for obstacle in self.obstacles:
            if obstacle is not None:
                found += obstacle.blocked
        return found


class PairwiseComparer:
    """Compares single tickets with all others of a table.

    Args:
        table: The table.
    """

    def __init__(self, table: PairColumnTable) -> None:
        self.table = table
        self._whens = [when_table(pair_column.definition) for pair_column in table.rules]
        form = table.queue.format
        self._is_duel = form.is_duel
        sizes = [size for size in range(1, max(form.players) + 1) if form.admits(size)]
        # Any number of parties of each size: whether two fit depends on no third ticket.
        self._plenty = self._all_kinds(sizes)
        self._goes_with: dict[tuple[int, int], bool] = {}

    def among(self, rows: Sequence[int]) -> PairwiseComparer:
        """Return a comparer for some of the tickets, numbered in this order."""
        some = copy(self)
        some.table = self.table.among(rows)
        return some

    def look(self, row: int, now: float) -> PairwiseView:
        """Return the comparison of a ticket with all others.

        Complexity:
            O(tickets) for each rule, in whole arrays.
        """
        table = self.table
        others = np.ones(len(table), dtype=np.bool_)
        others[row] = False
        born = table.column(ENQUEUED)
        since = np.maximum(born, born[row])
        ready_at = since
        obstacles: list[Obstacle | None] = []
        for pair_column, when in zip(table.rules, self._whens, strict=True):
            if not pair_column.is_pairwise:
                obstacles.append(None)
                continue
            gaps, left_out = table.gaps(pair_column, row)
            others[left_out] = False
            obstacle = self._meet(pair_column, row, gaps, (when, since, now))
            ready_at = np.maximum(ready_at, obstacle.ready_at)
            obstacles.append(obstacle)
        fits = self._fits(row)
        allowed = others & fits & (ready_at <= now)
        return PairwiseView(row, now, others, fits, tuple(obstacles), ready_at, allowed)

    def accepting(self, pairwise: PairwiseView) -> tuple[Mask, Mask]:
        """Return the tickets within a ticket's limits, and those within whose limits it is.

        If one may accept for all, both count as accepting once the rule lets them play.
        """
        mine, theirs = pairwise.others & pairwise.fits, pairwise.others & pairwise.fits
        born, row = self.table.column(ENQUEUED), pairwise.row
        for obstacle, pair_column, when in zip(
            pairwise.obstacles, self.table.rules, self._whens, strict=True
        ):
            if obstacle is None:
                continue
            if obstacle.rule.accept == "either":
                mine &= ~obstacle.blocked
                theirs &= ~obstacle.blocked
            elif obstacle.rule.unit == "relative":
                gaps = self.table.gaps(pair_column, row)[0]
                own = self.table.means(pair_column)
                mine &= born[row] + when(_shares(gaps, own[row : row + 1])) <= pairwise.now
                theirs &= born + when(_shares(gaps, own)) <= pairwise.now
            else:
                waits = when(obstacle.needs)
                mine &= born[row] + waits <= pairwise.now
                theirs &= born + waits <= pairwise.now
        return mine, theirs

    def _meet(
        self, pair_column: PairColumn, row: int, gaps: Floats, times: tuple[When, Floats, float]
    ) -> Obstacle:
        """Return the limits that pairs need, and when these are reached.

        If one may accept for all, that may be another player of a larger match, so that only gaps
        that no wait allows keep the pair apart.
        """
        rule, (when, since, now) = pair_column.definition, times
        assert isinstance(rule, Rule)
        born = self.table.column(ENQUEUED)
        if rule.unit != "relative" and rule.accept == "both":
            waits = when(gaps)
            ready_at = since + waits
            blocked = ready_at > now
            return Obstacle(rule, gaps, ready_at, blocked, blocked & (born[row] + waits <= now))
        mine = theirs = gaps
        if rule.unit == "relative":
            own = self.table.means(pair_column)
            mine, theirs = _shares(gaps, own[row : row + 1]), _shares(gaps, own)
        pick = np.maximum if rule.accept == "both" else np.minimum
        needs = pick(mine, theirs)
        own_at = born[row] + when(mine)
        ready_at = pick(own_at, born + when(theirs))
        if rule.accept == "either" and not self._is_duel:
            never = (ready_at == math.inf) & (rule.unit != "relative")
            ready_at = np.where(never, math.inf, -math.inf)
        blocked = ready_at > now
        return Obstacle(rule, needs, ready_at, blocked, blocked & (own_at <= now))

    def _fits(self, row: int) -> Mask:
        """Return the tickets that may be in one match with a ticket by size, side and roles."""
        table, form = self.table, self.table.queue.format
        kinds = table.column(KIND).astype(np.intp)
        if form.solo_only and not form.sides and not form.roles:
            return np.ones(len(kinds), dtype=np.bool_)
        own = int(kinds[row])
        found = np.array([self._go_together(own, other) for other in range(len(table.kinds))])
        return found[kinds]

    def _go_together(self, one: int, two: int) -> bool:
        """Return whether tickets of two kinds may be in one match, whoever else joins."""
        key = (min(one, two), max(one, two))
        known = self._goes_with.get(key)
        if known is None:
            kinds = self.table.kinds
            chosen = {kinds[one]: 2} if one == two else {kinds[one]: 1, kinds[two]: 1}
            known = self._goes_with[key] = self.table.may_fill(chosen, self._plenty)
        return known

    def _all_kinds(self, sizes: list[int]) -> dict[tuple[int, int], int]:
        """Return flexible parties of every size, as many of each as a match can take."""
        form, kind_of = self.table.queue.format, self.table.labels.kind_of
        parties = [Ticket("", 0, 0.0, (Player(""),) * size, ()) for size in sizes]
        return {kind_of(party): form.k // party.size for party in parties}


def _shares(gaps: Floats, own: Floats) -> Floats:
    """Return `rules.relative` of each gap, for one own value or one per gap."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares: Floats = gaps / own
    return np.where(own == 0.0, np.where(gaps == 0.0, 0.0, math.inf), shares)


def when_table(given: object) -> When:
    """Return the function from gaps to the waits that they need under a rule."""
    assert isinstance(given, Rule)
    when = inverse_table(given.limit, given.expand)
    if given.unit != "percentile":
        return when
    return lambda gaps: when(np.round(gaps, PERCENTILE_DIGITS))
