"""Updates a waiting ticket with newer facts, such as a changed rating or a measured latency."""

from __future__ import annotations

from msgspec.structs import replace

from evenmatch.engine.state.encounters import SAID
from evenmatch.errors import InvalidTicket
from evenmatch.model.events import Placed
from evenmatch.model.inputs import Update
from evenmatch.model.ticket import NewTicket, Player, Ticket


def renewed_ticket(ticket: Ticket, update: Update) -> NewTicket:
    """Return the ticket as if it were asked for now, with what the update brings.

    Raises:
        InvalidTicket: The update names a player who is not in the ticket.
    """
    players = {player.id: player for player in ticket.players}
    for at, new in enumerate(update.players):
        old = players.get(new.id)
        if old is None:
            raise InvalidTicket(
                f"player {new.id[:64]!r} is not in ticket {ticket.id}", where=f"/players/{at}/id"
            )
        players[new.id] = _renewed_player(old, new)
    attributes = {**ticket.attributes, **update.attributes}
    return NewTicket(tuple(players.values()), ticket.queues, attributes)


def refreshed(ticket: Ticket, update: Update, percentiles: dict[str, Placed]) -> Ticket:
    """Return a ticket after an accepted update."""
    new = renewed_ticket(ticket, update)
    places = {key: placed.places for key, placed in percentiles.items()}
    return replace(
        ticket,
        players=new.players,
        attributes=new.attributes,
        percentiles={**ticket.percentiles, **places},
    )


def _renewed_player(old: Player, new: Player) -> Player:
    # What is said anew takes the place of what was said, and of the counts that came on top.
    newer = {f"{name}{SAID}" for name in new.attributes}
    kept = {name: value for name, value in old.attributes.items() if name not in newer}
    return replace(
        old,
        rating=old.rating if new.rating is None else new.rating,
        attributes={**kept, **new.attributes},
        roles=new.roles or old.roles,
    )
