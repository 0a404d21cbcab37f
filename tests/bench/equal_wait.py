"""One policy at the mean wait of another: where the knob stands that gives it, and what it gives.

A policy that lets people wait longer makes better matches, so what two make of the same stream is
compared at equal mean waits. A knob such as `target_wait` or the period of rounds sets how long one
lets people wait; it is turned until a few runs lie about the wanted wait, and a line through them,
over the logarithm of the wait, says what the policy would have made of that wait itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from papers.studies.streams import StreamFigures

NEAR = 0.12
"""How far from the wanted wait the best run may be, as the logarithm of their ratio."""
STEP_MOST = math.log(4.0)
"""By how much the knob is turned at the most from one run to the next."""
ASIDE = 0.15
"""How far beside the wanted wait the last runs are sent, so that a line has two ends."""
RUNS_LEAST, RUNS_MOST = 3, 6
SAME = 0.02
"""Places of the knob that differ by less are the same, as a logarithm."""
STUCK = 0.003
"""Runs whose waits differ by less are the same to the knob, as a logarithm."""
FAR = 0.45
"""Runs further away from the wanted wait, as a logarithm, say nothing of it."""


class Point(msgspec.Struct, frozen=True):
    """One run: where the knob stood, and what came of it."""

    knob: float
    figures: StreamFigures


class AtWait(msgspec.Struct, frozen=True):
    """What a policy makes of a stream at some mean wait.

    Args:
        mean: Mean quality, points.
        p10: Tenth percentile of quality, points.
        p95: 95th percentile of waits, s.
        unmatched: Share of the players without a match.
        beyond: By how much the wait lies outside of all runs, as a share; 0 within them.
        runs: Knobs and mean waits.
    """

    mean: float
    p10: float
    p95: float
    unmatched: float
    beyond: float
    runs: tuple[tuple[float, float], ...]


def next_knob(points: Sequence[tuple[float, float]], wanted: float, slope: float) -> float:
    """Return where to turn the knob for another run about the wanted wait.

    Args:
        points: Knobs and the mean waits that came of them, at least one.
        wanted: The mean wait, s.
        slope: How the logarithm of the wait follows that of the knob, as long as one run is known.

    >>> next_knob([(10.0, 20.0)], 40.0, 1.0)
    20.0
    >>> round(next_knob([(220.0, 151.4), (188.7, 152.2)], 129.6, 1.0))
    161
    """
    logs = sorted((abs(math.log(wait / wanted)), knob, wait) for knob, wait in points)
    _, knob, wait = logs[0]
    if len(logs) > 1 and logs[1][1] != knob:
        _, other, its = logs[1]
        seen = math.log(its / wait) / math.log(other / knob)
        # Two runs at nearly the same wait say little of the slope.
        if seen * slope > 0.0:
            slope = math.copysign(min(max(abs(seen), 0.3 * abs(slope)), 3.0 * abs(slope)), slope)
    aim = math.log(wanted / wait)
    if abs(aim) < NEAR:
        aim += _aside([wait for _, wait in points], wanted)
    turn = max(-STEP_MOST, min(STEP_MOST, aim / slope))
    found = knob * math.exp(turn)
    # The same place again would say the same again: where it did not help, go on.
    step = math.exp(math.copysign(max(abs(turn), ASIDE), turn))
    while any(abs(math.log(found / each)) < SAME for each, _ in points):
        found *= step
    return found


def _aside(waits: Sequence[float], wanted: float) -> float:
    """Return to which side a further run belongs: that with fewer of those near by."""
    above = sum(wanted <= wait < wanted * math.exp(FAR) for wait in waits)
    below = sum(wanted * math.exp(-FAR) < wait < wanted for wait in waits)
    return -ASIDE if above > below else ASIDE


def is_enough(waits: Sequence[float], wanted: float) -> bool:
    """Return whether runs lie on both sides of the wanted wait and near to it."""
    near = [wait for wait in waits if abs(math.log(wait / wanted)) < FAR]
    return (
        len(waits) >= RUNS_LEAST
        and min(near, default=math.inf) <= wanted <= max(near, default=0.0)
        and any(abs(math.log(wait / wanted)) < NEAR for wait in near)
    )


def is_stuck(points: Sequence[Point], wanted: float) -> bool:
    """Return whether turning the knob on brings the wait no nearer: there is none such."""
    if len(points) < 2:
        return False
    last, before = points[-1], points[-2]
    is_same = abs(math.log(last.figures.wait / before.figures.wait)) < STUCK
    return (
        is_same
        and abs(math.log(last.knob / before.knob)) > 0.1
        and not any(abs(math.log(each.figures.wait / wanted)) < STUCK for each in points)
    )


def at_wait(
    run: Callable[[float], StreamFigures], wanted: float, first: float, slope: float
) -> AtWait:
    """Run a policy a few times about a mean wait, and return what it makes of that wait.

    Args:
        run: Runs it with the knob at some place.
        wanted: The mean wait, s.
        first: Where the knob stands first.
        slope: How the logarithm of the wait follows that of the knob, roughly.
    """
    points = [Point(first, run(first))]
    while len(points) < RUNS_MOST:
        waits = [each.figures.wait for each in points]
        if is_enough(waits, wanted) or is_stuck(points, wanted):
            break
        known = [(each.knob, max(each.figures.wait, 1e-3)) for each in points]
        knob = next_knob(known, wanted, slope)
        points.append(Point(knob, run(knob)))
    return read_off(points, wanted)


def read_off(points: Sequence[Point], wanted: float) -> AtWait:
    """Return what lines through the nearest runs say of a mean wait."""
    ordered = sorted(points, key=lambda each: abs(math.log(each.figures.wait / wanted)))
    near = [each for each in ordered if abs(math.log(each.figures.wait / wanted)) < FAR]
    chosen = near if len(near) > 1 else ordered[:2]
    places = [math.log(each.figures.wait / wanted) for each in chosen]
    beyond = max(min(places), -max(places), 0.0)

    def line(values: Sequence[float]) -> float:
        if len(places) < 2 or max(places) - min(places) < 1e-9:
            return float(np.mean(values))
        return float(np.polyfit(places, values, 1)[1])

    return AtWait(
        mean=line([each.figures.mean for each in chosen]),
        p10=line([each.figures.p10 for each in chosen]),
        p95=line([each.figures.p95 for each in chosen]),
        unmatched=line([each.figures.censored / each.figures.players for each in chosen]),
        beyond=math.expm1(beyond),
        runs=tuple((each.knob, each.figures.wait) for each in points),
    )
