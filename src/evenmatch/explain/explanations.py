"""Explanations put together: one ticket in full, or the longest waiting line by line."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec
import numpy as np

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
from evenmatch.explain.pairwise import Sight, Watcher
from evenmatch.explain.phrases import seconds
from evenmatch.explain.seats import seats_of
from evenmatch.explain.sentences import summary_of, summary_of_all
from evenmatch.explain.snapshot import (
    QueueSnapshot,
    Subject,
    ending_of,
    subject_of,
    summary_of_check,
)
from evenmatch.explain.tolerances import tolerances
from evenmatch.explain.waiting_table import TraitTable
from evenmatch.model.explanation import (
    Acceptance,
    Explanation,
    LongWait,
    Prospect,
    QueuePart,
    Reason,
    Seats,
)

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
        self._watchers: dict[str, Watcher] = {}

    def explain(self, subject: Subject) -> Explanation:
        """Return why a ticket still waits, or how it ended."""
        view, now = subject.view, subject.now
        parts = tuple([self.part(scene, view.id) for scene in subject.scenes])
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

    def part(self, scene: QueueSnapshot, ticket_id: str) -> QueuePart:
        """Return a ticket in one queue.

        Complexity:
            O(tickets) for each rule and criterion, in whole arrays, after O(1) for each ticket that
            has come or gone since the last look.
        """
        watcher = self._watcher(scene)
        return _part(scene, watcher, watcher.crowd.row_of(ticket_id), in_full=True)

    def longest(self, scene: QueueSnapshot, most: int) -> Iterator[LongWait]:
        """Yield a line for each of the longest waiting tickets of a queue, longest first.

        Whoever calls it may do other things between two lines, but explain nothing with the same
        explainer.
        """
        watcher = self._watcher(scene)
        crowd = watcher.crowd
        tickets = sorted(scene.tickets.values(), key=lambda ticket: ticket.age_key)
        for place, ticket in enumerate(tickets[:most]):
            row = crowd.row_of(ticket.id)
            part = _part(scene, watcher, row, in_full=False, searches=place < SEARCHED_MOST)
            wait = scene.now - ticket.enqueued_at
            yield LongWait(ticket.id, wait, ticket.size, part.reason.code, part.summary)

    def _watcher(self, scene: QueueSnapshot) -> Watcher:
        name = scene.queue.name
        watcher = self._watchers.get(name)
        if watcher is None or watcher.crowd.objective is not scene.objective:
            watcher = self._watchers[name] = Watcher(TraitTable(scene.queue, scene.objective))
        watcher.crowd.refresh(scene.tickets)
        return watcher


def _part(
    scene: QueueSnapshot, watcher: Watcher, row: int, *, in_full: bool, searches: bool = True
) -> QueuePart:
    crowd, now = watcher.crowd, scene.now
    sight, own = watcher.look(row, now), crowd.tickets[row]
    seats = seats_of(crowd, sight)
    found: Prospects | None = None
    if searches or crowd.queue.format.is_duel:
        found = _prospects(watcher, sight, seats, in_full=in_full)
    best, later = found or (None, None)
    allowed = int(np.count_nonzero(sight.allowed))
    ever = sight.others & sight.fits & (sight.ready_at < math.inf)
    wait_max = crowd.queue.wait_max
    part = QueuePart(
        queue=crowd.queue.name,
        policy=crowd.queue.policy,
        others=len(crowd) - 1,
        compared=int(np.count_nonzero(sight.others)),
        allowed=allowed,
        # At a glance only the words count, which name a rule where it leaves no match.
        rules=tolerances(crowd, sight) if in_full or best is None else (),
        acceptance=_acceptance(watcher, sight) if in_full else NOT_ASKED,
        seats=seats,
        now=best,
        later=later,
        deadline_at=None if wait_max is None else own.enqueued_at + wait_max,
        at_deadline=None if wait_max is None else crowd.queue.on_deadline,
        reason=reason_of(scene, own.id, seats, found, may_ever=bool(ever.any())),
        changes=changes_of(scene, crowd, sight, seats) if in_full else (),
        summary="",
    )
    summary = summary_of(part, scene, own.id, _instead(part, crowd, sight))
    return msgspec.structs.replace(part, summary=summary)


def _instead(part: QueuePart, crowd: TraitTable, sight: Sight) -> str:
    """Return what a match would take that comes too late or never; "" if nothing is known."""
    if beyond := of_pings(crowd, sight):
        return beyond[0]
    if part.reason.code == "never":
        faults = [of_party(each, crowd, sight) for each in sight.obstacles if each is not None]
        return next((fault for found in faults for fault in found), "")
    deadline, later = part.deadline_at, part.later
    if deadline is None or later is None or later.at <= deadline:
        return ""
    return in_time(crowd, sight, later, deadline)


def _prospects(watcher: Watcher, sight: Sight, seats: Seats, *, in_full: bool) -> Prospects:
    """Return the best match that is legal now, and the first that will be."""
    crowd = watcher.crowd
    if crowd.queue.format.is_duel:
        duel = best_duel(crowd, sight)
        needs_both = in_full or duel is None
        return duel, first_duel(crowd, sight) if needs_both else None
    best = later = None
    if seats.fills or crowd.queue.format.is_variable:
        best = best_group(watcher, sight, EFFORT)
    if best is None and seats.fills_without_rules:
        later = first_group(watcher, sight, EFFORT)
        if later is not None and later.at <= sight.now:
            rows = [crowd.row_of(each) for each in later.tickets]
            best, later = prospect_of(crowd, rows, sight.now, is_exact=False), None
    return best, later


def _acceptance(watcher: Watcher, sight: Sight) -> Acceptance:
    among = sight.others & sight.fits
    mine, theirs = watcher.accepting(sight)
    both = int(np.count_nonzero(mine & theirs))
    only_they = int(np.count_nonzero(theirs)) - both
    only_you = int(np.count_nonzero(mine)) - both
    neither = int(np.count_nonzero(among)) - both - only_they - only_you
    return Acceptance(both, only_they, only_you, neither)


# Why a ticket still waits: the door to `engine.explanation` for scripts and simulations.
#
# A server that explains many tickets keeps an `Explainer`, takes a `Subject` where the engine
# lives, and explains it in a thread.


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
    scene: QueueSnapshot, ticket_id: str, seats: Seats, found: Prospects | None, *, may_ever: bool
) -> Reason:
    """Return why no match is made now.

    Args:
        scene: The queue.
        ticket_id: The ticket that was asked about.
        seats: What sizes, sides and roles have to say.
        found: Matches with the ticket; None if none was looked for.
        may_ever: Whether the rules let anybody play with the ticket, now or after some wait.
    """
    now, later = found or (None, None)
    if scene.is_paused:
        return Reason("paused", "the queue is paused, and nobody is matched until it is resumed")
    if scene.fault is not None:
        text = "the policy of the queue has failed, and nobody is matched until it is changed"
        return Reason("policy_failed", text)
    if now is not None:
        return _unmade(scene, ticket_id, now)
    if len(scene.tickets) == 1:
        return Reason("alone", "nobody else waits")
    if not seats.fills_without_rules:
        return Reason("seats", "those who wait do not fill a match")
    if later is not None:
        text = f"the limits allow the first match in {seconds(later.at - scene.now)}"
        return Reason("not_yet", text, later.at)
    if not may_ever:
        return Reason("never", "the rules never allow a match with those who wait now")
    if found is None:
        return Reason("not_searched", "a match is looked for when this ticket is asked about alone")
    return Reason("rules", "the rules leave no match that a short search finds")


def _unmade(scene: QueueSnapshot, ticket_id: str, match: Prospect) -> Reason:
    """Return why a match that is legal has not been made."""
    if not scene.delayed.isdisjoint(match.tickets):
        # Not until when: nobody outside shall know the moment.
        return Reason("delayed", "the queue holds newcomers back for a moment drawn by chance")
    held = [each for each in match.tickets if scene.held.get(each, 0.0) > scene.now]
    if held:
        until = max([scene.held[each] for each in held])
        left = seconds(until - scene.now)
        text = f"after a failed ready-check the same players are kept apart for another {left}"
        return Reason("held", text, until)
    if scene.is_solving:
        return Reason("computing", "the policy is computing its next matches")
    wake_at = scene.wake_at if scene.wake_at < math.inf else None
    if scene.in_rounds and wake_at is not None:
        left = seconds(wake_at - scene.now)
        return Reason("round", f"the policy waits for its next round in {left}", wake_at)
    return Reason("policy", _held_back(scene, match), _until(scene, ticket_id, wake_at))


def _held_back(scene: QueueSnapshot, match: Prospect) -> str:
    """Return why a policy leaves a legal match unmade, in a clause."""
    if scene.held_back:
        return scene.held_back
    players = sum([scene.tickets[each].size for each in match.tickets])
    if players < scene.queue.format.k:
        return "it is not full, and smaller matches start at a deadline"
    return f"the policy {scene.queue.policy} has not chosen it"


def _until(scene: QueueSnapshot, ticket_id: str, wake_at: float | None) -> float | None:
    """Return until when a policy may leave a legal match unmade, or when it looks again."""
    for at in (scene.starts.get(ticket_id), scene.served_at(ticket_id)):
        if at is not None and at > scene.now:
            return at
    return wake_at
