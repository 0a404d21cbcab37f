"""The life of a ticket as data: which event leads from which state to which.

The reducers ask `check_move` before a ticket changes its state. The page of the states is drawn
from the same table, and random lives are held to it, in which every one of its rows occurs.
"""

from __future__ import annotations

from typing import NamedTuple

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
)
"""All there are. What is not here cannot happen: a ticket ends once, and only a void match or a
proposal that came to nothing lets it wait again."""
MOVES = frozenset((each.before, each.event, each.after) for each in TRANSITIONS)


def check_move(ticket_id: str, before: str, event: type[Event], after: str) -> None:
    """Assert that a ticket may change its state so (I2); O(1)."""
    assert (before, event, after) in MOVES, (
        f"I2: {event.__name__} would lead ticket {ticket_id} from {before} to {after}"
    )
