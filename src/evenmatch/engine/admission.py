"""Admission: which tickets may enter. Everything that is not admitted changes nothing."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from evenmatch.cost.objective import Objective
from evenmatch.cost.percentile import placed_among
from evenmatch.engine.forgetting import KEYS_MOST
from evenmatch.engine.ratings import with_ratings
from evenmatch.engine.refresh import renewed
from evenmatch.engine.tables import Tables
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
from evenmatch.model.rating import Rating
from evenmatch.model.ticket import NewTicket, Player, Ticket, Value

NUMBER_MAX = 1e15
"""Largest magnitude of an attribute or rating; sums over a match stay exact enough."""
PINGS = "latency"
"""What tickets of every queue may bring: clients send pings to whichever queue they enter."""


class Limits(msgspec.Struct, frozen=True):
    """How much one shard takes."""

    waiting_max: int = 200_000
    players_max: int = 100
    queues_max: int = 10
    attributes_max: int = 32
    values_max: int = 100
    text_max: int = 128


UNLIMITED = Limits(*[2**31] * len(Limits.__struct_fields__))
"""What a server took under its settings is taken again where its records are read."""


class Door(msgspec.Struct, frozen=True, gc=False):
    """What it takes to judge who may enter: the engine as it is now.

    `known` tells the ratings of a ticket's players who come without one.
    """

    shard: str
    tables: Tables
    objectives: dict[str, Objective]
    limits: Limits
    known: Callable[[NewTicket], dict[str, Rating]] | None = None


def check_request(given: Enqueue, tables: Tables) -> None:
    """Check what concerns all items of a request to enter.

    Raises:
        KeyReused: Its idempotency key was used before.
        Overloaded: No more keys are remembered.
        ConfigError: There are no queues yet.
    """
    if given.key is not None and given.key in tables.keys:
        raise KeyReused(f"the idempotency key {given.key} was used before", where="/")
    if given.key is not None and len(tables.keys) >= KEYS_MOST:
        raise Overloaded("too many idempotency keys are remembered; try again later")
    if not tables.queues:
        raise ConfigError("the engine has no queues yet: hand in Configure first")


def judge(given: Enqueue, item: int, door: Door) -> Accepted | Existing | Refused:
    """Return what becomes of one item of a request."""
    new, tables = given.tickets[item], door.tables
    ratings = {} if door.known is None else door.known(new)
    new = with_ratings(new, ratings)
    try:
        admit(new, tables, door.objectives, door.limits, strict=given.strict)
        if tables.penalties:
            _check_cooldown(new, tables, given.now)
    except (AlreadyWaiting, Overloaded) as refusal:
        live = existing(new, tables)
        return Existing(item, live) if live else refused(item, refusal)
    except Refusal as refusal:
        return refused(item, refusal)
    number = tables.counters.accepted + 1
    ticket_id = new.id if new.id is not None else f"{door.shard}-{number}"
    if new.id is None and tables.knows(ticket_id):
        taken = "a caller's own id is in the way: give all tickets ids, or none"
        return refused(item, InvalidTicket(taken, where="/id"))
    return Accepted(item, ticket_id, number, places_of(new, tables, door.objectives), ratings)


def judge_update(given: Update, ticket: Ticket, door: Door) -> Updated:
    """Return what an update makes of a waiting ticket.

    Raises:
        InvalidTicket: A value is out of range or missing, or a player is not in the ticket.
    """
    tables, limits = door.tables, door.limits
    queues = tables.waiting[ticket.id].queues
    new = replace(renewed(ticket, given), queues=queues)
    _check_players(new, limits)
    if new.attributes:
        _check_values(new.attributes, limits, "/attributes")
    _check_wanted(new, queues, door.objectives)
    if given.strict:
        _check_known(new, queues, tables, door.objectives)
    return Updated(ticket.id, places_of(new, tables, door.objectives))


def admit(
    new: NewTicket,
    tables: Tables,
    objectives: dict[str, Objective],
    limits: Limits,
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
        raise Overloaded(f"{limits.waiting_max} tickets wait already; try again later")
    if new.id is not None and tables.knows(new.id):
        raise InvalidTicket(f"the ticket id {new.id[:64]!r} was given before", where="/id")
    _check_players(new, limits)
    queues = new.queues or (next(iter(tables.queues)),)
    _check_queues(queues, tables, limits)
    if new.attributes:
        _check_values(new.attributes, limits, "/attributes")
    if tables.paused and any(name in tables.paused for name in queues):
        raise Paused("the queue is paused; try again later", where="/queues")
    for name in queues:
        format_ = tables.queues[name].format
        if not format_.admits(len(new.players)):
            allowed = format_.party_sizes or tuple(range(1, max(format_.players) + 1))
            raise InvalidTicket(
                f"queue {name} takes parties of {', '.join(map(str, allowed))}, "
                f"got {len(new.players)} players",
                where="/players",
            )
    _check_wanted(new, queues, objectives)
    if strict:
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
            raise InvalidTicket(f"queue {name}: {problem}", where="/players")


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
        for name in attributes:
            if name != PINGS and not any(name in each.declared for each in objectives):
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


def _check_queues(queues: tuple[str, ...], tables: Tables, limits: Limits) -> None:
    if len(queues) == 1 and queues[0] in tables.queues:
        return
    if len(queues) > limits.queues_max or len(set(queues)) != len(queues):
        raise InvalidTicket(
            f"queues must name 1 to {limits.queues_max} different queues, got {len(queues)}",
            where="/queues",
        )
    for name in queues:
        if name not in tables.queues:
            known = ", ".join(list(tables.queues)[:20])
            raise UnknownQueue(
                f"no queue is called {name[:64]!r}; there is {known}", where="/queues"
            )
    if len(queues) > 1 and len({tables.queues[name].group for name in queues}) > 1:
        raise InvalidTicket("the queues of one ticket must be of one group", where="/queues")


def _check_players(new: NewTicket, limits: Limits) -> None:
    players = new.players
    if not 1 <= len(players) <= limits.players_max:
        raise InvalidTicket(
            f"a party has 1 to {limits.players_max} players, got {len(players)}", where="/players"
        )
    if len(players) > 1 and len({player.id for player in players}) != len(players):
        raise InvalidTicket("a player is named twice in the party", where="/players")
    for at, player in enumerate(players):
        if not _is_plain(player, limits):
            _check_player(player, limits, f"/players/{at}")


def _is_plain(player: Player, limits: Limits) -> bool:
    """Return whether nothing about a player needs a closer look; most are plain."""
    if player.attributes or player.roles or not 1 <= len(player.id) <= limits.text_max:
        return False
    rating = player.rating
    return rating is None or (
        -NUMBER_MAX <= rating.mean <= NUMBER_MAX
        and 0.0 <= rating.deviation <= NUMBER_MAX
        and rating.volatility is None
    )


def _check_player(player: Player, limits: Limits, where: str) -> None:
    if not 1 <= len(player.id) <= limits.text_max:
        raise InvalidTicket(
            f"a player's id has 1 to {limits.text_max} characters, got {len(player.id)}",
            where=where + "/id",
        )
    if player.rating is not None:
        _check_rating(player.rating, where + "/rating")
    if player.attributes:
        _check_values(player.attributes, limits, where + "/attributes")
    if player.roles and (
        len(player.roles) > limits.values_max or len(set(player.roles)) != len(player.roles)
    ):
        raise InvalidTicket(
            "roles must be different names, preferred first", where=where + "/roles"
        )


def _check_rating(rating: Rating, where: str) -> None:
    _check_number(rating.mean, where + "/mean")
    _check_number(rating.deviation, where + "/deviation", least=0.0)
    if rating.volatility is not None:
        _check_number(rating.volatility, where + "/volatility", least=0.0)


def _check_values(values: dict[str, Value], limits: Limits, where: str) -> None:
    if len(values) > limits.attributes_max:
        raise InvalidTicket(
            f"at most {limits.attributes_max} attributes are taken, got {len(values)}", where=where
        )
    for name, value in values.items():
        here = f"{where}/{name[: limits.text_max]}"
        if not 1 <= len(name) <= limits.text_max:
            raise InvalidTicket(
                f"an attribute's name has 1 to {limits.text_max} characters", where=here
            )
        if isinstance(value, float | int):
            _check_number(value, here)
        elif len(value) > (limits.text_max if isinstance(value, str) else limits.values_max):
            raise InvalidTicket(
                f"attribute {name[:64]} is too long: text has at most {limits.text_max} "
                f"characters, a set or map {limits.values_max} entries",
                where=here,
            )
        elif not isinstance(value, str):
            _check_entries(name, value, limits, here)


def _check_entries(
    name: str, value: tuple[str, ...] | dict[str, float], limits: Limits, where: str
) -> None:
    for entry in value:
        if len(entry) > limits.text_max:
            raise InvalidTicket(f"an entry of {name[:64]} is too long", where=where)
    if isinstance(value, dict):
        for number in value.values():
            _check_number(number, where)


def _check_number(value: float, where: str, least: float = -NUMBER_MAX) -> None:
    if not least <= value <= NUMBER_MAX:  # also refuses NaN
        raise InvalidTicket(
            f"a number must be finite and from {least:g} to {NUMBER_MAX:g}, got {value}",
            where=where,
        )


def _check_free(new: NewTicket, tables: Tables, queues: tuple[str, ...]) -> None:
    group = tables.queues[queues[0]].group
    live = tables.players.get(group, {})
    busy = tables.busy.get(group, {})
    for player in new.players:
        if (ticket := live.get(player.id)) is not None:
            raise AlreadyWaiting(
                f"player {player.id} waits already in ticket {ticket}; cancel it first",
                where="/players",
                ticket=ticket,
            )
        if busy and (match := busy.get(player.id)) is not None:
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


def places_of(
    new: NewTicket, tables: Tables, objectives: dict[str, Objective]
) -> dict[str, Placed]:
    """Return an admitted ticket's places among the last values of its queues.

    They are computed this once; the ticket's record holds them.
    """
    names = new.queues or tuple(tables.queues)[:1]
    places: dict[str, Placed] = {}
    for name in names:
        if samples := objectives[name].samples:
            places |= placed_among(new, samples, tables.recent)
    return places


def fits(ticket: Ticket, objective: Objective) -> bool:
    """Return whether a ticket that waits already fits a queue's new version."""
    return (
        objective.queue.format.admits(ticket.size)
        and objective.missing(ticket) is None
        and all(key in ticket.percentiles for key in objective.samples)
    )


def refused(item: int, refusal: Refusal) -> Refused:
    """Return the event that says why an item of a bulk create was refused."""
    seconds = refusal.seconds if isinstance(refusal, Cooldown) else None
    told = (refusal.where, refusal.ticket, refusal.match, seconds)
    return Refused(item, refusal.code, refusal.message, *told)
