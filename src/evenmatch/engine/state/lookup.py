"""Finding tickets and matches by id, and telling what never was from what is forgotten."""

from __future__ import annotations

from evenmatch.engine.state.rows import KeptMatch, TicketView
from evenmatch.engine.state.state import Tables
from evenmatch.errors import Forgotten, NotMade, ProposalOver, TooLate, UnknownMatch, UnknownTicket


def find_ticket(tables: Tables, shard: str, ticket_id: str) -> TicketView:
    """Return a ticket as its owner sees it.

    Raises:
        UnknownTicket: It was never accepted.
        Forgotten: It ended long ago.
    """
    if ticket_id not in tables.waiting and ticket_id not in tables.ended:
        if _was_given(f"{shard}-", ticket_id, tables.counters.accepted):
            raise Forgotten(f"ticket {ticket_id[:64]} ended long ago")
        raise UnknownTicket(f"no ticket has the id {ticket_id[:64]!r}")
    return tables.view(ticket_id)


def find_match(tables: Tables, shard: str, match_id: str) -> KeptMatch:
    """Return a match.

    Raises:
        UnknownMatch: It was never made.
        Forgotten: It is no longer kept.
        NotMade: Its players have not accepted it yet.
        ProposalOver: It was proposed and did not come about.
    """
    kept = tables.matches.get(match_id)
    if kept is None:
        if match_id in tables.proposals:
            raise NotMade(
                f"match {match_id} is proposed; its players have to accept it first",
                match=match_id,
            )
        if match_id in tables.failed:
            raise ProposalOver(f"match {match_id} did not come about", match=match_id)
        if _was_given(f"{shard}-m", match_id, tables.numbered):
            raise Forgotten(f"match {match_id[:64]} is no longer kept")
        raise UnknownMatch(f"no match has the id {match_id[:64]!r}")
    return kept


def too_late(view: TicketView) -> TooLate:
    """Return the refusal of what can only be done to a ticket that waits."""
    return TooLate(f"ticket {view.id} is {view.state}", ticket=view.id, match=view.match)


def players_of(tables: Tables, ticket_id: str) -> tuple[str, ...]:
    """Return the ids of a ticket's players; the ticket waits, or is kept."""
    row = tables.waiting.get(ticket_id)
    if row is not None:
        return tuple([player.id for player in row.ticket.players])
    return tables.ended[ticket_id].players


def _was_given(prefix: str, name: str, last: int) -> bool:
    """Return whether the engine gave this id: the n-th is the prefix and n."""
    number = name.removeprefix(prefix)
    if name == number or len(number) > 18 or not (number.isascii() and number.isdigit()):
        return False
    return number[0] != "0" and int(number) <= last
