"""What `window` takes per ticket under one, two and three rules, at pools of about a thousand."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Iterator

import msgspec

from evenmatch.model.queue import Expansion, Queue, Rule
from evenmatch.model.ticket import Player, Ticket
from evenmatch.policies.registry import parse_policy
from tests.bench.drives import MatcherDrive
from tests.bench.report import Row, Setting

ARRIVAL_RATE = 100.0
AXES = ("x", "y", "z")


class World(msgspec.Struct, frozen=True):
    """Rules under which the pool settles, over values drawn evenly from 0 to 1000."""

    name: str
    rules: tuple[Rule, ...]
    aim: str = ""


def widening(attribute: str, rate: float, **more: str) -> Rule:
    return msgspec.structs.replace(
        Rule("spread", attribute, 1.0, expand=Expansion(rate=rate)), **more
    )


WORLDS = (
    World("one rule", (widening("x", 0.05),)),
    World("two rules", (widening("x", 1.62), widening("y", 1.62)), "<= 50"),
    World("a wide rule and a tight one", (widening("x", 10.0), Rule("spread", "y", 0.7)), "<= 50"),
    World("three rules", tuple(widening(axis, 5.0) for axis in AXES)),
    World("one rule, either accepts", (widening("x", 0.02, accept="either"),), "<= 50"),
    World(
        "two rules, either accepts",
        (widening("x", 0.7, accept="either"), widening("y", 0.7, accept="either")),
    ),
)


def run(setting: Setting) -> Iterator[Row]:
    warmup, rounds, tickets = (4_000, 3, 300) if setting.quick else (6_000, 7, 1_000)
    for world in WORLDS:
        given = list(_tickets(warmup + rounds * tickets))
        chosen = parse_policy("window:attribute=x")
        drive = MatcherDrive(chosen.matcher(Queue(rules=world.rules), seed=0))
        drive.feed(given[:warmup])
        micros, pools = [], []
        for start in range(warmup, len(given), tickets):
            gc.collect()
            began = time.thread_time()
            drive.feed(given[start : start + tickets])
            micros.append((time.thread_time() - began) / tickets * 1e6)
            pools.append(float(start + tickets - 2 * len(drive.pairs)))
        yield Row(f"{world.name}: pool", tuple(pools), "tickets")
        yield Row(f"{world.name}: matcher", tuple(micros), "µs/ticket", world.aim)


def _tickets(count: int) -> Iterator[Ticket]:
    rng, now = random.Random(7), 0.0
    for number in range(1, count + 1):
        now += rng.expovariate(ARRIVAL_RATE)
        values = {axis: rng.random() * 1000.0 for axis in AXES}
        yield Ticket(f"t{number}", number, now, (Player(f"p{number}", None, values),), ("main",))
