"""Policies on the same sequences of players: the cost of their matches, and the optimum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from evenmatch.lab.optimum.optimum import optimum
from evenmatch.lab.simulate import simulate
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import Scenario
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.policies.base import Policy
from evenmatch.policies.registry import parse_policy
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.simulation.compiled import run as compiled
from evenmatch.simulation.compiled.compilable import why_not
from papers.shared.estimates import Estimate, ratio
from papers.shared.findings import Effort
from papers.shared.worlds import WAIT_MAX, World

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class SequenceRun:
    """The result of a run.

    Args:
        tickets: Indices of the arrivals of each match, shape (matches, k); -1 for a bot.
        at: When each match was made, seconds.
        bots: Bots of each match.
        costs: Cost of each match.
        criteria: The part of each match's cost that is not waiting.
    """

    tickets: Ints
    at: Floats
    bots: Ints
    costs: Floats
    criteria: Floats


def arrivals_of(queue: Queue, times: Floats, values: Floats) -> list[Arrival]:
    """Return single players with the values of the queue's criteria.

    Args:
        queue: Its criteria name the attributes.
        times: Ascending, seconds, shape (n,).
        values: Shape (criteria, n).
    """
    names = [criterion.attribute for criterion in queue.criteria]
    rows = zip(times.tolist(), values.T.tolist(), strict=True)
    return [
        Arrival(
            at, NewTicket((Player(str(i), attributes=dict(zip(names, of_one, strict=True))),),
                          id=str(i)),
        )
        for i, (at, of_one) in enumerate(rows)
    ]  # fmt: skip


def play(
    queue: Queue, policy: Policy, times: Floats, values: Floats, *, seed: int = 0
) -> SequenceRun:
    """Run a policy on one sequence, by compiled code if the policy has compiled steps.

    Args:
        queue: The queue of all players.
        policy: The policy.
        times: Ascending, seconds, shape (n,).
        values: Of the queue's criteria, in their order, shape (criteria, n).
        seed: Of the policy's own randomness.
    """
    if not why_not(queue, policy):
        found = compiled.play(queue, policy, times, values)
        return SequenceRun(found.tickets, found.at, found.bots, found.costs, found.criteria)
    run = simulate(
        Scenario((queue,)), arrivals=arrivals_of(queue, times, values), policy=policy, seed=seed
    )
    matches = run.history.matches
    tickets: Ints = np.full((len(matches), queue.format.k), -1, dtype=np.int64)
    for row, match in enumerate(matches):
        tickets[row, : len(match.tickets)] = [int(name) for name in match.tickets]
    at = np.asarray([match.at for match in matches]) + run.history.offset
    bots: Ints = np.asarray([match.bots for match in matches], dtype=np.int64)
    costs = np.asarray([match.cost for match in matches])
    waits = np.where(tickets < 0, 0.0, at[:, None] - times[tickets]).sum(axis=1)
    waits += bots * (queue.wait_max or 0.0)
    return SequenceRun(tickets, at, bots, costs, costs - queue.price * waits)


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One sequence, and the policies that play on it.

    Args:
        world: How it is drawn.
        seed: Which one.
        policies: SPECs.
        wants_optimum: Whether to compute the least cost in hindsight; for duels only.
        tick: Seconds between the ticks of a clock on which decisions are made; 0 decides at once.
        is_steady: Whether to count only the matches made before the last arrival, which the end
            of the sequence cannot have affected; formulas know no end.
    """

    world: World
    seed: int
    policies: tuple[str, ...]
    wants_optimum: bool = False
    tick: float = 0.0
    is_steady: bool = False


class SequenceFigures(msgspec.Struct, frozen=True):
    """The results of a task.

    Args:
        costs: Total cost of all matches, by policy.
        criteria: The part of the costs that is not waiting, by policy.
        early: Total cost of the first half of the matches, by policy.
        matches: Number of matches, by policy.
        with_bots: Number of matches with a bot, by policy.
        mixed: Number of matches with a bot or players of several brackets, by policy; 0 for
            policies without brackets.
        optimum: The least possible cost; None if it was not requested.
    """

    costs: dict[str, float]
    criteria: dict[str, float]
    early: dict[str, float]
    matches: dict[str, int]
    with_bots: dict[str, int]
    mixed: dict[str, int]
    optimum: float | None


def measure(task: Task) -> SequenceFigures:
    """Play one sequence under each policy.

    On a clock, every arrival is seen at the next tick; its wait counts from its arrival.
    """
    queue = task.world.queue()
    times, values = task.world.draw(task.seed)
    seen = np.ceil(times / task.tick) * task.tick if task.tick else times
    unseen = float((seen - times).sum()) / WAIT_MAX
    measured = SequenceFigures({}, {}, {}, {}, {}, {}, None)
    for spec in task.policies:
        policy = parse_policy(spec)
        outcome = play(queue, policy, seen, values)
        counted = outcome.at < times[-1] if task.is_steady else np.ones(len(outcome.at), bool)
        has_bot = outcome.bots > 0
        measured.costs[spec] = float(outcome.costs[counted].sum()) + unseen
        measured.criteria[spec] = float(outcome.criteria[counted].sum())
        measured.early[spec] = _of_first_half(outcome, counted)
        measured.matches[spec] = int(counted.sum())
        measured.with_bots[spec] = int((has_bot & counted).sum())
        is_mixed = has_bot | _spans_brackets(outcome.tickets, values, policy)
        measured.mixed[spec] = int((is_mixed & counted).sum())
    if not task.wants_optimum:
        return measured
    best = optimum((queue,), arrivals_of(queue, times, values))
    return msgspec.structs.replace(measured, optimum=best.cost)


def _of_first_half(outcome: SequenceRun, counted: NDArray[np.bool_]) -> float:
    """Return the cost of the earlier half of the counted matches, rounded down."""
    at, costs = outcome.at[counted], outcome.costs[counted]
    return float(costs[np.argsort(at, kind="stable")[: len(at) // 2]].sum())


def _spans_brackets(
    tickets: NDArray[np.int64], values: Floats, policy: Policy
) -> NDArray[np.bool_]:
    """Return whether the players of each match are in several brackets of `multi_queue`."""
    brackets = getattr(policy, "brackets", None)
    if not brackets:
        return np.zeros(len(tickets), dtype=bool)
    counts = np.broadcast_to(np.asarray(brackets), (len(values),))[:, None]
    cells = np.minimum(np.floor(values * counts), counts - 1)
    # A bot counts as being in the first player's bracket.
    of_players = cells[:, np.where(tickets >= 0, tickets, tickets[:, :1])]
    spans: NDArray[np.bool_] = (of_players != of_players[:, :, :1]).any(axis=(0, 2))
    return spans


CRITERIA, TIME = "criteria cost", "time cost"
"""The two parts of a cost, as rows name them."""


def cost_per_match(measured: Sequence[SequenceFigures], policy: str) -> Estimate:
    """Return the cost of a match under a policy."""
    return ratio([m.costs[policy] for m in measured], [m.matches[policy] for m in measured])


def parts_per_match(measured: Sequence[SequenceFigures], policy: str) -> dict[str, Estimate]:
    """Return the criteria cost and the time cost of a match, by their names in a row."""
    matches = [m.matches[policy] for m in measured]
    criteria = [m.criteria[policy] for m in measured]
    time = [m.costs[policy] - m.criteria[policy] for m in measured]
    return {CRITERIA: ratio(criteria, matches), TIME: ratio(time, matches)}


def cost_over_optimum(measured: Sequence[SequenceFigures], policy: str) -> Estimate:
    """Return the cost of a policy divided by the optimum in hindsight."""
    return ratio([m.costs[policy] for m in measured], optima(measured))


def parts_over_optimum(measured: Sequence[SequenceFigures], policy: str) -> dict[str, Estimate]:
    """Return a policy's criteria cost and time cost, divided by the optimum in hindsight."""
    best = optima(measured)
    time = [m.costs[policy] - m.criteria[policy] for m in measured]
    criteria = [m.criteria[policy] for m in measured]
    return {CRITERIA: ratio(criteria, best), TIME: ratio(time, best)}


def optima(measured: Sequence[SequenceFigures]) -> list[float]:
    """Return the optimum of each sequence."""
    found = [each.optimum for each in measured]
    assert None not in found, "the task asked for the optimum"
    return [each for each in found if each is not None]


def seeds(effort: Effort, *, quick: int, full: int) -> range:
    """Return the seeds of the sequences."""
    return range(effort.seed, effort.seed + (quick if effort.quick else full))
