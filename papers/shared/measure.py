"""Costs of policies on the same sequences, the optimum beside them, and their means."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from evenmatch.lab.optimum import optimum
from evenmatch.lab.study import student_t
from evenmatch.policies.base import Policy
from evenmatch.policies.registry import parse_policy
from papers.shared.runs import Played, arrivals_of, play
from papers.shared.worlds import WAIT_MAX, World

Floats = NDArray[np.float64]


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One sequence, and what plays on it.

    Args:
        world: How it is drawn.
        seed: Which one.
        policies: SPECs.
        wants_optimum: Whether the least cost in hindsight is asked for; of duels only.
        tick: Seconds of a clock on which alone is decided; 0 decides at once.
        is_steady: Whether to count only the matches made before the last arrival, which the end
            of the sequence cannot have changed; formulas know no end.
    """

    world: World
    seed: int
    policies: tuple[str, ...]
    wants_optimum: bool = False
    tick: float = 0.0
    is_steady: bool = False


class Measured(msgspec.Struct, frozen=True):
    """What came of a task.

    Args:
        costs: Of all matches, by policy.
        criteria: The part of the costs that is not waiting, by policy.
        early: What the first half of the matches cost, by policy.
        matches: How many, by policy.
        with_bots: How many of them have a bot, by policy.
        mixed: How many of them have a bot or players of several brackets, by policy; 0 for
            policies without brackets.
        optimum: The least cost possible; None if it was not asked for.
    """

    costs: dict[str, float]
    criteria: dict[str, float]
    early: dict[str, float]
    matches: dict[str, int]
    with_bots: dict[str, int]
    mixed: dict[str, int]
    optimum: float | None


def measure(task: Task) -> Measured:
    """Play one sequence under each policy.

    On a clock every arrival is seen at the next tick; its wait counts from when it came.
    """
    queue = task.world.queue()
    times, values = task.world.draw(task.seed)
    seen = np.ceil(times / task.tick) * task.tick if task.tick else times
    unseen = float((seen - times).sum()) / WAIT_MAX
    measured = Measured({}, {}, {}, {}, {}, {}, None)
    for spec in task.policies:
        policy = parse_policy(spec)
        outcome = play(queue, policy, seen, values)
        counted = outcome.at < times[-1] if task.is_steady else np.ones(len(outcome.at), bool)
        has_bot = outcome.bots > 0
        measured.costs[spec] = float(outcome.costs[counted].sum()) + unseen
        measured.criteria[spec] = float(outcome.criteria[counted].sum())
        measured.early[spec] = _of_first_half(outcome, counted)
        measured.matches[spec] = int(counted.sum())
        measured.with_bots[spec] = int((has_bot & counted).sum())
        is_mixed = has_bot | _spans_brackets(outcome.tickets, values, policy)
        measured.mixed[spec] = int((is_mixed & counted).sum())
    if not task.wants_optimum:
        return measured
    best = optimum((queue,), arrivals_of(queue, times, values))
    return msgspec.structs.replace(measured, optimum=best.cost)


def _of_first_half(outcome: Played, counted: NDArray[np.bool_]) -> float:
    """Return what the earlier half of the counted matches cost; of an odd number the smaller."""
    at, costs = outcome.at[counted], outcome.costs[counted]
    return float(costs[np.argsort(at, kind="stable")[: len(at) // 2]].sum())


def _spans_brackets(
    tickets: NDArray[np.int64], values: Floats, policy: Policy
) -> NDArray[np.bool_]:
    """Return whether the players of each match stand in several brackets of `multi_queue`."""
    brackets = getattr(policy, "brackets", None)
    if not brackets:
        return np.zeros(len(tickets), dtype=bool)
    counts = np.broadcast_to(np.asarray(brackets), (len(values),))[:, None]
    cells = np.minimum(np.floor(values * counts), counts - 1)
    # A bot stands where the first player does.
    of_players = cells[:, np.where(tickets >= 0, tickets, tickets[:, :1])]
    spans: NDArray[np.bool_] = (of_players != of_players[:, :, :1]).any(axis=(0, 2))
    return spans


class Estimate(msgspec.Struct, frozen=True):
    """A mean and the half-width of its 95 % confidence interval, 0 if it is not known.

    Args:
        value: The mean.
        half_width: Of the interval.
        runs: How many runs it comes from; 0 where nobody counted them.
    """

    value: float
    half_width: float
    runs: int = 0


def ratio(above: Sequence[float], below: Sequence[float]) -> Estimate:
    """Return the ratio of two means over the same sequences.

    Source:
        The ratio estimator: the residuals a_i - R b_i, divided by the mean of b, have mean 0, and
        their scatter is that of R (Cochran, Sampling Techniques, chapter 6).
    """
    return mean_of_ratios([(above, below)])


def mean_of_ratios(pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> Estimate:
    """Return the mean over settings of ratios of means; sequence i belongs together in all.

    Args:
        pairs: For each setting what is above and what is below, one number for each sequence.
    """
    count = len(pairs[0][0])
    values = []
    residuals = np.zeros(count)
    for above, below in pairs:
        one, two = np.asarray(above), np.asarray(below)
        value = float(one.sum() / two.sum())
        values.append(value)
        residuals += (one - value * two) / two.mean() / len(pairs)
    return Estimate(math.fsum(values) / len(values), _half_width(residuals), count)


def ratio_of_ratios(
    one: tuple[Sequence[float], Sequence[float]], other: tuple[Sequence[float], Sequence[float]]
) -> Estimate:
    """Return the ratio of two ratios of means; sequence i belongs together in all four.

    Args:
        one: What is above and below in the first, one number for each sequence.
        other: The same of the second.
    """
    first, second = ratio(*one), ratio(*other)
    value = first.value / second.value
    residuals = np.zeros(len(one[0]))
    for (above, below), each, sign in ((one, first, 1.0), (other, second, -1.0)):
        a, b = np.asarray(above), np.asarray(below)
        residuals += sign * value * (a - each.value * b) / a.mean()
    return Estimate(value, _half_width(residuals), len(residuals))


def _half_width(residuals: Floats) -> float:
    count = len(residuals)
    if count < 2:
        return 0.0
    variance = float((residuals**2).sum()) / (count - 1)
    return student_t(count - 1) * math.sqrt(variance / count)
