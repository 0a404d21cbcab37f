"""What a create takes while running matches ask for players, and what each wake-up takes.

The CPU time of the engine's steps alone: no server, no journal. 500 matches of five against five
have a free seat each, and 2,000 wait who fit into none of them, for one reason or another.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence

import msgspec

from evenmatch.engine.backfill import requests as backfill
from evenmatch.engine.engine import Engine
from evenmatch.model.inputs import Advance, Configure, Enqueue, Input, Open
from evenmatch.model.queue import Criterion, Expansion, Format, Queue, Rule, Scale
from evenmatch.model.ticket import NewTicket, Player, Rating
from evenmatch.policies.registry import parse_policy
from tests.bench.report import Row, Setting

OPEN, WAITING, CREATES = 500, 2_000, 300
ARRIVALS = 10.0
"""Tickets per second while creates are measured."""
BALANCED = Criterion("imbalance", "rating", scale=Scale("capped", max=400.0))
NEAR = Criterion("spread", "rating", scale=Scale("capped", max=400.0))
WIDENS = Rule("spread", "rating", 100.0, expand=Expansion(rate=0.05, max=2_000.0))
LOOSE = Rule("spread", "rating", 10_000.0)
MODE = Rule("same", "mode")
TEAMS = Rule("imbalance", "rating", 20.0, expand=Expansion(rate=0.05, max=2_000.0))


class Scene(msgspec.Struct, frozen=True):
    """Why those who wait do not fit.

    Args:
        name: In words.
        rules: The queue's rules.
        playing: Mean rating and mode of those who play.
        waiting: Mean rating and mode of those who wait.
        floor: Quality that a fill must keep.
        policy: That of the queue while creates are measured.
        together: Tickets of one instant.
        crowd: How many wait.
    """

    name: str
    rules: tuple[Rule, ...]
    playing: tuple[float, str]
    waiting: tuple[float, str]
    floor: float = 0.0
    policy: str = "rounds:every=3600"
    together: int = 1
    crowd: int = WAITING


SCENES = (
    Scene("too far apart yet", (WIDENS,), (1_500.0, "a"), (2_300.0, "a")),
    Scene("another mode", (WIDENS, MODE), (1_500.0, "a"), (1_500.0, "b")),
    Scene("below the quality floor", (LOOSE,), (1_500.0, "a"), (2_300.0, "a"), 0.6),
    Scene("teams too uneven", (LOOSE, TEAMS), (1_500.0, "a"), (2_300.0, "a")),
    Scene(
        "new matches instead", (LOOSE, TEAMS), (1_500.0, "a"), (2_300.0, "a"), 0.0, "greedy", 10, 0
    ),
)


def run(setting: Setting) -> Iterator[Row]:
    """Measure creates and wake-ups, in each scene."""
    creates = 60 if setting.quick else CREATES
    for scene in SCENES[: 3 if setting.quick else None]:
        engine = _opened(scene)
        took, woke = _measured(engine, scene, creates)
        note = f"{OPEN} open, {len(engine.pools['main'].tickets):,} waiting"
        yield Row(f"{scene.name}: create, median", (_at(took, 0.5),), "ms CPU", "<= 1", note)
        yield Row(f"{scene.name}: create, p99", (_at(took, 0.99),), "ms CPU", "", note)
        yield Row(f"{scene.name}: create, longest", (took[-1],), "ms CPU", "<= 10", note)
        yield Row(f"{scene.name}: wake-up, longest", (woke[-1],), "ms CPU", "<= 10", note)
        share = (sum(took) + sum(woke)) / 1e3 / (len(took) / ARRIVALS)
        yield Row(f"{scene.name}: of one core at {ARRIVALS:g}/s", (share,), "share", "", note)


def _at(values: Sequence[float], share: float) -> float:
    return values[int(share * (len(values) - 1))]


def _opened(scene: Scene) -> Engine:
    """Return an engine with open matches, and those who wait."""
    backfill.OPEN_MOST, known = OPEN, backfill.OPEN_MOST
    rng = random.Random(3)
    engine = Engine(lambda queue: parse_policy(queue.policy))
    queue = Queue("main", Format((5, 5)), (BALANCED, NEAR), scene.rules, backfill="manual")
    _step(engine, Configure(0.0, (queue,)))
    for number in range(OPEN):
        centre = rng.gauss(scene.playing[0], 100.0)
        players = tuple(
            _player(
                f"m{number}-{seat}", rng.uniform(centre - 40.0, centre + 40.0), scene.playing[1]
            )
            for seat in range(10)
        )
        _step(engine, Enqueue(0.01 * number, tuple(NewTicket((player,)) for player in players)))
    assert len(engine.tables.matches) == OPEN
    calm = msgspec.structs.replace(queue, policy="rounds:every=3600")
    _step(engine, Configure(9.0, (calm,), version=2))
    for number in range(scene.crowd):
        _step(engine, Enqueue(10.0 + 0.01 * number, (_new(rng, scene, number),)))
    chosen = msgspec.structs.replace(queue, policy=scene.policy)
    if scene.policy != calm.policy:
        _step(engine, Configure(39.0, (chosen,), version=3))
    for number, (match_id, roster) in enumerate(list(engine.tables.rosters.items())):
        gone = roster.players[0][:1]
        now = 40.0 + 0.01 * number
        _step(engine, Open(now, match_id, 0, gone, quality_floor=scene.floor, lease=3_600.0))
    backfill.OPEN_MOST = known
    return engine


def _measured(engine: Engine, scene: Scene, creates: int) -> tuple[list[float], list[float]]:
    """Return the milliseconds of each create and of each wake-up, ascending."""
    rng = random.Random(5)
    took: list[float] = []
    woke: list[float] = [0.0]
    now = 60.0
    for number in range(creates):
        now += scene.together / ARRIVALS
        new = [_new(rng, scene, f"{number}-{each}") for each in range(scene.together)]
        while engine.next_wakeup < now:
            woke.append(_timed(engine, Advance(engine.next_wakeup)))
        took += [_timed(engine, Enqueue(now, (each,))) for each in new]
    assert not engine.faults
    return sorted(took), sorted(woke)


def _timed(engine: Engine, given: Input) -> float:
    began = time.thread_time()
    engine.step(given)
    return 1e3 * (time.thread_time() - began)


def _step(engine: Engine, given: Input) -> None:
    while engine.next_wakeup < given.now:
        engine.step(Advance(engine.next_wakeup))
    engine.step(given)


def _new(rng: random.Random, scene: Scene, number: object) -> NewTicket:
    mean, mode = scene.waiting
    return NewTicket((_player(f"w{number}", rng.gauss(mean, 100.0), mode),))


def _player(name: str, rating: float, mode: str) -> Player:
    return Player(name, Rating(rating), {"mode": mode})
