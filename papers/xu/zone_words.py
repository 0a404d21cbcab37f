"""What section V says about zones without a formula."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from evenmatch.theory.zones import Zones, zones
from papers.shared.row import Findings, Row
from papers.shared.words import table_of_rows
from papers.xu.tell import tell

MOVED = (0.0, 0.05, 0.15, 0.25)
"""Shares of all players who become choice-free, of a half who are experts."""
FINE = tuple(number / 100.0 for number in range(1, 100))


def zone_words() -> Findings:
    """Return the rows of section V's text, all at one player per second."""
    rows = [*_crowded(), *_savings(), *_whole()]
    text = "One player per second: juniors, experts and choice-free experts. Seconds."
    return Findings(tuple(rows), (table_of_rows("Zones: what the text says", text, rows),))


def factor(junior: float, flexible: float) -> float:
    """Return the improvement factor at one player per second."""
    found = _zones(junior, flexible)
    assert found.improvement is not None
    return found.improvement


def _zones(junior: float, flexible: float) -> Zones:
    expert = round(1.0 - junior - flexible, 12)
    return zones(junior=junior, expert=expert, flexible=flexible)


def _crowded() -> list[Row]:
    """Return what a crowded junior zone is worth to experts: most, not nothing."""
    return [
        tell("text5", "'crowded junior zone: no incentive': percent that the first one saves",
             junior=junior, printed=0.0, corrected=50.0 * (1.0 + junior),
             exact=100.0 * (1.0 - factor(junior, 0.0)), verdict="wrong in print")
        for junior in (0.6, 0.8, 0.95)
    ]  # fmt: skip


def _savings() -> list[Row]:
    by_junior = [factor(junior, 0.0) for junior in FINE]
    by_free = [factor((1.0 - free) / 2.0, free) for free in FINE]
    return [
        tell("text5", "percent that the first choice-free expert saves, equal zones", junior=0.5,
             printed=75.0, exact=100.0 * (1.0 - factor(0.5, 0.0))),
        tell("text5", "percent that he saves where juniors are .8", junior=0.8, printed=90.0,
             exact=100.0 * (1.0 - factor(0.8, 0.0))),
        tell("text5", "'the maximal benefit': percent where juniors are .99", junior=0.99,
             printed=90.0, exact=100.0 * (1.0 - factor(0.99, 0.0))),
        tell("text5", "steps out of 98 in which fewer juniors make the factor smaller", printed=0.0,
             exact=float(sum(b > a for a, b in pairwise(by_junior)))),
        tell("text5", "steps out of 98 in which more choice-free make the factor smaller",
             printed=0.0, exact=float(sum(b < a for a, b in pairwise(by_free)))),
        tell("text5", "most that (25) differs for other total rates, all of the same shares",
             junior=0.5, printed=0.0,
             exact=abs((zones(junior=5.0, expert=5.0, flexible=0.0).improvement or 0.0)
                       - factor(0.5, 0.0))),
    ]  # fmt: skip


def _whole() -> list[Row]:
    """Return what the choice-free do to all players, and to those who stay experts."""
    rows = []
    for moved in MOVED:
        found = _zones(0.5, moved)
        setting: dict[str, Any] = {"junior": 0.5, "flexible": moved}
        rows += [
            tell("text5", "mean wait of all", **setting, exact=found.mean),
            tell("text5", "mean wait of those who stay experts", **setting,
                 exact=found.mean_expert),
        ]  # fmt: skip
    means = [_zones(0.5, share / 200.0).mean for share in range(101)]
    falls = [a - b for a, b in pairwise(means)]
    of_both = [_zones(0.5 - share / 400.0, share / 200.0).mean for share in range(200)]
    less = [a - b for a, b in pairwise(of_both)]
    stay = [_zones(0.5, share / 200.0).mean_expert or 0.0 for share in range(100)]
    return [
        *rows,
        tell("text5", "'the more, the lower': steps out of 100 in which the mean wait grows",
             junior=0.5, printed=0.0, exact=float(sum(fall < 0 for fall in falls))),
        tell("text5", "'marginal value decreases': steps out of 99 in which it grows, if only "
             "experts become choice-free", junior=0.5, printed=0.0,
             exact=float(sum(b > a for a, b in pairwise(falls)))),
        tell("text5", "'marginal value decreases': steps out of 198 in which it grows, if both "
             "zones give them", printed=0.0, exact=float(sum(b > a for a, b in pairwise(less)))),
        tell("text5", "'benefits the whole system': steps of .005 of all players "
             "after which those who stay wait longer, out of 99", junior=0.5, printed=0.0,
             exact=float(sum(b > a for a, b in pairwise(stay))),
             verdict="holds if"),
    ]  # fmt: skip
