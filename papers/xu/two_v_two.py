"""Sections II-C and III: two against two, in one queue and in two; (3) to (10)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from papers.shared.row import Effort, Findings, Part
from papers.shared.words import table_of_rows
from papers.xu.central import differences, limits, rows_of
from papers.xu.points import LENGTH, Point, points, texts
from papers.xu.tell import agreement
from papers.xu.trial import Observed, Trial, observe
from papers.xu.variances import figure5

IDS = ("3", "4", "5", "6", "7", "8", "9", "10", "11", "lemma2", "figure3", "figure4", "figure5",
       "text3")  # fmt: skip


def two_against_two(effort: Effort) -> Part:
    """Return the part of two against two."""
    own = points(effort.seed)
    tasks = [
        Trial(
            name=each.scenario,
            text=each.text(effort.seed),
            count=60_000 if effort.quick else LENGTH,
            by="queues" if each.order == "two_queues" else "size",
            wants_states=each.order == "fifo",
        )
        for each in own
    ]
    ids = tuple(f"xu.{name}" for name in IDS)
    return Part(ids, observe, tasks, partial(_finish, effort, own))


def _finish(effort: Effort, own: Sequence[Point], results: Sequence[Observed]) -> Findings:
    seen = list(zip(own, results, strict=True))
    rows = [row for point, found in seen for row in rows_of(point, found)]
    rows += [*limits(), *differences(seen)]
    text = (
        "Individual players and pairs per second; figures are of a random player unless they say "
        f"otherwise, in seconds. {agreement(rows, effort)}"
    )
    tables = [table_of_rows("Two against two: (3) to (10), Lemma 2, figures 3 and 4", text, rows)]
    curves = figure5([(each.solo, each.party, each.order, found.var()) for each, found in seen])
    return Findings(
        (*rows, *curves.rows), (*tables, *curves.tables), curves.plots, texts(effort.seed)
    )
