"""What `--quick` leaves out, in sentences, from the tasks themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from papers.shared.row import Part

LENGTHS = ("count", "duration")
"""Fields of tasks, or of their worlds, that say how long a run is."""
IDS_MAX = 3


def left_out(quick: Sequence[Part], full: Sequence[Part]) -> list[str]:
    """Return what the parts have less of than they could, a line for each part that has.

    Args:
        quick: The parts as they are done.
        full: The same parts without `--quick`.
    """
    return [
        f"{_ids(few)}: {words}"
        for few, many in zip(quick, full, strict=True)
        if (words := _less(few.tasks, many.tasks))
    ]


def _ids(part: Part) -> str:
    shown = ", ".join(part.ids[:IDS_MAX])
    return f"{shown} and {len(part.ids) - IDS_MAX} more" if len(part.ids) > IDS_MAX else shown


def _less(quick: Sequence[Any], full: Sequence[Any]) -> str:
    parts = []
    if len(quick) < len(full):
        parts.append(f"{len(quick):,} of {len(full):,} runs")
    few, many = _length(quick), _length(full)
    if few and many and few < 0.99 * many:
        parts.append(f"each {100.0 * few / many:.2g} % as long")
    if not parts and list(quick) != list(full):
        parts.append("a part of each run")
    return ", ".join(parts)


def _length(tasks: Sequence[Any]) -> float | None:
    """Return how long a task is on the mean, where tasks say it."""
    lengths = [_of(task) for task in tasks]
    known = [each for each in lengths if each is not None]
    return sum(known) / len(known) if known else None


def _of(task: Any) -> float | None:
    for owner in (task, getattr(task, "world", None)):
        for name in LENGTHS:
            value = getattr(owner, name, None)
            if isinstance(value, int | float):
                return float(value)
    return None
