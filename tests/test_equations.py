"""Every formula of docs/explanation/equations.md is computed and tested by what its row names."""

import re
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "explanation" / "equations.md"
HEADER = "| where | formula | status | computed by | shown by |"
STATUS = ("right", "with a condition", "wrong in print", "not in the paper")
XU_EQUATIONS = 43


class Formula(NamedTuple):
    where: str
    formula: str
    status: str
    computed_by: str
    shown_by: str


def formulas() -> list[Formula]:
    found = []
    for table in PAGE.read_text(encoding="utf-8").split(HEADER)[1:]:
        lines = table.partition("\n\n")[0].splitlines()[2:]
        cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]
        found += [Formula(*(cell.strip() for cell in row)) for row in cells]
    return found


def numbers(where: str) -> set[int]:
    """Return the numbers of a cell such as `Xu (26)-(30), VII-A`."""
    found: set[int] = set()
    for first, last in re.findall(r"\((\d+)\)(?:-\((\d+)\))?", where):
        found.update(range(int(first), int(last or first) + 1))
    return found


def test_every_numbered_equation_of_xu_has_a_row() -> None:
    rows = [each.where for each in formulas() if each.where.startswith("Xu")]
    found = set().union(*map(numbers, rows))
    assert found == set(range(1, XU_EQUATIONS + 1))


def test_every_result_of_wu_has_a_row() -> None:
    rows = " ".join(each.where for each in formulas())
    for result in ("Lemma 3.1", "Lemma 3.2", "Theorem 3.3"):
        assert f"Wu {result}" in rows


@pytest.mark.parametrize("formula", formulas(), ids=lambda each: f"{each.where[:30]}")
def test_formula_names_what_computes_it_and_what_shows_it(formula: Formula) -> None:
    assert formula.status.startswith(STATUS)
    functions = re.findall(r"`([\w.]+)`", formula.computed_by)
    assert functions
    for name in functions:
        module, _, function = name.rpartition(".")
        whole = module if module.startswith("papers.") else f"evenmatch.{module}"
        assert callable(getattr(import_module(whole), function)), name
    tests = re.findall(r"`((?:\w+/)*test_\w+\.py)::(\w+)`", formula.shown_by)
    assert tests
    for file, test in tests:
        path = file if "/" in file else f"theory/{file}"
        folder = ROOT / "tests" / ("" if path.startswith("papers/") else "unit")
        text = (folder / path).read_text(encoding="utf-8")
        assert re.search(rf"^def {test}\(", text, re.M), test


def test_what_is_wrong_in_print_says_what_is_printed() -> None:
    wrong = [each for each in formulas() if each.status.startswith("wrong in print")]
    by_paper = {(each.where.split()[0], number) for each in wrong for number in numbers(each.where)}
    assert by_paper == {("Xu", number) for number in (7, 9, 10, 11, 40)} | {("Schlup", 4)}
    assert all(": " in each.status for each in wrong)
