"""The summary of a run: the figures of `--json`.

What counts, and for whom:

- Tickets enqueued before `warmup` are not counted. A match counts if one of its tickets does, so
  every counted ticket that was matched has its match among those counted.
- `wait` is per player, of matched players: a party of three counts three times. Unfinished,
  cancelled and expired tickets are told apart by their numbers and are not in it.
- `quality` is per match, except in `by`, where it is that of each player's match.
- `gaps` are what matches are like in the unit of each criterion (`criteria.gaps`): the mean and the
  95th percentile over the matches counted, each once. Those with bots, and those of which a
  number is not known, are left out.
- `cost_criteria` is the part of `cost` that is not waiting, `cost_time` the part that is: what the
  players of the matches waited, bots included.
- `cost_per_player` divides by the people in the matches counted; bots are no people.
- `cost_waiting` is what the tickets without a match (unfinished, cancelled, expired) waited until
  they ended or the run did, at the price of the first of their queues.
- `cancelled_by`, where a queue has a ready-check, splits the cancelled tickets by why they ended:
  `left` before they had a match, `declined` one, or were `silent` when they were asked.
- `checks`, where a queue has a ready-check, counts all matches of the run that were proposed, that
  lost a player, that were played all the same, and that came to nothing; `repaired_share` is the
  share of failed checks that were repaired, `turned_away` counts players on a cooldown,
  with their parties.
- `outcomes`, where matches are played, says how many counted in the whole run, and how well the
  stored ratings of each ladder order the players by their true skills (Spearman's correlation).
- `off_side`, where a queue takes sides as wishes, are the players of counted tickets who were
  placed on another side than they asked for.
- `var` is the population variance; quantiles interpolate linearly (numpy's default). Figures of
  nothing are null.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenmatch.model.match import Match
from evenmatch.model.queue import Queue
from evenmatch.simulation.groups import groups_of
from evenmatch.simulation.history import CANCELLED, EXPIRED, MATCHED, WAITING, History

Floats = NDArray[np.float64]
Summary = dict[str, Any]
CANCELLED_BY = ("left", "declined", "silent")
"""Why a ticket may be cancelled in a simulation."""
QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}


def summarize(history: History, queues: Sequence[Queue], by: Iterable[str] = ()) -> Summary:
    """Return the figures of a run.

    Args:
        history: A finished run.
        queues: As simulated; their prices make `cost_waiting`.
        by: Attributes by which to split waits and quality; see `simulation.groups`.

    Raises:
        ConfigError: No ticket has such an attribute, or it cannot be split by.
    """
    first = history.first_counted
    all_waits = waits_of(history)
    numbers = counted_matches(history)
    summary = _figures(history, queues, range(first, len(history.ids)), numbers)
    off_side = None
    if any(queue.format.side_choice == "prefer" for queue in queues):
        off_side = _off_side(history, first)
        summary["off_side"] = sum(history.sizes[place] for place in off_side)
    if history.checks is not None:
        summary["cancelled_by"] = _cancelled_by(history, first)
        summary["checks"] = history.checks
    if by := list(by):
        summary["by"] = {
            attribute: {
                value: _group(history, places, all_waits, off_side)
                for value, places in groups_of(history, attribute, first).items()
            }
            for attribute in by
        }
    return summary


def summaries_of_shares(history: History, queues: Sequence[Queue], count: int) -> Iterator[Summary]:
    """Yield the figures of equal shares of the counted tickets, in the order of their arrival.

    Each match counts in the share of the last of its tickets that came.

    Args:
        history: A finished run.
        queues: As simulated.
        count: How many shares; fewer tickets than these have none.
    """
    first, end = history.first_counted, len(history.ids)
    if not count or end - first < count:
        return
    edges = [first + (end - first) * part // count for part in range(count + 1)]
    last_of: dict[int, int] = {}
    for place in range(first, end):
        if (number := history.match_of[place]) >= 0:
            last_of[number] = place
    numbers: list[list[int]] = [[] for _ in range(count)]
    for number, place in sorted(last_of.items()):
        numbers[bisect_right(edges, place) - 1].append(number)
    for own, start, stop in zip(numbers, edges, edges[1:], strict=False):
        yield _figures(history, queues, range(start, stop), own)


def _figures(
    history: History, queues: Sequence[Queue], places: range, numbers: Sequence[int]
) -> Summary:
    """Return the figures of some tickets that came one after the other, and of some matches."""
    start, stop = places.start, places.stop
    states = np.frombuffer(bytes(history.states[start:stop]), dtype=np.uint8)
    sizes = np.asarray(history.sizes[start:stop], dtype=np.int64)
    waits = np.asarray(history.ended_at[start:stop]) - np.asarray(history.enqueued_at[start:stop])
    matched = states == MATCHED
    matches = [history.matches[number] for number in numbers]
    people = sum(len(team) for match in matches for team in match.players)
    cost = math.fsum(match.cost for match in matches)
    criteria = _cost_criteria(history, queues, matches)
    return {
        "matches": len(matches),
        "tickets": len(states),
        "players": int(sizes.sum()),
        "bots": sum(match.bots for match in matches),
        "merged": history.merged,
        "cost": cost,
        "cost_criteria": criteria,
        "cost_time": cost - criteria,
        "cost_per_match": cost / len(matches) if matches else None,
        "cost_per_player": cost / people if people else None,
        "cost_waiting": _cost_waiting(history, queues, places),
        "wait": wait_figures(np.repeat(waits[matched], sizes[matched])),
        "quality": quality_figures([m.quality for m in matches if m.quality is not None]),
        "gaps": gap_figures(history, numbers),
        "expired": int((states == EXPIRED).sum()),
        "cancelled": int((states == CANCELLED).sum()),
        "unfinished": int((states == WAITING).sum()),
    }


def counted_matches(history: History) -> list[int]:
    """Return the numbers of the matches of which a ticket counts, in the order of making."""
    return sorted({number for number in history.match_of[history.first_counted :] if number >= 0})


def waits_of(history: History) -> Floats:
    """Return how long each ticket waited: until its end, or the end of the run."""
    ended_at = np.asarray(history.ended_at, dtype=np.float64)
    return ended_at - np.asarray(history.enqueued_at, dtype=np.float64)


def wait_figures(waits: Floats) -> dict[str, float | None]:
    """Return mean, variance, quantiles and maximum of waits in seconds; null of none.

    >>> wait_figures(np.array([1.0, 3.0]))["p50"]
    2.0
    """
    if not len(waits):
        return dict.fromkeys(["mean", "var", *QUANTILES, "max"])
    quantiles = np.quantile(waits, list(QUANTILES.values())).tolist()
    return {
        "mean": float(waits.mean()),
        "var": float(waits.var()),
        **dict(zip(QUANTILES, quantiles, strict=True)),
        "max": float(waits.max()),
    }


def quality_figures(qualities: Sequence[float] | Floats) -> dict[str, float | None]:
    """Return the mean quality and the quality that nine in ten reach; null of no matches."""
    if not len(qualities):
        return {"mean": None, "p10": None}
    found = np.asarray(qualities, dtype=np.float64)
    return {"mean": float(found.mean()), "p10": float(np.quantile(found, 0.1))}


def gap_figures(history: History, numbers: Sequence[int]) -> dict[str, dict[str, float | None]]:
    """Return mean and 95th percentile of each gap over some matches; null of none.

    Args:
        history: A finished run.
        numbers: Of the matches, in the order of making.
    """
    figures: dict[str, dict[str, float | None]] = {}
    for name, values in history.gaps.items():
        given = np.full(len(history.matches), math.nan)
        given[: len(values)] = values
        known = given[np.asarray(numbers, dtype=np.int64)]
        known = known[~np.isnan(known)]
        figures[name] = {"mean": None, "p95": None}
        if len(known):
            figures[name] = {"mean": float(known.mean()), "p95": float(np.quantile(known, 0.95))}
    return figures


def _cost_criteria(history: History, queues: Sequence[Queue], matches: Sequence[Match]) -> float:
    """Return what the criteria of matches cost: all that is not the price of waiting."""
    by_name = {queue.name: queue for queue in queues}
    found = []
    for match in matches:
        queue = by_name[match.queue]
        if queue.criteria:
            waits = match.bots * (queue.wait_max or 0.0)
            for place in map(history.index.__getitem__, match.tickets):
                waits += history.sizes[place] * (match.at - history.enqueued_at[place])
            # What is rounded away in the difference must not be less than nothing.
            found.append(max(0.0, match.cost - queue.price * waits))
    return math.fsum(found)


def _cost_waiting(history: History, queues: Sequence[Queue], places: Iterable[int]) -> float:
    prices = {queue.name: queue.price for queue in queues}
    return math.fsum(
        prices[history.queues[place][0]]
        * history.sizes[place]
        * (history.ended_at[place] - history.enqueued_at[place])
        for place in places
        if history.states[place] != MATCHED
    )


def _cancelled_by(history: History, first: int) -> dict[str, int]:
    """Return the counted tickets that were cancelled, by reason."""
    found = Counter(
        reason
        for place, reason in history.reasons.items()
        if place >= first and history.states[place] == CANCELLED
    )
    return {reason: found[reason] for reason in dict.fromkeys((*CANCELLED_BY, *sorted(found)))}


def _off_side(history: History, first: int) -> frozenset[int]:
    """Return the places of counted tickets that are on another side than they asked for."""
    places = (history.index[name] for match in history.matches for name in match.off_side or ())
    return frozenset(place for place in places if place >= first)


def _group(
    history: History, places: list[int], waits: Floats, off_side: frozenset[int] | None
) -> dict[str, Any]:
    """Return players, wait and quality of one group; `places` has an entry for each player."""
    matched = [place for place in places if history.match_of[place] >= 0]
    qualities = [history.matches[history.match_of[place]].quality for place in matched]
    group: dict[str, Any] = {
        "players": len(places),
        "wait": wait_figures(waits[np.asarray(matched, dtype=np.int64)]),
        "quality": quality_figures([quality for quality in qualities if quality is not None]),
    }
    if off_side is not None:
        group["off_side"] = sum(place in off_side for place in places)
    return group
