"""JSON with comments and keys twice; what is no JSON ends with a sentence about its place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenmatch.rules.findings import Finding, FindingList, child_path, excerpt
from evenmatch.rules.json_text import (
    CHARACTERS_MAX,
    NESTING_MAX,
    Json,
    NotJson,
    read_json,
)


def read(text: str | bytes) -> tuple[Json, list[Finding]]:
    findings = FindingList()
    return read_json(text, findings), list(findings.sorted())


def refused(text: str | bytes) -> str:
    findings = FindingList()
    with pytest.raises(NotJson):
        read_json(text, findings)
    assert findings.has_error
    return str(findings.sorted()[-1])


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES, st.sampled_from([None, 2]), st.booleans())
def test_plain_json_is_read_as_by_the_library(value: Json, indent: int, is_ascii: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=is_ascii)
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    assert read(text) == (value, [])
    assert read(text.encode()) == (value, [])


@pytest.mark.parametrize(
    ("text", "value", "lines"),
    [
        ("[1, // one\n2]", [1, 2], [1]),
        ("// first\n/* second\nline */ {}", {}, [1, 2]),
        ('{"a": /* 1 */ "// no comment"} //', {"a": "// no comment"}, [1, 1]),
    ],
)
def test_comments_are_skipped_with_a_warning_each(text: str, value: Json, lines: list[int]) -> None:
    read_value, findings = read(text)
    assert read_value == value
    assert [each.line for each in findings] == lines
    assert {each.level for each in findings} == {"warning"}


def test_last_of_two_keys_counts_and_the_warning_names_both_lines() -> None:
    value, (finding,) = read('{"a": {"b": 1,\n"b": 2}}')
    assert value == {"a": {"b": 2}}
    assert (finding.level, finding.path, finding.line) == ("warning", "$.a.b", 2)
    assert "the second key 'b'" in finding.message
    assert "what line 1 says is ignored" in finding.message


@pytest.mark.parametrize("text", ["[1,]", '{"a": 1,}'])
def test_comma_before_a_closing_bracket_is_a_warning(text: str) -> None:
    _, (finding,) = read(text)
    assert finding.level == "warning"
    assert "leave the comma out" in finding.message


def test_line_break_in_a_string_is_a_warning() -> None:
    value, (finding,) = read('["a\nb"]')
    assert value == ["a\nb"]
    assert "write \\n" in finding.message


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "must have 1 to 65,535 characters, got 0"),
        (" " * (CHARACTERS_MAX + 1), "must have 1 to 65,535 characters, got 65,536"),
        (" ", "must have a value here, got the end"),
        (b"[\xff]", "byte 1 does not fit"),
        ("[NaN]", "must be a finite number, got NaN"),
        ("[-Infinity]", "must be a finite number, got -Infinity"),
        ("[1e400]", "must be a finite number, got 1e400"),
        ("[01]", "must have a value here, got '01]'"),
        ("[+1]", "must have a value here"),
        ("[.5]", "must have a value here"),
        ("[abc]", "texts need double quotes"),
        ("[1 2]", "must have a comma or ] here, got '2]'"),
        ("[1", "must have a comma or ] here, got the end"),
        ("[1]]", "goes on after its last bracket"),
        ("{a: 1}", "must have a key in double quotes here"),
        ('{"a" 1}', "must have a colon behind its name"),
        ('["a', "has a string that does not end"),
        (r'["\x"]', "has no such escape as"),
        (r'["\u12"]', "has no such escape as"),
        (r'["\ud800"]', "has half of a character"),
        ("[1] /* x", "has a comment that does not end"),
        ("[" * 1000 + "]" * 1000, "nests more than 50 deep"),
        ('{"a":' * 1000, "nests more than 50 deep"),
    ],
)
def test_what_is_no_json_is_refused(text: str | bytes, sentence: str) -> None:
    assert sentence in refused(text)


def test_error_names_path_line_and_column() -> None:
    assert refused('{"rules": [\n  {"name": oops}]}').startswith("error: $.rules[0].name (line 2)")
    assert "(line 2, column 12)" in refused('{"rules": [\n  {"name": oops}]}')


def test_column_counts_from_the_last_line_break() -> None:
    assert "(line 3, column 4)" in refused("[1,\n2,\n   oops]")
    assert "(line 1, column 2)" in refused("[oops]")


def test_comments_without_blanks_are_skipped() -> None:
    assert read("//\n[1]")[0] == [1]
    assert read("/**/[1]//")[0] == [1]


def test_limits_are_inclusive() -> None:
    deepest = "[" * NESTING_MAX + "5" + "]" * NESTING_MAX
    assert read(deepest)[1] == []
    assert "nests" in refused(f"[{deepest}]")
    objects = '{"a":' * NESTING_MAX + "5" + "}" * NESTING_MAX
    assert read(objects)[1] == []
    assert "nests" in refused(f"[{objects}]")
    assert read('"' + "x" * (CHARACTERS_MAX - 2) + '"')[1] == []


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    findings = FindingList()
    try:
        read_json(text, findings)
    except NotJson:
        assert findings.has_error
    else:
        assert not findings.has_error


def test_pairs_of_escapes_make_one_character() -> None:
    assert read(r'["\ud83d\ude00\u00e9\n"]')[0] == ["😀é\n"]


def test_path_of_an_odd_key_is_quoted() -> None:
    assert child_path("$", "a.b") == '$["a.b"]'
    assert child_path("$", 'say "x"') == r'$["say \"x\""]'


def test_long_values_are_cut() -> None:
    assert len(excerpt("x" * 100)) == 60
    assert excerpt(None) == "null"
