"""What a caller may create: a key, tickets of its queues; a player, one ticket of his own.

A player's client is not believed about skill or friends. His rating, his party and other facts come
from the claims of his token; his client adds latencies, wishes, and what `player_attributes` names.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from evenmatch.engine.engine import Engine
from evenmatch.errors import Refusal
from evenmatch.model.ticket import Player, Value
from evenmatch.server.auth.own import check_queue
from evenmatch.server.auth.principal import Member, Principal
from evenmatch.server.auth.refusals import Forbidden, no_credential
from evenmatch.wire import CreateTicket

RIGHTS = frozenset({"tickets", "own"})
HOUSEHOLD = "household"

Created = CreateTicket | tuple[CreateTicket | Refusal, ...]


def check_may_create(principal: Principal) -> None:
    """Refuse a caller who may not create tickets, before his body is read.

    Raises:
        Unauthenticated: He has shown no credential.
        Forbidden: His key has not the right.
    """
    if not principal.rights & RIGHTS:
        raise no_credential() if principal.kind == "nobody" else lacks(principal, RIGHTS)


def lacks(principal: Principal, rights: frozenset[str]) -> Forbidden:
    """Return the refusal of a caller without any of these rights."""
    if principal.is_player:
        return Forbidden("this is not for players; the game's own servers may do it with a key")
    needed = " or ".join(sorted(rights - {"own"}))
    return Forbidden(f"this needs a key with the right {needed}; {principal.name!r} has it not")


def allowed(
    principal: Principal, created: Created, engine: Engine, free: frozenset[str]
) -> Created:
    """Return what a caller creates, completed from his token's claims.

    Args:
        principal: The caller.
        created: What he sent.
        engine: Knows the queues.
        free: Attributes that a player's own client may set.

    Raises:
        Forbidden: He may not create it.
    """
    if principal.is_player:
        if isinstance(created, tuple):
            raise Forbidden("a player creates one ticket at a time; send it without the array")
        return _own(principal, created, engine, free)
    if not principal.queues:
        return created
    if isinstance(created, tuple):
        return tuple(_of_queues(principal, each, engine) for each in created)
    check_queue(principal, _queues_of(created, engine))
    return created


def _of_queues(
    principal: Principal, each: CreateTicket | Refusal, engine: Engine
) -> CreateTicket | Refusal:
    if isinstance(each, CreateTicket):
        try:
            check_queue(principal, _queues_of(each, engine))
        except Forbidden as refusal:
            return refusal
    return each


def _own(
    principal: Principal, created: CreateTicket, engine: Engine, free: frozenset[str]
) -> CreateTicket:
    vouched = principal.vouched
    members = {
        principal.name: Member(principal.name, vouched.rating, vouched.household),
        **{member.id: member for member in vouched.party if member.id != principal.name},
    }
    if all(player.id != principal.name for player in created.players):
        raise Forbidden(
            "a player's ticket names himself, by the id that his token has", where="/players"
        )
    _check_attributes(created.attributes, free, "/attributes")
    declared = _declared(_queues_of(created, engine), engine)
    players = []
    for at, player in enumerate(created.players):
        where = f"/players/{at}"
        member = members.get(player.id)
        if member is None:
            raise Forbidden(
                f"player {player.id[:64]!r} is not in the party that the token names; "
                f"the game's login puts friends into its claim `party`",
                where=f"{where}/id",
            )
        if player.rating is not None:
            raise Forbidden(
                "a player's client may not send ratings; they come from the game's servers "
                "or from the token's claim `rating`",
                where=f"{where}/rating",
            )
        _check_attributes(player.attributes, free, f"{where}/attributes")
        facts = vouched.attributes if player.id == principal.name else {}
        players.append(_vouched_for(player, member, facts, declared))
    return msgspec.structs.replace(created, players=tuple(players))


def _vouched_for(
    player: Player, member: Member, facts: dict[str, Value], declared: frozenset[str]
) -> Player:
    """Return a player with what is signed about him; of a map, the signed entries win."""
    attributes = dict(player.attributes)
    if member.household is not None:
        facts = {**facts, HOUSEHOLD: member.household}
    for name, value in facts.items():
        if name in declared:
            attributes[name] = merged(attributes.get(name), value)
    return msgspec.structs.replace(player, rating=member.rating, attributes=attributes)


def merged(claimed: Value | None, known: Value) -> Value:
    """Return a fact of which one source is better than the other.

    >>> merged({"eu": 1.0, "us": 90.0}, {"eu": 31.0})
    {'eu': 31.0, 'us': 90.0}
    """
    if isinstance(claimed, dict) and isinstance(known, dict):
        return claimed | known
    return known


def _queues_of(created: CreateTicket, engine: Engine) -> tuple[str, ...]:
    return created.queues or tuple(engine.tables.queues)[:1]


def _declared(queues: Sequence[str], engine: Engine) -> frozenset[str]:
    """Return the attributes that tickets of these queues may have."""
    pools = (engine.pools.get(name) for name in queues)
    return frozenset[str]().union(*(pool.objective.declared for pool in pools if pool is not None))


def _check_attributes(attributes: dict[str, Value], free: frozenset[str], where: str) -> None:
    for name in attributes:
        if name not in free:
            only = ", ".join(sorted(free)) or "none"
            raise Forbidden(
                f"a player's client may not set the attribute {name[:64]!r}, only {only}; the "
                f"server's setting player_attributes and the token's claim `attributes` add more",
                where=f"{where}/{name[:64]}",
            )
