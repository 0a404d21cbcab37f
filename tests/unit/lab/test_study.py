"""Many runs: children of the seed, means, half-widths."""

import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from evenmatch import simulate
from evenmatch.errors import ConfigError
from evenmatch.lab.study.study import (
    T_975,
    RunTask,
    _interrupts_deferred,
    averages,
    execute_all,
    student_t,
)
from evenmatch.model.queue import Queue
from evenmatch.model.scenario import Arrivals, Scenario

WORLD = Scenario((Queue(),), Arrivals(rate=2.0, count=40), seed=3)


def test_run_uses_its_child_of_the_seed() -> None:
    tasks = [RunTask(WORLD, child=child) for child in range(3)]
    with ThreadPoolExecutor(2) as pool:
        results = execute_all(tasks, executor=pool)
    children = np.random.SeedSequence(3).spawn(3)
    expected = [simulate(WORLD, seed=child).summary for child in children]
    assert [result.summary for result in results] == expected
    assert len({result.summary["cost"] for result in results}) == 3


@pytest.mark.several_processes
def test_results_do_not_depend_on_where_they_were_made() -> None:
    tasks = [RunTask(WORLD, seed=8, child=child, keeps_run=True) for child in range(2)]
    ticks: list[int] = []
    results = execute_all(tasks, lambda: ticks.append(1))
    with ThreadPoolExecutor(1) as pool:
        again = execute_all(tasks, executor=pool)
    assert [r.summary for r in results] == [r.summary for r in again]
    runs = [result.run for result in (*results, *again)]
    assert all(run is not None for run in runs)
    assert [run.matches for run in runs[:2]] == [run.matches for run in runs[2:]]
    assert len(ticks) == 2


@pytest.mark.several_processes
def test_error_in_another_process_is_the_same_error() -> None:
    tasks = [RunTask(WORLD, policy="nope"), RunTask(WORLD, policy="greedy")]
    with pytest.raises(ConfigError, match="no policy is called 'nope'"):
        execute_all(tasks)


@pytest.mark.skipif(sys.platform == "win32", reason="no masks of signals")
def test_interrupt_that_another_thread_takes_waits_until_all_processes_have_started() -> None:
    # As where nobody told this process to ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    is_over, started = threading.Event(), []

    def start() -> None:
        with _interrupts_deferred():
            os.kill(os.getpid(), signal.SIGINT)
            started.extend([str(number) for number in range(10_000)])

    thread = threading.Thread(target=is_over.wait)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            start()
    finally:
        is_over.set()
        thread.join()
        found = signal.signal(signal.SIGINT, before)
    assert len(started) == 10_000
    assert found is signal.default_int_handler
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_averages_are_means_with_half_widths_under_the_same_keys() -> None:
    found = averages(
        [
            {"matches": 2, "wait": {"mean": 1.0, "p50": None}},
            {"matches": 4, "wait": {"mean": 2.0, "p50": None}},
            {"matches": 6, "wait": {"mean": None, "p50": None}},
        ]
    )
    assert found["matches"] == 4.0
    assert found["wait"] == {"mean": 1.5, "p50": None}
    widths = found["ci95"]
    assert widths["matches"] == pytest.approx(T_975[1] * 2.0 / 3**0.5)
    assert widths["wait"]["p50"] is None
    assert widths["wait"]["mean"] == pytest.approx(T_975[0] * 0.5)


def test_group_that_a_run_lacks_had_no_players_in_it() -> None:
    whole = {"1": {"players": 4, "wait": {"mean": 1.0}}, "2": {"players": 2, "wait": {"mean": 3.0}}}
    runs = [{"by": {"size": whole}}, {"by": {"size": {"1": whole["1"]}}}, {"by": {"size": {}}}]
    found = averages(runs)
    assert found["by"]["size"] == {
        "1": {"players": 8 / 3, "wait": {"mean": 1.0}},
        "2": {"players": 2 / 3, "wait": {"mean": 3.0}},
    }
    widths = found["ci95"]["by"]["size"]["2"]
    assert widths["players"] == pytest.approx(T_975[1] * 2.0 / 3)
    assert widths["wait"]["mean"] is None


def test_figure_that_no_run_has_stays_none_where_a_run_lacks_the_group() -> None:
    unmatched = {"3": {"players": 3, "wait": {"mean": None}}}
    found = averages([{"by": {"level": unmatched}}, {"by": {"level": {}}}])
    assert found["by"]["level"]["3"] == {"players": 1.5, "wait": {"mean": None}}


def test_one_run_has_no_half_widths() -> None:
    assert averages([{"matches": 2}]) == {"matches": 2.0, "ci95": {"matches": None}}


@pytest.mark.parametrize(
    ("degrees", "expected"),
    [(1, 12.7062), (5, 2.5706), (9, 2.2622), (12, 2.1788), (30, 2.0423), (120, 1.9799)],
)
def test_students_t_agrees_with_tables(degrees: int, expected: float) -> None:
    assert student_t(degrees) == pytest.approx(expected, abs=2e-4)
