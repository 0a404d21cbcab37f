"""The blog's algorithm in detail: its starts, its swaps, its local optima and its speed."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from itertools import pairwise

import msgspec
import numpy as np

from evenmatch.lab.report.plots import Plot, PlotLine
from evenmatch.lab.solve.solution import POINTS
from evenmatch.solvers.teams.batch import Floats
from evenmatch.solvers.teams.descent import Search
from evenmatch.solvers.teams.evaluation_input import scene_of
from evenmatch.solvers.teams.start import ORDERS
from papers.galactron.pools import (
    TEAM_SIZE,
    K,
    Pool,
    means_of,
    named_factors,
    pool_of,
    quality_of,
    shaken,
    solved,
    started,
)
from papers.shared.estimates import Estimate, Found, difference, is_above, mean_of, told
from papers.shared.findings import Effort, Findings, Part, Row, Table, Verdict
from papers.shared.sequences import seeds
from papers.shared.words import figure, table_of_rows

PLAYERS = 102
ENOUGH = 10**12
"""An effort that no descent reaches."""
SLICE = 1_000
SKILL_EFFORT = 200_000
TIMED = 1.0
"""Seconds of processor time over which speed is measured."""
PATIENCE = 5.0
"""Seconds that the blog spends on a round."""
DESCENTS = f"descents in {PATIENCE:g} seconds"
SIZES = (24, 54, PLAYERS, 204)
"""Players of the pools in which speed is measured."""
COUPLE = 3
NEARLY = 0.5
"""Points of a factor that count as "the best possible"."""
SMALL = 0.1
"""The blog calls a difference "surprisingly small": here, a tenth of the gain of one descent."""
RETRIES = (1, 2, 3, 5, 10, 30, 60, 200, 1_000, 3_000, 5_000)


def starts(effort: Effort) -> Part:
    """Return the part on first matches and first swaps."""
    chosen = seeds(effort, quick=8, full=40)
    ids = ("galactron.starts", "galactron.swaps")
    return Part(ids, start_and_descend, chosen, _told_of_starts)


def start_and_descend(seed: int) -> Found:
    """Return the quality of each order's first matches, after one descent, and for skill alone."""
    pool = pool_of(PLAYERS, seed)
    factors = named_factors(pool.batch)
    found: dict[str, float | None] = {}
    for order in ORDERS:
        search = _search(pool, order, seed)
        search.run(0)
        seated = search.divided()
        begun = means_of(factors, seated)
        found |= {f"{order} {name}": value for name, value in begun.items()}
        found[f"{order} start"] = quality_of(pool.batch, seated)
        if order == "skill":
            found |= _first_swaps(search)
        search.run(ENOUGH)
        found[f"{order} end"] = quality_of(pool.batch, search.divided())
        found[f"{order} swaps"] = float(search.swaps)
    found["least player"] = _best_of_skill(pool, seed)
    alone = pool_of(PLAYERS, seed, party_shares=(1.0,))
    seated = started(alone.batch, "skill", seed)
    found["skill player, alone"] = means_of(named_factors(alone.batch), seated)["player"]
    found["least player, alone"] = _best_of_skill(alone, seed)
    return found


def _search(pool: Pool, order: str, seed: int) -> Search:
    return Search(scene_of(pool.batch), started(pool.batch, order, seed))


def _best_of_skill(pool: Pool, seed: int) -> float:
    """Return the players' factor if nothing else counts."""
    factors = named_factors(pool.batch)
    plan = solved(factors["player"].alone, SKILL_EFFORT, seed)
    return means_of(factors, plan.seating)["player"]


def _first_swaps(search: Search) -> Found:
    """Return the share of a descent's gain that its first swaps bring."""
    course = [(0, _energy(search))]
    while not course[2:] or course[-1] != course[-2]:
        search.run(search.evaluations + SLICE)
        course.append((search.swaps, _energy(search)))
    swaps, energies = (np.array(each, dtype=float) for each in zip(*course, strict=True))
    gain = (energies[0] - energies) / (energies[0] - energies[-1])
    return {
        f"gain {percent}": POINTS * float(np.interp(percent / 100.0 * swaps[-1], swaps, gain))
        for percent in (10, 25, 50)
    }


def _energy(search: Search) -> float:
    return search.run(search.evaluations)


def _told_of_starts(results: Sequence[Found]) -> Findings:
    rows: list[Row] = []
    lines = []
    verdict: Verdict
    for order in ORDERS:
        keys = ("start", "team", "player", "ping", "premade", "end", "swaps")
        found = {key: mean_of(results, f"{order} {key}") for key in keys}
        rows += [
            told("galactron.starts", key, found[key], start=order, players=PLAYERS) for key in keys
        ]
        lines.append((order, *(figure(each.value, each.half_width, 1) for each in found.values())))
    rows += _about_skill(results)
    for percent in (10, 25, 50):
        share = mean_of(results, f"gain {percent}")
        what = f"percent of a descent's gain by its first {percent} % of swaps"
        # "Drastically" is taken to mean twice their share; ours are not the best of all swaps.
        verdict = "holds" if share.value > 2.0 * percent else "holds if"
        rows.append(told("galactron.swaps", what, share, verdict))
    text = (
        f"{PLAYERS} players; the four orders of the first matches, divided into teams as well as "
        "can be, then the mean quality after one descent and the swaps it took. Points."
    )
    heads = ("start", "quality", "team", "player", "ping", "premade", "after descent", "swaps")
    return Findings(tuple(rows), (Table("Where descents start", text, heads, tuple(lines)),))


def _about_skill(results: Sequence[Found]) -> list[Row]:
    """Return the figures on sorting by skill: best skill scores, bad ping and premades."""
    rows = []
    for who, parties in ((", alone", "none"), ("", "as ever")):
        best = difference(results, f"least player{who}", f"skill player{who}")
        what = "players' factor that sorting by skill leaves to be had, points"
        verdict: Verdict = "holds" if best.value < NEARLY else "holds if"
        rows.append(told("galactron.starts", what, best, verdict, parties=parties))
    for factor in ("ping", "premade"):
        other = "region" if factor == "ping" else "party"
        lost = difference(results, f"{other} {factor}", f"skill {factor}")
        what = f"{factor}: sorting by skill worse than by {other} by, points"
        rows.append(told("galactron.starts", what, lost, is_above(lost)))
    return rows


class Nights(msgspec.Struct, frozen=True):
    """A number of descents of one pool."""

    seed: int
    count: int


def retries(effort: Effort) -> Part:
    """Return the part on many retries."""
    chosen = seeds(effort, quick=2, full=4)
    count = 60 if effort.quick else RETRIES[-1]
    tasks = [Nights(seed, count) for seed in chosen]
    return Part(("galactron.retries",), retry, tasks, lambda found: _told_of_retries(count, found))


def retry(given: Nights) -> Found:
    """Return the quality of the best of several descents, for each number of them."""
    pool = pool_of(PLAYERS, given.seed)
    search = _search(pool, "skill", given.seed)
    begun = search.run(0)
    rng = np.random.default_rng(given.seed)
    energies = [search.run(ENOUGH)]
    for _ in range(given.count - 1):
        search.begin(shaken(pool.batch, rng))
        energies.append(search.run(ENOUGH))
    matches = search.matches
    ends = -POINTS * np.array(energies) / matches
    effort = search.evaluations // given.count
    found: dict[str, float | None] = {str(r): best_of(ends, r) for r in RETRIES if r <= given.count}
    found["start"] = -POINTS * begun / matches
    found["evaluations"] = float(effort)
    annealed = solved(pool.batch, effort * COUPLE, given.seed)
    found["annealed"] = POINTS * float(annealed.quality.mean())
    return found


def best_of(values: Floats, count: int) -> float:
    """Return the expected largest of `count` values drawn without replacement.

    >>> best_of(np.array([1.0, 2.0, 3.0]), 2)
    2.6666666666666665
    """
    total = len(values)
    rising = np.sort(values)[count - 1 :]
    below = np.arange(count - 1, total)
    # Of all choices of `count` values, those whose largest is the value with this rank.
    logs = [_log_choose(int(each), count - 1) - _log_choose(total, count) for each in below]
    return float(rising @ np.exp(logs))


def _log_choose(total: int, count: int) -> float:
    return math.lgamma(total + 1) - math.lgamma(count + 1) - math.lgamma(total - count + 1)


def _told_of_retries(count: int, results: Sequence[Found]) -> Findings:
    tried = [r for r in RETRIES if r <= count]
    rows = []
    for r in tried:
        found = mean_of(results, str(r))
        rows.append(told("galactron.retries", "mean quality", found, players=PLAYERS, descents=r))
    last = str(tried[-1])
    gain, most = difference(results, last, str(COUPLE)), difference(results, "1", "start")
    verdict = is_above(Estimate(SMALL * most.value - gain.value, gain.half_width))
    what_beyond = f"beyond a couple: {tried[-1]:,} better than {COUPLE} by, points"
    rows += [
        told("galactron.retries", "one descent better than its start by, points", most),
        told("galactron.retries", what_beyond, gain, verdict),
        told("galactron.retries", "evaluations of a descent", mean_of(results, "evaluations")),
    ]
    beyond = difference(results, "annealed", last)
    what = f"annealing with the effort of {COUPLE} descents better than {tried[-1]:,} by, points"
    rows.append(told("galactron.retries", what, beyond))
    curve = rows[: len(tried)]
    line = PlotLine(
        "best of so many descents",
        tuple(float(r) for r in tried),
        tuple(row.simulated or 0.0 for row in curve),
        tuple(row.half_width or 0.0 for row in curve),
    )
    level = mean_of(results, "annealed").value
    ends = (float(tried[0]), float(tried[-1]))
    other = PlotLine(f"annealing, effort of {COUPLE}", ends, (level, level), is_theory=True)
    text = (
        f"{PLAYERS} players. The expected best of so many descents from different starts, drawn "
        f"from {count:,} of each pool."
    )
    plot = Plot(
        "retries", "A couple of retries against thousands", text, "descents",
        "mean quality, points", (line, other), is_log=True, from_zero=False,
    )  # fmt: skip
    return Findings(tuple(rows), (table_of_rows(plot.title, text, rows),), (plot,))


class TimedPool(msgspec.Struct, frozen=True):
    """A pool in which speed is measured."""

    players: int
    seed: int
    seconds: float = TIMED


def speed(effort: Effort) -> Part:
    """Return the part on swaps per second."""
    tasks = [TimedPool(n, effort.seed, TIMED / 4 if effort.quick else TIMED) for n in SIZES]
    return Part(("galactron.speed",), measure_speed, tasks, _told_of_speed)


def measure_speed(given: TimedPool) -> Found:
    """Return the work of one core in a second; other machines give other figures."""
    pool = pool_of(given.players, given.seed)
    search = _search(pool, "skill", given.seed)
    rng = np.random.default_rng(given.seed)
    search.run(ENOUGH)
    evaluations, swaps, descents = search.evaluations, search.swaps, 0
    began = time.thread_time()
    while time.thread_time() < began + given.seconds:
        search.begin(shaken(pool.batch, rng))
        search.run(ENOUGH)
        descents += 1
    took = time.thread_time() - began
    return {
        "swaps made a second": (search.swaps - swaps) / took,
        "matches evaluated a second, ten divisions each": (search.evaluations - evaluations) / took,
        DESCENTS: PATIENCE * descents / took,
        "evaluations of a descent": (search.evaluations - evaluations) / descents,
    }


def _told_of_speed(results: Sequence[Found]) -> Findings:
    printed = {"swaps made a second": 300.0, DESCENTS: float(COUPLE)}
    matches = PLAYERS // K
    swaps = matches * (matches - 1) // 2 * (2 * TEAM_SIZE) ** 2
    rows = [
        Row(
            id="galactron.speed",
            params={"what": what, "players": players},
            printed=printed.get(what) if players == PLAYERS else None,
            simulated=found,
        )
        for players, each in zip(SIZES, results, strict=True)
        for what, found in each.items()
    ]
    counts = [each[DESCENTS] or 0.0 for each in results]
    are_fewer = all(more > less for more, less in pairwise(counts))
    rows.append(
        Row(
            id="galactron.speed",
            params={"what": f"times the retries, with {SIZES[0]} players against {SIZES[-1]}"},
            simulated=counts[0] / counts[-1] if counts[-1] else None,
            verdict="holds" if are_fewer else "differs",
        )
    )
    rows.append(
        Row(
            id="galactron.speed",
            params={"what": "swaps to try before each one made, if all are tried"},
            exact=float(swaps),
        )
    )
    text = (
        "One core of this machine; the blog says a few hundred swaps a second and a couple of "
        "retries in five seconds, fewer with more players, of a machine of 2016 and a program of "
        "its own."
    )
    return Findings(tuple(rows), (table_of_rows("Speed", text, rows),))
