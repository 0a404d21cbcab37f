"""What goes over the stream of many tickets, and what refreshes a ticket that waits."""

from __future__ import annotations

import msgspec

from evenmatch.model.explanation import Explanation as Explanation
from evenmatch.model.explanation import LongestWaiting as LongestWaiting
from evenmatch.model.ticket import Player, Value
from evenmatch.wire.tickets import CreateTicket, Problem, TicketState, new_ticket


class FollowTickets(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """What a client of the stream asks for.

    Args:
        follow: Ids of tickets to hear of.
        unfollow: Ids of tickets to hear of no more.
        after: The highest sequence that the client has seen; present states up to it are left out.
    """

    follow: tuple[str, ...] = ()
    unfollow: tuple[str, ...] = ()
    after: int = 0


class StreamProblem(msgspec.Struct, frozen=True, gc=False):
    """Something that the stream could not do.

    Args:
        event: Always `problem`.
        ticket: The ticket that it is about; null where the message was at fault.
        problem: What is wrong.
    """

    event: str
    ticket: str | None
    problem: Problem


class StreamEvent(msgspec.Struct, frozen=True, gc=False):
    """A ticket's state, as it changes.

    Args:
        event: The name of the state.
        sequence: A number that grows with each change of any ticket; see `after`.
        ticket: The ticket.
    """

    event: str
    sequence: int
    ticket: TicketState


class UpdateTicket(
    msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True
):
    """New facts of a waiting ticket; what is left out stays as it is.

    Args:
        attributes: Facts of the party that take the place of those of the same name.
        players: Players of the ticket, with what is new: a rating, attributes, roles.
    """

    attributes: dict[str, Value] = {}
    players: tuple[Player, ...] = ()


def update_of(update: UpdateTicket) -> UpdateTicket:
    """Return the update with sets of words sorted, so that equal sets are equal.

    Raises:
        InvalidTicket: A player's id cannot be read.
    """
    new = new_ticket(CreateTicket(update.players, (), update.attributes))
    return UpdateTicket(new.attributes, new.players)
