"""`evenmatch solve`: divide a batch of parties into matches, and say how good that is."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from evenmatch.cli.options import Whole, WholeOrNone
from evenmatch.cli.output import check_apart, check_writable, console, print_json, write_text
from evenmatch.cli.progress import progress, saying
from evenmatch.errors import NotSupported

if TYPE_CHECKING:
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
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> None:
    """Divide a batch of waiting parties into matches of teams.

    For example:

        evenmatch solve scenarios/evening.json --budget-ms 500 --bound --explain

    Args:
        batch: The parties: a `.npz` of arrays, judged by the six factors of the Galactron blog, or
            a `.json` of tickets with format and criteria.
        out: Write the matches into this JSON file.
        policy: `anneal`, or `descent` with `escape=restarts|forced` and
            `start=skill|party|region|random`.
        budget_ms: Milliseconds to search, pair data included; 1,000 unless effort is given.
        effort: Evaluations to search for instead: the same result on every machine.
        parts: Independent searches in parallel, each on its own thread; the best result counts.
        seed: Seed of all random draws.
        objective: `mean`, `sqrt`, `power:P`, `rms` (of what matches lack), or `median` or `p10`,
            which choose among restarts.
        bound: Prove an upper bound on how good the matches can be.
        bound_seconds: Seconds that the proof may take, 30 unless given; implies --bound.
        explain: Show what each factor does, and how the others change without it.
        json: Print one JSON object and nothing else.
    """
    if find_spec("numba") is None:
        raise NotSupported("solve needs more packages: pip install 'evenmatch[solve]'")
    check_writable({"--out": out})
    check_apart({"--out": out}, [("the batch", batch)])
    from evenmatch.lab.solve.files import read_batch
    from evenmatch.lab.solve.solve import budget_of, settings_of
    from evenmatch.lab.solve.solved import solved

    settings = settings_of(
        policy=policy,
        objective=objective,
        budget=budget_of(budget_ms, effort, parts),
        seed=seed,
        bound_seconds=BOUND_SECONDS if bound and bound_seconds is None else bound_seconds,
    )
    given = read_batch(batch)
    with saying("solving") as say:
        solution = solved(given, settings, on_proof=lambda most, _: say(f"bound {most:.2f}"))
    if explain:
        from evenmatch.lab.solve.explain_batch import explained

        with progress("solving without each factor", len(solution.factors)) as on_done:
            solution = replace(solution, explanation=explained(solution, on_done))
    _show(solution, out, as_json=json)


def _show(solution: Solution, out: Path | None, *, as_json: bool) -> None:
    if out is not None:
        write_text(out, f"{_file_of(solution)}\n")
    if as_json:
        print_json(solution.summary)
        return
    from evenmatch.cli.solve_view import print_solution

    print_solution(console(), solution)
    if out is not None:
        print(f"matches: {out}")


def _file_of(solution: Solution) -> str:
    """Return the matches as a JSON object, `ids` with them where players have some."""
    import msgspec

    kept = ("teams", "ids")
    rows = [{key: match[key] for key in kept if key in match} for match in solution.matches]
    return msgspec.json.encode({"matches": rows}).decode()
