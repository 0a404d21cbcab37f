"""Table 3 of "Automatic Game Matching": costs of all algorithms, as multiples of the optimum.

The paper says neither how it averaged nor what "raising" means. Both averages are given: `MoR`,
the mean of the six ratios, and `RoM`, the ratio of the sums; and both ramps: linear in `time`, or
in the `index` of the player.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec

from evenmatch.theory.floor import least_cost
from papers.schlup.other_rates import ID as OTHER_RATES
from papers.schlup.other_rates import other_rates
from papers.shared.estimates import Estimate, mean_of_ratios, ratio
from papers.shared.findings import Effort, Findings, Part, Row, Table, Verdict
from papers.shared.sequences import (
    CRITERIA,
    TIME,
    SequenceFigures,
    Task,
    cost_over_optimum,
    measure,
    optima,
    parts_over_optimum,
    seeds,
)
from papers.shared.words import of_row
from papers.shared.worlds import WAIT_MAX, Rates, World, file_name

ID = "schlup.table3"
RATES = (1.0, 3.0, 10.0)
RAMPS: tuple[Rates, ...] = ("time", "index")
CHOICES = range(2, 9)
FACTORS = range(1, 9)


class Algorithm(msgspec.Struct, frozen=True):
    """A line of the table.

    Args:
        name: As in the table.
        policies: A SPEC for each value of the parameter.
        printed: The paper's figure; None for policies that are not the paper's.
    """

    name: str
    policies: tuple[str, ...]
    printed: float | None = None


def _waits(origin: str) -> tuple[str, ...]:
    return ("greedy", *(f"difference_wait:factor={f},origin={origin}" for f in FACTORS))


ALGORITHMS = (
    Algorithm("A_G", ("greedy",), 2.04),
    Algorithm("A_PM", ("greedy", *(f"periodic:rounds_of={x}" for x in CHOICES)), 1.64),
    Algorithm("A_MQ", ("greedy", *(f"multi_queue:brackets={r}" for r in CHOICES)), 1.41),
    Algorithm("A_DW, waits from the arrival", _waits("arrival"), 1.39),
    Algorithm("A_DW, waits from the pairing", _waits("pair"), 1.39),
    Algorithm("delay_greedy", ("delay_greedy",)),
    Algorithm("price", ("price",)),
    Algorithm("gap_value", ("gap_value",)),
)
POLICIES = tuple(dict.fromkeys(policy for each in ALGORITHMS for policy in each.policies))
WORLDS = tuple(World(rate=rate, rates=rates) for rates in ("constant", *RAMPS) for rate in RATES)


def table3(effort: Effort) -> Part:
    """Return the part on Table 3, with the floor and the statements of section 5.3."""
    chosen = seeds(effort, quick=8, full=200)
    tasks = [
        Task(world=world, seed=seed, policies=POLICIES, wants_optimum=True)
        for seed in chosen
        for world in WORLDS
    ]
    return Part((ID, "schlup.floor", OTHER_RATES), measure, tasks, partial(_finish, effort.seed))


def _finish(seed: int, runs: Sequence[SequenceFigures]) -> Findings:
    by_world = {world.name: list(runs[at :: len(WORLDS)]) for at, world in enumerate(WORLDS)}
    rows = [*_optimum_rows(by_world), *_floor_rows(by_world)]
    for each in ALGORITHMS:
        rows += _setting_rows(each, by_world)
        rows += _average_rows(each, by_world)
    of_paper = {each.name: each for each in ALGORITHMS if each.printed is not None}
    rows += other_rates(
        by_world, lambda name, world: _best_in(of_paper[name], by_world[world]), list(of_paper)
    )
    scenarios = {
        row.scenario: world.toml(row.params["policy"], seed)
        for world in WORLDS
        for row in rows
        if row.scenario is not None and row.params["setting"] == world.name
    }
    tables = [*(_table(ramp, rows) for ramp in RAMPS), _table_of_parts(rows)]
    return Findings(tuple(rows), tuple(tables), scenarios=scenarios)


Runs = dict[str, list[SequenceFigures]]
"""The measured sequences of each world, by its name."""


def _settings(ramp: Rates) -> list[World]:
    """Return the six settings of one reading of the ramp."""
    return [world for world in WORLDS if world.rates in ("constant", ramp)]


def _optimum_rows(by_world: Runs) -> list[Row]:
    rows = []
    for world in WORLDS:
        best = optima(by_world[world.name])
        found = ratio(best, [world.count / 2] * len(best))
        rows.append(
            Row(
                id=ID,
                params={"algorithm": "OPT", "setting": world.name, "figure": "cost per match"},
                simulated=found.value,
                half_width=found.half_width,
            )
        )
    return rows


def _floor_rows(by_world: Runs) -> list[Row]:
    """Return the floor of each constant rate: cost per match, and relative to the optimum."""
    rows = []
    for rate in RATES:
        exact = least_cost(rate=rate, weight=2.0, wait_max=WAIT_MAX)
        name = World(rate=rate).name
        best = optima(by_world[name])
        over = ratio([exact * World(rate=rate).count / 2] * len(best), best)
        params = {"setting": name}
        rows += [
            Row(id="schlup.floor", params={**params, "figure": "cost per match"}, exact=exact),
            Row(
                id="schlup.floor",
                params={**params, "figure": "times OPT"},
                simulated=over.value,
                half_width=over.half_width,
            ),
        ]
    return rows


def _setting_rows(algorithm: Algorithm, by_world: Runs) -> list[Row]:
    """Return the ratio of each setting, with the parameter that is best there, and its parts."""
    rows = []
    for world in WORLDS:
        policy = _best_in(algorithm, by_world[world.name])
        found = cost_over_optimum(by_world[world.name], policy)
        params = {"algorithm": algorithm.name, "setting": world.name, "policy": policy}
        rows.append(
            Row(
                id=ID,
                params=params,
                simulated=found.value,
                half_width=found.half_width,
                scenario=file_name(world.name, policy),
            )
        )
        rows += [
            Row(
                id=ID,
                params={**params, "figure": part},
                simulated=each.value,
                half_width=each.half_width,
            )
            for part, each in parts_over_optimum(by_world[world.name], policy).items()
        ]
    return rows


def _best_in(algorithm: Algorithm, runs: Sequence[SequenceFigures]) -> str:
    return min(algorithm.policies, key=lambda policy: sum(each.costs[policy] for each in runs))


def _average_rows(algorithm: Algorithm, by_world: Runs) -> list[Row]:
    """Return both averages for both ramps, with the best parameter of each setting and of all."""
    found: list[tuple[dict[str, str], Estimate]] = []
    for ramp in RAMPS:
        settings = [by_world[world.name] for world in _settings(ramp)]
        for average in ("MoR", "RoM"):
            ways = {"per setting": [_best_in(algorithm, runs) for runs in settings]}
            if len(algorithm.policies) > 1:
                single = min(
                    algorithm.policies,
                    key=lambda policy: _average(average, settings, [policy] * 6).value,
                )
                ways["single"] = [single] * len(settings)
            for way, policies in ways.items():
                params = {"algorithm": algorithm.name, "ramp": ramp, "average": average}
                params |= {"parameters": way, "policy": policies[0]}
                if len(set(policies)) > 1:
                    params["policy"] = algorithm.policies[-1].partition(":")[0]
                    params["policies"] = " ".join(policies)
                found.append((params, _average(average, settings, policies)))
    low = min(each.value - each.half_width for _, each in found)
    high = max(each.value + each.half_width for _, each in found)
    return [
        Row(
            id=ID,
            params=params,
            printed=algorithm.printed,
            simulated=each.value,
            half_width=each.half_width,
            verdict=_verdict(algorithm.printed, each, low, high),
        )
        for params, each in found
    ]


def _average(
    average: str, settings: Sequence[Sequence[SequenceFigures]], policies: Sequence[str]
) -> Estimate:
    pairs = [
        ([each.costs[policy] for each in runs], optima(runs))
        for runs, policy in zip(settings, policies, strict=True)
    ]
    if average == "MoR":
        return mean_of_ratios(pairs)
    above = [sum(values) for values in zip(*(costs for costs, _ in pairs), strict=True)]
    below = [sum(values) for values in zip(*(best for _, best in pairs), strict=True)]
    return ratio(above, below)


def _verdict(printed: float | None, found: Estimate, low: float, high: float) -> Verdict | None:
    """Return the verdict on the paper's figure, given the range of its readings."""
    if printed is None:
        return None
    if abs(printed - found.value) <= found.half_width:
        return "holds"
    return "holds if" if low <= printed <= high else "differs"


def _table(ramp: Rates, rows: Sequence[Row]) -> Table:
    """Return the table of one ramp: a line for each algorithm, and the floor."""
    worlds = _settings(ramp)
    heads = ("cost / OPT", *(world.name for world in worlds), "MoR", "RoM", "MoR, one parameter")
    lines = []
    for each in ALGORITHMS:
        own = [row for row in rows if row.params.get("algorithm") == each.name]
        cells = [_cell(own, setting=world.name) for world in worlds]
        cells += [
            _cell(own, ramp=ramp, average=average, parameters="per setting")
            for average in ("MoR", "RoM")
        ]
        cells.append(_cell(own, ramp=ramp, average="MoR", parameters="single"))
        printed = "" if each.printed is None else f"{each.printed:.2f}"
        lines.append((each.name, *cells, printed))
    at_floor = [row for row in rows if row.id == "schlup.floor"]
    cells = [_cell(at_floor, setting=world.name, figure="times OPT") for world in worlds]
    lines.append(("floor of any policy without foreknowledge", *cells, "-", "-", "-", ""))
    text = (
        f"The ramp is linear in {ramp}. Parameters are the best of each setting, unless one "
        "column says otherwise; policies that are not the paper's have none. The floor is a "
        "proved lower bound; of ramps none is known."
    )
    return Table(f"Table 3, ramp by {ramp}", text, (*heads, "paper"), tuple(lines))


def _table_of_parts(rows: Sequence[Row]) -> Table:
    """Return the two parts of the costs of Table 3: a line for each algorithm."""
    heads = ("criteria + time, / OPT", *(world.name for world in WORLDS))
    lines = []
    for each in ALGORITHMS:
        own = [row for row in rows if row.id == ID and row.params.get("algorithm") == each.name]
        cells = [
            " + ".join(
                f"{row.simulated:.3f}"
                for part in (CRITERIA, TIME)
                for row in own
                if row.params.get("figure") == part and row.params.get("setting") == world.name
            )
            for world in WORLDS
        ]
        lines.append((each.name, *cells))
    text = (
        "The same costs, with the same parameters, in their two parts: what the criteria cost and "
        "what the waits do. Half-widths are in figures.csv."
    )
    return Table("Table 3, criteria and time", text, heads, tuple(lines))


def _cell(rows: Sequence[Row], **wanted: str) -> str:
    for row in rows:
        if "figure" in row.params and "figure" not in wanted:
            continue
        if all(row.params.get(key) == value for key, value in wanted.items()):
            return of_row(row)
    return "-"
