"""Arrivals of a scenario: drawn from its processes, or read from a recording."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import tee
from pathlib import Path

import numpy as np

from evenmatch.model.queue import Queue
from evenmatch.model.scenario import Arrivals
from evenmatch.simulation.arrivals.population import Population
from evenmatch.simulation.arrivals.recording import Check, read_arrivals
from evenmatch.simulation.arrivals.stream import Arrival, ArrivalStream
from evenmatch.simulation.arrivals.times import instants
from evenmatch.simulation.seeds import generator
from evenmatch.simulation.world.arrivals import world_arrivals


def arrivals_of(
    arrivals: Arrivals,
    seeds: np.random.SeedSequence,
    base_dir: str | Path | None = None,
    *,
    queues: tuple[Queue, ...] = (),
    check: Check | None = None,
) -> ArrivalStream:
    """Return the tickets that arrive, by ascending time.

    Instants, classes, patience and each attribute have their own stream of chance, so a change
    of one leaves the others as they were. Tickets are numbered from "0"; a drawn ticket's player
    has the ticket's id, those of a party have `ID.0`, `ID.1` and so on.

    Args:
        arrivals: The process and what the tickets carry.
        seeds: The seed of all chance; it is not changed.
        base_dir: The folder from which relative file names count.
        queues: If given, rows of a file are checked against their names, formats and sides.
        check: What else rows of a file must pass, such as `Simulator.check`.

    Raises:
        ArrivalsError: A file cannot be read, or has bad rows that are not to be skipped.

    Complexity:
        O(1) memory and a few microseconds per ticket; a file is read twice, and one whose rows
        are not by ascending time is held in memory.

    >>> clock = Arrivals(process="regular", interval=0.5, count=2)
    >>> [(each.at, each.ticket.id) for each in arrivals_of(clock, np.random.SeedSequence(1))]
    [(0.5, '0'), (1.0, '1')]
    """
    folder = None if base_dir is None else Path(base_dir)
    if arrivals.process == "file":
        return read_arrivals(arrivals, seeds, folder, queues, check)
    if arrivals.process == "world":
        return ArrivalStream(world_arrivals(arrivals, seeds, folder))
    return ArrivalStream(_drawn(arrivals, seeds, folder))


def recorded_arrivals(file: str | Path, arrivals: Arrivals | None = None) -> Arrivals:
    """Return arrivals that come from a file in place of a scenario's own.

    Args:
        file: The recording.
        arrivals: The scenario's arrivals, of which column names, the unit of times, what to do
            with bad rows, attributes that the file does not hold, and patience are kept.
    """
    own = arrivals or Arrivals()
    return Arrivals(
        process="file",
        file=str(file),
        columns=own.columns,
        unit=own.unit,
        skip_bad=own.skip_bad,
        attributes=own.attributes,
        patience=own.patience,
    )


def _drawn(
    arrivals: Arrivals, seeds: np.random.SeedSequence, base_dir: Path | None
) -> Iterator[Arrival]:
    population = Population(arrivals, seeds, base_dir)
    times, ahead = tee(instants(arrivals, generator(seeds, "times")))
    tickets, patience = population.tickets(ahead), population.patience()
    # The times come first in zip: when they end, no further ticket is drawn.
    for at, ticket, wait in zip(times, tickets, patience, strict=False):
        yield Arrival(at, ticket, None if wait is None else at + wait)
