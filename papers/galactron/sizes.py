"""The number of players of a round: quality by pool and region, and where bad matches come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from evenmatch.lab.report.plots import Plot, PlotLine
from evenmatch.lab.solve.solution import POINTS, cost_of
from evenmatch.simulation.world.parties import Geography
from papers.galactron.pools import (
    DISTANT,
    EUROPE,
    EVENING_WORLD,
    K,
    Pool,
    mean_at,
    named_factors,
    ping_to_enemies,
    pool_of,
    solved,
    tenth,
)
from papers.shared.estimates import Found, difference, is_above, mean_of, told
from papers.shared.findings import Effort, Findings, Part, Row, Table, Verdict
from papers.shared.sequences import seeds
from papers.shared.words import figure

SIZES = (30, 60, 102, 150, 204, 300, 450, 600)
LARGER = (1200, 2400)
"""Without `--quick` only, and fewer pools: the sizes that a hit game would have."""
POOLS, POOLS_LARGER = 40, 10
EFFORT = 2_000
"""Evaluations per player."""
GROUPS = {"Europe": (EUROPE,), **{name: (name,) for name in DISTANT}}
HUNDRED, WANTED = 102, 300
"""Players of a round that the blog waits for, and that it considers ideal."""
POOLS_LEAST = 3
"""Least number of pools with players of a region for which figures are given."""
WORDS = {"players": "players", "quality": "quality", "ping": "ping with enemies, ms"}


class Round(msgspec.Struct, frozen=True):
    """A pool of some size, solved once."""

    players: int
    seed: int


def sizes(effort: Effort) -> Part:
    """Return the part on pools of all sizes."""
    asked = SIZES[:-2] if effort.quick else SIZES + LARGER
    tasks = [
        Round(players, seed)
        for players in reversed(asked)
        for seed in seeds(effort, quick=6, full=POOLS_LARGER if players in LARGER else POOLS)
    ]
    ids = ("galactron.pool", "galactron.regions", "galactron.extremes")
    return Part(ids, play_round, tasks, lambda found: _finish(tasks, found))


def play_round(given: Round) -> Found:
    """Return the quality of the matches of a pool, in total and by region."""
    pool = pool_of(given.players, given.seed)
    plan = solved(pool.batch, EFFORT * given.players, given.seed)
    quality = POINTS * plan.quality
    by_player = np.broadcast_to(quality[:, None], plan.seating.shape)
    pings = ping_to_enemies(pool.batch, plan.seating)
    found: dict[str, float | None] = {
        "quality": float(quality.mean()),
        "worst tenth": tenth(quality),
    }
    for name, beginnings in GROUPS.items():
        chosen = pool.is_of(*beginnings)
        found[f"{name} players"] = float(chosen.sum())
        found[f"{name} quality"] = mean_at(by_player, plan.seating, chosen)
        found[f"{name} ping"] = mean_at(pings, plan.seating, chosen)
    return found | _extremes(pool, plan.seating)


def _extremes(pool: Pool, seated: np.ndarray) -> Found:
    """Return the share of parties of several regions in the worst matches."""
    factors = named_factors(pool.batch)
    quality = POINTS * (1.0 - cost_of(pool.batch, seated))
    ping = POINTS * (1.0 - cost_of(factors["ping"].alone, seated))
    has_mixed = pool.mixed()[seated].any(axis=1)
    bad = quality <= tenth(quality)
    return {
        "share mixed": POINTS * float(has_mixed.mean()),
        "share mixed of worst": POINTS * float(has_mixed[bad].mean()),
        "quality with mixed": _mean(quality[has_mixed]),
        "quality without mixed": _mean(quality[~has_mixed]),
        "ping with mixed": _mean(ping[has_mixed]),
        "ping without mixed": _mean(ping[~has_mixed]),
        "worst tenth without mixed": tenth(quality[~has_mixed]) if (~has_mixed).any() else None,
    }


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if values.size else None


def _finish(tasks: Sequence[Round], results: Sequence[Found]) -> Findings:
    by_size: dict[int, list[Found]] = {}
    for task, found in zip(tasks, results, strict=True):
        by_size.setdefault(task.players, []).append(found)
    by_size = dict(sorted(by_size.items()))
    rows = [*_about_size(by_size), *_about_regions(by_size), *_about_extremes(by_size)]
    return Findings(tuple(rows), (_table(by_size),), (_plot(by_size), _plot_of_pings(by_size)))


def _about_size(by_size: dict[int, list[Found]]) -> list[Row]:
    rows = []
    before: list[Found] = []
    smaller = 0
    for players, own in by_size.items():
        for key in ("quality", "worst tenth"):
            rows.append(told("galactron.pool", key, mean_of(own, key), players=players))
        if before:
            # There are fewer of the largest pools: the first seeds of all.
            both = [
                {"now": now["quality"], "before": then["quality"]}
                for now, then in zip(own, before, strict=False)
            ]
            gain = difference(both, "now", "before")
            verdict = is_above(gain) if players <= WANTED else None
            what = f"better than {smaller} players by, points"
            rows.append(told("galactron.pool", what, gain, verdict, players=players))
        before, smaller = own, players
    return rows


def _about_regions(by_size: dict[int, list[Found]]) -> list[Row]:
    rows = _players_needed()
    for players, own in by_size.items():
        for name in GROUPS:
            setting: dict[str, Any] = {"players": players, "region": name}
            if sum(each[f"{name} ping"] is not None for each in own) < POOLS_LEAST:
                continue
            for key, what in WORDS.items():
                found = mean_of(own, f"{name} {key}")
                rows.append(told("galactron.regions", what, found, **setting))
            if name in DISTANT:
                more = difference(own, f"{name} ping", "Europe ping")
                what = "ping with enemies above that of Europe, ms"
                rows.append(told("galactron.regions", what, more, is_above(more), **setting))
    for name in DISTANT:
        both: list[Found] = [
            {"few": few[f"{name} ping"], "many": many[f"{name} ping"]}
            for few, many in zip(by_size[HUNDRED], by_size[WANTED], strict=True)
        ]
        less = difference(both, "few", "many")
        what = f"ping with enemies less by with {WANTED} players than with {HUNDRED}, ms"
        rows.append(told("galactron.regions", what, less, is_above(less), region=name))
    return rows


def _players_needed() -> list[Row]:
    """Return how many of a region are in a round, and how large it must be for a match of them."""
    geography = Geography(EVENING_WORLD)
    shares = geography.shares[int(EVENING_WORLD.hour)].tolist()
    rows = []
    for name, share in zip(geography.names, shares, strict=True):
        if name not in DISTANT:
            continue
        few = HUNDRED * share
        params = {"region": name, "what": f"players of the region in a round of {HUNDRED}"}
        verdict: Verdict = "holds" if few < K else "differs"
        rows.append(Row(id="galactron.regions", params=params, exact=few, verdict=verdict))
        params = {"region": name, "what": "players of a round that holds six of the region"}
        verdict = "holds" if K / share <= WANTED else "differs"
        rows.append(
            Row(
                id="galactron.regions",
                params=params,
                printed=float(WANTED),
                exact=K / share,
                verdict=verdict,
            )
        )
    return rows


def _about_extremes(by_size: dict[int, list[Found]]) -> list[Row]:
    rows = []
    for players, own in by_size.items():
        more = difference(own, "share mixed of worst", "share mixed")
        what = "matches with a party of two regions: more of the worst tenth than of all, percent"
        rows.append(told("galactron.extremes", what, more, is_above(more), players=players))
        for key in ("ping with mixed", "ping without mixed", "worst tenth without mixed"):
            rows.append(told("galactron.extremes", key, mean_of(own, key), players=players))
    return rows


def _plot(by_size: dict[int, list[Found]]) -> Plot:
    lines = []
    for key in ("quality", "worst tenth", "Europe quality", *(f"{d} quality" for d in DISTANT)):
        name = key if " quality" not in key else f"players of {key.removesuffix(' quality')}"
        lines.append(_line(name, key, by_size))
    text = (
        "Mean quality of the matches of a round at 20:00 Central European Time by the players in "
        f"it, annealed with {EFFORT:,} evaluations a player; and the mean over the matches of the "
        "players of some regions."
    )
    return Plot(
        "pool", "Quality against the size of the round", text, "players of a round", "points",
        tuple(lines), from_zero=False,
    )  # fmt: skip


def _line(name: str, key: str, by_size: dict[int, list[Found]]) -> PlotLine:
    """Return a figure by the size of the pool, if there are enough pools."""
    known = {
        float(players): mean_of(own, key)
        for players, own in by_size.items()
        if sum(each[key] is not None for each in own) >= POOLS_LEAST
    }
    ys = tuple(each.value for each in known.values())
    return PlotLine(name, tuple(known), ys, tuple(each.half_width for each in known.values()))


def _plot_of_pings(by_size: dict[int, list[Found]]) -> Plot:
    lines = []
    for name in GROUPS:
        lines.append(_line(name, f"{name} ping", by_size))
    text = "Mean ping of a region's players to their enemies, milliseconds."
    return Plot(
        "pool-pings", "Ping against the size of the round", text, "players of a round", "ms",
        tuple(lines),
    )  # fmt: skip


def _table(by_size: dict[int, list[Found]]) -> Table:
    keys = ("quality", "worst tenth", "Europe ping", *(f"{d} ping" for d in DISTANT))
    shares = ("share mixed", "share mixed of worst")
    heads = ("players", *keys, "% mixed", "% mixed, worst tenth")
    lines = []
    for players, own in by_size.items():
        found = [mean_of(own, key) for key in (*keys, *shares)]
        lines.append((f"{players}", *(figure(e.value, e.half_width, 1) for e in found)))
    text = (
        "Points, milliseconds to enemies of the players of a region, and the percentage of matches "
        "with a party whose members are of several regions, among all and among the worst tenth."
    )
    return Table("Size of the round", text, heads, tuple(lines))
