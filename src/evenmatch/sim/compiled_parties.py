"""Compiled runs of parties in a service order: arrays in, the engine's matches out.

See `sim.compilable` for the runs that can be compiled.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import msgspec
import numpy as np
from numpy.typing import NDArray

from evenmatch.cost.objective import Objective
from evenmatch.errors import NotSupported
from evenmatch.model.match import Match
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import ArrivalClass, Scenario
from evenmatch.model.ticket import Player, Ticket, Value
from evenmatch.policies.base import Policy, rules_of
from evenmatch.sim.compilable import SIDE, Ordered, why_no_parties
from evenmatch.sim.history import MATCHED, WAITING, History
from evenmatch.sim.population import Population
from evenmatch.sim.seeds import generator
from evenmatch.sim.times import instants
from evenmatch.solvers.orders.arrivals import play_parties
from evenmatch.solvers.orders.lines import SEQUENCE
from evenmatch.solvers.orders.plan import make_pools

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SHARD = "s0"
"""The shard whose ids a simulation shows."""


@dataclass(frozen=True)
class Served:
    """What came of a run.

    Args:
        match_of: Number of each arrival's match, from 0 in the order of making; -1 if it still
            waits.
        at: Instant of each match, seconds.
    """

    match_of: Ints
    at: Floats

    def waits(self, times: Floats) -> Floats:
        """Return how long each arrival waited for its match, NaN if it still waits."""
        waited: Floats = np.full(len(times), np.nan)
        matched = self.match_of >= 0
        waited[matched] = self.at[self.match_of[matched]] - times[matched]
        return waited


def serve(
    queue: Queue, policy: Policy, times: Floats, sizes: Ints, sides: Ints | None = None
) -> Served:
    """Run parties through a queue in compiled code.

    Args:
        queue: Without rules, roles, criteria and deadline.
        policy: One that serves in an order: `first_come`.
        times: Instants of arrival in seconds, ascending, shape (n,).
        sizes: Players of each party; the queue must admit them.
        sides: Which of the queue's sides each insists on, from 1; 0 or None is flexible.

    Raises:
        NotSupported: The run cannot be compiled; the sentence says why.
        ConfigError: The policy cannot work on this queue.

    Complexity:
        That of the order, a fraction of a microsecond for each arrival and set; memory O(n).
    """
    if reason := why_no_parties(queue, policy):
        raise NotSupported(f"a compiled run of queue {queue.name} is not to be had: {reason}")
    assert isinstance(policy, Ordered)
    plan, count = policy.plan(queue), len(times)
    parties, packs = make_pools(plan, count)
    parties[0][:] = times
    parties[1][SEQUENCE] = np.arange(count)
    match_of: Ints = np.full(count, -1, dtype=np.int64)
    at = np.zeros(count)
    out = np.zeros(queue.format.k, dtype=np.int64)
    kinds = _kinds(queue, policy, sizes, sides)
    made = int(play_parties(parties, packs, plan, kinds, out, match_of, at))
    return Served(match_of, at[:made].copy())


def _kinds(queue: Queue, policy: Ordered, sizes: Ints, sides: Ints | None) -> Ints:
    """Return the number of each arrival's kind in the policy's layout."""
    labels = len(queue.format.sides) + 1
    numbers = np.full((max(queue.format.players) + 1, labels), -1, dtype=np.int64)
    for number, (size, label) in enumerate(policy.layout(queue).kinds):
        numbers[size, label] = number
    found: Ints = numbers[sizes, 0 if sides is None else sides]
    assert found.min(initial=0) >= 0, "a party comes that the queue does not admit"
    return found


def ordered_history(
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
        seeds: All chance of the arrivals: the same as the engine would get.
        history: Empty.

    Complexity:
        A few microseconds a ticket, nearly all of them for the history.
    """
    arrivals = world.arrivals
    assert arrivals is not None
    times = np.fromiter(instants(arrivals, generator(seeds, "times")), dtype=np.float64)
    count = len(times)
    population = Population(arrivals, seeds)
    kinds = population.class_numbers(times)
    classes = arrivals.classes or (ArrivalClass(),)
    sizes: Ints = np.array([each.size for each in classes], dtype=np.int64)[kinds]
    sides: Ints = np.zeros(count, dtype=np.int64)
    if queue.format.sides:
        label = {"": 0} | {side: n for n, side in enumerate(queue.format.sides, 1)}
        own = [each.attributes.get(SIDE) for each in classes]
        fixed = np.array([-1 if side is None else label[str(side)] for side in own])[kinds]
        drawn = np.array([label[str(side)] for side in population.sides(count)], dtype=np.int64)
        sides = np.where(fixed < 0, drawn, fixed)
    served = serve(queue, policy, times, sizes, sides)
    _fill(history, queue, times, sizes, served)
    rules = queue.rules + rules_of(policy, queue)
    divided = _Divided(msgspec.structs.replace(queue, rules=rules))
    history.matches = _matches(divided, history, served, sides)
    history.finish(float(times[-1]) if count else 0.0)
    if history.keeps_tickets:
        again = Population(arrivals, seeds).tickets(iter(times.tolist()))
        history.tickets = list(islice(again, count))
    return history


def _fill(history: History, queue: Queue, times: Floats, sizes: Ints, served: Served) -> None:
    """Write arrivals and their ends into a history, as the engine's events would."""
    count, matched = len(times), served.match_of >= 0
    history.ids = [str(number) for number in range(count)]
    history.index = dict(zip(history.ids, range(count), strict=True))
    history.enqueued_at = times.tolist()
    history.sizes = sizes.tolist()
    history.queues = [(queue.name,)] * count
    history.states = bytearray(np.where(matched, MATCHED, WAITING).astype(np.uint8).tobytes())
    ended_at = np.array(times)
    ended_at[matched] = served.at[served.match_of[matched]]
    history.ended_at = ended_at.tolist()
    history.match_of = served.match_of.tolist()


class _Divided:
    """How parties of some sizes and sides, in order of age, are divided into teams.

    Without criteria that follows from sizes and sides alone, so the engine's objective is asked
    once for each row of them.

    Args:
        queue: With the policy's rules.
    """

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self._objective = Objective(queue)
        self._known: dict[tuple[int, ...], tuple[tuple[int, ...], ...]] = {}
        self._labels = len(queue.format.sides) + 1

    def teams(self, kinds: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        """Return places by team; a kind is size x labels + side."""
        found = self._known.get(kinds)
        if found is None:
            found = self._known[kinds] = self._seat(kinds)
        return found

    def _seat(self, kinds: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        tickets = []
        for place, kind in enumerate(kinds):
            size, label = divmod(kind, self._labels)
            side: dict[str, Value] = {SIDE: self.queue.format.sides[label - 1]} if label else {}
            players = tuple(Player(f"{place}.{number}") for number in range(size))
            tickets.append(Ticket(str(place), place, 0.0, players, (self.queue.name,), side))
        seating = self._objective.seat(tickets, 0, 0.0)
        assert seating is not None
        return tuple(tuple(ticket.sequence for ticket in team) for team in seating.teams)


def _matches(divided: _Divided, history: History, served: Served, sides: Ints) -> list[Match]:
    """Return the matches of a run as the engine writes them down."""
    queue, ids, sizes = divided.queue, history.ids, np.asarray(history.sizes, dtype=np.int64)
    made = len(served.at)
    order = np.argsort(served.match_of, kind="stable")[int((served.match_of < 0).sum()) :]
    ends = np.cumsum(np.bincount(served.match_of[order], minlength=made)).tolist()
    waits = np.asarray(history.ended_at) - np.asarray(history.enqueued_at)
    costs = queue.price * np.bincount(served.match_of[order], (sizes * waits)[order], made)
    kinds = (sizes * (len(queue.format.sides) + 1) + sides)[order].tolist()
    rows, all_sizes = order.tolist(), history.sizes
    matches, start = [], 0
    written = zip(ends, served.at.tolist(), costs.tolist(), strict=True)
    for number, (end, at, cost) in enumerate(written, 1):
        own = rows[start:end]
        division = divided.teams(tuple(kinds[start:end]))
        start = end
        tickets = tuple([ids[row] for row in own])
        teams = tuple([tuple([tickets[place] for place in team]) for team in division])
        people = teams
        if len(own) < queue.format.k:
            parties = [_players(ids[row], all_sizes[row]) for row in own]
            people = tuple(
                [tuple([p for seat in team for p in parties[seat]]) for team in division]
            )
        match_id = f"{SHARD}-m{number}"
        matches.append(Match(match_id, queue.name, at, tickets, teams, people, 0, cost, 1.0))
    return matches


def _players(ticket: str, size: int) -> list[str]:
    """Return the ids of a drawn ticket's players."""
    return [ticket] if size == 1 else [f"{ticket}.{number}" for number in range(size)]
