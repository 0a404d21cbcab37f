"""Why no match is made with a ticket now: the first of these that holds."""

from __future__ import annotations

import math

from evenmatch.engine.explanation.scene import Scene
from evenmatch.engine.explanation.words import seconds
from evenmatch.model.explanation import Prospect, Reason, Seats


def reason_of(
    scene: Scene, seats: Seats, now: Prospect | None, later: Prospect | None, *, may_ever: bool
) -> Reason:
    """Return why no match is made now.

    Args:
        scene: The queue.
        seats: What sizes, sides and roles have to say.
        now: A match that is legal already.
        later: One that will be.
        may_ever: Whether the rules let anybody play with the ticket, now or after some wait.
    """
    name = scene.queue.name
    if scene.is_paused:
        return Reason("paused", f"queue {name} is paused")
    if scene.fault is not None:
        return Reason("policy_failed", f"the policy of queue {name} has failed")
    if now is not None:
        if not scene.delayed.isdisjoint(now.tickets):
            # Not until when: nobody outside shall know the moment.
            return Reason("delayed", f"queue {name} holds new tickets back by chance")
        aside = max([scene.held.get(each, 0.0) for each in now.tickets])
        if aside > scene.now:
            left = seconds(aside - scene.now)
            return Reason("held", f"its ready-check failed, and it is made anew in {left}", aside)
        return _held_back(scene, now)
    if len(scene.tickets) == 1:
        return Reason("alone", "nobody else waits")
    if not seats.fills_without_rules:
        return Reason("seats", "those who wait do not fill a match")
    if later is not None:
        text = f"the limits allow the first match in {seconds(later.at - scene.now)}"
        return Reason("not_yet", text, later.at)
    if not may_ever:
        return Reason("never", "the rules never allow a match with those who wait now")
    return Reason("rules", "the rules leave no match that a short search finds")


def _held_back(scene: Scene, now: Prospect) -> Reason:
    """Return why a policy has not made a match that is legal."""
    until = scene.wake_at if scene.wake_at < math.inf else None
    again = "" if until is None else f"; it decides again in {seconds(until - scene.now)}"
    if scene.is_solving:
        return Reason("computing", "the policy is computing its next matches")
    if scene.in_rounds and until is not None:
        text = f"the policy waits for its next round in {seconds(until - scene.now)}"
        return Reason("round", text, until)
    players = sum([scene.tickets[each].size for each in now.tickets])
    why = scene.held_back or f"the policy {scene.queue.policy} has not chosen it"
    if players < scene.queue.format.k and not scene.held_back:
        why = "it is not full, and smaller matches start at a deadline"
    return Reason("policy", why + again, until)
