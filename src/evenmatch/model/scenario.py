"""A scenario: its queues, its seed, and who arrives when with which attributes."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from evenmatch.model.checks import Fault, number_text
from evenmatch.model.fields import (
    SHARES_SLACK,
    Fact,
    FileName,
    Gap,
    Quantity,
    Seconds,
    Share,
    TicketRateOrNone,
    Wait,
)
from evenmatch.model.queue import RANGE_MIN, Queue
from evenmatch.model.world import World

Process = Literal["poisson", "regular", "ramp", "hourly", "world", "file"]
TimeUnit = Literal["s", "ms", "us", "ns"]

ARRIVALS_MAX = 50_000_000
"""The most tickets of one run, drawn or read."""

MASS_MIN = 0.01
"""Of a normal distribution, between its bounds: less would be drawn again too often."""

SHIPPED = "evenmatch:"
"""A file whose name starts like this is one that comes with evenmatch."""


class _Distribution(
    msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="distribution"
):
    """How a value is drawn."""

    @property
    def kind(self) -> str:
        """Return the name of the distribution."""
        return str(self.__struct_config__.tag)


class Uniform(_Distribution, frozen=True, tag="uniform"):
    """Every value between `min` and `max` is equally likely.

    Args:
        min: Lowest value.
        max: Highest value.
    """

    min: Quantity = 0.0
    max: Quantity = 1.0

    def fault(self) -> Fault:
        """Return a range in which nothing lies."""
        return _fault_of_range(self.min, self.max)


class Normal(_Distribution, frozen=True, tag="normal"):
    """A normal distribution; a value outside [min, max] is drawn again.

    Args:
        mean: The mean before values are bounded.
        deviation: The standard deviation before values are bounded.
        min: Lowest value; without it there is no bound.
        max: Highest value; without it there is no bound.
    """

    mean: Quantity
    deviation: Gap
    min: Quantity | None = None
    max: Quantity | None = None

    def fault(self) -> Fault:
        """Return bounds between which too little is drawn."""
        is_bounded = self.min is not None and self.max is not None
        if is_bounded and (fault := _fault_of_range(self.min or 0.0, self.max or 0.0)):
            return fault
        low, high = [
            None if bound is None else (bound - self.mean) / (self.deviation * math.sqrt(2.0))
            for bound in (self.min, self.max)
        ]
        above = 1.0 if high is None else math.erf(high)
        below = -1.0 if low is None else math.erf(low)
        if 0.5 * (above - below) < MASS_MIN:
            return "", "leaves less than 1 % of the normal distribution between min and max"
        return None


class Exponential(_Distribution, frozen=True, tag="exponential"):
    """An exponential distribution.

    Args:
        mean: Its mean.
    """

    mean: Gap


class Choice(_Distribution, frozen=True, tag="choice"):
    """One of several values.

    Args:
        values: The possible values: numbers, texts or lists of texts.
        probs: The probability of each of `values`; by default all are equal.
    """

    values: Annotated[tuple[Fact, ...], Meta(min_length=1, max_length=1_000)]
    probs: tuple[Share, ...] = ()

    def fault(self) -> Fault:
        """Return probabilities that do not belong to the values, or do not sum to 1."""
        if self.probs and len(self.probs) != len(self.values):
            return "probs", f"must have one entry for each of {len(self.values)} values"
        total = math.fsum(self.probs)
        if self.probs and abs(total - 1.0) > SHARES_SLACK:
            return "probs", f"must sum to 1, got {total:g}"
        return None


class Empirical(_Distribution, frozen=True, tag="empirical"):
    """A random cell of a file's column.

    Args:
        file: A CSV or Parquet file; `evenmatch:NAME` is a file that comes with evenmatch.
        column: The name of the column.
    """

    file: FileName
    column: str


Distribution = Uniform | Normal | Exponential | Choice | Empirical


def _fault_of_range(low: float, high: float) -> Fault:
    if high - low < RANGE_MIN:
        return "max", f"must be at least {number_text(RANGE_MIN)} above min = {low:g}, got {high}"
    return None


Turn = Annotated[
    tuple[Wait, TicketRateOrNone],
    Meta(
        description="a pair [instant in seconds, rate or share]",
        extra={"many": "pairs [instant in seconds, rate or share]"},
    ),
]


class ArrivalClass(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A kind of ticket among the arrivals; it has a rate or a share.

    Args:
        rate: Tickets of this class that arrive per second.
        share: This class's share of all tickets; the shares of all classes sum to 1.
        drift: Pairs (time in seconds, rate or share at that time), in order of time. The rate or
            share changes along straight lines from its first value at time 0, and stays constant
            after the last pair.
        size: Players per ticket.
        queues: The queues in which the tickets wait; by default the first queue.
        attributes: Attributes of each ticket; they replace drawn attributes of the same name.
    """

    rate: TicketRateOrNone | None = None
    share: Share | None = None
    drift: Annotated[tuple[Turn, ...], Meta(max_length=1_000)] = ()
    size: int = 1
    queues: tuple[str, ...] = ()
    attributes: dict[str, Fact] = {}

    def amount(self, at: float) -> float:
        """Return the rate or share at an instant.

        >>> ArrivalClass(rate=1.0, drift=((10.0, 3.0),)).amount(5.0)
        2.0
        """
        since, amount = 0.0, (self.rate if self.share is None else self.share) or 0.0
        for until, then in self.drift:
            if at < until:
                return amount + (then - amount) * (at - since) / (until - since)
            since, amount = until, then
        return amount


class ArrivalProcess(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """When somebody arrives, or where that is recorded.

    Args:
        process: `poisson`: random arrivals at a constant rate; `regular`: one every `interval`
            seconds, the first after `interval`; `ramp`: Poisson arrivals whose rate goes from
            `rate` to `to`; `hourly`: Poisson arrivals with a rate for each hour of the day;
            `world`: parties from regions of the world; `file`: a recording.
        rate: Tickets per second; leave it out if the classes or `hours` give it.
        interval: Seconds between regular arrivals.
        to: The rate at the end of a ramp.
        by: Whether the rate of a ramp grows linearly with `time` or with the `index` of the
            arrival.
        hours: 24 numbers, for the hours from midnight (time 0) on: with `rate`, their weights
            around it; without, the rates themselves.
        count: Number of tickets that arrive; without it only `duration` ends the arrivals.
        duration: Seconds after which no ticket arrives.
        file: A CSV or Parquet file of recorded arrivals; `evenmatch:NAME` is a file that comes with
            evenmatch.
        columns: The names that the file uses for our columns.
        unit: The unit of numbers in the columns `at` and `leaves_at`: `s`, `ms`, `us` or `ns`. By
            default it is seconds; numbers from 1e11 on are read as Unix time in the unit that fits
            their size.
        skip_bad: Whether to skip rows that cannot be read, instead of refusing the whole file.
        classes: Kinds of tickets; by default all tickets are single players.
    """

    process: Process = "poisson"
    rate: TicketRateOrNone | None = None
    interval: Seconds | None = None
    to: TicketRateOrNone | None = None
    by: Literal["time", "index"] = "time"
    hours: tuple[TicketRateOrNone, ...] = ()
    count: Annotated[int, Meta(ge=1, le=ARRIVALS_MAX)] | None = None
    duration: Seconds | None = None
    file: FileName | None = None
    columns: Annotated[dict[str, str], Meta(description="a table of names, ours = theirs")] = {}
    unit: TimeUnit | None = None
    skip_bad: bool = False
    classes: Annotated[tuple[ArrivalClass, ...], Meta(max_length=100)] = ()


class Arrivals(ArrivalProcess, frozen=True):
    """Who arrives when.

    Args:
        attributes: How each player's attributes are drawn; `side` is drawn once a ticket.
        patience: Seconds from arrival until the player gives up and cancels; without it nobody
            does.
        world: Who arrives from where, for the process `world`.
    """

    attributes: dict[str, Distribution] = {}
    patience: Distribution | None = None
    world: World | None = None

    @property
    def total_rate(self) -> float:
        """Return the tickets per second of all classes together; what changes, as at first."""
        if self.world is not None:
            return self.world.ticket_rate
        rates = [each.rate for each in self.classes if each.rate is not None]
        return sum(rates) if rates else (self.rate or 0.0)


class Answers(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """How players answer a ready-check.

    Args:
        decline: Share of the asked players who decline.
        silent: Share of the asked players who never answer.
        seconds: Mean time in seconds until a player answers; times are uniform from 0 to twice
            this.
    """

    decline: Share = 0.0
    silent: Share = 0.0
    seconds: Wait = 0.0

    def fault(self) -> Fault:
        """Return shares of more players than are asked."""
        most = 1.0 - self.decline
        if self.silent > most:
            return "silent", f"must be at most 1 - decline = {most:g}, got {self.silent}"
        return None


class OutcomeModel(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """How matches end in a simulation; see `simulation.outcomes`.

    Args:
        skill: The attribute that holds a player's true skill, which no rating system sees.
        scale: The difference of skill, in points, at which the better team wins ten times out of
            eleven.
        draws: Share of matches that end in a draw, whatever the players' skill.
        lasts: Seconds from the start of a match until its outcome is reported.
    """

    skill: str = "skill"
    scale: Annotated[float, Meta(ge=1e-6, le=1e9)] = 400.0
    draws: Share = 0.0
    lasts: Wait = 600.0


class Scenario(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A world to simulate.

    Args:
        queues: At least one; a ticket without queues enters the first.
        arrivals: None where a recording is given with the call.
        seed: Seed of all random draws of a run.
        until: Seconds after which the run ends; without it the run ends when nothing is left to do.
        solve_time: Seconds until a job's result arrives.
        warmup: Seconds at the start of a run whose tickets are simulated but not counted.
        answers: How players answer ready-checks; by default all accept at once.
        outcomes: How matches end; without it no outcomes are reported.
    """

    queues: tuple[Queue, ...]
    arrivals: Arrivals | None = None
    seed: Annotated[int, Meta(ge=0)] = 1
    until: Seconds | None = None
    solve_time: Wait = 0.0
    warmup: Wait = 0.0
    answers: Answers = Answers()
    outcomes: OutcomeModel | None = None

    def fault(self) -> Fault:
        """Return a warm-up that leaves nothing to count."""
        if self.until is not None and self.warmup >= self.until:
            end = f"until = {self.until:g} s, at which the run ends"
            return "warmup", f"must be below {end}, got {self.warmup:g}"
        return None
