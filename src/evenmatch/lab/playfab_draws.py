"""Default distributions of the player attributes that a PlayFab queue compares.

A number that rules keep within a difference is spread a few times as far around the default; one
that a match adds up is 1 for some players and 0 for the rest; words are drawn from a few; latencies
reach beyond their limit.
"""

from __future__ import annotations

from evenmatch.lab.drawn_bounds import DEVIATION_MAX, LATENCY_MS_MAX, spread_around
from evenmatch.model.fields import Fact
from evenmatch.model.scenario import Choice, Distribution, Uniform
from evenmatch.model.ticket import LATENCY
from evenmatch.rules.playfab.compile import attribute_in
from evenmatch.rules.playfab.queue import (
    DifferenceRule,
    MatchTotalRule,
    PlayFabQueue,
    PlayFabRule,
    RegionSelectionRule,
    SetIntersectionRule,
    StringEqualityRule,
    TeamDifferenceRule,
    values_at,
)

LOCATIONS = ("eastus", "northeurope", "southeastasia")
WORDS = ("first", "second", "third")
SPREAD = 2.0
"""Standard deviation of a number, in differences that the rules allow at first."""
EVERYBODY = 0.9
"""Share of the largest match from which a total counts as a count of all players."""


def drawn_by_queue(queue: PlayFabQueue) -> dict[str, Distribution]:
    """Return the distributions of the attributes that the rules of a queue read."""
    drawn: dict[str, Distribution] = {}
    for rule in queue.rules:
        if isinstance(rule, RegionSelectionRule):
            most = min(1.5 * (values_at(rule, 0.0) or (100.0,))[0], LATENCY_MS_MAX)
            for place in LOCATIONS:
                drawn[f"{LATENCY}.{place}"] = Uniform(min=10.0, max=max(20.0, most))
        elif (attribute := attribute_in(rule)) is not None:
            drawn.setdefault(attribute.name, _drawn(queue, rule, attribute.default))
    return drawn


def _drawn(
    queue: PlayFabQueue, rule: PlayFabRule, default: float | str | tuple[str, ...] | None
) -> Distribution:
    if isinstance(rule, StringEqualityRule):
        own = (default,) if isinstance(default, str) else ()
        return Choice(values=tuple(dict.fromkeys((*own, *WORDS))))
    if isinstance(rule, SetIntersectionRule):
        sets: list[Fact] = [(one,) for one in WORDS]
        sets += [(a, b) for at, a in enumerate(WORDS) for b in WORDS[at + 1 :]]
        return Choice(values=tuple(sets))
    if isinstance(rule, MatchTotalRule):
        return _part(queue, rule)
    assert isinstance(rule, DifferenceRule | TeamDifferenceRule)
    widest = SPREAD * max((values_at(rule, 0.0) or (1.0,))[0], 1e-3)
    deviation = min(widest, DEVIATION_MAX)
    mean = default if isinstance(default, float) and default >= 0.0 else 3.0 * deviation
    return spread_around(mean, deviation)


def _part(queue: PlayFabQueue, rule: MatchTotalRule) -> Distribution:
    """Return 1 for as large a share of players as a match needs of them, and 0 for the rest."""
    least, most = values_at(rule, 0.0) or (1.0, 1.0)
    share = min(1.0, max(0.0, (least + most) / 2 / queue.players_max))
    if share >= EVERYBODY or most >= queue.players_max:
        return Choice(values=(1.0,))
    share = min(0.9, max(0.1, share))
    return Choice(values=(1.0, 0.0), probs=(share, 1.0 - share))
