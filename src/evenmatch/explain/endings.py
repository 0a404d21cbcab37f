"""What is said of a ticket that is proposed, or waits no longer."""

from __future__ import annotations

from evenmatch.engine.state.rows import Proposal, TicketView
from evenmatch.engine.state.state import Tables
from evenmatch.explain.words import count, seconds
from evenmatch.model.explanation import Check

REASONS = {
    "deadline": "its longest wait was over and no match was found",
    "queue_changed": "the queue was changed so that it could not stay",
    "silent": "its client gave no sign of life",
    "declined": "it declined a ready-check",
    "player": "its player cancelled it",
    "operator": "an operator cancelled it",
    "waits_elsewhere": "its player waits in a newer ticket, or plays elsewhere",
}
SILENT_IN_CHECK = "it did not answer a ready-check in time"


def ending_of(view: TicketView) -> str:
    """Return how a ticket ended, in a sentence."""
    wait = seconds((view.ended_at or view.enqueued_at) - view.enqueued_at)
    if view.state in ("matched", "assigned"):
        more = "" if view.state == "matched" else " and is assigned"
        return f"This ticket was matched after {wait} in match {view.match}{more}."
    if view.state == "cancelled":
        why = REASONS.get(view.reason or "", "")
        if view.reason == "silent" and view.match is not None:
            why = SILENT_IN_CHECK
        return f"This ticket was cancelled after {wait}" + (f": {why}." if why else ".")
    why = REASONS.get(view.reason or "", view.reason or "no reason is known")
    return f"This ticket expired after {wait}: {why}."


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
        left = seconds(check.repair_until - now)
        are = "was lost in the ready-check and is being replaced"
        if check.free_seats != 1:
            are = "were lost in the ready-check and are being replaced"
        gone = f"{count(check.free_seats, 'player')} of it {are}, for another {left} at most"
        if view.id in check.awaited:
            must = f"This ticket has to accept its match {check.match}{_within(check, now)}"
            return f"{must}. {gone}."
        return f"This ticket has accepted its match {check.match}. {gone}."
    asked = len(check.accepted) + len(check.awaited)
    if view.id in check.awaited:
        return (
            f"This ticket has to accept match {check.match}{_within(check, now)}; "
            f"{len(check.accepted)} of {count(asked, 'ticket')} have accepted."
        )
    left = count(len(check.awaited), "other ticket")
    have = "has" if len(check.awaited) == 1 else "have"
    return f"This ticket has accepted match {check.match}; {left} {have} yet to accept it."


def _within(check: Check, now: float) -> str:
    return "" if check.answer_by is None else f" within {seconds(check.answer_by - now)}"
