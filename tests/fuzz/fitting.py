"""Made-up requests often fail at the door: these changes let many of them meet what there is."""

from __future__ import annotations

import random
from typing import Any

from tests.fuzz.world import QUEUES, World

KNOWN_SHARE = 0.7
"""How often what is made up gives way to what there is."""
WAIT = "0.01"
NAMES = [queue.name for queue in QUEUES]
POLICIES = ["greedy", "window", "rounds:every=1", "rolling", "tune", "no.such:policy", None]
CONFIGS: list[dict[str, Any]] = [
    {"queue": [{"name": name, "policy": "greedy"} for name in NAMES]},
    {"queue": [{"name": "duel", "policy": "greedy"}], "tuning": 1},
    {"queue": [{"name": "duel", "wait_max": -1.0}]},
    {"queue": [{"name": name, "rules_file": "x.json"} for name in NAMES]},
    {"queue": [{"name": name, "policy": "price", "shadow": "greedy"} for name in NAMES]},
]
RATINGS = [{"mean": 1500.0, "deviation": 80.0}, {"mean": -1e308, "deviation": 1e308}, None]
FITTING: dict[str, list[Any]] = {
    "ranks": [[1, 2], [1, 1], [2, 1], [1], [0.5, 1e300]],
    "points": [[3, 2], [0, 0], None],
    "player": ["p1", "p2", "c1", None],
    "left": [[], ["f1"], ["f1", "f2"], ["nobody"]],
    "roster_version": [0, 0, 1],
    "lease": [30.0, 3600.0],
    "policy": POLICIES,
}


def fit(case: Any, rng: random.Random, world: World) -> None:
    """Let a case meet what there is, and wait for nothing long."""
    parameters = case.path_parameters or {}
    known = {
        "ticket": world.tickets,
        "match": world.matches,
        "queue": NAMES,
        "player": ["p1", "c1", "f0"],
        "file": ["dashboard.js", "index.html"],
    }
    for name in parameters:
        if name in known and rng.random() < KNOWN_SHARE:
            parameters[name] = rng.choice(known[name])
    if isinstance(case.query, dict):
        if _is_long(case.query.get("wait")):
            case.query["wait"] = WAIT
        if "limit" in case.query and rng.random() < KNOWN_SHARE:
            case.query["limit"] = "600"
        if "queue" in case.query and rng.random() < KNOWN_SHARE:
            case.query["queue"] = rng.choice(NAMES)
    label = case.operation.label
    if label == "PUT /v1/config" and rng.random() < KNOWN_SHARE:
        if case.media_type == "application/json":
            case.body = rng.choice(CONFIGS)
    elif label == "POST /v1/tickets" and rng.random() < KNOWN_SHARE:
        many = [_ticket(rng, world) for _ in range(rng.randint(1, 3))]
        case.body = many if rng.random() < 0.5 else many[0]
    elif isinstance(case.body, dict) and rng.random() < KNOWN_SHARE:
        _fit_body(case.body, rng, world)


def _fit_body(body: dict[str, Any], rng: random.Random, world: World) -> None:
    for name in list(body):
        if name == "ticket":
            body[name] = rng.choice(world.tickets)
        elif name == "players" and rng.random() < KNOWN_SHARE:
            body[name] = rng.choice([[], [{"id": "p9", "rating": rng.choice(RATINGS)}], ["c1"]])
        elif name in FITTING:
            body[name] = rng.choice(FITTING[name])
        elif rng.random() < KNOWN_SHARE:
            del body[name]


def _ticket(rng: random.Random, world: World) -> dict[str, Any]:
    """Return a ticket that is right but for a detail now and then."""
    size = rng.choice((1, 1, 1, 2, 3))
    players: list[dict[str, Any]] = []
    for _ in range(size):
        player: dict[str, Any] = {"id": f"n{rng.randrange(10**6)}"}
        if rng.random() < 0.7:
            player["rating"] = rng.choice(RATINGS)
        if rng.random() < 0.3:
            player["roles"] = rng.choice((["tank"], ["dps", "tank"], ["mage"], []))
        players.append(player)
    attributes: dict[str, Any] = {}
    if rng.random() < 0.4:
        side = rng.choice(("A", "B", "C", "", 1.0))
        attributes = {"side": side, "mode": rng.choice(("m", ["b", "a"]))}
    if rng.random() < 0.3:
        attributes["rating"] = rng.choice((1500, 1e308, -1e308, 0.1, "high"))
    queues = rng.sample(NAMES, rng.choice((1, 1, 1, 2)))
    return {"queues": queues, "players": players, "attributes": attributes}


def _is_long(wait: Any) -> bool:
    """Return whether a server would take a value as seconds to wait, and do so."""
    if isinstance(wait, list):
        wait = wait[-1] if wait else None
    try:
        return wait is not None and float(wait) > float(WAIT)
    except (TypeError, ValueError):
        return False
