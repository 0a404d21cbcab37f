"""Players who arrive all evening: rounds compared with matches that start when good enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np

from evenmatch.config.files import parse_scenario
from evenmatch.lab.report.plots import Plot, PlotLine
from evenmatch.lab.simulate import simulate
from evenmatch.lab.solve.solution import POINTS
from papers.galactron.pools import DISTANT
from papers.shared.estimates import Found, difference, is_above, mean_of, told
from papers.shared.findings import Effort, Findings, Part, Row, Table, judged
from papers.shared.words import figure, table_of_rows
from papers.shared.worlds import file_name

RATES = {20: 7200.0, 200: 1200.0}
"""Players per minute, and for how many seconds they arrive."""
ROUNDS = tuple(f"rounds:every={every},parts=1" for every in (30, 60, 120, 300))
OTHERS = ("rounds:players=100,wait_max=600,parts=1", "threshold", "rolling")
STREAMS = {20: 4, 200: 6}
"""Number of streams. Twelve of each were tried: they decide one figure more, that `threshold` at
200 a minute is .05 points better than rounds, and no other statement."""
QUICK_PLAYERS = 240
BLOG = "rounds:every=120,parts=1"
BUSIEST = "europe_west"
START, TURN = 20, 6
"""The first stream begins at 20:00 Central European Time, each further one six hours later."""
SOON = 10.0
"""Matches within this many seconds count as one round."""
WAIT_MAX = 300.0
FIGURES = ("quality", "worst tenth", "wait", "wait p95", "matched")


class Stream(msgspec.Struct, frozen=True):
    """Arriving players, and the policy that matches them.

    Args:
        rate: Players per minute.
        number: Index of the stream, which gives its time of day.
        seed: Of all randomness.
        policy: SPEC.
        duration: For how long they arrive, seconds.
    """

    rate: int
    number: int
    seed: int
    policy: str
    duration: float

    @property
    def name(self) -> str:
        """Return the name of its world."""
        return f"world-{self.rate}-a-minute"

    def toml(self) -> str:
        """Return its scenario."""
        hour = (START + TURN * self.number) % 24
        return (
            f"seed = {self.seed}\n{QUEUE}"
            f'policy = "{self.policy}"\n{CRITERIA}'
            f"\n[arrivals]\nduration = {self.duration}\n\n[arrivals.world]\n"
            f'player_rate = {self.rate / 60.0!r}\nstart = "{hour:02d}:00"\nzone = "CET"\n'
            'follows = "shares"\n'
        )


QUEUE = """
[[queue]]
name = "threes"
teams = 2
players = 3
wait_max = 600.0
wait_price = 0.000167
attributes = ["region"]
"""
CRITERIA = """
[[queue.criteria]]
kind = "imbalance"
attribute = "rating"
measure = "sum"
step = 16.0
weight = 0.24
scale = {kind = "log", knee = 1500.0, max = 27000.0, cap = 18000.0}

[[queue.criteria]]
kind = "mean_gap"
attribute = "rating"
weight = 0.22
scale = {kind = "log", knee = 2000.0, max = 18000.0, cap = 18000.0}

[[queue.criteria]]
kind = "party_parity"
weight = 0.12

[[queue.criteria]]
kind = "latency"
attribute = "latency"
pairs = "enemies"
best = 25.0
worst = 400.0
weight = 0.26

[[queue.criteria]]
kind = "rematch"
matches = 1
weight = 0.04

[[queue.criteria]]
kind = "host_options"
attribute = "connect"
weight = 0.12
"""


def streams(effort: Effort) -> Part:
    """Return the part of streams: every policy meets the same players."""
    tasks = [
        Stream(rate, number, effort.seed + number, policy, _duration(rate, effort))
        for rate in reversed(RATES)
        for policy in (*ROUNDS, *OTHERS)
        for number in range(2 if effort.quick else STREAMS[rate])
    ]
    return Part(("galactron.streams",), watch, tasks, lambda found: _told(tasks, found))


def _duration(rate: int, effort: Effort) -> float:
    """Return for how long players arrive, seconds; with `--quick`, for some 240 players."""
    return 60.0 * QUICK_PLAYERS / rate if effort.quick else RATES[rate]


def watch(given: Stream) -> Found:
    """Return the figures of a stream: points, seconds, percent."""
    summary = simulate(parse_scenario(given.toml()), by=("region",)).summary
    wait, quality = summary["wait"], summary["quality"]
    found: Found = {
        "quality": POINTS * (quality["mean"] or 0.0),
        "worst tenth": POINTS * (quality["p10"] or 0.0),
        "wait": wait["mean"],
        "wait p95": wait["p95"],
        "matched": POINTS
        * (1.0 - (summary["expired"] + summary["unfinished"]) / summary["tickets"]),
    }
    regions = summary["by"]["region"]
    for name in (BUSIEST, *DISTANT):
        own = regions.get(name)
        mean = None if own is None else own["quality"]["mean"]
        found[f"{name} quality"] = None if mean is None else POINTS * mean
        found[f"{name} wait"] = None if own is None else own["wait"]["mean"]
    return found


def _told(tasks: Sequence[Stream], results: Sequence[Found]) -> Findings:
    rows: list[Row] = []
    tables, plots, scenarios = [], [], {}
    for rate in RATES:
        by_policy: dict[str, list[Found]] = {}
        for task, found in zip(tasks, results, strict=True):
            if task.rate == rate:
                by_policy.setdefault(task.policy, []).append(found)
                if task.number == 0:
                    scenarios[file_name(task.name, task.policy)] = task.toml()
        rows += _rows(rate, by_policy)
        tables.append(_table(rate, by_policy))
        plots.append(_plot(rate, by_policy))
    return Findings(tuple(rows), tuple(tables), tuple(plots), scenarios)


def _rows(rate: int, by_policy: dict[str, list[Found]]) -> list[Row]:
    rows = []
    for policy, own in by_policy.items():
        file = file_name(f"world-{rate}-a-minute", policy)
        setting: dict[str, Any] = {"players a minute": rate, "policy": policy}
        for key in own[0]:
            row = told("galactron.streams", key, mean_of(own, key), **setting)
            rows.append(msgspec.structs.replace(row, scenario=file))
        if policy in ROUNDS:
            continue
        both = _beside(own, by_policy)
        for key in ("quality", "worst tenth", "wait p95"):
            more = difference(both, key, f"rounds {key}")
            what = f"{key}: more than rounds of the same mean wait"
            # The blog expects that rounds make slightly better matches.
            verdict = is_above(_turned(more)) if key == "quality" and policy != OTHERS[0] else None
            row = told("galactron.streams", what, more, verdict, **setting)
            rows.append(msgspec.structs.replace(row, scenario=file))
    return rows


def _turned(found: Any) -> Any:
    return msgspec.structs.replace(found, value=-found.value)


def _beside(own: Sequence[Found], by_policy: dict[str, list[Found]]) -> list[Found]:
    """Return each stream's figures, and those that rounds of the same mean wait would have.

    They are interpolated between rounds of several lengths; beyond these the nearest counts.
    """
    both = []
    for number, found in enumerate(own):
        rounds = [by_policy[policy][number] for policy in ROUNDS]
        waits = [each["wait"] or 0.0 for each in rounds]
        beside = dict(found)
        for key in ("quality", "worst tenth", "wait p95"):
            ys = [each[key] or 0.0 for each in rounds]
            beside[f"rounds {key}"] = float(np.interp(found["wait"] or 0.0, waits, ys))
        both.append(beside)
    return both


def _table(rate: int, by_policy: dict[str, list[Found]]) -> Table:
    regions = (BUSIEST, *DISTANT)
    keys = (*FIGURES, *(f"{name} {key}" for name in regions for key in ("quality", "wait")))
    lines = []
    for policy, own in by_policy.items():
        found = [mean_of(own, key) for key in keys]
        lines.append((policy, *(figure(e.value, e.half_width, 1) for e in found)))
    text = (
        "Points and seconds; waits are of players, qualities of matches, and of a region's players "
        "those of their matches. Streams begin at different hours of the day."
    )
    return Table(f"{rate} players a minute", text, ("policy", *keys), tuple(lines))


def _plot(rate: int, by_policy: dict[str, list[Found]]) -> Plot:
    lines = []
    for key in ("quality", "worst tenth"):
        lines.append(_line(f"rounds, {key}", key, [by_policy[policy] for policy in ROUNDS]))
    for policy in OTHERS:
        for key in ("quality", "worst tenth"):
            lines.append(_line(f"{policy.partition(',')[0]}, {key}", key, [by_policy[policy]]))
    text = (
        f"{rate} players a minute: mean quality and the quality that nine in ten matches reach, "
        "over the mean wait."
    )
    return Plot(
        f"streams-{rate}", f"Quality against wait, {rate} players a minute", text,
        "mean wait, s", "points", tuple(lines), from_zero=False,
    )  # fmt: skip


def _line(name: str, key: str, points: Sequence[Sequence[Found]]) -> PlotLine:
    known = sorted((mean_of(own, "wait").value, mean_of(own, key).value) for own in points)
    xs, ys = zip(*known, strict=True)
    # How streams differ by the hour says nothing about policies, which all meet the same ones.
    return PlotLine(name, xs, ys)


def countdown(effort: Effort) -> Part:
    """Return the part on the moments at which rounds begin; it is the same with `--quick`."""
    return Part(("galactron.rounds",), moments, (effort.seed,), _told_of_moments)


def moments(seed: int) -> Found:
    """Return when rounds begin: at fixed moments, with enough players, or after a longest wait."""
    fixed = _instants(Stream(20, 0, seed, BLOG, 7200.0))
    apart = [(at - fixed[0]) / 120.0 for at in fixed]
    enough = _instants(Stream(20, 0, seed, "rounds:players=100,wait_max=3600,parts=1", 7200.0))
    few = Stream(5, 0, seed, "rounds:players=100,wait_max=300,parts=1", 3600.0)
    return {
        "off the countdown": 120.0 * max(abs(each - round(each)) for each in apart),
        "minutes for 100": (enough[-1] - enough[0]) / (len(enough) - 1) / 60.0,
        "p95": simulate(parse_scenario(few.toml())).summary["wait"]["p95"],
    }


def _instants(given: Stream) -> list[float]:
    """Return when rounds began: a round's matches start a few at a time."""
    at = sorted({match["at"] for match in simulate(parse_scenario(given.toml())).matches})
    return [now for before, now in pairwise([-math.inf, *at]) if now - before > SOON]


def _told_of_moments(results: Sequence[Found]) -> Findings:
    found = {key: mean_of(results, key).value for key in results[0]}
    rows = [
        Row(
            id="galactron.rounds",
            params={"what": "seconds by which a round of every=120 is off its countdown"},
            printed=0.0,
            simulated=found["off the countdown"],
            verdict=judged(0.0, truth=found["off the countdown"], half_width=1e-6),
        ),
        Row(
            id="galactron.rounds",
            params={"what": "minutes until 100 players wait, at 20 a minute"},
            printed=5.0,
            simulated=found["minutes for 100"],
            # Players left over by a round wait for the next, which fills up sooner for it.
            verdict=judged(5.0, truth=found["minutes for 100"], slack=0.1),
        ),
        Row(
            id="galactron.rounds",
            params={"what": "seconds that 95 % wait at most, wait_max=300, at 5 a minute"},
            printed=WAIT_MAX,
            simulated=found["p95"],
            # Players without a seat in a round, since it makes whole matches, wait for the next.
            verdict="holds" if found["p95"] <= WAIT_MAX else "holds if",
        ),
    ]
    text = "When rounds begin; nobody decides it but the clock, or the players who come."
    return Findings(tuple(rows), (table_of_rows("The moments of rounds", text, rows),))
