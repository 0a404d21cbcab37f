"""Ownership: players see their own tickets and matches, service keys those of their queues.

What is not theirs looks to a caller exactly as if there were no such thing.
"""

from __future__ import annotations

from collections.abc import Iterable

from evenmatch.engine.engine import Engine
from evenmatch.engine.outcomes.reports import lineup_of
from evenmatch.engine.state.rows import KeptMatch, Proposal
from evenmatch.engine.state.state import Tables, players_of
from evenmatch.errors import UnknownMatch, UnknownTicket
from evenmatch.server.auth.principal import Forbidden, Principal


def check_ticket(principal: Principal, engine: Engine, ticket_id: str) -> None:
    """Refuse a ticket of somebody else, as if it did not exist.

    One that is not there is refused too: ids can be foretold, and while the rest of their request
    comes in, it may become the ticket of somebody else.

    Raises:
        UnknownTicket: It belongs to somebody else, or to nobody yet.
        Forgotten: It ended long ago.
    """
    if not (principal.is_player or principal.queues):
        return
    tables = engine.tables
    if ticket_id not in tables.waiting and ticket_id not in tables.ended:
        engine.view(ticket_id)
    if principal.is_player:
        is_his = principal.name in players_of(tables, ticket_id)
    else:
        is_his = not principal.queues.isdisjoint(_queues_of(tables, ticket_id))
    if not is_his:
        raise UnknownTicket(f"no ticket has the id {ticket_id[:64]!r}")


def check_match(principal: Principal, engine: Engine, match_id: str) -> None:
    """Refuse a match of somebody else, as if it did not exist, and one that does not.

    Raises:
        UnknownMatch: It belongs to others, or was never made.
        Forgotten: It is no longer kept.
        ProposalOver: It was proposed, and its proposal failed.
    """
    if not (principal.is_player or principal.queues):
        return
    kept = engine.tables.proposals.get(match_id) or engine.match(match_id)
    if principal.is_player:
        is_his = _has_played(engine.tables, kept, principal.name)
    else:
        is_his = kept.match.queue in principal.queues
    if not is_his:
        raise UnknownMatch(f"no match has the id {match_id[:64]!r}")


def check_answer(principal: Principal, engine: Engine, match_id: str, ticket_id: str) -> None:
    """Refuse an answer to a ready-check for a match that is not and was not the caller's.

    Whoever declined or was silent has left the match, and may say so again without harm.

    Args:
        principal: The caller.
        engine: Knows whose the match is.
        match_id: The match.
        ticket_id: The ticket that the answer is for; it is the caller's.

    Raises:
        UnknownMatch, Forgotten, ProposalOver: As `check_match` says.
    """
    ended = engine.tables.ended.get(ticket_id)
    if ended is None or ended.match != match_id:
        check_match(principal, engine, match_id)


def speaks_for(
    principal: Principal, engine: Engine, ticket_id: str, players: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the players of a ticket for whom a caller answers: a player for themselves.

    Args:
        principal: The caller.
        engine: Knows whose the ticket is.
        ticket_id: The ticket.
        players: Whom they name; empty means everybody they speak for.

    Raises:
        UnknownTicket: It is not theirs.
        Forbidden: They name somebody else.
    """
    check_ticket(principal, engine, ticket_id)
    if not principal.is_player:
        return players
    if any(player != principal.name for player in players):
        raise Forbidden("players can answer only for themselves", where="/players")
    return (principal.name,)


def check_queue(principal: Principal, queues: Iterable[str]) -> None:
    """Refuse queues that the caller's key is not for.

    Raises:
        Forbidden: One of them is not among its own.
    """
    if not principal.queues:
        return
    for name in queues:
        if name not in principal.queues:
            own = ", ".join(sorted(principal.queues))
            raise Forbidden(
                f"this key is for the queues {own}, not for {name[:64]!r}", where="/queues"
            )


def _has_played(tables: Tables, kept: KeptMatch | Proposal, player: str) -> bool:
    """Return whether somebody was in a match from its beginning, or has joined it."""
    if any(player in team for team in kept.match.players):
        return True
    if isinstance(kept, Proposal):
        return False
    return any(player in team for team in lineup_of(tables, kept).match.players)


def _queues_of(tables: Tables, ticket_id: str) -> tuple[str, ...]:
    row = tables.waiting.get(ticket_id)
    return row.ticket.queues if row is not None else tables.ended[ticket_id].queues
