"""Statements of compound rules."""

import pytest

from evenmatch.rules.flexmatch.statements import (
    NESTING_MAX,
    Combination,
    RuleName,
    WrongStatement,
    names_in,
    parse_statement,
    render_statement,
)


def test_statement_is_a_tree() -> None:
    statement, notes = parse_statement("or( and(A,B) , not(C-1 d))")
    assert statement == Combination(
        "or",
        (
            Combination("and", (RuleName("A"), RuleName("B"))),
            Combination("not", (RuleName("C-1 d"),)),
        ),
    )
    assert notes == ()
    assert list(names_in(statement)) == ["A", "B", "C-1 d"]
    assert render_statement(statement) == "or(and(A, B), not(C-1 d))"
    assert parse_statement(render_statement(statement))[0] == statement


def test_blanks_and_line_breaks_stand_anywhere() -> None:
    plain = parse_statement("or(and(A, B), not(C))")[0]
    assert parse_statement("or(\n\tand(A, B)\n, not( C\r\n) ) \n")[0] == plain


def test_single_rule_is_a_statement() -> None:
    assert parse_statement(" A ")[0] == RuleName("A")


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("AND(A,B)", "writes AND"),
        ("and(A,B,C)", "3 statements, where AWS takes two"),
        ("xor(A,B,C)", "exactly one of them"),
    ],
)
def test_other_spelling_is_noted(text: str, note: str) -> None:
    assert note in parse_statement(text)[1][0]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "must name a rule"),
        ("and(A)", "gives and one statement"),
        ("not(A,B)", "gives not 2 statements"),
        ("nand(A,B)", "must use one of and, or, not, xor"),
        ("and(A,B", "closing bracket before its end"),
        ("and(A,)", "must name a rule before ')'"),
        ("and()", "must name a rule before ')'"),
        ("A,B", "must end before ',B'"),
        ("not(A))", "must end before ')'"),
        ("not(A)B", "must end before 'B'"),
        ("not(" * 1000 + "A" + ")" * 1000, "nests more than 50"),
    ],
)
def test_wrong_statement_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(WrongStatement) as error:
        parse_statement(text)
    assert sentence in str(error.value)


def test_nesting_up_to_the_limit_is_read() -> None:
    deepest = "not(" * NESTING_MAX + "A" + ")" * NESTING_MAX
    assert list(names_in(parse_statement(deepest)[0])) == ["A"]
    with pytest.raises(WrongStatement):
        parse_statement(f"not({deepest})")
