"""`evenmatch export`: a server's arrivals and matches as files."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from evenmatch.cli.output import check_writable, removed_if_unfinished
from evenmatch.cli.progress import progress
from evenmatch.errors import ConfigError
from evenmatch.journals.copying import as_path
from evenmatch.lab.export.anonymise import alone
from evenmatch.lab.export.export import KEYS_MOST, Trace, anonymised, columns_of, read_trace
from evenmatch.server.runtime.process_setup import keep_files_private
from evenmatch.simulation.arrivals.tables import write_parquet
from evenmatch.simulation.history import match_row

STEPS = 100
KINDS = (".parquet", ".csv")
FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula, or passes over before one."""
NUMBERS = re.compile(r"[+-]?[\d.e|+-]+", re.ASCII)
"""A number, or one for each player of a party."""


def export(
    data: str | None = None,
    /,
    *,
    out: Path | None = None,
    anonymise: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    shard: str | None = None,
) -> None:
    """Write a server's arrivals to a file that simulate can play, and its matches beside it.

    The server may keep running. The files lack records that keep_days has deleted, and matches that
    were called off. Only you can read the files, because they name players; use chmod to share one.

    For example:

        evenmatch export data --out friday.parquet --anonymise
        evenmatch simulate my.toml --arrivals friday.parquet

    Args:
        data: The server's data directory, or the address of its journal, which is then copied
            first.
        out: The file for the arrivals, .parquet or .csv; the matches go next to it: those of
            T.parquet to T.matches.jsonl.
        anonymise: Replace ids and texts by hashes with a random key, drop attributes that no queue
            compares, and round ratings and other numbers. Times, party sizes, queues, sides, roles,
            regions and latencies stay.
        shard: Read this shard only. Otherwise all are read; instants are then seconds since the
            first one began.
    """
    if data is None or out is None:
        raise ConfigError("name a data directory and a file: evenmatch export DATA --out T.parquet")
    if out.suffix not in KINDS:
        raise ConfigError(f"--out must end in {' or '.join(KINDS)}, got {out.name}")
    beside = out.with_suffix(".matches.jsonl")
    check_writable({"--out": out})
    for path in (out, beside):
        if path.exists():
            raise ConfigError(f"{path} already exists: name another file")
    trace = _read(data, shard)
    if anonymise:
        trace = anonymised(trace)
    columns = columns_of(trace)
    keep_files_private()
    with removed_if_unfinished(out, beside):
        with _naming(out):
            _write(out, columns.cells)
        with _naming(beside), beside.open("w", encoding="utf-8") as file:
            for match in trace.matches.values():
                file.write(json.dumps(match_row(match)) + "\n")
    print(
        f"{out} holds {len(trace.arrived):,} tickets in {len(columns.cells)} columns, "
        f"{beside} {len(trace.matches):,} {'match' if len(trace.matches) == 1 else 'matches'}."
    )
    if columns.renamed:
        pairs = ", ".join(f"{name} is {column}" for name, column in columns.renamed.items())
        print(f"Some attributes have other names in the file, which rules must use: {pairs}.")
    if columns.left_out:
        print(f"Maps with more than {KEYS_MOST} keys are left out: {', '.join(columns.left_out)}.")
    if len(trace.shards) > 1:
        print(f"They come from {len(trace.shards)} shards: {', '.join(trace.shards)}.")
    if anonymise:
        print(
            "Ids and texts are hashes under a key that nobody has; attributes that no queue "
            "compares and all assignments are left out. Instants, party sizes, queues, sides, "
            "roles, regions and latencies are as they were; ratings and other numbers are rounded."
        )
        only, rated = alone([each.ticket for each in trace.arrived.values()])
        if rated:
            has = "has" if only == 1 else "have"
            print(f"Of {rated:,} players with a rating, {only:,} {has} one that nobody else has.")


def _read(data: str, shard: str | None) -> Trace:
    with (
        as_path(data, lambda: _told("Copying the journal")) as path,
        _told("Reading the journal") as say,
    ):
        return read_trace(path, shard, say)


@contextmanager
def _told(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar over the records."""
    shown = 0
    with progress(what, STEPS) as step:

        def say(done: int, total: int) -> None:
            nonlocal shown
            while shown < STEPS * done // max(1, total):
                shown += 1
                step()

        yield say


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Name the file that cannot be written; a full disk does not."""
    try:
        yield
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error


def _write(out: Path, columns: dict[str, list[Any]]) -> None:
    if out.suffix == ".parquet":
        write_parquet(out, columns)
        return
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([_harmless(name) for name in columns])
        for row in zip(*columns.values(), strict=True):
            writer.writerow(["" if cell is None else _harmless(cell) for cell in row])


def _harmless(cell: object) -> object:
    """Return a cell that no spreadsheet takes for a formula; ids come from players.

    >>> _harmless("=1+1"), _harmless("-5.5"), _harmless(-5.5), _harmless("ann")
    ("'=1+1", '-5.5', -5.5, 'ann')
    """
    if not isinstance(cell, str) or not cell.startswith(FORMULAS):
        return cell
    return cell if NUMBERS.fullmatch(cell) else f"'{cell}"
