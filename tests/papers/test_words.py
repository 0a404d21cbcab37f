"""How rows are shown: digits that bear out the verdict, and only what was asked for."""

import pytest

from papers.reproduction import parts_of
from papers.reproduction import reproduce as do_again
from papers.shared.findings import Effort, Findings, Part, Row
from papers.shared.words import HEADS, line_of, table_of_rows
from papers.statements.source import Opening, Source
from papers.xu.rows import agreement

QUICK = Effort(quick=True, seed=0)


@pytest.mark.parametrize(
    ("printed", "exact", "texts"),
    [
        (2.0, 1.9992, ("2", "1.999")),
        (2.0, 1.99999, ("2", "1.99999")),
        (1.34, 1.34049, ("1.34", "1.3405")),
        (0.33333, 0.33334, ("0.33333", "0.33334")),
        (1.0, 1.0, ("1", "1")),
        (1.0, 1.0 + 1e-12, ("1", "1")),  # the last digits of a sum
    ],
)
def test_figures_that_differ_are_shown_to_differ(printed, exact, texts) -> None:
    line = dict(zip(HEADS, line_of(Row(id="a", printed=printed, exact=exact)), strict=True))
    assert (line["printed"], line["exact"]) == texts


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

    source = Source(title="P", sayings=(), parts=parts, opening=Opening("", "", "", ""))
    monkeypatch.setattr("papers.reproduction.source_of", lambda _: source)
    found = do_again("p", QUICK, ["p.one"], lambda function, items: []).findings
    assert [each.title for each in found.tables] == ["p.one"]
    assert "Of 1 simulated figures" in found.tables[0].text
    assert [row.id for row in found.rows] == ["p.one"]
    assert len(do_again("p", QUICK, [], lambda function, items: []).findings.tables) == 2
    assert len(parts_of("p", QUICK)) == 1
