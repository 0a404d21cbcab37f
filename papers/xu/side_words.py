"""What section IV says about sides without a formula."""

from __future__ import annotations

from evenmatch.theory.sides import sides
from papers.shared.row import Findings, Row
from papers.shared.words import table_of_rows
from papers.xu.tell import said, tell

B = 0.4
"""Share of players who insist on side B, in figure 10."""
STEPS = 1_000
HARDLY, SHARP = 5.0, 2.0
"""Our readings: hardly changes is by less than five percent, sharply is at least twofold."""
DUEL = 0.5
"""Mean wait of duels without sides, at one player per second."""


def side_words() -> Findings:
    """Return the rows of section IV's text, all at one player per second."""
    rows = [*_fall_and_rise(), *_dominated(), *_factor(), *_small_portion()]
    text = "One player per second: a, b and the rest, who are choice-free. Seconds."
    return Findings(tuple(rows), (table_of_rows("Sides: what the text says", text, rows),))


def mean_at(a: float, b: float) -> float | None:
    """Return the mean wait at one player per second; None where it is infinite."""
    return sides(a=a, b=b, flexible=round(1.0 - a - b, 12)).mean


def _wait(a: float, b: float) -> float:
    found = mean_at(a, b)
    assert found is not None, "the setting is stable"
    return found


def _fall_and_rise() -> list[Row]:
    grid = [number * 0.49 / STEPS for number in range(STEPS)]
    waits = [_wait(a, B) for a in grid]
    least = min(range(STEPS), key=waits.__getitem__)
    first = waits[0]
    at_three, sharply = 100.0 * (_wait(0.3, B) / first - 1.0), _wait(0.49, B) / _wait(B, B)
    percent = 100.0 * (first - waits[least]) / first
    return [
        tell("text4", "'first help': share of A at which the mean wait is least", b=B,
             exact=grid[least], verdict=said(0 < least < STEPS - 1)),
        tell("text4", "the mean wait there", b=B, exact=waits[least]),
        tell("text4", "by how much it fell from no A at all, percent", b=B, exact=percent,
             verdict=said(percent > 0.0)),
        tell("text4", "'hardly changes while a < b': percent more at a = .3 than at 0", b=B,
             exact=at_three, verdict=said(at_three < HARDLY)),
        tell("text4", "'hardly changes while a < b': percent more at a = b than at 0", b=B,
             exact=100.0 * (_wait(B, B) / first - 1.0), verdict="holds if"),
        tell("text4", "'increases sharply' where a > b: times as long at a = .49 as at b", b=B,
             exact=sharply, verdict=said(sharply > SHARP)),
    ]  # fmt: skip


def _dominated() -> list[Row]:
    """Return how much the larger side says, and how much the smaller one."""
    rows = []
    for larger in (0.3, 0.4, 0.45):
        waits = [_wait(larger * part / 20.0, larger) for part in range(21)]
        rows.append(
            tell("text4", "'max(a, b) dominates': longest over shortest wait for any smaller side",
                 larger=larger, exact=max(waits) / min(waits), verdict="holds if")
        )  # fmt: skip
    rows.append(
        tell("text4", "the same, over the larger side from .3 to .45 and no smaller one",
             exact=_wait(0.0, 0.45) / _wait(0.0, 0.3))
    )  # fmt: skip
    return rows


def _factor() -> list[Row]:
    """Return what the improvement factor says of those who change, and what it doesn't."""
    rows = []
    for share in (0.1, 0.4):
        before = sides(a=0.4, b=share, flexible=round(0.6 - share, 12))
        moved = sides(a=0.4, b=share - 0.01, flexible=round(0.61 - share, 12))
        rows += [
            tell("text4", "improvement factor, which compares classes inside one system", a=0.4,
                 b=share, exact=before.improvement_b, verdict="holds if"),
            tell("text4", "wait of B after 1 % of the players left B to be choice-free", a=0.4,
                 b=share, exact=moved.mean_b),
            tell("text4", "wait of B before", a=0.4, b=share, exact=before.mean_b),
        ]  # fmt: skip
    return rows


def _small_portion() -> list[Row]:
    """Return what a small portion of choice-free players guarantees."""
    rows = []
    for free in (0.02, 0.05, 0.1, 0.2):
        side = (1.0 - free) / 2.0
        rows.append(
            tell("text4", "'a small portion': times the wait of duels without sides, equal sides",
                 flexible=free, exact=_wait(side, side) / DUEL, verdict="holds if")
        )  # fmt: skip
    growth = sides(a=0.55, b=0.35, flexible=0.1).growth
    rows.append(
        tell("text4", "'a small portion': a tenth, but sides are .55 and .35: growth per second",
             flexible=0.1, exact=growth, verdict="holds if")
    )  # fmt: skip
    return rows
