"""`evenmatch solve`: divide a batch of parties into matches, and say how good that is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from evenmatch.cli.options import Whole, WholeOrNone
from evenmatch.cli.output import (
    check_distinct_paths,
    check_writable,
    console,
    print_json,
    write_text,
)
from evenmatch.cli.progress import progress, saying
from evenmatch.errors import NotSupported

if TYPE_CHECKING:
    from rich.console import Console

    from evenmatch.lab.solve.solution import Solution


BOUND_SECONDS = 30


def solve(
    batch: Path,
    /,
    *,
    out: Path | None = None,
    policy: str = "anneal",
    budget_ms: WholeOrNone = None,
    effort: WholeOrNone = None,
    parts: Whole = 1,
    seed: Whole = 1,
    objective: str = "mean",
    bound: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    bound_seconds: WholeOrNone = None,
    explain: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    rules: Path | None = None,
    waited: float | None = None,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> None:
    """Divide a batch of waiting parties into matches of teams.

    For example:

        evenmatch solve scenarios/evening.json --budget-ms 500 --bound --explain

    Args:
        batch: The parties: a `.json` file of tickets with a format and criteria, or a `.npz` file
            of arrays, whose matches are judged by the six factors of the Galactron blog.
        out: Write the matches to this JSON file.
        policy: `anneal`, or `descent` with `escape=restarts|forced` and
            `start=skill|party|region|random`.
        budget_ms: Milliseconds to search, including the comparison of pairs; 1,000 unless --effort
            is given.
        effort: Number of evaluations to search for instead; the result is then the same on every
            machine.
        parts: Independent searches in parallel, each on its own thread; the best result is used.
        seed: Seed of all random draws.
        objective: How to judge all matches together: `mean`, `sqrt`, `power:P`, or `rms` (of what
            matches lack); `median` and `p10` choose among restarts.
        bound: Also prove an upper bound on how good the matches can be.
        bound_seconds: Seconds that the proof may take, 30 by default; implies --bound.
        explain: Show what each factor contributes, and how the others change without it.
        rules: A FlexMatch rule set or a PlayFab queue, in JSON, that matches must obey; the batch
            then has no format, and its own rules hold as well.
        waited: Seconds that every party has waited, for rules that widen.
        json: Print one JSON object and nothing else.
    """
    if find_spec("numba") is None:
        raise NotSupported("solve needs more packages: pip install 'evenmatch[solve]'")
    check_writable({"--out": out})
    check_distinct_paths({"--out": out}, [("the batch", batch)])
    from evenmatch.lab.solve.json_batch import RuledBatch, read_batch
    from evenmatch.lab.solve.solution import solve_batch
    from evenmatch.lab.solve.solve import budget_of, settings_of

    settings = settings_of(
        policy=policy,
        objective=objective,
        budget=budget_of(budget_ms, effort, parts),
        seed=seed,
        bound_seconds=BOUND_SECONDS if bound and bound_seconds is None else bound_seconds,
    )
    given = read_batch(batch, RuledBatch(rules, waited))
    with saying("solving") as say:
        solution = solve_batch(given, settings, on_proof=lambda most, _: say(f"bound {most:.2f}"))
    if explain:
        from evenmatch.lab.solve.solve import explained

        with progress("solving without each factor", len(solution.factors)) as on_done:
            solution = replace(solution, explanation=explained(solution, on_done))
    _show(solution, out, as_json=json)


def _show(solution: Solution, out: Path | None, *, as_json: bool) -> None:
    if out is not None:
        write_text(out, f"{_file_of(solution)}\n")
    if as_json:
        print_json(solution.summary)
        return
    from evenmatch.cli.solve import print_solution

    print_solution(console(), solution)
    if out is not None:
        print(f"matches: {out}")


def _file_of(solution: Solution) -> str:
    """Return the matches as a JSON object, `ids` with them where players have some."""
    import msgspec

    kept = ("teams", "ids")
    rows = [{key: match[key] for key in kept if key in match} for match in solution.matches]
    return msgspec.json.encode({"matches": rows}).decode()


# How `evenmatch solve` shows what it found.

WORST_SHOWN = 3


def print_solution(out: Console, solution: Solution) -> None:
    """Print the figures of a solution, its factors and its worst matches."""
    told = solution.summary
    for line in _sentences(solution, told):
        out.print(line, soft_wrap=True)
    if told["quality"] is not None:
        _print_worst(out, told["matches"])
    if solution.explanation:
        _print_figures(out, solution.explanation)
        if len(solution.explanation) > 1:
            _print_effects(out, solution.explanation)


def _sentences(solution: Solution, told: Mapping[str, Any]) -> Iterator[str]:
    batch, matches = solution.given.batch, told["matches"]
    parties = len(batch.first) - 1
    yield f"{_count(batch.players, 'player')} in {_count(parties, 'party')}, {_teams(solution)}"
    if matches and told["quality"] is None:
        yield f"{_count(len(matches), 'match')}, no quality: no criterion has a scale"
    elif matches:
        yield (
            f"{_count(len(matches), 'match')}, quality {told['quality']:.2f} of 100 "
            f"(median {told['median']:.2f}, worst tenth below {told['p10']:.2f})"
        )
    if told["bound"] is not None:
        end = "PROVEN, this is the best possible" if told["optimal"] else f"gap {told['gap']:.2f}"
        yield f"no plan with as many matches exceeds {told['bound']:.2f}: {end}"
    yield from filter(None, (told["bound_reason"], told["reason"]))
    yield (
        f"{_count(len(told['bench']), 'player')} left over; {told['evaluations']:,} evaluations "
        f"in {told['elapsed']:.2f} s"
    )


def _teams(solution: Solution) -> str:
    batch = solution.given.batch
    most, least = batch.seats.tolist(), batch.seats_min.tolist()
    seats = [f"{n}" if n == m else f"{m} to {n}" for n, m in zip(most, least, strict=True)]
    return f"teams of {' against '.join(seats)}"


def _count(number: int, what: str) -> str:
    many = {"party": "parties", "match": "matches"}.get(what, f"{what}s")
    return f"{number:,} {what if number == 1 else many}"


def _print_worst(out: Console, matches: Sequence[Mapping[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    shown = min(WORST_SHOWN, len(matches))
    title = "the worst match" if shown == 1 else f"the {shown} worst matches"
    out.print(f"\n{title}", soft_wrap=True)
    names = list(matches[0]["factors"])
    table = Table(box=None, pad_edge=False)
    for head in ("quality", *names):
        table.add_column(head, justify="right", overflow="fold")
    table.add_column("teams", overflow="fold")
    for match in sorted(matches, key=lambda each: each["quality"])[:WORST_SHOWN]:
        values = [match["quality"], *(match["factors"][name] for name in names)]
        teams = " - ".join("+".join(map(str, t)) for t in match.get("ids", match["teams"]))
        table.add_row(*(f"{value:.1f}" for value in values), Text(teams))
    out.print(table)


def _print_figures(out: Console, explanation: Mapping[str, Mapping[str, Any]]) -> None:
    from rich.table import Table

    out.print(
        "\nwhat each factor does: its share of the variance of quality tells whether it "
        "overshadows the others",
        soft_wrap=True,
    )
    table = Table(box=None, pad_edge=False)
    table.add_column("factor", overflow="fold")
    for head in ("weight", "mean", "spread", "zeros", "share"):
        table.add_column(head, justify="right", overflow="fold")
    for name, each in explanation.items():
        share = "-" if each["share"] is None else f"{each['share']:.0%}".replace("-0%", "0%")
        table.add_row(
            name,
            f"{each['weight']:.2f}",
            f"{each['mean']:.1f}",
            f"{each['spread']:.1f}",
            f"{each['zeros']:.0%}",
            share,
        )
    out.print(table)


def _print_effects(out: Console, explanation: Mapping[str, Mapping[str, Any]]) -> None:
    from rich.table import Table

    out.print("\nwhat the means change when a factor is left out, in points", soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    table.add_column("without", overflow="fold")
    for name in explanation:
        table.add_column(name, justify="right", overflow="fold")
    for dropped, each in explanation.items():
        changes = each["without"]
        table.add_row(dropped, *(f"{changes[name]:+.1f}" for name in explanation if changes))
    out.print(table)
