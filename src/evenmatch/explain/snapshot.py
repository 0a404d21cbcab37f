"""The input of explanations: copies that the engine does not change, so that they may take time."""

from __future__ import annotations

import math

import msgspec

from evenmatch.criteria.objective import Objective
from evenmatch.engine.engine import Engine
from evenmatch.engine.matching.pool import Pool
from evenmatch.engine.state.rows import Proposal, TicketView
from evenmatch.engine.state.state import Tables
from evenmatch.explain.phrases import count, seconds
from evenmatch.model.explanation import Check
from evenmatch.model.queue import Queue
from evenmatch.model.ticket import Ticket
from evenmatch.policies.hooks import hook_value, is_in_rounds, serves_after


class QueueSnapshot(msgspec.Struct, frozen=True):
    """One queue at one instant.

    Args:
        queue: With the rules of its policy.
        objective: Of the queue; its methods change nothing.
        tickets: The waiting tickets, by id.
        held: Until when some of them are held back, since a ready-check with them failed.
        now: Engine time.
        wake_at: The next instant at which the policy decides by itself; inf if never.
        held_back: In words, why the policy may leave a legal match unmade.
        in_rounds: Whether it matches at certain instants only.
        is_paused: Whether the queue is paused.
        is_solving: Whether a plan is being computed.
        fault: The policy's fault; None if there is none.
        delayed: Newcomers whom the queue still delays at random.
        starts: When the policy plans to start a match, by its tickets, if it announces that.
        serves_after: The wait after which it matches a ticket if the rules allow it; inf if it
            guarantees nothing.
        elsewhere: Tickets that also wait in another queue.
        asking: The most players of one party for whom each running match of the queue asks.
    """

    queue: Queue
    objective: Objective
    tickets: dict[str, Ticket]
    held: dict[str, float]
    now: float
    wake_at: float
    held_back: str
    in_rounds: bool
    is_paused: bool
    is_solving: bool
    fault: str | None
    delayed: frozenset[str] = frozenset()
    starts: dict[str, float] = {}
    serves_after: float = math.inf
    elsewhere: frozenset[str] = frozenset()
    asking: tuple[int, ...] = ()

    def served_at(self, ticket_id: str) -> float | None:
        """Return when the policy matches a ticket if rules allow it; None without a guarantee."""
        at = self.tickets[ticket_id].enqueued_at + self.serves_after
        return None if at == math.inf else at

    def leaves_at(self, ticket_id: str) -> float:
        """Return when a ticket leaves the queue unmatched; inf if never."""
        return self.tickets[ticket_id].enqueued_at + self.queue.ends_after

    def kept(self) -> set[str]:
        """Return the tickets that the queue keeps from its policy now."""
        return {*self.delayed, *(each for each, at in self.held.items() if at > self.now)}


class ExplanationSubject(msgspec.Struct, frozen=True):
    """A ticket to be explained: the queues that it waits in, or the proposal that it is in."""

    view: TicketView
    now: float
    size: int | None
    snapshots: tuple[QueueSnapshot, ...]
    check: Check | None


def subject_of(engine: Engine, ticket_id: str, now: float) -> ExplanationSubject:
    """Return the data needed to explain a ticket.

    Args:
        engine: The engine, which is only read.
        ticket_id: The ticket.
        now: Engine time.

    Raises:
        UnknownTicket: It was never accepted.
        Forgotten: It ended long ago.

    Complexity:
        A shallow copy of the pools that it waits in: 60 us for 5,000 tickets.
    """
    view = engine.view(ticket_id)
    row = engine.tables.waiting.get(ticket_id)
    if row is None:
        return ExplanationSubject(view, now, None, (), None)
    if row.match is not None:
        proposal = engine.tables.proposals[row.match]
        check = check_of(engine.tables, ticket_id, proposal)
        return ExplanationSubject(view, now, row.ticket.size, (), check)
    snapshots = tuple([snapshot_of(engine, name, now) for name in row.queues])
    return ExplanationSubject(view, now, row.ticket.size, snapshots, None)


def snapshot_of(engine: Engine, queue: str, now: float) -> QueueSnapshot:
    """Return a snapshot of one queue."""
    pool: Pool = engine.pools[queue]
    waiting = engine.tables.waiting
    return QueueSnapshot(
        pool.queue,
        pool.objective,
        dict(pool.tickets),
        dict(pool.held_until),
        now,
        pool.wake_at,
        str(hook_value(pool.policy, "held_back")),
        is_in_rounds(pool.policy),
        queue in engine.tables.paused,
        pool.slot.running is not None,
        None if pool.fault is None else str(pool.fault),
        frozenset(pool.delayed_until),
        pool.starts(),
        serves_after(pool.policy, pool.queue),
        frozenset([each for each in pool.tickets if len(waiting[each].queues) > 1]),
        engine.open_seats(queue),
    )


# Sentences about a ticket that is proposed, or waits no longer.

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
    """Return what a proposed ticket waits for, in one or two sentences."""
    if check.repair_until is not None:
        left = seconds(check.repair_until - now)
        have = "has" if check.free_seats == 1 else "have"
        gone = (
            f"{count(check.free_seats, 'player')} {have} dropped out in the ready-check; "
            f"replacements are sought for another {left} at most"
        )
        if view.id in check.awaited:
            must = f"This ticket has to accept its match {check.match}{_within(check, now)}"
            return f"{must}. {gone}."
        return f"This ticket has accepted its match {check.match}. {gone}."
    asked = len(check.accepted) + len(check.awaited)
    if view.id in check.awaited:
        must = f"This ticket has to accept match {check.match}{_within(check, now)}"
        if asked == 1:
            return f"{must}; no other is asked."
        have = "has" if len(check.accepted) == 1 else "have"
        return f"{must}; {len(check.accepted)} of {count(asked, 'ticket')} {have} accepted."
    left = count(len(check.awaited), "other ticket")
    have = "has" if len(check.awaited) == 1 else "have"
    return f"This ticket has accepted match {check.match}; {left} {have} yet to accept it."


def _within(check: Check, now: float) -> str:
    """Return the time that players still have; nothing if it is over but not yet processed."""
    if check.answer_by is None or check.answer_by <= now:
        return ""
    return f" within {seconds(check.answer_by - now)}"
