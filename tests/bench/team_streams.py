"""The streams on which policies for teams are compared, and the knobs that set their waits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec
import numpy as np
from msgspec.structs import replace

from evenmatch.config.files import load_scenario
from evenmatch.errors import ConfigError
from evenmatch.model.scenario import Answers, Scenario
from evenmatch.policies.registry import parse_policy
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.simulation.world.arrivals import world_arrivals
from papers.studies.streams import StreamFigures, Window, stream_figures
from tests.bench.processes import ROOT

SCENES = ("hero_5v5", "world_5v5", "world_3v3")
RATES = (5.0, 20.0, 200.0)
"""Players a minute."""
PLAYERS_WANTED = {5.0: 900.0, 20.0: 1_300.0, 200.0: 3_000.0}
"""Players of a stream who count."""
WAITS = {5.0: 120.0, 20.0: 60.0, 200.0: 20.0}
"""The mean wait at which rolling meets policies that have a knob of their own, s."""
QUICK = 0.3
"""By what a quick stream is shorter."""


class Stream(msgspec.Struct, frozen=True):
    """One stream of arrivals.

    Args:
        scene: The name of a scenario.
        rate: Players a minute.
        seed: Of the stream.
        share: By what it is shorter than usual.
    """

    scene: str
    rate: float
    seed: int
    share: float = 1.0


def window_of(rate: float) -> Window:
    """Return which arrivals count: what is learnt at first and not matched at last does not.

    >>> window_of(20.0)
    Window(warmup=1200.0, cooldown=900.0)
    """
    return Window(
        min(max(24_000.0 / rate, 300.0), 1_800.0), min(max(18_000.0 / rate, 300.0), 900.0)
    )


def scenario_of(stream: Stream) -> Scenario:
    """Return the scenario of a stream.

    Everybody accepts a ready-check at once, so that waits and qualities are the policy's.
    """
    scenario = load_scenario(ROOT / "scenarios" / f"{stream.scene}.toml")
    arrivals, window = scenario.arrivals, window_of(stream.rate)
    if arrivals is None or arrivals.world is None:
        raise ConfigError(f"{stream.scene} has no world of arrivals")
    nearest = min(PLAYERS_WANTED, key=lambda rate: abs(math.log(rate / stream.rate)))
    counted = 60.0 * stream.share * PLAYERS_WANTED[nearest] / stream.rate
    duration = window.warmup + counted + window.cooldown
    world = replace(arrivals.world, player_rate=stream.rate / 60.0)
    arrivals = replace(arrivals, world=world, duration=duration)
    return replace(scenario, arrivals=arrivals, answers=Answers())


def has_target() -> bool:
    """Return whether rolling takes a wait to aim at."""
    try:
        parse_policy("rolling:target_wait=15")
    except ConfigError:
        return False
    return True


class Knob(msgspec.Struct, frozen=True):
    """What sets how long a policy lets people wait.

    Args:
        policy: A SPEC, perhaps with parameters.
        name: A parameter of it, or `wait_price` for the queue's key.
        first: Where to begin for a wait of one second.
        slope: How the logarithm of the wait follows that of the knob.
    """

    policy: str
    name: str
    first: float
    slope: float

    def begin(self, wanted: float) -> float:
        """Return where to begin for a mean wait."""
        return self.first * math.exp(math.log(wanted) / self.slope)

    def run(self, stream: Stream, place: float) -> StreamFigures:
        """Run the policy with the knob at a place."""
        scenario = scenario_of(stream)
        window = window_of(stream.rate)
        if self.name == "wait_price":
            queues = tuple(replace(each, wait_price=place) for each in scenario.queues)
            scenario = replace(scenario, queues=queues)
            return stream_figures(scenario, self.policy, stream.seed, window)
        spec = with_knob(self.policy, self.name, place)
        return stream_figures(scenario, spec, stream.seed, window)


def with_knob(policy: str, name: str, place: float) -> str:
    """Return a SPEC with another parameter.

    >>> with_knob("rounds:effort=9", "every", 30.0)
    'rounds:effort=9,every=30'
    """
    return f"{policy}{',' if ':' in policy else ':'}{name}={place:.6g}"


def knob_of(policy: str) -> Knob:
    """Return the knob of a policy that has one.

    Raises:
        ConfigError: It has none.
    """
    name = policy.partition(":")[0]
    if name == "rounds":
        return Knob(policy, "every", 1.7, 1.0)
    if name == "rolling" and has_target():
        return Knob(policy, "target_wait", 1.0, 1.0)
    if name == "rolling":
        # A wait of a minute at .0001 or so; it falls with about the root of the price.
        return Knob(policy, "wait_price", 0.36, -0.5)
    raise ConfigError(f"no knob of {name} sets its waits")


def at_its_own(policy: str, stream: Stream) -> StreamFigures:
    """Run a policy as it is."""
    return stream_figures(scenario_of(stream), policy, stream.seed, window_of(stream.rate))


# Arrivals whose rate changes


def thinned(
    stream: Stream, duration: float, shares: Sequence[tuple[float, float]]
) -> list[Arrival]:
    """Return arrivals of a scenario's world whose rate follows a curve.

    Args:
        stream: Its rate is the highest.
        duration: Seconds.
        shares: Instants and shares of the highest rate, linear between them.
    """
    arrivals = scenario_of(stream).arrivals
    assert arrivals is not None
    at, share = np.array(shares, dtype=np.float64).T
    # A stream of chance beside those of the world.
    keep = np.random.default_rng(np.random.SeedSequence((stream.seed, 77)))
    found = []
    for each in _within(world_arrivals(replace(arrivals, duration=duration), _seeds(stream))):
        if keep.random() < np.interp(each.at, at, share):
            found.append(each)
    return found


def changed(stream: Stream, duration: float, at: float) -> list[Arrival]:
    """Return arrivals of whom others come from an instant on: from elsewhere, and better ones."""
    arrivals = scenario_of(stream).arrivals
    assert arrivals is not None
    assert arrivals.world is not None
    world, skill = arrivals.world, arrivals.world.skill
    others = replace(
        world,
        hour=(world.hour + 12.0) % 24.0,
        skill=replace(skill, median=1.4 * skill.median, spread=1.5 * skill.spread, beginners=0.0),
    )
    before = _within(world_arrivals(replace(arrivals, duration=at), _seeds(stream)))
    lasts = replace(arrivals, world=others, duration=duration - at)
    after = _within(world_arrivals(lasts, _seeds(stream, 1)))
    return [*before, *(_later(each, at) for each in after)]


def _later(arrival: Arrival, at: float) -> Arrival:
    """Return an arrival so many seconds later, by somebody else."""
    ticket = arrival.ticket
    players = tuple(replace(each, id=f"o{each.id}") for each in ticket.players)
    leaves = None if arrival.leaves_at is None else arrival.leaves_at + at
    return Arrival(arrival.at + at, replace(ticket, id=f"o{ticket.id}", players=players), leaves)


def _within(arrivals: Iterator[Arrival]) -> Iterator[Arrival]:
    return islice(arrivals, 1_000_000)


def _seeds(stream: Stream, child: int = 0) -> np.random.SeedSequence:
    return np.random.SeedSequence((stream.seed, child))
