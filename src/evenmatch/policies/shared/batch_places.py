"""What a `Batch` knows of latencies: places and milliseconds, by the attribute that says them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from evenmatch.criteria.kinds.latency import known_of
from evenmatch.model.ticket import Player, Ticket
from evenmatch.policies.shared.batch_people import ROWS_FIRST, BatchPlayers, Objects, objects
from evenmatch.solvers.teams.batch import Floats, Ints, Singles

PLACES_MAX = 256
"""Places with a column of their own; a search does not know the others, the last look does."""
TILE = 32
"""Rows of pings that are made together, so that they stay in the processor's cache."""
COMMON = 0.1
"""Share of the players who know a place from which on it is looked at for all pairs."""


class Cells(NamedTuple):
    """Latencies of some players, one entry for each place that each of them knows.

    Args:
        names: The places, each once.
        rows: Whose latency it is.
        columns: To which place.
        ms: How many milliseconds.
    """

    names: list[str]
    rows: Ints
    columns: Ints
    ms: Floats


class BatchLatencies:
    """The latencies of the waiting players by one attribute, row by row.

    Args:
        attribute: Its name.
    """

    def __init__(self, attribute: str) -> None:
        self.attribute = attribute
        self._known = objects(ROWS_FIRST)

    def grow(self, size: int) -> None:
        """Make room for so many rows."""
        self._known = objects(size, self._known)

    def write(self, ticket: Ticket, player: Player, row: int) -> None:
        """Write a player's latencies to regions, and to other players who were measured."""
        known: Mapping[str, float] = known_of(ticket, player, self.attribute)
        if player.id in known:
            known = {place: ms for place, ms in known.items() if place != player.id}
        self._known[row] = known

    def of(self, rows: Ints) -> Objects:
        """Return the places and milliseconds that the players of some rows know, each as a map."""
        return self._known[rows]


def cells_of(known: Objects) -> Cells:
    """Return what `BatchLatencies.of` says as flat arrays: O(entries)."""
    codes: dict[str, int] = {}
    columns: dict[tuple[str, ...], Ints] = {}
    names = [tuple(each) for each in known]
    for own in names:
        # Most players know the same places in the same order.
        if own not in columns:
            found = [codes.setdefault(place, len(codes)) for place in own]
            columns[own] = np.array(found, dtype=np.int64)
    none: Ints = np.zeros(0, dtype=np.int64)
    rows = np.repeat(np.arange(len(names)), [len(own) for own in names])
    values = chain.from_iterable(each.values() for each in known)
    return Cells(
        list(codes),
        rows,
        np.concatenate([none, *[columns[own] for own in names]]),
        np.fromiter(values, dtype=np.float64, count=len(rows)),
    )


def table_of(cells: Cells, players: int) -> Floats:
    """Return the latencies to places in the order of their names, shape (players, places).

    Where they are more than `PLACES_MAX`, those that most players know are kept.
    """
    counts = np.bincount(cells.columns, minlength=len(cells.names)).tolist()
    by_use = sorted(range(len(cells.names)), key=lambda at: (-counts[at], cells.names[at]))
    kept = sorted(by_use[:PLACES_MAX], key=lambda at: cells.names[at])
    column: Ints = np.full(len(cells.names), -1, dtype=np.int64)
    column[kept] = np.arange(len(kept))
    at = column[cells.columns]
    found = np.full((players, len(kept)), np.inf)
    found[cells.rows[at >= 0], at[at >= 0]] = cells.ms[at >= 0]
    return found


def are_measured(cells: Cells, people: BatchPlayers) -> bool:
    """Return whether the ping of some of these players to another of them was measured."""
    return any(name in people.row for name in cells.names)


def pings_of(cells: Cells, people: BatchPlayers) -> Singles:
    """Return the ping of each pair of players, as `cost.latency.ping_table` defines it.

    Complexity:
        O(players^2 * places that many know), and of each other place the pairs who know it.
    """
    players = len(people.ids)
    order = np.argsort(cells.columns, kind="stable")
    rows, ms = cells.rows[order], cells.ms[order]
    counts = np.bincount(cells.columns, minlength=len(cells.names))
    ends = np.cumsum(counts)
    is_common = counts > COMMON * players
    common = np.full((int(is_common.sum()), players), np.inf)
    for at, place in enumerate(np.flatnonzero(is_common)):
        span = slice(ends[place] - counts[place], ends[place])
        common[at, rows[span]] = ms[span]
    pings = _over_common(common)
    for place in np.flatnonzero((counts > 1) & ~is_common):
        span = slice(ends[place] - counts[place], ends[place])
        pairs = rows[span][:, None], rows[span]
        pings[pairs] = np.minimum(pings[pairs], ms[span][:, None] + ms[span])
    _put_measured(pings, cells, people)
    np.fill_diagonal(pings, 0.0)
    return pings


def _over_common(common: Floats) -> Singles:
    """Return the least sum of each pair's latencies to some places."""
    players = common.shape[1]
    pings: Singles = np.full((players, players), np.inf, dtype=np.float32)
    for top in range(0, players, TILE):
        best = np.full((min(TILE, players - top), players - top), np.inf)
        way = np.empty_like(best)
        for ms in common:
            np.add(ms[top : top + TILE, None], ms[None, top:], out=way)
            np.minimum(best, way, out=best)
        pings[top : top + TILE, top:] = best
        pings[top:, top : top + TILE] = best.T
    return pings


def _put_measured(pings: Singles, cells: Cells, people: BatchPlayers) -> None:
    """Put in what was measured between two: the larger number where both did."""
    target = np.array([people.row.get(name, -1) for name in cells.names], dtype=np.int64)
    to = target[cells.columns]
    one, two, ms = cells.rows[to >= 0], to[to >= 0], cells.ms[to >= 0]
    pings[one, two] = pings[two, one] = 0.0
    pings[one, two] = np.maximum(pings[one, two], ms)
    pings[two, one] = np.maximum(pings[two, one], ms)


def stacked(tables: Sequence[Floats], players: int) -> Floats:
    """Return latency tables of several attributes as one, unknown regions at the end."""
    widest = max((table.shape[1] for table in tables), default=0)
    found = np.full((len(tables), players, widest), np.inf)
    for at, table in enumerate(tables):
        found[at, :, : table.shape[1]] = table
    return found
