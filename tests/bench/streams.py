"""Online policies for duels beside the best in hindsight, over a bank of streams of arrivals.

Of each kind of stream (`KINDS`) there are several, drawn from seeds; the shipped recording of real
players is cut into pieces of as many arrivals. A row gives cost over the optimum by policy, a value
for each stream: the median, the least and the largest. The last rows put all streams together.
"""

from __future__ import annotations

import gzip
import math
from collections.abc import Callable, Iterator
from csv import DictReader
from importlib.resources import files
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

import evenmatch
from evenmatch.config.files import load_scenario, parse_scenario
from evenmatch.model.scenario import Scenario
from evenmatch.model.ticket import NewTicket, Player, Rating
from evenmatch.simulation.arrivals.stream import Arrival
from tests.bench.report import Row, Setting

POLICIES = ("price", "gap_value", "delay_greedy", "group_price", "greedy")
COUNT = 1_000
SEEDS = 7
PIECES = 24
RATE = 10.0
"""Arrivals a second of the even streams."""
RECORDING = "halo2_1v1_queue_trace.csv.gz"
HALO = Path(__file__).resolve().parents[2] / "scenarios" / "halo.toml"
SCENARIO = """
[[queue]]
name = "duel"
wait_max = 5.0
on_deadline = "bots"

[[queue.criteria]]
kind = "spread"
attribute = "skill"
weight = 2.0

[arrivals]
process = "regular"
interval = 1
count = 1
"""

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator], tuple[Floats, Floats]]
"""Draws instants and skills of a stream."""


def _evenly(rng: np.random.Generator) -> Floats:
    return np.cumsum(rng.exponential(1.0 / RATE, COUNT))


def _normal(rng: np.random.Generator) -> tuple[Floats, Floats]:
    return _evenly(rng), rng.normal(0.5, 0.15, COUNT)


def _uniform(rng: np.random.Generator) -> tuple[Floats, Floats]:
    return _evenly(rng), rng.uniform(0.0, 1.0, COUNT)


def _two_peaks(rng: np.random.Generator) -> tuple[Floats, Floats]:
    return _evenly(rng), rng.normal(rng.choice([0.25, 0.75], COUNT), 0.05)


def _heavy(rng: np.random.Generator) -> tuple[Floats, Floats]:
    return _evenly(rng), 0.5 + 0.1 * rng.standard_t(1.5, COUNT)


def _outliers(rng: np.random.Generator) -> tuple[Floats, Floats]:
    skills = rng.normal(0.5, 0.15, COUNT)
    far = rng.random(COUNT) < 0.02
    skills[far] += rng.choice([-1.0, 1.0], int(far.sum()))
    return _evenly(rng), skills


def _bursts(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw groups of about ten who come at one instant, as recordings with whole seconds have."""
    sizes = rng.geometric(0.1, COUNT)
    begins = np.cumsum(rng.exponential(10.0 / RATE, COUNT))
    return np.repeat(begins, sizes)[:COUNT], rng.normal(0.5, 0.15, COUNT)


def _tenfold(rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draw two days of forty seconds each in which the rate swings tenfold."""
    grid = np.linspace(0.0, 80.0, 8_001)
    rates = RATE / 2.0 * np.exp(0.5 * math.log(10.0) * np.sin(2.0 * np.pi * grid / 40.0))
    gone = np.concatenate([[0.0], np.cumsum(rates[1:] * np.diff(grid))])
    units = np.cumsum(rng.exponential(1.0, COUNT))
    instants = np.interp(units * gone[-1] / max(units[-1], gone[-1]), gone, grid)
    return instants, rng.normal(0.5, 0.15, COUNT)


KINDS: dict[str, Draw] = {
    "normal": _normal,
    "uniform": _uniform,
    "two peaks": _two_peaks,
    "heavy tails": _heavy,
    "outliers": _outliers,
    "bursts": _bursts,
    "tenfold days": _tenfold,
}


def _all_at_once(rng: np.random.Generator) -> tuple[Floats, Floats]:
    return np.zeros(COUNT), rng.normal(0.5, 0.15, COUNT)


def _all_equal(rng: np.random.Generator) -> tuple[Floats, Floats]:
    return _evenly(rng), np.zeros(COUNT)


def _two_in_an_hour(rng: np.random.Generator) -> tuple[Floats, Floats]:
    return np.array([0.0, 3600.0]), rng.normal(0.5, 0.15, 2)


def _huge(rng: np.random.Generator) -> tuple[Floats, Floats]:
    return _evenly(rng), 1e9 + rng.normal(0.5, 0.15, COUNT)


STRANGE: dict[str, Draw] = {
    "all at one instant": _all_at_once,
    "all equal": _all_equal,
    "two in an hour": _two_in_an_hour,
    "ratings of 1e9": _huge,
}
"""Streams that nobody hopes for; they are left out of the mean over all."""


class Stream(msgspec.Struct, frozen=True):
    """Arrivals, and the queue that they come to."""

    kind: str
    world: Scenario
    arrivals: tuple[Arrival, ...]


def streams(
    seeds: int = SEEDS, pieces: int = PIECES, *, by_rating: bool = False
) -> Iterator[Stream]:
    """Yield the bank, then the strange ones, then pieces of the shipped recording.

    Skills are an attribute of the players of all but the recording, or their ratings.
    """
    text = SCENARIO.replace('"skill"', '"rating"') if by_rating else SCENARIO
    world = parse_scenario(text)
    for kinds in (KINDS, STRANGE):
        for number, (kind, draw) in enumerate(kinds.items()):
            for seed in range(seeds if kinds is KINDS else 1):
                instants, skills = draw(np.random.default_rng([seed, number, len(kinds)]))
                yield Stream(kind, world, _arrivals(instants, skills, is_rating=by_rating))
    halo = load_scenario(HALO)
    with gzip.open(files("evenmatch.data") / RECORDING, "rt", encoding="utf-8") as file:
        rows = [(float(row["arrival_est_unix"]), float(row["ts_mu"])) for row in DictReader(file)]
    step = len(rows) // pieces
    for first in range(0, step * pieces, step):
        instants, skills = np.array(sorted(rows)[first : first + COUNT]).T
        yield Stream("recorded", halo, _arrivals(instants - instants[0], skills, is_rating=True))


def _arrivals(instants: Floats, skills: Floats, *, is_rating: bool = False) -> tuple[Arrival, ...]:
    return tuple(
        Arrival(
            float(at),
            NewTicket(
                (
                    Player(
                        f"p{number}",
                        Rating(float(skill)) if is_rating else None,
                        {} if is_rating else {"skill": float(skill)},
                    ),
                )
            ),
        )
        for number, (at, skill) in enumerate(zip(instants, skills, strict=True))
    )


def ratio(stream: Stream, policy: str) -> float:
    """Return what a policy costs over the best in hindsight."""
    run = evenmatch.simulate(stream.world, arrivals=stream.arrivals, policy=policy, optimum=True)
    ended = sum(each["state"] != "waiting" for each in run.tickets)
    assert ended + run.summary["unfinished"] == len(stream.arrivals), "a ticket was lost"
    best = run.summary["optimum_cost"]
    return run.summary["cost"] / best if best > 0.0 else math.nan


def run(setting: Setting) -> Iterator[Row]:
    """Measure all policies over the bank."""
    bank = list(streams(2, 4) if setting.quick else streams())
    for policy in POLICIES:
        found: dict[str, list[float]] = {}
        for stream in bank:
            value = ratio(stream, policy)
            if math.isfinite(value):
                found.setdefault(stream.kind, []).append(value)
        every = [value for kind in KINDS for value in found[kind]]
        for kind, values in found.items():
            note = f"mean {np.mean(values):.3f}"
            yield Row(f"{policy}: {kind}", tuple(values), "x optimum", "", note)
        aims = ("mean <= 1.33, worst <= 1.45") if policy in ("price", "gap_value") else ""
        note = f"mean {np.mean(every):.3f} +- {1.96 * np.std(every) / len(every) ** 0.5:.3f}"
        yield Row(f"{policy}: all {len(every)} streams", tuple(every), "x optimum", aims, note)
