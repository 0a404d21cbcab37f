"""Compiled runs of parties in a service order: arrays in, the engine's matches out.

See `simulation.compiled.compilable` for the runs that can be compiled.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from evenmatch.criteria.divisions import Teams
from evenmatch.criteria.gaps import Gaps
from evenmatch.criteria.objective import Objective
from evenmatch.errors import NotSupported
from evenmatch.model.match import Match
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import ArrivalClass, Arrivals, Scenario
from evenmatch.model.ticket import Player, Ticket, Value
from evenmatch.policies.base import Policy
from evenmatch.policies.hooks import rules_of
from evenmatch.simulation.arrivals.population import Population
from evenmatch.simulation.arrivals.times import instants
from evenmatch.simulation.compiled.compilable import SIDE, ServiceOrderPolicy, why_no_parties
from evenmatch.simulation.history import MATCHED, WAITING, History
from evenmatch.simulation.seeds import generator
from evenmatch.solvers.service_orders.arrivals import play_parties
from evenmatch.solvers.service_orders.lines import SEQUENCE
from evenmatch.solvers.service_orders.plan import make_pools

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SHARD = "s0"
"""The shard whose ids a simulation shows."""


@dataclass(frozen=True)
class ServedParties:
    """The result of a run.

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
) -> ServedParties:
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
        raise NotSupported(f"queue {queue.name} cannot be played by a compiled run: {reason}")
    assert isinstance(policy, ServiceOrderPolicy)
    plan, count = policy.plan(queue), len(times)
    parties, packs = make_pools(plan, count)
    parties.ages[:] = times
    parties.links[SEQUENCE] = np.arange(count)
    match_of: Ints = np.full(count, -1, dtype=np.int64)
    at = np.zeros(count)
    out = np.zeros(queue.format.k, dtype=np.int64)
    kinds = _kinds(queue, policy, sizes, sides)
    made = int(play_parties(parties, packs, plan, kinds, out, match_of, at))
    return ServedParties(match_of, at[:made].copy())


def _kinds(queue: Queue, policy: ServiceOrderPolicy, sizes: Ints, sides: Ints | None) -> Ints:
    """Return the number of each arrival's kind in the policy's layout."""
    labels = len(queue.format.sides) + 1
    numbers = np.full((max(queue.format.players) + 1, labels), -1, dtype=np.int64)
    for number, (size, label) in enumerate(policy.layout(queue).kinds):
        numbers[size, label] = number
    found: Ints = numbers[sizes, 0 if sides is None else sides]
    assert found.min(initial=0) >= 0, "a party comes that the queue does not admit"
    return found


class _Coming(NamedTuple):
    """The parties that arrive, as arrays with one element each.

    Args:
        times: Instants, ascending.
        sizes: Players.
        sides: Which side of its queue each insists on, from 1; 0 is flexible.
        queues: Number of the queue.
    """

    times: Floats
    sizes: Ints
    sides: Ints
    queues: Ints


def ordered_history(
    world: Scenario,
    queues: Sequence[Queue],
    policies: Sequence[Policy],
    seeds: np.random.SeedSequence,
    history: History,
) -> History:
    """Run a scenario that needs no engine; return the history, filled in.

    Args:
        world: A scenario that `compilable.why_engine` has nothing against.
        queues: Its queues, under the policies; each party waits in one of them.
        policies: What decides in each.
        seeds: All chance of the arrivals: the same as the engine would get.
        history: Empty.

    Complexity:
        A few microseconds a ticket, nearly all of them for the history.
    """
    arrivals = world.arrivals
    assert arrivals is not None
    times = np.fromiter(instants(arrivals, generator(seeds, "times")), dtype=np.float64)
    coming = _drawn(arrivals, queues, times, seeds)
    served, made_in = _serve_apart(queues, policies, coming)
    _fill(history, queues, coming, served)
    whole = [
        msgspec.structs.replace(queue, rules=queue.rules + rules_of(policy, queue))
        for queue, policy in zip(queues, policies, strict=True)
    ]
    divided = [_TeamDivisions(queue) for queue in whole]
    history.matches = _matches([divided[n] for n in made_in.tolist()], history, served, coming)
    history.finish(float(times[-1]) if len(times) else 0.0)
    if history.keeps_tickets:
        again = Population(arrivals, seeds).tickets(iter(times.tolist()))
        history.tickets = list(islice(again, len(times)))
    return history


def _drawn(
    arrivals: Arrivals, queues: Sequence[Queue], times: Floats, seeds: np.random.SeedSequence
) -> _Coming:
    """Return what the tickets are that come at these instants."""
    population = Population(arrivals, seeds)
    kinds = population.class_numbers(times)
    classes = arrivals.classes or (ArrivalClass(),)
    sizes: Ints = np.array([each.size for each in classes], dtype=np.int64)[kinds]
    places = {queue.name: number for number, queue in enumerate(queues)}
    where = [places[each.queues[0]] if each.queues else 0 for each in classes]
    sides: Ints = np.zeros(len(times), dtype=np.int64)
    if named := queues[0].format.sides:
        label = {"": 0} | {side: number for number, side in enumerate(named, 1)}
        own = [each.attributes.get(SIDE) for each in classes]
        fixed = np.array([-1 if side is None else label[str(side)] for side in own])[kinds]
        drawn = [label[str(side)] for side in population.sides(len(times))]
        sides = np.where(fixed < 0, np.array(drawn, dtype=np.int64), fixed)
    return _Coming(times, sizes, sides, np.array(where, dtype=np.int64)[kinds])


def _serve_apart(
    queues: Sequence[Queue], policies: Sequence[Policy], coming: _Coming
) -> tuple[ServedParties, Ints]:
    """Serve each queue by itself; return the matches of all by time, and the queue of each."""
    match_of: Ints = np.full(len(coming.times), -1, dtype=np.int64)
    parts: list[Floats] = []
    made = 0
    for number, (queue, policy) in enumerate(zip(queues, policies, strict=True)):
        rows = np.flatnonzero(coming.queues == number)
        own = serve(queue, policy, coming.times[rows], coming.sizes[rows], coming.sides[rows])
        match_of[rows] = np.where(own.match_of < 0, -1, own.match_of + made)
        parts.append(own.at)
        made += len(own.at)
    at = np.concatenate(parts)
    order = np.argsort(at, kind="stable")
    rank = np.empty(made, dtype=np.int64)
    rank[order] = np.arange(made)
    matched = match_of >= 0
    match_of[matched] = rank[match_of[matched]]
    made_in = np.repeat(np.arange(len(queues)), [len(part) for part in parts])
    return ServedParties(match_of, at[order]), made_in[order]


def _fill(
    history: History, queues: Sequence[Queue], coming: _Coming, served: ServedParties
) -> None:
    """Write arrivals and their ends into a history, as the engine's events would."""
    times, count, matched = coming.times, len(coming.times), served.match_of >= 0
    history.ids = [str(number) for number in range(count)]
    history.index = dict(zip(history.ids, range(count), strict=True))
    history.enqueued_at = times.tolist()
    history.sizes = coming.sizes.tolist()
    names = [(queue.name,) for queue in queues]
    history.queues = [names[number] for number in coming.queues.tolist()]
    history.states = bytearray(np.where(matched, MATCHED, WAITING).astype(np.uint8).tobytes())
    ended_at = np.array(times)
    ended_at[matched] = served.at[served.match_of[matched]]
    history.ended_at = ended_at.tolist()
    history.match_of = served.match_of.tolist()


class _TeamDivisions:
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
        self.labels = len(queue.format.sides) + 1
        self._gaps = Gaps(queue)
        self._measured: dict[tuple[int, ...], dict[str, float]] = {}

    def teams(self, kinds: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        """Return places by team; a kind is size x labels + side."""
        found = self._known.get(kinds)
        if found is None:
            seated = self._seat(kinds)
            numbers = self._gaps.of(seated)
            self._measured[kinds] = dict(zip(self._gaps.names, numbers, strict=True))
            places = tuple(tuple(ticket.sequence for ticket in team) for team in seated)
            found = self._known[kinds] = places
        return found

    def gaps(self, kinds: tuple[int, ...]) -> dict[str, float]:
        """Return the gaps of a match by name, which follow from sizes alone."""
        return self._measured[kinds]

    def _seat(self, kinds: tuple[int, ...]) -> Teams:
        tickets = []
        for place, kind in enumerate(kinds):
            size, label = divmod(kind, self.labels)
            side: dict[str, Value] = {SIDE: self.queue.format.sides[label - 1]} if label else {}
            players = tuple(Player(f"{place}.{number}") for number in range(size))
            tickets.append(Ticket(str(place), place, 0.0, players, (self.queue.name,), side))
        seating = self._objective.seat(tickets, 0, 0.0)
        assert seating is not None
        return seating.teams


def _matches(
    divided: Sequence[_TeamDivisions], history: History, served: ServedParties, coming: _Coming
) -> list[Match]:
    """Return the matches of a run as the engine writes them down; `divided` has one for each."""
    ids, all_sizes = history.ids, history.sizes
    order = np.argsort(served.match_of, kind="stable")[int((served.match_of < 0).sum()) :]
    numbers, made = served.match_of[order], len(served.at)
    ends = np.cumsum(np.bincount(numbers, minlength=made)).tolist()
    waits = np.asarray(history.ended_at) - coming.times
    waited = np.bincount(numbers, (coming.sizes * waits)[order], made).tolist()
    # Several queues have no sides, so that one number of labels does for all.
    labels = divided[0].labels if made else 1
    kinds, rows = (coming.sizes * labels + coming.sides)[order].tolist(), order.tolist()
    gaps = history.gaps
    matches, start = [], 0
    written = zip(ends, served.at.tolist(), waited, divided, strict=True)
    for number, (end, at, seconds, divider) in enumerate(written, 1):
        queue, own = divider.queue, rows[start:end]
        these = tuple(kinds[start:end])
        division = divider.teams(these)
        for name, value in divider.gaps(these).items():
            known = gaps.setdefault(name, array("d"))
            known.extend([math.nan] * (number - 1 - len(known)))
            known.append(value)
        start = end
        tickets = tuple([ids[row] for row in own])
        teams = tuple([tuple([tickets[place] for place in team]) for team in division])
        people = teams
        if len(own) < queue.format.k:
            parties = [_players(ids[row], all_sizes[row]) for row in own]
            people = tuple(
                [tuple([p for seat in team for p in parties[seat]]) for team in division]
            )
        cost = queue.price * seconds
        match_id = f"{SHARD}-m{number}"
        matches.append(Match(match_id, queue.name, at, tickets, teams, people, 0, cost, 1.0))
    return matches


def _players(ticket: str, size: int) -> list[str]:
    """Return the ids of a drawn ticket's players."""
    return [ticket] if size == 1 else [f"{ticket}.{number}" for number in range(size)]
