"""First teams of a game with roles: as many as parties and the roles they take allow.

What a party takes of a team is a vector: how many of each role. A team is a multiset of vectors
whose sum is the team's roles; how many teams of each kind are made, and which vector each party
gives, is one small integer program. Where it has too many columns roles are ignored at first, and
the search has to find them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from evenmatch.solvers.batch.batch import Batch

Vector = tuple[int, ...]
"""Players by role."""
Kinds = tuple[Vector, ...]
"""Parties of one team, by what they take."""
Choices = frozenset[Vector]
"""All that one party can take."""

KINDS_MAX = 5_000
"""Beyond so many kinds of teams roles are ignored at first."""
NODES_MAX = 1_000
"""Nodes of the integer program; it is nearly always solved at its root."""


def role_quota(
    batch: Batch, parties: Sequence[int]
) -> tuple[Counter[Kinds], dict[int, Vector]] | None:
    """Return how many teams of each kind to make, and what each party takes in them.

    Args:
        batch: With roles, and teams of one size that are full.
        parties: In the order in which they are wanted.

    Returns:
        The kinds of an even number of teams for matches of two, and so on; parties that sit out
        are not named. None if there are too many kinds.
    """
    seats = tuple(batch.role_seats.tolist())
    choices = {party: _choices_of(batch, party, seats) for party in parties}
    counts = Counter(choices.values())
    vectors = sorted({vector for own in counts for vector in own}, reverse=True)
    kinds = list(_kinds_of(seats, vectors))
    if not kinds or len(kinds) > KINDS_MAX:
        return None if kinds else (Counter(), {})
    pairs = [(own, vector) for own in counts for vector in vectors if vector in own]
    answer = _solve(kinds, pairs, counts, len(batch.seats))
    if answer is None:
        return None
    made = Counter({kind: n for kind, n in zip(kinds, answer, strict=False) if n})
    left = {pair: n for pair, n in zip(pairs, answer[len(kinds) :], strict=False) if n}
    return made, dict(_handed_out(parties, choices, left))


def _choices_of(batch: Batch, party: int, seats: Vector) -> Choices:
    """Return all that a party can take of a team."""
    found = {(0,) * len(seats)}
    for player in range(int(batch.first[party]), int(batch.first[party + 1])):
        takes = np.flatnonzero(np.isfinite(batch.role_cost[player])).tolist()
        found = {
            (*taken[:role], taken[role] + 1, *taken[role + 1 :])
            for taken in found
            for role in takes
            if taken[role] < seats[role]
        }
    return frozenset(found)


def _kinds_of(seats: Vector, vectors: Sequence[Vector]) -> Iterator[Kinds]:
    """Yield the multisets of vectors whose sum is the team's roles, a few too many at most."""
    stack: list[tuple[Kinds, Vector, int]] = [((), seats, 0)]
    found = 0
    while stack and found <= KINDS_MAX:
        kind, room, begin = stack.pop()
        if not any(room):
            found += 1
            yield kind
            continue
        for at in range(begin, len(vectors)):
            if all(own <= free for own, free in zip(vectors[at], room, strict=True)):
                rest = tuple([f - own for own, f in zip(vectors[at], room, strict=True)])
                stack.append(((*kind, vectors[at]), rest, at))


def _solve(
    kinds: Sequence[Kinds],
    pairs: Sequence[tuple[Choices, Vector]],
    counts: Counter[Choices],
    per_match: int,
) -> list[int] | None:
    """Return how often each kind of team is made and each choice taken, for the most matches."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import lil_array

    vectors = sorted({vector for _, vector in pairs})
    groups = list(counts)
    columns = len(kinds) + len(pairs) + 1
    balance, room = lil_array((len(vectors) + 1, columns)), lil_array((len(groups), columns))
    place = {vector: row for row, vector in enumerate(vectors)}
    for column, kind in enumerate(kinds):
        for vector, times in Counter(kind).items():
            balance[place[vector], column] = times
        balance[len(vectors), column] = 1
    for column, (own, vector) in enumerate(pairs, len(kinds)):
        balance[place[vector], column] = -1
        room[groups.index(own), column] = 1
    balance[len(vectors), columns - 1] = -per_match
    aim = np.zeros(columns)
    aim[-1] = -1.0
    answer = milp(
        aim,
        integrality=np.ones(columns),
        bounds=Bounds(0.0, np.inf),
        constraints=[
            LinearConstraint(balance.tocsr(), 0.0, 0.0),
            LinearConstraint(room.tocsr(), -np.inf, [float(counts[own]) for own in groups]),
        ],
        options={"node_limit": NODES_MAX},
    )
    return None if answer.x is None else np.round(answer.x).astype(int).tolist()


def _handed_out(
    parties: Sequence[int],
    choices: dict[int, Choices],
    left: dict[tuple[Choices, Vector], int],
) -> Iterator[tuple[int, Vector]]:
    """Yield what each party takes: of what its like still have to take, the most common first."""
    by_choices: dict[Choices, Counter[Vector]] = {}
    for (own, vector), count in left.items():
        by_choices.setdefault(own, Counter())[vector] = count
    for party in parties:
        wanted = by_choices.get(choices[party])
        if wanted:
            vector, count = max(wanted.items(), key=lambda each: (each[1], each[0]))
            if count:
                wanted[vector] -= 1
                yield party, vector
