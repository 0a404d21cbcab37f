"""The table of faults that break an invariant: in order, complete, and some of it each day."""

from collections import Counter
from datetime import UTC, datetime

import pytest

from tests.extent import IS_LONG
from tests.gates.planting import ROOT, Fault, mutants, sample
from tests.gates.test_faults import run

EACH_DAY = 1
"""How many `make test` plants: up to a minute each on a busy machine."""
LEAST = 60
INVARIANTS = [f"I{number}" for number in range(1, 20)]
UNSEEN = {"I12", "I18"}
"""Nobody decides again in the simulation what a policy decided, and nobody has tokens there."""


def of(fault: Fault) -> str:
    return fault.invariant.partition(":")[0]


@pytest.mark.parametrize("fault", mutants(), ids=lambda fault: fault.invariant)
def test_mutant_stands_where_the_table_says(fault: Fault) -> None:
    compile(fault.planted(), fault.file, "exec")
    assert fault.replacement != fault.text
    assert fault.sentence.endswith(".")
    assert bool(fault.tests) == (of(fault) in UNSEEN)
    for test in fault.tests:
        assert (ROOT / test.partition("::")[0]).exists()


def test_each_invariant_is_broken_at_least_twice() -> None:
    table = mutants()
    times = Counter(of(fault) for fault in table)
    assert len(table) >= LEAST
    assert {name: times[name] for name in INVARIANTS if times[name] < 2} == {}
    assert set(times) == set(INVARIANTS)
    assert len({fault.invariant for fault in table}) == len(table)
    assert len({(fault.file, fault.replacement) for fault in table}) == len(table)


def test_mutants_of_today_are_found() -> None:
    words = ["--table", "mutants", "--sample", str(EACH_DAY), "--seeds", "100"]
    chosen = sample(EACH_DAY, datetime.now(UTC).date(), mutants())
    done = run("-m", "tests.gates.planting", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("found  ") == len(chosen)


@pytest.mark.long
@pytest.mark.skipif(not IS_LONG, reason="make test-full and make mutants plant all of them")
def test_mutants_are_found_but_for_those_that_are_named() -> None:
    done = run("-m", "tests.gates.planting", "--table", "mutants", "--seeds", "100")
    found = int(done.stdout.splitlines()[-1].partition(" ")[0])
    assert found >= sum(not fault.survives for fault in mutants()), done.stdout + done.stderr
