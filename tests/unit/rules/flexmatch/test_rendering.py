"""What a written rule set keeps of the one that it is written from."""

import json
from typing import Any

import pytest

from evenmatch.rules.flexmatch.reader import load_rule_set
from evenmatch.rules.flexmatch.rendering import render_rule_set
from tests.flexmatch_kit import rule_set_of

CLANS = "flatten(teams[*].players.attributes[clan])"
CLAN = {"name": "clan", "type": "string", "default": ""}
NAMES = {"name": "names", "type": "string_list", "default": [""]}
IN_A_CLAN = {
    "name": "InAClan", "type": "comparison", "measurements": [CLANS], "operation": "!=",
    "referenceValue": "",
}  # fmt: skip
HOLDS = {
    "name": "Holds", "type": "collection", "operation": "contains", "referenceValue": "",
    "measurements": ["flatten(teams[*].players.attributes[names])"], "minCount": 1,
}  # fmt: skip
STEP = {
    "target": "rules[InAClan].referenceValue", "steps": [{"waitTimeSeconds": 5, "value": "x"},
                                                         {"waitTimeSeconds": 9, "value": ""}],
}  # fmt: skip


@pytest.mark.parametrize("rules", [[IN_A_CLAN], [HOLDS], [IN_A_CLAN, HOLDS]])
def test_empty_string_is_a_value_of_its_own(rules: list[dict[str, Any]]) -> None:
    expansions = [STEP] if IN_A_CLAN in rules else []
    rule_set = rule_set_of(*rules, playerAttributes=[CLAN, NAMES], expansions=expansions)
    assert load_rule_set(render_rule_set(rule_set)) == rule_set


def test_empty_name_and_description_are_left_out() -> None:
    written = json.loads(render_rule_set(rule_set_of(IN_A_CLAN, playerAttributes=[CLAN])))
    assert "name" not in written
    assert "balancedAttribute" not in written["algorithm"]
    assert "description" not in written["rules"][0]
