"""Roles: who plays what in a team, so that players get the roles that they like best.

A player lists the roles that they accept, preferred first; a player without a list is flexible and
takes any. The **rank** of a role for a player is its place in the list, from 0, and inf if they do
not accept it. A team is legal if its players can be given roles that they accept, and no role gets
more players than it takes; of all assignments, one with the least sum of ranks is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from evenmatch.criteria.scales import Floats
from evenmatch.criteria.team_packing import Orders
from evenmatch.model.ticket import NewTicket, Player, Ticket

Roles = tuple[tuple[str, int], ...]
"""Names of roles, and how many players of a team each takes."""
Ranks = tuple[float, ...]
"""Rank of each role for a player: 0 = the best, inf = not accepted."""

Masks = tuple[tuple[int, int], ...]
"""Sets of roles as bits, with the number of players who accept exactly these; sorted."""

SUBSETS_OF = 16
"""Most players of a match for whom all sets are evaluated at once: 65,536 sets."""
WAYS_MAX = 60
"""Most assignments of a full team that are all evaluated at once: 5v5 has 30."""
NEVER = 1e6
"""A rank above all sums of ranks, for roles that a player does not accept."""


def ranks_of(player: Player, roles: Roles) -> Ranks:
    """Return the rank of each role for a player; 0 for all if they are flexible.

    >>> ranks_of(Player("a", roles=("dps", "tank")), (("tank", 1), ("dps", 2), ("healer", 1)))
    (1.0, 0.0, inf)
    """
    return _ranks_of(player.roles, roles)


@lru_cache(maxsize=8192)
def _ranks_of(listed: tuple[str, ...], roles: Roles) -> Ranks:
    if not listed:
        return (0.0,) * len(roles)
    places = {name: float(place) for place, name in enumerate(listed)}
    return tuple([places.get(name, math.inf) for name, _ in roles])


def assign(ranks: Sequence[Ranks], seats: Sequence[int]) -> tuple[float, tuple[int, ...]] | None:
    """Assign a role to each player of a team, with the least sum of ranks.

    Args:
        ranks: Rank of each role, for each player.
        seats: Most players of each role.

    Returns:
        The sum of ranks and each player's role as an index; of equally good assignments, the one
        that gives early players early roles. None if there is none.

    Complexity:
        O(players x roles x product of (seats + 1)): for each player in turn, the best way to each
        combination of seats taken.

    >>> assign([(0.0, 1.0), (0.0, 1.0), (0.0, 0.0)], [1, 2])
    (1.0, (0, 1, 1))
    """
    best: dict[tuple[int, ...], tuple[float, tuple[int, ...]]] = {(0,) * len(seats): (0.0, ())}
    for own in ranks:
        after: dict[tuple[int, ...], tuple[float, tuple[int, ...]]] = {}
        for taken, (total, given) in best.items():
            for role, rank in enumerate(own):
                if rank < math.inf and taken[role] < seats[role]:
                    state = (*taken[:role], taken[role] + 1, *taken[role + 1 :])
                    way = (total + rank, (*given, role))
                    known = after.get(state)
                    if known is None or way < known:
                        after[state] = way
        best = after
    return min(best.values(), default=None)


def mask_of(player: Player, roles: Roles) -> int:
    """Return the roles that a player accepts, as the bits of a number."""
    return _mask_of(player.roles, roles)


@lru_cache(maxsize=8192)
def _mask_of(listed: tuple[str, ...], roles: Roles) -> int:
    if not listed:
        return (1 << len(roles)) - 1
    return sum([1 << place for place, (name, _) in enumerate(roles) if name in listed])


@lru_cache(maxsize=8192)
def find_seats(masks: Masks, seats: tuple[int, ...]) -> bool:
    """Return whether all players get a role that they accept.

    Args:
        masks: Accepted roles, with the number of players who accept exactly these.
        seats: Most players of each role.

    Complexity:
        O(2^roles x masks).

    Source:
        P. Hall, On representatives of subsets (1935): all players have a role if no set of roles
        takes fewer players than accept nothing outside the set.
    """
    for some, room in _sets_of(seats):
        if sum([count for mask, count in masks if not mask & ~some]) > room:
            return False
    return True


@lru_cache(maxsize=8192)
def fill_seats(masks: Masks, seats: tuple[int, ...]) -> bool:
    """Return whether some of the players fill all roles, the dual of `find_seats`."""
    for some, room in _sets_of(seats):
        if sum([count for mask, count in masks if mask & some]) < room:
            return False
    return True


def _sets_of(seats: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Yield each set of roles as bits, and how many players it takes."""
    for some in range(1, 1 << len(seats)):
        yield some, sum([room for role, room in enumerate(seats) if some >> role & 1])


def sums_of_sets(ranks: Floats, seats: Sequence[int]) -> Floats:
    """Return for every set of players the least sum of ranks in one team; inf if they do not fit.

    Args:
        ranks: Shape (players, roles).
        seats: Most players of each role.

    Returns:
        Shape (2^players,): the bits of an index are the players of the set.

    Complexity:
        O(2^players x players x sum of seats), in whole arrays: each seat stays free or takes one
        of the players not seated yet.
    """
    n = len(ranks)
    best: Floats = np.full(1 << n, np.inf)
    best[0] = 0.0
    for role, count in enumerate(seats):
        takers = np.flatnonzero(ranks[:, role] < np.inf).tolist()
        for _ in range(min(count, len(takers))):
            after = best.copy()
            for player in takers:
                shape = (1 << (n - player - 1), 2, 1 << player)
                before, then = best.reshape(shape), after.reshape(shape)
                seated = before[:, 0] + ranks[player, role]
                np.minimum(then[:, 1], seated, out=then[:, 1])
            best = after
    return best


@lru_cache(maxsize=64)
def ways_of(seats: tuple[int, ...]) -> Floats | None:
    """Return all assignments of roles in a full team; None if there are more than `WAYS_MAX`.

    Returns:
        Shape (players x roles, ways): 1 where a player plays a role, 0 elsewhere.
    """
    ways = math.factorial(sum(seats))
    for count in seats:
        ways //= math.factorial(count)
    if ways > WAYS_MAX:
        return None
    found: Floats = np.zeros((sum(seats), len(seats), ways))
    for way, given in enumerate(_spread(seats)):
        found[range(len(given)), given, way] = 1.0
    return found.reshape(-1, ways)


def _spread(seats: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the roles of a team's players, for each assignment that takes all seats."""
    if not any(seats):
        yield ()
    for role, count in enumerate(seats):
        if count:
            for rest in _spread((*seats[:role], count - 1, *seats[role + 1 :])):
                yield (role, *rest)


def _full_sums(ranks: Floats, teams: Orders, ways: Floats) -> Floats:
    """Return the least sum of ranks of full teams; inf if one cannot be seated.

    Args:
        ranks: Shape (players, roles).
        teams: Shape (teams, players of a team).
        ways: From `ways_of`.

    Complexity:
        O(teams x players x roles x ways), as one product of matrices. Ranks are whole numbers, so
        their sums are exact in any order.
    """
    within = np.minimum(ranks, NEVER)[teams].reshape(len(teams), -1)
    sums: Floats = (within @ ways).min(axis=1)
    sums[sums >= NEVER] = np.inf
    return sums


@lru_cache(maxsize=512)
def _counts_of(
    masks: tuple[tuple[int, ...], ...], roles: Roles
) -> tuple[list[int], list[list[int]], NDArray[np.float32]]:
    """Return the counts for Hall's condition: for each set of roles, who accepts nothing else.

    Args:
        masks: Roles that each player accepts, by party.
        roles: Of the queue.

    Returns:
        How many players each set takes, how many of each party need it, and which players.
    """
    # Only a set of roles that is all that some players accept can be too small.
    unions: set[int] = set()
    for mask in {mask for party in masks for mask in party}:
        unions |= {mask | other for other in unions} | {mask}
    sets = sorted(unions)
    room = [sum([n for at, (_, n) in enumerate(roles) if s >> at & 1]) for s in sets]
    by_party = [[sum([not m & ~s for m in party]) for s in sets] for party in masks]
    rows = [[not mask & ~some for some in sets] for party in masks for mask in party]
    return room, by_party, np.array(rows, dtype=np.float32)


class RoleFit:
    """The divisions of the same tickets in which all players have roles, by Hall's condition.

    Args:
        tickets: Their players are numbered party by party.
        roles: Of the queue.
    """

    def __init__(self, tickets: Sequence[Ticket], roles: Roles) -> None:
        masks = tuple([tuple([mask_of(p, roles) for p in ticket.players]) for ticket in tickets])
        self._room, self._by_party, self._inside = _counts_of(masks, roles)

    def may_fit(self, teams: int) -> bool:
        """Return whether players fit the roles of this many teams, ignoring the division."""
        return self._have_room(self._by_party, teams)

    def may_share(self, parties: Sequence[int]) -> bool:
        """Return whether parties can be given roles in one team."""
        return self._have_room([self._by_party[party] for party in parties], 1)

    def legal(self, orders: Orders, layout: Sequence[int]) -> NDArray[np.bool_]:
        """Return whether all players of each division can be given roles.

        Args:
            orders: Shape (divisions, players), in the order of the teams.
            layout: Players per team.

        Complexity:
            O(divisions x players x sets of roles), as one product of matrices per team.
        """
        fits = np.ones(len(orders), dtype=np.bool_)
        rows, room = np.arange(len(orders))[:, None], np.array(self._room, dtype=np.float32)
        for team in _columns(layout):
            members = np.zeros(orders.shape, dtype=np.float32)
            members[rows, orders[:, team]] = 1.0
            fits &= (members @ self._inside <= room).all(axis=1)
        return fits

    def _have_room(self, parties: Sequence[Sequence[int]], teams: int) -> bool:
        return all(
            sum(counts) <= teams * room
            for counts, room in zip(zip(*parties, strict=True), self._room, strict=True)
        )


def division_sums(
    tickets: Sequence[Ticket], roles: Roles, orders: Orders, layout: Sequence[int]
) -> Floats:
    """Return the least sum of ranks of each division; inf if a team cannot be seated.

    Args:
        tickets: In the order in which `orders` numbers their players.
        roles: Of the queue.
        orders: Shape (divisions, players), in the order of the teams.
        layout: Players per team.

    Complexity:
        `ways_of` roles for each team if all are full and these are few; otherwise
        O(divisions x players) after `sums_of_sets`, up to `SUBSETS_OF` players; otherwise `assign`
        for each kind of team.
    """
    ranks = [ranks_of(player, roles) for ticket in tickets for player in ticket.players]
    seats = tuple([count for _, count in roles])
    totals: Floats = np.zeros(len(orders))
    ways = ways_of(seats) if all(count in (0, sum(seats)) for count in layout) else None
    if ways is not None:
        table = np.array(ranks)
        for team in _columns(layout):
            totals += _full_sums(table, orders[:, team], ways)
        return totals
    sums = sums_of_sets(np.array(ranks), seats) if len(ranks) <= SUBSETS_OF else None
    for team in _columns(layout):
        if sums is not None:
            totals += sums[np.left_shift(1, orders[:, team].astype(np.int64)).sum(axis=1)]
        else:
            rows = orders[:, team].tolist()
            totals += [least_sum(tuple(sorted([ranks[p] for p in row])), seats) for row in rows]
    return totals


@lru_cache(maxsize=8192)
def least_sum(ranks: tuple[Ranks, ...], seats: tuple[int, ...]) -> float:
    """Return the least sum of ranks of a team; inf if it cannot be seated."""
    way = assign(ranks, seats)
    return math.inf if way is None else way[0]


def _columns(layout: Sequence[int]) -> Iterator[slice]:
    start = 0
    for count in layout:
        if count:
            yield slice(start, start + count)
        start += count


def assign_roles(team: Sequence[Ticket], roles: Roles) -> tuple[str, ...] | None:
    """Return the role of each player of a team, party by party; None if it cannot be seated."""
    way = assign([ranks_of(p, roles) for t in team for p in t.players], [n for _, n in roles])
    return None if way is None else tuple([roles[role][0] for role in way[1]])


def rank_sum(team: Sequence[Ticket], roles: Roles) -> float:
    """Return the least sum of ranks of a team; inf if it cannot be seated."""
    ranks = sorted([ranks_of(player, roles) for ticket in team for player in ticket.players])
    return least_sum(tuple(ranks), tuple([count for _, count in roles]))


def role_problem(ticket: Ticket | NewTicket, roles: Roles) -> str | None:
    """Return a sentence about roles of a ticket that no match has, or None."""
    known = [name for name, _ in roles]
    for player in ticket.players:
        for name in player.roles:
            if name not in known:
                return f"role {name:.80} is not one of {', '.join(known)}"
    ranks = [ranks_of(player, roles) for player in ticket.players]
    if assign(ranks, [count for _, count in roles]) is None:
        team = ", ".join(f"{count} {name}" for name, count in roles)
        return f"the party's roles do not go together in one team of {team}"
    return None
