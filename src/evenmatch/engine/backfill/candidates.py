"""Searches for tickets that could join a running match, whose players keep their teams.

Unlike in a new match, players keep their team and role, and the match its region. Every rule must
hold for the whole match with its newcomers, at this instant.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import islice, repeat

import msgspec

from evenmatch.criteria.divisions import Teams
from evenmatch.criteria.objective import Objective, Seating
from evenmatch.criteria.roles import assign, ranks_of
from evenmatch.criteria.rules import side_of
from evenmatch.engine.matching.pool import Pool
from evenmatch.engine.matching.waiting_columns import LOOK_AT_MOST
from evenmatch.engine.state.rows import Roster, Seated
from evenmatch.model.ticket import Ticket

SEATINGS_MOST = 16
"""Tickets that one search tries to seat in each team."""
EVALUATIONS_MOST = 128
"""Divisions into teams that one search looks at."""


class Opening(msgspec.Struct, frozen=True, gc=False):
    """The free seats of a running match, ready to be compared with tickets.

    Args:
        roster: The match.
        teams: Its tickets by team; they know no other region than that of the match.
        free: Seats by team that are to be filled.
        criteria_cost: What the match costs as it is.
        quality_floor: The least that it may be worth with the newcomers.
        barred: Players who do not join: those who have left, and those who play.
        roles: By team, how many more players each role takes; empty where there are none.
    """

    roster: Roster
    teams: Seated
    free: tuple[int, ...]
    criteria_cost: float
    quality_floor: float
    barred: frozenset[str]
    roles: tuple[tuple[int, ...], ...] = ()


class Join(msgspec.Struct, frozen=True, gc=False):
    """Newcomers who may join a running match now.

    Args:
        newcomers: Tickets by team.
        seating: The whole match with them.
        added: What they add to the criteria's cost.
        wait: Their waits together, and that of the seats they take, seconds.
    """

    newcomers: Teams
    seating: Seating
    added: float
    wait: float

    @property
    def tickets(self) -> list[Ticket]:
        """Return the newcomers' tickets by age."""
        joined = [ticket for team in self.newcomers for ticket in team]
        return sorted(joined, key=lambda ticket: ticket.age_key)

    @property
    def players(self) -> int:
        """Return how many players join."""
        return sum([ticket.size for team in self.newcomers for ticket in team])

    def net(self, price: float) -> float:
        """Return what one newcomer costs, less what their wait and the seat's has cost so far."""
        return (self.added - price * self.wait) / self.players


class SearchResult(msgspec.Struct):
    """The result of a search for newcomers.

    Args:
        joins: Newcomers who may join now: each one has more of them than the one before.
        again_at: The next instant at which waiting alone may allow more; inf if it never does, the
            present one if not all who are ready have been looked at.
        evaluations: Divisions into teams that it took.
    """

    joins: list[Join]
    again_at: float = math.inf
    evaluations: int = 0


def can_compare(roster: Roster, objective: Objective) -> bool:
    """Return whether the players of a match have all facts that its queue compares now.

    The sizes of their parties do not matter: some of a party may have left.
    """
    return all(
        objective.missing(ticket) is None
        and all(key in ticket.percentiles for key in objective.samples)
        for team in roster.teams
        for ticket in team
    )


def opening_of(pool: Pool, roster: Roster) -> Opening | None:
    """Return a roster's free seats; None if it asks for nobody, or for nobody who could come."""
    if roster.open is None or not can_compare(roster, pool.objective):
        return None
    teams = [[_at_home(pool, roster, ticket) for ticket in team] for team in roster.teams]
    seated = tuple([tuple([t for t in team if t is not None]) for team in teams])
    if not any(seated):
        return None
    form = pool.queue.format
    roles: tuple[tuple[int, ...], ...] = ()
    if form.roles:
        taken = [[roster.roles.get(player) for player in team] for team in roster.players]
        roles = tuple([tuple([n - team.count(name) for name, n in form.roles]) for team in taken])
    free = tuple([min(pair) for pair in zip(roster.open.free, roster.free, strict=True)])
    alone = sum([ticket.size for team in seated for ticket in team]) < 2
    now_costs = 0.0 if alone else pool.objective.judge(seated).criteria_cost
    # Where matches are not exclusive, somebody may queue again while they play.
    barred = frozenset(roster.left).union(*roster.players)
    floor = roster.open.quality_floor
    return Opening(roster, seated, free, now_costs, floor, barred, roles)


def find_newcomers(
    pool: Pool,
    opening: Opening,
    candidates: Iterable[Ticket],
    now: float,
    told: Iterable[float] | None = None,
) -> SearchResult:
    """Return the tickets that may join, seat by seat, cheapest first.

    Args:
        pool: The queue's pool.
        opening: The free seats.
        candidates: Waiting tickets, longest waiting first.
        now: The present instant.
        told: What the rules of pairs say of each candidate, where that is known already.

    Complexity:
        O(n k) for at most `LOOK_AT_MOST` candidates, and `EVALUATIONS_MOST` divisions.
    """
    again_at = math.inf
    ready: list[Ticket] = []
    pairs = zip(candidates, repeat(None) if told is None else told, strict=False)
    for ticket, known in islice(pairs, LOOK_AT_MOST):
        at = may_join_at(pool, opening, ticket, known)
        if at > now:
            again_at = min(again_at, at)
        elif len(ready) < most_at_once(opening):
            ready.append(ticket)
        else:
            again_at = now
    return seat_newcomers(pool, opening, ready, now, again_at)


def most_at_once(opening: Opening) -> int:
    """Return how many tickets one search can divide, each once in every team with free seats."""
    return min(SEATINGS_MOST, max(1, EVALUATIONS_MOST // sum(map(bool, opening.free))))


def seat_newcomers(
    pool: Pool,
    opening: Opening,
    ready: Sequence[Ticket],
    now: float,
    again_at: float,
) -> SearchResult:
    """Return which of the tickets that are ready may join, seat by seat, cheapest first.

    Args:
        pool: The queue's pool.
        opening: The free seats.
        ready: Tickets that may be in a match with each of those who play, by age.
        now: The present instant.
        again_at: When the next one is ready.
    """
    search = SearchResult([], again_at)
    homes = [_at_home(pool, opening.roster, ticket) for ticket in ready]
    fitting = [ticket for ticket in homes if ticket is not None]
    if fitting:
        _Seats(pool, opening, now, search).fill(fitting)
    return search


class _Seats:
    """Fills free seats one ticket after the other."""

    def __init__(self, pool: Pool, opening: Opening, now: float, search: SearchResult) -> None:
        self._pool = pool
        self._opening = opening
        self._now = now
        self._search = search
        self._joined: list[list[Ticket]] = [[] for _ in opening.free]

    def fill(self, fitting: list[Ticket]) -> None:
        """Seat the best ticket again and again, and note each legal match on the way."""
        while fitting and self._search.evaluations < EVALUATIONS_MOST:
            best: tuple[tuple[bool, float, float, int], Ticket, int, Seating] | None = None
            for ticket in fitting:
                for team in range(len(self._joined)):
                    found = self._with(ticket, team)
                    if found is None:
                        continue
                    late = max(found.ready_at, self._now)
                    free = self._opening.free[team] - self._taken(team)
                    gain = self._pool.queue.price * ticket.size * (self._now - ticket.enqueued_at)
                    floor, quality = self._opening.quality_floor, found.quality
                    is_poor = quality is not None and quality < floor
                    key = (is_poor, late, found.criteria_cost - gain, -free)
                    if best is None or key < best[0]:
                        best = key, ticket, team, found
            if best is None:
                return
            _, ticket, team, seating = best
            self._joined[team].append(ticket)
            joined = [each for other in self._joined for each in other]
            fitting = [each for each in fitting if each is not ticket and self._agree(each, joined)]
            self._note(seating)

    def _with(self, ticket: Ticket, team: int) -> Seating | None:
        """Return the match with one more ticket in a team; None if it has no seat there."""
        if self._search.evaluations >= EVALUATIONS_MOST:
            return None
        opening, form = self._opening, self._pool.queue.format
        if self._taken(team) + ticket.size > opening.free[team]:
            return None
        if form.strict_sides and side_of(ticket) not in ("", form.sides[team]):
            return None
        if opening.roles and self._roles((*self._joined[team], ticket), team) is None:
            return None
        self._search.evaluations += 1
        teams = [[*own, *new] for own, new in zip(opening.teams, self._joined, strict=True)]
        teams[team].append(ticket)
        return self._pool.objective.judge(tuple(map(tuple, teams)), self._now)

    def _note(self, seating: Seating) -> None:
        opening, now = self._opening, self._now
        quality = seating.quality
        if quality is not None and quality < opening.quality_floor:
            return
        if seating.ready_at > now:
            self._search.again_at = min(self._search.again_at, seating.ready_at)
            return
        roles = None
        if opening.roles:
            own = [self._roles(team, at) or () for at, team in enumerate(self._joined)]
            roles = tuple(own)
        joined = [ticket for team in self._joined for ticket in team]
        wait = sum([ticket.size * (now - ticket.enqueued_at) for ticket in joined])
        wait += sum([ticket.size for ticket in joined]) * (now - opening.roster.since)
        seating = msgspec.structs.replace(seating, roles=roles)
        newcomers = tuple(map(tuple, self._joined))
        added = seating.criteria_cost - opening.criteria_cost
        self._search.joins.append(Join(newcomers, seating, added, wait))

    def _taken(self, team: int) -> int:
        return sum([ticket.size for ticket in self._joined[team]])

    def _roles(self, tickets: Sequence[Ticket], team: int) -> tuple[str, ...] | None:
        """Return the free role that each newcomer of a team gets; None if there is no way."""
        roles = self._pool.queue.format.roles
        ranks = [ranks_of(player, roles) for ticket in tickets for player in ticket.players]
        way = assign(ranks, self._opening.roles[team])
        return None if way is None else tuple([roles[role][0] for role in way[1]])

    def _agree(self, ticket: Ticket, joined: Sequence[Ticket]) -> bool:
        ready_at = self._pool.objective.rules.pair_ready_at
        return all(ready_at(other, ticket) <= self._now for other in joined)


def may_join_at(pool: Pool, opening: Opening, ticket: Ticket, told: float | None = None) -> float:
    """Return when a ticket may be in a match with each of those who play; inf if never.

    Args:
        pool: The queue's pool.
        opening: The free seats.
        ticket: Who might take one.
        told: What the rules of pairs say, where that is known already.
    """
    if ticket.size > max(opening.free):
        return math.inf
    if any(player.id in opening.barred for player in ticket.players):
        return math.inf
    if _at_home(pool, opening.roster, ticket) is None:
        return math.inf
    # Who is kept from the policy is kept from running matches too.
    kept = (pool.held_until.get(ticket.id, 0.0), pool.delayed_until.get(ticket.id, 0.0))
    at = max(ticket.enqueued_at, *kept)
    if told is not None:
        return max(at, told)
    pair_ready_at = pool.objective.rules.pair_ready_at
    for team in opening.teams:
        for other in team:
            at = max(at, pair_ready_at(other, ticket))
            if at == math.inf:
                return at
    return at


def _at_home(pool: Pool, roster: Roster, ticket: Ticket) -> Ticket | None:
    """Return a ticket that knows only the region of the match; None if it does not know it."""
    if roster.region is None:
        return ticket
    return pool.objective.venues.pinned(ticket, roster.region)
