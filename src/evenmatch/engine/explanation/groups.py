"""The nearest matches of more than two: a short search outward from one ticket, never exact."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from evenmatch.engine.explanation.crowd import ENQUEUED, KIND, SEQUENCE, Crowd, Mask
from evenmatch.engine.explanation.duels import nearness
from evenmatch.engine.explanation.prospects import prospect_of
from evenmatch.engine.explanation.sight import Sight
from evenmatch.model.explanation import Prospect
from evenmatch.solvers.fill import Budget, Problem, complete

LOOK_AT = 48
"""Candidates of a search, those of a rare kind included."""


class Effort(msgspec.Struct, frozen=True):
    """What a search may spend.

    Args:
        seatings: Full sets that are divided into teams.
        steps: Pairs that are looked at after the first dead end.
        rounds: Sets found for the first match to become legal, each sooner than the one before.
    """

    seatings: int = 6
    steps: int = 1_000
    rounds: int = 3


def best_group(crowd: Crowd, sight: Sight, effort: Effort) -> Prospect | None:
    """Return a legal match of tickets as near as can be; None if a short search finds none."""
    near, _ = nearness(crowd, sight, sight.allowed)
    rows = _shortlist(crowd, sight.allowed, near)
    found = _search(crowd, [sight.row, *rows], (sight.now, sight.now), effort)
    if found is None and crowd.queue.format.is_variable:
        found = _grown(crowd, [sight.row, *rows], sight.now)
    return found


def first_group(crowd: Crowd, sight: Sight, effort: Effort) -> Prospect | None:
    """Return the first match to become legal that a short search finds.

    It may be legal now, if the search for the best one has missed it.
    """
    may_ever = sight.others & sight.fits & (sight.ready_at < math.inf)
    rows = _shortlist(crowd, may_ever, np.maximum(sight.ready_at, sight.now))
    best: Prospect | None = None
    until = math.inf
    for _ in range(effort.rounds):
        # As if nothing were legal yet: of all divisions the one that is legal first.
        bounds = (math.nextafter(until, -math.inf), -math.inf)
        found = _search(crowd, [sight.row, *rows], bounds, effort)
        if found is None:
            break
        best, until = found, found.at
    return best


def _shortlist(
    crowd: Crowd, among: Mask, keys: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> list[int]:
    """Return the candidates with the least keys, of every kind as many as a match can take."""
    rows = np.flatnonzero(among)
    order = np.lexsort((crowd.column(SEQUENCE)[rows], crowd.column(ENQUEUED)[rows], keys[rows]))
    ordered = rows[order]
    chosen = dict.fromkeys(ordered[:LOOK_AT].tolist())
    numbers = crowd.column(KIND)[ordered]
    k = crowd.queue.format.k
    for number in np.unique(numbers).tolist():
        most = max(1, k // crowd.kinds[int(number)][0])
        chosen.update(dict.fromkeys(ordered[numbers == number][:most].tolist()))
    return [int(row) for row in ordered if int(row) in chosen]


def _search(
    crowd: Crowd, rows: Sequence[int], bounds: tuple[float, float], effort: Effort
) -> Prospect | None:
    """Return a match with the first row, preferring early rows.

    Args:
        crowd: The table.
        rows: Places of tickets.
        bounds: The instant until which it has to be legal, and that for which it is divided.
        effort: What the search may spend.
    """
    until, at = bounds
    tickets = [crowd.tickets[row] for row in rows]
    pair_ready_at = crowd.objective.rules.pair_ready_at
    found: list[Prospect] = []

    def fits(one: int, two: int) -> bool:
        return pair_ready_at(tickets[one], tickets[two]) <= until

    def accepts(chosen: list[int]) -> bool:
        prospect = prospect_of(crowd, [rows[place] for place in chosen], at, is_exact=False)
        if prospect is None or prospect.at > until:
            return False
        found.append(prospect)
        return True

    kinds = [crowd.kind(row) for row in rows]
    problem = Problem(kinds, crowd.queue.format.k, crowd.may_fill, fits, accepts)
    complete(problem, Budget(effort.seatings, effort.steps))
    return found[-1] if found else None


def _grown(crowd: Crowd, rows: Sequence[int], now: float) -> Prospect | None:
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
