"""First teams of a game with roles: as many as parties and the roles they take allow.

What a party takes of a team is a vector: how many of each role. Parties that can take the same are
alike; `quota` says which of them make which teams, and here they are told apart again. Where there
are too many ways to fill a team roles are ignored at first, and the search has to find them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from evenmatch.solvers.teams.batch import Batch
from evenmatch.solvers.teams.quota import Vector, most_teams

Kinds = tuple[Vector, ...]
"""Parties of one team, by what they take."""
Choices = tuple[Vector, ...]
"""All that one party can take."""


def role_quota(
    batch: Batch, parties: Sequence[int]
) -> tuple[Counter[Kinds], dict[int, Vector]] | None:
    """Return how many teams of each kind to make, and what each party takes in them.

    Args:
        batch: With roles, and teams of one size that are full.
        parties: In the order in which they are wanted.

    Returns:
        The kinds of an even number of teams for matches of two, and so on; parties that sit out
        are not named. None if there are too many ways to fill a team.
    """
    seats = tuple(batch.role_seats.tolist())
    choices = dict(zip(parties, _choices(batch, parties, seats), strict=True))
    counts = Counter(own for own in choices.values() if own)
    teams = most_teams(list(counts), list(counts.values()), seats, len(batch.seats))
    if teams is None:
        return None
    groups = list(counts)
    made = Counter(tuple(sorted(vector for _, vector in team)) for team in teams)
    left = Counter((groups[kind], vector) for team in teams for kind, vector in team)
    return made, dict(_handed_out(parties, choices, left))


def _choices(batch: Batch, parties: Sequence[int], seats: Vector) -> Iterator[Choices]:
    """Yield all that each party can take of a team; nothing if it cannot play."""
    bits = np.isfinite(batch.role_cost) @ (1 << np.arange(len(seats), dtype=np.int64))
    roles, first = bits.tolist(), batch.first.tolist()
    for party in parties:
        yield _choices_of(tuple(sorted(roles[first[party] : first[party + 1]])), seats)


@lru_cache(maxsize=4096)
def _choices_of(members: tuple[int, ...], seats: Vector) -> Choices:
    """Return all that players can take of a team together; the roles of each are bits."""
    found = {(0,) * len(seats)}
    for roles in members:
        found = {
            (*taken[:role], taken[role] + 1, *taken[role + 1 :])
            for taken in found
            for role in range(len(seats))
            if roles >> role & 1 and taken[role] < seats[role]
        }
    return tuple(sorted(found))


def _handed_out(
    parties: Sequence[int],
    choices: dict[int, Choices],
    left: Counter[tuple[Choices, Vector]],
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
