"""How rows are shown: digits that bear out the verdict, and only what was asked for."""

import pytest

from evenmatch.lab.reproduce import paper
from evenmatch.lab.reproduce.paper import parts_of
from evenmatch.lab.reproduce.paper import reproduce as do_again
from evenmatch.lab.reproduce.row import Effort, Findings, Part, Row
from evenmatch.lab.reproduce.words import HEADS, line_of, table_of_rows
from evenmatch.lab.reproduce.xu.tell import agreement

QUICK = Effort(quick=True, seed=0)


@pytest.mark.parametrize(
    ("printed", "exact", "verdict", "texts"),
    [
        (2.0, 1.9992, "holds", ("2", "2")),
        (1.34, 1.34049, "holds", ("1.34", "1.34")),
        (1.3404, 1.34, "holds", ("1.34", "1.34")),
        (2.0, 1.9, "holds", ("2", "1.9")),  # a condition that needs no equality
        (0.33333, 0.33334, "wrong in print", ("0.33333", "0.33334")),
        (2.0, 1.9992, "wrong in print", ("2", "1.999")),
        (1.0, 1.0, "wrong in print", ("1", "1")),
    ],
)
def test_printed_and_exact_differ_where_the_verdict_says_so(printed, exact, verdict, texts) -> None:
    row = Row(id="a", printed=printed, exact=exact, verdict=verdict)
    line = dict(zip(HEADS, line_of(row), strict=True))
    assert (line["printed"], line["exact"]) == texts


def test_a_printed_figure_never_has_a_blank_verdict() -> None:
    assert line_of(Row(id="a", printed=300.0, simulated=4e6))[-1] == "not judged"
    assert line_of(Row(id="a", simulated=4e6))[-1] == ""


ROWS = (
    Row(id="p.one", exact=1.0, simulated=1.0, half_width=0.1),
    Row(id="p.two", exact=1.0, simulated=9.0, half_width=0.1),
)


def test_the_count_is_of_the_rows_that_are_asked_for() -> None:
    assert agreement(ROWS, QUICK).startswith("Of 2 simulated figures, 1 are")
    one = Effort(quick=True, seed=0, only=("p.one",))
    assert agreement(ROWS, one).startswith("Of 1 simulated figures, 1 are")
    none = Effort(quick=True, seed=0, only=("p.three",))
    assert agreement(ROWS, none) == "Points are drawn, and worlds simulated, from seed 0."


def test_tables_without_the_rows_that_are_asked_for_are_left_out(monkeypatch) -> None:
    def parts(effort: Effort) -> list[Part]:
        def finish(_) -> Findings:
            text = agreement(ROWS, effort)
            tables = [table_of_rows(row.id, text, [row]) for row in ROWS]
            return Findings(ROWS, tuple(tables))

        return [Part(("p.one", "p.two"), abs, (), finish)]

    monkeypatch.setitem(paper.PAPERS, "p", parts)
    found = do_again("p", QUICK, ["p.one"], lambda function, items: []).findings
    assert [each.title for each in found.tables] == ["p.one"]
    assert "Of 1 simulated figures" in found.tables[0].text
    assert [row.id for row in found.rows] == ["p.one"]
    assert len(do_again("p", QUICK, [], lambda function, items: []).findings.tables) == 2
    assert len(parts_of("p", QUICK)) == 1
