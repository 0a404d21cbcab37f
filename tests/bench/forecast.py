"""Do intervals of waits hold, and what does an estimate cost?"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import msgspec

from evenmatch.config.files import load_scenario
from evenmatch.forecast.waits import WaitForecast
from evenmatch.lab.study.calibration import LAST, NOMINAL, calibrate
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import Scenario
from evenmatch.model.ticket import NewTicket, Player, Rating
from tests.bench.report import Row, Setting

SCENES = (
    ("Poisson arrivals, window", "scenarios/duel.toml", None),
    ("Halo 2 beta, greedy", "scenarios/halo.toml", None),
    (
        "Halo 2 beta, widening window",
        "scenarios/halo.toml",
        "window:limit=2,rate=0.02,limit_max=25",
    ),
    ("Halo 2 beta, price", "scenarios/halo.toml", "price"),
    ("Halo 2 beta, gap_value", "scenarios/halo.toml", "gap_value"),
    ("Poisson arrivals, price", "scenarios/duel.toml", "price"),
)
WAITING = 5_000
RATE = 100.0
"""Tickets per second, and as many matched."""
REGIONS = ("eu", "us", "sa", "oce", "as")


def run(setting: Setting) -> Iterator[Row]:
    """Measure the share of waits inside their intervals, then the time of an estimate."""
    for name, path, policy in SCENES[: 1 if setting.quick else None]:
        scenario = load_scenario(path)
        if policy is not None:
            scenario = _with_policy(scenario, policy)
        for row in calibrate(scenario):
            if row.told < 100:
                continue
            note = f"{row.told:,} tickets; {row.median:.2f} up to p50; width {row.width:.0f} s"
            if row.delay == 0.0:
                label = f"{name}: pinball loss over that of the last {LAST} waits"
                yield Row(label, (row.loss,), "x", "<= 1")
            bounds = (row.inside - row.half_width, row.inside, row.inside + row.half_width)
            label = f"{name}: inside, {row.delay:g} s after arrival"
            yield Row(label, bounds, "share", f"{NOMINAL:g}", note)
    yield from _costs(5 if setting.quick else 30)


def _with_policy(scenario: Scenario, policy: str) -> Scenario:
    queues = tuple(msgspec.structs.replace(queue, policy=policy) for queue in scenario.queues)
    return msgspec.structs.replace(scenario, queues=queues)


def _costs(seconds: int) -> Iterator[Row]:
    """Ask for every waiting ticket once a second, as 5,000 players do who look at a counter."""
    rng, forecast, now = random.Random(1), WaitForecast(), 0.0
    forecast.configure([Queue(name="main")])
    waiting: list[str] = []
    for number in range(WAITING):
        waiting.append(_come(forecast, rng, number, now))
    number, asked, fed = WAITING, [], []
    for _ in range(seconds):
        began = time.process_time()
        for _ in range(int(RATE)):
            now += 1.0 / RATE
            at = rng.randrange(len(waiting))
            forecast.leave(waiting[at], now, "main")
            waiting[at] = _come(forecast, rng, number, now)
            number += 1
        fed.append((time.process_time() - began) / RATE * 1e6)
        began = time.process_time()
        found = [forecast.estimate(name, now) for name in waiting]
        asked.append((time.process_time() - began) / len(found) * 1e6)
    known = forecast.of("main")
    assert known is not None
    cells = len(known.cells(now, 10_000))
    note = f"{WAITING:,} waiting in {cells} cells, each asked once a second"
    yield Row("an estimate, CPU", tuple(asked[1:]), "µs", "<= 20", note)
    note = "its arrival and its match, moving on of ages included"
    yield Row("a ticket heard of, CPU", tuple(fed[1:]), "µs", "", note)


def _come(forecast: WaitForecast, rng: random.Random, number: int, now: float) -> str:
    player = Player(f"p{number}", Rating(rng.gauss(1500.0, 350.0)))
    new = NewTicket((player,), ("main",), {"region": rng.choice(REGIONS)})
    name = f"s0-{number}"
    forecast.enter(name, new, ("main",), now, now)
    return name
