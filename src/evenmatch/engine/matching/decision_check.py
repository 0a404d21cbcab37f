"""Checks a policy's decision against format and rules (invariants I5, I6), and makes its matches.

Repairs and backfill check what they put together themselves, by the same `criteria.rules`.
"""

from __future__ import annotations

import math
from operator import attrgetter

from evenmatch.criteria.divisions import Teams
from evenmatch.criteria.handicap import handicap_points
from evenmatch.criteria.objective import Seating
from evenmatch.criteria.rules import side_of
from evenmatch.criteria.venue import Venue
from evenmatch.engine.matching.jobs import Plan
from evenmatch.engine.matching.pool import Pool
from evenmatch.errors import PolicyError
from evenmatch.model.match import Match
from evenmatch.model.queue import Format
from evenmatch.model.ticket import Ticket
from evenmatch.policies.base import Grouping

by_age = attrgetter("enqueued_at", "sequence")
id_of = attrgetter("id")
NOWHERE = Venue()
"""Of matches whose queue compares neither latencies nor host options."""


def check_grouping(
    pool: Pool, grouping: Grouping, now: float, fired: bool
) -> tuple[list[Ticket], Seating]:
    """Check one match of a decision and divide it into teams.

    Returns:
        The tickets by age, and the division.

    Raises:
        PolicyError: A ticket does not wait here or is named twice, the tickets make no match of
            the format, a rule does not hold now, bots play before a deadline or beyond need, or it
            is said to fill a running match, which the engine does itself.
    """
    ids = grouping.tickets
    if type(ids) is not tuple or not {*map(type, ids)} <= {str}:
        raise PolicyError(f"policy {pool.queue.policy}: a Grouping holds a tuple of ticket ids")
    if grouping.extends is not None:
        raise _broken(pool, "the engine fills running matches, so extends must be None", ids)
    if len(set(ids)) != len(ids):
        raise _broken(pool, "a ticket is used twice", ids)
    try:
        tickets = list(map(pool.tickets.__getitem__, ids))
    except KeyError:
        gone = tuple(ticket_id for ticket_id in ids if ticket_id not in pool.tickets)
        raise _broken(pool, "a ticket does not wait in this queue", gone) from None
    tickets.sort(key=by_age)
    if grouping.bots:
        wait_max = math.inf if pool.queue.wait_max is None else pool.queue.wait_max
        due = any(ticket.enqueued_at + wait_max <= now for ticket in tickets)
        if not (fired and due and pool.queue.on_deadline == "bots" and grouping.bots > 0):
            raise _broken(pool, "bots play only at a ticket's deadline", ids)
        if _need_fewer_bots(pool, tickets, grouping.bots):
            raise _broken(pool, "bots fill a match only up to its minimum", ids)
    if grouping.teams is None:
        seating = _seated(pool, tickets, grouping.bots, now)
    else:
        seating = _as_divided(pool, tickets, grouping, now)
    if seating is None:
        raise _broken(pool, no_division_sentence(pool.queue.format), ids)
    if seating.ready_at > now:
        raise _broken(pool, pool.objective.rules.objection(seating.teams, now), ids)
    return tickets, seating


def playable(pool: Pool, plan: Plan, now: float) -> Plan:
    """Return the matches of a plan that can still be played now.

    A ticket that is planned twice plays in the first of its matches. The divisions into teams stay
    in `Pool.planned_seatings` for the decision that follows.

    Complexity:
        One division into teams a match: 6 us in a duel, 70 us in 3v3, 100 us in 5v5.
    """
    groups = []
    used: set[str] = set()
    for ids in plan:
        tickets = [pool.tickets[i] for i in ids if i in pool.tickets and i not in used]
        if len(tickets) < len(ids) or len(set(ids)) < len(ids):
            continue
        tickets.sort(key=by_age)
        seating = _seated(pool, tickets, 0, now)
        if seating is not None and seating.ready_at <= now:
            pool.planned_seatings[tuple([ticket.id for ticket in tickets])] = seating
            used.update(ids)
            groups.append(ids)
    return tuple(groups)


def _as_divided(
    pool: Pool, tickets: list[Ticket], grouping: Grouping, now: float
) -> Seating | None:
    """Return the division that a policy has made of tickets; None if it is none of the format."""
    form, by_id = pool.queue.format, {ticket.id: ticket for ticket in tickets}
    named = [ticket_id for team in grouping.teams or () for ticket_id in team]
    if sorted(named) != sorted(by_id) or grouping.bots or form.roles:
        return None
    teams = tuple([tuple([by_id[each] for each in team]) for team in grouping.teams or ()])
    if len(teams) != len(form.players):
        return None
    for number, (least, team, most) in enumerate(
        zip(form.least_players, teams, form.players, strict=True)
    ):
        if not least <= sum([ticket.size for ticket in team]) <= most:
            return None
        if form.strict_sides and any(side_of(t) not in ("", form.sides[number]) for t in team):
            return None
    return pool.objective.judge(teams, now)


def _seated(pool: Pool, tickets: list[Ticket], bots: int, now: float) -> Seating | None:
    """Return the division of tickets, given by age; None if they do not fill the teams."""
    if pool.planned_seatings and not bots:
        planned = pool.planned_seatings.get(tuple([ticket.id for ticket in tickets]))
        if planned is not None:
            return planned
    return pool.objective.seat(tickets, bots, now) if tickets else None


def describe(
    match_id: str, pool: Pool, tickets: list[Ticket], seating: Seating, bots: int, now: float
) -> Match:
    """Return the match that a division makes now, with its cost, handicap and venue."""
    handicap, venues = pool.queue.handicap, pool.objective.venues
    form = pool.queue.format
    venue = NOWHERE if venues.are_none else venues.of(seating.teams, now)
    return Match(
        match_id,
        pool.name,
        now,
        tuple(map(id_of, tickets)),
        tuple([tuple(map(id_of, team)) for team in seating.teams]),
        tuple([tuple([p.id for t in team for p in t.players]) for team in seating.teams]),
        bots,
        pool.objective.cost(seating, bots, now),
        seating.quality,
        handicap=handicap_points(handicap, seating.teams, bots) if handicap is not None else None,
        roles=seating.roles,
        region=venue.region,
        latency_delta=venue.delta,
        hosts=venue.hosts,
        off_side=off_side(form.sides, seating.teams)
        if form.sides and not form.strict_sides
        else None,
        wide=pool.says_wide and pool.is_wide(seating.teams),
    )


def off_side(sides: tuple[str, ...], teams: Teams) -> tuple[str, ...] | None:
    """Return the tickets that got another side than they wished for; None if there are none."""
    tickets_off_side = [
        ticket.id
        for name, team in zip(sides, teams, strict=True)
        for ticket in team
        if side_of(ticket) not in ("", name)
    ]
    return tuple(tickets_off_side) or None


def no_division_sentence(form: Format) -> str:
    """Return what is wrong with tickets that have no division, in words."""
    if form.roles:
        return "the tickets do not fill the teams with the roles that players accept"
    if form.is_variable:
        return "the tickets do not fill the teams to their minimum, or are too many"
    return "the tickets do not fill the teams exactly"


def _need_fewer_bots(pool: Pool, tickets: list[Ticket], bots: int) -> bool:
    """Return whether the tickets make a match with one bot less, too."""
    return pool.queue.format.is_variable and pool.objective.seat(tickets, bots - 1) is not None


def _broken(pool: Pool, rule: str, ids: tuple[str, ...]) -> PolicyError:
    named = ", ".join(ids[:20])
    return PolicyError(f"policy {pool.queue.policy} of queue {pool.name}: {rule} (tickets {named})")
