"""Statements: one row each, with the verdict that its figures bear out and words that say why."""

import msgspec
import pytest

from papers.reproduction import SOURCES, parts_of, source_of
from papers.shared.estimates import Estimate
from papers.shared.findings import Effort, Row
from papers.statements.judging import identical, identical_elsewhere, runs_to_decide, statements_of
from papers.statements.saying import PaperStatement, Statement
from papers.xu.rows import is_near, said

QUICK = Effort(quick=True, seed=0)


def only(saying: PaperStatement, *figures: Row) -> Statement:
    """Return the statement that comes of some figures."""
    (found,) = statements_of([saying], figures)
    return found


def says(**more: object) -> PaperStatement:
    return PaperStatement(id="p.1", says="It is so.", **more)  # type: ignore[arg-type]


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


def test_methods_of_other_statements_with_the_same_figures_are_named() -> None:
    def figures(row_id: str, policy: str, low: float, high: float) -> list[Row]:
        return [
            Row(id=row_id, params={"policy": policy, "population": place, "figure": name},
                simulated=value + at, half_width=0.1)
            for place, value in (("low", low), ("high", high))
            for at, name in enumerate(("wait", "gap", "matched"))
        ]  # fmt: skip

    own = figures("p.1", "brackets", 1.0, 2.0)
    rows = [*own, *figures("p.2", "limit", 1.0, 3.0), *figures("p.3", "other", 4.0, 2.5)]
    by_id = {row_id: [each for each in rows if each.id == row_id] for row_id in ("p.1", "p.2")}
    assert identical_elsewhere(own, by_id) == (
        "brackets and limit gave identical results at population low."
    )
    (found, *_) = statements_of([], rows)
    assert found.why.endswith("brackets and limit gave identical results at population low.")
    by_id["p.2"] = figures("p.2", "limit", 1.0, 2.0)
    assert identical_elsewhere(own, by_id) == "brackets and limit gave identical results."
    # A method that is another one in some of its settings is not the same.
    for each in tuple(by_id["p.2"]):
        by_id["p.2"].append(msgspec.structs.replace(each, params={**each.params, "rate": 2}))
    by_id["p.1"] = own + [
        msgspec.structs.replace(each, params={**each.params, "rate": 3}) for each in own
    ]
    assert identical_elsewhere(by_id["p.1"], by_id) == ""
    by_id["p.1"] = own
    # Two of one figure may be alike by chance.
    by_id["p.2"] = by_id["p.2"][:1]
    assert identical_elsewhere(own, by_id) == ""


@pytest.mark.parametrize(("value", "words"), [(-1.0, "where more than 0"), (1.0, "no more than 0")])
def test_difference_says_on_which_side_of_the_aim_it_was_said_to_be(
    value: float, words: str
) -> None:
    found = only(says(), row(simulated=value, half_width=0.1, aim=0.0, verdict="differs"))
    assert words in found.why


def test_share_of_nothing_is_not_told() -> None:
    found = only(says(), row(printed=0.0, exact=0.25, verdict="differs"))
    assert found.why == "Printed 0, here 0.25."


def policy_rows(name: str, policy: str, gap: float, wait: float = 70.0) -> list[Row]:
    """Return the mean wait and rating difference of a policy among few players."""
    return [
        Row(id=f"gamedev.{name}",
            params={"policy": policy, "population": "low", "group": "all", "figure": key},
            simulated=value, half_width=1.0, runs=20)
        for key, value in (("wait", wait), ("rating difference", gap))
    ]  # fmt: skip


WINDOW = "window:limit=150,rate=2,limit_max=500"


@pytest.mark.parametrize(("gap", "verdict"), [(130.0, "holds if"), (139.0, "unresolved"),
                                              (150.0, "differs")])  # fmt: skip
def test_nearest_is_judged_where_there_is_somebody_to_choose_from(gap: float, verdict: str) -> None:
    rows = [
        *policy_rows("widening", WINDOW, 139.0),
        *policy_rows("nearest", f"{WINDOW},pick=nearest", 139.0),
        *policy_rows("nearest", f"{WINDOW},every=30", 140.0),
        *policy_rows("nearest", f"{WINDOW},pick=nearest,every=30", gap),
    ]
    found = next(
        s for s in statements_of(source_of("gamedev").sayings, rows) if s.id == "gamedev.nearest"
    )
    assert found.verdict == verdict
    if verdict == "holds if":
        assert "Decided at once 2 of 2 figures are identical" in found.why


@pytest.mark.parametrize(("wait", "verdict"), [(70.5, "holds if"), (75.0, "differs")])
def test_clock_of_a_second_is_judged_by_what_it_costs(wait: float, verdict: str) -> None:
    rows = [*policy_rows("widening", WINDOW, 139.0)]
    rows += policy_rows("second", f"{WINDOW},every=1", 139.2, wait)
    found = next(
        s for s in statements_of(source_of("gamedev").sayings, rows) if s.id == "gamedev.second"
    )
    assert found.verdict == verdict


@pytest.mark.parametrize(("value", "is_so"), [(1.02, True), (1.03, False)])
def test_simulated_figure_far_from_the_exact_one_is_no_support(value: float, is_so: bool) -> None:
    assert is_near(Estimate(value, 0.01), 1.0) is is_so
    assert said(is_so) == ("holds" if is_so else "differs")


def test_longest_words_decide_whose_a_figure_is() -> None:
    sayings = [
        PaperStatement(id="p.1", says="All."),
        PaperStatement(id="p.1", says="Means.", what="mean"),
        PaperStatement(id="p.1", says="Mean waits.", what="mean wait"),
    ]
    rows = [row(params={"what": what}) for what in ("mean wait of A", "mean cost", "other")]
    found = {each.statement: each.params["what"] for each in statements_of(sayings, rows)}
    assert found == {"All.": "other", "Means.": "mean cost", "Mean waits.": "mean wait of A"}


@pytest.mark.parametrize("paper", SOURCES)
def test_every_id_of_a_paper_has_a_statement(paper: str) -> None:
    ids = {each for part in parts_of(paper, QUICK) for each in part.ids}
    assert {each.id for each in source_of(paper).sayings} == ids


@pytest.mark.parametrize("number", ["7", "9", "10", "11"])
def test_wrong_formulas_of_xu_are_explained_in_two_sentences(number: str) -> None:
    (saying,) = [each for each in source_of("xu").sayings if each.id == f"xu.{number}"]
    right, why = saying.mended.split(". ", 1)
    assert right.startswith("Right: ")
    assert why
