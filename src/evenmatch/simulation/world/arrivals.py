"""Tickets of parties from all over the world, as they come."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, repeat
from pathlib import Path

import numpy as np

from evenmatch.model.scenario import Arrivals
from evenmatch.model.ticket import LATENCY, NewTicket, Player, Value
from evenmatch.model.world import World
from evenmatch.simulation.arrivals.population import SIDE, Population
from evenmatch.simulation.arrivals.stream import Arrival
from evenmatch.simulation.arrivals.times import HOUR, instants
from evenmatch.simulation.seeds import generator
from evenmatch.simulation.world.model import HOURS, Floats
from evenmatch.simulation.world.parties import CONNECT, Geography, PartyColumns, WorldDraws

CHUNK = 4096


def world_arrivals(
    arrivals: Arrivals, seeds: np.random.SeedSequence, base_dir: Path | None = None
) -> Iterator[Arrival]:
    """Yield parties by ascending time, each player with `region`, `latency`, `rating`, `connect`.

    Where the world draws roles, players list them too.

    Args:
        arrivals: The world, and attributes and patience that are drawn beside it; a drawn
            attribute goes before the world's of the same name.
        seeds: The seed of all chance; it is not changed.
        base_dir: The folder from which relative file names count.

    Raises:
        ArrivalsError: A measured file cannot be read.

    Complexity:
        A few microseconds a player; O(1) memory.
    """
    assert arrivals.world is not None, "process world has a world"
    geography = Geography(arrivals.world, base_dir=base_dir)
    return _arrivals(arrivals, geography, seeds, base_dir)


def _arrivals(
    arrivals: Arrivals,
    geography: Geography,
    seeds: np.random.SeedSequence,
    base_dir: Path | None,
) -> Iterator[Arrival]:
    world = arrivals.world
    assert world is not None
    day = geography.day if world.follows == "both" else ()
    times = instants(arrivals, generator(seeds, "times"), day)
    draws = WorldDraws(world, geography, seeds)
    population = Population(arrivals, seeds, base_dir)
    patience, number = population.patience(), 0
    has_more = bool(arrivals.attributes)
    while chunk := list(islice(times, CHUNK)):
        crowd = draws.crowd(hours_at(world, np.asarray(chunk)))
        lists = () if world.roles is None else world.roles.lists
        parties = parties_of(crowd, geography.names, world.latencies, number, lists)
        for at, ticket, wait in zip(chunk, parties, patience, strict=False):
            made = _with_drawn(ticket, population, arrivals) if has_more else ticket
            yield Arrival(at, made, None if wait is None else at + wait)
        number += len(chunk)


def hours_at(world: World, at: Floats) -> Floats:
    """Return the UTC hours of the day by which shares are taken at instants of the run."""
    if world.follows == "neither":
        return np.full(len(at), world.hour)
    return np.asarray((world.hour + at / HOUR) % HOURS)


def parties_of(
    crowd: PartyColumns,
    names: tuple[str, ...],
    nearest: int | None = None,
    first: int = 0,
    lists: tuple[tuple[str, ...], ...] = (),
) -> Iterator[NewTicket]:
    """Yield a ticket for each party.

    Args:
        crowd: The players.
        names: The regions.
        nearest: How many regions' latencies a player has, the lowest; None means all.
        first: Number of the first ticket, which is its id.
        lists: The lists of roles of the world's mix.
    """
    latencies = _latencies(crowd, names, nearest)
    roles = (
        repeat((), len(crowd.region))
        if crowd.roles is None
        else map(lists.__getitem__, crowd.roles)
    )
    facts = zip(
        crowd.region.tolist(), crowd.rating.tolist(), crowd.connect.tolist(), roles, strict=True
    )
    for number, size in enumerate(crowd.sizes.tolist(), start=first):
        ids = (f"{number}",) if size == 1 else tuple(f"{number}.{i}" for i in range(size))
        players = []
        for each, (region, rating, connect, wanted) in zip(ids, facts, strict=False):
            own: dict[str, Value] = {
                "region": names[region],
                LATENCY: next(latencies),
                "rating": rating,
                "connect": CONNECT[connect],
            }
            players.append(Player(id=each, attributes=own, roles=wanted))
        yield NewTicket(players=tuple(players), id=f"{number}")


def _latencies(
    crowd: PartyColumns, names: tuple[str, ...], nearest: int | None
) -> Iterator[dict[str, float]]:
    """Yield each player's map from region to milliseconds, to a tenth."""
    latency = np.round(crowd.latency, 1)
    if nearest is None or nearest >= len(names):
        for row in latency.tolist():
            yield dict(zip(names, row, strict=True))
        return
    chosen = np.argsort(latency, axis=1, kind="stable")[:, :nearest]
    chosen.sort(axis=1)
    found = np.take_along_axis(latency, chosen, axis=1)
    for places, row in zip(chosen.tolist(), found.tolist(), strict=True):
        yield {names[at]: value for at, value in zip(places, row, strict=True)}


def _with_drawn(ticket: NewTicket, population: Population, arrivals: Arrivals) -> NewTicket:
    """Return the ticket with what the scenario draws beside the world."""
    players = tuple(
        Player(each.id, attributes={**each.attributes, **population.attributes()}, roles=each.roles)
        for each in ticket.players
    )
    shared = population.party_attributes() if SIDE in arrivals.attributes else {}
    return NewTicket(players=players, attributes=shared, id=ticket.id)
