"""Statements: one row each, with the verdict that its figures bear out and words that say why."""

import pytest

from evenmatch.lab.reproduce.paper import PAPERS, parts_of
from evenmatch.lab.reproduce.row import Effort, Row
from evenmatch.lab.reproduce.statements.all import SAYINGS
from evenmatch.lab.reproduce.statements.judging import identical, runs_to_decide, statements_of
from evenmatch.lab.reproduce.statements.saying import Saying, Statement

QUICK = Effort(quick=True, seed=0)


def only(saying: Saying, *figures: Row) -> Statement:
    """Return the statement that comes of some figures."""
    (found,) = statements_of([saying], figures)
    return found


def says(**more: object) -> Saying:
    return Saying(id="p.1", says="It is so.", **more)  # type: ignore[arg-type]


def row(**more: object) -> Row:
    return Row(id="p.1", **more)  # type: ignore[arg-type]


def test_figures_of_all_settings_make_one_row() -> None:
    figures = [row(params={"n": n}, printed=1.0, exact=1.0, verdict="holds") for n in (1, 2)]
    found = only(says(), *figures)
    assert (found.verdict, found.why, len(found.figures)) == ("holds", "Exact in 2 settings.", 2)


def test_simulated_figures_beyond_three_standard_errors_are_counted() -> None:
    near = row(printed=1.0, exact=1.0, simulated=1.01, half_width=0.02, verdict="holds")
    far = row(printed=1.0, exact=1.0, simulated=1.1, half_width=0.02, verdict="holds")
    assert "1 of 2 simulated figures" in only(says(), near, far).why


def test_rounded_figure_is_no_agreement() -> None:
    near = row(printed=2.0, exact=1.999, verdict="holds")
    found = only(says(unit=0.05), near)
    assert found.verdict == "holds if"
    assert found.why == "Rounded, as printed: 2 stands for 1.999."


def test_approximation_says_how_far_it_is_off() -> None:
    near = row(params={"k": 2}, printed=1.02, simulated=1.0, half_width=0.001, verdict="holds")
    found = only(says(slack=0.03), near)
    assert found.verdict == "holds if"
    assert "off by 2 % at the most (k 2)" in found.why


def test_condition_is_in_words_and_says_where_it_fails() -> None:
    good = row(params={"q": 0.5}, printed=1.0, exact=1.0, verdict="holds")
    bad = row(params={"q": 0}, printed=1.0, exact=2.0, verdict="differs")
    found = only(says(condition="If q > 0."), good, bad)
    assert found.verdict == "holds if"
    assert found.why.startswith("If q > 0. It holds in 1 of 2 settings.")
    assert found.params == {"q": 0}, "the setting that says most is shown"


def test_difference_says_by_how_much_and_the_likely_reason() -> None:
    found = only(says(reason="Ours are other players."),
                 row(printed=0.3, simulated=0.6, half_width=0.01, verdict="differs"))  # fmt: skip
    assert found.verdict == "differs"
    assert found.why == "Printed 0.3, here 0.600 ± 0.010, -50 %. Ours are other players."


def test_wrong_print_has_the_right_formula_first() -> None:
    wrong = row(printed=1.0, corrected=2.0, exact=2.0, verdict="wrong in print")
    found = only(says(mended="Right: 2. It forgets one."), wrong)
    assert found.verdict == "wrong in print"
    assert found.why == "Right: 2. It forgets one."
    assert (found.printed, found.corrected) == (1.0, 2.0)


def test_unresolved_says_how_many_runs_would_decide() -> None:
    open_ = row(simulated=1.0, half_width=2.0, runs=10, aim=0.0, verdict="unresolved")
    found = only(says(), open_)
    assert found.verdict == "unresolved"
    assert "about 80 runs would decide (10 made)" in found.why
    assert runs_to_decide(open_) == 80


def test_what_the_source_leaves_undefined_says_the_reading() -> None:
    found = only(says(reading="Much is read as a tenth."), row(exact=0.2, verdict="holds if"))
    assert (found.verdict, found.why) == ("undefined in the source", "Much is read as a tenth.")


def test_what_the_source_does_not_have_has_no_verdict() -> None:
    assert only(says(is_ours=True), row(simulated=1.0, half_width=0.1)).verdict is None


def test_methods_that_came_to_the_same_figures_are_named() -> None:
    figures = [
        row(params={"policy": name, "rate": rate}, simulated=value, half_width=0.1)
        for name, values in {"a": (1.0, 2.0), "b": (1.0, 2.0), "c": (1.0, 2.5)}.items()
        for rate, value in zip((1, 10), values, strict=True)
    ]
    assert identical(figures) == "a and b gave identical results."
    assert "a and b gave identical results." in only(says(), *figures).why


def test_longest_words_decide_whose_a_figure_is() -> None:
    sayings = [
        Saying(id="p.1", says="All."),
        Saying(id="p.1", says="Means.", what="mean"),
        Saying(id="p.1", says="Mean waits.", what="mean wait"),
    ]
    rows = [row(params={"what": what}) for what in ("mean wait of A", "mean cost", "other")]
    found = {each.statement: each.params["what"] for each in statements_of(sayings, rows)}
    assert found == {"All.": "other", "Means.": "mean cost", "Mean waits.": "mean wait of A"}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_id_of_a_paper_has_a_statement(paper: str) -> None:
    ids = {each for part in parts_of(paper, QUICK) for each in part.ids}
    assert {each.id for each in SAYINGS[paper]} == ids


@pytest.mark.parametrize("number", ["7", "9", "10", "11"])
def test_wrong_formulas_of_xu_are_explained_in_two_sentences(number: str) -> None:
    (saying,) = [each for each in SAYINGS["xu"] if each.id == f"xu.{number}"]
    right, why = saying.mended.split(". ", 1)
    assert right.startswith("Right: ")
    assert why
