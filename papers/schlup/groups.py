"""Matches of more than two players: the algorithms that the paper extends, and Table 1."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from evenmatch.theory import schlup
from papers.shared.findings import Effort, Findings, Part, Row, Table, Verdict
from papers.shared.sequences import (
    SequenceFigures,
    Task,
    cost_per_match,
    measure,
    parts_per_match,
    seeds,
)
from papers.shared.words import of_row
from papers.shared.worlds import WAIT_MAX, World, file_name

LENGTH = 3000
WORLDS = tuple(
    World(rate=rate, k=k, criteria=d, count=LENGTH)
    for k, d, rate in ((10, 3, 10.0), (10, 3, 30.0), (10, 3, 100.0), (4, 1, 10.0), (4, 2, 30.0))
)
BRACKETS = tuple(f"multi_queue:brackets={r}" for r in range(1, 7))
FACTORS = tuple(f"difference_wait:factor={f}" for f in (1, 2, 4, 6, 8))
POLICIES = ("greedy", *BRACKETS, *FACTORS, "group_price")
SLACK = 0.03


def groups(effort: Effort) -> Part:
    """Return the part on matches of more than two players."""
    chosen = seeds(effort, quick=4, full=20)
    tasks = [Task(world=world, seed=seed, policies=POLICIES) for world in WORLDS for seed in chosen]
    ids = ("schlup.groups", "schlup.table1")
    return Part(ids, measure, tasks, partial(_finish, effort.seed))


def _finish(seed: int, results: Sequence[SequenceFigures]) -> Findings:
    each = len(results) // len(WORLDS)
    rows: list[Row] = []
    lines: list[tuple[str, ...]] = []
    scenarios: dict[str, str] = {}
    for at, world in enumerate(WORLDS):
        runs = results[at * each : (at + 1) * each]
        best, factor = _cheapest(runs, BRACKETS), _cheapest(runs, FACTORS)
        shown = ("greedy", best, factor, "group_price")
        own = [_row(world, runs, policy) for policy in shown]
        parts = [row for policy in shown for row in _rows_of_parts(world, runs, policy)]
        rows += [*own, _row_of_table1(world, runs, best), *parts]
        scenarios |= {file_name(world.name, policy): world.toml(policy, seed) for policy in shown}
        setting = f"k = {world.k}, D = {world.criteria}, a = {world.rate:g}"
        cells = map(of_row, own)
        lines.append((setting, *cells, best.partition("=")[2], factor.partition("=")[2]))
    heads = (
        "cost per match",
        "greedy",
        "multi_queue, best",
        "difference_wait, best",
        "group_price",
        "best brackets",
        "best factor",
    )
    text = (
        f"Sequences of {LENGTH:,} players; weights k/D, wait_max {WAIT_MAX:g} s. Of multi_queue "
        "and difference_wait the best parameter of each setting; group_price has none."
    )
    table = Table("More than two players", text, heads, tuple(lines))
    return Findings(tuple(rows), (table,), scenarios=scenarios)


def _cheapest(runs: Sequence[SequenceFigures], policies: Sequence[str]) -> str:
    return min(policies, key=lambda policy: cost_per_match(runs, policy).value)


def _params(world: World) -> dict[str, Any]:
    return {**world.setting, "criteria": world.criteria}


def _row(world: World, runs: Sequence[SequenceFigures], policy: str) -> Row:
    found = cost_per_match(runs, policy)
    return Row(
        id="schlup.groups",
        params={**_params(world), "policy": policy},
        simulated=found.value,
        half_width=found.half_width,
        scenario=file_name(world.name, policy),
    )


def _rows_of_parts(world: World, runs: Sequence[SequenceFigures], policy: str) -> list[Row]:
    """Return the criteria cost and the time cost of a match."""
    return [
        Row(
            id="schlup.groups",
            params={**_params(world), "policy": policy, "figure": part},
            simulated=each.value,
            half_width=each.half_width,
        )
        for part, each in parts_per_match(runs, policy).items()
    ]


def _row_of_table1(world: World, runs: Sequence[SequenceFigures], best: str) -> Row:
    """Return the number of brackets: by Table 1, corrected, and of least measured cost."""
    printed = schlup.r_opt(**world.setting, printed=True)
    corrected = schlup.r_opt(**world.setting, criteria=world.criteria)
    costs = {policy: cost_per_match(runs, policy).value for policy in BRACKETS}

    def is_best(brackets: float) -> bool:
        """Return whether this number, rounded either way, is as good as the cheapest."""
        near = [costs.get(f"multi_queue:brackets={int(brackets) + up}") for up in (0, 1)]
        known = [cost for cost in near if cost is not None]
        return bool(known) and min(known) <= costs[best] * (1.0 + SLACK)

    verdict: Verdict = "holds" if is_best(printed) else "wrong in print"
    if not is_best(corrected):
        verdict = "differs"
    return Row(
        id="schlup.table1",
        params=_params(world),
        printed=printed,
        corrected=corrected,
        simulated=float(best.partition("=")[2]),
        verdict=verdict,
        scenario=file_name(world.name, best),
    )
