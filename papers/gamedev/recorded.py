"""Real arrivals: policies on a recorded queue, in pieces next to the optimum of each."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from evenmatch.lab.study import student_t
from evenmatch.model.queue import Criterion, Queue, Scale
from evenmatch.model.scenario import Arrivals
from evenmatch.sim.arrivals import arrivals_of
from papers.gamedev.segments import Piece, pieces
from papers.shared.row import Effort, Findings, Part, Row, Table
from papers.shared.words import of_row

QUEUE = Queue(
    "slayer", criteria=(Criterion("spread", "rating", 30.0, Scale("none")),), wait_price=1.0
)
"""A point of rating between two players costs as much as 30 s of waiting; no deadline."""
ARRIVALS = Arrivals(
    process="file",
    file="evenmatch:halo2_1v1_queue_trace.csv.gz",
    columns={"at": "arrival_est_unix", "player": "player", "rating": "ts_mu"},
)
LENGTH = 300
QUICK = 4
"""Every so manieth piece is enough for a quick look."""
SPECS = (
    "greedy",
    "periodic:rounds_of=2",
    "window:limit=2,rate=0.1",
    "delay_greedy",
    "gap_value",
    "price",
)


class Task(msgspec.Struct, frozen=True):
    """One policy on the pieces that count."""

    spec: str
    quick: bool


def recorded(effort: Effort) -> Part:
    """Return the part about real arrivals."""
    tasks = [Task(spec, effort.quick) for spec in SPECS]
    return Part(("gamedev.halo",), play_pieces, tasks, _finish)


def play_pieces(task: Task) -> list[Piece]:
    """Run a policy on pieces of the recording."""
    arrivals = list(arrivals_of(ARRIVALS, np.random.SeedSequence(0), queues=(QUEUE,)))
    if task.quick:
        starts = range(0, len(arrivals) - LENGTH + 1, QUICK * LENGTH)
        return [
            piece
            for start in starts
            for piece in pieces(QUEUE, arrivals[start : start + LENGTH], task.spec, LENGTH)
        ]
    return pieces(QUEUE, arrivals, task.spec, LENGTH)


def _finish(results: Sequence[list[Piece]]) -> Findings:
    rows = []
    for spec, found in zip(SPECS, results, strict=True):
        ratios = np.array([piece.ratio for piece in found])
        width = student_t(len(ratios) - 1) * float(ratios.std(ddof=1)) / math.sqrt(len(ratios))
        costs = math.fsum(piece.cost for piece in found)
        optima = math.fsum(piece.optimum for piece in found)
        rows.append(
            Row(
                id="gamedev.halo",
                params={"policy": spec, "figure": "mean ratio to OPT", "pieces": len(found)},
                simulated=float(ratios.mean()),
                half_width=width,
            )
        )
        rows.append(
            Row(
                id="gamedev.halo",
                params={"policy": spec, "figure": "mean cost / mean OPT", "pieces": len(found)},
                simulated=costs / optima,
            )
        )
    return Findings(tuple(rows), (_table(rows),))


def _table(rows: Sequence[Row]) -> Table:
    lines = [
        (str(one.params["policy"]), of_row(one), of_row(two))
        for one, two in zip(rows[::2], rows[1::2], strict=True)
    ]
    return Table(
        "Recorded players",
        "A queue of a beta test in pieces of 300 entries, each run alone, beside the best that was "
        "possible. Who still waits at the end of a piece is paired at its last arrival.",
        ("policy", "mean ratio to OPT", "mean cost / mean OPT"),
        tuple(lines),
    )
