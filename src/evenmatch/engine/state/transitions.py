"""The life of a ticket as data: which event leads from which state to which.

The engine asks `Tables.check_event` before it notes an event. The page of the states is drawn from
the same table, and random lives are held to it, in which every one of its rows occurs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, NamedTuple

from evenmatch.model.events import (
    Accepted,
    Assigned,
    Cancelled,
    Confirmed,
    Dissolved,
    Event,
    Expired,
    Matched,
    Prolonged,
    Proposed,
    Repaired,
    Voided,
)

NEW = "new"
WAITING, PROPOSED, MATCHED, ASSIGNED = "waiting", "proposed", "matched", "assigned"
CANCELLED, EXPIRED = "cancelled", "expired"
STATES = (WAITING, PROPOSED, MATCHED, ASSIGNED, CANCELLED, EXPIRED)
"""As owners of tickets see them."""


class Transition(NamedTuple):
    """One way from a state to a state.

    Args:
        before: The state, or `NEW`.
        event: What leads out of it.
        after: The state that follows; it may be the same one.
        when: In which case, for people.
    """

    before: str
    event: type[Event]
    after: str
    when: str


TRANSITIONS = (
    Transition(NEW, Accepted, WAITING, "the server takes it"),
    Transition(WAITING, Proposed, PROPOSED, "it is in a match that its players must accept"),
    Transition(WAITING, Repaired, PROPOSED, "it takes a seat that came free in a proposal"),
    Transition(WAITING, Matched, MATCHED, "a match without a ready-check starts, or is filled"),
    Transition(WAITING, Cancelled, CANCELLED, "its owner cancels it or stops sending heartbeats"),
    Transition(WAITING, Expired, EXPIRED, "its longest allowed wait is over"),
    Transition(PROPOSED, Confirmed, PROPOSED, "some of its players accept"),
    Transition(
        PROPOSED,
        Prolonged,
        PROPOSED,
        "the server was down or late, or clients are still coming back: players get more time",
    ),
    Transition(PROPOSED, Dissolved, WAITING, "the proposal fails because of other players"),
    Transition(PROPOSED, Matched, MATCHED, "all players have accepted"),
    Transition(PROPOSED, Cancelled, CANCELLED, "a player declines, does not answer or cancels"),
    Transition(MATCHED, Assigned, ASSIGNED, "the match gets a server"),
    Transition(MATCHED, Voided, WAITING, "the match is called off; its wait goes on"),
    Transition(ASSIGNED, Assigned, ASSIGNED, "the match gets another server"),
    Transition(ASSIGNED, Voided, WAITING, "the match that it filled is called off"),
)
"""All there are. What is not here cannot happen: a ticket ends once, and only a void match or a
proposal that came to nothing lets it wait again."""
POSSIBLE = frozenset({(NEW, Voided), *((each.before, each.event) for each in TRANSITIONS)})
"""Which event may happen to a ticket in which state. A match may be called off when its tickets are
long forgotten, so that they are `NEW` again."""
BEFORE: dict[type[Event], frozenset[str]] = {
    event: frozenset({before for before, possible in POSSIBLE if possible is event})
    for _, event in POSSIBLE
}
"""The same by event: the states in which a ticket may be when it happens."""
CONCERNED: dict[type[Event], Callable[[Any], str | Iterable[str]]] = {
    Accepted: attrgetter("ticket"),
    Cancelled: attrgetter("ticket"),
    Confirmed: attrgetter("ticket"),
    Dissolved: attrgetter("tickets"),
    Expired: attrgetter("ticket"),
    Matched: attrgetter("match.tickets"),
    Proposed: attrgetter("match.tickets"),
    Repaired: attrgetter("joined"),
    Voided: lambda event: [ticket.id for ticket in event.tickets],
}
"""The ticket, or the tickets, whose state an event changes, by kind of event; an assignment is
about a match, and who asks for more time about a proposal."""
