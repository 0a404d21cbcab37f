"""Figures of a summary for people to read, in reports and on terminals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from evenmatch.criteria.gaps import gap_of_name
from evenmatch.simulation.metrics import Summary

OFF_SIDE = "off_side"
"""A figure of queues whose sides are wishes."""

GAPS = "gaps"
"""The part of a summary that has the gaps of matches by name."""
Row = tuple[str, str, str, int]

FIGURES: Sequence[Row] = (
    ("tickets", "tickets", "", 0),
    ("players", "players", "", 0),
    ("matches", "matches", "", 1),
    ("bots", "bots", "", -1),
    ("wait.mean", "wait, mean", "s", -1),
    ("wait.p50", "wait, half below", "s", -1),
    ("wait.p90", "wait, 90 % below", "s", -1),
    ("wait.p95", "wait, 95 % below", "s", -1),
    ("wait.p99", "wait, 99 % below", "s", -1),
    ("wait.max", "wait, longest", "s", -1),
    ("quality.mean", "quality, mean", "", 1),
    ("quality.p10", "quality, 90 % above", "", 1),
    ("cost", "cost of all matches", "", 0),
    ("cost_criteria", "of this the criteria, without waits", "", 0),
    ("cost_time", "of this the waits of their players", "", 0),
    ("cost_per_match", "cost per match", "", -1),
    ("cost_per_player", "cost per player", "", -1),
    ("cost_waiting", "cost of waiting unmatched", "", -1),
    ("expired", "expired", "", -1),
    ("cancelled", "cancelled", "", -1),
    ("cancelled_by.left", "of these left by themselves", "", -1),
    ("cancelled_by.declined", "of these declined a match", "", -1),
    ("cancelled_by.silent", "of these silent when asked", "", -1),
    ("unfinished", "unfinished", "", -1),
    ("merged", "merged (already waiting)", "", 0),
    ("checks.proposed", "matches proposed", "", 0),
    ("checks.failed", "ready-checks that lost a player", "", -1),
    ("checks.repaired", "of these repaired and played", "", 1),
    ("checks.dissolved", "of these given up", "", -1),
    ("outcomes.counted", "outcomes that counted", "", 0),
    (OFF_SIDE, "players on another side than asked", "", -1),
    ("optimum_cost", "cost of the best possible", "", 0),
    ("optimum_cost_immediate", "the same, bots at once", "", 0),
    ("ratio", "all costs, times the best possible", "", -1),
    ("bound_cost", "nothing costs less than", "", 0),
    ("gap", "all costs, above that bound", "%", -1),
    ("best_known_cost", "cost of the best plan found", "", 0),
)
"""Key, label, unit, and which direction is better: 1 = more, -1 = less, 0 = neither."""


def figure(summary: Summary, key: str) -> float | None:
    """Return a figure by its dotted key; None if it is null or was not computed."""
    value: Any = summary
    parts = key.split(".")
    if parts[0] == GAPS:
        # An attribute's name may contain dots.
        parts = [GAPS, ".".join(parts[1:-1]), parts[-1]]
    for part in parts:
        value = value.get(part)
        if value is None:
            return None
    return float(value)


def figures_of(summaries: Sequence[Summary]) -> list[Row]:
    """Return the rows of `FIGURES` that any of the summaries has, and those of its gaps."""
    rows = [row for row in FIGURES if any(row[0].split(".")[0] in s for s in summaries)]
    after = 1 + [key for key, *_ in rows].index("quality.p10")
    return [*rows[:after], *_gap_rows(summaries), *rows[after:]]


def _gap_rows(summaries: Sequence[Summary]) -> Iterator[Row]:
    """Yield the rows of gaps; for shares and for figures that should be large, only the mean."""
    for name in dict.fromkeys(name for each in summaries for name in each.get(GAPS, {})):
        gap = gap_of_name(name)
        yield f"{GAPS}.{name}.mean", name, gap.unit, gap.better
        if gap.unit != "%" and gap.better < 0:
            yield f"{GAPS}.{name}.p95", f"{name}, 95 % below", gap.unit, gap.better


def figure_text(value: float | None, unit: str = "") -> str:
    """Return a figure for people to read, with four digits unless it is a count.

    A share in [0, 1] is shown as a percentage if that is its unit.

    >>> figure_text(1211.0), figure_text(0.0406714, "s"), figure_text(None)
    ('1,211', '0.04067 s', '-')
    >>> figure_text(0.0833333, "%")
    '8.333 %'
    """
    if value is None:
        return "-"
    if unit == "%":
        value *= 100.0
    if value == int(value) and abs(value) < 1e15:
        text = f"{value:,.0f}"
    elif abs(value) >= 1000.0:
        text = f"{value:,.1f}"
    else:
        text = f"{value:.4g}"
    return f"{text} {unit}" if unit else text


def with_width(summary: Summary, key: str, unit: str = "") -> str:
    """Return a figure; with several runs, rounded to the precision of its half-width.

    >>> with_width({"cost": 2369.4, "ci95": {"cost": 141.2}}, "cost", "s")
    '2,369 ± 141 s'
    >>> with_width({"cost": 0.25163, "ci95": {"cost": 0.00541}}, "cost")
    '0.2516 ± 0.0054'
    """
    value = figure(summary, key)
    widths = summary.get("ci95")
    width = None if widths is None else figure(widths, key)
    if value is None or not width:
        return figure_text(value, unit)
    if unit == "%":
        value, width = 100.0 * value, 100.0 * width
    digits = max(0, 1 - math.floor(math.log10(width)))
    text = f"{value:,.{digits}f} ± {width:,.{digits}f}"
    return f"{text} {unit}" if unit else text


GROUP_FIGURES: Sequence[tuple[str, str, str]] = (
    ("players", "players", ""),
    ("wait.mean", "wait", "s"),
    ("wait.p90", "90 % below", "s"),
    ("quality.mean", "quality", ""),
    (OFF_SIDE, "off side", ""),
)
"""Key, label and unit of the figures of each group of `--by`."""


class GroupTable(msgspec.Struct, frozen=True):
    """The groups of an attribute as rows, with each figure of every policy.

    Args:
        attribute: The attribute that defines the groups.
        heads: A name for each column after the first.
        rows: A group's value, then its figures as text.
    """

    attribute: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def group_tables(names: Sequence[str], summaries: Sequence[Summary]) -> list[GroupTable]:
    """Return a table for each attribute of `--by`, the policies side by side.

    Args:
        names: Of the policies.
        summaries: Of the policies, in the same order.
    """
    tables = []
    for attribute in dict.fromkeys(key for each in summaries for key in each.get("by", {})):
        groups = [summary.get("by", {}).get(attribute, {}) for summary in summaries]
        values = list(dict.fromkeys(value for each in groups for value in each))
        told = [
            row
            for row in GROUP_FIGURES
            if row[0] != OFF_SIDE
            or any(OFF_SIDE in each for own in groups for each in own.values())
        ]
        rows = [
            (
                value,
                *(_of_group(each, value, key, unit) for key, _, unit in told for each in groups),
            )
            for value in values
        ]
        heads = [_head(words, name, names) for _, words, _ in told for name in names]
        tables.append(GroupTable(attribute, tuple(heads), tuple(rows)))
    return tables


def _of_group(groups: Summary, value: str, key: str, unit: str) -> str:
    """Return a figure; None for a policy under which no player of the group finished."""
    return with_width(groups[value], key, unit) if value in groups else "-"


def _head(words: str, name: str, names: Sequence[str]) -> str:
    return words if len(names) == 1 else f"{words}, {name}"
