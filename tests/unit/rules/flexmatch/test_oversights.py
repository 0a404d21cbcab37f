"""Rules that say nothing or contradict each other, and attributes that nothing reads."""

from typing import Any

import msgspec
import pytest

from evenmatch.rules.flexmatch.reader import read_rule_set

MODE = "teams[red].players.attributes[mode]"
SKILL = "avg(teams[red].players.attributes[skill])"
COUNT = "count(teams[red].players)"
Json = dict[str, Any]


def compared(measured: str, operation: str, reference: object, **keys: Any) -> Json:
    return {
        "type": "comparison",
        "measurements": [measured],
        "operation": operation,
        "referenceValue": reference,
    } | keys


def found(*rules: Json, least: int = 1, **keys: Any) -> list[str]:
    """Return the findings of rules on one team of up to four players."""
    raw = {
        "ruleLanguageVersion": "1.0",
        "playerAttributes": [
            {"name": "skill", "type": "number", "default": 0},
            {"name": "mode", "type": "string", "default": "x"},
        ],
        "teams": [{"name": "red", "minPlayers": least, "maxPlayers": 4}],
        "rules": [{"name": f"r{number}"} | rule for number, rule in enumerate(rules)],
    } | keys
    return [str(each) for each in read_rule_set(msgspec.json.encode(raw))[1]]


@pytest.mark.parametrize(
    "rules",
    [
        (compared(MODE, "=", "x"), compared(MODE, "=", "y")),
        (compared(MODE, "!=", "x"), compared(MODE, "=", "x")),
        (compared(SKILL, ">", 5), compared(SKILL, "<=", 5)),
        (compared(SKILL, "=", 5), compared(SKILL, ">", 7)),
        (compared(SKILL, ">=", 5), compared(MODE, "=", "x"), compared(SKILL, "<", 5)),
    ],
    ids=["words", "word-and-not", "open-end", "value-and-bound", "apart"],
)
def test_rules_that_contradict_each_other_are_an_error(rules: tuple[Json, ...]) -> None:
    errors = [each for each in found(*rules) if each.startswith("error")]
    assert len(errors) == 1
    assert "never passes together with r0 ($.rules[0])" in errors[0]


@pytest.mark.parametrize(
    "rules",
    [
        (compared(MODE, "=", "x"), compared(MODE, "=", "x")),
        (compared(MODE, "!=", "x"), compared(MODE, "!=", "y")),
        (compared(SKILL, ">=", 5), compared(SKILL, "<=", 5)),
        (compared(SKILL, ">", 5), compared(SKILL, ">", 7)),
        (compared(SKILL, "=", 5, partyAggregation="min"), compared(SKILL, "=", 6)),
        (
            compared(MODE, "=", "x"),
            compared(MODE, "=", "y"),
            {"type": "compound", "statement": "or(r0,r1)"},
        ),
    ],
    ids=["same", "two-nots", "closed-ends", "one-way", "parties", "joined"],
)
def test_rules_that_one_match_can_satisfy_are_none(rules: tuple[Json, ...]) -> None:
    assert found(*rules) == []


def test_team_that_may_be_empty_contradicts_nothing() -> None:
    assert found(compared(MODE, "=", "x"), compared(MODE, "=", "y"), least=0) == []


def test_rule_whose_reference_expands_contradicts_nothing() -> None:
    expansion = {
        "target": "rules[r1].referenceValue",
        "steps": [{"waitTimeSeconds": 5, "value": "x"}],
    }
    rules = compared(MODE, "=", "x"), compared(MODE, "=", "y")
    assert found(*rules, expansions=[expansion]) == []


@pytest.mark.parametrize(
    ("operation", "reference"), [(">=", 1), ("<=", 4), ("<", 5), (">", 0), ("!=", 7)]
)
def test_rule_that_team_sizes_satisfy_by_themselves_is_a_warning(
    operation: str, reference: int
) -> None:
    (warning,) = found(compared(COUNT, operation, reference))
    assert warning.startswith("warning: $.rules[0].referenceValue")
    assert "always passes with these team sizes" in warning


def test_rule_that_some_team_sizes_satisfy_is_none() -> None:
    assert found(compared(COUNT, ">=", 2)) == []
    assert found(compared(SKILL, ">=", -5)) == []


def test_attribute_that_nothing_reads_and_nobody_may_lack_is_a_warning() -> None:
    own = [{"name": "skill", "type": "number"}, {"name": "spare", "type": "string"}]
    (warning,) = found(compared(SKILL, ">", 5), playerAttributes=own)
    assert warning.startswith("warning: $.playerAttributes[1].name")
    assert "give it a default, or delete it" in warning
    own[1]["default"] = "x"
    assert found(compared(SKILL, ">", 5), playerAttributes=own) == []


@pytest.mark.parametrize(
    "reader",
    [
        {"rules": [{"name": "r", "type": "batchDistance", "batchAttribute": "skill",
                    "maxDistance": 5}]},
        {"rules": [{"name": "r", "type": "distanceSort", "sortDirection": "ascending",
                    "sortAttribute": "skill"}]},
        {"algorithm": {"batchingPreference": "sorted", "sortByAttributes": ["skill"]}},
    ],
    ids=["batch", "sort", "algorithm"],
)  # fmt: skip
def test_attribute_that_something_reads_is_none(reader: Json) -> None:
    own = [{"name": "skill", "type": "number"}]
    keys: Json = {"playerAttributes": own} | reader
    assert found(**keys) == []
