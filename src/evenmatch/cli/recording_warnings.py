"""What may surprise about recorded arrivals: what is drawn for want of a column, and what is not.

A recording gives its players what its columns hold; what else a scenario says of players is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import msgspec

from evenmatch.model.scenario import Arrivals, Scenario
from evenmatch.simulation.arrivals.arrivals import recorded_arrivals
from evenmatch.simulation.arrivals.file_rows import ColumnPlan, plan_columns
from evenmatch.simulation.arrivals.population import drawn_names
from evenmatch.simulation.arrivals.stream import column_hint
from evenmatch.simulation.arrivals.tables import open_table
from evenmatch.simulation.groups import DECILE

WORD = re.compile(r"\w+")
NAMED_MAX = 10
"""Columns that a warning names."""


def drawn_instead(
    scenario: Scenario, file: str | Path | None = None, by: Collection[str] = ()
) -> Iterator[str]:
    """Yield a sentence about attributes that are drawn while the file has columns nothing reads.

    Such a column may hold the attribute by another name. A file without columns to spare says
    nothing: there, the scenario's draws are what was asked for.

    Args:
        scenario: With or without a recording.
        file: A recording in place of the scenario's arrivals.
        by: Names by which figures are split, so that their columns are read.

    Raises:
        ArrivalsError: The file cannot be read.
    """
    recording = _recording_of(scenario, file)
    if recording is None or not recording.attributes:
        return
    header, plan = _columns_of(recording)
    drawn = drawn_names(recording, plan.names)
    unread = list(_unread(header, plan, scenario, by))[:NAMED_MAX]
    if not drawn or not unread:
        return
    name, is_one = drawn[0], len(unread) == 1
    theirs = unread[0] if is_one else "ITS NAME"
    tables = ", ".join(f"[attributes.{each}]" for each in drawn)
    yield (
        f"{recording.file} has no column{'s'[: len(drawn) > 1]} {', '.join(drawn)}, so values are "
        f"drawn from {tables}, and no queue reads its column{'s'[: not is_one]} "
        f"{', '.join(unread)}; if {'it' if is_one else 'one of them'} holds {name}, "
        f"{column_hint(name, theirs)}"
    )


def uncounted(scenario: Scenario) -> str:
    """Return the sentence about a scenario in which everybody comes during the warm-up."""
    return (
        f"no ticket is counted, because nobody comes after warmup = {scenario.warmup:g} s; write a "
        "smaller warmup, or let players come for longer"
    )


def is_drawn(scenario: Scenario, file: str | Path | None = None) -> bool:
    """Return whether chance has a part in who arrives, and when they leave.

    Args:
        scenario: With or without a recording.
        file: A recording in place of the scenario's arrivals.

    Raises:
        ArrivalsError: The file cannot be read.
    """
    recording = _recording_of(scenario, file)
    if recording is None:
        return True
    _, plan = _columns_of(recording)
    leaves = recording.patience is not None and "leaves_at" not in plan.reserved
    return leaves or bool(drawn_names(recording, plan.names))


def _recording_of(scenario: Scenario, file: str | Path | None) -> Arrivals | None:
    """Return the arrivals that come from a file, if they do."""
    arrivals = scenario.arrivals
    if file is not None:
        return recorded_arrivals(file, arrivals)
    is_recorded = arrivals is not None and arrivals.process == "file" and arrivals.file is not None
    return arrivals if is_recorded else None


def _columns_of(recording: Arrivals) -> tuple[Sequence[str], ColumnPlan]:
    """Return the file's header, and what its columns hold."""
    assert recording.file is not None
    table = open_table(recording.file)
    return table.header, plan_columns(table, recording.columns)


def _unread(
    header: Sequence[str], plan: ColumnPlan, scenario: Scenario, by: Collection[str]
) -> Iterator[str]:
    """Yield the file's names of columns whose attribute is no word of the queues."""
    named = [name.removesuffix(DECILE) for name in by]
    words = set(WORD.findall(msgspec.json.encode((scenario.queues, named)).decode()))
    reserved = [("rating", plan.reserved["rating"])] if "rating" in plan.reserved else []
    maps = [(name, at) for name, _, at in plan.maps]
    for name, at in (*reserved, *plan.attributes, *maps):
        if not words.issuperset(WORD.findall(name)):
            yield header[at]
