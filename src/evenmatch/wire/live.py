"""What goes over the stream of many tickets, and what refreshes a ticket that waits."""

from __future__ import annotations

import msgspec

from evenmatch.model.explanation import Explanation as Explanation
from evenmatch.model.explanation import LongestWaiting as LongestWaiting
from evenmatch.model.ticket import Player, Value
from evenmatch.wire.tickets import CreateTicket, Problem, TicketState, new_ticket


class FollowTickets(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """A message by which a client of the stream says which tickets it follows.

    Args:
        follow: Ids of tickets to follow.
        unfollow: Ids of tickets to stop following.
        after: The highest sequence that the client has seen; states up to it are not sent again.
    """

    follow: tuple[str, ...] = ()
    unfollow: tuple[str, ...] = ()
    after: int = 0


class StreamProblem(msgspec.Struct, frozen=True, gc=False):
    """An error of the stream.

    Args:
        event: Always `problem`.
        ticket: The ticket that it is about; null if the client's message was wrong.
        problem: What is wrong.
    """

    event: str
    ticket: str | None
    problem: Problem


class StreamEvent(msgspec.Struct, frozen=True, gc=False):
    """A ticket's new state.

    Args:
        event: The name of the new state.
        sequence: A number that grows with each change of any ticket; see `after`.
        ticket: The ticket.
    """

    event: str
    sequence: int
    ticket: TicketState


class UpdateTicket(
    msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True
):
    """New attributes, ratings or roles of a waiting ticket; what you leave out stays as it is.

    Args:
        attributes: Attributes of the party, which replace those of the same name.
        players: Players of the ticket with what is new for them: a rating, attributes or roles.
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
