"""The suggestions of the thread "Matching players in an online 1vs1 game" on one population.

The thread names three aims: a small rating difference, a short wait, and many matches. Here every
suggestion gets the same players, few or many, and the top and the bottom tenth have figures of
their own, since the thread says that they suffer most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import msgspec
import numpy as np
from numpy.typing import NDArray

from evenmatch.config.files import parse_scenario
from evenmatch.lab.optimum.optimum import optimum
from evenmatch.lab.simulate import simulate
from evenmatch.lab.study.study import mean_and_width
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.simulation.arrivals.stream import Arrival
from papers.shared.findings import Effort, Findings, Part, Row, Table
from papers.shared.sequences import seeds
from papers.shared.words import figure
from papers.shared.worlds import file_name

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PATIENCE = 600.0
"""Seconds after which a player gives up."""
POPULATIONS = {"low": (60, 1 / 50), "high": (3_000, 1.0)}
"""Players who return again and again, and how many of them queue per second."""
WIDENING = "limit=150,rate=2,limit_max=500"
REMATCHES = '\n[[queue.rules]]\nkind = "rematch"\nmatches = 3\nredraws = 3\nevery = 30.0\n'
GROUPS = ("all", "top tenth", "bottom tenth")
FIGURES = ("wait", "rating difference", "matched", "rematches")


class Suggestion(msgspec.Struct, frozen=True, kw_only=True):
    """A suggestion of the thread.

    Args:
        id: Of its rows.
        policy: SPEC; "" means the optimum in hindsight.
        extra: Rules and criteria of the queue, TOML.
        words: Its name in tables; "" means the SPEC.
    """

    id: str
    policy: str
    extra: str = ""
    words: str = ""

    @property
    def name(self) -> str:
        """Return its name in tables."""
        return self.words or self.policy


SUGGESTIONS = (
    Suggestion(id="gamedev.anybody", policy="greedy", words="anybody, the longest waiting first"),
    Suggestion(id="gamedev.fixed", policy="window:limit=150"),
    Suggestion(id="gamedev.fixed", policy="window:limit=500"),
    Suggestion(id="gamedev.widening", policy=f"window:{WIDENING}"),
    Suggestion(id="gamedev.nearest", policy=f"window:{WIDENING},pick=nearest"),
    Suggestion(id="gamedev.nearest", policy=f"window:{WIDENING},every=30"),
    Suggestion(id="gamedev.nearest", policy=f"window:{WIDENING},pick=nearest,every=30"),
    Suggestion(id="gamedev.either", policy=f"window:{WIDENING},accept=either"),
    Suggestion(id="gamedev.second", policy=f"window:{WIDENING},every=1"),
    Suggestion(id="gamedev.rounds", policy="closest_random"),
    Suggestion(id="gamedev.brackets", policy="adaptive_brackets"),
    Suggestion(
        id="gamedev.percentile",
        policy="window:limit=0.05,rate=0.001,limit_max=0.25,unit=percentile",
    ),
    Suggestion(id="gamedev.weighted", policy="weighted"),
    Suggestion(id="gamedev.weighted", policy="weighted:every=30"),
    Suggestion(id="gamedev.weighted", policy="weighted:floor=0.2"),
    Suggestion(id="gamedev.virtual", policy="virtual_rating"),
    Suggestion(id="gamedev.virtual", policy="virtual_rating:toward=median"),
    Suggestion(
        id="gamedev.rematch",
        policy=f"window:{WIDENING}",
        extra=REMATCHES,
        words=f"window:{WIDENING}, with the rematch rule",
    ),
    Suggestion(id="gamedev.price", policy="price"),
    Suggestion(id="gamedev.optimum", policy="", words="the optimum in hindsight"),
)


class Visit(msgspec.Struct, frozen=True):
    """One sequence of one population under one suggestion."""

    suggestion: Suggestion
    population: str
    seed: int
    count: int


Figures = dict[str, dict[str, float | None]]
"""Figures by group, then by name."""


@dataclass(frozen=True)
class Met:
    """The matches of a run, by ticket.

    Args:
        people: Number of the person of each ticket.
        ratings: Rating of each ticket.
        waits: Wait of each ticket, seconds.
        mates: Index of the other ticket, -1 without a match.
        order: Indices of the older tickets of the matches, in order of making.
    """

    people: Ints
    ratings: Floats
    waits: Floats
    mates: Ints
    order: Ints


def population(effort: Effort) -> list[Part]:
    """Return a part for each kind of suggestion; all meet the same players."""
    chosen = seeds(effort, quick=6, full=20)
    count = 1_000 if effort.quick else 5_000
    parts = []
    for row_id in dict.fromkeys(each.id for each in SUGGESTIONS):
        own = [each for each in SUGGESTIONS if each.id == row_id]
        visits = [
            Visit(each, name, seed, count)
            for each in own
            for name in POPULATIONS
            for seed in chosen
        ]
        parts.append(Part((row_id,), visit, visits, partial(_finish, own, visits)))
    return parts


def visit(given: Visit) -> Figures:
    """Simulate one sequence; return the figures by group."""
    times, people, ratings = draw(given.population, given.seed, given.count)
    arrivals = [
        Arrival(at, NewTicket((Player(f"p{who}", attributes={"rating": rating}),), id=str(place)))
        for place, (at, who, rating) in enumerate(
            zip(times.tolist(), people.tolist(), ratings.tolist(), strict=True)
        )
    ]
    policy = given.suggestion.policy or "greedy"
    scenario = parse_scenario(_toml(given.suggestion, policy, given.seed))
    mates: Ints = np.full(given.count, -1, dtype=np.int64)
    waits: Floats = np.full(given.count, PATIENCE)
    if given.suggestion.policy:
        history = simulate(scenario, arrivals=arrivals).history
        pairs = [
            (int(one), int(two), match.at + history.offset)
            for match in history.matches
            for one, two in [match.tickets]
        ]
    else:
        pairs = list(optimum(scenario.queues, arrivals).pairs)
    for one, two, at in pairs:
        mates[one], mates[two] = two, one
        waits[one], waits[two] = at - times[one], at - times[two]
    order = np.asarray([one for one, _, _ in pairs], dtype=np.int64)
    return _figures(Met(people, ratings, waits, mates, order))


def draw(name: str, seed: int, count: int) -> tuple[Floats, Ints, Floats]:
    """Return instants in seconds, numbers of people and their ratings, each (count,).

    No player returns while an earlier ticket of theirs may still wait, so all policies get the same
    tickets.
    """
    size, rate = POPULATIONS[name]
    rng = np.random.default_rng(seed)
    times: Floats = np.cumsum(rng.exponential(1.0 / rate, count))
    skills: Floats = np.clip(rng.normal(1500.0, 350.0, size), 0.0, 3000.0)
    people: Ints = np.empty(count, dtype=np.int64)
    free_at: Floats = np.zeros(size)
    for place, at in enumerate(times):
        people[place] = rng.choice(np.flatnonzero(free_at <= at))
        free_at[people[place]] = at + PATIENCE
    return times, people, skills[people]


def _toml(suggestion: Suggestion, policy: str, seed: int, file: str = "") -> str:
    """Return the scenario; 100 points of difference are worth a minute of both players."""
    arrivals = f'\n[arrivals]\nprocess = "file"\nfile = "{file}"\n' if file else ""
    return (
        f'seed = {seed}\n\n[[queue]]\nname = "duel"\nteams = 2\nplayers = 1\n'
        f'wait_max = {PATIENCE}\non_deadline = "expire"\npolicy = "{policy}"\n'
        '\n[[queue.criteria]]\nkind = "spread"\nattribute = "rating"\nweight = 6.0\n'
        'scale = {kind = "linear", min = 0.0, max = 3000.0}\n'
        f"{suggestion.extra}{arrivals}"
    )


def _csv(name: str, seed: int, count: int) -> str:
    """Return the tickets of a sequence as a file of arrivals."""
    columns = zip(*(each.tolist() for each in draw(name, seed, count)), strict=True)
    lines = [f"{at!r},p{who},{rating!r}" for at, who, rating in columns]
    return "\n".join(["at,player,rating", *lines, ""])


def _figures(met: Met) -> Figures:
    low, high = np.quantile(met.ratings, [0.1, 0.9])
    groups = {
        "all": np.ones(len(met.ratings), dtype=bool),
        "top tenth": met.ratings >= high,
        "bottom tenth": met.ratings <= low,
    }
    gaps = np.abs(met.ratings - met.ratings[met.mates])
    found: Figures = {}
    for name, inside in groups.items():
        matched = inside & (met.mates >= 0)
        any_matched = bool(matched.any())
        found[name] = {
            "wait": float(met.waits[matched].mean()) if any_matched else None,
            "rating difference": float(gaps[matched].mean()) if any_matched else None,
            "matched": float(matched.sum() / inside.sum()),
        }
    found["all"]["rematches"] = _rematches(met)
    return found


def _rematches(met: Met) -> float | None:
    """Return the share of matches whose two players also met in the previous match of either."""
    last: dict[int, int] = {}
    count = 0
    for place in met.order.tolist():
        one, two = int(met.people[place]), int(met.people[met.mates[place]])
        count += last.get(one) == two or last.get(two) == one
        last[one], last[two] = two, one
    return count / len(met.order) if len(met.order) else None


def _finish(
    own: Sequence[Suggestion], visits: Sequence[Visit], results: Sequence[Figures]
) -> Findings:
    """Return the rows of some suggestions, and their lines in the tables."""
    seed, count = visits[0].seed, visits[0].count
    each = len(results) // (len(own) * len(POPULATIONS))
    groups = [results[at : at + each] for at in range(0, len(results), each)]
    cases = [(suggestion, name) for suggestion in own for name in POPULATIONS]
    rows: list[Row] = []
    scenarios = {f"{name}.csv": _csv(name, seed, count) for name in POPULATIONS}
    for (suggestion, name), found in zip(cases, groups, strict=True):
        file = None
        if suggestion.policy:
            extra = "-rematch" * bool(suggestion.extra)
            file = file_name(f"{name}{extra}", suggestion.policy)
            scenarios[file] = _toml(suggestion, suggestion.policy, seed, f"{name}.csv")
        rows += _rows(suggestion, name, found, file)
    tables = tuple(_table(name, key, rows) for name in POPULATIONS for key in FIGURES[:3])
    return Findings(tuple(rows), tables, scenarios=scenarios)


def _rows(
    suggestion: Suggestion, name: str, found: Sequence[Figures], file: str | None
) -> list[Row]:
    rows = []
    for group in GROUPS:
        for key in found[0][group]:
            known = [each[group][key] for each in found]
            values = [each for each in known if each is not None]
            mean, width = mean_and_width(values)
            rows.append(
                Row(
                    id=suggestion.id,
                    params={
                        "policy": suggestion.name,
                        "population": name,
                        "group": group,
                        "figure": key,
                    },
                    simulated=mean,
                    half_width=width,
                    runs=len(values),
                    scenario=file,
                )
            )
    return rows


TEXTS = {
    "wait": "Mean wait of those who were matched, in seconds; others give up after "
    f"{PATIENCE:g} s.",
    "rating difference": "Mean difference of the ratings of a match.",
    "matched": "Share of tickets that were matched.",
}


def _table(name: str, key: str, rows: Sequence[Row]) -> Table:
    heads: tuple[str, ...] = (key, *GROUPS)
    if key == "matched":
        heads += ("rematches",)
    digits = 3 if key == "matched" else 1
    lines = []
    for policy in dict.fromkeys(row.params["policy"] for row in rows):
        own = {
            (row.params["group"], row.params["figure"]): row
            for row in rows
            if row.params["policy"] == policy and row.params["population"] == name
        }
        cells = [own[(group, key)] for group in GROUPS]
        if key == "matched":
            cells.append(own[("all", "rematches")])
        texts = (figure(row.simulated, row.half_width, digits) for row in cells)
        lines.append((policy, *texts))
    size, rate = POPULATIONS[name]
    title = f"{key.capitalize()}, {name} population"
    text = f"{TEXTS[key]} {size:,} players, one ticket in {1 / rate:g} s."
    return Table(title, text, heads, tuple(lines))
