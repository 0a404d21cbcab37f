"""What a replay takes a server to have known after it was killed, at random.

Several queues learn; snapshots are taken, queues are changed, and the server is killed, in any
order. Every decision is found again, although the journal does not tell what matchers knew.
"""

import random
from pathlib import Path

import msgspec
import pytest

from evenmatch.journals import sqlite
from evenmatch.lab.replay.redecide import redecide
from evenmatch.lab.replay.source import open_source
from evenmatch.model.inputs import Configure, Enqueue
from evenmatch.model.queue import Criterion, Format, Queue, Scale
from evenmatch.testing import new_ticket
from tests.extent import thinned
from tests.unit.lab.journals import Played, delete_before

RATED = Criterion("spread", "rating", scale=Scale(min=1000.0, max=1400.0))
NEAR = Criterion("imbalance", "rating", scale=Scale("none"))
DUELS = ("weighted:every=3", "closest_random:every=4", "multi_queue", "price", "window:every=2")
TEAMS = ("imbalance_threshold", "rounds:every=5,effort=5")
NAMES = ("one", "two", "three", "team")
STEPS = 40


def queues_of(rng: random.Random) -> list[Queue]:
    duels = [Queue(name, criteria=(RATED,), policy=rng.choice(DUELS)) for name in NAMES[:3]]
    return [*duels, Queue("team", Format((2, 2)), (NEAR,), policy=rng.choice(TEAMS))]


def changed(queues: list[Queue], rng: random.Random) -> list[Queue]:
    """Return the queues, one of them with another policy."""
    at = rng.randrange(len(queues))
    policy = rng.choice(TEAMS if queues[at].name == "team" else DUELS)
    queues[at] = msgspec.structs.replace(queues[at], policy=policy)
    return queues


def played(rng: random.Random) -> Played:
    world, queues, version, now = Played(), queues_of(rng), 1, 0.0
    world.hand_in(Configure(now, tuple(queues), 1, version))
    for step in range(STEPS):
        now += rng.choice((0.125, 0.5, 1.0, 3.0))
        what = rng.random()
        if what < 0.08:
            world.wait(now).stop()
        elif what < 0.16:
            version += 1
            world.hand_in(Configure(now, tuple(changed(queues, rng)), 1, version))
        elif what < 0.22:
            # Killed: the newest snapshot counts, and what came after it.
            world.wait(now).start()
            now = world.engine.now
        else:
            tickets = [
                new_ticket(f"p{step}-{n}", rng.gauss(1_500.0, 300.0), queues=(rng.choice(NAMES),))
                for n in range(rng.choice((1, 2, 3)))
            ]
            world.hand_in(Enqueue(now, tuple(tickets)))
    return world.wait(now + 10.0)


@pytest.mark.parametrize("seed", thinned(range(24), 3))
def test_what_was_known_after_kills_is_found_again(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a deleted snapshot knew that was taken while the server ran is known to nobody.
    monkeypatch.setattr(sqlite, "SNAPSHOTS_KEPT", STEPS)
    world = played(random.Random(seed))
    data = world.write(tmp_path)
    with open_source(data, "s0") as source:
        told = redecide(source, lambda done, total: None)
    assert told.first_difference is None, told.first_difference
    assert told.records == len(world.records)


def test_replay_begins_with_a_snapshot_a_change_and_a_kill(tmp_path: Path) -> None:
    """Several queues: one was changed after the snapshot, the others know what is in it."""
    one = Queue("one", criteria=(RATED,), policy="weighted:every=3")
    two = Queue("two", criteria=(RATED,), policy="closest_random:every=4")
    world = Played().hand_in(Configure(0.0, (one, two), 1))
    for n in range(4):
        name = "one" if n % 2 else "two"
        world.hand_in(Enqueue(1.0 + n, (new_ticket(f"a{n}", 1_500.0, queues=(name,)),)))
    world.wait(6.5).stop()
    two = msgspec.structs.replace(two, policy="window:every=2")
    world.hand_in(Configure(7.0, (one, two), 1, 2)).start()
    for n in range(6):
        name = "one" if n % 2 else "two"
        world.hand_in(Enqueue(8.0 + n, (new_ticket(f"b{n}", 1_500.0, queues=(name,)),)))
    world.wait(30.0)
    (taken,) = world.snapshots
    data = world.write(tmp_path)
    delete_before(data, taken + 1)
    with open_source(data, "s0") as source:
        told = redecide(source, lambda done, total: None)
    assert told.first_difference is None, told.first_difference
    assert (told.first, told.records) == (taken + 1, len(world.records) - taken)
