"""What would have to change: one sentence for each thing that stands in the way, largest first."""

from __future__ import annotations

import math

import numpy as np

from evenmatch.cost.expansion import inverse
from evenmatch.engine.explanation.crowd import Crowd
from evenmatch.engine.explanation.scene import Scene
from evenmatch.engine.explanation.sight import Obstacle, Sight
from evenmatch.engine.explanation.tolerances import limit_now
from evenmatch.engine.explanation.words import count, joined, limit_text, rule_name, seconds
from evenmatch.model.explanation import Seats
from evenmatch.model.queue import NUMERIC, Rule

SOME = 10
"""Candidates that a wider limit shall let in, if there are so many."""
YES_OR_NO = ("same", "overlap", "avoid", "rematch")


def changes_of(scene: Scene, crowd: Crowd, sight: Sight, seats: Seats) -> tuple[str, ...]:
    """Return what would have to change, in sentences."""
    found = []
    if scene.is_paused:
        found.append(f"queue {scene.queue.name} would have to be resumed")
    if scene.fault is not None:
        found.append(f"queue {scene.queue.name} needs a policy that works: {scene.fault}")
    found += _of_seats(crowd, sight, seats)
    gains = []
    for obstacle in sight.obstacles:
        if obstacle is not None:
            gain, text = _of_rule(obstacle, crowd, sight)
            if gain:
                gains.append((-gain, text))
    return (*found, *[text for _, text in sorted(gains)])


def _of_seats(crowd: Crowd, sight: Sight, seats: Seats) -> list[str]:
    if seats.fills:
        return []
    found = [
        f"{count(missing, 'more player')} of role {role}"
        for role, missing in sorted(seats.roles_missing.items())
    ]
    if seats.players_missing:
        found.append(f"{count(seats.players_missing, 'more player')} who may play with it now")
    if seats.sizes_missing and not seats.roles_missing:
        size = crowd.tickets[sight.row].size
        parties = ["a solo" if each == 1 else f"a party of {each}" for each in seats.sizes_missing]
        found.append(f"this party of {size} needs {joined(parties, 'or')} more")
    return found


def _of_rule(obstacle: Obstacle, crowd: Crowd, sight: Sight) -> tuple[int, str]:
    """Return how many more a wider limit would let in, and the sentence that says so."""
    rule = obstacle.rule
    alone = obstacle.blocked & sight.others & sight.fits & (sight.blockers == 1.0)
    needs = np.sort(obstacle.needs[alone])
    finite = needs[needs < math.inf]
    if not len(finite):
        return 0, ""
    if rule.kind in YES_OR_NO:
        gain = len(finite)
        more = count(gain, "more candidate")
        return gain, f"without {rule_name(rule)} it could play with {more}"
    wanted = nice_above(float(finite[min(SOME, len(finite)) - 1]), rule)
    gain = int((finite <= wanted).sum())
    ticket = crowd.tickets[sight.row]
    now = limit_now(rule, sight.now - ticket.enqueued_at)
    text = (
        f"{rule_name(rule)} of {limit_text(rule, wanted)} instead of {limit_text(rule, now)} "
        f"would allow {count(gain, 'more candidate')}"
    )
    return gain, f"{text}; {_reached(rule, wanted, ticket.enqueued_at, sight.now)}"


def _reached(rule: Rule, wanted: float, born: float, now: float) -> str:
    """Return when a ticket's own limit will be as wide."""
    at = born + inverse(rule.limit, rule.expand)(wanted)
    if at == math.inf:
        return "its own never widens so far"
    return f"its own is as wide in {seconds(at - now)}" if at > now else "its own is as wide now"


def nice_above(need: float, rule: Rule) -> float:
    """Return a limit with few digits that is as wide as needed.

    >>> nice_above(203.7, Rule("spread", "rating"))
    204.0
    """
    if need <= 0.0 or rule.kind not in (*NUMERIC, "latency"):
        return need
    digits = 2 - math.floor(math.log10(need))
    if digits > 12 or digits < -12:
        return need
    step = 10.0**-digits
    nice = math.ceil(need / step) * step
    nice = round(nice, max(0, digits))
    return nice if nice >= need else need
