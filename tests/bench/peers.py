"""evenmatch beside packages of the index, on the same work in one run: `make bench ARGS=peers`.

- One round of duels: pair everybody, the sum of gaps as small as can be, no gap beyond a limit.
- A queue of duels in virtual time, the oldest first, and ratings one game at a time: those of the
  benches `compiled` and `ratings`.

A package that is not installed has a row that says how to get it; nothing depends on any.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

import evenmatch
from tests.bench import compiled, ratings
from tests.bench.report import Row, Setting

Floats = NDArray[np.float64]
PLAYERS = 300
LIMIT = 200.0
TOP = 3000.0
NEAR = 20
"""Neighbours on the line whom graph solvers get as candidates; all would take them minutes."""
WORTH = 100_000_000
"""Of a pair, in thousandths of a point: more than the gaps of a whole round."""
SECONDS_MAX = 10.0
"""After which CP-SAT gives the best that it has."""

Pairing = Callable[[Floats], list[tuple[int, int]]]


def run(setting: Setting) -> Iterator[Row]:
    """Compare rounds, then queues and ratings."""
    skills = np.random.default_rng(1).normal(1500.0, 300.0, PLAYERS)
    rounds = 1 if setting.quick else 3
    peers: dict[str, tuple[str, Pairing | None]] = {
        "evenmatch.solve": ("", _evenmatch),
        "next to each other, sorted": ("", _sorted),
        "networkx, max_weight_matching": ("networkx", _networkx()),
        f"OR-tools, CP-SAT, at most {SECONDS_MAX:g} s": ("ortools", _cp_sat()),
    }
    for name, (package, pair) in peers.items():
        label = f"a round of {PLAYERS} duels: {name}"
        if pair is None:
            missing = f"not installed: pip install {package}"
            yield Row(label, (float("nan"),), "ms", "", missing)
            continue
        pair(skills)
        took = []
        for _ in range(rounds):
            began = time.perf_counter()
            pairs = pair(skills)
            took.append(1e3 * (time.perf_counter() - began))
        gaps = [abs(skills[i] - skills[j]) for i, j in pairs]
        assert len({seat for both in pairs for seat in both}) == 2 * len(pairs)
        note = f"{len(pairs)} pairs, mean gap {np.mean(gaps):.2f}, largest {max(gaps):.0f}"
        yield Row(label, tuple(took), "ms", "", note)
    yield from compiled.run(setting)
    yield from ratings.run(setting)


def _evenmatch(skills: Floats) -> list[tuple[int, int]]:
    batch = {
        "format": {"teams": 2, "players": 1},
        "criteria": [
            {
                "kind": "spread",
                "attribute": "rating",
                "scale": {"kind": "linear", "min": 0, "max": TOP},
            }
        ],
        "rules": [{"kind": "spread", "attribute": "rating", "limit": LIMIT}],
        "tickets": [
            {"players": [{"id": str(number), "rating": {"mean": float(skill)}}]}
            for number, skill in enumerate(skills)
        ],
    }
    pairs = []
    for match in evenmatch.solve(batch).matches:
        (one,), (two,) = match["ids"]
        pairs.append((int(one), int(two)))
    return pairs


def _sorted(skills: Floats) -> list[tuple[int, int]]:
    order = np.argsort(skills).tolist()
    pairs = zip(order[::2], order[1::2], strict=False)
    return [(i, j) for i, j in pairs if abs(skills[i] - skills[j]) <= LIMIT]


def _candidates(skills: Floats) -> list[tuple[int, int, int]]:
    """Return pairs of near neighbours with integer worths: each pair is worth more than any gap."""
    order = np.argsort(skills).tolist()
    found = []
    for place, i in enumerate(order):
        for j in order[place + 1 : place + 1 + NEAR]:
            gap = abs(skills[i] - skills[j])
            if gap <= LIMIT:
                found.append((i, j, WORTH - round(1e3 * gap)))
    return found


def _networkx() -> Pairing | None:
    try:
        nx: Any = import_module("networkx")
    except ImportError:
        return None

    def pair(skills: Floats) -> list[tuple[int, int]]:
        graph = nx.Graph()
        graph.add_weighted_edges_from(_candidates(skills))
        return [*nx.max_weight_matching(graph, maxcardinality=True)]

    return pair


def _cp_sat() -> Pairing | None:
    try:
        cp_model: Any = import_module("ortools.sat.python.cp_model")
    except ImportError:
        return None

    def pair(skills: Floats) -> list[tuple[int, int]]:
        model, seats = cp_model.CpModel(), [[] for _ in skills]  # type: ignore[var-annotated]
        chosen = {}
        for i, j, worth in _candidates(skills):
            chosen[i, j] = (model.new_bool_var(f"{i},{j}"), worth)
            for seat in (i, j):
                seats[seat].append(chosen[i, j][0])
        for each in seats:
            model.add_at_most_one(each)
        model.maximize(sum(worth * var for var, worth in chosen.values()))
        solver = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = SECONDS_MAX
        solver.solve(model)
        return [pair for pair, (var, _) in chosen.items() if solver.value(var)]

    return pair
