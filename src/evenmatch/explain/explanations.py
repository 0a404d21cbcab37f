"""Explanations put together: one ticket in full, or the longest waiting line by line."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec
import numpy as np

from evenmatch.criteria.condition.ages import Conditions
from evenmatch.engine.engine import Engine
from evenmatch.explain.changes import changes_of, in_time, of_party, of_pings
from evenmatch.explain.nearest_groups import (
    GroupSearchLimits,
    best_duel,
    best_group,
    first_duel,
    first_group,
    prospect_of,
)
from evenmatch.explain.pairwise import PairwiseComparer, PairwiseView
from evenmatch.explain.phrases import seconds
from evenmatch.explain.seats import seats_of
from evenmatch.explain.sentences import summary_of, summary_of_all
from evenmatch.explain.snapshot import (
    ExplanationSubject,
    QueueSnapshot,
    ending_of,
    subject_of,
    summary_of_check,
)
from evenmatch.explain.tolerances import tolerances
from evenmatch.explain.waiting_table import PairColumnTable
from evenmatch.model.explanation import (
    Acceptance,
    Explanation,
    LongWait,
    Prospect,
    QueuePart,
    Reason,
    Seats,
)
from evenmatch.model.ticket import Ticket

EFFORT = GroupSearchLimits()
"""Of every search: a line of the longest waiting says what an explanation in full says."""
NOT_ASKED = Acceptance(0, 0, 0, 0)
SEARCHED_MOST = 200
"""Lines of matches of more than two for which a match is looked for: those on top."""


class Explainer:
    """Explains tickets; what it learns of the pools it keeps, so that the next look is short.

    It is used by one thread at a time, and reads nothing that changes.
    """

    def __init__(self) -> None:
        self._comparers: dict[str, PairwiseComparer] = {}

    def explain(self, subject: ExplanationSubject) -> Explanation:
        """Return why a ticket still waits, or how it ended."""
        view, now = subject.view, subject.now
        parts = tuple([self.part(snapshot, view.id) for snapshot in subject.snapshots])
        ended_at = now if view.ended_at is None else view.ended_at
        if subject.check is not None:
            summary = summary_of_check(view, subject.check, now)
        else:
            summary = summary_of_all(parts) or ending_of(view)
        return Explanation(
            ticket=view.id,
            state=view.state,
            at=now,
            wait=ended_at - view.enqueued_at,
            players=subject.size,
            match=view.match,
            reason=view.reason,
            queues=parts,
            check=subject.check,
            summary=summary,
        )

    def part(self, snapshot: QueueSnapshot, ticket_id: str) -> QueuePart:
        """Return a ticket in one queue.

        Complexity:
            O(tickets) for each rule and criterion, in whole arrays, after O(1) for each ticket that
            has come or gone since the last look.
        """
        comparer = self._comparer(snapshot)
        return _part(snapshot, comparer, comparer.table.row_of(ticket_id), in_full=True)

    def longest(self, snapshot: QueueSnapshot, most: int) -> Iterator[LongWait]:
        """Yield a line for each of the longest waiting tickets of a queue, longest first.

        Whoever calls it may do other things between two lines, but explain nothing with the same
        explainer.
        """
        comparer = self._comparer(snapshot)
        table = comparer.table
        tickets = sorted(snapshot.tickets.values(), key=lambda ticket: ticket.age_key)
        for place, ticket in enumerate(tickets[:most]):
            row = table.row_of(ticket.id)
            part = _part(snapshot, comparer, row, in_full=False, searches=place < SEARCHED_MOST)
            wait = snapshot.now - ticket.enqueued_at
            yield LongWait(ticket.id, wait, ticket.size, part.reason.code, part.summary)

    def _comparer(self, snapshot: QueueSnapshot) -> PairwiseComparer:
        name = snapshot.queue.name
        comparer = self._comparers.get(name)
        if comparer is None or comparer.table.objective is not snapshot.objective:
            comparer = self._comparers[name] = PairwiseComparer(
                PairColumnTable(snapshot.queue, snapshot.objective)
            )
        comparer.table.refresh(snapshot.tickets)
        return comparer


def _part(
    snapshot: QueueSnapshot,
    comparer: PairwiseComparer,
    row: int,
    *,
    in_full: bool,
    searches: bool = True,
) -> QueuePart:
    table, now = comparer.table, snapshot.now
    pairwise, own = comparer.look(row, now), table.tickets[row]
    seats = seats_of(table, pairwise)
    found: Prospects | None = None
    if searches or table.queue.format.is_duel:
        found = _prospects(comparer, pairwise, seats, in_full=in_full)
    best, later = found or (None, None)
    allowed = int(np.count_nonzero(pairwise.allowed))
    ever = pairwise.others & pairwise.fits & (pairwise.ready_at < math.inf)
    wait_max = table.queue.wait_max
    part = QueuePart(
        queue=table.queue.name,
        policy=table.queue.policy,
        others=len(table) - 1,
        compared=int(np.count_nonzero(pairwise.others)),
        allowed=allowed,
        # At a glance only the words count, which name a rule where it leaves no match.
        rules=tolerances(table, pairwise) if in_full or best is None else (),
        acceptance=_acceptance(comparer, pairwise) if in_full else NOT_ASKED,
        seats=seats,
        now=best,
        later=later,
        deadline_at=None if wait_max is None else own.enqueued_at + wait_max,
        at_deadline=None if wait_max is None else table.queue.on_deadline,
        reason=reason_of(snapshot, own.id, seats, found, may_ever=bool(ever.any())),
        changes=changes_of(snapshot, table, pairwise, seats) if in_full else (),
        summary="",
    )
    conditions = snapshot.objective.rules.conditions
    if conditions is not None and best is None and part.reason.code in BY_PAIRS:
        return _by_conditions(part, conditions, own, now)
    summary = summary_of(part, snapshot, own.id, _instead(part, table, pairwise))
    return msgspec.structs.replace(part, summary=summary)


BY_PAIRS = ("seats", "not_yet", "never", "rules")
"""Reasons that look at two tickets at a time, of which conditions say nothing."""


def _by_conditions(part: QueuePart, conditions: Conditions, own: Ticket, now: float) -> QueuePart:
    """Return a part of a queue whose rules are about whole matches."""
    text = "the rule set allows no match of those who wait now"
    until = next((at for at in conditions.starts_of(own.enqueued_at) if at > now), None)
    if until is not None:
        text += f"; what it allows changes for this ticket in {seconds(until - now)}"
    others = f"{part.others} other ticket{'s'[: part.others != 1]}"
    waited = f"This ticket has waited {seconds(now - own.enqueued_at)} in {part.queue}"
    return msgspec.structs.replace(
        part,
        later=None,
        reason=Reason("rules", text, until),
        changes=(),
        summary=f"{waited} with {others}: {text}.",
    )


def _instead(part: QueuePart, table: PairColumnTable, pairwise: PairwiseView) -> str:
    """Return what a match would take that comes too late or never; "" if nothing is known."""
    if beyond := of_pings(table, pairwise):
        return beyond[0]
    if part.reason.code == "never":
        faults = [
            of_party(each, table, pairwise) for each in pairwise.obstacles if each is not None
        ]
        return next((fault for found in faults for fault in found), "")
    deadline, later = part.deadline_at, part.later
    if deadline is None or later is None or later.at <= deadline:
        return ""
    return in_time(table, pairwise, later, deadline)


def _prospects(
    comparer: PairwiseComparer, pairwise: PairwiseView, seats: Seats, *, in_full: bool
) -> Prospects:
    """Return the best match that is legal now, and the first that will be."""
    table = comparer.table
    if table.queue.format.is_duel:
        duel = best_duel(table, pairwise)
        needs_both = in_full or duel is None
        return duel, first_duel(table, pairwise) if needs_both else None
    best = later = None
    if seats.fills or table.queue.format.is_variable:
        best = best_group(comparer, pairwise, EFFORT)
    if best is None and seats.fills_without_rules:
        later = first_group(comparer, pairwise, EFFORT)
        if later is not None and later.at <= pairwise.now:
            rows = [table.row_of(each) for each in later.tickets]
            best, later = prospect_of(table, rows, pairwise.now, is_exact=False), None
    return best, later


def _acceptance(comparer: PairwiseComparer, pairwise: PairwiseView) -> Acceptance:
    among = pairwise.others & pairwise.fits
    mine, theirs = comparer.accepting(pairwise)
    both = int(np.count_nonzero(mine & theirs))
    only_they = int(np.count_nonzero(theirs)) - both
    only_you = int(np.count_nonzero(mine)) - both
    neither = int(np.count_nonzero(among)) - both - only_they - only_you
    return Acceptance(both, only_they, only_you, neither)


# Why a ticket still waits: how to ask `engine.explanation` for scripts and simulations.
#
# A server that explains many tickets keeps an `Explainer`, takes an `ExplanationSubject` where the
# engine lives, and explains it in a thread.


def explain(engine: Engine, ticket_id: str, now: float) -> Explanation:
    """Return why a ticket still waits, or how it ended.

    Args:
        engine: The engine, which is only read.
        ticket_id: A ticket that it has accepted.
        now: Engine time, not before that of the engine's last input.

    Raises:
        UnknownTicket: It was never accepted.
        Forgotten: It ended long ago.

    Complexity:
        O(tickets of its queues). Keep an `Explainer` to explain several.
    """
    return Explainer().explain(subject_of(engine, ticket_id, now))


# Why no match is made with a ticket now: the first of these that holds.

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
        ticket_id: The ticket that was asked about.
        seats: What sizes, sides and roles have to say.
        found: Matches with the ticket; None if none was looked for.
        may_ever: Whether the rules let anybody play with the ticket, now or after some wait.
    """
    now, later = found or (None, None)
    if snapshot.is_paused:
        return Reason("paused", "the queue is paused, and nobody is matched until it is resumed")
    if snapshot.fault is not None:
        text = "the policy of the queue has failed, and nobody is matched until it is changed"
        return Reason("policy_failed", text)
    if now is not None:
        return _unmade(snapshot, ticket_id, now)
    if len(snapshot.tickets) == 1:
        return Reason("alone", "nobody else waits")
    if not seats.fills_without_rules:
        return Reason("seats", "those who wait do not fill a match")
    if later is not None:
        text = f"the limits allow the first match in {seconds(later.at - snapshot.now)}"
        return Reason("not_yet", text, later.at)
    if not may_ever:
        return Reason("never", "the rules never allow a match with those who wait now")
    if found is None:
        return Reason("not_searched", "a match is looked for when this ticket is asked about alone")
    return Reason("rules", "the rules leave no match that a short search finds")


def _unmade(snapshot: QueueSnapshot, ticket_id: str, match: Prospect) -> Reason:
    """Return why a match that is legal has not been made."""
    if not snapshot.delayed.isdisjoint(match.tickets):
        # Not until when: nobody outside shall know the moment.
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
    """Return why a policy leaves a legal match unmade, in a clause."""
    if snapshot.held_back:
        return snapshot.held_back
    players = sum([snapshot.tickets[each].size for each in match.tickets])
    if players < snapshot.queue.format.k:
        return "it is not full, and smaller matches start at a deadline"
    return f"the policy {snapshot.queue.policy} has not chosen it"


def _until(snapshot: QueueSnapshot, ticket_id: str, wake_at: float | None) -> float | None:
    """Return until when a policy may leave a legal match unmade, or when it looks again."""
    for at in (snapshot.starts.get(ticket_id), snapshot.served_at(ticket_id)):
        if at is not None and at > snapshot.now:
            return at
    return wake_at
