"""One scenario at several values of a key: the trade of waits against quality as a curve.

A sweep is written `KEY=A..B:N`. KEY is a key of `[[queue]]`, such as `wait_price`, `target_wait`,
`rules[0].limit` or `accept.seconds`, or a parameter of the policy, `policy:NAME`. It is set in
every queue that can have it, and the file is read anew for each value, so that an invalid value is
refused with the same sentence as in a file.

`target_wait` alone takes half, once and twice the mean wait that each queue has as its target.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec
import numpy as np

from evenmatch.errors import ConfigError
from evenmatch.lab.simulate import checked_by, simulate, with_policy
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import Scenario
from evenmatch.policies.base import Policy
from evenmatch.policies.hooks import TARGET, target_of
from evenmatch.simulation.arrivals.arrivals import arrivals_of
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.simulation.metrics import Summary

COUNT = 6
COUNT_MAX = 100
DECADE = 10.0
"""A positive range at least this wide is divided by equal ratios, any other by equal steps."""
DIGITS, DIGITS_MAX = 3, 17
"""Digits of the values between the ends: as few as people read, and those that a float has."""
ROUNDED = 0.1
"""How far a value may be rounded, as a share of its distance to the next ones."""
POLICY = "policy:"
FACTORS = (0.5, 1.0, 2.0)
"""The factors that `target_wait` alone stands for."""
EXCLUSIVE = (("wait_price", "target_wait"),)
"""Keys of which a queue has only one: the other one is removed while this one is swept."""
_FORM = re.compile(r"([^=]+)=([^=:]+?)\.\.([^=:]+?)(?::(\d+))?")
_STEP = re.compile(r"(\w+)((?:\[\d+\])*)")
HOW = (
    "--sweep must be KEY=A..B or KEY=A..B:N, such as wait_price=0.0001..0.01:6 or target_wait=5..60"
)


class ParameterSweep(msgspec.Struct, frozen=True):
    """A key and the values that it takes.

    Args:
        key: A key of a queue, or `policy:` and a parameter.
        values: Ascending.
        is_relative: Whether the values are factors of each queue's own value.
    """

    key: str
    values: tuple[float, ...]
    is_relative: bool = False

    @property
    def parameter(self) -> str | None:
        """Return the swept parameter of the policy; None if the key is one of queues."""
        return self.key.removeprefix(POLICY) if self.key.startswith(POLICY) else None


class SweepPoint(msgspec.Struct, frozen=True):
    """The result of one value under one policy; `summary` is of one run, or means of several."""

    policy: str
    value: float
    summary: Summary


def parse_sweep(text: str) -> ParameterSweep:
    """Return the sweep that `--sweep` asks for.

    Raises:
        ConfigError: The text is not of that form.

    >>> parse_sweep("wait_price=0.0001..0.01:3").values
    (0.0001, 0.001, 0.01)
    >>> parse_sweep("target_wait=5s..20s:4").values
    (5.0, 10.0, 15.0, 20.0)
    """
    if text.strip() == TARGET:
        return ParameterSweep(TARGET, FACTORS, is_relative=True)
    found = _FORM.fullmatch(text.replace(" ", ""))
    if found is None:
        raise ConfigError(f"{HOW}; got {text!r:.80}")
    key, low, high, count = found.groups()
    first, last = _number(low, text), _number(high, text)
    number = COUNT if count is None else int(count)
    if not 2 <= number <= COUNT_MAX:
        raise ConfigError(f"--sweep takes 2 to {COUNT_MAX} values, got {number} in {text!r:.80}")
    if not first < last:
        raise ConfigError(f"--sweep goes from a smaller value to a larger one, got {text!r:.80}")
    return ParameterSweep(key, _grid(first, last, number))


def _number(text: str, given: str) -> float:
    try:
        value = float(text.removesuffix("s"))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ConfigError(f"{HOW}; {text!r:.40} is no number in {given!r:.80}")
    return value


def _grid(first: float, last: float, count: int) -> tuple[float, ...]:
    steps = [at / (count - 1) for at in range(count)]
    if first > 0.0 and last / first >= DECADE:
        values = [first * (last / first) ** step for step in steps]
    else:
        values = [first + (last - first) * step for step in steps]
    values[0], values[-1] = first, last
    within = [_rounded(*three) for three in zip(values, values[1:], values[2:], strict=False)]
    return tuple(sorted({first, *within, last}))


def _rounded(before: float, value: float, after: float) -> float:
    """Return a value with few digits, but enough to tell it from those before and after it."""
    room = ROUNDED * min(value - before, after - value)
    found = (float(f"{value:.{digits}g}") for digits in range(DIGITS, DIGITS_MAX))
    return next((each for each in found if abs(each - value) <= room), value)


def document_at(document: Mapping[str, Any], sweep: ParameterSweep, value: float) -> dict[str, Any]:
    """Return the keys of a scenario's file with the swept key at a value.

    Args:
        document: As the file has it.
        sweep: The sweep.
        value: In every queue that can have it.

    Raises:
        ConfigError: No queue can have such a key.
    """
    changed = copy.deepcopy(dict(document))
    queues = [each for each in changed.get("queue", []) if isinstance(each, dict)]
    parameter = sweep.parameter
    if parameter is not None:
        for queue in queues:
            queue["policy"] = with_parameter(str(queue.get("policy", "")), parameter, value)
        return changed
    places = [_place(queue, sweep.key) for queue in queues]
    if not any(places):
        raise ConfigError(f"--sweep {sweep.key}: no queue of the scenario has such a key")
    for put in places:
        if put is not None:
            put(_written(value))
    for keys in EXCLUSIVE:
        if sweep.key in keys:
            for queue, key in [(queue, key) for queue in queues for key in keys]:
                if key != sweep.key:
                    queue.pop(key, None)
    return changed


def with_parameter(spec: str, name: str, value: float) -> str:
    """Return a policy's SPEC with one parameter set.

    Raises:
        ConfigError: No policy is named.

    >>> with_parameter("window:limit=150,rate=2", "rate", 3.0)
    'window:limit=150,rate=3'
    """
    if not spec:
        raise ConfigError(f"--sweep {POLICY}{name}: name the policy in the queue or by --policy")
    policy, _, rest = spec.partition(":")
    others = [each for each in rest.split(",") if each and each.partition("=")[0].strip() != name]
    return f"{policy}:{','.join([*others, f'{name}={_written(value)!r}'])}"


def _written(value: float) -> float | int:
    """Return a whole number as an int, since some keys are counts."""
    return int(value) if value.is_integer() else value


def _place(queue: dict[str, Any], key: str) -> Callable[[float | int], None] | None:
    """Return a function that sets a key of a queue's table; None if its parent is missing."""
    *around, last = key.split(".")
    table: Any = queue
    for part in around:
        step = _STEP.fullmatch(part)
        if step is None or not isinstance(table, dict):
            return None
        table = table.get(step[1])
        for index in re.findall(r"\d+", step[2]):
            if not isinstance(table, list) or int(index) >= len(table):
                return None
            table = table[int(index)]
    if not isinstance(table, dict) or not re.fullmatch(r"\w+", last):
        return None
    return lambda value: table.__setitem__(last, value)


def spark(values: Sequence[float | None]) -> str:
    """Return a curve in one line of text, scaled from the least value to the greatest.

    >>> spark([1.0, 2.0, None, 8.0])
    '▁▂ █'
    """
    bars = "▁▂▃▄▅▆▇█"
    known = [value for value in values if value is not None]
    if not known:
        return ""
    low, span = min(known), max(known) - min(known)
    steps = [
        " "
        if value is None
        else bars[round((len(bars) - 1) * ((value - low) / span if span else 0))]
        for value in values
    ]
    return "".join(steps)


# The effect of longer waits: a scenario at half, once and twice its target of the mean wait.
#
# That is possible only for queues whose policy keeps to a mean wait (`target_wait`); all queues of
# a scenario are changed by the same factor, and all else stays, including the arrivals.

TICKETS_MAX = 2_000
"""Most arrivals that are simulated."""


def target_in(scenario: Scenario, policy: str | None = None) -> float | None:
    """Return the target wait of the first queue with such a target; None if none has one.

    Args:
        scenario: The queues.
        policy: A SPEC in place of theirs.
    """
    queues, resolve = with_policy(scenario.queues, policy)
    found = (target_of(queue, resolve(queue)) for queue in queues)
    return next((target for target in found if target is not None), None)


def at_factor(scenario: Scenario, factor: float, policy: str | None = None) -> Scenario:
    """Return a scenario whose queues have a longer or shorter target wait.

    Args:
        scenario: As it is.
        factor: Factor on the target wait.
        policy: A SPEC in place of the queues' own; the result has it.
    """
    queues, resolve = with_policy(scenario.queues, policy)
    changed = tuple([_at_factor(queue, resolve(queue), factor) for queue in queues])
    return msgspec.structs.replace(scenario, queues=changed)


def _at_factor(queue: Queue, policy: Policy, factor: float) -> Queue:
    target = target_of(queue, policy)
    if target is None:
        return queue
    if getattr(policy, TARGET) is not None:
        spec = with_parameter(queue.policy, TARGET, factor * target)
        return msgspec.structs.replace(queue, policy=spec)
    return msgspec.structs.replace(queue, target_wait=factor * target)


class FirstArrivals(msgspec.Struct, frozen=True):
    """The first arrivals of a scenario, small enough to send to another process.

    Args:
        scenario: The scenario.
        tickets: Least number of tickets after the warm-up.
        seconds: Least time span after it, unless there are `TICKETS_MAX` arrivals before its end.
    """

    scenario: Scenario
    tickets: int
    seconds: float = 0.0


def play_short(task: FirstArrivals) -> Summary:
    """Return the figures of the first arrivals of a scenario, until the last of them came.

    The waits of those left over after that say nothing about a queue that goes on.
    """
    world, arrivals = task.scenario, task.scenario.arrivals
    assert arrivals is not None
    seeds = np.random.SeedSequence(world.seed)
    first: list[Arrival] = []
    counted, start = 0, 0
    check = checked_by(*with_policy(world.queues, None))
    coming = arrivals_of(arrivals, seeds, queues=world.queues, check=check)
    for each in islice(coming, TICKETS_MAX):
        if not first:
            # Times count from the whole second of the first arrival on.
            start = math.floor(each.at)
        elif counted >= task.tickets and each.at - first[0].at >= world.warmup + task.seconds:
            break
        first.append(each)
        counted += each.at - start >= world.warmup
    if first:
        last = first[-1].at - start
        until = last if world.until is None else min(last, world.until)
        world = msgspec.structs.replace(world, until=until)
    return simulate(world, arrivals=first).summary
