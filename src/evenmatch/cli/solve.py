"""`evenmatch solve`: divide a batch of parties into matches, and say how good that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from evenmatch.cli.options import Whole, WholeOrNone
from evenmatch.cli.output import check_apart, check_writable, console, print_json, write_text
from evenmatch.cli.progress import progress
from evenmatch.errors import ConfigError, NotSupported

if TYPE_CHECKING:
    from evenmatch.lab.factors import FactorFigures
    from evenmatch.lab.search import Budget
    from evenmatch.lab.solve import Solution

BUDGET_MS = 1_000
BUDGET_MS_MAX = 86_400_000
EFFORT_MAX = 10**12
PARTS_MAX = 64
BOUND_SECONDS = 30
SEED_MAX = 2**62


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
    bound_seconds: Whole = BOUND_SECONDS,
    explain: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    json: Annotated[bool, Parameter(negative="", show_default=False)] = False,
) -> None:
    """Divide a batch of waiting parties into matches of teams.

    For example:

        evenmatch solve evening.json --budget-ms 500 --bound --explain

    Args:
        batch: The parties: a `.npz` of arrays, judged by the six factors of the Galactron blog, or
            a `.json` of tickets with format and criteria.
        out: Write the matches into this JSON file.
        policy: `anneal`, or `descent` with `escape=restarts|forced` and
            `start=skill|party|region|random`.
        budget_ms: Milliseconds to search, pair data included; 1,000 unless effort is given.
        effort: Evaluations to search for instead: the same result on every machine.
        parts: Independent searches side by side, each on a thread of its own; the best one counts.
        seed: Of all chance.
        objective: `mean`, `sqrt`, `power:P`, `rms` (of what matches lack), or `median` or `p10`,
            which choose among restarts.
        bound: Prove how good matches can be at the most.
        bound_seconds: Seconds that the proof may take.
        explain: Show what each factor does, and what the others gain without it.
        json: Print one JSON object and nothing else.
    """
    if find_spec("numba") is None:
        raise NotSupported("solve needs more packages: pip install 'evenmatch[solve]'")
    if bound and find_spec("highspy") is None:
        raise NotSupported("--bound needs more packages: pip install 'evenmatch[solve]'")
    _check_range("--seed", seed, 0, SEED_MAX)
    _check_range("--parts", parts, 1, PARTS_MAX)
    _check_range("--bound-seconds", bound_seconds, 1, 86_400)
    check_writable({"--out": out})
    check_apart({"--out": out}, [("the batch", batch)])
    from evenmatch.lab.batch_file import read_batch
    from evenmatch.lab.search import parse_method, parse_objective
    from evenmatch.lab.solve import Settings
    from evenmatch.lab.solve import solve as solve_batch

    settings = Settings(
        parse_method(policy),
        parse_objective(objective),
        _budget(budget_ms, effort, parts),
        seed,
        float(bound_seconds) if bound else None,
    )
    given = read_batch(batch)
    with progress("solving", 1) as on_part:
        solution = solve_batch(given, settings, on_part)
    if out is not None:
        import msgspec

        rows = [{"teams": match["teams"]} for match in solution.matches()]
        write_text(out, msgspec.json.encode({"matches": rows}).decode() + "\n")
    _show(solution, explain=explain, as_json=json, out=out)


def _check_range(option: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ConfigError(f"{option} must be from {low:,} to {high:,}, got {value:,}")


def _budget(budget_ms: int | None, effort: int | None, parts: int) -> Budget:
    from evenmatch.lab.search import Budget

    if effort is not None:
        if budget_ms is not None:
            raise ConfigError("give --budget-ms or --effort, not both")
        _check_range("--effort", effort, 1, EFFORT_MAX)
        return Budget(evaluations=effort, parts=parts)
    chosen = BUDGET_MS if budget_ms is None else budget_ms
    _check_range("--budget-ms", chosen, 0, BUDGET_MS_MAX)
    return Budget(chosen / 1000.0, parts=parts)


def _show(solution: Solution, *, explain: bool, as_json: bool, out: Path | None) -> None:
    from evenmatch.lab.solve import effects_of_dropping
    from evenmatch.lab.solve import explain as explain_solution

    figures: tuple[FactorFigures, ...] = ()
    effects: Mapping[str, Mapping[str, float]] = {}
    if explain:
        figures = explain_solution(solution)
        with progress("solving without each factor", len(solution.factors)) as on_done:
            effects = effects_of_dropping(solution, on_done)
    if as_json:
        told = solution.as_json()
        if explain:
            told["explain"] = _explained(solution, figures, effects)
        print_json(told)
        return
    from evenmatch.cli.solve_view import print_solution

    print_solution(console(), solution, figures, effects)
    if out is not None:
        print(f"matches: {out}")


def _explained(
    solution: Solution,
    figures: Sequence[FactorFigures],
    effects: Mapping[str, Mapping[str, float]],
) -> dict[str, Any]:
    """Return the figures of each factor, and what leaving it out does to the others' means."""
    return {
        solution.named(each.name): {
            "weight": each.weight,
            "mean": each.mean,
            "spread": each.spread,
            "zeros": each.zeros,
            "share": each.share,
            "without": {solution.named(k): v for k, v in effects.get(each.name, {}).items()},
        }
        for each in figures
    }
