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
    Transition(WAITING, Proposed, PROPOSED, "a match that its players have to accept is proposed"),
    Transition(WAITING, Repaired, PROPOSED, "it gets a free seat of a proposal"),
    Transition(WAITING, Matched, MATCHED, "a match without a ready-check starts, or is filled"),
    Transition(WAITING, Cancelled, CANCELLED, "its owner withdraws it, or gives no sign of life"),
    Transition(WAITING, Expired, EXPIRED, "its longest wait is over"),
    Transition(PROPOSED, Confirmed, PROPOSED, "some of its players accept"),
    Transition(PROPOSED, Prolonged, PROPOSED, "the server was away: there is more time to answer"),
    Transition(PROPOSED, Dissolved, WAITING, "the proposal comes to nothing, through others"),
    Transition(PROPOSED, Matched, MATCHED, "everybody has accepted"),
    Transition(PROPOSED, Cancelled, CANCELLED, "a player declines or is silent, or withdraws"),
    Transition(MATCHED, Assigned, ASSIGNED, "the match has a server"),
    Transition(MATCHED, Voided, WAITING, "the match is called off; the ticket is as old as it was"),
    Transition(ASSIGNED, Assigned, ASSIGNED, "the match has another server"),
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
