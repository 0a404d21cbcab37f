"""Why a ticket has no match now: the first reason that holds, as a clause."""

from __future__ import annotations

import math

from evenmatch.explain.phrases import seconds
from evenmatch.explain.snapshot import QueueSnapshot
from evenmatch.model.explanation import Prospect, Reason, Seats

Prospects = tuple[Prospect | None, Prospect | None]
"""A match that is legal now, and one that will be."""


def reason_of(
    snapshot: QueueSnapshot,
    ticket_id: str,
    seats: Seats,
    found: Prospects | None,
    *,
    may_ever: bool,
) -> Reason:
    """Return why no match is made now.

    Args:
        snapshot: The queue.
        ticket_id: The ticket to explain.
        seats: Findings on sizes, sides and roles.
        found: Matches with the ticket; None if there was no search.
        may_ever: Whether the rules let any other ticket play with it, now or after some wait.
    """
    now, later = found or (None, None)
    if snapshot.is_paused:
        return Reason("paused", "the queue is paused, and nobody is matched until it is resumed")
    if snapshot.fault is not None:
        text = "the policy of the queue has failed, and nobody is matched until it is changed"
        return Reason("policy_failed", text)
    if now is not None:
        return unmade_reason(snapshot, ticket_id, now)
    if len(snapshot.tickets) == 1:
        return Reason("alone", "nobody else waits")
    if not seats.fills_without_rules:
        return Reason("seats", "those who wait do not fill a match")
    if later is not None:
        text = f"the limits allow the first match in {seconds(later.at - snapshot.now)}"
        return not_yet(snapshot, ticket_id, later, text)
    if not may_ever:
        return Reason("never", "the rules never allow a match with those who wait now")
    if found is None:
        return Reason("not_searched", "a match is looked for when this ticket is asked about alone")
    return Reason("rules", "the rules leave no match that a short search finds")


def not_yet(snapshot: QueueSnapshot, ticket_id: str, later: Prospect, text: str) -> Reason:
    """Return that a match will be legal, in the words of a clause, and who leaves before that."""
    if (end := snapshot.leaves_at(ticket_id)) < later.at:
        how = f"{ends_how(snapshot, ticket_id)} in {seconds(end - snapshot.now)}"
        return Reason("not_yet", f"{text}, but this ticket {how}, before that", later.at)
    gone = gone_before(snapshot, ticket_id, later)
    return Reason("not_yet", text + gone, None if gone else later.at)


def gone_before(snapshot: QueueSnapshot, ticket_id: str, later: Prospect) -> str:
    """Return, as the end of a clause, that others of a match leave before it is legal; "" if not.

    Args:
        snapshot: The queue.
        ticket_id: The ticket to explain; if it leaves before, too, that is said elsewhere.
        later: The match.
    """
    others = [each for each in later.tickets if each != ticket_id]
    gone = [each for each in others if snapshot.leaves_at(each) < later.at]
    if not gone or snapshot.leaves_at(ticket_id) < later.at:
        return ""
    if len(gone) > 1:
        who = f"{len(gone)} of its tickets" if len(gone) < len(others) else "its other tickets"
        return f", but {who} leave before that"
    left = seconds(snapshot.leaves_at(gone[0]) - snapshot.now)
    return f", but {gone[0]} {ends_how(snapshot, gone[0])} in {left}, before that"


def ends_how(snapshot: QueueSnapshot, ticket_id: str) -> str:
    """Return what a ticket does at its deadline in a queue that keeps nobody beyond it."""
    if snapshot.queue.on_deadline == "bots":
        return "plays with computer players"
    return "leaves this queue" if ticket_id in snapshot.elsewhere else "expires"


def unmade_reason(snapshot: QueueSnapshot, ticket_id: str, match: Prospect) -> Reason:
    """Return why a legal match has not been made."""
    if not snapshot.delayed.isdisjoint(match.tickets):
        # Without the end: the moment must stay secret.
        return Reason("delayed", "the queue holds newcomers back for a moment drawn by chance")
    held = [each for each in match.tickets if snapshot.held.get(each, 0.0) > snapshot.now]
    if held:
        until = max([snapshot.held[each] for each in held])
        left = seconds(until - snapshot.now)
        text = f"after a failed ready-check the same players are kept apart for another {left}"
        return Reason("held", text, until)
    if snapshot.is_solving:
        return Reason("computing", "the policy is computing its next matches")
    wake_at = snapshot.wake_at if snapshot.wake_at < math.inf else None
    if snapshot.in_rounds and wake_at is not None:
        left = seconds(wake_at - snapshot.now)
        return Reason("round", f"the policy waits for its next round in {left}", wake_at)
    return Reason("policy", _held_back(snapshot, match), _until(snapshot, ticket_id, wake_at))


def _held_back(snapshot: QueueSnapshot, match: Prospect) -> str:
    """Return why a policy leaves a legal match unmade, as a clause."""
    if snapshot.held_back:
        return snapshot.held_back
    players = sum([snapshot.tickets[each].size for each in match.tickets])
    if players < snapshot.queue.format.k:
        return "it is not full, and smaller matches start at a deadline"
    return f"the policy {snapshot.queue.policy} has not chosen it"


def _until(snapshot: QueueSnapshot, ticket_id: str, wake_at: float | None) -> float | None:
    """Return until when a policy may leave a legal match unmade, or when it decides again."""
    for at in (snapshot.starts.get(ticket_id), snapshot.served_at(ticket_id)):
        if at is not None and at > snapshot.now:
            return at
    return wake_at
