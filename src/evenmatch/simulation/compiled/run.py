"""Simulate by a compiled run where it gives the same: no engine, no ticket objects.

See `sim.compilable` for the scenarios that take this way.
"""

from __future__ import annotations

from array import array
from itertools import islice
from pathlib import Path

import numpy as np

from evenmatch.criteria.gaps import name_of
from evenmatch.criteria.kinds.numeric import Numeric
from evenmatch.criteria.registry import comparison_of
from evenmatch.model.match import Match
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import Arrivals, Scenario
from evenmatch.policies.base import Policy
from evenmatch.simulation.arrivals.population import Population
from evenmatch.simulation.arrivals.times import instants
from evenmatch.simulation.compiled.tickets import CompiledResult, Floats, play
from evenmatch.simulation.history import EXPIRED, MATCHED, WAITING, History
from evenmatch.simulation.seeds import generator

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


def _values(arrivals: Arrivals, queue: Queue, seeds: np.random.SeedSequence, count: int) -> Floats:
    """Return the values of the criteria's attributes, shape (criteria, arrivals)."""
    population = Population(arrivals, seeds, Path())
    names = [criterion.attribute for criterion in queue.criteria]
    rows = {name: population.column(name, count) for name in dict.fromkeys(names)}
    return np.array([rows[name] for name in names], dtype=np.float64).reshape(len(names), count)


def _fill(history: History, queue: Queue, times: Floats, outcome: CompiledResult) -> None:
    """Write arrivals, matches and ends into a history, as the engine's events would."""
    count = len(times)
    ids = [str(number) for number in range(count)]
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
    history.matches = _matches(queue, ids, outcome)
    history.finish(outcome.end)


def _measure(history: History, queue: Queue, values: Floats, outcome: CompiledResult) -> None:
    """Add the gaps of all matches without bots; each criterion compares numbers of an attribute."""
    full = outcome.bots == 0
    compared = [comparison_of(criterion, queue) for criterion in queue.criteria]
    for each, row in zip(compared, values, strict=True):
        assert isinstance(each, Numeric)
        gaps = np.full(len(full), np.nan)
        gaps[full] = each.raw_table(row[outcome.tickets[full]], queue.format.players)
        name = name_of(each.given.attribute, each.raw[0])
        history.gaps.setdefault(name, array("d", gaps.tobytes()))


def _matches(queue: Queue, ids: list[str], outcome: CompiledResult) -> list[Match]:
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
        teams = tuple([(ticket,) for ticket in tickets]) + ((),) * bots
        match_id = f"{SHARD}-m{number}"
        matches.append(Match(match_id, queue.name, at, tickets, teams, teams, bots, cost, quality))
    return matches
