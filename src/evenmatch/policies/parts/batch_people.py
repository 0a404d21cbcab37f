"""Who is in a `Batch`, and what they say of each other: meetings, and who reaches whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenmatch.cost.hosts import WORDS
from evenmatch.model.ticket import Ticket
from evenmatch.solvers.batch.batch import Flags, Floats, Ints

ROWS_FIRST = 64
SET, UNKNOWN = len(WORDS), len(WORDS) + 1
"""Codes of networks beyond the words: a set of the players who were reached; nothing is known."""

Objects = NDArray[np.object_]
"""Values of players that never change, one a row."""


class People(NamedTuple):
    """The players of a batch, party by party.

    Args:
        ids: Their ids.
        row: Their places in the batch by id.
        party: The number of each player's party.
    """

    ids: list[str]
    row: dict[str, int]
    party: Ints


def objects(size: int, old: Objects | None = None) -> Objects:
    """Return so many rows, the first of them with what stood there."""
    found: Objects = np.empty(size, dtype=np.object_)
    if old is not None:
        found[: len(old)] = old
    return found


def people_of(tickets: Sequence[Ticket]) -> People:
    """Return the players of some tickets."""
    ids = [player.id for ticket in tickets for player in ticket.players]
    party = np.repeat(np.arange(len(tickets)), [len(ticket.players) for ticket in tickets])
    return People(ids, {name: row for row, name in enumerate(ids)}, party)


def codes_of(values: Objects) -> Ints:
    """Return a number for each value, the same for equal ones."""
    codes: dict[Any, int] = {}
    found = [codes.setdefault(value, len(codes)) for value in values]
    return np.array(found, dtype=np.int64)


def connections(network: Ints, reached: Objects, people: People) -> Flags:
    """Return whether each player reaches each other, as `cost.hosts.reaches` says; (n, n).

    Args:
        network: Codes of the players' networks: a word of `hosts.WORDS`, `SET` or `UNKNOWN`.
        reached: The ids that those with a set reach; others have none.
        people: The players.

    Complexity:
        O(n^2) in bytes, and the entries of all sets.
    """
    is_open, is_known = network == WORDS.index("open"), network != UNKNOWN
    is_moderate = network == WORDS.index("moderate")
    table = is_open[:, None] | is_open
    table |= is_moderate[:, None] & is_moderate
    for row in np.flatnonzero(network == SET):
        table[row, [people.row[name] for name in people.row.keys() & reached[row]]] = True
    table &= is_known[:, None]
    table &= is_known
    np.fill_diagonal(table, val=False)
    found: Flags = table.view(np.uint8)
    return found


def meetings(known: Objects, people: People, matches: int, share: float) -> Floats:
    """Return rows of `Facts.met`, as `cost.rematch` defines meetings.

    Args:
        known: Whom each player remembers, and how many matches ago; None if nothing is known.
        people: The players.
        matches: How many of a player's last matches count.
        share: Of the freshness in all that is weighed by it.

    Complexity:
        O(memories of the players).
    """
    counts: list[int] = []
    others: list[int] = []
    agos: list[float] = []
    for memory in known:
        here = people.row.keys() & memory if memory else ()
        counts.append(len(here))
        others += [people.row[name] for name in here]
        agos += [memory[name] for name in here]
    one, two = np.repeat(np.arange(len(known)), counts), np.array(others, dtype=np.int64)
    is_other = people.party[one] != people.party[two]
    one, two, ago = one[is_other], two[is_other], np.array(agos, dtype=np.float64)[is_other]
    players = len(people.ids)
    pairs, at = np.unique(
        np.minimum(one, two) * players + np.maximum(one, two), return_inverse=True
    )
    by_end = np.full((2, len(pairs)), np.inf)
    by_end[(one > two).astype(np.int64), at] = ago
    remembers = np.array([memory is not None for memory in known], dtype=np.bool_)
    first, second = np.divmod(pairs, max(1, players))
    last = _last_met(by_end[0], by_end[1], remembers[first], remembers[second])
    fresh = np.maximum(0.0, (matches + 1 - np.abs(last)) / matches)
    rows = np.stack((first, second, share * fresh, last < 0.0), axis=1).astype(np.float64)
    return np.ascontiguousarray(rows[fresh > 0.0])


def _last_met(ago: Floats, other_ago: Floats, knows: Any, other_knows: Any) -> Floats:
    """Return `cost.rematch.met` of many pairs at once."""
    size, other_size = np.abs(ago), np.abs(other_ago)
    is_other = (other_size > size) | ((other_size == size) & (other_ago > ago))
    larger = np.where(is_other, other_ago, ago)
    found = np.where(knows, larger, other_ago)
    found = np.where(other_knows, found, ago)
    return np.where(knows & (ago == np.inf), np.inf, found)

