"""The reliability card says what was run, and nothing else."""

from pathlib import Path

import pytest

from tests.fault.card import INVARIANTS, NOTES, PAGE, PARTS, ROOT, Run, main, notes, page, taken
from tests.gates.planting import mutants


def test_page_is_what_the_notes_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(notes())


def test_part_that_was_not_run_says_so() -> None:
    text = page({})
    assert text.count("Not run.") == len(PARTS)
    assert "| yes |" not in text


def test_part_that_failed_is_not_kept() -> None:
    run = Run("command", "2030-01-01", 1.0, False, {"violations": 3}, {"Python": "3"})
    text = page({"simulation": run})
    assert "| 2030-01-01 | **no** |" in text
    assert "| violations | 3 |" in text


def test_notes_are_of_parts_and_the_card_lists_all_invariants() -> None:
    assert set(notes()) <= set(PARTS)
    assert {fault.invariant.partition(":")[0] for fault in mutants()} == set(INVARIANTS)


def test_every_command_names_what_there_is() -> None:
    for part in PARTS.values():
        for word in part.command.split():
            if word.startswith("tests/"):
                assert (ROOT / word).exists()
            elif word.startswith("tests."):
                assert (ROOT / (word.replace(".", "/") + ".py")).exists() or (
                    ROOT / word.replace(".", "/") / "__main__.py"
                ).exists()


def test_what_tests_counted_is_read_of_what_they_print() -> None:
    output = """
_______________ test_other ________________
----------- Captured stdout call -----------
something else
_______ test_kills_lose_nothing[one] _______
----------- Captured stdout call -----------
KillCounts(kills=3, acknowledged=40, lost=0, stale_refused=3)
================= 2 passed in 1.00s =================
"""
    is_well, figures = PARTS["postgresql"].read(b"null", output, 0)
    assert is_well
    assert figures == {
        "passed": 2,
        "kills lose nothing": {"kills": 3, "acknowledged": 40, "lost": 0, "stale refused": 3},
        "not tested": "nothing",
    }


def test_figures_of_a_file_are_dated_by_it(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    file.write_text('{"violations": 0, "seeds": 2, "first seed": 7}')
    run = taken("simulation", 2, file)
    assert run.is_well
    assert run.command == "python -m tests.fault.simulated --seeds 2 --processes 1 --first 7"


def test_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--run", "nothing"])
    assert "there is no part 'nothing'" in capsys.readouterr().err
    assert NOTES.name == "card.json"
