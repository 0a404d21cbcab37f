"""Registers matches made elsewhere: their backend sends the roster and asks for players.

What comes of it is a match of this shard for as long as it asks for players, so that the search for
newcomers, leases and priorities are those of any other. It has no tickets that ever waited, counts
in no figure, and is in no feed; those who join it are a match like all who fill one.
"""

from __future__ import annotations

import math
from itertools import pairwise

from evenmatch.criteria.objective import Objective
from evenmatch.engine.admission.shard_limits import ShardLimits, check_player
from evenmatch.engine.backfill.candidates import can_compare
from evenmatch.engine.state.rows import Roster
from evenmatch.engine.state.state import Tables
from evenmatch.engine.state.stored_ratings import defaults_of, with_defaults
from evenmatch.errors import InvalidOpening
from evenmatch.model.events import Registered
from evenmatch.model.inputs import Register
from evenmatch.model.match import Match
from evenmatch.model.ticket import LATENCY, NewTicket, Player, Ticket, attribute_of

LIMITS = ShardLimits()
PLAYERS_MOST = 1_000
"""Players of one roster."""


def registered_of(
    register: Register, objective: Objective, tables: Tables, match_id: str
) -> Registered:
    """Return the event of a request that brings a roster.

    Args:
        register: The request.
        objective: Of its queue.
        tables: Of the engine.
        match_id: What the match is to be called.

    Raises:
        InvalidOpening: It has other teams than the queue, more players than seats, no player or no
            free seat, a player twice, or one of whom the queue cannot tell who may join them.
        InvalidTicket: A player's id or attribute is too long, or out of range.
    """
    _check_teams(register, objective)
    teams = tuple(
        tuple(
            _ticket(register, f"{match_id}.{at + 1}.{place + 1}", player, tables)
            for place, player in enumerate(team)
        )
        for at, team in enumerate(register.teams)
    )
    region = register.region
    if region is not None and not all(_knows(t, region) for team in teams for t in team):
        region = None
    match = Match(
        match_id,
        register.queue,
        register.now,
        (),
        tuple(tuple(ticket.id for ticket in team) for team in teams),
        tuple(tuple(player.id for player in team) for team in register.teams),
        region=region,
    )
    form = objective.queue.format
    if not can_compare(Roster(register.queue, form.players, teams), objective):
        raise InvalidOpening(
            f"a player lacks an attribute that queue {register.queue} compares; give each player "
            f"all attributes that have no default",
            where="/teams",
        )
    # Its lease may be renewed, so the match itself ends as any other does, but not before that.
    ends_at = register.now + max(objective.queue.match_max, register.lease)
    return Registered(match, teams, register.session or match_id, ends_at)


def _check_teams(register: Register, objective: Objective) -> None:
    form = objective.queue.format
    sizes = tuple(len(team) for team in register.teams)
    if len(sizes) != len(form.players) or sum(sizes) > PLAYERS_MOST:
        raise InvalidOpening(
            f"teams must be {len(form.players)}, got {len(sizes)} with {sum(sizes)} players",
            where="/teams",
        )
    for at, (size, seats) in enumerate(zip(sizes, form.players, strict=True)):
        if size > seats:
            raise InvalidOpening(
                f"team {at + 1} has at most {seats} players in queue {register.queue}, got {size}",
                where=f"/teams/{at}",
            )
    if sizes == form.players:
        raise InvalidOpening("no seat is free, so there is nobody to find", where="/teams")
    names = [player.id for team in register.teams for player in team]
    if not names:
        raise InvalidOpening("nobody is in the match: create tickets instead", where="/teams")
    if len(set(names)) != len(names):
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise InvalidOpening(f"player {twice[:64]!r} is named twice", where="/teams")
    for at, team in enumerate(register.teams):
        for place, player in enumerate(team):
            check_player(player, LIMITS, f"/teams/{at}/{place}")
    waits = [wait for wait, _ in register.steps]
    if not all(0.0 <= a < b for a, b in pairwise([*waits, math.inf])):
        raise InvalidOpening(
            f"each step must begin later than the one before, got {waits}", where="/steps"
        )


def _ticket(register: Register, name: str, player: Player, tables: Tables) -> Ticket:
    """Return a player as a ticket, with what the queue takes for attributes that are left out."""
    new = NewTicket((player,), (register.queue,))
    new = with_defaults(new, defaults_of(new, tables))
    return Ticket(name, 0, register.now, new.players, new.queues, new.attributes)


def _knows(ticket: Ticket, region: str) -> bool:
    latency = attribute_of(ticket, ticket.players[0], LATENCY)
    return isinstance(latency, dict) and region in latency
