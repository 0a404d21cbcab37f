"""Findings on sizes, sides and roles: which tickets never fit together, and who is missing."""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import partial
from itertools import product

import numpy as np

from evenmatch.criteria.seat_completion import Labels
from evenmatch.criteria.team_packing import Kind
from evenmatch.explain.pairwise import PairwiseView
from evenmatch.explain.waiting_table import PairColumnTable
from evenmatch.model.explanation import Seats
from evenmatch.model.queue import Format
from evenmatch.model.ticket import Player, Ticket

LAYOUTS_MAX = 64
"""Most combinations of team sizes tried for a match that may start before it is full."""


def seats_of(table: PairColumnTable, pairwise: PairwiseView) -> Seats:
    """Return whether one ticket and its candidates can fill a match, and what is missing if not."""
    misfits = int(np.count_nonzero(pairwise.others & ~pairwise.fits))
    own = table.kind(pairwise.row)
    allowed = table.counts(pairwise.allowed)
    fills = _fills(table, own, allowed)
    without_rules = fills or _fills(table, own, table.counts(pairwise.others & pairwise.fits))
    if fills:
        return Seats(misfits=misfits, fills=True, fills_without_rules=True)
    short = _Shortage(table, own, allowed)
    return Seats(
        misfits=misfits,
        fills=False,
        fills_without_rules=without_rules,
        players_missing=short.players,
        roles_missing=short.roles(),
        sizes_missing=_sizes_missing(table, own, allowed),
    )


def _fills(table: PairColumnTable, own: Kind, left: dict[Kind, int]) -> bool:
    size, k = own[0], table.queue.format.k
    if sum([each[0] * count for each, count in left.items()]) + size < k:
        return False
    return table.may_fill({own: 1}, left)


def _sizes_missing(table: PairColumnTable, own: Kind, left: dict[Kind, int]) -> tuple[int, ...]:
    """Return the sizes of parties each of which alone would complete a match."""
    form = table.queue.format
    found = []
    for size in range(1, max(form.players) + 1):
        if form.admits(size):
            kind = _flexible(table.labels, size)
            if _fills(table, own, {**left, kind: left.get(kind, 0) + 1}):
                found.append(size)
    return tuple(found)


def _flexible(labels: Labels, size: int) -> Kind:
    """Return the kind of a party that accepts every role on any side."""
    return labels.kind_of(Ticket("", 0, 0.0, (Player(""),) * size, ()))


class _Shortage:
    """The players missing for a match, counted as solos who accept any role and side.

    Some waiting tickets may stay out: the count is of seats that parties and roles leave empty, not
    of waiting players. In a queue with roles, parties fit into either team, so the result is a
    lower bound there.

    Args:
        table: The queue.
        own: The kind of the ticket to explain.
        left: Tickets that may play with it now, by kind.
    """

    def __init__(self, table: PairColumnTable, own: Kind, left: dict[Kind, int]) -> None:
        self._table, self._own, self._left = table, own, left
        self._anybody = _flexible(table.labels, 1)
        self._layouts = _smallest(table.queue.format)
        most = table.queue.format.k - own[0]
        # With one player more than enough, a match can be filled too.
        self.players = bisect_left(range(max(1, most)), True, key=self._suffice)

    def roles(self) -> dict[str, int]:
        """Return, by role, a lower bound on how many missing players have to play it."""
        roles = self._table.queue.format.roles
        found = {}
        for role, _ in roles:
            others = tuple([name for name, _ in roles if name != role])
            kind = self._anybody
            if others:
                player = Player("", roles=others)
                kind = self._table.labels.kind_of(Ticket("", 0, 0.0, (player,), ()))
            enough = partial(self._suffice_with, kind) if others else self._suffice
            found[role] = bisect_left(range(self.players), True, key=enough)
        return {role: missing for role, missing in found.items() if missing}

    def _suffice(self, number: int) -> bool:
        return self._may_fill({self._anybody: number})

    def _suffice_with(self, other: Kind, number: int) -> bool:
        """Return whether this many are enough if they accept all roles and the others not this."""
        return self._may_fill({self._anybody: number, other: self.players - number})

    def _may_fill(self, more: dict[Kind, int]) -> bool:
        left = dict(self._left)
        for kind, count in more.items():
            left[kind] = left.get(kind, 0) + count
        return any(self._table.may_fill({self._own: 1}, left, seats) for seats in self._layouts)


def _smallest(form: Format) -> tuple[tuple[int, ...], ...]:
    """Return the players by team of a match that may start: one combination, or some of several."""
    if not form.is_variable:
        return (form.players,)
    ways = [
        range(least, most + 1) for least, most in zip(form.least_players, form.players, strict=True)
    ]
    if math.prod(map(len, ways)) > LAYOUTS_MAX:
        # The smallest teams, with each team in turn one player larger.
        larger = [
            (*form.least_players[:team], most, *form.least_players[team + 1 :])
            for team, most in enumerate(form.players)
        ]
        return (form.least_players, *dict.fromkeys(larger))
    return tuple(product(*ways))
