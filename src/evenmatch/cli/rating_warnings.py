"""Limits and scales on ratings that are written for the points of another rating system.

A newcomer's rating says how the system expects players to differ: nearly all of them lie within
three deviations of its mean, so two players differ by six deviations at most, and by about one as a
rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evenmatch.criteria.base import NumberGap
from evenmatch.criteria.expansion import widest
from evenmatch.criteria.registry import number_gap_of
from evenmatch.criteria.scales import scale_gap
from evenmatch.criteria.sentences import number
from evenmatch.model.queue import Criterion, Queue, Rule
from evenmatch.model.ticket import Rating
from evenmatch.ratings.registry import parse_system

RATING = "rating"
REACH = 3.0
"""Nearly all players (997 of 1,000) lie within so many deviations of a newcomer's mean."""
SMALL = 0.05
"""A difference of so many deviations is one between equals, and a cost so low is next to none."""
WITHOUT_DEVIATION = Rating(0.0).deviation
"""The deviation of a rating that is given as a mean alone."""


def systems_of(queues: Sequence[Queue]) -> dict[str, str]:
    """Return the rating system of each ladder that outcomes change."""
    return {queue.rated_in: queue.rating for queue in queues if queue.rating is not None}


def rating_warnings(queues: Sequence[Queue]) -> Iterator[str]:
    """Yield sentences about limits and scales that do not suit the ratings they are held against.

    Args:
        queues: Valid, with the rules that their policies add.
    """
    systems = systems_of(queues)
    for queue in queues:
        system = systems.get(queue.rated_in)
        if system is None:
            continue
        newcomer, name = parse_system(system).newcomer, system.partition(":")[0]
        found = [_of_rule(rule, queue, newcomer) for rule in queue.rules]
        found += [_of_criterion(each, queue, newcomer) for each in queue.criteria]
        why = f" ({_points(name, newcomer)})"
        for sentence in filter(None, found):
            yield f"queue {queue.name}: {sentence}{why}"
            why = ""
        if queue.rating is not None and name != "elo" and newcomer.deviation != WITHOUT_DEVIATION:
            yield (
                f"queue {queue.name}: a rating that a ticket gives without a deviation counts as "
                f"one with {number(WITHOUT_DEVIATION)}, a newcomer's has "
                f"{number(newcomer.deviation)}; give a deviation with each rating, or no rating"
            )


def _points(name: str, newcomer: Rating) -> str:
    low, high = (newcomer.mean + side * REACH * newcomer.deviation for side in (-1.0, 1.0))
    return f"by {name} nearly all players lie between {number(low)} and {number(high)}"


def _of_rule(rule: Rule, queue: Queue, newcomer: Rating) -> str:
    """Return what a limit on ratings does that nobody can have meant; "" if it is sensible."""
    if rule.attribute != RATING or rule.unit != "difference" or number_gap_of(rule) is None:
        return ""
    most = 2.0 * REACH * newcomer.deviation * _summed(rule, queue)
    if rule.limit >= most:
        return (
            f"the limit {number(rule.limit)} of {rule.kind} on {RATING} keeps nobody apart; write "
            f"one well below {number(most)}"
        )
    end = widest(rule.limit, rule.expand)
    if end < SMALL * newcomer.deviation and _is_of_players(rule, queue):
        return (
            f"the limit of {rule.kind} on {RATING} is never wider than {number(end)}, so hardly "
            f"anybody but newcomers may meet; let it reach {number(newcomer.deviation)} or so"
        )
    return ""


def _of_criterion(criterion: Criterion, queue: Queue, newcomer: Rating) -> str:
    """Return what a scale of ratings cannot tell apart; "" if it is sensible."""
    scale = criterion.scale
    kinds = ("linear", "capped", "log")
    if criterion.attribute != RATING or scale.kind not in kinds or number_gap_of(criterion) is None:
        return ""
    what = f"the scale of {criterion.kind} on {RATING}"
    is_linear = scale.kind == "linear"
    if is_linear and not scale.min <= newcomer.mean <= scale.max:
        end = scale.min if newcomer.mean < scale.min else scale.max
        return (
            f"{what} goes from {number(scale.min)} to {number(scale.max)}, so that a newcomer "
            f"counts as {number(end)}"
        )

    def cost(gap: float) -> float:
        return min(1.0, gap / (scale.max - scale.min)) if is_linear else scale_gap(scale, gap)

    usual = newcomer.deviation * _summed(criterion, queue)
    if cost(usual) < SMALL:
        return (
            f"{what} is so wide that a difference of {number(usual)} costs only "
            f"{cost(usual):.2g} of the weight"
        )
    if cost(SMALL * usual) >= 1.0 and _is_of_players(criterion, queue):
        return (
            f"{what} is so narrow that all differences from {number(SMALL * usual)} on cost the "
            "same, the whole weight"
        )
    return ""


def _summed(definition: Criterion | Rule, queue: Queue) -> int:
    """Return how many players' differences a gap may add up."""
    is_of_teams = number_gap_of(definition) is NumberGap.TEAMS
    return max(queue.format.players) if is_of_teams and definition.measure == "sum" else 1


def _is_of_players(definition: Criterion | Rule, queue: Queue) -> bool:
    """Return whether two players alone can break a limit; teams can be even without them."""
    return number_gap_of(definition) is not NumberGap.TEAMS or max(queue.format.players) == 1
