"""Which tickets a caller may create: a service key those of its queues, a player one of their own.

A player's client is not believed about skill or friends. Their rating, their party and other facts
come from the claims of their token; their client adds latencies, wishes, and what
`player_attributes` names.
"""

from __future__ import annotations

import msgspec

from evenmatch.engine.engine import Engine
from evenmatch.engine.state.rows import TicketView
from evenmatch.errors import AlreadyWaiting, Refusal
from evenmatch.model.events import Refused
from evenmatch.model.ticket import Player, Ticket, Value
from evenmatch.server.auth.accounts import Accounts
from evenmatch.server.auth.ownership import check_match, check_queue, check_ticket
from evenmatch.server.auth.principal import Forbidden, PartyMember, Principal, no_credential
from evenmatch.wire.live import UpdateTicket
from evenmatch.wire.tickets import CreateTicket

RIGHTS = frozenset({"tickets", "own"})
HOUSEHOLD = "household"
ELSEWHERE = "a player of this ticket waits or plays already, elsewhere"
"""What a caller is told where a player is in a ticket or a match of somebody else."""

Result = TicketView | Refused
"""What becomes of a create."""
Created = CreateTicket | tuple[CreateTicket | Refusal, ...]


def check_may_create(principal: Principal) -> None:
    """Refuse a caller who may not create tickets, before their body is read.

    Raises:
        Unauthenticated: He has shown no credential.
        Forbidden: His key has not the right.
    """
    if not principal.rights & RIGHTS:
        raise no_credential() if principal.kind == "nobody" else lacks(principal, RIGHTS)


def lacks(principal: Principal, rights: frozenset[str]) -> Forbidden:
    """Return the refusal of a caller who has none of these rights."""
    if principal.is_player:
        return Forbidden("this is not for players; the game's own servers may do it with a key")
    needed = " or ".join(sorted(rights - {"own"}))
    return Forbidden(f"this needs a key with the right {needed}; {principal.name!r} lacks it")


def complete_create(
    principal: Principal, created: Created, engine: Engine, accounts: Accounts
) -> Created:
    """Return what a caller creates, completed from their token's claims.

    Args:
        principal: The caller.
        created: What they sent.
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


def visible_result(principal: Principal, engine: Engine, result: Result) -> Result:
    """Return a create's result for its caller, without tickets and matches of others.

    Somebody may wait already in a queue that the caller's key is not for. That they do is told,
    since nothing else explains the refusal, but not in which ticket or match.
    """
    if not (principal.is_player or principal.queues):
        return result
    if isinstance(result, TicketView):
        ticket: str | None = result.id
        match, item = None, 0
    else:
        ticket, match, item = result.ticket, result.match, result.item
    try:
        if ticket is not None:
            check_ticket(principal, engine, ticket)
        if match is not None:
            check_match(principal, engine, match)
    except Refusal:
        return Refused(item, AlreadyWaiting.code, ELSEWHERE, "/players")
    return result


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
    signed, free = principal.token_facts, accounts.free_attributes
    if all(player.id != principal.name for player in created.players):
        raise Forbidden(
            "a player's ticket must name that player, by the id in their token",
            where="/players",
        )
    if created.attributes:
        _check_attributes(created.attributes, free, "/attributes")
    players = []
    for at, player in enumerate(created.players):
        if player.id == principal.name:
            member = PartyMember(player.id, signed.rating, signed.household)
            facts = signed.attributes
        else:
            member, facts = _mate(signed.party, player.id, f"/players/{at}/id"), {}
        _check_client(player, free, at)
        facts = accounts.measured.facts(player.id, facts)
        if member.household is not None:
            facts = {**facts, HOUSEHOLD: member.household}
        attributes = player.attributes
        if facts:
            attributes = _completed(attributes, facts, _declared(created, engine))
        players.append(Player(player.id, member.rating, attributes, player.roles))
    return CreateTicket(tuple(players), created.queues, created.attributes)


def _mate(party: tuple[PartyMember, ...], player: str, where: str) -> PartyMember:
    """Return what a token says of a party-mate."""
    for member in party:
        if member.id == player:
            return member
    raise Forbidden(
        f"player {player[:64]!r} is not in the party that the token names; "
        f"the game's login puts friends into its claim `party`",
        where=where,
    )


def renewable(principal: Principal, update: UpdateTicket, accounts: Accounts) -> UpdateTicket:
    """Return what a caller may change of a waiting ticket.

    Args:
        principal: The caller.
        update: What they sent.
        accounts: Knows what clients may say, and what is better known.

    Raises:
        Forbidden: He may not change it so.
    """
    if not principal.is_player:
        return update
    free = accounts.free_attributes
    _check_attributes(update.attributes, free, "/attributes")
    players = []
    for at, player in enumerate(update.players):
        if player.id != principal.name:
            raise Forbidden("players can change only their own data", where=f"/players/{at}/id")
        _check_client(player, free, at)
        known = accounts.measured.facts(player.id, principal.token_facts.attributes)
        attributes = {
            name: merge_values(value, known[name]) if name in known else value
            for name, value in player.attributes.items()
        }
        players.append(msgspec.structs.replace(player, attributes=attributes))
    return UpdateTicket(update.attributes, tuple(players))


def remember(
    principal: Principal, update: UpdateTicket, ticket: Ticket | None, accounts: Accounts
) -> None:
    """Note what a service has measured, once the engine has accepted it.

    Args:
        principal: The caller.
        update: What they sent.
        ticket: The ticket as it waited before.
        accounts: Where it is noted.
    """
    if ticket is not None and principal.kind == "service":
        own = {player.id for player in ticket.players}
        accounts.measured.note(tuple(p for p in update.players if p.id in own))


def _check_client(player: Player, free: frozenset[str], at: int) -> None:
    """Refuse what only servers and signed claims may say of a player."""
    if player.rating is not None:
        raise Forbidden(
            "a player's client may not send ratings; they come from the game's servers "
            "or from the token's claim `rating`",
            where=f"/players/{at}/rating",
        )
    if player.attributes:
        _check_attributes(player.attributes, free, f"/players/{at}/attributes")


def _completed(
    claimed: dict[str, Value], facts: dict[str, Value], declared: frozenset[str]
) -> dict[str, Value]:
    """Return attributes with what is better known; what no queue asks for is left out."""
    known = {name: value for name, value in facts.items() if name in declared}
    return {
        **claimed, **{name: merge_values(claimed.get(name), value) for name, value in known.items()}
    }  # fmt: skip


def merge_values(claimed: Value | None, known: Value) -> Value:
    """Return a fact that two sources know, of which one is better.

    >>> merge_values({"eu": 1.0, "us": 90.0}, {"eu": 31.0})
    {'eu': 31.0, 'us': 90.0}
    """
    if isinstance(claimed, dict) and isinstance(known, dict):
        return claimed | known
    return known


def _queues_of(created: CreateTicket, engine: Engine) -> tuple[str, ...]:
    return created.queues or tuple(engine.tables.queues)[:1]


def _declared(created: CreateTicket, engine: Engine) -> frozenset[str]:
    """Return the attributes that tickets of these queues may have."""
    pools = (engine.pools.get(name) for name in _queues_of(created, engine))
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
