"""Rules that can never pass, and expansions that do nothing."""

from itertools import pairwise
from typing import Any

import pytest

from evenmatch.criteria.validation.queue import check_queue
from evenmatch.model.queue import Queue
from evenmatch.rules.flexmatch.bounds import EVERYTHING, Range, bounds_of
from evenmatch.rules.flexmatch.compile import compile_rule_set
from evenmatch.rules.flexmatch.expressions import parse_expression
from tests.flexmatch_kit import findings_of, rule_set_of

SKILLS = "flatten(teams[*].players.attributes[skill])"
RED = "count(teams[red].players)"
DISTANCE = {
    "name": "Fair", "type": "distance", "measurements": [SKILLS], "referenceValue": 10,
    "maxDistance": 5,
}  # fmt: skip
COUNT = {"name": "Size", "type": "comparison", "measurements": [RED], "operation": "="}
CONTAINS = {
    "name": "Maps", "type": "collection", "operation": "contains", "referenceValue": "ice",
    "measurements": ["flatten(teams[*].players.attributes[maps])"],
}  # fmt: skip
OVERLAP = CONTAINS | {"operation": "reference_intersection_count", "referenceValue": ["a", "b"]}
LATENCY = {
    "name": "Near", "type": "latency", "maxLatency": 50, "maxDistance": 50,
    "distanceReference": "min",
}  # fmt: skip


def steps(target: str, *pairs: tuple[float, float]) -> dict[str, Any]:
    return {
        "target": target,
        "steps": [{"waitTimeSeconds": wait, "value": value} for wait, value in pairs],
    }


def said(level: str, *rules: dict[str, Any], **sections: Any) -> list[tuple[str, str]]:
    found = findings_of(*rules, **sections)
    return [(each.path, each.message) for each in found if each.level == level]


IMPOSSIBLE: list[tuple[dict[str, Any], str]] = [
    (DISTANCE | {"maxDistance": -1}, "maxDistance"),
    (DISTANCE | {"minDistance": 6}, "maxDistance"),
    (DISTANCE | {"measurements": [RED], "referenceValue": 9, "maxDistance": 3}, "referenceValue"),
    (DISTANCE | {"measurements": [RED], "referenceValue": 4, "minDistance": 4, "maxDistance": 9},
     "referenceValue"),
    (COUNT | {"referenceValue": 6}, "referenceValue"),
    (COUNT | {"referenceValue": 5, "operation": ">"}, "referenceValue"),
    (COUNT | {"referenceValue": 1, "operation": "<"}, "referenceValue"),
    (COUNT | {"referenceValue": 6, "operation": ">="}, "referenceValue"),
    (COUNT | {"referenceValue": 0, "operation": "<="}, "referenceValue"),
    (COUNT | {"measurements": ["sum(count(teams[*].players))"], "referenceValue": 11},
     "referenceValue"),
    (COUNT | {"measurements": ["count(flatten(teams[*].players[playerId]))"],
              "referenceValue": 1}, "referenceValue"),
    (COUNT | {"measurements": ["count(teams[*])"], "referenceValue": 3}, "referenceValue"),
    (COUNT | {"measurements": ["count(teams[*])"], "referenceValue": 2, "operation": "!="},
     "referenceValue"),
    (COUNT | {"measurements": ["stddev(teams[red].players.attributes[skill])"],
              "referenceValue": 0, "operation": "<"}, "referenceValue"),
    (CONTAINS | {"minCount": 11}, "minCount"),
    (CONTAINS | {"minCount": 3, "maxCount": 2}, "maxCount"),
    (CONTAINS | {"maxCount": -1}, "maxCount"),
    (OVERLAP | {"minCount": 3}, "minCount"),
    (LATENCY | {"maxLatency": -5}, "maxLatency"),
    ({"name": "B", "type": "batchDistance", "batchAttribute": "skill", "maxDistance": -1},
     "maxDistance"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "key"), IMPOSSIBLE)
def test_rule_that_never_passes_is_an_error(rule: dict[str, Any], key: str) -> None:
    ((path, words),) = said("error", rule)
    assert path == f"$.rules[0].{key}"
    assert words.startswith("never passes")


@pytest.mark.parametrize(
    "rule",
    [
        DISTANCE | {"maxDistance": 0},
        DISTANCE | {"minDistance": 5},
        DISTANCE | {"measurements": [RED], "referenceValue": 9, "maxDistance": 4},
        DISTANCE | {"measurements": ["max(count(teams[*].players))"], "maxDistance": 0,
                    "referenceValue": "sum(count(teams[*].players))"},
        COUNT | {"referenceValue": 5},
        COUNT | {"referenceValue": 1},
        COUNT | {"referenceValue": 1, "operation": "<="},
        COUNT | {"referenceValue": 2, "operation": "<"},
        COUNT | {"referenceValue": 5, "operation": ">="},
        COUNT | {"referenceValue": 4, "operation": ">"},
        COUNT | {"referenceValue": 1, "operation": "!="},
        DISTANCE | {"measurements": [RED], "referenceValue": 4, "minDistance": 3},
        COUNT | {"referenceValue": "count(teams[blue].players)"},
        COUNT | {"referenceValue": "count(teams[blue].players)", "operation": "!="},
        COUNT | {"measurements": ["count(flatten(teams[*].players.attributes[maps]))"],
                 "referenceValue": 0},
        COUNT | {"measurements": ["avg(teams[red].players.attributes[skill])"],
                 "referenceValue": -1e9},
        CONTAINS | {"minCount": 10},
        CONTAINS | {"minCount": 2, "maxCount": 2},
        OVERLAP | {"minCount": 2},
        LATENCY | {"maxLatency": 0},
    ],
)  # fmt: skip
def test_rule_that_may_pass_is_none(rule: dict[str, Any]) -> None:
    assert said("error", rule) == []


@pytest.mark.parametrize(
    ("rule", "expansion"),
    [
        (DISTANCE | {"minDistance": 6}, steps("rules[Fair].maxDistance", (5, 7))),
        (DISTANCE | {"minDistance": 6}, steps("rules[Fair].minDistance", (5, 0))),
        (COUNT | {"referenceValue": 6}, steps("rules[Size].referenceValue", (5, 5))),
        (COUNT | {"referenceValue": 6}, steps("teams[red].maxPlayers", (5, 6))),
        (CONTAINS | {"minCount": 11}, steps("rules[Maps].minCount", (5, 3))),
        (CONTAINS | {"minCount": 11}, steps("teams[blue].maxPlayers", (5, 6))),
    ],
)
def test_rule_that_passes_after_a_wait_is_no_error(
    rule: dict[str, Any], expansion: dict[str, Any]
) -> None:
    assert len(said("error", rule)) == 1
    assert said("error", rule, expansions=[expansion]) == []


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (DISTANCE | {"measurements": [RED], "referenceValue": 9, "maxDistance": 3},
         "never passes: team sizes make the distance at least 4, not at most 3"),
        (DISTANCE | {"measurements": [RED], "referenceValue": 4, "minDistance": 4},
         "never passes: team sizes make the distance at most 3, not at least 4"),
        (COUNT | {"referenceValue": 6},
         ("never passes: the team sizes allow 1 to 5 here, which is never = the reference, 6; "
          "change one of them")),
        (CONTAINS | {"minCount": 11},
         "never passes: at most 10 players can have it, got 11; lower it, or raise maxPlayers"),
        (OVERLAP | {"minCount": 3},
         "never passes: the referenceValue has 2 values, got 3; lower it"),
        (OVERLAP | {"minCount": 2, "referenceValue": "a"},
         "never passes: the referenceValue has 1 value, got 2; lower it"),
    ],
)  # fmt: skip
def test_sentence_about_a_rule_that_never_passes(rule: dict[str, Any], sentence: str) -> None:
    assert [words for _, words in said("error", rule)] == [sentence]


def test_expansion_of_another_rule_or_key_is_no_help() -> None:
    never = CONTAINS | {"minCount": 11}
    other = CONTAINS | {"name": "Other", "minCount": 5}
    for target in ("rules[Other].minCount", "rules[Maps].maxCount", "teams[red].minPlayers"):
        assert len(said("error", never, other, expansions=[steps(target, (5, 3))])) == 1


def test_longer_reference_lets_a_rule_pass() -> None:
    longer = {"waitTimeSeconds": 5, "value": ["a", "b", "c"]}
    expansion = {"target": "rules[Maps].referenceValue", "steps": [longer]}
    assert said("error", OVERLAP | {"minCount": 3}, expansions=[expansion]) == []
    assert len(said("error", OVERLAP | {"minCount": 4}, expansions=[expansion])) == 1


def test_team_that_shrinks_lets_a_rule_pass() -> None:
    nobody = COUNT | {"referenceValue": 0}
    assert len(said("error", nobody)) == 1
    assert said("error", nobody, expansions=[steps("teams[red].minPlayers", (5, 0))]) == []


def test_rule_that_never_passes_is_a_warning_where_a_statement_can_do_without() -> None:
    never = COUNT | {"referenceValue": 6}
    either = {"name": "Either", "type": "compound", "statement": "or(Size, Fair)"}
    assert said("error", never, DISTANCE, either) == []
    ((path, words),) = said("warning", never, DISTANCE, either)
    assert path == "$.rules[0].referenceValue"
    assert "count it as false" in words


@pytest.mark.parametrize(
    ("statement", "level"),
    [
        ("and(Fair, not(Fair))", "error"),
        ("xor(Fair, Fair)", "error"),
        ("or(Fair, not(Fair))", "warning"),
        ("not(and(Fair, and(Size, not(Fair))))", "warning"),
        ("and(Fair, not(Size))", ""),
        ("xor(Fair, Size)", ""),
    ],
)
def test_statement_that_is_always_or_never_true(statement: str, level: str) -> None:
    compound = {"name": "C", "type": "compound", "statement": statement}
    size = COUNT | {"referenceValue": 3}
    found = findings_of(DISTANCE, size, compound)
    assert [(each.level, each.path) for each in found] == (
        [(level, "$.rules[2].statement")] if level else []
    )


def test_rule_that_aws_does_not_take_in_large_matches_is_a_warning() -> None:
    sections = {
        "algorithm": {"strategy": "balanced", "balancedAttribute": "skill"},
        "teams": [{"name": "red", "minPlayers": 1, "maxPlayers": 100}],
    }
    assert said("warning", LATENCY, **sections) == []
    ((path, words),) = said("warning", DISTANCE, **sections)
    assert path == "$.rules[0]"
    assert "AWS does not take" in words


@pytest.mark.parametrize(
    ("expansion", "path"),
    [
        (steps("rules[Fair].maxDistance", (5, 5)), "steps[0].value"),
        (steps("rules[Fair].maxDistance", (5, 9), (6, 9)), "steps[1].value"),
        (steps("teams[red].minPlayers", (5, 1)), "steps[0].value"),
        (steps("rules[Fair].referenceValue", (5, 10)), "steps[0].value"),
    ],
)
def test_step_that_changes_nothing_is_a_warning(expansion: dict[str, Any], path: str) -> None:
    ((where, words),) = said("warning", DISTANCE, expansions=[expansion])
    assert where == f"$.expansions[0].{path}"
    assert words.startswith("changes nothing")


def test_team_that_cannot_be_at_some_age_is_an_error() -> None:
    up, down = steps("teams[red].minPlayers", (5, 4), (9, 2)), steps("teams[*].maxPlayers", (7, 3))
    ((path, words),) = said("error", expansions=[up, down])
    assert path == "$.expansions[1].steps[0].value"
    assert "leaves red with minPlayers = 4 above maxPlayers = 3 from 7 s on" in words
    # At one instant both have changed, and the later expansion decides.
    both = [steps("teams[red].minPlayers", (5, 6)), steps("teams[red].maxPlayers", (5, 7))]
    assert said("error", expansions=both) == []
    assert said("error", expansions=[steps("teams[red].minPlayers", (5, 5))]) == []
    again = [steps("teams[red].minPlayers", (5, 2)), steps("teams[red].minPlayers", (3, 1), (9, 7))]
    ((path, words),) = said("error", expansions=again)
    assert path == "$.expansions[1].steps[1].value"


TIGHTER = [
    steps("rules[Fair].maxDistance", (5, 4)),
    steps("rules[Fair].maxDistance", (5, 9), (9, 8)),
    steps("rules[Fair].minDistance", (5, 1)),
    steps("rules[Near].maxLatency", (5, 40)),
    steps("rules[Near].maxDistance", (5, 40)),
    steps("rules[Maps].minCount", (5, 2)),
    steps("rules[Maps].maxCount", (5, 2)),
    steps("teams[red].minPlayers", (5, 2)),
    steps("teams[red].maxPlayers", (5, 4)),
]
LOOSER = [
    steps("rules[Fair].maxDistance", (5, 6), (9, 8)),
    steps("rules[Near].maxLatency", (5, 60)),
    steps("rules[Maps].minCount", (5, 0)),
    steps("teams[red].minPlayers", (5, 0)),
    steps("teams[red].maxPlayers", (5, 6)),
    steps("rules[Fair].referenceValue", (5, 7), (9, 2)),
    steps("rules[Open].minDistance", (5, 0)),
]
MAPS = CONTAINS | {"minCount": 1}


@pytest.mark.parametrize("expansion", TIGHTER, ids=lambda each: str(each["target"]))
def test_step_that_makes_matches_rarer_is_a_warning(expansion: dict[str, Any]) -> None:
    ((_, words),) = said("warning", DISTANCE, LATENCY, MAPS, expansions=[expansion])
    assert "makes matches rarer" in words


@pytest.mark.parametrize("expansion", LOOSER, ids=lambda each: str(each["target"]))
def test_step_that_widens_is_none(expansion: dict[str, Any]) -> None:
    unlimited = DISTANCE | {"name": "Open"}
    assert findings_of(DISTANCE, LATENCY, MAPS, unlimited, expansions=[expansion]) == []


@pytest.mark.parametrize(
    ("size", "words"), [(1, []), (2, ["makes matches rarer"]), (3, ["makes matches rarer"])]
)
def test_step_of_several_teams_is_judged_for_each(size: int, words: list[str]) -> None:
    teams = [
        {"name": "red", "minPlayers": 1, "maxPlayers": 5},
        {"name": "blue", "minPlayers": 2, "maxPlayers": 5},
    ]
    both = steps("teams[red,blue].minPlayers", (5, size))
    found = said("warning", teams=teams, expansions=[both])
    assert [each[: len("makes matches rarer")] for _, each in found] == words


@pytest.mark.parametrize(
    ("statement", "value", "is_rarer"),
    [
        ("not(Fair)", 9, True),
        ("not(Fair)", 4, False),
        ("not(not(Fair))", 9, False),
        ("or(Size, Fair)", 4, True),
        ("xor(Size, Fair)", 4, False),
        ("xor(Size, Fair)", 9, False),
    ],
)
def test_wider_rule_within_not_makes_matches_rarer(
    statement: str, value: float, is_rarer: bool
) -> None:
    rules = (DISTANCE, COUNT | {"referenceValue": 3})
    compound = {"name": "C", "type": "compound", "statement": statement}
    expansion = steps("rules[Fair].maxDistance", (5, value))
    found = said("warning", *rules, compound, expansions=[expansion])
    assert bool(found) is is_rarer


def test_sign_passes_through_nested_compounds() -> None:
    inner = {"name": "Inner", "type": "compound", "statement": "not(Fair)"}
    outer = {"name": "Outer", "type": "compound", "statement": "not(Inner)"}
    wider = steps("rules[Fair].maxDistance", (5, 9))
    assert len(said("warning", DISTANCE, inner, expansions=[wider])) == 1
    assert said("warning", DISTANCE, inner, outer, expansions=[wider]) == []


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("min(count(teams[*].players))", 1, 5),
        ("max(count(teams[*].players))", 2, 7),
        ("sum(count(teams[*].players))", 3, 12),
        ("avg(count(teams[*].players))", 1.5, 6),
        ("median(count(teams[*].players))", 1, 7),
        ("count(flatten(teams[*].players))", 3, 12),
        ("count(players)", 3, 12),
        ("count(teams[*])", 2, 2),
        ("stddev(count(teams[*].players))", 0, float("inf")),
        ("sum(flatten(count(teams[*].players)))", 3, 12),
        ("count(set_intersection(teams[*].players[playerId]))", 0, float("inf")),
    ],
)
def test_bounds(text: str, least: float, most: float) -> None:
    scope = rule_set_of().scope
    expression, _ = parse_expression(text, scope)
    sizes = {"red": Range(1, 5), "blue": Range(2, 7)}
    assert bounds_of(expression, sizes) == (Range(least, most),)


def test_bounds_of_attributes_are_open() -> None:
    scope = rule_set_of().scope
    sizes = {"red": Range(1, 5), "blue": Range(2, 7)}
    for text in (SKILLS, f"max({SKILLS})", "avg(teams[*].players.attributes[skill])"):
        assert bounds_of(parse_expression(text, scope)[0], sizes) == (EVERYTHING,)
    counts = parse_expression("count(teams[*].players)", scope)[0]
    assert bounds_of(counts, sizes) == (Range(1, 5), Range(2, 7))


def compounds(statement: str, most: int) -> list[dict[str, Any]]:
    """Return compound rules that each name the one before, and the rule at the beginning."""
    names = ["Fair", *(f"C{number}" for number in range(most))]
    return [DISTANCE] + [
        {"name": name, "type": "compound", "statement": statement.replace("BEFORE", before)}
        for before, name in pairwise(names)
    ]


def test_compound_rules_that_double_are_an_error_at_the_first_that_is_too_large() -> None:
    doubling = "or(BEFORE, not(BEFORE))"
    assert said("error", *compounds(doubling, 9)) == []
    ((path, message),) = said("error", *compounds(doubling, 40))
    assert path == "$.rules[10].statement"
    assert message.startswith("stands for 1,024 rules once the compound rules that it names are")


def test_long_chain_of_compound_rules_is_an_error() -> None:
    rule_set = rule_set_of(*compounds("not(BEFORE)", 100))
    check_queue(compile_rule_set(rule_set).queue(Queue(wait_max=60.0)))
    ((path, message),) = said("error", *compounds("not(BEFORE)", 800))
    assert path == "$.rules[101].statement"
    assert message.startswith("nests 101 deep")


def stairs(rule: str, count: int) -> dict[str, Any]:
    return steps(
        f"rules[{rule}].maxDistance", *[(wait + 1.0, wait + 11.0) for wait in range(count)]
    )


def test_rule_that_changes_at_many_ages_counts_by_itself() -> None:
    rules = [DISTANCE | {"name": f"R{number}"} for number in range(19)]
    assert said("error", *rules, expansions=[stairs("R0", 501)]) == []
    teams = [(wait + 1.0, 1.0) for wait in range(501)]
    assert said("error", *rules, expansions=[steps("teams[red].minPlayers", *teams)]) == []


def test_many_tests_at_many_ages_are_an_error() -> None:
    many = {"name": "C", "type": "compound", "statement": f"or({','.join(['A'] * 100)})"}
    rules = [DISTANCE | {"name": "A"}, many, DISTANCE | {"name": "B"}]
    assert said("error", *rules, expansions=[stairs("A", 98), stairs("B", 97)]) == []
    ((path, message),) = said("error", *rules, expansions=[stairs("A", 99), stairs("B", 97)])
    assert path == "$.expansions"
    assert message.startswith("make 10,099 tests of a match over all ages, at most 10,000 are")
    assert message.endswith("100 at each of 100 ages are of the rule C: give fewer steps")


def test_rules_that_a_queue_joins_count_together() -> None:
    rules = [DISTANCE | {"name": f"R{number}"} for number in range(99)]
    expansions = [stairs(f"R{number}", 150 - number) for number in (90, 95)]
    assert said("error", *rules, expansions=expansions) == []
    ((_, message),) = said("error", *rules, expansions=[stairs("R90", 200)])
    assert "86 at each of 201 ages are of the rule R13 and all after it" in message


def test_many_large_statements_are_an_error() -> None:
    large = {"type": "compound", "statement": f"or({','.join(['A'] * 998)})"}
    rules = [DISTANCE | {"name": "A"}, *(large | {"name": f"C{number}"} for number in range(11))]
    ((path, message),) = said("error", *rules)
    assert path == "$.rules"
    assert message.startswith("make 10,979 tests of a match")
