"""Admission decides which tickets may enter; a ticket that is refused changes nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from hashlib import blake2b

import msgspec
from msgspec.structs import replace

from evenmatch.criteria.expansion import round_up
from evenmatch.criteria.objective import Objective
from evenmatch.criteria.percentile import placed_among
from evenmatch.engine.admission.shard_limits import (
    ShardLimits,
    check_player,
    check_values,
    is_plain,
)
from evenmatch.engine.admission.ticket_update import renewed_ticket
from evenmatch.engine.state.reducers import KEYS_MOST
from evenmatch.engine.state.state import Tables
from evenmatch.engine.state.stored_ratings import Defaults, defaults_of, with_defaults, with_ratings
from evenmatch.errors import (
    AlreadyWaiting,
    ConfigError,
    Cooldown,
    InvalidTicket,
    KeyReused,
    Overloaded,
    Paused,
    Refusal,
    UnknownQueue,
)
from evenmatch.model.events import Accepted, Existing, Placed, Refused, Updated
from evenmatch.model.inputs import Enqueue, Update
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import LATENCY, NewTicket, Rating, Ticket


class AdmissionContext(msgspec.Struct, frozen=True, gc=False):
    """What admission needs to judge a request: the engine as it is now.

    Args:
        shard: Prefix of the ids that are given.
        tables: What is remembered.
        objectives: The queues, by name.
        limits: How much is taken.
        ratings_of: Returns the ratings of a ticket's players who come without one; None where no
            queue has ratings.
        has_defaults: Whether some queue has values for attributes that are left out.
        has_samples: Whether some queue compares places among the last values.
    """

    shard: str
    tables: Tables
    objectives: dict[str, Objective]
    limits: ShardLimits
    ratings_of: Callable[[NewTicket], dict[str, Rating]] | None
    has_defaults: bool
    has_samples: bool


def admission_context(
    shard: str,
    tables: Tables,
    objectives: dict[str, Objective],
    limits: ShardLimits,
    ratings_of: Callable[[NewTicket], dict[str, Rating]] | None = None,
) -> AdmissionContext:
    """Return the context of an engine; it holds until queues, limits or tables are others."""
    asked = objectives.values()
    has_defaults = any(objective.queue.defaults for objective in asked)
    has_samples = any(objective.samples for objective in asked)
    return AdmissionContext(
        shard, tables, objectives, limits, ratings_of, has_defaults, has_samples
    )


def check_request(enqueue: Enqueue, tables: Tables) -> None:
    """Check what concerns all items of a create.

    Raises:
        KeyReused: Its idempotency key was used before.
        Overloaded: No more keys are remembered.
        ConfigError: There are no queues yet.
    """
    if enqueue.key is not None and enqueue.key in tables.keys:
        raise KeyReused(f"the idempotency key {enqueue.key} was used before", where="/")
    if enqueue.key is not None and len(tables.keys) >= KEYS_MOST:
        raise Overloaded("too many idempotency keys are in use; try again later")
    if not tables.queues:
        raise ConfigError("the engine has no queues yet: hand in Configure first")


def judge(enqueue: Enqueue, item: int, context: AdmissionContext) -> Accepted | Existing | Refused:
    """Return the decision on one item of a create."""
    new, tables = enqueue.tickets[item], context.tables
    ratings = {} if context.ratings_of is None else context.ratings_of(new)
    if ratings:
        new = with_ratings(new, ratings)
    defaults: Defaults = {}
    if context.has_defaults and (defaults := defaults_of(new, tables)):
        new = with_defaults(new, defaults)
    try:
        admit(new, tables, context.objectives, context.limits, strict=enqueue.strict)
        if tables.penalties:
            _check_cooldown(new, tables, enqueue.now)
    except (AlreadyWaiting, Overloaded) as refusal:
        live = existing(new, tables)
        return Existing(item, live) if live else refusal_event(item, refusal)
    except Refusal as refusal:
        return refusal_event(item, refusal)
    number = tables.counters.accepted + 1
    ticket_id = new.id if new.id is not None else f"{context.shard}-{number}"
    if new.id is None and (ticket_id in tables.waiting or ticket_id in tables.ended):
        taken = "a caller's own id is in the way: give all tickets ids, or none"
        return refusal_event(item, InvalidTicket(taken, where="/id"))
    places = places_of(new, context) if context.has_samples else {}
    return Accepted(item, ticket_id, number, places, ratings, defaults)


def judge_update(update: Update, ticket: Ticket, context: AdmissionContext) -> Updated:
    """Return what an update does to a waiting ticket.

    Raises:
        InvalidTicket: A value is out of range or missing, a strict update brings what no queue
            that the ticket asked for declares, or a player is not in the ticket, or named twice.
    """
    tables, limits = context.tables, context.limits
    queues = tables.waiting[ticket.id].queues
    new = replace(renewed_ticket(ticket, update), queues=queues)
    if len({player.id for player in update.players}) != len(update.players):
        raise InvalidTicket("a player is named twice in the update", where="/players")
    _check_players(new, limits)
    if new.attributes:
        check_values(new.attributes, limits, "/attributes")
    _check_wanted(new, queues, context.objectives)
    if update.strict:
        # Only what it brings: what the ticket carries may be for a queue that it has left.
        brought = NewTicket(update.players, attributes=update.attributes)
        named = tuple([name for name in ticket.queues if name in tables.queues])
        _check_known(brought, named, tables, context.objectives)
    return Updated(ticket.id, places_of(new, context))


def admit(
    new: NewTicket,
    tables: Tables,
    objectives: dict[str, Objective],
    limits: ShardLimits,
    *,
    strict: bool = False,
) -> None:
    """Check that a ticket may enter now.

    Raises:
        InvalidTicket: A value is out of range or missing, the party does not fit.
        UnknownQueue: A queue's name is not known.
        AlreadyWaiting: A player is in another live ticket or match of the group.
        Overloaded: The shard holds as many waiting tickets as it takes.
    """
    if len(tables.waiting) >= limits.waiting_max:
        raise Overloaded(f"already {limits.waiting_max} tickets wait here; try again later")
    if new.id is not None and (tables.knows(new.id) or new.id in tables.backfills):
        raise InvalidTicket(f"the ticket id {new.id[:64]!r} was used before", where="/id")
    if len(new.players) != 1 or not is_plain(new.players[0], limits):
        _check_players(new, limits)
    queues = new.queues or (next(iter(tables.queues)),)
    if len(queues) != 1 or queues[0] not in tables.queues:
        _check_queues(queues, tables, limits)
    if new.attributes:
        check_values(new.attributes, limits, "/attributes")
    if tables.paused and any(name in tables.paused for name in queues):
        raise Paused("the queue is paused; try again later", where="/queues")
    for name in queues:
        objective = objectives[name]
        if len(new.players) not in objective.party_sizes:
            format_ = objective.queue.format
            allowed = format_.party_sizes or tuple(range(1, max(format_.players) + 1))
            raise InvalidTicket(
                f"queue {name} takes parties of {', '.join(map(str, allowed))}, "
                f"got {len(new.players)} players",
                where="/players",
            )
        if problem := objective.missing(new):
            raise _missing(name, problem)
    if strict and _has_facts(new):
        _check_known(new, queues, tables, objectives)
    _check_free(new, tables, queues)


def existing(new: NewTicket, tables: Tables) -> str | None:
    """Return the live ticket that has exactly these players, or None."""
    queues = new.queues or tuple(tables.queues)[:1]
    queue = tables.queues.get(queues[0]) if queues else None
    if queue is None or not new.players:
        return None
    live = tables.players.get(queue.group, {}).get(new.players[0].id)
    if live is None:
        return None
    there = tables.waiting[live].ticket.players
    same = len(there) == len(new.players) and {p.id for p in there} == {p.id for p in new.players}
    return live if same else None


def _check_wanted(
    new: NewTicket, queues: tuple[str, ...], objectives: dict[str, Objective]
) -> None:
    """Refuse a ticket that lacks what its queues compare."""
    for name in queues:
        if problem := objectives[name].missing(new):
            raise _missing(name, problem)


def _missing(queue: str, problem: str) -> InvalidTicket:
    return InvalidTicket(f"queue {queue}: {problem}", where="/players")


def _has_facts(new: NewTicket) -> bool:
    """Return whether a ticket says more of its players than who they are and how they play."""
    for player in new.players:
        if player.attributes or player.roles:
            return True
    return bool(new.attributes)


def _check_known(
    new: NewTicket, queues: tuple[str, ...], tables: Tables, objectives: dict[str, Objective]
) -> None:
    """Refuse what none of a ticket's queues has any use for."""
    _check_declared(new, [objectives[name] for name in queues])
    _check_roles(new, [tables.queues[name] for name in queues])


def _check_declared(new: NewTicket, objectives: list[Objective]) -> None:
    """Refuse attributes that none of the queues compares or carries along."""
    parts = [("/attributes", new.attributes)]
    parts += [(f"/players/{at}/attributes", p.attributes) for at, p in enumerate(new.players)]
    for where, attributes in parts:
        for name, value in attributes.items():
            if isinstance(value, float | int) and any(name in o.id_lists for o in objectives):
                # A file may turn the id of a player into a number; a client that sends one errs.
                raise InvalidTicket(
                    f'attribute {name} must be an array of player ids such as ["ada"], '
                    f"got {value:g}",
                    where=f"{where}/{name}",
                )
            if name != LATENCY and not any(name in each.declared for each in objectives):
                allowed = sorted(set().union(*(objective.declared for objective in objectives)))
                raise InvalidTicket(
                    f"attribute {name[:64]!r} is not declared by the ticket's queues; "
                    f"allowed: {', '.join(allowed) or 'none'}",
                    where=f"{where}/{name[:64]}",
                )


def _check_roles(new: NewTicket, queues: list[Queue]) -> None:
    """Refuse roles where none of the queues has any."""
    if any(queue.format.roles for queue in queues):
        return
    for at, player in enumerate(new.players):
        if player.roles:
            raise InvalidTicket(
                "the ticket's queues have no roles; leave them out", where=f"/players/{at}/roles"
            )


def _check_queues(queues: tuple[str, ...], tables: Tables, limits: ShardLimits) -> None:
    if len(queues) > limits.queues_max:
        raise InvalidTicket(
            f"queues must name 1 to {limits.queues_max} queues, got {len(queues)}", where="/queues"
        )
    if len(set(queues)) != len(queues):
        twice = next(name for at, name in enumerate(queues) if name in queues[:at])
        raise InvalidTicket(
            f"queues must be different, and {twice[:64]!r} is named twice", where="/queues"
        )
    for name in queues:
        if name not in tables.queues:
            known = ", ".join(list(tables.queues)[:20])
            raise UnknownQueue(
                f"no queue is called {name[:64]!r}; allowed: {known}", where="/queues"
            )
    if len(queues) > 1:
        _check_group([tables.queues[name] for name in queues])


def _check_group(queues: list[Queue]) -> None:
    first = queues[0]
    if other := next((each for each in queues if each.group != first.group), None):
        raise InvalidTicket(
            f"the queues of one ticket must be in one group: {first.name!r} is in {first.group!r}, "
            f"and {other.name!r} in {other.group!r}",
            where="/queues",
        )


def _check_players(new: NewTicket, limits: ShardLimits) -> None:
    players = new.players
    if not 1 <= len(players) <= limits.players_max:
        raise InvalidTicket(
            f"a party has 1 to {limits.players_max} players, got {len(players)}", where="/players"
        )
    if len(players) > 1 and len({player.id for player in players}) != len(players):
        raise InvalidTicket("a player is named twice in the party", where="/players")
    for at, player in enumerate(players):
        if not is_plain(player, limits):
            check_player(player, limits, f"/players/{at}")


def _check_free(new: NewTicket, tables: Tables, queues: tuple[str, ...]) -> None:
    group = tables.queues[queues[0]].group
    live = tables.players.get(group, {})
    busy = tables.busy.get(group) if tables.busy else None
    for player in new.players:
        if (ticket := live.get(player.id)) is not None:
            raise AlreadyWaiting(
                f"player {player.id} is already waiting in ticket {ticket}; cancel it first",
                where="/players",
                ticket=ticket,
            )
        if busy and (match := busy.get(player.id)) is not None:
            # Who joined a running match is kept under the fill, which nobody can finish.
            match = tables.matches[match].match.extends or match
            raise AlreadyWaiting(
                f"player {player.id} plays in match {match}; finish it first",
                where="/players",
                match=match,
            )


def _check_cooldown(new: NewTicket, tables: Tables, now: float) -> None:
    """Refuse players who failed several ready-checks lately."""
    queues = new.queues or (next(iter(tables.queues)),)
    penalties = tables.penalties.get(tables.queues[queues[0]].group, {})
    for player in new.players:
        penalty = penalties.get(player.id)
        if penalty is not None and penalty.until > now:
            raise Cooldown(
                f"player {player.id} failed {penalty.count} ready-checks and may queue again in "
                f"{math.ceil(penalty.until - now)} s",
                seconds=penalty.until - now,
            )


def places_of(new: NewTicket, context: AdmissionContext) -> dict[str, Placed]:
    """Return an admitted ticket's places among the last values of its queues.

    They are computed this once; the ticket's record holds them.
    """
    tables = context.tables
    names = new.queues or tuple(tables.queues)[:1]
    places: dict[str, Placed] = {}
    for name in names:
        if samples := context.objectives[name].samples:
            places |= placed_among(new, samples, tables.recent)
    return places


def fits(ticket: Ticket, objective: Objective) -> bool:
    """Return whether the new version of a queue admits a waiting ticket."""
    return (
        ticket.size in objective.party_sizes
        and objective.missing(ticket) is None
        and all(key in ticket.percentiles for key in objective.samples)
    )


def refusal_event(item: int, refusal: Refusal) -> Refused:
    """Return the event that says why an item of a bulk create was refused."""
    seconds = refusal.seconds if isinstance(refusal, Cooldown) else None
    told = (refusal.where, refusal.ticket, refusal.match, seconds)
    return Refused(item, refusal.code, refusal.message, *told)


# When a new ticket is let in: after a delay that nobody outside can know.
#
# Two people who press at the same second would be put together whenever the queue is thin. With a
# delay of their own each, they are not; the delay is a hash of the seed, the queue and the
# ticket's number, so a replay and a restart find the same instant again.

BITS = 53


def let_in_at(ticket: Ticket, queue: Queue, seed: int) -> float:
    """Return the instant at which the matcher of a queue learns of a ticket.

    It is `enqueued_at` plus up to `commit_jitter` seconds, uniform, on the time grid.

    Complexity:
        One hash, about 2 us; none where the queue has no jitter.
    """
    if not queue.commit_jitter:
        return ticket.enqueued_at
    drawn = blake2b(f"jitter/{seed}/{queue.name}/{ticket.sequence}".encode(), digest_size=8)
    share = (int.from_bytes(drawn.digest(), "big") >> (64 - BITS)) / 2.0**BITS
    return ticket.enqueued_at + round_up(share * queue.commit_jitter)
