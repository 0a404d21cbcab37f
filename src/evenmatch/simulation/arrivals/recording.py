"""Recorded arrivals: a file's rows as tickets by ascending time.

A file is read twice. The first time each row is read and checked, so that all bad ones are known
at the start; the second time the good ones are played. Only a file whose rows are not by ascending
time is held in memory, to be sorted.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import msgspec
import numpy as np

from evenmatch.errors import ArrivalsError
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import ARRIVALS_MAX, Arrivals
from evenmatch.simulation.arrivals.file_rows import ColumnPlan, RowReader, Timestamps, plan_columns
from evenmatch.simulation.arrivals.population import Population
from evenmatch.simulation.arrivals.stream import Arrival, ArrivalStream, BadRows
from evenmatch.simulation.arrivals.tables import open_table

SENTENCES_MAX = 5
LINES_MAX = 10

Check = Callable[[Arrival], None]
"""Raises an `ArrivalsError` for an arrival that the queues would refuse."""
Good = tuple[int, int, list[str]]
"""A good row: its number in the file from 0, its line, its cells."""


class _Scan(msgspec.Struct, frozen=True, gc=False):
    """What the first reading of a file says.

    Args:
        plan: Which column holds what.
        timestamps: Reads the times; it knows their style by now.
        start: The first instant; None without good rows.
        is_sorted: Whether the good rows are by ascending time.
        bad_numbers: Numbers of the bad rows, from 0.
        bad: What they are like; None if there are none.
    """

    plan: ColumnPlan
    timestamps: Timestamps
    start: float | None
    is_sorted: bool
    bad_numbers: array[int]
    bad: BadRows | None


def read_arrivals(
    arrivals: Arrivals,
    seeds: np.random.SeedSequence,
    base_dir: Path | None = None,
    queues: tuple[Queue, ...] = (),
    check: Check | None = None,
) -> ArrivalStream:
    """Return the arrivals of a file by ascending time, to start in the first second of the run.

    Args:
        arrivals: `file`, `columns`, `unit`, `skip_bad`, and `count` or `duration` to stop early;
            `attributes` and `patience` are drawn where the file has no such column.
        seeds: The seed of what is drawn.
        base_dir: The folder from which a relative `file` counts.
        queues: If not empty, names, party sizes and sides are checked against them.
        check: What else a row must pass.

    Raises:
        ArrivalsError: The file cannot be read, or rows are bad and are not to be skipped; the
            sentence names the first of them and counts them all.
    """
    if arrivals.file is None:
        raise ArrivalsError("arrivals.file is missing; name a recording to play")
    scan = _scan(arrivals, seeds, base_dir, queues, check)
    if scan.bad is not None and (not arrivals.skip_bad or scan.start is None):
        raise ArrivalsError(scan.bad.refusal())
    if scan.start is None:
        return ArrivalStream(iter(()))
    offset = float(math.floor(scan.start))
    table = open_table(arrivals.file, base_dir)
    reader = RowReader(table, scan.plan, queues, scan.timestamps)
    population = Population(arrivals, seeds, base_dir, scan.plan.names)
    rows = _good_rows(reader, scan)
    shifted = _shifted(reader, islice(rows, arrivals.count), population, offset)
    return ArrivalStream(_until(shifted, arrivals.duration), offset, scan.bad)


def _scan(
    arrivals: Arrivals,
    seeds: np.random.SeedSequence,
    base_dir: Path | None,
    queues: tuple[Queue, ...],
    check: Check | None,
) -> _Scan:
    """Read each row once, and note which are bad and whether the good ones are in order."""
    assert arrivals.file is not None
    table = open_table(arrivals.file, base_dir)
    plan = plan_columns(table, arrivals.columns)
    timestamps = Timestamps(arrivals.unit)
    reader = RowReader(table, plan, queues, timestamps)
    population = Population(arrivals, seeds, base_dir, plan.names)
    start, last, is_sorted = math.inf, -math.inf, True
    numbers, lines = array("Q"), array("Q")
    sentences: list[str] = []
    number = -1
    for number, (line, raw) in enumerate(table.lines):
        if number >= ARRIVALS_MAX:
            raise table.error(f"must have at most {ARRIVALS_MAX:,} rows", line)
        try:
            arrival = _arrival(reader, line, table.cells_of(line, raw), number, population, 0.0)
            if check is not None:
                check(arrival)
        except ArrivalsError as error:
            numbers.append(number)
            if len(sentences) < SENTENCES_MAX:
                sentences.append(str(error))
            if len(lines) < LINES_MAX:
                lines.append(line)
            continue
        start, is_sorted, last = (
            min(start, arrival.at),
            is_sorted and arrival.at >= last,
            arrival.at,
        )
    bad = None
    if numbers:
        bad = BadRows(tuple(sentences), tuple(lines), len(numbers), number + 1, table.unit)
    found = start if math.isfinite(start) else None
    return _Scan(plan, timestamps, found, is_sorted, numbers, bad)


def _good_rows(reader: RowReader, scan: _Scan) -> Iterator[Good]:
    """Yield the good rows by ascending time; rows of one instant stay in the file's order."""
    good = _in_file(reader, scan.bad_numbers)
    if scan.is_sorted:
        return good
    return iter(sorted(good, key=lambda row: reader.instant("at", row[1], row[2])))


def _in_file(reader: RowReader, bad_numbers: array[int]) -> Iterator[Good]:
    coming = iter(bad_numbers)
    bad = next(coming, -1)
    for number, (line, raw) in enumerate(reader.table.lines):
        if number == bad:
            bad = next(coming, -1)
        else:
            yield number, line, reader.table.cells_of(line, raw)


def _arrival(
    reader: RowReader,
    line: int,
    cells: list[str],
    number: int,
    population: Population,
    offset: float,
) -> Arrival:
    at, leaves_at = reader.times(line, cells)
    ticket = reader.ticket(line, cells, str(number), population)
    leaves_at = None if leaves_at is None else leaves_at - offset
    return Arrival(at - offset, ticket, leaves_at, reader.row(line))


def _shifted(
    reader: RowReader, rows: Iterator[Good], population: Population, offset: float
) -> Iterator[Arrival]:
    is_patient = "leaves_at" not in reader.plan.reserved
    for (number, line, cells), wait in zip(rows, population.patience(), strict=False):
        arrival = _arrival(reader, line, cells, number, population, offset)
        if is_patient and wait is not None:
            arrival = msgspec.structs.replace(arrival, leaves_at=arrival.at + wait)
        yield arrival


def _until(arrivals: Iterator[Arrival], duration: float | None) -> Iterator[Arrival]:
    for arrival in arrivals:
        if duration is not None and arrival.at > duration:
            return
        yield arrival
