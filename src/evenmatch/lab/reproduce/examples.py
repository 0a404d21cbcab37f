"""The thread's examples (a) to (f), played; and what it says of a gap of 500 points."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np

from evenmatch.config import parse_scenario
from evenmatch.lab.reproduce.row import Effort, Findings, Part, Row, judged
from evenmatch.lab.reproduce.words import table_of_rows
from evenmatch.lab.simulate import simulate
from evenmatch.model.match import Match
from evenmatch.model.ticket import NewTicket, Player
from evenmatch.ratings.rate import rate
from evenmatch.sim.stream import Arrival

Comer = tuple[float, str, float]
"""When somebody comes, his name, his rating."""

STEPS = "60-250+120-350+180-450+240-550"
FRACTIONS = "+".join(f"{10 * n}-{(5 + 5 * n) / 100:g}" for n in range(1, 31))
QUEUE = '[[queue]]\nname = "duel"\nteams = 2\nplayers = 1\npolicy = "{}"\n'
END = 1e5
"""When nothing is expected any more, seconds."""


def examples(effort: Effort) -> Part:
    """Return the part of the thread's examples."""
    makers = (_widening, _relative, _brackets, _percentile, _rounds, _alone, _chance, _virtual)
    tasks = [(maker, effort.seed) for maker in makers]
    ids = (*(f"gamedev.{letter}" for letter in "abcdef"), "gamedev.chance", "gamedev.points")
    return Part(ids, _rows_of, tasks, _finish)


def _rows_of(task: tuple[Callable[[int], list[Row]], int]) -> list[Row]:
    maker, seed = task
    return maker(seed)


def _finish(results: Sequence[list[Row]]) -> Findings:
    rows = tuple(chain.from_iterable(results))
    table = table_of_rows("The thread's examples", "Instants and waits in seconds.", rows)
    scenarios = {
        row.scenario: QUEUE.format(row.params["policy"]) for row in rows if row.scenario is not None
    }
    return Findings(rows, (table,), scenarios=scenarios)


def met(policy: str, comers: Sequence[Comer], until: float = END) -> list[Match]:
    """Let people come to a queue of duels; return the matches made until then."""
    arrivals = [
        Arrival(at, NewTicket((Player(name, attributes={"rating": rating}),), id=name))
        for at, name, rating in comers
    ]
    scenario = parse_scenario(f"until = {until}\n{QUEUE.format(policy)}")
    return simulate(scenario, arrivals=arrivals).history.matches


def instant_of(matches: Sequence[Match], *names: str) -> float | None:
    """Return when these people met; None if they did not."""
    for match in matches:
        if set(match.tickets) == set(names):
            return match.at
    return None


def _sure(row_id: str, policy: str, what: str, expected: float, found: float | None) -> Row:
    """Return the row of an example without chance."""
    agrees = found is not None and math.isclose(found, expected, abs_tol=1e-5)
    return Row(
        id=row_id,
        params={"policy": policy, "what": what},
        exact=expected,
        simulated=found,
        half_width=0.0,
        verdict="holds" if agrees else "not reproducible",
    )


def _widening(seed: int) -> list[Row]:
    """(a): the pair that fits meets first, the rest when the limit reaches it."""
    del seed
    comers = [(0.0, "2300", 2300.0), (0.0, "2000", 2000.0), (60.0, "2050", 2050.0)]
    comers.append((60.0, "1900", 1900.0))
    rows = []
    for accept, expected in (("both", 240.0), ("either", 180.0)):
        policy = f"window:limit=150,limit_max=500,steps={STEPS},accept={accept}"
        matches = met(policy, comers)
        rows += [
            _sure(
                "gamedev.a", policy, "2050 meets 2000", 60.0, instant_of(matches, "2050", "2000")
            ),
            _sure(
                "gamedev.a",
                policy,
                "2300 meets 1900",
                expected,
                instant_of(matches, "2300", "1900"),
            ),
        ]
    return rows


def _relative(seed: int) -> list[Row]:
    """(b): 5 % of one's own rating, 5 points of it more every 10 s, beyond 100 %."""
    del seed
    policy = f"window:limit=0.05,unit=relative,steps={FRACTIONS}"
    matches = met(policy, [(0.0, "800", 800.0), (300.0, "2000", 2000.0)])
    found = instant_of(matches, "800", "2000")
    return [_sure("gamedev.b", policy, "800 meets 2000, who came at 300 s", 410.0, found)]


def _brackets(seed: int) -> list[Row]:
    """(c): six matches halve a bracket; while it is halved, 499 does not meet 990."""
    del seed
    comers = [
        (float(pair), f"{pair}{side}", 700.0 + pair) for pair in range(6) for side in ("a", "b")
    ]
    comers += [(70.0, "499", 499.0), (70.0, "990", 990.0)]
    policy = "adaptive_brackets"
    found = instant_of(met(policy, comers), "499", "990")
    what = "499 meets 990 when the halves have merged"
    return [_sure("gamedev.c", policy, what, 180.0, found)]


def _percentile(seed: int) -> list[Row]:
    """(d): who stands at the top tenth meets those between the top 5 % and 15 %."""
    crowd = np.random.default_rng(seed).permutation(2_000)
    policy = "window:limit=0.05,unit=percentile"
    rows = []
    for share, expected in ((0.06, 1.0), (0.14, 1.0), (0.04, 0.0), (0.17, 0.0)):
        comers: list[Comer] = []
        for place, rank in enumerate(crowd.tolist()):
            # Two of each rating, who meet at once: they make the distribution and are gone.
            comers += [
                (float(place), f"{place}a", float(rank)),
                (float(place), f"{place}b", float(rank)),
            ]
        at = float(len(crowd))
        comers += [(at, "one", 2_000 * 0.9), (at + 1.0, "two", 2_000 * (1.0 - share))]
        found = instant_of(met(policy, comers, at + 10.0), "one", "two")
        what = f"top 10 % meets top {100 * share:g} %: 1 yes, 0 no"
        rows.append(_sure("gamedev.d", policy, what, expected, float(found is not None)))
    return rows


def _rounds(seed: int) -> list[Row]:
    """(e): rounds of 120 s let equal players wait 60 s on the mean."""
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.exponential(10.0, 5_000)).tolist()
    policy = "closest_random:every=120"
    matches = met(policy, [(at, str(place), 1500.0) for place, at in enumerate(times)])
    waits = np.asarray(
        [m.at - (times[int(t)] - math.floor(times[0])) for m in matches for t in m.tickets]
    )
    # Waits within one round hang together, so a round is one observation.
    instants = np.asarray([m.at for m in matches for _ in m.tickets])
    means = np.asarray([waits[instants == at].mean() for at in np.unique(instants)])
    width = float(1.96 * means.std(ddof=1) / math.sqrt(len(means)))
    mean = float(waits.mean())
    return [
        Row(
            id="gamedev.e",
            params={"policy": policy, "what": "mean wait of equal players"},
            printed=60.0,
            exact=60.0,
            simulated=mean,
            half_width=width,
            verdict=judged(60.0, truth=mean, half_width=2.0 * width),
        )
    ]


def _alone(seed: int) -> list[Row]:
    """(f): two who are alone are matched at once, unless a clock or a floor prevents it."""
    del seed
    comers = [(0.0, "0", 0.0), (0.0, "1000", 1000.0)]
    rows = []
    for policy, what, expected in (
        ("weighted", "0 meets 1000, alone, on arrival", 0.0),
        ("weighted:every=60", "0 meets 1000, alone, at the first round", 60.0),
    ):
        found = instant_of(met(policy, comers), "0", "1000")
        rows.append(_sure("gamedev.f", policy, what, expected, found))
    policy = "weighted:floor=0.001"
    found = instant_of(met(policy, comers), "0", "1000")
    what = "0 meets 1000, alone, with a floor: 1 yes, 0 no"
    rows.append(_sure("gamedev.f", policy, what, 0.0, float(found is not None)))
    return rows


def _chance(seed: int) -> list[Row]:
    """Return what 500 points mean: by the formula of Elo and of Glicko at equal certainty."""
    del seed
    at_500 = 1.0 / (1.0 + 10.0 ** (500.0 / 400.0))
    gap = 400.0 * math.log10(1.0 / 0.03 - 1.0)
    return [
        Row(
            id="gamedev.chance",
            params={"what": "chance of the lower player, 500 points apart"},
            printed=0.03,
            corrected=at_500,
            exact=at_500,
            verdict=judged(0.03, truth=at_500, corrected=at_500),
        ),
        Row(
            id="gamedev.chance",
            params={"what": "points apart at a chance of 3 %"},
            printed=500.0,
            corrected=gap,
            exact=gap,
            verdict=judged(500.0, truth=gap, corrected=gap),
        ),
    ]


def _virtual(seed: int) -> list[Row]:
    """2655 against 2044, matched by a virtual rating: who gains and loses what."""
    del seed
    ratings = {"A": {"mean": 2655.0, "deviation": 50.0}, "B": {"mean": 2044.0, "deviation": 50.0}}
    level = {"A": {"mean": 2655.0, "deviation": 50.0}, "B": {"mean": 2655.0, "deviation": 50.0}}
    own = {"A": {"mean": 2044.0, "deviation": 50.0}, "B": {"mean": 2044.0, "deviation": 50.0}}

    def change(player: str, ranks: list[int], given: dict[str, dict[str, float]]) -> float:
        outcome = {"teams": [["A"], ["B"]], "ranks": ranks, "wide": True}
        mean = rate("glicko", given, [outcome])[player]["mean"]
        assert mean is not None
        return float(mean) - given[player]["mean"]

    won, lost = [1, 2], [2, 1]
    cases = (
        ("A wins: change of A, 'maybe a single point'", 1.0, change("A", won, ratings), None),
        ("A wins: change of B", -1.0, change("B", won, ratings), None),
        ("A loses: change of A", None, change("A", lost, ratings), change("A", lost, level)),
        ("A loses: change of B", None, change("B", lost, ratings), change("B", lost, own)),
    )
    rows = []
    for what, printed, found, even in cases:
        agrees = abs(found - (even if printed is None else printed)) < 1.0  # type: ignore[operator]
        rows.append(
            Row(
                id="gamedev.points",
                params={"what": f"2655 against 2044, deviations 50; {what}"},
                printed=printed,
                exact=even,
                simulated=found,
                half_width=0.0,
                verdict="holds" if agrees else "not reproducible",
            )
        )
    return rows
