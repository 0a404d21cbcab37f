"""What is said of a ticket that is proposed, or waits no longer."""

from __future__ import annotations

from evenmatch.engine.explanation.words import count, seconds
from evenmatch.engine.rows import Proposal, TicketView
from evenmatch.engine.tables import Tables
from evenmatch.model.explanation import Check

REASONS = {
    "deadline": "its longest wait was over and nobody was found",
    "queue_changed": "the queue was changed so that it could not stay",
    "silent": "its client was not heard of any more",
    "declined": "it declined a ready-check",
    "player": "its player took it back",
}
SILENT_IN_CHECK = "it did not answer a ready-check in time"


def ending_of(view: TicketView) -> str:
    """Return how a ticket ended, in a sentence."""
    wait = seconds((view.ended_at or view.enqueued_at) - view.enqueued_at)
    if view.state in ("matched", "assigned"):
        more = "" if view.state == "matched" else " and is assigned"
        return f"Was matched after {wait} in match {view.match}{more}."
    if view.state == "cancelled":
        why = REASONS.get(view.reason or "", "")
        if view.reason == "silent" and view.match is not None:
            why = SILENT_IN_CHECK
        return f"Was cancelled after {wait}" + (f": {why}." if why else ".")
    why = REASONS.get(view.reason or "", view.reason or "no reason is known")
    return f"Expired after {wait}: {why}."


def check_of(tables: Tables, ticket_id: str, proposal: Proposal) -> Check:
    """Return the ready-check that a ticket is in."""
    sizes = {each: tables.waiting[each].ticket.size for each in proposal.tickets}
    accepted = [each for each in sizes if len(proposal.accepted.get(each, ())) >= sizes[each]]
    return Check(
        match=proposal.match.id,
        queue=proposal.match.queue,
        answer_by=proposal.until.get(ticket_id),
        accepted=tuple(accepted),
        awaited=tuple([each for each in sizes if each not in accepted]),
        free_seats=0 if proposal.open is None else sum(proposal.open.free),
        repair_until=None if proposal.open is None else proposal.open.expires_at,
        quality=proposal.quality,
    )


def summary_of_check(view: TicketView, check: Check, now: float) -> str:
    """Return what a proposed ticket waits for, in a sentence or two."""
    if check.repair_until is not None:
        seats = count(check.free_seats, "player")
        left = seconds(check.repair_until - now)
        return f"Is in match {check.match}; {seats} left it and are being replaced, for {left} yet."
    if view.id in check.awaited:
        left = "" if check.answer_by is None else f" within {seconds(check.answer_by - now)}"
        return f"Is in match {check.match} and has to accept it{left}."
    others = count(len(check.awaited), "other ticket")
    have = "has" if len(check.awaited) == 1 else "have"
    return f"Is in match {check.match} and has accepted it; {others} of it {have} to accept yet."
