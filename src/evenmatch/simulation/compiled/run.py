"""Simulates with compiled code where that gives the same matches: no engine, no ticket objects.

See `simulation.compiled.compilable` for the scenarios that take this way.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenmatch.criteria.gaps import name_of
from evenmatch.criteria.kinds.numeric import Numeric
from evenmatch.criteria.registry import comparison_of, numeric_kind
from evenmatch.criteria.scales import scale_values
from evenmatch.engine.admission.shard_limits import ShardLimits, check_player, check_values
from evenmatch.errors import InvalidTicket, NotSupported
from evenmatch.model.match import Match
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import Arrivals, Scenario
from evenmatch.model.ticket import NewTicket, attribute_of
from evenmatch.policies.base import Policy
from evenmatch.policies.shared.step_columns import StepColumns, term
from evenmatch.policies.shared.step_matcher import make_pool
from evenmatch.simulation.arrivals.population import Population
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.simulation.arrivals.times import instants
from evenmatch.simulation.compiled.compilable import SIDE, StepPolicy, why_not
from evenmatch.simulation.history import EXPIRED, MATCHED, WAITING, History
from evenmatch.simulation.seeds import generator
from evenmatch.solvers.steps import play as kernels
from evenmatch.solvers.steps.play import CompiledRun
from evenmatch.solvers.steps.waiting import CLOCK, FREE_TOP, grow

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LIMITS = ShardLimits()
SHARD = "s0"
"""The shard whose ids a simulation shows."""


def compiled_history(
    world: Scenario,
    queue: Queue,
    policy: Policy,
    seeds: np.random.SeedSequence,
    history: History,
) -> History:
    """Run a scenario that needs no engine; return the history, filled in.

    Args:
        world: A scenario that `compilable.why_engine` has nothing against.
        queue: Its queue, under the policy.
        policy: What decides.
        seeds: All chance of the arrivals: the same instants and values as the engine would get.
        history: Empty.

    Complexity:
        About 5 microseconds a ticket, most of them for the history.
    """
    assert world.arrivals is not None
    times = np.fromiter(instants(world.arrivals, generator(seeds, "times")), dtype=np.float64)
    values = _values(world.arrivals, queue, seeds, len(times))
    outcome = play(queue, policy, times, values)
    _fill(history, queue, times, outcome)
    _measure(history, queue, values, outcome)
    if history.keeps_tickets:
        history.tickets = list(islice(Population(world.arrivals, seeds).tickets(), len(times)))
    return history


class Recording(NamedTuple):
    """A recording as arrays.

    Args:
        arrivals: Single players, by ascending time.
        values: Shape (criteria, n).
        players: Shape (n,): number of each arrival's player, -1 of one who comes only once.
    """

    arrivals: list[Arrival]
    values: Floats
    players: Ints


def read_recording(arrivals: list[Arrival], queue: Queue) -> Recording | None:
    """Return a recording as arrays; None where the engine has to simulate it.

    That is where somebody is no single player, leaves, names another queue, lacks what the queue
    compares, or has what the engine would refuse.

    Args:
        arrivals: As they come.
        queue: One that `compilable.why_engine_of_recording` has nothing against.
    """
    names = [criterion.attribute for criterion in queue.criteria]
    values, players = np.empty((len(names), len(arrivals))), np.empty(len(arrivals), np.int64)
    known, ids, before = dict[str, int](), set[str](), 0.0
    for number, arrival in enumerate(arrivals):
        if not _is_plain(arrival, queue) or not arrival.at >= before:
            return None
        ticket, before = arrival.ticket, arrival.at
        (player,) = ticket.players
        ids.add(ticket.id or "")
        players[number] = known.setdefault(player.id, len(known))
        for row, name in enumerate(names):
            value = attribute_of(ticket, player, name)
            if not isinstance(value, float | int):
                return None
            values[row, number] = value
    if len(ids) < len(arrivals):
        return None
    return Recording(arrivals, values, _only_repeated(players))


def _is_plain(arrival: Arrival, queue: Queue) -> bool:
    ticket = arrival.ticket
    if len(ticket.players) != 1 or ticket.queues not in ((), (queue.name,)) or ticket.id is None:
        return False
    if arrival.leaves_at is not None or SIDE in ticket.attributes:
        return False
    try:
        check_player(ticket.players[0], LIMITS, "")
        check_values(ticket.attributes, LIMITS, "")
    except InvalidTicket:
        return False
    return True


def _only_repeated(players: Ints) -> Ints:
    """Return numbers of players who come several times, from 0; -1 for all others."""
    numbers, places, counts = np.unique(players, return_inverse=True, return_counts=True)
    new = np.where(counts > 1, np.cumsum(counts > 1) - 1, -1)
    return np.asarray(new[places] if len(numbers) else players, dtype=np.int64)


def recorded_history(
    recording: Recording, queue: Queue, policy: Policy, history: History
) -> History:
    """Run a recording that needs no engine; return the history, filled in.

    Complexity:
        About 15 microseconds a ticket, most of them for reading it.
    """
    arrivals = recording.arrivals
    times = np.array([arrival.at for arrival in arrivals])
    outcome = play(queue, policy, times, recording.values, players=recording.players)
    history.merged = int((outcome.merged & (times >= history.warmup)).sum())
    taken = np.flatnonzero(~outcome.merged)
    place = np.cumsum(~outcome.merged) - 1
    tickets: Ints = np.where(outcome.tickets >= 0, place[outcome.tickets], -1)
    outcome = replace(outcome, tickets=tickets, expired_at=outcome.expired_at[taken])
    kept = [arrivals[number].ticket for number in taken.tolist()]
    _fill(history, queue, times[taken], outcome, kept)
    _measure(history, queue, recording.values[:, taken], outcome)
    if history.keeps_tickets:
        history.tickets = kept
    return history


def _values(arrivals: Arrivals, queue: Queue, seeds: np.random.SeedSequence, count: int) -> Floats:
    """Return the values of the criteria's attributes, shape (criteria, arrivals)."""
    population = Population(arrivals, seeds, Path())
    names = [criterion.attribute for criterion in queue.criteria]
    rows = {name: population.column(name, count) for name in dict.fromkeys(names)}
    return np.array([rows[name] for name in names], dtype=np.float64).reshape(len(names), count)


def _fill(
    history: History,
    queue: Queue,
    times: Floats,
    outcome: CompiledResult,
    tickets: Sequence[NewTicket] | None = None,
) -> None:
    """Write arrivals, matches and ends into a history, as the engine's events would.

    Args:
        history: Empty.
        queue: The one queue.
        times: Of the arrivals.
        outcome: What came of them.
        tickets: Theirs, if they are known; else players and tickets are called by number.
    """
    count = len(times)
    ids = [str(number) for number in range(count)]
    players = ids
    if tickets is not None:
        ids = [ticket.id or "" for ticket in tickets]
        players = [ticket.players[0].id for ticket in tickets]
    history.ids = ids
    history.index = dict(zip(ids, range(count), strict=True))
    history.enqueued_at = times.tolist()
    history.sizes = [1] * count
    history.queues = [(queue.name,)] * count
    states = np.full(count, WAITING, dtype=np.uint8)
    ended_at = np.array(times)
    match_of = np.full(count, -1, dtype=np.int64)
    expired = np.flatnonzero(~np.isnan(outcome.expired_at))
    states[expired], ended_at[expired] = EXPIRED, outcome.expired_at[expired]
    history.reasons = dict.fromkeys(expired.tolist(), "deadline")
    number, seat = np.nonzero(outcome.tickets >= 0)
    places = outcome.tickets[number, seat]
    states[places], ended_at[places], match_of[places] = MATCHED, outcome.at[number], number
    history.states = bytearray(states.tobytes())
    history.ended_at = ended_at.tolist()
    history.match_of = match_of.tolist()
    history.matches = _matches(queue, ids, players, outcome)
    history.finish(outcome.end)


def _measure(history: History, queue: Queue, values: Floats, outcome: CompiledResult) -> None:
    """Add the gaps of all matches without bots; each criterion compares numbers of an attribute."""
    full = outcome.bots == 0
    if not full.any():
        return
    compared = [comparison_of(criterion, queue) for criterion in queue.criteria]
    for each, row in zip(compared, values, strict=True):
        assert isinstance(each, Numeric)
        gaps = np.full(len(full), np.nan)
        gaps[full] = each.raw_table(row[outcome.tickets[full]], queue.format.players)
        name = name_of(each.definition.attribute, each.raw[0])
        history.gaps.setdefault(name, array("d", gaps.tobytes()))


def _matches(
    queue: Queue, ids: list[str], players: list[str], outcome: CompiledResult
) -> list[Match]:
    qualities = [None] * len(outcome.at) if outcome.quality is None else outcome.quality.tolist()
    matches = []
    rows = zip(
        outcome.tickets.tolist(),
        outcome.at.tolist(),
        outcome.bots.tolist(),
        outcome.costs.tolist(),
        qualities,
        strict=True,
    )
    for number, (row, at, bots, cost, quality) in enumerate(rows, 1):
        tickets = tuple([ids[place] for place in row if place >= 0])
        empty = ((),) * bots
        teams = tuple([(ticket,) for ticket in tickets]) + empty
        seated = tuple([(players[place],) for place in row if place >= 0]) + empty
        match_id = f"{SHARD}-m{number}"
        matches.append(Match(match_id, queue.name, at, tickets, teams, seated, bots, cost, quality))
    return matches


# Compiled runs: arrays in, matches out, the same ones as the engine makes.
#
# See `simulation.compiled.compilable` for the runs that can be compiled.

ON_DEADLINE = {"expire": kernels.EXPIRE, "bots": kernels.BOTS, "keep": kernels.KEEP}
CHUNK = 100_000
"""Arrivals between two calls of `on_done`."""


@dataclass(frozen=True)
class CompiledResult:
    """The result of a run.

    Args:
        tickets: Shape (matches, k): numbers of arrivals by age, -1 for bots, by time of making.
        at: Instant of each match, seconds.
        bots: Bots of each match.
        criteria: Criteria cost of each match.
        costs: Whole cost of each match.
        quality: Quality of each match; None if no criterion is scaled to [0, 1].
        end: The last instant at which something happened, seconds.
        expired_at: Instant at which each arrival expired, NaN if it did not.
        merged: Whether each arrival came while its player waited already.
    """

    tickets: Ints
    at: Floats
    bots: Ints
    criteria: Floats
    costs: Floats
    quality: Floats | None
    expired_at: Floats
    end: float
    merged: NDArray[np.bool_]


def play(
    queue: Queue,
    policy: Policy,
    times: Floats,
    values: Floats,
    *,
    players: Ints | None = None,
    on_done: Callable[[int], None] = lambda _: None,
) -> CompiledResult:
    """Run arrivals through a queue in compiled code.

    Args:
        queue: Single players, criteria that are spreads, no rules.
        policy: One with steps.
        times: Shape (n,): instants of arrival in seconds, ascending.
        values: Shape (criteria, n): attribute values in the order of the queue's criteria.
        players: Shape (n,): number of each arrival's player, -1 of one who comes only once; None
            where nobody comes twice.
        on_done: Called with the number of arrivals played so far, at times.

    Raises:
        NotSupported: The run cannot be compiled; the sentence says why.

    Complexity:
        That of the policy's steps; memory O(n).
    """
    if reason := why_not(queue, policy):
        raise NotSupported(f"queue {queue.name} cannot be played by a compiled run: {reason}")
    assert isinstance(policy, StepPolicy)
    count, seats = len(times), queue.format.k
    steps = policy.steps(queue)
    waiting = make_pool(queue, StepColumns(queue, queue.policy), steps, policy.numbers(queue))
    scaled = _scaled(queue, values, count)
    slots: Ints = np.zeros((waiting.points.shape[1], seats), dtype=np.int64)
    tickets: Ints = np.full((count // 2 + 1 if seats == 2 else count + 1, seats), -1, np.int64)
    if queue.on_deadline == "bots":
        tickets = np.full((count + 1, seats), -1, np.int64)
    who: Ints = np.full(count, -1, np.int64) if players is None else players
    run = kernels.CompiledRun(
        np.ascontiguousarray(times, dtype=np.float64),
        scaled,
        who,
        np.full(int(who.max(initial=-1)) + 1, -1, np.int64),
        np.zeros(count, np.int8),
        tickets,
        np.zeros(len(tickets)),
        np.full(count, math.nan),
    )
    state = np.zeros(kernels.STATE, dtype=np.int64)
    on_deadline = ON_DEADLINE[queue.on_deadline]
    while state[kernels.ROW] <= count:
        state[kernels.STOP] = min(count + 1, int(state[kernels.ROW]) + CHUNK)
        kernels.play(steps.kind, waiting, on_deadline, slots, run, state)
        if waiting.counts[FREE_TOP] == 0:
            waiting = grow(waiting, 2 * waiting.points.shape[1])
            slots = np.zeros((waiting.points.shape[1], seats), dtype=np.int64)
        on_done(min(count, int(state[kernels.ROW])))
    end = float(waiting.numbers[CLOCK])
    return _outcome(queue, run, int(state[kernels.MADE]), end)


def _scaled(queue: Queue, values: Floats, count: int) -> Floats:
    """Return the values as criteria compare them, shape (criteria, arrivals)."""
    given = np.asarray(values, dtype=np.float64).reshape(len(queue.criteria), count)
    rows = [scale_values(c.scale, row) for c, row in zip(queue.criteria, given, strict=True)]
    return np.ascontiguousarray(np.array(rows, dtype=np.float64).reshape(len(rows), count))


def _outcome(queue: Queue, run: CompiledRun, made: int, end: float) -> CompiledResult:
    """Add bots, costs and quality to matches."""
    tickets, at, times, scaled = run.tickets[:made], run.at[:made], run.times, run.values
    bots: Ints = (tickets < 0).sum(axis=1)
    full = bots == 0
    layout = queue.format.players
    criteria, counted, counted_weight = np.zeros(len(tickets)), np.zeros(len(tickets)), 0.0
    for criterion, row in zip(queue.criteria, scaled, strict=True):
        weight = term(criterion, queue)[0]
        costs: Floats = np.full(len(tickets), weight)
        costs[full] = weight * numeric_kind(criterion).table(criterion, row[tickets[full]], layout)
        criteria += costs
        if criterion.scale.kind != "none":
            counted += costs
            counted_weight += weight
    waits = np.where(tickets < 0, 0.0, at[:, None] - times[tickets]).sum(axis=1)
    waits += bots * (queue.wait_max or 0.0)
    quality = None
    if counted_weight:
        quality = 1.0 - counted / counted_weight
    elif all(criterion.scale.kind != "none" for criterion in queue.criteria):
        quality = np.ones(len(tickets))
    whole = criteria + queue.price * waits
    merged = run.ends == kernels.MERGED
    return CompiledResult(tickets, at, bots, criteria, whole, quality, run.expired_at, end, merged)
