"""The nearest matches of more than two: a short heuristic search outward from one ticket."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from evenmatch.criteria.scales import Floats
from evenmatch.explain.pairwise import PairwiseComparer, PairwiseView
from evenmatch.explain.waiting_table import (
    ENQUEUED,
    KIND,
    SEQUENCE,
    Mask,
    PairColumnTable,
    Rows,
)
from evenmatch.model.explanation import Prospect
from evenmatch.solvers.set_completion import CompletionBudget, CompletionProblem, complete

LOOK_AT = 48
"""Candidates of a search, including those of rare kinds."""
SEATINGS_MOST = 2
"""Full sets that a search divides into teams."""
STEPS_MOST = 2_000
"""Pairs that a search examines after its first dead end."""


def best_group(comparer: PairwiseComparer, pairwise: PairwiseView) -> Prospect | None:
    """Return a legal match of the nearest tickets; None if a short search finds none."""
    table = comparer.table
    allowed = np.flatnonzero(pairwise.allowed)
    rows = _shortlist(table, allowed, nearness(table, pairwise, allowed))
    budget = CompletionBudget(SEATINGS_MOST, STEPS_MOST)
    circle = _Circle(comparer, pairwise.row, rows, pairwise.now)
    prospect = circle.search((pairwise.now, pairwise.now), budget)
    if prospect is None and table.queue.format.is_variable:
        prospect = _grown(table, [pairwise.row, *rows], pairwise.now)
    return prospect


def first_group(comparer: PairwiseComparer, pairwise: PairwiseView) -> Prospect | None:
    """Return the first match to become legal that a short search finds.

    It may be legal now, if the search for the best one missed it. A match whose other tickets
    leave before it is legal is returned only where no other is found.
    """
    may_ever = pairwise.others & pairwise.fits & (pairwise.ready_at < math.inf)
    stays = may_ever & (pairwise.ready_at <= _leaving(comparer.table))
    found = _first_among(comparer, pairwise, stays, in_time=True)
    if found is None and comparer.table.queue.ends_after < math.inf:
        found = _first_among(comparer, pairwise, may_ever, in_time=False)
    return found


def _first_among(
    comparer: PairwiseComparer, pairwise: PairwiseView, among: Mask, *, in_time: bool
) -> Prospect | None:
    """Return the first match of some tickets; `in_time` one that none of the others misses."""
    ever = np.flatnonzero(among)
    rows = _shortlist(comparer.table, ever, np.maximum(pairwise.ready_at, pairwise.now)[ever])
    circle = _Circle(comparer, pairwise.row, rows, pairwise.now, in_time=in_time)
    budget = CompletionBudget(SEATINGS_MOST, STEPS_MOST)
    best: Prospect | None = None
    until = math.inf
    while budget.seatings > 0 and not budget.gave_up:
        # As if nothing were legal yet: of all divisions the one that is legal first.
        prospect = circle.search((math.nextafter(until, -math.inf), -math.inf), budget)
        if prospect is None:
            break
        best, until = prospect, prospect.at
    return best


def _leaving(table: PairColumnTable) -> Floats:
    """Return when each ticket leaves the queue unmatched; inf if never."""
    found: Floats = table.column(ENQUEUED) + table.queue.ends_after
    return found


def _shortlist(table: PairColumnTable, rows: Rows, keys: Floats) -> list[int]:
    """Return the candidates with the least keys, as many of every kind as a match can take."""
    order = np.lexsort((table.column(SEQUENCE)[rows], table.column(ENQUEUED)[rows], keys))
    ordered = rows[order]
    chosen = dict.fromkeys(ordered[:LOOK_AT].tolist())
    numbers = table.column(KIND)[ordered]
    k = table.queue.format.k
    for number in np.unique(numbers).tolist():
        most = max(1, k // table.kinds[int(number)][0])
        chosen.update(dict.fromkeys(ordered[numbers == number][:most].tolist()))
    return [int(row) for row in ordered if int(row) in chosen]


class _Circle:
    """A ticket and the candidates of a search, numbered in the order of preference.

    Args:
        comparer: Of the whole queue.
        row: The ticket.
        candidates: The others.
        now: The instant.
        in_time: Whether matches count only if they are legal before one of the others leaves.
    """

    def __init__(
        self,
        comparer: PairwiseComparer,
        row: int,
        candidates: Sequence[int],
        now: float,
        *,
        in_time: bool = False,
    ) -> None:
        self._comparer = comparer.among([row, *candidates])
        self._now = now
        self._ready_at: dict[int, list[float]] = {}
        table = self._comparer.table
        self._kinds = [table.kind(place) for place in range(len(table))]
        self._leaves_at = [math.inf] * len(table)
        if in_time:
            self._leaves_at[1:] = _leaving(table)[1:].tolist()

    def search(self, bounds: tuple[float, float], budget: CompletionBudget) -> Prospect | None:
        """Return a match with the ticket, preferring early candidates.

        Args:
            bounds: The instant by which it must be legal, and the instant used to divide it.
            budget: The limits of the search.
        """
        until, at = bounds
        table = self._comparer.table
        found: list[Prospect] = []

        def fits(one: int, two: int) -> bool:
            return self._of(one)[two] <= min(until, self._leaves_at[one], self._leaves_at[two])

        def accepts(chosen: list[int]) -> bool:
            prospect = prospect_of(table, chosen, at, is_exact=False)
            if prospect is None or prospect.at > until:
                return False
            if prospect.at > min([self._leaves_at[each] for each in chosen]):
                return False
            found.append(prospect)
            return True

        problem = CompletionProblem(
            self._kinds, table.queue.format.k, table.may_fill, fits, accepts
        )
        complete(problem, budget)
        return found[-1] if found else None

    def _of(self, place: int) -> list[float]:
        """Return the instant from which a candidate may play with each other one."""
        known = self._ready_at.get(place)
        if known is None:
            known = self._ready_at[place] = self._comparer.look(place, self._now).ready_at.tolist()
        return known


def _grown(table: PairColumnTable, rows: Sequence[int], now: float) -> Prospect | None:
    """Return a legal match that is not full: tickets are added as long as it stays legal."""
    form, ready_at = table.queue.format, table.objective.rules.pair_ready_at
    chosen = [rows[0]]
    players = table.tickets[rows[0]].size
    best: Prospect | None = None
    for row in rows[1:]:
        ticket = table.tickets[row]
        if players + ticket.size > form.k:
            continue
        if any(ready_at(table.tickets[other], ticket) > now for other in chosen):
            continue
        chosen.append(row)
        players += ticket.size
        if players >= form.k_min:
            prospect = prospect_of(table, chosen, now, is_exact=False)
            if prospect is None or prospect.at > now:
                chosen.pop()
                players -= ticket.size
            else:
                best = prospect
    return best


# The nearest matches of one against one, over all candidates and therefore exact.

CLOSE = 1e-9
"""Costs in arrays that differ by less are compared again by the reference."""
TOLD_APART = 8
"""Most candidates that are compared again."""


def best_duel(table: PairColumnTable, pairwise: PairwiseView) -> Prospect | None:
    """Return the legal duel with the least criteria cost, ties to the longest waiting."""
    rows = np.flatnonzero(pairwise.allowed)
    if not len(rows):
        return None
    costs = nearness(table, pairwise, rows)
    if table.objective.rules.conditions is not None:
        return _first_legal(table, pairwise, rows[np.argsort(costs, kind="stable")][:LOOK_AT])
    is_exact = _sees_all(pairwise) and bool(np.isfinite(costs).all())
    found = []
    for row in _by_age(table, rows[costs <= costs.min() + CLOSE])[:TOLD_APART]:
        prospect = prospect_of(table, (pairwise.row, row), pairwise.now, is_exact=is_exact)
        assert prospect is not None, "two who fit make a duel"
        found.append(prospect)
    return min(found, key=lambda each: each.criteria_cost)


def _first_legal(table: PairColumnTable, pairwise: PairwiseView, rows: Rows) -> Prospect | None:
    """Return the first duel that conditions allow now, too, which say nothing of two by two."""
    for row in rows.tolist():
        found = prospect_of(table, (pairwise.row, row), pairwise.now, is_exact=False)
        if found is not None and found.at <= pairwise.now:
            return found
    return None


def first_duel(table: PairColumnTable, pairwise: PairwiseView) -> Prospect | None:
    """Return the duel that becomes legal first, of those that are not legal yet.

    One whose other ticket leaves before is returned only where there is no other.
    """
    is_ahead = pairwise.others & pairwise.fits & (pairwise.ready_at > pairwise.now)
    stays = is_ahead & (pairwise.ready_at <= _leaving(table))
    ready_at = np.where(stays if stays.any() else is_ahead, pairwise.ready_at, math.inf)
    first = float(ready_at.min())
    if first == math.inf:
        return None
    row = _by_age(table, np.flatnonzero(ready_at == first))[0]
    return prospect_of(table, (pairwise.row, row), pairwise.now, is_exact=_sees_all(pairwise))


def nearness(table: PairColumnTable, pairwise: PairwiseView, rows: Rows) -> Floats:
    """Return the criteria cost of matches of two with some tickets; inf if it is unknown."""
    total: Floats = np.zeros(len(rows))
    for pair_column, weight in zip(table.criteria, table.objective.weights, strict=True):
        total += weight * table.costs(pair_column, pairwise.row, rows)
    return total


def _sees_all(pairwise: PairwiseView) -> bool:
    return int(np.count_nonzero(pairwise.others)) == len(pairwise.others) - 1


def _by_age(table: PairColumnTable, rows: Rows) -> list[int]:
    """Return rows, longest waiting first."""
    if len(rows) == 1:
        return [int(rows[0])]
    order = np.lexsort((table.column(SEQUENCE)[rows], table.column(ENQUEUED)[rows]))
    return [int(row) for row in rows[order]]


# A set of waiting tickets as a possible match, by the same objective as the engine.


def prospect_of(
    table: PairColumnTable, rows: Iterable[int], now: float, *, is_exact: bool
) -> Prospect | None:
    """Return the match of some tickets, divided as the engine would; None if they make none.

    Args:
        table: The table.
        rows: Indices of the tickets.
        now: The instant; a division that is legal now is preferred, else the one legal first.
        is_exact: The value of the prospect's field.
    """
    tickets = sorted((table.tickets[row] for row in rows), key=lambda ticket: ticket.age_key)
    objective = table.objective
    seating = objective.seat(tickets, now=now)
    if seating is None or seating.ready_at == math.inf:
        return None
    return Prospect(
        at=seating.ready_at,
        tickets=tuple([ticket.id for ticket in tickets]),
        teams=tuple([tuple([ticket.id for ticket in team]) for team in seating.teams]),
        quality=seating.quality,
        cost=objective.cost(seating, 0, max(now, seating.ready_at)),
        criteria_cost=seating.criteria_cost,
        is_exact=is_exact,
    )
