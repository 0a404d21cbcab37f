"""The first matches of a batch: parties packed into teams, in one of four orders.

First, the counts of parties by size decide how many teams consist of which sizes; then parties are
assigned in order. This makes as many matches as parties allow, or nearly so: filling in the largest
parties first often suffices, and otherwise `quota` finds more. If teams have roles, it also says
which party takes which roles.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np

from evenmatch.solvers.teams.batch import Batch, Floats, Ints, Places
from evenmatch.solvers.teams.quota import Vector, most_teams

ORDERS = ("skill", "party", "region", "random")
LANDMARKS = 12
"""Players whose pings stand in for regions if latencies to regions are unknown."""

Key = TypeVar("Key", int, Vector)
Pattern = tuple[int, ...]
"""Sizes of the parties of one team, in falling order."""


def start_matches(batch: Batch, order: str, rng: np.random.Generator) -> Places:
    """Return matches of legal sizes, as many as parties allow, or nearly so.

    With full teams, the count is almost always the largest possible; with roles, it is as many as
    parties and roles allow, and every player has a role. Only if there are thousands of ways to
    fill part of a team are roles left to the search, or, without roles, the largest parties placed
    first.

    Args:
        batch: The batch.
        order: `skill` (mean of the first value, best first), `party` (largest first, then skill),
            `region` (of the first player, then skill), or `random`.
        rng: For the random order only; it breaks no ties.

    Returns:
        Players team by team, parties together, -1 = a free seat; shape (matches, k). All others sit
        on the bench.

    Complexity:
        O(n log n), plus that of `most_teams`.
    """
    parties = _ordered(batch, order, rng)
    sizes = np.diff(batch.first)
    if (batch.seats != batch.seats_min).any():
        teams = _spread_out(batch, parties, sizes)
    else:
        found = _with_roles(batch, parties) if batch.role_seats.size else None
        teams = _packed(batch, parties, sizes) if found is None else found
    return _seated(batch, teams)


def with_smallest(batch: Batch, seated: Places) -> Places:
    """Return matches and, of parties that are in none, as many more of the fewest players.

    Whoever they do not need stays on the bench. Only for formats with seats that may stay free.

    Args:
        batch: The batch.
        seated: Matches, as `start_matches` returns them.
    """
    first, sizes = batch.first, np.diff(batch.first)
    is_left = np.ones(batch.players, dtype=np.bool_)
    is_left[seated[seated >= 0]] = False
    parties = _ordered(batch, "skill", np.random.default_rng(0))
    left = deque(party for party in parties if is_left[first[party]])
    teams: list[list[int]] = []
    while sum(batch.seats_min) and (match := _smallest(batch, left, sizes)) is not None:
        teams += match
    return np.concatenate([seated, _seated(batch, teams)])


def _smallest(batch: Batch, left: deque[int], sizes: Ints) -> list[list[int]] | None:
    """Return teams of as few players as may play, taken from those left; None if they lack."""
    match: list[list[int]] = []
    for least, most in zip(batch.seats_min.tolist(), batch.seats.tolist(), strict=True):
        team: list[int] = []
        aside: list[int] = []
        held = 0
        while left and held < least:
            party = left.popleft()
            fits = held + int(sizes[party]) <= most
            (team if fits else aside).append(party)
            held += int(sizes[party]) if fits else 0
        left.extendleft(reversed(aside))
        if held < least:
            return None
        match.append(team)
    return match


def _ordered(batch: Batch, order: str, rng: np.random.Generator) -> list[int]:
    first = batch.first[:-1]
    sizes = np.diff(batch.first)
    if order == "random":
        return rng.permutation(len(first)).tolist()
    values = batch.facts.values
    skill: Floats = np.zeros(len(first))
    if len(values) and len(first):
        skill = -np.add.reduceat(values[0], first) / sizes
    keys = {"skill": [skill], "party": [skill, -sizes], "region": [skill, _regions(batch)]}
    return np.lexsort(keys[order]).tolist()


def _regions(batch: Batch) -> Ints:
    """Return the region of each party's first player."""
    facts, first = batch.facts, batch.first[:-1]
    if facts.latency.shape[1]:
        return facts.latency[first].argmin(axis=1)
    if not facts.ping.size:
        return np.zeros(len(first), dtype=np.int64)
    marks, nearest = [0], facts.ping[0].copy()
    while len(marks) < min(LANDMARKS, batch.players):
        marks.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, facts.ping[marks[-1]])
    return facts.ping[first][:, marks].argmin(axis=1)


def _packed(batch: Batch, parties: Sequence[int], sizes: Ints) -> list[list[int]]:
    """Return the parties of each team, team by team of match by match."""
    seats = batch.seats.tolist()
    counts = Counter(sizes.tolist())
    patterns = _patterns_by_team(counts, seats, batch.matches_most)
    waiting: dict[int, deque[int]] = {size: deque() for size in counts}
    for party in parties:
        waiting[int(sizes[party])].append(party)
    place = {party: at for at, party in enumerate(parties)}
    by_capacity: dict[int, list[list[int]]] = {}
    for capacity in sorted(set(seats), reverse=True):
        every = [p for team, own in enumerate(patterns) if seats[team] == capacity for p in own]
        teams = list(_handed_out(Counter(every), waiting, place))
        by_capacity[capacity] = sorted(teams, key=lambda team: min(place[p] for p in team))
    found = []
    for match in range(len(patterns[0])):
        for team, capacity in enumerate(seats):
            twins = seats.count(capacity)
            found.append(by_capacity[capacity][match * twins + seats[:team].count(capacity)])
    return found


def _with_roles(batch: Batch, parties: Sequence[int]) -> list[list[int]] | None:
    """Return the parties of each team with roles, or None if there are too many ways."""
    found = role_quota(batch, parties)
    if found is None:
        return None
    quota, taken = found
    waiting: dict[Vector, deque[int]] = {}
    for party, vector in taken.items():
        waiting.setdefault(vector, deque()).append(party)
    place = {party: at for at, party in enumerate(parties)}
    teams = list(_handed_out(quota, waiting, place))
    return sorted(teams, key=lambda team: min(place[p] for p in team))


def _handed_out(
    quota: Counter[tuple[Key, ...]],
    waiting: Mapping[Key, deque[int]],
    place: Mapping[int, int],
) -> Iterator[list[int]]:
    """Yield teams: the first party in order, with the first ones of sizes that complete a pattern.

    Sizes may be any keys that say which seats of a team a party takes.
    """
    left = quota.total()
    while left:
        wanted = {size for pattern, count in quota.items() if count for size in pattern}
        head = min(wanted, key=lambda size: place[waiting[size][0]])
        pattern = max(
            (p for p, count in quota.items() if count and head in p), key=lambda p: (quota[p], p)
        )
        yield [waiting[size].popleft() for size in pattern]
        quota[pattern] -= 1
        left -= 1


def _patterns_by_team(
    counts: Mapping[int, int], seats: Sequence[int], wanted: int
) -> list[list[Pattern]]:
    """Return, for each team of a match, a pattern for each match."""
    found = _largest_first(counts, seats, wanted)
    if len(found[0]) < wanted:
        better = _by_counts(counts, seats, wanted)
        if better is not None and len(better[0]) > len(found[0]):
            return better
    return found


def _largest_first(
    counts: Mapping[int, int], seats: Sequence[int], wanted: int
) -> list[list[Pattern]]:
    """Fill the smallest teams first, each with the largest parties that fit."""
    left = dict(sorted(counts.items(), reverse=True))
    found: list[list[Pattern]] = [[] for _ in seats]
    for capacity in sorted(set(seats)):
        twins = [team for team, own in enumerate(seats) if own == capacity]
        for _ in range(wanted * len(twins)):
            pattern = _one_team(left, capacity)
            if pattern is None:
                break
            shortest = min(twins, key=lambda team: len(found[team]))
            found[shortest].append(pattern)
            for size in pattern:
                left[size] -= 1
    matches = min(map(len, found))
    return [patterns[:matches] for patterns in found]


def _one_team(left: Mapping[int, int], capacity: int) -> Pattern | None:
    pattern: list[int] = []
    for size, count in left.items():
        take = min(count, (capacity - sum(pattern)) // size)
        pattern += [size] * take
    return tuple(pattern) if sum(pattern) == capacity else None


def _by_counts(
    counts: Mapping[int, int], seats: Sequence[int], wanted: int
) -> list[list[Pattern]] | None:
    """Return patterns for the most matches, or None if there are too many ways to fill teams.

    Teams of one size are filled one by one. If sizes differ, all teams of a match are filled
    together: a party takes seats in one of them.
    """
    is_even = len(set(seats)) == 1
    rooms = tuple(seats[:1]) if is_even else tuple(seats)
    sizes = [size for size in counts if size <= max(rooms)]
    kinds = [
        [
            tuple([size * (own == team) for own in range(len(rooms))])
            for team, room in enumerate(rooms)
            if size <= room
        ]
        for size in sizes
    ]
    numbers = [counts[size] for size in sizes]
    filled = most_teams(kinds, numbers, rooms, len(seats) if is_even else 1)
    if filled is None:
        return None
    found: list[list[Pattern]] = [[] for _ in seats]
    for number, parties in enumerate(filled):
        for team in range(len(rooms)):
            own = [max(vector) for _, vector in parties if vector[team]]
            found[number % len(seats) if is_even else team].append(tuple(sorted(own, reverse=True)))
    return [patterns[:wanted] for patterns in found]


def _spread_out(batch: Batch, parties: Sequence[int], sizes: Ints) -> list[list[int]]:
    """Return teams of a format with free seats: the fewest matches that seat all, evenly filled."""
    players, most, least = batch.players, batch.k, int(batch.seats_min.sum())
    matches = min(-(-players // most), players // max(least, 1))
    while matches > 0:
        teams = _evenly(batch, parties, sizes, matches)
        if teams is not None:
            return teams
        matches -= 1
    return []


def _evenly(
    batch: Batch, parties: Sequence[int], sizes: Ints, matches: int
) -> list[list[int]] | None:
    """Seat each party, largest first, where most seats lack; None if a team stays too small."""
    room = np.tile(batch.seats, matches)
    lack = np.tile(batch.seats_min, matches)
    teams: list[list[int]] = [[] for _ in room]
    for party in sorted(parties, key=lambda p: -int(sizes[p])):
        size = int(sizes[party])
        fits = room >= size
        if not fits.any():
            continue
        # A team below its minimum comes first; then the emptiest team, in the emptiest match.
        free = np.repeat(room.reshape(matches, -1).sum(axis=1), len(batch.seats)) / (batch.k + 1)
        need = np.where(fits, np.where(lack >= size, 1e6 + lack, room) + free, -1.0)
        team = int(need.argmax())
        teams[team].append(party)
        room[team] -= size
        lack[team] -= size
    return None if (lack > 0).any() else teams


def _seated(batch: Batch, teams: Sequence[Sequence[int]]) -> Places:
    """Return the players of teams, parties in falling order of size."""
    width = len(batch.seats)
    seated = np.full((len(teams) // width, batch.k), -1, dtype=np.int32)
    starts = np.concatenate(([0], np.cumsum(batch.seats)))
    first = batch.first
    for number, team in enumerate(teams):
        at = int(starts[number % width])
        for party in sorted(team, key=lambda p: -int(first[p + 1] - first[p])):
            size = int(first[party + 1] - first[party])
            seated[number // width, at : at + size] = np.arange(first[party], first[party + 1])
            at += size
    return seated


# First teams of a game with roles: as many as parties and their roles allow.
#
# A party takes a vector of seats in a team: so many of each role. Parties that can take the same
# seats are interchangeable; `quota` says how many of them make which teams, and this module then
# assigns the parties themselves. If there are too many ways to fill a team, roles are ignored at
# first, and the search has to find them.

Kinds = tuple[Vector, ...]
"""The parties of one team, by the seats that they take."""
Choices = tuple[Vector, ...]
"""All seats that one party can take, as alternatives."""


def role_quota(
    batch: Batch, parties: Sequence[int]
) -> tuple[Counter[Kinds], dict[int, Vector]] | None:
    """Return how many teams of each composition to make, and which seats each party takes in them.

    Args:
        batch: With roles, and teams of one size that are full.
        parties: In order of preference.

    Returns:
        The compositions of a whole number of matches; parties that sit out are omitted. None if
        there are too many ways to fill a team.
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
    return made, dict(_roles_handed_out(parties, choices, left))


def _choices(batch: Batch, parties: Sequence[int], seats: Vector) -> Iterator[Choices]:
    """Yield all seats that each party can take in a team; nothing if it cannot play."""
    bits = np.isfinite(batch.role_cost) @ (1 << np.arange(len(seats), dtype=np.int64))
    roles, first = bits.tolist(), batch.first.tolist()
    for party in parties:
        yield _choices_of(tuple(sorted(roles[first[party] : first[party + 1]])), seats)


@lru_cache(maxsize=4096)
def _choices_of(members: tuple[int, ...], seats: Vector) -> Choices:
    """Return all seats that players can take in a team together; the roles of each are bits."""
    found = {(0,) * len(seats)}
    for roles in members:
        found = {
            (*taken[:role], taken[role] + 1, *taken[role + 1 :])
            for taken in found
            for role in range(len(seats))
            if roles >> role & 1 and taken[role] < seats[role]
        }
    return tuple(sorted(found))


def _roles_handed_out(
    parties: Sequence[int],
    choices: dict[int, Choices],
    left: Counter[tuple[Choices, Vector]],
) -> Iterator[tuple[int, Vector]]:
    """Yield the seats that each party takes: of those left for its kind, the most common first."""
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
