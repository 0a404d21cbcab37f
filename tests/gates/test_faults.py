"""Planted faults: the table is in order, and what is planted is found."""

import subprocess
import sys
from collections import Counter
from datetime import date, timedelta

import pytest

from tests.extent import IS_LONG
from tests.gates.planting import ROOT, Fault, Planter, faults, sample

EACH_DAY = 8
"""How many are planted by `make test`: about six seconds of processor time."""


@pytest.mark.parametrize("fault", faults(), ids=lambda fault: fault.invariant)
def test_fault_stands_where_the_table_says(fault: Fault) -> None:
    planted = fault.planted()

    compile(planted, fault.file, "exec")
    assert fault.replacement != fault.text
    assert fault.sentence.endswith(".")
    assert fault.tests
    for test in fault.tests:
        assert (ROOT / test.partition("::")[0]).exists()


def test_table_names_each_invariant_once() -> None:
    assert [
        name for name, times in Counter(f.invariant for f in faults()).items() if times > 1
    ] == []


def test_all_faults_have_their_turn() -> None:
    table = faults()
    days = -(-len(table) // EACH_DAY)
    drawn = [sample(EACH_DAY, date(2030, 1, 1) + timedelta(day)) for day in range(days + 1)]

    assert {fault.invariant for day in drawn for fault in day} == {f.invariant for f in table}
    assert [len(day) for day in drawn] == [EACH_DAY] * (days + 1)


def test_text_that_is_not_there_is_an_error() -> None:
    fault = Fault("x", "X.", "errors.py", "no such text", "another", ("tests",))

    with pytest.raises(ValueError, match=r"errors\.py has the text 0 times, not once"):
        Planter(fault)


def test_fault_that_changes_nothing_survives() -> None:
    """Otherwise a gate that calls everything found would never be noticed."""
    program = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.gates import planting
(clock,) = [f for f in planting.faults() if f.invariant == "rounds never drift"]
harmless = planting.msgspec.structs.replace(clock, replacement=clock.text)
planting.faults = lambda *_: [harmless]
sys.exit(planting.main(["--table", "faults"]))
"""
    done = run("-c", program)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("survived")
    assert done.stdout.endswith("0 of 1 planted faults were found.\n")


def test_faults_of_today_are_found() -> None:
    done = run("-m", "tests.gates.planting", "--table", "faults", "--sample", str(EACH_DAY))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("\nfound ") + done.stdout.startswith("found ") == EACH_DAY


@pytest.mark.long
@pytest.mark.skipif(not IS_LONG, reason="make mutants and make test-full plant all faults")
def test_all_faults_are_found() -> None:
    done = run("-m", "tests.gates.planting", "--table", "faults")
    assert done.returncode == 0, done.stdout + done.stderr


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a process that has loaded nothing of ours."""
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, cwd=ROOT
    )
