"""Complete explanations: of one ticket in full, or of the longest waiting line by line."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec
import numpy as np

from evenmatch.engine.engine import Engine
from evenmatch.explain.by_conditions import by_conditions
from evenmatch.explain.changes import changes_of, in_time, of_party, of_pings
from evenmatch.explain.nearest_groups import (
    best_duel,
    best_group,
    first_duel,
    first_group,
    prospect_of,
)
from evenmatch.explain.pairwise import PairwiseComparer, PairwiseView
from evenmatch.explain.reasons import Prospects, reason_of
from evenmatch.explain.seats import seats_of
from evenmatch.explain.sentences import running_matches, summary_of, summary_of_all
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
    QueuePart,
    Seats,
)

NOT_ASKED = Acceptance(0, 0, 0, 0)
SEARCHED_MOST = 200
"""Lines, from the top, for which a match of more than two is searched."""


class Explainer:
    """Explains tickets, and caches what it computes about pools, so that later calls are faster.

    It may be used by one thread at a time, and reads only data that do not change.
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
        """Return the explanation of a ticket in one queue.

        Complexity:
            O(tickets) for each rule and criterion, in whole arrays, after O(1) for each ticket that
            has come or gone since the last call.
        """
        comparer = self._comparer(snapshot)
        return _part(snapshot, comparer, comparer.table.row_of(ticket_id), in_full=True)

    def longest(self, snapshot: QueueSnapshot, most: int) -> Iterator[LongWait]:
        """Yield a line for each of the longest waiting tickets of a queue, longest first.

        The caller may do other work between two lines, but must not use the same explainer for
        other explanations.
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
        found = _prospects(snapshot, comparer, pairwise, seats, in_full=in_full)
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
        # In the short form only the words matter, which name a rule if it leaves no match.
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
    if table.objective.rules.conditions is not None and (best is None or in_full):
        part = by_conditions(part, snapshot, own, in_full=in_full)
    else:
        summary = summary_of(part, snapshot, own.id, _instead(part, table, pairwise))
        part = msgspec.structs.replace(part, summary=summary)
    return msgspec.structs.replace(
        part, summary=part.summary + running_matches(part, snapshot, own)
    )


def _instead(part: QueuePart, table: PairColumnTable, pairwise: PairwiseView) -> str:
    """Return the changes needed for a match that comes too late or never; "" if none are known."""
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
    snapshot: QueueSnapshot,
    comparer: PairwiseComparer,
    pairwise: PairwiseView,
    seats: Seats,
    *,
    in_full: bool,
) -> Prospects:
    """Return the best match that is legal now, and the first that will be.

    The best one that the policy may make comes before those with tickets that are kept from it.
    """
    table = comparer.table
    free = _without_kept(snapshot, table, pairwise)
    if table.queue.format.is_duel:
        duel = None if free is None else best_duel(table, free)
        duel = duel or best_duel(table, pairwise)
        needs_both = in_full or duel is None
        return duel, first_duel(table, pairwise) if needs_both else None
    best = later = None
    if seats.fills or table.queue.format.is_variable:
        best = None if free is None else best_group(comparer, free)
        best = best or best_group(comparer, pairwise)
    if best is None and seats.fills_without_rules:
        later = first_group(comparer, pairwise)
        if later is not None and later.at <= pairwise.now:
            rows = [table.row_of(each) for each in later.tickets]
            best, later = prospect_of(table, rows, pairwise.now, is_exact=False), None
    return best, later


def _without_kept(
    snapshot: QueueSnapshot, table: PairColumnTable, pairwise: PairwiseView
) -> PairwiseView | None:
    """Return a view that allows nobody whom the queue keeps from its policy.

    Returns:
        None where nobody else is kept, or the ticket itself is.
    """
    kept = snapshot.kept()
    if not kept or table.tickets[pairwise.row].id in kept:
        return None
    allowed = pairwise.allowed.copy()
    allowed[[table.row_of(each) for each in kept]] = False
    return msgspec.structs.replace(pairwise, allowed=allowed)


def _acceptance(comparer: PairwiseComparer, pairwise: PairwiseView) -> Acceptance:
    among = pairwise.others & pairwise.fits
    mine, theirs = comparer.accepting(pairwise)
    both = int(np.count_nonzero(mine & theirs))
    only_they = int(np.count_nonzero(theirs)) - both
    only_you = int(np.count_nonzero(mine)) - both
    neither = int(np.count_nonzero(among)) - both - only_they - only_you
    return Acceptance(both, only_they, only_you, neither)


# Why a ticket still waits: the function on an `Engine`, for scripts and simulations.
#
# A server that explains many tickets keeps an `Explainer`, takes an `ExplanationSubject` in the
# engine's thread, and explains it in another one.


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
