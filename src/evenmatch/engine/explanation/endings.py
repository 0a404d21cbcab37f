"""What is said of a ticket that waits no longer."""

from __future__ import annotations

from evenmatch.engine.explanation.words import seconds
from evenmatch.engine.tables import TicketView

REASONS = {
    "deadline": "its longest wait was over and nobody was found",
    "queue_changed": "the queue was changed so that it could not stay",
    "silent": "its client was not heard of any more",
}


def ending_of(view: TicketView) -> str:
    """Return how a ticket ended, in a sentence."""
    wait = seconds((view.ended_at or view.enqueued_at) - view.enqueued_at)
    if view.state in ("matched", "assigned"):
        more = "" if view.state == "matched" else " and is assigned"
        return f"Was matched after {wait} in match {view.match}{more}."
    if view.state == "proposed":
        return f"Is in match {view.match}, which waits for its players to accept."
    if view.state == "cancelled":
        why = REASONS.get(view.reason or "", "")
        return f"Was cancelled after {wait}" + (f": {why}." if why else ".")
    why = REASONS.get(view.reason or "", view.reason or "no reason is known")
    return f"Expired after {wait}: {why}."
