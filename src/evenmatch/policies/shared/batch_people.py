"""Who is in a `Batch`, and what they say of each other: meetings, and who reaches whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenmatch.criteria.host_reach import WORDS
from evenmatch.model.ticket import Ticket
from evenmatch.solvers.teams.batch import Flags, Floats, Ints

ROWS_FIRST = 64
SET, UNKNOWN = len(WORDS), len(WORDS) + 1
"""Codes of networks beyond the words: a set of the players who were reached; nothing is known."""

Bools = NDArray[np.bool_]
Objects = NDArray[np.object_]
"""Values of players that never change, one a row."""


class BatchPlayers(NamedTuple):
    """The players of a batch, party by party.

    Args:
        tickets: Party by party.
        ids: The players' ids.
        row: Their places in the batch by id.
        party: The number of each player's party.
    """

    tickets: Sequence[Ticket]
    ids: list[str]
    row: dict[str, int]
    party: Ints


def objects(size: int, old: Objects | None = None) -> Objects:
    """Return so many rows, the first of them with what stood there."""
    found: Objects = np.empty(size, dtype=np.object_)
    if old is not None:
        found[: len(old)] = old
    return found


def people_of(tickets: Sequence[Ticket]) -> BatchPlayers:
    """Return the players of some tickets."""
    ids = [player.id for ticket in tickets for player in ticket.players]
    party = np.repeat(np.arange(len(tickets)), [len(ticket.players) for ticket in tickets])
    return BatchPlayers(tickets, ids, {name: row for row, name in enumerate(ids)}, party)


def codes_of(values: Objects) -> Ints:
    """Return a number for each value, the same for equal ones."""
    codes: dict[Any, int] = {}
    found = [codes.setdefault(value, len(codes)) for value in values]
    return np.array(found, dtype=np.int64)


def connections(network: Ints, reached: Objects, people: BatchPlayers) -> Flags:
    """Return whether each player reaches each other, as `criteria.host_reach.reaches` says; (n, n).

    Args:
        network: Codes of the players' networks: a word of `host_reach.WORDS`, `SET` or `UNKNOWN`.
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


class NamedPairs(NamedTuple):
    """Pairs of players of two parties of whom one at least names the other.

    Args:
        one: The first of each pair.
        two: The other one, later in the batch.
        said: Shape (2, pairs): the number that each gives with the other; inf = does not name them.
        known: Shape (2, pairs): whether anything is known of each.
    """

    one: Ints
    two: Ints
    said: Floats
    known: Bools


def named_by(known: Objects, people: BatchPlayers) -> NamedPairs:
    """Return who names whom, in the order of the batch: O(names).

    Args:
        known: The ids that each player names, or a map from ids to numbers; None = nobody.
        people: The players.
    """
    counts: list[int] = []
    others: list[int] = []
    numbers: list[float] = []
    for names in known:
        here = people.row.keys() & names if names else ()
        counts.append(len(here))
        others += [people.row[name] for name in here]
        numbers += [names[name] for name in here] if isinstance(names, dict) else [1.0] * len(here)
    one, two = np.repeat(np.arange(len(known)), counts), np.array(others, dtype=np.int64)
    is_other = people.party[one] != people.party[two]
    one, two = one[is_other], two[is_other]
    players = max(1, len(people.ids))
    key = np.minimum(one, two) * players + np.maximum(one, two)
    pairs, at = np.unique(key, return_inverse=True)
    said = np.full((2, len(pairs)), np.inf)
    said[(one > two).astype(np.int64), at] = np.array(numbers, dtype=np.float64)[is_other]
    first, second = np.divmod(pairs, players)
    speaks = np.array([names is not None for names in known], dtype=np.bool_)
    return NamedPairs(first, second, said, np.stack((speaks[first], speaks[second])))
