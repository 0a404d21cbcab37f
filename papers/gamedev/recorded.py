"""Real arrivals: policies on a recorded queue, in pieces compared with the optimum of each."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from evenmatch.lab.optimum.fields import queue_field
from evenmatch.lab.simulate import simulate
from evenmatch.lab.study.study import student_t
from evenmatch.model.queue import Criterion, Queue, Scale
from evenmatch.model.scenario import Arrivals, Scenario
from evenmatch.policies.base import Policy
from evenmatch.simulation.arrivals.arrivals import arrivals_of
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.simulation.history import WAITING
from evenmatch.solvers.matching.matching import pair_up
from evenmatch.solvers.matching.pairs import FIRST_VALUE, TIME
from papers.shared.findings import Effort, Findings, Part, Row, Table
from papers.shared.words import of_row


class Piece(msgspec.Struct, frozen=True):
    """One piece of a recording.

    Args:
        tickets: Number of accepted tickets; a player who waits already is not taken again.
        cost: Cost of the policy's matches, including those of the last arrival.
        optimum: The least possible cost of the same tickets.
        left: Tickets that were paired at the last arrival.
    """

    tickets: int
    cost: float
    optimum: float
    left: int

    @property
    def ratio(self) -> float:
        """Return cost / optimum."""
        return self.cost / self.optimum if self.optimum > 0.0 else math.nan


def pieces(
    queue: Queue, arrivals: Sequence[Arrival], policy: str | Policy, length: int
) -> list[Piece]:
    """Run consecutive pieces of a recording, each from an empty queue; the rest is left out.

    Args:
        queue: One against one, without deadline.
        arrivals: By ascending time.
        policy: A SPEC or a policy.
        length: Arrivals in each piece.

    Complexity:
        That of the runs and of `optimum` for each piece.
    """
    starts = range(0, len(arrivals) - length + 1, length)
    return [_piece(queue, arrivals[start : start + length], policy) for start in starts]


def _piece(queue: Queue, arrivals: Sequence[Arrival], policy: str | Policy) -> Piece:
    first = math.floor(arrivals[0].at)
    last = arrivals[-1].at - first
    world = Scenario((queue,), until=last)
    # With its row's number as its id, so that the run's tickets can be identified.
    named = [
        Arrival(each.at, msgspec.structs.replace(each.ticket, id=str(row)))
        for row, each in enumerate(arrivals)
    ]
    history = simulate(world, arrivals=named, policy=policy).history
    accepted = [
        Arrival(at, named[int(row)].ticket)
        for row, at in zip(history.ids, history.enqueued_at, strict=True)
    ]
    left = [place for place, state in enumerate(history.states) if state == WAITING]
    cost = math.fsum(match.cost for match in history.matches)
    at_last, alone = _pair_up(queue, [Arrival(last, accepted[place].ticket) for place in left])
    paired = [place for number, place in enumerate(left) if number not in alone]
    cost += at_last + queue.price * math.fsum(last - history.enqueued_at[place] for place in paired)
    return Piece(len(accepted), cost, _pair_up(queue, accepted)[0], len(left))


def _pair_up(queue: Queue, arrivals: Sequence[Arrival]) -> tuple[float, list[int]]:
    """Return the least cost of pairing all, with one left over if odd; and who is left over."""
    if len(arrivals) < 2:
        return 0.0, list(range(len(arrivals)))
    found = queue_field((queue,), 0, arrivals, None)
    # Being left alone costs more than any pair, so that at most one is.
    points = found.field.points
    widest = [float(np.ptp(points[row])) for row in range(FIRST_VALUE, points.shape[0])]
    terms = found.field.terms[:, 0].tolist()
    most = math.fsum(weight * gap for weight, gap in zip(terms, widest, strict=False))
    most += queue.price * float(np.ptp(points[TIME]))
    mates = pair_up([found.field], np.full(len(arrivals), 1.0 + most)).mates
    one = np.flatnonzero(mates > np.arange(len(arrivals)))
    costs, _ = found.judge(one, mates[one])
    return math.fsum(costs.tolist()), np.flatnonzero(mates < 0).tolist()


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
"""With `--quick`, one in this many pieces is used."""
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
    """Return the part on real arrivals."""
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
