"""Calibration of wait estimates: compare estimates given to tickets with their actual waits.

A simulation runs with the forecast beside it, fed as by a server. At fixed delays after its
arrival, each ticket that still waits gets an interval, from what is known at that instant only;
after the run, the intervals that contain the actual wait are counted.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np

from evenmatch.forecast.quantiles import Quantiles
from evenmatch.forecast.waits import HALF_LIFE, WaitForecast
from evenmatch.lab.study.study import mean_and_width
from evenmatch.model.match import Match
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import Scenario
from evenmatch.model.ticket import NewTicket
from evenmatch.policies.registry import parse_policy
from evenmatch.simulation.arrivals.arrivals import arrivals_of
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.simulation.history import EXPIRED, MATCHED, NO_GAPS, WAITING, History
from evenmatch.simulation.outcomes import OutcomeSimulator
from evenmatch.simulation.seeds import generator
from evenmatch.simulation.simulator import Simulator

DELAYS = (0.0, 10.0, 60.0)
"""Seconds after arrival at which tickets that still wait get an estimate."""
BLOCKS = 20
"""Number of blocks of consecutive tickets, whose shares give the error of the total share."""
LAST = 200
LAST_MIN = 20
SHARES = (0.1, 0.5, 0.9)
"""Probabilities of `Quantiles`: low, p50, high."""
NOMINAL = 0.8
"""Nominal share of waits inside an interval."""


class Calibration(msgspec.Struct, frozen=True):
    """How well the intervals held that were given at one delay after arrival.

    Args:
        delay: Seconds after arrival.
        told: Tickets that got an estimate and whose wait is known.
        unknown: Tickets that got an estimate and left by themselves inside their interval.
        inside: Share of waits in [low, high]; 0.8 is nominal.
        half_width: Of the 95 % confidence interval of `inside`, from blocks of tickets, because
            the waits of neighbouring tickets are correlated; nan if only one was told.
        median: Share of waits up to p50; 0.5 is nominal.
        width: Median of high - low, seconds.
        loss: Pinball loss of low, p50 and high, relative to that of the same quantiles of the last
            `LAST` waits that had ended, of tickets that were not matched at once; below 1 is
            better than those.
    """

    delay: float
    told: int
    unknown: int
    inside: float
    half_width: float
    median: float
    width: float
    loss: float


class ToldEstimate(msgspec.Struct, frozen=True):
    """What a ticket was told, the number `place` of a history, so long after its arrival."""

    at: float
    place: int
    delay: float
    estimate: Quantiles


class ForecastHistory(History):
    """A history that feeds a forecast and asks it for estimates.

    Args:
        queues: Of the scenario.
        delays: Seconds after arrival at which each ticket gets an estimate.
        half_life: Of the forecast.
    """

    def __init__(
        self, queues: Sequence[Queue], delays: Sequence[float], half_life: float = HALF_LIFE
    ) -> None:
        super().__init__(queues[0].name)
        self.forecast = WaitForecast(half_life)
        self.forecast.configure(queues)
        self.told: list[ToldEstimate] = []
        self._delays = tuple(delays)
        self._due: list[tuple[float, int, float]] = []

    def accept(self, ticket_id: str, ticket: NewTicket, at: float) -> int:
        """Enter a ticket that waits now."""
        self._tell(at)
        place = super().accept(ticket_id, ticket, at)
        self.forecast.enter(ticket_id, ticket, self.queues[place], at, at)
        for delay in self._delays:
            heapq.heappush(self._due, (at + delay, place, delay))
        return place

    def match(self, match: Match, gaps: Mapping[str, float] = NO_GAPS) -> None:
        """Record a match; tickets matched at this very instant get no further estimate."""
        self._tell(match.at)
        for ticket_id in match.tickets:
            self.forecast.leave(ticket_id, match.at, match.queue)
        super().match(match, gaps)

    def leave(self, ticket_id: str, state: int, at: float, reason: str) -> None:
        """Record the end of a ticket that was not matched."""
        self._tell(at)
        self.forecast.leave(ticket_id, at)
        super().leave(ticket_id, state, at, reason)

    def _tell(self, now: float) -> None:
        """Give estimates to all tickets whose instant came before now."""
        while self._due and self._due[0][0] < now:
            at, place, delay = heapq.heappop(self._due)
            if self.states[place] == WAITING:
                estimate = self.forecast.estimate(self.ids[place], at)
                if estimate is not None:
                    self.told.append(ToldEstimate(at, place, delay, estimate))


def calibrate(
    scenario: Scenario,
    *,
    arrivals: Iterable[Arrival] | None = None,
    delays: Sequence[float] = DELAYS,
    half_life: float = HALF_LIFE,
) -> list[Calibration]:
    """Return how the intervals of a scenario held, one row for each delay.

    Args:
        scenario: The scenario.
        arrivals: Arrivals in place of the scenario's own, if any.
        delays: Seconds after arrival at which tickets get an estimate.
        half_life: Seconds after which an observation counts half.
    """
    history = ForecastHistory(scenario.queues, delays, half_life)
    children = np.random.SeedSequence(scenario.seed).spawn(1)
    if arrivals is None:
        assert scenario.arrivals is not None, "a scenario without arrivals needs some"
        arrivals = arrivals_of(scenario.arrivals, children[0])
    outcomes = scenario.outcomes
    Simulator(
        scenario.queues,
        lambda queue: parse_policy(queue.policy),
        history,
        seed=scenario.seed,
        until=scenario.until,
        solve_time=scenario.solve_time,
        answers=(scenario.answers, children[0]),
        played=None
        if outcomes is None
        else OutcomeSimulator(outcomes, generator(children[0], "outcomes")),
    ).run(arrivals)
    return [calibration_of(history, delay) for delay in delays]


def calibration_of(history: ForecastHistory, delay: float) -> Calibration:
    """Return how the intervals of a run held that were given so long after arrival."""
    inside, below, widths, unknown = [], [], [], 0
    for told in history.told:
        if told.delay != delay:
            continue
        estimate = told.estimate
        wait = history.ended_at[told.place] - told.at
        is_known = history.states[told.place] in (MATCHED, EXPIRED)
        if not is_known and wait <= estimate.high:
            unknown += 1
            continue
        inside.append(is_known and estimate.low <= wait <= estimate.high)
        below.append(is_known and wait <= estimate.p50)
        widths.append(estimate.high - estimate.low)
    if not inside:
        return Calibration(delay, 0, unknown, *[math.nan] * 5)
    shares = [float(np.mean(block)) for block in np.array_split(inside, BLOCKS) if len(block)]
    _, half_width = mean_and_width(shares)
    return Calibration(
        delay,
        len(inside),
        unknown,
        float(np.mean(inside)),
        math.nan if half_width is None else half_width,
        float(np.mean(below)),
        float(np.median(widths)),
        _loss_over_last(history, delay),
    )


def _loss_over_last(history: ForecastHistory, delay: float) -> float:
    """Return the pinball loss of the estimates, relative to that of the last actual waits."""
    ends = sorted(
        (history.ended_at[place], history.ended_at[place] - at)
        for place, at in enumerate(history.enqueued_at)
        if history.states[place] == MATCHED and history.ended_at[place] - at > delay
    )
    instants, mine, theirs = [at for at, _ in ends], 0.0, 0.0
    for told in history.told:
        if told.delay != delay or history.states[told.place] not in (MATCHED, EXPIRED):
            continue
        known = bisect_left(instants, told.at)
        if known < LAST_MIN:
            continue
        wait = history.ended_at[told.place] - told.at
        last = sorted([waited - delay for _, waited in ends[max(known - LAST, 0) : known]])
        estimate = told.estimate
        for share, own in zip(SHARES, (estimate.low, estimate.p50, estimate.high), strict=True):
            mine += _pinball(own, share, wait)
            theirs += _pinball(last[math.ceil(share * len(last)) - 1], share, wait)
    return mine / theirs if theirs else math.nan


def _pinball(quantile: float, share: float, value: float) -> float:
    gap = value - quantile
    return share * gap if gap >= 0.0 else (share - 1.0) * gap
