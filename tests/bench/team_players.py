"""The queue of a hero shooter for a server, and the parties who come to it.

Both are those of `scenarios/hero_5v5.toml`: its queue without its arrivals, and its world at
another rate.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec
import numpy as np
from msgspec.structs import replace

from evenmatch.config.files import load_scenario
from evenmatch.model.ticket import Player
from evenmatch.simulation.world.arrivals import world_arrivals
from tests.bench.processes import ROOT

SCENE = ROOT / "scenarios" / "hero_5v5.toml"
QUEUE = "hero"
SEATS = ("tank", "damage", "damage", "support", "support")
FAR = 900.0
"""Milliseconds with which nobody is near to any server."""
DEVIATION = 80.0
WAITS = {"target_wait", "wait_price"}
FOLLOWERS_MAX = 60_000


class Change(msgspec.Struct, frozen=True):
    """What differs from the scenario's queue.

    Args:
        policy: A SPEC; empty leaves the scenario's.
        keys: Lines for the queue's table, such as `wait_price = 0.001`.
        is_local: Without the rule on the ping to a region.
        has_target: Whether the scenario's `target_wait` stays; who does not know it refuses it.
    """

    policy: str = ""
    keys: tuple[str, ...] = ()
    is_local: bool = False
    has_target: bool = True


def server_toml(change: Change, scene: Path = SCENE) -> str:
    """Return the configuration of a server with a scenario's queue, changed."""
    blocks = _blocks(scene.read_text(encoding="utf-8"))
    given = {key.partition("=")[0].strip() for key in change.keys}
    if change.policy:
        given.add("policy")
    if given & WAITS or not change.has_target:
        # One says how long people wait, or the other.
        given |= WAITS
    kept = []
    for block in blocks:
        if block.startswith("[arrivals") or (change.is_local and _is_region_rule(block)):
            continue
        if block.startswith("[[queue]]"):
            own = [
                line for line in block.splitlines() if line.partition("=")[0].strip() not in given
            ]
            policy = [f'policy = "{change.policy}"'] if change.policy else []
            block = "\n".join([own[0], *policy, *change.keys, *own[1:]])
        kept.append(block)
    return "\n".join([*kept, f"[server.limits]\nfollowers_max = {FOLLOWERS_MAX}\n"])


def _blocks(text: str) -> list[str]:
    """Return the parts of a TOML text, each from a header on."""
    blocks = [""]
    for line in text.splitlines():
        if line.startswith("["):
            blocks.append("")
        blocks[-1] += f"{line}\n"
    return blocks


def _is_region_rule(block: str) -> bool:
    return block.startswith("[[queue.rules]]") and 'pairs = "region"' in block


def party_bodies(rate: float, count: int, seed: int) -> Iterator[tuple[bytes, int]]:
    """Yield so many parties as the JSON of a create, with their sizes.

    Args:
        rate: Tickets per second, which say how the hours of the world pass.
        count: Tickets.
        seed: Of all chance.
    """
    scenario = load_scenario(SCENE)
    arrivals = scenario.arrivals
    assert arrivals is not None
    assert arrivals.world is not None
    shares = arrivals.world.party_shares
    per_ticket = 1.0 / sum(share / size for size, share in enumerate(shares, start=1))
    world = replace(arrivals.world, player_rate=rate * per_ticket)
    arrivals = replace(arrivals, world=world, duration=None, count=count)
    stream = world_arrivals(arrivals, np.random.SeedSequence(seed))
    for arrival in islice(stream, count):
        players = arrival.ticket.players
        yield msgspec.json.encode(_body(players, f"{seed}.")), len(players)


def unmatchable_bodies(kind: str, count: int, seed: int) -> Iterator[tuple[bytes, int]]:
    """Yield so many players alone who can't be matched with one another.

    Args:
        kind: `tanks`, who play nothing else, so that they lack others; `far`, who reach no region
            within what the rule allows, so that they match with nobody.
        count: Tickets.
        seed: Of all chance.
    """
    rng = random.Random(seed)
    for number in range(count):
        ping = rng.uniform(20.0, 60.0) if kind == "tanks" else FAR
        roles = ("tank",) if kind == "tanks" else (rng.choice(SEATS),)
        facts = {
            "region": _regions()[0],
            "latency": dict.fromkeys(_regions(), ping),
            "rating": rng.gauss(8000.0, 2000.0),
        }
        player = Player(f"u{number}", attributes=facts, roles=roles)
        yield msgspec.json.encode(_body((player,), f"{seed}.")), 1


_NAMES: list[str] = []


def _regions() -> list[str]:
    """Return the regions that the players of the world know."""
    if not _NAMES:
        arrivals = load_scenario(SCENE).arrivals
        assert arrivals is not None
        one = next(iter(world_arrivals(replace(arrivals, count=1), np.random.SeedSequence(0))))
        known = one.ticket.players[0].attributes["latency"]
        assert isinstance(known, dict)
        _NAMES.extend(known)
    return _NAMES


def _body(players: tuple[Player, ...], prefix: str) -> dict[str, object]:
    """Return what a game sends for a party: a rating as ratings are sent, and what a queue asks."""
    return {
        "queues": [QUEUE],
        "players": [
            {
                "id": f"{prefix}{each.id}",
                "rating": {"mean": each.attributes["rating"], "deviation": DEVIATION},
                "roles": list(each.roles),
                "attributes": {name: each.attributes[name] for name in ("region", "latency")},
            }
            for each in players
        ],
    }
