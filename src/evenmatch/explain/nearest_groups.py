"""The nearest matches of more than two: a short search outward from one ticket, never exact."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from evenmatch.criteria.scales import Floats
from evenmatch.explain.pairwise import Sight, Watcher
from evenmatch.explain.waiting_table import ENQUEUED, KIND, SEQUENCE, Rows, TraitTable
from evenmatch.model.explanation import Prospect
from evenmatch.solvers.fill import CompletionBudget, CompletionProblem, complete

LOOK_AT = 48
"""Candidates of a search, those of a rare kind included."""


class GroupSearchLimits(msgspec.Struct, frozen=True):
    """What a search may spend.

    Args:
        seatings: Full sets that are divided into teams.
        steps: Pairs that are looked at after the first dead end.
    """

    seatings: int = 2
    steps: int = 2_000


def best_group(watcher: Watcher, sight: Sight, effort: GroupSearchLimits) -> Prospect | None:
    """Return a legal match of tickets as near as can be; None if a short search finds none."""
    crowd = watcher.crowd
    allowed = np.flatnonzero(sight.allowed)
    rows = _shortlist(crowd, allowed, nearness(crowd, sight, allowed))
    budget = CompletionBudget(effort.seatings, effort.steps)
    circle = _Circle(watcher, sight.row, rows, sight.now)
    found = circle.search((sight.now, sight.now), budget)
    if found is None and crowd.queue.format.is_variable:
        found = _grown(crowd, [sight.row, *rows], sight.now)
    return found


def first_group(watcher: Watcher, sight: Sight, effort: GroupSearchLimits) -> Prospect | None:
    """Return the first match to become legal that a short search finds.

    It may be legal now, if the search for the best one has missed it.
    """
    may_ever = sight.others & sight.fits & (sight.ready_at < math.inf)
    ever = np.flatnonzero(may_ever)
    rows = _shortlist(watcher.crowd, ever, np.maximum(sight.ready_at, sight.now)[ever])
    circle = _Circle(watcher, sight.row, rows, sight.now)
    budget = CompletionBudget(effort.seatings, effort.steps)
    best: Prospect | None = None
    until = math.inf
    while budget.seatings > 0 and not budget.gave_up:
        # As if nothing were legal yet: of all divisions the one that is legal first.
        found = circle.search((math.nextafter(until, -math.inf), -math.inf), budget)
        if found is None:
            break
        best, until = found, found.at
    return best


def _shortlist(crowd: TraitTable, rows: Rows, keys: Floats) -> list[int]:
    """Return the candidates with the least keys, of every kind as many as a match can take."""
    order = np.lexsort((crowd.column(SEQUENCE)[rows], crowd.column(ENQUEUED)[rows], keys))
    ordered = rows[order]
    chosen = dict.fromkeys(ordered[:LOOK_AT].tolist())
    numbers = crowd.column(KIND)[ordered]
    k = crowd.queue.format.k
    for number in np.unique(numbers).tolist():
        most = max(1, k // crowd.kinds[int(number)][0])
        chosen.update(dict.fromkeys(ordered[numbers == number][:most].tolist()))
    return [int(row) for row in ordered if int(row) in chosen]


class _Circle:
    """A ticket and the candidates of a search, who are numbered in the order of preference."""

    def __init__(self, watcher: Watcher, row: int, candidates: Sequence[int], now: float) -> None:
        self._watcher = watcher.among([row, *candidates])
        self._now = now
        self._ready_at: dict[int, list[float]] = {}
        crowd = self._watcher.crowd
        self._kinds = [crowd.kind(place) for place in range(len(crowd))]

    def search(self, bounds: tuple[float, float], budget: CompletionBudget) -> Prospect | None:
        """Return a match with the ticket, preferring early candidates.

        Args:
            bounds: The instant until which it has to be legal, and that for which it is divided.
            budget: What the search may spend.
        """
        until, at = bounds
        crowd = self._watcher.crowd
        found: list[Prospect] = []

        def fits(one: int, two: int) -> bool:
            return self._of(one)[two] <= until

        def accepts(chosen: list[int]) -> bool:
            prospect = prospect_of(crowd, chosen, at, is_exact=False)
            if prospect is None or prospect.at > until:
                return False
            found.append(prospect)
            return True

        problem = CompletionProblem(
            self._kinds, crowd.queue.format.k, crowd.may_fill, fits, accepts
        )
        complete(problem, budget)
        return found[-1] if found else None

    def _of(self, place: int) -> list[float]:
        """Return from when on somebody may play with each."""
        known = self._ready_at.get(place)
        if known is None:
            known = self._ready_at[place] = self._watcher.look(place, self._now).ready_at.tolist()
        return known


def _grown(crowd: TraitTable, rows: Sequence[int], now: float) -> Prospect | None:
    """Return a legal match that is not full: tickets join as long as it stays legal."""
    form, ready_at = crowd.queue.format, crowd.objective.rules.pair_ready_at
    chosen = [rows[0]]
    players = crowd.tickets[rows[0]].size
    best: Prospect | None = None
    for row in rows[1:]:
        ticket = crowd.tickets[row]
        if players + ticket.size > form.k:
            continue
        if any(ready_at(crowd.tickets[other], ticket) > now for other in chosen):
            continue
        chosen.append(row)
        players += ticket.size
        if players >= form.k_min:
            prospect = prospect_of(crowd, chosen, now, is_exact=False)
            if prospect is None or prospect.at > now:
                chosen.pop()
                players -= ticket.size
            else:
                best = prospect
    return best


# The nearest matches of one against one, over all candidates and therefore exact.

CLOSE = 1e-9
"""Costs that differ by less in arrays are told apart by the reference."""
TOLD_APART = 8
"""Candidates at most for whom that is done."""


def best_duel(crowd: TraitTable, sight: Sight) -> Prospect | None:
    """Return the legal duel with the least cost of the criteria, then the longest waiting one."""
    rows = np.flatnonzero(sight.allowed)
    if not len(rows):
        return None
    costs = nearness(crowd, sight, rows)
    is_exact = _sees_all(sight) and bool(np.isfinite(costs).all())
    found = []
    for row in _by_age(crowd, rows[costs <= costs.min() + CLOSE])[:TOLD_APART]:
        prospect = prospect_of(crowd, (sight.row, row), sight.now, is_exact=is_exact)
        assert prospect is not None, "two who fit make a duel"
        found.append(prospect)
    return min(found, key=lambda each: each.criteria_cost)


def first_duel(crowd: TraitTable, sight: Sight) -> Prospect | None:
    """Return the duel that becomes legal first, of those that are not yet."""
    is_ahead = sight.others & sight.fits & (sight.ready_at > sight.now)
    ready_at = np.where(is_ahead, sight.ready_at, math.inf)
    first = float(ready_at.min())
    if first == math.inf:
        return None
    row = _by_age(crowd, np.flatnonzero(ready_at == first))[0]
    return prospect_of(crowd, (sight.row, row), sight.now, is_exact=_sees_all(sight))


def nearness(crowd: TraitTable, sight: Sight, rows: Rows) -> Floats:
    """Return what the criteria cost in a match of two with some; inf where that is not known."""
    total: Floats = np.zeros(len(rows))
    for trait, weight in zip(crowd.criteria, crowd.objective.weights, strict=True):
        total += weight * crowd.costs(trait, sight.row, rows)
    return total


def _sees_all(sight: Sight) -> bool:
    return int(np.count_nonzero(sight.others)) == len(sight.others) - 1


def _by_age(crowd: TraitTable, rows: Rows) -> list[int]:
    """Return rows, longest waiting first."""
    if len(rows) == 1:
        return [int(rows[0])]
    order = np.lexsort((crowd.column(SEQUENCE)[rows], crowd.column(ENQUEUED)[rows]))
    return [int(row) for row in rows[order]]


# A set of waiting tickets as a match that could be, by the objective that the engine asks.


def prospect_of(
    crowd: TraitTable, rows: Iterable[int], now: float, *, is_exact: bool
) -> Prospect | None:
    """Return the match that tickets make, divided as the engine would; None if they make none.

    Args:
        crowd: The table.
        rows: Places of the tickets.
        now: The instant; a division that is legal now is preferred, else the one that is first.
        is_exact: As the prospect says of itself.
    """
    tickets = sorted((crowd.tickets[row] for row in rows), key=lambda ticket: ticket.age_key)
    objective = crowd.objective
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
