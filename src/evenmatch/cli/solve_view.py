"""How `evenmatch solve` shows what it found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from evenmatch.lab.factors import FactorFigures
    from evenmatch.lab.solve import Solution

WORST_SHOWN = 3


def print_solution(
    out: Console,
    solution: Solution,
    figures: Sequence[FactorFigures],
    effects: Mapping[str, Mapping[str, float]],
) -> None:
    """Print the figures of a solution, its factors and its worst matches."""
    told = solution.as_json()
    for line in _sentences(solution, told):
        out.print(line, soft_wrap=True)
    if told["matches"]:
        _print_worst(out, told["matches"])
    if figures:
        _print_figures(out, solution, figures)
        _print_effects(out, solution, effects)


def _sentences(solution: Solution, told: Mapping[str, Any]) -> list[str]:
    batch, matches = solution.given.batch, told["matches"]
    seats = " against ".join(map(str, batch.seats.tolist()))
    lines = [f"{batch.players} players in {len(batch.first) - 1} parties, teams of {seats}"]
    if matches:
        lines.append(
            f"{len(matches)} matches, quality {told['quality']:.2f} of 100 "
            f"(median {told['median']:.2f}, worst tenth below {told['p10']:.2f})"
        )
    if told["bound"] is not None:
        end = "this is the best possible" if told["optimal"] else f"gap {told['gap']:.2f}"
        lines.append(f"no plan with as many matches exceeds {told['bound']:.2f}: {end}")
    if told["reason"]:
        lines.append(told["reason"])
    lines.append(
        f"{len(told['bench'])} players left over; {told['evaluations']:,} evaluations in "
        f"{told['elapsed']:.2f} s"
    )
    return lines


def _print_worst(out: Console, matches: Sequence[Mapping[str, Any]]) -> None:
    from rich.table import Table

    out.print(f"\nthe {min(WORST_SHOWN, len(matches))} worst matches", soft_wrap=True)
    names = list(matches[0]["factors"])
    table = Table(box=None, pad_edge=False)
    for head in ("quality", *names):
        table.add_column(head, justify="right")
    table.add_column("teams", overflow="fold")
    for match in sorted(matches, key=lambda each: each["quality"])[:WORST_SHOWN]:
        values = [match["quality"], *(match["factors"][name] for name in names)]
        teams = " - ".join("+".join(map(str, team)) for team in match["teams"])
        table.add_row(*(f"{value:.1f}" for value in values), teams)
    out.print(table)


def _print_figures(out: Console, solution: Solution, figures: Sequence[FactorFigures]) -> None:
    from rich.table import Table

    out.print(
        "\nwhat each factor does: its share of the variance of quality tells whether it "
        "overshadows the others",
        soft_wrap=True,
    )
    table = Table(box=None, pad_edge=False)
    table.add_column("factor")
    for head in ("weight", "mean", "spread", "zeros", "share"):
        table.add_column(head, justify="right")
    for each in figures:
        share = "-" if each.share is None else f"{each.share:.0%}"
        table.add_row(
            solution.named(each.name),
            f"{each.weight:.2f}",
            f"{each.mean:.1f}",
            f"{each.spread:.1f}",
            f"{each.zeros:.0%}",
            share,
        )
    out.print(table)


def _print_effects(
    out: Console, solution: Solution, effects: Mapping[str, Mapping[str, float]]
) -> None:
    from rich.table import Table

    out.print("\nwhat the means change when a factor is left out, in points", soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    table.add_column("without")
    for name in effects:
        table.add_column(solution.named(name), justify="right")
    for dropped, changes in effects.items():
        table.add_row(solution.named(dropped), *(f"{changes[name]:+.1f}" for name in effects))
    out.print(table)
