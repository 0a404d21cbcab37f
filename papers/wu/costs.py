"""The costs of greedy and patient matching: the paper's sums, exact chains, and the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import comb
from typing import Any

from evenmatch.lab.report.plots import Plot, PlotLine
from evenmatch.theory.skill_mdp import skill_mdp
from evenmatch.theory.wu import odd_share, patient_law, wu
from papers.shared.estimates import Estimate
from papers.shared.findings import Effort, Findings, Part, Row, Verdict, judged
from papers.shared.words import table_of_rows
from papers.wu.worlds import PeriodFigures, World, by_world, mean, play, runs_of, two_skills

POINTS = ((1, 0.3, 2.0), (2, 0.3, 0.5), (3, 0.5, 1.0), (5, 0.1, 1.5))
"""n, q and alpha for which waiting pays, does not, ties, pays."""
EDGE = (2, 0.0, 5.0)
EXACT = 1e-9
RATE, WAIT_PRICE = 4.0, 0.5
TIMED_POINT = (2, 0.3, 0.2)
ALPHAS: tuple[float, ...] = tuple(i / 20 for i in range(61))
SHARES = tuple(i / 100 for i in range(1, 100))


def costs(effort: Effort) -> Part:
    """Return the part of the two policies' costs."""
    tasks = runs_of(worlds(), effort)
    ids = ("pi", "patient_cost", "greedy_wait", "greedy_imbalance", "greedy_cost", "units")
    return Part(
        tuple(f"wu.{name}" for name in ids),
        play,
        tasks,
        lambda results: _finish(by_world(tasks, results), effort.seed),
    )


def worlds() -> list[World]:
    """Return the simulated worlds."""
    games = [two_skills(*point, policy) for point in POINTS for policy in ("greedy", "patient")]
    timed = [_timed(policy) for policy in ("greedy", "patient")]
    return [*games, two_skills(*EDGE, "patient"), *timed]


def _timed(policy: str) -> World:
    """Return a game in seconds: players arrive at random, and waiting has a price."""
    n, q, alpha = TIMED_POINT
    game = two_skills(n, q, alpha, policy)
    return World(
        name=f"wu-units-{policy}",
        n=n,
        alpha=alpha,
        policy=policy,
        skill=game.skill,
        rate=RATE,
        wait_price=WAIT_PRICE,
        longer=3,
    )


def _finish(found: Mapping[str, Sequence[PeriodFigures]], seed: int) -> Findings:
    rows = [*_greedy(found), *_patient(found), *_pi(found), *_units(found)]
    text = (
        "Printed: the paper's formula. Exact: the sum that it stands for, or the mean over the "
        "chain. Simulated: the engine, one player each second, with the half-width of 95 %."
    )
    return Findings(
        tuple(rows),
        (table_of_rows("The two policies", text, rows),),
        tuple(_plots()),
        {world.file: world.toml(seed) for world in worlds()},
    )


def _row(
    name: str,
    figures: tuple[float, float],
    simulated: tuple[World, Estimate],
    params: dict[str, Any],
    verdict: Verdict | None = None,
) -> Row:
    """Return a row of printed and exact figures, and the mean over a world's runs."""
    (printed, exact), (world, found) = figures, simulated
    return Row(
        id=f"wu.{name}",
        params=params,
        printed=printed,
        exact=exact,
        simulated=found.value,
        half_width=found.half_width,
        verdict=verdict or judged(printed, truth=exact, half_width=EXACT),
        scenario=world.file,
    )


def _odd_sum(n: int, q: float) -> float:
    """Return the paper's sum over odd numbers of high players, term by term."""
    share = Fraction(repr(q))
    terms = (comb(2 * n, k) * share**k * (1 - share) ** (2 * n - k) for k in range(1, 2 * n, 2))
    return float(sum(terms, Fraction(0)))


def _greedy(found: Mapping[str, Sequence[PeriodFigures]]) -> Iterator[Row]:
    for n, q, alpha in POINTS:
        world = two_skills(n, q, alpha, "greedy")
        runs = found[world.name]
        params = {"n": n, "q": q, "alpha": alpha}
        odd = (1.0 - (2.0 * q - 1.0) ** (2 * n)) / 2.0
        waited, uneven = float(sum(range(2 * n))), 2 * n * alpha * _odd_sum(n, q)

        waits = world, mean([2 * n * run.wait for run in runs])
        yield _row(
            "greedy_wait", (n * (2.0 * n - 1.0), waited), waits, {"n": n, "what": "wait per match"}
        )
        gaps = world, mean([2 * n * (run.cost - run.wait) for run in runs])
        what = {**params, "what": "imbalance per match"}
        yield _row("greedy_imbalance", (2 * n * alpha * odd, uneven), gaps, what)
        costs = world, mean([run.cost for run in runs])
        figures = n - 0.5 + alpha * odd, (waited + uneven) / (2 * n)
        yield _row("greedy_cost", figures, costs, {**params, "what": "cost per period"})


def _patient(found: Mapping[str, Sequence[PeriodFigures]]) -> Iterator[Row]:
    for n, q, alpha in (*POINTS, EDGE):
        world = two_skills(n, q, alpha, "patient")
        cost = mean([run.cost for run in found[world.name]])
        law = patient_law(n=n, q=q)
        exact = float(sum(share * sum(pool) for pool, share in law.items()))
        verdict: Verdict = "holds" if 0.0 < q < 1.0 else "holds if"
        params = {"n": n, "q": q, "alpha": alpha, "what": "cost per period"}
        yield _row("patient_cost", (float(n), exact), (world, cost), params, verdict)


def _pi(found: Mapping[str, Sequence[PeriodFigures]]) -> Iterator[Row]:
    n, q, alpha = POINTS[1]
    world = two_skills(n, q, alpha, "patient")
    law = patient_law(n=n, q=q)
    for k in range(2 * n + 1):
        printed = 1.0 / (4 * n) if k in (0, 2 * n) else 1.0 / (2 * n)
        exact = float(sum((s for pool, s in law.items() if sum(pool) == k), Fraction(0)))
        share = mean([run.pools[k] for run in found[world.name]])
        params = {"n": n, "q": q, "what": f"Pi_{k}, share of periods with {k} waiting"}
        yield _row("pi", (printed, exact), (world, share), params)


def _units(found: Mapping[str, Sequence[PeriodFigures]]) -> Iterator[Row]:
    """Yield costs per player in seconds: the paper's, with alpha * rate / price in its place."""
    n, q, alpha = TIMED_POINT
    period = WAIT_PRICE / RATE
    paper = wu(n=n, q=q, alpha=alpha / period)
    timed = wu(n=n, q=q, alpha=alpha, rate=RATE, wait_price=WAIT_PRICE)
    for policy, figures in (
        ("greedy", (period * paper.greedy_cost, timed.greedy_cost)),
        ("patient", (period * paper.patient_cost, timed.patient_cost)),
    ):
        world = _timed(policy)
        cost = mean([run.cost for run in found[world.name]])
        params = {"n": n, "q": q, "alpha": alpha, "rate": RATE, "wait_price": WAIT_PRICE}
        what = f"cost of {policy} per player"
        yield _row("units", figures, (world, cost), {**params, "what": what})


def _plots() -> Iterator[Plot]:
    q = 0.3
    lines = []
    for n in (1, 2, 5):
        greedy = tuple(wu(n=n, q=q, alpha=alpha).greedy_cost - n for alpha in ALPHAS)
        lines.append(PlotLine(f"n = {n}, greedy", ALPHAS, greedy, is_theory=True))
    lines.append(PlotLine("patient, every n", ALPHAS, (0.0,) * len(ALPHAS), is_theory=True))
    few = ALPHAS[::5]
    best = tuple(
        skill_mdp(types=(0.0, 1.0), probs=(1.0 - q, q), n=2, alpha=alpha, cap=5).cost - 2.0
        for alpha in few
    )
    lines.append(PlotLine("n = 2, decision process", few, best))
    yield Plot(
        "cost_by_alpha",
        "Cost above n, per period",
        f"Two skills, q = {q:g}. Below 0 greedy is the best policy, above it the patient one, "
        "which costs n: the least cost is the lower of the two lines.",
        "alpha",
        "cost - n",
        tuple(lines),
        from_zero=False,
    )
    yield Plot(
        "threshold_by_q",
        "The alpha from which on waiting pays",
        "It is never below 1, least where high and low are as frequent, and infinite at the ends; "
        "larger teams have it near 1 for more values of q.",
        "q",
        "alpha",
        tuple(map(_threshold, (1, 2, 3, 5))),
    )


def _threshold(n: int) -> PlotLine:
    """Return the threshold over q, where it is at most 5."""
    odd = {q: float(odd_share(n=n, q=q)) for q in SHARES}
    shares = tuple(q for q in SHARES if odd[q] >= 0.1)
    return PlotLine(f"n = {n}", shares, tuple(0.5 / odd[q] for q in shares), is_theory=True)
