"""What the reader of rule sets takes, what it refuses, and what it says."""

import json
from typing import Any

import pytest

from evenmatch.criteria.validation.queue import check_queue
from evenmatch.errors import ConfigError
from evenmatch.model.queue import Queue
from evenmatch.rules.findings import Finding
from evenmatch.rules.flexmatch.compile import compile_rule_set
from evenmatch.rules.flexmatch.expressions import Constant
from evenmatch.rules.flexmatch.reader import load_rule_set, read_rule_set
from evenmatch.rules.flexmatch.rule_set import (
    BatchDistanceRule,
    CollectionRule,
    ComparisonRule,
    DistanceRule,
    ExpansionStep,
    LatencyRule,
    RuleExpansion,
    SortRule,
    TeamExpansion,
)
from tests.flexmatch_kit import findings_of, rule_set_of, text_of

SKILLS = "flatten(teams[*].players.attributes[skill])"
DISTANCE = {
    "name": "Fair", "type": "distance", "measurements": [SKILLS], "referenceValue": 10,
    "maxDistance": 5,
}  # fmt: skip
COMPARISON = {
    "name": "Same", "type": "comparison", "measurements": [SKILLS], "operation": "=",
}  # fmt: skip
COLLECTION = {
    "name": "Maps", "type": "collection", "operation": "intersection", "minCount": 1,
    "measurements": ["flatten(teams[*].players.attributes[maps])"],
}  # fmt: skip
CONTAINS = COLLECTION | {"operation": "contains", "referenceValue": "ice"}
OVERLAP = COLLECTION | {"operation": "reference_intersection_count", "referenceValue": ["ice"]}
LATENCY = {"name": "Near", "type": "latency", "maxLatency": 50}
BATCH = {"name": "Batch", "type": "batchDistance", "batchAttribute": "skill", "maxDistance": 5}
SORT = {
    "name": "Sort", "type": "distanceSort", "sortAttribute": "skill", "sortDirection": "ascending",
}  # fmt: skip
COMPOUND = {"name": "Both", "type": "compound", "statement": "or(Fair, not(Same))"}


def without(rule: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in rule.items() if key not in keys}


def steps(target: str, *pairs: tuple[Any, Any]) -> dict[str, Any]:
    return {
        "target": target,
        "steps": [{"waitTimeSeconds": wait, "value": value} for wait, value in pairs],
    }


def said(findings: list[Finding], level: str) -> list[tuple[str, str]]:
    return [(each.path, each.message) for each in findings if each.level == level]


def test_each_type_of_rule_is_read() -> None:
    rule_set = rule_set_of(
        DISTANCE, COMPARISON, COLLECTION, LATENCY, BATCH, SORT,
        {**SORT, "name": "Map", "type": "absoluteSort", "sortAttribute": "wishes",
         "mapKey": "maxValue"},
        COMPOUND,
    )  # fmt: skip
    kinds = [type(each).__name__ for each in rule_set.rules]
    assert kinds == [
        "DistanceRule", "ComparisonRule", "CollectionRule", "LatencyRule", "BatchDistanceRule",
        "SortRule", "SortRule", "CompoundRule",
    ]  # fmt: skip
    assert rule_set.supporting() == {"Fair", "Same"}


@pytest.mark.parametrize("rule", [DISTANCE, COMPARISON, COLLECTION, CONTAINS, OVERLAP, LATENCY,
                                  BATCH, SORT])  # fmt: skip
def test_good_rule_has_no_findings(rule: dict[str, Any]) -> None:
    assert findings_of(rule) == []


def test_numbers_in_quotes_are_numbers() -> None:
    text = text_of(
        DISTANCE | {"maxDistance": "2", "referenceValue": "7.5"},
        teams=[{"name": "red", "minPlayers": "1", "maxPlayers": "2"}],
        expansions=[steps("rules[Fair].maxDistance", ("5", "3"))],
    )
    rule_set, findings = read_rule_set(text)
    assert rule_set is not None
    (rule,) = rule_set.rules
    assert isinstance(rule, DistanceRule)
    assert (rule.distance_max, rule.reference) == (2, Constant(7.5))
    assert rule_set.expansions == (
        RuleExpansion(rules=("Fair",), field="distance_max", steps=(ExpansionStep(5, 3.0),)),
    )
    quoted = [each.path for each in findings if "in quotes" in each.message]
    assert sorted(quoted) == [
        "$.expansions[0].steps[0].value", "$.expansions[0].steps[0].waitTimeSeconds",
        "$.rules[0].maxDistance", "$.rules[0].referenceValue",
        "$.teams[0].maxPlayers", "$.teams[0].minPlayers",
    ]  # fmt: skip


def test_measurements_may_be_a_bare_string() -> None:
    listed, bare = rule_set_of(DISTANCE), rule_set_of(DISTANCE | {"measurements": SKILLS})
    assert listed == bare


def test_reference_of_a_comparison_is_a_word_or_an_expression() -> None:
    words = "teams[red].players.attributes[mode]"
    word = rule_set_of(COMPARISON | {"measurements": [words], "referenceValue": "duel"}).rules[0]
    assert isinstance(word, ComparisonRule)
    assert word.reference == Constant("duel")
    quoted = rule_set_of(COMPARISON | {"measurements": [words], "referenceValue": "7"}).rules[0]
    assert isinstance(quoted, ComparisonRule)
    assert quoted.reference == Constant("7")


def test_collection_without_bounds_wants_one() -> None:
    text = text_of(without(CONTAINS, "minCount"))
    rule_set, (finding,) = read_rule_set(text)
    assert rule_set is not None
    assert isinstance(rule_set.rules[0], CollectionRule)
    assert rule_set.rules[0].count_min == 1
    assert finding.path == "$.rules[0].minCount"


def test_string_batch_distance_has_no_maximum() -> None:
    rule = rule_set_of(BATCH | {"batchAttribute": "mode"}).rules[0]
    assert isinstance(rule, BatchDistanceRule)
    assert rule.distance_max is None


def test_latency_rule_may_have_a_distance_alone() -> None:
    rule = rule_set_of(
        {"name": "Near", "type": "latency", "maxDistance": 20, "distanceReference": "min"}
    ).rules[0]
    assert isinstance(rule, LatencyRule)
    assert (rule.latency_ms_max, rule.distance_ms_max, rule.distance_reference) == (None, 20, "min")


def test_sort_rule_by_map_has_its_key() -> None:
    rule = rule_set_of(SORT | {"sortAttribute": "wishes", "mapKey": "minValue"}).rules[0]
    assert isinstance(rule, SortRule)
    assert rule.map_key == "minValue"


def test_rule_without_a_name_gets_one() -> None:
    text = text_of(DISTANCE, without(COMPARISON, "name"))
    rule_set, (finding,) = read_rule_set(text)
    assert rule_set is not None
    assert rule_set.rules[1].name == "rule_2"
    assert finding.path == "$.rules[1].name"


def test_expansion_of_several_teams_and_of_all() -> None:
    several = rule_set_of(expansions=[steps("teams[red,blue].minPlayers", (5, 0))])
    every = rule_set_of(expansions=[steps("teams[*].minPlayers", (5, 0))])
    assert several == every
    assert several.expansions == (
        TeamExpansion(teams=("red", "blue"), field="players_min", steps=(ExpansionStep(5, 0.0),)),
    )


def test_expanded_reference_is_an_expression() -> None:
    rule_set = rule_set_of(
        CONTAINS, expansions=[steps("rules[Maps].referenceValue", (5, "fire"), (9, "sea"))]
    )
    (expansion,) = rule_set.expansions
    assert [each.value for each in expansion.steps] == [Constant("fire"), Constant("sea")]


WRONG: list[tuple[dict[str, Any], str, str]] = [
    # rule, path below the rule, sentence
    (DISTANCE | {"type": "distanse"}, "type", "did you mean distance?"),
    (without(DISTANCE, "type"), "type", "is missing"),
    (without(DISTANCE, "measurements"), "measurements", "is missing"),
    (DISTANCE | {"measurements": []}, "measurements", "at least one"),
    (DISTANCE | {"measurements": [1]}, "measurements[0]", "must be a string, got 1"),
    (DISTANCE | {"measurements": 5}, "measurements", "must be a list of strings"),
    (DISTANCE | {"measurements": [SKILLS.replace("skill", "skil")]}, "measurements[0]",
     "did you mean skill?"),
    (DISTANCE | {"measurements": ["flatten(teams[*].players.attributes[mode])"]},
     "measurements[0]", "must give numbers"),
    (without(DISTANCE, "referenceValue"), "referenceValue", "is missing"),
    (DISTANCE | {"referenceValue": SKILLS}, "referenceValue", "put avg(flatten(...))"),
    (DISTANCE | {"referenceValue": "far"}, "referenceValue", "a number or a property expression"),
    (DISTANCE | {"referenceValue": [1]}, "referenceValue", "must be a number"),
    (without(DISTANCE, "maxDistance"), "maxDistance", "minDistance too"),
    (DISTANCE | {"maxDistance": "wide"}, "maxDistance", 'must be a number, got "wide"'),
    (DISTANCE | {"partyAggregation": "median"}, "partyAggregation", "one of avg, min, max"),
    (DISTANCE | {"name": "a,b"}, "name", "must have none of"),
    (COMPARISON | {"operation": "<"}, "operation", "without a referenceValue"),
    (COMPARISON | {"operation": "=="}, "operation", "must be one of <, <="),
    (COMPARISON | {"measurements": ["teams[red].players"]}, "measurements[0]",
     "must give numbers or strings"),
    (COMPARISON | {"measurements": [SKILLS, "teams[red].players[playerId]"]}, "measurements",
     "compares numbers with strings"),
    (COMPARISON | {"measurements": ["teams[red].players[playerId]"], "operation": "<",
                   "referenceValue": "x"}, "operation", "for strings"),
    (COMPARISON | {"measurements": ["teams[red].players[playerId]"], "referenceValue": 5},
     "referenceValue", "must be a string, and is a number"),
    (COMPARISON | {"referenceValue": "count(teams[*].players)"}, "referenceValue", "put avg"),
    (BATCH | {"batchAttribute": "maps"}, "batchAttribute", "maps is a string_list"),
    (BATCH | {"batchAttribute": "skil"}, "batchAttribute", "did you mean skill?"),
    (without(BATCH, "maxDistance"), "maxDistance", "is missing"),
    (COLLECTION | {"measurements": [SKILLS]}, "measurements[0]", "must give strings"),
    (COLLECTION | {"operation": "union"}, "operation", "must be one of intersection"),
    (without(CONTAINS, "referenceValue"), "referenceValue", "is missing"),
    (CONTAINS | {"referenceValue": ["a", "b"]}, "referenceValue", "must be a string"),
    (CONTAINS | {"partyAggregation": "avg"}, "partyAggregation", "one of union, intersection"),
    (OVERLAP | {"referenceValue": "teams[*].players.attributes[maps]"}, "referenceValue",
     "put flatten(...)"),
    (OVERLAP | {"referenceValue": ["a", 1]}, "referenceValue", "must be a list of strings"),
    (OVERLAP | {"referenceValue": {"a": 1}}, "referenceValue", "must be a list of strings"),
    (OVERLAP | {"referenceValue": "count(teams[*])"}, "referenceValue",
     "must be a list of strings, and is a number"),
    (without(BATCH, "batchAttribute"), "batchAttribute", "is missing"),
    (SORT | {"sortAttribute": "mode"}, "sortAttribute", "mode is a string"),
    (without(LATENCY, "maxLatency"), "maxLatency", "is missing"),
    (LATENCY | {"maxDistance": 5}, "distanceReference", "is missing"),
    (SORT | {"sortDirection": "up"}, "sortDirection", "one of ascending, descending"),
    (SORT | {"sortAttribute": "wishes"}, "mapKey", "give it minValue or maxValue"),
    (SORT | {"sortAttribute": "maps"}, "sortAttribute", "maps is a string_list"),
    (COMPOUND, "statement", "names 'Fair', and no rule before this one"),
    (COMPOUND | {"statement": "and("}, "statement", "must name a rule"),
    (COMPOUND | {"statement": "Both"}, "statement", "no rule before this one is called so"),
    (without(COMPOUND, "statement"), "statement", "is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "path", "sentence"), WRONG)
def test_wrong_rule_is_an_error_with_its_path(
    rule: dict[str, Any], path: str, sentence: str
) -> None:
    text = text_of(rule)
    assert read_rule_set(text)[0] is None
    errors = said(findings_of(rule), "error")
    assert any(where == f"$.rules[0].{path}" and sentence in words for where, words in errors), (
        errors
    )


@pytest.mark.parametrize(
    ("rule", "path", "sentence"),
    [
        (DISTANCE | {"maxdistance": 5}, "maxdistance", "did you mean maxDistance?"),
        (COMPARISON | {"maxDistance": 5}, "maxDistance", "is not a key of a rule of type"),
        (COMPARISON | {"partyAggregation": "min"}, "partyAggregation", "each player's own value"),
        (DISTANCE | {"partyAggregation": "AVG"}, "partyAggregation", "is taken as avg"),
        (COLLECTION | {"referenceValue": "x"}, "referenceValue", "does nothing"),
        (BATCH | {"batchAttribute": "mode"}, "maxDistance", "does nothing, since mode is a string"),
        (LATENCY | {"distanceReference": "min"}, "distanceReference", "without maxDistance"),
        (SORT | {"mapKey": "minValue"}, "mapKey", "skill is no map"),
        (DISTANCE | {"measurements": ["players.attributes[skill]"]}, "measurements[0]",
         "begins with players"),
    ],
)  # fmt: skip
def test_odd_rule_is_a_warning_with_its_path(
    rule: dict[str, Any], path: str, sentence: str
) -> None:
    (warning,) = said(findings_of(rule), "warning")
    assert warning[0] == f"$.rules[0].{path}"
    assert sentence in warning[1]
    assert said(findings_of(rule), "error") == []


@pytest.mark.parametrize("named", [BATCH, SORT])
def test_compound_names_no_batch_distance_and_no_sort_rule(named: dict[str, Any]) -> None:
    rule = COMPOUND | {"statement": f"not({named['name']})"}
    ((path, words),) = said(findings_of(named, rule), "error")
    assert path == "$.rules[1].statement"
    assert "which no statement can use" in words


def test_two_rules_of_one_name_are_an_error() -> None:
    ((path, words),) = said(findings_of(DISTANCE, LATENCY | {"name": "Fair"}), "error")
    assert path == "$.rules[1].name"
    assert "is the name of two rules" in words


SECTIONS: list[tuple[dict[str, Any], str, str]] = [
    ({"ruleLanguageVersion": None}, "ruleLanguageVersion", 'give it "1.0"'),
    ({"ruleLanguageVersion": "2.0"}, "ruleLanguageVersion", 'must be "1.0"'),
    ({"teams": None}, "teams", "is missing"),
    ({"teams": []}, "teams", "at least one team"),
    ({"teams": {}}, "teams", "must be a list of objects"),
    ({"teams": [5]}, "teams[0]", "must be an object, got 5"),
    ({"teams": [{"name": "a", "minPlayers": 5, "maxPlayers": 4}]}, "teams[0].minPlayers",
     "at most maxPlayers = 4"),
    ({"teams": [{"name": "a", "minPlayers": 1, "maxPlayers": 4.5}]}, "teams[0].maxPlayers",
     "a whole number from 1 to 200"),
    ({"teams": [{"name": "a", "minPlayers": 1}]}, "teams[0].maxPlayers", "is missing"),
    ({"teams": [{"name": "a", "minPlayers": 1, "maxPlayers": 0}]}, "teams[0].maxPlayers",
     "from 1 to 200"),
    ({"teams": [{"name": "a", "minPlayers": 1, "maxPlayers": 50, "quantity": 5}]}, "teams",
     "have 250 players"),
    ({"teams": [{"name": "a", "minPlayers": 1, "maxPlayers": 2, "quantity": 2},
                {"name": "a_1", "minPlayers": 1, "maxPlayers": 2}]}, "teams[1].name",
     "that there is already"),
    ({"teams": [{"name": "a,b", "minPlayers": 1, "maxPlayers": 2}]}, "teams[0].name", "none of"),
    ({"playerAttributes": [{"name": "x", "type": "boolean"}]}, "playerAttributes[0].type",
     "must be one of string, number"),
    ({"playerAttributes": [{"name": "x", "type": "number", "default": "ten"}]},
     "playerAttributes[0].default", "must be a number"),
    ({"playerAttributes": [{"name": "x", "type": "string_list", "default": [1]}]},
     "playerAttributes[0].default[0]", "must be a string"),
    ({"playerAttributes": [{"name": "x", "type": "string_number_map", "default": [1]}]},
     "playerAttributes[0].default", "must be an object of numbers"),
    ({"playerAttributes": [{"name": "x", "type": "string_number_map", "default": {"a": "b"}}]},
     "playerAttributes[0].default.a", "must be a number"),
    ({"playerAttributes": [{"name": "x", "type": "number"}] * 2}, "playerAttributes[1].name",
     "declares 'x' again"),
    ({"playerAttributes": [{"name": "x]", "type": "number"}]}, "playerAttributes[0].name", "no ]"),
    ({"playerAttributes": [{"type": "number"}]}, "playerAttributes[0].name", "is missing"),
    ({"teams": [{"minPlayers": 1, "maxPlayers": 2}]}, "teams[0].name", "is missing"),
    ({"algorithm": {"balancedAttribute": "skil"}}, "algorithm.balancedAttribute",
     "did you mean skill?"),
    ({"algorithm": []}, "algorithm", "must be an object"),
    ({"algorithm": {"strategy": "best"}}, "algorithm.strategy", "one of exhaustiveSearch"),
    ({"algorithm": {"strategy": "balanced"}}, "algorithm.balancedAttribute", "is missing"),
    ({"algorithm": {"strategy": "balanced", "balancedAttribute": "mode"}},
     "algorithm.balancedAttribute", "of type number"),
    ({"algorithm": {"batchingPreference": "sorted", "sortByAttributes": ["skil"]}},
     "algorithm.sortByAttributes[0]", "did you mean skill?"),
    ({"algorithm": {"expansionAgeSelection": "youngest"}}, "algorithm.expansionAgeSelection",
     "one of newest, oldest"),
]  # fmt: skip


@pytest.mark.parametrize(("sections", "path", "sentence"), SECTIONS)
def test_wrong_section_is_an_error_with_its_path(
    sections: dict[str, Any], path: str, sentence: str
) -> None:
    assert read_rule_set(text_of(**sections))[0] is None
    errors = said(findings_of(**sections), "error")
    assert any(where == f"$.{path}" and sentence in words for where, words in errors), errors


@pytest.mark.parametrize(
    ("sections", "path", "sentence"),
    [
        ({"ruleLanguageVersion": 1.0}, "ruleLanguageVersion", "in quotes"),
        ({"comment": "x"}, "comment", "is not a key of a rule set"),
        ({"algorithm": {"batchingPreference": "fastestRegion"}}, "algorithm.batchingPreference",
         "goes with another strategy"),
        ({"algorithm": {"batchingPreference": "sorted"}}, "algorithm.sortByAttributes",
         "is missing"),
        ({"teams": [{"name": "a", "minPlayers": 1, "maxPlayers": 50}]}, "teams",
         "have 50 players"),
        ({"algorithm": {"strategy": "balanced", "balancedAttribute": "skill"}},
         "algorithm.strategy", "more than 40 players"),
    ],
)  # fmt: skip
def test_odd_section_is_a_warning_with_its_path(
    sections: dict[str, Any], path: str, sentence: str
) -> None:
    (warning,) = said(findings_of(**sections), "warning")
    assert warning[0] == f"$.{path}"
    assert sentence in warning[1]


EXPANSIONS: list[tuple[dict[str, Any], str, str]] = [
    (steps("rules[Fare].maxDistance", (5, 9)), "target", "did you mean Fair?"),
    (steps("rules[Fair].maxLatency", (5, 9)), "target", "it has maxDistance, minDistance"),
    (steps("rules[Sort].sortAttribute", (5, 9)), "target", "sorts, and nothing"),
    (steps("rules[Both].statement", (5, 9)), "target", "expand the rules that it names"),
    (steps("rules[Same].referenceValue", (5, 9)), "target", "which has none"),
    (steps("rules[Words].maxDistance", (5, 9)), "target", "compares mode, a string"),
    (steps("rules[Near].maxDistance", (5, 9)), "target", "has no distanceReference"),
    (steps("rules[Fair,Maps].referenceValue", (5, "ice")), "target", "of different types"),
    (steps("rules[Maps].referenceValue", (5, 9)), "steps[0].value", "must be a string"),
    (steps("teams[green].minPlayers", (5, 1)), "target", "names the team 'green'"),
    (steps("teams[red].size", (5, 1)), "target", "must end with minPlayers or maxPlayers"),
    (steps("teams[red].minPlayers", (5, 1.5)), "steps[0].value", "a whole number from 0 to 200"),
    (steps("algorithm.sortByAttributes", (5, "x")), "target", "must end with one of strategy"),
    (steps("everything", (5, 1)), "target", "must be like rules[name].maxDistance"),
    ({"steps": []}, "target", "is missing"),
    ({"target": "rules[Fair].maxDistance"}, "steps", "is missing"),
    ({"target": "rules[Fair].maxDistance", "steps": [{"value": 1}]}, "steps[0].waitTimeSeconds",
     "is missing"),
    (steps("algorithm.strategy", (5, None)), "steps[0].value", "is missing"),
    (steps("teams[red].maxPlayers", (5, 201)), "steps[0].value", "from 0 to 200"),
    (steps("rules[Fair].maxDistance"), "steps", "at least one step"),
    (steps("rules[Fair].maxDistance", (5, 9), (5, 10)), "steps[1].waitTimeSeconds",
     "must be more than 5 s"),
    (steps("rules[Fair].maxDistance", (-1, 9)), "steps[0].waitTimeSeconds", "at least 0 s"),
    (steps("rules[Fair].maxDistance", (5, "far")), "steps[0].value", "must be a number"),
    (steps("rules[Fair].maxDistance", (5, None)), "steps[0].value", "is missing"),
    (steps("rules[Fair].referenceValue", (5, None)), "steps[0].value", "is missing"),
    (steps("rules[Fair].referenceValue", (5, "teams[x].players")), "steps[0].value",
     "names the team 'x'"),
    (steps("teams[red].minPlayers", (5, 6)), "steps[0].value", "no match has such a team"),
    (steps("algorithm.balancedAttribute", (5, "mode")), "steps[0].value", "of type number"),
    (steps("algorithm.backfillPriority", (5, "hgih")), "steps[0].value", "did you mean high?"),
    (steps("algorithm.strategy", (5, "best")), "steps[0].value", "one of exhaustiveSearch"),
    (steps("algorithm.batchingPreference", (5, "any")), "steps[0].value", "one of random, sorted"),
]  # fmt: skip


@pytest.mark.parametrize(("expansion", "path", "sentence"), EXPANSIONS)
def test_wrong_expansion_is_an_error_with_its_path(
    expansion: dict[str, Any], path: str, sentence: str
) -> None:
    words = {"name": "Words", "type": "batchDistance", "batchAttribute": "mode"}
    rules = (DISTANCE, COMPARISON, SORT, COMPOUND, LATENCY, CONTAINS, words)
    assert read_rule_set(text_of(*rules, expansions=[expansion]))[0] is None
    errors = said(findings_of(*rules, expansions=[expansion]), "error")
    wanted = f"$.expansions[0].{path}"
    assert any(where == wanted and sentence in words for where, words in errors), errors


@pytest.mark.parametrize(
    ("expansion", "path", "sentence"),
    [
        (steps("rule[Fair].maxDistance", (5, 9)), "target", "AWS writes rules[...]"),
        (steps("rules[Fair].maxDistance", (0, 9)), "steps[0].waitTimeSeconds", "always counts"),
        (steps("rules[Fair].maxDistance", (50_000, 9)), "steps[0].waitTimeSeconds",
         "is never reached"),
        (
            steps("rules[Fair].maxDistance", (5, 9), (1e300, 10)),
            "steps[1].waitTimeSeconds",
            "at most, got 1e+300",
        ),
        (steps("rules[Fair].maxDistance", (5, 9)) | {"note": 1}, "note", "key of an expansion"),
        (steps("algorithm.backfillPriority", (5, "high")), "target", "stays the same"),
    ],
)  # fmt: skip
def test_odd_expansion_is_a_warning_with_its_path(
    expansion: dict[str, Any], path: str, sentence: str
) -> None:
    (warning,) = said(findings_of(DISTANCE, expansions=[expansion]), "warning")
    assert warning[0] == f"$.expansions[0].{path}"
    assert sentence in warning[1]


def test_word_of_the_algorithm_in_another_case_is_taken_as_the_word() -> None:
    expansion = steps("algorithm.backfillPriority", (5, "High"))
    (found,) = rule_set_of(expansions=[expansion]).expansions
    assert found.steps == (ExpansionStep(5.0, "high"),)
    at = "$.expansions[0].steps[0].value"
    assert (at, 'is taken as high, got "High"') in said(
        findings_of(expansions=[expansion]), "warning"
    )


def test_two_expansions_of_one_target_are_a_warning() -> None:
    twice = [steps("rules[Fair].maxDistance", (5, 9)), steps("rules[Fair].maxDistance", (9, 11))]
    (warning,) = said(findings_of(DISTANCE, expansions=twice), "warning")
    assert warning[0] == "$.expansions[1].target"
    assert "is also the target of $.expansions[0]" in warning[1]


def test_two_expansions_of_one_part_of_the_algorithm_are_a_warning() -> None:
    twice = [steps("algorithm.strategy", (5, "balanced"))] * 2
    warnings = said(findings_of(expansions=twice), "warning")
    assert "is also the target of $.expansions[0]" in warnings[0][1] + warnings[1][1]


def test_what_is_at_the_edge_of_what_aws_takes_is_no_warning() -> None:
    forty = [{"name": "red", "minPlayers": 1, "maxPlayers": 40}]
    assert findings_of(teams=forty) == []
    more = [{"name": "red", "minPlayers": 1, "maxPlayers": 41}]
    balanced = {"strategy": "balanced", "balancedAttribute": "skill"}
    assert findings_of(teams=more, algorithm=balanced) == []
    assert len(findings_of(teams=forty, algorithm=balanced)) == 1
    longest = [steps("rules[Fair].maxDistance", (43_200, 9))]
    assert findings_of(DISTANCE, expansions=longest) == []
    most = [steps("teams[red].maxPlayers", (5, 200))]
    assert findings_of(expansions=most) == []
    word = SORT | {"type": "absoluteSort", "sortAttribute": "mode"}
    assert findings_of(word) == []


@pytest.mark.parametrize("text", ["[]", "5", '"x"', "null", "{}"])
def test_text_that_is_no_rule_set_is_refused(text: str) -> None:
    rule_set, findings = read_rule_set(text)
    assert rule_set is None
    assert findings[0].level == "error"


def test_load_lists_all_errors() -> None:
    text = text_of(DISTANCE | {"maxDistance": "x"}, LATENCY | {"maxLatency": []}, indent=1)
    with pytest.raises(ConfigError) as error:
        load_rule_set(text)
    paths = [line.split(" ")[0] for line in str(error.value).splitlines()]
    assert paths == ["$.rules[0].maxDistance", "$.rules[1].maxLatency"]


def test_ten_thousand_bad_rules_are_refused_soon() -> None:
    # As many as the text's length allows; nothing is compared with everything.
    many = json.dumps({"ruleLanguageVersion": "1.0", "teams": [], "rules": [{}] * 15_000})
    rule_set, findings = read_rule_set(many)
    assert rule_set is None
    assert len(findings) == 1000
    long = '{"ruleLanguageVersion":"1.0","rules":[' + "{}," * 20_000 + "{}]}"
    assert read_rule_set(long)[0] is None


def test_thousand_large_teams_are_refused_soon() -> None:
    teams = [
        {"name": f"t{at}", "minPlayers": 1, "maxPlayers": 9, "quantity": 200} for at in range(700)
    ]
    rules = [DISTANCE | {"name": f"r{at}"} for at in range(20)]
    ((path, words),) = said(findings_of(*rules, teams=teams), "error")
    assert path == "$.teams"
    assert "have 1,260,000 players" in words


def test_many_expansions_of_many_teams_are_read_soon() -> None:
    teams = [{"name": f"t{at}", "minPlayers": 0, "maxPlayers": 1} for at in range(200)]
    expansions = [
        {"target": "teams[*].maxPlayers", "steps": [{"waitTimeSeconds": 1, "value": at % 2 + 1}]}
        for at in range(400)
    ]
    rule_set = rule_set_of(teams=teams, expansions=expansions)
    assert len(rule_set.expansions) == 400


@pytest.mark.parametrize(("size", "quantity"), [(65, 1), (63, 2)])
def test_name_of_a_team_is_no_longer_than_a_queue_takes(size: int, quantity: int) -> None:
    team = {"minPlayers": 1, "maxPlayers": 2, "quantity": quantity}
    fits = team | {"name": "x" * (size - 1)}
    assert rule_set_of(teams=[fits]).scope.all_teams()[-1][64:] == ""
    ((path, words),) = said(findings_of(teams=[team | {"name": "x" * size}]), "error")
    assert path == "$.teams[0].name"
    assert "at most 64 characters" in words


@pytest.mark.parametrize(("name", "count"), [("x", 100), (".", 50)])
def test_name_of_an_attribute_in_tickets_is_no_longer_than_a_queue_takes(
    name: str, count: int
) -> None:
    fits = {"name": name * count, "type": "number", "default": 1}
    rule_set = rule_set_of(playerAttributes=[fits])
    check_queue(compile_rule_set(rule_set).queue(Queue(wait_max=60.0)))
    long = fits | {"name": name * (count + 1)}
    ((path, words),) = said(findings_of(playerAttributes=[long]), "error")
    assert path == "$.playerAttributes[0].name"
    assert "must make a name of at most 100 characters in tickets" in words


@pytest.mark.parametrize(
    ("kind", "default", "path"),
    [
        ("number", 1e18, "default"),
        ("number", "-2e15", "default"),
        ("string_number_map", {"ice": 1, "fire": 1e16}, "default.fire"),
    ],
)
def test_default_that_no_ticket_may_have_is_an_error(kind: str, default: Any, path: str) -> None:
    attribute = {"name": "cap", "type": kind, "default": default}
    ((at, words),) = said(findings_of(playerAttributes=[attribute]), "error")
    assert at == f"$.playerAttributes[0].{path}"
    assert words.startswith("must be a number from -1e15 to 1e15, got ")
    assert rule_set_of(playerAttributes=[attribute | {"type": "number", "default": 1e15}])
