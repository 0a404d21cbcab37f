"""What a caller may create: a key, tickets of its queues; a player, one ticket of his own.

A player's client is not believed about skill or friends. His rating, his party and other facts come
from the claims of his token; his client adds latencies, wishes, and what `player_attributes` names.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

import msgspec

from evenmatch.engine.engine import Engine
from evenmatch.errors import Refusal
from evenmatch.model.ticket import Player, Ticket, Value
from evenmatch.server.auth.accounts import Accounts
from evenmatch.server.auth.own import check_queue
from evenmatch.server.auth.principal import Member, Principal
from evenmatch.server.auth.refusals import Forbidden, no_credential
from evenmatch.wire import CreateTicket
from evenmatch.wire_live import UpdateTicket

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


def allowed(principal: Principal, created: Created, engine: Engine, accounts: Accounts) -> Created:
    """Return what a caller creates, completed from his token's claims.

    Args:
        principal: The caller.
        created: What he sent.
        engine: Knows the queues.
        accounts: Knows what clients may say, and what is better known.

    Raises:
        Forbidden: He may not create it.
    """
    if principal.is_player:
        if isinstance(created, tuple):
            raise Forbidden("a player creates one ticket at a time; send it without the array")
        return _own(principal, created, engine, accounts)
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
    principal: Principal, created: CreateTicket, engine: Engine, accounts: Accounts
) -> CreateTicket:
    vouched, free, now = principal.vouched, accounts.free_attributes, monotonic()
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
        _check_client(player, free, where)
        facts = vouched.attributes if player.id == principal.name else {}
        facts = accounts.measured.facts(player.id, now, facts)
        players.append(_vouched_for(player, member, facts, declared))
    return msgspec.structs.replace(created, players=tuple(players))


def renewable(
    principal: Principal, update: UpdateTicket, ticket: Ticket | None, accounts: Accounts
) -> UpdateTicket:
    """Return what a caller may change of a waiting ticket; what a service sends is remembered.

    Args:
        principal: The caller.
        update: What he sent.
        ticket: The ticket as it waits; None if it does not.
        accounts: Knows what clients may say, and what is better known.

    Raises:
        Forbidden: He may not change it so.
    """
    now = monotonic()
    if not principal.is_player:
        if ticket is not None and principal.kind == "service":
            own = {player.id for player in ticket.players}
            accounts.measured.note(tuple(p for p in update.players if p.id in own), now)
        return update
    free = accounts.free_attributes
    _check_attributes(update.attributes, free, "/attributes")
    players = []
    for at, player in enumerate(update.players):
        if player.id != principal.name:
            raise Forbidden("a player changes himself only", where=f"/players/{at}/id")
        _check_client(player, free, f"/players/{at}")
        known = accounts.measured.facts(player.id, now, principal.vouched.attributes)
        attributes = {
            name: merged(value, known[name]) if name in known else value
            for name, value in player.attributes.items()
        }
        players.append(msgspec.structs.replace(player, attributes=attributes))
    return UpdateTicket(update.attributes, tuple(players))


def _check_client(player: Player, free: frozenset[str], where: str) -> None:
    """Refuse what only servers and signed claims may say of a player."""
    if player.rating is not None:
        raise Forbidden(
            "a player's client may not send ratings; they come from the game's servers "
            "or from the token's claim `rating`",
            where=f"{where}/rating",
        )
    _check_attributes(player.attributes, free, f"{where}/attributes")


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
