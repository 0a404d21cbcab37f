"""The rows of "Dynamic Matching With Teams", its scenarios, and its formulas beside the engine."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from evenmatch.config.files import parse_scenario
from evenmatch.lab.simulate import simulate
from evenmatch.lab.study.study import student_t
from evenmatch.model.scenario import Scenario
from evenmatch.theory.wu import odd_share, waiting_law, wu
from papers.reproduction import parts_of, reproduce
from papers.shared.findings import Effort, Row
from papers.shared.sequences import arrivals_of
from papers.wu import costs, worlds
from papers.wu.source import scenarios
from papers.wu.worlds import PeriodFigures, Run, World, mean, play, two_skills
from tests.extent import extent, more

pytestmark = more

ROOT = Path(__file__).resolve().parents[3]
PAPERS = ROOT / "scenarios" / "papers"
QUICK = Effort(quick=True, seed=0)
SEED = int(os.environ.get("EVENMATCH_SEED", "7"))
EXACT = (
    "imbalance even_set lemma3.1 coin footnote9 states lemma3.2 delta theorem3.3 threshold cap "
    "implication1 implication2 implication3 abstract"
)


def here(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Do the work in this process."""
    return [function(item) for item in items]


@pytest.fixture(scope="module")
def exact_rows() -> tuple[Row, ...]:
    only = [f"wu.{name}" for name in EXACT.split()]
    return reproduce("wu", QUICK, only, here).findings.rows


def rows_of(rows: Sequence[Row], name: str) -> list[Row]:
    return [row for row in rows if row.id == f"wu.{name}"]


def test_every_statement_without_chance_is_judged(exact_rows: tuple[Row, ...]) -> None:
    for row in exact_rows:
        assert (row.verdict is None) == (row.id == "wu.footnote9")
        assert row.verdict != "differs"
        if row.printed is not None and row.verdict == "holds":
            assert row.exact == pytest.approx(row.printed, abs=1e-9)


def test_theorem_holds_but_where_no_set_may_wait(exact_rows: tuple[Row, ...]) -> None:
    theorem = rows_of(exact_rows, "theorem3.3")
    assert {row.params["n"] for row in theorem} == {1, 2, 3, 5}
    *holding, forced = theorem
    assert {row.verdict for row in holding} == {"holds"}
    assert forced.verdict == "holds if"
    assert forced.exact is not None
    assert forced.exact > 3.9
    for row in rows_of(exact_rows, "cap"):
        assert row.exact == pytest.approx(2.0, abs=1e-9)


def test_lemma_3_2_fails_at_the_edges_alone(exact_rows: tuple[Row, ...]) -> None:
    for row in rows_of(exact_rows, "lemma3.2") + rows_of(exact_rows, "states"):
        is_edge = row.params["q"] in (0.0, 1.0)
        assert row.verdict == ("holds if" if is_edge else "holds")
        assert (row.exact == row.printed) != is_edge


def test_sessions_of_one_skill_cost_twice_the_wait(exact_rows: tuple[Row, ...]) -> None:
    found = {row.params["n"]: row.exact for row in rows_of(exact_rows, "footnote9")}
    assert found == {n: pytest.approx(2 * n - 1) for n in (1, 2, 3, 5)}


def test_scenarios_are_files_too() -> None:
    written = {path.name: path.read_text("utf-8") for path in PAPERS.glob("wu-*.toml")}
    assert written == scenarios(0)
    for text in written.values():
        assert len(parse_scenario(text).queues) == 1


def test_simulated_rows_name_their_scenarios() -> None:
    for part in parts_of("wu", QUICK):
        runs = [task for task in part.tasks if isinstance(task, Run)]
        assert {run.world.file for run in runs} <= scenarios(0).keys()
        assert len(runs) == len(set(runs))


def test_pools_are_counted_just_before_each_arrival(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worlds, "PERIODS", 60)
    # Nobody is high: greedy and patient gather four and play, over and over.
    found = play(Run(two_skills(2, 0.0, 5.0, "patient"), 3, 0))
    assert found.pools == (0.25, 0.25, 0.25, 0.25, 0.0)
    assert (found.cost, found.wait) == (1.5, 1.5)


def test_few_runs_of_every_world_make_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worlds, "PERIODS", extent(30, 300))
    monkeypatch.setattr(worlds, "RUNS_QUICK", 3)
    ids = [f"wu.{name}" for name in ("greedy_cost", "patient_cost", "pi", "units", "window")]
    found = reproduce("wu", QUICK, [*ids, "wu.ends", "wu.skill"], here).findings
    assert {row.id for row in found.rows} == {*ids, "wu.ends", "wu.skill"}
    for row in found.rows:
        assert row.simulated is None or row.scenario in found.scenarios
    names = {plot.name for plot in found.plots}
    by = ("cost_by_alpha", "cost_by_threshold", "cost_by_pool", "cost_by_window")
    assert names == {*by, "threshold_by_q"}
    for plot in found.plots:
        for line in plot.lines:
            assert len(line.xs) == len(line.ys) > 1


def test_command_of_a_row_repeats_it() -> None:
    (row, *_) = reproduce("wu", QUICK, ["wu.threshold"], here).findings.rows
    assert row.command == "evenmatch reproduce wu --only wu.threshold --quick --seed 0"


def test_matches_do_not_depend_on_who_comes_later() -> None:
    (queue,) = parse_scenario(two_skills(2, 0.5, 5.0, "patient").toml(0)).queues
    skills = np.random.default_rng(2).integers(0, 2, (3, 40)).astype(float)
    skills[1:, :25] = skills[0, :25]
    made = []
    for each in skills:
        arrivals = arrivals_of(queue, np.arange(1.0, 41.0), each[None, :])
        run = simulate(Scenario((queue,)), arrivals=arrivals, seed=1)
        made.append([match for match in run.matches if match["at"] <= 25.0])
    assert len(made[0]) >= 5
    assert made[0] == made[1] == made[2]


POINTS = extent(1, 3)
"""Points drawn at random for each policy."""
RUNS = extent(10, 20)
PERIODS = 600


def drawn_worlds(policy: str) -> list[World]:
    """Return worlds of random n, q and alpha; EVENMATCH_SEED says which."""
    rng = np.random.default_rng(SEED)
    sizes = rng.choice([1, 2, 3, 5], size=POINTS)
    shares, alphas = rng.uniform(0.05, 0.95, POINTS), rng.uniform(0.1, 3.0, POINTS)
    return [
        two_skills(int(n), round(float(q), 3), round(float(alpha), 3), policy)
        for n, q, alpha in zip(sizes, shares, alphas, strict=True)
    ]


@pytest.mark.parametrize("policy", ["greedy", "patient"])
@pytest.mark.parametrize("point", range(POINTS))
def test_engine_costs_what_the_theory_says(
    policy: str, point: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worlds, "PERIODS", PERIODS)
    world = drawn_worlds(policy)[point]
    q = msgspec.toml.decode(world.skill)["probs"][1]
    print(f"EVENMATCH_SEED={SEED}: {world.name}")
    runs: list[PeriodFigures] = [play(Run(world, SEED, child)) for child in range(RUNS)]
    theory = wu(n=world.n, q=q, alpha=world.alpha)
    expected = {
        "greedy": (theory.greedy_cost, world.n - 0.5),
        "patient": (theory.patient_cost, theory.patient_cost),
    }[policy]
    assert within_three_errors([run.cost for run in runs], expected[0])
    assert within_three_errors([run.wait for run in runs], expected[1])
    if policy == "patient":
        for k, share in enumerate(waiting_law(n=world.n, q=q)):
            assert within_three_errors([run.pools[k] for run in runs], float(share))
    else:
        uneven = [(run.cost - run.wait) / world.alpha for run in runs]
        assert within_three_errors(uneven, float(odd_share(n=world.n, q=q)))


def within_three_errors(values: Sequence[float], truth: float) -> bool:
    """Return whether the mean over runs is as near as three standard errors, or a rounding."""
    found = mean(values)
    error = found.half_width / student_t(len(values) - 1)
    return abs(found.value - truth) <= 3.0 * error + 1e-9


def test_timed_world_has_the_papers_alpha_in_its_units() -> None:
    n, q, alpha = costs.TIMED_POINT
    timed = wu(n=n, q=q, alpha=alpha, rate=costs.RATE, wait_price=costs.WAIT_PRICE)
    paper = wu(n=n, q=q, alpha=alpha * costs.RATE / costs.WAIT_PRICE)
    assert timed.best == paper.best == "patient"
